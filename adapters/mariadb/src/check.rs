//! Survey of a MariaDB data directory: what is encrypted in it, under which versions of a key, and
//! what is in the clear. Reads headers of pages, needs no key, and the server may be running.
//!
//! A page has the number of its version, which names a cipher and a mode of ours, and not the key:
//! another key with the same version looks the same.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sealstone_file::{counts, input, walk};
use sealstone_seal::account::{Account, Content, FileAccount, Standing};
use sealstone_seal::tablespace::PageMode;

use self::units::{Copies, Found, Kind};
use crate::fingerprints;

pub(crate) mod trial;
mod units;

/// Reason why a directory cannot be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// Not a data directory.
    #[error("no MariaDB data in {}: there is no file ibdata1 with aria_log_control\ngive the data \
             directory of a server (datadir)", dir.display())]
    NoData {
        /// The directory.
        dir: PathBuf,
    },
    /// A file or directory that cannot be read.
    #[error("cannot read {}: {source}\nrun this as a user who may read the data directory",
        path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

/// Files that no plug-in gets to see: the end of their name or the beginning of it, what they hold,
/// and the remedy.
const ASIDE: &[(&str, &str, &str)] = &[
    (LINK, "where a table with DATA DIRECTORY is, which is looked at, too", "none needed"),
    (".frm", "names and types of columns, defaults", "none needed, or a sealed volume"),
    (
        "aria_log.",
        "what is written to Aria tables, in the clear",
        "InnoDB tables, or a sealed volume",
    ),
    ("aria_log_control", "where Aria's log begins", "none needed"),
    (".MYI", "keys of MyISAM tables", "ALTER TABLE … ENGINE=InnoDB, or a sealed volume"),
    (".CSM", "how many records a CSV table has", "none needed"),
    (".TRG", "texts of triggers", "none needed, or a sealed volume"),
    (".TRN", "names of triggers", "none needed"),
    (".opt", "character sets of a database", "none needed"),
    (".err", "the error log", "a sealed volume"),
    (".log", "a log: general, slow or of statements that change tables", "a sealed volume"),
    (".index", "names of binary logs", "none needed"),
    (".state", "where replication is", "none needed"),
    (".info", "where replication is", "none needed"),
    (".pid", "the process id", "none needed"),
    (counts::NAME, "how much was encrypted and decrypted", "none needed"),
    (fingerprints::NAME, "fingerprints of the keys that encrypted here", "none needed"),
    ("ib_buffer_pool", "numbers of pages", "none needed"),
    ("mysql_upgrade_info", "the server's version", "none needed"),
    ("mariadb_upgrade_info", "the server's version", "none needed"),
];

/// End of the name of a file with the path of a tablespace.
const LINK: &str = ".isl";
/// Longest path that is read from such a file, in bytes.
const PATH_BYTES_MAX: usize = 4096;

/// Data that is stored elsewhere.
const ELSEWHERE: &[(&str, &str)] = &[
    ("the first page of each tablespace (names of no record)", "none needed, or a sealed volume"),
    ("headers of rollback segments, on some versions (no record)", "none needed"),
    (
        "ibtmp1, where innodb_encrypt_temporary_tables is off (temporary tables)",
        "innodb_encrypt_temporary_tables=ON",
    ),
    ("tmpdir, where encrypt_tmp_files is off (records)", "encrypt_tmp_files=ON"),
    ("general and slow log, wherever they are (values)", "a sealed volume"),
    ("swap and core dumps (memory)", "encrypted swap or none; no core dumps"),
    ("what mariadb-dump wrote (records)", "encrypt it where it is written"),
];

/// Bytes of the system tablespace that are looked at before a server starts: the server's own
/// tables begin there, and a large one is not read through.
const SYSTEM_BYTES_MAX: u64 = 16 << 20;

/// Remedy for a tablespace in the clear.
const ENCRYPT_IT: &str = "innodb_encrypt_tables=FORCE and innodb_encryption_threads=1: the server \
                          encrypts it in the background, but for pages that were free before; \
                          OPTIMIZE TABLE rewrites a table (docs/guide/mariadb.md)";
/// Remedy for an Aria table in the clear.
const REBUILD_IT: &str =
    "aria_encrypt_tables=ON, then ALTER TABLE … ENGINE=Aria, which rewrites it";
/// Remedy for a log in the clear.
const ENCRYPT_LOGS: &str = "innodb_encrypt_log=ON, encrypt_binlog=ON; older binary logs stay as \
                            they are: PURGE BINARY LOGS";
/// Remedy for a table of an engine that the server does not encrypt.
const CONVERT_IT: &str = "the server does not encrypt this engine: ALTER TABLE … ENGINE=InnoDB, or \
                          a sealed volume";
/// Remedy for pages under something else.
const LOOK_AT_IT: &str = "check whether another plug-in encrypted this directory";
/// Remedy for an unknown file.
const NOT_OURS: &str = "not a file of MariaDB's: check what it contains";

/// Returns whether `dir` is a data directory.
#[must_use]
pub fn is_data_directory(dir: &Path) -> bool {
    // MySQL has the first of them, too
    dir.join("ibdata1").is_file() && dir.join("aria_log_control").is_file()
}

/// Looks at every file in the data directory `dir`.
///
/// # Errors
/// [`CheckError::NoData`], [`CheckError::Io`].
pub fn check(dir: &Path) -> Result<Account, CheckError> {
    if !is_data_directory(dir) {
        return Err(CheckError::NoData { dir: dir.to_owned() });
    }
    look(dir, Copies::LookedAt)
}

/// As [`check`], in any directory, since data directories may be anywhere below it, and without the
/// copies in the doublewrite buffer: what the server still needs a key for.
///
/// A copy replaces a page that a crash tore. The server makes the redo log under a newer version
/// only once it has ended in order, so where that log is under a newer one, all that was written
/// under older ones is whole. Copies stay until their room is used again, for months perhaps.
///
/// # Errors
/// [`CheckError::Io`] if it cannot be listed. Other unreadable files are in the account.
pub fn survey(dir: &Path) -> Result<Account, CheckError> {
    look(dir, Copies::LeftOut)
}

fn look(dir: &Path, copies: Copies) -> Result<Account, CheckError> {
    let cannot = |source| CheckError::Io { path: dir.to_owned(), source };
    // what a process said of itself: pages have only the number of a version
    let key = counts::read(dir).ok().flatten().and_then(|found| found.key);
    let mut account = Account::new(dir, key, ELSEWHERE);
    let (mut known, mut elsewhere) = (BTreeSet::new(), Vec::new());
    for walk::Found { name, bytes } in walk::below_with(dir, &is_file_name).map_err(cannot)? {
        if ends_with(&name, LINK) {
            elsewhere.push(name.clone());
        } else if ends_with(&name, ".ibd") {
            known.extend(dir.join(&name).canonicalize());
        }
        let looked = bytes.and_then(|_| look_at(dir, &name, copies));
        let looked = looked.unwrap_or_else(|error| Some(unread(dir, &name, &error)));
        // a file that has gone in the meantime, as logs do, is left out
        if let Some(file) = looked {
            account.add(file);
        }
    }
    for name in elsewhere {
        let looked = match linked(dir, &name) {
            // named twice, it is one table
            Ok(table) if !known.insert(table.clone()) => Ok(None),
            Ok(table) => look_at(dir, &table, copies),
            Err(error) => Err(error),
        };
        let looked = looked.unwrap_or_else(|error| Some(unread(dir, &name, &error)));
        if let Some(file) = looked {
            account.add(file);
        }
    }
    Ok(account)
}

/// Returns the tablespace that the link `name` in `dir` leads to: InnoDB writes its path into a
/// file of its own for a table with DATA DIRECTORY.
fn linked(dir: &Path, name: &Path) -> io::Result<PathBuf> {
    let text = input::read_at_most(&dir.join(name), PATH_BYTES_MAX)?;
    let path = Path::new(OsStr::from_bytes(text.trim_ascii_end()));
    dir.join(path).canonicalize().map_err(|error| {
        io::Error::new(error.kind(), format!("it leads to {}: {error}", path.display()))
    })
}

fn ends_with(name: &Path, ending: &str) -> bool {
    name.as_os_str().as_bytes().ends_with(ending.as_bytes())
}

/// Returns whether the server has a file by that name, so that nothing else may be there. Names of
/// databases have no dot in their directories.
fn is_file_name(name: &Path) -> bool {
    let Some(name) = name.file_name().and_then(OsStr::to_str) else { return false };
    let numbered = |begin: &str| digits_after(name, begin).is_some_and(|digits| !digits.is_empty());
    [".ibd", LINK, ".frm", ".MAD", ".MAI", ".MYD", ".MYI", ".CSV"]
        .iter()
        .any(|ending| name.ends_with(ending))
        || ["ibdata", "ib_logfile", "aria_log."].into_iter().any(numbered)
        || name == "aria_log_control"
}

/// Modes of what a server wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// Mode of the newest version in the redo log and the system tablespace.
    pub(crate) last: PageMode,
    /// Mode of the redo log, which the server reads first.
    pub(crate) redo: Option<PageMode>,
}

impl Written {
    /// Returns whether a server needs the mode `mode` to start on it.
    pub(crate) fn needs(self, mode: PageMode) -> bool {
        self.last == mode || self.redo == Some(mode)
    }
}

/// Returns the modes of what is in the data directory `dir`; none where nothing is encrypted, or is
/// elsewhere. Pages name their own mode, so this is for a clear word before a server starts.
pub(crate) fn written_in(dir: &Path) -> Option<Written> {
    let version_in = |name: &str, kind: Kind| {
        let file = walk::open(&dir.join(name)).ok()??;
        let bytes = file.metadata().ok()?.len();
        units::newest(kind, &file, bytes.min(SYSTEM_BYTES_MAX)).ok()?
    };
    let redo = version_in("ib_logfile0", Kind::Redo);
    let last = redo.max(version_in("ibdata1", Kind::Tablespace))?.mode();
    Some(Written { last, redo: redo.map(|redo| redo.mode()) })
}

/// Returns the account of a file that could not be looked at.
fn unread(dir: &Path, name: &Path, error: &io::Error) -> FileAccount {
    FileAccount::unread(dir, name, error, is_file_name(name))
}

/// Looks at the file `name` in `dir`; None if it has gone.
fn look_at(dir: &Path, name: &Path, copies: Copies) -> io::Result<Option<FileAccount>> {
    let Some(file) = walk::open(&dir.join(name))? else { return Ok(None) };
    let bytes = file.metadata()?.len();
    let name = name.to_string_lossy().into_owned();
    if is_temporary(&name) {
        return Ok(None);
    }
    let kind = kind_of(&name, &file)?;
    let known = aside(&name).filter(|_| kind.is_none());
    let mut found = Found::default();
    let content = match kind {
        Some(kind) => {
            units::scan(kind, &file, bytes, copies, &mut found)?;
            if matches!(kind, Kind::Redo | Kind::Binlog) { Content::Journal } else { Content::Data }
        }
        None if known.is_some() => Content::Aside,
        None => Content::Unknown,
    };
    let (standing, remedy) = match kind {
        None if known.is_some() => (Standing::AlwaysClear, known.map(|(.., remedy)| *remedy)),
        None => (Standing::Unknown, Some(NOT_OURS)),
        Some(kind) if found.clear_blocks > 0 => {
            let remedy = match kind {
                Kind::Tablespace => ENCRYPT_IT,
                Kind::AriaData | Kind::AriaIndex => REBUILD_IT,
                Kind::Redo | Kind::Binlog => ENCRYPT_LOGS,
                Kind::Clear => CONVERT_IT,
            };
            (Standing::Clear, Some(remedy))
        }
        _ if found.other_blocks > 0 => (Standing::Clear, Some(LOOK_AT_IT)),
        _ if found.shares.is_empty() => (Standing::Empty, None),
        _ => (Standing::Sealed, None),
    };
    let Found { shares, clear_blocks, clear_bytes, other_blocks, other } = found;
    Ok(Some(FileAccount {
        name,
        bytes,
        content,
        standing,
        sealed: shares.into_values().collect(),
        clear_blocks,
        clear_bytes,
        other_blocks,
        other,
        unread: None,
        holds: known.map(|(_, holds, _)| *holds),
        remedy,
    }))
}

/// Returns whether the file `name` has temporary tables alone: its pages do not say whether they
/// are encrypted, and it goes with the server, so it is in no account.
fn is_temporary(name: &str) -> bool {
    digits_after(name, "ibtmp").is_some()
}

/// Returns the digits behind `begin` if `name` has nothing else there, perhaps none of them.
fn digits_after<'a>(name: &'a str, begin: &str) -> Option<&'a str> {
    let rest = name.strip_prefix(begin)?;
    rest.bytes().all(|byte| byte.is_ascii_digit()).then_some(rest)
}

fn aside(name: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let file = match name.rsplit('/').next().unwrap_or(name) {
        ours if counts::is_ours(ours) => counts::NAME,
        ours if fingerprints::is_ours(ours) => fingerprints::NAME,
        other => other,
    };
    let belongs = |known: &str| match known.starts_with('.') {
        true => file.ends_with(known),
        false => file.starts_with(known),
    };
    ASIDE.iter().find(|(known, ..)| belongs(known))
}

/// Returns the kind of a file that a plug-in may have encrypted.
fn kind_of(name: &str, file: &File) -> io::Result<Option<Kind>> {
    let name = name.rsplit('/').next().unwrap_or(name);
    let numbered = |begin: &str| digits_after(name, begin).is_some();
    Ok(match () {
        () if name.ends_with(".ibd") || ["ibdata", "undo"].into_iter().any(numbered) => {
            Some(Kind::Tablespace)
        }
        () if name.ends_with(".MYD") || name.ends_with(".CSV") => Some(Kind::Clear),
        () if name.ends_with(".MAD") => Some(Kind::AriaData),
        () if name.ends_with(".MAI") => Some(Kind::AriaIndex),
        () if numbered("ib_logfile") => Some(Kind::Redo),
        () if units::is_binlog(file)? => Some(Kind::Binlog),
        () => None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixListener;

    use sealstone_audit::{Language, explanation};

    use super::*;

    /// Returns a data directory with two files of a server, and one elsewhere.
    fn data() -> (tempfile::TempDir, tempfile::TempDir) {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["ibdata1", "aria_log_control"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        fs::create_dir(dir.path().join("shop")).unwrap();
        (dir, elsewhere)
    }

    /// Returns a tablespace of two pages, of which the second is in the clear.
    fn tablespace() -> Vec<u8> {
        let mut content = vec![0; 2 * 16384];
        content[54..58].copy_from_slice(&0x15_u32.to_be_bytes());
        content[24..26].copy_from_slice(&8_u16.to_be_bytes());
        content[16384 + 24..16384 + 26].copy_from_slice(&17855_u16.to_be_bytes());
        content
    }

    fn standing(account: &Account, name: &str) -> Option<Standing> {
        account.files.iter().find(|file| file.name.ends_with(name)).map(|file| file.standing)
    }

    #[test]
    fn a_table_elsewhere_is_looked_at_once() {
        let (dir, elsewhere) = data();
        let table = elsewhere.path().join("orders.ibd");
        fs::write(&table, tablespace()).unwrap();
        let link = dir.path().join("shop/orders.isl");
        fs::write(&link, table.to_str().unwrap()).unwrap();
        let account = check(dir.path()).unwrap();
        assert_eq!(standing(&account, "orders.ibd"), Some(Standing::Clear));
        assert_eq!(standing(&account, "orders.isl"), Some(Standing::AlwaysClear));
        // a link to the same table, and a table that is here anyway
        std::os::unix::fs::symlink(&table, dir.path().join("shop/same.ibd")).unwrap();
        fs::write(dir.path().join("shop/same.isl"), "shop/same.ibd\n").unwrap();
        let account = check(dir.path()).unwrap();
        let tables = account.files.iter().filter(|file| file.standing == Standing::Clear).count();
        assert_eq!(tables, 1);
        // nobody can say what is in a table that is not there
        for content in ["/nonexistent/orders.ibd", "", "shop"] {
            fs::write(&link, content).unwrap();
            let account = check(dir.path()).unwrap();
            let found: Vec<Option<&str>> =
                account.files.iter().map(|file| file.unread.as_deref()).collect();
            assert_eq!(found.iter().flatten().count(), 1, "{content}: {found:?}");
        }
    }

    #[test]
    fn something_else_in_the_place_of_a_file_is_not_passed_over() {
        for name in ["ib_logfile0", "shop/orders.ibd", "shop/orders.MAD", "shop/orders.frm"] {
            for is_socket in [true, false] {
                let (dir, _elsewhere) = data();
                let path = dir.path().join(name);
                match is_socket {
                    true => drop(UnixListener::bind(&path).unwrap()),
                    false => fs::create_dir(&path).unwrap(),
                }
                let account = check(dir.path()).unwrap();
                assert_eq!(standing(&account, name), Some(Standing::Unread), "{name}");
            }
        }
        // the server's own socket holds nothing
        let (dir, _elsewhere) = data();
        let _listener = UnixListener::bind(dir.path().join("mysqld.sock")).unwrap();
        let account = check(dir.path()).unwrap();
        assert_eq!(standing(&account, "mysqld.sock"), Some(Standing::AlwaysClear));
    }

    #[test]
    fn an_auditor_reads_explanations_in_korean() {
        let constants = [ENCRYPT_IT, REBUILD_IT, ENCRYPT_LOGS, CONVERT_IT, LOOK_AT_IT, NOT_OURS];
        let pairs = ELSEWHERE.iter().flat_map(|(what, remedy)| [*what, *remedy]);
        let remedies = ASIDE.iter().map(|(.., remedy)| *remedy);
        // a setting alone is read in any language
        let sentences =
            constants.into_iter().chain(pairs).chain(remedies).filter(|text| text.contains(' '));
        for text in sentences {
            assert!(explanation(text, Language::Korean).is_some(), "{text}");
        }
    }
}
