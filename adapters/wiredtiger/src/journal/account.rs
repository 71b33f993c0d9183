//! The account of a journal: its files, and how much of each was synced. A small file next to them
//! holds the account twice, sealed. Byte by byte in `docs/formats.md`.
//!
//! It must never claim more than is on the disk, and is written after the data it claims; [`Sync`]
//! determines whether a sync waits for it.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use sealstone_file::input;
use sealstone_seal::engine_page::{
    EnginePageError, EnginePages, HEADER_BYTES, OVERHEAD_BYTES, Place, PlaceKind, page_bytes,
};

use super::record::Tag;
use crate::error::{JournalError, io_error};
use crate::writeback::start_writing;

/// Name of the file.
pub(crate) const NAME: &str = "SEALSTONE-JOURNAL";

/// The account is at the beginning of the file and again this far from it, in bytes.
const COPY_AT: u64 = 64 << 10;
/// Longest account, sealed and with its length, in bytes.
const COPY_BYTES_MAX: usize = COPY_AT as usize;
/// Length that the disk writes whole or not at all, in bytes.
const SECTOR_BYTES: usize = 512;
/// Positions of the copies, in bytes.
pub(crate) const COPIES_AT: [u64; 2] = [0, COPY_AT];
/// Length of the length before each, in bytes.
pub(crate) const LENGTH_BYTES: usize = 4;
const VERSION: u8 = 1;
/// Version, sequence number, highest number of a file, number of entries.
const HEAD_BYTES: usize = 1 + 8 + 4 + 4;
/// Number of a file, synced bytes, id.
const ENTRY_BYTES: usize = 4 + 8 + 16;
const PLACE: &[u8] = b"journal account";

/// One journal file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Length of the part of it that was synced, in bytes; 0 while it holds no record of data.
    pub(crate) synced: u64,
    /// Its key's id.
    pub(crate) id: Tag,
}

/// The time at which a written account is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sync {
    /// Before the call returns.
    Now,
    /// Its writing has begun. It is on the disk with the next sync of any file there.
    Soon,
}

/// The account of one journal.
pub(crate) struct Account {
    path: PathBuf,
    file: Option<File>,
    sequence: u64,
    /// The highest number that a file of this journal ever had.
    pub(crate) highest: u32,
    pub(crate) entries: BTreeMap<u32, Entry>,
}

impl Account {
    /// Returns the account of a directory that has none; it is made with the first
    /// [`Account::write`].
    pub(crate) fn new(dir: &Path) -> Self {
        Self { path: dir.join(NAME), file: None, sequence: 0, highest: 0, entries: BTreeMap::new() }
    }

    /// Returns the account in `dir`, if there is one: the newer genuine copy of the two.
    ///
    /// # Errors
    /// [`JournalError::File`]; [`JournalError::Account`] if neither is genuine;
    /// [`JournalError::Page`] if the module that computes failed.
    pub(crate) fn read(dir: &Path, pages: &EnginePages) -> Result<Option<Self>, JournalError> {
        let mut account = Self::new(dir);
        let path = account.path.clone();
        let mut file = match input::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io_error("open", &path)(error)),
        };
        let mut bytes = Vec::new();
        let most = COPY_AT + COPY_BYTES_MAX as u64;
        file.by_ref().take(most).read_to_end(&mut bytes).map_err(io_error("read", &path))?;
        let copies = [bytes.as_slice(), bytes.get(COPY_AT as usize..).unwrap_or_default()];
        let opened = copies.map(|copy| account.opened(copy, pages));
        let mut newest: Option<Content> = None;
        let mut first_error = None;
        for copy in opened {
            match copy {
                Ok(copy) => {
                    if newest.as_ref().is_none_or(|newest| newest.sequence < copy.sequence) {
                        newest = Some(copy);
                    }
                }
                // nothing is known of a copy that the module did not open: it may be the newer one
                Err(error) if error.is_of_module() => {
                    return Err(JournalError::Page { path, error });
                }
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        let Some(Content { sequence, highest, entries }) = newest else {
            let error =
                first_error.unwrap_or(EnginePageError::Damaged { found: "no account".into() });
            return Err(JournalError::Account { path, error });
        };
        (account.sequence, account.highest, account.entries) = (sequence, highest, entries);
        Ok(Some(account))
    }

    fn opened(&self, copy: &[u8], pages: &EnginePages) -> Result<Content, EnginePageError> {
        let damaged =
            || EnginePageError::Damaged { found: "it is not an account of a journal".into() };
        let length = copy
            .first_chunk()
            .map(|length| u32::from_be_bytes(*length) as usize)
            .ok_or_else(damaged)?;
        let block =
            copy.get(LENGTH_BYTES..).and_then(|rest| rest.get(..length)).ok_or_else(damaged)?;
        let mut page = vec![0; page_bytes(block)?];
        pages.open_at(block, &mut page, Place::new(PlaceKind::Text, PLACE))?;
        Content::parse(&page).ok_or_else(damaged)
    }

    /// Writes its current state.
    ///
    /// # Errors
    /// [`JournalError::File`], [`JournalError::Page`]; [`JournalError::TooMany`] if it lists more
    /// files than it has room for.
    pub(crate) fn write(&mut self, pages: &EnginePages, sync: Sync) -> Result<(), JournalError> {
        self.sequence += 1;
        let content = Content {
            sequence: self.sequence,
            highest: self.highest,
            entries: self.entries.clone(),
        }
        .bytes();
        let mut copy = vec![0; LENGTH_BYTES + content.len() + OVERHEAD_BYTES];
        if copy.len() > COPY_BYTES_MAX {
            return Err(JournalError::TooMany {
                path: self.path.clone(),
                files: self.entries.len(),
            });
        }
        let (length, block) = copy.split_at_mut(LENGTH_BYTES);
        length.copy_from_slice(&(block.len() as u32).to_be_bytes());
        block[HEADER_BYTES..][..content.len()].copy_from_slice(&content);
        let page_error = |error| JournalError::Page { path: self.path.clone(), error };
        pages.seal_in_place(block, 0, Place::new(PlaceKind::Text, PLACE)).map_err(page_error)?;
        match &self.file {
            None => self.file = Some(self.make(&copy)?),
            Some(file) => rewrite(file, &copy, sync).map_err(io_error("write", &self.path))?,
        }
        Ok(())
    }

    /// Waits until the written data is on the disk.
    pub(crate) fn sync(&self) -> Result<(), JournalError> {
        self.file
            .as_ref()
            .map_or(Ok(()), |file| file.sync_data().map_err(io_error("sync", &self.path)))
    }

    /// Writes a new file next to the old one and puts it in its place: a half-made one is never
    /// found.
    fn make(&self, copy: &[u8]) -> Result<File, JournalError> {
        let new = self.path.with_file_name(format!("{NAME}.new"));
        let _ = fs::remove_file(&new);
        let fail = io_error("write", &new);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&new);
        let made = file.and_then(|file| {
            // all of it, so that later writes change no sizes
            file.write_all_at(&vec![0; 2 * COPY_BYTES_MAX], 0)?;
            file.write_all_at(copy, 0)?;
            file.write_all_at(copy, COPY_AT)?;
            file.sync_all()?;
            fs::rename(&new, &self.path)?;
            File::open(self.path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
            Ok(file)
        });
        made.map_err(fail)
    }
}

/// Puts `copy` in both places, so that no older copy can stand in for a damaged one.
fn rewrite(file: &File, copy: &[u8], sync: Sync) -> std::io::Result<()> {
    file.write_all_at(copy, 0)?;
    if copy.len() > SECTOR_BYTES {
        // a power cut may tear it: not both at once
        file.sync_data()?;
    }
    file.write_all_at(copy, COPY_AT)?;
    match sync {
        Sync::Now => file.sync_data(),
        Sync::Soon => start_writing(file),
    }
}

struct Content {
    sequence: u64,
    highest: u32,
    entries: BTreeMap<u32, Entry>,
}

impl Content {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.entries.len() * ENTRY_BYTES);
        bytes.push(VERSION);
        bytes.extend(self.sequence.to_be_bytes());
        bytes.extend(self.highest.to_be_bytes());
        bytes.extend((self.entries.len() as u32).to_be_bytes());
        for (number, entry) in &self.entries {
            bytes.extend(number.to_be_bytes());
            bytes.extend(entry.synced.to_be_bytes());
            bytes.extend(entry.id);
        }
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let count = u32::from_be_bytes(*head[13..].first_chunk()?) as usize;
        if head[0] != VERSION || rest.len() != count.checked_mul(ENTRY_BYTES)? {
            return None;
        }
        let entry = |bytes: &[u8]| {
            let number = u32::from_be_bytes(*bytes.first_chunk()?);
            let synced = u64::from_be_bytes(*bytes[4..].first_chunk()?);
            Some((number, Entry { synced, id: *bytes[12..].first_chunk()? }))
        };
        let entries =
            rest.chunks_exact(ENTRY_BYTES).map(entry).collect::<Option<BTreeMap<_, _>>>()?;
        let sequence = u64::from_be_bytes(*head[1..].first_chunk()?);
        let highest = u32::from_be_bytes(*head[9..].first_chunk()?);
        (entries.len() == count).then_some(Self { sequence, highest, entries })
    }
}
