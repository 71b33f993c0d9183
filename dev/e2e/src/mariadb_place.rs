//! A place for a MariaDB that encrypts with our plug-in, as the tests of that have it.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sealstone_servers::testing::reachable;
use sealstone_servers::{MARIADB_PROGRAM, MariaDbOptions};

use crate::binary::{is_alone, mariadb_plugin};
use crate::sql_server::SqlSession;
use crate::transcript::{Transcript, run, sealstone};

const PLUGIN: &str = "libsealstone_mariadb.so";

/// Time in which the server's threads have everything under a new version.
pub const ROTATION_LIMIT: Duration = Duration::from_secs(120);

/// Program that makes backups.
const BACKUP: &str = "mariabackup";

/// Options beyond those of `mysql config`: little memory, so that pages are written early.
const MORE: [&str; 2] = ["--log-bin=binlog", "--innodb-buffer-pool-size=16M"];

/// A directory for a server that encrypts with our plug-in: `server`, the key file `k.key`, and the
/// plug-in where the server's user reaches it.
pub struct MariaDbPlace {
    home: tempfile::TempDir,
}

/// Flags of commands where a module has to compute.
fn within() -> &'static [&'static str] {
    if is_alone() { &["--module", "openssl:default"] } else { &[] }
}

impl Default for MariaDbPlace {
    fn default() -> Self {
        Self::new()
    }
}

impl MariaDbPlace {
    /// Makes them.
    #[must_use]
    pub fn new() -> Self {
        let place = Self { home: reachable() };
        fs::create_dir(place.at("plugins")).expect("a new directory");
        // the server runs as a user of its own
        let plugin = mariadb_plugin();
        fs::copy(plugin, place.at("plugins").join(PLUGIN)).expect("a copy");
        place.sealstone(&[&["keys", "new", "k.key"], within()].concat()).done();
        place
    }

    /// Returns the path of `name` there.
    #[must_use]
    pub fn at(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Runs a command there.
    pub fn sealstone(&self, arguments: &[&str]) -> Transcript {
        run(&mut sealstone(self.home.path(), arguments))
    }

    /// Returns what `mysql check` finds in `dir`.
    #[must_use]
    pub fn account(&self, dir: &str) -> serde_json::Value {
        let said = self.sealstone(&["mysql", "check", dir, "--json"]).stdout;
        serde_json::from_str(&said).expect("JSON")
    }

    /// Returns the options that `mysql config` prints, with `settings`, which win.
    #[must_use]
    pub fn options(&self, settings: &[String]) -> MariaDbOptions {
        let plugin = self.at("plugins").join(PLUGIN);
        let config =
            ["mysql", "config", "--datadir", "/d", "--key", "k.key", "--cipher", "aria-256"];
        let plugin = ["--extension", plugin.to_str().expect("a plain path")];
        let printed = self.sealstone(&[&config[..], &plugin, within()].concat()).done();
        // the settings are the caller's
        let is_general =
            |line: &&str| !line.starts_with("datadir") && !line.starts_with("sealstone_");
        let lines = printed.lines().filter(|line| line.contains('=')).filter(is_general);
        let printed = lines.map(|line| format!("--{}", line.replace('"', "")));
        MariaDbOptions {
            password: Some("geheim".into()),
            arguments: printed
                .chain(MORE.map(str::to_owned))
                .chain(settings.iter().cloned())
                .collect(),
            ..MariaDbOptions::default()
        }
    }

    /// Returns settings of the plug-in: the key file `key`, and `cipher`.
    #[must_use]
    pub fn settings(&self, key: &str, cipher: &str) -> Vec<String> {
        vec![
            format!("--sealstone-key={}", self.at(key).display()),
            format!("--sealstone-cipher={cipher}"),
            "--sealstone-refresh-seconds=1".into(),
        ]
    }

    /// Makes a backup of the server in `server`, which listens at `address`, and prepares it as the
    /// data directory of one in `copy`.
    ///
    /// # Panics
    /// If that fails.
    pub fn back_up(&self, address: &str) {
        fs::create_dir_all(self.at("copy/tmp")).expect("a new directory");
        let port = address.rsplit_once(':').expect("an address").1;
        let reached = ["--backup", "--host=127.0.0.1", "--user=sealstone", "--password=geheim"];
        let data = format!("--datadir={}", self.at("server/data").display());
        let reached = reached.map(String::from).into_iter();
        self.backup(&reached.chain([format!("--port={port}"), data]).collect::<Vec<_>>());
        self.backup(&["--prepare".into()]);
        // what the copy has of its own is its accounts' password alone
        for name in ["first.sql", "client.cnf"] {
            fs::copy(self.at("server").join(name), self.at("copy").join(name)).expect("a copy");
        }
        let owner = fs::metadata(self.at("server/data")).expect("a data directory");
        let owner = format!("{}:{}", owner.uid(), owner.gid());
        let own = ["copy/data", "copy/tmp"].map(|name| self.at(name));
        let given = Command::new("chown").arg("-R").arg(owner).args(own).status().expect("chown");
        assert!(given.success(), "the copy has no owner");
    }

    /// Runs `mariabackup`, which must succeed.
    fn backup(&self, arguments: &[String]) {
        let plugins = format!("--plugin-dir={}", self.at("plugins").display());
        let target = format!("--target-dir={}", self.at("copy/data").display());
        let mut command = Command::new(BACKUP);
        let output = command.args(arguments).args([target, plugins]).output().expect(BACKUP);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("completed OK!"), "{arguments:?}: {said}");
    }

    /// Returns the server's log.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.at("server/mariadb.log")).unwrap_or_default()
    }

    /// Returns the lines of ours in the server's log.
    #[must_use]
    pub fn said(&self) -> Vec<String> {
        let ours = |line: &str| Some(line.split_once("sealstone: ")?.1.to_owned());
        self.log().lines().filter_map(ours).collect()
    }
}

/// Waits until the server's threads have every tablespace under the newest version of the key.
///
/// # Panics
/// If that takes longer than [`ROTATION_LIMIT`].
pub fn wait_until_under_newest(session: &mut SqlSession) {
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
        thread::sleep(Duration::from_millis(300));
    }
}

/// Runs statements, none of which may fail.
pub fn does(session: &mut SqlSession, statements: &str) {
    let answer = session.ask(statements);
    let refused = answer.iter().flatten().find(|value| value.contains("ERROR"));
    assert_eq!(refused, None, "{statements}");
}

/// Sets a flag when it ends, in a failed test, too, so that no thread waits for it for ever.
pub struct Sets<'a>(pub &'a AtomicBool);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Copies a file, which then belongs to the owner of the one beside it.
///
/// # Panics
/// If that fails.
pub fn copy_as(from: &Path, to: &Path) {
    fs::copy(from, to).expect("a copy");
    let owner = fs::metadata(from).expect("a file");
    chown(to, Some(owner.uid()), Some(owner.gid())).expect("an owner");
}

/// Returns whether backups can be made of the server; otherwise prints that the test `name` is
/// skipped. A program of another series refuses its redo log.
#[must_use]
pub fn can_back_up(name: &str) -> bool {
    let Some(own) = series(BACKUP.as_ref()) else {
        println!("SKIP: {name}: no {BACKUP} is installed; make setup-mariadb installs it");
        return false;
    };
    let server = MARIADB_PROGRAM.find(None).ok().and_then(|program| series(&program));
    let fits = server.as_ref() == Some(&own);
    if !fits {
        let server = server.unwrap_or_else(|| "an unknown series".into());
        println!("SKIP: {name}: {BACKUP} is of MariaDB {own}, and the server of {server}");
    }
    fits
}

/// Returns the series that the program of MariaDB's reports as its own, such as 10.11.
fn series(program: &Path) -> Option<String> {
    let output = Command::new(program).args(["--no-defaults", "--version"]).output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let version = said.split_whitespace().find(|word| word.contains("-MariaDB"))?;
    let mut numbers = version.split('.');
    Some(format!("{}.{}", numbers.next()?, numbers.next()?))
}
