//! Stored files as the operating system has them: names, lengths, first bytes. Not here: what the bytes mean.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use sealstone_seal::HEADER_BYTES;

use super::error::RestError;
use crate::file_system::{RawFailed, RawRead};

/// Stored bytes that are read at once.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

/// A stored file, read without RocksDB.
pub(crate) struct StoredFile(pub(crate) File);

impl RawRead for StoredFile {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, RawFailed> {
        read_from(&self.0, offset, into).map_err(|_| RawFailed)
    }
}

/// Fills `into` from the beginning of the file, as far as it reaches.
pub(super) fn read_start(file: &File, into: &mut [u8]) -> io::Result<usize> {
    read_from(file, 0, into)
}

/// Fills `into` from byte `offset` on, as far as the file reaches.
fn read_from(file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < into.len() {
        match file.read_at(&mut into[got..], offset + got as u64) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

pub(super) fn read_header(file: &File) -> io::Result<Vec<u8>> {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    file.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    Ok(header)
}

/// Every file below `dir` with its length, by name from `dir` on, in order.
pub(super) fn list(dir: &Path) -> Result<Vec<(String, u64)>, RestError> {
    let mut files = Vec::new();
    let mut directories = vec![PathBuf::new()];
    while let Some(below) = directories.pop() {
        let here = if below.as_os_str().is_empty() { dir.to_owned() } else { dir.join(&below) };
        let cannot = |source| RestError::Directory { dir: here.clone(), source };
        for entry in fs::read_dir(&here).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let name = below.join(entry.file_name());
            match entry.metadata() {
                Ok(facts) if facts.is_dir() => directories.push(name),
                Ok(facts) if facts.is_file() => files.push((name.to_string_lossy().into_owned(), facts.len())),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(cannot(error)),
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Name and length of every file in `dir` itself.
pub(super) fn lengths(dir: &Path) -> io::Result<BTreeMap<String, u64>> {
    let mut lengths = BTreeMap::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.metadata() {
            Ok(facts) if facts.is_file() => {
                lengths.insert(entry.file_name().to_string_lossy().into_owned(), facts.len());
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(lengths)
}
