//! An anchor outside the store: an older copy of all its files is an error, and so is another store, or none.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::backend::Backend;
use sealstone_cipher::registry;
use sealstone_keys::ephemeral::EphemeralKey;
use sealstone_rocksdb::anchor::FileAnchor;
use sealstone_rocksdb::{Db, DbOptions, Error, SealedEnv, Sealing};

fn open(keys: &Arc<EphemeralKey>, dir: &Path, anchor: Option<&Path>) -> Result<Db, Error> {
    let mut sealing = Sealing::new(keys.clone(), registry::cipher("aes-256").unwrap(), Backend::auto());
    sealing.anchor = anchor.map(|path| Arc::new(FileAnchor::new(path)) as _);
    SealedEnv::with(sealing).open(dir, &DbOptions::default())
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn an_older_copy_of_the_whole_store_is_refused_with_an_anchor() {
    let scratch = tempfile::tempdir().unwrap();
    let path = |name: &str| scratch.path().join(name);
    let (dir, anchor, keys) = (path("db"), path("anchor"), Arc::new(EphemeralKey::new().unwrap()));
    let db = open(&keys, &dir, Some(&anchor)).unwrap();
    db.put(b"key", b"old", true).unwrap();
    db.close().unwrap();
    copy(&dir, &path("older"));
    for value in [b"new", b"now"] {
        let db = open(&keys, &dir, Some(&anchor)).unwrap();
        db.put(b"key", value, true).unwrap();
        db.close().unwrap();
    }
    copy(&path("older"), &path("db2"));
    let error = open(&keys, &path("db2"), Some(&anchor)).unwrap_err().to_string();
    assert!(error.contains("older than its anchor") && error.contains("remove the anchor first"), "{error}");
    // without an anchor nobody can tell: it was genuine once
    let db = open(&keys, &path("db2"), None).unwrap();
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"old");
    drop(db);
    // another store, and an empty directory where there was one
    drop(open(&keys, &path("other"), None).unwrap());
    for dir in ["other", "nothing"] {
        let error = open(&keys, &path(dir), Some(&anchor)).unwrap_err().to_string();
        assert!(error.contains("older than its anchor"), "{dir}: {error}");
    }
    // an anchor that is a step behind, as after a crash, is no error
    let db = open(&keys, &dir, Some(&anchor)).unwrap();
    let behind = fs::read(&anchor).unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    fs::write(&anchor, behind).unwrap();
    assert_eq!(open(&keys, &dir, Some(&anchor)).unwrap().get(b"key").unwrap().unwrap(), b"now");
    fs::write(&anchor, "rubbish").unwrap();
    assert!(open(&keys, &dir, Some(&anchor)).unwrap_err().to_string().contains("is no anchor of a store"));
}
