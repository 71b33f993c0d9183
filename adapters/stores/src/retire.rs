//! Search for anything stored that still needs a version of a key that is to be retired. Not here:
//! retiring it (the key file or the key server), what is sealed how (the adapter of each engine),
//! looking into files with sealed columns and tables (the command line), for which the answers are
//! here.

use std::path::{Path, PathBuf};

use sealstone_keys::{KeyError, KeyRef, Secret};
use sealstone_rocksdb::rest::{self, RestError};
#[cfg(feature = "mongodb")]
use sealstone_wiredtiger::check::{self, CheckError};

/// Reasons why a version must not be retired. Each message gives the reason in its first line.
#[derive(Debug, thiserror::Error)]
pub enum RetireError {
    /// Files are still under it.
    #[error(
        "key {key} was not retired: {} still under it in {}, such as {example}\n\
         rewrap them under the newest version first, with: sealstone rest rotate {} --key {source_name}",
        are(*files, "file"), dir.display(), dir.display()
    )]
    Files {
        /// The version.
        key: KeyRef,
        /// The key source, as the user named it.
        source_name: String,
        /// The store.
        dir: PathBuf,
        /// Number of these files.
        files: u64,
        /// One of them.
        example: String,
    },
    /// Nothing in a directory is sealed, so it is probably the wrong one.
    #[error("key {key} was not retired: no sealed {what} in {}\ngive the {want}", dir.display())]
    NothingSealed {
        /// The version.
        key: KeyRef,
        /// The directory.
        dir: PathBuf,
        /// Kind of thing that was looked for: `file`.
        what: &'static str,
        /// Thing to give instead: `directory of a sealed store`.
        want: &'static str,
    },
    /// A directory or file that cannot be read: then nobody knows.
    #[error("key {key} was not retired: {source}")]
    Unread {
        /// The version.
        key: KeyRef,
        /// Error that names what cannot be read.
        source: RestError,
    },
    /// Blocks of a MongoDB member are still under it.
    #[cfg(feature = "mongodb")]
    #[error(
        "key {key} was not retired: {} still under it in {}, such as in {example}\n\
         resync that member with the newest version first, which rewrites all of it (docs/guide/mongodb.md)",
        are(*blocks, "block"), dir.display()
    )]
    Blocks {
        /// The version.
        key: KeyRef,
        /// The data directory.
        dir: PathBuf,
        /// Number of these blocks.
        blocks: u64,
        /// A file with one of them.
        example: String,
    },
    /// Blocks of a MongoDB member whose key nobody knows.
    #[cfg(feature = "mongodb")]
    #[error(
        "key {key} was not retired: cannot tell which key {blocks} blocks in {} are under, such as in {example}: \
         {why}\n\
         see sealstone mongo check {}", dir.display(), dir.display()
    )]
    UnknownBlocks {
        /// The version.
        key: KeyRef,
        /// The data directory.
        dir: PathBuf,
        /// Number of these blocks.
        blocks: u64,
        /// A file with one of them.
        example: String,
        /// Reason why the key is not known.
        why: String,
    },
    /// Something of which nobody knows what is in it.
    #[cfg(feature = "mongodb")]
    #[error(
        "key {key} was not retired: cannot look at {file} in {}: {why}\n\
         give this user access to it, or remove it if nothing is meant to be there", dir.display()
    )]
    Unlooked {
        /// The version.
        key: KeyRef,
        /// The directory.
        dir: PathBuf,
        /// Name of the file in that directory.
        file: String,
        /// Reason why the file could not be looked at.
        why: String,
    },
    /// A directory that cannot be listed.
    #[cfg(feature = "mongodb")]
    #[error("key {key} was not retired: {source}")]
    Check {
        /// The version.
        key: KeyRef,
        /// Error that names what cannot be read.
        source: CheckError,
    },
    /// Files with sealed columns are still under it.
    #[error(
        "key {key} was not retired: {} with sealed columns {} still under it, such as {}\n\
         seal them again under the newest version first, with: sealstone field reseal {} --key {source_name} \
         --out FILE",
        of(*files, "file"), if *files == 1 { "is" } else { "are" }, example.display(), example.display()
    )]
    Columns {
        /// The version.
        key: KeyRef,
        /// The key source, as the user named it.
        source_name: String,
        /// Number of these files.
        files: u64,
        /// One of them.
        example: PathBuf,
    },
    /// A file with sealed columns has values under another version than its manifest says.
    #[error(
        "key {key} was not retired: {} has values under it, such as in {place}, column {column}\n\
         seal it again under the newest version first, with: sealstone field reseal {} --changed --key {source_name} \
         --out FILE", file.display(), file.display()
    )]
    Values {
        /// The version.
        key: KeyRef,
        /// The key source, as the user named it.
        source_name: Box<str>,
        /// The file.
        file: PathBuf,
        /// Place of one of these values: `line 7`.
        place: Box<str>,
        /// The column.
        column: Box<str>,
    },
    /// A table of a database still needs it.
    #[error(
        "key {key} was not retired: table {table} on {server} {found}\n\
         bring it to the newest version first, with: sealstone field migrate {address} --table {table} --reseal --key \
         {source_name}"
    )]
    Table {
        /// The version.
        key: KeyRef,
        /// The key source, as the user named it.
        source_name: Box<str>,
        /// The table.
        table: Box<str>,
        /// Server that holds the table.
        server: Box<str>,
        /// Address of the server as the user gave it, without any password.
        address: Box<str>,
        /// Description of what needs the version.
        found: Box<str>,
    },
    /// The secret of the version cannot be had.
    #[error(transparent)]
    Key(#[from] KeyError),
}

impl RetireError {
    /// Returns whether something was found that needs the version, which is a definite answer: all
    /// other errors mean that nobody can tell.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        match self {
            Self::Files { .. } | Self::Columns { .. } | Self::Values { .. } | Self::Table { .. } => true,
            #[cfg(feature = "mongodb")]
            Self::Blocks { .. } => true,
            _ => false,
        }
    }
}

fn are(count: u64, what: &str) -> String {
    format!("{} {}", of(count, what), if count == 1 { "is" } else { "are" })
}

fn of(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Looks for `key` in every directory of `stores` and returns how many sealed files there are, none of them under it.
///
/// - `secret`: gives the secret of `key`, which is needed where files name a key by its fingerprint alone
/// - `source_name`: the key source as the user named it, for the command in an error
///
/// # Errors
/// The first reason to keep the version, or to doubt that it can go.
pub fn check_unused(
    key: &KeyRef,
    secret: &dyn Fn() -> Result<Secret, KeyError>,
    stores: &[PathBuf],
    source_name: &str,
) -> Result<u64, RetireError> {
    let mut sealed_files = 0;
    for dir in stores {
        // both: a directory may hold stores of several engines
        let found = match is_data_directory(dir) {
            true => blocks(key, secret, dir)? + files(key, dir, source_name)?,
            false => files(key, dir, source_name)? + blocks(key, secret, dir)?,
        };
        if found == 0 {
            let (what, want) = match is_data_directory(dir) {
                true => ("block", "data directory of a sealed server"),
                false => ("file", "directory of a sealed store"),
            };
            return Err(RetireError::NothingSealed { key: key.clone(), dir: dir.clone(), what, want });
        }
        sealed_files += found;
    }
    Ok(sealed_files)
}

/// Returns whether `dir` is a data directory of MongoDB.
fn is_data_directory(dir: &Path) -> bool {
    #[cfg(feature = "mongodb")]
    return check::is_data_directory(dir);
    #[cfg(not(feature = "mongodb"))]
    {
        let _ = dir;
        false
    }
}

/// Counts the sealed files below `dir`. Each has a header that names its key, and that key is not
/// `key`.
fn files(key: &KeyRef, dir: &Path, source_name: &str) -> Result<u64, RetireError> {
    let found = rest::protected(dir, key).map_err(|source| RetireError::Unread { key: key.clone(), source })?;
    let (key, dir) = (key.clone(), dir.to_owned());
    match found.example {
        Some(example) => {
            Err(RetireError::Files { key, source_name: source_name.to_owned(), dir, files: found.files, example })
        }
        None => Ok(found.sealed_files),
    }
}

/// Counts the files below `dir` that have sealed blocks, as those of MongoDB do, none of them under
/// `key`.
#[cfg(feature = "mongodb")]
fn blocks(key: &KeyRef, secret: &dyn Fn() -> Result<Secret, KeyError>, dir: &Path) -> Result<u64, RetireError> {
    let report = check::look(dir).map_err(|source| RetireError::Check { key: key.clone(), source })?;
    let (key, dir) = (key.clone(), dir.to_owned());
    if !report.sealed.is_empty() {
        let found = report.under(&key, &secret()?);
        if let Some(example) = found.example {
            return Err(RetireError::Blocks { key, dir, blocks: found.blocks, example });
        }
    }
    if let Some((example, why)) = report.unknown() {
        let (example, why) = (example.into(), why.into());
        return Err(RetireError::UnknownBlocks { key, dir, blocks: report.other_blocks, example, why });
    }
    if let Some((file, why)) = report.unread() {
        return Err(RetireError::Unlooked { key, dir, file: file.into(), why: why.into() });
    }
    Ok(report.sealed_files())
}

#[cfg(not(feature = "mongodb"))]
fn blocks(_: &KeyRef, _: &dyn Fn() -> Result<Secret, KeyError>, _: &Path) -> Result<u64, RetireError> {
    Ok(0)
}
