//! The blocks of a data file and the records of a journal file, found where the storage engine puts
//! them, and the sealing of each, by its header alone.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use sealstone_seal::account::Share;
use sealstone_seal::engine_page::{EnginePageError, HEADER_BYTES, MAGIC, inspect};

use crate::header::{
    PAGE_ENCRYPTED, PAGE_STEP_BYTES, RECORD_ENCRYPTED, RECORD_STEP_BYTES as RECORD_STEP,
};
use crate::journal::{ACCOUNT_COPIES_AT, ACCOUNT_LENGTH_BYTES, STAMP_AT};
use crate::{PAGE_SKIP_BYTES as PAGE_AT, RECORD_SKIP_BYTES as RECORD_AT};

/// First bytes of every data file, whatever its name: the engine's own number.
const DATA_BEGINS: [u8; 4] = 120_897_u32.to_le_bytes();
/// First bytes of the first record of every journal file, after its header.
const JOURNAL_BEGINS: [u8; 4] = 0x10_1064_u32.to_le_bytes();
const JOURNAL_BEGINS_AT: usize = 16;
/// Step at which blocks of a data file begin, in bytes; the first holds the file's own description.
const STEP_BYTES: u64 = PAGE_STEP_BYTES as u64;
/// Step at which journal records begin, in bytes.
const RECORD_STEP_BYTES: u64 = RECORD_STEP as u64;
/// Length of the part of a block that is looked at.
const LOOK_BYTES: usize = PAGE_AT + HEADER_BYTES;
/// Kinds of pages: the engine's own lists of places in the file, and the last kind that holds data.
const PAGE_LISTS: u8 = 1;
const PAGE_LAST: u8 = 7;
/// Kind of a journal record that holds only positions, as the engine packs it.
const RECORD_SYSTEM: u8 = 0x84;

/// Kind of a file according to its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    Data,
    Journal,
    Other,
}

impl Beginning {
    /// Reads the blocks of `file`.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let mut first = [0; JOURNAL_BEGINS_AT + JOURNAL_BEGINS.len()];
        Ok(match read_at(file, &mut first, 0)? {
            true if first.starts_with(&DATA_BEGINS) => Self::Data,
            true if first.ends_with(&JOURNAL_BEGINS) => Self::Journal,
            _ => Self::Other,
        })
    }
}

/// Blocks that were found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) shares: BTreeMap<(&'static str, u32, String), Share>,
    pub(super) clear_blocks: u64,
    pub(super) clear_bytes: u64,
    pub(super) other_blocks: u64,
    pub(super) other: Option<String>,
}

impl Found {
    /// Adds blocks of one key and cipher.
    pub(super) fn add(&mut self, share: Share) {
        let key = (share.cipher.name, share.key_version, share.fingerprint.clone());
        let sum = self.shares.entry(key).or_insert_with(|| Share {
            blocks: 0,
            bytes: 0,
            ..share.clone()
        });
        sum.blocks += share.blocks;
        sum.bytes += share.bytes;
    }

    /// Adds what an encryptor made.
    fn add_encrypted(&mut self, block: &[u8], bytes: u64) {
        match inspect(block) {
            Ok(info) => self.add(Share {
                cipher: info.cipher,
                mode: info.cipher.mode,
                key_version: info.key_version,
                fingerprint: info.fingerprint.to_string(),
                blocks: 1,
                bytes,
            }),
            Err(error) => {
                self.other_blocks += 1;
                self.other.get_or_insert_with(|| match error {
                    EnginePageError::NotSealed { .. } => "encrypted by another program".into(),
                    error => error.to_string().lines().next().unwrap_or_default().to_owned(),
                });
            }
        }
    }

    fn add_clear(&mut self, bytes: u64) {
        self.clear_blocks += 1;
        self.clear_bytes += bytes;
    }
}

/// Goes over the blocks of a data file.
pub(super) fn scan_data(file: &File, length: u64, found: &mut Found) -> io::Result<()> {
    let mut at = STEP_BYTES;
    let mut block = [0; LOOK_BYTES];
    while at + (LOOK_BYTES as u64) <= length {
        if !read_at(file, &mut block, at)? {
            break;
        }
        // page: record number 8, generation 8, size in memory 4, entries 4, kind 1, flags 1, unused
        // 1, version 1; block: size on disk 4, checksum 4, flags 1, unused 3
        let (kind, flags) = (block[24], block[25]);
        let bytes = u64::from(u32::from_le_bytes(*block[28..].first_chunk().expect("in range")));
        let fits = bytes > 0 && bytes % STEP_BYTES == 0 && at + bytes <= length;
        let is_block = (1..=PAGE_LAST).contains(&kind)
            && block[26] == 0
            && block[27] <= 1
            && block[36] <= 1
            && block[37..40] == [0; 3]
            && fits;
        if !is_block && is_ours(&block[PAGE_AT..], fits && flags & PAGE_ENCRYPTED != 0) {
            // of an unknown release, or damaged; either way it may need its key
            found.add_encrypted(&block[PAGE_AT..], if fits { bytes } else { STEP_BYTES });
        } else if is_block && kind != PAGE_LISTS {
            if flags & PAGE_ENCRYPTED != 0 {
                found.add_encrypted(&block[PAGE_AT..], bytes);
            } else {
                found.add_clear(bytes);
            }
        }
        // not to its end: others may begin within a freed block
        at += STEP_BYTES;
    }
    Ok(())
}

/// Returns whether `content`, although not preceded by a page header of a known kind, is a block of
/// ours. The three bytes of the magic occur by chance here and there in terabytes of ciphertext, so
/// something else must match, too.
fn is_ours(content: &[u8], header_is_likely: bool) -> bool {
    content.starts_with(&MAGIC) && (header_is_likely || inspect(content).is_ok())
}

/// Goes over the records of a journal file.
pub(super) fn scan_journal(file: &File, length: u64, found: &mut Found) -> io::Result<()> {
    let mut at = 0;
    let mut record = [0; RECORD_AT + HEADER_BYTES];
    while at + (record.len() as u64) <= length && read_at(file, &mut record, at)? {
        // length 4, checksum 4, flags 2, unused 2, length in memory 4, content
        let bytes = u64::from(u32::from_le_bytes(*record.first_chunk().expect("in range")));
        if bytes == 0 {
            break;
        }
        if at == 0 {
            // the first record describes the file, and holds the sealed key of what binds the
            // others to it
            add_where_ours(file, STAMP_AT as u64, found)?;
        } else if record[8] & RECORD_ENCRYPTED != 0 {
            found.add_encrypted(&record[RECORD_AT..], bytes);
        } else if record[16] != RECORD_SYSTEM {
            found.add_clear(bytes);
        }
        at += bytes.next_multiple_of(RECORD_STEP_BYTES);
    }
    Ok(())
}

/// Looks at the copies of the account of a journal.
pub(super) fn scan_account(file: &File, found: &mut Found) -> io::Result<()> {
    ACCOUNT_COPIES_AT
        .into_iter()
        .try_for_each(|at| add_where_ours(file, at + ACCOUNT_LENGTH_BYTES as u64, found))
}

/// Adds the block at the byte `at`, if it is ours.
fn add_where_ours(file: &File, at: u64, found: &mut Found) -> io::Result<()> {
    let mut header = [0; HEADER_BYTES];
    if read_at(file, &mut header, at)? && header.starts_with(&MAGIC) {
        found.add_encrypted(&header, HEADER_BYTES as u64);
    }
    Ok(())
}

/// Fills `into` from `at` on; false where the file ends earlier, since it may have become shorter.
fn read_at(file: &File, into: &mut [u8], at: u64) -> io::Result<bool> {
    match file.read_exact_at(into, at) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        outcome => outcome.map(|()| true),
    }
}
