//! A place for a mongod that seals with our extension, as the tests of that have it.

use std::fs;
use std::path::{Path, PathBuf};

use bson::{Binary, Document, doc, spec::BinarySubtype};
use sealstone_servers::MONGOD_PROGRAM;
use sealstone_servers::testing::is_installed;
use tempfile::TempDir;

use crate::binary::wiredtiger_extension;
use crate::mongod::{Dead, Mongod, data_dir};
use crate::wiredtiger_files::files;

/// Contained in every document.
pub const MARKER: &[u8] = b"PLAINTEXT-MARKER-7141";

/// The directory of a server, with its key file next to its data.
pub struct DataDirectory {
    dir: TempDir,
}

impl DataDirectory {
    /// Returns `None`, with a SKIP for `test`, if there is no mongod.
    ///
    /// # Panics
    /// If there is no room.
    #[must_use]
    pub fn new(test: &str) -> Option<Self> {
        if !is_installed(&MONGOD_PROGRAM, test) {
            return None;
        }
        Some(Self { dir: tempfile::tempdir().expect("a directory") })
    }

    /// Returns the directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Returns the path of the server's data in it.
    #[must_use]
    pub fn db(&self) -> PathBuf {
        data_dir(self.dir())
    }

    /// Returns the path of the key file in it.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.dir().join("orders.key")
    }

    /// Starts the server with the options `engine` for WiredTiger.
    ///
    /// # Errors
    /// The output of one that does not start.
    pub fn start(&self, engine: &str) -> Result<Mongod, Dead> {
        Mongod::start(self.dir(), engine)
    }

    /// Starts the server with the key file and `cipher`.
    ///
    /// # Panics
    /// If it does not start.
    #[must_use]
    pub fn sealed(&self, cipher: &str) -> Mongod {
        match self.start(&engine(&self.key().display().to_string(), cipher, "orders", "")) {
            Ok(server) => server,
            Err(dead) => panic!("mongod does not start:\n{}", dead.log),
        }
    }

    /// Starts it with another key, cipher or key id, which must be refused with `what`, before
    /// anything else fails.
    ///
    /// # Panics
    /// If it starts, or fails otherwise.
    pub fn refused(&self, engine: &str, what: &str) {
        match self.start(engine) {
            Ok(_) => panic!("mongod started, and was to refuse: {what}"),
            Err(dead) => dead.assert_says_first(what),
        }
    }
}

/// Returns options for WiredTiger: our extension with the key file `key` and `cipher`, or without
/// one, sealing under `keyid`; `more` are further settings, each after a comma.
#[must_use]
pub fn engine(key: &str, cipher: &str, keyid: &str, more: &str) -> String {
    let extension = wiredtiger_extension().display();
    let cipher = if cipher.is_empty() { String::new() } else { format!(",cipher={cipher}") };
    format!(
        "extensions=[{extension}=(early_load=true,config=(key=\"{key}\"{cipher}{more}))],\
         encryption=(name=sealstone,keyid=\"{keyid}\")"
    )
}

/// Returns documents numbered from `first` on, each with the marker and some bytes that do not
/// compress.
#[must_use]
pub fn documents(first: i32, count: i32) -> Vec<Document> {
    let one = |n: i32| {
        let mut state = n as u64 + 1;
        let mut noise = Vec::new();
        for _ in 0..40 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            noise.extend((state >> 24).to_le_bytes());
        }
        let noise = Binary { subtype: BinarySubtype::Generic, bytes: noise };
        let name = format!("{}-{n}", std::str::from_utf8(MARKER).expect("text"));
        doc! { "_id": n, "name": name, "group": n % 10, "noise": noise }
    };
    (first..first + count).map(one).collect()
}

/// Inserts `count` documents from `first` on.
pub fn load(server: &Mongod, first: i32, count: i32) {
    for from in (first..first + count).step_by(1000) {
        server.insert("orders", documents(from, 1000.min(first + count - from)));
    }
}

/// Returns the files in `dir` that hold the marker.
///
/// # Panics
/// If one cannot be read.
#[must_use]
pub fn with_marker(dir: &Path) -> Vec<PathBuf> {
    let holds =
        |file: &PathBuf| memchr::memmem::find(&fs::read(file).expect("a file"), MARKER).is_some();
    files(dir).into_iter().filter(holds).collect()
}
