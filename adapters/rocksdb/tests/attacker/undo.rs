//! Tests of the remaining attacks with older copies of files: how few of them undo later writes,
//! and how an anchor changes that. SECURITY.md describes this, and these tests are the proof.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_rocksdb::{Db, DbOptions, Error, FileAnchor, SealedEnv, Sealing, rest};

use super::{Content, Files, Site, files, put, read, scratch};

const CATALOGUES: [&str; 2] = ["SEALSTONE-CATALOGUE-1", "SEALSTONE-CATALOGUE-2"];

fn open(site: &Site, dir: &Path, anchor: Option<&Path>) -> Result<Db, Error> {
    let mut sealing = Sealing::new(site.keys.clone(), cipher("aes-256").unwrap(), Backend::auto());
    sealing.anchor = anchor.map(|path| Arc::new(FileAnchor::new(path)) as _);
    SealedEnv::with(sealing).open(dir, &DbOptions::default())
}

fn is_whole(site: &Site, dir: &Path) -> bool {
    rest::verify(dir, &*site.keys, Backend::auto(), None, &mut |_| ()).unwrap().is_whole()
}

/// Returns the files whose names end or begin like this.
fn named<'a>(files: &'a Files, part: &'a str) -> impl Iterator<Item = &'a str> {
    files
        .keys()
        .map(String::as_str)
        .filter(move |name| name.ends_with(part) || name.starts_with(part))
}

#[test]
fn three_files_undo_a_log_and_four_a_flush() {
    let site = Site { scratch: scratch(), keys: Arc::new(EphemeralKey::new().unwrap()) };
    let (dir, anchor) = (site.scratch.path().join("db"), site.scratch.path().join("anchor"));
    let db = open(&site, &dir, Some(&anchor)).unwrap();
    put(&db, 0..10, 1);
    let before = read(&db).unwrap();
    let older = files(&dir);
    put(&db, 5..20, 2);
    let in_the_log = read(&db).unwrap();
    let (logged, mark) = (files(&dir), fs::read(&anchor).unwrap());
    db.flush().unwrap();
    put(&db, 20..30, 3);
    db.close().unwrap();
    let now = files(&dir);

    // the files in `back` from `older`, and all others from `newer`
    let undone = |newer: &Files, back: &[&str]| {
        let mut undone = newer.clone();
        back.iter().for_each(|name| drop(undone.insert((*name).to_owned(), older[*name].clone())));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir(&dir).unwrap();
        undone.iter().for_each(|(name, stored)| fs::write(dir.join(name), stored).unwrap());
    };
    let holds =
        |anchor: Option<&Path>| -> Result<Content, Error> { read(&open(&site, &dir, anchor)?) };
    let log = named(&older, ".log").next().unwrap();
    let manifest = named(&older, "MANIFEST-").next().unwrap();

    // before the flush: the log and both catalogues. The anchor is written when files come and go,
    // and does not help
    undone(&logged, &[log, CATALOGUES[0], CATALOGUES[1]]);
    fs::write(&anchor, &mark).unwrap();
    assert!(is_whole(&site, &dir));
    assert!(
        holds(Some(&anchor)).unwrap() == before,
        "three files of one opening undo what was written to its log"
    );
    undone(&logged, &[log, CATALOGUES[0]]);
    assert!(holds(None).is_err(), "two do not");

    // after it: the manifest, too, and newer files are removed
    let four = [log, manifest, CATALOGUES[0], CATALOGUES[1]];
    let made_since: Vec<&String> = now.keys().filter(|name| !older.contains_key(*name)).collect();
    let mut rest = now.clone();
    made_since.iter().for_each(|name| drop(rest.remove(*name)));
    undone(&rest, &four);
    assert!(is_whole(&site, &dir));
    assert!(holds(None).unwrap() == before && before != in_the_log, "four undo the flush");
    undone(&rest, &four);
    let error = holds(Some(&anchor)).unwrap_err().to_string();
    assert!(error.contains("older than its anchor"), "an anchor tells: {error}");
    undone(&rest, &four[..3]);
    assert!(holds(None).is_err(), "three do not");
}
