//! The store as a benchmark uses it, on a single real server and on a replica set.

mod conformance;
mod workloads;

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use conformance::{all, key};
use sealstone_servers::testing::is_installed;
use sealstone_servers::{Authority, MONGOD_PROGRAM, Mongod, MongodOptions, ReplicaSet};
use sealstone_store::{
    Engine, Field, Kind, OpenStore, Record, Row, Store, StoreOptions, Table, Upkeep, Variant,
};
use sealstone_stores::{
    MongoDb, MongoDbLabEngine, MongoDbLabOptions, MongoDbOptions, MongoDbStore, lab_tunnel,
};

/// Servers to test on; they end with the value.
enum Servers {
    One(Mongod),
    Set(ReplicaSet),
}

/// Returns a single server and a replica set, each in its own directory; none, with a SKIP, if
/// there is no mongod.
fn servers(name: &str) -> Vec<(tempfile::TempDir, Servers)> {
    if !is_installed(&MONGOD_PROGRAM, name) {
        return Vec::new();
    }
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [one, set] = dirs;
    let server = Mongod::start(one.path(), MongodOptions::default()).unwrap();
    // one member is enough for transactions, and quick
    let members = ReplicaSet::start(set.path(), &[MongodOptions::default()]).unwrap();
    vec![(one, Servers::One(server)), (set, Servers::Set(members))]
}

impl Servers {
    fn connect(&self) -> MongoDb {
        let uri = match self {
            Self::One(server) => server.uri(),
            Self::Set(set) => set.uri(),
        };
        MongoDb::connect(&MongoDbOptions { uri, threads: 8, ..MongoDbOptions::default() }).unwrap()
    }

    fn open(&self, tables: &[Arc<Table>]) -> MongoDbStore {
        self.connect()
            .open_store(&StoreOptions {
                cache_bytes: 0,
                tables: tables.to_vec(),
                sync_writes: false,
            })
            .unwrap()
    }
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

/// Returns values that fields of the table above take: any bytes, whatever the field is.
fn values(_: usize) -> &'static [&'static [u8]] {
    const VALUES: [&[u8]; 10] = [
        b"",
        b"7",
        b"007",
        b"-3",
        b"2.5",
        b"2.50",
        b"\xff\x00\x80",
        b"a.b",
        "\u{ac00}".as_bytes(),
        b"$set",
    ];
    &VALUES
}

#[test]
fn it_answers_as_a_store_in_memory_does() {
    for (_dir, servers) in servers("it_answers_as_a_store_in_memory_does") {
        let tables = [table(1, "t"), table(2, "u")];
        conformance::answers_as_a_model(&servers.open(&tables), &tables, values);
    }
}

#[test]
fn bulk_loading_is_all_or_nothing() {
    for (_dir, servers) in servers("bulk_loading_is_all_or_nothing") {
        let t = table(1, "t");
        let store = servers.open(std::slice::from_ref(&t));
        let bulk = store.bulk().unwrap();
        let row = |n: u64| -> Row { (key(n), record([b"a", n.to_string().as_bytes(), b"1.25"])) };
        conformance::bulk_loading_is_all_or_nothing(&store, &t, row);
        // a key that is there
        let error = bulk.bulk_load(&t, &mut (2000..4500).map(row)).unwrap_err().to_string();
        assert!(error.contains("(code 11000; "), "{error}");
        let rows = all(&store, &t, b"", usize::MAX);
        assert_eq!(rows.len(), 2500, "what was there stays, nothing else does");
        assert_eq!(rows[2400], row(2400));
    }
}

#[test]
fn every_workload_runs_and_finds_its_data_again() {
    for (_dir, servers) in servers("every_workload_runs_and_finds_its_data_again") {
        let opened = |tables: &[Arc<Table>]| OpenStore::records(servers.open(tables));
        let empty = |tables: &[Arc<Table>]| servers.open(tables).server().remove(tables).unwrap();
        workloads::every_workload_finds_its_data_again(&opened, &empty);
    }
}

#[test]
fn transactions_are_atomic_and_isolated() {
    for (_dir, servers) in servers("transactions_are_atomic_and_isolated") {
        let t = table(1, "t");
        let store = servers.open(std::slice::from_ref(&t));
        match servers {
            Servers::One(_) => assert!(store.transactional().is_none(), "it takes a replica set"),
            Servers::Set(_) => conformance::transactions_are_atomic(&store, &t, 40),
        }
    }
}

fn record_of(whole: &[u8]) -> Record {
    record([b"", whole, b""])
}

/// Two transactions that each read both records for update and write one: under plain snapshots
/// both would commit.
#[test]
fn what_is_read_for_update_is_locked() {
    for (_dir, servers) in servers("what_is_read_for_update_is_locked") {
        let t = table(1, "t");
        let store = servers.open(std::slice::from_ref(&t));
        let Some(transactional) = store.transactional() else { continue };
        for n in 0..2 {
            store.insert(&t, &key(n), &record_of(b"1")).unwrap();
        }
        let runs = AtomicU64::new(0);
        transactional
            .transaction(&mut |transaction| {
                let (mut a, mut b) = (Record::new(), Record::new());
                transaction.read(&t, &key(0), true, &mut a)?;
                transaction.read(&t, &key(1), true, &mut b)?;
                if runs.fetch_add(1, Ordering::Relaxed) == 0 {
                    // another client changes a record that is only read here
                    store.insert(&t, &key(1), &record_of(b"0")).unwrap();
                }
                transaction.put(&t, &key(0), &record_of(b.get(1).unwrap()))
            })
            .unwrap();
        assert_eq!(runs.load(Ordering::Relaxed), 2, "run again after the conflict");
        let mut found = Record::new();
        store.read(&t, &key(0), None, &mut found).unwrap();
        assert_eq!(found, record_of(b"0"));
        store.read(&t, &key(1), None, &mut found).unwrap();
        assert_eq!(found, record_of(b"0"), "a lock leaves nothing behind");
    }
}

#[test]
fn it_counts_and_settles() {
    for (dir, servers) in servers("it_counts_and_settles") {
        let t = table(1, "t");
        let store = servers.open(std::slice::from_ref(&t));
        let before = store.counters();
        for n in 0..300 {
            store.insert(&t, &key(n), &record([&[b'x'; 2000], b"1", b""])).unwrap();
        }
        store.quiesce().unwrap();
        let after = store.counters();
        assert!(after.written_bytes > before.written_bytes, "{after:?}");
        assert!(
            after.cache_hits + after.cache_misses > before.cache_hits + before.cache_misses,
            "{after:?}"
        );
        assert!(store.disk_bytes().unwrap() > 0);
        store.drop_caches().unwrap();
        assert_eq!(all(&store, &t, b"", 1000).len(), 300);

        let facts = store.server().facts();
        assert_eq!(facts.name, "mongodb");
        assert!(facts.version.split('.').count() >= 3 && !facts.assertions, "{facts:?}");
        let uri = match &servers {
            Servers::One(server) => server.uri(),
            Servers::Set(set) => set.uri(),
        };
        let data_dirs = vec![dir.path().to_owned()];
        let local =
            MongoDb::connect(&MongoDbOptions { uri, data_dirs, ..MongoDbOptions::default() })
                .unwrap();
        let local = local
            .open_store(&StoreOptions {
                cache_bytes: 0,
                tables: vec![t.clone()],
                sync_writes: false,
            })
            .unwrap();
        // in the cache now, and not read again until it was emptied
        let row = |n: u64| -> Row { (key(n), record([&[b'y'; 2000], b"1", b""])) };
        local.bulk().unwrap().bulk_load(&t, &mut (1000..6000).map(row)).unwrap();
        let misses = || {
            let before = local.counters().cache_misses;
            assert_eq!(all(&local, &t, b"", usize::MAX).len(), 5300);
            local.counters().cache_misses - before
        };
        misses();
        local.drop_caches().unwrap();
        assert!(misses() > 0, "the cache was emptied");
        assert!(
            local.disk_bytes().unwrap() > store.disk_bytes().unwrap(),
            "all files, the journal among them"
        );
    }
}

#[test]
fn a_hundred_threads_share_one_connection() {
    for (_dir, servers) in servers("a_hundred_threads_share_one_connection") {
        let t = table(1, "t");
        let store = servers.open(std::slice::from_ref(&t));
        std::thread::scope(|scope| {
            for thread in 0..100u64 {
                let (store, t) = (&store, &t);
                scope.spawn(move || {
                    for n in 0..5 {
                        store.insert(t, &key(thread * 5 + n), &record_of(b"1")).unwrap();
                    }
                });
            }
        });
        assert_eq!(all(&store, &t, b"", 1000).len(), 500);
    }
}

#[test]
fn a_server_that_dies_is_reported_in_time() {
    for (_dir, servers) in servers("a_server_that_dies_is_reported_in_time") {
        let Servers::One(mut server) = servers else { continue };
        let t = table(1, "t");
        // a single server acknowledges writes in memory alone, unless more is requested
        let options =
            MongoDbOptions { uri: server.uri(), journal: Some(true), ..MongoDbOptions::default() };
        let store = MongoDb::connect(&options).unwrap();
        let store = store
            .open_store(&StoreOptions {
                cache_bytes: 0,
                tables: vec![t.clone()],
                sync_writes: false,
            })
            .unwrap();
        store.insert(&t, &key(1), &record_of(b"1")).unwrap();
        server.kill().unwrap();
        let begin = Instant::now();
        let error = store.insert(&t, &key(2), &record_of(b"1")).unwrap_err().to_string();
        let want = format!("cannot write to collection t of MongoDB at {}: ", server.address());
        assert!(
            error.starts_with(&want) && error.contains("\ncheck whether the servers run"),
            "{error}"
        );
        assert!(begin.elapsed() < Duration::from_secs(60));
        // counters keep what they had
        assert!(store.counters().cache_misses < u64::MAX);
        server.start_again().unwrap();
        assert!(
            store.read(&t, &key(1), None, &mut Record::new()).unwrap(),
            "and it is found again"
        );
    }
}

/// A relay to a server on this machine, and all that went over it, both ways.
struct Wiretap {
    port: u16,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Wiretap {
    fn on(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tap = Self { port: listener.local_addr().unwrap().port(), heard: Arc::default() };
        let heard = Arc::clone(&tap.heard);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) =
                    (client.unwrap(), TcpStream::connect(("127.0.0.1", port)).unwrap());
                let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                for (from, to) in [(client, server), back] {
                    let heard = Arc::clone(&heard);
                    thread::spawn(move || pass(from, to, &heard));
                }
            }
        });
        tap
    }

    /// Returns whether `words` went over the connection in the clear.
    fn has(&self, words: &[u8]) -> bool {
        self.heard.lock().unwrap().windows(words.len()).any(|heard| heard == words)
    }

    /// Returns the suites that servers chose: the first message of each is a handshake (22) of TLS,
    /// a ServerHello (2) with random numbers, the client's session, and the suite.
    fn suites(&self) -> Vec<[u8; 2]> {
        const LEGACY: [u8; 2] = [3, 3];
        const RANDOM: usize = 32;
        let heard = self.heard.lock().unwrap();
        let suite = |at: usize| -> Option<[u8; 2]> {
            let message = &heard[at..];
            let is_hello =
                message[0] == 22 && message.get(1..3)? == LEGACY && message.get(5..7)? == [2, 0];
            let session = 11 + RANDOM;
            let after = session + 1 + usize::from(*message.get(session)?);
            (is_hello && message[9..11] == LEGACY)
                .then(|| message.get(after..after + 2)?.try_into().ok())?
        };
        (0..heard.len()).filter_map(suite).collect()
    }
}

/// Passes bytes on until either side ends.
fn pass(mut from: TcpStream, mut to: TcpStream, heard: &Mutex<Vec<u8>>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(bytes @ 1..) = from.read(&mut buffer) {
        heard.lock().unwrap().extend_from_slice(&buffer[..bytes]);
        if to.write_all(&buffer[..bytes]).is_err() {
            return;
        }
    }
}

/// Returns a program that is a mongod but ignores the options for TLS.
fn without_tls(dir: &Path) -> PathBuf {
    let (path, program) = (dir.join("mongod"), MONGOD_PROGRAM.find(None).unwrap());
    let text = format!(
        "#!/bin/bash\nkept=()\nwhile (( $# )); do case \"$1\" in\n--tlsAllow*) shift ;;\n--tls*) \
         shift 2 ;;\n\
         *) kept+=(\"$1\"); shift ;;\nesac; done\nexec '{}' \"${{kept[@]}}\"\n",
        program.display()
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

/// Returns the port of the first member of the set in `place`.
fn first_port(place: &Path) -> u16 {
    let record = fs::read_to_string(place.join("member-1/mongod.toml")).unwrap();
    record.lines().find_map(|line| line.strip_prefix("port = ")).unwrap().parse().unwrap()
}

#[test]
fn a_set_with_tls_takes_nothing_else_from_anybody() {
    const SECRET: &[u8] = b"for nobody on the way";
    if !is_installed(&MONGOD_PROGRAM, "a_set_with_tls_takes_nothing_else_from_anybody") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let t = table(1, "t");
    let options = StoreOptions { cache_bytes: 0, tables: vec![t.clone()], sync_writes: false };
    // every member has the written records
    let lab = |program, members: usize| {
        let client = MongoDbOptions {
            write_concern: Some(members.to_string()),
            ..MongoDbOptions::default()
        };
        MongoDbLabEngine::new(MongoDbLabOptions {
            program,
            members,
            seal: None,
            client,
            keep: false,
        })
    };
    // by a client of that member alone
    let connect = |tap: &Wiretap, tls_ca_file: Option<PathBuf>| {
        let uri = format!(
            "mongodb://127.0.0.1:{}/?directConnection=true&serverSelectionTimeoutMS=1000",
            tap.port
        );
        MongoDb::connect(&MongoDbOptions { uri, tls_ca_file, ..MongoDbOptions::default() })
    };
    let read = |server: &MongoDb| {
        let mut found = Record::new();
        assert!(server.open_for_reading(&options).read(&t, &key(1), None, &mut found).unwrap());
        assert_eq!(found, record_of(SECRET));
    };
    let with_tls = Variant { wire: Some(lab_tunnel()), ..Variant::plain("tls") };

    let (engine, place) = (lab(None, 3), dir.path().join("with"));
    let store = engine.open(&with_tls, &place, &options).unwrap();
    let want = "TLSv1.3, TLS_AES_256_GCM_SHA384; tlsMode requireTLS: it takes nothing else, from \
                members either";
    assert_eq!(engine.facts().settings["tls"], want);
    store.target().records("a test").unwrap().insert(&t, &key(1), &record_of(SECRET)).unwrap();
    let tap = Wiretap::on(first_port(&place));
    read(&connect(&tap, Some(place.join("lab.tls/ca.pem"))).unwrap());
    let suites = tap.suites();
    assert!(!suites.is_empty() && suites.iter().all(|suite| *suite == [0x13, 0x02]), "{suites:?}");
    assert!(!tap.has(SECRET));
    Authority::make(dir.path(), "stranger").unwrap();
    let error =
        connect(&tap, Some(dir.path().join("stranger.pem"))).expect_err("not trusted").to_string();
    assert!(
        error.contains("not trusted here\nname the authority's certificate as tls-ca-file"),
        "{error}"
    );
    let error = connect(&tap, None).expect_err("it takes TLS alone").to_string();
    assert!(error.contains("whether they need TLS (tls=true)"), "{error}");
    drop(store);

    // data that could have been intercepted
    let place = dir.path().join("without");
    let store = lab(None, 1).open(&Variant::plain("none"), &place, &options).unwrap();
    store.target().records("a test").unwrap().insert(&t, &key(1), &record_of(SECRET)).unwrap();
    let tap = Wiretap::on(first_port(&place));
    read(&connect(&tap, None).unwrap());
    assert!(tap.has(SECRET) && tap.suites().is_empty());
    let error = connect(&tap, Some(dir.path().join("stranger.pem")))
        .expect_err("it has no TLS")
        .to_string();
    assert!(error.starts_with("cannot connect to MongoDB at 127.0.0.1:"), "{error}");

    let lacking = lab(Some(without_tls(dir.path())), 1).open(
        &with_tls,
        &dir.path().join("lacking"),
        &options,
    );
    let error = lacking.err().expect("no TLS there").to_string();
    let want = "it was started with TLS, and says that its port has none\ngive a mongod that was \
                built with TLS\n";
    assert!(error.contains(want), "{error}");
}
