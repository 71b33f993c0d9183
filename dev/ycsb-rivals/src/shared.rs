//! The stores that both clients support: starting a server, and passing its address to each client.
//! A new store is a row here.

use std::any::Any;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use sealstone_servers::{
    MARIADB_DATABASE, MARIADB_USER, MariaDbOptions, Mongod, MongodOptions, POSTGRES_USER,
};
use sealstone_store::{OpenStore, StoreOptions, Table};
use sealstone_stores::{
    MongoDb, MongoDbOptions, Mysql, MysqlOptions, Postgres, PostgresOptions, Redis, RedisKeys,
    RedisOptions,
};

use crate::go_ycsb::{GoYcsb, PROGRAM};

/// A store that both support.
#[derive(Debug)]
pub struct Shared {
    /// Its name in the table of stores.
    pub name: &'static str,
    /// Its name in go-ycsb.
    its_name: &'static str,
    /// Required ratio to the operations of go-ycsb in a CPU second of the client, if specified.
    pub wanted: Option<f64>,
    start: fn(&Path) -> Result<Running>,
    open: Open,
    /// Properties of go-ycsb for the server at an address.
    properties: fn(&str) -> Vec<(String, String)>,
    /// Reads so far of records that are not there, by the server's own count, where go-ycsb does
    /// not notice them.
    unfound: Option<fn(&str) -> Result<u64>>,
    /// True if its binding can scan, and keeps what a scan needs.
    pub scans: bool,
}

/// Opens the store at an address for so many clients, with these tables.
type Open = fn(&str, usize, &[Arc<Table>]) -> Result<OpenStore>;

/// A server, which ends with the value.
pub struct Running {
    /// Address at which clients find the server.
    pub address: String,
    _server: Box<dyn Any>,
}

/// All of them.
pub static STORES: &[Shared] = &[
    Shared {
        name: "mongodb",
        its_name: "mongodb",
        wanted: None,
        start: start_mongod,
        open: open_mongodb,
        properties: |address| vec![("mongodb.url".into(), address.into())],
        unfound: None,
        scans: true,
    },
    Shared {
        name: "redis",
        its_name: "redis",
        wanted: Some(1.5),
        start: start_redis,
        open: open_redis,
        properties: |address| {
            vec![
                ("redis.addr".into(), host(address).into()),
                ("redis.datatype".into(), "hash".into()),
            ]
        },
        unfound: Some(keyspace_misses),
        scans: false,
    },
    Shared {
        name: "postgres",
        its_name: "pg",
        wanted: Some(1.2),
        start: start_postgres,
        open: open_postgres,
        properties: |address| {
            let (host, port) = host(address).rsplit_once(':').unwrap_or_default();
            let pairs =
                [("host", host), ("port", port), ("user", POSTGRES_USER), ("password", PASSWORD)];
            let pairs = pairs.into_iter().chain([("db", "postgres"), ("sslmode", "disable")]);
            pairs.map(|(name, value)| (format!("pg.{name}"), value.to_owned())).collect()
        },
        unfound: Some(selects_without_a_row),
        scans: true,
    },
    Shared {
        name: "mysql",
        its_name: "mysql",
        wanted: Some(1.2),
        start: start_mariadb,
        open: open_mysql,
        properties: |address| {
            let (host, port) = host(address).rsplit_once(':').unwrap_or_default();
            let pairs =
                [("host", host), ("port", port), ("user", MARIADB_USER), ("password", PASSWORD)];
            let pairs = pairs.into_iter().chain([("db", MARIADB_DATABASE)]);
            pairs.map(|(name, value)| (format!("mysql.{name}"), value.to_owned())).collect()
        },
        unfound: Some(keys_without_a_row),
        scans: true,
    },
];

/// Returns the store `name`.
///
/// # Errors
/// A name that is none of theirs.
pub fn store(name: &str) -> Result<&'static Shared> {
    let Some(shared) = STORES.iter().find(|shared| shared.name == name) else {
        let known: Vec<&str> = STORES.iter().map(|shared| shared.name).collect();
        bail!("{name} is no store that both clients know\nchoose one of: {}", known.join(", "));
    };
    Ok(shared)
}

impl Shared {
    /// Starts a server in the directory `dir`.
    ///
    /// # Errors
    /// A program that is not there or does not start.
    pub fn start(&self, dir: &Path) -> Result<Running> {
        (self.start)(dir)
    }

    /// Our store on the server at `address`, for `threads` clients.
    ///
    /// # Errors
    /// A server that does not answer.
    pub fn open(&self, address: &str, threads: usize, tables: &[Arc<Table>]) -> Result<OpenStore> {
        (self.open)(address, threads, tables)
    }

    /// Returns how many reads of records that are not there the server at `address` has counted so
    /// far, if go-ycsb does not notice them; 0 if it reports them itself.
    ///
    /// # Errors
    /// A server that does not report it.
    pub fn unfound(&self, address: &str) -> Result<u64> {
        self.unfound.map_or(Ok(0), |unfound| unfound(address))
    }

    /// go-ycsb on the server at `address`; `program` where it is not to be searched for.
    ///
    /// # Errors
    /// No go-ycsb.
    pub fn rival(&self, address: &str, program: Option<&Path>) -> Result<GoYcsb> {
        let program = PROGRAM.find(program)?;
        Ok(GoYcsb { program, store: self.its_name, properties: (self.properties)(address) })
    }
}

/// Condition on which both acknowledge a write: the server's memory, the default of go-ycsb.
const WRITE_CONCERN: &str = "w=1";
/// The only database that go-ycsb supports.
const DATABASE: &str = "ycsb";
/// The password of servers that require one; they end with the measurement.
const PASSWORD: &str = "ycsb";

fn start_mongod(dir: &Path) -> Result<Running> {
    let server = Mongod::start(dir, MongodOptions::default())?;
    let address = format!("{}&{WRITE_CONCERN}", server.uri());
    Ok(Running { address, _server: Box::new(server) })
}

fn open_mongodb(address: &str, threads: usize, tables: &[Arc<Table>]) -> Result<OpenStore> {
    let database = Some(DATABASE.to_owned());
    let server = MongoDb::connect(&MongoDbOptions {
        uri: address.into(),
        database,
        threads,
        ..Default::default()
    });
    let options = StoreOptions { cache_bytes: 0, tables: tables.to_vec(), sync_writes: false };
    Ok(OpenStore::records(server?.open_store(&options).context("open the store")?))
}

fn start_redis(dir: &Path) -> Result<Running> {
    let server = sealstone_servers::start_redis(dir, sealstone_servers::RedisOptions::default())?;
    Ok(Running { address: server.uri(), _server: Box::new(server) })
}

fn open_redis(address: &str, _threads: usize, tables: &[Arc<Table>]) -> Result<OpenStore> {
    let server = Redis::connect(&RedisOptions {
        uri: address.into(),
        keys: RedisKeys::GoYcsb,
        ..Default::default()
    })?;
    let options = StoreOptions { cache_bytes: 0, tables: tables.to_vec(), sync_writes: false };
    Ok(OpenStore::records(server.open_store(&options)))
}

/// Returns the host and port of an address such as `redis://127.0.0.1:6379`, or one with user and
/// database.
fn host(address: &str) -> &str {
    let place = address.split_once("://").map_or(address, |(_, place)| place);
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    place.split_once('/').map_or(place, |(place, _)| place)
}

/// Returns a server on which commits need not wait for the disk, and which counts the rows of each
/// statement.
fn start_postgres(dir: &Path) -> Result<Running> {
    let options = sealstone_servers::PostgresOptions {
        password: Some(PASSWORD.into()),
        sync_writes: false,
        arguments: ["-c", "shared_preload_libraries=pg_stat_statements"].map(String::from).into(),
        ..Default::default()
    };
    let server = sealstone_servers::start_postgres(dir, options)?;
    let address = format!(
        "postgres://{}:{PASSWORD}@{}/postgres?sslmode=disable",
        POSTGRES_USER,
        server.address()
    );
    let mut client =
        postgres::Client::connect(&address, postgres::NoTls).context("connect to PostgreSQL")?;
    client
        .batch_execute("CREATE EXTENSION pg_stat_statements")
        .context("count the rows of statements")?;
    Ok(Running { address, _server: Box::new(server) })
}

fn open_postgres(address: &str, _threads: usize, tables: &[Arc<Table>]) -> Result<OpenStore> {
    let server = Postgres::connect(&PostgresOptions { uri: address.into(), ..Default::default() })?;
    let options = StoreOptions { cache_bytes: 0, tables: tables.to_vec(), sync_writes: false };
    Ok(OpenStore::records(server.open_store(&options)?))
}

/// go-ycsb's own reads, by its words, that found nothing.
fn selects_without_a_row(address: &str) -> Result<u64> {
    const COUNT: &str = "SELECT coalesce(sum(calls - rows), 0)::bigint FROM pg_stat_statements \
                         WHERE query LIKE 'SELECT % FROM usertable WHERE YCSB_KEY = $1'";
    let mut client =
        postgres::Client::connect(address, postgres::NoTls).context("connect to PostgreSQL")?;
    let found: i64 = client.query_one(COUNT, &[]).context("ask for the rows of statements")?.get(0);
    Ok(found.unsigned_abs())
}

fn keyspace_misses(address: &str) -> Result<u64> {
    const NAME: &str = "keyspace_misses:";
    let mut server =
        TcpStream::connect(host(address)).with_context(|| format!("connect to {address}"))?;
    server.write_all(b"INFO stats\r\nQUIT\r\n").context("ask for INFO")?;
    let lines = BufReader::new(server).lines().map_while(|line| line.ok());
    let found = lines.filter_map(|line| line.strip_prefix(NAME)?.trim().parse().ok()).next();
    found.with_context(|| format!("{address} does not say {NAME}"))
}

/// Returns a server on which commits need not wait for the disk.
fn start_mariadb(dir: &Path) -> Result<Running> {
    let options = MariaDbOptions {
        password: Some(PASSWORD.into()),
        sync_writes: false,
        ..Default::default()
    };
    let server = sealstone_servers::start_mariadb(dir, options)?;
    let address =
        format!("mysql://{}:{PASSWORD}@{}/{}", MARIADB_USER, server.address(), MARIADB_DATABASE);
    Ok(Running { address, _server: Box::new(server) })
}

fn open_mysql(address: &str, _threads: usize, tables: &[Arc<Table>]) -> Result<OpenStore> {
    let server = Mysql::connect(&MysqlOptions { uri: address.into(), ..Default::default() })?;
    let options = StoreOptions { cache_bytes: 0, tables: tables.to_vec(), sync_writes: false };
    Ok(OpenStore::records(server.open_store(&options)?))
}

/// Statements that read, less the rows that the server sent for them: nobody else reads while
/// go-ycsb does.
fn keys_without_a_row(address: &str) -> Result<u64> {
    use mysql::prelude::Queryable;
    const COUNT: &str = "SELECT sum(if(variable_name = 'COM_SELECT', variable_value, \
                         -variable_value)) FROM information_schema.global_status WHERE \
                         variable_name IN ('COM_SELECT', 'ROWS_SENT')";
    let mut client =
        mysql::Conn::new(mysql::Opts::from_url(address)?).context("connect to MariaDB")?;
    let found: Option<f64> = client.query_first(COUNT).context("ask for the rows of statements")?;
    // each question is a row for a statement, too
    Ok((found.context("no count of statements")? + OTHERS) as u64)
}

/// More than the rows that are sent for other reasons, so that the difference is never negative.
const OTHERS: f64 = 1e9;
