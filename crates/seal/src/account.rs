//! Accounts of data directories: the data that a server has sealed in its files, its keys, and the
//! data in the clear.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use sealstone_cipher::{Cipher, Mode};
use serde::{Serialize, Serializer};

/// Remedy for a file that could not be looked at.
const SHOW_IT: &str = "give this user access to it, or remove it if nothing is meant to be there";

/// Blocks under one key and cipher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The cipher.
    #[serde(serialize_with = "cipher_name")]
    pub cipher: &'static Cipher,
    /// Mode of the cipher.
    #[serde(serialize_with = "word")]
    pub mode: Mode,
    /// Version of the key.
    pub key_version: u32,
    /// Fingerprint of the key, hexadecimal.
    pub fingerprint: String,
    /// Number of blocks or records.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Writes `cipher` as its name, for reports.
///
/// # Errors
/// The serializer's error.
pub fn cipher_name<S: Serializer>(cipher: &Cipher, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(cipher.name)
}

fn word<S: Serializer>(mode: &Mode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(mode.word())
}

/// Purpose that a file has for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Records, indexes or the engine's catalogue.
    Data,
    /// The journal.
    Journal,
    /// Something that no encryptor gets to see.
    Aside,
    /// An unknown kind of file.
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
    /// An unknown kind of file.
    Unknown,
    /// The file could not be read: its content is unknown.
    Unread,
}

/// One file.
#[derive(Clone, Debug, Serialize)]
pub struct FileAccount {
    /// Path within the data directory.
    pub name: String,
    /// Length, in bytes.
    pub bytes: u64,
    /// Kind of its content.
    pub content: Content,
    /// Its state.
    pub standing: Standing,
    /// Sealed blocks in it.
    pub sealed: Vec<Share>,
    /// Blocks or records with data in the clear.
    pub clear_blocks: u64,
    /// Their bytes.
    pub clear_bytes: u64,
    /// Blocks that are encrypted by something else, damaged, or of a newer format, with the first
    /// reason.
    pub other_blocks: u64,
    /// The first reason.
    pub other: Option<String>,
    /// Reason why it could not be looked at.
    pub unread: Option<String>,
    /// Data in a file that no encryptor gets to see.
    pub holds: Option<&'static str>,
    /// Remedy for a file that is in the clear.
    pub remedy: Option<&'static str>,
}

impl FileAccount {
    /// Returns the account of the file `name` in the data directory `dir`, whose content is unknown
    /// since looking at it failed with `error`. Where a server listens there is nothing to be
    /// known.
    ///
    /// - `is_engines`: whether the name is one that only a file of the engine has
    #[must_use]
    pub fn unread(dir: &Path, name: &Path, error: &io::Error, is_engines: bool) -> Self {
        let unread = Self {
            name: name.to_string_lossy().into_owned(),
            bytes: 0,
            content: Content::Unknown,
            standing: Standing::Unread,
            sealed: Vec::new(),
            clear_blocks: 0,
            clear_bytes: 0,
            other_blocks: 0,
            other: None,
            unread: Some(error.to_string()),
            holds: None,
            remedy: Some(SHOW_IT),
        };
        let kind = dir.join(name).symlink_metadata().map(|found| found.file_type());
        if is_engines || !kind.is_ok_and(|kind| kind.is_socket()) {
            return unread;
        }
        Self {
            content: Content::Aside,
            standing: Standing::AlwaysClear,
            unread: None,
            holds: Some("nothing"),
            remedy: Some("none needed"),
            ..unread
        }
    }
}

/// Account of the sealed and the unsealed data in a data directory.
#[derive(Clone, Debug, Serialize)]
pub struct Account {
    /// Version of this structure.
    pub schema: u32,
    /// The directory.
    pub dir: PathBuf,
    /// Name of the key that the server seals under, as the engine's settings in the directory have
    /// it, or as the server said it. Blocks have only its fingerprint.
    pub key_id: Option<String>,
    /// Every file, by name.
    pub files: Vec<FileAccount>,
    /// Sealed blocks in all of them.
    pub sealed: Vec<Share>,
    /// Blocks and records with data in the clear, in files that should be sealed.
    pub clear_blocks: u64,
    /// Their bytes.
    pub clear_bytes: u64,
    /// Blocks and records that are neither.
    pub other_blocks: u64,
    /// Files that could not be looked at.
    pub unread_files: u64,
    /// Data that is stored elsewhere, also in the clear: its kind, and the remedy.
    pub elsewhere: Vec<(&'static str, &'static str)>,
}

impl Account {
    /// Returns the account of `dir` before any file was looked at.
    ///
    /// - `key_id`, `elsewhere`: as in the fields
    #[must_use]
    pub fn new(
        dir: &Path,
        key_id: Option<String>,
        elsewhere: &[(&'static str, &'static str)],
    ) -> Self {
        Self {
            schema: 1,
            dir: dir.to_owned(),
            key_id,
            files: Vec::new(),
            sealed: Vec::new(),
            clear_blocks: 0,
            clear_bytes: 0,
            other_blocks: 0,
            unread_files: 0,
            elsewhere: elsewhere.to_vec(),
        }
    }

    /// Adds `file`, and what is in it to the sums.
    pub fn add(&mut self, file: FileAccount) {
        for share in &file.sealed {
            let name = |one: &Share| {
                (one.cipher.name, one.mode.word(), one.key_version, one.fingerprint.clone())
            };
            match self.sealed.binary_search_by_key(&name(share), name) {
                Ok(at) => {
                    self.sealed[at].blocks += share.blocks;
                    self.sealed[at].bytes += share.bytes;
                }
                Err(at) => self.sealed.insert(at, share.clone()),
            }
        }
        self.clear_blocks += file.clear_blocks;
        self.clear_bytes += file.clear_bytes;
        self.other_blocks += file.other_blocks;
        self.unread_files += u64::from(file.standing == Standing::Unread);
        self.files.push(file);
    }

    /// Returns whether everything that should be sealed is sealed.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.clear_blocks == 0
            && self.other_blocks == 0
            && self.unread_files == 0
            && !self.sealed.is_empty()
    }

    /// Returns the data sealed under the key with `fingerprint`, so that a version is retired only
    /// once there is none. A block names its key by the fingerprint, since another key may have the
    /// same version.
    #[must_use]
    pub fn under(&self, fingerprint: &str) -> Protected {
        let under = |file: &FileAccount| -> u64 {
            file.sealed
                .iter()
                .filter(|share| share.fingerprint == fingerprint)
                .map(|share| share.blocks)
                .sum()
        };
        Protected {
            blocks: self.files.iter().map(under).sum(),
            example: self.files.iter().find(|file| under(file) > 0).map(|file| file.name.clone()),
        }
    }

    /// Returns the number of files that have sealed blocks.
    #[must_use]
    pub fn sealed_files(&self) -> u64 {
        self.files.iter().filter(|file| !file.sealed.is_empty()).count() as u64
    }

    /// Returns the first file with a block whose key cannot be determined, because it is sealed by
    /// something else, damaged, or of a newer format, and why.
    #[must_use]
    pub fn unknown(&self) -> Option<(&str, &str)> {
        let file = self.files.iter().find(|file| file.other_blocks > 0)?;
        Some((&file.name, file.other.as_deref().unwrap_or_default()))
    }

    /// Returns the first file that could not be looked at, and why.
    #[must_use]
    pub fn unread(&self) -> Option<(&str, &str)> {
        self.files.iter().find_map(|file| Some((file.name.as_str(), file.unread.as_deref()?)))
    }
}

/// Data under one version of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// Blocks under that version.
    pub blocks: u64,
    /// A file with such a block.
    pub example: Option<String>,
}
