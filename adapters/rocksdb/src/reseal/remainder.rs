//! Files that are not under the target cipher and key, with the reasons why they are still there:
//! read from the headers of the files.

use std::collections::BTreeSet;
use std::path::Path;

use sealstone_cipher::Cipher;
use sealstone_keys::KeyRef;
use serde::Serialize;

use super::kind::{Kind, kind};
use crate::rest::{self, RestError, State};

/// A file that is not under the target cipher and key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Name, from the directory of the database on.
    pub file: String,
    /// Bytes on disk.
    pub stored_bytes: u64,
    /// True if it is in the clear.
    pub plain: bool,
    /// Reason why it is still there.
    pub why: Why,
}

/// Reason why a file was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It is part of the database, and its turn has not come.
    Unfinished,
    /// RocksDB rewrites it the next time the database is opened.
    NextOpening,
    /// It is no longer part of the database; RocksDB removes it once the last iterator over it
    /// ends, or at the next opening.
    Obsolete,
    /// It does not belong to the database, and was not touched.
    Foreign,
}

impl Why {
    /// Returns it in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unfinished => "not resealed yet",
            Self::NextOpening => "rewritten when the store is next opened",
            Self::Obsolete => {
                "no longer needed; removed once the last reader of it ends, or at the next opening"
            }
            Self::Foreign => "not part of the store, left as it is",
        }
    }
}

/// Returns every file below `dir`, the directory of a database that is closed, which is not under
/// `cipher` and `key`, or was not made by `module` (its name; absent for our own code).
///
/// # Errors
/// A directory that cannot be read.
pub fn left(
    dir: &Path,
    cipher: &Cipher,
    key: &KeyRef,
    module: Option<&str>,
) -> Result<Vec<Left>, RestError> {
    left_beside(dir, (cipher, key, module), None)
}

/// As [`left`]; for an open database, also which tables and blob files are part of it, and whether
/// its newest log is what it should be.
pub(super) fn left_beside(
    dir: &Path,
    (cipher, key, module): (&Cipher, &KeyRef, Option<&str>),
    open: Option<(&BTreeSet<u64>, bool)>,
) -> Result<Vec<Left>, RestError> {
    let unwanted = |state: &State| match state {
        State::Sealed(sealed) => {
            sealed.cipher != cipher
                || sealed.key_id != key.id
                || sealed.key_version != key.version
                || sealed.module_name() != module
        }
        State::Empty => false,
        State::NotSealed | State::Unreadable { .. } => true,
    };
    let files = rest::status(dir)?.files;
    Ok(files
        .into_iter()
        .filter(|file| unwanted(&file.state))
        .map(|file| {
            let why = match (kind(&file.name), open) {
                (Kind::Foreign, _) => Why::Foreign,
                (Kind::Temporary, _) => Why::Obsolete,
                (Kind::Table(number), Some((live, _))) if !live.contains(&number) => Why::Obsolete,
                (Kind::Log, Some((_, true))) => Why::Obsolete,
                (Kind::Manifest, Some(_)) => Why::NextOpening,
                (Kind::Table(_) | Kind::Log | Kind::Manifest | Kind::Written, _) => Why::Unfinished,
            };
            let plain = file.state == State::NotSealed;
            Left { file: file.name, stored_bytes: file.stored_bytes, plain, why }
        })
        .collect())
}
