//! Contents of WiredTiger's files: our sealed blocks, their positions and nonces; and a way to
//! change a block that its checksum does not notice.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use sealstone_seal::engine_page::{EnginePageInfo, HEADER_BYTES, inspect};
use sealstone_wiredtiger::{PAGE_SKIP_BYTES, RECORD_SKIP_BYTES};

/// Pages begin at multiples of this, in bytes.
const PAGE_STEP: usize = 4096;
/// Journal records begin at multiples of this, in bytes.
const RECORD_STEP: usize = 128;

/// One sealed block in a file.
#[derive(Clone, Debug)]
pub struct Block {
    /// The file.
    pub file: PathBuf,
    /// Start of the block in the file, in bytes.
    pub at: usize,
    /// Its length, in bytes.
    pub bytes: usize,
    /// Length of the page or record in it, in bytes.
    pub page_bytes: usize,
    /// Information in the block's header.
    pub info: EnginePageInfo,
    /// Its tag.
    pub tag: [u8; 16],
}

/// Returns every file under `dir`, in a stable order.
///
/// # Panics
/// If one cannot be read.
#[must_use]
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).expect("a directory") {
            let entry = entry.expect("an entry");
            let kind = entry.file_type().expect("a kind");
            if kind.is_dir() {
                dirs.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Returns every sealed block in the files under `dir`, the stale ones in free space too.
///
/// # Panics
/// If a file cannot be read.
#[must_use]
pub fn blocks(dir: &Path) -> Vec<Block> {
    files(dir).iter().flat_map(|file| blocks_of(file)).collect()
}

/// Returns every sealed block in `file`.
///
/// # Panics
/// If it cannot be read.
#[must_use]
pub fn blocks_of(file: &Path) -> Vec<Block> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let (step, skip) = if name.ends_with(".wt") {
        (PAGE_STEP, PAGE_SKIP_BYTES)
    } else if name.starts_with("WiredTigerLog.") {
        (RECORD_STEP, RECORD_SKIP_BYTES)
    } else {
        return Vec::new();
    };
    let bytes = fs::read(file).expect("a file");
    let one = |start: usize| {
        let at = start + skip;
        let info = inspect(bytes.get(at..at + HEADER_BYTES)?).ok()?;
        // the length counts from the beginning of the page or record
        let length = u32::from_le_bytes(*bytes[at - 4..].first_chunk()?) as usize;
        let block = bytes.get(at..start + length)?;
        let tag = *block.last_chunk()?;
        let page_bytes = info.ciphertext(block.len()).ok()?.len();
        Some(Block { file: file.to_owned(), at, bytes: block.len(), page_bytes, info, tag })
    };
    (0..bytes.len()).step_by(step).filter_map(one).collect()
}

/// Asserts that under no key and salt a counter is used for two different pieces of data. A copy of
/// a block is the same data.
///
/// # Panics
/// If one does.
pub fn assert_no_nonce_twice(blocks: &[Block]) {
    let mut seen: HashMap<_, &Block> = HashMap::new();
    for block in blocks {
        let EnginePageInfo { fingerprint, salt, counter, .. } = block.info;
        if let Some(other) = seen.insert((fingerprint, salt, counter), block) {
            assert!(
                other.tag == block.tag && other.bytes == block.bytes,
                "one nonce, two data:\n{other:?}\n{block:?}"
            );
        }
    }
}

/// Changes 33 bits of `file` from byte `at` on such that the CRC-32C of anything around them stays
/// the same: the polynomial itself is XORed. Doing it again undoes it.
///
/// # Panics
/// If the file cannot be read or written, or its CRC-32C changes.
pub fn change_under_checksum(file: &Path, at: usize) {
    const POLYNOMIAL: u64 = 0x1_1EDC_6F41;
    let mut bytes = fs::read(file).expect("a file");
    let window = at - 40..at + 40;
    let before = crc32c(&bytes[window.clone()]);
    for bit in 0..33 {
        // bytes go into the sum with their lowest bit first
        bytes[at + bit / 8] ^= ((POLYNOMIAL >> (32 - bit) & 1) as u8) << (bit % 8);
    }
    assert_eq!(crc32c(&bytes[window]), before);
    fs::write(file, bytes).expect("written");
}

/// Returns CRC-32C (RFC 3720, B.4), a byte at a time.
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut crc, mut bit) = (byte as u32, 0);
            while bit < 8 {
                crc = crc >> 1 ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
                bit += 1;
            }
            table[byte] = crc;
            byte += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc: u32, byte| crc >> 8 ^ TABLE[usize::from(crc as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_crc32c() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }
}
