//! Recovery: what the log contains beyond the root, and where it ends.
//!
//! Up to the mark every frame must be there, since it was synced. Beyond it the first one that is
//! not whole ends the log: not its records, not a block in it, not a block that it records as in
//! place. Running it again changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use sealstone_seal::volume::frame::{self, Data, HEAD_BYTES, Head, Record};
use sealstone_seal::volume::{BlockPlace, Mark, Places, Root, Run, VolumeError, VolumeKeys};

use crate::aligned_memory::Aligned;
use crate::disk::{Disk, DiskFile};
use crate::error::Failure;
use crate::index::{self, Index};
use crate::names;
use crate::segment::Segment;

/// The log of a volume as it was found.
pub(crate) struct Recovered {
    /// Its changes since the root.
    pub(crate) index: Index,
    /// Number of frames since the volume was made.
    pub(crate) frames: u64,
    /// Segments with frames, the oldest first.
    pub(crate) used: Vec<Arc<Segment>>,
    /// Bytes of the frames.
    pub(crate) used_bytes: u64,
    /// Frames that may not be on stable storage.
    unsure: Vec<Unsure>,
}

/// A frame that is whole as programs see it, and of which no mark records that it was synced.
struct Unsure {
    segment: Arc<Segment>,
    /// Its bytes.
    frame: std::ops::Range<u64>,
    /// Positions of blocks that it records as in place.
    places: Vec<u64>,
}

impl Recovered {
    /// Brings to stable storage what was read of the log, since it counts from now on. After a sync
    /// that failed a system may have forgotten that something was not written, so syncing alone
    /// proves nothing: it is written again.
    ///
    /// # Errors
    /// Of the disk.
    pub(crate) fn settle(&self, data: &dyn DiskFile, block_bytes: u32) -> Result<(), Failure> {
        let mut block = Aligned::new(block_bytes as usize);
        for Unsure { segment, frame, places } in &self.unsure {
            let mut bytes = vec![0; (frame.end - frame.start) as usize];
            segment
                .file
                .read(frame.start, &mut bytes)
                .map_err(Failure::of("read", &segment.name))?;
            let written = segment.file.write(frame.start, &[&bytes]);
            written.map_err(Failure::of("write", &segment.name))?;
            for at in places {
                data.read(*at, &mut block).map_err(Failure::of("read", names::DATA))?;
                data.write(*at, &[&block]).map_err(Failure::of("write", names::DATA))?;
            }
        }
        data.sync().map_err(Failure::of("sync", names::DATA))?;
        for segment in &self.used {
            segment.file.sync().map_err(Failure::of("sync", &segment.name))?;
        }
        Ok(())
    }
}

/// Reads the log.
///
/// - `mark`: the newest one
///
/// # Errors
/// [`VolumeError::Frame`] for a frame that was synced and is not there; of the disk.
pub(crate) fn recover(
    disk: &dyn Disk,
    data: &dyn DiskFile,
    keys: &VolumeKeys,
    root: &Root,
    mark: Mark,
) -> Result<Recovered, Failure> {
    let mut reader = Reader {
        disk,
        data,
        keys,
        places: Places::new(keys.block_bytes()),
        blocks: root.blocks,
        synced: mark.frames.max(root.runs.last().map_or(0, |run| run.frame)),
        index: BTreeMap::new(),
        used: Vec::new(),
        used_bytes: 0,
        unsure: Vec::new(),
    };
    let mut frames = root.runs.first().map_or(0, |run| run.frame);
    for (index, run) in root.runs.iter().enumerate() {
        let end = root.runs.get(index + 1).map(|next| next.frame);
        frames = reader.run(run, end)?;
    }
    let Reader { index, used, used_bytes, unsure, .. } = reader;
    Ok(Recovered { index, frames, used, used_bytes, unsure })
}

struct Reader<'a> {
    disk: &'a dyn Disk,
    data: &'a dyn DiskFile,
    keys: &'a VolumeKeys,
    places: Places,
    blocks: u64,
    /// Number of frames that must be there.
    synced: u64,
    index: Index,
    used: Vec<Arc<Segment>>,
    used_bytes: u64,
    unsure: Vec<Unsure>,
}

impl Reader<'_> {
    /// Reads one run up to frame `end`, or to where the log ends; returns the number of the frame
    /// after it.
    fn run(&mut self, run: &Run, end: Option<u64>) -> Result<u64, Failure> {
        let (mut number, mut frame, mut at) = (run.segment, run.frame, 0);
        let mut segment = self.open(number)?;
        while end != Some(frame) {
            let read = match &segment {
                Some(segment) => self.frame(segment, at, run.epoch, frame)?,
                None => None,
            };
            if let Some(next) = read {
                (frame, at) = (frame + 1, next);
                continue;
            }
            // it may be the first of the next segment, for want of room in this one
            let next = if at > 0 { self.open(number + 1)? } else { None };
            let begins = match &next {
                Some(next) => self.frame(next, 0, run.epoch, frame)?,
                None => None,
            };
            let Some(after) = begins else {
                let must_be = self.synced.max(end.unwrap_or(0));
                if frame < must_be {
                    let (segment, offset, synced) = (number, at, must_be);
                    return Err(VolumeError::Frame { frame, segment, offset, synced }.into());
                }
                break;
            };
            (segment, number, frame, at) = (next, number + 1, frame + 1, after);
        }
        Ok(frame)
    }

    fn open(&self, number: u64) -> Result<Option<Arc<Segment>>, Failure> {
        Ok(Segment::open(self.disk, names::segment(number))?.map(Arc::new))
    }

    /// Reads a frame into the index and returns where it ends; None if it is not there.
    fn frame(
        &mut self,
        segment: &Arc<Segment>,
        at: u64,
        epoch: u32,
        number: u64,
    ) -> Result<Option<u64>, Failure> {
        let room = segment.bytes.saturating_sub(at);
        let mut head = [0; HEAD_BYTES];
        if room < head.len() as u64 {
            return Ok(None);
        }
        let failed = |error| Failure::of("read", &segment.name)(error);
        segment.file.read(at, &mut head).map_err(failed)?;
        let Some(head) = Head::read(&head) else { return Ok(None) };
        let (head_bytes, data_bytes) =
            (head.records_bytes(), head.data_bytes(self.keys.block_bytes()));
        if (head_bytes + data_bytes) as u64 > room {
            return Ok(None);
        }
        let mut bytes = vec![0; head_bytes];
        segment.file.read(at, &mut bytes).map_err(failed)?;
        let Some(records) = frame::open(self.keys, epoch, number, &bytes)? else { return Ok(None) };
        let data_at = at + head_bytes as u64;
        if records.iter().any(|record| record.block >= self.blocks) {
            return Ok(None);
        }
        if number >= self.synced && !self.is_whole(segment, data_at, &records)? {
            return Ok(None);
        }
        self.take(segment, data_at, &records);
        let bytes = (head_bytes + data_bytes) as u64;
        if number >= self.synced {
            let in_place = records.iter().filter(|record| record.data == Data::InPlace);
            let places = in_place.map(|record| self.places.block(record.block)).collect();
            let segment = Arc::clone(segment);
            self.unsure.push(Unsure { segment, frame: at..at + bytes, places });
        }
        self.used_bytes += bytes;
        Ok(Some(at + bytes))
    }

    /// Returns whether every block of a frame opens, where it is.
    fn is_whole(
        &self,
        segment: &Segment,
        mut data_at: u64,
        records: &[Record],
    ) -> Result<bool, Failure> {
        let block_bytes = self.keys.block_bytes() as usize;
        let (mut sealed, mut out) = (Aligned::new(block_bytes), vec![0; block_bytes]);
        for record in records {
            match record.data {
                Data::Hole => continue,
                Data::Logged => {
                    let failed = Failure::of("read", &segment.name);
                    segment.file.read(data_at, &mut sealed).map_err(failed)?;
                    data_at += block_bytes as u64;
                }
                Data::InPlace => {
                    let at = self.places.block(record.block);
                    let failed = Failure::of("read", names::DATA);
                    self.data.read(at, &mut sealed).map_err(failed)?;
                }
            }
            let block = BlockPlace { number: record.block, entry: record.entry };
            match self.keys.open_blocks(&[block], &sealed, &mut out) {
                Ok(()) => {}
                Err(VolumeError::Block { .. }) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    fn take(&mut self, segment: &Arc<Segment>, data_at: u64, records: &[Record]) {
        let block_bytes = self.keys.block_bytes().into();
        self.index.extend(index::states(records, segment, data_at, block_bytes));
        if !self.used.last().is_some_and(|last| Arc::ptr_eq(last, segment)) {
            self.used.push(Arc::clone(segment));
        }
    }
}
