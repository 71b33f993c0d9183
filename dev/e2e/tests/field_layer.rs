//! The field layer in front of real stores, and servers' own functions: values on a MariaDB, a
//! PostgreSQL and a MongoDB are sealed, as another connection sees them, and come back through the
//! layer; comparisons with each, and impossible settings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use sealstone_cipher::cipher;
use sealstone_e2e::sql_server::{SqlKind, SqlServer};
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_fields::policy::Policy;
use sealstone_fields::{FieldLayer, Keyed, Sealed};
use sealstone_keys::EphemeralKey;
use sealstone_servers::testing::{is_installed, reachable};
use sealstone_servers::{MONGOD_PROGRAM, MongodOptions, REDIS_PROGRAM, ReplicaSet};
use sealstone_store::kind::{Request, Settings};
use sealstone_store::{Choice, Field, Kind, Record, Row, Store, StoreOptions, Table, Variant};
use sealstone_stores::{MongoDb, MongoDbOptions, store};
use serde_json::Value;

/// Small enough for a test: a measurement needs more.
const SMALL: &[&str] = &[
    "compare",
    "--records=300",
    "--operations=200",
    "--threads=4",
    "--rounds=1",
    "--set=pairs=6",
    "--set=slice-ms=1",
    "--bytes=300k",
    "--out=out",
];

const POLICY: &str = r#"
    [tables.people.columns.rrn]
    method = "ff1"
    format = "rrn"
    index = true
    [tables.people.columns.memo]
    method = "aead"
    empty = "keep"
"#;

const PEOPLE: &str =
    "id,rrn,memo\n1,870605-1234567,geheim one\n2,000101-3000002,geheim two\n3,991231-2345678,\n";

/// A server of SQL that a test starts, and that another client queries.
struct Sql {
    store: &'static str,
    kind: SqlKind,
    /// Opens a store at an address.
    open: fn(&str, &StoreOptions) -> Arc<dyn Store>,
}

static POSTGRES: Sql = Sql {
    store: "postgres",
    kind: SqlKind::Postgres,
    open: |uri, options| {
        let options_of =
            sealstone_stores::PostgresOptions { uri: uri.into(), ..Default::default() };
        let server = sealstone_stores::Postgres::connect(&options_of).unwrap();
        Arc::new(server.open_store(options).unwrap())
    },
};

static MYSQL: Sql = Sql {
    store: "mysql",
    kind: SqlKind::MariaDb,
    open: |uri, options| {
        let options_of = sealstone_stores::MysqlOptions { uri: uri.into(), ..Default::default() };
        let server = sealstone_stores::Mysql::connect(&options_of).unwrap();
        Arc::new(server.open_store(options).unwrap())
    },
};

fn people(kinds: [Kind; 3]) -> Arc<Table> {
    let field = |(name, kind): (&str, Kind)| Field { name: name.into(), kind };
    let fields = ["id", "rrn", "memo"].into_iter().zip(kinds).map(field).collect();
    Arc::new(Table { id: 0, name: "people".into(), fields })
}

fn options(table: &Arc<Table>) -> StoreOptions {
    StoreOptions { cache_bytes: 0, tables: vec![table.clone()], sync_writes: false }
}

fn person(number: u64) -> Row {
    let mut record = Record::new();
    record.push(number.to_string().as_bytes());
    // a check digit that is right comes back right, and one that is not comes back as it was
    record.push(format!("8706{:02}-1{:06}", 1 + number % 28, number * 37 % 1_000_000).as_bytes());
    record.push(format!("geheim {number}").as_bytes());
    (format!("user{number:06}").into_bytes(), record)
}

/// Returns every record of `table` in `store`.
fn all(store: &dyn Store, table: &Table) -> Vec<Row> {
    let mut rows = Vec::new();
    store
        .scan(table, b"", 10_000, &mut |key, record| rows.push((key.to_vec(), record.clone())))
        .unwrap();
    rows
}

/// Writes 500 records by every way in, and changes one.
fn fill(store: &dyn Store, table: &Table) -> Vec<Row> {
    let mut rows: Vec<Row> = (0..500).map(person).collect();
    store.insert(table, &rows[0].0, &rows[0].1).unwrap();
    store.insert_many(table, &rows[1..250]).unwrap();
    assert_eq!(
        store.bulk().unwrap().bulk_load(table, &mut rows[250..499].iter().cloned()).unwrap(),
        249
    );
    let (key, last) = &rows[499];
    store
        .transactional()
        .unwrap()
        .transaction(&mut |transaction| transaction.put(table, key, last))
        .unwrap();
    assert!(store.update(table, &rows[7].0, &[(2, b"geheim, changed")]).unwrap());
    let mut changed = Record::new();
    [rows[7].1.get(0).unwrap(), rows[7].1.get(1).unwrap(), b"geheim, changed"]
        .iter()
        .for_each(|one| changed.push(one));
    rows[7].1 = changed;
    rows
}

fn layer(key: &Arc<EphemeralKey>) -> FieldLayer {
    let policy = Policy::from_toml(POLICY, "fields.toml".as_ref()).unwrap();
    FieldLayer::new(Some(policy), Keyed::current(key.clone()).unwrap())
}

fn values_lie_sealed_on_the_server_and_come_back(sql: &Sql, name: &str) {
    if !sql.kind.is_available(name) {
        return;
    }
    let dir = reachable();
    let server = SqlServer::start(sql.kind, dir.path());
    let uri = server.url();
    values_lie_sealed_and_come_back(&|options| (sql.open)(&uri, options));
}

/// - `open`: opens the store by another connection
fn values_lie_sealed_and_come_back(open: &dyn Fn(&StoreOptions) -> Arc<dyn Store>) {
    let table = people([Kind::Integer, Kind::Text, Kind::Text]);
    let key = Arc::new(EphemeralKey::new().unwrap());
    let through = |key: &Arc<EphemeralKey>, name: &str| {
        let sealed = layer(key)
            .tables(std::slice::from_ref(&table), &Choice::auto(cipher(name).unwrap()))
            .unwrap();
        let stored = sealed[0].stored().clone();
        Sealed::new(open(&options(&stored)), sealed)
    };
    let store = through(&key, "aria-256");
    let rows = fill(&store, &table);
    assert_eq!(all(&store, &table), rows);
    // another connection, without the layer
    let other = open(&options(&table));
    for ((key, stored), (_, clear)) in all(&*other, &table).iter().zip(&rows) {
        let texts = |record: &Record| {
            [1, 2].map(|at| String::from_utf8(record.get(at).unwrap().to_vec()).unwrap())
        };
        let ([rrn, memo], [clear_rrn, _]) = (texts(stored), texts(clear));
        assert!(rrn != clear_rrn && rrn.len() == 14 && rrn.as_bytes()[6] == b'-', "{key:?}: {rrn}");
        assert!(
            !memo.contains("geheim") && memo.len() > 60 && stored.get(0) == clear.get(0),
            "{key:?}: {memo}"
        );
    }
    // the layer again, as another process has it; under another key nothing opens
    assert_eq!(all(&through(&key, "aria-256"), &table), rows);
    let stranger = through(&Arc::new(EphemeralKey::new().unwrap()), "aria-256");
    let mut into = Record::new();
    let error = stranger.read(&table, b"user000001", None, &mut into).unwrap_err().to_string();
    assert!(into.is_empty() && !error.contains("geheim"), "{error}");
    // a value that was written past the layer does not pass for one
    other.update(&table, b"user000001", &[(2, b"in the clear")]).unwrap();
    let error = store.read(&table, b"user000001", None, &mut into).unwrap_err().to_string();
    assert!(
        error.contains("has a value of memo under key user000001 that does not open"),
        "{error}"
    );
}

#[test]
fn values_lie_sealed_on_mariadb_and_come_back() {
    values_lie_sealed_on_the_server_and_come_back(
        &MYSQL,
        "values_lie_sealed_on_mariadb_and_come_back",
    );
}

#[test]
fn values_lie_sealed_on_postgres_and_come_back() {
    values_lie_sealed_on_the_server_and_come_back(
        &POSTGRES,
        "values_lie_sealed_on_postgres_and_come_back",
    );
}

fn has_mongod(name: &str) -> bool {
    is_installed(&MONGOD_PROGRAM, name)
}

#[test]
fn values_lie_sealed_on_mongodb_and_come_back() {
    if !has_mongod("values_lie_sealed_on_mongodb_and_come_back") {
        return;
    }
    let dir = reachable();
    let set = ReplicaSet::start(&dir.path().join("set"), &[MongodOptions::default()]).unwrap();
    let to = MongoDbOptions { uri: set.uri(), threads: 1, ..MongoDbOptions::default() };
    let server = MongoDb::connect(&to).unwrap();
    values_lie_sealed_and_come_back(&|options| Arc::new(server.open_store(options).unwrap()));
}

/// Checks every function of the server: stored values differ from the written values.
fn functions_of_the_server_hide_values(sql: &Sql, name: &str) {
    if !sql.kind.is_available(name) {
        return;
    }
    let dir = reachable();
    let server = SqlServer::start(sql.kind, dir.path());
    let uri = server.url();
    let (table, raw) = (people([Kind::Integer, Kind::Text, Kind::Text]), people([Kind::Bytes; 3]));
    let kind = store(sql.store).unwrap();
    assert!(!kind.functions.is_empty());
    for function in kind.functions {
        let settings = Settings::from([(format!("{}-url", sql.store), vec![uri.clone()])]);
        let request = Request { sealed: true, settings, ..Request::default() };
        let engine = (kind.engine)(&request).unwrap().engine;
        let store = engine
            .open(
                &Variant { server: Some(function), ..Variant::plain(function.name) },
                dir.path(),
                &options(&table),
            )
            .unwrap();
        let store = store.target().records("a test").unwrap();
        let rows = fill(store, &table);
        let returned = all(store, &table);
        // on an existing server each variant has its own tables
        let ending: String = function
            .name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let own = format!("people_{}", ending.to_ascii_lowercase().trim_matches('_'));
        let raw = Arc::new(Table { id: 0, name: own, fields: raw.fields.clone() });
        let other = (sql.open)(&uri, &options(&raw));
        let stored = all(&*other, &raw);
        assert_eq!((returned.len(), stored.len()), (rows.len(), rows.len()), "{}", function.name);
        for (at, (key, clear)) in rows.iter().enumerate() {
            for field in 0..3 {
                let value = clear.get(field).unwrap();
                let lies = stored[at].1.get(field).unwrap();
                assert!(
                    lies != value && !lies.windows(6).any(|part| part == b"geheim"),
                    "{}",
                    function.name
                );
                let back = returned[at].1.get(field).unwrap();
                match function.is_one_way {
                    true => assert!(back == lies && back.len() == 64, "{}", function.name),
                    false => assert_eq!(back, value, "{}: {key:?}", function.name),
                }
            }
        }
        assert!(engine.facts().settings.contains_key(function.name));
        let mut record = Record::new();
        ["abc"; 3].iter().for_each(|value| record.push(value.as_bytes()));
        store.insert(&table, b"a", &record).unwrap();
        let mut some = Record::new();
        store.read(&table, b"a", Some(&[2]), &mut some).unwrap();
        let digest = b"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(some.get(0).unwrap(), if function.is_one_way { &digest[..] } else { b"abc" });
    }
}

#[test]
fn functions_of_mariadb_hide_values() {
    functions_of_the_server_hide_values(&MYSQL, "functions_of_mariadb_hide_values");
}

#[test]
fn functions_of_postgres_hide_values() {
    functions_of_the_server_hide_values(&POSTGRES, "functions_of_postgres_hide_values");
}

fn compare(dir: &Path, more: &[&str]) -> Transcript {
    // results of an earlier run stay where they are
    let _ = fs::remove_dir_all(dir.join("out"));
    run(&mut sealstone(dir, &[SMALL, more].concat()))
}

fn results(dir: &Path) -> Value {
    serde_json::from_slice(&fs::read(dir.join("out/results.json")).unwrap()).unwrap()
}

fn labels(results: &Value) -> Vec<&str> {
    results["variants"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variant| variant["label"].as_str().unwrap())
        .collect()
}

/// Writes the policy and the records that it is for.
fn with_people(dir: &Path) {
    // PIPO's blocks are too short for an index
    fs::write(dir.join("fields.toml"), POLICY.replace("index = true", "")).unwrap();
    fs::write(dir.join("people.csv"), PEOPLE).unwrap();
}

fn is_compared(sql: &Sql, name: &str, wanted: &[&str]) {
    if !sql.kind.is_available(name) {
        return;
    }
    let dir = reachable();
    with_people(dir.path());
    let store = format!("--store={}", sql.store);
    let said = compare(
        dir.path(),
        &[
            &store,
            "--layer=field,server",
            "--fields=fields.toml",
            "--records-from=people.csv",
            "--ciphers=none,pipo-128",
            "--workloads=a",
        ],
    );
    said.done();
    let results = results(dir.path());
    assert_eq!(labels(&results), wanted);
    let cells = results["groups"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), wanted.len());
    for cell in cells {
        let samples = cell["samples"].as_array().unwrap();
        let encrypted: u64 =
            samples.iter().map(|one| one["encrypted_bytes"].as_u64().unwrap()).sum();
        // a field layer counts its sealing; a server does not report it
        let seals = wanted[cell["variant"].as_u64().unwrap() as usize] == "pipo-128";
        assert_eq!(seals, encrypted > 0, "{cell}");
        assert!(cell["disk_bytes"].as_u64().unwrap() > 10_000);
    }
    let settings = &results["groups"][0]["engine"]["settings"];
    assert_eq!(settings["sealed columns"], "usertable: memo (aead), rrn (ff1:rrn)");
    assert_eq!(results["plan"]["layer"], serde_json::json!(["field", "server"]));
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.contains("a function of the server"));
}

#[test]
fn the_layer_is_compared_with_functions_of_mariadb() {
    is_compared(
        &MYSQL,
        "the_layer_is_compared_with_functions_of_mariadb",
        &["none", "pipo-128", "AES_ENCRYPT", "SHA2 (one-way)"],
    );
}

#[test]
fn the_layer_is_compared_with_functions_of_postgres() {
    is_compared(
        &POSTGRES,
        "the_layer_is_compared_with_functions_of_postgres",
        &["none", "pipo-128", "pgp_sym_encrypt"],
    );
}

/// Returns whether a file below `dir` contains `text`.
fn lies_in(dir: &Path, text: &str) -> bool {
    let grep = Command::new("grep").args(["-rqaF", text]).arg(dir).status().unwrap();
    grep.code() == Some(0)
}

#[test]
fn a_store_within_the_process_takes_the_layer_and_checks_what_comes_back() {
    let dir = reachable();
    with_people(dir.path());
    let kept: PathBuf = dir.path().join("kept");
    // batch-scan compares every value that it reads with the written value
    let done = compare(
        dir.path(),
        &[
            "--layer=field",
            "--fields=fields.toml",
            "--records-from=people.csv",
            "--ciphers=none,seed-128",
            "--workloads=a,e,batch-scan",
            "--keep=kept",
        ],
    );
    assert!(done.stderr.contains("are sealed with the key in "), "{}", done.stderr);
    done.done();
    assert!(dir.path().join("kept.key").exists());
    for (variant, is_clear) in [("none", true), ("seed-128", false)] {
        for text in ["870605-1234567", "geheim"] {
            assert_eq!(
                lies_in(&kept.join("batch").join(variant), text),
                is_clear,
                "{text} in {variant}"
            );
        }
    }
    // without a policy all fields are sealed, of all tables; oltp keeps books, which must come out
    // even
    let all =
        compare(dir.path(), &["--layer=field", "--ciphers=none,aes-256", "--workloads=f,oltp"]);
    assert!(all.stderr.contains("all fields are sealed, as aead"), "{}", all.stderr);
    all.done();
    let results = results(dir.path());
    assert!(
        results["groups"][0]["engine"]["settings"]["sealed columns"]
            .as_str()
            .unwrap()
            .contains("field9 (aead)")
    );
    assert_eq!(results["variants"][1]["layers"]["field"]["cipher"], "aes-256");
}

#[test]
fn a_store_whose_files_nothing_seals_takes_the_layer() {
    if !is_installed(&REDIS_PROGRAM, "a_store_whose_files_nothing_seals_takes_the_layer") {
        return;
    }
    let dir = reachable();
    let done = compare(
        dir.path(),
        &["--store=redis", "--layer=field", "--ciphers=none,aes-256", "--workloads=a,e"],
    );
    assert!(!done.stderr.contains("without encryption"), "{}", done.stderr);
    done.done();
    let results = results(dir.path());
    assert_eq!(labels(&results), ["none", "aes-256"]);
    let sealed = |cell: &Value| cell["samples"][0]["decrypted_bytes"].as_u64().unwrap() > 0;
    let cells = results["groups"][0]["cells"].as_array().unwrap();
    assert!(cells.iter().all(|cell| sealed(cell) == (cell["variant"] == 1)), "{cells:?}");
}

#[test]
fn replica_sets_take_the_layer() {
    if !has_mongod("replica_sets_take_the_layer") {
        return;
    }
    let dir = reachable();
    with_people(dir.path());
    let flags = [
        "--store=mongodb",
        "--nodes=1",
        "--layer=field",
        "--fields=fields.toml",
        "--records-from=people.csv",
        "--ciphers=none,pipo-128",
    ];
    // batch-scan compares every value that it reads with the written value
    compare(dir.path(), &[&flags[..], &["--workloads=a,batch-scan"]].concat()).done();
    let of_people = results(dir.path());
    assert_eq!(labels(&of_people), ["none", "pipo-128"]);
    let settings = &of_people["groups"][0]["engine"]["settings"];
    assert!(
        settings["sealed columns"]
            .as_str()
            .unwrap()
            .contains("usertable: memo (aead), rrn (ff1:rrn)")
    );
    let sealed = |cell: &Value| cell["samples"][0]["decrypted_bytes"].as_u64().unwrap() > 0;
    let cells = of_people["groups"][0]["cells"].as_array().unwrap();
    assert!(
        cells.len() == 4 && cells.iter().all(|cell| sealed(cell) == (cell["variant"] == 1)),
        "{cells:?}"
    );
}

#[test]
fn what_cannot_be_is_said_before_anything_is_measured() {
    let dir = tempfile::tempdir().unwrap();
    with_people(dir.path());
    let policy = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    policy("wrong.toml", "[tables.usertable.columns.feild3]\nmethod = \"aead\"\n");
    policy("broken.toml", "[tables.usertable.columns.field3]\nmethod = \"aed\"\n");
    policy(
        "digits.toml",
        "[tables.usertable.columns.field3]\nmethod = \"ff1\"\nformat = \"digits\"\n",
    );
    policy(
        "two.toml",
        "[tables.a.columns.x]\nmethod = \"aead\"\n[tables.b.columns.x]\nmethod = \"aead\"\n",
    );
    for (arguments, want) in [
        (
            &["--layer=feild"][..],
            "unknown layer \"feild\"; did you mean field?\n  known layers: rest, field, server, \
             wire\n",
        ),
        (&["--layer=rest,field"], "layer is rest,field: files at rest and values in their columns"),
        (
            &["--layer=server"],
            "layer is server: rocksdb has nothing for it\n  choose a store that has: ",
        ),
        (
            &["--fields=fields.toml"],
            "fields is fields.toml: it says what the field layer seals; add --layer field",
        ),
        (&["--layer=field", "--fields=none.toml"], "cannot read policy none.toml: "),
        (&["--layer=field", "--fields=broken.toml"], "unknown method \"aed\"; did you mean aead?"),
        (
            &["--layer=field", "--fields=wrong.toml"],
            "the policy seals feild3, which is no column of table usertable; did you mean \
             field3?\n  its columns: ",
        ),
        (
            &["--layer=field", "--fields=two.toml"],
            "the policy has tables a, b, and the data set has table usertable\n",
        ),
        (
            &["--layer=field", "--fields=digits.toml"],
            "cannot write to table usertable: field3 of record user",
        ),
        (
            &[
                "--layer=field",
                "--fields=fields.toml",
                "--records-from=people.csv",
                "--ciphers=hight",
            ],
            "column rrn: hight has blocks of 8 bytes",
        ),
        (
            &["--store=mysql", "--layer=server", "--workloads=batch-scan"],
            "after SHA2 (one-way) only digests come back",
        ),
    ] {
        let workloads = if arguments.iter().any(|one| one.starts_with("--workloads")) {
            &[][..]
        } else {
            &["--workloads=a"]
        };
        let refused = compare(dir.path(), &[workloads, arguments].concat());
        assert_eq!(refused.code, Some(2), "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(want), "{arguments:?}: {}", refused.stderr);
        assert!(
            refused.stdout.is_empty() && !refused.stderr.contains("geheim"),
            "{}",
            refused.stdout
        );
    }
}
