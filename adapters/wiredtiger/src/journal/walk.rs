//! A journal file read from its beginning: the extent of genuine records in their place, and the
//! data after them. Every length in the file is treated as hostile.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use sealstone_seal::engine_page::EnginePages;

use super::record::{self, FileKey, HEAD_BYTES, RecordError};
use crate::error::{JournalError, io_error};

/// Longest journal file, in bytes: WiredTiger counts in 32 bits.
const FILE_BYTES_MAX: u64 = u32::MAX as u64;
/// Number of bytes that are read at once.
const PIECE_BYTES: usize = 256 << 10;

/// Findings in a journal file.
pub(crate) struct Walked {
    /// Position at which its genuine records end, in bytes.
    pub(crate) end: u64,
    /// Description of what follows there.
    pub(crate) behind: &'static str,
}

/// The beginning of a journal file.
pub(crate) struct First {
    /// Length of the first record, in bytes.
    pub(crate) bytes: u64,
    /// The key of its tags.
    pub(crate) key: FileKey,
}

/// Reads the first record of a file.
///
/// # Errors
/// [`JournalError::File`], [`JournalError::Record`], [`JournalError::Page`].
pub(crate) fn first(file: &File, path: &Path, pages: &EnginePages) -> Result<First, JournalError> {
    let mut window = Window::new(file, path)?;
    let wrong =
        |found: &str| JournalError::Record { path: path.to_owned(), at: 0, found: found.into() };
    let beginning = window.at(0, 128)?.ok_or_else(|| wrong("no first record"))?;
    let bytes = record::first_length(beginning).ok_or_else(|| wrong("no first record"))?;
    let whole = window.at(0, bytes)?.ok_or_else(|| wrong("half a first record"))?;
    if !record::is_whole(whole) {
        return Err(wrong("a first record whose checksum is wrong"));
    }
    let key = record::stamped(pages, whole)
        .map_err(|error| JournalError::Page { path: path.to_owned(), error })?;
    Ok(First { bytes: bytes as u64, key })
}

/// Goes over the records of file `number` that follow `first`.
///
/// # Errors
/// [`JournalError::File`]; [`JournalError::Record`]: a whole record that is not genuine, or not in
/// its place, which no crash leaves; [`JournalError::Page`]: the module that computes tags failed.
pub(crate) fn walk(
    file: &File,
    path: &Path,
    number: u32,
    first: &First,
) -> Result<Walked, JournalError> {
    let mut window = Window::new(file, path)?;
    let mut end = first.bytes;
    loop {
        let stop = |behind| Ok(Walked { end, behind });
        let Some(head) = window.at(end, HEAD_BYTES)? else { return stop("the end of the file") };
        if head.iter().all(|byte| *byte == 0) {
            return stop("zeros");
        }
        let Some(length) = record::possible_length(head) else {
            return stop("an impossible length");
        };
        let Some(record) = window.at(end, length)? else { return stop("half a record") };
        if !record::is_whole(record) {
            return stop("a record whose checksum is wrong");
        }
        first.key.check(number, end, record).map_err(|error| at_record(path, end, error))?;
        end += length as u64;
    }
}

/// Reads the bytes that WiredTiger requests from a file whose genuine records end at `end`, and
/// checks them again: the file may have been changed since the walk. WiredTiger requests one
/// record, or the beginning of one.
///
/// # Errors
/// As [`walk`], for whatever is there instead of a record.
pub(crate) fn read(
    file: &File,
    path: &Path,
    (number, end, key): (u32, u64, &FileKey),
    at: u64,
    into: &mut [u8],
) -> Result<(), JournalError> {
    let wrong = |found: String| JournalError::Record { path: path.to_owned(), at, found };
    if at >= end {
        into.fill(0);
        return Ok(());
    }
    let mut head = [0; HEAD_BYTES];
    file.read_exact_at(&mut head, at).map_err(io_error("read", path))?;
    let length = record::possible_length(&head).filter(|length| at + *length as u64 <= end);
    let length = length
        .ok_or_else(|| wrong("an impossible length, and not what was there before".into()))?;
    let mut record = vec![0; length.max(into.len())];
    file.read_exact_at(&mut record[..length], at).map_err(io_error("read", path))?;
    if !record::is_whole(&record[..length]) {
        return Err(wrong("a record whose checksum is wrong, but was right before".into()));
    }
    if at > 0 {
        let checked = key.check(number, at, &record[..length]);
        checked.map_err(|error| at_record(path, at, error))?;
    }
    if into.len() > length {
        file.read_exact_at(&mut record[length..], at + length as u64)
            .map_err(io_error("read", path))?;
    }
    into.copy_from_slice(&record[..into.len()]);
    Ok(())
}

/// Returns the error for a record at the byte `at`. A module that failed is no sign of a change.
fn at_record(path: &Path, at: u64, error: RecordError) -> JournalError {
    let path = path.to_owned();
    match error {
        RecordError::Found(found) => JournalError::Record { path, at, found },
        RecordError::Module(error) => JournalError::Page { path, error: error.into() },
    }
}

/// A piece of a file in memory.
struct Window<'a> {
    file: &'a File,
    path: &'a Path,
    bytes: u64,
    start: u64,
    held: Vec<u8>,
}

impl<'a> Window<'a> {
    fn new(file: &'a File, path: &'a Path) -> Result<Self, JournalError> {
        let bytes = file.metadata().map_err(io_error("look at", path))?.len();
        if bytes > FILE_BYTES_MAX {
            let source =
                io::Error::other(format!("{bytes} bytes, more than a journal file can have"));
            return Err(io_error("read", path)(source));
        }
        Ok(Self { file, path, bytes, start: 0, held: Vec::new() })
    }

    /// Returns `length` bytes from `at` on; `None` if the file ends earlier.
    fn at(&mut self, at: u64, length: usize) -> Result<Option<&[u8]>, JournalError> {
        if at + length as u64 > self.bytes {
            return Ok(None);
        }
        let held = self.start..self.start + self.held.len() as u64;
        if at < held.start || at + length as u64 > held.end {
            let left = self.bytes - at;
            self.held.resize(
                usize::try_from(left).unwrap_or(usize::MAX).min(length.max(PIECE_BYTES)),
                0,
            );
            self.file.read_exact_at(&mut self.held, at).map_err(io_error("read", self.path))?;
            self.start = at;
        }
        Ok(Some(&self.held[(at - self.start) as usize..][..length]))
    }
}
