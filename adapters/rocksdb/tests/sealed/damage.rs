//! Damage of every kind to every kind of file is found.

use std::fs;

use crate::site::Site;
use crate::{
    HEADER, STRIDE, change, crashed, files, fill, key, logs, must_fail, options, page_range,
    read_all, tables, value,
};

#[test]
fn a_changed_bit_anywhere_in_a_table_is_found() {
    let site = Site::new();
    site.filled("db");
    let table = tables(&site.path("db")).pop().unwrap();
    let length = fs::read(&table).unwrap().len() as u64;
    let pages = (length - HEADER).div_ceil(STRIDE);
    assert!(pages > 20);
    for page in [0, 1, pages / 2, pages - 2, pages - 1] {
        for within in [0, 100, STRIDE - 17, STRIDE - 12] {
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
            report.is_whole()
                && report.notes.iter().any(|note| note.what.contains("copies of its header")),
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
    assert_eq!(
        site.verify("db").failures.iter().map(|f| f.page).collect::<Vec<_>>(),
        [Some(3), Some(8)]
    );
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
