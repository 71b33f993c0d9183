//! Searches in the files of a sealed volume for what a database on it keeps: values, names of
//! tables and of files, after a load, a sort that does not fit into memory, a kill of the database
//! together with the process that serves the volume, a recovery, and a checkpoint. PostgreSQL,
//! MariaDB, MySQL, Redis and SSDB, each with all of its files on the volume.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memchr::memmem;
use nix::sys::signal::{Signal, kill};
use sealstone_e2e::mysql_server::MySqlServer;
use sealstone_e2e::redis_protocol::{answers, command};
use sealstone_e2e::sql_server::{Database, SqlKind, SqlServer, SqlSession};
use sealstone_e2e::volume_place::{VolumePlace, holds, tool};
use sealstone_servers::testing::{is_installed, reachable};
use sealstone_servers::{
    Persistence, REDIS_PROGRAM, Redis, RedisOptions, SSDB_PROGRAM, Ssdb, SsdbOptions, start_redis,
    start_ssdb,
};

/// Rows that are loaded: many times what a sort may take of memory.
const ROWS: usize = 20_000;

/// Text in each value.
const VALUE: &str = "a value that nobody else has";
/// Name of the table, and for Redis of a key.
const TABLE: &str = "a_table_that_nobody_else_has";
/// Name of the directory with all files of the database, and for Redis of its log.
const FILE: &str = "a-file-that-nobody-else-has";
/// Text that is written when more is sorted than fits into memory, and at no other time.
const SPILT: &str = "sorted by nobody else";
/// Expression that a server makes that text by: as a whole it is in no statement or definition.
const MADE: &str = "CONCAT('sorted by ', 'nobody else', words)";

const MARKERS: [&str; 4] = [VALUE, TABLE, FILE, SPILT];

/// Time that a database may take to sort.
const PATIENCE: Duration = Duration::from_secs(60);

/// A database with the marked rows.
trait Marked {
    /// Makes the table.
    fn load(&self);

    /// Begins to write what does not fit into memory, and goes on with it as long as the returned
    /// session lives.
    fn spill(&self) -> Option<SqlSession>;

    /// Returns whether that is on the disk.
    fn has_spilt(&self) -> bool;

    /// Returns the number of rows.
    fn count(&self) -> usize;

    /// Kills it.
    fn kill(&mut self);
}

/// A database of SQL.
struct Sql<D> {
    server: D,
    words: Words,
    /// Place for what does not fit into memory.
    spills: Spills,
}

/// Words in which two dialects differ.
struct Words {
    /// Definition of the values, which are sorted by their bytes, and of the text that is made of
    /// each where a sort writes the columns of a table alone; it is not stored.
    columns: String,
    /// The text to sort by.
    sorted: &'static str,
    /// The setting that leaves next to no memory for a sort.
    small: &'static str,
    /// A function that does not return in time.
    wait: &'static str,
}

enum Spills {
    /// A directory with files that have names.
    Named(PathBuf),
    /// Files of a process that lost their names as soon as they were open.
    Nameless { process: i32, dir: PathBuf },
}

impl Words {
    fn of_postgres() -> Self {
        let small = "SET work_mem = '64kB'";
        Self { columns: "words TEXT".into(), sorted: MADE, small, wait: "pg_sleep(600)" }
    }

    fn of_mysql() -> Self {
        Self {
            columns: format!("words VARBINARY(100), sorted VARBINARY(150) AS ({MADE}) VIRTUAL"),
            sorted: "sorted",
            small: "SET SESSION sort_buffer_size = 32768",
            wait: "SLEEP(600)",
        }
    }
}

impl<D: Database> Marked for Sql<D> {
    fn load(&self) {
        let mut session = self.server.session();
        let columns = &self.words.columns;
        session.done(&format!("CREATE TABLE {TABLE} (n INT PRIMARY KEY, {columns})"));
        let rows: Vec<String> =
            (0..ROWS).map(|n| format!("({n}, '{VALUE} {}')", n * 7919 % ROWS)).collect();
        session.done(&format!("INSERT INTO {TABLE} (n, words) VALUES {}", rows.join(", ")));
    }

    fn spill(&self) -> Option<SqlSession> {
        let mut session = self.server.session();
        session.done(self.words.small);
        // it sorts all rows, and stops at the first one that it returns
        let Words { sorted, wait, .. } = &self.words;
        session.say(&format!("SELECT {sorted}, {wait} FROM {TABLE} ORDER BY 1"));
        Some(session)
    }

    fn has_spilt(&self) -> bool {
        match &self.spills {
            Spills::Named(dir) => dir.exists() && holds(dir, SPILT.as_bytes()),
            Spills::Nameless { process, dir } => {
                fs::read_dir(format!("/proc/{process}/fd")).unwrap().any(|entry| {
                    let path = entry.unwrap().path();
                    let is_there = |target: PathBuf| target.starts_with(dir);
                    fs::read_link(&path).is_ok_and(is_there)
                        && fs::read(&path).is_ok_and(|text| is_in(&text, SPILT))
                })
            }
        }
    }

    fn count(&self) -> usize {
        let rows = self.server.session().done(&format!("SELECT COUNT(*) FROM {TABLE}"));
        rows[0][0].parse().unwrap()
    }

    fn kill(&mut self) {
        self.server.kill();
    }
}

impl Marked for Redis {
    fn load(&self) {
        push_rows(&self.address());
    }

    /// Has it rewrite its log: nothing of it is sorted on the disk.
    fn spill(&self) -> Option<SqlSession> {
        let rewrite = [command(&["SET", "spilt", SPILT]), command(&["BGREWRITEAOF"])];
        let _ = answers(&self.address(), &rewrite, rewrite.len());
        None
    }

    fn has_spilt(&self) -> bool {
        let log = self.data_dir().join("appendonlydir");
        fs::read_dir(log).unwrap().any(|entry| {
            let path = entry.unwrap().path();
            // it is renamed once it is complete
            path.to_str().unwrap().ends_with(".2.base.rdb")
                && fs::read(path).is_ok_and(|text| is_in(&text, SPILT))
        })
    }

    fn count(&self) -> usize {
        rows_pushed(&self.address())
    }

    fn kill(&mut self) {
        // its record may be on the device that is gone
        let _ = Redis::kill(self);
    }
}

impl Marked for Ssdb {
    fn load(&self) {
        push_rows(&self.address());
    }

    /// Has it write its tables again: nothing of it is sorted on the disk.
    fn spill(&self) -> Option<SqlSession> {
        let compact = [command(&["SET", "spilt", SPILT]), command(&["compact"])];
        // the second one answers an empty list when it is done
        let _ = answers(&self.address(), &compact, compact.len());
        None
    }

    fn has_spilt(&self) -> bool {
        fs::read_dir(self.data_dir().join("data")).unwrap().any(|entry| {
            let path = entry.unwrap().path();
            path.extension().is_some_and(|ends| ends == "ldb")
                && fs::read(path).is_ok_and(|text| is_in(&text, SPILT))
        })
    }

    fn count(&self) -> usize {
        rows_pushed(&self.address())
    }

    fn kill(&mut self) {
        let _ = Ssdb::kill(self);
    }
}

/// Pushes the rows to a list.
fn push_rows(address: &str) {
    let row = |n: usize| command(&["RPUSH", TABLE, &format!("{VALUE} {n}")]);
    let rows: Vec<_> = (0..ROWS).map(row).collect();
    let _ = answers(address, &rows, ROWS);
}

/// Returns the length of that list.
fn rows_pushed(address: &str) -> usize {
    let said = answers(address, &[command(&["LLEN", TABLE])], 1);
    said[0].trim_start_matches(':').parse().unwrap()
}

fn is_in(text: &[u8], marker: &str) -> bool {
    memmem::find(text, marker.as_bytes()).is_some()
}

/// Returns the names of all files and directories below `dir`.
fn names(dir: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            names.extend(self::names(&path));
        }
        names.push(path);
    }
    names.sort();
    names
}

/// Returns whether `marker` is in the name of one of `paths` below `dir`.
fn is_name(dir: &Path, paths: &[PathBuf], marker: &str) -> bool {
    let within = |path: &PathBuf| path.strip_prefix(dir).unwrap().to_owned();
    paths.iter().map(within).any(|path| is_in(path.as_os_str().as_encoded_bytes(), marker))
}

/// Returns which of the markers the device of the volume holds, read as a whole: the file system's
/// own blocks, and what no name leads to any more.
fn on_device(place: &VolumePlace) -> Vec<&'static str> {
    let device = place.status()["devices"][0].as_str().unwrap().to_owned();
    // what was read earlier of blocks of files may be old
    tool("blockdev", &["--flushbufs", &device]);
    let mut device = File::open(device).unwrap();
    let mut found = Vec::new();
    let mut piece = vec![0; 4 << 20];
    let mut kept = 0;
    loop {
        let read = device.read(&mut piece[kept..]).unwrap();
        let end = kept + read;
        for marker in MARKERS {
            if !found.contains(&marker) && is_in(&piece[..end], marker) {
                found.push(marker);
            }
        }
        if read == 0 {
            return found;
        }
        // a marker may be half in the next piece
        kept = end.min(64);
        piece.copy_within(end - kept..end, 0);
    }
}

/// Refuses a volume in whose files, or their names, any marker is.
fn shows_nothing(place: &VolumePlace, after: &str) {
    let vol = place.at("vol");
    let begin = Instant::now();
    loop {
        let there = names(&vol);
        for marker in MARKERS {
            assert!(!holds(&vol, marker.as_bytes()), "after {after}: {marker}");
            assert!(!is_name(&vol, &there, marker), "after {after}: a file is called {marker}");
        }
        // a segment of the log that was renamed during the search may not have been looked at
        if names(&vol) == there {
            return;
        }
        assert!(begin.elapsed() < PATIENCE, "after {after}: its files have new names all the time");
    }
}

/// Refuses likewise once everything is on the disk, where what is mounted has the markers: a search
/// that finds nothing there proves nothing.
fn hides(place: &VolumePlace, after: &str) {
    let mounted = place.at("m");
    tool("sync", &["-f", mounted.to_str().unwrap()]);
    for marker in [VALUE, TABLE] {
        assert!(holds(&mounted, marker.as_bytes()), "after {after}: {marker} is nowhere");
    }
    let dir = fs::read_dir(&mounted).unwrap();
    let is_marked = |entry: fs::DirEntry| entry.file_name() == FILE;
    assert!(dir.map(Result::unwrap).any(is_marked), "after {after}: {FILE} is nowhere");
    shows_nothing(place, after);
}

fn leaks_nothing<M: Marked + Send>(test: &str, start: impl Fn(&Path) -> M) {
    let place = VolumePlace::new(reachable(), "aria-256", "1GiB");
    if !place.mounts_new(test) {
        return;
    }
    let dir = place.at("m").join(FILE);
    let mut database = start(&dir);
    database.load();
    hides(&place, "a load");

    let session = database.spill();
    let begin = Instant::now();
    while !database.has_spilt() {
        assert!(begin.elapsed() < PATIENCE, "nothing was written beside the table");
        std::thread::sleep(Duration::from_millis(20));
    }
    hides(&place, "a sort on the disk");
    let mut found = on_device(&place);
    found.sort_unstable();
    let mut all = MARKERS;
    all.sort_unstable();
    assert_eq!(found, all, "they are on the device, in the clear");

    // both, as nearly at once as two signals can be, in the middle of the sort
    let process = place.process();
    std::thread::scope(|scope| {
        scope.spawn(move || kill(process, Signal::SIGKILL).unwrap());
        database.kill();
    });
    drop((session, database));
    place.unmount();
    shows_nothing(&place, "a kill");
    place.mount(&[]).done();
    let mut database = start(&dir);
    assert_eq!(database.count(), ROWS);
    hides(&place, "a recovery");

    place.volume(&["freeze", "vol"]).done();
    assert_eq!(place.status()["served"]["log_bytes"], 0, "everything is in its place");
    shows_nothing(&place, "a checkpoint");
    place.volume(&["freeze", "vol", "--thaw"]).done();
    assert_eq!(database.count(), ROWS);
    database.kill();
    drop(database);
    place.unmount();
    place.is_whole();
    shows_nothing(&place, "everything");
}

#[test]
fn nothing_of_postgres_is_in_the_files_of_a_volume() {
    let test = "nothing_of_postgres_is_in_the_files_of_a_volume";
    if SqlKind::Postgres.is_available(test) {
        leaks_nothing(test, |dir| Sql {
            server: SqlServer::start(SqlKind::Postgres, dir),
            words: Words::of_postgres(),
            spills: Spills::Named(dir.join("data/base/pgsql_tmp")),
        });
    }
}

#[test]
fn nothing_of_mariadb_is_in_the_files_of_a_volume() {
    let test = "nothing_of_mariadb_is_in_the_files_of_a_volume";
    if SqlKind::MariaDb.is_available(test) {
        leaks_nothing(test, |dir| {
            let mut server = SqlServer::start(SqlKind::MariaDb, dir);
            let SqlServer::MariaDb(started) = &mut server else { unreachable!("a MariaDB") };
            let process = started.pid().unwrap();
            let spills = Spills::Nameless { process, dir: dir.join("tmp") };
            Sql { server, words: Words::of_mysql(), spills }
        });
    }
}

#[test]
fn nothing_of_mysql_is_in_the_files_of_a_volume() {
    let test = "nothing_of_mysql_is_in_the_files_of_a_volume";
    if MySqlServer::is_available(test) {
        leaks_nothing(test, |dir| {
            let server = MySqlServer::start_on(dir);
            let spills = Spills::Nameless { process: server.pid(), dir: dir.join("tmp") };
            Sql { server, words: Words::of_mysql(), spills }
        });
    }
}

#[test]
fn nothing_of_redis_is_in_the_files_of_a_volume() {
    let test = "nothing_of_redis_is_in_the_files_of_a_volume";
    if is_installed(&REDIS_PROGRAM, test) {
        leaks_nothing(test, |dir| {
            // what it compresses would not be found
            let named = ["--appendfilename", FILE, "--rdbcompression", "no"];
            let options = RedisOptions {
                persistence: Persistence::SyncedLog,
                arguments: named.map(String::from).into(),
                ..RedisOptions::default()
            };
            start_redis(dir, options).unwrap()
        });
    }
}

/// SSDB acknowledges before anything is on the disk; the rows that are counted after the kill were
/// there since the search before it.
#[test]
fn nothing_of_ssdb_is_in_the_files_of_a_volume() {
    let test = "nothing_of_ssdb_is_in_the_files_of_a_volume";
    if is_installed(&SSDB_PROGRAM, test) {
        leaks_nothing(test, |dir| {
            // what it compresses would not be found
            let options = SsdbOptions { compresses: false, ..SsdbOptions::default() };
            start_ssdb(dir, options).unwrap()
        });
    }
}
