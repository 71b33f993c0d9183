//! RocksDB's log format, in which a MANIFEST is written: blocks of 32 KiB, each holding fragments
//! of records with a header of 7 bytes (CRC-32C, length, type) or, in recycled files, of 11 (the
//! file's number as well). Takes the bytes in pieces of any length and hands out whole records.
//!
//! Source: RocksDB's `db/log_format.h` and the page "Write Ahead Log File Format" of its wiki.

use super::error::ManifestError;

/// Bytes of a block. No fragment crosses its end.
const BLOCK_BYTES: usize = 32 << 10;
/// Bytes of a fragment's header: masked CRC-32C, length, type.
const HEADER_BYTES: usize = 7;
/// Bytes of a header that also names the file, so that what an earlier use of the file left is not
/// taken for its own.
const RECYCLABLE_HEADER_BYTES: usize = 11;
/// Types with this bit may be skipped by a reader that does not support them.
const MAY_BE_IGNORED: u8 = 1 << 7;

/// Part of a record that a fragment is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Full,
    First,
    Middle,
    Last,
    /// Not part of a record: a kind that may be passed over.
    Ignored,
}

/// Takes a record and the place in the file where its last fragment begins.
type Each<'a> = dyn FnMut(u64, &[u8]) -> Result<(), ManifestError> + 'a;

/// Puts fragments together into records. Memory: the record that has begun, and less than a block.
pub(super) struct Records {
    /// Number of the file, as recyclable headers name it.
    file_number: u32,
    /// Bytes that have not been read as fragments yet.
    pending: Vec<u8>,
    /// Offset in its block at which `pending` begins.
    at_in_block: usize,
    /// Offset in the file at which `pending` begins.
    offset: u64,
    /// Bytes that are still to be passed over: the rest of a block.
    skip: usize,
    /// The record that has begun, where one has.
    begun: Option<Vec<u8>>,
    /// Set when the remains of an earlier use of the file have been reached: nothing after them
    /// counts.
    ended: bool,
}

impl Records {
    /// Returns a reader at the beginning of a file that recyclable headers call `file_number`; a
    /// MANIFEST's are 0.
    pub(super) fn new(file_number: u32) -> Self {
        Self {
            file_number,
            pending: Vec::new(),
            at_in_block: 0,
            offset: 0,
            skip: 0,
            begun: None,
            ended: false,
        }
    }

    /// Takes the next bytes of the file and hands each record that they complete to `record`, with
    /// the place in the file where its last fragment begins.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        record: &mut Each<'_>,
    ) -> Result<(), ManifestError> {
        self.pending.extend_from_slice(bytes);
        let mut read = 0;
        let result = loop {
            match self.fragment(read, record) {
                Ok(Some(consumed)) => {
                    read += consumed;
                    self.at_in_block = (self.at_in_block + consumed) % BLOCK_BYTES;
                    self.offset += consumed as u64;
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.pending.drain(..read);
        result
    }

    /// Bytes at the end of the file that are not a whole record: its writer was stopped there.
    pub(super) fn unfinished_bytes(&self) -> u64 {
        (self.pending.len() + self.begun.as_ref().map_or(0, Vec::len)) as u64
    }

    /// Reads the fragment at `from` in `pending`. Returns how many bytes that took, or nothing
    /// where more are needed.
    fn fragment(
        &mut self,
        from: usize,
        record: &mut Each<'_>,
    ) -> Result<Option<usize>, ManifestError> {
        let pending = &self.pending[from..];
        if self.ended {
            return Ok((!pending.is_empty()).then_some(pending.len()));
        }
        if self.skip > 0 {
            let skipped = self.skip.min(pending.len());
            self.skip -= skipped;
            return Ok((skipped > 0).then_some(skipped));
        }
        let left_in_block = BLOCK_BYTES - self.at_in_block;
        if left_in_block < HEADER_BYTES {
            self.skip = left_in_block;
            return Ok(Some(0));
        }
        let Some(&[c0, c1, c2, c3, l0, l1, kind]) = pending.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let length = usize::from(u16::from_le_bytes([l0, l1]));
        if kind == 0 && length == 0 {
            // room that was made before it was needed
            self.interrupted("zeros")?;
            self.skip = left_in_block;
            return Ok(Some(0));
        }
        let recyclable = matches!(kind, 5..=8 | 11 | 131);
        let header_bytes = if recyclable { RECYCLABLE_HEADER_BYTES } else { HEADER_BYTES };
        let whole_bytes = header_bytes + length;
        if whole_bytes > left_in_block {
            return Err(self.damaged(format!(
                "a fragment of {length} bytes reaches beyond the end of its block"
            )));
        }
        let Some(whole) = pending.get(..whole_bytes) else { return Ok(None) };
        if recyclable
            && whole[HEADER_BYTES..RECYCLABLE_HEADER_BYTES] != self.file_number.to_le_bytes()
        {
            self.ended = true;
            return Ok(Some(0));
        }
        if masked(crc32c::crc32c(&whole[6..])) != u32::from_le_bytes([c0, c1, c2, c3]) {
            return Err(self.damaged("a fragment does not fit its checksum".into()));
        }
        let part = match kind {
            1 | 5 => Part::Full,
            2 | 6 => Part::First,
            3 | 7 => Part::Middle,
            4 | 8 => Part::Last,
            kind if kind & MAY_BE_IGNORED != 0 => Part::Ignored,
            kind => {
                return Err(ManifestError::Newer { what: format!("a log record of type {kind}") });
            }
        };
        let data = &whole[header_bytes..];
        let offset = self.offset;
        match (part, self.begun.take()) {
            (Part::Full, None) => record(offset, data)?,
            // older writers left an empty first fragment at the end of a block
            (Part::Full, Some(begun)) if begun.is_empty() => record(offset, data)?,
            (Part::First, None) => self.begun = Some(data.to_vec()),
            (Part::First, Some(begun)) if begun.is_empty() => self.begun = Some(data.to_vec()),
            (Part::Middle, Some(mut begun)) => {
                begun.extend_from_slice(data);
                self.begun = Some(begun);
            }
            (Part::Last, Some(mut begun)) => {
                begun.extend_from_slice(data);
                record(offset, &begun)?;
            }
            (Part::Middle | Part::Last, None) => {
                return Err(self.damaged("a fragment continues a record that did not begin".into()));
            }
            (Part::Full | Part::First, Some(_)) => {
                return Err(
                    self.damaged("a record begins before the one before it has ended".into())
                );
            }
            (Part::Ignored, begun) => self.begun = begun,
        }
        Ok(Some(whole_bytes))
    }

    fn interrupted(&self, by: &str) -> Result<(), ManifestError> {
        match &self.begun {
            Some(_) => Err(self.damaged(format!("{by} in the middle of a record"))),
            None => Ok(()),
        }
    }

    fn damaged(&self, found: String) -> ManifestError {
        ManifestError::Damaged { offset: self.offset, found }
    }
}

/// Returns a checksum as RocksDB stores it, so that a checksum over bytes that hold checksums does
/// not degenerate.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Writes `records` as RocksDB does, in fragments that fill each block.
    pub(crate) fn written(records: &[&[u8]], recyclable: Option<u32>) -> Vec<u8> {
        let mut file = Vec::new();
        let header_bytes =
            if recyclable.is_some() { RECYCLABLE_HEADER_BYTES } else { HEADER_BYTES };
        for record in records {
            let mut rest = *record;
            let mut first = true;
            loop {
                let left = BLOCK_BYTES - file.len() % BLOCK_BYTES;
                if left < header_bytes {
                    file.resize(file.len() + left, 0);
                    continue;
                }
                let bytes = rest.len().min(left - header_bytes);
                let last = bytes == rest.len();
                let kind = match (first, last) {
                    (true, true) => 1,
                    (true, false) => 2,
                    (false, false) => 3,
                    (false, true) => 4,
                } + if recyclable.is_some() { 4 } else { 0 };
                let mut covered = vec![kind];
                covered.extend(recyclable.iter().flat_map(|number| number.to_le_bytes()));
                covered.extend_from_slice(&rest[..bytes]);
                file.extend_from_slice(&masked(crc32c::crc32c(&covered)).to_le_bytes());
                file.extend_from_slice(&(bytes as u16).to_le_bytes());
                file.extend_from_slice(&covered);
                rest = &rest[bytes..];
                first = false;
                if last {
                    break;
                }
            }
        }
        file
    }

    /// Returns the records of `file`, taken in pieces of `at_once` bytes, and the bytes that are
    /// left.
    fn read(
        file: &[u8],
        number: u32,
        at_once: usize,
    ) -> Result<(Vec<Vec<u8>>, u64), ManifestError> {
        let mut records = Records::new(number);
        let mut found = Vec::new();
        for piece in file.chunks(at_once) {
            records.push(piece, &mut |_, record| {
                found.push(record.to_vec());
                Ok(())
            })?;
        }
        Ok((found, records.unfinished_bytes()))
    }

    #[test]
    fn the_checksum_is_the_masked_crc_32c() {
        // RFC 3720, B.4: 32 bytes of zeros
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(masked(0), 0xa282_ead8);
        assert_eq!(masked(0x8a91_36aa), 0x8a91_36aa_u32.rotate_left(17).wrapping_add(0xa282_ead8));
    }

    #[test]
    fn records_of_any_length_come_back_however_they_are_cut() {
        let long = vec![7; 3 * BLOCK_BYTES];
        let nearly = vec![8; BLOCK_BYTES - HEADER_BYTES - 3];
        let records: [&[u8]; 6] = [b"one", b"", &nearly, &long, b"two", &nearly];
        for recyclable in [None, Some(0), Some(12)] {
            let file = written(&records, recyclable);
            for at_once in [1, 7, 1000, BLOCK_BYTES, usize::MAX] {
                let (found, left) = read(&file, recyclable.unwrap_or(99), at_once).unwrap();
                assert_eq!(
                    (found, left),
                    (records.map(<[u8]>::to_vec).to_vec(), 0),
                    "{recyclable:?} {at_once}"
                );
            }
        }
    }

    #[test]
    fn a_torn_end_is_a_remainder_and_damage_an_error() {
        let long = vec![7; 2 * BLOCK_BYTES];
        let file = written(&[b"one", &long], None);
        for cut in [11, 100, BLOCK_BYTES, BLOCK_BYTES + 3, file.len() - 1] {
            let (found, left) = read(&file[..cut], 0, 999).unwrap();
            assert_eq!(found, [b"one"], "{cut}");
            assert!(left > 0, "{cut}");
        }
        for at in [0, 4, 6, 9, 12, 20, BLOCK_BYTES + 2, BLOCK_BYTES + 50] {
            let mut file = file.clone();
            file[at] ^= 0x41;
            let read = read(&file, 0, 999);
            assert!(matches!(read, Err(ManifestError::Damaged { .. })), "{at}");
        }
        // leftovers of an earlier use of the file are its end
        let mut recycled = written(&[b"one"], Some(8));
        recycled.extend(written(&[b"old"], Some(7)));
        assert_eq!(read(&recycled, 8, 5).unwrap(), (vec![b"one".to_vec()], 0));
        // room made before it was needed
        let mut roomy = written(&[b"one"], None);
        roomy.resize(BLOCK_BYTES, 0);
        roomy.extend(written(&[b"two"], None));
        assert_eq!(read(&roomy, 0, 5).unwrap(), (vec![b"one".to_vec(), b"two".to_vec()], 0));
    }
}
