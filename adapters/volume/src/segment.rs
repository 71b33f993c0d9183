//! Segments: the files of the log, each written once from its beginning to its end, and then used
//! again under a new number. The segments of one opening have numbers that follow each other; what
//! was made beforehand gets its number when it is needed.

use std::sync::Arc;

use crate::disk::{Disk, DiskFile};
use crate::error::Failure;
use crate::names;

/// A file of the log.
pub(crate) struct Segment {
    /// Its name within the volume's directory.
    pub(crate) name: String,
    pub(crate) file: Arc<dyn DiskFile>,
    /// Its length, in bytes.
    pub(crate) bytes: u64,
}

impl Segment {
    /// Makes a segment of zeros. Zeros and not a reservation, since a file system would have to
    /// record at each sync which of the reserved bytes were written.
    ///
    /// # Errors
    /// [`Failure::File`], which may be that the disk is full: then there is no such segment.
    pub(crate) fn create(disk: &dyn Disk, name: String, bytes: u64) -> Result<Self, Failure> {
        let file = disk.create(&name, true).map_err(Failure::of("make", &name))?;
        let written = fill(&*file, bytes).and_then(|()| {
            file.sync()?;
            disk.sync_directory(names::LOG)
        });
        if let Err(error) = written {
            // it holds nothing; if it stays, it is in nobody's way
            let _ = disk.remove(&name);
            return Err(Failure::of("make", &name)(error));
        }
        Ok(Self { name, file, bytes })
    }

    /// Opens the segment `name`; None if there is none.
    ///
    /// # Errors
    /// [`Failure::File`].
    pub(crate) fn open(disk: &dyn Disk, name: String) -> Result<Option<Self>, Failure> {
        match disk.open(&name, true) {
            Ok(file) => {
                let bytes = file.bytes().map_err(Failure::of("look at", &name))?;
                Ok(Some(Self { name, file, bytes }))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::of("open", &name)(error)),
        }
    }

    /// Gives a segment that is no longer needed another number, under which it is written again.
    ///
    /// # Errors
    /// [`Failure::File`].
    pub(crate) fn renumber(&self, disk: &dyn Disk, number: u64) -> Result<Self, Failure> {
        let name = names::segment(number);
        disk.rename(&self.name, &name).map_err(Failure::of("rename", &self.name))?;
        disk.sync_directory(names::LOG).map_err(Failure::of("sync", names::LOG))?;
        Ok(Self { name, file: Arc::clone(&self.file), bytes: self.bytes })
    }
}

fn fill(file: &dyn DiskFile, bytes: u64) -> std::io::Result<()> {
    let zeros = vec![0; bytes.min(1 << 20) as usize];
    let mut at = 0;
    while at < bytes {
        let piece = &zeros[..(bytes - at).min(zeros.len() as u64) as usize];
        file.write(at, &[piece])?;
        at += piece.len() as u64;
    }
    Ok(())
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment").field("name", &self.name).finish_non_exhaustive()
    }
}
