//! A device without cipher and without log: a plain file, read and written as it is asked for. It
//! is what a sealed one is measured against, since all that it costs is the front.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::{FallocateFlags, fallocate};

use crate::Device;
use crate::aligned_memory::Aligned;

/// A plain file as a device.
#[derive(Debug)]
pub struct PlainFile {
    file: File,
    size_bytes: u64,
}

/// Length of a block, in bytes.
const BLOCK_BYTES: u32 = 4096;

impl PlainFile {
    /// Opens the file at `path` without the page cache, or makes it, `size_bytes` long and sparse.
    ///
    /// # Errors
    /// Of the file system.
    pub fn open(path: &Path, size_bytes: u64) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(libc::O_DIRECT)
            .open(path)?;
        file.set_len(size_bytes)?;
        Ok(Self { file, size_bytes })
    }
}

impl Device for PlainFile {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn block_bytes(&self) -> u32 {
        BLOCK_BYTES
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut buffer = Aligned::new(out.len());
        self.file.read_exact_at(&mut buffer, offset)?;
        out.copy_from_slice(&buffer);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut buffer = Aligned::new(data.len());
        buffer.copy_from_slice(data);
        self.file.write_all_at(&buffer, offset)
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn discard(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let mode = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        fallocate(self.file.as_fd(), mode, offset as i64, bytes as i64)?;
        Ok(())
    }

    fn status(&self) -> String {
        String::new()
    }

    fn command(&self, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
