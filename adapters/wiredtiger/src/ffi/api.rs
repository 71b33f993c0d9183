//! The parts of WiredTiger's structures that we use, the results of its calls, and the guard around
//! each call that it makes.

use std::any::Any;
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use crate::NAME;
use crate::clear_files::Encryption;
use crate::error::ExtensionError;

/// Return value of a failed call: the system's "invalid argument", which WiredTiger passes on.
pub(super) const FAILED: c_int = libc::EINVAL;

/// Return value for something that does not exist: WiredTiger's own `WT_NOTFOUND`.
pub(super) const NOT_FOUND: c_int = -31803;

/// Return value for a block or a file that cannot be read: WiredTiger's own `WT_ERROR`.
pub(super) const UNREADABLE: c_int = -31802;

pub(super) type Session = c_void;
pub(super) type Connection = c_void;
pub(super) type ConfigArg = c_void;

/// `WT_CONFIG_ITEM`: a value found in a configuration.
#[repr(C)]
pub(super) struct ConfigItem {
    pub(super) text: *const c_char,
    pub(super) bytes: usize,
    pub(super) number: i64,
    pub(super) kind: c_int,
}

pub(super) type Printf =
    unsafe extern "C" fn(*mut ExtensionApi, *mut Session, *const c_char, ...) -> c_int;

/// `WT_EXTENSION_API` up to the last function that we call; append-only by WiredTiger's own
/// promise.
#[repr(C)]
pub(super) struct ExtensionApi {
    pub(super) connection: *mut Connection,
    pub(super) err_printf: Printf,
    pub(super) msg_printf: Printf,
    /// `strerror` to `collate`.
    uncalled: [*const c_void; 6],
    pub(super) config_get: unsafe extern "C" fn(
        *mut Self,
        *mut Session,
        *mut ConfigArg,
        *const c_char,
        *mut ConfigItem,
    ) -> c_int,
    pub(super) config_get_string: unsafe extern "C" fn(
        *mut Self,
        *mut Session,
        *const c_char,
        *const c_char,
        *mut ConfigItem,
    ) -> c_int,
    /// `config_parser_open` to `metadata_remove`.
    uncalled_too: [*const c_void; 5],
    pub(super) metadata_search:
        unsafe extern "C" fn(*mut Self, *mut Session, *const c_char, *mut *mut c_char) -> c_int,
    /// `metadata_update` to `unpack_uint`.
    uncalled_either: [*const c_void; 15],
    pub(super) version: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> *const c_char,
}

#[derive(Clone, Copy)]
pub(super) struct Log(pub(super) *mut ExtensionApi);

impl Log {
    /// Logs `error`; `session` may be null.
    pub(super) fn error(self, session: *mut Session, error: &ExtensionError) {
        self.print(session, &error.to_string(), true);
    }

    pub(super) fn print(self, session: *mut Session, text: &str, error: bool) {
        // one line of a log
        let Ok(text) = CString::new(format!("{NAME}: {}", text.replace('\n', "; "))) else {
            return;
        };
        if self.0.is_null() {
            return;
        }
        // SAFETY: the pointer is the connection's own table (rule "table"), which outlives every
        // encryptor. The format takes one string, which lives through the call. WiredTiger allows
        // null for the session.
        unsafe {
            let print = if error { (*self.0).err_printf } else { (*self.0).msg_printf };
            print(self.0, session, c"%s".as_ptr(), text.as_ptr());
        }
    }
}

impl Log {
    /// Reads from the metadata how the file called `name` there, such as `file:a.wt`, is encrypted.
    ///
    /// # Safety
    /// `session` is one of this connection, and no other thread uses it during the call.
    pub(super) unsafe fn encryption(self, session: *mut Session, name: &str) -> Encryption {
        let Ok(name) = CString::new(name) else { return Encryption::NoFile };
        let mut config: *mut c_char = ptr::null_mut();
        let mut item = ConfigItem { text: ptr::null(), bytes: 0, number: 0, kind: 0 };
        // SAFETY: the pointer is the connection's own table (rule "table"). WiredTiger itself reads
        // its metadata where it opens a data file. It returns a text allocated for the caller,
        // which frees it after the parts that point into it were copied.
        unsafe {
            match ((*self.0).metadata_search)(self.0, session, name.as_ptr(), &raw mut config) {
                0 => {}
                NOT_FOUND => return Encryption::NoFile,
                code => return Encryption::Unknown(code),
            }
            let found = ((*self.0).config_get_string)(
                self.0,
                session,
                config,
                c"encryption.name".as_ptr(),
                &raw mut item,
            );
            let encryption = match found {
                0 if item.text.is_null() => Encryption::By(String::new()),
                0 => {
                    let text = slice::from_raw_parts(item.text.cast::<u8>(), item.bytes);
                    Encryption::By(String::from_utf8_lossy(text).into_owned())
                }
                NOT_FOUND => Encryption::By(String::new()),
                code => Encryption::Unknown(code),
            };
            libc::free(config.cast());
            encryption
        }
    }
}

pub(super) fn panicked(place: &'static str, panic: &(dyn Any + Send)) -> ExtensionError {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let found = text.or_else(|| panic.downcast_ref::<String>().cloned());
    ExtensionError::Panic { place, found: found.unwrap_or_else(|| "a panic".into()) }
}

/// Runs `call`; logs what went wrong and then returns `code`.
pub(super) fn guarded(
    log: Log,
    session: *mut Session,
    place: &'static str,
    code: c_int,
    call: impl FnOnce() -> Result<(), ExtensionError>,
) -> c_int {
    guarded_with(log, session, place, |_| code, |_| true, call)
}

/// Runs `call`; logs an error if `logged` selects it, and then returns its `code`.
pub(super) fn guarded_with(
    log: Log,
    session: *mut Session,
    place: &'static str,
    code: impl FnOnce(&ExtensionError) -> c_int,
    logged: impl FnOnce(&ExtensionError) -> bool,
    call: impl FnOnce() -> Result<(), ExtensionError>,
) -> c_int {
    match catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(panicked(place, &*panic)))
    {
        Ok(()) => 0,
        Err(error) => {
            if logged(&error) {
                // a panic here, such as one for lack of memory, must not escape either
                let _ = catch_unwind(AssertUnwindSafe(|| log.error(session, &error)));
            }
            code(&error)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;
    use std::ptr;

    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let log = Log(ptr::null_mut());
        assert_eq!(
            guarded(log, ptr::null_mut(), "test", UNREADABLE, || panic!("on purpose")),
            UNREADABLE
        );
        assert_eq!(guarded(log, ptr::null_mut(), "test", FAILED, || Ok(())), 0);
        let panic = panicked("encrypt", &String::from("out of range"));
        assert_eq!(
            panic.to_string(),
            "sealstone failed within encrypt: out of range\nthis is a bug in sealstone; please \
             report it"
        );
    }

    /// The places that WiredTiger's own header gives, counted in pointers.
    #[test]
    fn structures_are_laid_out_as_wiredtigers() {
        let pointer = size_of::<*const c_void>();
        assert_eq!(offset_of!(ExtensionApi, err_printf), pointer);
        assert_eq!(offset_of!(ExtensionApi, config_get), 9 * pointer);
        assert_eq!(offset_of!(ExtensionApi, config_get_string), 10 * pointer);
        assert_eq!(offset_of!(ExtensionApi, metadata_search), 16 * pointer);
        assert_eq!(offset_of!(ExtensionApi, version), 32 * pointer);
        assert_eq!(
            (offset_of!(ConfigItem, bytes), offset_of!(ConfigItem, number)),
            (pointer, 2 * pointer)
        );
    }
}
