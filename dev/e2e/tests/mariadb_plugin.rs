//! MariaDB with our plug-in: real servers that are loaded, killed, started again, moved to newer
//! keys and imported from, whose checksums are compared and whose files are searched for what must
//! not be readable; and what is wrong with keys, said in the server's log.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_e2e::binary::mariadb_plugin;
use sealstone_e2e::kmip_server::Certificates;
use sealstone_e2e::mariadb_place::{MariaDbPlace, copy_as, does};
use sealstone_e2e::promtool::sample;
use sealstone_e2e::sql_server::{SqlKind, SqlServer, SqlSession};
use sealstone_e2e::transcript::{run, sealstone};
use sealstone_e2e::volume_place::{holds, tool};
use sealstone_servers::testing::{is_installed, reachable};
use sealstone_servers::{PYKMIP_PROGRAM, start_mariadb};

const MARKER: &str = "a text that no thief of the disk may read";

/// Time in which the server's threads have everything under a new version.
const ROTATION_LIMIT: Duration = Duration::from_secs(120);

fn checksums(session: &mut SqlSession) -> Vec<Vec<String>> {
    session.ask("CHECKSUM TABLE rows_a, compressed, zipped, blobs, aria, points EXTENDED")
}

fn load(session: &mut SqlSession) {
    does(
        session,
        &format!(
            "CREATE TABLE rows_a (id INT PRIMARY KEY AUTO_INCREMENT, b VARCHAR(200), \
             c VARCHAR(200), KEY (b)) ENGINE=InnoDB; \
             INSERT INTO rows_a (b, c) SELECT MD5(seq), CONCAT('{MARKER} ', REPEAT(MD5(seq), 4)) \
             FROM seq_1_to_20000; \
             UPDATE rows_a SET b = REVERSE(b) WHERE id % 3 = 0; \
             CREATE TABLE compressed (id INT PRIMARY KEY, b VARCHAR(3000)) ENGINE=InnoDB \
             PAGE_COMPRESSED=1; \
             INSERT INTO compressed SELECT seq, REPEAT('{MARKER}', 60) FROM seq_1_to_1000; \
             CREATE TABLE zipped (id INT PRIMARY KEY, b VARCHAR(3000)) ENGINE=InnoDB \
             ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8; \
             INSERT INTO zipped SELECT seq, REPEAT(MD5(seq), 60) FROM seq_1_to_1000; \
             CREATE TABLE blobs (id INT PRIMARY KEY, b LONGBLOB) ENGINE=InnoDB; \
             INSERT INTO blobs SELECT seq, REPEAT('{MARKER}', 20000) FROM seq_1_to_10; \
             CREATE TABLE aria (id INT PRIMARY KEY, b VARCHAR(200)) ENGINE=Aria; \
             INSERT INTO aria SELECT seq, '{MARKER}' FROM seq_1_to_5000; \
             CREATE TABLE points (id INT PRIMARY KEY, g GEOMETRY NOT NULL, SPATIAL INDEX (g)) \
             ENGINE=InnoDB; \
             INSERT INTO points SELECT seq, POINT(seq, seq) FROM seq_1_to_1000"
        ),
    );
    // what goes to temporary tables and files, and is written again and again there
    does(
        session,
        "SET sort_buffer_size = 32768, max_heap_table_size = 16384, tmp_table_size = 16384; \
         CREATE TEMPORARY TABLE passing ENGINE=InnoDB AS SELECT * FROM rows_a; \
         UPDATE passing SET c = REVERSE(c); \
         UPDATE passing SET c = REVERSE(c); \
         SELECT COUNT(*) FROM (SELECT b, c, COUNT(*) FROM rows_a GROUP BY b, c ORDER BY c) x",
    );
    let same = session.ask(
        "SELECT COUNT(*) FROM passing JOIN rows_a USING (id) WHERE passing.c = rows_a.c AND \
         passing.b = rows_a.b",
    );
    assert_eq!(same, [["20000"]]);
    // online, with its logs of rows and its merges
    does(
        session,
        "ALTER TABLE rows_a ADD COLUMN d INT DEFAULT 5, ADD KEY (c), ALGORITHM=INPLACE, LOCK=NONE; \
         ALTER TABLE rows_a ENGINE=InnoDB",
    );
}

/// Asserts that nothing of what was loaded can be read in any file.
fn is_unreadable(place: &MariaDbPlace) {
    for dir in ["server/data", "server/tmp"] {
        let dir = place.at(dir);
        assert!(!dir.exists() || !holds(&dir, &MARKER.as_bytes()[..16]), "{}", dir.display());
    }
}

/// The server's process counts, and its counts are metrics of the monitor.
#[test]
fn a_server_counts_what_it_encrypts() {
    let test = "a_server_counts_what_it_encrypts";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let options = place.options(&place.settings("k.key", "aria-256"));
    let server = SqlServer::MariaDb(start_mariadb(&place.at("server"), options).unwrap());
    does(
        &mut server.session(),
        "CREATE TABLE counted (id INT PRIMARY KEY, b VARCHAR(200)) ENGINE=InnoDB; \
         INSERT INTO counted SELECT seq, MD5(seq) FROM seq_1_to_20000",
    );
    drop(server);
    let metrics = place.sealstone(&["status", "server/data", "--prometheus"]).stdout;
    let of = |name: &str| sample(&metrics, name, &[]);
    // the values alone, in pages and in the log
    assert!(of("sealstone_bytes_sealed_total") > 20_000.0 * 64.0, "{metrics}");
    assert!(of("sealstone_blocks_sealed_total") > 80.0, "{metrics}");
    assert_eq!(of("sealstone_failures_total"), 0.0, "{metrics}");
    let account = place.account("server/data");
    let files = account["files"].as_array().unwrap();
    let counts = files.iter().find(|file| file["name"] == "SEALSTONE-COUNTS");
    assert_eq!(counts.unwrap()["standing"], "always_clear", "{account:#}");
}

#[test]
fn a_server_keeps_everything_under_our_cipher() {
    let test = "a_server_keeps_everything_under_our_cipher";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let options = place.options(&place.settings("k.key", "aria-256"));
    let server = start_mariadb(&place.at("server"), options).unwrap();
    let mut server = SqlServer::MariaDb(server);
    let said = place.said();
    let greeting = "under version 1 of the key from key file ";
    assert!(
        said[0].starts_with("encrypting with aria-256 (") && said[0].contains(greeting),
        "{said:?}"
    );
    let mut session = server.session();
    load(&mut session);
    let loaded = checksums(&mut session);
    assert_eq!(loaded.len(), 6, "{loaded:?}");
    is_unreadable(&place);

    let account = wait_until_encrypted(&place);
    let file = |name: &str| {
        let files = account["files"].as_array().unwrap().iter();
        let found = files.clone().find(|file| file["name"] == name);
        found.unwrap_or_else(|| panic!("{name} is not among {files:?}"))["standing"].clone()
    };
    for name in ["rows_a.ibd", "compressed.ibd", "zipped.ibd", "blobs.ibd", "aria.MAD", "aria.MAI"]
    {
        assert_eq!(file(&format!("sealstone/{name}")), "sealed", "{name}");
    }
    for name in ["ibdata1", "ib_logfile0", "binlog.000001", "mysql/global_priv.MAD"] {
        assert_eq!(file(name), "sealed", "{name}");
    }
    assert_eq!(file("aria_log.00000001"), "always_clear");
    let shares = account["sealed"].as_array().unwrap();
    for (share, mode) in shares.iter().zip(["cbc-feistel", "ctr", "hctr2"]) {
        let found = (&share["cipher"], &share["key_version"], &share["mode"]);
        assert_eq!(found, (&"aria-256".into(), &1.into(), &mode.into()));
    }
    assert_eq!(shares.len(), 3, "{shares:?}");
    assert_eq!((&account["clear_blocks"], &account["other_blocks"]), (&0.into(), &0.into()));

    // an engine that the server does not encrypt is no sealed one
    does(&mut session, "CREATE TABLE plain (a INT) ENGINE=MyISAM; INSERT INTO plain VALUES (1)");
    let with_plain = place.account("server/data");
    assert_eq!(with_plain["clear_blocks"], 1, "{with_plain:#}");
    does(&mut session, "DROP TABLE plain");

    // in the middle of a change
    let mut other = server.session();
    does(&mut other, "BEGIN; UPDATE rows_a SET b = 'half'; DELETE FROM blobs");
    server.kill();
    is_unreadable(&place);
    server.start_again();
    let mut session = server.session();
    assert_eq!(checksums(&mut session), loaded);

    // a newer version of the key, while there is work
    place.sealstone(&["keys", "rotate", "k.key"]).done();
    let begin = Instant::now();
    let second = (2 << 8 | 4).to_string();
    let mut written = 0;
    loop {
        does(
            &mut session,
            "INSERT INTO aria (id, b) SELECT MAX(id) + 1, 'more' FROM aria; \
             UPDATE rows_a SET d = d + 1 WHERE id < 50",
        );
        written += 1;
        let left = session.ask(&format!(
            "SELECT NAME, MIN_KEY_VERSION, CURRENT_KEY_VERSION FROM \
             information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE CURRENT_KEY_VERSION < {second} \
             OR MIN_KEY_VERSION < {second} OR ROTATING_OR_FLUSHING"
        ));
        if left.is_empty() {
            break;
        }
        assert!(begin.elapsed() < ROTATION_LIMIT, "{left:?}");
        std::thread::sleep(Duration::from_millis(300));
    }
    let said = place.said();
    let newer = said.iter().filter(|line| line.starts_with("version 2 of the key from ")).count();
    assert_eq!(newer, 1, "{said:?}");
    does(
        &mut session,
        &format!(
            "DELETE FROM aria WHERE id > 5000; UPDATE rows_a SET d = d - {written} WHERE id < 50"
        ),
    );
    assert_eq!(checksums(&mut session), loaded);
    // the first version is still that of binary logs
    let retire = ["keys", "retire", "k.key", "--version", "1", "--store", "server/data"];
    let refused = place.sealstone(&retire);
    assert!(refused.stderr.contains("still under it in server/data"), "{}", refused.stderr);
    server.kill();
    server.start_again();
    let mut session = server.session();
    assert_eq!(checksums(&mut session), loaded);

    // a tablespace goes from one table to another
    does(
        &mut session,
        "CREATE TABLE imported LIKE blobs; ALTER TABLE imported DISCARD TABLESPACE; \
         FLUSH TABLES blobs FOR EXPORT",
    );
    for ending in ["ibd", "cfg"] {
        let file = |name: &str| place.at(&format!("server/data/sealstone/{name}.{ending}"));
        copy_as(&file("blobs"), &file("imported"));
    }
    does(&mut session, "UNLOCK TABLES; ALTER TABLE imported IMPORT TABLESPACE");
    let same = session.ask("SELECT COUNT(*) FROM imported JOIN blobs USING (id, b)");
    assert_eq!(same, [["10"]]);
    does(&mut session, "DROP TABLE compressed, zipped; CREATE TABLE again AS SELECT * FROM rows_a");
    is_unreadable(&place);
    assert!(!place.log().contains("a bug of the plug-in"), "{}", place.log());

    // another cipher, with the next version
    let now = session.ask("CHECKSUM TABLE rows_a, blobs, aria, points, again EXTENDED");
    drop((session, other));
    server.kill();
    drop(server);
    place.sealstone(&["keys", "rotate", "k.key"]).done();
    let options = place.options(&place.settings("k.key", "lea-256"));
    let server = SqlServer::MariaDb(start_mariadb(&place.at("server"), options).unwrap());
    let mut session = server.session();
    does(&mut session, "INSERT INTO blobs SELECT 100, 'more'; DELETE FROM blobs WHERE id = 100");
    let again = session.ask("CHECKSUM TABLE rows_a, blobs, aria, points, again EXTENDED");
    assert_eq!(again, now);
    let account = place.account("server/data");
    let shares = account["sealed"].as_array().unwrap().iter();
    let ciphers: Vec<_> = shares.map(|share| share["cipher"].as_str().unwrap()).collect();
    assert!(ciphers.contains(&"aria-256") && ciphers.contains(&"lea-256"), "{ciphers:?}");
}

/// Tables, the server's own too, and logs hold an older version until they are rewritten. Then it
/// goes, and the server starts and reads everything without it.
#[test]
fn a_version_that_nothing_is_under_is_retired() {
    let test = "a_version_that_nothing_is_under_is_retired";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let settings = place.settings("k.key", "aria-256");
    let start = |more: &[&str]| {
        let settings = [&settings[..], &more.iter().map(|&m| m.into()).collect::<Vec<_>>()];
        let options = place.options(&settings.concat());
        SqlServer::MariaDb(start_mariadb(&place.at("server"), options).unwrap())
    };
    let server = start(&[]);
    let mut session = server.session();
    does(
        &mut session,
        "CREATE TABLE t (id INT PRIMARY KEY, b VARCHAR(200)) ENGINE=InnoDB; INSERT INTO t SELECT \
         seq, MD5(seq) FROM seq_1_to_20000; CREATE TABLE a (id INT PRIMARY KEY, b VARCHAR(200)) \
         ENGINE=Aria; INSERT INTO a SELECT seq, MD5(seq) FROM seq_1_to_2000",
    );
    let sums = "CHECKSUM TABLE t, a EXTENDED";
    let loaded = session.ask(sums);
    wait_until_encrypted(&place);
    drop((session, server));
    place.sealstone(&["keys", "rotate", "k.key"]).done();
    let retire = || {
        let first = ["keys", "retire", "k.key", "--version", "1", "--store", "server/data"];
        place.sealstone(&first)
    };
    assert_eq!(retire().code, Some(1), "everything is under it");

    // as docs/guide/mariadb.md has it: another length, so that the log is made new
    let mut server = start(&["--innodb-log-file-size=64M"]);
    let mut session = server.session();
    wait_until_under_newest(&mut session);
    let aria = session.ask(
        "SELECT CONCAT(table_schema, '.', table_name) FROM information_schema.tables WHERE engine \
         = 'Aria' AND table_type = 'BASE TABLE' AND table_schema <> 'information_schema'",
    );
    for table in aria.iter().flatten() {
        does(&mut session, &format!("ALTER TABLE {table} ENGINE=Aria"));
    }
    does(&mut session, "FLUSH TABLES; RESET MASTER");
    let mut retired = retire();
    if retired.code == Some(1) {
        // after a kill 11.4.5 can take its own tablespaces for rotated that are not; it finds them
        // when it is started again
        let version = session.ask("SELECT VERSION()").remove(0).remove(0);
        assert!(version.starts_with("11.4."), "{version}: {}", retired.stderr);
        drop(session);
        let SqlServer::MariaDb(running) = &mut server else { unreachable!("a MariaDB") };
        running.stop().unwrap();
        running.start_again().unwrap();
        session = server.session();
        wait_until_under_newest(&mut session);
        does(&mut session, "FLUSH TABLES; RESET MASTER");
        retired = retire();
    }
    assert_eq!(retired.code, Some(0), "{}{}", retired.stdout, retired.stderr);
    drop((session, server));
    let server = start(&[]);
    assert_eq!(server.session().ask(sums), loaded);
}

/// Waits until the server's threads have every tablespace under the newest version.
fn wait_until_under_newest(session: &mut SqlSession) {
    does(session, "SET GLOBAL innodb_encryption_rotation_iops = 2000");
    let begin = Instant::now();
    loop {
        let left = session.ask(
            "SELECT NAME, MIN_KEY_VERSION FROM information_schema.INNODB_TABLESPACES_ENCRYPTION \
             WHERE MIN_KEY_VERSION < CURRENT_KEY_VERSION OR ROTATING_OR_FLUSHING",
        );
        if left.is_empty() {
            return;
        }
        assert!(begin.elapsed() < ROTATION_LIMIT, "{left:?}");
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// The server's threads pass over pages that are free.
#[test]
fn what_was_freed_before_it_was_encrypted_does_not_stay() {
    let test = "what_was_freed_before_it_was_encrypted_does_not_stay";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let mut settings = place.settings("k.key", "seed-128");
    settings.push("--innodb-encryption-threads=0".into());
    let server = start_mariadb(&place.at("server"), place.options(&settings)).unwrap();
    let server = SqlServer::MariaDb(server);
    let mut session = server.session();
    // the rows as they were go to the system tablespace, in the clear, until nobody wants them
    does(
        &mut session,
        &format!(
            "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(200)) ENGINE=InnoDB; INSERT INTO t \
             SELECT seq, '{MARKER}' FROM seq_1_to_20000; UPDATE t SET a = REVERSE(a); FLUSH TABLES \
             t FOR EXPORT; UNLOCK TABLES; SET GLOBAL innodb_max_dirty_pages_pct = 0"
        ),
    );
    let begin = Instant::now();
    let is_purged = |session: &mut SqlSession| {
        let left = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE \
                    VARIABLE_NAME IN ('Innodb_history_list_length', \
                    'Innodb_buffer_pool_pages_dirty')";
        session.ask(left).iter().flatten().all(|value| value == "0")
    };
    while !is_purged(&mut session) {
        assert!(begin.elapsed() < ROTATION_LIMIT);
        std::thread::sleep(Duration::from_millis(200));
    }
    does(&mut session, "SET GLOBAL innodb_encryption_threads = 2");
    wait_until_encrypted(&place);
    is_unreadable(&place);
}

/// Waits until the server's threads have written what was made before they began, and returns what
/// is found.
fn wait_until_encrypted(place: &MariaDbPlace) -> serde_json::Value {
    let begin = Instant::now();
    loop {
        let account = place.account("server/data");
        if account["clear_blocks"] == 0 {
            return account;
        }
        assert!(begin.elapsed() < ROTATION_LIMIT, "{account:#}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// Returns the address of a key server at which nobody listens, with certificates that the server
/// of `place` can read.
fn address_of_a_server_that_is_gone(place: &MariaDbPlace) -> String {
    let certificates = Certificates::make();
    let owner = fs::metadata(place.at("k.key")).unwrap();
    let paths = ["client.pem", "client-key.pem", "ca.pem"].map(|name| {
        fs::copy(certificates.path(name), place.at(name)).unwrap();
        chown(place.at(name), Some(owner.uid()), Some(owner.gid())).unwrap();
        place.at(name).display().to_string()
    });
    let [cert, key, ca] = paths;
    format!("kmip://127.0.0.1:1/orders?cert={cert}&key={key}&ca={ca}&retries=0")
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
                  SET GLOBAL innodb_fast_shutdown = 0"
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
    let gone = address_of_a_server_that_is_gone(&place);
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
    // without the record it is the server that finds rubbish, in the first record of its log
    fs::rename(&record, place.at("record")).unwrap();
    let said = wrong_key();
    assert!(said.len() == 1 && said[0].starts_with("encrypting with lea-256 "), "{said:?}");
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

#[test]
fn a_lab_of_mariadb_is_sealed_by_its_plug_in_and_says_so() {
    let test = "a_lab_of_mariadb_is_sealed_by_its_plug_in_and_says_so";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let home = reachable();
    let plugin = mariadb_plugin().to_str().unwrap();
    let at = |arguments: &[&str]| run(&mut sealstone(home.path(), arguments));
    let up =
        ["lab", "up", "mariadb", "--dir", "lab", "--cipher", "seed-128", "--extension", plugin];
    let started = at(&up);
    // the server's threads write what was made before they began
    let begin = Instant::now();
    let status: serde_json::Value = loop {
        let status = at(&["lab", "status", "lab", "--json"]).stdout;
        let status = serde_json::from_str::<serde_json::Value>(&status).unwrap_or_default();
        let is_sealed = status["servers"][0]["members"][0]["sealed"] == true;
        if is_sealed || begin.elapsed() > ROTATION_LIMIT {
            break status;
        }
        std::thread::sleep(Duration::from_millis(500));
    };
    at(&["lab", "down", "lab"]).done();
    let started = started.done();
    assert!(started.starts_with("mysql://sealstone@127.0.0.1:"), "{started}");
    let member = &status["servers"][0]["members"][0];
    assert_eq!((&member["sealed"], &member["serves"]), (&true.into(), &true.into()), "{status}");
    let data = member["data_dir"].as_str().unwrap();
    let checked = at(&["mysql", "check", data]).done();
    assert!(checked.contains("seed-128") && checked.contains("aria_log."), "{checked}");
    // an audit reports the same, with the mode, and names what is beside it
    let audit = at(&["audit", data, "--json"]).done();
    let audit: serde_json::Value = serde_json::from_str(&audit).unwrap();
    let place = &audit["places"][0];
    let mode = |share: &serde_json::Value| share["mode"] == "hctr2";
    let share = place["sealed"].as_array().unwrap().iter().find(|share| mode(share)).unwrap();
    assert_eq!(share["cipher"], "seed-128");
    assert_eq!((&share["kcmvp"], &share["maker"]), (&false.into(), &"not_recorded".into()));
    assert!(place["beside"].to_string().contains("aria_log."), "{place:#}");
    let other = at(&["mongo", "check", data]);
    assert!(other.stderr.contains("sealstone mysql check"), "{}", other.stderr);

    // the same lines for a server of the user's own
    let config = ["mysql", "config", "--datadir", "/var/lib/mysql", "--key", "lab/lab.key"];
    let more = ["--cipher", "aria-256", "--extension", plugin];
    let lines = at(&[&config[..], &more].concat()).done();
    assert!(lines.starts_with("[mariadbd]\ndatadir=\"/var/lib/mysql\"\n"), "{lines}");
    for line in ["sealstone_cipher=aria-256\n", "innodb_encrypt_tables=FORCE\n"] {
        assert!(lines.contains(line), "{lines}");
    }
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
