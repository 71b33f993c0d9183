//! The boundary to WiredTiger: the function that it calls to load the extension. The parts of its
//! structures that we use, declared by hand, are in `ffi/api.rs`, its connection in
//! `ffi/connection.rs`, callbacks of an encryptor in `ffi/encryptor.rs`, of a file system in
//! `ffi/file_system.rs`; `ffi/callbacks.rs` calls the encryptor as WiredTiger does. The only files
//! of this crate with `unsafe`.
//!
//! Rules kept here, on which every `SAFETY` line relies:
//! - *Table.* `WT_CONNECTION` begins with a table of function pointers, the same for every
//!   connection of a process. Three of them are read and called, at places that `series` proved.
//! - *Owner.* An object with a table of ours is made by [`Box::into_raw`], and taken back by
//!   `terminate`, which WiredTiger calls once for each object that it received, when no other call
//!   is under way; or by us, if WiredTiger did not take it.
//! - *Bytes.* WiredTiger passes a source of `src_len` readable and a destination of `dst_len`
//!   writable bytes, which do not overlap, for the duration of the call, where the lengths are
//!   plausible: see `check_lengths`. The destination may be uninitialised: it is written before it
//!   is read.
//! - *Headers.* The source is in the same buffer as the bytes before it: a header (of a page, of a
//!   journal record, or none), and in `decrypt` the length of 4 bytes. In `decrypt` its value minus
//!   `src_len` is the length of both, since `src_len` was computed from it; and a journal record is
//!   in the buffer up to its own length, since WiredTiger computed its checksum over all of it. In
//!   `encrypt` no value gives that length; allocations of that many bytes begin at multiples of 16,
//!   so the remainder does, and bytes before the source are read only where it shows that they are
//!   there.
//! - *Threads.* WiredTiger calls one encryptor from many threads at once: all that they share is
//!   [`Sync`].
//! - *Panics.* None leaves a callback: each becomes an error in the log.

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use self::api::{ConfigArg, Connection, FAILED, Log, panicked};
use self::connection::Table;
use self::encryptor::Object;
use self::file_system::FileSystem;
use crate::NAME;
use crate::encryptor::Encryptor;
use crate::error::ExtensionError;
use crate::journal::Journal;
use crate::series;
use crate::settings::Settings;

mod api;
mod callbacks;
mod connection;
mod encryptor;
mod file_system;

pub use callbacks::Callbacks;

/// Loads the extension: WiredTiger calls it by this name.
///
/// A connection may be opened several times in one process, so nothing is kept except what the
/// connection holds.
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
        // SAFETY: as the caller promises. Where program and symbols agree on a series, its log is
        // used for whatever is wrong with the settings.
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
        table.set_file_system(FileSystem::new(
            log,
            encryptor.clone(),
            journal.clone(),
            &settings,
        ))?;
        table.add(Object::new(log, encryptor, Some(journal)))
    }));
    let error = match outcome.unwrap_or_else(|panic| Err(panicked("init", &*panic))) {
        Ok(()) => return 0,
        Err(error) => error,
    };
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if log.0.is_null() {
            // while no function of WiredTiger may be called, there is only this; servers keep it,
            // too
            eprintln!("{NAME}: {}", error.to_string().replace('\n', "; "));
        } else {
            log.error(ptr::null_mut(), &error);
        }
    }));
    FAILED
}

/// Returns the settings in `config`, which is an array of texts that a null ends; the extension's
/// own is the first.
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
