//! Tests of the search of one file, read in small pieces: every edge between two pieces, and every
//! edge of a hole, at every place of a text.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::leak::stream::STREAM_BYTES_MAX;
use sealstone_fields::Format;

const TEXT: &str = "Hong Gildong 홍길동";

/// Bytes in memory; from the offset `hole` on, `hole_bytes` of zeros that are not stored.
struct Memory<'a> {
    bytes: &'a [u8],
    hole: u64,
    hole_bytes: u64,
}

impl Source for Memory<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let end = self.bytes.len() as u64 + self.hole_bytes;
        // fewer than there is room for, as a pipe or a network file system may give
        let count = end.saturating_sub(offset).min(buffer.len() as u64).min(100_000);
        for (at, byte) in (offset..).zip(&mut buffer[..count as usize]) {
            *byte = match at {
                at if at < self.hole => self.bytes[at as usize],
                at if at < self.hole + self.hole_bytes => 0,
                at => self.bytes[(at - self.hole_bytes) as usize],
            };
        }
        Ok(count as usize)
    }

    fn stored_from(&self, offset: u64) -> io::Result<u64> {
        let end = self.hole + self.hole_bytes;
        Ok(if (self.hole..end).contains(&offset) { end } else { offset })
    }

    fn end(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64 + self.hole_bytes)
    }
}

fn memory(bytes: &[u8]) -> Memory<'_> {
    Memory { bytes, hole: bytes.len() as u64, hole_bytes: 0 }
}

fn search(texts: &[&str], chunk: usize) -> Search {
    let marker = |(at, text): (usize, &&str)| Marker::new(format!("marker {at}"), text).unwrap();
    let markers: Vec<_> = texts.iter().enumerate().map(marker).collect();
    Search::with_chunk(&markers, forms(), chunk).unwrap()
}

fn forms() -> Vec<Form> {
    ["card", "rrn", "phone", "email"]
        .map(|name| Form::of(&Format::parse(name, true).unwrap()).unwrap())
        .into()
}

/// Encoding, compression, first offset, count.
type Short = (Encoding, Option<Compression>, u64, u64);

fn short(found: &Findings) -> Vec<Short> {
    found.hits.iter().map(|hit| (hit.encoding, hit.within, hit.first_offset, hit.count)).collect()
}

fn found(search: &Search, bytes: &[u8]) -> Vec<Short> {
    let mut seen = 0;
    let found = search.source(&memory(bytes), &mut |count| seen += count).unwrap();
    assert_eq!(seen, bytes.len() as u64);
    assert_eq!(found.cut, 0);
    short(&found)
}

fn low_first(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn high_first(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns `text` in every encoding, and the distance of the place that a hit names.
fn encoded(text: &str) -> Vec<(Encoding, Vec<u8>, usize)> {
    let mut all = vec![
        (Encoding::Plain, text.as_bytes().to_vec(), 0),
        (Encoding::Utf16Le, low_first(text), 0),
        (Encoding::Utf16Be, high_first(text), 0),
        (Encoding::Hex, hex(text).into_bytes(), 0),
        (Encoding::Hex, hex(text).to_uppercase().into_bytes(), 0),
    ];
    for (before, distance) in [("", 0), ("ä", 3), ("x", 2), ("\u{7FF}abc", 7)] {
        let longer = STANDARD.encode(format!("{before}{text}ÿ and more"));
        all.push((Encoding::Base64, longer.into_bytes(), distance));
    }
    all
}

#[test]
fn every_edge_between_pieces() {
    for chunk in [1, 2, 3, 5, 64, 1000, 4096] {
        let search = search(&[TEXT], chunk);
        for (encoding, bytes, distance) in encoded(TEXT) {
            let around = if chunk < 64 { 3 } else { 2 * chunk.min(700) };
            for before in (0..around).step_by(1 + around / 67) {
                let stream = [&vec![1; before], bytes.as_slice(), &[2; 3]].concat();
                let want = vec![(encoding, None, (before + distance) as u64, 1)];
                assert_eq!(found(&search, &stream), want, "{encoding} {chunk} {before}");
            }
        }
    }
}

#[test]
fn every_edge_of_a_piece_within_forms() {
    for text in ["4111 1111 1111 1111", "000101-1000002", "+82-10-1234-5678", "hong@example.com"] {
        let skipped = u64::from(text.starts_with('+'));
        let local = vec![b'h'; 64];
        let padded = if text.contains('@') { local.as_slice() } else { b",," };
        for chunk in [1, 2, 7, 31, 512] {
            let search = search(&[TEXT], chunk);
            for before in 0..70 {
                let start = if text.contains('@') { 61 } else { 2 };
                let stream = [&vec![b','; before], &padded[..start - 1], b",", text.as_bytes()];
                let at = (before + start) as u64 + skipped;
                let stream = stream.concat();
                let want = vec![(Encoding::Plain, None, at, 1)];
                assert_eq!(found(&search, &stream), want, "{text} {chunk} {before}");
                let stream = String::from_utf8(stream).unwrap();
                let wide = found(&search, &low_first(&stream));
                assert_eq!(wide, [(Encoding::Utf16Le, None, 2 * at, 1)], "{text} {chunk}");
                let odd = [&[1], high_first(&stream).as_slice()].concat();
                assert_eq!(found(&search, &odd).len(), 1, "{text} {chunk}");
            }
        }
    }
}

#[test]
fn counts_are_exact_also_of_texts_that_overlap() {
    for chunk in [1, 7, 4096] {
        let search = search(&["abcabcabc", "abcabc", "bcabca"], chunk);
        let text = "abc".repeat(5);
        let named = |bytes: &[u8]| {
            let found = search.source(&memory(bytes), &mut |_| {}).unwrap();
            let hits = found.hits.into_iter();
            hits.map(|hit| (hit.what, hit.encoding, hit.first_offset, hit.count))
                .collect::<Vec<_>>()
        };
        for (encoding, bytes, width) in [
            (Encoding::Plain, text.clone().into_bytes(), 1),
            (Encoding::Utf16Le, [&low_first(&text)[..], &[1]].concat(), 2),
            (Encoding::Utf16Be, [&high_first(&text)[..], &[1]].concat(), 2),
            (Encoding::Hex, hex(&text).into_bytes(), 2),
        ] {
            let want = [("marker 0", 0, 3), ("marker 1", 0, 4), ("marker 2", 1, 3)]
                .map(|(what, at, count)| (what.to_owned(), encoding, at * width, count));
            assert_eq!(named(&bytes), want, "{chunk} {encoding}");
        }
        let base64 = named(STANDARD.encode(&text).as_bytes());
        let counts: Vec<_> = base64.iter().map(|(_, _, _, count)| *count).collect();
        assert_eq!(counts, [3, 4, 3], "{base64:?}");
    }
}

#[test]
fn base64_of_a_text_that_differs_in_an_edge_is_none() {
    let search = search(&["user-000001"], 64);
    for before in ["", "a", "ab", "abc", "abcd"] {
        for (text, want) in [
            ("user-000001", 1),
            ("user-000002", 0),
            ("user-000000", 0),
            ("tser-000001", 0),
            ("vser-000001", 0),
            ("5ser-000001", 0),
            ("user-00000q", 0),
        ] {
            for behind in ["", "z", "zz", "zzz"] {
                let stream = STANDARD.encode(format!("{before}{text}{behind}"));
                let count: u64 = found(&search, stream.as_bytes()).iter().map(|hit| hit.3).sum();
                assert_eq!(count, want, "{before}{text}{behind}");
            }
        }
    }
}

#[test]
fn utf16_is_of_one_byte_order() {
    let search = search(&["secret"], 16);
    for before in 0..4 {
        let stream = [&vec![0; before], low_first("a secret text").as_slice()].concat();
        let hits = found(&search, &stream);
        assert_eq!((hits.len(), hits[0].3), (1, 1), "{hits:?}");
        let stream = [&vec![0; before], high_first("a secret text").as_slice()].concat();
        let hits = found(&search, &stream);
        assert_eq!((hits.len(), hits[0].3), (1, 1), "{hits:?}");
    }
    assert_eq!(found(&search, &low_first("a secret"))[0], (Encoding::Utf16Le, None, 4, 1));
    assert_eq!(found(&search, &high_first("a secret"))[0], (Encoding::Utf16Be, None, 4, 1));
}

#[test]
fn holes_are_passed_and_their_edges_searched() {
    let search = search(&["secret"], 512);
    for hole_bytes in [0, 1, 500, 1000, 2000, 5000, 1 << 50] {
        for (text, width) in [("secret".as_bytes().to_vec(), 1), (high_first("secret"), 2)] {
            for (before, behind) in [(0, 0), (3, 1), (700, 699), (1536, 1)] {
                let bytes =
                    [&vec![9; before], text.as_slice(), &[8], &vec![7; behind], &text].concat();
                let hole = (before + text.len() + 1) as u64;
                let source = Memory { bytes: &bytes, hole, hole_bytes };
                let mut seen = 0;
                let found = search.source(&source, &mut |count| seen += count).unwrap();
                assert_eq!(seen, bytes.len() as u64 + hole_bytes);
                assert_eq!(short(&found)[0].2, before as u64);
                assert_eq!(short(&found)[0].3, 2, "{hole_bytes} {before} {behind} {width}");
            }
        }
    }
    // the first byte of the text is the last one of the hole
    let bytes = [[9; 600].as_slice(), &high_first("secret")[1..], &[1]].concat();
    for hole_bytes in [1, 2000, 1 << 40] {
        let source = Memory { bytes: &bytes, hole: 600, hole_bytes };
        let found = search.source(&source, &mut |_| {}).unwrap();
        assert_eq!(short(&found), [(Encoding::Utf16Be, None, 600 + hole_bytes - 1, 1)]);
    }
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::GzBuilder::new()
        .filename("n")
        .comment("c")
        .extra(vec![1; 300])
        .write(Vec::new(), flate2::Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zlib(data: &[u8], level: u32) -> Vec<u8> {
    let level = flate2::Compression::new(level);
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn zstd(data: &[u8]) -> Vec<u8> {
    zstd::encode_all(data, 3).unwrap()
}

fn lz4(data: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn compressed(data: &[u8]) -> Vec<(Compression, Vec<u8>)> {
    vec![
        (Compression::Gzip, gzip(data)),
        (Compression::Zlib, zlib(data, 1)),
        (Compression::Zlib, zlib(data, 9)),
        (Compression::Zstd, zstd(data)),
        (Compression::Lz4, lz4(data)),
    ]
}

/// Returns `data` with letters between that leave no text whole where it is compressed.
fn scattered(data: &[u8]) -> Vec<u8> {
    [&data[..7], b"-", data, b"-", &data[9.min(data.len())..], b"-"].concat()
}

#[test]
fn compressed_data_is_searched_wherever_it_begins() {
    for chunk in [1, 3, 700, 1 << 16] {
        let search = search(&["a secret text"], chunk);
        for (encoding, bytes, _) in encoded("a secret text").into_iter().take(5) {
            for (kind, stream) in compressed(&scattered(&bytes)) {
                for before in [0, 1, 639, 640, 641, 1023] {
                    // plain text directly behind it, too
                    let file = [&vec![b'.'; before], stream.as_slice(), b"a secret text"].concat();
                    let hits = found(&search, &file);
                    let want = (encoding, Some(kind), before as u64, 1);
                    assert!(hits.contains(&want), "{encoding} {kind} {before} {chunk}: {hits:?}");
                    let end = (before + stream.len()) as u64;
                    let behind = hits
                        .iter()
                        .any(|hit| hit.0 == Encoding::Plain && hit.1.is_none() && hit.2 <= end);
                    assert!(behind, "{hits:?}");
                }
            }
        }
    }
}

#[test]
fn forms_are_found_in_compressed_data() {
    let search = search(&[TEXT], 512);
    let data = b"4111111111111111, 010-1234-5678 and hong@example.com ".repeat(100);
    for (kind, stream) in compressed(&data) {
        let found = search.source(&memory(&stream), &mut |_| {}).unwrap();
        let inside: Vec<_> = found
            .hits
            .iter()
            .filter(|hit| hit.within == Some(kind))
            .map(|hit| (hit.what.as_str(), hit.kind, hit.first_offset, hit.count))
            .collect();
        let want = ["form card", "form phone", "form email"].map(|what| (what, Kind::Form, 0, 100));
        assert_eq!(inside, want, "{kind}");
    }
}

#[test]
fn cut_and_damaged_streams_are_searched_as_far_as_they_go() {
    let search = search(&["a secret text"], 4096);
    let mut random = StdRng::seed_from_u64(5);
    let mut noise = vec![0; 300_000];
    random.fill(noise.as_mut_slice());
    for byte in &mut noise {
        *byte = b'a' + *byte % 20;
    }
    let data = [b"abc a secret text ".as_slice(), &noise].concat();
    let is_found =
        |stream: &[u8], kind| found(&search, stream).contains(&(Encoding::Plain, Some(kind), 0, 1));
    for (kind, stream) in compressed(&data) {
        let cut = &stream[..stream.len() - 10];
        assert!(is_found(cut, kind), "{kind}");
        let mut damaged = stream.clone();
        let middle = stream.len() / 2;
        damaged[middle..middle + 64].fill(0xFF);
        assert!(is_found(&damaged, kind), "{kind}");
        if kind != Compression::Zstd {
            assert!(is_found(&stream[..2000], kind), "{kind}");
            let mut damaged = stream.clone();
            damaged[2000..2064].fill(0xFF);
            assert!(is_found(&damaged, kind), "{kind}");
        }
    }
}

#[test]
fn bombs_end() {
    let search = search(&["a secret text"], CHUNK_BYTES);
    let zeros = vec![0; 1 << 20];
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let mut zstd = zstd::Encoder::new(Vec::new(), 3).unwrap();
    gzip.write_all(b"a secret text").unwrap();
    zstd.write_all(b"a secret text").unwrap();
    for _ in 0..(STREAM_BYTES_MAX >> 20) + 10 {
        gzip.write_all(&zeros).unwrap();
        zstd.write_all(&zeros).unwrap();
    }
    for (kind, bomb) in
        [(Compression::Gzip, gzip.finish().unwrap()), (Compression::Zstd, zstd.finish().unwrap())]
    {
        let found = search.source(&memory(&bomb), &mut |_| {}).unwrap();
        assert!(short(&found).contains(&(Encoding::Plain, Some(kind), 0, 1)), "{kind}");
        assert_eq!(found.cut, 1);
    }
}

#[test]
fn work_is_limited() {
    let mut work = Work::default();
    assert_eq!(work.left(0), Some(1 << 30));
    work.count(1 << 30, true);
    assert_eq!((work.left(0), work.left(100)), (None, None));
    assert!(work.left(1 << 20).is_some());
    assert!(Work::default().left(u64::MAX).is_some());
    work.count(u64::MAX, false);
    assert_eq!(work.left(u64::MAX), None);
}

/// Headers of zlib in stored blocks of zlib, each of which contains the next ones, and headers of
/// gzip that go on as such: every place is tried, and costs little.
#[test]
fn headers_by_the_thousand_end() {
    let search = search(&["a secret text"], CHUNK_BYTES);
    let stored = [0x78, 0x01, 0x00, 0xF8, 0xFF, 0x07, 0x00].repeat(3000);
    let gzips = [0x1F, 0x8B, 0x08].repeat(3000);
    let zstds = [0x28, 0xB5, 0x2F, 0xFD].repeat(3000);
    let lz4s = [0x04, 0x22, 0x4D, 0x18].repeat(3000);
    for bytes in [stored, gzips, zstds, lz4s] {
        let found = search.source(&memory(&bytes), &mut |_| {}).unwrap();
        assert_eq!(found.hits, []);
    }
}

fn snappy(data: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(data).unwrap()
}

/// Returns a file of WiredTiger with a page of `data` at each of `places`.
fn pages(data: &[u8], places: &[usize]) -> Vec<u8> {
    let compressed = snappy(data);
    let mut file = vec![0; 4096];
    file[..4].copy_from_slice(&120_897_u32.to_le_bytes());
    for &place in places {
        file.resize(place + 64, 1);
        file.extend((compressed.len() as u64).to_le_bytes());
        file.extend(&compressed);
    }
    file
}

#[test]
fn blocks_of_wiredtiger_are_searched() {
    let data = scattered(b"a secret text").repeat(50);
    for chunk in [1, 64, 4096, CHUNK_BYTES] {
        let search = search(&["a secret text"], chunk);
        let inside = |file: &[u8]| {
            let mut hits = found(&search, file);
            hits.retain(|hit| hit.1 == Some(Compression::Snappy));
            hits
        };
        let want = |first, blocks: u64| {
            vec![(Encoding::Plain, Some(Compression::Snappy), first, 50 * blocks)]
        };
        let file = pages(&data, &[4096, 8192, 20480]);
        assert_eq!(inside(&file), want(4096 + 72, 3), "{chunk}");
        assert_eq!(inside(&file[..file.len() - 1]), want(4096 + 72, 2), "cut");
        assert_eq!(inside(&pages(&data, &[4096 + 512])), [], "not at a multiple of 4096");
        let mut other = file.clone();
        other[0] ^= 1;
        assert_eq!(inside(&other), [], "not of WiredTiger");
        for length in [0, 1, 9, 1 << 24, (1 << 24) + 1, 1 << 40, u64::MAX] {
            let mut wrong = file.clone();
            wrong[4096 + 64..4096 + 72].copy_from_slice(&length.to_le_bytes());
            assert_eq!(inside(&wrong), want(8192 + 72, 2), "{length}");
        }
        // a block that claims to be 4 GiB
        let mut bomb = file.clone();
        bomb[4096 + 72..4096 + 77].copy_from_slice(&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F]);
        assert_eq!(inside(&bomb), want(8192 + 72, 2));
    }
}

#[test]
fn records_of_the_journal_are_searched() {
    let search = search(&["a secret text"], 128);
    let compressed = snappy(&scattered(b"a secret text").repeat(50));
    let mut file = vec![0; 128];
    file[16..20].copy_from_slice(&0x10_1064_u32.to_le_bytes());
    let record = |flags: u8| {
        let mut record = vec![0; 16];
        record[..4].copy_from_slice(&(compressed.len() as u32 + 24).to_le_bytes());
        record[8] = flags;
        record.extend((compressed.len() as u64).to_le_bytes());
        record.extend(&compressed);
        record.resize(record.len().next_multiple_of(128), 0);
        record
    };
    let (first, second) = (record(1), record(0));
    file.extend([first, second].concat());
    let hits = found(&search, &file);
    let inside: Vec<_> = hits.iter().filter(|hit| hit.1.is_some()).collect();
    assert_eq!(inside, [&(Encoding::Plain, Some(Compression::Snappy), 128 + 24, 50)]);
}

/// Anything may be anywhere: a file of random bytes has no hit, and one with a marker has one.
#[test]
fn planted_markers_are_found() {
    for seed in 0..150 {
        let mut random = StdRng::seed_from_u64(seed);
        let chunk = [1, 17, 600, 5000, CHUNK_BYTES][random.random_range(0..5)];
        let text: String = (0..random.random_range(8..60))
            .map(|_| char::from(random.random_range(b'!'..b'~')))
            .collect();
        let markers: Vec<String> = (0..random.random_range(0..40))
            .map(|at| format!("another marker {at}"))
            .chain([text.clone()])
            .collect();
        let markers: Vec<&str> = markers.iter().map(String::as_str).collect();
        let search = search(&markers, chunk);
        let mut noise = vec![0; random.random_range(0..20_000)];
        random.fill(noise.as_mut_slice());
        assert_eq!(found(&search, &noise), [], "{seed}");

        let mut all = encoded(&text);
        let (encoding, bytes, _) = all.swap_remove(random.random_range(0..all.len()));
        let mut kinds = compressed(&scattered(&bytes));
        let place = random.random_range(0..=noise.len());
        let (within, bytes) = match random.random_range(0..kinds.len() + 1) {
            0 => (None, bytes),
            kind => {
                let (within, bytes) = kinds.swap_remove(kind - 1);
                (Some(within), bytes)
            }
        };
        let file = [&noise[..place], &bytes, &noise[place..]].concat();
        let hits = found(&search, &file);
        let mut counts = hits.iter().filter(|hit| hit.1 == within);
        let hit = counts.next().unwrap_or_else(|| panic!("{seed}: {encoding} {within:?}"));
        let wide = [Encoding::Utf16Le, Encoding::Utf16Be];
        let same = hit.0 == encoding || (wide.contains(&hit.0) && wide.contains(&encoding));
        assert!(same, "{seed}: {hits:?}");
        assert_eq!((hit.3, counts.next()), (1, None), "{seed}");
        let near = within.map_or(8, |_| 0);
        assert!(hit.2.abs_diff(place as u64) <= near, "{seed}: {hits:?} {place}");
    }
}

/// As many markers as a file names, which begin alike.
#[test]
fn many_markers_are_told_apart() {
    let texts: Vec<String> = (0..1000).map(|at| format!("customer-{at:06}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let search = search(&texts, 4096);
    let file: String = (0..2000).rev().map(|at| format!("customer-{at:06}\n")).collect();
    let found = search.source(&memory(file.as_bytes()), &mut |_| {}).unwrap();
    assert_eq!(found.hits.len(), 1000);
    for (at, hit) in found.hits.iter().enumerate() {
        assert_eq!(hit.what, format!("marker {at}"));
        assert_eq!((hit.first_offset, hit.count), ((1999 - at as u64) * 16, 1));
    }
}

#[test]
fn a_search_needs_something_and_is_shared_by_threads() {
    assert_eq!(Search::new(&[], Vec::new()).err(), Some(LeakError::Nothing));
    fn shared<T: Send + Sync>(_: &T) {}
    let twice = Search::new(&[], [forms(), forms()].concat()).unwrap();
    shared(&twice);
    let hits = found(&twice, b"4111111111111111");
    assert_eq!(hits, [(Encoding::Plain, None, 0, 1)]);
}

/// Deflate that goes on for some bytes where there is none, and repeats a card number.
#[test]
fn values_of_forms_count_in_zlib_that_is_one() {
    let search = search(&["a secret text"], 4096);
    let data = b"4111111111111111, a secret text,".repeat(3);
    let stream = zlib(&data, 9);
    let within = |bytes: &[u8]| {
        let found = search.source(&memory(bytes), &mut |_| {}).unwrap();
        let inside = found.hits.into_iter().filter(|hit| hit.within.is_some());
        inside.map(|hit| (hit.kind, hit.count)).collect::<Vec<_>>()
    };
    assert_eq!(within(&stream), [(Kind::Marker, 3), (Kind::Form, 3)]);
    let mut damaged = stream.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(within(&damaged), [(Kind::Marker, 3)], "the checksum");
    let mut random = StdRng::seed_from_u64(8);
    let noise: Vec<u8> = (0..4000).map(|_| random.random_range(b' '..b'~')).collect();
    let long = zlib(&[&data, noise.as_slice()].concat(), 9);
    assert_eq!(within(&long[..long.len() - 4]), [(Kind::Marker, 3), (Kind::Form, 3)]);
    assert_eq!(within(&long[..500]), [(Kind::Marker, 3)]);
    // so short that random data is often as good
    assert_eq!(within(&zlib(b"a secret text", 9)), [(Kind::Marker, 1)]);
    let mut short = zlib(b"a secret text", 1);
    short.truncate(short.len() - 4);
    assert_eq!(within(&short), []);
}
