//! Tests of the state from which a recovery continues: it is promised from then on, and files lost
//! in an earlier crash are no obstacle. Not here: recoveries by the thousand on a disk that forgets
//! (`dev/simulator`).

mod site;

use std::fs;
use std::path::{Path, PathBuf};

use sealstone_rocksdb::{Code, Db, DbOptions, Error, SealedEnv};
use site::Site;

/// Several logs: a memory table is full after 64 KiB, and is not flushed for that.
const MANY_LOGS: &str = "create_if_missing=true;write_buffer_size=65536;\
                         min_write_buffer_number_to_merge=32;max_write_buffer_number=64;\
                         compression=kNoCompression";

fn open(env: &SealedEnv, dir: &Path, more: &str) -> Result<Db, Error> {
    env.open(dir, &DbOptions { text: format!("{MANY_LOGS};{more}"), ..DbOptions::default() })
}

fn fill(db: &Db, entries: u32) {
    for n in 0..entries {
        db.put(&n.to_be_bytes(), &[n as u8; 1000], false).unwrap();
    }
}

fn count(db: &Db) -> u32 {
    (0..).take_while(|n: &u32| db.get(&n.to_be_bytes()).unwrap().is_some()).count() as u32
}

fn names(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|found| found == ending));
    found.sort();
    found
}

/// Copies the files of `from` as a crash would leave them to `to`.
fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with("LOCK") {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

/// A log that was never synced is part of the store's state once a recovery has continued from it,
/// and RocksDB may keep it for long.
#[test]
fn a_log_that_a_recovery_read_can_no_longer_be_cut() {
    let site = Site::new();
    let (live, left, cut) = (site.path("live"), site.path("left"), site.path("cut"));
    let db = open(&site.env(), &live, "").unwrap();
    fill(&db, 20);
    copy(&live, &left);
    let log = names(&left, "log").pop().unwrap();
    let whole = fs::read(&log).unwrap();
    let shorter = &whole[..whole.len() - 5000];

    // before a recovery a power cut may do that
    copy(&left, &cut);
    fs::write(cut.join(log.file_name().unwrap()), shorter).unwrap();
    assert!((1..20).contains(&count(&open(&site.env(), &cut, "").unwrap())));

    let recovered = open(&site.env(), &left, "avoid_flush_during_recovery=true").unwrap();
    assert_eq!(count(&recovered), 20);
    assert_eq!(fs::read(&log).unwrap(), whole, "the log is still needed");
    for bytes in [whole.len() - 5000, 8192, 0] {
        copy(&left, &cut);
        fs::write(cut.join(log.file_name().unwrap()), &whole[..bytes]).unwrap();
        let error = open(&site.env(), &cut, "").unwrap_err();
        assert!(
            error.code == Code::Corruption && error.text.contains(".log: cut short"),
            "{bytes}: {error}"
        );
        assert!(!site.verify("cut").is_whole());
    }
    copy(&left, &cut);
    assert_eq!(count(&open(&site.env(), &cut, "").unwrap()), 20);
}

/// A crash takes logs that were never synced, although the catalogue lists them. RocksDB reuses
/// their numbers for tables that the next crash may leave without the change that lists them.
#[test]
fn the_numbers_of_files_lost_in_a_crash_are_reused() {
    let site = Site::new();
    let (live, left, next, last) =
        (site.path("live"), site.path("left"), site.path("next"), site.path("last"));
    let db = open(&site.env(), &live, "").unwrap();
    fill(&db, 300);
    copy(&live, &left);
    let logs = names(&left, "log");
    assert!(logs.len() > 2, "{logs:?}");
    logs[1..].iter().for_each(|log| fs::remove_file(log).unwrap());

    // the store is taken over, and then the opening stops
    open(&site.env(), &left, "error_if_exists=true").unwrap_err();
    copy(&left, &next);
    let entries = count(&open(&site.env(), &next, "").unwrap());
    assert!((1..300).contains(&entries), "{entries}");
    let table = names(&next, "sst").remove(0);
    let of = |path: &Path| path.file_stem().unwrap().to_owned();
    assert!(
        logs[1..].iter().any(|log| of(log) == of(&table)),
        "{table:?} has the number of one of {logs:?}"
    );

    copy(&left, &last);
    fs::copy(&table, last.join(table.file_name().unwrap())).unwrap();
    assert_eq!(count(&open(&site.env(), &last, "").unwrap()), entries);
}

/// A log is as long as a memory table: an unneeded log must not take up its space until something
/// else is synced.
#[test]
fn a_log_that_was_flushed_is_gone_at_once() {
    let site = Site::new();
    let dir = site.path("db");
    let db = open(&site.env(), &dir, "").unwrap();
    for _ in 0..3 {
        fill(&db, 30);
        db.flush().unwrap();
        // RocksDB removes it after the flush, on a thread of its own
        let gone = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            names(&dir, "log").len() == 1
        });
        assert!(gone, "{:?}", names(&dir, "log"));
    }
}
