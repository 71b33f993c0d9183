//! Rewriting files of an open database: the list of them, and RocksDB replacing them.
//!
//! The rules of `ffi` hold here, too.

use std::any::Any;
use std::ffi::{OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;

use super::c;
use super::call::{call, call_with_sink, deliver, from_bytes, path_bytes};
use super::database::Db;
use super::error::Error;

/// A table or blob file of the newest version of a database.
#[derive(Clone, Debug)]
pub(crate) struct LiveFile {
    /// Its directory.
    pub(crate) directory: PathBuf,
    /// Its name in there.
    pub(crate) name: String,
    /// The number in its name, never used twice.
    pub(crate) number: u64,
    /// Its length.
    #[cfg(test)]
    pub(crate) bytes: u64,
    /// Number of the column family that it belongs to.
    pub(crate) family: u32,
    /// Kind of the file.
    pub(crate) kind: LiveKind,
}

/// Kind of a live file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiveKind {
    /// A table.
    Table {
        /// Its level.
        level: i32,
        /// Number of the oldest blob file that it refers to, if any.
        oldest_blob: Option<u64>,
    },
    /// Values outside tables.
    Blob,
}

/// The outcome of rewriting a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rewrite {
    /// A new file holds its content.
    Done,
    /// A compaction has it at the moment.
    InUse,
    /// It is no longer there, or on another level.
    Gone,
}

/// Collector of live files.
#[derive(Default)]
struct LiveFiles {
    files: Vec<LiveFile>,
    /// A panic while adding one, to be resumed once the shim has returned.
    panic: Option<Box<dyn Any + Send>>,
}

/// Adds a file to the `LiveFiles` that `context` points at.
///
/// # Safety
/// `context` points at a `LiveFiles` that nobody else uses during the call, `file` at a file of the
/// shim.
unsafe extern "C" fn add_live_file(context: *mut c_void, file: *const c::LiveFile) {
    // SAFETY: promised by the caller; the shim's bytes are valid during the call.
    let (into, file, directory, name) = unsafe {
        let file = &*file;
        (&mut *context.cast::<LiveFiles>(), file, from_bytes(file.directory), from_bytes(file.name))
    };
    let add = || {
        let kind = match file.level {
            level @ 0.. => LiveKind::Table {
                level,
                oldest_blob: (file.oldest_blob != 0).then_some(file.oldest_blob),
            },
            _ => LiveKind::Blob,
        };
        into.files.push(LiveFile {
            directory: PathBuf::from(OsStr::from_bytes(directory)),
            name: String::from_utf8_lossy(name).into_owned(),
            number: file.number,
            #[cfg(test)]
            bytes: file.bytes,
            family: file.family,
            kind,
        });
    };
    if into.panic.is_none() {
        into.panic = catch_unwind(AssertUnwindSafe(add)).err();
    }
}

impl Db {
    /// Returns every table and blob file of its newest version.
    ///
    /// # Errors
    /// No memory.
    pub(crate) fn live_files(&self) -> Result<Vec<LiveFile>, Error> {
        let mut live = LiveFiles::default();
        // SAFETY: rule *Owner*; `live` is the context that `add_live_file` expects and outlives the
        // call.
        let got = call(|error| unsafe {
            c::sealstone_db_live_files(
                self.db.as_ptr(),
                add_live_file,
                (&raw mut live).cast(),
                error,
            )
        });
        if let Some(panic) = live.panic {
            resume_unwind(panic);
        }
        got.map(|()| live.files)
    }

    /// Rewrites the table `file`, obtained from [`Db::live_files`], on its own level, in this
    /// thread. Blobs are not rewritten.
    ///
    /// # Errors
    /// I/O, a full disk, damage.
    pub(crate) fn rewrite(&self, file: &LiveFile) -> Result<Rewrite, Error> {
        let LiveKind::Table { level, .. } = file.kind else { return Ok(Rewrite::Gone) };
        let directory = path_bytes(&file.directory);
        let mut outcome = 0;
        // SAFETY: rules *Owner* and *Slices*; the family is one of this database, since the file
        // is.
        call(|error| unsafe {
            c::sealstone_db_rewrite(
                self.db.as_ptr(),
                file.family,
                directory.as_ptr().cast(),
                directory.len(),
                file.name.as_ptr().cast(),
                file.name.len(),
                level,
                &mut outcome,
                error,
            )
        })?;
        Ok(match outcome {
            c::REWRITTEN => Rewrite::Done,
            c::IN_USE => Rewrite::InUse,
            _ => Rewrite::Gone,
        })
    }

    /// Makes the rewriting of a table move its values out of blob files into new files, while `on`.
    ///
    /// # Errors
    /// I/O: RocksDB stores changed options.
    pub(crate) fn move_blobs(&self, on: bool) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_db_move_blobs(self.db.as_ptr(), i32::from(on), error) })
    }

    /// Writes data in memory into table files, for all column families; if there was anything, a
    /// new log begins.
    ///
    /// # Errors
    /// I/O, a full disk.
    pub(crate) fn flush_all(&self) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_db_flush_all(self.db.as_ptr(), error) })
    }

    /// Scans the directories and removes every unneeded file, including leftovers of an earlier
    /// opening.
    ///
    /// # Errors
    /// I/O.
    pub(crate) fn sweep(&self) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_db_sweep(self.db.as_ptr(), error) })
    }

    /// Returns the number of compactions begun since opening, and the number of the first of them
    /// that have all ended.
    pub(crate) fn compactions(&self) -> (u64, u64) {
        let (mut begun, mut ended) = (0, 0);
        // SAFETY: rule *Owner*; two integers of ours.
        unsafe { c::sealstone_db_compactions(self.db.as_ptr(), &mut begun, &mut ended) };
        (begun, ended)
    }

    /// Returns the directory of its logs.
    ///
    /// # Errors
    /// No memory.
    pub(crate) fn log_dir(&self) -> Result<PathBuf, Error> {
        let mut dir = PathBuf::new();
        // SAFETY: rule *Owner*; `sink` is the context that `deliver` expects and outlives the call.
        call_with_sink(
            &mut |_, found| dir = PathBuf::from(OsStr::from_bytes(found)),
            |sink, error| unsafe {
                c::sealstone_db_log_directory(self.db.as_ptr(), deliver, sink, error)
            },
        )?;
        Ok(if dir.as_os_str().is_empty() { self.dir().to_owned() } else { dir })
    }
}

/// Column families, which tests of rewriting need.
#[cfg(test)]
impl Db {
    /// Begins a column family with the options of the default one, as the last of its families.
    pub(crate) fn create_family(&self, name: &str) -> Result<(), Error> {
        // SAFETY: rules *Owner* and *Slices*; no other thread uses the families at the same time,
        // as tests ensure.
        call(|error| unsafe {
            c::sealstone_db_family_create(self.db.as_ptr(), name.as_ptr().cast(), name.len(), error)
        })
    }

    /// Ends the last column family, which must not be the only one.
    pub(crate) fn drop_family(&self) -> Result<(), Error> {
        // SAFETY: as in `create_family`.
        call(|error| unsafe { c::sealstone_db_family_drop(self.db.as_ptr(), error) })
    }

    /// Writes into the column family with index `family`.
    pub(crate) fn put_in(&self, family: u32, key: &[u8], value: &[u8]) -> Result<(), Error> {
        // SAFETY: rules *Owner* and *Slices*; the shim checks `family`.
        call(|error| unsafe {
            c::sealstone_db_family_put(
                self.db.as_ptr(),
                family,
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
                error,
            )
        })
    }

    /// Merges all levels of the column family with index `family`.
    pub(crate) fn compact_family(&self, family: u32) -> Result<(), Error> {
        // SAFETY: rule *Owner*; the shim checks `family`.
        call(|error| unsafe { c::sealstone_db_family_compact(self.db.as_ptr(), family, error) })
    }
}
