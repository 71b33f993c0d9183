//! State of the files of a directory, sealed or not, judged by their headers alone. Not here: the
//! check that they are whole (`verify`).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use sealstone_cipher::Cipher;
use sealstone_seal::account::cipher_name;
use serde::Serialize;

use super::error::RestError;
use super::file_state::{Sealed, State, state};
use super::files_on_disk::list;
use super::report::SCHEMA;

/// Content of a directory.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Status {
    /// Version of this report: 1.
    pub schema: u32,
    /// The directory.
    pub dir: PathBuf,
    /// Every file below it, in order of name.
    pub files: Vec<FileStatus>,
    /// Sums by cipher, key and maker.
    pub totals: Vec<Total>,
    /// Names of the files that hold something in the clear.
    pub not_sealed: Vec<String>,
    /// Bytes on disk of these files.
    pub not_sealed_bytes: u64,
    /// Share of these bytes in all bytes on disk, in percent.
    pub not_sealed_percent: f64,
    /// Names of the files that cannot be read, or begin as sealed files and do not continue as
    /// such.
    pub unreadable: Vec<String>,
    /// Bytes on disk of these files.
    pub unreadable_bytes: u64,
    /// Bytes on disk of all files.
    pub stored_bytes: u64,
}

impl Status {
    /// Returns whether every file that holds something is sealed, as far as headers show.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.not_sealed.is_empty() && self.unreadable.is_empty()
    }
}

/// One file.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct FileStatus {
    /// Name, from the directory on.
    pub name: String,
    /// Bytes on disk.
    pub stored_bytes: u64,
    /// State of the file.
    #[serde(flatten)]
    pub state: State,
}

/// Sum over the files of one cipher, key and maker.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Total {
    /// Cipher.
    #[serde(serialize_with = "cipher_name")]
    pub cipher: &'static Cipher,
    /// Name of the key.
    pub key_id: String,
    /// Version of the key.
    pub key_version: u32,
    /// Name and version of the cryptographic module that made them; absent if this project did.
    pub module: Option<String>,
    /// Files.
    pub files: u64,
    /// Bytes on disk.
    pub stored_bytes: u64,
    /// Share of these bytes in all bytes on disk, in percent.
    pub share_percent: f64,
}

/// Reports for every file below `dir` whether and how it is sealed. Needs no key.
///
/// # Errors
/// A directory that cannot be read.
pub fn status(dir: &Path) -> Result<Status, RestError> {
    let mut files = Vec::new();
    type Kind = (&'static str, String, u32, Option<String>);
    let mut totals: BTreeMap<Kind, (&'static Cipher, u64, u64)> = BTreeMap::new();
    let listing = list(dir)?;
    for (name, stored_bytes) in listing.files {
        let state = match state(&dir.join(&name), stored_bytes) {
            Ok(state) => state,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => State::Unreadable { why: error.to_string() },
        };
        if let State::Sealed(sealed) = &state {
            let Sealed { cipher, key_id, key_version, module, .. } = sealed;
            let kind = (cipher.name, key_id.clone(), *key_version, module.clone());
            let (_, files, bytes) = totals.entry(kind).or_insert((cipher, 0, 0));
            (*files, *bytes) = (*files + 1, *bytes + stored_bytes);
        }
        files.push(FileStatus { name, stored_bytes, state });
    }
    let others = listing.others.into_iter();
    files.extend(others.map(|(name, why)| FileStatus {
        name,
        stored_bytes: 0,
        state: State::Unreadable { why },
    }));
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let all_bytes = files.iter().map(|file| file.stored_bytes).sum();
    let percent =
        |bytes: u64| if bytes == 0 { 0.0 } else { 100.0 * bytes as f64 / all_bytes as f64 };
    let named = |is: fn(&State) -> bool| -> (Vec<String>, u64) {
        let found = files.iter().filter(|file| is(&file.state));
        let (names, lengths): (Vec<String>, Vec<u64>) =
            found.map(|file| (file.name.clone(), file.stored_bytes)).unzip();
        (names, lengths.iter().sum())
    };
    let (not_sealed, not_sealed_bytes) = named(|state| matches!(state, State::NotSealed));
    let (unreadable, unreadable_bytes) = named(|state| matches!(state, State::Unreadable { .. }));
    let totals = totals
        .into_iter()
        .map(|((_, key_id, key_version, module), (cipher, files, stored_bytes))| Total {
            cipher,
            key_id,
            key_version,
            module,
            files,
            stored_bytes,
            share_percent: percent(stored_bytes),
        })
        .collect();
    Ok(Status {
        schema: SCHEMA,
        dir: dir.to_owned(),
        files,
        totals,
        not_sealed,
        not_sealed_bytes,
        not_sealed_percent: percent(not_sealed_bytes),
        unreadable,
        unreadable_bytes,
        stored_bytes: all_bytes,
    })
}
