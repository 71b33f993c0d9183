//! RocksDB's own program `ldb`, which makes plain stores and lists their records: the judge of
//! input and output.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::transcript::{Transcript, finish, run};

/// Records, key and value each, in the order of a store.
pub type Records = Vec<(Vec<u8>, Vec<u8>)>;

/// An `ldb` that was found.
#[derive(Clone, Debug)]
pub struct Ldb(PathBuf);

impl Ldb {
    /// Returns the program on the search path; none, with a line that is counted as a skip of
    /// `test`, where there is none.
    #[must_use]
    pub fn find(test: &str) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path)
            .map(|dir| dir.join("ldb"))
            .find(|program| program.is_file());
        if found.is_none() {
            println!("SKIP: {test}: no ldb here; make setup-rocksdb-tools installs it");
        }
        found.map(Self)
    }

    /// Runs it on the store in `dir`.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn run(&self, dir: &Path, arguments: &[&str]) -> Transcript {
        run(self.command(dir, arguments).stdin(Stdio::null()))
    }

    fn command(&self, dir: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.0);
        command.arg(format!("--db={}", dir.display())).args(arguments);
        command
    }

    /// Loads `text`, a line `key ==> value` in hexadecimal digits for each record, into column
    /// family `family`.
    ///
    /// # Panics
    /// If it does not take it.
    pub fn load(&self, dir: &Path, family: &str, more: &[&str], text: &str) {
        let family = format!("--column_family={family}");
        let mut command = self.command(dir, &[&["load", "--hex", &family], more].concat());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("ldb starts");
        child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("ldb reads");
        let said = finish(child);
        assert!(said.code == Some(0) && !said.stderr.contains("Failed"), "{said:?}");
    }

    /// Returns every record of column family `family`.
    ///
    /// # Panics
    /// If it cannot read the store.
    #[must_use]
    pub fn records(&self, dir: &Path, family: &str) -> Records {
        let said = self.run(dir, &["scan", "--hex", &format!("--column_family={family}")]).done();
        said.lines()
            .map(|line| pair(line, " : ").unwrap_or_else(|| panic!("ldb says {line}")))
            .collect()
    }

    /// Returns the names of the column families.
    ///
    /// # Panics
    /// If it cannot read the store.
    #[must_use]
    pub fn families(&self, dir: &Path) -> Vec<String> {
        let said = self.run(dir, &["list_column_families"]).done();
        let list = said
            .split_once('{')
            .and_then(|(_, rest)| rest.split_once('}'))
            .expect("a list in braces")
            .0;
        list.split(',').map(|name| name.trim().to_owned()).collect()
    }
}

/// Returns the record of a line in hexadecimal digits, key and value separated by `separator`.
#[must_use]
pub fn pair(line: &str, separator: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let (key, value) = line.split_once(separator)?;
    Some((bytes(key)?, bytes(value)?))
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?;
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect()
}

/// Returns the line `key ==> value` of a record in hexadecimal digits, with its end.
#[must_use]
pub fn line(key: &[u8], value: &[u8]) -> String {
    let digits = |bytes: &[u8]| {
        bytes.iter().fold(String::from("0x"), |text, byte| text + &format!("{byte:02X}"))
    };
    format!("{} ==> {}\n", digits(key), digits(value))
}
