//! MariaDB with our plug-in: real servers that are loaded, killed, started again, moved to newer
//! keys and imported from, whose checksums are compared and whose files are searched for what must
//! not be readable. Not here: what is wrong with keys, and key servers (`mariadb_keys`).

use std::fs;
use std::time::{Duration, Instant};

use sealstone_e2e::binary::mariadb_plugin;
use sealstone_e2e::mariadb_place::{
    MariaDbPlace, ROTATION_LIMIT, copy_as, does, wait_until_under_newest,
};
use sealstone_e2e::promtool::sample;
use sealstone_e2e::sql_server::{SqlKind, SqlServer, SqlSession};
use sealstone_e2e::transcript::{run, sealstone};
use sealstone_e2e::volume_place::holds;
use sealstone_servers::start_mariadb;
use sealstone_servers::testing::reachable;

const MARKER: &str = "a text that no thief of the disk may read";

/// Text of a row that is inserted by itself, which Aria's log has.
const LOGGED: &str = "one row, and not many at once";

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

/// Returns the names of the files of the server that hold `text`.
fn files_with(place: &MariaDbPlace, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for dir in ["server/data", "server/data/sealstone", "server/data/mysql", "server/tmp"] {
        let Ok(entries) = fs::read_dir(place.at(dir)) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            // what is being replaced may have gone
            let Ok(content) = fs::read(&path) else { continue };
            if content.windows(text.len()).any(|part| part == text.as_bytes()) {
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found
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

    // a row by itself is in Aria's log, in the clear, and nowhere else
    does(
        &mut session,
        &format!("INSERT INTO aria VALUES (9001, '{LOGGED}'); DELETE FROM aria WHERE id = 9001"),
    );
    assert_eq!(files_with(&place, LOGGED), ["aria_log.00000001"]);

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
