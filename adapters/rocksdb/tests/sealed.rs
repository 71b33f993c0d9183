//! What sealing must withstand and keep working, through a real database: damage of every kind to every kind of file,
//! wrong keys, crashes, and RocksDB's own ways of copying data around. Not here: mutations by the thousand and kills
//! under load (`dev/e2e`).

mod site;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sealstone_cipher::backend::Backend;
use sealstone_cipher::registry;
use sealstone_keys::file::KeyFile;
use sealstone_rocksdb::directory::{self, explain};
use sealstone_rocksdb::{
    Bottommost, Code, Db, DbOptions, Error, PAGE_BYTES, PlainEnv, Range, SealedEnv, Sealing, WriteBatch, rest,
};
use site::Site;

const STRIDE: u64 = PAGE_BYTES as u64 + 16;
const HEADER: u64 = 8192;
/// Part of every value, so that it would be found if anything were stored in the clear.
const MARKER: &str = "PLAINTEXT-MARKER";

impl Site {
    fn sealing(&self, cipher: &str) -> Sealing {
        Sealing::new(self.keys.clone(), registry::cipher(cipher).unwrap(), Backend::auto())
    }

    fn open(&self, name: &str) -> Result<Db, Error> {
        self.env().open(&self.path(name), &options())
    }

    /// A database of 2000 entries in one table file, closed.
    fn filled(&self, name: &str) {
        let db = self.open(name).unwrap();
        fill(&db, 0..2000, 0);
        db.flush().unwrap();
        db.compact(Bottommost::Rewrite).unwrap();
        db.close().unwrap();
    }
}

fn options() -> DbOptions {
    let mut options = DbOptions { cache_bytes: Some(1 << 20), ..DbOptions::default() };
    options.text.push_str(";compression=kNoCompression;max_background_jobs=2");
    options
}

fn key(n: u32) -> Vec<u8> {
    format!("key{n:08}").into_bytes()
}

fn value(n: u32, generation: u32) -> Vec<u8> {
    format!("{MARKER} {n} {generation} {}", "x".repeat(60)).into_bytes()
}

fn fill(db: &Db, range: std::ops::Range<u32>, generation: u32) {
    for n in range {
        db.put(&key(n), &value(n, generation), false).unwrap();
    }
}

/// Reads everything; the first error, or how many entries there are. Never accepts a wrong value.
fn read_all(db: &Db, generation: u32) -> Result<u32, Error> {
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

fn files(dir: &Path, accept: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| accept(path.file_name().unwrap().to_str().unwrap()))
        .collect();
    found.sort();
    found
}

fn tables(dir: &Path) -> Vec<PathBuf> {
    files(dir, |name| name.ends_with(".sst"))
}

fn logs(dir: &Path) -> Vec<PathBuf> {
    files(dir, |name| name.ends_with(".log"))
}

/// Opens `name` and reads all of it; returns the error, which there must be, and which must name `file` and `what`.
fn must_fail(site: &Site, name: &str, file: &Path, what: &str) -> Error {
    let error = match site.open(name) {
        Err(error) => error,
        Ok(db) => read_all(&db, 0).expect_err("damage went unnoticed"),
    };
    let file = file.file_name().unwrap().to_str().unwrap();
    assert!(error.text.contains(file) && error.text.contains(what), "want {file} and {what:?} in: {error}");
    assert!(!error.text.contains(MARKER), "{error}");
    error
}

fn change(path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    edit(&mut bytes);
    fs::write(path, bytes).unwrap();
}

fn page_range(page: u64) -> std::ops::Range<usize> {
    let start = HEADER + page * STRIDE;
    start as usize..(start + STRIDE) as usize
}

// ---- it works -------------------------------------------------------------------------------------------------------

#[test]
fn what_is_written_is_read_with_every_cipher_and_page_length() {
    for cipher in registry::ciphers().iter().map(|cipher| cipher.name) {
        for page_bytes in [4096, 16384, 65536] {
            let site = Site::new();
            let env = SealedEnv::with(Sealing { page_bytes, ..site.sealing(cipher) });
            let db = env.open(&site.path("db"), &options()).unwrap();
            fill(&db, 0..700, 0);
            db.flush().unwrap();
            fill(&db, 700..1000, 0);
            db.close().unwrap();
            let db = env.open(&site.path("db"), &options()).unwrap();
            assert_eq!(read_all(&db, 0).unwrap(), 1000, "{cipher} {page_bytes}");
            db.verify_checksum().unwrap();
            drop(db);
            let report = site.verify("db");
            assert!(report.is_whole(), "{cipher} {page_bytes} {:?}", report.failures);
        }
    }
}

#[test]
fn it_stacks_on_another_environment() {
    let site = Site::new();
    let env = SealedEnv::in_memory(site.sealing("aes-256"));
    let path = Path::new("/in-memory/db");
    let db = env.open(path, &options()).unwrap();
    fill(&db, 0..500, 0);
    db.close().unwrap();
    assert_eq!(read_all(&env.open(path, &options()).unwrap(), 0).unwrap(), 500);
    assert!(!path.exists());
}

#[test]
fn nothing_is_stored_in_the_clear() {
    let site = Site::new();
    let db = site.open("db").unwrap();
    fill(&db, 0..1000, 0);
    db.flush().unwrap();
    fill(&db, 1000..1200, 0);
    db.compact(Bottommost::Rewrite).unwrap();
    db.checkpoint(&site.path("checkpoint")).unwrap();
    site.env().backups(&site.path("backup")).unwrap().create(&db).unwrap();
    fill(&db, 1200..1300, 0);
    db.sync_wal().unwrap();
    let mut seen = 0;
    for name in ["db", "checkpoint", "backup"] {
        let status = rest::status(&site.path(name)).unwrap();
        assert_eq!(status.not_sealed, Vec::<String>::new(), "{name}");
        for file in &status.files {
            assert!(!file.name.starts_with("LOG"), "a log file was written: {}", file.name);
            let bytes = fs::read(site.path(name).join(&file.name)).unwrap();
            for plain in [MARKER, "key0000", "rocksdb", "MANIFEST", "leveldb"] {
                let found = bytes.windows(plain.len()).any(|window| window == plain.as_bytes());
                assert!(!found, "{plain} stands in {name}/{}", file.name);
            }
            seen += bytes.len();
        }
    }
    assert!(seen > 300_000);
}

#[test]
fn files_report_the_length_of_their_content() {
    let site = Site::new();
    site.filled("db");
    let db = site.open("db").unwrap();
    let sealed = tables(&site.path("db"))[0].metadata().unwrap().len();
    let logical = db.property("rocksdb.total-sst-files-size").unwrap();
    let pages = logical.div_ceil(u64::from(PAGE_BYTES));
    assert_eq!(sealed, HEADER + logical + 16 * pages);
}

#[test]
fn iterators_go_both_ways_and_many_keys_come_at_once() {
    let site = Site::new();
    site.filled("db");
    let db = site.open("db").unwrap();
    let mut entries = db.iterator(Range { lower: Some(&key(10)), upper: Some(&key(20)), ..Range::default() });
    entries.last();
    let mut backwards = Vec::new();
    while let Some((found, _)) = entries.entry() {
        backwards.push(found.to_vec());
        entries.back();
    }
    entries.status().unwrap();
    assert_eq!(backwards, (10..20).rev().map(key).collect::<Vec<_>>());
    entries.seek_for_prev(&key(15));
    assert_eq!(entries.entry().unwrap().0, key(15));
    entries.seek(b"key00000012+");
    assert_eq!(entries.entry().unwrap().0, key(13));
    drop(entries);

    let keys: Vec<Vec<u8>> = (0..4000).step_by(7).map(key).collect();
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    for (n, found) in (0..4000).step_by(7).zip(db.multi_get(&slices).unwrap()) {
        assert_eq!(found, (n < 2000).then(|| value(n, 0)), "{n}");
    }
}

#[test]
fn batches_deletions_and_compaction() {
    let site = Site::new();
    let db = site.open("db").unwrap();
    fill(&db, 0..1000, 0);
    db.flush().unwrap();
    let mut batch = WriteBatch::new();
    for n in 500..1000 {
        batch.delete(&key(n));
    }
    batch.put(&key(0), &value(0, 0));
    db.write(&mut batch, true).unwrap();
    db.delete(&key(1), false).unwrap();
    db.compact(Bottommost::Rewrite).unwrap();
    assert_eq!(read_all(&db, 0).unwrap(), 499);
    db.verify_checksum().unwrap();
    drop(db);
    assert_eq!(read_all(&site.open("db").unwrap(), 0).unwrap(), 499);
}

#[test]
fn blobs_are_sealed_too() {
    let site = Site::new();
    let mut options = options();
    options.text.push_str(";enable_blob_files=true;min_blob_size=50");
    let db = site.env().open(&site.path("db"), &options).unwrap();
    fill(&db, 0..500, 0);
    db.flush().unwrap();
    assert_eq!(read_all(&db, 0).unwrap(), 500);
    drop(db);
    let blobs = files(&site.path("db"), |name| name.ends_with(".blob"));
    assert_eq!(blobs.len(), 1);
    change(&blobs[0], |bytes| bytes[page_range(3).start + 5] ^= 1);
    must_fail(&site, "db", &blobs[0], "page 3 ");
}

#[test]
fn transactions_conflict_commit_and_roll_back() {
    let site = Site::new();
    let options = DbOptions { transactions: true, ..options() };
    let db = site.env().open(&site.path("db"), &options).unwrap();
    fill(&db, 0..10, 0);
    let mut one = db.transaction(true).unwrap();
    let mut other = db.transaction(true).unwrap();
    assert!(one.get_with(&key(1), true, |_| ()).unwrap());
    let blocked = other.put(&key(1), b"other").unwrap_err();
    assert_eq!(blocked.code, Code::Conflict, "{blocked}");
    assert_eq!(db.put(&key(1), b"plain", false).unwrap_err().code, Code::Conflict);
    one.put(&key(1), b"one").unwrap();
    one.commit().unwrap();
    other.put(&key(1), b"other").unwrap();
    other.rollback().unwrap();
    drop(other);
    let mut dropped = db.transaction(false).unwrap();
    dropped.delete(&key(2)).unwrap();
    drop(dropped);
    drop(one);
    assert_eq!(db.get(&key(1)).unwrap().unwrap(), b"one");
    assert_eq!(db.get(&key(2)).unwrap().unwrap(), value(2, 0));
    drop(db);
    assert_eq!(site.env().open(&site.path("db"), &options).unwrap().get(&key(1)).unwrap().unwrap(), b"one");
    let plain = site.open("db").unwrap();
    assert_eq!(plain.transaction(false).unwrap_err().code, Code::NotSupported);
}

#[test]
fn checkpoints_open_as_separate_databases() {
    let site = Site::new();
    let db = site.open("db").unwrap();
    fill(&db, 0..1000, 0);
    db.flush().unwrap();
    fill(&db, 1000..1100, 0);
    db.checkpoint(&site.path("checkpoint")).unwrap();
    fill(&db, 0..1100, 1);
    db.compact(Bottommost::Rewrite).unwrap();
    assert_eq!(read_all(&site.open("checkpoint").unwrap(), 0).unwrap(), 1100);
    assert_eq!(read_all(&db, 1).unwrap(), 1100);
    assert!(site.verify("checkpoint").is_whole());
}

#[test]
fn backups_verify_and_restore() {
    let site = Site::new();
    let db = site.open("db").unwrap();
    fill(&db, 0..1000, 0);
    db.flush().unwrap();
    fill(&db, 1000..1100, 0);
    let env = site.env();
    let mut backups = env.backups(&site.path("backup")).unwrap();
    assert_eq!(backups.create(&db).unwrap(), 1);
    fill(&db, 1100..1500, 0);
    assert_eq!(backups.create(&db).unwrap(), 2);
    backups.verify(1).unwrap();
    backups.verify(2).unwrap();
    drop(db);
    backups.restore(&site.path("restored")).unwrap();
    assert_eq!(read_all(&site.open("restored").unwrap(), 0).unwrap(), 1500);
    assert!(site.verify("backup").is_whole() && site.verify("restored").is_whole());

    let shared = site.path("backup/shared_checksum");
    let table = &tables(&shared)[0];
    change(table, |bytes| bytes[page_range(2).start] ^= 1);
    // newer versions of RocksDB name the file but not what was wrong with it
    let error = backups.verify(1).unwrap_err();
    assert!(error.text.contains(table.file_name().unwrap().to_str().unwrap()), "{error}");
    assert_eq!(site.verify("backup").failures.iter().map(|f| f.page).collect::<Vec<_>>(), [Some(2)]);
}

#[test]
fn table_files_made_outside_are_taken_over() {
    for move_files in [true, false] {
        let site = Site::new();
        let db = site.open("db").unwrap();
        fill(&db, 0..100, 0);
        let outside = site.path("outside.sst");
        let mut writer = db.table_writer(&outside).unwrap();
        for n in 100..3000 {
            writer.put(&key(n), &value(n, 0)).unwrap();
        }
        assert_eq!(writer.put(&key(100), b"").unwrap_err().code, Code::InvalidArgument);
        writer.finish().unwrap();
        db.ingest(&[&outside], move_files).unwrap();
        assert_eq!(outside.exists(), !move_files);
        assert_eq!(read_all(&db, 0).unwrap(), 3000);
        // overlapping with what is there
        let again = site.path("again.sst");
        let mut writer = db.table_writer(&again).unwrap();
        (0..3000).for_each(|n| writer.put(&key(n), &value(n, 1)).unwrap());
        writer.finish().unwrap();
        db.ingest(&[&again], move_files).unwrap();
        drop(db);
        assert_eq!(read_all(&site.open("db").unwrap(), 1).unwrap(), 3000);
        assert!(site.verify("db").is_whole());
    }
}

// ---- crashes --------------------------------------------------------------------------------------------------------

/// A database that was never closed: its files as a crash would leave them, in a copy.
fn crashed(site: &Site, name: &str, entries: u32) -> PathBuf {
    let db = site.open("live").unwrap();
    fill(&db, 0..entries, 0);
    copy(&site.path("live"), &site.path(name))
}

fn copy(from: &Path, to: &Path) -> PathBuf {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for file in files(from, |file| file != "LOCK") {
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
    to.to_owned()
}

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
    // anything from all but the last byte to nothing at all
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

/// RocksDB writes control files under another name first; a kill there leaves part of one, which nothing needs.
#[test]
fn a_file_left_unfinished_under_its_first_name_is_not_damage() {
    let site = Site::new();
    site.filled("db");
    let dir = site.path("db");
    let options = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let options = options.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("OPTIONS-"));
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
                Err(error) => assert!(synced && error.text.contains(".log: cut short: "), "{bytes}: {error}"),
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

// ---- damage ---------------------------------------------------------------------------------------------------------

#[test]
fn a_changed_bit_anywhere_in_a_table_is_found() {
    let site = Site::new();
    site.filled("db");
    let table = tables(&site.path("db")).pop().unwrap();
    let length = fs::read(&table).unwrap().len() as u64;
    let pages = (length - HEADER).div_ceil(STRIDE);
    assert!(pages > 20);
    for page in [0, 1, pages / 2, pages - 2, pages - 1] {
        for within in [0, 100, 4095, 4100] {
            let at = (HEADER + page * STRIDE + within).min(length - 1) as usize;
            change(&table, |bytes| bytes[at] ^= 0x40);
            must_fail(&site, "db", &table, &format!("page {page} "));
            let report = site.verify("db");
            assert_eq!(report.failures.len(), 1, "{:?}", report.failures);
            assert_eq!(report.failures[0].page, Some(page));
            change(&table, |bytes| bytes[at] ^= 0x40);
        }
    }
    for at in [0, 8, 10, 12, 16, 24, 40, 56, 64, 68, 72, 140, 170, 184, 192, 300, 511] {
        // the other copy of the header replaces one that is damaged
        change(&table, |bytes| bytes[at] ^= 1);
        assert_eq!(read_all(&site.open("db").unwrap(), 0).unwrap(), 2000);
        let report = site.verify("db");
        assert!(
            report.is_whole() && report.notes.iter().any(|note| note.what.contains("copies of its header")),
            "{at}"
        );
        change(&table, |bytes| bytes[4096 + at] ^= 1);
        must_fail(&site, "db", &table, "");
        assert!(!site.verify("db").is_whole(), "header byte {at}");
        change(&table, |bytes| {
            bytes[at] ^= 1;
            bytes[4096 + at] ^= 1;
        });
    }
    assert_eq!(read_all(&site.open("db").unwrap(), 0).unwrap(), 2000);
    assert!(site.verify("db").is_whole());
}

#[test]
fn pages_swapped_or_from_another_file_are_found() {
    let site = Site::new();
    site.filled("db");
    site.filled("other");
    let table = tables(&site.path("db")).pop().unwrap();
    let whole = fs::read(&table).unwrap();
    let foreign = fs::read(&tables(&site.path("other"))[0]).unwrap();
    change(&table, |bytes| {
        let (a, b) = bytes.split_at_mut(page_range(8).start);
        a[page_range(3)].swap_with_slice(&mut b[..STRIDE as usize]);
    });
    must_fail(&site, "db", &table, "page 3 ");
    assert_eq!(site.verify("db").failures.iter().map(|f| f.page).collect::<Vec<_>>(), [Some(3), Some(8)]);
    fs::write(&table, &whole).unwrap();
    change(&table, |bytes| bytes[page_range(6)].copy_from_slice(&foreign[page_range(6)]));
    must_fail(&site, "db", &table, "page 6 ");
    fs::write(&table, &whole).unwrap();
    // a page left out, and one repeated
    change(&table, |bytes| drop(bytes.drain(page_range(5))));
    must_fail(&site, "db", &table, "");
    fs::write(&table, &whole).unwrap();
    change(&table, |bytes| {
        let page = bytes[page_range(5)].to_vec();
        bytes.splice(page_range(5).start..page_range(5).start, page);
    });
    must_fail(&site, "db", &table, "");
    fs::write(&table, &whole).unwrap();
    assert_eq!(read_all(&site.open("db").unwrap(), 0).unwrap(), 2000);
}

#[test]
fn a_file_cut_anywhere_is_found() {
    let site = Site::new();
    site.filled("db");
    let table = tables(&site.path("db")).pop().unwrap();
    let whole = fs::read(&table).unwrap();
    let pages = (whole.len() as u64 - HEADER) / STRIDE;
    for bytes in [
        whole.len() - 1,
        whole.len() - 17,
        page_range(pages - 1).end,
        page_range(pages - 1).end - 1,
        page_range(3).end,
        page_range(0).end,
        8209,
        8208,
        8192,
        8191,
        512,
        8,
        0,
    ] {
        fs::write(&table, &whole[..bytes]).unwrap();
        must_fail(&site, "db", &table, "");
        assert!(!site.verify("db").is_whole(), "{bytes}");
    }
    let mut longer = whole.clone();
    longer.extend_from_slice(&[0; 100]);
    fs::write(&table, &longer).unwrap();
    must_fail(&site, "db", &table, "page ");
    // for a missing file RocksDB also names an older name, number.ldb
    fs::remove_file(&table).unwrap();
    let error = site.open("db").unwrap_err();
    assert!(error.text.contains(table.file_stem().unwrap().to_str().unwrap()), "{error}");
    fs::write(&table, &whole).unwrap();
    assert_eq!(read_all(&site.open("db").unwrap(), 0).unwrap(), 2000);
}

#[test]
fn small_control_files_are_guarded_too() {
    let site = Site::new();
    site.filled("db");
    for prefix in ["CURRENT", "MANIFEST-", "OPTIONS-", "IDENTITY"] {
        let path = files(&site.path("db"), |name| name.starts_with(prefix)).pop().unwrap();
        let whole = fs::read(&path).unwrap();
        change(&path, |bytes| bytes[8210] ^= 1);
        assert!(!site.verify("db").is_whole(), "{prefix}");
        if ["CURRENT", "MANIFEST-"].contains(&prefix) {
            let error = site.open("db").unwrap_err();
            assert!(error.text.contains("failed authentication"), "{prefix}: {error}");
        }
        fs::write(&path, whole).unwrap();
    }
    assert_eq!(read_all(&site.open("db").unwrap(), 0).unwrap(), 2000);
}

#[test]
fn a_log_replayed_from_an_older_version_is_refused() {
    let site = Site::new();
    let dir = crashed(&site, "db", 300);
    let log = logs(&dir).pop().unwrap();
    let old = fs::read(&log).unwrap();
    // the same frames under the header of another log
    let site2 = Site { dir: tempfile::tempdir().unwrap(), keys: site.keys.clone() };
    let dir2 = crashed(&site2, "db", 300);
    let log2 = logs(&dir2).pop().unwrap();
    let mut mixed = fs::read(&log2).unwrap()[..8192].to_vec();
    mixed.extend_from_slice(&old[8192..]);
    fs::write(&log2, mixed).unwrap();
    let error = site2.open("db").unwrap_err();
    assert!(error.text.contains("frame 0 "), "{error}");
}

#[test]
fn a_recycled_log_holds_nothing_of_the_old_one() {
    let site = Site::new();
    let mut options = options();
    options.text.push_str(";recycle_log_file_num=2");
    let db = site.env().open(&site.path("db"), &options).unwrap();
    for round in 0..5 {
        fill(&db, 0..300, round);
        db.flush().unwrap();
    }
    fill(&db, 0..10, 5);
    drop(db);
    let db = site.env().open(&site.path("db"), &options).unwrap();
    for n in 0..300 {
        assert_eq!(db.get(&key(n)).unwrap().unwrap(), value(n, if n < 10 { 5 } else { 4 }));
    }
    assert!(site.verify("db").is_whole());
}

// ---- keys and directories -------------------------------------------------------------------------------------------

/// The answer to opening `dir` with `cipher`.
fn refusal(site: &Site, cipher: Option<&str>, dir: &Path) -> String {
    let cipher = cipher.map(|name| registry::cipher(name).unwrap());
    let opened = directory::check(dir, cipher).and_then(|()| {
        let opened = match cipher {
            Some(cipher) => SealedEnv::new(site.keys.clone(), cipher, Backend::auto()).open(dir, &options()),
            None => PlainEnv::new().open(dir, &options()),
        };
        opened.map_err(|error| explain("open", dir, &error))
    });
    let message = opened.map(drop).unwrap_err().to_string();
    assert!(message.contains('\n') && !message.ends_with('.'), "{message}");
    message
}

#[test]
fn another_key_and_a_missing_key_are_each_one_clear_error() {
    let site = Site::new();
    let key_one = KeyFile::create(site.path("one.key"), "orders").unwrap();
    let same_name = KeyFile::create(site.path("two.key"), "orders").unwrap();
    let other_name = KeyFile::create(site.path("three.key"), "payments").unwrap();
    let cipher = registry::cipher("aria-256").unwrap();
    let open = |key: KeyFile| SealedEnv::new(Arc::new(key), cipher, Backend::auto()).open(&site.path("db"), &options());
    let db = open(key_one).unwrap();
    fill(&db, 0..10, 0);
    drop(db);
    let before: Vec<_> = files(&site.path("db"), |_| true).iter().map(|path| fs::read(path).unwrap()).collect();
    let error = open(same_name).unwrap_err().text;
    assert!(error.contains("CURRENT: key orders version 1 from") && error.contains("does not open"), "{error}");
    let error = open(other_name).unwrap_err().text;
    assert!(error.contains("key orders version 1 not found in") && error.contains("three.key"), "{error}");
    let after: Vec<_> = files(&site.path("db"), |_| true).iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(before == after, "nothing is written without the key");
    assert_eq!(read_all(&open(KeyFile::open(site.path("one.key")).unwrap()).unwrap(), 0).unwrap(), 10);
}

#[test]
fn plain_and_sealed_stores_are_not_mistaken_for_each_other() {
    let site = Site::new();
    let aes = registry::cipher("aes-256").unwrap();
    drop(PlainEnv::new().open(&site.path("plain"), &options()).unwrap());
    drop(SealedEnv::new(site.keys.clone(), aes, Backend::auto()).open(&site.path("sealed"), &options()).unwrap());

    let error = refusal(&site, Some("aes-256"), &site.path("plain"));
    assert!(error.contains("is not sealed, but was to be opened with aes-256\n"), "{error}");
    let error = refusal(&site, None, &site.path("sealed"));
    assert!(error.contains("is sealed, but was to be opened without encryption\n"), "{error}");
    let error = refusal(&site, Some("aria-256"), &site.path("sealed"));
    assert!(error.contains("is sealed with aes-256, but was to be opened with aria-256\n"), "{error}");

    // without the check beforehand the file system refuses as well
    let error = site.open("plain").unwrap_err();
    assert!(error.text.contains("CURRENT: not a sealed file"), "{error}");
    // one plain file among sealed ones
    site.filled("db");
    let table = tables(&site.path("db")).pop().unwrap();
    fs::write(&table, vec![7; 50_000]).unwrap();
    must_fail(&site, "db", &table, "not a sealed file");
    assert_eq!(rest::status(&site.path("db")).unwrap().not_sealed, [table.file_name().unwrap().to_str().unwrap()]);
}

#[test]
fn unsuitable_directories_are_refused_with_a_next_step() {
    let site = Site::new();
    fs::create_dir(site.path("photos")).unwrap();
    fs::write(site.path("photos/cat.jpg"), b"meow").unwrap();
    let error = refusal(&site, None, &site.path("photos"));
    assert!(error.contains("is not a RocksDB store: it holds cat.jpg and has no file CURRENT\n"), "{error}");
    let error = refusal(&site, None, &site.path("photos/cat.jpg"));
    assert!(error.contains("is a file, not a directory\n"), "{error}");

    site.filled("used");
    let _open = site.open("used").unwrap();
    let error = refusal(&site, Some("aes-256"), &site.path("used"));
    assert!(error.contains("is in use by another process\n"), "{error}");
}

#[test]
fn status_needs_no_key_and_says_everything() {
    let site = Site::new();
    let key = KeyFile::create(site.path("key"), "orders").unwrap();
    let env = SealedEnv::new(Arc::new(key), registry::cipher("aria-256").unwrap(), Backend::auto());
    let db = env.open(&site.path("db"), &options()).unwrap();
    fill(&db, 0..1000, 0);
    db.flush().unwrap();
    drop(db);
    let status = rest::status(&site.path("db")).unwrap();
    assert_eq!(status.totals.len(), 1);
    let total = &status.totals[0];
    assert_eq!((total.cipher, total.key_id.as_str(), total.key_version), ("aria-256", "orders", 1));
    assert_eq!(total.stored_bytes, status.stored_bytes);
    let table = status.files.iter().find(|file| file.name.ends_with(".sst")).unwrap();
    let rest::State::Sealed(sealed) = &table.state else { panic!("{table:?}") };
    assert_eq!((sealed.format, sealed.page_bytes), ("pages", Some(4096)));
    assert!(sealed.logical_bytes.unwrap() < table.stored_bytes);
    let log = status.files.iter().find(|file| file.name.ends_with(".log")).unwrap();
    assert!(matches!(&log.state, rest::State::Sealed(sealed) if sealed.format == "frames"));
    let lock = status.files.iter().find(|file| file.name == "LOCK").unwrap();
    assert_eq!(lock.state, rest::State::Empty);
    assert!(rest::status(&site.path("nowhere")).unwrap_err().to_string().contains("cannot read directory"));
    let wrong = rest::verify(&site.path("db"), &*site.keys, Backend::auto(), None, &mut |_| ()).unwrap();
    assert!(wrong.failures.iter().all(|finding| finding.what.contains("orders version 1")), "{:?}", wrong.failures);
    assert_eq!(wrong.failures.len() as u64, total.files);
}

// ---- exceptions -----------------------------------------------------------------------------------------------------

#[test]
fn what_rocksdb_throws_is_an_error() {
    let site = Site::new();
    let mut options = options();
    // a memtable that makes room for 2^60 entries at once
    options.text.push_str(";allow_concurrent_memtable_write=false;memtable=vector:1152921504606846976");
    let error = site.env().open(&site.path("db"), &options).unwrap_err();
    assert!(error.text.contains("vector::reserve") || error.text.contains("not enough memory"), "{error:?}");
}

#[test]
fn a_key_that_is_too_long_is_refused_and_not_left_out() {
    let site = Site::new();
    let db = site.open("db").unwrap();
    // never written to, so that it takes no memory
    let long = vec![0; (1 << 32) + 1];
    let mut batch = WriteBatch::new();
    batch.put(b"before", b"1");
    batch.put(&long, b"2");
    batch.put(b"after", b"3");
    let error = db.write(&mut batch, false).unwrap_err();
    assert_eq!(error.code, Code::InvalidArgument, "{error:?}");
    assert_eq!((db.get(b"before").unwrap(), db.get(b"after").unwrap()), (None, None));
}
