//! The boundary to MariaDB: the declaration of the plug-in that it reads, and the functions that it
//! calls. Its structures, declared by hand, are in `ffi/api.rs`, its variables in
//! `ffi/variables.rs`. The only files of this crate with `unsafe`.
//!
//! Rules kept here, on which every `SAFETY` line relies:
//! - *Bytes.* The server passes keys, nonces and sources of the lengths that it states, readable,
//!   and a destination that has room for as many bytes as [`Context::output_bytes`] returns for the
//!   source: it requested that length before, or needs no more than the source has. `*dlen` is only
//!   written: some callers leave it uninitialised. Source and destination may be the same bytes.
//! - *Contexts.* The server gives memory for one pointer, aligned to nothing in particular, passes
//!   it to one thread at a time, and calls `finish` once after each `init` that succeeded.
//! - *Panics.* None leaves a function: each becomes a refusal.

use std::ffi::{c_int, c_uchar, c_uint, c_void};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use std::{ptr, slice};

use self::api::{Encryption, PluginDeclaration};
use crate::context::{Context, encrypted_bytes};
use crate::error::PluginError;
use crate::plugin::{Level, Occasion, Plugin};
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

/// The last refusal that was logged, and when.
static LAST_REFUSAL: Mutex<Option<(String, Instant)>> = Mutex::new(None);
/// Time after which the same refusal is logged again: it may have another occasion.
const REFUSAL_AGAIN: Duration = Duration::from_secs(60);

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
    let outcome = refused_if_it_panics(|| {
        let occasion = if is_start() { Occasion::ServerStart } else { Occasion::Install };
        // a server starts its plug-ins in its data directory
        let start =
            |settings: Settings| Plugin::start(&settings, occasion, Path::new("."), Arc::new(log));
        let started = variables::settings().and_then(start);
        match started {
            Ok(plugin) => {
                *PLUGIN.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(plugin));
                DONE
            }
            Err(error) => {
                log(Level::Error, &error.to_string());
                1
            }
        }
    });
    if outcome != DONE {
        end_a_start();
    }
    outcome
}

/// Ends the process if the server is starting. It would go on without us to the recovery of Aria's
/// tables, which leaves out pages that it cannot read, and takes its log for applied: the newest
/// rows would be gone.
fn end_a_start() {
    if is_start() {
        // SAFETY: nothing of this process runs afterwards; no destructor of the server does, which
        // is not ready for it.
        unsafe { libc::_exit(1) }
    }
}

/// Returns whether the server is starting: its first thread does that, and INSTALL PLUGIN comes
/// from another one.
fn is_start() -> bool {
    // SAFETY: no pointer and no state is touched.
    let thread = unsafe { libc::gettid() };
    u32::try_from(thread) == Ok(std::process::id())
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
/// it states, or is null.
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
                log_refusal(&error.to_string());
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
                let made = Context::new(unit, key_id, key.len(), flags.cast_unsigned());
                if made.encrypts() {
                    plugin.encrypts_under(version);
                }
                let made = Box::new(made.counted_in(Arc::clone(plugin.tally())));
                // SAFETY: rule *Contexts*.
                unsafe { context.cast::<*mut Context>().write_unaligned(Box::into_raw(made)) };
                DONE
            }
            Err(error) => {
                plugin.tally().failed();
                refused(&error.into())
            }
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
                if output == 0 {
                    &mut []
                } else {
                    ptr::copy(source, target, bytes);
                    target.add(bytes).write_bytes(0, output - bytes);
                    slice::from_raw_parts_mut(target, output)
                }
            };
            // a piece that was refused leaves nothing behind
            context.update(data).inspect_err(|_| data.fill(0))
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
        log(Level::Error, "a bug of the plug-in; the call was refused");
        REFUSED
    })
}

fn refused(error: &PluginError) -> c_int {
    log_refusal(&error.to_string());
    REFUSED
}

/// Writes a refusal to the server's log, once a minute: the server requests the same key and the
/// same page again and again.
fn log_refusal(text: &str) {
    let mut last = LAST_REFUSAL.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known =
        last.as_ref().is_some_and(|(said, at)| said == text && at.elapsed() < REFUSAL_AGAIN);
    if !is_known {
        log(Level::Error, text);
        *last = Some((text.to_owned(), Instant::now()));
    }
}

/// Writes a line to the server's log, which its standard error is, with the server's own word for
/// its weight.
fn log(level: Level, text: &str) {
    let word = match level {
        Level::Note => "Note",
        Level::Warning => "Warning",
        Level::Error => "ERROR",
    };
    // a log that cannot be written ends no server
    let _ = writeln!(io::stderr(), "[{word}] {NAME}: {}", text.replace('\n', "; "));
}

#[cfg(test)]
mod tests {
    use sealstone_keys::KeyFile;

    use super::*;
    use crate::settings::Texts;

    const NONCE: [u8; 16] = [7; 16];

    /// Makes the calls for one page or record, whose pieces are enciphered in place where
    /// `in_place`, and returns what they made.
    fn crypt(
        (key_id, version, flags): (u32, u32, c_int),
        (key, nonce): (&[u8], &[u8]),
        pieces: &[&[u8]],
        in_place: bool,
    ) -> Result<Vec<u8>, c_int> {
        let mut memory = [0xee_u8; size_of::<*mut Context>() + 1];
        // aligned to nothing
        let context: *mut c_void = (&raw mut memory[1]).cast();
        // SAFETY: the lengths are those of the slices, and the memory is as large as was asked for.
        let begun = unsafe {
            let (key_bytes, nonce_bytes) = (key.len() as c_uint, nonce.len() as c_uint);
            let (key, nonce) = (key.as_ptr(), nonce.as_ptr());
            ctx_init(context, key, key_bytes, nonce, nonce_bytes, flags, key_id, version)
        };
        if begun != DONE {
            return Err(begun);
        }
        let mut all = Vec::new();
        let mut outcome = DONE;
        for piece in pieces {
            let mut target = vec![0xee; piece.len() + 16];
            target[..piece.len()].copy_from_slice(piece);
            let source = if in_place { target.as_ptr() } else { piece.as_ptr() };
            let mut made = 0xeeee_eeee;
            let (bytes, target_start) = (piece.len() as c_uint, target.as_mut_ptr());
            // SAFETY: as above; the target has room for 16 bytes more.
            outcome = unsafe { ctx_update(context, source, bytes, target_start, &raw mut made) };
            if outcome != DONE {
                // of blocks that shrink nothing was written
                let clean = |byte: &u8| *byte == 0 || flags & 3 == 0;
                assert!(target[..piece.len()].iter().all(clean));
                break;
            }
            all.extend_from_slice(&target[..made as usize]);
            assert!(target[(made as usize).max(piece.len())..].iter().all(|byte| *byte == 0xee));
        }
        let mut made = 0xeeee_eeee;
        // SAFETY: as above; it was begun, and is used no more.
        assert_eq!(unsafe { ctx_finish(context, ptr::null_mut(), &raw mut made) }, DONE);
        assert_eq!(made, 0);
        if outcome == DONE { Ok(all) } else { Err(outcome) }
    }

    /// One test for all calls: a process has one plug-in.
    #[test]
    fn calls_of_a_server_are_answered_or_refused() {
        assert_eq!(get_latest_key_version(1), NO_VERSION);
        assert_eq!(crypt((1, 0x104, 3), (&[1; 16], &NONCE), &[b"x"], false), Err(REFUSED));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("orders.key");
        KeyFile::create(&path, "orders").unwrap();
        let key = path.to_str().unwrap();
        for (pages, mode) in [("", 0), ("cbc-cs1", 0x80)] {
            let texts = Texts { key, cipher: "aria-256", pages, ..Texts::default() };
            let settings = Settings::new(texts, 60).unwrap();
            let start = Occasion::ServerStart;
            let started = Plugin::start(&settings, start, dir.path(), Arc::new(|_, _| {})).unwrap();
            *PLUGIN.write().unwrap() = Some(Arc::new(started));
            let version = get_latest_key_version(100);
            assert_eq!(version, 1 << 8 | mode | 4);
            answers_or_refuses(version);
        }
    }

    fn answers_or_refuses(version: c_uint) {
        let mut key = [0_u8; 32];
        for (version, room, answer, length) in [
            (version, 16, TOO_SMALL, 32),
            (version, 0, TOO_SMALL, 32),
            (version, 32, 0, 32),
            (9, 32, NO_VERSION, 32),
        ] {
            let mut found = room;
            // SAFETY: the key has room for 32 bytes, and no more than `room` are written.
            let said = unsafe { get_key(100, version, key.as_mut_ptr(), &raw mut found) };
            assert_eq!((said, found), (answer, length), "{room}");
        }
        let mut length = 32;
        // SAFETY: a server requests the length so.
        assert_eq!(unsafe { get_key(100, version, ptr::null_mut(), &raw mut length) }, 0);
        // SAFETY: nothing is written where nothing is.
        assert_eq!(unsafe { get_key(1, version, ptr::null_mut(), ptr::null_mut()) }, NO_VERSION);
        assert_ne!(key, [0; 32]);

        let page: Vec<u8> = (0..16354_u32).map(|at| (at / 5) as u8).collect();
        let (short, long) = (&key[..16], &key[..]);
        for (key_id, passed, written, read) in [
            // pages, a merge of 1 MiB, a short compressed page
            (100, short, vec![&page[..]], vec![16354]),
            (1, short, vec![&page[..]], vec![16354]),
            (100, short, vec![&page[..226]], vec![226]),
            // a page too short to be a whole, and nothing at all
            (100, short, vec![&page[..15]], vec![15]),
            (100, short, vec![&page[..0]], vec![0]),
            // logs, read in other pieces than they were written in
            (1, short, vec![&page[..32], &page[32..288], &page[288..294]], vec![16, 240, 38]),
            (1, long, vec![&page[..15], &page[15..35], &page[35..8188]], vec![8188]),
        ] {
            for in_place in [false, true] {
                let units = (passed, &NONCE[..]);
                let sealed = crypt((key_id, version, 3), units, &written, in_place).unwrap();
                let clear = written.concat();
                assert_eq!(sealed.len(), clear.len());
                assert!(clear.len() < 15 || sealed != clear, "{key_id}");
                let mut rest = &sealed[..];
                let pieces: Vec<&[u8]> =
                    read.iter().map(|bytes| rest.split_off(..*bytes).unwrap()).collect();
                let opened = crypt((key_id, version, 2), units, &pieces, in_place).unwrap();
                assert_eq!(opened, clear, "{key_id}");
            }
        }
        // a record goes on after whole blocks alone
        let pieces = [&page[..15], &page[15..32]];
        assert_eq!(crypt((1, version, 3), (short, &NONCE), &pieces, false), Err(REFUSED));
        // a block of a temporary file grows, and shows a change
        for bytes in [0, 1, 65536] {
            let block = vec![5; bytes];
            let sealed = crypt((2, version, 1), (short, &NONCE), &[&block], false).unwrap();
            assert_eq!(sealed.len() as u32, encrypted_length(bytes as u32, 2, version));
            let open = |sealed: &[u8]| crypt((2, version, 0), (short, &NONCE), &[sealed], false);
            assert_eq!(open(&sealed), Ok(block));
            let mut changed = sealed.clone();
            changed[bytes / 2] ^= 1;
            assert_eq!(open(&changed), Err(REFUSED));
            assert_eq!(open(&sealed[..sealed.len() - 1]), Err(REFUSED));
            assert_eq!(open(&[]), Err(REFUSED));
        }
        // what no server should pass
        for (key, nonce) in [
            (&key[..0], &NONCE[..]),
            (&[1; 33][..], &NONCE[..]),
            (short, &NONCE[..15]),
            (short, &[1; 17][..]),
        ] {
            assert_eq!(crypt((1, version, 3), (key, nonce), &[b"x"], false), Err(REFUSED));
        }
        assert_eq!(crypt((1, 9, 3), (short, &NONCE), &[b"x"], false), Err(REFUSED));
        let in_pieces = [&page[..300], &page[300..]];
        assert_eq!(crypt((100, version, 3), (short, &NONCE), &in_pieces, false), Err(REFUSED));
        assert_eq!(deinit(ptr::null_mut()), DONE);
        assert_eq!(get_latest_key_version(1), NO_VERSION);
    }
}
