//! The header of an engine page and its fields. Byte by byte in `docs/formats.md`, section 10.

use std::ops::Range;

use sealstone_cipher::{Cipher, cipher_by_id};

use super::error::EnginePageError;
use super::version::{FORMAT_VERSION, MAGIC};
use crate::TAG_BYTES;
use crate::fingerprint::Fingerprint;

/// Length of what precedes the ciphertext, in bytes.
pub const HEADER_BYTES: usize = 48;

/// Minimum number of bytes by which a block is longer than the page in it; padding comes on top.
pub const OVERHEAD_BYTES: usize = HEADER_BYTES + TAG_BYTES;

/// Most zeros after the ciphertext of a block, in bytes.
pub const PADDING_BYTES_MAX: usize = u16::MAX as usize;

/// Length of the salt that a writer draws, in bytes.
pub const SALT_BYTES: usize = 16;

/// Length of the room for the tag of a place, in bytes: zeros that follow the tag of the block, for
/// the code that stores it. Data written there is neither authenticated nor read here.
pub const PLACE_TAG_BYTES: usize = 16;

const VERSION_AT: usize = 3;
const CIPHER_AT: usize = 4;
const FLAGS_AT: usize = 6;
const RESERVED_AT: usize = 7;
const KEY_VERSION_AT: usize = 8;
const FINGERPRINT_AT: usize = 12;
const SALT_AT: usize = 20;
const PADDING_AT: usize = 36;
const DRAWN_AT: usize = 38;
const COUNTER_AT: usize = 44;

/// Set where the page is longer than its cipher allows under one key, and so sealed in parts.
const IN_PARTS: u8 = 1;

/// Position of the kind of place in the flags.
const KIND_SHIFT: u32 = 1;
const KIND_MASK: u8 = 0b110;

/// Set where room for the tag of a place follows.
const PLACE_TAG: u8 = 0b1000;

/// Set where an account of the engine's journal is kept.
const JOURNAL_KEPT: u8 = 0b1_0000;

const KNOWN_FLAGS: u8 = IN_PARTS | KIND_MASK | PLACE_TAG | JOURNAL_KEPT;

/// Length of the random part of a nonce, in bytes.
pub(super) const DRAWN_BYTES: usize = 6;

/// Use that the engine makes of a block. A block that was sealed as one kind does not open as
/// another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// An unknown kind: a block of an engine whose headers are not understood.
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
#[non_exhaustive]
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
    /// Bytes that were drawn for this block.
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

/// Reads the header of a block without any key, so it may not be genuine.
///
/// `block`: the block, or its first [`HEADER_BYTES`] bytes.
///
/// # Errors
/// [`EnginePageError::NotSealed`], [`EnginePageError::UnsupportedVersion`],
/// [`EnginePageError::UnknownCipher`], [`EnginePageError::Damaged`].
pub fn inspect(block: &[u8]) -> Result<EnginePageInfo, EnginePageError> {
    let Some(header) =
        block.first_chunk::<HEADER_BYTES>().filter(|header| header.starts_with(&MAGIC))
    else {
        return Err(EnginePageError::NotSealed { bytes: block.len() });
    };
    let damaged = |found: &str| Err(EnginePageError::Damaged { found: found.into() });
    let format_version = header[VERSION_AT];
    match format_version {
        0 => return damaged("format version 0 was never used"),
        FORMAT_VERSION => {}
        found => return Err(EnginePageError::UnsupportedVersion { found }),
    }
    let flags = header[FLAGS_AT];
    if flags & !KNOWN_FLAGS != 0 || header[RESERVED_AT] != 0 {
        return damaged("bits that are always zero are set");
    }
    let id = u16::from_be_bytes(take(header, CIPHER_AT));
    let Some(cipher) = cipher_by_id(id) else {
        return Err(EnginePageError::UnknownCipher { id });
    };
    Ok(EnginePageInfo {
        format_version,
        cipher,
        key_version: u32::from_be_bytes(take(header, KEY_VERSION_AT)),
        fingerprint: Fingerprint(take(header, FINGERPRINT_AT)),
        salt: take(header, SALT_AT),
        counter: u32::from_be_bytes(take(header, COUNTER_AT)).into(),
        drawn: take(header, DRAWN_AT),
        padding_bytes: u16::from_be_bytes(take(header, PADDING_AT)).into(),
        kind: PlaceKind::ALL[usize::from((flags & KIND_MASK) >> KIND_SHIFT)],
        in_parts: flags & IN_PARTS != 0,
        place_tag: flags & PLACE_TAG != 0,
        journal_kept: flags & JOURNAL_KEPT != 0,
    })
}

fn take<const N: usize>(header: &[u8], at: usize) -> [u8; N] {
    *header[at..].first_chunk().expect("the field is in the header")
}

impl EnginePageInfo {
    /// Returns the length of the room for the tag of a place after the tag, in bytes.
    #[must_use]
    pub fn place_tag_bytes(&self) -> usize {
        if self.place_tag { PLACE_TAG_BYTES } else { 0 }
    }

    /// Returns the range of the ciphertext in a block of `block_bytes` bytes with this header.
    ///
    /// # Errors
    /// [`EnginePageError::Damaged`] if a block so short has no room for it.
    pub fn ciphertext(&self, block_bytes: usize) -> Result<Range<usize>, EnginePageError> {
        match block_bytes
            .checked_sub(HEADER_BYTES + self.padding_bytes + TAG_BYTES + self.place_tag_bytes())
        {
            Some(bytes) => Ok(HEADER_BYTES..HEADER_BYTES + bytes),
            None => Err(EnginePageError::Damaged {
                found: format!("it ends after {block_bytes} bytes"),
            }),
        }
    }

    /// Returns the nonce of the block: its last 8 or 12 bytes, as the cipher takes them. It is the
    /// end of the header: padding, the bytes that were drawn, and the counter.
    pub(super) fn nonce(&self) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[..2].copy_from_slice(&(self.padding_bytes as u16).to_be_bytes());
        nonce[2..8].copy_from_slice(&self.drawn);
        nonce[8..].copy_from_slice(&(self.counter as u32).to_be_bytes());
        nonce
    }

    /// Returns the header that contains this.
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
