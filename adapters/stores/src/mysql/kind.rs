//! The row of MySQL and MariaDB in the table of stores: its server.

use std::path::PathBuf;

use sealstone_seal::tablespace::PageMode;
use sealstone_servers::{MARIADB_CACHE_BYTES_MIN, MARIADB_PROGRAM, MariaDbServer};
use sealstone_store::kind::{Form, Opened, Request, Setting, StoreKind};
use sealstone_store::{Layer, StoreError};

use super::connection::{Mysql, MysqlOptions};
use super::function::{AES_ENCRYPT, SHA2};
use super::rest_arguments::{AES_CBC, AES_CTR, RestArguments};
use crate::at_rest::EXTENSION;
use crate::run_key::for_functions;
use crate::server_error::address;
use crate::sql::{LabEngine, Owned, Server, UserEngine};

/// Name in the table.
const NAME: &str = "mysql";
/// The minimum number of connections to a server: some workloads fix their clients, whatever
/// `--threads` is.
const CONNECTIONS_MIN: usize = 500;
/// Options of every server that is measured: it begins with an empty cache. Of itself it would load
/// what it held before it ended, but for tables that are encrypted, and a scan from a cold cache
/// would be warmer without encryption than with it.
const MEASURED: [&str; 2] =
    ["--innodb-buffer-pool-load-at-startup=OFF", "--innodb-buffer-pool-dump-at-shutdown=OFF"];

/// The row. A round trip takes longer than the work at its end: fewer records than within this
/// process, more clients.
pub(crate) static KIND: StoreKind = StoreKind {
    name: NAME,
    about: "MySQL and MariaDB, with a MariaDB started on this machine",
    replicated: false,
    layers: &[Layer::Field, Layer::Wire, Layer::Server, Layer::Rest],
    rest_mode: Some(|provider| PageMode::of(provider).mode()),
    server_rest: &[&AES_CTR, &AES_CBC],
    on_volume: cfg!(feature = "volume"),
    functions: &[&AES_ENCRYPT.function, &SHA2.function],
    device: false,
    in_memory: false,
    cache_bytes_min: MARIADB_CACHE_BYTES_MIN,
    cache_decided_by: Some(Mysql::FLAG),
    shared_by: Some(Mysql::FLAG),
    shared_by_variant: false,
    suited: "workloads = [\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]\nrecords = 50000\noperations = \
             20000\nthreads = 8\n\
             rounds = 6\npairs = 3\nslice-ms = 500\n",
    settings: &[
        Setting::new(
            "mariadbd",
            "FILE",
            Form::File,
            "The server program [default: SEALSTONE_MARIADBD, or mariadbd on the search path or in \
             /usr/sbin]",
        ),
        EXTENSION,
        Setting {
            excludes: &["mariadbd", EXTENSION.name],
            ..Setting::new(
                Mysql::FLAG,
                "URL",
                Form::Text,
                "Your own database instead of a server started here: \
                 mysql://USER:PASSWORD@HOST:PORT/DATABASE, with ?ssl-mode=VERIFY_IDENTITY and so \
                 on behind it, or @FILE with the address in the file",
            )
        },
        Setting::new(
            "tls-ca-file",
            "FILE",
            Form::File,
            "Authorities that the certificate of your server is checked with",
        ),
        Setting::new(
            "tls-certificate-key-file",
            "FILE",
            Form::File,
            "Certificate and key to show to your server",
        ),
    ],
    engine,
};

/// Returns a server started on this machine for each store, or the user's own.
fn engine(request: &Request) -> Result<Opened, StoreError> {
    let (keys, mut notes) = for_functions(request)?;
    if let Some(text) = request.setting(Mysql::FLAG) {
        let client = MysqlOptions {
            uri: address(text)?,
            tls_ca_file: request.file("tls-ca-file"),
            tls_certificate_key_file: request.file("tls-certificate-key-file"),
        };
        let engine =
            UserEngine::new(NAME, request.joins, move || Mysql::connect(&client)).with_keys(keys);
        return Ok(Opened { engine: Box::new(engine), notes });
    }
    let program: Option<PathBuf> = Some(
        MARIADB_PROGRAM.find(request.file("mariadbd").as_deref()).map_err(StoreError::engine)?,
    );
    // a client may look something up while its transaction is open
    let (keep, connections) = (request.keep.is_some(), CONNECTIONS_MIN.max(3 * request.clients));
    let rest = RestArguments::new(request)?;
    notes.extend(rest.note().filter(|note| !notes.contains(note)));
    let engine = LabEngine::new(NAME, move |wanted| {
        let started = sealstone_servers::MariaDbOptions {
            program: program.clone(),
            certificates: wanted.certificates,
            cache_bytes: Some(wanted.options.cache_bytes),
            sync_writes: wanted.options.sync_writes,
            arguments: [MEASURED.map(str::to_owned).to_vec(), rest.of(wanted.variant)?].concat(),
            connections: u32::try_from(connections).unwrap_or(u32::MAX),
            ..sealstone_servers::MariaDbOptions::default()
        };
        let server = MariaDbServer::start(wanted.dir, started).map_err(StoreError::engine)?;
        let reached =
            Mysql::connect(&MysqlOptions { uri: server.uri(), ..MysqlOptions::default() })?;
        Ok((reached, Box::new(Owned::new(server, keep))))
    });
    Ok(Opened { engine: Box::new(engine.with_keys(keys)), notes })
}
