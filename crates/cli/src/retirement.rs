//! Search for stored data that still needs a version of a key before it is retired. Not here: the
//! accounts of engines (`sealstone_stores::at_rest`), and the search in files with sealed columns
//! and tables (`field`), whose answers are here.

use std::path::{Path, PathBuf};

use sealstone_keys::{KeyError, KeyRef};
use sealstone_store::EngineError;
use sealstone_stores::at_rest::{AtRest, AtRestError, Found, Need, Renewal, Wanted};
use sealstone_stores::{engine_of, engines};

/// Reasons why a version must not be retired. Each message gives the reason in its first line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RetireError {
    /// Data is still under it.
    #[error(
        "key {key} was not retired: {} still under it in {}, such as {}{example}\n{step}",
        are(*count, unit), dir.display(), if *unit == "file" { "" } else { "in " }
    )]
    Data {
        /// The version.
        key: KeyRef,
        /// The directory.
        dir: Box<Path>,
        /// Amount of it, in `unit`s.
        count: u64,
        /// `file`, `block`.
        unit: &'static str,
        /// A file that is or contains some of it.
        example: Box<str>,
        /// Step that brings it under the newest version.
        step: Box<str>,
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
    /// A directory or file that cannot be read, so its key is unknown.
    #[error("key {key} was not retired: {source}")]
    Unread {
        /// The version.
        key: KeyRef,
        /// Error that names what cannot be read.
        source: EngineError,
    },
    /// Data whose key cannot be determined.
    #[error(
        "key {key} was not retired: cannot tell which key {count} {unit}s in {} are under, such as \
         in {example}: {why}\n\
         see sealstone {engine} check {}", dir.display(), dir.display()
    )]
    UnknownKey {
        /// The version.
        key: KeyRef,
        /// The command for the engine.
        engine: &'static str,
        /// The directory.
        dir: Box<Path>,
        /// Amount of it, in `unit`s.
        count: u64,
        /// `block`.
        unit: &'static str,
        /// A file that contains some of it.
        example: Box<str>,
        /// Reason why the key is unknown.
        why: Box<str>,
    },
    /// A file that is not where it belongs.
    #[error(
        "key {key} was not retired: {file} is missing from {}, and may be elsewhere under it\n\
         put it back, or restore the store from a backup, and retire the version then",
        dir.display()
    )]
    Missing {
        /// The version.
        key: KeyRef,
        /// The directory.
        dir: PathBuf,
        /// Name of the file in that directory.
        file: Box<str>,
    },
    /// A file whose content is unknown.
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
        file: Box<str>,
        /// Reason why the file could not be looked at.
        why: Box<str>,
    },
    /// Files with sealed columns are still under it.
    #[error(
        "key {key} was not retired: {} with sealed columns {} still under it, such as {}\n\
         seal them again under the newest version first, with: sealstone field reseal {} --key \
         {source_name} --out FILE",
        of(*files, "file"), if *files == 1 { "is" } else { "are" }, example.display(),
            example.display()
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
    /// A file with sealed columns has values under another version than its manifest's.
    #[error(
        "key {key} was not retired: {} has values under it, such as in {place}, column {column}\n\
         seal it again under the newest version first, with: sealstone field reseal {} --changed \
         --key {source_name} --out FILE", file.display(), file.display()
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
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    #[error(
        "key {key} was not retired: table {table} on {server} {found}\n\
         bring it to the newest version first, with: sealstone field migrate {address} --table \
         {table} --reseal --key {source_name}"
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
    /// other errors mean that it cannot be determined.
    #[must_use]
    pub(crate) fn is_in_use(&self) -> bool {
        #[cfg(any(feature = "mysql", feature = "postgres"))]
        if matches!(self, Self::Table { .. }) {
            return true;
        }
        matches!(self, Self::Data { .. } | Self::Columns { .. } | Self::Values { .. })
    }
}

fn are(count: u64, what: &str) -> String {
    format!("{} {}", of(count, what), if count == 1 { "is" } else { "are" })
}

fn of(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Looks for the key `wanted` in every directory of `stores` and returns how many sealed files
/// there are, none of them under it.
///
/// - `source_name`: the key source as the user named it, for the command in an error
///
/// # Errors
/// The first reason to keep the version, or to doubt that it can go.
pub(crate) fn check_unused(
    wanted: &Wanted<'_>,
    stores: &[PathBuf],
    source_name: &str,
) -> Result<u64, RetireError> {
    let key = wanted.key;
    let mut sealed_files = 0;
    for dir in stores {
        // every engine: a directory may hold stores of several; the one to which it belongs answers
        // first
        let owner = engine_of(dir);
        let is_owner =
            |engine: &&dyn AtRest| owner.is_some_and(|owner| owner.name() == engine.name());
        let (own, others): (Vec<_>, Vec<_>) = engines().partition(is_owner);
        let mut found = 0;
        for engine in own.into_iter().chain(others) {
            let need = engine.need(dir, wanted).map_err(|error| match error {
                AtRestError::Key(error) => RetireError::Key(error),
                AtRestError::Unread(source) => RetireError::Unread { key: key.clone(), source },
            })?;
            found += unneeded(need, engine, key, dir, source_name)?;
        }
        if found == 0 {
            let (what, want) = match owner.and_then(AtRest::server) {
                Some(_) => ("block", "data directory of a sealed server"),
                None => ("file", "directory of a sealed store"),
            };
            return Err(RetireError::NothingSealed {
                key: key.clone(),
                dir: dir.clone(),
                what,
                want,
            });
        }
        sealed_files += found;
    }
    Ok(sealed_files)
}

/// Returns how many sealed files of `engine` a search in `dir` found, if nothing needs `key`.
fn unneeded(
    need: Need,
    engine: &dyn AtRest,
    key: &KeyRef,
    dir: &Path,
    source_name: &str,
) -> Result<u64, RetireError> {
    let (key, dir) = (key.clone(), dir.to_owned());
    Err(match need.found {
        Found::Nothing => return Ok(need.sealed_files),
        Found::Under { count, unit, example } => {
            let step = match engine.renewal() {
                Renewal::Rewrap(command) => format!(
                    "rewrap {} under the newest version first, with: sealstone {command} {} --key \
                     {source_name}",
                    if count == 1 { "it" } else { "them" },
                    dir.display()
                ),
                Renewal::Rewrite(step) => step.to_owned(),
            };
            RetireError::Data {
                key,
                dir: dir.into(),
                count,
                unit,
                example: example.into(),
                step: step.into(),
            }
        }
        Found::UnknownKey { count, unit, example, why } => RetireError::UnknownKey {
            key,
            engine: engine.name(),
            dir: dir.into(),
            count,
            unit,
            example: example.into(),
            why: why.into(),
        },
        Found::Missing { file } => RetireError::Missing { key, dir, file: file.into() },
        Found::Unread { file, why } => {
            RetireError::Unlooked { key, dir, file: file.into(), why: why.into() }
        }
    })
}
