//! One record of a journal file, in WiredTiger's layout, and its binding to its place: a tag over
//! the file, the file's number, the record's offset and length, and the tag of the sealed block in
//! it. Also the first record of a file, the only record with room for the key of these tags,
//! sealed.
//!
//! WiredTiger has already computed its checksum when we get a record, so it is corrected for the
//! tag; a record that was damaged before stays damaged.

use sealstone_cipher::{Error as CipherError, Provider};
use sealstone_keys::{HmacSha256, fill_random};
use sealstone_seal::engine_page::{
    EnginePageError, EnginePages, HEADER_BYTES, OVERHEAD_BYTES, PLACE_TAG_BYTES, Place, PlaceKind,
    inspect, page_bytes,
};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Length of the header of a record, in bytes: length, checksum, flags, length in memory.
pub(crate) const HEAD_BYTES: usize = 16;
/// Records begin and end at multiples of this, in bytes.
pub(crate) const STEP_BYTES: usize = 128;
/// The longest first record, in bytes: that of direct I/O is as long as its unit.
const FIRST_BYTES_MAX: usize = 1 << 20;
const CHECKSUM_AT: usize = 4;
const FLAGS_AT: usize = 8;
const ENCRYPTED: u8 = 0x02;
/// Header of a record, and the length that WiredTiger stores before the encrypted data.
const BLOCK_AT: usize = HEAD_BYTES + 4;
/// Length of what WiredTiger writes in the first record: a number, its version, the size of files.
const DESCRIPTION_BYTES: usize = 16;
/// Position of the sealed key of the file in the first record, in bytes that WiredTiger leaves
/// zero.
pub(crate) const STAMP_AT: usize = HEAD_BYTES + DESCRIPTION_BYTES;
const STAMP_BYTES: usize = KEY_BYTES + OVERHEAD_BYTES;
const KEY_BYTES: usize = 32;

/// The tag of a place.
pub(crate) type Tag = [u8; PLACE_TAG_BYTES];

/// The key of the tags of one journal file, drawn when the file is made, and who computes them.
/// Zeroed on drop.
pub(crate) struct FileKey {
    key: Box<Zeroizing<[u8; KEY_BYTES]>>,
    provider: Provider,
    id: Tag,
}

/// Reason why a record has no tag, or not the one that it carries.
#[derive(Debug)]
pub(crate) enum RecordError {
    /// The kind of data found instead.
    Found(String),
    /// The module that computes failed: nothing is known of the record.
    Module(CipherError),
}

impl From<&str> for RecordError {
    fn from(found: &str) -> Self {
        Self::Found(found.into())
    }
}

impl From<CipherError> for RecordError {
    fn from(error: CipherError) -> Self {
        Self::Module(error)
    }
}

/// Kind of data that a tag covers. No two purposes share a tag.
#[derive(Clone, Copy)]
enum Purpose {
    File = 1,
    Sealed = 2,
    Clear = 3,
}

impl FileKey {
    /// Draws one for a new file.
    ///
    /// # Errors
    /// There is no randomness, or the module failed.
    pub(crate) fn draw(provider: Provider) -> Result<Self, EnginePageError> {
        Self::filled(provider, |key| Ok(fill_random(provider, key)?))
    }

    /// Returns the key that `fill` writes, in its place from the beginning: what is moved leaves a
    /// copy.
    fn filled(
        provider: Provider,
        fill: impl FnOnce(&mut [u8]) -> Result<(), EnginePageError>,
    ) -> Result<Self, EnginePageError> {
        let key = Box::new(Zeroizing::new([0; KEY_BYTES]));
        let mut keyed = Self { key, provider, id: Tag::default() };
        fill(&mut keyed.key[..])?;
        keyed.id = keyed.tag(&[Purpose::File as u8])?;
        Ok(keyed)
    }

    /// Returns the tag that identifies this file, and reveals nothing about the key.
    pub(crate) fn id(&self) -> Tag {
        self.id
    }

    fn tag(&self, message: &[u8]) -> Result<Tag, CipherError> {
        let mut mac = HmacSha256::new(self.provider, &self.key[..])?;
        mac.update(message);
        Ok(*mac.finish()?.first_chunk().expect("a hash is longer than a tag"))
    }

    /// Returns the tag of `record` at the byte `at` of file `number`, if the record has one, and
    /// its place in the record.
    fn tag_of(&self, number: u32, at: u64, record: &[u8]) -> Result<(Tag, usize), RecordError> {
        let place = [number.to_be_bytes().as_slice(), &at.to_be_bytes()].concat();
        if record[FLAGS_AT] & ENCRYPTED == 0 {
            // the record with the end of the previous file is the second, and as long as the first
            if at != record.len() as u64 {
                return Err("a record in the clear".into());
            }
            let tag_at = record.len() - PLACE_TAG_BYTES;
            let content = [&record[..CHECKSUM_AT], &record[FLAGS_AT..tag_at]].concat();
            return Ok((
                self.tag(&[&[Purpose::Clear as u8], place.as_slice(), &content].concat())?,
                tag_at,
            ));
        }
        let encrypted_end = number_at(record, HEAD_BYTES) as usize;
        if encrypted_end > record.len()
            || encrypted_end < BLOCK_AT + OVERHEAD_BYTES + PLACE_TAG_BYTES
        {
            return Err(RecordError::Found(format!(
                "a record of {} bytes says that {encrypted_end} of them are encrypted",
                record.len()
            )));
        }
        let info = inspect(&record[BLOCK_AT..encrypted_end])
            .map_err(|error| RecordError::Found(first_line(&error)))?;
        if !info.place_tag {
            return Err("a record whose place is not known".into());
        }
        let tag_at = encrypted_end - PLACE_TAG_BYTES;
        // all of the record's content is in the tag of its own block
        let mut message = [0; 1 + 12 + 4 + 12 + 16];
        message[0] = Purpose::Sealed as u8;
        message[1..13].copy_from_slice(&place);
        message[13..17].copy_from_slice(&record[..CHECKSUM_AT]);
        message[17..29].copy_from_slice(&record[FLAGS_AT..BLOCK_AT]);
        message[29..].copy_from_slice(&record[tag_at - 16..tag_at]);
        Ok((self.tag(&message)?, tag_at))
    }

    /// Binds each record in `bytes`, which are in file `number` from the byte `at` on, to its
    /// place. Returns how many bytes have records: only zeros follow.
    ///
    /// # Errors
    /// The kind of data found instead of a record, or a module's failure; `bytes` must not be
    /// stored then.
    pub(crate) fn bind(
        &self,
        number: u32,
        at: u64,
        bytes: &mut [u8],
    ) -> Result<usize, RecordError> {
        let mut from = 0;
        while from < bytes.len() {
            let rest = &mut bytes[from..];
            let Some(length) = length_of(rest) else {
                if rest.iter().any(|byte| *byte != 0) {
                    let found = format!("{} bytes that do not begin as a record", rest.len());
                    return Err(RecordError::Found(found));
                }
                break;
            };
            let record = &mut rest[..length];
            let (tag, tag_at) = self.tag_of(number, at + from as u64, record)?;
            let room = &mut record[tag_at..][..PLACE_TAG_BYTES];
            if room.iter().any(|byte| *byte != 0) {
                return Err("a record without room for the tag of its place".into());
            }
            room.copy_from_slice(&tag);
            let added = added(&tag, length - tag_at - PLACE_TAG_BYTES);
            let checksum = number_at(record, CHECKSUM_AT) ^ added;
            record[CHECKSUM_AT..FLAGS_AT].copy_from_slice(&checksum.to_le_bytes());
            from += length;
        }
        Ok(from)
    }

    /// Checks that `record`, whose length is right, was written at the byte `at` of file `number`.
    ///
    /// # Errors
    /// The kind of data found instead, or a module's failure.
    pub(crate) fn check(&self, number: u32, at: u64, record: &[u8]) -> Result<(), RecordError> {
        let (tag, tag_at) = self.tag_of(number, at, record)?;
        if bool::from(record[tag_at..][..PLACE_TAG_BYTES].ct_eq(&tag)) {
            return Ok(());
        }
        Err("a record that was not written there".into())
    }
}

/// Returns the length of the record that `bytes` begin with, if it is one that a record can have
/// and they hold all of it.
pub(crate) fn length_of(bytes: &[u8]) -> Option<usize> {
    let length = possible_length(bytes)?;
    (length <= bytes.len()).then_some(length)
}

/// Returns the length that the header at the beginning of `bytes` states, if a record can have it.
pub(crate) fn possible_length(bytes: &[u8]) -> Option<usize> {
    let length = if bytes.len() < HEAD_BYTES { 0 } else { number_at(bytes, 0) as usize };
    (length > 0 && length.is_multiple_of(STEP_BYTES)).then_some(length)
}

/// Returns whether WiredTiger's checksum of `record` is right.
pub(crate) fn is_whole(record: &[u8]) -> bool {
    checksum(record) == number_at(record, CHECKSUM_AT)
}

/// Returns CRC-32C of a record with zeros in place of the checksum itself.
fn checksum(record: &[u8]) -> u32 {
    let sum = crc32c::crc32c_append(crc32c::crc32c(&record[..CHECKSUM_AT]), &[0; 4]);
    crc32c::crc32c_append(sum, &record[FLAGS_AT..])
}

/// Computes what `tag` in the place of zeros, with `behind` bytes after it, adds to a CRC-32C: the
/// sum is linear.
fn added(tag: &Tag, behind: usize) -> u32 {
    const ZEROS: [u8; STEP_BYTES] = [0; STEP_BYTES];
    // the library inverts before and after, which cancels out in a difference
    let mut sum = crc32c::crc32c_append(!0, tag);
    let mut left = behind;
    while left > 0 {
        let piece = left.min(ZEROS.len());
        sum = crc32c::crc32c_append(sum, &ZEROS[..piece]);
        left -= piece;
    }
    !sum
}

/// Puts `key`, sealed, into the first record of a file.
///
/// # Errors
/// It is not one, or has no room; or sealing failed.
pub(crate) fn stamp(
    pages: &EnginePages,
    key: &FileKey,
    record: &mut [u8],
) -> Result<(), EnginePageError> {
    let empty = first_length(record) == Some(record.len())
        && record[STAMP_AT..].iter().all(|byte| *byte == 0);
    if !empty {
        return Err(EnginePageError::Damaged {
            found: "the first record of a journal file is not as expected".into(),
        });
    }
    let mut block = [0; STAMP_BYTES];
    block[HEADER_BYTES..][..KEY_BYTES].copy_from_slice(&key.key[..]);
    pages.seal_in_place(&mut block, 0, Place::new(PlaceKind::Text, &place_of_stamp(record)))?;
    record[STAMP_AT..][..STAMP_BYTES].copy_from_slice(&block);
    let checksum = checksum(record);
    record[CHECKSUM_AT..FLAGS_AT].copy_from_slice(&checksum.to_le_bytes());
    Ok(())
}

/// Returns the length of the first record of a file, if it is a valid one: neither encrypted nor
/// compressed, and not too short for a key.
pub(crate) fn first_length(bytes: &[u8]) -> Option<usize> {
    let length = possible_length(bytes).filter(|length| *length <= FIRST_BYTES_MAX)?;
    let plain = bytes[FLAGS_AT..HEAD_BYTES].iter().all(|byte| *byte == 0);
    (plain && bytes.len() >= STAMP_AT + STAMP_BYTES).then_some(length)
}

/// Returns the key in the first record of a file.
///
/// # Errors
/// Errors of opening a block; that of a module which cannot compute the file's tag.
pub(crate) fn stamped(pages: &EnginePages, record: &[u8]) -> Result<FileKey, EnginePageError> {
    let block = &record[STAMP_AT..][..STAMP_BYTES];
    if page_bytes(block)? != KEY_BYTES {
        return Err(EnginePageError::Damaged {
            found: "the key of a journal file has another length".into(),
        });
    }
    let place = place_of_stamp(record);
    let place = Place::new(PlaceKind::Text, &place);
    FileKey::filled(pages.provider(), |key| pages.open_at(block, key, place))
}

/// Returns the data that the key of a file is bound to: its kind, and everything in the clear in
/// the first record except its checksum.
fn place_of_stamp(record: &[u8]) -> [u8; 32] {
    let mut place = *b"journal file\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    place[12..16].copy_from_slice(&record[..CHECKSUM_AT]);
    place[16..].copy_from_slice(&record[HEAD_BYTES..STAMP_AT]);
    place
}

fn first_line(error: &EnginePageError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("the field is in the record"))
}
