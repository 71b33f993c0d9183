//! Writes that take effect together.
//!
//! The rules of `ffi` hold here, too.

use std::ptr::NonNull;

use super::c;
use super::call::{NO_MEMORY, call};
use super::database::Db;
use super::error::Error;

/// Writes that take effect together.
#[derive(Debug)]
pub struct WriteBatch(NonNull<c::Batch>);

// SAFETY: a write batch is plain memory; rule *Threads*.
unsafe impl Send for WriteBatch {}

impl WriteBatch {
    /// Returns an empty batch.
    pub fn new() -> Self {
        // SAFETY: no requirements.
        Self(NonNull::new(unsafe { c::sealstone_batch_new() }).expect(NO_MEMORY))
    }

    /// Adds a write.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        // SAFETY: rules *Owner* and *Slices*.
        unsafe {
            c::sealstone_batch_put(
                self.0.as_ptr(),
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
            );
        }
    }

    /// Adds a removal.
    pub fn delete(&mut self, key: &[u8]) {
        // SAFETY: rules *Owner* and *Slices*.
        unsafe { c::sealstone_batch_delete(self.0.as_ptr(), key.as_ptr(), key.len()) }
    }
}

impl Default for WriteBatch {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for WriteBatch {
    fn drop(&mut self) {
        // SAFETY: rule *Owner*.
        unsafe { c::sealstone_batch_free(self.0.as_ptr()) }
    }
}

impl Db {
    /// Writes all of `batch`, or none of it.
    ///
    /// # Errors
    /// As [`Db::put`].
    pub fn write(&self, batch: &mut WriteBatch, sync: bool) -> Result<(), Error> {
        self.env.about_to_write();
        // SAFETY: rule *Owner* for both.
        call(|error| unsafe {
            c::sealstone_db_write(self.db.as_ptr(), batch.0.as_ptr(), i32::from(sync), error)
        })
    }
}
