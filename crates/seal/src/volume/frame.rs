//! Frames of a volume's log: what one write, or one discard, changed.
//!
//! A frame is its head, the records of its blocks, and the blocks that are not in place, sealed. It
//! is genuine as a whole if its head and records are, and each block opens by the entry in its
//! record: so a block is sealed once, for the log and for its place.

use super::binding::Piece;
use super::entry::{ENTRY_BYTES, Entry};
use super::error::VolumeError;
use super::keys::{Epoch, VolumeKeys};

/// Length of a frame's head, in bytes.
pub const HEAD_BYTES: usize = ENTRY_BYTES + 8;

/// Length of a record, in bytes.
pub const RECORD_BYTES: usize = 8 + ENTRY_BYTES;

/// Records in one frame at most.
pub const RECORDS_MAX: usize = 4096;

/// Set in the number of a block whose data is in the frame.
const LOGGED: u64 = 1 << 63;

/// Data of a block, as a record has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// In the frame.
    Logged,
    /// In its place already: the block was a hole.
    InPlace,
    /// None: the block is a hole from now on.
    Hole,
}

/// One block that a frame changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Number of the block.
    pub block: u64,
    /// Its entry from now on.
    pub entry: Entry,
    /// Place of its data.
    pub data: Data,
}

/// The beginning of a frame, not authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    own: Entry,
    records: u32,
    logged: u32,
}

impl Head {
    /// Reads a head. None if no frame begins so.
    #[must_use]
    pub fn read(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let count = |at: usize| u32::from_be_bytes(*bytes[at..].first_chunk().expect("40 bytes"));
        let own = Entry::from_bytes(bytes.first_chunk().expect("40 bytes"));
        let (records, logged) = (count(ENTRY_BYTES), count(ENTRY_BYTES + 4));
        let possible = (1..=RECORDS_MAX as u32).contains(&records) && logged <= records;
        (possible && own.epoch != 0).then_some(Self { own, records, logged })
    }

    /// Returns the length of head and records, in bytes.
    #[must_use]
    pub fn records_bytes(&self) -> usize {
        HEAD_BYTES + self.records as usize * RECORD_BYTES
    }

    /// Returns the length of the blocks in the frame, in bytes.
    #[must_use]
    pub fn data_bytes(&self, block_bytes: u32) -> usize {
        self.logged as usize * block_bytes as usize
    }
}

/// Returns the head and records of frame `number`, to be followed by the blocks that are
/// [`Data::Logged`], in the order of the records.
///
/// # Errors
/// As [`Epoch::seal_blocks`].
///
/// # Panics
/// If there are no records, or more than [`RECORDS_MAX`].
pub fn seal(epoch: &Epoch, number: u64, records: &[Record]) -> Result<Vec<u8>, VolumeError> {
    assert!((1..=RECORDS_MAX).contains(&records.len()), "{} records", records.len());
    let logged = records.iter().filter(|record| record.data == Data::Logged).count();
    let mut bytes = vec![0; ENTRY_BYTES];
    bytes.reserve_exact(8 + records.len() * RECORD_BYTES);
    bytes.extend_from_slice(&(records.len() as u32).to_be_bytes());
    bytes.extend_from_slice(&(logged as u32).to_be_bytes());
    for record in records {
        let flag = if record.data == Data::Logged { LOGGED } else { 0 };
        bytes.extend_from_slice(&(record.block | flag).to_be_bytes());
        bytes.extend_from_slice(&record.entry.to_bytes());
    }
    let own = epoch.tag(Piece::Frame, number, None, &mut bytes, 0)?;
    bytes[..ENTRY_BYTES].copy_from_slice(&own.to_bytes());
    Ok(bytes)
}

/// Opens the head and records of a frame. None if they are not those of frame `number` of the
/// epoch.
///
/// - `bytes`: [`Head::records_bytes`] of them
///
/// # Errors
/// [`VolumeError::Seal`] where no key can be made.
pub fn open(
    keys: &VolumeKeys,
    epoch: u32,
    number: u64,
    bytes: &[u8],
) -> Result<Option<Vec<Record>>, VolumeError> {
    let Some(head) = bytes.first_chunk().and_then(Head::read) else { return Ok(None) };
    if head.own.epoch != epoch || bytes.len() != head.records_bytes() {
        return Ok(None);
    }
    let mut bound = bytes.to_vec();
    bound[..ENTRY_BYTES].copy_from_slice(&keys.binding(Piece::Frame, epoch, number));
    if !keys.is_genuine(&head.own, &bound)? {
        return Ok(None);
    }
    let records: Vec<Record> = bytes[HEAD_BYTES..].chunks_exact(RECORD_BYTES).map(record).collect();
    let logged = records.iter().filter(|record| record.data == Data::Logged).count();
    Ok((logged == head.logged as usize).then_some(records))
}

fn record(bytes: &[u8]) -> Record {
    let number = u64::from_be_bytes(*bytes.first_chunk().expect("40 bytes"));
    let entry = Entry::from_bytes(bytes[8..].first_chunk().expect("40 bytes"));
    let data = match number & LOGGED {
        0 if entry.is_hole() => Data::Hole,
        0 => Data::InPlace,
        _ => Data::Logged,
    };
    Record { block: number & !LOGGED, entry, data }
}
