//! Record of the use of keys of an association that others agreed on, written to disk before
//! packets leave: a process that starts again from the same file, even after a crash, continues
//! after the recorded use, so that no number and no nonce occurs twice.
//!
//! A record is named by a fingerprint of the key and the direction, and holds packets and blocks.
//! It belongs to one process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use sealstone_file::output::{self, Access};
use sealstone_message::SettingName;
use sealstone_seal::esp::Lifetime;
use serde::{Deserialize, Serialize};

use super::private_dir;

/// The directory of the superuser, and where another user's is, below the directory that the second
/// one names.
const OF_ROOT: &str = "/var/lib/sealstone/wire";
const OF_USER: &str = "sealstone/wire";
/// Names of another directory.
const VARIABLE: &str = "SEALSTONE_STATE_DIR";
/// Amount that is reserved at once, in packets and in blocks: at 5 Gbit/s more than half a second.
/// A crash costs as much.
const STEP: Lifetime = Lifetime { packets: 1 << 18, blocks: 1 << 25 };
/// No more of a key's lifetime than this part of it, so that a crash does not cost all of a short
/// one.
const STEP_SHARE: u64 = 16;
/// Form of a record.
const SCHEMA: u32 = 1;

/// Reasons why the use of a key cannot be recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyUseError {
    /// There is no directory for it.
    #[error(
        "no directory for how far keys have gone: HOME is not set\nname one with {} or in \
         {VARIABLE}",
        SettingName("state-dir")
    )]
    NoDirectory,
    /// The directory cannot be had, or is not safe.
    #[error(
        "cannot use {} for how far keys have gone: {found}\nname another directory with {}, \
         which must outlast restarts",
        dir.display(), SettingName("state-dir")
    )]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// Description of the fault.
        found: String,
    },
    /// Another process has the key.
    #[error(
        "another tunnel uses the same association: {} is locked\nend it first: sealstone wire \
         status shows those that are up",
        path.display()
    )]
    InUse {
        /// The record.
        path: PathBuf,
    },
    /// The record is no record.
    #[error(
        "the record of how far the key has gone is damaged: {}: {found}\nnobody knows which \
         numbers were used: agree on a new association with the other end",
        path.display()
    )]
    Damaged {
        /// The record.
        path: PathBuf,
        /// Description of the fault of the record.
        found: String,
    },
    /// It cannot be written.
    #[error(
        "cannot record how far the key has gone in {}: {found}\nfree space there; until then \
         nothing is sent",
        path.display()
    )]
    Unwritten {
        /// The record.
        path: PathBuf,
        /// Error from the system.
        found: io::Error,
    },
}

/// Known use of a key at one end of an association, as far as this machine has a record of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Known {
    /// The record of this use.
    pub record: PathBuf,
    /// True if a tunnel uses the key now.
    pub is_running: bool,
}

/// End of an association that a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sealing end.
    Sealing,
    /// The opening end.
    Opening,
}

/// The directory of the records of a user.
#[derive(Clone, Debug)]
pub struct StateDir(PathBuf);

/// The record of one key. The key is this process's as long as the value lives.
#[derive(Debug)]
pub struct KeyUse {
    path: PathBuf,
    /// The lock file, locked for as long as this lives.
    lock: File,
    recorded: Lifetime,
    /// True if there is a record of the key on disk.
    is_written: bool,
}

impl End {
    /// Returns the suffix of the names of the end's records.
    fn word(self) -> &'static str {
        match self {
            Self::Sealing => "sealed",
            Self::Opening => "opened",
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    schema: u32,
    packets: u64,
    blocks: u64,
}

impl StateDir {
    /// Returns the named directory, or this user's, which is made if it is missing.
    ///
    /// # Errors
    /// [`KeyUseError::NoDirectory`], [`KeyUseError::Directory`].
    pub fn open(named: Option<&Path>) -> Result<Self, KeyUseError> {
        let variable = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let of_user = || match geteuid().is_root() {
            true => Some(PathBuf::from(OF_ROOT)),
            false => {
                let state = variable("XDG_STATE_HOME")
                    .or_else(|| Some(variable("HOME")?.join(".local/state")));
                state.map(|dir| dir.join(OF_USER))
            }
        };
        let named = named.map(Path::to_owned).or_else(|| variable(VARIABLE));
        let dir = named.or_else(of_user).ok_or(KeyUseError::NoDirectory)?;
        private_dir::open(&dir, true)
            .map_err(|found| KeyUseError::Directory { dir: dir.clone(), found })?;
        Ok(Self(dir))
    }

    /// Returns the paths of the record of the key with `fingerprint` at `end`, and of its lock.
    fn paths(&self, fingerprint: &str, end: End) -> (PathBuf, PathBuf) {
        let path = |ending: &str| self.0.join(format!("{fingerprint}.{}{ending}", end.word()));
        (path(""), path(".lock"))
    }

    /// Reports whether some tunnel has or had the key with `fingerprint` at `end`. Call it while
    /// holding your own records, so that of two tunnels that start at once one learns of the other.
    #[must_use]
    pub fn known(&self, fingerprint: &str, end: End) -> Option<Known> {
        let (record, lock) = self.paths(fingerprint, end);
        let is_held = |lock: File| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock));
        let is_running = OpenOptions::new().read(true).open(lock).is_ok_and(is_held);
        // a record that cannot be looked for may be there
        let is_there = record.try_exists().unwrap_or(true);
        (is_running || is_there).then_some(Known { record, is_running })
    }

    /// Returns the record of the key with `fingerprint` at `end`; with no packets where there is no
    /// record yet.
    ///
    /// # Errors
    /// All but the first of [`KeyUseError`].
    pub(crate) fn key_use(&self, fingerprint: &str, end: End) -> Result<KeyUse, KeyUseError> {
        let (path, lock_path) = self.paths(fingerprint, end);
        let unwritten = |found| KeyUseError::Unwritten { path: path.clone(), found };
        let lock =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(lock_path);
        let lock = lock.map_err(unwritten)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(KeyUseError::InUse { path }),
            Err(TryLockError::Error(error)) => return Err(unwritten(error)),
        }
        let damaged = |found: String| KeyUseError::Damaged { path: path.clone(), found };
        let none = Lifetime { packets: 0, blocks: 0 };
        let (recorded, is_written) = match std::fs::read(&path) {
            Ok(bytes) => {
                let record: Record =
                    serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
                if record.schema != SCHEMA {
                    return Err(damaged(format!(
                        "its schema is {}, and {SCHEMA} is known here",
                        record.schema
                    )));
                }
                (Lifetime { packets: record.packets, blocks: record.blocks }, true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => (none, false),
            Err(error) => return Err(damaged(error.to_string())),
        };
        Ok(KeyUse { path, lock, recorded, is_written })
    }
}

impl Drop for KeyUse {
    fn drop(&mut self) {
        // a process that is just being started has the file, too, and would keep the lock until its
        // program runs
        let _ = self.lock.unlock();
    }
}

impl KeyUse {
    /// Returns how far the key may have gone.
    #[must_use]
    pub fn recorded(&self) -> Lifetime {
        self.recorded
    }

    /// Records that the key may go as far as `wanted` and a step beyond, within `lifetime`. Returns
    /// how far.
    ///
    /// # Errors
    /// [`KeyUseError::Unwritten`]: then it may go no further than before.
    pub fn reserve(
        &mut self,
        wanted: Lifetime,
        lifetime: Lifetime,
    ) -> Result<Lifetime, KeyUseError> {
        let beyond = |wanted: u64, step: u64, most: u64| {
            wanted.saturating_add(step.min(most / STEP_SHARE)).min(most)
        };
        let reserved = Lifetime {
            packets: beyond(wanted.packets, STEP.packets, lifetime.packets),
            blocks: beyond(wanted.blocks, STEP.blocks, lifetime.blocks),
        };
        self.record(reserved)?;
        Ok(reserved)
    }

    /// Records that the key has gone as far as `used`, and no further: for a key that is not used
    /// any more, or of which only what came is counted.
    ///
    /// # Errors
    /// [`KeyUseError::Unwritten`].
    pub fn record(&mut self, used: Lifetime) -> Result<(), KeyUseError> {
        if used == self.recorded && self.is_written {
            return Ok(());
        }
        let write = || -> io::Result<()> {
            let record = Record { schema: SCHEMA, packets: used.packets, blocks: used.blocks };
            output::replace(&self.path, Access::Private, &serde_json::to_vec(&record)?)
        };
        write().map_err(|found| KeyUseError::Unwritten { path: self.path.clone(), found })?;
        (self.recorded, self.is_written) = (used, true);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIME: Lifetime = Lifetime { packets: 1 << 32, blocks: 1 << 40 };

    fn state() -> (tempfile::TempDir, StateDir) {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(Some(&dir.path().join("a/wire"))).unwrap();
        (dir, state)
    }

    #[test]
    fn what_is_reserved_is_there_after_a_crash_and_what_was_used_after_an_end() {
        let (_dir, state) = state();
        let mut first = state.key_use("00ff", End::Sealing).unwrap();
        assert_eq!(first.recorded(), Lifetime { packets: 0, blocks: 0 });
        let reserved = first.reserve(Lifetime { packets: 10, blocks: 100 }, LIFETIME).unwrap();
        assert_eq!(reserved, Lifetime { packets: 10 + STEP.packets, blocks: 100 + STEP.blocks });
        // as after a kill: nothing more is written
        drop(first);
        let mut second = state.key_use("00ff", End::Sealing).unwrap();
        assert_eq!(second.recorded(), reserved);
        second.record(Lifetime { packets: reserved.packets + 1, ..reserved }).unwrap();
        drop(second);
        assert_eq!(
            state.key_use("00ff", End::Sealing).unwrap().recorded().packets,
            reserved.packets + 1
        );
        // the other end of it, and another key, are something else
        assert_eq!(state.key_use("00ff", End::Opening).unwrap().recorded().packets, 0);
        assert_eq!(state.key_use("00fe", End::Sealing).unwrap().recorded().packets, 0);
    }

    /// As in a process that was forked and has not yet run its program.
    #[test]
    fn a_copy_of_the_lock_file_keeps_no_key() {
        let (_dir, state) = state();
        let first = state.key_use("00ff", End::Sealing).unwrap();
        let _copy = first.lock.try_clone().unwrap();
        assert!(matches!(state.key_use("00ff", End::Sealing), Err(KeyUseError::InUse { .. })));
        drop(first);
        state.key_use("00ff", End::Sealing).unwrap();
    }

    #[test]
    fn the_other_end_of_a_key_is_known_while_it_runs_and_afterwards() {
        let (dir, state) = state();
        assert_eq!(state.known("00ff", End::Sealing), None);
        let mut sealing = state.key_use("00ff", End::Sealing).unwrap();
        let record = dir.path().join("a/wire/00ff.sealed");
        let known = |is_running| Some(Known { record: record.clone(), is_running });
        assert_eq!(state.known("00ff", End::Sealing), known(true));
        assert_eq!(
            (state.known("00ff", End::Opening), state.known("00fe", End::Sealing)),
            (None, None)
        );
        drop(sealing);
        // a start that was refused leaves no trace, one that went through does, though nothing was
        // sent
        assert_eq!(state.known("00ff", End::Sealing), None);
        sealing = state.key_use("00ff", End::Sealing).unwrap();
        sealing.record(sealing.recorded()).unwrap();
        drop(sealing);
        assert_eq!(state.known("00ff", End::Sealing), known(false));
    }

    #[test]
    fn a_short_lifetime_is_not_given_away_at_once() {
        let (_dir, state) = state();
        let short = Lifetime { packets: u64::from(u32::MAX), blocks: 1 << 20 };
        let mut key_use = state.key_use("00", End::Sealing).unwrap();
        let reserved = key_use.reserve(Lifetime { packets: 1, blocks: 10 }, short).unwrap();
        assert_eq!(reserved.blocks, 10 + (1 << 16));
        let end = Lifetime { packets: 2, blocks: (1 << 20) - 1 };
        assert_eq!(key_use.reserve(end, short).unwrap().blocks, 1 << 20);
    }

    #[test]
    fn a_key_is_one_process_s_and_a_damaged_record_is_no_record() {
        let (dir, state) = state();
        let _held = state.key_use("00", End::Sealing).unwrap();
        let second = state.key_use("00", End::Sealing).unwrap_err().to_string();
        assert!(second.starts_with("another tunnel uses the same association: "), "{second}");
        let path = dir.path().join("a/wire/01.sealed");
        for text in [
            "",
            "{}",
            "{\"schema\":1,\"packets\":-1,\"blocks\":0}",
            "{\"schema\":9,\"packets\":1,\"blocks\":0}",
        ] {
            std::fs::write(&path, text).unwrap();
            let found = state.key_use("01", End::Sealing).unwrap_err().to_string();
            assert!(
                found.contains("is damaged: ") && found.ends_with("with the other end"),
                "{text}: {found}"
            );
        }
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(dir.path().join("a/wire"), open).unwrap();
        let found = StateDir::open(Some(&dir.path().join("a/wire"))).unwrap_err().to_string();
        assert!(found.contains("others may use it (mode 0755)"), "{found}");
    }
}
