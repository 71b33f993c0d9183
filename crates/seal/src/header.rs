//! The header of a sealed file: how the file is sealed, its key, its identity within its store, and
//! its data key. Byte by byte in `docs/formats.md`.
//!
//! The header is stored twice, 4096 bytes apart, so that no torn write loses the only wrapped data
//! key.

use std::ops::Range;

use sealstone_cipher::module::{TITLE_BYTES_MAX, name_in};
use sealstone_cipher::{Cipher, cipher_by_id};
use sealstone_keys::{KEY_ID_BYTES_MAX, KeyRef, check_key_id};

use crate::identity::{Identity, Kind, STORE_ID_BYTES};
use crate::limits::{PAGE_BYTES_MAX, PAGE_BYTES_MIN, SLOTS_BYTES, VOLUME_BLOCK_BYTES};
use crate::{SealError, TAG_BYTES};

/// Length of what precedes the data in a file, in bytes: two slots for the header, each at the
/// beginning of a 4096-byte block, since disks and file systems write no less than a sector and
/// often a whole block.
pub const HEADER_BYTES: usize = 2 * SLOT_STRIDE;

/// Length of one copy of the header, in bytes: one disk sector, so that re-wrapping the data key
/// rewrites a single sector.
pub(crate) const SLOT_BYTES: usize = 512;
/// From one copy to the next, in bytes.
pub(crate) const SLOT_STRIDE: usize = 4096;

/// Magic bytes at the beginning of every sealed file. The first byte is not text; the last one is
/// changed by a transfer as text.
pub const MAGIC: [u8; 8] = *b"\x89SEALST\n";

/// The format version written, and the newest that is read.
pub const FORMAT_VERSION: u16 = 1;

/// Length of a file id, in bytes.
pub const FILE_ID_BYTES: usize = 16;
/// Length of the salt of a wrapping, in bytes.
pub(crate) const SALT_BYTES: usize = 16;
/// Length of a data key, in bytes.
pub(crate) const DEK_BYTES: usize = 32;
/// Most units (pages or blocks) that a header may give a segment: keeps every counter below 2^62.
const SEGMENT_UNITS_MAX: u64 = 1 << 48;

const VERSION_AT: usize = 8;
const LAYOUT_AT: usize = 10;
const KIND_AT: usize = 11;
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
const TAG_END: usize = TAG_AT + TAG_BYTES;
/// Number of this wrapping of the data key, 0 for the first.
const WRAPPING_AT: usize = TAG_END;
const WRAPPING_END: usize = WRAPPING_AT + 4;
/// Store that the file was made for.
const STORE_AT: usize = 192;
/// Number in the file's name.
const NUMBER_AT: usize = STORE_AT + STORE_ID_BYTES;
/// Length of the title of the module that seals the file, in bytes; 0 without one.
const MODULE_BYTES_AT: usize = NUMBER_AT + 8;
/// The title, its name and version.
const MODULE_AT: usize = MODULE_BYTES_AT + 1;
const END: usize = MODULE_AT + TITLE_BYTES_MAX;
/// Position of the mark that some of a file of frames was synced, in stored bytes from its
/// beginning.
pub(crate) const MARK_AT: usize = 2048;
/// Length of that mark, in bytes.
pub(crate) const MARK_BYTES: usize = TAG_BYTES;

/// Parts of a slot that must be zero: gaps that a later version may use.
const RESERVED: [Range<usize>; 5] =
    [14..16, 20..24, 69..72, WRAPPING_END..STORE_AT, END..SLOT_BYTES];

/// Layout of a sealed file after its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Fixed-size pages, for files that are written once and read at random.
    Paged {
        /// Data bytes in a page: a power of two from 1024 to 65536.
        page_bytes: u32,
    },
    /// Append-only frames, for logs.
    Frames,
    /// Blocks that are written again and again, in files of their own, with their tags apart
    /// ([`crate::volume`]); the file with the header has nothing after it but marks.
    Volume {
        /// Data bytes in a block: 4096, 8192 or 16384.
        block_bytes: u32,
    },
}

impl Layout {
    /// Returns the layout's name in messages: `pages`, `frames` or `a volume`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Paged { .. } => "pages",
            Self::Frames => "frames",
            Self::Volume { .. } => "a volume",
        }
    }

    /// Returns whether a file of kind `kind` may have it.
    pub(crate) fn suits(self, kind: Kind) -> bool {
        match self {
            Self::Volume { .. } => kind == Kind::Volume,
            Self::Frames => kind.grows() || kind == Kind::Loose,
            Self::Paged { .. } => !kind.grows() && kind != Kind::Volume,
        }
    }
}

/// Contents of a header, apart from the wrapped key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HeaderInfo {
    /// Version of the format.
    pub format_version: u16,
    /// Pages, frames, or the blocks of a volume.
    pub layout: Layout,
    /// The cipher of the whole file, header included.
    pub cipher: &'static Cipher,
    /// The key-encryption key that wraps the file's data key.
    pub key: KeyRef,
    /// Random name of this file, which every page and frame is bound to.
    pub file_id: [u8; FILE_ID_BYTES],
    /// Identity of the file within its store.
    pub identity: Identity,
    /// Amount of the file that shares one subkey: pages, or for frames blocks of the cipher; of a
    /// volume the numbers that a nonce may begin with under one key.
    pub segment_units: u64,
    /// Number of this wrapping of the data key, 0 for the first.
    pub wrapping: u32,
    /// Name and version of the cryptographic module that made the file, if one did: it drew the
    /// data key and sealed all of the file but what a later version of it added.
    pub module: Option<String>,
}

impl HeaderInfo {
    /// Returns the name of the module that made the file, without its version, if one did.
    #[must_use]
    pub fn module_name(&self) -> Option<&str> {
        self.module.as_deref().map(name_in)
    }

    /// Returns the start of the first frame of a file of frames, in stored bytes: after the header
    /// area, and in a catalogue after the slots that record synced lengths.
    #[must_use]
    pub fn frames_at(&self) -> u64 {
        let slots = if self.identity.kind == Kind::Catalogue { SLOTS_BYTES } else { 0 };
        HEADER_BYTES as u64 + slots
    }
}

/// One copy of a header taken apart, not yet authenticated.
#[derive(Clone)]
pub(crate) struct Parts {
    /// The slot as it was read, with zeros for the wrapped key and its tag: the data that the tag
    /// covers.
    pub(crate) associated: [u8; SLOT_BYTES],
    pub(crate) info: HeaderInfo,
    pub(crate) salt: [u8; SALT_BYTES],
    pub(crate) wrapped_dek: [u8; DEK_BYTES],
    pub(crate) tag: [u8; TAG_BYTES],
    /// Position of the slot, in stored bytes from the beginning of the file.
    pub(crate) offset: usize,
}

/// Returns whether `prefix`, the beginning of a file, is that of a sealed file. Needs 8 bytes to
/// return true; with more than 4096 it also returns true if only the second copy of the header is
/// present.
#[must_use]
pub fn is_sealed(prefix: &[u8]) -> bool {
    prefix.starts_with(&MAGIC)
        || prefix.get(SLOT_STRIDE..).is_some_and(|second| second.starts_with(&MAGIC))
}

/// Reads a header without any key, so it may not be genuine.
///
/// `header`: the first [`HEADER_BYTES`] bytes of the file, or all of a shorter file.
///
/// # Errors
/// [`SealError::NotSealed`], [`SealError::Unfinished`] if the header is cut short,
/// [`SealError::UnsupportedVersion`], [`SealError::UnknownCipher`], [`SealError::Damaged`].
pub fn inspect(header: &[u8]) -> Result<HeaderInfo, SealError> {
    parse(header).map(|mut copies| copies.swap_remove(0).info)
}

/// Returns the keys that the copies of a header name: more than one while a rotation is running, or
/// after one was killed. Before a key is retired, all of them must be checked.
///
/// # Errors
/// As [`inspect`].
pub fn keys_named(header: &[u8]) -> Result<Vec<KeyRef>, SealError> {
    let mut keys: Vec<KeyRef> = parse(header)?.into_iter().map(|parts| parts.info.key).collect();
    keys.dedup();
    Ok(keys)
}

/// Returns whether both copies of a header are the same. They always are, except during a rotation
/// of the key, or after damage to one copy.
#[must_use]
pub fn copies_agree(header: &[u8]) -> bool {
    let (first, second) =
        (header.get(..SLOT_BYTES), header.get(SLOT_STRIDE..SLOT_STRIDE + SLOT_BYTES));
    first.is_some() && first == second
}

/// Returns the copies of the header that parse, the last wrapped first. At least one.
pub(crate) fn parse(header: &[u8]) -> Result<Vec<Parts>, SealError> {
    let first = parse_slot(header, 0);
    // the second copy replaces a damaged first one, and only then counts alone
    let second = header.get(SLOT_STRIDE..).filter(|second| second.starts_with(&MAGIC));
    let second = second.map(|second| parse_slot(second, SLOT_STRIDE));
    let mut copies: Vec<Parts> = Vec::with_capacity(2);
    let failed = match first {
        Ok(parts) => {
            copies.push(parts);
            None
        }
        Err(error) => Some(error),
    };
    if let Some(Ok(parts)) = second {
        copies.push(parts);
    }
    if copies.is_empty() {
        return Err(failed.expect("without a copy, the first slot failed"));
    }
    if header.len() < HEADER_BYTES {
        return Err(SealError::Unfinished {
            found: format!("the header has {} of {HEADER_BYTES} bytes", header.len()),
        });
    }
    copies.sort_by_key(|parts| std::cmp::Reverse(parts.info.wrapping));
    // no header holds that; the mark of a synced log is checked with the key
    let grows = copies[0].info.layout == Layout::Frames;
    let mark = if grows { MARK_AT..MARK_AT + MARK_BYTES } else { MARK_AT..MARK_AT };
    for gap in
        [SLOT_BYTES..mark.start, mark.end..SLOT_STRIDE, SLOT_STRIDE + SLOT_BYTES..HEADER_BYTES]
    {
        if header[gap].iter().any(|byte| *byte != 0) {
            return Err(SealError::Damaged {
                found: "bytes that are always zero are nonzero".into(),
            });
        }
    }
    Ok(copies)
}

/// Takes the slot at the beginning of `header` apart; it is at `offset` in the file.
fn parse_slot(header: &[u8], offset: usize) -> Result<Parts, SealError> {
    let damaged = |found: &str| Err(SealError::Damaged { found: found.into() });
    let known = header.len().min(MAGIC.len());
    let start = &header[..header.len().min(SLOT_BYTES)];
    if start.iter().all(|byte| *byte == 0) {
        // a power cut leaves this of a file whose length reached the disk before its data
        return Err(SealError::Unfinished {
            found: format!("the header is {} zero bytes", start.len()),
        });
    }
    if header[..known] != MAGIC[..known] {
        return Err(SealError::NotSealed);
    }
    let Some(slot) = header.first_chunk::<SLOT_BYTES>() else {
        return Err(SealError::Unfinished {
            found: format!("the header has {} of {HEADER_BYTES} bytes", header.len()),
        });
    };
    let format_version = u16::from_be_bytes(take(slot, VERSION_AT));
    if format_version == 0 {
        return damaged("format version 0 was never used");
    }
    if format_version > FORMAT_VERSION {
        return Err(SealError::UnsupportedVersion { found: format_version, known: FORMAT_VERSION });
    }
    if RESERVED.into_iter().any(|gap| slot[gap].iter().any(|byte| *byte != 0)) {
        return damaged("bytes that are always zero are nonzero");
    }
    let page_bytes = u32::from_be_bytes(take(slot, PAGE_BYTES_AT));
    let layout = match slot[LAYOUT_AT] {
        1 if is_page_bytes(page_bytes) => Layout::Paged { page_bytes },
        1 => return damaged("impossible page length"),
        2 if page_bytes == 0 => Layout::Frames,
        2 => return damaged("frames with a page length"),
        3 if is_volume_block(page_bytes) => Layout::Volume { block_bytes: page_bytes },
        3 => return damaged("impossible block length"),
        _ => return damaged("unknown layout"),
    };
    let Some(kind) = Kind::from_code(slot[KIND_AT]) else { return damaged("unknown kind of file") };
    if !layout.suits(kind) {
        return damaged("a kind of file that has another layout");
    }
    let identity = Identity {
        kind,
        number: u64::from_be_bytes(take(slot, NUMBER_AT)),
        store: take(slot, STORE_AT),
    };
    let segment_units = u64::from_be_bytes(take(slot, SEGMENT_UNITS_AT));
    if !(1..=SEGMENT_UNITS_MAX).contains(&segment_units) {
        return damaged("impossible segment length");
    }
    let key = key_of(slot)?;
    let cipher_id = u16::from_be_bytes(take(slot, CIPHER_AT));
    let cipher = cipher_by_id(cipher_id).ok_or(SealError::UnknownCipher { id: cipher_id })?;
    let wrapping = u32::from_be_bytes(take(slot, WRAPPING_AT));
    let module = module_of(slot)?;
    let mut associated = *slot;
    associated[DEK_AT..TAG_END].fill(0);
    let file_id = take(slot, FILE_ID_AT);
    Ok(Parts {
        associated,
        info: HeaderInfo {
            format_version,
            layout,
            cipher,
            key,
            file_id,
            identity,
            segment_units,
            wrapping,
            module,
        },
        salt: take(slot, SALT_AT),
        wrapped_dek: take(slot, DEK_AT),
        tag: take(slot, TAG_AT),
        offset,
    })
}

fn key_of(slot: &[u8; SLOT_BYTES]) -> Result<KeyRef, SealError> {
    let damaged = |found: &str| Err(SealError::Damaged { found: found.into() });
    let key_id_bytes = usize::from(slot[KEY_ID_BYTES_AT]);
    if key_id_bytes > KEY_ID_BYTES_MAX
        || slot[KEY_ID_AT + key_id_bytes..DEK_AT].iter().any(|byte| *byte != 0)
    {
        return damaged("impossible key id");
    }
    let Ok(id) = std::str::from_utf8(&slot[KEY_ID_AT..KEY_ID_AT + key_id_bytes]) else {
        return damaged("the key id is not text");
    };
    if check_key_id(id).is_err() {
        return damaged("impossible key id");
    }
    Ok(KeyRef { id: id.to_owned(), version: u32::from_be_bytes(take(slot, KEY_VERSION_AT)) })
}

fn module_of(slot: &[u8; SLOT_BYTES]) -> Result<Option<String>, SealError> {
    let bytes = usize::from(slot[MODULE_BYTES_AT]);
    let title = slot[MODULE_AT..END].split_at_checked(bytes).filter(|(title, rest)| {
        let printable = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
        title.iter().all(printable) && rest.iter().all(|byte| *byte == 0)
    });
    match title {
        Some(([], _)) => Ok(None),
        Some((title, _)) => Ok(Some(String::from_utf8_lossy(title).into_owned())),
        None => Err(SealError::Damaged { found: "impossible title of a module".into() }),
    }
}

/// Returns the slot of `info` and `salt`, with zeros where the wrapped key and its tag will be.
/// This is also the associated data of the wrapping: every byte of the slot except these two
/// fields.
pub(crate) fn unwrapped(info: &HeaderInfo, salt: &[u8; SALT_BYTES]) -> [u8; SLOT_BYTES] {
    let mut slot = [0; SLOT_BYTES];
    let mut put = |at: usize, bytes: &[u8]| slot[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &MAGIC);
    put(VERSION_AT, &info.format_version.to_be_bytes());
    match info.layout {
        Layout::Paged { page_bytes } => {
            put(LAYOUT_AT, &[1]);
            put(PAGE_BYTES_AT, &page_bytes.to_be_bytes());
        }
        Layout::Frames => put(LAYOUT_AT, &[2]),
        Layout::Volume { block_bytes } => {
            put(LAYOUT_AT, &[3]);
            put(PAGE_BYTES_AT, &block_bytes.to_be_bytes());
        }
    }
    put(CIPHER_AT, &info.cipher.id.to_be_bytes());
    put(FILE_ID_AT, &info.file_id);
    put(SALT_AT, salt);
    put(SEGMENT_UNITS_AT, &info.segment_units.to_be_bytes());
    put(KEY_VERSION_AT, &info.key.version.to_be_bytes());
    put(KEY_ID_BYTES_AT, &[info.key.id.len() as u8]);
    put(KEY_ID_AT, info.key.id.as_bytes());
    put(KIND_AT, &[info.identity.kind.code()]);
    put(WRAPPING_AT, &info.wrapping.to_be_bytes());
    put(STORE_AT, &info.identity.store);
    put(NUMBER_AT, &info.identity.number.to_be_bytes());
    if let Some(title) = &info.module {
        put(MODULE_BYTES_AT, &[title.len() as u8]);
        put(MODULE_AT, title.as_bytes());
    }
    slot
}

/// Puts the wrapped key and its tag where they belong.
pub(crate) fn put_wrapped(slot: &mut [u8; SLOT_BYTES], wrapped_dek: &[u8], tag: &[u8; TAG_BYTES]) {
    slot[DEK_AT..TAG_AT].copy_from_slice(wrapped_dek);
    slot[TAG_AT..TAG_END].copy_from_slice(tag);
}

/// Returns the beginning of a new file: `slot` twice, and zeros between.
pub(crate) fn area(slot: &[u8; SLOT_BYTES]) -> [u8; HEADER_BYTES] {
    let mut area = [0; HEADER_BYTES];
    for copy in area.chunks_exact_mut(SLOT_STRIDE) {
        copy[..SLOT_BYTES].copy_from_slice(slot);
    }
    area
}

/// Returns whether a page may have `page_bytes` bytes of data.
pub(crate) fn is_page_bytes(page_bytes: u32) -> bool {
    page_bytes.is_power_of_two() && (PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&page_bytes)
}

/// Returns whether a block of a volume may have `block_bytes` bytes of data.
pub(crate) fn is_volume_block(block_bytes: u32) -> bool {
    VOLUME_BLOCK_BYTES.contains(&block_bytes)
}

fn take<const N: usize>(slot: &[u8; SLOT_BYTES], at: usize) -> [u8; N] {
    slot[at..].first_chunk().copied().expect("every field is within the slot")
}
