//! Writers of table files outside a database, and a database taking such files over.
//!
//! The rules of `ffi` hold here, too.

use std::marker::PhantomData;
use std::path::Path;
use std::ptr::{self, NonNull};

use super::c;
use super::call::{as_bytes, call, path_bytes};
use super::database::Db;
use super::error::Error;

/// Writes a table file outside the database, to be taken over by [`Db::ingest`].
#[derive(Debug)]
pub struct TableWriter<'db> {
    writer: NonNull<c::TableWriter>,
    db: PhantomData<&'db Db>,
}

// SAFETY: a table writer may move between threads; rule *Threads*.
unsafe impl Send for TableWriter<'_> {}

impl TableWriter<'_> {
    /// Adds an entry; keys come in strictly ascending order.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`](super::Code::InvalidArgument) for a key out of order; I/O, a full
    /// disk.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe {
            c::sealstone_table_writer_put(
                self.writer.as_ptr(),
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
                error,
            )
        })
    }

    /// Bytes of the file so far.
    pub fn bytes(&self) -> u64 {
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_table_writer_bytes(self.writer.as_ptr()) }
    }

    /// Ends the file and brings it to stable storage.
    ///
    /// # Errors
    /// I/O, a full disk, an empty file.
    pub fn finish(self) -> Result<(), Error> {
        // SAFETY: rule *Owner*.
        call(|error| unsafe { c::sealstone_table_writer_finish(self.writer.as_ptr(), error) })
    }
}

impl Drop for TableWriter<'_> {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*; the database it needs is borrowed.
        unsafe { c::sealstone_table_writer_free(self.writer.as_ptr()) }
    }
}

impl Db {
    /// Begins a table file at `path` with this database's options, to be ingested later.
    ///
    /// # Errors
    /// I/O.
    pub fn table_writer(&self, path: &Path) -> Result<TableWriter<'_>, Error> {
        let name = path_bytes(path);
        let mut writer = ptr::null_mut();
        // SAFETY: rules *Owner* and *Slices*.
        call(|error| unsafe {
            c::sealstone_table_writer_open(
                self.db.as_ptr(),
                name.as_ptr().cast(),
                name.len(),
                &mut writer,
                error,
            )
        })?;
        let writer = NonNull::new(writer).expect("the shim fills it in when it succeeds");
        Ok(TableWriter { writer, db: PhantomData })
    }

    /// Takes over table files made by a [`TableWriter`]; `move_files` links them instead of
    /// copying.
    ///
    /// # Errors
    /// I/O, files that overlap each other; nothing is taken over then.
    pub fn ingest(&self, files: &[&Path], move_files: bool) -> Result<(), Error> {
        let names: Vec<c::Bytes> = files.iter().map(|path| as_bytes(path_bytes(path))).collect();
        // SAFETY: rules *Owner* and *Slices*; `names` holds as many slices as stated.
        call(|error| unsafe {
            c::sealstone_db_ingest(
                self.db.as_ptr(),
                names.len(),
                names.as_ptr(),
                i32::from(move_files),
                error,
            )
        })
    }
}
