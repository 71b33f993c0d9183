//! Migrations killed at random points while an application writes: afterwards no row is lost, none
//! is sealed twice, and none is in the clear. Both ways, sealing and opening; on real servers,
//! judged by their own client programs and by the library. `SEALSTONE_MIGRATION_KILLS=100` kills
//! that often on each server, `SEALSTONE_MIGRATION_SEED` repeats an order.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sealstone_cipher::{Backend, cipher};
use sealstone_e2e::sql_server::{SqlKind, SqlServer, SqlSession};
use sealstone_e2e::transcript::{Transcript, finish, run, sealstone};
use sealstone_fields::policy::{Column, ColumnOptions, Table, Tweak};
use sealstone_fields::{ColumnCipher, Keyed, Texts};
use sealstone_keys::KeyFile;

/// The default number of kills on each server.
const KILLS: u32 = 15;
/// Rows that the table begins with.
const ROWS: u64 = 400;
/// Longest time that the whole test may take, for each kill.
const PATIENCE: Duration = Duration::from_secs(20);

/// Expected content of each row: telephone number and memo.
type Rows = BTreeMap<u64, (String, Option<String>)>;

fn phone(random: &mut StdRng) -> String {
    format!("010-{:04}-{:04}", random.random_range(0..10_000), random.random_range(0..10_000))
}

fn memo(random: &mut StdRng) -> Option<String> {
    (random.random_range(0..5) > 0)
        .then(|| format!("memo {}", random.random_range(0..1_000_000_u32)))
}

fn literal(text: Option<&String>) -> String {
    text.map_or("NULL".into(), |text| format!("'{text}'"))
}

/// Runs an application unaware of sealed columns. It writes until it is stopped, and returns the
/// expected values of the rows.
fn writes(
    kind: SqlKind,
    mut session: SqlSession,
    mut rows: Rows,
    seed: u64,
    stop: &AtomicBool,
) -> (Rows, u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let (mut next, mut done) = (ROWS + 1, 0);
    // whether the server did it to a row: MariaDB counts, PostgreSQL answers it
    let mut did = |text: String| match kind {
        SqlKind::MariaDb => session
            .ask(&format!("{text}; SELECT ROW_COUNT()"))
            .last()
            .is_some_and(|row| row == &["1"]),
        SqlKind::Postgres => session.ask(&format!("{text} RETURNING 1")) == [["1"]],
    };
    while !stop.load(Ordering::Relaxed) {
        let ids: Vec<u64> = rows.keys().copied().collect();
        let id = ids[random.random_range(0..ids.len())];
        let (phone, memo) = (phone(&mut random), memo(&mut random));
        let (old_phone, old_memo) = rows[&id].clone();
        match random.random_range(0..10) {
            0 | 1 => {
                let values = format!("({next}, '{phone}', {}, 'new')", literal(memo.as_ref()));
                if did(format!("INSERT INTO people (id, phone, memo, note) VALUES {values}")) {
                    rows.insert(next, (phone, memo));
                }
                next += 1;
            }
            2 if rows.len() > 200 => {
                if did(format!("DELETE FROM people WHERE id = {id}")) {
                    rows.remove(&id);
                }
            }
            3..=5 if phone != old_phone => {
                if did(format!("UPDATE people SET phone = '{phone}' WHERE id = {id}")) {
                    rows.insert(id, (phone, old_memo));
                }
            }
            6 | 7 if memo != old_memo => {
                if did(format!(
                    "UPDATE people SET memo = {} WHERE id = {id}",
                    literal(memo.as_ref())
                )) {
                    rows.insert(id, (old_phone, memo));
                }
            }
            _ => drop(did(format!("UPDATE people SET note = 'n{done}' WHERE id = {id}"))),
        }
        done += 1;
        thread::sleep(Duration::from_millis(2));
    }
    (rows, done)
}

struct Scene {
    dir: tempfile::TempDir,
    server: SqlServer,
}

impl Scene {
    fn new(kind: SqlKind) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).unwrap();
        let server = SqlServer::start(kind, &dir.path().join("server"));
        KeyFile::create(dir.path().join("people.key"), "people").unwrap();
        fs::write(dir.path().join("address"), server.url()).unwrap();
        Self { dir, server }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn command(&self, opening: bool) -> Command {
        let begin = [
            "field",
            "migrate",
            "@address",
            "--table=people",
            "--key=people.key",
            "--yes",
            "--quiet",
            "--batch=20",
        ];
        let seal = [
            "--column=phone=ff1:phone",
            "--column=memo=aead",
            "--tweak=memo=row:id",
            "--index=phone",
        ];
        sealstone(self.path(), &[&begin[..], if opening { &["--open"] } else { &seal }].concat())
    }

    fn spawn(&self, opening: bool) -> Child {
        self.command(opening).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn runs(&self, opening: bool) -> Transcript {
        run(&mut self.command(opening))
    }

    /// Returns the contents of the table, with the marks if there are any.
    fn rows(&self, columns: &str) -> Vec<Vec<String>> {
        self.server
            .session()
            .done(&format!("SELECT id, phone, memo{columns} FROM people ORDER BY id"))
    }
}

/// Asserts that every value of `rows` is sealed, once, and is there.
fn is_sealed(scene: &Scene, rows: &Rows) {
    let found = scene.rows(", phone_sealed, memo_sealed, phone_index");
    let ids: Vec<u64> = found.iter().map(|row| row[0].parse().unwrap()).collect();
    assert!(ids.iter().eq(rows.keys()), "rows were lost or came from nowhere");
    let of = |name, method, tweak, index| {
        Column::new(name, method, &ColumnOptions { tweak, index, ..ColumnOptions::default() })
            .unwrap()
    };
    let columns = vec![
        of("phone", "ff1:phone", Tweak::Column, Some((None, None))),
        of("memo", "aead", Tweak::Row("id".into()), None),
    ];
    let table = Table::new("people", cipher("aes-256").unwrap(), columns).unwrap();
    let keyed =
        Keyed::current(Arc::new(KeyFile::open(scene.path().join("people.key")).unwrap())).unwrap();
    let cipher =
        |at: usize| ColumnCipher::new(&table, &table.columns[at], &keyed, Backend::auto()).unwrap();
    let (mut phones, mut memos, mut misfits) = (Texts::new(), Texts::new(), Vec::new());
    let column = |at: usize| -> Texts {
        found.iter().filter(|row| row[2] != "NULL" || at == 1).map(|row| &row[at]).collect()
    };
    cipher(0).open(&column(1), None, &mut phones, &mut misfits).unwrap();
    let ids: Texts = found.iter().filter(|row| row[2] != "NULL").map(|row| &row[0]).collect();
    cipher(1).open(&column(2), Some(&ids), &mut memos, &mut misfits).unwrap();
    assert!(misfits.is_empty(), "{misfits:?}");
    assert!(
        phones.iter().eq(rows.values().map(|(phone, _)| phone.as_str())),
        "a number is not sealed once"
    );
    assert!(
        memos.iter().eq(rows.values().filter_map(|(_, memo)| memo.as_deref())),
        "a memo is not sealed once"
    );
    let index = cipher(0);
    for (row, (phone, memo)) in found.iter().zip(rows.values()) {
        let marks = [row[3].as_str(), row[4].as_str()];
        assert_eq!(marks, ["1", if memo.is_some() { "1" } else { "NULL" }], "row {}", row[0]);
        let mut wanted = String::new();
        index.index(phone, &mut wanted).unwrap();
        assert_eq!(row[5], wanted, "the index value of row {}", row[0]);
    }
}

fn kills(kind: SqlKind, name: &str) {
    if !kind.is_available(name) {
        return;
    }
    let number =
        |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let kills =
        number("SEALSTONE_MIGRATION_KILLS").map_or(KILLS, |kills| u32::try_from(kills).unwrap());
    let seed = number("SEALSTONE_MIGRATION_SEED").unwrap_or_else(rand::random);
    println!("{} kills on {}, SEALSTONE_MIGRATION_SEED={seed}", kills, kind.name());
    let mut random = StdRng::seed_from_u64(seed);
    let scene = Scene::new(kind);
    let mut session = scene.server.session();
    session.done(&format!(
        "CREATE TABLE people (id BIGINT PRIMARY KEY, phone VARCHAR(20) NOT NULL, memo \
         VARCHAR(200), note VARCHAR(50)){}",
        kind.table_ending()
    ));
    let rows: Rows = (1..=ROWS).map(|id| (id, (phone(&mut random), memo(&mut random)))).collect();
    let values = rows
        .iter()
        .map(|(id, (phone, memo))| format!("({id}, '{phone}', {}, 'old')", literal(memo.as_ref())));
    session.done(&format!("INSERT INTO people VALUES {}", values.collect::<Vec<_>>().join(", ")));

    let stop = AtomicBool::new(false);
    let session = scene.server.session();
    let (rows, counts) = thread::scope(|scope| {
        let writer = scope.spawn(|| writes(kind, session, rows, seed, &stop));
        let counts = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            kill_often(&scene, kills, &mut random)
        }));
        stop.store(true, Ordering::Relaxed);
        let (rows, written) = writer.join().expect("it writes");
        println!("{written} writes; killed, ended while sealing and while opening: {counts:?}");
        (rows, counts.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    assert!(counts.killed == kills && counts.ended[0] > 0, "{counts:?}");
    // an opening under way is finished
    if counts.is_opening {
        let said = scene.runs(true);
        assert!(said.code == Some(0) || said.stderr.contains("is not sealed"), "{}", said.stderr);
    }
    let said = scene.runs(false).done();
    assert!(
        said.contains("read again: every value that is not NULL is sealed, and opens"),
        "{said}"
    );
    is_sealed(&scene, &rows);
    scene.runs(true).done();
    let plain = rows.iter().map(|(id, (phone, memo))| {
        vec![id.to_string(), phone.clone(), memo.clone().unwrap_or_else(|| "NULL".into())]
    });
    assert_eq!(scene.rows(""), plain.collect::<Vec<_>>());
    let left = scene.server.session().ask("SELECT phone_sealed FROM people");
    assert!(left.concat().concat().contains("ERROR"), "{left:?}");
}

/// Outcomes of the migrations.
#[derive(Debug, Default)]
struct Counts {
    killed: u32,
    /// Runs that ended before they were killed: sealing, opening.
    ended: [u32; 2],
    is_opening: bool,
}

/// Seals and opens alternately, and kills each run after a random time, until that happened often
/// enough. A run that ends first reverses the direction.
fn kill_often(scene: &Scene, kills: u32, random: &mut StdRng) -> Counts {
    let mut counts = Counts::default();
    // how long a run takes, so that kills meet all of it
    let mut whole = Duration::from_millis(600);
    let begin = Instant::now();
    while counts.killed < kills {
        assert!(begin.elapsed() < PATIENCE * (kills + 1), "{counts:?}");
        let run = Instant::now();
        let mut child = scene.spawn(counts.is_opening);
        let due = whole.mul_f64(random.random_range(0.02..1.1));
        let ended = loop {
            if child.try_wait().unwrap().is_some() {
                break true;
            }
            if run.elapsed() >= due {
                break false;
            }
            thread::sleep(Duration::from_millis(1));
        };
        if !ended {
            child.kill().unwrap();
            child.wait().unwrap();
            counts.killed += 1;
            // on a busy machine no run would end otherwise
            whole = whole.mul_f64(1.1);
            continue;
        }
        whole = (whole + run.elapsed()) / 2;
        let said = finish(child);
        // rows that the application writes in the clear at the end of a run are in the clear then;
        // a run that was killed may have opened everything
        let is_allowed = match counts.is_opening {
            false => said.code == Some(0) || said.code == Some(1),
            true => said.code == Some(0) || said.stderr.contains("is not sealed"),
        };
        assert!(is_allowed, "{:?}\n{}{}", said.code, said.stdout, said.stderr);
        counts.ended[usize::from(counts.is_opening)] += 1;
        counts.is_opening = !counts.is_opening;
    }
    counts
}

#[test]
fn a_migration_of_mariadb_that_is_killed_loses_nothing() {
    kills(SqlKind::MariaDb, "a_migration_of_mariadb_that_is_killed_loses_nothing");
}

#[test]
fn a_migration_of_postgres_that_is_killed_loses_nothing() {
    kills(SqlKind::Postgres, "a_migration_of_postgres_that_is_killed_loses_nothing");
}
