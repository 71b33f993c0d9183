//! The header of a sealed file: 512 bytes that say how the file is sealed, under which key, and carry its data key.
//! Byte by byte in `docs/formats.md`. Not here: the data after it.

use sealstone_cipher::registry::{self, Cipher};
use sealstone_keys::{KEY_ID_BYTES_MAX, KeyRef, check_key_id};

use crate::paged::{PAGE_BYTES_MAX, PAGE_BYTES_MIN};
use crate::{SealError, TAG_BYTES};

/// Length of the header, in bytes: one disk sector, so that re-wrapping the data key rewrites a single sector.
pub const HEADER_BYTES: usize = 512;

/// What every sealed file begins with. The first byte is no text, the last one is changed by a transfer as text.
pub const MAGIC: [u8; 8] = *b"\x89SEALST\n";

/// The format version written, and the newest that is read.
pub const FORMAT_VERSION: u16 = 1;

/// Length of a file id, in bytes.
pub(crate) const FILE_ID_BYTES: usize = 16;
/// Length of the salt of a wrapping, in bytes.
pub(crate) const SALT_BYTES: usize = 16;
/// Length of a data key, in bytes.
pub(crate) const DEK_BYTES: usize = 32;
/// Most units (pages or blocks) that a header may give a segment: keeps every counter below 2^62.
const SEGMENT_UNITS_MAX: u64 = 1 << 48;

const VERSION_AT: usize = 8;
const LAYOUT_AT: usize = 10;
const CIPHER_AT: usize = 12;
const PAGE_BYTES_AT: usize = 16;
const FILE_ID_AT: usize = 24;
const SALT_AT: usize = 40;
const SEGMENT_UNITS_AT: usize = 56;
const KEY_VERSION_AT: usize = 64;
const KEY_ID_BYTES_AT: usize = 68;
const KEY_ID_AT: usize = 72;
const DEK_AT: usize = KEY_ID_AT + KEY_ID_BYTES_MAX;
const TAG_AT: usize = DEK_AT + DEK_BYTES;
const END: usize = TAG_AT + TAG_BYTES;
/// Where a file of frames says how much of it was synced: a length and its tag, rewritten as the file grows.
pub(crate) const SYNCED_AT: usize = 480;
/// Length of that record, in bytes.
pub(crate) const SYNCED_RECORD_BYTES: usize = 8 + TAG_BYTES;
const SYNCED_END: usize = SYNCED_AT + SYNCED_RECORD_BYTES;

/// What changes when the data key is wrapped under another key: salt to tag, with the key's name between. Segment length
/// and unused bytes of the key id lie in it and stay as they are; the record of what was synced lies behind it.
pub(crate) const REWRAPPED: std::ops::Range<usize> = SALT_AT..END;
/// Length of that, in bytes.
pub(crate) const REWRAPPED_BYTES: usize = END - SALT_AT;

/// Where the header must be zero: gaps that a later version may use.
const RESERVED: [std::ops::Range<usize>; 4] = [11..12, 14..16, 20..24, 69..72];

/// How a sealed file is laid out after its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Fixed-size pages, for files that are written once and read at random.
    Paged {
        /// Data bytes in a page: a power of two from 4096 to 65536.
        page_bytes: u32,
    },
    /// Append-only frames, for logs.
    Frames,
}

impl Layout {
    /// How messages call it: `pages` or `frames`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Paged { .. } => "pages",
            Self::Frames => "frames",
        }
    }
}

/// What a header says, apart from the wrapped key.
#[derive(Clone, Debug)]
pub struct HeaderInfo {
    /// Version of the format.
    pub format_version: u16,
    /// Pages or frames.
    pub layout: Layout,
    /// The cipher of the whole file, header included.
    pub cipher: &'static Cipher,
    /// The key-encryption key that wraps the file's data key.
    pub key: KeyRef,
    /// Random name of this file, which every page and frame is bound to.
    pub file_id: [u8; FILE_ID_BYTES],
    /// How much of the file shares one subkey: pages, or for frames blocks of the cipher.
    pub segment_units: u64,
}

/// A header taken apart, not yet authenticated.
pub(crate) struct Parts {
    /// The header as it was read, with zeros for the wrapped key, its tag and the record of what was synced: what the
    /// tag is over.
    pub(crate) associated: [u8; HEADER_BYTES],
    pub(crate) info: HeaderInfo,
    pub(crate) salt: [u8; SALT_BYTES],
    pub(crate) wrapped_dek: [u8; DEK_BYTES],
    pub(crate) tag: [u8; TAG_BYTES],
    /// The record of what was synced, zeros in a paged file.
    pub(crate) synced: [u8; SYNCED_RECORD_BYTES],
}

/// Whether `prefix`, the beginning of a file, is that of a sealed file. Needs 8 bytes to say yes.
#[must_use]
pub fn is_sealed(prefix: &[u8]) -> bool {
    prefix.starts_with(&MAGIC)
}

/// Reads what a header says without any key, and so without knowing that it is genuine.
///
/// `header`: the first [`HEADER_BYTES`] bytes of the file, or more.
///
/// # Errors
/// [`SealError::NotSealed`], [`SealError::Unfinished`] if the header is cut short, [`SealError::UnsupportedVersion`],
/// [`SealError::UnknownCipher`], [`SealError::Damaged`].
pub fn inspect(header: &[u8]) -> Result<HeaderInfo, SealError> {
    parse(header).map(|parts| parts.info)
}

pub(crate) fn parse(header: &[u8]) -> Result<Parts, SealError> {
    let damaged = |found: &str| Err(SealError::Damaged { found: found.into() });
    let known = header.len().min(MAGIC.len());
    let start = &header[..header.len().min(HEADER_BYTES)];
    if start.iter().all(|byte| *byte == 0) {
        // what a power cut leaves of a file whose length reached the disk before its data
        return Err(SealError::Unfinished { found: format!("the header is {} zero bytes", start.len()) });
    }
    if header[..known] != MAGIC[..known] {
        return Err(SealError::NotSealed);
    }
    let Some(header) = header.first_chunk::<HEADER_BYTES>() else {
        return Err(SealError::Unfinished {
            found: format!("the header has {} of {HEADER_BYTES} bytes", header.len()),
        });
    };
    let format_version = u16::from_be_bytes(take(header, VERSION_AT));
    if format_version == 0 {
        return damaged("format version 0 was never used");
    }
    if format_version > FORMAT_VERSION {
        return Err(SealError::UnsupportedVersion { found: format_version, known: FORMAT_VERSION });
    }
    let zero = |range: std::ops::Range<usize>| header[range].iter().all(|byte| *byte == 0);
    if !RESERVED.into_iter().all(zero) || !zero(END..SYNCED_AT) || !zero(SYNCED_END..HEADER_BYTES) {
        return damaged("bytes that version 1 leaves zero are not");
    }
    let page_bytes = u32::from_be_bytes(take(header, PAGE_BYTES_AT));
    let layout = match header[LAYOUT_AT] {
        1 if is_page_bytes(page_bytes) => Layout::Paged { page_bytes },
        1 => return damaged("impossible page length"),
        2 if page_bytes == 0 => Layout::Frames,
        2 => return damaged("frames with a page length"),
        _ => return damaged("unknown layout"),
    };
    if layout != Layout::Frames && !zero(SYNCED_AT..SYNCED_END) {
        return damaged("pages with a record of what was synced");
    }
    let segment_units = u64::from_be_bytes(take(header, SEGMENT_UNITS_AT));
    if !(1..=SEGMENT_UNITS_MAX).contains(&segment_units) {
        return damaged("impossible segment length");
    }
    let key_id_bytes = usize::from(header[KEY_ID_BYTES_AT]);
    if key_id_bytes > KEY_ID_BYTES_MAX || !zero(KEY_ID_AT + key_id_bytes..DEK_AT) {
        return damaged("impossible key id");
    }
    let Ok(key_id) = std::str::from_utf8(&header[KEY_ID_AT..KEY_ID_AT + key_id_bytes]) else {
        return damaged("the key id is not text");
    };
    if check_key_id(key_id).is_err() {
        return damaged("impossible key id");
    }
    let cipher_id = u16::from_be_bytes(take(header, CIPHER_AT));
    let cipher = registry::by_id(cipher_id).ok_or(SealError::UnknownCipher { id: cipher_id })?;
    let key = KeyRef { id: key_id.to_owned(), version: u32::from_be_bytes(take(header, KEY_VERSION_AT)) };
    let mut associated = *header;
    associated[DEK_AT..END].fill(0);
    associated[SYNCED_AT..SYNCED_END].fill(0);
    Ok(Parts {
        associated,
        info: HeaderInfo { format_version, layout, cipher, key, file_id: take(header, FILE_ID_AT), segment_units },
        salt: take(header, SALT_AT),
        wrapped_dek: take(header, DEK_AT),
        tag: take(header, TAG_AT),
        synced: take(header, SYNCED_AT),
    })
}

/// The header of `info` and `salt`, with zeros where the wrapped key and its tag will stand. This is also the
/// associated data of the wrapping: every byte of the header but those two fields.
pub(crate) fn unwrapped(info: &HeaderInfo, salt: &[u8; SALT_BYTES]) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &MAGIC);
    put(VERSION_AT, &info.format_version.to_be_bytes());
    match info.layout {
        Layout::Paged { page_bytes } => {
            put(LAYOUT_AT, &[1]);
            put(PAGE_BYTES_AT, &page_bytes.to_be_bytes());
        }
        Layout::Frames => put(LAYOUT_AT, &[2]),
    }
    put(CIPHER_AT, &info.cipher.id.to_be_bytes());
    put(FILE_ID_AT, &info.file_id);
    put(SALT_AT, salt);
    put(SEGMENT_UNITS_AT, &info.segment_units.to_be_bytes());
    put(KEY_VERSION_AT, &info.key.version.to_be_bytes());
    put(KEY_ID_BYTES_AT, &[info.key.id.len() as u8]);
    put(KEY_ID_AT, info.key.id.as_bytes());
    header
}

/// Puts the wrapped key and its tag where they belong.
pub(crate) fn put_wrapped(header: &mut [u8; HEADER_BYTES], wrapped_dek: &[u8], tag: &[u8; TAG_BYTES]) {
    header[DEK_AT..TAG_AT].copy_from_slice(wrapped_dek);
    header[TAG_AT..END].copy_from_slice(tag);
}

/// Puts the record of what was synced where it belongs.
pub(crate) fn put_synced(header: &mut [u8; HEADER_BYTES], record: &[u8; SYNCED_RECORD_BYTES]) {
    header[SYNCED_AT..SYNCED_END].copy_from_slice(record);
}

/// Whether a page may have `page_bytes` bytes of data.
pub(crate) fn is_page_bytes(page_bytes: u32) -> bool {
    page_bytes.is_power_of_two() && (PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&page_bytes)
}

fn take<const N: usize>(header: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    header[at..].first_chunk().copied().expect("every field lies within the header")
}
