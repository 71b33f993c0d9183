//! Tests of the search for plaintext on real files: what is no file, sparse files, what is reported
//! and what never is.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sealstone_audit::leak::{Compression, Encoding, Findings, Form, Kind, Marker, Search};
use sealstone_fields::{Format, formats};

const TEXT: &str = "Hong Gildong";

fn search() -> Search {
    let marker = Marker::new("marker 1", TEXT).unwrap();
    let card = Form::of(&Format::parse("card", false).unwrap()).unwrap();
    Search::new(&[marker], vec![card]).unwrap()
}

fn found(path: &Path) -> io::Result<Findings> {
    search().file(path, &mut |_| {})
}

#[test]
fn what_is_no_file_is_an_error_and_nothing_waits() {
    let dir = tempfile::tempdir().unwrap();
    let kind = |path: &Path| found(path).unwrap_err().kind();
    assert_eq!(kind(dir.path()), io::ErrorKind::IsADirectory);
    let fifo = dir.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(kind(&fifo), io::ErrorKind::InvalidInput);
    assert_eq!(kind(Path::new("/dev/zero")), io::ErrorKind::InvalidInput);
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(dir.path().join("none"), &link).unwrap();
    assert_eq!(kind(&link), io::ErrorKind::NotFound);
    fs::write(dir.path().join("none"), TEXT).unwrap();
    assert_eq!(found(&link).unwrap().hits.len(), 1, "a link to a file");
    let empty = dir.path().join("empty");
    fs::write(&empty, "").unwrap();
    assert_eq!(found(&empty).unwrap(), Findings::default());
}

#[test]
fn a_sparse_file_is_searched_at_its_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sparse");
    let file = File::create(&path).unwrap();
    let bytes = 1_u64 << 40;
    if file.set_len(bytes).is_err() {
        println!("SKIP: a_sparse_file_is_searched_at_its_ends: no file of 1 TiB here");
        return;
    }
    for at in [0, bytes / 2 + 77, bytes - TEXT.len() as u64] {
        file.write_all_at(TEXT.as_bytes(), at).unwrap();
    }
    let mut seen = 0;
    let found = search().file(&path, &mut |count| seen += count).unwrap();
    assert_eq!(seen, bytes);
    assert_eq!((found.hits.len(), found.hits[0].count, found.hits[0].first_offset), (1, 3, 0));
}

/// A log of zlib streams of zeros, of which each byte makes a thousand.
#[test]
fn a_file_of_bombs_ends_and_tells_that_it_was_cut() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bombs");
    let zeros = vec![0; 16 << 20];
    let mut bomb = zstd::Encoder::new(Vec::new(), 3).unwrap();
    for _ in 0..8 {
        bomb.write_all(&zeros).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    let mut bombs = bomb.repeat(40);
    bombs.extend_from_slice(TEXT.as_bytes());
    fs::write(&path, &bombs).unwrap();
    let found = found(&path).unwrap();
    assert_eq!(found.cut, 40);
    assert_eq!(found.hits[0].first_offset, (bombs.len() - TEXT.len()) as u64);
}

#[test]
fn random_data_has_no_hit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("random");
    let mut bytes = vec![0; if cfg!(debug_assertions) { 8 << 20 } else { 64 << 20 }];
    StdRng::seed_from_u64(11).fill(bytes.as_mut_slice());
    fs::write(&path, &bytes).unwrap();
    let forms =
        formats().iter().filter_map(|row| Form::of(&Format::parse(row.example, true).unwrap()));
    let search = Search::new(&[Marker::new("m", TEXT).unwrap()], forms.collect()).unwrap();
    assert_eq!(search.file(&path, &mut |_| {}).unwrap(), Findings::default());
}

#[test]
fn forms_are_of_formats_that_little_else_looks_like() {
    let labels: Vec<_> = formats()
        .iter()
        .filter_map(|row| Form::of(&Format::parse(row.example, true).unwrap()))
        .map(|form| form.label().to_owned())
        .collect();
    assert_eq!(labels, ["form card", "form rrn", "form phone", "form email"]);
    let keeping = Format::parse("card:6-0", false).unwrap();
    assert_eq!(Form::of(&keeping), Form::of(&Format::parse("card", false).unwrap()));
}

#[test]
fn a_report_has_no_text() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(format!("{TEXT} paid with 4111-1111-1111-1111, {TEXT}").as_bytes()).unwrap();
    fs::write(&path, [b"....".as_slice(), &encoder.finish().unwrap()].concat()).unwrap();
    let found = found(&path).unwrap();
    let inside = found.hits.iter().find(|hit| hit.kind == Kind::Marker).unwrap();
    assert_eq!(
        (inside.encoding, inside.within, inside.first_offset, inside.count),
        (Encoding::Plain, Some(Compression::Gzip), 4, 2)
    );
    assert_eq!(
        serde_json::to_string(&found.hits[0]).unwrap(),
        r#"{"what":"marker 1","kind":"marker","encoding":"plain","within":"gzip","first_offset":4,"count":2}"#
    );
    for text in [format!("{found:?}"), serde_json::to_string(&found).unwrap()] {
        assert!(!text.contains("Hong") && !text.contains("4111"), "{text}");
    }
}
