//! Environments that the shim of another crate makes, and calls of its functions (feature
//! `testing`). Not here: those functions (`dev/simulator`).
//!
//! The rules of `ffi` hold here, too.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use sealstone_cipher::Cipher;

use super::call::{self as own, NO_MEMORY, deliver};
use super::env::Env;
use super::error::Error;
use super::sealed_fs::SEAL_OPS;
use crate::file_system::SealedFiles;
use crate::sealing_options::Sealing;

/// A `sealstone_sink`.
pub type Sink = unsafe extern "C" fn(*mut c_void, usize, *const u8, usize);

/// An environment that the shim of another crate made. It ends with the last clone.
#[derive(Clone, Debug)]
pub struct ForeignEnv(Arc<Env>);

impl ForeignEnv {
    /// Takes over the `sealstone_env` that `make` makes. Its arguments are what seals the files: a
    /// `sealstone_seal_ops`, and the seal, which is null where `sealing` is not given.
    ///
    /// # Panics
    /// If `make` returns null.
    ///
    /// # Safety
    /// The result of `make` is null, or lives until `sealstone_env_free`, which nobody else calls
    /// with it. It copies the operations, and takes the seal over for them alone.
    pub unsafe fn new(
        sealing: Option<Sealing>,
        make: impl FnOnce(*const c_void, *const c_void) -> *mut c_void,
    ) -> Self {
        let kept = sealing.map(|sealing| Arc::new(SealedFiles::new(sealing)));
        let seal = kept.as_ref().map_or(ptr::null(), |seal| Arc::into_raw(Arc::clone(seal)).cast());
        let env = make((&raw const SEAL_OPS).cast(), seal);
        Self(Arc::new(Env(NonNull::new(env.cast()).expect(NO_MEMORY), kept)))
    }

    /// Returns the `sealstone_env`, which lives as long as a clone of this value.
    #[must_use]
    pub fn as_ptr(&self) -> *mut c_void {
        self.0.0.as_ptr().cast()
    }

    /// Sets `cipher` for new files from now on; without a seal nothing happens.
    pub fn set_cipher(&self, cipher: &'static Cipher) {
        if let Some(files) = self.0.sealed_files() {
            files.set_cipher(cipher);
        }
    }
}

/// Makes a call that fills in a `sealstone_error` when it fails, which is then not 0.
///
/// # Errors
/// The error that the call filled in.
pub fn call(function: impl FnOnce(*mut c_void) -> i32) -> Result<(), Error> {
    own::call(|error| function(error.cast()))
}

/// Makes a call as [`call`] does that hands found values to `found`, through a sink and the context
/// of that.
///
/// # Errors
/// As [`call`].
pub fn call_with_sink(
    found: &mut dyn FnMut(usize, &[u8]),
    function: impl FnOnce(Sink, *mut c_void, *mut c_void) -> i32,
) -> Result<(), Error> {
    own::call_with_sink(found, |context, error| function(deliver, context, error.cast()))
}
