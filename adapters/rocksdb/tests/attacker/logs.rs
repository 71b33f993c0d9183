//! Directories of logs separate from their database (`wal_dir`): replacements of the whole
//! directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_rocksdb::{Code, Db, DbOptions, Error, SealedEnv, Sealing, rest};

use super::{Site, put, read, scratch};

fn site() -> Site {
    Site { scratch: scratch(), keys: Arc::new(EphemeralKey::new().unwrap()) }
}

fn env(site: &Site) -> SealedEnv {
    SealedEnv::with(Sealing::new(site.keys.clone(), cipher("aes-256").unwrap(), Backend::auto()))
}

/// The directories of a database and of its logs.
struct Apart {
    dir: PathBuf,
    logs: PathBuf,
}

impl Apart {
    fn new(site: &Site, name: &str) -> Self {
        let place = site.scratch.path().join(name);
        fs::create_dir(&place).unwrap();
        Self { dir: place.join("db"), logs: place.join("logs") }
    }

    fn open(&self, env: &SealedEnv) -> Result<Db, Error> {
        let text = format!("create_if_missing=true;wal_dir={}", self.logs.display());
        env.open(&self.dir, &DbOptions { text, ..DbOptions::default() })
    }

    /// Writes ten records into tables and ten into the log.
    fn fill(&self, site: &Site) {
        for records in [0..10, 10..20] {
            let db = self.open(&env(site)).unwrap();
            put(&db, records, 1);
            db.close().unwrap();
        }
    }
}

fn remove(path: &Path) {
    let _ = fs::remove_dir_all(path).or_else(|_| fs::remove_file(path));
}

#[test]
fn a_directory_of_logs_is_missed_whatever_stands_in_its_place() {
    let site = site();
    let (store, other) = (Apart::new(&site, "store"), Apart::new(&site, "other"));
    store.fill(&site);
    other.fill(&site);
    let Apart { dir, logs } = &store;
    let (kept, elsewhere) =
        (site.scratch.path().join("kept"), site.scratch.path().join("elsewhere"));
    fs::rename(logs, &kept).unwrap();
    fs::create_dir(&elsewhere).unwrap();
    let places: [(&str, &dyn Fn()); 6] = [
        ("nothing", &|| ()),
        ("an empty directory", &|| fs::create_dir(logs).unwrap()),
        ("a file", &|| fs::write(logs, b"").unwrap()),
        ("a link to nothing", &|| symlink("nowhere", logs).unwrap()),
        ("a link to another directory", &|| symlink(&elsewhere, logs).unwrap()),
        ("the logs of another database", &|| symlink(&other.logs, logs).unwrap()),
    ];
    for (what, place) in places {
        place();
        let alone = env(&site).open_for_reading(dir, &[]).and_then(|db| read(&db));
        assert!(alone.is_err(), "read alone with {what}: {} records", alone.unwrap().len());
        let verified = rest::verify(dir, &*site.keys, Backend::auto(), None, &mut |_| ());
        assert!(!verified.is_ok_and(|found| found.is_whole()), "verified with {what}");
        let (plain, stop) = (site.scratch.path().join("plain"), AtomicBool::new(false));
        let unsealed =
            rest::unseal(dir, site.keys.clone(), Backend::auto(), &plain, &stop, &mut |_| ());
        assert!(unsealed.is_err(), "unsealed with {what}");
        let opened = store.open(&env(&site)).and_then(|db| read(&db));
        assert!(opened.is_err(), "opened with {what}: {} records", opened.unwrap().len());
        remove(logs);
    }
    // nothing was lost in the meantime
    fs::rename(&kept, logs).unwrap();
    assert_eq!(read(&store.open(&env(&site)).unwrap()).unwrap().len(), 20);
    assert!(rest::verify(dir, &*site.keys, Backend::auto(), None, &mut |_| ()).unwrap().is_whole());

    // the message names the remedy
    fs::rename(logs, &kept).unwrap();
    fs::create_dir(logs).unwrap();
    let error = store.open(&env(&site)).unwrap_err();
    let want = format!("no catalogue, where the database in {} has its logs", dir.display());
    assert!(error.code == Code::Corruption && error.text.contains(&want), "{error}");
    assert!(error.text.contains("open the database with another wal_dir"), "{error}");
    let moved = Apart { dir: dir.clone(), logs: site.scratch.path().join("new logs") };
    drop(moved.open(&env(&site)).unwrap());
    // all of them: the last opening moved the records of the log into a table
    assert_eq!(read(&moved.open(&env(&site)).unwrap()).unwrap().len(), 20);
}

#[test]
fn a_database_and_its_logs_may_be_moved_and_left() {
    let site = site();
    let store = Apart::new(&site, "store");
    store.fill(&site);
    let moved = Apart::new(&site, "moved");
    fs::rename(&store.dir, &moved.dir).unwrap();
    fs::rename(&store.logs, &moved.logs).unwrap();
    assert_eq!(read(&moved.open(&env(&site)).unwrap()).unwrap().len(), 20);
    assert!(
        rest::verify(&moved.dir, &*site.keys, Backend::auto(), None, &mut |_| ())
            .unwrap()
            .is_whole()
    );
    // from now on in its own directory; the content of the old logs is in tables by then
    let db = moved.open(&env(&site)).unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let db = env(&site).open(&moved.dir, &DbOptions::default()).unwrap();
    put(&db, 20..30, 1);
    db.close().unwrap();
    remove(&moved.logs);
    assert_eq!(read(&env(&site).open_for_reading(&moved.dir, &[]).unwrap()).unwrap().len(), 30);
    assert!(
        rest::verify(&moved.dir, &*site.keys, Backend::auto(), None, &mut |_| ())
            .unwrap()
            .is_whole()
    );
}

/// Backups and checkpoints copy logs, and go away without the database.
#[test]
fn a_copy_of_the_logs_is_no_directory_of_logs() {
    let site = site();
    let store = Apart::new(&site, "store");
    store.fill(&site);
    let own = site.scratch.path().join("own");
    let (backups, checkpoint) =
        (site.scratch.path().join("backups"), site.scratch.path().join("checkpoint"));
    for (dir, is_apart) in [(&store.dir, true), (&own, false)] {
        let env = env(&site);
        let open = |env: &SealedEnv| {
            if is_apart { store.open(env) } else { env.open(dir, &DbOptions::default()) }
        };
        let db = open(&env).unwrap();
        put(&db, 20..30, 1);
        env.backups(&backups).unwrap().create(&db).unwrap();
        put(&db, 30..40, 1);
        db.checkpoint(&checkpoint).unwrap();
        db.close().unwrap();
        remove(&backups);
        remove(&checkpoint);
        assert!(
            rest::verify(dir, &*site.keys, Backend::auto(), None, &mut |_| ()).unwrap().is_whole(),
            "{is_apart}"
        );
        // one that takes the place of the backup's
        let db = open(&env).unwrap();
        let mut again = env.backups(&backups).unwrap();
        again.create(&db).unwrap();
        assert_eq!(read(&db).unwrap().len(), if is_apart { 40 } else { 20 });
        db.close().unwrap();
        drop(again);
        remove(&backups);
    }
    // the directory of the logs is still recorded
    remove(&store.logs);
    fs::create_dir(&store.logs).unwrap();
    assert!(store.open(&env(&site)).is_err());
}

#[test]
fn databases_of_one_environment_each_have_their_logs() {
    let site = site();
    let (one, two) = (Apart::new(&site, "one"), Apart::new(&site, "two"));
    {
        let env = env(&site);
        let first = one.open(&env).unwrap();
        let second = two.open(&env).unwrap();
        for round in 0..3 {
            put(&first, 10 * round..10 * round + 10, 1);
            put(&second, 10 * round..10 * round + 10, 2);
            // a log more each
            first.flush().unwrap();
            second.flush().unwrap();
        }
    }
    for store in [&one, &two] {
        let kept = site.scratch.path().join("kept");
        fs::rename(&store.logs, &kept).unwrap();
        fs::create_dir(&store.logs).unwrap();
        assert!(store.open(&env(&site)).is_err(), "{}", store.dir.display());
        remove(&store.logs);
        fs::rename(&kept, &store.logs).unwrap();
        assert_eq!(read(&store.open(&env(&site)).unwrap()).unwrap().len(), 30);
    }
}
