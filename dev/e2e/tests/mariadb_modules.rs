//! MariaDB's files in a cryptographic module: real servers whose pages and logs the module
//! enciphers, which go on without it in the same mode, and which refuse a module that lacks
//! something, a mode that it does not have, and a start that forgot it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use sealstone_e2e::binary::{is_alone, mariadb_plugin};
use sealstone_e2e::mariadb_place::{MariaDbPlace, does};
use sealstone_e2e::sql_server::{SqlKind, SqlServer, SqlSession};
use sealstone_e2e::transcript::{run, sealstone};
use sealstone_e2e::volume_place::holds;
use sealstone_modules::testing::compiled;
use sealstone_servers::start_mariadb;
use sealstone_servers::testing::reachable;
use serde_json::Value;

const MODULE: &str = "openssl:default";
const IN_MODULE: &str = "--sealstone-module=openssl:default";
const IN_CBC: &str = "--sealstone-pages=cbc-cs1";
const MARKER: &str = "a text that no thief of the disk may read";

/// Time in which the server's threads have everything under a new version.
const ROTATION_LIMIT: Duration = Duration::from_secs(180);

const SUMS: &str = "CHECKSUM TABLE t, small, aria EXTENDED";

/// Starts the server of `place` with `cipher` and `more` settings.
fn start(place: &MariaDbPlace, cipher: &str, more: &[&str]) -> SqlServer {
    let more = more.iter().map(|one| (*one).to_owned());
    let settings: Vec<String> = place.settings("k.key", cipher).into_iter().chain(more).collect();
    let started = start_mariadb(&place.at("server"), place.options(&settings));
    SqlServer::MariaDb(started.unwrap_or_else(|error| panic!("{error}: {}", place.log())))
}

/// Asserts that the server of `place` does not start, for a reason that is one line of ours.
fn refuses(place: &MariaDbPlace, cipher: &str, more: &[&str], why: &str) {
    let more = more.iter().map(|one| (*one).to_owned());
    let settings: Vec<String> = place.settings("k.key", cipher).into_iter().chain(more).collect();
    let started = start_mariadb(&place.at("server"), place.options(&settings));
    assert!(started.is_err(), "{settings:?}");
    let said = place.said();
    assert!(said.len() == 1 && said[0].contains(why), "{said:?}, not {why}: {}", place.log());
}

fn load(session: &mut SqlSession) {
    does(
        session,
        &format!(
            "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(200), KEY (a)) \
             ENGINE=InnoDB; \
             INSERT INTO t (a) SELECT CONCAT('{MARKER} ', MD5(seq)) FROM seq_1_to_10000; \
             UPDATE t SET a = REVERSE(a) WHERE id % 3 = 0; \
             CREATE TABLE small (id INT PRIMARY KEY, a VARCHAR(3000)) ENGINE=InnoDB \
             PAGE_COMPRESSED=1; \
             INSERT INTO small SELECT seq, REPEAT('{MARKER}', 60) FROM seq_1_to_500; \
             CREATE TABLE aria (id INT PRIMARY KEY, a VARCHAR(200)) ENGINE=Aria; \
             INSERT INTO aria SELECT seq, '{MARKER}' FROM seq_1_to_2000; \
             SET sort_buffer_size = 32768, max_heap_table_size = 16384, tmp_table_size = 16384; \
             CREATE TEMPORARY TABLE passing ENGINE=InnoDB AS SELECT * FROM t; \
             UPDATE passing SET a = REVERSE(a); UPDATE passing SET a = REVERSE(a); \
             SELECT COUNT(*) FROM (SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY a) x; \
             ALTER TABLE t ADD COLUMN d INT DEFAULT 5, ADD KEY (d), ALGORITHM=INPLACE, LOCK=NONE"
        ),
    );
    let same = session.ask("SELECT COUNT(*) FROM passing JOIN t USING (id, a)");
    assert_eq!(same, [["10000"]]);
}

/// Waits until the server has written everything under `number` or a newer version.
fn wait_until_under(session: &mut SqlSession, number: u32) {
    let begin = Instant::now();
    loop {
        let left = session.ask(&format!(
            "SELECT NAME, MIN_KEY_VERSION, CURRENT_KEY_VERSION FROM \
             information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE CURRENT_KEY_VERSION < {number} \
             OR MIN_KEY_VERSION < {number} OR ROTATING_OR_FLUSHING"
        ));
        if left.is_empty() {
            return;
        }
        assert!(begin.elapsed() < ROTATION_LIMIT, "{left:?}");
        std::thread::sleep(Duration::from_millis(300));
    }
}

/// Returns the modes of what is sealed in the data directory, with their versions.
fn modes(place: &MariaDbPlace) -> Vec<(String, u64)> {
    let account = place.account("server/data");
    let shares = account["sealed"].as_array().unwrap().iter();
    let mode = |share: &Value| {
        (share["mode"].as_str().unwrap().to_owned(), share["key_version"].as_u64().unwrap())
    };
    shares.map(mode).collect()
}

fn is_unreadable(place: &MariaDbPlace) {
    for dir in ["server/data", "server/tmp"] {
        let dir = place.at(dir);
        assert!(!dir.exists() || !holds(&dir, &MARKER.as_bytes()[..16]), "{}", dir.display());
    }
}

/// Returns every file of InnoDB with its bytes.
fn files(place: &MariaDbPlace) -> BTreeMap<String, Vec<u8>> {
    let names = ["ibdata1", "ib_logfile0", "sealstone/t.ibd", "sealstone/small.ibd"];
    let file = |name: &str| fs::read(place.at("server/data").join(name)).unwrap();
    names.iter().map(|name| ((*name).to_owned(), file(name))).collect()
}

#[test]
fn a_module_enciphers_everything_and_our_own_code_goes_on_with_it() {
    let test = "a_module_enciphers_everything_and_our_own_code_goes_on_with_it";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let mut server = start(&place, "aria-256", &[IN_MODULE]);
    let said = place.said();
    assert!(said[0].starts_with("encrypting with aria-256 (openssl:default 3."), "{said:?}");
    assert!(said[0].contains(") in cbc-cs1 under version 1 of the key from "), "{said:?}");
    let mut session = server.session();
    load(&mut session);
    let loaded = session.ask(SUMS);
    is_unreadable(&place);
    let under = |mode: &str| (mode.to_owned(), 1);
    let wanted = ["cbc-cs1", "cbc-feistel", "ctr"].map(under);
    assert_eq!(modes(&place), wanted);
    // in the middle of a change: the log is read again by the module
    let mut other = server.session();
    does(&mut other, "BEGIN; UPDATE t SET a = 'half'; DELETE FROM small");
    server.kill();
    server.start_again();
    let mut session = server.session();
    assert_eq!(session.ask(SUMS), loaded);

    // a newer version of the key
    place.sealstone(&["keys", "rotate", "k.key", "--module", MODULE]).done();
    wait_until_under(&mut session, 2 << 8 | 0x84);
    does(&mut session, "INSERT INTO aria SELECT MAX(id) + 1, 'two' FROM aria");
    let rotated = session.ask(SUMS);
    drop((session, other));
    server.kill();
    if is_alone() {
        return;
    }
    drop(server);

    // a start that forgot the module ends with one line, and nothing is written: the newest row of
    // Aria's table is in its log alone, and is there afterwards
    let before = files(&place);
    refuses(&place, "aria-256", &[], " is in cbc-cs1, as a module writes it; set sealstone_mod");
    assert!(files(&place) == before, "a refused start wrote something");

    // our own code goes on in the same mode, and the module after it
    let mut server = start(&place, "aria-256", &[IN_CBC]);
    assert!(!place.said()[0].contains("openssl"), "{:?}", place.said());
    let mut session = server.session();
    assert_eq!(session.ask(SUMS), rotated);
    does(&mut session, "UPDATE t SET a = UPPER(a) WHERE id % 7 = 0");
    does(&mut session, "INSERT INTO aria SELECT MAX(id) + 1, 'ours' FROM aria");
    let ours = session.ask(SUMS);
    assert_ne!(ours, rotated);
    assert!(modes(&place).iter().all(|(mode, _)| mode != "hctr2"), "{:?}", modes(&place));
    drop(session);
    server.kill();
    drop(server);
    let server = start(&place, "aes-256", &[IN_MODULE]);
    let mut session = server.session();
    assert_eq!(session.ask(SUMS), ours);
    does(&mut session, "INSERT INTO t (a) SELECT a FROM t LIMIT 100");
    is_unreadable(&place);
    assert!(!place.log().contains("a bug of the plug-in"), "{}", place.log());
}

#[test]
fn what_is_wrong_with_a_module_is_one_line_and_nothing_is_written() {
    let test = "what_is_wrong_with_a_module_is_one_line_and_nothing_is_written";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let mut server = start(&place, "aes-256", &[IN_MODULE]);
    let mut session = server.session();
    load(&mut session);
    let loaded = session.ask(SUMS);
    drop(session);
    server.kill();
    drop(server);
    let before = files(&place);
    let shim = |defines: &[&str]| {
        let library = compiled(&place.at("plugins"), "failing.c", defines);
        format!("--sealstone-module={}", library.display())
    };
    let failing = shim(&["NAME=\"failing\"", "FAILS_TEST"]);
    let earlier = shim(&["NAME=\"earlier\"", "BEFORE_BLOCKS"]);
    let no_ctr = shim(&["NAME=\"no-ctr\"", "NO_CTR"]);
    for (cipher, more, why) in [
        ("aes-256", "--sealstone-module=openssl:absent", "OpenSSL cannot load its provider absent"),
        ("aes-256", "--sealstone-module=/nonexistent/m.so", "cannot load module /nonexistent/m.so"),
        ("aes-256", "--sealstone-module=lib/m.so", "sealstone_module is \"lib/m.so\", not an abs"),
        ("aes-256", failing.as_str(), " failed its self test: it reported a failure"),
        ("aes-256", earlier.as_str(), "module earlier has no cbc with aes-256"),
        ("aes-256", no_ctr.as_str(), "module no-ctr has no ctr with aes-256"),
        ("lea-256", IN_MODULE, "module openssl:default has no cbc with lea-256"),
    ] {
        refuses(&place, cipher, &[more], why);
        assert!(files(&place) == before, "{more} wrote something");
    }
    let why = "sealstone_pages is hctr2, which module openssl:default does not have";
    refuses(&place, "aes-256", &[IN_MODULE, "--sealstone-pages=hctr2"], why);
    refuses(&place, "aes-256", &["--sealstone-pages=cbc"], "unknown mode of pages \"cbc\"");
    assert!(files(&place) == before);
    // a vendor's library opens what another module wrote
    let whole = shim(&["NAME=\"vendor\""]);
    let server = start(&place, "aes-256", &[whole.as_str()]);
    assert_eq!(server.session().ask(SUMS), loaded);
}

/// A module that goes into an error state under a running server: the reason is a line of ours, and
/// once the module works again every commit that was acknowledged is there.
#[test]
fn a_module_that_dies_under_a_server_loses_nothing() {
    let test = "a_module_that_dies_under_a_server_loses_nothing";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let shim = |calls: &str| {
        let defines = ["NAME=\"mortal\"", "FAILS_CBC", calls];
        let library = compiled(&place.at("plugins"), "failing.c", &defines);
        format!("--sealstone-module={}", library.display())
    };
    let (steady, dying) = (shim("CALLS=1000000000"), shim("CALLS=60000"));
    let mut server = start(&place, "aes-256", &[&steady]);
    let mut session = server.session();
    load(&mut session);
    does(&mut session, "CREATE TABLE kept (id INT PRIMARY KEY) ENGINE=InnoDB");
    let loaded = session.ask(SUMS);
    drop(session);
    server.kill();
    drop(server);
    let mut server = start(&place, "aes-256", &[&dying]);
    let mut session = server.session();
    let insert = |session: &mut SqlSession, row: i32| {
        session.is_acknowledged(&format!("INSERT INTO kept VALUES ({row})"))
    };
    let committed = (0..100_000).take_while(|row| insert(&mut session, *row)).count();
    assert!((1..50_000).contains(&committed), "{committed}");
    let said = place.said();
    assert!(said.iter().any(|line| line.contains("module mortal failed: encrypting")), "{said:?}");
    drop(session);
    server.kill();
    drop(server);
    let server = start(&place, "aes-256", &[&steady]);
    let mut session = server.session();
    let kept = session.ask("SELECT COUNT(*), COALESCE(MAX(id), -1) FROM kept");
    let count: usize = kept[0][0].parse().unwrap();
    assert!((committed..=committed + 1).contains(&count), "{kept:?} of {committed}");
    assert_eq!(session.ask(SUMS), loaded);
    is_unreadable(&place);
}

#[test]
fn data_of_our_own_mode_is_moved_into_a_module() {
    let test = "data_of_our_own_mode_is_moved_into_a_module";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let place = MariaDbPlace::new();
    let mut server = start(&place, "aes-256", &[]);
    let mut session = server.session();
    load(&mut session);
    let loaded = session.ask(SUMS);
    let under = |mode: &str| (mode.to_owned(), 1);
    assert_eq!(modes(&place), ["cbc-feistel", "ctr", "hctr2"].map(under));
    drop(session);
    server.kill();
    drop(server);
    let before = files(&place);
    let why = " is in hctr2, which module openssl:default does not have; move it first: ";
    refuses(&place, "aes-256", &[IN_MODULE], why);
    assert!(files(&place) == before, "a refused start wrote something");

    // the steps of docs/guide/mariadb.md
    place.sealstone(&["keys", "rotate", "k.key"]).done();
    let other_length = "--innodb-log-file-size=64M";
    let server = start(&place, "aes-256", &[IN_CBC, other_length]);
    let mut session = server.session();
    wait_until_under(&mut session, 2 << 8 | 0x82);
    let aria = session.ask(
        "SELECT CONCAT('ALTER TABLE ', table_schema, '.', table_name, ' ENGINE=Aria') FROM \
         information_schema.tables WHERE engine = 'Aria' AND table_schema <> 'information_schema'",
    );
    assert!(aria.len() > 10, "{aria:?}");
    aria.iter().flatten().for_each(|statement| does(&mut session, statement));
    does(&mut session, "RESET MASTER");
    drop(session);
    drop(server);
    let server = start(&place, "aes-256", &[IN_MODULE, other_length]);
    let mut session = server.session();
    assert_eq!(session.ask(SUMS), loaded);
    does(&mut session, "UPDATE t SET a = UPPER(a) WHERE id % 7 = 0");
    is_unreadable(&place);
}

#[test]
fn the_commands_of_mariadb_take_a_module() {
    let test = "the_commands_of_mariadb_take_a_module";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let home = reachable();
    let plugin = mariadb_plugin().to_str().unwrap();
    let at = |arguments: &[&str]| run(&mut sealstone(home.path(), arguments));
    at(&["keys", "new", "k.key", "--module", MODULE]).done();
    let config = |cipher: &str, module: &str| {
        let key = ["mysql", "config", "--datadir", "/var/lib/mysql", "--key", "k.key"];
        let more = ["--cipher", cipher, "--module", module, "--extension", plugin];
        at(&[&key[..], &more].concat())
    };
    let lines = config("aria-256", "openssl:default?certificate=none #1").done();
    let line = "sealstone_module=\"openssl:default?certificate=none %231\"\n";
    assert!(lines.contains(line), "{lines}");
    for (cipher, module, why) in [
        ("lea-256", MODULE, "module openssl:default has no "),
        ("aes-256", "openssl:absent", "OpenSSL cannot load its provider absent"),
    ] {
        let refused = config(cipher, module);
        assert!(
            refused.code == Some(2) && refused.stdout.is_empty() && refused.stderr.contains(why),
            "{refused:?}"
        );
    }

    let up = ["lab", "up", "mariadb", "--dir", "lab", "--cipher", "aes-256", "--module", MODULE];
    let started = at(&[&up[..], &["--extension", plugin]].concat());
    let status = at(&["lab", "status", "lab", "--json"]).stdout;
    let audit = |status: &Value| {
        let data = status["servers"][0]["members"][0]["data_dir"].as_str()?.to_owned();
        Some((at(&["audit", &data, "--json"]).stdout, at(&["mysql", "check", &data]).stdout))
    };
    let status: Value = serde_json::from_str(&status).unwrap_or_default();
    let found = audit(&status);
    at(&["lab", "down", "lab"]).done();
    started.done();
    let (audit, checked) = found.unwrap();
    assert!(checked.contains("cbc-cs1"), "{checked}");
    let audit: Value = serde_json::from_str(&audit).unwrap();
    let share = &audit["places"][0]["sealed"][0];
    assert_eq!((&share["cipher"], &share["mode"]), (&"aes-256".into(), &"cbc-cs1".into()));
    assert_eq!((&share["fips"], &share["kcmvp"]), (&true.into(), &false.into()), "{audit:#}");
    // no standard has the ends of records, which are a share of their own
    let records = &audit["places"][0]["sealed"][1];
    assert_eq!((&records["mode"], &records["fips"]), (&"cbc-feistel".into(), &false.into()));
}

#[test]
fn a_module_and_our_own_mode_are_compared_side_by_side() {
    let test = "a_module_and_our_own_mode_are_compared_side_by_side";
    if !SqlKind::MariaDb.is_available(test) {
        return;
    }
    let home = reachable();
    let dir = home.path();
    let small = ["--records=300", "--operations=200", "--threads=4", "--rounds=1"];
    let what = ["compare", "--store=mysql", "--layer=rest", "--workloads=a", "--out=out"];
    let axes = ["--ciphers=none,aes-256", "--module=none,openssl:default", "--set=pairs=6"];
    let arguments = [&what[..], &small, &axes, &["--set=slice-ms=1"]].concat();
    let mut command = sealstone(dir, &arguments);
    run(command.env("SEALSTONE_MARIADB_PLUGIN", mariadb_plugin())).done();
    let variants = variants(&dir.join("out/results.json"));
    let rest = |at: usize, name: &str| variants[at]["layers"]["rest"][name].clone();
    assert_eq!(variants.len(), 3, "{variants:?}");
    assert_eq!(rest(1, "modes"), Value::from(vec!["hctr2", "ctr", "cbc-feistel"]), "{variants:?}");
    assert_eq!(
        rest(2, "modes"),
        Value::from(vec!["cbc-cs1", "ctr", "cbc-feistel"]),
        "{variants:?}"
    );
    let module = rest(2, "module");
    assert!(module.as_str().unwrap().starts_with("openssl:default 3."), "{variants:?}");
}

fn variants(results: &Path) -> Vec<Value> {
    let results: Value = serde_json::from_slice(&fs::read(results).unwrap()).unwrap();
    results["variants"].as_array().unwrap().clone()
}
