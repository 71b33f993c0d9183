//! Tests with tables that are written here, as the format is described: every form, damaged ones,
//! and ones made to be slow. Tables of RocksDB itself: `dev/e2e/tests/audit_rocksdb.rs`.

use std::fs;
use std::path::Path;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sealstone_fields::Format;

use super::*;
use crate::leak::{Encoding, Findings, Marker, Search};

const TEXT: &str = "a secret text";
/// Records of a block.
const RECORDS: usize = 20;

fn number(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Form in which a table is written.
#[derive(Clone, Copy, Debug)]
struct Form {
    version: u32,
    packing: u8,
    kind: u32,
    is_delta: bool,
    /// Entries of the index from one with its whole key to the next.
    interval: usize,
    has_hashes: bool,
}

/// Returns a block of `entries`, whose keys are whole every `interval` entries; a value's length is
/// before its key, unless it is to tell that itself.
fn block(entries: &[(Vec<u8>, Vec<u8>)], interval: usize, has_length: bool) -> Vec<u8> {
    let (mut bytes, mut restarts, mut before) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (key, value)) in entries.iter().enumerate() {
        let mut shared = 0;
        if at % interval == 0 {
            restarts.extend((bytes.len() as u32).to_le_bytes());
        } else {
            shared = key.iter().zip(&before).take_while(|(one, other)| one == other).count();
        }
        bytes.extend(number(shared as u64));
        bytes.extend(number((key.len() - shared) as u64));
        if has_length {
            bytes.extend(number(value.len() as u64));
        }
        bytes.extend_from_slice(&key[shared..]);
        bytes.extend_from_slice(value);
        before.clone_from(key);
    }
    let count = restarts.len() as u32 / 4;
    bytes.extend(restarts);
    bytes.extend(count.to_le_bytes());
    bytes
}

fn packed(form: Form, data: &[u8]) -> Vec<u8> {
    let length = number(data.len() as u64);
    match (form.packing, form.version) {
        (0, _) => data.to_vec(),
        (1, _) => snap::raw::Encoder::new().compress_vec(data).unwrap(),
        (2, 0) => zstd::bulk::compress(data, 1).unwrap(),
        (2, _) => {
            let mut deflate =
                flate2::write::DeflateEncoder::new(length, flate2::Compression::best());
            std::io::Write::write_all(&mut deflate, data).unwrap();
            deflate.finish().unwrap()
        }
        (4 | 5, _) => [length, lz4_flex::block::compress(data)].concat(),
        (7 | 0x40, _) => [length, zstd::bulk::compress(data, 1).unwrap()].concat(),
        _ => vec![7; 100],
    }
}

/// A table that is being written.
struct Writer {
    form: Form,
    file: Vec<u8>,
}

impl Writer {
    /// Returns one of the form `form`, behind something else in the file.
    fn new(form: Form) -> Self {
        Self { form, file: TEXT.into() }
    }

    fn add(&mut self, data: &[u8], packing: u8) -> Handle {
        let bytes = packed(Form { packing, ..self.form }, data);
        let handle = Handle { offset: self.file.len() as u64, bytes: bytes.len() as u64 };
        self.file.extend(bytes);
        self.file.extend([packing, 1, 2, 3, 4]);
        handle
    }

    /// Adds a block of an index that leads to `handles`.
    fn add_index(&mut self, handles: &[Handle]) -> Handle {
        let Form { is_delta, interval, kind, packing, .. } = self.form;
        let entries: Vec<_> = (0..handles.len())
            .map(|at| {
                let (shared, handle) = (at % interval != 0, handles[at]);
                let mut value = match (is_delta && shared, at.checked_sub(1)) {
                    (true, Some(before)) => {
                        let change = handle.bytes as i64 - handles[before].bytes as i64;
                        number(((change << 1) ^ (change >> 63)) as u64)
                    }
                    _ => [number(handle.offset), number(handle.bytes)].concat(),
                };
                if kind == WITH_FIRST_KEY {
                    value.extend([3, b'k', b'e', b'y']);
                }
                (format!("{at:06}").into_bytes(), value)
            })
            .collect();
        let mut data = block(&entries, interval, !is_delta);
        if self.form.version >= 7 {
            // keys are equally far apart
            *data.last_mut().unwrap() |= 1 << 5;
        }
        self.add(&data, packing)
    }

    /// Returns the table, whose index is at `index`.
    fn end(mut self, mut index: Handle) -> Vec<u8> {
        let form = self.form;
        let value = |handle: Handle| [number(handle.offset), number(handle.bytes)].concat();
        let mut meta = Vec::new();
        if form.version > 0 {
            let kind = form.kind.to_le_bytes().to_vec();
            let properties = [
                (b"rocksdb.block.based.table.index.type".to_vec(), kind),
                (b"rocksdb.fixed.key.length".to_vec(), vec![0]),
                (b"rocksdb.index.value.is.delta.encoded".to_vec(), vec![form.is_delta.into()]),
            ];
            // names share bytes, with one restart for all
            let properties = self.add(&block(&properties, 1000, true), 0);
            meta.push((b"rocksdb.properties".to_vec(), value(properties)));
        }
        if form.version >= 6 {
            meta.insert(0, (b"rocksdb.index".to_vec(), value(index)));
            index = Handle { offset: 0, bytes: 0 };
        }
        let meta = self.add(&block(&meta, 1, true), 0);
        let mut footer = vec![1];
        if form.version >= 6 {
            footer.extend([0x3E, 0, 0x7A, 0, 9, 9, 9, 9, 8, 8, 8, 8]);
            footer.extend((meta.bytes as u32).to_le_bytes());
        } else {
            footer.extend([value(meta), value(index)].concat());
        }
        footer.resize(41, 0);
        footer.extend(form.version.to_le_bytes());
        footer.extend(TABLE.to_le_bytes());
        if form.version == 0 {
            footer = [&footer[1..41], &LEVELDB_TABLE.to_le_bytes()].concat();
        }
        self.file.extend(footer);
        self.file
    }
}

/// Returns a table of `blocks` of data, and where they begin.
fn table(form: Form, blocks: &[Vec<u8>]) -> (Vec<u8>, Vec<u64>) {
    let mut writer = Writer::new(form);
    let handles: Vec<Handle> = blocks.iter().map(|data| writer.add(data, form.packing)).collect();
    let index = match form.kind {
        TWO_LEVELS => {
            let parts: Vec<_> = handles.chunks(3).map(|part| writer.add_index(part)).collect();
            writer.add_index(&parts)
        }
        _ => writer.add_index(&handles),
    };
    (writer.end(index), handles.iter().map(|handle| handle.offset).collect())
}

/// Returns blocks of data: keys share what they begin with, and values have a text in pieces that
/// are together only where nothing is compressed.
fn blocks(count: usize, has_hashes: bool) -> Vec<Vec<u8>> {
    let records = |at: usize| {
        (0..RECORDS).map(move |record| {
            let key = format!("customer-{:08}", at * RECORDS + record);
            (key.into_bytes(), format!("a secr-{TEXT}-et text.").into_bytes())
        })
    };
    (0..count)
        .map(|at| {
            let mut data = block(&records(at).collect::<Vec<_>>(), 16, true);
            if has_hashes {
                let (rest, count) = data.split_last_chunk::<4>().unwrap();
                let count = u32::from_le_bytes(*count) | 1 << 31;
                data = [rest, &[0; 33], &33_u16.to_le_bytes(), &count.to_le_bytes()].concat();
            }
            data
        })
        .collect()
}

fn searched(dir: &Path, bytes: &[u8], texts: &[&str]) -> Findings {
    let path = dir.join("000017.sst");
    fs::write(&path, bytes).unwrap();
    let markers: Vec<_> = texts.iter().map(|text| Marker::new(*text, text).unwrap()).collect();
    Search::new(&markers, Vec::new()).unwrap().file(&path, &mut |_| {}).unwrap()
}

/// Returns the place and number of `text` in data compressed as `within`.
fn hit(found: &Findings, text: &str, within: Option<Compression>) -> Option<(u64, u64)> {
    let mut hits = found.hits.iter().filter(|hit| hit.what == text && hit.within == within);
    let hit = hits.next()?;
    assert_eq!((hit.encoding, hits.next()), (Encoding::Plain, None));
    Some((hit.first_offset, hit.count))
}

fn within(form: Form) -> Option<Compression> {
    let table = Block {
        offset: 0,
        bytes: 0,
        packing: Packing::of(form.packing, form.version),
        has_keys: true,
    };
    table.compression()
}

/// Returns every form that a table may have.
fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    for version in [0, 1, 2, 3, 4, 5, 6, 7] {
        let packings = match version {
            0 => &[0, 1, 2][..],
            1 => &[0, 1, 7],
            _ => &[0, 1, 2, 4, 5, 7, 0x40],
        };
        for packing in packings {
            for kind in if version == 0 { &[0][..] } else { &[0, 1, TWO_LEVELS, WITH_FIRST_KEY] } {
                for is_delta in [false, true] {
                    for (interval, has_hashes) in [(1, false), (4, true)] {
                        let form = Form {
                            version,
                            packing: *packing,
                            kind: *kind,
                            is_delta,
                            interval,
                            has_hashes,
                        };
                        if is_delta <= (version >= 4) {
                            all.push(form);
                        }
                    }
                }
            }
        }
    }
    all
}

#[test]
fn tables_of_every_form_are_searched() {
    let dir = tempfile::tempdir().unwrap();
    let forms = forms();
    assert!(forms.len() > 100, "{}", forms.len());
    for form in forms {
        let (file, places) = table(form, &blocks(10, form.has_hashes));
        let key = "customer-00000117";
        let found = searched(dir.path(), &file, &[TEXT, key]);
        let texts = 10 * RECORDS as u64;
        let (offset, count) = hit(&found, TEXT, within(form)).unwrap();
        if form.packing == 0 {
            // and what is before the table
            assert_eq!((found.cut, offset, count), (0, 0, texts + 1), "{form:?}");
        } else {
            // a frame begins behind the length of what it makes
            assert_eq!((found.cut, count), (0, texts), "{form:?}");
            assert!((places[0]..places[0] + 4).contains(&offset), "{form:?}: {offset}");
        }
        let (offset, count) = hit(&found, key, within(form)).expect("a key that shares bytes");
        assert_eq!((offset, count), (places[5], 1), "{form:?}");
    }
}

/// The second address begins in what its key shares with the first, and its @ is behind that.
#[test]
fn a_value_of_a_form_in_two_parts_of_a_key_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let keys = ["hong.gildong1@example.org", "hong.gildong@example.org"];
    let entries = keys.map(|key| (key.as_bytes().to_vec(), Vec::new()));
    let form =
        Form { version: 5, packing: 0, kind: 0, is_delta: true, interval: 1, has_hashes: false };
    let (file, _) = table(form, &[block(&entries, 16, true)]);
    let path = dir.path().join("000017.sst");
    fs::write(&path, file).unwrap();
    let email = crate::leak::Form::of(&Format::parse("email", true).unwrap()).unwrap();
    let found = Search::new(&[], vec![email]).unwrap().file(&path, &mut |_| {}).unwrap();
    assert_eq!(found.hits.iter().map(|hit| hit.count).sum::<u64>(), 2, "{found:?}");
}

/// Index and footer are hostile: nothing in them ends a search or hides what the file has in the
/// clear.
#[test]
fn damaged_tables_are_searched_as_far_as_they_go() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = StdRng::seed_from_u64(45);
    let forms = forms();
    let (mut whole, mut some) = (0, 0);
    for _ in 0..2000 {
        let form = forms[random.random_range(0..forms.len())];
        let (mut file, places) = table(form, &blocks(4, form.has_hashes));
        // the index and the footer are behind the data
        let data = places[3] as usize;
        for _ in 0..random.random_range(1..3) {
            let at = random.random_range(data..file.len());
            file[at] = random.random();
        }
        if random.random_range(0..8) == 0 {
            file.truncate(random.random_range(data..file.len()));
        }
        let found = searched(dir.path(), &file, &[TEXT]);
        assert!(hit(&found, TEXT, None).is_some(), "{form:?}");
        let texts = hit(&found, TEXT, within(form)).map_or(0, |(_, count)| count);
        whole += usize::from(form.packing > 0 && texts == 4 * RECORDS as u64);
        some += usize::from(form.packing > 0 && texts > 0 && texts < 4 * RECORDS as u64);
    }
    // the damage reaches what it is meant for
    assert!(whole > 100 && some > 100, "{whole} {some}");
}

#[test]
fn a_table_that_cannot_be_read_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let form =
        Form { version: 5, packing: 1, kind: 0, is_delta: true, interval: 1, has_hashes: false };
    let (file, places) = table(form, &blocks(4, false));
    let cut = |file: &[u8]| {
        let found = searched(dir.path(), file, &[TEXT]);
        (found.cut, hit(&found, TEXT, within(form)).map(|(_, count)| count / RECORDS as u64))
    };
    assert_eq!(cut(&file), (0, Some(4)));
    // one block, of which snappy states the length first
    let mut other = file.clone();
    other[places[1] as usize] ^= 1;
    assert_eq!(cut(&other), (1, Some(3)));
    // compressed by a program of somebody's own
    let own = places[2] as usize - TRAILER_BYTES as usize;
    let mut other = file.clone();
    other[own] = 0x80;
    assert_eq!(cut(&other), (1, Some(3)));
    // the footer leads beyond the file
    let mut other = file.clone();
    let footer = other.len() - FOOTER_BYTES;
    other[footer + 1..footer + 11].fill(0xFF);
    assert_eq!(cut(&other), (1, None));
    // no table any more
    assert_eq!(cut(&file[..file.len() - 1]), (0, None));
    // a table of another form, whose keys may be in part
    let mut other = file.clone();
    other[footer + 45..].copy_from_slice(&PLAIN_TABLES[0].to_le_bytes());
    assert_eq!(cut(&other), (1, None));

    // values apart from their keys, and a key that shares more than there was
    let form = Form { packing: 0, ..form };
    let (file, places) = table(form, &blocks(4, false));
    let last_word = places[1] as usize - TRAILER_BYTES as usize - 1;
    let mut other = file.clone();
    other[last_word] |= 1 << 4;
    assert_eq!(cut(&other).0, 1);
    let mut other = file.clone();
    other[places[2] as usize] = 99;
    assert_eq!(cut(&other).0, 1);
}

/// Files that cause much work: blocks of 16 MiB of zeros, of which each takes 16 KiB; an index that
/// names one again and again; keys that share 8 MiB each; blocks that claim to be long.
#[test]
fn a_table_made_to_be_slow_ends() {
    let dir = tempfile::tempdir().unwrap();
    let form =
        Form { version: 2, packing: 2, kind: 0, is_delta: false, interval: 1, has_hashes: false };
    let named = |block: &[u8], packing: u8, count: usize| {
        let mut writer = Writer::new(form);
        let handles: Vec<Handle> = (0..count)
            .map(|_| {
                let handle = Handle { offset: writer.file.len() as u64, bytes: block.len() as u64 };
                writer.file.extend_from_slice(block);
                writer.file.extend([packing, 0, 0, 0, 0]);
                handle
            })
            .collect();
        let index = writer.add_index(&handles);
        searched(dir.path(), &writer.end(index), &[TEXT]).cut
    };
    let zeros = vec![0; 1 << 24];
    assert_eq!(named(&packed(form, &zeros), 2, 200), 1, "it ends at the limit");
    // each claims what 600 bytes can be, and is nothing
    let claim = [number(1 << 24), vec![0xFF; 600]].concat();
    assert!(named(&claim, 7, 1000) < 100, "it ends at the limit");

    let mut writer = Writer::new(form);
    let handle = writer.add(&zeros, 2);
    let index = writer.add_index(&[handle; 20_000]);
    let found = searched(dir.path(), &writer.end(index), &[TEXT]);
    assert_eq!(found.cut, 1, "it ends at the second");

    let mut keys = [number(0), number(8 << 20), number(0), vec![b'k'; 8 << 20]].concat();
    let another = [number(8 << 20), number(0), number(0)].concat();
    keys.extend(another.repeat(1_000_000));
    keys.extend(0_u32.to_le_bytes());
    let mut writer = Writer::new(form);
    let handle = writer.add(&keys, 2);
    let index = writer.add_index(&[handle]);
    let found = searched(dir.path(), &writer.end(index), &[TEXT]);
    assert_eq!(found.cut, 0, "each key is searched where it is new");
}

#[test]
fn blobs_are_searched() {
    let dir = tempfile::tempdir().unwrap();
    let form =
        Form { version: 2, packing: 0, kind: 0, is_delta: false, interval: 1, has_hashes: false };
    for packing in [0, 1, 2, 4, 7] {
        let form = Form { packing, ..form };
        let mut file = BLOBS.to_le_bytes().to_vec();
        file.extend([1, 0, 0, 0, 0, 0, 0, 0, 0, packing]);
        file.resize(BLOB_HEADER_BYTES as usize, 0);
        for key in ["k1", "key2"] {
            let value = packed(form, format!("a secr-{TEXT}-et text.").repeat(5).as_bytes());
            file.extend((key.len() as u64).to_le_bytes());
            file.extend((value.len() as u64).to_le_bytes());
            file.extend([0; 16]);
            file.extend([key.as_bytes(), &value].concat());
        }
        let records = file.len();
        file.resize(records + BLOB_FOOTER_BYTES as usize, 9);
        let counted = |file: &[u8]| {
            let found = searched(dir.path(), file, &[TEXT]);
            (hit(&found, TEXT, within(form)).map(|(_, count)| count), found.cut)
        };
        assert_eq!(counted(&file), (Some(10), 0), "{packing}");
        // an unfinished file: no footer, and room for more
        let mut live = file[..records].to_vec();
        live.resize(records + 4096, 0);
        assert_eq!(counted(&live), (Some(10), 0), "{packing}");
        // a length beyond the file
        file[BLOB_HEADER_BYTES as usize + 13] = 1;
        let (count, cut) = counted(&file);
        assert!(cut == 1 && (count.is_none() || [0, 7].contains(&packing)), "{packing}");
    }
}
