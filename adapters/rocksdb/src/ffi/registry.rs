//! RocksDB's registry of objects: URIs of ours that it passes back to be opened.
//!
//! The rules of `ffi` hold here, too.

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use super::c;
use super::call::{call, from_bytes};
use super::error::Error;
use super::sealed_fs::SEAL_OPS;
use crate::file_system::SealedFiles;
use crate::sealing_options::Sealing;

/// Opens what a URI names: how files are sealed there, or why not, for the person who wrote the
/// URI.
pub type Opener = fn(uri: &str) -> Result<Sealing, String>;

/// Function that opens URIs; a single function for the process, since the shim passes no context
/// on.
static OPENER: OnceLock<Opener> = OnceLock::new();

/// Makes RocksDB open, until the process ends, URIs that are `scheme` or begin with `scheme://` by
/// `open`: `--fs_uri` and `--env_uri` of its tools, `FileSystem::CreateFromString`,
/// `Env::CreateFromUri`. Does nothing if it was called before.
///
/// To be called only where [`crate::library::check`] finds no mismatch.
///
/// # Errors
/// No memory.
pub fn register(scheme: &str, open: Opener) -> Result<(), Error> {
    if OPENER.set(open).is_err() {
        return Ok(());
    }
    // SAFETY: rule *Slices*; the operations fit what `open_uri` hands over.
    call(|error| unsafe {
        c::sealstone_register(scheme.as_ptr().cast(), scheme.len(), &SEAL_OPS, open_uri, error)
    })
}

/// # Safety
/// Implements `sealstone_opener` of `shim/sealstone.h`.
unsafe extern "C" fn open_uri(
    uri: *const c_char,
    uri_bytes: usize,
    seal: *mut *const c_void,
    sink: c::Sink,
    context: *mut c_void,
) -> i32 {
    let opened = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the shim passes readable bytes that live during the call.
        let uri = unsafe { from_bytes(c::Bytes { data: uri.cast(), bytes: uri_bytes }) };
        let open =
            OPENER.get().ok_or("a bug in sealstone: nothing was registered, please report it")?;
        let uri = std::str::from_utf8(uri)
            .map_err(|_| "the URI is not UTF-8\nrename the files that it names")?;
        open(uri)
    }));
    let panicked =
        || Err("a bug in sealstone: opening a URI panicked, please report it".to_owned());
    match opened.unwrap_or_else(|_| panicked()) {
        Ok(sealing) => {
            let files = Arc::into_raw(Arc::new(SealedFiles::new(sealing)));
            // SAFETY: the shim's to be written; it takes the files over.
            unsafe { *seal = files.cast() };
            0
        }
        Err(reason) => {
            // SAFETY: the shim's own function with its context; the text lives during the call.
            unsafe { sink(context, 0, reason.as_ptr(), reason.len()) };
            1
        }
    }
}
