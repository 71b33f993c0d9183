//! The boundary to WiredTiger: its structures as far as we touch them, declared by hand, and the function that it calls to
//! load us. Callbacks of an encryptor are in `ffi/encryptor.rs`, of a file system in `ffi/file_system.rs`; `ffi/callbacks.rs`
//! calls the former as WiredTiger does. The only files of this crate with `unsafe`.
//!
//! Not here: what the callbacks do (`encryptor`, `files`), and which places in WiredTiger's table are the right ones
//! (`series`).
//!
//! Rules kept here, on which every `SAFETY` line relies:
//! - *Table.* `WT_CONNECTION` begins with a table of function pointers, the same for every connection of a process. Three of
//!   them are read and called, at places that `series` proved.
//! - *Owner.* An object with a table of ours is made by [`Box::into_raw`], and taken back by `terminate`, which WiredTiger calls once for
//!   each that it was given, when no other call is under way; or by us, if WiredTiger did not take it.
//! - *Bytes.* WiredTiger gives a source of `src_len` readable and a destination of `dst_len` writable bytes, apart from
//!   each other, for the time of the call, where the lengths are ones that it can mean: see `check_lengths`. The
//!   destination may be uninitialised: it is written before it is read.
//! - *Headers.* The source is in one buffer with what WiredTiger has before it: a header (of a page, of a journal record, or
//!   none), and in `decrypt` the length of 4 bytes. In `decrypt` its value less `src_len` is the length of both, since
//!   `src_len` was made of it; and a journal record is in the buffer as far as its own length says, since WiredTiger made
//!   its checksum over all of it. In `encrypt` no value says it; allocations of so many bytes begin at multiples of 16, so
//!   the remainder does, and bytes before the source are read only where it says that they are there.
//! - *Threads.* WiredTiger calls one encryptor from many threads at once: all that they share is [`Sync`].
//! - *Panics.* None leaves a callback: each becomes an error that is told.

use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use self::encryptor::{Iface, Object};
use self::file_system::FileSystem;
pub(crate) use self::start_writing::start_writing;
use crate::NAME;
use crate::encryptor::{Encryptor, ExtensionError};
use crate::image::Image;
use crate::journal::Journal;
use crate::series::{self, Series, Symbols, Version};
use crate::settings::Settings;

mod callbacks;
mod encryptor;
mod file_system;
mod start_writing;

pub use callbacks::Callbacks;

/// What a failed call returns: the system's "invalid argument", which WiredTiger passes on.
const FAILED: c_int = libc::EINVAL;

/// What a block or a file that cannot be read returns: WiredTiger's own `WT_ERROR`.
const UNREADABLE: c_int = -31802;

type Session = c_void;
type Connection = c_void;
type ConfigArg = c_void;

/// `WT_CONFIG_ITEM`: a value found in a configuration.
#[repr(C)]
struct ConfigItem {
    text: *const c_char,
    bytes: usize,
    number: i64,
    kind: c_int,
}

type Printf = unsafe extern "C" fn(*mut ExtensionApi, *mut Session, *const c_char, ...) -> c_int;

/// `WT_EXTENSION_API` up to the last function that we call; append-only by WiredTiger's own promise.
#[repr(C)]
struct ExtensionApi {
    connection: *mut Connection,
    err_printf: Printf,
    msg_printf: Printf,
    /// `strerror` to `collate`.
    uncalled: [*const c_void; 6],
    config_get: unsafe extern "C" fn(*mut Self, *mut Session, *mut ConfigArg, *const c_char, *mut ConfigItem) -> c_int,
    /// `config_get_string` to `unpack_uint`.
    uncalled_too: [*const c_void; 22],
    version: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> *const c_char,
}

#[derive(Clone, Copy)]
struct Log(*mut ExtensionApi);

impl Log {
    /// `session` may be null.
    fn error(self, session: *mut Session, error: &ExtensionError) {
        self.print(session, &error.to_string(), true);
    }

    fn print(self, session: *mut Session, text: &str, error: bool) {
        // one line of a log
        let Ok(text) = CString::new(format!("{NAME}: {}", text.replace('\n', "; "))) else { return };
        if self.0.is_null() {
            return;
        }
        // SAFETY: the pointer is the connection's own table (rule "table"), which outlives every encryptor. The format
        // takes one string, which lives through the call. WiredTiger allows null for the session.
        unsafe {
            let print = if error { (*self.0).err_printf } else { (*self.0).msg_printf };
            print(self.0, session, c"%s".as_ptr(), text.as_ptr());
        }
    }
}

fn panicked(place: &'static str, panic: &(dyn Any + Send)) -> ExtensionError {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let found = text.or_else(|| panic.downcast_ref::<String>().cloned());
    ExtensionError::Panic { place, found: found.unwrap_or_else(|| "a panic".into()) }
}

/// Runs `call`; tells what went wrong and returns `code` then.
fn guarded(
    log: Log,
    session: *mut Session,
    place: &'static str,
    code: c_int,
    call: impl FnOnce() -> Result<(), ExtensionError>,
) -> c_int {
    guarded_with(log, session, place, |_| code, |_| true, call)
}

/// Runs `call`; tells what went wrong if it is to be `told`, and returns its `code` then.
fn guarded_with(
    log: Log,
    session: *mut Session,
    place: &'static str,
    code: impl FnOnce(&ExtensionError) -> c_int,
    told: impl FnOnce(&ExtensionError) -> bool,
    call: impl FnOnce() -> Result<(), ExtensionError>,
) -> c_int {
    match catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(panicked(place, &*panic))) {
        Ok(()) => 0,
        Err(error) => {
            if told(&error) {
                // a panic here, such as one for want of memory, must not leave either
                let _ = catch_unwind(AssertUnwindSafe(|| log.error(session, &error)));
            }
            code(&error)
        }
    }
}

/// Loads the extension: WiredTiger calls it by this name.
///
/// A connection may be opened several times in one process, so nothing is kept but what the connection holds.
///
/// # Safety
/// Called by WiredTiger alone, with its connection and its configuration.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn wiredtiger_extension_init(
    connection: *mut Connection,
    config: *mut ConfigArg,
) -> c_int {
    let mut log = Log(ptr::null_mut());
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: as the caller promises.
        let settings = unsafe { settings(config) };
        let named = settings.as_ref().ok().and_then(|settings| settings.series.as_deref());
        // SAFETY: as the caller promises. Where program and symbols agree on a series, its log serves for whatever is
        // wrong with the settings.
        let table = unsafe { Table::find(connection, None) };
        if let Ok(table) = &table {
            log = table.log()?;
        }
        let table = match table {
            Ok(table) => series::choose(table.found, named).map(|_| table)?,
            // SAFETY: as the caller promises.
            Err(_) if named.is_some() => unsafe { Table::find(connection, named) }?,
            Err(error) => return Err(error),
        };
        log = table.log()?;
        let settings = settings?;
        let encryptor = Arc::new(Encryptor::open(&settings)?);
        let journal = Arc::new(Journal::new(encryptor.clone(), &settings));
        log.print(ptr::null_mut(), &encryptor.greeting(), false);
        if let Some(warning) = encryptor.warning() {
            log.print(ptr::null_mut(), &warning, false);
        }
        table.set_file_system(FileSystem::new(log, journal.clone()))?;
        table.add(Object::new(log, encryptor, Some(journal)))
    }));
    let error = match outcome.unwrap_or_else(|panic| Err(panicked("init", &*panic))) {
        Ok(()) => return 0,
        Err(error) => error,
    };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if log.0.is_null() {
            // without a place in WiredTiger that may be called there is only this; servers keep it, too
            eprintln!("{NAME}: {}", error.to_string().replace('\n', "; "));
        } else {
            log.error(ptr::null_mut(), &error);
        }
    }));
    FAILED
}

/// The settings in `config`, which is an array of texts that a null ends; the extension's own is the first.
///
/// # Safety
/// `config` is what WiredTiger passes to an extension.
unsafe fn settings(config: *mut ConfigArg) -> Result<Settings, ExtensionError> {
    let text = if config.is_null() {
        None
    } else {
        // SAFETY: as above: an array of texts.
        let first = unsafe { *config.cast::<*const c_char>() };
        // SAFETY: each text ends with a zero byte and lives through the call.
        (!first.is_null()).then(|| unsafe { CStr::from_ptr(first) })
    };
    Ok(Settings::parse(&text.unwrap_or_default().to_string_lossy())?)
}

/// The table of a connection whose series is sure.
struct Table {
    connection: *mut Connection,
    series: &'static Series,
    found: Option<Version>,
}

impl Table {
    /// # Safety
    /// `connection` is WiredTiger's.
    unsafe fn find(connection: *mut Connection, named: Option<&str>) -> Result<Self, ExtensionError> {
        // SAFETY: the table has more than 21 places in every series (rule "table"), so these are always readable.
        let place = |at: usize| unsafe { *connection.cast::<*const c_void>().add(at - 1) };
        let any = Image::at(place(1) as u64);
        let found = running_version().or_else(|| any.as_ref().and_then(Image::version));
        let series = series::choose(found, named)?;
        let places = [series.add_encryptor, series.set_file_system, series.get_extension_api];
        let addresses = places.map(|at| place(at) as u64);
        let symbols = match any.and_then(|image| image.symbols(addresses)) {
            Some(names) => Symbols::Named(names),
            None => Symbols::None,
        };
        series.prove(&symbols, found, named.is_some())?;
        Ok(Self { connection, series, found })
    }

    /// WiredTiger's functions for extensions, once they say that they are of the version that was found.
    fn log(&self) -> Result<Log, ExtensionError> {
        type Get = unsafe extern "C" fn(*mut Connection) -> *mut ExtensionApi;
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: the place was proved to hold this function (rule "table"). It returns the connection's own table of
        // functions, whose version function writes three numbers.
        let api = unsafe {
            let get = *self.connection.cast::<Get>().add(self.series.get_extension_api - 1);
            let api = get(self.connection);
            if api.is_null() || (*api).connection != self.connection {
                return Err(ExtensionError::Refused { attempted: "give its functions for extensions", code: 0 });
            }
            ((*api).version)(&mut major, &mut minor, &mut patch);
            api
        };
        let told = Version { major: major as u32, minor: minor as u32, patch: patch as u32 };
        match self.found {
            Some(found) if found != told => Err(ExtensionError::OtherVersion { told, found }),
            _ => {
                series::choose(Some(told), Some(self.series.name))?;
                Ok(Log(api))
            }
        }
    }

    /// Has WiredTiger use `files` for all that it stores.
    fn set_file_system(&self, files: Box<FileSystem>) -> Result<(), ExtensionError> {
        type Set = unsafe extern "C" fn(*mut Connection, *mut FileSystem, *const c_char) -> c_int;
        let files = Box::into_raw(files);
        // SAFETY: as in `add`.
        unsafe {
            let set = *self.connection.cast::<Set>().add(self.series.set_file_system - 1);
            match set(self.connection, files, ptr::null()) {
                0 => Ok(()),
                code => {
                    drop(Box::from_raw(files));
                    Err(ExtensionError::TooLate { code })
                }
            }
        }
    }

    /// Hands `object` over to WiredTiger.
    fn add(&self, object: Box<Object>) -> Result<(), ExtensionError> {
        type Add = unsafe extern "C" fn(*mut Connection, *const c_char, *mut Iface, *const c_char) -> c_int;
        let name = CString::new(NAME).expect("a name without a zero byte");
        let object = Box::into_raw(object);
        // SAFETY: the place was proved to hold this function (rule "table"). The object lives until it is terminated
        // (rule "owner"); where WiredTiger does not take it, it is ours again.
        unsafe {
            let add = *self.connection.cast::<Add>().add(self.series.add_encryptor - 1);
            let code = add(self.connection, name.as_ptr(), object.cast(), ptr::null());
            if code != 0 {
                drop(Box::from_raw(object));
                return Err(ExtensionError::Refused { attempted: "take the encryptor", code });
            }
        }
        Ok(())
    }
}

/// The version that WiredTiger's own function tells, where the program shows that function to libraries.
fn running_version() -> Option<Version> {
    type Tell = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> *const c_char;
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: a look-up by name; a function of this name is WiredTiger's, and writes three numbers.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"wiredtiger_version".as_ptr());
        if found.is_null() {
            return None;
        }
        let tell = std::mem::transmute::<*mut c_void, Tell>(found);
        tell(&mut major, &mut minor, &mut patch);
    }
    Some(Version { major: major as u32, minor: minor as u32, patch: patch as u32 })
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn a_panic_becomes_an_error() {
        let log = Log(ptr::null_mut());
        assert_eq!(guarded(log, ptr::null_mut(), "test", UNREADABLE, || panic!("on purpose")), UNREADABLE);
        assert_eq!(guarded(log, ptr::null_mut(), "test", FAILED, || Ok(())), 0);
        let told = panicked("encrypt", &String::from("out of range"));
        assert_eq!(
            told.to_string(),
            "sealstone failed within encrypt: out of range\nthis is a bug in sealstone; please report it"
        );
    }

    /// The places that WiredTiger's own header gives, counted in pointers.
    #[test]
    fn structures_are_laid_out_as_wiredtigers() {
        let pointer = size_of::<*const c_void>();
        assert_eq!(offset_of!(ExtensionApi, err_printf), pointer);
        assert_eq!(offset_of!(ExtensionApi, config_get), 9 * pointer);
        assert_eq!(offset_of!(ExtensionApi, version), 32 * pointer);
        assert_eq!((offset_of!(ConfigItem, bytes), offset_of!(ConfigItem, number)), (pointer, 2 * pointer));
    }
}
