//! Startup of the library when it is loaded, and the functions of `include/sealstone_rocksdb.h`.
//! The only file of this crate with `unsafe`.
//!
//! Rules kept here, on which every `SAFETY` line relies:
//! - *Texts.* A text from the caller is null, or ends with a zero byte and lives through the call.
//!   A returned text comes from `malloc` and is the caller's, or lives as long as the process where
//!   the header states that.
//! - *Panics.* None leaves a function: each becomes an error.

use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::catch_unwind;
use std::ptr;
use std::sync::OnceLock;

use sealstone_rocksdb::{SealedEnv, library, register};

use crate::environment::sealing;
use crate::settings::SCHEME;

/// Exit code of a program that cannot be run, as the loader's own where a symbol is missing.
const CANNOT_RUN: i32 = 127;

/// Message that replaces a panic.
const PANICKED: &str = "a bug in sealstone: it panicked, please report it";

// SAFETY: the loader calls the functions in this section once, after the libraries that this one
// needs are ready, RocksDB among them, and ignores arguments that a function does not take.
#[used]
#[unsafe(link_section = ".init_array")]
static WHEN_LOADED: extern "C" fn() = when_loaded;

/// Registers our scheme with the RocksDB that is loaded, unless that is one with another layout in
/// memory.
extern "C" fn when_loaded() {
    let registered = catch_unwind(|| {
        library::check().map_err(|mismatch| mismatch.to_string())?;
        register(SCHEME, from_uri).map_err(|error| error.to_string())
    });
    let Err(error) = registered.unwrap_or_else(|_| Err(PANICKED.into())) else { return };
    // the loading program has no other way to learn of this
    let _ = catch_unwind(|| eprintln!("sealstone: {error}"));
    if catch_unwind(is_preloaded).unwrap_or(true) {
        // SAFETY: ends the process, without anything of it that is not ready yet.
        unsafe { libc::_exit(CANNOT_RUN) };
    }
}

/// Returns whether the process was started for the sake of this library. RocksDB falls back to
/// files in the clear for an environment that it does not recognize, so the process must not go on
/// without the library.
fn is_preloaded() -> bool {
    std::env::var_os("LD_PRELOAD")
        .is_some_and(|list| list.to_string_lossy().contains("sealstone_rocksdb_plugin"))
}

/// Opens the sealing for `uri`, when called by RocksDB's registry. RocksDB appends `: ` and the URI
/// to the error message.
fn from_uri(uri: &str) -> Result<sealstone_rocksdb::Sealing, String> {
    sealing(uri).map_err(|error| format!("{error}\nin"))
}

/// Implements the header's declaration.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sealstone_rocksdb_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Implements the header's declaration.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sealstone_rocksdb_built_for() -> *const c_char {
    static BUILT_FOR: OnceLock<CString> = OnceLock::new();
    let made = catch_unwind(|| BUILT_FOR.get_or_init(|| text(&library::built_for())).as_ptr());
    made.unwrap_or_else(|_| c"".as_ptr())
}

/// Implements the header's declaration.
///
/// # Safety
/// `settings` as in rule *Texts*; `error` is null, or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_rocksdb_env_create(
    settings: *const c_char,
    error: *mut *mut c_char,
) -> *mut c_void {
    let made = catch_unwind(|| {
        library::check().map_err(|mismatch| mismatch.to_string())?;
        if settings.is_null() {
            return Err("no settings were given: the pointer is null\npass \
                        key=/path/store.key&cipher=aes-256"
                .into());
        }
        // SAFETY: rule *Texts*.
        let settings = unsafe { CStr::from_ptr(settings) };
        let settings = settings
            .to_str()
            .map_err(|_| "the settings are not UTF-8\nrename the files that they name")?;
        Ok(SealedEnv::for_c(sealing(settings).map_err(|error| error.to_string())?))
    });
    let (env, reason) =
        match made.unwrap_or_else(|_| Err::<ptr::NonNull<c_void>, String>(PANICKED.into())) {
            Ok(env) => (env.as_ptr(), None),
            Err(reason) => (ptr::null_mut(), Some(reason)),
        };
    if error.is_null() {
        return env;
    }
    // SAFETY: promised by the caller. The copy ends with a zero byte, and is null where there is no
    // memory.
    unsafe {
        *error = reason.map_or(ptr::null_mut(), |reason| libc::strdup(text(&reason).as_ptr()))
    };
    env
}

/// Returns `text` for C, up to the first zero byte, which is in no message.
fn text(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(settings: Option<&CStr>) -> String {
        let mut error = ptr::null_mut();
        let settings = settings.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: a text that ends with a zero byte, or null, and a pointer of ours.
        let env = unsafe { sealstone_rocksdb_env_create(settings, &mut error) };
        assert!(env.is_null() && !error.is_null());
        // SAFETY: a text from `strdup`, freed once.
        unsafe {
            let said = CStr::from_ptr(error).to_str().unwrap().to_owned();
            libc::free(error.cast());
            said
        }
    }

    #[test]
    fn errors_are_texts_of_the_caller() {
        assert!(error_of(None).starts_with("no settings were given"));
        assert!(
            error_of(Some(c"key=/nonexistent/x.key&cipher=aes-256")).starts_with("no key file at ")
        );
        assert!(error_of(Some(c"kye=/a")).contains("did you mean key?"));
        assert!(error_of(Some(c"key=/\xff")).starts_with("the settings are not UTF-8"));
        // SAFETY: a null error is ignored.
        assert!(unsafe { sealstone_rocksdb_env_create(c"".as_ptr(), ptr::null_mut()) }.is_null());
    }

    #[test]
    fn versions_are_texts() {
        // SAFETY: both live as long as the process.
        let (own, engine) = unsafe {
            (
                CStr::from_ptr(sealstone_rocksdb_version()),
                CStr::from_ptr(sealstone_rocksdb_built_for()),
            )
        };
        assert_eq!(own.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
        assert!(library::version().starts_with(&format!("{}.", engine.to_str().unwrap())));
    }
}
