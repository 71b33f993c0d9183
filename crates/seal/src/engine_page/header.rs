//! The header of an engine page, in every format version, and what it says. Byte by byte in `docs/formats.md`, section
//! 8.
//!
//! Not here: sealing and opening (`engine_page`), errors (`error`).

use std::ops::Range;

use sealstone_cipher::registry::{self, Cipher};

use super::error::EnginePageError;
use super::fingerprint::Fingerprint;
use super::version::{FORMAT_VERSION, MAGIC};
use crate::TAG_BYTES;

/// Length of what precedes the ciphertext in the version written, in bytes; it is less in version 1.
pub const HEADER_BYTES: usize = 48;

/// Minimum number of bytes by which a block is longer than the page in it; padding comes on top.
pub const OVERHEAD_BYTES: usize = HEADER_BYTES + TAG_BYTES;

/// Most zeros after the ciphertext of a block, in bytes.
pub const PADDING_BYTES_MAX: usize = u16::MAX as usize;

/// Length of the salt that a writer draws, in bytes.
pub const SALT_BYTES: usize = 16;

/// Length of the room for the tag of a place, in bytes: zeros that follow the tag of the block, for the code that
/// stores it. What is written there is neither authenticated nor looked at here.
pub const PLACE_TAG_BYTES: usize = 16;

/// Length of the header in version 1, in bytes.
const HEADER_1_BYTES: usize = 44;

const VERSION_AT: usize = 3;
const CIPHER_AT: usize = 4;
const FLAGS_AT: usize = 6;
const RESERVED_AT: usize = 7;
const KEY_VERSION_AT: usize = 8;
const FINGERPRINT_AT: usize = 12;
const SALT_AT: usize = 20;
/// In version 1, 8 bytes.
const COUNTER_1_AT: usize = 36;
const PADDING_AT: usize = 36;
const DRAWN_AT: usize = 38;
/// From version 2 on, 4 bytes.
const COUNTER_AT: usize = 44;

/// Set where the page is longer than its cipher allows under one key, and so sealed in parts.
const IN_PARTS: u8 = 1;

/// Position of the kind of place in the flags; version 1 lacks it.
const KIND_SHIFT: u32 = 1;
const KIND_MASK: u8 = 0b110;

/// Set where room for the tag of a place follows; from version 3 on.
const PLACE_TAG: u8 = 0b1000;

/// Set where an account of the engine's journal is kept; from version 3 on.
const JOURNAL_KEPT: u8 = 0b1_0000;

/// Length of the random part of a nonce, in bytes.
pub(super) const DRAWN_BYTES: usize = 6;

/// Use that the engine makes of a block. A block that was sealed as one kind does not open as
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// Nothing is known about it: blocks of version 1, and of engines whose headers are not understood.
    Unknown,
    /// A page of a data file.
    Page,
    /// A record of the journal.
    Record,
    /// A text that the engine stores without a header of its own.
    Text,
}

impl PlaceKind {
    const ALL: [Self; 4] = [Self::Unknown, Self::Page, Self::Record, Self::Text];

    /// Returns the word for it in messages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "place of no known kind",
            Self::Page => "page",
            Self::Record => "journal record",
            Self::Text => "text",
        }
    }
}

/// Information in a block about itself, not yet authenticated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnginePageInfo {
    /// Version of the format.
    pub format_version: u8,
    /// The cipher.
    pub cipher: &'static Cipher,
    /// Version of the key.
    pub key_version: u32,
    /// Fingerprint of the key.
    pub fingerprint: Fingerprint,
    /// Salt that the writer drew when it opened the data directory, or when the limits of its
    /// subkey were spent.
    pub salt: [u8; SALT_BYTES],
    /// Position where the page began in the data sealed under that salt: never the same twice.
    pub counter: u64,
    /// Bytes that were drawn for this block; zeros in version 1.
    pub drawn: [u8; DRAWN_BYTES],
    /// Zeros after the ciphertext, in bytes.
    pub padding_bytes: usize,
    /// Kind of place that the block is for.
    pub kind: PlaceKind,
    /// True if the page is longer than its cipher allows under one key.
    pub in_parts: bool,
    /// True if room for the tag of a place follows the block.
    pub place_tag: bool,
    /// True if there was an account of the engine's journal when the block was sealed.
    pub journal_kept: bool,
}

/// Reads what a block says without any key, and so without knowing that it is genuine.
///
/// `block`: the block, or its first [`HEADER_BYTES`] bytes.
///
/// # Errors
/// [`EnginePageError::NotSealed`], [`EnginePageError::UnsupportedVersion`], [`EnginePageError::UnknownCipher`],
/// [`EnginePageError::Damaged`].
pub fn inspect(block: &[u8]) -> Result<EnginePageInfo, EnginePageError> {
    let (Some(common), true) = (block.first_chunk::<HEADER_1_BYTES>(), block.starts_with(&MAGIC)) else {
        return Err(EnginePageError::NotSealed { bytes: block.len() });
    };
    let damaged = |found: &str| Err(EnginePageError::Damaged { found: found.into() });
    let format_version = common[VERSION_AT];
    let flags = common[FLAGS_AT];
    let (known_flags, header) = match (format_version, block.first_chunk::<HEADER_BYTES>()) {
        (0, _) => return damaged("format version 0 was never used"),
        (1, _) => (IN_PARTS, None),
        (2, Some(header)) => (IN_PARTS | KIND_MASK, Some(header)),
        (3, Some(header)) => (IN_PARTS | KIND_MASK | PLACE_TAG | JOURNAL_KEPT, Some(header)),
        (2 | 3, None) => return damaged(&format!("it ends after {} bytes", block.len())),
        (found, _) => return Err(EnginePageError::UnsupportedVersion { found }),
    };
    if flags & !known_flags != 0 || common[RESERVED_AT] != 0 {
        return damaged(&format!("bits that version {format_version} leaves zero are set"));
    }
    let id = u16::from_be_bytes(take(common, CIPHER_AT));
    let Some(cipher) = registry::by_id(id) else { return Err(EnginePageError::UnknownCipher { id }) };
    let mut info = EnginePageInfo {
        format_version,
        cipher,
        key_version: u32::from_be_bytes(take(common, KEY_VERSION_AT)),
        fingerprint: Fingerprint(take(common, FINGERPRINT_AT)),
        salt: take(common, SALT_AT),
        counter: u64::from_be_bytes(take(common, COUNTER_1_AT)),
        drawn: [0; DRAWN_BYTES],
        padding_bytes: 0,
        kind: PlaceKind::Unknown,
        in_parts: flags & IN_PARTS != 0,
        place_tag: flags & PLACE_TAG != 0,
        journal_kept: flags & JOURNAL_KEPT != 0,
    };
    if let Some(header) = header {
        info.counter = u32::from_be_bytes(take(header, COUNTER_AT)).into();
        info.drawn = take(header, DRAWN_AT);
        info.padding_bytes = u16::from_be_bytes(take(header, PADDING_AT)).into();
        info.kind = PlaceKind::ALL[usize::from((flags & KIND_MASK) >> KIND_SHIFT)];
    }
    Ok(info)
}

fn take<const N: usize>(header: &[u8], at: usize) -> [u8; N] {
    *header[at..].first_chunk().expect("the field is in the header")
}

impl EnginePageInfo {
    /// Length of the header, in bytes.
    #[must_use]
    pub fn header_bytes(&self) -> usize {
        if self.format_version == 1 { HEADER_1_BYTES } else { HEADER_BYTES }
    }

    /// Length of the salt that a writer draws, in bytes.
    pub const SALT_BYTES: usize = 16;

    /// Length of the room for the tag of a place after the tag, in bytes.
    #[must_use]
    pub fn place_tag_bytes(&self) -> usize {
        if self.place_tag { PLACE_TAG_BYTES } else { 0 }
    }

    /// Returns the range of the ciphertext in a block of `block_bytes` bytes with this header.
    ///
    /// # Errors
    /// [`EnginePageError::Damaged`] if a block so short has no room for it.
    pub fn ciphertext(&self, block_bytes: usize) -> Result<Range<usize>, EnginePageError> {
        let start = self.header_bytes();
        match block_bytes.checked_sub(start + self.padding_bytes + TAG_BYTES + self.place_tag_bytes()) {
            Some(bytes) => Ok(start..start + bytes),
            None => Err(EnginePageError::Damaged { found: format!("it ends after {block_bytes} bytes") }),
        }
    }

    /// The nonce of the block: its last 8 or 12 bytes, as the cipher takes them. In version 1 the counter; from version
    /// 2 on the end of the header: padding, what was drawn, and the counter.
    pub(super) fn nonce(&self) -> [u8; 12] {
        match self.format_version {
            1 => crate::segment::nonce(self.counter),
            _ => {
                let mut nonce = [0; 12];
                nonce[..2].copy_from_slice(&(self.padding_bytes as u16).to_be_bytes());
                nonce[2..8].copy_from_slice(&self.drawn);
                nonce[8..].copy_from_slice(&(self.counter as u32).to_be_bytes());
                nonce
            }
        }
    }

    /// The header that says this, in the newest version.
    pub(super) fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..VERSION_AT].copy_from_slice(&MAGIC);
        header[VERSION_AT] = FORMAT_VERSION;
        header[CIPHER_AT..FLAGS_AT].copy_from_slice(&self.cipher.id.to_be_bytes());
        let flag = |set, bit| if set { bit } else { 0 };
        header[FLAGS_AT] = ((self.kind as u8) << KIND_SHIFT)
            | flag(self.in_parts, IN_PARTS)
            | flag(self.place_tag, PLACE_TAG)
            | flag(self.journal_kept, JOURNAL_KEPT);
        header[KEY_VERSION_AT..FINGERPRINT_AT].copy_from_slice(&self.key_version.to_be_bytes());
        header[FINGERPRINT_AT..SALT_AT].copy_from_slice(&self.fingerprint.0);
        header[SALT_AT..PADDING_AT].copy_from_slice(&self.salt);
        let padding = u16::try_from(self.padding_bytes).expect("the writer keeps to the limit");
        header[PADDING_AT..DRAWN_AT].copy_from_slice(&padding.to_be_bytes());
        header[DRAWN_AT..COUNTER_AT].copy_from_slice(&self.drawn);
        let counter = u32::try_from(self.counter).expect("no cipher has more units under one key");
        header[COUNTER_AT..].copy_from_slice(&counter.to_be_bytes());
        header
    }
}
