//! Backups, stored through a separate environment. Not here: checkpoints ([`Db::checkpoint`]).
//!
//! The rules of `ffi` hold here, too.

use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::c;
use super::call::{call, path_bytes};
use super::database::Db;
use super::env::Env;
use super::error::Error;

/// A directory of backups, stored through the same environment as the database and so sealed like
/// it.
#[derive(Debug)]
pub struct Backups {
    backup: NonNull<c::Backup>,
    // ended after the engine
    _env: Arc<Env>,
}

// SAFETY: a backup engine may move between threads; rule *Threads*.
unsafe impl Send for Backups {}

impl Backups {
    /// Opens or begins the backups in `path`.
    pub(crate) fn open(env: Arc<Env>, path: &Path) -> Result<Self, Error> {
        let name = path_bytes(path);
        let mut backup = ptr::null_mut();
        // SAFETY: rule *Slices*; the environment outlives the engine, which keeps its `Arc`.
        call(|error| unsafe {
            c::sealstone_backup_open(
                env.0.as_ptr(),
                name.as_ptr().cast(),
                name.len(),
                &mut backup,
                error,
            )
        })?;
        let backup = NonNull::new(backup).expect("the shim fills it in when it succeeds");
        Ok(Self { backup, _env: env })
    }

    /// Backs `db` up as of now; table files that an earlier backup holds are not copied again.
    /// Returns its number.
    ///
    /// # Errors
    /// I/O, a full disk.
    pub fn create(&mut self, db: &Db) -> Result<u32, Error> {
        // SAFETY: rule *Owner* for both.
        call(|error| unsafe {
            c::sealstone_backup_create(self.backup.as_ptr(), db.db.as_ptr(), error)
        })?;
        Ok(self.latest())
    }

    /// Checks sizes and contents of backup `id`.
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify(&mut self, id: u32) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_backup_verify(self.backup.as_ptr(), id, 1, error) })
    }

    /// Restores the newest backup into `path`.
    ///
    /// # Errors
    /// I/O, damage, no backup.
    pub fn restore(&mut self, path: &Path) -> Result<(), Error> {
        let name = path_bytes(path);
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe {
            c::sealstone_backup_restore(
                self.backup.as_ptr(),
                name.as_ptr().cast(),
                name.len(),
                error,
            )
        })
    }

    /// Returns the number of the newest backup, 0 where there is none.
    pub fn latest(&mut self) -> u32 {
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_backup_latest(self.backup.as_ptr()) }
    }
}

impl Drop for Backups {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_backup_free(self.backup.as_ptr()) }
    }
}
