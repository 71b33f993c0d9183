//! Stores that RocksDB's own programs write and read through our plug-in: `ldb` and `db_bench` of
//! Debian's `rocksdb-tools`, and programs in other languages with the same library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sealstone_keys::KeyFile;
use tempfile::TempDir;

use crate::binary::rocksdb_plugin;
use crate::transcript::{Transcript, plain, run, sealstone};

/// Is in values that tests store, and must not be in any file.
pub const MARKER: &str = "PLAINTEXT-MARKER-7141";

/// A store in its own directory, with its key file next to it.
pub struct Store {
    dir: TempDir,
}

impl Store {
    /// None yet, but its key file; `None`, with a SKIP for `test`, where a program of `programs` is
    /// missing.
    ///
    /// # Panics
    /// If no directory can be made.
    #[must_use]
    pub fn new(test: &str, programs: &[&str]) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let has =
            |program: &&str| std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
        if let Some(missing) = programs.iter().find(|program| !has(program)) {
            println!(
                "SKIP: {test}: no {missing} here; sh dev/setup.sh rocksdb-tools installs RocksDB's \
                 own"
            );
            return None;
        }
        let dir = tempfile::tempdir().expect("a directory");
        KeyFile::create(dir.path().join("store.key"), "orders").expect("a key file");
        Some(Self { dir })
    }

    /// Returns the directory that contains everything.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the store's directory.
    #[must_use]
    pub fn db(&self) -> PathBuf {
        self.dir().join("db")
    }

    /// Returns the key file.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.dir().join("store.key")
    }

    /// Returns the settings of the store with `more`, such as `&cipher=aes-256`.
    #[must_use]
    pub fn settings(&self, more: &str) -> String {
        format!("key={}{more}", self.key().display())
    }

    /// Returns `program` with our plug-in loaded, which is not started yet.
    #[must_use]
    pub fn with_plugin(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = plain(Path::new(program), self.dir(), arguments);
        command.env("LD_PRELOAD", rocksdb_plugin()).env_remove("SEALSTONE_PASSPHRASE_FILE");
        command
    }

    /// Runs `ldb` on the store, whose file system is `sealstone://?SETTINGS`.
    #[must_use]
    pub fn ldb(&self, settings: &str, arguments: &[&str]) -> Transcript {
        let (db, uri) =
            (format!("--db={}", self.db().display()), format!("--fs_uri=sealstone://?{settings}"));
        run(&mut self.with_plugin("ldb", &[&[db.as_str(), &uri], arguments].concat()))
    }

    /// Returns `db_bench` on the store with `benchmarks`, which is not started yet.
    #[must_use]
    pub fn db_bench(&self, settings: &str, benchmarks: &str, arguments: &[&str]) -> Command {
        let own = [
            format!("--db={}", self.db().display()),
            format!("--fs_uri=sealstone://?{settings}"),
            format!("--benchmarks={benchmarks}"),
            "--compression_type=none".into(),
        ];
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        self.with_plugin("db_bench", &[&own, arguments].concat())
    }

    /// Asserts that the command line finds the store sealed with `cipher`, and all of it whole.
    ///
    /// # Panics
    /// If it is not.
    pub fn assert_sealed(&self, cipher: &str) {
        let db = self.db().display().to_string();
        let status = run(&mut sealstone(self.dir(), &["rest", "status", &db])).done();
        assert!(
            status.contains(cipher) && status.contains("every file that is not empty is sealed"),
            "{status}"
        );
        let key = self.key().display().to_string();
        let whole = run(&mut sealstone(self.dir(), &["rest", "verify", &db, "--key", &key])).done();
        assert!(whole.ends_with(": all of it is sealed and whole\n"), "{whole}");
        self.assert_nothing_in_the_clear();
    }

    /// Asserts that the marker is in no file.
    ///
    /// # Panics
    /// If it is in one.
    pub fn assert_nothing_in_the_clear(&self) {
        for file in files_below(self.dir()) {
            let bytes = fs::read(&file).expect("a readable file");
            let found = bytes.windows(MARKER.len()).any(|window| window == MARKER.as_bytes());
            assert!(!found, "{} is in the clear", file.display());
        }
    }
}

/// Returns every file in `dir` and the directories below.
#[must_use]
fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a readable directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found
}
