//! The boundary to MariaDB: the declaration of the plug-in that it reads, and the functions that it
//! calls. Its structures, declared by hand, are in `ffi/api.rs`, its variables in
//! `ffi/variables.rs`. The only files of this crate with `unsafe`.
//!
//! Not here: keys (`plugin`), and what a call enciphers (`context`).
//!
//! Rules kept here, on which every `SAFETY` line relies:
//! - *Bytes.* The server passes keys, nonces and sources of the lengths that it says, readable, and
//!   a destination that has room for as many bytes as [`Context::output_bytes`] says of the source:
//!   it asked for that length before, or needs no more than the source has. `*dlen` is only
//!   written: some callers leave it uninitialised. Source and destination may be the same bytes.
//! - *Contexts.* The server gives memory for one pointer, aligned to nothing in particular, passes
//!   it to one thread at a time, and calls `finish` once after each `init` that succeeded.
//! - *Panics.* None leaves a function: each becomes a refusal.

use std::ffi::{c_int, c_uchar, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};
use std::{ptr, slice};

use self::api::{Encryption, PluginDeclaration};
use crate::context::{Context, encrypted_bytes};
use crate::error::PluginError;
use crate::plugin::Plugin;
use crate::{NAME, Settings};

mod api;
mod variables;

/// Result of a call that succeeded.
const DONE: c_int = 0;
/// Result of one that was refused: the server then refuses the table, and does not end.
const REFUSED: c_int = -1;
/// Number of a version that there is not.
const NO_VERSION: c_uint = c_uint::MAX;
/// Result of asking for a key with too little room for it.
const TOO_SMALL: c_uint = 100;

/// The plug-in while the server runs; a process has one server.
static PLUGIN: RwLock<Option<Arc<Plugin>>> = RwLock::new(None);

/// Version of the interface of plug-ins.
#[unsafe(no_mangle)]
pub(crate) static _maria_plugin_interface_version_: c_int = 0x010f;

/// Length of a declaration, in bytes.
#[unsafe(no_mangle)]
pub(crate) static _maria_sizeof_struct_st_plugin_: c_int = size_of::<PluginDeclaration>() as c_int;

/// The plug-ins of this library, and their end.
#[unsafe(no_mangle)]
pub(crate) static _maria_plugin_declarations_: [PluginDeclaration; 2] =
    [PluginDeclaration::new(&ENCRYPTION, init, deinit, &variables::ALL), PluginDeclaration::END];

static ENCRYPTION: Encryption = Encryption {
    interface_version: api::ENCRYPTION_INTERFACE_VERSION,
    get_latest_key_version,
    get_key,
    ctx_size,
    ctx_init,
    ctx_update,
    ctx_finish,
    encrypted_length,
};

extern "C" fn init(_: *mut c_void) -> c_int {
    refused_if_it_panics(|| {
        let started = variables::settings()
            .and_then(|settings: Settings| Plugin::start(&settings, Box::new(log)));
        match started {
            Ok(plugin) => {
                *PLUGIN.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(plugin));
                DONE
            }
            Err(error) => {
                log(&error.to_string());
                1
            }
        }
    })
}

extern "C" fn deinit(_: *mut c_void) -> c_int {
    refused_if_it_panics(|| {
        let plugin = PLUGIN.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(plugin);
        DONE
    })
}

extern "C" fn get_latest_key_version(_key_id: c_uint) -> c_uint {
    catch_unwind(|| plugin().map_or(NO_VERSION, |plugin| plugin.current())).unwrap_or(NO_VERSION)
}

/// Gives the key for the number `key_id`.
///
/// # Safety
/// Called by the server: `length` is readable and writable, and `key` has room for as many bytes as
/// it says, or is null.
unsafe extern "C" fn get_key(
    key_id: c_uint,
    version: c_uint,
    key: *mut c_uchar,
    length: *mut c_uint,
) -> c_uint {
    let answer = AssertUnwindSafe(|| {
        let Some(plugin) = plugin() else { return NO_VERSION };
        let found = match plugin.keys().server_key(key_id, version) {
            Ok(found) => found,
            Err(error) => {
                log(&error.to_string());
                return NO_VERSION;
            }
        };
        if length.is_null() {
            return NO_VERSION;
        }
        // SAFETY: as the caller promises.
        let room = unsafe { length.replace(found.len() as c_uint) };
        if (room as usize) < found.len() {
            return TOO_SMALL;
        }
        if !key.is_null() {
            // SAFETY: as the caller promises; the room was compared.
            unsafe { ptr::copy_nonoverlapping(found.as_ptr(), key, found.len()) };
        }
        0
    });
    catch_unwind(answer).unwrap_or(NO_VERSION)
}

extern "C" fn ctx_size(_key_id: c_uint, _version: c_uint) -> c_uint {
    size_of::<*mut Context>() as c_uint
}

/// Begins a call for a page or a record.
///
/// # Safety
/// Called by the server, by the rules *Bytes* and *Contexts*.
unsafe extern "C" fn ctx_init(
    context: *mut c_void,
    key: *const c_uchar,
    key_bytes: c_uint,
    nonce: *const c_uchar,
    nonce_bytes: c_uint,
    flags: c_int,
    key_id: c_uint,
    version: c_uint,
) -> c_int {
    refused_if_it_panics(|| {
        let Some(plugin) = plugin() else { return REFUSED };
        // SAFETY: rule *Bytes*.
        let (key, nonce) = unsafe { (bytes(key, key_bytes), bytes(nonce, nonce_bytes)) };
        match plugin.keys().unit(key_id, version, key, nonce) {
            Ok(unit) => {
                let made = Box::new(Context::new(unit, key_id, key.len(), flags.cast_unsigned()));
                // SAFETY: rule *Contexts*.
                unsafe { context.cast::<*mut Context>().write_unaligned(Box::into_raw(made)) };
                DONE
            }
            Err(error) => refused(&error.into()),
        }
    })
}

/// Enciphers or deciphers a piece.
///
/// # Safety
/// Called by the server, by the rules *Bytes* and *Contexts*.
unsafe extern "C" fn ctx_update(
    context: *mut c_void,
    source: *const c_uchar,
    source_bytes: c_uint,
    target: *mut c_uchar,
    target_bytes: *mut c_uint,
) -> c_int {
    refused_if_it_panics(|| {
        // SAFETY: rule *Contexts*: it was made by `ctx_init`, and no other thread has it.
        let context = unsafe { &mut *context.cast::<*mut Context>().read_unaligned() };
        let bytes = source_bytes as usize;
        let output = context.output_bytes(bytes);
        let outcome = if output >= bytes {
            // SAFETY: rule *Bytes*: the target has room for the output, which is no shorter than
            // the source; they may overlap. Bytes beyond the source are set before they are read.
            let data = unsafe {
                ptr::copy(source, target, bytes);
                target.add(bytes).write_bytes(0, output - bytes);
                slice::from_raw_parts_mut(target, output)
            };
            if bytes == 0 && output == 0 { Ok(()) } else { context.update(data) }
        } else {
            // SAFETY: rule *Bytes*.
            let mut data = unsafe { self::bytes(source, source_bytes) }.to_vec();
            context.update(&mut data).inspect(|()| {
                // SAFETY: rule *Bytes*: the target has room for the output.
                unsafe { ptr::copy_nonoverlapping(data.as_ptr(), target, output) };
            })
        };
        // SAFETY: rule *Bytes*.
        unsafe { target_bytes.write(output as c_uint) };
        outcome.map_or_else(|error| refused(&error), |()| DONE)
    })
}

/// Ends a call.
///
/// # Safety
/// Called by the server, by the rules *Bytes* and *Contexts*.
unsafe extern "C" fn ctx_finish(
    context: *mut c_void,
    _target: *mut c_uchar,
    target_bytes: *mut c_uint,
) -> c_int {
    refused_if_it_panics(|| {
        // SAFETY: rule *Bytes*.
        unsafe { target_bytes.write(0) };
        // SAFETY: rule *Contexts*: made by `ctx_init`, and this is its end.
        drop(unsafe { Box::from_raw(context.cast::<*mut Context>().read_unaligned()) });
        DONE
    })
}

extern "C" fn encrypted_length(bytes: c_uint, key_id: c_uint, _version: c_uint) -> c_uint {
    encrypted_bytes(bytes, key_id)
}

fn plugin() -> Option<Arc<Plugin>> {
    PLUGIN.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Returns the bytes at `start`.
///
/// # Safety
/// As many bytes are readable there as long as the result lives; nobody writes them.
unsafe fn bytes<'a>(start: *const c_uchar, length: c_uint) -> &'a [u8] {
    if start.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: as the caller promises; a length of 32 bits fits.
    unsafe { slice::from_raw_parts(start, length as usize) }
}

fn refused_if_it_panics(call: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
        log("a bug of the plug-in; the call was refused");
        REFUSED
    })
}

fn refused(error: &PluginError) -> c_int {
    log(&error.to_string());
    REFUSED
}

/// Writes a line to the server's log, which its standard error is.
fn log(text: &str) {
    eprintln!("{NAME}: {}", text.replace('\n', "; "));
}
