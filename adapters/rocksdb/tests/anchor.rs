//! An anchor outside the store: an older copy of all its files is an error, and so is another
//! store, or none.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_rocksdb::{
    Anchor, AnchorError, AnchorMark, Db, DbOptions, Error, FileAnchor, SealedEnv, Sealing,
};

fn open(keys: &Arc<EphemeralKey>, dir: &Path, anchor: Option<&Path>) -> Result<Db, Error> {
    open_with(keys, dir, anchor.map(|path| Arc::new(FileAnchor::new(path)) as _))
}

fn open_with(
    keys: &Arc<EphemeralKey>,
    dir: &Path,
    anchor: Option<Arc<dyn Anchor>>,
) -> Result<Db, Error> {
    let mut sealing = Sealing::new(keys.clone(), cipher("aes-256").unwrap(), Backend::auto());
    sealing.anchor = anchor;
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
    assert!(
        error.contains("older than its anchor") && error.contains("remove the anchor first"),
        "{error}"
    );
    // without an anchor this is undetectable: it was genuine once
    let db = open(&keys, &path("db2"), None).unwrap();
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"old");
    drop(db);
    // another store, and an empty directory where there was one
    drop(open(&keys, &path("other"), None).unwrap());
    for dir in ["other", "nothing"] {
        let error = open(&keys, &path(dir), Some(&anchor)).unwrap_err().to_string();
        assert!(error.contains("older than its anchor"), "{dir}: {error}");
    }
    // an anchor that is a step behind, as after a crash, is not an error
    let db = open(&keys, &dir, Some(&anchor)).unwrap();
    let behind = fs::read(&anchor).unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    fs::write(&anchor, behind).unwrap();
    assert_eq!(open(&keys, &dir, Some(&anchor)).unwrap().get(b"key").unwrap().unwrap(), b"now");
    fs::write(&anchor, "rubbish").unwrap();
    assert!(
        open(&keys, &dir, Some(&anchor))
            .unwrap_err()
            .to_string()
            .contains("is not an anchor of a store")
    );
}

/// An anchor on storage that fails after a number of writes.
struct Failing {
    anchor: FileAnchor,
    left: AtomicUsize,
}

impl Anchor for Failing {
    fn read(&self) -> Result<Option<AnchorMark>, AnchorError> {
        self.anchor.read()
    }

    fn write(&self, mark: &AnchorMark) -> Result<(), AnchorError> {
        if self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
            .is_err()
        {
            return Err(AnchorError("cannot write the anchor: no space left on device".into()));
        }
        self.anchor.write(mark)
    }

    fn describe(&self) -> String {
        self.anchor.describe()
    }
}

#[test]
fn an_anchor_that_cannot_be_written_is_an_error_and_costs_nothing_that_was_acknowledged() {
    let keys = Arc::new(EphemeralKey::new().unwrap());
    let mut ended = Vec::new();
    // until there is room for everything that is written
    for writes in 0..100 {
        let scratch = tempfile::tempdir().unwrap();
        let (dir, path) = (scratch.path().join("db"), scratch.path().join("anchor"));
        let failing = Failing { anchor: FileAnchor::new(&path), left: AtomicUsize::new(writes) };
        let mut acknowledged = 0;
        let failed = match open_with(&keys, &dir, Some(Arc::new(failing))) {
            Err(error) => Some(error),
            Ok(db) => {
                let write = |n: u8| {
                    db.put(&[n], b"value", true)?;
                    if n % 3 == 2 { db.flush() } else { Ok(()) }
                };
                (0..12).find_map(|n| write(n).map(|()| acknowledged = n + 1).err())
            }
        };
        if let Some(error) = &failed {
            assert!(
                error.text.contains("cannot write the anchor: no space left"),
                "{writes}: {error}"
            );
        }
        ended.push((failed.is_some(), acknowledged));
        // there is room again
        let db = open(&keys, &dir, Some(&path)).unwrap();
        for n in 0..acknowledged {
            assert_eq!(
                db.get(&[n]).unwrap().as_deref(),
                Some(&b"value"[..]),
                "{writes}: {n} of {acknowledged}"
            );
        }
        if failed.is_none() {
            break;
        }
    }
    assert!(ended[0].0 && ended[0].1 == 0, "{ended:?}");
    assert!(ended.iter().any(|(failed, acknowledged)| *failed && *acknowledged > 3), "{ended:?}");
    assert!(!ended.last().unwrap().0, "{ended:?}");
}
