//! Keys of a MariaDB that encrypts with our plug-in: what is wrong with them, said in the server's
//! log in one line and without a loss; and versions that come from a key server. Not here: versions
//! of a key file that a running server takes up (`mariadb_plugin`).

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_e2e::binary::mariadb_plugin;
use sealstone_e2e::kmip_server::{self, Certificates};
use sealstone_e2e::mariadb_place::{
    MariaDbPlace, can_back_up, copy_as, does, wait_until_under_newest,
};
use sealstone_e2e::sql_server::{SqlKind, SqlServer};
use sealstone_e2e::transcript::{run, sealstone};
use sealstone_e2e::volume_place::tool;
use sealstone_servers::testing::{is_installed, reachable};
use sealstone_servers::{PYKMIP_PROGRAM, start_mariadb};

const MARKER: &str = "a text that only the right key gives back";

/// Returns the address of the key `orders` on a key server at `port`, with copies of `certificates`
/// that the server of `place` can read.
fn address(place: &MariaDbPlace, certificates: &Certificates, port: u16) -> String {
    let owner = fs::metadata(place.at("k.key")).unwrap();
    let paths = ["client.pem", "client-key.pem", "ca.pem"].map(|name| {
        fs::copy(certificates.path(name), place.at(name)).unwrap();
        chown(place.at(name), Some(owner.uid()), Some(owner.gid())).unwrap();
        place.at(name).display().to_string()
    });
    let [cert, key, ca] = paths;
    format!("kmip://127.0.0.1:{port}/orders?cert={cert}&key={key}&ca={ca}&retries=0")
}

#[test]
fn what_is_wrong_with_keys_is_one_line_in_the_log_and_loses_nothing() {
    let test = "what_is_wrong_with_keys_is_one_line_in_the_log_and_loses_nothing";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let right = place.settings("k.key", "lea-256");
    let server = start_mariadb(&place.at("server"), place.options(&right)).unwrap();
    let mut server = SqlServer::MariaDb(server);
    let mut session = server.session();
    does(
        &mut session,
        &format!(
            "CREATE TABLE t (a VARCHAR(100)); INSERT INTO t VALUES ('{MARKER}'); \
                  CREATE TABLE aria (id INT PRIMARY KEY) ENGINE=Aria; INSERT INTO aria VALUES (1); \
                  FLUSH TABLES t FOR EXPORT; UNLOCK TABLES; SET GLOBAL innodb_fast_shutdown = 0"
        ),
    );
    // so that the newest row is in Aria's log alone
    does(&mut session, "FLUSH TABLES; INSERT INTO aria VALUES (2)");
    drop(session);
    server.kill();
    drop(server);

    place.sealstone(&["keys", "new", "other.key"]).done();
    let key = |path: &str| vec![format!("--sealstone-key={path}")];
    let with = |more: &str| [place.settings("k.key", "lea-256"), vec![more.to_owned()]].concat();
    let gone = address(&place, &Certificates::make(), 1);
    let wrong = [
        (Vec::new(), "no key is named: nothing is encrypted without one; set sealstone_key="),
        (key("k.key"), "sealstone_key is \"k.key\", not an absolute path: "),
        (key("/nonexistent/k.key"), "no key file at /nonexistent/k.key"),
        (
            place.settings("k.key", "arai-256"),
            "unknown cipher \"arai-256\"; did you mean aria-256?",
        ),
        (place.settings("k.key", "3des"), "3des has blocks of 8 bytes; pages need a cipher with "),
        (with("--sealstone-accel=sse9"), "sse9"),
        (key("kmip://127.0.0.1:1/orders"), "it names no client certificate"),
        (key(&gone), "no key server answered (127.0.0.1:1: "),
    ];
    for (settings, line) in wrong {
        let refused = start_mariadb(&place.at("server"), place.options(&settings));
        assert!(refused.is_err(), "{settings:?}");
        // each start begins a new log
        let said = place.said();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains(line), "{said:?}, not {line}");
    }
    // another key of the same version opens nothing, and writes nothing either
    let record = place.at("server/data/SEALSTONE-KEYS");
    let wrong_key = || {
        let settings = place.settings("other.key", "lea-256");
        let other = start_mariadb(&place.at("server"), place.options(&settings));
        assert!(other.is_err(), "{}", place.log());
        place.said()
    };
    let is_named = || {
        let said = wrong_key();
        assert!(said.len() == 1 && said[0].starts_with("wrong key: "), "{said:?}");
        for part in ["server/data was encrypted under version 1 of a key with", "other.key has"] {
            assert!(said[0].contains(part), "{said:?}, not {part}");
        }
    };
    is_named();
    // without the record the pages tell, of which a server that went on for a while has some
    fs::rename(&record, place.at("record")).unwrap();
    let said = wrong_key();
    let begin = "wrong key: version 1 of the key from ";
    assert!(said.len() == 1 && said[0].starts_with(begin), "{said:?}");
    assert!(said[0].contains("other.key does not open "), "{said:?}");
    fs::rename(place.at("record"), &record).unwrap();
    let server = start_mariadb(&place.at("server"), place.options(&right)).unwrap();
    let server = SqlServer::MariaDb(server);
    let mut session = server.session();
    assert_eq!(session.ask("SELECT a FROM t"), [[MARKER]]);
    assert_eq!(session.ask("SELECT id FROM aria ORDER BY id"), [["1"], ["2"]]);
    drop(session);
    // after a server that was stopped in order, too
    drop(server);
    is_named();

    // an older copy of the key file, without the version of what is written now
    fs::copy(place.at("k.key"), place.at("old.key")).unwrap();
    place.sealstone(&["keys", "rotate", "k.key"]).done();
    let server = start_mariadb(&place.at("server"), place.options(&right)).unwrap();
    let mut server = SqlServer::MariaDb(server);
    does(&mut server.session(), "INSERT INTO t VALUES ('under version 2')");
    server.kill();
    drop(server);
    let settings = place.settings("old.key", "lea-256");
    let old = start_mariadb(&place.at("server"), place.options(&settings));
    assert!(old.is_err(), "{}", place.log());
    let missing = |said: &[String]| {
        let is_missing = |line: &&String| line.starts_with("no version 2 of key ");
        let found: Vec<&String> = said.iter().filter(is_missing).collect();
        assert!(found.len() == 1 && found[0].ends_with("old.key; there are: 1"), "{said:?}");
    };
    assert_eq!(place.said().len(), 1, "before the server looks at anything");
    missing(&place.said());
    // without the record it is found where the server requests that version
    fs::remove_file(&record).unwrap();
    let old = start_mariadb(&place.at("server"), place.options(&settings));
    assert!(old.is_err(), "{}", place.log());
    missing(&place.said());
    // something else in its place is no reason to stop, and is reported
    if record.exists() {
        // the server came as far as to write under version 1
        fs::remove_file(&record).unwrap();
    }
    fs::create_dir(&record).unwrap();
    let server = start_mariadb(&place.at("server"), place.options(&right)).unwrap();
    let unrecorded = |line: &&String| line.starts_with("no record of keys in SEALSTONE-KEYS: ");
    assert_eq!(place.said().iter().filter(unrecorded).count(), 1, "{:?}", place.said());
    fs::remove_dir(&record).unwrap();
    let mut server = SqlServer::MariaDb(server);
    let mut session = server.session();
    does(&mut session, "DELETE FROM t WHERE a = 'under version 2'");
    assert_eq!(session.ask("SELECT a FROM t"), [[MARKER]]);
    assert_eq!(session.ask("SELECT id FROM aria ORDER BY id"), [["1"], ["2"]]);

    // a key that cannot be had any more while the server runs
    fs::rename(place.at("k.key"), place.at("away.key")).unwrap();
    let is_said = |text: &str| {
        let begin = Instant::now();
        while !place.said().iter().any(|line| line.contains(text)) {
            assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", place.said());
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    is_said("cannot look for newer versions of the key: ");
    does(&mut session, "INSERT INTO t VALUES ('still here'); CREATE TABLE u AS SELECT * FROM t");
    fs::rename(place.at("away.key"), place.at("k.key")).unwrap();
    is_said("newer versions of the key can be looked for again");
    let count = place.said().iter().filter(|line| line.contains("cannot look for newer")).count();
    assert_eq!(count, 1, "once, not every second");
    server.kill();
    server.start_again();
    assert_eq!(server.session().ask("SELECT COUNT(*) FROM u"), [["2"]]);
}

/// A tablespace from another server, under a version of the key that this one does not have.
#[test]
fn a_table_under_an_unknown_version_is_refused_in_one_line() {
    let test = "a_table_under_an_unknown_version_is_refused_in_one_line";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    fs::copy(place.at("k.key"), place.at("old.key")).unwrap();
    place.sealstone(&["keys", "rotate", "k.key"]).done();
    let start = |dir: &str, key: &str| {
        let options = place.options(&place.settings(key, "aria-256"));
        SqlServer::MariaDb(start_mariadb(&place.at(dir), options).unwrap())
    };
    let table = "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(100)) ENGINE=InnoDB";
    {
        let newer = start("server", "k.key");
        let mut session = newer.session();
        does(
            &mut session,
            &format!("{table}; INSERT INTO t SELECT seq, '{MARKER}' FROM seq_1_to_999"),
        );
        does(&mut session, "FLUSH TABLES t FOR EXPORT");
        for ending in ["ibd", "cfg"] {
            let name = format!("t.{ending}");
            copy_as(&place.at("server/data/sealstone").join(&name), &place.at(&name));
        }
    }
    fs::rename(place.at("server"), place.at("newer")).unwrap();
    let mut older = start("server", "old.key");
    let mut session = older.session();
    // it has written more than the other one, or pages would be of a time that is yet to come
    does(
        &mut session,
        "CREATE TABLE own (a VARCHAR(100)); INSERT INTO own VALUES ('here'); CREATE TABLE more AS \
         SELECT seq, MD5(seq) FROM seq_1_to_20000",
    );
    does(&mut session, &format!("{table}; ALTER TABLE t DISCARD TABLESPACE"));
    for ending in ["ibd", "cfg"] {
        let name = format!("t.{ending}");
        copy_as(&place.at(&name), &place.at("server/data/sealstone").join(&name));
    }
    let refused = session.ask("ALTER TABLE t IMPORT TABLESPACE");
    assert!(refused.iter().flatten().any(|line| line.contains("ERROR")), "{refused:?}");
    let said = place.said();
    let missing: Vec<&String> =
        said.iter().filter(|line| line.starts_with("no version 2 of key ")).collect();
    let is_named = missing.len() == 1 && missing[0].ends_with("old.key; there are: 1");
    assert!(is_named, "{refused:?}\n{}", place.log());
    // it goes on, and after a kill too: 11.4.5 does not start where a file that was not imported
    // has the number of another tablespace, so that is taken away
    assert_eq!(session.ask("SELECT a FROM own"), [["here"]]);
    does(&mut session, "DROP TABLE t");
    let _ = fs::remove_file(place.at("server/data/sealstone/t.ibd"));
    drop(session);
    older.kill();
    older.start_again();
    assert_eq!(older.session().ask("SELECT a FROM own"), [["here"]]);
}

/// A copy may leave out the record of keys; then its pages say whose they are.
#[test]
fn a_restored_backup_is_refused_by_another_key() {
    let test = "a_restored_backup_is_refused_by_another_key";
    if !SqlKind::MariaDb.is_available(test) || !can_back_up(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let settings = place.settings("k.key", "aria-256");
    let original = start_mariadb(&place.at("server"), place.options(&settings)).unwrap();
    let original = SqlServer::MariaDb(original);
    does(
        &mut original.session(),
        &format!("CREATE TABLE t (a VARCHAR(100)); INSERT INTO t VALUES ('{MARKER}')"),
    );
    place.back_up(&original.address());
    drop(original);
    // what prepared the copy has made one
    fs::remove_file(place.at("copy/data/SEALSTONE-KEYS")).unwrap();
    place.sealstone(&["keys", "new", "other.key"]).done();
    let wrong = place.options(&place.settings("other.key", "aria-256"));
    let error = start_mariadb(&place.at("copy"), wrong).unwrap_err().to_string();
    let log = fs::read_to_string(place.at("copy/mariadb.log")).unwrap();
    let ours: Vec<&str> = log.lines().filter(|line| line.contains("sealstone: ")).collect();
    assert!(ours.len() == 1 && ours[0].contains("sealstone: wrong key: version 1 of "), "{ours:?}");
    assert!(!log.contains("innodb_force_recovery"), "{error}");
    let copy = start_mariadb(&place.at("copy"), place.options(&settings)).unwrap();
    let copy = SqlServer::MariaDb(copy);
    assert_eq!(copy.session().ask("SELECT a FROM t"), [[MARKER]]);
}

/// A newer version of a key on a key server is that of a server's next start, whose threads rewrite
/// what is under the older one.
#[test]
fn a_newer_version_of_a_key_server_is_taken_up_with_a_start() {
    let test = "a_newer_version_of_a_key_server_is_taken_up_with_a_start";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let Some((certificates, mut keys)) = kmip_server::started(kmip_server::Kind::PyKmip, test)
    else {
        return;
    };
    let place = MariaDbPlace::new();
    let key = address(&place, &certificates, keys.port);
    place.sealstone(&["keys", "new", &key]).done();
    let settings = [place.settings("k.key", "seed-128"), vec![format!("--sealstone-key={key}")]];
    let settings = settings.concat();
    let start = || {
        SqlServer::MariaDb(start_mariadb(&place.at("server"), place.options(&settings)).unwrap())
    };
    let server = start();
    let mut session = server.session();
    does(
        &mut session,
        &format!(
            "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(100)) ENGINE=InnoDB; INSERT INTO t \
             SELECT seq, '{MARKER}' FROM seq_1_to_20000"
        ),
    );
    let loaded = session.ask("CHECKSUM TABLE t EXTENDED");
    place.sealstone(&["keys", "rotate", &key]).done();
    // looked for every second, and not found by a server that runs
    std::thread::sleep(Duration::from_secs(3));
    does(&mut session, "INSERT INTO t VALUES (0, 'more'); DELETE FROM t WHERE id = 0");
    let said = place.said();
    assert!(!said.iter().any(|line| line.contains("version 2 ")), "{said:?}");
    drop((session, server));

    let server = start();
    let said = place.said();
    let greeting = "under version 2 of the key from ";
    assert!(said[0].contains(greeting), "{said:?}");
    assert!(said[0].ends_with("; version 1 opens old data"), "{said:?}");
    let mut session = server.session();
    assert_eq!(session.ask("CHECKSUM TABLE t EXTENDED"), loaded);
    wait_until_under_newest(&mut session);
    // and the server goes on where the key server does not
    keys.kill();
    does(&mut session, "INSERT INTO t VALUES (0, 'more'); DELETE FROM t WHERE id = 0");
    assert_eq!(session.ask("CHECKSUM TABLE t EXTENDED"), loaded);
    let account = place.account("server/data");
    let files = account["files"].as_array().unwrap();
    let table = files.iter().find(|file| file["name"] == "sealstone/t.ibd").unwrap();
    let shares = table["sealed"].as_array().unwrap();
    assert_eq!(shares.len(), 1, "{table:#}");
    assert_eq!((&shares[0]["key_version"], &shares[0]["cipher"]), (&2.into(), &"seed-128".into()));
}

#[test]
fn a_server_goes_on_without_its_key_server() {
    let test = "a_server_goes_on_without_its_key_server";
    if !SqlKind::MariaDb.is_available(test) || !is_installed(&PYKMIP_PROGRAM, test) {
        return;
    }
    let home = reachable();
    let plugin = mariadb_plugin().to_str().unwrap();
    let at = |arguments: &[&str]| run(&mut sealstone(home.path(), arguments));
    let up = ["lab", "up", "mariadb", "--dir", "lab", "--cipher", "aria-256", "--kmip"];
    at(&[&up[..], &["--extension", plugin, "--json"]].concat()).done();
    let status = at(&["lab", "status", "lab", "--json"]).done();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let member = |server: usize| status["servers"][server]["members"][0].clone();
    let port = member(0)["address"].as_str().unwrap().replace("127.0.0.1:", "");
    let secrets = home.path().join("lab/lab.mariadb/client.cnf");
    let ask = |text: &str| {
        let file = format!("--defaults-file={}", secrets.display());
        tool("mariadb", &[&file, "-h127.0.0.1", "-P", &port, "-N", "-B", "sealstone", "-e", text])
    };
    ask("CREATE TABLE t (a VARCHAR(100)); INSERT INTO t VALUES ('before')");
    let keys = member(1)["pid"].as_i64().unwrap();
    kill(Pid::from_raw(keys as i32), Signal::SIGKILL).unwrap();
    ask("INSERT INTO t VALUES ('after'); CREATE TABLE u AS SELECT * FROM t; FLUSH TABLES");
    at(&["lab", "down", "lab"]).done();
    at(&["lab", "up", "--dir", "lab"]).done();
    let found = ask("SELECT a FROM u");
    at(&["lab", "down", "lab"]).done();
    assert_eq!(found, "before\nafter\n");
}
