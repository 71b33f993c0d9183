//! Runs a comparison on records that carry planted markers, keeps the stores, and searches every
//! file for the markers: verbatim, in UTF-16, in hexadecimal and in base64. The unsealed store must
//! show them, the sealed ones must not.

use std::fs;
use std::path::{Path, PathBuf};

use sealstone_e2e::transcript::{run, sealstone};

/// Text planted in every row of the CSV, long enough that no other bytes look like it.
const MARKER: &str = "PLANTED-MARKER-q7Zx2";
/// A column name, stored with every record.
const COLUMN: &str = "planted_column_name";

/// Returns the ways in which a text may show in a file.
fn disguises(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let bytes = text.as_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut all = vec![
        ("raw", bytes.to_vec()),
        ("UTF-16LE", text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("UTF-16BE", text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
        ("hex", hex.clone().into_bytes()),
        ("HEX", hex.to_uppercase().into_bytes()),
    ];
    for skip in 0..3 {
        all.push(("base64", base64_inside(bytes, skip)));
    }
    all
}

/// Returns the base64 characters that depend on `bytes` alone when `skip` other bytes come before
/// them in a group of three.
fn base64_inside(bytes: &[u8], skip: usize) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // only whole groups, so that neighbours and padding do not matter
    let whole = &bytes[(3 - skip) % 3..];
    let groups = whole.chunks_exact(3);
    let digits = groups.flat_map(|group| {
        let number = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        [18, 12, 6, 0].map(|shift| DIGITS[(number >> shift) as usize & 63])
    });
    digits.collect()
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("a readable directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found
}

/// Returns the number of files below `dir` that show `text` in some disguise; each is named in the
/// second value.
fn showing(dir: &Path, text: &str) -> Vec<String> {
    let mut shown = Vec::new();
    for path in files_below(dir) {
        let bytes = fs::read(&path).expect("a readable file");
        for (disguise, needle) in disguises(text) {
            if contains(&bytes, &needle) {
                shown.push(format!("{} ({disguise})", path.display()));
            }
        }
    }
    shown
}

#[test]
fn no_plaintext_is_left_in_a_sealed_directory() {
    let scratch = tempfile::tempdir().expect("a directory");
    let mut csv = format!("number,{COLUMN},city\n");
    for row in 0..300 {
        csv += &format!("{row},{MARKER} {row},Seoul\n");
    }
    fs::write(scratch.path().join("people.csv"), csv).expect("room");
    let arguments = [
        "compare",
        "--quiet",
        "--records-from",
        "people.csv",
        "--records",
        "3000",
        "--operations",
        "3000",
        "--threads",
        "4",
        "--rounds",
        "1",
        "--set",
        "pairs=6",
        "--bytes",
        "4MB",
        "--ciphers",
        "none,aes-256,aria-256,3des,blowfish",
        "--workloads",
        "a,e,f,oltp,batch-load,batch-scan",
        "--keep",
        "kept",
        "--out",
        "out",
    ];
    run(&mut sealstone(scratch.path(), &arguments)).done();
    let kept = scratch.path().join("kept");
    let mut seen = [0; 2];
    for dataset in ["ycsb", "batch", "oltp"] {
        let stores = fs::read_dir(kept.join(dataset)).expect("one directory a data set");
        for store in stores.map(|entry| entry.expect("an entry").path()) {
            let sealed =
                !store.file_name().is_some_and(|name| name.to_string_lossy().starts_with("none"));
            seen[usize::from(sealed)] += 1;
            let texts: &[&str] =
                if dataset == "oltp" { &["balance_cents"] } else { &[MARKER, COLUMN] };
            for text in texts {
                let shown = showing(&store, text);
                if sealed {
                    assert!(shown.is_empty(), "{text} shows in {shown:?}");
                } else {
                    assert!(
                        !shown.is_empty(),
                        "the search finds nothing in the clear either: {text}"
                    );
                }
            }
        }
    }
    assert_eq!(seen, [3, 12], "three data sets, one store in the clear and four sealed ones each");
}

#[test]
fn the_search_knows_its_disguises() {
    for (prefix, encoded) in [
        ("", "UExBTlRFRC1NQVJLRVItcTdaeDI="),
        ("a", "YVBMQU5URUQtTUFSS0VSLXE3WngyYg=="),
        ("ab", "YWJQTEFOVEVELU1BUktFUi1xN1p4MmI="),
    ] {
        let needle = base64_inside(MARKER.as_bytes(), prefix.len());
        assert!(
            contains(encoded.as_bytes(), &needle),
            "{prefix}: {}",
            String::from_utf8_lossy(&needle)
        );
    }
}
