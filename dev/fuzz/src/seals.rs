//! A sealed file, or a block for an engine, of any content, damaged in any way, returns the sealed
//! data or an error: never other data, never a panic.

use arbitrary::{Result, Unstructured};
use sealstone_cipher::{Backend, Cipher, ciphers};
use sealstone_keys::{KeyError, KeyRef, KeySource, Secret};
use sealstone_seal::engine_page::{self, EnginePages, OVERHEAD_BYTES};
use sealstone_seal::frame::{FrameReader, FrameWriter};
use sealstone_seal::paged::{PAGE_BYTES_MIN, PageWriter, Pages, Shape};
use sealstone_seal::{HEADER_BYTES, Layout, SealError, SealedFile, inspect};

/// Most bytes of data in a file: some pages of the shortest kind.
const DATA_BYTES_MAX: usize = 5 * PAGE_BYTES_MIN as usize;

/// One key for all inputs: only the files are fuzzed.
struct OneKey;

impl KeySource for OneKey {
    fn current(&self) -> std::result::Result<(KeyRef, Secret), KeyError> {
        Ok((KeyRef { id: "fuzz".into(), version: 1 }, Secret::from_bytes(&[7; Secret::BYTES])))
    }

    fn get(&self, _key: &KeyRef) -> std::result::Result<Secret, KeyError> {
        self.current().map(|(_, secret)| secret)
    }

    fn describe(&self) -> String {
        "the fuzzer's key".into()
    }
}

/// Seals `parts` one after the other, each a frame where the layout has frames.
fn seal(
    cipher: &'static Cipher,
    layout: Layout,
    parts: &[Vec<u8>],
) -> std::result::Result<Vec<u8>, SealError> {
    let (file, header) = SealedFile::create(&OneKey, cipher, Backend::auto(), layout)?;
    let mut stored = header.to_vec();
    match layout {
        Layout::Paged { .. } => {
            let mut writer = PageWriter::new(&file)?;
            parts.iter().try_for_each(|part| writer.append(part, &mut stored))?;
            writer.finish(&mut stored)?;
        }
        Layout::Frames => {
            let mut writer = FrameWriter::new(&file)?;
            parts.iter().try_for_each(|part| writer.append(part, &mut stored))?;
        }
        // it has nothing after its header
        Layout::Volume { .. } => {}
    }
    Ok(stored)
}

/// Returns everything that opens of `stored`, from its beginning up to the first failure: the data
/// that a reader gets before an error.
fn open(stored: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    // without a key: must not panic, whatever the content
    let _ = inspect(stored);
    let Ok(file) = SealedFile::open(&OneKey, Backend::auto(), stored) else { return data };
    match file.info().layout {
        Layout::Paged { .. } => {
            let Ok(shape) = Shape::of(&file, stored.len() as u64) else { return data };
            let last = shape.last_page();
            let mut last_page = stored[last.offset as usize..][..last.bytes].to_vec();
            let Ok((pages, _)) = Pages::open(&file, stored.len() as u64, &mut last_page) else {
                return data;
            };
            for page in 0..shape.pages() {
                let place = shape.page(page);
                let mut bytes = stored[place.offset as usize..][..place.bytes].to_vec();
                let Ok(data_bytes) = pages.open_stored(page, &mut bytes) else { break };
                data.extend_from_slice(&bytes[..data_bytes]);
            }
        }
        Layout::Volume { .. } => {}
        Layout::Frames => {
            let Ok(mut reader) = FrameReader::new(&file, 0) else { return data };
            reader.push(&stored[HEADER_BYTES..]);
            while let Ok(Some(frame)) = reader.next_frame() {
                data.extend_from_slice(frame.data);
            }
            let _ = reader.end();
        }
    }
    data
}

/// Changes `stored` according to the input: bytes, lengths, stretches put elsewhere.
fn damage(input: &mut Unstructured, stored: &mut Vec<u8>) -> Result<()> {
    for _ in 0..input.int_in_range(0..=3)? {
        if stored.is_empty() {
            return Ok(());
        }
        let at = input.choose_index(stored.len())?;
        match input.int_in_range(0..=4)? {
            0 => stored[at] ^= input.int_in_range(1..=255)?,
            1 => stored.truncate(at),
            2 => stored.extend_from_within(at..),
            3 => {
                let (from, bytes) =
                    (input.choose_index(stored.len())?, input.int_in_range(1..=5000)?);
                let bytes = bytes.min(stored.len() - from.max(at));
                stored.copy_within(from..from + bytes, at);
            }
            _ => {
                let bytes = input.int_in_range(1..=64)?.min(stored.len() - at);
                input.fill_buffer(&mut stored[at..at + bytes])?;
            }
        }
    }
    Ok(())
}

fn run(input: &mut Unstructured) -> Result<()> {
    let cipher = input.choose(ciphers())?;
    let layout = if input.arbitrary()? {
        Layout::Frames
    } else {
        Layout::Paged { page_bytes: PAGE_BYTES_MIN }
    };
    let mut parts = Vec::new();
    for _ in 0..input.int_in_range(0..=4)? {
        let bytes = input.int_in_range(1..=DATA_BYTES_MAX / 4)?;
        parts.push(vec![input.arbitrary::<u8>()?; bytes]);
    }
    let Ok(mut stored) = seal(cipher, layout, &parts) else {
        panic!("cannot seal {} parts with {} in {}", parts.len(), cipher.name, layout.name());
    };
    let data = parts.concat();
    assert!(open(&stored) == data, "{} in {}: not what was sealed", cipher.name, layout.name());
    damage(input, &mut stored)?;
    let found = open(&stored);
    assert!(
        data.starts_with(&found),
        "{} in {}: other data than was sealed",
        cipher.name,
        layout.name()
    );
    Ok(())
}

/// Checks a block for an engine: unchanged it opens, changed in any way it does not.
fn run_engine_page(input: &mut Unstructured) -> Result<()> {
    let cipher = input.choose(ciphers())?;
    let key = KeyRef { id: "fuzz".into(), version: 1 };
    let keys = vec![(key.clone(), Secret::from_bytes(&[7; Secret::BYTES]))];
    let pages = EnginePages::new(keys, &key, "the fuzzer's key", cipher, Backend::auto())
        .expect("a key and a cipher");
    let page = vec![input.arbitrary::<u8>()?; input.int_in_range(0..=5000)?];
    let mut block = vec![0; page.len() + OVERHEAD_BYTES];
    pages.seal(&page, &mut block).expect("a page is sealed");
    let sealed = block.clone();
    damage(input, &mut block)?;
    let opened_bytes = engine_page::page_bytes(&block).unwrap_or(block.len());
    let mut opened = vec![0xEE; opened_bytes];
    match pages.open(&block, &mut opened) {
        Ok(()) => assert!(
            block == sealed && opened == page,
            "{}: a changed block was opened",
            cipher.name
        ),
        Err(error) => {
            assert!(block != sealed, "{}: {error}", cipher.name);
            assert!(
                opened.iter().all(|byte| *byte == 0),
                "{}: a page that failed is not empty",
                cipher.name
            );
        }
    }
    Ok(())
}

/// Checks one input, whatever it is: as a sealed file or block itself, and as damage to one.
///
/// # Panics
/// If a reader returns anything but a beginning of the sealed data.
pub fn check(input: &[u8]) {
    open(input);
    let _ = engine_page::inspect(input);
    let _ = run(&mut Unstructured::new(input));
    let _ = run_engine_page(&mut Unstructured::new(input));
}
