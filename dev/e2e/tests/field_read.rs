//! Rows of sealed tables of real servers read back, and their state: what comes out is what went
//! in, a row that does not open gives nothing away, and counts are those of the rows.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sealstone_e2e::kmip_server::{Certificates, free_port};
use sealstone_e2e::sql_server::{SqlKind, SqlServer, SqlSession};
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_keys::KeyFile;
use serde_json::Value;

/// A server with the table `people` of four rows, and the key `people.key`.
struct Scene {
    dir: tempfile::TempDir,
    session: SqlSession,
    _server: SqlServer,
}

const ROWS: &str = "(1, '010-1234-5678', 'call before noon, or \"never\"'), \
                    (2, '010-8765-4321', NULL), (3, NULL, ''), (7, '010-0000-1111', 'two\nlines')";
const ALL: &str = "id,phone,memo\n1,010-1234-5678,\"call before noon, or \"\"never\"\"\"\n\
                   2,010-8765-4321,\n3,,\"\"\n7,010-0000-1111,\"two\nlines\"\n";

impl Scene {
    /// Makes it, with the table sealed.
    fn new(kind: SqlKind) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
        let server = SqlServer::start(kind, &dir.path().join("server"));
        let mut session = server.session();
        let ending = kind.table_ending();
        session.done(&format!(
            "CREATE TABLE people (id INT PRIMARY KEY, phone VARCHAR(20), memo TEXT){ending}"
        ));
        session.done(&format!("INSERT INTO people (id, phone, memo) VALUES {ROWS}"));
        KeyFile::create(dir.path().join("people.key"), "people").unwrap();
        fs::write(dir.path().join("address"), server.url()).unwrap();
        let scene = Self { dir, session, _server: server };
        let columns = "--column phone=ff1:phone --column memo=aead --tweak memo=row:id";
        scene.migrate(&format!("people {columns}")).done();
        scene
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn run(&self, line: &str) -> Transcript {
        run(&mut sealstone(self.path(), &line.split(' ').collect::<Vec<_>>()))
    }

    fn migrate(&self, more: &str) -> Transcript {
        self.run(&format!("field migrate @address --key people.key --yes --quiet --table {more}"))
    }

    fn scan(&self, more: &str) -> Transcript {
        self.run(&format!("field scan @address --table people --key {more}"))
    }

    fn get(&self, value: &str) -> Transcript {
        let begin = ["field", "get", "@address", "--table", "people", "--key", "people.key"];
        run(&mut sealstone(self.path(), &[&begin[..], &[value]].concat()))
    }

    fn status(&self, more: &str) -> Transcript {
        self.run(format!("field status @address {more}").trim_end())
    }
}

fn rows_are_read_back(kind: SqlKind, name: &str) {
    if !kind.is_available(name) {
        return;
    }
    let mut scene = Scene::new(kind);
    let sealed = scene.session.done("SELECT phone FROM people WHERE id = 1");
    assert_ne!(sealed[0][0], "010-1234-5678", "the table is sealed");
    assert_eq!(scene.scan("people.key").done(), ALL);
    assert_eq!(scene.scan("people.key --batch 1").done(), ALL);
    let first: String = ALL.split_inclusive('\n').take(3).collect();
    assert_eq!(scene.scan("people.key --limit 2").done(), first);
    assert_eq!(scene.scan("people.key --limit 0").done(), "id,phone,memo\n");
    assert_eq!(scene.get("2").done(), "id,phone,memo\n2,010-8765-4321,\n");
    assert_eq!(scene.get("3").done(), "id,phone,memo\n3,,\"\"\n");
    let none = scene.get("4");
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), ""), "{}", none.stderr);
    assert_eq!(none.stderr, "no such row in table people\n");

    // what is no key reaches no statement
    for value in ["1 OR 1=1", "1; DROP TABLE people", "'", "x", ""] {
        let refused = scene.get(value);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{value:?}");
    }
    assert_eq!(scene.scan("people.key").done(), ALL);

    // into a file of its owner alone
    scene.scan("people.key --out rows.csv").done();
    let rows = scene.path().join("rows.csv");
    assert_eq!(fs::read_to_string(&rows).unwrap(), ALL);
    assert_eq!(fs::metadata(&rows).unwrap().permissions().mode() & 0o7777, 0o600);
    let asked = scene.scan("people.key --out rows.csv");
    assert_eq!(asked.code, Some(2), "{}", asked.stderr);
    assert!(asked.stderr.contains("rows.csv is there already"), "{}", asked.stderr);

    // another key opens nothing
    KeyFile::create(scene.path().join("other.key"), "people").unwrap();
    let refused = scene.scan("other.key");
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{}", refused.stderr);
    let refused = scene.run("field scan @address --table pepole --key people.key");
    assert!(refused.stderr.contains("did you mean people?"), "{}", refused.stderr);

    // a value that an application wrote in the clear
    scene.session.done("UPDATE people SET phone = '010-9999-9999' WHERE id = 2");
    let done = scene.get("2");
    assert_eq!(done.stdout, "id,phone,memo\n2,010-9999-9999,\n");
    assert!(done.stderr.contains("1 of the values were in the clear"), "{}", done.stderr);

    // a key of two columns, one of them text
    scene.session.done(&format!(
        "CREATE TABLE orders (place VARCHAR(3), number INT, memo TEXT, PRIMARY KEY (place, \
         number)){}",
        kind.table_ending()
    ));
    scene.session.done("INSERT INTO orders VALUES ('abc', 5, 'one'), ('abc', 6, 'two')");
    scene.migrate("orders --column memo=aead").done();
    let get = "field get @address --table orders --key people.key";
    let done = scene.run(&format!("{get} abc 6")).done();
    assert_eq!(done, "place,number,memo\nabc,6,two\n");
    let longer = scene.run(&format!("{get} abcd 6"));
    assert_eq!(longer.code, Some(1), "a longer text is another key: {}", longer.stdout);
    let fewer = scene.run(&format!("{get} abc"));
    assert_eq!(fewer.code, Some(2));
    assert!(fewer.stderr.contains("the key of table orders is place, number"), "{}", fewer.stderr);
}

#[test]
fn rows_of_mariadb_are_read_back() {
    rows_are_read_back(SqlKind::MariaDb, "rows_of_mariadb_are_read_back");
}

#[test]
fn rows_of_postgres_are_read_back() {
    rows_are_read_back(SqlKind::Postgres, "rows_of_postgres_are_read_back");
}

/// A row with one value that does not open is named with its column, and gives away nothing.
fn a_row_that_does_not_open(kind: SqlKind, name: &str) {
    if !kind.is_available(name) {
        return;
    }
    let mut scene = Scene::new(kind);
    KeyFile::open(scene.path().join("people.key")).unwrap().rotate().unwrap();
    scene.migrate("people --reseal").done();
    // a value of another row, claimed to be sealed, and one under the older version
    let moved = "UPDATE people SET memo = (SELECT m FROM (SELECT memo AS m FROM people WHERE id = \
                 7) AS x), memo_sealed = -2 WHERE id = 1; UPDATE people SET phone_sealed = -1, \
                 phone = '010-1234-1234' WHERE id = 2";
    scene.session.done(moved);
    scene.run("keys export people.key --version 2 --out newest.key").done();
    let done = scene.scan("newest.key");
    let sound: String =
        ALL.split_inclusive('\n').filter(|line| !line.starts_with(['1', '2'])).collect();
    assert_eq!((done.code, done.stdout.as_str()), (Some(2), sound.as_str()), "{}", done.stderr);
    for wanted in [
        "row id 1, column memo: ",
        "row id 2, column phone: ",
        "2 of 4 rows of table people do not open, and were left out",
    ] {
        assert!(done.stderr.contains(wanted), "{wanted}: {}", done.stderr);
    }
    // the sound column of a failed row stays unsaid, too
    for text in [&done.stdout, &done.stderr] {
        assert!(!text.contains("010-1234-5678"), "{text}");
    }
    let one = scene.get("1");
    assert_eq!((one.code, one.stdout.as_str()), (Some(2), "id,phone,memo\n"), "{}", one.stderr);
    // what did open is in the file
    let file = scene.scan("newest.key --out rows.csv");
    assert_eq!(file.code, Some(2));
    assert_eq!(fs::read_to_string(scene.path().join("rows.csv")).unwrap(), sound);
}

#[test]
fn a_row_of_mariadb_that_does_not_open_is_named() {
    a_row_that_does_not_open(SqlKind::MariaDb, "a_row_of_mariadb_that_does_not_open_is_named");
}

#[test]
fn a_row_of_postgres_that_does_not_open_is_named() {
    a_row_that_does_not_open(SqlKind::Postgres, "a_row_of_postgres_that_does_not_open_is_named");
}

fn the_state_is_counted(kind: SqlKind, name: &str) {
    if !kind.is_available(name) {
        return;
    }
    let mut scene = Scene::new(kind);
    let json = |scene: &Scene, more: &str| {
        let done = scene.status(&format!("--json {more}"));
        let json: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{done:?}"));
        (done.code, json)
    };
    let counts = |table: &Value, at: usize| {
        let column = &table["columns"][at];
        ["sealed", "older", "clear", "written_over"].map(|name| column[name].as_u64().unwrap())
    };
    let (code, found) = json(&scene, "--key people.key");
    let table = &found["tables"][0];
    assert_eq!(
        (code, &table["table"], &table["key_version"]),
        (Some(0), &"people".into(), &1.into())
    );
    assert_eq!((counts(table, 0), counts(table, 1)), ([3, 0, 0, 0], [3, 0, 0, 0]), "{table}");
    assert_eq!(table["program"], concat!("sealstone ", env!("CARGO_PKG_VERSION")));
    // sealed a moment ago, and looked at now
    let (since, now) = (table["since"].as_str().unwrap(), found["made_at"].as_str().unwrap());
    assert!(since.len() == 20 && since <= now && since[..10] >= *"2026-01-01", "{since} {now}");
    assert_eq!(found["keys"][0]["held"]["protection"]["by"], "nothing");

    // a key server that is gone takes nothing from what the tables say, and the answer is no
    let certificates = Certificates::make();
    let gone = certificates.url(free_port(), "people", "&retries=0");
    let done = scene.status(&format!("--json --key {gone}"));
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    for wanted in ["key kmip://127.0.0.1:", "/people: ", "no key server answered"] {
        assert!(done.stderr.contains(wanted), "{wanted}: {}", done.stderr);
    }
    let found: Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!((&found["tables"][0], &found["keys"][0]["held"]), (table, &Value::Null));

    // a newer version, a value in the clear, and one past the trigger
    KeyFile::open(scene.path().join("people.key")).unwrap().rotate().unwrap();
    scene.session.done("INSERT INTO people (id, phone) VALUES (8, '010-2222-3333')");
    scene.migrate("people --reseal").done();
    scene.session.done(
        "UPDATE people SET phone = '010-3333-4444' WHERE id = 1; UPDATE people SET phone_sealed = \
         -1 WHERE id = 2",
    );
    let (code, found) = json(&scene, "--table people");
    assert_eq!((code, counts(&found["tables"][0], 0)), (Some(1), [3, 1, 1, 0]), "{found}");
    // the audit and the monitor count the same
    let address = "--table @address#people";
    let metrics = scene.run(&format!("status {address} --prometheus"));
    assert_eq!(metrics.code, Some(1), "{}", metrics.stderr);
    let line = metrics.stdout.lines().find(|line| {
        line.starts_with("sealstone_sealed_rows{")
            && line.contains("column=\"phone\"")
            && line.contains("key_version=\"1\"")
    });
    assert!(line.is_some_and(|line| line.ends_with(" 1")), "{}", metrics.stdout);

    let text = scene.status("--table people --key people.key --html page.html");
    assert_eq!(text.code, Some(1), "{}", text.stderr);
    for wanted in [
        "table people on ",
        "key people version 2",
        "in people.key, which has no passphrase",
        "what rows were before they were sealed may still be in:",
        "backups and copies",
    ] {
        let said = text.stdout.replace(&format!("{}/", scene.path().display()), "");
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    let page = fs::read_to_string(scene.path().join("page.html")).unwrap();
    let today = found["made_at"].as_str().unwrap()[..10].to_owned();
    for wanted in ["phone", "ff1:phone", "aes-256", "backups and copies", today.as_str()] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    let clear = "010-3333-4444";
    for text in [&page, &text.stdout, &found.to_string(), &metrics.stdout] {
        assert!(!text.contains(clear), "{text}");
    }
    if kind == SqlKind::Postgres {
        // written past the trigger: neither sealed nor known to be in the clear
        scene.session.done(
            "SET session_replication_role = replica; UPDATE people SET phone = '010-5555-6666' \
             WHERE id = 7; SET session_replication_role = DEFAULT",
        );
        let (_, found) = json(&scene, "--table people");
        assert_eq!(counts(&found["tables"][0], 0), [2, 1, 1, 1], "{found}");
        let done = scene.get("7");
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), "id,phone,memo\n"));
        assert!(done.stderr.contains("row id 7, column phone: something wrote over it"));
        scene.session.done("UPDATE people SET phone_sealed = NULL WHERE id = 7");
    }
    // nothing is sealed any more
    scene.migrate("people --open").done();
    let done = scene.status("");
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "{}", done.stderr);
    assert!(done.stderr.contains("has sealed columns"), "{}", done.stderr);
    if kind == SqlKind::Postgres {
        // a user who may not look everywhere is told where
        scene.session.done(
            "CREATE ROLE reader LOGIN PASSWORD 'geheim'; CREATE SCHEMA hidden; CREATE TABLE \
             hidden.sealstone_fields (table_name text)",
        );
        let address = fs::read_to_string(scene.path().join("address")).unwrap();
        let address = address.replace("//sealstone:", "//reader:");
        fs::write(scene.path().join("reader"), address).unwrap();
        let done = scene.run("field status @reader --json");
        assert_eq!(done.code, Some(1), "{}", done.stderr);
        assert!(done.stderr.contains("schema hidden: this user may not read"), "{}", done.stderr);
        let found: Value = serde_json::from_str(&done.stdout).unwrap();
        let unread = found["unread"][0]["name"].as_str().unwrap();
        assert!(unread.ends_with("table hidden.*"), "{unread}");
    }

    // who can open the key, by name
    for (name, passphrase) in [("first", "one of two words"), ("second", "another word")] {
        let file = scene.path().join(name);
        fs::write(&file, passphrase).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    scene.run("keys passwd people.key --new-passphrase-file first").done();
    let holder = "keys holder add people.key --first lee --name kim --passphrase-file first";
    scene.run(&format!("{holder} --new-passphrase-file second")).done();
    let key = "--key people.key --passphrase-file second";
    let (_, found) = json(&scene, key);
    let protection = &found["keys"][0]["held"]["protection"];
    assert_eq!(protection["by"], "holders", "{protection}");
    assert_eq!(protection["names"], serde_json::json!(["lee", "kim"]), "{protection}");
    let text = scene.status(key).stdout;
    assert!(text.contains("lee") && text.contains("kim"), "{text}");
}

#[test]
fn the_state_of_mariadb_is_counted() {
    the_state_is_counted(SqlKind::MariaDb, "the_state_of_mariadb_is_counted");
}

#[test]
fn the_state_of_postgres_is_counted() {
    the_state_is_counted(SqlKind::Postgres, "the_state_of_postgres_is_counted");
}
