//! `sealstone compare` with servers of SQL: a server that the comparison starts and ends, the
//! user's own server, and impossible settings.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_e2e::binary::mariadb_plugin;
use sealstone_e2e::sql_server::{SqlKind, SqlServer};
use sealstone_e2e::transcript::{finish_after, run, sealstone};
use sealstone_servers::testing::reachable;
use serde_json::Value;

/// Small enough for a test: a measurement needs more.
const SMALL: &[&str] = &[
    "compare",
    "--records=300",
    "--operations=200",
    "--threads=4",
    "--rounds=1",
    "--set=pairs=6",
    "--set=slice-ms=1",
    "--workloads=a,e",
    "--out=out",
];

/// A server of SQL, as a comparison has it.
struct Sql {
    store: &'static str,
    /// Its name in results, in errors before it is known, and after.
    engine: &'static str,
    protocol: &'static str,
    product: &'static str,
    kind: SqlKind,
    /// True if it seals its files itself.
    seals: bool,
    /// Text that only the command line of a server contains.
    mark: &'static [u8],
    database: &'static str,
    /// Impossible settings, and their errors.
    impossible: &'static [(&'static [&'static str], &'static str)],
}

static POSTGRES: Sql = Sql {
    store: "postgres",
    engine: "postgres",
    protocol: "PostgreSQL",
    product: "PostgreSQL",
    kind: SqlKind::Postgres,
    seals: false,
    // its child processes show their task instead of their arguments
    mark: b"\0-D\0",
    database: "postgres",
    impossible: &[
        (
            &["--postgres", "/nonexistent"],
            "no postgres with initdb beside it found: looked in /nonexistent",
        ),
        (&["--nodes", "2"], "nodes is 2: a postgres store is a single node"),
        (
            &["--postgres-url", "mysql://db.example"],
            "cannot use the PostgreSQL address mysql://db.example: its scheme is mysql",
        ),
        (
            &["--postgres-url", "postgres://u:p@h:x"],
            "cannot use the PostgreSQL address postgres://…: its port is not a number up to 65535",
        ),
        (
            &["--postgres-url", "postgres://h?sslmode=on"],
            "address postgres://h: its sslmode is none of disable, prefer, require, verify-ca and \
             verify-full",
        ),
        (
            &["--postgres-url", "@/nonexistent"],
            "cannot read the address of a server from /nonexistent",
        ),
        (
            &["--postgres-url", "postgres://h", "--postgres", "p"],
            "postgres-url of postgres makes no sense together with postgres",
        ),
    ],
};

static MYSQL: Sql = Sql {
    store: "mysql",
    engine: "mariadb",
    protocol: "MySQL",
    product: "MariaDB",
    kind: SqlKind::MariaDb,
    seals: true,
    // the program that makes its data directory does not have this file
    mark: b"\0--init-file=",
    database: "sealstone",
    impossible: &[
        (&["--mariadbd", "/nonexistent"], "no mariadbd found: looked in /nonexistent"),
        (&["--nodes", "2"], "nodes is 2: a mysql store is a single node"),
        (
            &["--mysql-url", "redis://db.example/d"],
            "cannot use the MySQL address redis://db.example/d: its scheme is redis",
        ),
        (
            &["--mysql-url", "mysql://u:p@h:x/d"],
            "cannot use the MySQL address mysql://…: its port is not a number up to 65535",
        ),
        (
            &["--mysql-url", "mysql://h/d?ssl-mode=on"],
            "address mysql://h/d: its ssl-mode is none of DISABLED, ",
        ),
        (
            &["--mysql-url", "@/nonexistent"],
            "cannot read the address of a server from /nonexistent",
        ),
        (
            &["--mysql-url", "mysql://h/d", "--mariadbd", "p"],
            "mysql-url of mysql makes no sense together with mariadbd",
        ),
    ],
};

impl Sql {
    /// Returns a comparison with results in `out`, where there are none any more.
    fn compare(&self, dir: &Path, more: &[&str]) -> Command {
        let _ = fs::remove_dir_all(dir.join("out"));
        let store = format!("--store={}", self.store);
        sealstone(dir, &[SMALL, &[&store], more].concat())
    }

    /// Returns the servers that work below `dir`, without the processes that they started.
    fn servers(&self, dir: &Path) -> Vec<i32> {
        let dir = dir.canonicalize().unwrap();
        let pids = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let uses = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let works_in = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
            line.windows(self.mark.len()).any(|part| part == self.mark)
                && works_in.starts_with(&dir)
        };
        pids.filter(uses).collect()
    }
}

fn results(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn is_measured_and_ended(sql: &Sql, name: &str) {
    if !sql.kind.is_available(name) {
        return;
    }
    let dir = reachable();
    let workloads = ["--workloads=a-sync,oltp", "--bytes=300k"];
    let mut compare = sql.compare(dir.path(), &workloads);
    if sql.seals {
        compare.env("SEALSTONE_MARIADB_PLUGIN", mariadb_plugin());
    }
    let transcript = run(&mut compare);
    let unsealed = format!("{} is measured without encryption", sql.store);
    let is_unsealed = transcript.stderr.contains(&unsealed);
    assert_eq!(is_unsealed, !sql.seals, "{}", transcript.stderr);
    let said = transcript.done();
    assert!(said.ends_with("out/report.html\n"), "{said}");
    let results = results(&dir.path().join("out/results.json"));
    let group = &results["groups"][0];
    assert_eq!(group["engine"]["name"], sql.engine);
    assert!(group["engine"]["version"].as_str().unwrap().contains('.'), "{}", group["engine"]);
    let cells = group["cells"].as_array().unwrap();
    assert_eq!(cells.len(), if sql.seals { 12 } else { 4 });
    for cell in cells {
        let samples = cell["samples"].as_array().unwrap();
        let sum =
            |field: &str| samples.iter().map(|sample| sample[field].as_f64().unwrap()).sum::<f64>();
        assert!(
            sum("operations") > 0.0 && cell["disk_bytes"].as_u64().unwrap() > 100_000,
            "{cell}"
        );
    }
    assert!(sql.servers(dir.path()).is_empty(), "a server was left behind");
}

fn of_the_user_is_used_and_left_as_it_was(sql: &Sql, name: &str) {
    if !sql.kind.is_available(name) {
        return;
    }
    let dir = reachable();
    let server = SqlServer::start(sql.kind, &dir.path().join("theirs"));
    let address = server.address();
    let url =
        |password: &str| format!("{}://sealstone:{password}@{address}/{}", sql.store, sql.database);
    fs::write(dir.path().join("address"), url("geheim")).unwrap();
    run(&mut sql.compare(dir.path(), &[&format!("--{}-url=@address", sql.store)])).done();
    // its tables are gone, so the same can be done again
    let named = format!("--{}-url={}", sql.store, url("geheim"));
    run(&mut sql.compare(dir.path(), &[&named])).done();
    let written = fs::read_to_string(dir.path().join("out/results.json")).unwrap();
    assert!(!written.contains("geheim"), "a password in the results");

    // values that are sealed before they reach it: each variant has tables of its own, which nobody
    // else's are
    let layer = [named.as_str(), "--layer=field", "--ciphers=none,aes-256,aria-256"];
    run(&mut sql.compare(dir.path(), &layer)).done();
    let found = results(&dir.path().join("out/results.json"));
    let group = &found["groups"][0];
    assert_eq!(
        group["engine"]["settings"]["servers"],
        "the user's own, with tables for each variant"
    );
    let cells = group["cells"].as_array().unwrap();
    assert!(
        cells.len() == 6 && cells.iter().all(|cell| cell["disk_bytes"].as_u64() > Some(0)),
        "{cells:?}"
    );
    let mut session = server.session();
    let tables = match sql.kind {
        SqlKind::MariaDb => {
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
        }
        SqlKind::Postgres => {
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        }
    };
    assert!(session.done(tables).is_empty(), "tables were left behind");
    session.done("CREATE TABLE usertable_aes_256 (theirs INT)");
    let theirs = run(&mut sql.compare(dir.path(), &layer));
    let want =
        "has a table usertable_aes_256 already, and aes-256 is measured in one of this name\n";
    assert!(theirs.code == Some(2) && theirs.stderr.contains(want), "{}", theirs.stderr);
    assert_eq!(session.done(tables), [["usertable_aes_256"]]);
    session.done("DROP TABLE usertable_aes_256");

    // two variants that are alike there need two servers
    let two = run(&mut sql.compare(dir.path(), &[&named, "--ciphers=none,none"]));
    assert_eq!(two.code, Some(2));
    let want = format!("needs a server of its own, and --{}-url names one for all", sql.store);
    assert!(two.stderr.contains(&want), "{}", two.stderr);
    let wrong = format!("--{}-url={}", sql.store, url("geheimnis"));
    let refused = run(&mut sql.compare(dir.path(), &[&wrong]));
    assert_eq!(refused.code, Some(2));
    let want = format!(
        "cannot connect to {} at {address}: it refused the user name and password\n",
        sql.protocol
    );
    assert!(
        refused.stderr.contains(&want) && !refused.stderr.contains("geheim"),
        "{}",
        refused.stderr
    );
}

/// Returns a comparison that is long enough to be met at work.
fn long(sql: &Sql, dir: &Path) -> Child {
    let long = SMALL.iter().map(|flag| match flag.rsplit_once('=') {
        Some(("--operations", _)) => "--operations=1M",
        Some(("--set=slice-ms", _)) => "--set=slice-ms=2000",
        _ => flag,
    });
    let store = format!("--store={}", sql.store);
    // one server
    let long = long.chain([store.as_str(), "--ciphers=none"]);
    let mut command = sealstone(dir, &long.collect::<Vec<_>>());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn whose_comparison_is_killed_ends_too(sql: &Sql, name: &str) {
    if !sql.kind.is_available(name) {
        return;
    }
    let dir = reachable();
    let said = finish_after(long(sql, dir.path()), "; warming up ", |comparison| {
        assert_eq!(sql.servers(dir.path()).len(), 1);
        kill(Pid::from_raw(comparison as i32), Signal::SIGKILL).unwrap();
    });
    assert_eq!(said.code, None, "{}", said.stderr);
    let begin = Instant::now();
    while !sql.servers(dir.path()).is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(30), "a server was left behind");
        thread::sleep(Duration::from_millis(50));
    }
    // its directory is found, and removed by the next run
    let stores = || {
        let entries = fs::read_dir(dir.path().join("out")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("stores-")).collect::<Vec<_>>()
    };
    let [left] = &stores()[..] else { panic!("{:?}", stores()) };
    let listed = run(&mut sealstone(dir.path(), &["lab", "list"]));
    assert!(listed.stdout.contains(&format!("./out/{left} ")), "{}", listed.stdout);
    let json: Value =
        serde_json::from_str(&run(&mut sealstone(dir.path(), &["lab", "list", "--json"])).done())
            .unwrap();
    assert_eq!(json["left"][0]["dir"], format!("./out/{left}"));
    let store = format!("--store={}", sql.store);
    let next = run(&mut sealstone(dir.path(), &[SMALL, &[&store]].concat()));
    let removed = format!("note: removed out/{left}: the stores of an earlier run that was killed");
    assert!(
        next.code == Some(0) && next.stderr.lines().any(|line| line == removed),
        "{}",
        next.stderr
    );
    assert_eq!(stores(), Vec::<String>::new());
}

fn that_is_killed_ends_the_run_with_one_error(sql: &Sql, name: &str) {
    if !sql.kind.is_available(name) {
        return;
    }
    let dir = reachable();
    let said = finish_after(long(sql, dir.path()), "; warming up ", |_| {
        // a process that it just started still has its name
        let only = || if let [pid] = sql.servers(dir.path())[..] { Some(pid) } else { None };
        let found = std::iter::repeat_with(only).find_map(|found| found).unwrap();
        kill(Pid::from_raw(found), Signal::SIGKILL).unwrap();
    });
    let stderr = said.stderr;
    assert_eq!(said.code, Some(2), "{stderr}");
    let named = format!("{} at 127.0.0.1:", sql.product);
    assert!(stderr.contains(" failed on none: cannot ") && stderr.contains(&named), "{stderr}");
}

fn impossible_settings_are_reported_before_anything_starts(sql: &Sql) {
    let dir = tempfile::tempdir().unwrap();
    for (arguments, want) in sql.impossible {
        let refused = run(&mut sql.compare(dir.path(), arguments));
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(want), "{}", refused.stderr);
    }
}

#[test]
fn a_postgres_is_measured_and_ended() {
    is_measured_and_ended(&POSTGRES, "a_postgres_is_measured_and_ended");
}

#[test]
fn a_mariadb_is_measured_and_ended() {
    is_measured_and_ended(&MYSQL, "a_mariadb_is_measured_and_ended");
}

#[test]
fn a_postgres_of_the_user_is_used_and_left_as_it_was() {
    of_the_user_is_used_and_left_as_it_was(
        &POSTGRES,
        "a_postgres_of_the_user_is_used_and_left_as_it_was",
    );
}

#[test]
fn a_mariadb_of_the_user_is_used_and_left_as_it_was() {
    of_the_user_is_used_and_left_as_it_was(
        &MYSQL,
        "a_mariadb_of_the_user_is_used_and_left_as_it_was",
    );
}

#[test]
fn a_postgres_that_is_killed_ends_the_run_with_one_error() {
    that_is_killed_ends_the_run_with_one_error(
        &POSTGRES,
        "a_postgres_that_is_killed_ends_the_run_with_one_error",
    );
}

#[test]
fn a_mariadb_that_is_killed_ends_the_run_with_one_error() {
    that_is_killed_ends_the_run_with_one_error(
        &MYSQL,
        "a_mariadb_that_is_killed_ends_the_run_with_one_error",
    );
}

#[test]
fn a_postgres_whose_comparison_is_killed_ends_too() {
    whose_comparison_is_killed_ends_too(
        &POSTGRES,
        "a_postgres_whose_comparison_is_killed_ends_too",
    );
}

#[test]
fn a_mariadb_whose_comparison_is_killed_ends_too() {
    whose_comparison_is_killed_ends_too(&MYSQL, "a_mariadb_whose_comparison_is_killed_ends_too");
}

#[test]
fn impossible_settings_of_postgres_are_reported_before_anything_starts() {
    impossible_settings_are_reported_before_anything_starts(&POSTGRES);
}

#[test]
fn impossible_settings_of_mysql_are_reported_before_anything_starts() {
    impossible_settings_are_reported_before_anything_starts(&MYSQL);
}
