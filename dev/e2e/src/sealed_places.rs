//! Sealed places of several kinds in one directory, for tests of what looks at all of them: a
//! store, a volume, a file with a sealed column, under one key.

use std::fs;
use std::path::Path;

use sealstone_rocksdb::{DbOptions, PlainEnv};
use tempfile::TempDir;

use crate::transcript::{Transcript, run, sealstone};

/// A text that must not be in the clear.
pub const MARKER: &str = "PLANTED-MARKER-q7Zx2";
/// A file with that text.
const PEOPLE: &str = "id,name,memo\n1,Kim,call before noon\n2,Lee,PLANTED-MARKER-q7Zx2\n";

/// Runs `sealstone` in `dir` with the words of `line`.
pub fn call(dir: &Path, line: &str) -> Transcript {
    run(&mut sealstone(dir, &line.split(' ').collect::<Vec<_>>()))
}

/// Makes a store of some records in the clear.
///
/// # Panics
/// Without room.
pub fn plain_store(dir: &Path) {
    let text = "create_if_missing=true;compression=kNoCompression".into();
    let options = DbOptions { text, ..DbOptions::default() };
    let db = PlainEnv::new().open(dir, &options).expect("a plain store");
    for n in 0..500 {
        db.put(format!("order{n:05}").as_bytes(), MARKER.as_bytes(), false).expect("room");
    }
    db.flush().expect("room");
    db.close().expect("a clean end");
}

/// Returns a directory with the key `orders.key`, the sealed store `db`, the volume `vol` and the
/// sealed file `files/people.csv`.
///
/// # Panics
/// If something cannot be sealed.
#[must_use]
pub fn sealed() -> TempDir {
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path();
    call(dir, "keys new orders.key --id orders").done();
    plain_store(&dir.join("db"));
    let reseal = "rest reseal db --key orders.key --cipher aria-256 --from-plain --yes";
    call(dir, reseal).done();
    call(dir, "volume create vol --size 16MiB --key orders.key --cipher lea-256").done();
    fs::create_dir(dir.join("files")).expect("room");
    fs::write(dir.join("people.csv"), PEOPLE).expect("room");
    let seal = "field seal people.csv --column memo=aead --cipher seed-128 --key orders.key";
    call(dir, &format!("{seal} --out files/people.csv")).done();
    fs::remove_file(dir.join("people.csv")).expect("it is there");
    home
}
