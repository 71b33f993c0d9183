//! What is sealed in a data directory of MongoDB, under which key, and what is there in the clear. Reads only headers,
//! needs no key, and the server may be running.
//!
//! Not here: whether blocks are genuine, which the server finds out as it reads them. Blocks are found where the
//! storage engine (WiredTiger) puts them, in data files at multiples of 4,096 bytes, in the journal one record after
//! another; blocks that were freed but not yet overwritten are counted, too.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use sealstone_keys::{KeyRef, Secret};
use sealstone_seal::engine_page::{EnginePageError, Fingerprint, HEADER_BYTES, MAGIC, inspect};
use serde::Serialize;

use crate::header::{PAGE_ENCRYPTED, PAGE_STEP_BYTES, RECORD_ENCRYPTED, RECORD_STEP_BYTES as RECORD_STEP};
use crate::journal::{FRESH, LOG};
use crate::{PAGE_SKIP_BYTES as PAGE_AT, RECORD_SKIP_BYTES as RECORD_AT};

/// Step at which blocks of a data file begin, in bytes; the first holds the file's own description.
const STEP_BYTES: u64 = PAGE_STEP_BYTES as u64;
/// Step at which journal records begin, in bytes.
const RECORD_STEP_BYTES: u64 = RECORD_STEP as u64;
/// How much of a block is looked at.
const LOOK_BYTES: usize = PAGE_AT + HEADER_BYTES;
/// Kinds of pages: the engine's own lists of places in the file, and the last kind that holds data.
const PAGE_LISTS: u8 = 1;
const PAGE_LAST: u8 = 7;
/// Kind of a journal record that holds only positions, as the engine packs it.
const RECORD_SYSTEM: u8 = 0x84;

/// Why a directory cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// Not a data directory.
    #[error("no MongoDB data in {}: there is no file WiredTiger\ngive the data directory of a server \
             (--dbpath)", dir.display())]
    NoData {
        /// The directory.
        dir: PathBuf,
    },
    /// A file or directory that cannot be read.
    #[error("cannot read {}: {source}\nrun this as a user who may read the data directory", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What a file is to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Records, indexes or the engine's catalogue.
    Data,
    /// The journal.
    Journal,
    /// Something that no encryptor gets to see.
    Aside,
    /// Nothing that this program knows.
    Unknown,
}

/// The state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Every block that holds data is sealed.
    Sealed,
    /// Data in the clear, or sealed by another program, in a file that should be sealed.
    Clear,
    /// In the clear whatever an encryptor does: see the remedy.
    AlwaysClear,
    /// No block that holds data.
    Empty,
    /// Nothing that this program knows.
    Unknown,
}

/// Blocks under one key and cipher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Name of the cipher.
    pub cipher: &'static str,
    /// Version of the key.
    pub key_version: u32,
    /// Fingerprint of the key, hexadecimal.
    pub fingerprint: String,
    /// How many blocks or records.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// One file.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// Path within the data directory.
    pub name: String,
    /// Length, in bytes.
    pub bytes: u64,
    /// What it is.
    pub content: Content,
    /// Its state.
    pub standing: Standing,
    /// What is sealed in it.
    pub sealed: Vec<Share>,
    /// Blocks or records with data in the clear.
    pub clear_blocks: u64,
    /// Their bytes.
    pub clear_bytes: u64,
    /// Blocks that are encrypted by something else, damaged, or of a newer format, with the first reason.
    pub other_blocks: u64,
    /// The first reason.
    pub other: Option<String>,
    /// What a file holds that no encryptor gets to see.
    pub holds: Option<&'static str>,
    /// What to do about a file that is in the clear.
    pub remedy: Option<&'static str>,
}

/// What was found in a data directory.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Version of this structure.
    pub schema: u32,
    /// The directory.
    pub dir: PathBuf,
    /// Every file, by name.
    pub files: Vec<FileReport>,
    /// What is sealed in all of them.
    pub sealed: Vec<Share>,
    /// Blocks and records with data in the clear, in files that should be sealed.
    pub clear_blocks: u64,
    /// Their bytes.
    pub clear_bytes: u64,
    /// Blocks and records that are neither.
    pub other_blocks: u64,
    /// What is stored elsewhere, also in the clear: what, and the remedy.
    pub elsewhere: Vec<(&'static str, &'static str)>,
}

impl Report {
    /// Whether everything that should be sealed is.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.clear_blocks == 0 && self.other_blocks == 0 && !self.sealed.is_empty()
    }
}

/// Files that no encryptor gets to see: how their path begins, what they hold, and the remedy.
pub const ASIDE: &[(&str, &str, &str)] = &[
    (
        "WiredTiger.turtle",
        "where the engine's catalogue is, its settings, the key id, no record",
        "none needed, or an encrypted volume",
    ),
    ("WiredTiger.lock", "a fixed text", "none needed"),
    ("WiredTiger", "the engine's version", "none needed"),
    ("mongod.lock", "the process id", "none needed"),
    ("journal/SEALSTONE-JOURNAL", "sealed: which journal files there are, how long they are", "none needed"),
    ("storage.bson", "how the directory was set up", "none needed"),
    (
        "diagnostic.data/",
        "metrics second by second, host and collection names",
        "--setParameter diagnosticDataCollectionEnabled=false, or an encrypted volume",
    ),
    (
        "_tmp/",
        "records that a sort or an index build put aside",
        "memory (tmpfs) or an encrypted volume; --setParameter allowDiskUseByDefault=false",
    ),
    (
        "rollback/",
        "records that a member rolled back after an election",
        "an encrypted volume, or remove it when it is no longer needed; --setParameter createRollbackDataFiles=false \
         loses them",
    ),
    (
        "mongod.log",
        "slow queries with their values",
        "an encrypted volume, a higher operationProfiling.slowOpThresholdMs",
    ),
];

/// What is stored elsewhere.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "the log, wherever systemLog.path leads (slow queries with their values)",
        "an encrypted volume, a higher operationProfiling.slowOpThresholdMs",
    ),
    ("swap and core dumps (memory)", "encrypted swap or none; no core dumps"),
    ("what mongodump wrote (records)", "encrypt it where it is written"),
];

/// What to do about data in the clear.
const SEAL_IT: &str =
    "an encryptor accepts only an empty directory: resync this member with the extension (docs/guide/mongodb.md)";
/// What to do about blocks that are something else.
const LOOK_AT_IT: &str = "check whether another program or a newer version of sealstone sealed this directory";
/// What to do about an unknown file.
const NOT_OURS: &str = "not a file of MongoDB's: check what it contains";

/// What in a data directory is under one version of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// Files with sealed blocks.
    pub sealed_files: u64,
    /// Blocks under that version.
    pub blocks: u64,
    /// A file with such a block.
    pub example: Option<String>,
    /// Blocks whose key cannot be determined: sealed by something else, damaged, or of a newer format.
    pub unknown_blocks: u64,
    /// A file with such a block, and why.
    pub unknown: Option<(String, String)>,
}

/// What in `dir` is under `key`, so that a version is retired only once nothing is. A block names its key by the
/// fingerprint, since another key may have the same version; that of `key` is derived from `secret`.
///
/// # Errors
/// As [`check`].
pub fn protected(dir: &Path, key: &KeyRef, secret: &Secret) -> Result<Protected, CheckError> {
    let report = check(dir)?;
    let fingerprint = Fingerprint::of(key, secret).to_string();
    let under = |file: &FileReport| -> u64 {
        file.sealed.iter().filter(|share| share.fingerprint == fingerprint).map(|share| share.blocks).sum()
    };
    let unknown = report.files.iter().find(|file| file.other_blocks > 0);
    Ok(Protected {
        sealed_files: report.files.iter().filter(|file| !file.sealed.is_empty()).count() as u64,
        blocks: report.files.iter().map(under).sum(),
        example: report.files.iter().find(|file| under(file) > 0).map(|file| file.name.clone()),
        unknown_blocks: report.other_blocks,
        unknown: unknown.map(|file| (file.name.clone(), file.other.clone().unwrap_or_default())),
    })
}

/// Whether `dir` is a data directory.
#[must_use]
pub fn is_data_directory(dir: &Path) -> bool {
    dir.join("WiredTiger").is_file()
}

/// Looks at every file in the data directory `dir`.
///
/// # Errors
/// [`CheckError::NoData`], [`CheckError::Io`].
pub fn check(dir: &Path) -> Result<Report, CheckError> {
    if !is_data_directory(dir) {
        return Err(CheckError::NoData { dir: dir.to_owned() });
    }
    let mut names = Vec::new();
    list(dir, "", &mut names)?;
    names.sort();
    let mut report = Report {
        schema: 1,
        dir: dir.to_owned(),
        files: Vec::new(),
        sealed: Vec::new(),
        clear_blocks: 0,
        clear_bytes: 0,
        other_blocks: 0,
        elsewhere: ELSEWHERE.to_vec(),
    };
    let mut sum = Found::default();
    for name in names {
        // one that has disappeared meanwhile, as journal files do, is left out
        if let Some(file) = look_at(dir, &name)? {
            file.sealed.iter().for_each(|share| sum.add(share.clone()));
            report.clear_blocks += file.clear_blocks;
            report.clear_bytes += file.clear_bytes;
            report.other_blocks += file.other_blocks;
            report.files.push(file);
        }
    }
    report.sealed = sum.shares.into_values().collect();
    Ok(report)
}

fn list(dir: &Path, within: &str, names: &mut Vec<String>) -> Result<(), CheckError> {
    let path = dir.join(within);
    let cannot = |source| CheckError::Io { path: path.clone(), source };
    for entry in fs::read_dir(&path).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = format!("{within}{}", entry.file_name().to_string_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => list(dir, &format!("{name}/"), names)?,
            _ => names.push(name),
        }
    }
    Ok(())
}

/// What blocks were found.
#[derive(Debug, Default)]
struct Found {
    shares: BTreeMap<(&'static str, u32, String), Share>,
    clear_blocks: u64,
    clear_bytes: u64,
    other_blocks: u64,
    other: Option<String>,
}

impl Found {
    fn add(&mut self, share: Share) {
        let key = (share.cipher, share.key_version, share.fingerprint.clone());
        let sum = self.shares.entry(key).or_insert_with(|| Share { blocks: 0, bytes: 0, ..share.clone() });
        sum.blocks += share.blocks;
        sum.bytes += share.bytes;
    }

    /// Adds what an encryptor made.
    fn add_encrypted(&mut self, block: &[u8], bytes: u64) {
        match inspect(block) {
            Ok(info) => self.add(Share {
                cipher: info.cipher.name,
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

fn look_at(dir: &Path, name: &str) -> Result<Option<FileReport>, CheckError> {
    let path = dir.join(name);
    let cannot = |source| CheckError::Io { path: path.clone(), source };
    let open = File::open(&path).and_then(|file| file.metadata().map(|facts| (file, facts.len())));
    let (file, bytes) = match open {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        outcome => outcome.map_err(cannot)?,
    };
    let content = content_of(name);
    let mut found = Found::default();
    match content {
        Content::Data => scan_data(&file, bytes, &mut found).map_err(cannot)?,
        Content::Journal => scan_journal(&file, bytes, &mut found).map_err(cannot)?,
        Content::Aside | Content::Unknown => {}
    }
    let known = aside(name).filter(|_| content == Content::Aside);
    let (standing, remedy) = match content {
        Content::Aside => (Standing::AlwaysClear, known.map(|(.., remedy)| *remedy)),
        Content::Unknown => (Standing::Unknown, Some(NOT_OURS)),
        _ if found.clear_blocks > 0 => (Standing::Clear, Some(SEAL_IT)),
        _ if found.other_blocks > 0 => (Standing::Clear, Some(LOOK_AT_IT)),
        _ if found.shares.is_empty() => (Standing::Empty, None),
        _ => (Standing::Sealed, None),
    };
    let Found { shares, clear_blocks, clear_bytes, other_blocks, other } = found;
    let (name, sealed) = (name.to_owned(), shares.into_values().collect());
    Ok(Some(FileReport {
        name,
        bytes,
        content,
        standing,
        sealed,
        clear_blocks,
        clear_bytes,
        other_blocks,
        other,
        holds: known.map(|(_, holds, _)| *holds),
        remedy,
    }))
}

fn aside(name: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let belongs = |known: &str| match known.ends_with('/') {
        true => name.starts_with(known) || name.contains(&format!("/{known}")),
        // as they are rotated: mongod.log.2026-…, WiredTiger.turtle.set
        false => name == known || name.strip_prefix(known).is_some_and(|rest| rest.starts_with('.')),
    };
    ASIDE.iter().find(|(known, ..)| belongs(known))
}

fn content_of(name: &str) -> Content {
    let file = name.rsplit('/').next().unwrap_or(name);
    if aside(name).is_some() && !name.ends_with(".wt") {
        Content::Aside
    } else if file.ends_with(".wt") {
        Content::Data
    } else if [LOG].iter().chain(&FRESH).any(|log| file.starts_with(log)) {
        Content::Journal
    } else {
        Content::Unknown
    }
}

/// Goes over the blocks of a data file.
fn scan_data(file: &File, length: u64, found: &mut Found) -> io::Result<()> {
    let mut at = STEP_BYTES;
    let mut block = [0; LOOK_BYTES];
    while at + (LOOK_BYTES as u64) <= length {
        if !read_at(file, &mut block, at)? {
            break;
        }
        // page: record number 8, generation 8, size in memory 4, entries 4, kind 1, flags 1, unused 1, version 1;
        // block: size on disk 4, checksum 4, flags 1, unused 3
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
            // of a release that this program does not know, or damaged; either way it may need its key
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

/// Whether `content`, not preceded by a page header of a known kind, is a block of ours all the same. The three bytes
/// of the magic occur by chance here and there in terabytes of ciphertext, so something else must match, too.
fn is_ours(content: &[u8], header_is_likely: bool) -> bool {
    content.starts_with(&MAGIC) && (header_is_likely || inspect(content).is_ok())
}

/// Goes over the records of a journal file.
fn scan_journal(file: &File, length: u64, found: &mut Found) -> io::Result<()> {
    // the first record describes the file
    let mut at = RECORD_STEP_BYTES;
    let mut record = [0; RECORD_AT + HEADER_BYTES];
    while at + (record.len() as u64) <= length && read_at(file, &mut record, at)? {
        // length 4, checksum 4, flags 2, unused 2, length in memory 4, content
        let bytes = u64::from(u32::from_le_bytes(*record.first_chunk().expect("in range")));
        if bytes == 0 {
            break;
        }
        if record[8] & RECORD_ENCRYPTED != 0 {
            found.add_encrypted(&record[RECORD_AT..], bytes);
        } else if record[16] != RECORD_SYSTEM {
            found.add_clear(bytes);
        }
        at += bytes.next_multiple_of(RECORD_STEP_BYTES);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_place() {
        for (name, want) in [
            ("WiredTiger", Content::Aside),
            ("WiredTiger.wt", Content::Data),
            ("WiredTiger.turtle", Content::Aside),
            ("WiredTigerHS.wt", Content::Data),
            ("collection-0--123.wt", Content::Data),
            ("shop/index-1--123.wt", Content::Data),
            ("journal/WiredTigerLog.0000000001", Content::Journal),
            ("journal/WiredTigerPreplog.0000000001", Content::Journal),
            ("journal/SEALSTONE-JOURNAL", Content::Aside),
            ("diagnostic.data/metrics.2026-01-01T00-00-00Z-00000", Content::Aside),
            ("_tmp/extsort-sort-executor.0-0", Content::Aside),
            ("rollback/shop.orders/removed.bson", Content::Aside),
            ("mongod.log.2026-01-01T00-00-00", Content::Aside),
            ("notes.txt", Content::Unknown),
        ] {
            assert_eq!(content_of(name), want, "{name}");
        }
    }

    #[test]
    fn a_directory_without_data_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(check(dir.path()), Err(CheckError::NoData { .. })));
        assert!(matches!(check(&dir.path().join("nothing")), Err(CheckError::NoData { .. })));
    }

    /// A page header of a later release, or a damaged one, does not hide which key a block needs.
    #[test]
    fn a_block_of_ours_counts_whatever_is_before_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("WiredTiger"), "x").unwrap();
        // format 1, cipher 2, no flags, key version 5
        let content = [&MAGIC[..], &[1, 0, 2, 0, 0, 0, 0, 0, 5], &[0x33; HEADER_BYTES - 12]].concat();
        let newer = [&MAGIC[..], &[9], &[0x44; HEADER_BYTES - 4]].concat();
        let looked = |kind: u8, flags: u8, content: &[u8]| {
            let mut bytes = vec![0; 3 * 4096];
            bytes[4096 + 24] = kind;
            bytes[4096 + 25] = flags;
            bytes[4096 + 29] = 0x10;
            bytes[4096 + PAGE_AT..][..content.len()].copy_from_slice(content);
            fs::write(dir.path().join("a.wt"), bytes).unwrap();
            let report = check(dir.path()).unwrap();
            let file = report.files.into_iter().find(|file| file.name == "a.wt").unwrap();
            (file.sealed.iter().map(|share| (share.key_version, share.blocks)).collect::<Vec<_>>(), file.other_blocks)
        };
        for (kind, flags) in [(7, PAGE_ENCRYPTED), (99, PAGE_ENCRYPTED), (99, 0), (0, 0)] {
            assert_eq!(looked(kind, flags, &content), (vec![(5, 1)], 0), "page kind {kind}, flags {flags}");
        }
        for kind in [7, 99] {
            assert_eq!(looked(kind, PAGE_ENCRYPTED, &newer), (vec![], 1), "page kind {kind}");
        }
        assert_eq!(looked(99, 0, &newer), (vec![], 0), "three bytes alone are chance");
    }

    #[test]
    fn random_bytes_are_no_blocks() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("WiredTiger"), "x").unwrap();
        let bytes: Vec<u8> = (0..64 * 4096u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        fs::write(dir.path().join("a.wt"), bytes).unwrap();
        let report = check(dir.path()).unwrap();
        let file = report.files.iter().find(|file| file.name == "a.wt").unwrap();
        assert_eq!((file.standing, file.clear_blocks, file.other_blocks), (Standing::Empty, 0, 0));
        assert!(!report.is_sealed(), "nothing sealed is not all sealed");
    }
}
