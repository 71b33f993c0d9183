//! Tests of the state after a crash: logs that are replayed, logs that end where they are torn, and
//! logs that were cut.

use std::fs;

use sealstone_rocksdb::{Bottommost, Code};

use crate::site::Site;
use crate::{change, copy, crashed, fill, logs, page_range, read_all, tables};

#[test]
fn the_log_is_replayed_after_a_crash() {
    let site = Site::new();
    crashed(&site, "db", 700);
    assert_eq!(read_all(&site.open("db").unwrap(), 0).unwrap(), 700);
    assert_eq!(read_all(&site.open("db").unwrap(), 0).unwrap(), 700, "and once more");
}

#[test]
fn a_torn_log_ends_where_it_is_torn() {
    let site = Site::new();
    let dir = crashed(&site, "db", 300);
    let log = logs(&dir).pop().unwrap();
    let whole = fs::read(&log).unwrap();
    // anything from all but the last byte to nothing
    for bytes in [whole.len() - 1, whole.len() - 100, whole.len() / 2, 9000, 8193, 8192, 0] {
        let torn = copy(&dir, &site.path("torn"));
        fs::write(torn.join(log.file_name().unwrap()), &whole[..bytes]).unwrap();
        let report = site.verify("torn");
        assert!(report.is_whole(), "{bytes}: {:?}", report.failures);
        assert_eq!(report.notes.len(), usize::from(bytes != 8192), "{bytes}: {:?}", report.notes);
        let count = read_all(&site.open("torn").unwrap(), 0).unwrap();
        assert!(count < 300 && (bytes < 15_000 || count > 100), "{bytes}: {count}");
    }
}

/// RocksDB writes control files under another name first; a kill there leaves part of one, which
/// nothing needs.
#[test]
fn a_file_left_unfinished_under_its_first_name_is_not_damage() {
    let site = Site::new();
    site.filled("db");
    let dir = site.path("db");
    let options = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let options =
        options.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("OPTIONS-"));
    let options = options.max().expect("a database has its options in a file");
    let whole = fs::read(&options).unwrap();
    for bytes in [8192, 600, whole.len() - 1] {
        let unfinished = dir.join("OPTIONS-000999.dbtmp");
        fs::write(&unfinished, &whole[..bytes]).unwrap();
        let report = site.verify("db");
        assert!(report.is_whole() && report.notes.len() == 1, "{bytes}: {report:?}");
        // under its own name it is damage
        fs::rename(&unfinished, dir.join("OPTIONS-000999")).unwrap();
        assert!(!site.verify("db").is_whole(), "{bytes}");
        fs::remove_file(dir.join("OPTIONS-000999")).unwrap();
    }
}

#[test]
fn a_log_cut_within_its_header_is_refused_if_any_of_it_was_synced() {
    let site = Site::new();
    for synced in [false, true] {
        let db = site.open("live").unwrap();
        fill(&db, 0..300, 0);
        if synced {
            db.sync_wal().unwrap();
        }
        let dir = copy(&site.path("live"), &site.path("db"));
        drop(db);
        let log = logs(&dir).pop().unwrap();
        let whole = fs::read(&log).unwrap();
        for bytes in [8191, 511, 100, 7, 1, 0] {
            let cut = copy(&dir, &site.path("cut"));
            fs::write(cut.join(log.file_name().unwrap()), &whole[..bytes]).unwrap();
            assert_eq!(site.verify("cut").is_whole(), !synced, "{bytes}");
            match site.open("cut") {
                Ok(db) => assert!(!synced && read_all(&db, 0).unwrap() == 0, "{bytes}"),
                Err(error) => {
                    assert!(synced && error.text.contains(".log: cut short: "), "{bytes}: {error}")
                }
            }
        }
        fs::remove_dir_all(site.path("live")).unwrap();
    }
}

#[test]
fn a_log_cut_short_of_what_was_synced_is_refused() {
    let site = Site::new();
    let db = site.open("live").unwrap();
    fill(&db, 0..200, 0);
    db.sync_wal().unwrap();
    let synced = fs::read(&logs(&site.path("live"))[0]).unwrap().len();
    fill(&db, 200..300, 0);
    let dir = copy(&site.path("live"), &site.path("db"));
    let log = logs(&dir).pop().unwrap();
    let whole = fs::read(&log).unwrap();
    assert!(whole.len() > synced + 1000);
    for bytes in [synced - 1, synced / 2, 9000, 8192, 512, 0] {
        fs::write(&log, &whole[..bytes]).unwrap();
        let error = site.open("db").unwrap_err();
        assert!(error.code == Code::Corruption && error.text.contains(".log"), "{bytes}: {error}");
        assert_eq!(site.verify("db").failures.len(), 1, "{bytes}");
    }
    for bytes in [synced, synced + 500] {
        let cut = copy(&dir, &site.path("cut"));
        fs::write(cut.join(log.file_name().unwrap()), &whole[..bytes]).unwrap();
        let count = read_all(&site.open("cut").unwrap(), 0).unwrap();
        assert!((200..300).contains(&count), "{bytes}: {count}");
    }
}

#[test]
fn damage_in_the_middle_of_a_log_is_reported_and_not_taken_for_its_end() {
    let site = Site::new();
    let dir = crashed(&site, "db", 300);
    let log = logs(&dir).pop().unwrap();
    for at in [9000, 15_000, 25_000] {
        change(&log, |bytes| bytes[at] ^= 0x20);
        let error = site.open("db").unwrap_err();
        assert!(error.text.contains("frame ") && error.text.contains(".log"), "{error}");
        let report = site.verify("db");
        assert_eq!(report.failures.len(), 1);
        assert!(report.failures[0].frame.is_some());
        change(&log, |bytes| bytes[at] ^= 0x20);
    }
    assert_eq!(read_all(&site.open("db").unwrap(), 0).unwrap(), 300);
}

#[test]
fn a_table_left_unfinished_by_a_crash_is_swept_up() {
    let site = Site::new();
    let dir = crashed(&site, "db", 300);
    site.filled("other");
    let table = fs::read(&tables(&site.path("other"))[0]).unwrap();
    // its directory entry reached the disk, but neither its data nor the catalogue that lists it
    fs::write(dir.join("000777.sst"), vec![0; 20_000]).unwrap();
    fs::write(dir.join("000778.sst"), vec![0; 100]).unwrap();
    fs::write(dir.join("000779.sst"), b"").unwrap();
    // nothing of the kind explains a whole table that was made elsewhere
    let planted = dir.join("000776.sst");
    fs::write(&planted, &table[..page_range(5).start]).unwrap();
    let error = site.open("db").unwrap_err().to_string();
    assert!(error.contains("000776.sst: not listed in the catalogue of its directory"), "{error}");
    fs::remove_file(&planted).unwrap();
    let db = site.open("db").unwrap();
    assert_eq!(read_all(&db, 0).unwrap(), 300);
    db.compact(Bottommost::Rewrite).unwrap();
    drop(db);
    assert!(!tables(&dir).iter().any(|path| path.to_string_lossy().contains("00077")));
}
