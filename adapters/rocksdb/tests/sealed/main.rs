//! Tests of sealing through a real database, of its protection and of normal operation: damage of
//! every kind to every kind of file, wrong keys, crashes, and RocksDB's own ways of copying data
//! around. Not here: mutations by the thousand and kills under load (`dev/e2e`).

mod crashes;
mod damage;
mod directories;
mod engine;
#[path = "../site/mod.rs"]
mod site;

use std::fs;
use std::path::{Path, PathBuf};

use sealstone_cipher::Backend;
use sealstone_rocksdb::{Bottommost, Db, DbOptions, Error, Range, Sealing, TABLE_PAGE_BYTES};
use site::Site;

/// Length of a page of a table with its tag.
pub(crate) const STRIDE: u64 = TABLE_PAGE_BYTES as u64 + 16;
pub(crate) const HEADER: u64 = 8192;
/// Part of every value, so that it would be found if anything were stored in the clear.
pub(crate) const MARKER: &str = "PLAINTEXT-MARKER";

impl Site {
    pub(crate) fn sealing(&self, cipher: &str) -> Sealing {
        Sealing::new(self.keys.clone(), sealstone_cipher::cipher(cipher).unwrap(), Backend::auto())
    }

    pub(crate) fn open(&self, name: &str) -> Result<Db, Error> {
        self.env().open(&self.path(name), &options())
    }

    /// A database of 2000 entries in one table file, closed.
    pub(crate) fn filled(&self, name: &str) {
        let db = self.open(name).unwrap();
        fill(&db, 0..2000, 0);
        db.flush().unwrap();
        db.compact(Bottommost::Rewrite).unwrap();
        db.close().unwrap();
    }
}

pub(crate) fn options() -> DbOptions {
    let mut options = DbOptions { cache_bytes: Some(1 << 20), ..DbOptions::default() };
    options.text.push_str(";compression=kNoCompression;max_background_jobs=2");
    options
}

pub(crate) fn key(n: u32) -> Vec<u8> {
    format!("key{n:08}").into_bytes()
}

pub(crate) fn value(n: u32, generation: u32) -> Vec<u8> {
    format!("{MARKER} {n} {generation} {}", "x".repeat(60)).into_bytes()
}

pub(crate) fn fill(db: &Db, range: std::ops::Range<u32>, generation: u32) {
    for n in range {
        db.put(&key(n), &value(n, generation), false).unwrap();
    }
}

/// Reads everything; the first error, or how many entries there are. Never accepts a wrong value.
pub(crate) fn read_all(db: &Db, generation: u32) -> Result<u32, Error> {
    let mut entries = db.iterator(Range::default());
    entries.first();
    let mut count = 0;
    while let Some((found, stored)) = entries.entry() {
        let n: u32 = std::str::from_utf8(&found[3..]).unwrap().parse().unwrap();
        assert_eq!(stored, value(n, generation), "wrong data was returned");
        count += 1;
        entries.advance();
    }
    entries.status().map(|()| count)
}

pub(crate) fn files(dir: &Path, accept: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| accept(path.file_name().unwrap().to_str().unwrap()))
        .collect();
    found.sort();
    found
}

pub(crate) fn tables(dir: &Path) -> Vec<PathBuf> {
    files(dir, |name| name.ends_with(".sst"))
}

pub(crate) fn logs(dir: &Path) -> Vec<PathBuf> {
    files(dir, |name| name.ends_with(".log"))
}

/// Opens `name` and reads all of it; returns the error, which there must be, and which must name
/// `file` and `what`.
pub(crate) fn must_fail(site: &Site, name: &str, file: &Path, what: &str) -> Error {
    let error = match site.open(name) {
        Err(error) => error,
        Ok(db) => read_all(&db, 0).expect_err("damage went unnoticed"),
    };
    let file = file.file_name().unwrap().to_str().unwrap();
    assert!(
        error.text.contains(file) && error.text.contains(what),
        "want {file} and {what:?} in: {error}"
    );
    assert!(!error.text.contains(MARKER), "{error}");
    error
}

pub(crate) fn change(path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    edit(&mut bytes);
    fs::write(path, bytes).unwrap();
}

pub(crate) fn page_range(page: u64) -> std::ops::Range<usize> {
    let start = HEADER + page * STRIDE;
    start as usize..(start + STRIDE) as usize
}

/// Returns a database that was never closed: its files as a crash would leave them, in a copy.
pub(crate) fn crashed(site: &Site, name: &str, entries: u32) -> PathBuf {
    let db = site.open("live").unwrap();
    fill(&db, 0..entries, 0);
    copy(&site.path("live"), &site.path(name))
}

pub(crate) fn copy(from: &Path, to: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for file in files(from, |file| file != "LOCK") {
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
    to.to_owned()
}
