//! A place for a MariaDB that encrypts with our plug-in, as the tests of that have it. Not here:
//! the tests (`tests/mariadb_plugin.rs`, `tests/mariadb_pages.rs`).

use std::fs;
use std::path::PathBuf;

use sealstone_servers::MariaDbOptions;
use sealstone_servers::testing::reachable;

use crate::binary::mariadb_plugin;
use crate::sql_server::SqlSession;
use crate::transcript::{Transcript, run, sealstone};

const PLUGIN: &str = "libsealstone_mariadb.so";

/// Options beyond those of `mysql config`: little memory, so that pages are written early.
const MORE: [&str; 2] = ["--log-bin=binlog", "--innodb-buffer-pool-size=16M"];

/// A directory for a server that encrypts with our plug-in: `server`, the key file `k.key`, and the
/// plug-in where the server's user reaches it.
pub struct MariaDbPlace {
    home: tempfile::TempDir,
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
        place.sealstone(&["keys", "new", "k.key"]).done();
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
            ["mysql", "config", "--datadir", "/d", "--key", "k.key", "--cipher", "lea-256"];
        let plugin = ["--extension", plugin.to_str().expect("a plain path")];
        let printed = self.sealstone(&[&config[..], &plugin].concat()).done();
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

/// Runs statements, none of which may fail.
pub fn does(session: &mut SqlSession, statements: &str) {
    let answer = session.ask(statements);
    let refused = answer.iter().flatten().find(|value| value.contains("ERROR"));
    assert_eq!(refused, None, "{statements}");
}
