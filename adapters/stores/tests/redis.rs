//! The store as a benchmark uses it, on a single real server and on a cluster, and its errors when
//! a server fails.

mod conformance;
mod workloads;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ::redis::{Client, Connection, Value, cmd};
use conformance::{Draws, all, answers_as_a_model, key};
use sealstone_servers::testing::is_installed;
use sealstone_servers::{
    Authority, CertificateUse, REDIS_PROGRAM, RedisServers, join_certificate, start_redis,
};
use sealstone_store::{
    Field, Kind, OpenStore, Record, Row, Store, StoreError, StoreOptions, Table, Transaction,
    Upkeep,
};
use sealstone_stores::{Redis, RedisKeys, RedisOptions, RedisStore, RedisTopology};

/// Servers to test on, in their directory; they end with the value. None, with a SKIP, if there is
/// no redis-server.
fn servers(name: &str, nodes: usize) -> Option<(tempfile::TempDir, RedisServers)> {
    if !is_installed(&REDIS_PROGRAM, name) {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    // a node that is silent is replaced soon
    let arguments = ["--cluster-node-timeout", "1500"].map(String::from);
    let options = sealstone_servers::RedisOptions {
        arguments: arguments.into(),
        ..sealstone_servers::RedisOptions::default()
    };
    let servers = RedisServers::start(dir.path(), nodes, &options).unwrap();
    Some((dir, servers))
}

/// One server, alone.
fn server(
    name: &str,
    options: sealstone_servers::RedisOptions,
) -> Option<(tempfile::TempDir, sealstone_servers::Redis)> {
    if !is_installed(&REDIS_PROGRAM, name) {
        return None;
    }
    let dir = tempfile::tempdir().unwrap();
    let server = start_redis(dir.path(), options).unwrap();
    Some((dir, server))
}

fn connect(uri: &str) -> Redis {
    Redis::connect(&RedisOptions { uri: uri.into(), ..RedisOptions::default() }).unwrap()
}

fn refused(options: &RedisOptions) -> String {
    let error = Redis::connect(options).expect_err("there is no such server").to_string();
    assert_eq!(error.lines().count(), 2, "{error}");
    assert!(!format!("{error} {options:?}").contains("geheim"), "{error}");
    error
}

fn open(uri: &str, tables: &[Arc<Table>]) -> RedisStore {
    connect(uri).open_store(&options(tables))
}

fn options(tables: &[Arc<Table>]) -> StoreOptions {
    StoreOptions { cache_bytes: 0, tables: tables.to_vec(), sync_writes: false }
}

/// The server itself, asked directly.
fn direct(server: &sealstone_servers::Redis) -> Connection {
    Client::open(server.uri()).unwrap().get_connection().unwrap()
}

fn table(id: u8, name: &str) -> Arc<Table> {
    let field = |(name, kind): (&str, Kind)| Field { name: name.into(), kind };
    let fields = [("text", Kind::Text), ("whole", Kind::Integer), ("a.$b", Kind::Decimal)];
    Arc::new(Table { id, name: name.into(), fields: fields.map(field).into() })
}

fn record(values: [&[u8]; 3]) -> Record {
    let mut record = Record::new();
    values.iter().for_each(|value| record.push(value));
    record
}

fn record_of(whole: &[u8]) -> Record {
    record([b"", whole, b""])
}

/// Returns values that fields of the table above take: any bytes, whatever the field is.
fn values(_: usize) -> &'static [&'static [u8]] {
    const VALUES: [&[u8]; 9] = [
        b"",
        b"7",
        b"007",
        b"-3",
        b"2.50",
        b"\xff\x00\x80\r\n",
        b"a.b",
        "\u{ac00}".as_bytes(),
        b"$-1\r\n",
    ];
    &VALUES
}

#[test]
fn it_answers_as_a_store_in_memory_does() {
    for nodes in [1, 3] {
        let Some((_dir, servers)) = servers("it_answers_as_a_store_in_memory_does", nodes) else {
            return;
        };
        let tables = [table(1, "t"), table(2, "u")];
        let store = open(&servers.uri(), &tables);
        let topology = if nodes == 1 { RedisTopology::Single } else { RedisTopology::Cluster };
        assert_eq!(store.server().topology(), topology);
        answers_as_a_model(&store, &tables, values);
        // a record is removed with its entry in the index
        let one = all(&store, &tables[0], b"", 1).remove(0).0;
        store.delete(&tables[0], &one).unwrap();
        store.delete(&tables[0], &one).unwrap();
        assert!(!store.read(&tables[0], &one, None, &mut Record::new()).unwrap());
        assert_ne!(all(&store, &tables[0], b"", 1).remove(0).0, one);
        store.remove(&tables).unwrap();
        assert!(!store.server().holds_keys().unwrap(), "nothing is left");
    }
}

/// As YCSB's Redis binding lays it out.
#[test]
fn records_lie_as_ycsb_lays_them() {
    let Some((_dir, server)) =
        server("records_lie_as_ycsb_lays_them", sealstone_servers::RedisOptions::default())
    else {
        return;
    };
    let t = table(1, "usertable");
    let store = open(&server.uri(), std::slice::from_ref(&t));
    let user = b"user6284781860667377211";
    store.insert(&t, user, &record([b"a", b"1", b"2.5"])).unwrap();
    let mut direct = direct(&server);
    let hash: Vec<String> = cmd("HGETALL").arg(user).query(&mut direct).unwrap();
    assert_eq!(hash, ["text", "a", "whole", "1", "a.$b", "2.5"]);
    let index: Vec<String> =
        cmd("ZRANGE").arg("_indices").arg(0).arg(-1).arg("WITHSCORES").query(&mut direct).unwrap();
    let java =
        user.iter().fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(*byte)));
    assert_eq!(index, ["user6284781860667377211".to_owned(), java.to_string()]);
    // records of another program are read, with their fields in any order
    let theirs: i64 =
        cmd("HSET").arg("user7").arg(&["a.$b", "9", "text", "b"]).query(&mut direct).unwrap();
    assert_eq!(theirs, 2);
    let mut found = Record::new();
    assert!(store.read(&t, b"user7", None, &mut found).unwrap());
    assert_eq!(found, record([b"b", b"", b"9"]));

    // scans go by the hash, all of them are found one after the other, however many have the same
    // hash
    for n in 0..50 {
        store.insert(&t, &key(n), &record_of(n.to_string().as_bytes())).unwrap();
    }
    for name in [
        "userAaAaAaAa",
        "userAaAaAaBB",
        "userAaAaBBAa",
        "userAaBBAaAa",
        "userBBAaAaAa",
        "userBBBBBBBB",
    ] {
        store.insert(&t, name.as_bytes(), &record_of(b"1")).unwrap();
    }
    let keys: Vec<Vec<u8>> = all(&store, &t, b"", 1000).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys.len(), 57);
    let mut paged: Vec<Vec<u8>> = Vec::new();
    loop {
        let start = paged.last().map_or(Vec::new(), |last| [last.as_slice(), b"\0"].concat());
        let page = all(&store, &t, &start, 4);
        paged.extend(page.iter().map(|(key, _)| key.clone()));
        if page.len() < 4 {
            break;
        }
    }
    assert_eq!(paged, keys);
    let from = &keys[20];
    assert_eq!(all(&store, &t, from, 3)[0].0, *from);

    // go-ycsb puts the table before the key
    let keys =
        RedisOptions { uri: server.uri(), keys: RedisKeys::GoYcsb, ..RedisOptions::default() };
    let go = Redis::connect(&keys).unwrap().open_store(&options(std::slice::from_ref(&t)));
    go.insert(&t, b"user8", &record_of(b"8")).unwrap();
    let length: i64 = cmd("HLEN").arg("usertable/user8").query(&mut direct).unwrap();
    assert_eq!(length, 3);
}

#[test]
fn bulk_loading_is_all_or_nothing() {
    let Some((_dir, servers)) = servers("bulk_loading_is_all_or_nothing", 1) else { return };
    let t = table(1, "t");
    let store = open(&servers.uri(), std::slice::from_ref(&t));
    let row = |n: u64| -> Row { (key(n), record([b"a", n.to_string().as_bytes(), b"1.25"])) };
    conformance::bulk_loading_is_all_or_nothing(&store, &t, row);
    assert!(store.disk_bytes().unwrap() > 100_000);
    let short = Record::new();
    assert!(matches!(store.insert(&t, b"x", &short), Err(StoreError::Shape { .. })));
}

#[test]
fn every_workload_runs_and_finds_its_data_again() {
    let Some((_dir, servers)) = servers("every_workload_runs_and_finds_its_data_again", 1) else {
        return;
    };
    let opened = |tables: &[Arc<Table>]| OpenStore::records(open(&servers.uri(), tables));
    let empty = |tables: &[Arc<Table>]| open(&servers.uri(), tables).remove(tables).unwrap();
    workloads::every_workload_finds_its_data_again(&opened, &empty);
}

#[test]
fn transactions_are_atomic_and_isolated() {
    let Some((_dir, servers)) = servers("transactions_are_atomic_and_isolated", 1) else { return };
    let t = table(1, "t");
    let store = open(&servers.uri(), std::slice::from_ref(&t));
    conformance::transactions_are_atomic(&store, &t, 40);
    let transactional = store.transactional().unwrap();

    // records read for update are locked: another client changes a record that is only read here
    let runs = AtomicU64::new(0);
    let body = &mut |transaction: &mut dyn Transaction| {
        let mut b = Record::new();
        transaction.read(&t, &key(1), true, &mut b)?;
        if runs.fetch_add(1, Ordering::Relaxed) == 0 {
            store.insert(&t, &key(1), &record_of(b"0"))?;
        }
        transaction.put(&t, &key(0), &record_of(b.get(1).unwrap()))
    };
    transactional.transaction(body).unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), 2, "run again after the conflict");
    let mut found = Record::new();
    store.read(&t, &key(0), None, &mut found).unwrap();
    assert_eq!(found, record_of(b"0"));
}

#[test]
fn each_thread_keeps_its_connection() {
    let Some((_dir, server)) =
        server("each_thread_keeps_its_connection", sealstone_servers::RedisOptions::default())
    else {
        return;
    };
    let t = table(1, "t");
    let store = open(&server.uri(), std::slice::from_ref(&t));
    for _ in 0..3 {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..20_u64)
                .map(|thread| {
                    let (store, t) = (&store, &t);
                    scope.spawn(move || {
                        (0..20).for_each(|n| {
                            store.insert(t, &key(thread * 20 + n), &record_of(b"1")).unwrap()
                        });
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
    assert_eq!(all(&store, &t, b"", 1000).len(), 400);
    let stats: String = cmd("INFO").arg("stats").query(&mut direct(&server)).unwrap();
    let made =
        stats.lines().find_map(|line| line.strip_prefix("total_connections_received:")).unwrap();
    // twenty threads, one that scans, one that queried the server, and this one
    assert!(made.trim().parse::<u32>().unwrap() <= 23, "{made} connections");
}

/// A node is killed, and a slot moved, while clients read and write: they notice nothing.
#[test]
fn a_cluster_changes_under_its_clients() {
    let Some((_dir, mut servers)) = servers("a_cluster_changes_under_its_clients", 6) else {
        return;
    };
    let t = table(1, "usertable");
    let store = open(&servers.uri(), std::slice::from_ref(&t));
    assert!(store.transactional().is_none(), "no transactions over several nodes");
    let rows: Vec<Row> = (0..200).map(|n| (key(n), record_of(n.to_string().as_bytes()))).collect();
    store.insert_many(&t, &rows).unwrap();
    let ended = AtomicBool::new(false);
    let done = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, t, ended, done) = (&store, &t, &ended, &done);
            scope.spawn(move || {
                let mut draws = Draws(thread);
                let mut found = Record::new();
                while !ended.load(Ordering::Relaxed) {
                    let key = key(draws.below(200));
                    assert!(store.read(t, &key, None, &mut found).unwrap());
                    assert!(store.update(t, &key, &[(0, b"new")]).unwrap());
                    let last = draws.below(1000).to_string();
                    store.insert(t, format!("user9{last}").as_bytes(), &record_of(b"9")).unwrap();
                    assert!(store.scan(t, &key, 5, &mut |_, _| ()).unwrap() > 0);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let more = |count: u64| {
            let (begin, from) = (Instant::now(), done.load(Ordering::Relaxed));
            while done.load(Ordering::Relaxed) < from + count {
                assert!(begin.elapsed() < Duration::from_secs(60), "the clients stand still");
                std::thread::sleep(Duration::from_millis(10));
            }
        };
        more(100);
        move_slot(&servers, &key(7));
        more(100);
        servers.node_mut(1).kill().unwrap();
        // each client meets the node that is gone, and its replica takes over
        more(400);
        ended.store(true, Ordering::Relaxed);
    });
    let mut found = Record::new();
    let kept = (0..200).filter(|n| store.read(&t, &key(*n), None, &mut found).unwrap()).count();
    assert_eq!(kept, 200);
}

/// Moves the slot of `key` with its content to the next primary.
fn move_slot(servers: &RedisServers, key: &[u8]) {
    let mut nodes: Vec<Connection> = servers.nodes()[..3].iter().map(direct).collect();
    let ids: Vec<String> =
        nodes.iter_mut().map(|node| cmd("CLUSTER").arg("MYID").query(node).unwrap()).collect();
    let slot: u64 = cmd("CLUSTER").arg("KEYSLOT").arg(key).query(&mut nodes[0]).unwrap();
    let from = (slot * 3 / 16_384) as usize;
    let to = (from + 1) % 3;
    let set = |node: &mut Connection, how: &str, id: &str| {
        cmd("CLUSTER").arg("SETSLOT").arg(slot).arg(how).arg(id).exec(node).unwrap();
    };
    set(&mut nodes[to], "IMPORTING", &ids[from]);
    set(&mut nodes[from], "MIGRATING", &ids[to]);
    loop {
        let request = cmd("CLUSTER").arg("GETKEYSINSLOT").arg(slot).arg(100).take();
        let keys: Vec<Vec<u8>> = request.query(&mut nodes[from]).unwrap();
        if keys.is_empty() {
            break;
        }
        for key in keys {
            let port = servers.nodes()[to].port();
            let request =
                cmd("MIGRATE").arg("127.0.0.1").arg(port).arg(key).arg(0).arg(5000).take();
            let _: Value = request.query(&mut nodes[from]).unwrap();
        }
    }
    for node in [to, from, (from + 2) % 3] {
        set(&mut nodes[node], "NODE", &ids[to]);
    }
}

/// A process that ends with the value.
struct Ended(std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sentinels name the primary, and after its end the replica that took over.
#[test]
fn sentinels_lead_to_the_primary() {
    let name = "sentinels_lead_to_the_primary";
    let Some((_dir, mut primary)) = server(name, sealstone_servers::RedisOptions::default()) else {
        return;
    };
    let port = primary.port().to_string();
    let arguments =
        ["--replicaof", "127.0.0.1", &port, "--repl-diskless-sync-delay", "0"].map(String::from);
    let replica = sealstone_servers::RedisOptions {
        arguments: arguments.into(),
        ..sealstone_servers::RedisOptions::default()
    };
    let Some((_replica_dir, replica)) = server(name, replica) else { return };

    let dir = tempfile::tempdir().unwrap();
    let own = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = format!(
        "port {own}\nbind 127.0.0.1\ndir {}\nlogfile sentinel.log\nsentinel monitor main 127.0.0.1 \
         {port} 1\n\
         sentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 3000\n",
        dir.path().display()
    );
    std::fs::write(dir.path().join("sentinel.conf"), settings).unwrap();
    let program = REDIS_PROGRAM.find(None).unwrap();
    let mut sentinel = std::process::Command::new(program);
    let sentinel =
        sentinel.arg(dir.path().join("sentinel.conf")).arg("--sentinel").spawn().unwrap();
    let _sentinel = Ended(sentinel);
    let asked = |what: &[&str]| -> Option<String> {
        let mut connection =
            Client::open(format!("redis://127.0.0.1:{own}")).ok()?.get_connection().ok()?;
        let answer: Value = cmd("SENTINEL").arg(what).query(&mut connection).ok()?;
        Some(format!("{answer:?}"))
    };
    let begin = Instant::now();
    while !asked(&["REPLICAS", "main"]).is_some_and(|told| told.contains("master-link-status")) {
        assert!(begin.elapsed() < Duration::from_secs(30), "the sentinel knows no replica");
        std::thread::sleep(Duration::from_millis(50));
    }

    let t = table(1, "t");
    let at = |name: &str| format!("redis+sentinel://127.0.0.1:{own}/{name}");
    let store = open(&at("main"), std::slice::from_ref(&t));
    assert_eq!(store.server().topology(), RedisTopology::Sentinel);
    store.insert(&t, &key(1), &record_of(b"1")).unwrap();
    assert!(store.transactional().is_some());
    let other = RedisOptions { uri: at("other"), ..RedisOptions::default() };
    let error = refused(&other);
    assert!(error.contains(": no sentinel knows a primary of that name\n"), "{error}");
    // writes that a replica has not seen are lost with its primary
    let seen = |key: &str| cmd("EXISTS").arg(key).query::<u32>(&mut direct(&replica)).unwrap() == 1;
    while !seen("t/user00000001") || !seen("_indices/t") {
        assert!(begin.elapsed() < Duration::from_secs(30), "the replica does not catch up");
        std::thread::sleep(Duration::from_millis(20));
    }
    primary.kill().unwrap();
    store.insert(&t, &key(2), &record_of(b"2")).unwrap();
    let role: Vec<Value> = cmd("ROLE").query(&mut direct(&replica)).unwrap();
    assert_eq!(role[0], Value::BulkString(b"master".into()), "the replica has taken over");
    assert_eq!(all(&store, &t, b"", 10).len(), 2);
}

#[test]
fn a_server_that_dies_is_reported_and_found_again() {
    let name = "a_server_that_dies_is_reported_and_found_again";
    let Some((_dir, mut server)) = server(name, sealstone_servers::RedisOptions::default()) else {
        return;
    };
    let t = table(1, "t");
    let store = open(&server.uri(), std::slice::from_ref(&t));
    store.insert(&t, &key(1), &record_of(b"1")).unwrap();
    server.kill().unwrap();
    let begin = Instant::now();
    let error = store.insert(&t, &key(2), &record_of(b"1")).unwrap_err().to_string();
    let want = format!(
        "cannot write a record of table t (HSET) on Redis at {}: the connection broke",
        server.address()
    );
    assert!(
        error.starts_with(&want) && error.contains("\ncheck whether the server still runs"),
        "{error}"
    );
    let error = store.read(&t, &key(2), None, &mut Record::new()).unwrap_err().to_string();
    let want = format!(
        "cannot connect to Redis at {}: connection refused\nstart the server, ",
        server.address()
    );
    assert!(error.starts_with(&want), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(10));
    server.start_again().unwrap();
    assert!(
        !store.read(&t, &key(1), None, &mut Record::new()).unwrap(),
        "it is found again, and keeps nothing"
    );
}

#[test]
fn a_server_that_refuses_says_why() {
    let password = Some("geheim und \"so\"".into());
    let options =
        sealstone_servers::RedisOptions { password, ..sealstone_servers::RedisOptions::default() };
    let Some((_dir, mut server)) = server("a_server_that_refuses_says_why", options) else {
        return;
    };
    let address = server.address();
    let at = |uri: String| RedisOptions { uri, ..RedisOptions::default() };
    let error = refused(&at(format!("redis://{address}")));
    let step = "\ngive user and password in the address: redis://USER:PASSWORD@HOST:PORT";
    assert_eq!(error, format!("cannot connect to Redis at {address}: it wants a password{step}"));
    let error = refused(&at(format!("redis://:geheimnis@{address}")));
    assert_eq!(
        error,
        format!(
            "cannot connect to Redis at {address}: it refused the user name and password{step}"
        )
    );
    let store = connect(&format!("redis://:geheim%20und%20%22so%22@{address}"));
    assert_eq!(store.topology(), RedisTopology::Single);
    let error = refused(&at(format!("rediss://{address}")));
    assert!(
        error.contains(": no TLS connection")
            && error.contains("\ncheck whether the server takes TLS"),
        "{error}"
    );
    let error = refused(&at(format!("redis://{address},{address}")));
    assert!(error.contains(": it wants a password"), "{error}");
    server.stop().unwrap();
    let error = refused(&at(format!("redis://u:geheim@{address}")));
    assert!(
        error.starts_with(&format!("cannot connect to Redis at {address}: connection refused\n")),
        "{error}"
    );
}

#[test]
fn a_server_with_tls_is_checked() {
    if !is_installed(&REDIS_PROGRAM, "a_server_with_tls_is_checked") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap();
    let authority = Authority::make(&dir, "ca").unwrap();
    authority.sign("server", CertificateUse::Server).unwrap();
    authority.sign("client", CertificateUse::Client).unwrap();
    join_certificate(&dir, "client", &dir.join("both.pem")).unwrap();
    let with = sealstone_servers::RedisOptions {
        certificates: Some(dir.clone()),
        client_certificates: true,
        ..sealstone_servers::RedisOptions::default()
    };
    let server = start_redis(&dir.join("server"), with).unwrap();
    let file = |name: &str| Some(dir.join(name));
    let options = |scheme: &str, tls_ca_file, tls_certificate_key_file| RedisOptions {
        uri: format!("{scheme}://{}", server.address()),
        tls_ca_file,
        tls_certificate_key_file,
        ..RedisOptions::default()
    };
    let t = table(1, "t");
    let all_right = options("rediss", file("ca.pem"), file("both.pem"));
    let store =
        Redis::connect(&all_right).unwrap().open_store(&self::options(std::slice::from_ref(&t)));
    store.insert(&t, b"a", &record_of(b"1")).unwrap();
    assert!(store.read(&t, b"a", None, &mut Record::new()).unwrap());
    let error = refused(&options("redis", None, None));
    assert!(error.contains("\ncheck whether the server wants TLS (write rediss://)"), "{error}");
    let error = refused(&options("rediss", None, file("both.pem")));
    assert!(
        error.contains("not trusted here\nname the authority's certificate as tls-ca-file"),
        "{error}"
    );
    let error = refused(&options("rediss", file("ca.pem"), None));
    assert!(
        error.contains("it wants a certificate of the client\nname certificate and key as"),
        "{error}"
    );
    let error = refused(&options("rediss", Some(Path::new("/nonexistent").into()), None));
    assert!(
        error.starts_with("cannot read the certificate of an authority /nonexistent: "),
        "{error}"
    );
}

#[test]
fn a_replica_and_a_server_without_memory_take_no_writes() {
    let name = "a_replica_and_a_server_without_memory_take_no_writes";
    let Some((_dir, server)) = server(name, sealstone_servers::RedisOptions::default()) else {
        return;
    };
    let t = table(1, "t");
    let store = open(&server.uri(), std::slice::from_ref(&t));
    let mut direct = direct(&server);
    let mut set = |name: &str, value: &str| {
        cmd("CONFIG").arg("SET").arg(name).arg(value).exec(&mut direct).unwrap()
    };
    set("maxmemory-policy", "noeviction");
    set("maxmemory", "1kb");
    let address = server.address();
    let error = store.insert(&t, b"a", &record_of(b"1")).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "cannot write a record of table t (HSET) on Redis at {address}: it is out of memory: \
             its data reach maxmemory\nraise maxmemory on the server, or load fewer records"
        )
    );
    let rows: Vec<Row> = (0..10).map(|n| (key(n), record_of(b"1"))).collect();
    let error = store.bulk().unwrap().bulk_load(&t, &mut rows.into_iter()).unwrap_err().to_string();
    assert!(error.contains("it is out of memory"), "{error}");
    let write =
        &mut |transaction: &mut dyn Transaction| transaction.put(&t, b"a", &record_of(b"1"));
    let error = store.transactional().unwrap().transaction(write).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot write within a transaction") && error.contains("out of memory"),
        "{error}"
    );
    set("maxmemory", "0");
    store.insert(&t, b"a", &record_of(b"1")).unwrap();

    cmd("REPLICAOF").arg("127.0.0.1").arg(1).exec(&mut direct).unwrap();
    let error = store.update(&t, b"a", &[(0, b"x")]).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "cannot change a record of table t (HSET) on Redis at {address}: it is a replica, \
             which takes no writes\n\
             name its primary, or let sentinels name it: redis+sentinel://HOST:PORT/NAME"
        )
    );
}

#[test]
fn a_node_that_is_announced_elsewhere_is_named_as_it_is_announced() {
    let name = "a_node_that_is_announced_elsewhere_is_named_as_it_is_announced";
    let Some((_dir, servers)) = servers(name, 3) else { return };
    // nobody listens there
    const ELSEWHERE: &str = "127.0.0.99";
    for node in servers.nodes() {
        let set = cmd("CONFIG")
            .arg("SET")
            .arg("cluster-announce-ip")
            .arg(ELSEWHERE)
            .query::<String>(&mut direct(node));
        assert_eq!(set.unwrap(), "OK");
    }
    let uri = servers.uri();
    let begin = Instant::now();
    // until the nodes have notified each other
    let error = loop {
        match connect(&uri).holds_keys() {
            Err(error) => break error.to_string(),
            Ok(_) => assert!(begin.elapsed() < Duration::from_secs(30), "it is still reached"),
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    assert!(error.contains(&format!(": its node {ELSEWHERE}:")), "{error}");
    assert!(
        error.contains(
            ", as the cluster announces it, cannot be reached from here\nstart that node"
        ),
        "{error}"
    );
}
