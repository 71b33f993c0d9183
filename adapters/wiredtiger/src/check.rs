//! Survey of a MongoDB data directory: its sealed data, their keys, and the data in the clear.
//! Reads only headers, needs no key, and the server may be running.
//!
//! Links are followed, and a data file is recognised by its first bytes, whatever its name: with
//! `--directoryperdb`, a linked journal or a linked database nothing is missed. Blocks that were
//! freed and not yet overwritten are counted, too.
//!
//! Not here: the authenticity of blocks, which the server checks on reading; their place in a file
//! (`blocks`); the account itself (`sealstone_seal::account`).

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use sealstone_file::{counts, walk};
use sealstone_seal::account::{Account, Content, FileAccount, Standing};

use self::blocks::{Beginning, Found, scan_account, scan_data, scan_journal};
use crate::journal::{ACCOUNT, FRESH, LOG};

mod blocks;

/// Reason why a directory cannot be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// Not a data directory.
    #[error("no MongoDB data in {}: there is no file WiredTiger\ngive the data directory of a \
             server (--dbpath)", dir.display())]
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

/// The file that names the engine's catalogue, with the settings of the engine.
const TURTLE: &str = "WiredTiger.turtle";

/// Files that no encryptor gets to see: how their path begins, what they hold, and the remedy.
pub(crate) const ASIDE: &[(&str, &str, &str)] = &[
    (
        TURTLE,
        "where the engine's catalogue is, its settings, the key id, no record",
        "none needed, or an encrypted volume",
    ),
    ("WiredTiger.lock", "a fixed text", "none needed"),
    ("WiredTiger", "the engine's version", "none needed"),
    ("mongod.lock", "the process id", "none needed"),
    (
        "journal/SEALSTONE-JOURNAL",
        "sealed: which journal files there are, how long they are",
        "none needed",
    ),
    (counts::NAME, "how much was sealed and opened", "none needed"),
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
        "an encrypted volume, or remove it when it is no longer needed; --setParameter \
         createRollbackDataFiles=false loses them",
    ),
    (
        "mongod.log",
        "slow queries with their values",
        "an encrypted volume, a higher operationProfiling.slowOpThresholdMs",
    ),
];

/// Data that is stored elsewhere.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "the log, wherever systemLog.path leads (slow queries with their values)",
        "an encrypted volume, a higher operationProfiling.slowOpThresholdMs",
    ),
    ("swap and core dumps (memory)", "encrypted swap or none; no core dumps"),
    ("what mongodump wrote (records)", "encrypt it where it is written"),
];

/// Remedy for data in the clear.
const SEAL_IT: &str = "an encryptor accepts only an empty directory: resync this member with the \
                       extension (docs/guide/mongodb.md)";
/// Remedy for a file in the clear among sealed ones.
const COPY_IT: &str = "its collection or index was created with encryption=(name=none): copy it \
                       into one without that option and drop it (docs/guide/mongodb.md)";
/// Remedy for blocks that are something else.
const LOOK_AT_IT: &str =
    "check whether another program or a newer version of sealstone sealed this directory";
/// Remedy for an unknown file.
const NOT_OURS: &str = "not a file of MongoDB's: check what it contains";

/// Returns whether `dir` is a data directory.
#[must_use]
pub(crate) fn is_data_directory(dir: &Path) -> bool {
    dir.join("WiredTiger").is_file()
}

/// Looks at every file in the data directory `dir`.
///
/// # Errors
/// [`CheckError::NoData`], [`CheckError::Io`].
pub fn check(dir: &Path) -> Result<Account, CheckError> {
    if !is_data_directory(dir) {
        return Err(CheckError::NoData { dir: dir.to_owned() });
    }
    look(dir)
}

/// As [`check`], in any directory: data directories may be anywhere below it.
///
/// # Errors
/// [`CheckError::Io`] if it cannot be listed. Other unreadable files are in the account.
pub fn look(dir: &Path) -> Result<Account, CheckError> {
    let cannot = |source| CheckError::Io { path: dir.to_owned(), source };
    let mut account = Account::new(dir, key_id(dir), ELSEWHERE);
    for walk::Found { name, bytes } in walk::below_with(dir, &is_file_name).map_err(cannot)? {
        let looked = bytes.and_then(|_| look_at(dir, &name)).unwrap_or_else(|error| {
            Some(FileAccount::unread(dir, &name, &error, is_file_name(&name)))
        });
        // a file that has disappeared in the meantime, as journal files do, is left out
        if let Some(file) = looked {
            account.add(file);
        }
    }
    if !account.sealed.is_empty() {
        // once there is an encryptor, the engine seals what no option excepts, and reads nothing
        // else
        let excepted = account
            .files
            .iter_mut()
            .filter(|file| file.content == Content::Data && file.clear_blocks > 0);
        excepted.for_each(|file| file.remedy = Some(COPY_IT));
    }
    Ok(account)
}

/// Returns whether the engine has a file by that name, so that nothing else may be there. Names of
/// databases have no dot in their directories.
fn is_file_name(name: &Path) -> bool {
    let Some(name) = name.file_name().and_then(OsStr::to_str) else { return false };
    name.ends_with(".wt")
        || name == "WiredTiger"
        || name == TURTLE
        || name == ACCOUNT
        || [LOG, FRESH[0], FRESH[1]].iter().any(|begin| name.starts_with(begin))
}

/// Returns the name of the key in the engine's settings, which are in the clear in the data
/// directory `dir`, or else as the process said it that worked there last: mongod has the engine
/// record no settings.
fn key_id(dir: &Path) -> Option<String> {
    in_settings(dir).or_else(|| counts::read(dir).ok()??.key)
}

fn in_settings(dir: &Path) -> Option<String> {
    let text =
        String::from_utf8_lossy(&sealstone_file::input::read(&dir.join(TURTLE)).ok()?).into_owned();
    let (_, settings) = text.split_once("encryption=(")?;
    let (settings, _) = settings.split_once(')')?;
    let value = settings.split(',').find_map(|setting| setting.trim().strip_prefix("keyid="))?;
    Some(value.trim_matches('"').to_owned()).filter(|id| !id.is_empty())
}

/// Looks at the file `name` in `dir`; None if it has gone.
fn look_at(dir: &Path, name: &Path) -> io::Result<Option<FileAccount>> {
    let Some(file) = walk::open(&dir.join(name))? else { return Ok(None) };
    let bytes = file.metadata()?.len();
    let name = name.to_string_lossy().into_owned();
    let beginning = Beginning::of(&file)?;
    let content = match beginning {
        Beginning::Data => Content::Data,
        Beginning::Journal => Content::Journal,
        Beginning::Other => content_of(&name),
    };
    let mut found = Found::default();
    match content {
        Content::Data => scan_data(&file, bytes, &mut found)?,
        Content::Journal => scan_journal(&file, bytes, &mut found)?,
        Content::Aside | Content::Unknown => {}
    }
    if Path::new(&name).file_name().is_some_and(|file| file == ACCOUNT) {
        scan_account(&file, &mut found)?;
    }
    let known = aside(&name).filter(|_| content == Content::Aside);
    let (standing, remedy) = match content {
        Content::Aside => (Standing::AlwaysClear, known.map(|(.., remedy)| *remedy)),
        Content::Unknown => (Standing::Unknown, Some(NOT_OURS)),
        _ if found.clear_blocks > 0 => (Standing::Clear, Some(SEAL_IT)),
        _ if found.other_blocks > 0 => (Standing::Clear, Some(LOOK_AT_IT)),
        // the engine begins each of its files with a block of its own, in the clear
        Content::Data
            if found.shares.is_empty() && bytes > 0 && matches!(beginning, Beginning::Other) =>
        {
            (Standing::Unknown, Some(NOT_OURS))
        }
        _ if found.shares.is_empty() => (Standing::Empty, None),
        _ => (Standing::Sealed, None),
    };
    let Found { shares, clear_blocks, clear_bytes, other_blocks, other } = found;
    let sealed = shares.into_values().collect();
    Ok(Some(FileAccount {
        name,
        bytes,
        content,
        standing,
        sealed,
        clear_blocks,
        clear_bytes,
        other_blocks,
        other,
        unread: None,
        holds: known.map(|(_, holds, _)| *holds),
        remedy,
    }))
}

fn aside(name: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let name = if counts::is_ours(name) { counts::NAME } else { name };
    let belongs = |known: &str| match known.ends_with('/') {
        true => name.starts_with(known) || name.contains(&format!("/{known}")),
        // as named by rotation: mongod.log.2026-…, WiredTiger.turtle.set
        false => {
            name == known || name.strip_prefix(known).is_some_and(|rest| rest.starts_with('.'))
        }
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use sealstone_audit::{Language, explanation};
    use sealstone_seal::engine_page::{HEADER_BYTES, MAGIC};

    use super::*;
    use crate::PAGE_SKIP_BYTES as PAGE_AT;
    use crate::header::PAGE_ENCRYPTED;

    /// Returns a data file with one block: format 1, cipher 2, no flags, key version `version`.
    fn data_file(version: u8) -> Vec<u8> {
        let content =
            [&MAGIC[..], &[1, 0, 2, 0, 0, 0, 0, 0, version], &[0x33; HEADER_BYTES - 12]].concat();
        let mut bytes = vec![0; 3 * 4096];
        bytes[..4].copy_from_slice(&120_897_u32.to_le_bytes());
        bytes[4096 + 24] = 7;
        bytes[4096 + 25] = PAGE_ENCRYPTED;
        bytes[4096 + 29] = 0x10;
        bytes[4096 + PAGE_AT..][..content.len()].copy_from_slice(&content);
        bytes
    }

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

    /// A page header of a later release, or a damaged one, does not hide the key that a block
    /// needs.
    #[test]
    fn a_block_of_ours_counts_whatever_is_before_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("WiredTiger"), "x").unwrap();
        // format 1, cipher 2, no flags, key version 5
        let content =
            [&MAGIC[..], &[1, 0, 2, 0, 0, 0, 0, 0, 5], &[0x33; HEADER_BYTES - 12]].concat();
        let newer = [&MAGIC[..], &[9], &[0x44; HEADER_BYTES - 4]].concat();
        let looked = |kind: u8, flags: u8, content: &[u8]| {
            let mut bytes = vec![0; 3 * 4096];
            bytes[4096 + 24] = kind;
            bytes[4096 + 25] = flags;
            bytes[4096 + 29] = 0x10;
            bytes[4096 + PAGE_AT..][..content.len()].copy_from_slice(content);
            fs::write(dir.path().join("a.wt"), bytes).unwrap();
            let account = check(dir.path()).unwrap();
            let file = account.files.into_iter().find(|file| file.name == "a.wt").unwrap();
            (
                file.sealed
                    .iter()
                    .map(|share| (share.key_version, share.blocks))
                    .collect::<Vec<_>>(),
                file.other_blocks,
            )
        };
        for (kind, flags) in [(7, PAGE_ENCRYPTED), (99, PAGE_ENCRYPTED), (99, 0), (0, 0)] {
            assert_eq!(
                looked(kind, flags, &content),
                (vec![(5, 1)], 0),
                "page kind {kind}, flags {flags}"
            );
        }
        for kind in [7, 99] {
            assert_eq!(looked(kind, PAGE_ENCRYPTED, &newer), (vec![], 1), "page kind {kind}");
        }
        assert_eq!(looked(99, 0, &newer), (vec![], 0), "three bytes alone are chance");
    }

    /// As servers have them: a database on another device, a journal elsewhere, a file that was
    /// moved away.
    #[test]
    fn what_links_lead_to_counts_and_what_cannot_be_looked_at_is_named() {
        let root = tempfile::tempdir().unwrap();
        let (dir, elsewhere) = (root.path().join("data"), root.path().join("elsewhere"));
        fs::create_dir_all(elsewhere.join("shop")).unwrap();
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("WiredTiger"), "x").unwrap();
        fs::write(dir.join("own.wt"), data_file(1)).unwrap();
        fs::write(elsewhere.join("shop/collection-0.wt"), data_file(2)).unwrap();
        fs::write(elsewhere.join("moved"), data_file(3)).unwrap();
        symlink(elsewhere.join("shop"), dir.join("shop")).unwrap();
        symlink(elsewhere.join("moved"), dir.join("index-1.wt")).unwrap();
        symlink(&dir, elsewhere.join("shop/back")).unwrap();
        // under a name that no server gives, such as that of a copy
        fs::write(dir.join("collection-9.wt.bak"), data_file(4)).unwrap();
        use std::os::unix::ffi::OsStrExt;
        fs::write(dir.join(std::ffi::OsStr::from_bytes(b"odd\xff.wt")), data_file(5)).unwrap();
        let account = check(&dir).unwrap();
        let versions: Vec<(u32, u64)> =
            account.sealed.iter().map(|share| (share.key_version, share.blocks)).collect();
        assert_eq!(versions, [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1)]);
        assert!(account.is_sealed() && account.unread().is_none());

        for (name, why) in
            [("gone.wt", "nothing is there"), ("pipe.wt", "a FIFO"), ("journal", "Too many levels")]
        {
            match name {
                "gone.wt" => symlink("nowhere", dir.join(name)).unwrap(),
                "pipe.wt" => {
                    nix::unistd::mkfifo(&dir.join(name), nix::sys::stat::Mode::S_IRWXU).unwrap()
                }
                _ => symlink(name, dir.join(name)).unwrap(),
            }
            let account = check(&dir).unwrap();
            let (file, found) = account.unread().unwrap();
            assert!(file == name && found.contains(why), "{name}: {file}: {found}");
            assert!(!account.is_sealed());
            fs::remove_file(dir.join(name)).unwrap();
        }
        // where a server listens there is nothing, unless it has the name of a file of the engine's
        let _server = UnixListener::bind(dir.join("mongodb-27017.sock")).unwrap();
        assert!(check(&dir).unwrap().is_sealed());
        let _other = UnixListener::bind(dir.join("socket.wt")).unwrap();
        assert_eq!(check(&dir).unwrap().unread().unwrap().0, "socket.wt");
    }

    #[test]
    fn the_key_id_is_that_of_the_engines_settings() {
        let dir = tempfile::tempdir().unwrap();
        for (text, id) in [
            (
                "file:WiredTiger.wt\naccess=x,encryption=(keyid=orders,name=sealstone),x=1\n",
                Some("orders"),
            ),
            ("encryption=(keyid=\"my key\",name=sealstone)", Some("my key")),
            ("encryption=(name=sealstone,keyid=a-1)", Some("a-1")),
            ("encryption=(keyid=,name=)", None),
            ("nothing of that kind", None),
        ] {
            fs::write(dir.path().join(TURTLE), text).unwrap();
            assert_eq!(key_id(dir.path()).as_deref(), id, "{text}");
        }
    }

    #[test]
    fn random_bytes_are_no_blocks() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("WiredTiger"), "x").unwrap();
        let bytes: Vec<u8> =
            (0..64 * 4096u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        fs::write(dir.path().join("a.wt"), bytes).unwrap();
        let account = check(dir.path()).unwrap();
        let file = account.files.iter().find(|file| file.name == "a.wt").unwrap();
        assert_eq!(
            (file.standing, file.clear_blocks, file.other_blocks),
            (Standing::Unknown, 0, 0)
        );
        assert!(!account.is_sealed(), "nothing sealed is not all sealed");
    }

    #[test]
    fn an_auditor_reads_explanations_in_korean() {
        let constants = [SEAL_IT, COPY_IT, LOOK_AT_IT, NOT_OURS];
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
