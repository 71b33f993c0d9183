//! The audit log of real operations: each has a line before it begins and one with its result, none
//! has a secret, and an operation that cannot be written there does not begin.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

use sealstone_e2e::sealed_places::{MARKER, call, plain_store};
use sealstone_e2e::sql_server::{SqlKind, SqlServer};
use sealstone_e2e::transcript::{run, sealstone};
use sealstone_e2e::volume_place::VolumePlace;
use serde_json::Value;

/// Returns the lines of the log `log` in `dir`.
fn lines(dir: &Path) -> Vec<Value> {
    let text = fs::read_to_string(dir.join("log")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// An operation, its words in the log, its exit code, and facts of its last line.
type Expected = (&'static str, &'static str, i32, &'static [(&'static str, &'static str)]);

/// Runs each line with the log, and compares both lines of each with what is expected.
fn each_is_logged(dir: &Path, operations: &[Expected]) {
    for (line, command, code, facts) in operations {
        let before = lines(dir).len();
        let done = call(dir, &format!("{line} --audit-log log"));
        assert_eq!(done.code, Some(*code), "{line}: {}{}", done.stdout, done.stderr);
        let found = lines(dir);
        let [begin, end] = &found[before..] else { panic!("{line}: {:?}", &found[before..]) };
        assert_eq!((&begin["event"], &end["event"]), (&"begin".into(), &"end".into()), "{line}");
        for line in [begin, end] {
            assert_eq!(line["command"], *command, "{line}");
            assert_eq!(line["operation"], begin["operation"], "{line}");
            assert!(line["user"].is_string() && line["uid"].is_u64(), "{line}");
            assert!(line["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
            let places = line["places"].as_array().expect("a list");
            let is_whole = |place: &Value| {
                place.as_str().is_some_and(|place| place.starts_with('/') || place.contains('#'))
            };
            assert!(!places.is_empty() && places.iter().all(is_whole), "{line}");
        }
        assert_eq!(end["exit_code"], *code, "{line}: {end}");
        let result = ["done", "negative", "error"][*code as usize];
        assert_eq!((&begin["result"], &end["result"]), (&Value::Null, &result.into()), "{line}");
        for (name, wanted) in *facts {
            let found = end[name].as_str().map_or_else(|| end[name].to_string(), str::to_owned);
            assert_eq!(found, *wanted, "{line}: {name} of {end}");
        }
    }
}

const KEY: &[(&str, &str)] = &[("key_id", "orders"), ("key_version", "1")];
const SECOND: &[(&str, &str)] = &[("key_id", "orders"), ("key_version", "2")];

#[test]
fn each_operation_writes_its_lines() {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    plain_store(&dir.join("db"));
    fs::write(dir.join("people.csv"), format!("id,memo\n1,{MARKER}\n2,b\n")).expect("room");
    for (name, passphrase) in [("first", "GeheimesWort1"), ("second", "GeheimesWort2")] {
        fs::write(dir.join(name), passphrase).expect("room");
        fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o600)).expect("mine");
    }
    each_is_logged(
        dir,
        &[
            ("keys new orders.key --id orders", "keys new", 0, KEY),
            ("rest reseal db --key orders.key --from-plain --yes", "rest reseal", 0, KEY),
            ("keys rotate orders.key", "keys rotate", 0, SECOND),
            ("rest rotate db --key orders.key", "rest rotate", 0, SECOND),
            ("rest get db order00001 --key orders.key", "rest get", 0, &[("rows", "1")]),
            ("rest get db none --key orders.key", "rest get", 1, SECOND),
            ("rest scan db --key orders.key --limit 7", "rest scan", 0, &[("rows", "7")]),
            ("rest dump db --key orders.key", "rest dump", 0, &[("rows", "500")]),
            ("rest unseal db --key orders.key --out plain", "rest unseal", 0, SECOND),
            (
                "field seal people.csv --column memo=aead --key orders.key --out sealed.csv",
                "field seal",
                0,
                &[("key_version", "2"), ("rows", "2")],
            ),
            (
                "field reseal sealed.csv --key orders.key --out again.csv",
                "field reseal",
                0,
                &[("rows", "2")],
            ),
            (
                "field open again.csv --key orders.key --out open.csv",
                "field open",
                0,
                &[("key_id", "orders"), ("rows", "2")],
            ),
            ("field open again.csv --key none.key --out no.csv", "field open", 2, &[]),
            ("volume create vol --size 16MiB --key orders.key", "volume create", 0, SECOND),
            ("volume rotate vol --key orders.key", "volume rotate", 0, SECOND),
            ("volume reseal vol --key orders.key --out vol2", "volume reseal", 0, SECOND),
            ("keys export orders.key --version 1 --out one.key", "keys export", 0, KEY),
            ("keys retire orders.key --version 1 --store db", "keys retire", 0, KEY),
            ("keys import orders.key --from one.key", "keys import", 0, KEY),
            ("keys retire orders.key --version 2 --store db", "keys retire", 2, &[]),
            ("keys passwd one.key --new-passphrase-file first", "keys passwd", 0, &[]),
            (
                "keys holder add one.key --name kim --passphrase-file first \
                 --new-passphrase-file second",
                "keys holder add",
                0,
                &[],
            ),
            (
                "keys holder remove one.key --name kim --passphrase-file first",
                "keys holder remove",
                0,
                &[],
            ),
        ],
    );
    // what only looks is no operation
    let before = lines(dir).len();
    for line in ["keys list orders.key", "rest status db", "rest verify db --key orders.key"] {
        call(dir, &format!("{line} --audit-log log")).done();
    }
    assert_eq!(lines(dir).len(), before);
    // by the environment, too
    let mut command = sealstone(dir, &["rest", "get", "db", "order00001", "--key", "orders.key"]);
    run(command.env("SEALSTONE_AUDIT_LOG", "log")).done();
    assert_eq!(lines(dir).len(), before + 2);
    let facts = fs::metadata(dir.join("log")).expect("a log");
    assert_eq!(facts.permissions().mode() & 0o7777, 0o600);
    // no secret and no value is in it
    let log = fs::read_to_string(dir.join("log")).expect("a log");
    for secret in [MARKER, "order00001", "GeheimesWort"] {
        assert!(!log.contains(secret), "{secret}: {log}");
    }
    let key = fs::read_to_string(dir.join("orders.key")).expect("a key");
    for secret in key.lines().filter_map(|line| line.split('"').nth(1)).filter(|w| w.len() > 30) {
        assert!(!log.contains(secret), "{secret}");
    }
}

/// The process in the background belongs to the operation that started it.
#[test]
fn a_volume_that_is_mounted_writes_its_lines() {
    let test = "a_volume_that_is_mounted_writes_its_lines";
    let place = VolumePlace::new(tempfile::tempdir().expect("a directory"), "aria-256", "64MiB");
    if !place.mounts_new(test) {
        return;
    }
    place.volume(&["unmount", "m"]).done();
    let dir = place.at(".");
    each_is_logged(
        &dir,
        &[
            ("volume mount vol m --key k.key --runtime-dir run", "volume mount", 0, &[]),
            ("volume attach vol --key k.key --runtime-dir run", "volume attach", 2, &[]),
        ],
    );
    place.volume(&["unmount", "m"]).done();
    let unseal = "volume unseal vol --key k.key --out clear --runtime-dir run";
    each_is_logged(&dir, &[(unseal, "volume unseal", 0, &[])]);
}

#[test]
fn operations_on_a_table_write_their_lines() {
    let name = "operations_on_a_table_write_their_lines";
    if !SqlKind::MariaDb.is_available(name) {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    fs::set_permissions(dir, fs::Permissions::from_mode(0o711)).expect("mine");
    let server = SqlServer::start(SqlKind::MariaDb, &dir.join("server"));
    let mut session = server.session();
    session.done("CREATE TABLE people (id INT PRIMARY KEY, memo TEXT) DEFAULT CHARSET=utf8mb4");
    session.done(&format!("INSERT INTO people VALUES (1, '{MARKER}'), (2, 'b')"));
    fs::write(dir.join("address"), server.url()).expect("room");
    call(dir, "keys new people.key --id people").done();
    let rows = |count: &'static str| -> &'static [(&str, &str)] {
        match count {
            "1" => &[("key_id", "people"), ("rows", "1")],
            _ => &[("key_id", "people"), ("rows", "2")],
        }
    };
    let migrate = "field migrate @address --table people --key people.key --yes --quiet";
    let seal: &'static str = Box::leak(format!("{migrate} --column memo=aead").into_boxed_str());
    let reseal: &'static str = Box::leak(format!("{migrate} --reseal").into_boxed_str());
    let open: &'static str = Box::leak(format!("{migrate} --open").into_boxed_str());
    each_is_logged(
        dir,
        &[
            (seal, "field migrate", 0, rows("2")),
            ("field get @address --table people --key people.key 1", "field get", 0, rows("1")),
            ("field scan @address --table people --key people.key", "field scan", 0, rows("2")),
            (reseal, "field migrate --reseal", 0, &[("key_id", "people")]),
            (open, "field migrate --open", 0, rows("2")),
        ],
    );
    assert_eq!(lines(dir)[0]["places"][0], "@address#people");
    let place = lines(dir)[1]["server"].to_string();
    assert!(place.contains("MariaDB at 127.0.0.1:"), "{place}");
    // an address on the command line has a password, and the log has not
    let url = server.url();
    let (_, place) = url.rsplit_once('@').or(url.split_once("://")).expect("an address");
    let url = format!("mysql://someone:GeheimesWort7@{place}");
    let words = ["field", "scan", &url, "--table", "people", "--key", "people.key"];
    let done = run(&mut sealstone(dir, &[&words[..], &["--audit-log", "log"]].concat()));
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    let log = fs::read_to_string(dir.join("log")).expect("a log");
    assert!(!log.contains("GeheimesWort7") && !log.contains(MARKER), "{log}");
    let last = lines(dir).pop().expect("a line");
    assert_eq!((&last["event"], &last["result"]), (&"end".into(), &"error".into()), "{last}");
    assert!(last["places"][0].as_str().is_some_and(|place| place.contains("127.0.0.1")), "{last}");
}

#[test]
fn a_log_that_cannot_be_written_refuses_the_operation() {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    fs::write(dir.join("real"), "").expect("room");
    fs::set_permissions(dir.join("real"), fs::Permissions::from_mode(0o600)).expect("mine");
    symlink(dir.join("real"), dir.join("link")).expect("room");
    fs::write(dir.join("shared"), "").expect("room");
    fs::set_permissions(dir.join("shared"), fs::Permissions::from_mode(0o644)).expect("mine");
    fs::create_dir(dir.join("open")).expect("room");
    fs::set_permissions(dir.join("open"), fs::Permissions::from_mode(0o777)).expect("mine");
    nix::unistd::mkfifo(&dir.join("fifo"), nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    let missing = dir.join("socket").display().to_string();
    let syslog = format!("syslog:{missing}");
    for (log, wanted) in [
        ("link", "it is a symbolic link to "),
        ("fifo", "it is a FIFO"),
        ("shared", "others may read or write it (mode 0644)"),
        ("open/log", "everybody may put another file in its place"),
        ("none/log", "No such file or directory"),
        (".", "it is a directory"),
        ("/dev/full", "it is "),
        ("mysql://me:GeheimesWort7@h/d", "it is an address"),
        (syslog.as_str(), "cannot reach syslog at "),
    ] {
        let refused = run(&mut sealstone(dir, &["keys", "new", "a.key", "--audit-log", log]));
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{log}");
        let said = &refused.stderr;
        assert!(
            said.contains("keys new was not begun: audit log") && said.contains(wanted),
            "{said}"
        );
        assert!(!said.contains("GeheimesWort7"), "{said}");
        assert!(!dir.join("a.key").exists(), "{log}: it was not begun");
    }
    assert_eq!(fs::read(dir.join("real")).expect("a file"), b"", "nothing went through the link");
    // what is no operation needs no log
    call(dir, "ciphers --audit-log fifo").done();
}

#[test]
fn syslog_gets_the_same_lines() {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    let socket = UnixDatagram::bind(dir.join("socket")).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
    let log = format!("syslog:{}", dir.join("socket").display());
    run(&mut sealstone(dir, &["keys", "new", "a.key", "--audit-log", &log])).done();
    for event in ["begin", "end"] {
        let mut bytes = [0; 4096];
        let length = socket.recv(&mut bytes).expect("a message");
        let text = std::str::from_utf8(&bytes[..length]).expect("text");
        // authpriv.notice, the time, and the program with its process
        let (head, json) = text.split_once("]: ").expect("a message of RFC 3164");
        assert!(head.starts_with("<85>") && head.contains(" sealstone["), "{text}");
        let line: Value = serde_json::from_str(json).expect("JSON");
        assert_eq!((&line["event"], &line["command"]), (&event.into(), &"keys new".into()));
    }
}
