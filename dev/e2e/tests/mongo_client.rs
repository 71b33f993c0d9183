//! The MongoDB store against behaviour of networks and servers: TLS, passwords, a primary that
//! dies.
//!
//! Not here: records and their values (`adapters/stores/tests/mongodb.rs`), labs and sealing
//! (`mongo_lab.rs`).

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealstone_e2e::kmip_server::Certificates;
use sealstone_servers::testing::is_installed;
use sealstone_servers::{MONGOD_PROGRAM, Mongod, MongodOptions, ReplicaSet, join_certificate};
use sealstone_store::{Field, Kind, Record, Store, StoreOptions, Table};
use sealstone_stores::{MongoDb, MongoDbOptions, MongoDbStore};

const LIMIT: Duration = Duration::from_secs(180);
const PASSWORD: &str = "geheim-4711";

fn available(name: &str) -> bool {
    is_installed(&MONGOD_PROGRAM, name)
}

fn table() -> Arc<Table> {
    let fields = vec![Field { name: "number".into(), kind: Kind::Integer }];
    Arc::new(Table { id: 1, name: "orders".into(), fields })
}

fn record(number: u32) -> Record {
    let mut record = Record::new();
    record.push(number.to_string().as_bytes());
    record
}

fn open(server: &MongoDb, table: &Arc<Table>) -> MongoDbStore {
    server
        .open_store(&StoreOptions {
            cache_bytes: 0,
            tables: vec![table.clone()],
            sync_writes: false,
        })
        .unwrap()
}

fn fails(options: &MongoDbOptions) -> String {
    let error = MongoDb::connect(options).expect_err("it cannot connect").to_string();
    println!("{error}");
    assert_eq!(error.lines().count(), 2, "{error}");
    assert!(!error.contains(PASSWORD), "{error}");
    error
}

#[test]
fn tls_is_spoken_and_checked() {
    if !available("tls_is_spoken_and_checked") {
        return;
    }
    let (dir, certificates) = (tempfile::tempdir().unwrap(), Certificates::make());
    // MongoDB needs certificate and key in one file
    let both = |name: &str| {
        let path = dir.path().join(format!("{name}-both.pem"));
        join_certificate(&certificates.path(""), name, &path).unwrap();
        path
    };
    let (server, client) = (both("server"), both("client"));
    let ca = certificates.path("ca.pem");
    let arguments = [
        "--tlsMode",
        "requireTLS",
        "--tlsCertificateKeyFile",
        server.to_str().unwrap(),
        "--tlsCAFile",
        ca.to_str().unwrap(),
    ];
    let options = MongodOptions {
        arguments: arguments.map(String::from).to_vec(),
        ..MongodOptions::default()
    };
    let server = Mongod::start(&dir.path().join("db"), options).unwrap();
    let with = MongoDbOptions {
        uri: server.uri(),
        tls_ca_file: Some(ca),
        tls_certificate_key_file: Some(client),
        ..MongoDbOptions::default()
    };
    let table = table();
    let store = open(&MongoDb::connect(&with).unwrap(), &table);
    store.insert(&table, b"a", &record(1)).unwrap();
    assert!(store.read(&table, b"a", None, &mut Record::new()).unwrap());

    let without = MongoDbOptions { uri: server.uri(), ..MongoDbOptions::default() };
    let error = fails(&without);
    assert!(
        error.contains("no server answered within 5 s") && error.contains("tls=true"),
        "{error}"
    );
    let stranger =
        MongoDbOptions { tls_ca_file: Some(certificates.path("other-ca.pem")), ..with.clone() };
    fails(&stranger);
    let nothing = MongoDbOptions { tls_ca_file: Some(dir.path().join("nothing.pem")), ..with };
    fails(&nothing);
}

#[test]
fn a_wrong_password_is_reported_without_it() {
    if !available("a_wrong_password_is_reported_without_it") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let server = Mongod::start(dir.path(), MongodOptions::default()).unwrap();
    let uri = server.uri().replace("mongodb://", &format!("mongodb://somebody:{PASSWORD}@"));
    let error = fails(&MongoDbOptions { uri, ..MongoDbOptions::default() });
    let want = format!(
        "cannot connect to MongoDB at {}: it refused the user name and password\n",
        server.address()
    );
    assert!(error.starts_with(&want), "{error}");
}

#[test]
fn a_primary_that_dies_costs_no_acknowledged_write() {
    if !available("a_primary_that_dies_costs_no_acknowledged_write") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut set =
        ReplicaSet::start(&dir.path().join("lab"), &vec![MongodOptions::default(); 3]).unwrap();
    let options = MongoDbOptions {
        uri: set.uri(),
        write_concern: Some("majority".into()),
        ..MongoDbOptions::default()
    };
    let table = table();
    let store = open(&MongoDb::connect(&options).unwrap(), &table);
    for n in 0..50 {
        store.insert(&table, format!("{n:03}").as_bytes(), &record(n)).unwrap();
    }
    let primary = set.primary().unwrap();
    set.member_mut(primary).kill().unwrap();
    let begin = Instant::now();
    for n in 50..100 {
        // acknowledged in the end, however long the election takes
        while let Err(error) = store.insert(&table, format!("{n:03}").as_bytes(), &record(n)) {
            assert!(begin.elapsed() < LIMIT, "{error}");
        }
    }
    set.member_mut(primary).start_again().unwrap();
    set.wait_until_ready(LIMIT).unwrap();
    let mut found = 0;
    store
        .scan(&table, b"", 1000, &mut |key, values| {
            assert_eq!((key, values), (format!("{found:03}").as_bytes(), &record(found)));
            found += 1;
        })
        .unwrap();
    assert_eq!(found, 100);
}
