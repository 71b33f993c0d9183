//! The log while a volume is written: frames appended to segments, one after the other.

use std::sync::Arc;

use sealstone_seal::volume::Epoch;
use sealstone_seal::volume::frame::{self, Record};

use crate::disk::Disk;
use crate::error::Failure;
use crate::index::{self, Pending};
use crate::names;
use crate::segment::Segment;

/// Segments kept for use again at most, beyond those in use.
const FREE_MAX: usize = 8;

/// Segments that only a checkpoint may take: without one it could not begin, and without it the
/// log of a full disk could never be freed.
const KEPT: usize = 1;

/// The end of the log.
pub(crate) struct Log {
    /// The segment that is written.
    segment: Arc<Segment>,
    /// Beginning of the next frame in it, in bytes.
    offset: u64,
    /// Number of the next frame.
    frame: u64,
    /// Number of the segment that is written.
    number: u64,
    /// Number of the next segment that is made beforehand.
    next_spare: u64,
    /// Length of a segment, in bytes.
    segment_bytes: u64,
    /// Segments with frames that were not synced.
    unsynced: Vec<Arc<Segment>>,
    /// Segments with frames that are not in place, the oldest first.
    used: Vec<Arc<Segment>>,
    /// Segments that nothing needs.
    free: Vec<Segment>,
    /// Bytes of frames that are not in place.
    used_bytes: u64,
}

/// The part of the log that a checkpoint puts in place.
pub(crate) struct Closed {
    /// Number of the frame after it.
    pub(crate) frame: u64,
    /// The segment that begins with that frame.
    pub(crate) segment: u64,
    /// Segments that nobody needs after it.
    pub(crate) used: Vec<Arc<Segment>>,
    /// Bytes of its frames.
    pub(crate) bytes: u64,
}

impl Log {
    /// Begins a log in a segment of its own.
    ///
    /// - `frame`: number of its first frame
    /// - `used`: segments of earlier runs, which are not in place
    /// - `free`: segments that nothing needs
    ///
    /// # Errors
    /// As [`Segment::create`].
    pub(crate) fn begin(
        disk: &dyn Disk,
        frame: u64,
        (used, used_bytes): (Vec<Arc<Segment>>, u64),
        free: Vec<Segment>,
        segment_bytes: u64,
    ) -> Result<Self, Failure> {
        let names = used.iter().map(|one| &one.name).chain(free.iter().map(|one| &one.name));
        let within: Vec<&str> = names.filter_map(|name| Some(name.split_once('/')?.1)).collect();
        let after = |number: fn(&str) -> Option<u64>| {
            within.iter().filter_map(|name| number(name)).max().map_or(0, |last| last + 1)
        };
        let (number, mut next_spare) = (after(names::segment_number), after(names::spare_number));
        let mut free = free;
        let segment = Arc::new(take(disk, &mut free, number, segment_bytes, 0)?);
        while free.len() < KEPT {
            free.push(Segment::create(disk, names::spare(next_spare), segment_bytes)?);
            next_spare += 1;
        }
        Ok(Self {
            segment,
            offset: 0,
            frame,
            number,
            next_spare,
            segment_bytes,
            unsynced: Vec::new(),
            used,
            free,
            used_bytes,
        })
    }

    /// Returns the number of frames since the volume was made.
    pub(crate) fn frames(&self) -> u64 {
        self.frame
    }

    /// Returns the number of the segment that is written.
    pub(crate) fn segment(&self) -> u64 {
        self.number
    }

    /// Returns the bytes of frames that are not in place.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Appends a frame, unsynced, and returns the new states of its blocks.
    ///
    /// - `data`: the blocks that are in the frame, one after the other
    ///
    /// # Errors
    /// That the disk is full: the log is as it was. Any other of the disk: its end is unknown.
    pub(crate) fn append(
        &mut self,
        disk: &dyn Disk,
        epoch: &Epoch,
        records: &[Record],
        data: &[u8],
        block_bytes: u64,
    ) -> Result<Vec<(u64, Pending)>, Failure> {
        let head = frame::seal(epoch, self.frame, records)?;
        let bytes = (head.len() + data.len()) as u64;
        assert!(bytes <= self.segment_bytes, "a frame fits into a segment");
        if self.offset + bytes > self.segment.bytes {
            self.next(disk, KEPT)?;
        }
        let written = self.segment.file.write(self.offset, &[&head, data]);
        written.map_err(Failure::of("write", &self.segment.name))?;
        let data_at = self.offset + head.len() as u64;
        let states = index::states(records, &self.segment, data_at, block_bytes);
        if !self.unsynced.last().is_some_and(|last| Arc::ptr_eq(last, &self.segment)) {
            self.unsynced.push(Arc::clone(&self.segment));
        }
        self.frame += 1;
        self.offset += bytes;
        self.used_bytes += bytes;
        Ok(states)
    }

    /// Returns the number of frames, and the segments with those that were not synced, which count
    /// as synced from now on.
    pub(crate) fn unsynced(&mut self) -> (u64, Vec<Arc<Segment>>) {
        (self.frame, std::mem::take(&mut self.unsynced))
    }

    /// Ends the part of the log up to here, and goes on in another segment.
    ///
    /// # Errors
    /// As [`Segment::create`]; the log is as it was.
    pub(crate) fn close(&mut self, disk: &dyn Disk) -> Result<Closed, Failure> {
        if self.offset > 0 {
            self.next(disk, 0)?;
        }
        Ok(Closed {
            frame: self.frame,
            segment: self.number,
            used: std::mem::take(&mut self.used),
            bytes: self.used_bytes,
        })
    }

    /// Takes back a part whose checkpoint failed.
    pub(crate) fn reopen(&mut self, closed: Closed) {
        let later = std::mem::replace(&mut self.used, closed.used);
        self.used.extend(later);
    }

    /// Uses the segments of a part that is in place again.
    ///
    /// # Errors
    /// Of the disk.
    pub(crate) fn recycle(&mut self, disk: &dyn Disk, closed: Closed) -> Result<(), Failure> {
        self.used_bytes -= closed.bytes;
        for segment in closed.used {
            if self.free.len() < FREE_MAX && segment.bytes == self.segment_bytes {
                let (name, file) = (segment.name.clone(), Arc::clone(&segment.file));
                self.free.push(Segment { name, file, bytes: segment.bytes });
            } else {
                disk.remove(&segment.name).map_err(Failure::of("remove", &segment.name))?;
            }
        }
        Ok(())
    }

    /// Returns the name of a segment that should be made beforehand, if there is none to go on in.
    /// Nobody else gets that name.
    pub(crate) fn wanted(&mut self) -> Option<String> {
        (self.free.len() <= KEPT).then(|| {
            self.next_spare += 1;
            names::spare(self.next_spare - 1)
        })
    }

    /// Adds a segment to those that nothing needs.
    pub(crate) fn add(&mut self, segment: Segment) {
        self.free.push(segment);
    }

    fn next(&mut self, disk: &dyn Disk, kept: usize) -> Result<(), Failure> {
        let next = take(disk, &mut self.free, self.number + 1, self.segment_bytes, kept)?;
        self.number += 1;
        self.used.push(std::mem::replace(&mut self.segment, Arc::new(next)));
        self.offset = 0;
        Ok(())
    }
}

/// Returns the segment with `number`: one that nothing needs, if more than `kept` are there, or a
/// new one.
fn take(
    disk: &dyn Disk,
    free: &mut Vec<Segment>,
    number: u64,
    segment_bytes: u64,
    kept: usize,
) -> Result<Segment, Failure> {
    while free.len() > kept {
        let segment = free.pop().expect("there are more");
        if segment.bytes == segment_bytes {
            return segment.renumber(disk, number);
        }
        disk.remove(&segment.name).map_err(Failure::of("remove", &segment.name))?;
    }
    Segment::create(disk, names::segment(number), segment_bytes)
}

/// Returns the names of the segments that are there, within the volume's directory.
///
/// # Errors
/// Of the disk.
pub(crate) fn segments(disk: &dyn Disk) -> Result<Vec<String>, Failure> {
    let listed = disk.list(names::LOG).map_err(Failure::of("list", names::LOG))?;
    let number = |name: &str| names::segment_number(name).or_else(|| names::spare_number(name));
    let known = listed.iter().filter(|name| number(name).is_some());
    Ok(known.map(|name| format!("{}/{name}", names::LOG)).collect())
}
