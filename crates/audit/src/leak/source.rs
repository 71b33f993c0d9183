//! Sources: files that are read at any offset, with their holes.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use nix::errno::Errno;
use nix::unistd::{Whence, lseek};

/// Bytes that can be read at any offset. They may change in the meantime.
pub(super) trait Source {
    /// Reads bytes from `offset` on into `buffer`; returns their number, 0 at the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Returns where the next bytes that are stored begin, from `offset` on, or the end; everything
    /// before that is zeros.
    fn stored_from(&self, offset: u64) -> io::Result<u64>;

    /// Returns the offset of its end.
    fn end(&self) -> io::Result<u64>;
}

impl Source for File {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match FileExt::read_at(self, buffer, offset) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn stored_from(&self, offset: u64) -> io::Result<u64> {
        let Ok(from) = i64::try_from(offset) else { return Ok(offset) };
        match lseek(self, from, Whence::SeekData) {
            Ok(found) => Ok(found as u64),
            Err(Errno::ENXIO) => Ok(self.metadata()?.len().max(offset)),
            // a file system that does not know its holes
            Err(_) => Ok(offset),
        }
    }

    fn end(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

/// Fills `buffer` from `offset` on; returns the part that there was.
pub(super) fn fill<'a>(
    source: &dyn Source,
    offset: u64,
    buffer: &'a mut [u8],
) -> io::Result<&'a [u8]> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read_at(offset + filled as u64, &mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(&buffer[..filled])
}
