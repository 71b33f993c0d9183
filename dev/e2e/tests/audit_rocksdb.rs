//! `sealstone audit` on stores in the clear that RocksDB's own `ldb` has written, with every
//! compression that is read, and kinds of index: a text in them is found.

use std::fs;
use std::path::Path;

use sealstone_e2e::ldb::{Ldb, line};
use sealstone_e2e::sealed_places::call;
use serde_json::Value;

const TEXT: &str = "a secret text";
/// A key that shares its first bytes with the one before.
const KEY: &str = "customer-00000117";
const RECORDS: usize = 200;

/// Loads records into a new store in `dir/db`, whose options have `changes` (name and value), with
/// more arguments of ldb.
fn load(ldb: &Ldb, dir: &Path, changes: &[(&str, &str)], more: &[&str]) {
    let db = dir.join("db");
    let said = ldb.run(&db, &["--create_if_missing", "put", "first", "record"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let options = fs::read_dir(&db)
        .expect("a store")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'O'))
        .max()
        .expect("options");
    let text = fs::read_to_string(&options).expect("a file");
    let changed: Vec<String> = text
        .lines()
        .map(|line| {
            let (name, _) = line.trim().split_once('=').unwrap_or_default();
            match changes.iter().find(|change| change.0 == name) {
                Some((name, value)) => format!("  {name}={value}"),
                None => line.to_owned(),
            }
        })
        .collect();
    for (name, value) in changes {
        assert!(changed.contains(&format!("  {name}={value}")), "{name}: {text}");
    }
    fs::write(&options, changed.join("\n") + "\n").expect("room");
    let records: String = (0..RECORDS)
        .map(|at| {
            // compressed, the text is in pieces
            let value = format!("a secr-{TEXT}-et text.");
            line(format!("customer-{at:08}").as_bytes(), value.as_bytes())
        })
        .collect();
    let common = ["--try_load_options", "--disable_wal", "--compact"];
    ldb.load(&db, "default", &[&common, more].concat(), &records);
}

/// Returns how often each marker is in tables and blobs, compressed as `within`.
fn found(dir: &Path, within: &Value) -> [u64; 2] {
    fs::write(dir.join("markers"), format!("{TEXT}\n{KEY}\n")).expect("room");
    let done = call(dir, "audit db --leak-markers markers --search db --out out");
    assert_eq!(done.code, Some(1), "{done:?}");
    let text = fs::read_to_string(dir.join("out/audit.json")).expect("a file");
    let audit: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(audit["search"]["cut"], 0, "{audit:#}");
    let hits = audit["search"]["hits"].as_object().expect("a table");
    let of_records = hits.iter().filter(|(file, _)| file.ends_with("st") || file.ends_with("blob"));
    let hits: Vec<&Value> = of_records.flat_map(|(_, hits)| hits.as_array().unwrap()).collect();
    ["line 1 of markers", "line 2 of markers"].map(|marker| {
        let of_marker = hits.iter().filter(|hit| hit["what"] == marker && hit["within"] == *within);
        of_marker.map(|hit| hit["count"].as_u64().expect("a number")).sum()
    })
}

#[test]
fn a_text_in_a_store_of_rocksdb_is_found() {
    let Some(ldb) = Ldb::find("a_text_in_a_store_of_rocksdb_is_found") else { return };
    let compressions = [
        ("kNoCompression", "no", Value::Null),
        ("kSnappyCompression", "snappy", "snappy".into()),
        ("kZlibCompression", "zlib", "zlib".into()),
        ("kLZ4Compression", "lz4", "lz4".into()),
        ("kLZ4HCCompression", "lz4hc", "lz4".into()),
        ("kZSTD", "zstd", "zstd".into()),
    ];
    let forms = [
        ("kBinarySearch", "1", "2", "kDataBlockBinarySearch"),
        ("kTwoLevelIndexSearch", "4", "5", "kDataBlockBinaryAndHash"),
        ("kBinarySearchWithFirstKey", "3", "4", "kDataBlockBinarySearch"),
    ];
    for (compression, argument, within) in &compressions {
        for (index, interval, version, data) in forms {
            let home = tempfile::tempdir().expect("a directory");
            let changes = [
                ("compression", *compression),
                ("block_size", "1024"),
                ("metadata_block_size", "128"),
                ("index_type", index),
                ("index_block_restart_interval", interval),
                ("format_version", version),
                ("data_block_index_type", data),
            ];
            load(&ldb, home.path(), &changes, &[]);
            let counts = found(home.path(), within);
            assert_eq!(counts, [RECORDS as u64, 1], "{compression} {index}");
        }
        let home = tempfile::tempdir().expect("a directory");
        let compressed = format!("--blob_compression_type={argument}");
        load(&ldb, home.path(), &[], &["--enable_blob_files", "--min_blob_size=0", &compressed]);
        let [counted, _] = found(home.path(), within);
        assert_eq!(counted, RECORDS as u64, "blobs, {compression}");
    }
}
