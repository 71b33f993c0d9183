//! A file that many threads read at once, each at its own place.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError as Foreign, Result as ForeignResult};
use parquet::file::reader::{ChunkReader, Length};

use sealstone_fields::FileMac;

use crate::error::ParquetError;

/// Number of bytes that are read at once when a whole file is read.
const READ_BYTES: usize = 1 << 20;

/// An input file.
#[derive(Debug)]
pub struct Input {
    pub(crate) source: Source,
}

/// The file, and how it was when it was opened.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    file: Arc<File>,
    written: Written,
}

/// Length of a file, and the time at which it was last written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Written {
    length: u64,
    times: [i64; 4],
}

impl Written {
    fn of(file: &File) -> Result<Self, ParquetError> {
        let found = file.metadata().map_err(ParquetError::Read)?;
        let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
        Ok(Self { length: found.len(), times })
    }
}

impl Input {
    /// Takes `file`, which must not change: a pass fails if it was written to since.
    ///
    /// # Errors
    /// [`ParquetError::Read`].
    pub fn new(file: File) -> Result<Self, ParquetError> {
        let written = Written::of(&file)?;
        Ok(Self { source: Source { file: Arc::new(file), written } })
    }

    /// Returns the length of the file in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.source.length()
    }

    /// Reads the whole file for `mac`, before anything of it is used.
    ///
    /// # Errors
    /// [`ParquetError::Read`], [`ParquetError::Changed`].
    pub fn read_for(&self, mac: &mut FileMac) -> Result<(), ParquetError> {
        let (mut at, mut buffer) = (0, vec![0; READ_BYTES]);
        while at < self.length() {
            let piece = &mut buffer[..READ_BYTES.min((self.length() - at) as usize)];
            self.source.read_at(at, piece)?;
            mac.update(piece);
            at += piece.len() as u64;
        }
        Ok(())
    }
}

impl Source {
    /// Returns the length of the file in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.written.length
    }

    /// Checks that nothing was written to it since.
    pub(crate) fn check_unchanged(&self) -> Result<(), ParquetError> {
        if Written::of(&self.file)? == self.written { Ok(()) } else { Err(ParquetError::Changed) }
    }

    /// Fills `out` with the bytes at `offset`.
    pub(crate) fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), ParquetError> {
        self.file.read_exact_at(out, offset).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ParquetError::Changed,
            _ => ParquetError::Read(error),
        })
    }

    /// Returns the `length` bytes at `offset`, which were checked to be there.
    pub(crate) fn bytes_at(&self, offset: u64, length: u64) -> Result<Vec<u8>, ParquetError> {
        let mut bytes = vec![0; length as usize];
        self.read_at(offset, &mut bytes)?;
        Ok(bytes)
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.length()
    }
}

/// Reads on from an offset.
#[derive(Debug)]
pub(crate) struct Onward {
    file: Arc<File>,
    at: u64,
}

impl Read for Onward {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl ChunkReader for Source {
    type T = BufReader<Onward>;

    fn get_read(&self, start: u64) -> ForeignResult<Self::T> {
        // headers of pages are short
        Ok(BufReader::with_capacity(1024, Onward { file: self.file.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ForeignResult<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.length()) {
            return Err(Foreign::EOF(format!("{length} bytes at {start} are not in the file")));
        }
        let mut bytes = vec![0; length];
        self.file
            .read_exact_at(&mut bytes, start)
            .map_err(|error| Foreign::External(Box::new(error)))?;
        Ok(bytes.into())
    }
}
