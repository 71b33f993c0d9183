//! Directories of files that are copied onto a sealed volume, and back: files of every kind, data
//! directories of PostgreSQL, MariaDB, MySQL, Redis and SSDB, copying that is killed or
//! interrupted, and what is refused.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use sealstone_e2e::mysql_server::MySqlServer;
use sealstone_e2e::redis_protocol::{answers, command};
use sealstone_e2e::sql_server::{Database, SqlKind, SqlServer};
use sealstone_e2e::transcript::{Transcript, finish, plain, sealstone};
use sealstone_e2e::volume_place::{VolumePlace, holds, is_skipped, tool};
use sealstone_servers::testing::{SmallDisk, is_installed, reachable};
use sealstone_servers::{
    Instance, Persistence, REDIS_PROGRAM, RedisOptions, SSDB_PROGRAM, ServerKind, SsdbOptions,
    start_redis, start_ssdb,
};

const MARKER: &[u8] = b"the marker of a file, and not of anything else";

fn place() -> VolumePlace {
    VolumePlace::without_volume(reachable())
}

fn create(place: &VolumePlace, from: &str, size: &str) -> Transcript {
    place.volume(&["create", "vol", "--size", size, "--key", "k.key", "--from", from])
}

fn unseal(place: &VolumePlace, out: &str) -> Transcript {
    place.volume(&["unseal", "vol", "--key", "k.key", "--out", out])
}

/// Refuses two trees that are not the same, in contents or in what `stat` reports about them.
fn are_same(one: &Path, other: &Path) {
    let paths = [one, other].map(|path| path.to_str().unwrap());
    // it calls two pipes different
    let trees = ["--recursive", "--no-dereference", "--exclude=fifo", paths[0], paths[1]];
    tool("diff", &trees);
    let [one, other] = paths.map(|path| {
        let list = "find . ! -name lost+found -printf '%p %M %U %G %s %t %n %l\\n' | sort";
        tool("sh", &["-c", &format!("cd {path} && {list}")])
    });
    // how many links a directory has is a matter of the file system, and so is its size
    let lines = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| match line.split(' ').nth(1).is_some_and(|mode| mode.starts_with('d')) {
                true => line.split(' ').take(4).collect::<Vec<_>>().join(" "),
                false => line.to_owned(),
            })
            .collect()
    };
    assert_eq!(lines(&one), lines(&other));
}

fn files_of_every_kind(dir: &Path) {
    fs::create_dir_all(dir.join("base/16384")).unwrap();
    for number in 0..50 {
        let bytes = MARKER.repeat(number * 40);
        fs::write(dir.join(format!("base/16384/table-name-{number}")), bytes).unwrap();
    }
    let sparse = File::create(dir.join("sparse")).unwrap();
    sparse.set_len(64 << 20).unwrap();
    fs::hard_link(dir.join("base/16384/table-name-7"), dir.join("again")).unwrap();
    symlink("base/16384", dir.join("inside")).unwrap();
    symlink("/etc/hostname", dir.join("outside")).unwrap();
    fs::write(dir.join(" a name with spaces"), "text").unwrap();
    chown(dir.join("again"), Some(1234), Some(4321)).unwrap();
    fs::set_permissions(dir.join("base"), fs::Permissions::from_mode(0o2750)).unwrap();
    fs::set_permissions(dir, fs::Permissions::from_mode(0o710)).unwrap();
    mkfifo(&dir.join("fifo"), Mode::from_bits_truncate(0o620)).unwrap();
}

#[test]
fn a_directory_goes_onto_a_volume_and_back() {
    let place = place();
    files_of_every_kind(&place.at("data"));
    let created = create(&place, "data", "300MiB");
    if is_skipped("a_directory_goes_onto_a_volume_and_back", &created) {
        return;
    }
    let said = created.stderr.clone();
    assert!(said.contains("1 links lead out of "), "{said}");
    assert!(said.contains("outside"), "{said}");
    let text = created.done();
    let data = place.at("data");
    let data = data.to_str().unwrap();
    assert!(text.starts_with(&format!("vol has all of {data}: 53 files, ")), "{text}");
    assert!(text.contains(&format!("mv {data} {data}.clear && mkdir {data}\n")), "{text}");
    assert_eq!(place.status()["attached"], "no");
    for leak in [MARKER, b"table-name-7"] {
        assert!(!holds(&place.at("vol"), leak), "{}", String::from_utf8_lossy(leak));
    }
    assert!(place.verify().done().starts_with("vol is whole: "));
    place.mount(&[]).done();
    are_same(&place.at("data"), &place.at("m"));
    unseal(&place, "out").fails_with(&format!(
        "sealstone: vol is attached: process {}, {}\n",
        place.process(),
        place.status()["devices"][0].as_str().unwrap()
    ));
    place.volume(&["unmount", "m"]).done();

    let unsealed = unseal(&place, "clear").done();
    assert!(unsealed.contains("in the clear: 53 files, "), "{unsealed}");
    are_same(&place.at("data"), &place.at("clear"));
    // under another cipher and another key
    place.sealstone(&["keys", "new", "new.key"]).done();
    let reseal = ["volume", "reseal", "vol", "--key", "k.key", "--out", "new"];
    let anew = ["--cipher", "lea-256", "--new-key", "new.key"];
    let text = place.sealstone(&[&reseal[..], &anew].concat()).done();
    assert!(text.contains(" (314.6 MB), under lea-256 and new-"), "{text}");
    let again = place.sealstone(&[&reseal[..], &anew].concat());
    assert!(again.stderr.contains("new has files already"), "{}", again.stderr);
    let other = place.sealstone(&[&reseal[..], &["--new-key", "new.key"]].concat());
    assert!(other.stderr.contains("new is under lea-256, not aes-256"), "{}", other.stderr);
    place.volume(&["mount", "new", "m", "--key", "new.key"]).done();
    are_same(&place.at("data"), &place.at("m"));
    place.volume(&["unmount", "m"]).done();

    // ended before a byte of the copy or of its marker was written: nothing is there yet
    place.mount(&[]).done();
    tool(
        "sh",
        &[
            "-c",
            &format!(
                "cd {} && rm -r ./* && mkdir lost+found && : > \
        .sealstone-unfinished",
                place.at("m").to_str().unwrap()
            ),
        ],
    );
    place.volume(&["unmount", "m"]).done();
    assert!(create(&place, "data", "300MiB").done().starts_with("vol has all of "));
    place.mount(&[]).done();
    are_same(&place.at("data"), &place.at("m"));
    place.volume(&["unmount", "m"]).done();

    // nothing is written over what is there
    assert_eq!(unseal(&place, "clear").done(), unsealed, "it is there");
    assert!(create(&place, "data", "300MiB").done().starts_with("vol has all of "));
    are_same(&place.at("data"), &place.at("clear"));
    fs::write(place.at("data/more"), "text").unwrap();
    let again = create(&place, "data", "300MiB");
    assert!(again.stderr.contains("it has files already"), "{}", again.stderr);
    fs::write(place.at("clear/more"), "text").unwrap();
    let again = unseal(&place, "clear");
    assert!(again.stderr.contains("it has files already"), "{}", again.stderr);
    assert!(place.at("clear/more").exists());
}

#[test]
fn what_cannot_be_copied_is_refused_before_anything_is_written() {
    let place = place();
    fs::create_dir(place.at("data")).unwrap();
    let mut file = File::create(place.at("data/open")).unwrap();
    file.write_all(&vec![1; 100 << 20]).unwrap();
    let used = create(&place, "data", "300MiB");
    if is_skipped("what_cannot_be_copied_is_refused_before_anything_is_written", &used) {
        return;
    }
    // this process has a file open there, but it is the one that the command was started from
    used.done();
    fs::remove_dir_all(place.at("vol")).unwrap();

    let mut other = plain(Path::new("sleep"), &place.at("data"), &["60"]).spawn().unwrap();
    let wanted = format!(" is in use by process {} (sleep)\n", other.id());
    let used = create(&place, "data", "300MiB");
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(used.code == Some(2) && used.stderr.contains(&wanted), "{}", used.stderr);
    let small = create(&place, "data", "100MiB");
    assert!(small.stderr.contains("has no room for 104.9 MB"), "{}", small.stderr);
    let missing = create(&place, "nowhere", "300MiB");
    assert!(missing.stderr.contains("cannot use nowhere"), "{}", missing.stderr);
    for (dir, from) in [("data/vol", "data"), (".", "data")] {
        let size = ["--size", "300MiB", "--key", "k.key", "--from", from];
        let within = place.volume(&[&["create", dir], &size[..]].concat());
        assert!(within.stderr.contains(" is within the other"), "{}", within.stderr);
    }
    assert!(!place.at("vol").exists());
    assert_eq!(fs::read_dir(place.at("data")).unwrap().count(), 1);
}

/// Starts copying, and ends it with `signal` while it goes on.
fn ended(place: &VolumePlace, arguments: &[&str], signal: Signal, after: Duration) -> Transcript {
    let mut command = sealstone(&place.at("."), arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(after);
    // it may be done already
    let _ = kill(Pid::from_raw(child.id() as i32), signal);
    finish(child)
}

fn is_lost_and_found(file: &fs::DirEntry) -> bool {
    file.file_name() == "lost+found"
}

#[test]
fn copying_that_is_ended_goes_on() {
    let place = place();
    let data = place.at("data");
    for dir in 0..40 {
        fs::create_dir_all(data.join(format!("{dir}"))).unwrap();
        for number in 0..60 {
            let bytes = vec![number as u8; 100 * number * (1 + dir % 7)];
            fs::write(data.join(format!("{dir}/{number}")), bytes).unwrap();
        }
    }
    fs::write(data.join("large"), vec![9; 150 << 20]).unwrap();
    let from = ["--from", "data", "--runtime-dir", "run"];
    let create = ["volume", "create", "vol", "--size", "600MiB", "--key", "k.key"];
    let create = [&create[..], &from].concat();
    let out = ["--out", "clear", "--runtime-dir", "run"];
    let unseal = [&["volume", "unseal", "vol", "--key", "k.key"], &out[..]].concat();
    let mut ends = 0;
    for command in [create, unseal] {
        let mut after = Duration::from_millis(400);
        for round in 0.. {
            let signal = if round % 3 == 2 { Signal::SIGTERM } else { Signal::SIGKILL };
            let said = ended(&place, &command, signal, after);
            if is_skipped("copying_that_is_ended_goes_on", &said) {
                return;
            }
            if said.code == Some(0) {
                break;
            }
            ends += 1;
            assert!(ends < 60, "{}", said.stderr);
            // killed while it made the volume, or the file system on it: there is nothing to lose
            let is_nothing = ["there is a volume already", "no file system that can be mounted"];
            if is_nothing.iter().any(|text| said.stderr.contains(text)) {
                fs::remove_dir_all(place.at("vol")).unwrap();
                continue;
            }
            if signal == Signal::SIGTERM {
                assert!(said.stderr.contains("goes on"), "{}", said.stderr);
            }
            after = after * 5 / 4;
            // whatever served the volume goes with it
            let begin = Instant::now();
            while place.at("vol/sealstone.volume").exists() && place.status()["attached"] != "no" {
                assert!(begin.elapsed() < Duration::from_secs(30), "{}", place.status());
                std::thread::sleep(Duration::from_millis(20));
            }
            let mut mounted = place.mount(&[]);
            // it may have begun to serve it only now
            while mounted.stderr.contains(" is attached: process ") {
                assert!(begin.elapsed() < Duration::from_secs(60), "{}", mounted.stderr);
                mounted = place.mount(&[]);
            }
            if command[1] == "unseal" {
                mounted.done();
                place.volume(&["unmount", "m"]).done();
            } else if mounted.code == Some(0) {
                // what can be mounted has everything, or nothing at all
                if fs::read_dir(place.at("m"))
                    .unwrap()
                    .any(|file| !is_lost_and_found(&file.unwrap()))
                {
                    are_same(&place.at("data"), &place.at("m"));
                }
                place.volume(&["unmount", "m"]).done();
            } else {
                // killed while the file system was made, or the files copied
                let reasons = ["a new volume has no file system", "copying them was not finished"];
                let is_said = reasons.iter().any(|reason| mounted.stderr.contains(reason));
                assert!(is_said, "{}", mounted.stderr);
            }
        }
    }
    println!("ended {ends} times");
    assert!(ends > 1, "{ends}");
    are_same(&place.at("data"), &place.at("clear"));
    place.mount(&[]).done();
    are_same(&place.at("data"), &place.at("m"));
    place.volume(&["unmount", "m"]).done();
}

#[test]
fn what_does_not_open_fit_or_read_is_said_and_loses_nothing() {
    let place = place();
    fs::create_dir(place.at("data")).unwrap();
    fs::write(place.at("data/large"), vec![7; 3 << 20]).unwrap();
    let created = create(&place, "data", "128MiB");
    if is_skipped("what_does_not_open_fit_or_read_is_said_and_loses_nothing", &created) {
        return;
    }
    created.done();
    // the wrong key
    place.sealstone(&["keys", "new", "other.key"]).done();
    let wrong = ["unseal", "vol", "--key", "other.key", "--out", "clear"];
    let refused = place.volume(&wrong);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("cannot attach vol: "), "{}", refused.stderr);
    assert_eq!(fs::read_dir(place.at("clear")).unwrap().count(), 0);

    // a full disk
    let disk = SmallDisk::mount(&place.at("small"), "size=1m").unwrap();
    let full = unseal(&place, "small/clear");
    assert_eq!(full.code, Some(2), "{}", full.stderr);
    for text in ["No space left on device", "the same command goes on where it stopped"] {
        assert!(full.stderr.contains(text), "{}", full.stderr);
    }
    tool("mount", &["-o", "remount,size=16m", disk.path().to_str().unwrap()]);
    unseal(&place, "small/clear").done();
    are_same(&place.at("data"), &place.at("small/clear"));

    // a changed byte in the middle of the file
    let sealed = place.at("vol/sealstone.data");
    let whole = fs::read(&sealed).unwrap();
    let (mut at, mut longest) = (0, 0..0);
    for stretch in whole.chunks(4096).collect::<Vec<_>>().chunk_by(|one, other| {
        let is_used = |block: &[u8]| block.iter().any(|byte| *byte != 0);
        is_used(one) == is_used(other)
    }) {
        let bytes = stretch.iter().map(|block| block.len()).sum::<usize>();
        if stretch[0].iter().any(|byte| *byte != 0) && bytes > longest.len() {
            longest = at..at + bytes;
        }
        at += bytes;
    }
    let mut changed = whole.clone();
    changed[longest.start + longest.len() / 2] ^= 1;
    fs::write(&sealed, changed).unwrap();
    let damaged = unseal(&place, "clear");
    assert_eq!(damaged.code, Some(2), "{}", damaged.stderr);
    assert!(damaged.stderr.contains("Input/output error"), "{}", damaged.stderr);
    fs::write(&sealed, whole).unwrap();
    unseal(&place, "clear").done();
    are_same(&place.at("data"), &place.at("clear"));
}

/// A server whose directory is moved.
trait Moved {
    /// Writes rows with the marker.
    fn load(&self);

    /// Writes one more.
    fn add(&self);

    /// Returns how many there are.
    fn count(&self) -> usize;

    /// Ends it.
    fn end(&mut self);
}

/// Rows that are there before the move.
const ROWS: usize = 5000;

/// A server of SQL.
struct Sql<D>(D);

impl<D: Database> Moved for Sql<D> {
    fn load(&self) {
        let mut session = self.0.session();
        session.done("CREATE TABLE counted (n INT PRIMARY KEY, words VARCHAR(200))");
        let words = String::from_utf8_lossy(MARKER).into_owned();
        let rows: Vec<String> = (0..ROWS).map(|n| format!("({n}, '{words}')")).collect();
        session.done(&format!("INSERT INTO counted VALUES {}", rows.join(", ")));
    }

    fn add(&self) {
        let row = format!("INSERT INTO counted VALUES ({ROWS}, 'on the volume')");
        self.0.session().done(&row);
    }

    fn count(&self) -> usize {
        let found = self.0.session().ask("SELECT COUNT(*), SUM(n) FROM counted");
        let [count, sum] = [0, 1].map(|at| found[0][at].parse::<usize>().unwrap());
        assert_eq!(sum, count * (count - 1) / 2, "numbers are missing");
        count
    }

    fn end(&mut self) {
        self.0.kill();
    }
}

/// A server that speaks the protocol of Redis; it is asked to end, since not all of them have
/// everything on the disk before.
struct Keys<K: ServerKind>(Instance<K>);

impl<K: ServerKind> Moved for Keys<K> {
    fn load(&self) {
        let words = String::from_utf8_lossy(MARKER).into_owned();
        let row = |n: usize| command(&["RPUSH", "counted", &format!("{n} {words}")]);
        let rows: Vec<_> = (0..ROWS).map(row).collect();
        let _ = answers(&self.0.address(), &rows, ROWS);
    }

    fn add(&self) {
        let _ = answers(&self.0.address(), &[command(&["RPUSH", "counted", "one more"])], 1);
    }

    fn count(&self) -> usize {
        let said = answers(&self.0.address(), &[command(&["LLEN", "counted"])], 1);
        said[0].trim_start_matches(':').parse().unwrap()
    }

    fn end(&mut self) {
        self.0.stop().unwrap();
    }
}

/// Moves the data directory of a server that `start` starts onto a volume, and back.
fn moves_onto_a_volume_and_back<M: Moved>(test: &str, start: impl Fn(&Path) -> M) {
    let place = place();
    let dir = place.at("db");
    let mut server = start(&dir);
    server.load();
    let used = create(&place, "db", "1GiB");
    if is_skipped(test, &used) {
        return;
    }
    assert!(used.stderr.contains(" is in use by process "), "{}", used.stderr);
    server.end();
    drop(server);
    create(&place, "db", "1GiB").done();
    fs::rename(&dir, place.at("db.clear")).unwrap();
    fs::create_dir(&dir).unwrap();
    place.volume(&["mount", "vol", "db", "--key", "k.key"]).done();
    let mut server = start(&dir);
    assert_eq!(server.count(), ROWS);
    server.add();
    server.end();
    drop(server);
    let begin = Instant::now();
    while place.volume(&["unmount", "db"]).code != Some(0) {
        assert!(begin.elapsed() < Duration::from_secs(30), "in use");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!holds(&place.at("vol"), MARKER));
    unseal(&place, "back").done();
    assert_eq!(start(&place.at("back")).count(), ROWS + 1);
}

#[test]
fn postgres_moves_onto_a_volume_and_back() {
    let test = "postgres_moves_onto_a_volume_and_back";
    if SqlKind::Postgres.is_available(test) {
        moves_onto_a_volume_and_back(test, |dir| Sql(SqlServer::start(SqlKind::Postgres, dir)));
    }
}

#[test]
fn mariadb_moves_onto_a_volume_and_back() {
    let test = "mariadb_moves_onto_a_volume_and_back";
    if SqlKind::MariaDb.is_available(test) {
        moves_onto_a_volume_and_back(test, |dir| Sql(SqlServer::start(SqlKind::MariaDb, dir)));
    }
}

#[test]
fn mysql_moves_onto_a_volume_and_back() {
    let test = "mysql_moves_onto_a_volume_and_back";
    if MySqlServer::is_available(test) {
        moves_onto_a_volume_and_back(test, |dir| Sql(MySqlServer::start_on(dir)));
    }
}

#[test]
fn redis_moves_onto_a_volume_and_back() {
    let test = "redis_moves_onto_a_volume_and_back";
    if is_installed(&REDIS_PROGRAM, test) {
        moves_onto_a_volume_and_back(test, |dir| {
            let options =
                RedisOptions { persistence: Persistence::SyncedLog, ..RedisOptions::default() };
            Keys(start_redis(dir, options).unwrap())
        });
    }
}

#[test]
fn ssdb_moves_onto_a_volume_and_back() {
    let test = "ssdb_moves_onto_a_volume_and_back";
    if is_installed(&SSDB_PROGRAM, test) {
        moves_onto_a_volume_and_back(test, |dir| {
            Keys(start_ssdb(dir, SsdbOptions::default()).unwrap())
        });
    }
}
