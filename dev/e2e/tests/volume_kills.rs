//! The process that serves a volume is killed under databases that commit: PostgreSQL, MariaDB and
//! Redis with its log, the server with it in every third round. Nothing that was acknowledged is
//! missing afterwards, and the databases' own checks find nothing. Not here: volumes without a
//! database (`volume`), cuts of power (`dev/simulator`).

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_e2e::sql_server::{SqlKind, SqlServer};
use sealstone_e2e::volume_place::{VolumePlace, tool};
use sealstone_servers::testing::{is_installed, reachable};
use sealstone_servers::{
    POSTGRES_PROGRAM, Persistence, REDIS_PROGRAM, Redis, RedisOptions, start_redis,
};

/// Kills under each database; `SEALSTONE_KILLS` overrides it.
const KILLS: u64 = 5;

/// Rows that one kill may take back: one may be on the disk before its commit was answered.
const UNANSWERED: u64 = 1;

/// A database that counts.
trait Database: Sized {
    /// Starts it in `dir`, on whatever an earlier one left there.
    fn start(dir: &Path) -> Self;

    /// Returns a client that commits the number it is given, and returns whether that was
    /// acknowledged.
    fn writer(&self) -> Box<dyn FnMut(u64) -> bool + Send>;

    /// Returns how many numbers it has, checked to be all from 1 on.
    fn count(&self) -> u64;

    /// Runs its own checks of the files in `dir`, as a kill left them and before it is started.
    fn check_files(_dir: &Path) {}

    /// Runs its own checks.
    fn check(&self) {}

    /// Kills it, if it still runs.
    fn kill(self);
}

impl Database for (SqlKind, SqlServer) {
    fn start(dir: &Path) -> Self {
        let kind = match dir.file_name().unwrap() == "postgres" {
            true => SqlKind::Postgres,
            false => SqlKind::MariaDb,
        };
        let server = SqlServer::start(kind, dir);
        let create =
            "CREATE TABLE IF NOT EXISTS counted (n BIGINT PRIMARY KEY, words VARCHAR(999))";
        server.session().ask(create);
        (kind, server)
    }

    fn writer(&self) -> Box<dyn FnMut(u64) -> bool + Send> {
        let mut session = self.1.session();
        Box::new(move |n| {
            let words = "words ".repeat(1 + n as usize % 150);
            session.is_acknowledged(&format!("INSERT INTO counted VALUES ({n}, '{words}')"))
        })
    }

    fn count(&self) -> u64 {
        let rows = self.1.session().ask("SELECT COUNT(*), COALESCE(MAX(n), 0) FROM counted");
        let [count, most] = &rows[0][..] else { panic!("{rows:?}") };
        assert_eq!(count, most, "numbers are missing");
        count.parse().unwrap()
    }

    fn check(&self) {
        match self.0 {
            SqlKind::MariaDb => {
                let found = self.1.session().ask("CHECK TABLE counted EXTENDED");
                let is_well = |row: &Vec<String>| row.iter().any(|word| word == "OK");
                assert!(!found.is_empty() && found.iter().all(is_well), "{found:?}");
            }
            // every table and index of the database, the catalogue too
            SqlKind::Postgres => {
                let server = POSTGRES_PROGRAM.find(None).unwrap().canonicalize().unwrap();
                let program = server.with_file_name("pg_amcheck");
                let url = self.1.url();
                let thorough = ["--install-missing", "--heapallindexed", "--parent-check"];
                let found = tool(program.to_str().unwrap(), &[&thorough[..], &[&url]].concat());
                assert_eq!(found, "");
            }
        }
    }

    fn kill(self) {
        match self.1 {
            // its record may be on the device that is gone
            SqlServer::MariaDb(mut server) => drop(server.kill()),
            SqlServer::Postgres(mut server) => drop(server.kill()),
        }
    }
}

impl Database for Redis {
    fn start(dir: &Path) -> Self {
        let options =
            RedisOptions { persistence: Persistence::SyncedLog, ..RedisOptions::default() };
        start_redis(dir, options).unwrap()
    }

    fn writer(&self) -> Box<dyn FnMut(u64) -> bool + Send> {
        let mut say = TcpStream::connect(self.address()).unwrap();
        let mut hear = BufReader::new(say.try_clone().unwrap());
        Box::new(move |n| {
            let mut answer = String::new();
            let words = "words".repeat(1 + n as usize % 150);
            write!(say, "RPUSH counted {n}:{words}\r\n").is_ok()
                && hear.read_line(&mut answer).is_ok()
                && answer == format!(":{n}\r\n")
        })
    }

    fn count(&self) -> u64 {
        let said = redis(self, &["LLEN", "counted"]);
        let count: u64 = said.trim().parse().unwrap();
        let listed = redis(self, &["LRANGE", "counted", "0", "-1"]);
        let numbers = listed.lines().map(|line| line.split_once(':').unwrap().0.parse());
        assert!(numbers.eq((1..=count).map(Ok)), "numbers are missing");
        count
    }

    /// Refuses a log with an end that Redis would cut off as it starts.
    fn check_files(dir: &Path) {
        let logs = dir.join("data/appendonlydir");
        let manifest = fs::read_dir(&logs).unwrap().find_map(|entry| {
            let path = entry.unwrap().path();
            path.extension().is_some_and(|ends| ends == "manifest").then_some(path)
        });
        tool("redis-check-aof", &[manifest.unwrap().to_str().unwrap()]);
    }

    fn kill(mut self) {
        let _ = Redis::kill(&mut self);
    }
}

fn redis(server: &Redis, words: &[&str]) -> String {
    let port = server.port().to_string();
    tool("redis-cli", &[&["-p", &port], words].concat())
}

fn keeps_what_it_acknowledged<D: Database>(test: &str, name: &str) {
    let place = VolumePlace::new(reachable(), "aria-256", "2GiB");
    if !place.mounts_new(test) {
        return;
    }
    let kills = std::env::var("SEALSTONE_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let dir = place.at("m").join(name);
    let mut random = SmallRng::seed_from_u64(36);
    let mut database = D::start(&dir);
    // PostgreSQL's directory is made without syncing it
    tool("sync", &["-f", dir.to_str().unwrap()]);
    let mut counted = 0;
    for round in 0..kills {
        let acknowledged = Arc::new(AtomicU64::new(counted));
        let (mut write, last) = (database.writer(), Arc::clone(&acknowledged));
        let writer = std::thread::spawn(move || {
            for n in counted + 1.. {
                if !write(n) {
                    return;
                }
                last.store(n, Ordering::Relaxed);
            }
        });
        std::thread::sleep(Duration::from_millis(random.random_range(50..1200)));
        let process = place.process();
        if round % 3 == 2 {
            // both, as nearly at once as two signals can be
            std::thread::scope(|scope| {
                scope.spawn(move || kill(process, Signal::SIGKILL).unwrap());
                database.kill();
            });
        } else {
            kill(process, Signal::SIGKILL).unwrap();
            std::thread::sleep(Duration::from_millis(100));
            database.kill();
        }
        writer.join().unwrap();
        let acknowledged = acknowledged.load(Ordering::Relaxed);
        place.unmount();
        place.mount(&[]).done();
        // mounting has put its journal in place, so that nothing is left to be found
        place.unmount();
        let device = place.file_system_is_whole();
        tool("mount", &[&device, place.at("m").to_str().unwrap()]);
        D::check_files(&dir);
        database = D::start(&dir);
        counted = database.count();
        let may_have = acknowledged..=acknowledged + UNANSWERED;
        assert!(may_have.contains(&counted), "round {round}: {counted} of {acknowledged}");
        database.check();
    }
    println!("{name}: {counted} commits over {kills} kills");
    assert!(counted > kills, "{counted}");
    database.kill();
    place.unmount();
    place.is_whole();
}

#[test]
fn postgres_keeps_what_it_acknowledged() {
    let test = "postgres_keeps_what_it_acknowledged";
    if SqlKind::Postgres.is_available(test) {
        keeps_what_it_acknowledged::<(SqlKind, SqlServer)>(test, "postgres");
    }
}

#[test]
fn mariadb_keeps_what_it_acknowledged() {
    let test = "mariadb_keeps_what_it_acknowledged";
    if SqlKind::MariaDb.is_available(test) {
        keeps_what_it_acknowledged::<(SqlKind, SqlServer)>(test, "mariadb");
    }
}

#[test]
fn redis_keeps_what_it_acknowledged() {
    let test = "redis_keeps_what_it_acknowledged";
    if is_installed(&REDIS_PROGRAM, test) {
        keeps_what_it_acknowledged::<Redis>(test, "redis");
    }
}
