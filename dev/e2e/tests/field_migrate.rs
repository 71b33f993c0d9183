//! Tables of real servers sealed in place, from a user's view: there and back with every kind of
//! column, judged by the server's own client program and by the library; applications that are
//! aware of it and applications that are not; a second migration, other keys, tables that cannot be
//! sealed, values that do not fit, a server that dies.

mod mysql_table;
mod triggers;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_cipher::{Backend, cipher};
use sealstone_e2e::sql_server::{SqlKind, SqlServer, SqlSession};
use sealstone_e2e::transcript::{Transcript, finish, run, sealstone};
use sealstone_fields::policy::{Column, ColumnOptions, Table, Tweak};
use sealstone_fields::{ColumnCipher, Keyed, Texts};
use sealstone_keys::{KeyFile, KeyRef};
use serde_json::Value;

/// The sealed columns, each with its options.
const COLUMNS: [(&str, &str); 7] = [
    ("name", "ff1:hangul"),
    ("rrn", "ff1:rrn"),
    ("phone", "ff1:phone"),
    ("card", "ff1:card:6-0"),
    ("email", "ff1:email"),
    ("born", "ff1:date:1900-01-01..2029-12-31"),
    ("memo", "aead"),
];
const FLAGS: [&str; 22] = [
    "--column=name=ff1:hangul",
    "--column=rrn=ff1:rrn",
    "--column=phone=ff1:phone",
    "--column=card=ff1:card:6-0",
    "--column=email=ff1:email",
    "--column=born=ff1:date:1900-01-01..2029-12-31",
    "--column=memo=aead",
    "--tweak",
    "memo=row:id",
    "--index",
    "phone=16",
    "--keep-empty",
    "memo",
    "--small-domain",
    "born",
    "--cipher",
    "aria-256",
    "--table",
    "people",
    "--batch",
    "64",
    "--json",
];
/// Rows of the table.
const ROWS: u64 = 300;

/// A server with the table, a key file `people.key`, and a directory for commands.
struct Scene {
    dir: tempfile::TempDir,
    kind: SqlKind,
    server: SqlServer,
    session: SqlSession,
}

impl Scene {
    fn new(kind: SqlKind) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
        let server = SqlServer::start(kind, &dir.path().join("server"));
        let session = server.session();
        KeyFile::create(dir.path().join("people.key"), "people").unwrap();
        fs::write(dir.path().join("address"), server.url()).unwrap();
        Self { dir, kind, server, session }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn field(&self, arguments: &[&str]) -> Transcript {
        run(&mut sealstone(self.path(), &[&["field"], arguments].concat()))
    }

    fn migrate(&self, arguments: &[&str]) -> Transcript {
        let begin = ["migrate", "@address", "--key", "people.key", "--yes", "--quiet"];
        self.field(&[&begin[..], arguments].concat())
    }

    /// Returns the output of a migration that succeeds.
    fn migrated(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.migrate(arguments).done()).unwrap()
    }

    fn spawn(&self, arguments: &[&str]) -> Child {
        let begin = ["field", "migrate", "@address", "--key", "people.key", "--yes", "--quiet"];
        let mut command = sealstone(self.path(), &[&begin[..], arguments].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn create(&mut self, definition: &str) {
        self.session.done(&format!("CREATE TABLE {definition}{}", self.kind.table_ending()));
    }

    /// Returns the rows of `people`, with the sealed columns in the order of `COLUMNS`.
    fn people(&mut self) -> Vec<Person> {
        let columns = COLUMNS.map(|(name, _)| name).join(", ");
        let rows =
            self.session.done(&format!("SELECT id, note, {columns} FROM people ORDER BY id"));
        let person = |row: Vec<String>| Person {
            id: row[0].clone(),
            note: row[1].clone(),
            values: row[2..]
                .iter()
                .map(|value| Some(value.clone()).filter(|value| value != "NULL"))
                .collect(),
        };
        rows.into_iter().map(person).collect()
    }

    fn marks(&mut self, id: u64) -> Vec<String> {
        let marks = COLUMNS.map(|(name, _)| format!("{name}_sealed")).join(", ");
        self.session.done(&format!("SELECT {marks} FROM people WHERE id = {id}")).remove(0)
    }

    /// Returns the catalogue's description of the table's columns and triggers, and of everything
    /// else in the database.
    fn catalogue(&mut self) -> Vec<Vec<String>> {
        let text = match self.kind {
            SqlKind::MariaDb => {
                "SELECT table_name, column_name, column_type, extra FROM \
                 information_schema.columns WHERE table_schema = 'sealstone' ORDER BY 1, \
                 ordinal_position; SELECT trigger_name FROM information_schema.triggers"
            }
            SqlKind::Postgres => {
                "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE \
                 table_schema = 'public' ORDER BY 1, ordinal_position; SELECT tgname FROM \
                 pg_trigger; SELECT proname FROM pg_proc WHERE pronamespace = \
                 'public'::regnamespace"
            }
        };
        self.session.done(text)
    }

    /// Returns the library's cipher of a column, under a version of the key.
    fn cipher(&self, name: &str, version: u32) -> ColumnCipher {
        let column = |(name, method): &(&str, &str)| {
            let options = ColumnOptions {
                tweak: if *name == "memo" { Tweak::Row("id".into()) } else { Tweak::Column },
                index: (*name == "phone").then_some((None, Some(16))),
                keeps_empty: *name == "memo",
                small_domain: *name == "born",
            };
            Column::new(name, method, &options).unwrap()
        };
        let columns = COLUMNS.iter().map(column).collect();
        let table = Table::new("people", cipher("aria-256").unwrap(), columns).unwrap();
        let keys = Arc::new(KeyFile::open(self.path().join("people.key")).unwrap());
        let keyed = Keyed::of(keys, KeyRef { id: "people".into(), version }).unwrap();
        let column = table.columns.iter().find(|column| column.name == name).unwrap();
        ColumnCipher::new(&table, column, &keyed, Backend::auto()).unwrap()
    }

    /// Asserts that the table holds `plain`, every value sealed once under this version of the key.
    fn is_sealed(&mut self, plain: &[Person], version: u32) {
        let sealed = self.people();
        assert_eq!(sealed.len(), plain.len());
        for (at, (name, method)) in COLUMNS.iter().enumerate() {
            let (values, rows): (Vec<_>, Vec<_>) = sealed
                .iter()
                .filter_map(|person| Some((person.values[at].clone()?, person.id.clone())))
                .unzip();
            let wanted: Vec<&str> =
                plain.iter().filter_map(|person| person.values[at].as_deref()).collect();
            assert_eq!(values.len(), wanted.len(), "NULL stays NULL in {name}");
            let (mut opened, mut misfits) = (Texts::new(), Vec::new());
            let rows: Texts = rows.iter().collect();
            let rows = (*name == "memo").then_some(&rows);
            let texts: Texts = values.iter().collect();
            self.cipher(name, version).open(&texts, rows, &mut opened, &mut misfits).unwrap();
            assert!(misfits.is_empty(), "{name}: {misfits:?}");
            assert!(opened.iter().eq(wanted.iter().copied()), "{name} opens to something else");
            for (value, plain) in values.iter().zip(&wanted) {
                if method.starts_with("ff1") {
                    assert_eq!(value.chars().count(), plain.chars().count());
                } else {
                    assert!(
                        plain.is_empty() == value.is_empty()
                            && (plain.is_empty() || !value.contains(plain))
                    );
                }
            }
            let same = values
                .iter()
                .zip(&wanted)
                .filter(|(value, plain)| value == *plain && !plain.is_empty())
                .count();
            assert!(same <= 1, "{same} values of {name} are in the clear");
        }
        for (person, plain) in sealed.iter().zip(plain) {
            assert_eq!((&person.id, &person.note), (&plain.id, &plain.note));
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Person {
    id: String,
    note: String,
    /// In the order of `COLUMNS`; none for NULL.
    values: Vec<Option<String>>,
}

/// Fifteen digits and their check digit (ISO/IEC 7812-1).
fn card(number: u64) -> String {
    let digits = format!("{:015}", 411_111_000_000_000 + number * 7919);
    let sum: u32 = digits.bytes().rev().enumerate().fold(0, |sum, (at, digit)| {
        let digit = u32::from(digit - b'0') * if at % 2 == 0 { 2 } else { 1 };
        sum + digit / 10 + digit % 10
    });
    format!("{digits}{}", (10 - sum % 10) % 10)
}

fn person(id: u64) -> Person {
    let syllable = |number: u64| char::from_u32(0xAC00 + (number % 11_172) as u32).unwrap();
    let values = [
        Some([id * 31, id * 577, id * 7].map(syllable).iter().collect()),
        (!id.is_multiple_of(13)).then(|| {
            format!(
                "{:02}{:02}{:02}-{}{:06}",
                id % 100,
                id % 12 + 1,
                id % 28 + 1,
                id % 4 + 1,
                id * 271
            )
        }),
        Some(format!("010-{:04}-{:04}", id * 37 % 10_000, id * 113 % 10_000)),
        Some(card(id)),
        Some(format!("user{id:05}@example.com")),
        Some(format!("19{:02}-{:02}-{:02}", id % 100, id % 12 + 1, id % 28 + 1)),
        match id {
            id if id.is_multiple_of(7) => None,
            id if id.is_multiple_of(11) => Some(String::new()),
            id => Some(format!("it's \"row\" {id} \\ with 문자 and 🔑")),
        },
    ];
    Person { id: id.to_string(), note: format!("note {id}"), values: values.to_vec() }
}

fn literal(kind: SqlKind, value: &str) -> String {
    let value = value.replace('\'', "''");
    format!("'{}'", if kind == SqlKind::MariaDb { value.replace('\\', "\\\\") } else { value })
}

fn insert(kind: SqlKind, people: &[Person]) -> String {
    let row = |Person { id, note, values }: &Person| {
        let values = values
            .iter()
            .map(|value| value.as_ref().map_or("NULL".into(), |value| literal(kind, value)));
        format!("({id}, '{note}', {})", values.collect::<Vec<_>>().join(", "))
    };
    let rows: Vec<String> = people.iter().map(row).collect();
    let columns = COLUMNS.map(|(name, _)| name).join(", ");
    format!("INSERT INTO people (id, note, {columns}) VALUES {}", rows.join(", "))
}

/// Returns a scene with the table `people` full of people.
fn peopled(kind: SqlKind) -> (Scene, Vec<Person>) {
    let mut scene = Scene::new(kind);
    scene.create(
        "people (id BIGINT PRIMARY KEY, name VARCHAR(20) NOT NULL, rrn CHAR(14), phone \
         VARCHAR(20), card VARCHAR(19), email VARCHAR(80), born VARCHAR(10), memo TEXT, note \
         VARCHAR(50) NOT NULL)",
    );
    scene.session.done("CREATE INDEX people_phone ON people (phone)");
    let plain: Vec<Person> = (1..=ROWS).map(person).collect();
    scene.session.done(&insert(kind, &plain));
    assert_eq!(scene.people(), plain);
    (scene, plain)
}

fn is_sealed_and_comes_back(kind: SqlKind, name: &str) {
    if !kind.is_available(name) {
        return;
    }
    let (mut scene, mut plain) = peopled(kind);
    let before = scene.catalogue();
    let url = scene.server.url();
    let checked = scene.field(&[&["check", url.as_str()], &FLAGS[..19], &["--json"]].concat());
    let checked: Value = serde_json::from_str(&checked.done()).unwrap();
    assert_eq!(
        (checked["rows_that_fit"].as_u64(), checked["rows_that_do_not"].as_u64()),
        (Some(ROWS), Some(0))
    );
    assert_eq!(scene.catalogue(), before, "a check adds nothing");

    let said = scene.migrated(&FLAGS);
    assert_eq!((said["changed_rows"].as_u64(), said["rows"].as_u64()), (Some(ROWS), Some(ROWS)));
    assert_eq!((said["whole"].as_bool(), said["clear_rows"].as_u64()), (Some(true), Some(0)));
    scene.is_sealed(&plain, 1);
    assert_eq!(scene.marks(7), ["1", "1", "1", "1", "1", "1", "NULL"]);
    let mut index = String::new();
    scene.cipher("phone", 1).index(plain[4].values[2].as_ref().unwrap(), &mut index).unwrap();
    let found = scene.session.done(&format!("SELECT id FROM people WHERE phone_index = '{index}'"));
    assert!(found.contains(&vec!["5".to_owned()]), "{found:?}");
    assert_eq!(scene.migrated(&FLAGS)["changed_rows"].as_u64(), Some(0), "nothing is sealed twice");

    applications_write(&mut scene, &mut plain);
    assert_eq!(scene.migrated(&FLAGS)["changed_rows"].as_u64(), Some(3));
    scene.is_sealed(&plain, 1);

    KeyFile::open(scene.path().join("people.key")).unwrap().rotate().unwrap();
    a_version_is_kept(&scene, "has values under it, such as in row id 1");
    let again = ["--table", "people", "--reseal", "--json"];
    assert_eq!(scene.migrated(&again)["changed_rows"].as_u64(), Some(plain.len() as u64));
    scene.is_sealed(&plain, 2);
    // a value that somebody restored from an old copy, with its mark
    let column = |version: i32| {
        format!("UPDATE people SET note = note, name_sealed = {version} WHERE id = 4")
    };
    scene.session.done(&column(-1));
    a_version_is_kept(&scene, "has values under it, such as in row id 4");
    scene.session.done(&column(-2));
    a_version_is_retired(&scene);
    assert_eq!(scene.marks(1)[0], "2");
    others_are_refused(&scene);
    scene.is_sealed(&plain, 2);

    for (command, flag) in [("open", "--open"), ("reseal", "--reseal")] {
        scene.field(&[command, "@address", "--key", "people.key", "--out",
            "people.csv"]).fails_with(&format!(
            "sealstone: field {command} writes a file, and a table of a database stays where it \
             is\n  run: sealstone field migrate ADDRESS --table NAME --key KEY {flag}\n"
        ));
    }
    let opened = scene.migrated(&["--table", "people", "--open", "--json"]);
    assert_eq!(
        (opened["whole"].as_bool(), opened["changed_rows"].as_u64()),
        (Some(true), Some(plain.len() as u64))
    );
    assert_eq!(scene.people(), plain);
    assert_eq!(scene.catalogue(), before, "something of ours was left");
    let words = format!(
        "sealstone: table people on {} at {} is not sealed: sealstone_fields has no row for it\n",
        kind.name(),
        scene.server.address()
    );
    let said = scene.migrate(&["--table", "people", "--open"]);
    assert!(said.code == Some(2) && said.stderr.contains(&words), "{}", said.stderr);
}

const RETIRE: [&str; 7] =
    ["keys", "retire", "people.key", "--version", "1", "--table", "@address#people"];

/// Asserts that version 1 is not retired, with its reason.
fn a_version_is_kept(scene: &Scene, found: &str) {
    let said = run(&mut sealstone(scene.path(), &RETIRE));
    let (server, address) = (scene.kind.name(), scene.server.address());
    let want = format!(
        "sealstone: key people version 1 was not retired: table people on {server} at {address} \
         {found}\n  bring it to the newest version first, with: sealstone field migrate @address \
         --table people --reseal --key people.key\n"
    );
    assert_eq!((said.code, said.stderr), (Some(1), want));
}

fn a_version_is_retired(scene: &Scene) {
    let key = fs::read(scene.path().join("people.key")).unwrap();
    let other = [&RETIRE[..6], &["@address#sealstone_fields"]].concat();
    let said = run(&mut sealstone(scene.path(), &other));
    assert!(
        said.code == Some(2)
            && said.stderr.contains(" was not retired: table sealstone_fields on "),
        "{said:?}"
    );
    let said = run(&mut sealstone(scene.path(), &[&RETIRE[..6], &["@address"]].concat()));
    assert!(said.code == Some(2) && said.stderr.contains("--table names no table"), "{said:?}");
    let said = run(&mut sealstone(scene.path(), &RETIRE));
    assert_eq!(
        said.stderr,
        "key people version 1 is retired; none of 1 table is under it\nnot looked at: stores \
         (--store), files with sealed columns (--field), backups\n"
    );
    said.done();
    // the following steps need it again
    fs::write(scene.path().join("people.key"), key).unwrap();
}

/// Runs an application unaware of sealed columns, and an aware application.
fn applications_write(scene: &mut Scene, plain: &mut Vec<Person>) {
    let sealed = scene.people();
    // it changes one value of a row, and the others stay sealed
    scene.session.done("UPDATE people SET phone = '010-9999-0001' WHERE id = 2");
    plain[1].values[2] = Some("010-9999-0001".into());
    assert_eq!(scene.marks(2), ["1", "1", "NULL", "1", "1", "1", "1"]);
    let index = scene.session.done("SELECT phone_index FROM people WHERE id = 2");
    assert_eq!(index, [["NULL"]], "an index value of something else would find the wrong row");
    // it writes all columns back as it read them, and another one
    let columns = sealed[2].values.iter().zip(COLUMNS).map(|(value, (name, _))| {
        format!(
            "{name} = {}",
            value.as_ref().map_or("NULL".into(), |value| literal(scene.kind, value))
        )
    });
    let columns: Vec<String> = columns.collect();
    scene
        .session
        .done(&format!("UPDATE people SET {}, note = 'other' WHERE id = 3", columns.join(", ")));
    plain[2].note = "other".into();
    assert_eq!(scene.marks(3), ["1"; 7]);
    // it takes a value away, adds a row, and removes one
    scene.session.done("UPDATE people SET email = NULL WHERE id = 4");
    plain[3].values[4] = None;
    assert_eq!(scene.marks(4)[4], "NULL");
    scene.session.done(&insert(scene.kind, &[person(ROWS + 1)]));
    plain.push(person(ROWS + 1));
    scene.session.done("DELETE FROM people WHERE id = 10");
    plain.remove(9);
    // it moves a row, to which a sealed value is bound
    let refused = scene.session.ask("UPDATE people SET id = 9999 WHERE id = 5");
    assert!(format!("{refused:?}").contains("memo is sealed and bound to id"), "{refused:?}");
    // an aware application writes sealed values, and claims them
    let (mut text, mut misfits) = (Texts::new(), Vec::new());
    let values: Texts = ["010-7777-0006", "010-7777-0302"].into_iter().collect();
    scene.cipher("phone", 1).seal(&values, None, &mut text, &mut misfits).unwrap();
    scene.session.done(&format!(
        "UPDATE people SET phone = '{}', phone_sealed = -1 WHERE id = 6",
        text.get(0)
    ));
    plain.iter_mut().find(|person| person.id == "6").unwrap().values[2] =
        Some("010-7777-0006".into());
    let mut one = person(ROWS + 2);
    one.values[2] = Some(text.get(1).to_owned());
    let claimed =
        insert(scene.kind, &[one.clone()]).replace("(id, note,", "(phone_sealed, id, note,");
    scene.session.done(
        &claimed.replace(&format!("VALUES ({}", ROWS + 2), &format!("VALUES (-1, {}", ROWS + 2)),
    );
    one.values[2] = Some("010-7777-0302".into());
    plain.push(one);
    assert_eq!(scene.marks(6)[2], "1");
    assert_eq!(scene.marks(ROWS + 2), ["NULL", "NULL", "1", "NULL", "NULL", "NULL", "NULL"]);
}

/// Checks other keys and other policies.
fn others_are_refused(scene: &Scene) {
    let place = format!("{} at {}", scene.kind.name(), scene.server.address());
    let fails = |scene: &Scene, arguments: &[&str], want: &str| {
        let said = scene.migrate(arguments);
        assert!(
            said.code == Some(2) && said.stderr.contains(want),
            "{}\nwant: {want}",
            said.stderr
        );
        assert!(!said.stderr.contains("geheim"), "{}", said.stderr);
    };
    let want = format!(
        "table people on {place} is sealed already, or in part, and in another way: born=ff1:date:"
    );
    fails(scene, &["--table", "people", "--column", "phone=ff1:phone"], &want);
    let path = |name: &str| scene.path().join(name);
    fs::rename(path("people.key"), path("right.key")).unwrap();
    KeyFile::create(path("people.key"), "people").unwrap().rotate().unwrap();
    let want = "key people version 2 from key file people.key does not fit the manifest: another \
                key bears the same name";
    fails(scene, &FLAGS, want);
    fails(scene, &["--table", "people", "--open"], want);
    fs::remove_file(path("people.key")).unwrap();
    KeyFile::create(path("people.key"), "orders").unwrap();
    fails(scene, &FLAGS, "people version 2");
    fs::rename(path("right.key"), path("people.key")).unwrap();
}

fn what_cannot_be_sealed_is_left_alone(kind: SqlKind, name: &str) {
    if !kind.is_available(name) {
        return;
    }
    let mut scene = Scene::new(kind);
    let place = format!("{} at {}", kind.name(), scene.server.address());
    scene.create(
        "t (id BIGINT PRIMARY KEY, phone VARCHAR(20), memo VARCHAR(30), age INT, code \
         VARCHAR(20) UNIQUE)",
    );
    scene.create("keyless (phone VARCHAR(20))");
    scene.create(
        "checked (id BIGINT PRIMARY KEY, phone VARCHAR(20), CONSTRAINT long_phone CHECK \
         (length(phone) > 3))",
    );
    scene.create(
        "child (id BIGINT PRIMARY KEY, code VARCHAR(20), CONSTRAINT of_t FOREIGN KEY (code) \
         REFERENCES t (code))",
    );
    scene.session.done("CREATE VIEW seen AS SELECT * FROM t");
    scene.session.done(
        "INSERT INTO t VALUES (1, '010-1111-2222', 'some memo', 5, 'abcdef'), (2, 'zilch', NULL, \
         5, 'abcdeg'), (3, '010-2222-3333', 'x', 5, NULL)",
    );
    let before = scene.catalogue();
    for (table, column, wants) in [
        (
            "tt",
            "phone=ff1:phone",
            vec![format!("{place}: unknown table \"tt\"; did you mean \"t\"?\n")],
        ),
        (
            "t",
            "phnoe=ff1:phone",
            vec!["table t: unknown column \"phnoe\"; did you mean phone?\n".into()],
        ),
        ("t", "id=ff1:digits", vec!["column id of table t: rows are found by it".into()]),
        (
            "t",
            "age=ff1:digits",
            vec!["column age of table t: its type is int".into(), "sealed values are text".into()],
        ),
        ("t", "code=ff1:letters", vec!["column code of table t: ".into()]),
        ("child", "code=ff1:letters", vec!["column code of table child: foreign key of_t".into()]),
        (
            "checked",
            "phone=ff1:phone",
            vec!["constraint long_phone decides which".into(), "DROP CONSTRAINT".into()],
        ),
        (
            "keyless",
            "phone=ff1:phone",
            vec!["it has no primary key".into(), "ADD COLUMN row_id BIGINT".into()],
        ),
        ("seen", "phone=ff1:phone", vec!["it is a view".into()]),
        (
            "t",
            "memo=aead",
            vec![
                "column memo of table t has room for 30 characters, and its values need".into(),
                "ALTER TABLE".into(),
            ],
        ),
        (
            "t",
            "phone=ff1:phone",
            vec![
                "table t, row id 2, column phone: character 1 is a lower-case letter".into(),
                "--on-error report".into(),
            ],
        ),
    ] {
        let said = scene.migrate(&["--table", table, "--column", column]);
        assert_eq!(said.code, Some(2), "{table} {column}: {}", said.stderr);
        for want in wants {
            assert!(said.stderr.contains(&want), "{}\nwant: {want}", said.stderr);
        }
        assert!(
            !said.stderr.contains("zilch") && !said.stderr.contains("geheim"),
            "{}",
            said.stderr
        );
        assert_eq!(scene.catalogue(), before, "{table} {column}: something was changed");
    }
    let url = scene.server.url();
    let checked = scene.field(&["check", &url, "--table", "t", "--column", "phone=ff1:phone"]);
    assert_eq!(checked.code, Some(1));
    assert!(
        checked
            .stdout
            .contains("1 of 3 rows do not fit\nvalues that do not: 1\n  row id 2, column phone: "),
        "{}",
        checked.stdout
    );
    let report = ["--table", "t", "--column", "phone=ff1:phone", "--on-error", "report"];
    let said = scene.migrate(&report);
    assert_eq!(said.code, Some(1), "{}", said.stderr);
    for want in [
        "2 rows of table t on ",
        "values that do not fit and stay as they are: 1\n  row id 2, column phone: ",
        "1 row with a value in the clear\n",
    ] {
        assert!(said.stdout.contains(want), "{}\nwant: {want}", said.stdout);
    }
    assert_eq!(scene.session.done("SELECT phone FROM t WHERE id = 2"), [["zilch"]]);
    // a value written while it is sealed that does not fit
    scene.session.done("UPDATE t SET phone = '010-5555-6666' WHERE id = 2");
    scene.migrate(&["--table", "t", "--column", "phone=ff1:phone"]).done();
    // without its trigger nothing would show which values are sealed
    let drop = match kind {
        SqlKind::MariaDb => "DROP TRIGGER sealstone_update_t",
        SqlKind::Postgres => "DROP TRIGGER zzz_sealstone ON t",
    };
    scene.session.done(drop);
    let said = scene.migrate(&["--table", "t", "--column", "phone=ff1:phone"]);
    assert!(said.code == Some(2) && said.stderr.contains("is missing"), "{}", said.stderr);
}

fn one_at_a_time_and_as_often_as_it_takes(kind: SqlKind, name: &str) {
    if !kind.is_available(name) {
        return;
    }
    let mut scene = Scene::new(kind);
    scene.create(
        "orders (shop VARCHAR(10), number INT, phone VARCHAR(20) NOT NULL, PRIMARY KEY \
         (shop, number))",
    );
    let rows: Vec<String> =
        (0..900).map(|at| format!("('s{}', {at}, '010-0000-{at:04}')", at % 3)).collect();
    scene.session.done(&format!("INSERT INTO orders VALUES {}", rows.join(", ")));
    let seal = ["--table", "orders", "--column", "phone=ff1:phone", "--batch", "10"];
    let slow = [&seal[..], &["--rows-per-second", "100"]].concat();
    let sealed = |scene: &mut Scene| -> u64 {
        let rows = scene.session.ask("SELECT count(phone_sealed) FROM orders");
        rows.concat().concat().parse().unwrap_or(0)
    };
    let begun = |scene: &mut Scene, least: u64| {
        let begin = Instant::now();
        while sealed(scene) < least {
            assert!(begin.elapsed() < Duration::from_secs(20), "nothing is sealed");
            thread::sleep(Duration::from_millis(20));
        }
    };
    // a second one finds the table taken
    let first = scene.spawn(&slow);
    begun(&mut scene, 1);
    let second = scene.migrate(&seal);
    assert_eq!(second.code, Some(2));
    assert!(second.stderr.contains("is being migrated by another process: "), "{}", second.stderr);
    kill(Pid::from_raw(first.id() as i32), Signal::SIGINT).unwrap();
    let stopped = finish(first);
    assert_eq!(stopped.code, Some(130));
    assert!(
        stopped.stderr.contains("rows, which stay as they are now\n  run the same command again"),
        "{}",
        stopped.stderr
    );
    let so_far = sealed(&mut scene);
    assert!(so_far > 0 && so_far < 900, "{so_far}");
    // the server dies
    let mut next = scene.spawn(&slow);
    begun(&mut scene, so_far + 20);
    scene.server.kill();
    let begin = Instant::now();
    while next.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(30), "it waits for a server that is gone");
        thread::sleep(Duration::from_millis(20));
    }
    let died = finish(next);
    assert_eq!(died.code, Some(2));
    let place = format!("table orders on {} at {}: ", kind.name(), scene.server.address());
    for want in
        [place.as_str(), "what was done until then stays; run the same command again to go on"]
    {
        assert!(died.stderr.contains(want), "{}\nwant: {want}", died.stderr);
    }
    scene.server.start_again();
    scene.session = scene.server.session();
    let said = scene.migrate(&seal).done();
    assert!(
        said.contains("900 rows read again: every value that is not NULL is sealed, and opens"),
        "{said}"
    );
    scene.migrate(&["--table", "orders", "--open"]).done();
    let rows = scene.session.done(
        "SELECT count(*) FROM orders WHERE phone = concat('010-0000-', lpad(concat(number, \
         ''), 4, '0'))",
    );
    assert_eq!(rows, [["900"]]);
}

#[test]
fn a_table_of_mariadb_is_sealed_in_place_and_comes_back() {
    is_sealed_and_comes_back(
        SqlKind::MariaDb,
        "a_table_of_mariadb_is_sealed_in_place_and_comes_back",
    );
}

#[test]
fn a_table_of_postgres_is_sealed_in_place_and_comes_back() {
    is_sealed_and_comes_back(
        SqlKind::Postgres,
        "a_table_of_postgres_is_sealed_in_place_and_comes_back",
    );
}

#[test]
fn a_table_of_mariadb_that_cannot_be_sealed_is_left_alone() {
    what_cannot_be_sealed_is_left_alone(
        SqlKind::MariaDb,
        "a_table_of_mariadb_that_cannot_be_sealed_is_left_alone",
    );
}

#[test]
fn a_table_of_postgres_that_cannot_be_sealed_is_left_alone() {
    what_cannot_be_sealed_is_left_alone(
        SqlKind::Postgres,
        "a_table_of_postgres_that_cannot_be_sealed_is_left_alone",
    );
}

#[test]
fn a_mariadb_is_migrated_by_one_at_a_time_and_as_often_as_it_takes() {
    let name = "a_mariadb_is_migrated_by_one_at_a_time_and_as_often_as_it_takes";
    one_at_a_time_and_as_often_as_it_takes(SqlKind::MariaDb, name);
}

/// Another migration that hangs while it writes its own state down stops this one before anything
/// is changed.
#[test]
fn a_mariadb_whose_table_of_states_is_held_is_left_alone() {
    if !SqlKind::MariaDb.is_available("a_mariadb_whose_table_of_states_is_held_is_left_alone") {
        return;
    }
    let mut scene = Scene::new(SqlKind::MariaDb);
    scene.create("people (id INT PRIMARY KEY, phone VARCHAR(20))");
    scene.session.done("INSERT INTO people VALUES (1, '010-1234-5678')");
    let lock = "concat('sealstone states ', md5(lower(DATABASE())))";
    assert_eq!(scene.session.done(&format!("SELECT GET_LOCK({lock}, 0)")), [["1"]]);
    let columns = ["--table=people", "--column=phone=ff1:phone"];
    let refused = scene.migrate(&columns);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for wanted in ["sealstone_fields is in use by another table", "SHOW PROCESSLIST"] {
        assert!(refused.stderr.contains(wanted), "{}", refused.stderr);
    }
    assert_eq!(scene.session.done("SELECT * FROM people"), [["1", "010-1234-5678"]]);
    scene.session.done(&format!("SELECT RELEASE_LOCK({lock})"));
    scene.migrate(&columns).done();
    assert_ne!(scene.session.done("SELECT phone FROM people"), [["010-1234-5678"]]);
}

#[test]
fn a_postgres_is_migrated_by_one_at_a_time_and_as_often_as_it_takes() {
    let name = "a_postgres_is_migrated_by_one_at_a_time_and_as_often_as_it_takes";
    one_at_a_time_and_as_often_as_it_takes(SqlKind::Postgres, name);
}

/// The module that sealed a table is on record, and only that module seals more of it under the
/// same version of the key; an audit repeats the record, and counts what is in the clear.
#[test]
fn a_table_names_the_module_that_sealed_it() {
    let kind = SqlKind::Postgres;
    if !kind.is_available("a_table_names_the_module_that_sealed_it") {
        return;
    }
    let mut scene = Scene::new(kind);
    scene.create("notes (id INT PRIMARY KEY, memo VARCHAR(400))");
    let insert = |scene: &mut Scene, id: u32| {
        scene.session.done(&format!("INSERT INTO notes (id, memo) VALUES ({id}, 'note {id}')"));
    };
    insert(&mut scene, 1);
    let columns = ["--column=memo=aead", "--cipher=aria-256", "--table=notes"];
    let module = ["--module", "openssl:default"];
    let seal = |scene: &Scene, more: &[&str]| scene.migrate(&[&columns[..], more].concat());
    seal(&scene, &module).done();
    let text = "SELECT replace(manifest, chr(10), ' ') FROM sealstone_fields";
    let manifest = scene.session.done(text).remove(0).remove(0);
    assert!(manifest.contains("module = \"openssl:default 3."), "{manifest}");

    insert(&mut scene, 2);
    let refused = seal(&scene, &[]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("was sealed by module openssl:default 3."), "{refused:?}");
    let audit = |out: &str| {
        let table = ["audit", "--table", "@address#notes", "--out", out];
        let done = run(&mut sealstone(scene.path(), &table));
        let json = fs::read(scene.path().join(out).join("audit.json")).unwrap();
        (done.code, serde_json::from_slice::<Value>(&json).unwrap())
    };
    let (code, found) = audit("open");
    assert_eq!((code, &found["verdict"]["open"][0]["what"]), (Some(1), &"clear".into()));
    let share = &found["places"][0]["sealed"][0];
    let maker = share["maker"]["module"].as_str().unwrap();
    assert!(maker.starts_with("openssl:default 3."), "{share}");
    assert_eq!((&share["count"], &share["column"]), (&1.into(), &"memo".into()));
    let korean = ["audit", "--table", "@address#notes", "--out", "ko", "--lang", "ko"];
    assert_eq!(run(&mut sealstone(scene.path(), &korean)).code, Some(1));
    let page = fs::read_to_string(scene.path().join("ko/audit.html")).unwrap();
    for words in ["memo (값 1개): 암호화하십시오", "서버의 로그", "드러나는 것: 길이"]
    {
        assert!(page.contains(words), "{words}: {page}");
    }
    seal(&scene, &module).done();
    assert_eq!(audit("sealed").0, Some(0));

    // under another version of the key everything is sealed again, with the module or without
    let reseal = ["--reseal", "--table=notes"];
    let refused = scene.migrate(&reseal);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    run(&mut sealstone(scene.path(), &["keys", "rotate", "people.key"])).done();
    scene.migrate(&reseal).done();
    let (code, found) = audit("ours");
    let share = &found["places"][0]["sealed"][0];
    assert_eq!((code, &share["maker"]), (Some(0), &"sealstone".into()));
    assert_eq!((&share["count"], &share["key_version"]), (&2.into(), &2.into()));
    scene.migrate(&["--open", "--table=notes"]).done();
}
