//! Tests that RocksDB handles sealed data like plain data: iterators, batches, blobs, transactions,
//! checkpoints, backups; and that its exceptions become errors.

use std::fs;
use std::path::Path;

use sealstone_cipher::ciphers;
use sealstone_rocksdb::{
    Bottommost, Code, DbOptions, PAGE_BYTES, PlainEnv, Range, SealedEnv, Sealing, TABLE_PAGE_BYTES,
    WriteBatch, rest,
};

use crate::site::Site;
use crate::{
    HEADER, MARKER, STRIDE, change, files, fill, key, must_fail, options, read_all, tables, value,
};

#[test]
fn what_is_written_is_read_with_every_cipher_and_page_length() {
    for cipher in ciphers().iter().map(|cipher| cipher.name) {
        for page_bytes in [None, Some(1024), Some(4096), Some(65536)] {
            let site = Site::new();
            let env = SealedEnv::with(Sealing { page_bytes, ..site.sealing(cipher) });
            let db = env.open(&site.path("db"), &options()).unwrap();
            fill(&db, 0..700, 0);
            db.flush().unwrap();
            fill(&db, 700..1000, 0);
            db.close().unwrap();
            let db = env.open(&site.path("db"), &options()).unwrap();
            assert_eq!(read_all(&db, 0).unwrap(), 1000, "{cipher} {page_bytes:?}");
            db.verify_checksum().unwrap();
            drop(db);
            let report = site.verify("db");
            assert!(report.is_whole(), "{cipher} {page_bytes:?} {:?}", report.failures);
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
                assert!(!found, "{plain} is in {name}/{}", file.name);
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
    let pages = logical.div_ceil(u64::from(TABLE_PAGE_BYTES));
    assert_eq!(sealed, HEADER + logical + 16 * pages);
}

#[test]
fn iterators_go_both_ways_and_many_keys_come_at_once() {
    let site = Site::new();
    site.filled("db");
    let db = site.open("db").unwrap();
    let mut entries =
        db.iterator(Range { lower: Some(&key(10)), upper: Some(&key(20)), ..Range::default() });
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
    change(&blobs[0], |bytes| bytes[HEADER as usize + 3 * (PAGE_BYTES as usize + 16) + 5] ^= 1);
    must_fail(&site, "db", &blobs[0], "page 3 ");
}

#[test]
fn without_rocksdbs_checksums_damage_is_found_if_it_is_sealed() {
    let site = Site::new();
    for (name, block_checksums, sealed) in
        [("plain", false, false), ("checked", true, false), ("sealed", false, true)]
    {
        let options = DbOptions { block_checksums, transactions: true, ..options() };
        let open = || match sealed {
            true => site.env().open(&site.path(name), &options),
            false => PlainEnv::new().open(&site.path(name), &options),
        };
        let db = open().unwrap();
        // more than is read at once when a table is opened
        fill(&db, 0..20_000, 0);
        db.flush().unwrap();
        db.close().unwrap();
        let table = tables(&site.path(name)).pop().unwrap();
        // in the middle of a long value, so that the block keeps its form
        change(&table, |bytes| {
            let run = bytes.windows(40).position(|window| window == [b'x'; 40]);
            let at = run.map_or(HEADER as usize + 20 * STRIDE as usize, |at| at + 20);
            bytes[at] ^= 1;
        });
        let db = open().unwrap();
        let (mut found, mut failed) = (0, 0);
        for n in 0..2000 {
            let mut transaction = db.transaction(false).unwrap();
            let alone = db.get(&key(n));
            let together = db.multi_get(&[&key(n)]).map(|mut read| read.remove(0));
            let mut read = None;
            let inside = transaction
                .get_with(&key(n), false, |found| read = Some(found.to_vec()))
                .map(|_| read);
            for read in [alone, together, inside] {
                match read {
                    Ok(read) => found += usize::from(read.as_deref() != Some(&value(n, 0)[..])),
                    Err(error) => {
                        assert_eq!(error.code, Code::Corruption, "{error}");
                        failed += 1;
                    }
                }
            }
        }
        match name {
            "plain" => assert_eq!((found, failed), (3, 0), "the option has no effect"),
            _ => assert!(found == 0 && failed > 0, "{name}: {found} wrong, {failed} failed"),
        }
    }
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
    assert_eq!(
        site.env().open(&site.path("db"), &options).unwrap().get(&key(1)).unwrap().unwrap(),
        b"one"
    );
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
    change(table, |bytes| bytes[HEADER as usize + 2 * (PAGE_BYTES as usize + 16)] ^= 1);
    // newer versions of RocksDB name the file but not its fault
    let error = backups.verify(1).unwrap_err();
    assert!(error.text.contains(table.file_name().unwrap().to_str().unwrap()), "{error}");
    assert_eq!(
        site.verify("backup").failures.iter().map(|f| f.page).collect::<Vec<_>>(),
        [Some(2)]
    );
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
        // overlapping with existing data
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

#[test]
fn what_rocksdb_throws_is_an_error() {
    let site = Site::new();
    let mut options = options();
    // a memtable that makes room for 2^60 entries at once
    options
        .text
        .push_str(";allow_concurrent_memtable_write=false;memtable=vector:1152921504606846976");
    let error = site.env().open(&site.path("db"), &options).unwrap_err();
    assert!(
        error.text.contains("vector::reserve") || error.text.contains("not enough memory"),
        "{error:?}"
    );
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
