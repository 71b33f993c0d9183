//! The marks of a volume: three files have a copy each, at two places in turn.

use std::sync::{Arc, Mutex, PoisonError};

use sealstone_seal::volume::{Epoch, MARK_BYTES, Mark, VolumeKeys};

use crate::disk::DiskFile;
use crate::error::Failure;
use crate::names;

/// Both places in a map's file, in bytes from its beginning: in different blocks of a disk.
const IN_MAP: [u64; 2] = [2048, 4096 + 2048];
/// Both places in the file with the header: after it.
const IN_HEADER: [u64; 2] = [8192 + 2048, 12288 + 2048];

/// Length of the file with the header and the marks, in bytes.
pub(crate) const HEADER_FILE_BYTES: u64 = 16384;

/// The files that have marks.
pub(crate) struct Marks {
    header: Arc<dyn DiskFile>,
    maps: [Arc<dyn DiskFile>; 2],
    /// The newest number of frames, and the place that is written next.
    newest: Mutex<(u64, usize)>,
}

impl Marks {
    pub(crate) fn new(header: Arc<dyn DiskFile>, maps: [Arc<dyn DiskFile>; 2]) -> Self {
        Self { header, maps, newest: Mutex::new((0, 0)) }
    }

    fn copies(&self) -> [(&Arc<dyn DiskFile>, &'static str, [u64; 2]); 3] {
        let [first, second] = &self.maps;
        [
            (&self.header, names::HEADER, IN_HEADER),
            (first, names::MAPS[0], IN_MAP),
            (second, names::MAPS[1], IN_MAP),
        ]
    }

    /// Returns the newest genuine mark of any copy. None if there is not a single one, which no
    /// crash leaves: an opening begins with marks on stable storage.
    ///
    /// # Errors
    /// Of the disk.
    pub(crate) fn read(&self, keys: &VolumeKeys) -> Result<Option<Mark>, Failure> {
        let mut newest = None;
        for (file, name, places) in self.copies() {
            for at in places {
                let mut bytes = [0; MARK_BYTES];
                match file.read(at, &mut bytes) {
                    Ok(()) => newest = newest.max(Mark::open(keys, &bytes)?),
                    // a copy that was cut short has none
                    Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {}
                    Err(error) => return Err(Failure::of("read", name)(error)),
                }
            }
        }
        Ok(newest)
    }

    /// Writes the mark that `frames` frames are on stable storage, which is not synced itself; an
    /// older one than the newest changes nothing.
    ///
    /// # Errors
    /// Of the disk.
    pub(crate) fn write(&self, epoch: &Epoch, frames: u64) -> Result<(), Failure> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, place) = *newest;
        if frames <= before {
            return Ok(());
        }
        self.put(epoch, frames, &[place])?;
        *newest = (frames, 1 - place);
        Ok(())
    }

    /// Writes the mark with which an epoch begins, to every place, and syncs it.
    ///
    /// # Errors
    /// Of the disk.
    pub(crate) fn begin(&self, epoch: &Epoch, frames: u64) -> Result<(), Failure> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        self.put(epoch, frames, &[0, 1])?;
        for (file, name, _) in self.copies() {
            file.sync().map_err(Failure::of("sync", name))?;
        }
        *newest = (frames, 0);
        Ok(())
    }

    /// Syncs the newest mark.
    ///
    /// # Errors
    /// Of the disk.
    pub(crate) fn sync(&self) -> Result<(), Failure> {
        self.header.sync().map_err(Failure::of("sync", names::HEADER))
    }

    fn put(&self, epoch: &Epoch, frames: u64, places: &[usize]) -> Result<(), Failure> {
        let bytes = Mark::seal(epoch, frames)?;
        for (file, name, at) in self.copies() {
            for place in places {
                file.write(at[*place], &[&bytes]).map_err(Failure::of("write", name))?;
            }
        }
        Ok(())
    }
}
