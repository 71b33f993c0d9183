//! WiredTiger's own headers, which stay in the clear before the sealed data: the fields that a
//! block is bound to, so that a changed type, size or generation is refused, and checks of the
//! fields that WiredTiger sets later.
//!
//! WiredTiger does not pass the header. But the data it passes is in one buffer with the header
//! before it, in every supported release (`series`): `Skip` is the length of the header. Sealing
//! derives it from the alignment of the buffers and from the header's content; where that does not
//! fit, a block is bound to nothing. Opening gets it for certain, from the length that WiredTiger
//! stores before a block and from which it has subtracted the header.
//!
//! Not here: reading memory (`ffi`), and the format of a block (`sealstone_seal::engine_page`).

use sealstone_seal::engine_page::{OVERHEAD_BYTES, PLACE_TAG_BYTES, Place, PlaceKind};

/// Length of the length that WiredTiger stores before a block, in bytes.
pub(crate) const LENGTH_BYTES: usize = 4;

/// Page header (28 bytes) and block header (12).
pub(crate) const PAGE_BYTES: usize = 28 + 12;
/// Number of its bytes that no longer change once a block is sealed.
const PAGE_BOUND_BYTES: usize = 28;
const PAGE_MEM_SIZE_AT: usize = 16;
const PAGE_TYPE_AT: usize = 24;
const PAGE_FLAGS_AT: usize = 25;
const PAGE_UNUSED_AT: usize = 26;
const PAGE_VERSION_AT: usize = 27;
const DISK_SIZE_AT: usize = 28;
const BLOCK_FLAGS_AT: usize = 36;
const BLOCK_UNUSED_AT: usize = 37;
const PAGE_COMPRESSED: u8 = 0x01;
/// Set by WiredTiger once the block is sealed.
pub(crate) const PAGE_ENCRYPTED: u8 = 0x08;
/// The newest version of a page that is understood.
const PAGE_VERSION_MAX: u8 = 1;

/// Header of a journal record.
pub(crate) const RECORD_BYTES: usize = 16;
/// Length and checksum come first, and are set once a block is sealed.
const RECORD_BOUND_AT: usize = 8;
const RECORD_FLAGS_AT: usize = 8;
const RECORD_MEM_LEN_AT: usize = 12;
const RECORD_COMPRESSED: u8 = 0x01;
/// Set by WiredTiger once the block is sealed.
pub(crate) const RECORD_ENCRYPTED: u8 = 0x02;
/// Journal records begin and end at multiples of this, in bytes.
pub(crate) const RECORD_STEP_BYTES: usize = 128;
/// Byte that WiredTiger may put at the end of the zeros that fill up a record.
const RECORD_FILL_END: u8 = 0xAB;

/// Pages are stored in multiples of this, in bytes, or of a larger power of two.
pub(crate) const PAGE_STEP_BYTES: usize = 4096;
/// The largest unit in which WiredTiger allocates, in bytes.
const PAGE_STEP_BYTES_MAX: usize = 128 << 20;

/// Number of bytes of a text that are looked at. Configurations of files are longer.
pub(crate) const TEXT_BYTES: usize = 64;

/// Largest number of bytes by which a block may be longer than its content: the result of `sizing`.
pub(crate) const EXPANSION_BYTES: usize = OVERHEAD_BYTES + PAGE_STEP_BYTES - 1;
const _: () = assert!(PLACE_TAG_BYTES < PAGE_STEP_BYTES);

/// Header that precedes what WiredTiger passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skip {
    Page,
    Record,
    Text,
    Unknown,
}

impl Skip {
    /// Determines it for data to seal at the address `src`, into a buffer at `dst`: allocators
    /// align both to 16 bytes, the header and the length shift them. `beginning`: the first bytes
    /// to seal, [`TEXT_BYTES`] if there are that many.
    pub(crate) fn of_new(src: usize, dst: usize, beginning: &[u8]) -> Self {
        match (src % 16, dst % 16) {
            (8, 12) => Self::Page,
            // a record begins with its kind, which is not text, or, if compressed, with a length or
            // a magic
            (0, 4)
                if beginning.len() == TEXT_BYTES
                    && beginning.iter().all(|byte| (0x20..0x7F).contains(byte)) =>
            {
                Self::Text
            }
            (0, 4) => Self::Record,
            _ => Self::Unknown,
        }
    }

    /// Determines it for a block of `block_bytes` bytes, before which WiredTiger stored the length
    /// `stored_length`, of header, length and block.
    pub(crate) fn of_stored(stored_length: u32, block_bytes: usize) -> Self {
        match (stored_length as usize)
            .checked_sub(LENGTH_BYTES)
            .and_then(|stored_length| stored_length.checked_sub(block_bytes))
        {
            Some(PAGE_BYTES) => Self::Page,
            Some(RECORD_BYTES) => Self::Record,
            Some(0) => Self::Text,
            _ => Self::Unknown,
        }
    }
}

/// Data that a block is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    kind: PlaceKind,
    bytes: [u8; PAGE_BOUND_BYTES],
    len: usize,
}

impl Bound {
    pub(crate) const UNKNOWN: Self = Self::to(PlaceKind::Unknown);
    pub(crate) const TEXT: Self = Self::to(PlaceKind::Text);

    const fn to(kind: PlaceKind) -> Self {
        Self { kind, bytes: [0; PAGE_BOUND_BYTES], len: 0 }
    }

    /// Returns the header of a page, whether WiredTiger has marked it as encrypted or not.
    pub(crate) fn page(header: &[u8; PAGE_BYTES]) -> Self {
        let mut bytes = [0; PAGE_BOUND_BYTES];
        bytes.copy_from_slice(&header[..PAGE_BOUND_BYTES]);
        bytes[PAGE_FLAGS_AT] &= !PAGE_ENCRYPTED;
        Self { kind: PlaceKind::Page, bytes, len: PAGE_BOUND_BYTES }
    }

    /// Returns the header of a journal record, whether WiredTiger has marked it as encrypted or
    /// not.
    pub(crate) fn record(header: &[u8; RECORD_BYTES]) -> Self {
        let mut bound = Self::to(PlaceKind::Record);
        bound.len = RECORD_BYTES - RECORD_BOUND_AT;
        bound.bytes[..bound.len].copy_from_slice(&header[RECORD_BOUND_AT..]);
        bound.bytes[RECORD_FLAGS_AT - RECORD_BOUND_AT] &= !RECORD_ENCRYPTED;
        bound
    }

    /// Returns the header of a page of `bytes` bytes (without it) that is about to be sealed;
    /// nothing if it is not one after all.
    pub(crate) fn new_page(header: &[u8; PAGE_BYTES], bytes: usize) -> Self {
        let whole = bytes + PAGE_BYTES;
        let size = number(header, PAGE_MEM_SIZE_AT);
        let compressed = header[PAGE_FLAGS_AT] & PAGE_COMPRESSED != 0;
        let is_page = header[PAGE_TYPE_AT] != 0
            && header[PAGE_UNUSED_AT] == 0
            && header[PAGE_VERSION_AT] <= PAGE_VERSION_MAX
            && if compressed { size > whole } else { size == whole };
        if is_page { Self::page(header) } else { Self::UNKNOWN }
    }

    /// Returns the header of a journal record that is about to be sealed; nothing if it is not one
    /// after all.
    pub(crate) fn new_record(header: &[u8; RECORD_BYTES]) -> Self {
        let compressed = header[RECORD_FLAGS_AT] == RECORD_COMPRESSED;
        let is_record = (compressed || header[RECORD_FLAGS_AT] == 0)
            && header[RECORD_FLAGS_AT + 1..RECORD_MEM_LEN_AT] == [0; 3]
            && compressed == (number(header, RECORD_MEM_LEN_AT) != 0);
        if is_record { Self::record(header) } else { Self::UNKNOWN }
    }

    /// As the format takes it. A journal record, and what may be one, has room for the tag of its
    /// place.
    pub(crate) fn place(&self) -> Place<'_> {
        let place = Place::new(self.kind, &self.bytes[..self.len]);
        if self.has_place_tag() { place.with_place_tag() } else { place }
    }

    /// Returns the length of the room for the tag of its place, in bytes.
    pub(crate) fn place_tag_bytes(&self) -> usize {
        if self.has_place_tag() { PLACE_TAG_BYTES } else { 0 }
    }

    fn has_place_tag(&self) -> bool {
        matches!(self.kind, PlaceKind::Record | PlaceKind::Unknown)
    }

    /// Returns the number of zeros that follow the sealed data. A page is filled up, so that every
    /// byte that WiredTiger stores and adds to its checksum is accounted for. `bytes`: length of
    /// the page without headers; `room`: length of the buffer.
    pub(crate) fn padding_bytes(&self, bytes: usize, room: usize) -> usize {
        if self.kind != PlaceKind::Page {
            return 0;
        }
        let stored = PAGE_BYTES + LENGTH_BYTES + bytes + OVERHEAD_BYTES;
        let padding = stored.next_multiple_of(PAGE_STEP_BYTES) - stored;
        if bytes + OVERHEAD_BYTES + padding <= room { padding } else { 0 }
    }
}

/// Checks what WiredTiger sets in the header of a page once it is sealed, as far as it follows from
/// `block_bytes`, the length of the block.
///
/// # Errors
/// Description of the fault.
pub(crate) fn check_page(header: &[u8; PAGE_BYTES], block_bytes: usize) -> Result<(), String> {
    let stored = PAGE_BYTES + LENGTH_BYTES + block_bytes;
    let size = number(header, DISK_SIZE_AT);
    let steps = std::iter::successors(Some(PAGE_STEP_BYTES), |step| Some(step * 2));
    if !steps
        .take_while(|step| *step <= PAGE_STEP_BYTES_MAX)
        .any(|step| stored.next_multiple_of(step) == size)
    {
        return Err(format!("its size on disk is {size} bytes, for {stored}"));
    }
    if header[BLOCK_FLAGS_AT] > 1 || header[BLOCK_UNUSED_AT..] != [0; 3] {
        return Err("bits of its block header that must be zero are not".into());
    }
    Ok(())
}

/// Checks the length in the header of a journal record. A record longer than `block_bytes`, the
/// length of the block, requires is left to [`check_fill`].
///
/// # Errors
/// Description of the fault.
pub(crate) fn check_record(
    header: &[u8; RECORD_BYTES],
    block_bytes: usize,
) -> Result<Option<usize>, String> {
    let stored = RECORD_BYTES + LENGTH_BYTES + block_bytes;
    let (length, least) = (number(header, 0), stored.next_multiple_of(RECORD_STEP_BYTES));
    match length {
        _ if length == least => Ok(None),
        _ if length > least && length.is_multiple_of(RECORD_STEP_BYTES) => {
            Ok(Some(length - stored))
        }
        _ => Err(format!("its length is {length} bytes, for {stored}")),
    }
}

/// Checks what follows a block in a journal record that is longer than necessary, as with direct
/// I/O: zeros.
///
/// # Errors
/// Description of the fault.
pub(crate) fn check_fill(fill: &[u8]) -> Result<(), String> {
    match fill.split_last() {
        Some((last, zeros))
            if zeros.iter().all(|byte| *byte == 0) && [0, RECORD_FILL_END].contains(last) =>
        {
            Ok(())
        }
        None => Ok(()),
        _ => Err(format!("{} bytes after the block are not empty", fill.len())),
    }
}

fn number(header: &[u8], at: usize) -> usize {
    u32::from_le_bytes(*header[at..].first_chunk().expect("the field is in the header")) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(bytes: u32, flags: u8) -> [u8; PAGE_BYTES] {
        let mut header = [0; PAGE_BYTES];
        header[8] = 5;
        header[PAGE_MEM_SIZE_AT..][..4].copy_from_slice(&bytes.to_le_bytes());
        header[PAGE_TYPE_AT] = 7;
        header[PAGE_FLAGS_AT] = flags;
        header
    }

    #[test]
    fn what_is_sealed_is_told_apart() {
        let record = [0x81; TEXT_BYTES];
        let text = [b'a'; TEXT_BYTES];
        assert_eq!(Skip::of_new(0x1028, 0x202C, &record), Skip::Page);
        assert_eq!(Skip::of_new(0x1010, 0x2014, &record), Skip::Record);
        assert_eq!(Skip::of_new(0x1010, 0x2014, &text), Skip::Text);
        assert_eq!(Skip::of_new(0x1010, 0x2014, &text[..63]), Skip::Record);
        for (src, dst) in [(0x1028, 0x2024), (0x1018, 0x2014), (0x1011, 0x2015)] {
            assert_eq!(Skip::of_new(src, dst, &record), Skip::Unknown);
        }
        for (stored_length, skip) in
            [(144, Skip::Page), (120, Skip::Record), (104, Skip::Text), (145, Skip::Unknown)]
        {
            assert_eq!(Skip::of_stored(stored_length, 100), skip);
        }
        for stored_length in [0, 3, 4, 103] {
            assert_eq!(Skip::of_stored(stored_length, 100), Skip::Unknown);
        }
    }

    #[test]
    fn a_header_that_is_none_binds_nothing() {
        let kind = |bound: Bound| bound.kind;
        assert_eq!(kind(Bound::new_page(&page(140, 0), 100)), PlaceKind::Page);
        assert_eq!(kind(Bound::new_page(&page(141, 0), 100)), PlaceKind::Unknown);
        assert_eq!(kind(Bound::new_page(&page(141, PAGE_COMPRESSED), 100)), PlaceKind::Page);
        assert_eq!(kind(Bound::new_page(&page(140, PAGE_COMPRESSED), 100)), PlaceKind::Unknown);
        assert_eq!(kind(Bound::new_page(&[0; PAGE_BYTES], 100)), PlaceKind::Unknown);
        assert_eq!(kind(Bound::new_record(&[0; RECORD_BYTES])), PlaceKind::Record);
        for (at, byte) in [(8, 2), (8, 1), (9, 1), (10, 1), (11, 1), (12, 1)] {
            let mut header = [0; RECORD_BYTES];
            header[at] = byte;
            assert_eq!(kind(Bound::new_record(&header)), PlaceKind::Unknown, "{at}");
        }
        let compressed = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 200, 0, 0, 0];
        assert_eq!(kind(Bound::new_record(&compressed)), PlaceKind::Record);
    }

    /// Anything that WiredTiger sets later makes no difference, everything else does.
    #[test]
    fn what_is_bound_is_what_stays() {
        let sealed = Bound::new_page(&page(140, 4), 100);
        let mut stored = page(140, 4 | PAGE_ENCRYPTED);
        stored[DISK_SIZE_AT..].fill(9);
        assert_eq!(Bound::page(&stored), sealed);
        for at in 0..PAGE_BOUND_BYTES {
            let mut changed = stored;
            changed[at] ^= 1;
            assert_ne!(Bound::page(&changed), sealed, "{at}");
        }
        let sealed = Bound::new_record(&[0; RECORD_BYTES]);
        let stored = [9, 9, 9, 9, 9, 9, 9, 9, RECORD_ENCRYPTED, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(Bound::record(&stored), sealed);
        for at in RECORD_BOUND_AT..RECORD_BYTES {
            let mut changed = stored;
            changed[at] ^= 1;
            assert_ne!(Bound::record(&changed), sealed, "{at}");
        }
    }

    #[test]
    fn pages_are_filled_up_and_their_sizes_checked() {
        let bound = Bound::new_page(&page(140, 0), 100);
        let padding = bound.padding_bytes(100, 100 + EXPANSION_BYTES);
        let block = 100 + OVERHEAD_BYTES + padding;
        assert_eq!(block + LENGTH_BYTES + PAGE_BYTES, 4096);
        assert_eq!(bound.padding_bytes(100, block - 1), 0);
        assert_eq!(Bound::TEXT.padding_bytes(100, 9999), 0);
        let mut header = page(140, 0);
        for (size, good) in
            [(4096, true), (8192, true), (16384, true), (12288, false), (0, false), (4095, false)]
        {
            header[DISK_SIZE_AT..][..4].copy_from_slice(&u32::to_le_bytes(size));
            assert_eq!(check_page(&header, block).is_ok(), good, "{size}");
        }
        header[DISK_SIZE_AT..][..4].copy_from_slice(&4096u32.to_le_bytes());
        for at in [BLOCK_UNUSED_AT, 38, 39] {
            let mut changed = header;
            changed[at] = 1;
            check_page(&changed, block).unwrap_err();
        }
        header[BLOCK_FLAGS_AT] = 1;
        check_page(&header, block).unwrap();
        header[BLOCK_FLAGS_AT] = 2;
        check_page(&header, block).unwrap_err();
    }

    #[test]
    fn records_are_as_long_as_they_must_be_or_empty_behind() {
        let with = |length: u32| {
            let mut header = [0; RECORD_BYTES];
            header[..4].copy_from_slice(&length.to_le_bytes());
            check_record(&header, 100)
        };
        assert_eq!(with(128), Ok(None));
        assert_eq!(with(4096), Ok(Some(3976)));
        for length in [0, 120, 127, 129, 255] {
            with(length).unwrap_err();
        }
        for (fill, good) in [
            (&[0, 0][..], true),
            (&[0, 0xAB], true),
            (&[1, 0], false),
            (&[0, 1], false),
            (&[], true),
        ] {
            assert_eq!(check_fill(fill).is_ok(), good, "{fill:?}");
        }
    }
}
