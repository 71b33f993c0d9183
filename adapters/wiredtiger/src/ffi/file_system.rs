//! The tables of a file system and of its open files, as WiredTiger calls them: from its pointers
//! to slices and back. The rules that `SAFETY` lines name are in `ffi`, and these:
//! - *Handles.* A [`Handle`] and the list of a directory are made here and freed here, in `close`
//!   and `list_free`, which WiredTiger calls once for each, after every other call with it.
//! - *Names.* WiredTiger passes names that end with a zero byte and live through the call.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::slice;
use std::sync::Arc;

use nix::fcntl::PosixFadviseAdvice;

use super::api::{FAILED, Log, Session, UNREADABLE, guarded_with};
use crate::clear_files::{ClearFiles, LOCK_FILE};
use crate::encryptor::Encryptor;
use crate::error::ExtensionError;
use crate::files::{Files, How, OpenFile};
use crate::journal::Journal;
use crate::settings::Settings;

/// WiredTiger's own `WT_PANIC`: the server ends. A sync that failed must not be followed by one
/// that seems to succeed.
const PANIC: c_int = -31804;

/// `WT_FS_OPEN_FILE_TYPE` as far as it matters.
const TYPE_DATA: c_int = 1;
const TYPE_DIRECTORY: c_int = 2;
const TYPE_LOG: c_int = 3;

/// Flags of `fs_open_file` that all releases agree on.
const OPEN_RANDOM: u32 = 0x01;
const OPEN_SEQUENTIAL: u32 = 0x02;
const OPEN_CREATE: u32 = 0x04;
const OPEN_DIRECT: u32 = 0x08;
const OPEN_DURABLE: u32 = 0x10;
const OPEN_EXCLUSIVE: u32 = 0x20;

/// The flag of `fs_remove` and `fs_rename`.
const DURABLE: u32 = 1;

/// Value that `fh_advise` may pass.
const DONT_NEED: c_int = 1;
const WILL_NEED: c_int = 2;

type List = unsafe extern "C" fn(
    *mut FileSystem,
    *mut Session,
    *const c_char,
    *const c_char,
    *mut *mut *mut c_char,
    *mut u32,
) -> c_int;

/// `WT_FILE_SYSTEM`, followed by our fields.
#[repr(C)]
pub(super) struct FileSystem {
    list: List,
    list_single: List,
    list_free: unsafe extern "C" fn(*mut Self, *mut Session, *mut *mut c_char, u32) -> c_int,
    exist: unsafe extern "C" fn(*mut Self, *mut Session, *const c_char, *mut bool) -> c_int,
    open: unsafe extern "C" fn(
        *mut Self,
        *mut Session,
        *const c_char,
        c_int,
        u32,
        *mut *mut Handle,
    ) -> c_int,
    remove: unsafe extern "C" fn(*mut Self, *mut Session, *const c_char, u32) -> c_int,
    rename:
        unsafe extern "C" fn(*mut Self, *mut Session, *const c_char, *const c_char, u32) -> c_int,
    size: unsafe extern "C" fn(*mut Self, *mut Session, *const c_char, *mut i64) -> c_int,
    terminate: unsafe extern "C" fn(*mut Self, *mut Session) -> c_int,
    log: Log,
    files: Files,
    clear_files: ClearFiles,
    encryptor: Arc<Encryptor>,
    journal: Arc<Journal>,
}

type Position = unsafe extern "C" fn(*mut Handle, *mut Session, i64) -> c_int;
type Plain = unsafe extern "C" fn(*mut Handle, *mut Session) -> c_int;

/// `WT_FILE_HANDLE`, followed by our fields. WiredTiger does without the functions that are null.
#[repr(C)]
struct Handle {
    file_system: *mut FileSystem,
    name: *mut c_char,
    close: Plain,
    advise: unsafe extern "C" fn(*mut Self, *mut Session, i64, i64, c_int) -> c_int,
    extend: *const c_void,
    extend_nolock: Position,
    lock: unsafe extern "C" fn(*mut Self, *mut Session, bool) -> c_int,
    /// `map`, `map_discard`, `map_preload`, `unmap`.
    maps: [*const c_void; 4],
    read: unsafe extern "C" fn(*mut Self, *mut Session, i64, usize, *mut c_void) -> c_int,
    size: unsafe extern "C" fn(*mut Self, *mut Session, *mut i64) -> c_int,
    sync: Plain,
    sync_nowait: Plain,
    truncate: Position,
    write: unsafe extern "C" fn(*mut Self, *mut Session, i64, usize, *const c_void) -> c_int,
    log: Log,
    file: OpenFile,
}

impl FileSystem {
    pub(super) fn new(
        log: Log,
        encryptor: Arc<Encryptor>,
        journal: Arc<Journal>,
        settings: &Settings,
    ) -> Box<Self> {
        let (clear_files, files) =
            (ClearFiles::new(settings.accept_clear_files), Files::new(journal.clone()));
        Box::new(Self {
            list,
            list_single,
            list_free,
            exist,
            open,
            remove,
            rename,
            size,
            terminate,
            log,
            files,
            clear_files,
            encryptor,
            journal,
        })
    }
}

/// Returns the code that reports a failure to WiredTiger: the system's number if there is one, as
/// its own file system does.
fn code(error: &ExtensionError) -> c_int {
    match error {
        ExtensionError::File { source, .. }
        | ExtensionError::Journal(crate::JournalError::File { source, .. }) => {
            source.raw_os_error().unwrap_or(UNREADABLE)
        }
        ExtensionError::SyncFailed => PANIC,
        // the requesting client sees this
        ExtensionError::ClearFile { .. } => FAILED,
        _ => UNREADABLE,
    }
}

/// Runs `call`; logs an error, unless a file is missing, which WiredTiger checks for regularly.
fn guarded(
    log: Log,
    session: *mut Session,
    place: &'static str,
    call: impl FnOnce() -> Result<(), ExtensionError>,
) -> c_int {
    let not_found = ErrorKind::NotFound;
    let missing = |error: &ExtensionError| {
        let ExtensionError::File { source, .. } = error else { return false };
        source.kind() == not_found
    };
    guarded_with(log, session, place, code, |error| !missing(error), call)
}

/// # Safety
/// Rule "names".
unsafe fn path<'a>(name: *const c_char) -> &'a Path {
    // SAFETY: as the caller promises.
    Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()))
}

fn position(at: i64) -> Result<u64, ExtensionError> {
    u64::try_from(at)
        .map_err(|_| ExtensionError::Refused { attempted: "name a place in a file", code: FAILED })
}

unsafe extern "C" fn list(
    files: *mut FileSystem,
    session: *mut Session,
    dir: *const c_char,
    prefix: *const c_char,
    names: *mut *mut *mut c_char,
    count: *mut u32,
) -> c_int {
    // SAFETY: WiredTiger passes what this requires.
    unsafe { list_some(files, session, (dir, prefix), false, (names, count)) }
}

unsafe extern "C" fn list_single(
    files: *mut FileSystem,
    session: *mut Session,
    dir: *const c_char,
    prefix: *const c_char,
    names: *mut *mut *mut c_char,
    count: *mut u32,
) -> c_int {
    // SAFETY: WiredTiger passes what this requires.
    unsafe { list_some(files, session, (dir, prefix), true, (names, count)) }
}

/// # Safety
/// As WiredTiger calls `fs_directory_list`.
unsafe fn list_some(
    files: *mut FileSystem,
    session: *mut Session,
    (dir, prefix): (*const c_char, *const c_char),
    single: bool,
    (names, count): (*mut *mut *mut c_char, *mut u32),
) -> c_int {
    // SAFETY: WiredTiger passes what `init` gave it (rule "owner").
    let files = unsafe { &*files };
    guarded(files.log, session, "list", || {
        // SAFETY: rule "names"; the prefix may be null.
        let (dir, prefix) = unsafe {
            (
                path(dir),
                if prefix.is_null() { c"" } else { CStr::from_ptr(prefix) }.to_string_lossy(),
            )
        };
        let found = files.files.list(dir, &prefix, single)?;
        // a name from the system has no zero byte
        let found: Vec<*mut c_char> = found
            .into_iter()
            .filter_map(|name| CString::new(name).ok())
            .map(CString::into_raw)
            .collect();
        let found = found.into_boxed_slice();
        // SAFETY: WiredTiger passes places for the list and its length, and gives both to
        // `list_free` (rule "handles").
        unsafe {
            *count = found.len() as u32;
            *names = if found.is_empty() { ptr::null_mut() } else { Box::into_raw(found).cast() };
        }
        Ok(())
    })
}

unsafe extern "C" fn list_free(
    files: *mut FileSystem,
    session: *mut Session,
    names: *mut *mut c_char,
    count: u32,
) -> c_int {
    // SAFETY: WiredTiger passes what `init` gave it (rule "owner").
    let files = unsafe { &*files };
    guarded(files.log, session, "list_free", || {
        if !names.is_null() {
            // SAFETY: made by `list_some`, of this length, with names made by `CString` (rule
            // "handles").
            unsafe {
                let names = Box::from_raw(ptr::slice_from_raw_parts_mut(names, count as usize));
                names.iter().for_each(|name| drop(CString::from_raw(*name)));
            }
        }
        Ok(())
    })
}

unsafe extern "C" fn exist(
    files: *mut FileSystem,
    session: *mut Session,
    name: *const c_char,
    exists: *mut bool,
) -> c_int {
    // SAFETY: WiredTiger passes what `init` gave it (rule "owner").
    let files = unsafe { &*files };
    guarded(files.log, session, "exist", || {
        // SAFETY: rule "names"; WiredTiger passes a place for the answer.
        unsafe { *exists = files.files.exists(path(name))? };
        Ok(())
    })
}

unsafe extern "C" fn open(
    files: *mut FileSystem,
    session: *mut Session,
    name: *const c_char,
    kind: c_int,
    flags: u32,
    handle: *mut *mut Handle,
) -> c_int {
    // SAFETY: WiredTiger passes what `init` gave it (rule "owner").
    let ours = unsafe { &*files };
    guarded(ours.log, session, "open", || {
        // SAFETY: rule "names".
        let (path, own_name) = unsafe { (path(name), CStr::from_ptr(name).to_owned()) };
        let set = |flag| flags & flag != 0;
        let advice = match kind {
            TYPE_DATA if set(OPEN_SEQUENTIAL) => Some(PosixFadviseAdvice::POSIX_FADV_SEQUENTIAL),
            TYPE_DATA if set(OPEN_RANDOM) => Some(PosixFadviseAdvice::POSIX_FADV_RANDOM),
            _ => None,
        };
        let how = How {
            directory: kind == TYPE_DIRECTORY,
            log: kind == TYPE_LOG,
            create: set(OPEN_CREATE),
            exclusive: set(OPEN_EXCLUSIVE),
            durable: set(OPEN_DURABLE),
            direct: set(OPEN_DIRECT),
            advice,
        };
        let file = ours.files.open(path, how)?;
        if path.file_name().is_some_and(|name| name == LOCK_FILE)
            && let Some(home) = path.parent()
        {
            ours.encryptor.keep_counts(home);
        }
        if let Some(name) = ours.clear_files.opened(path, kind == TYPE_DATA, how.create)
            && ours.journal.is_active()
        {
            // SAFETY: WiredTiger passes the session that opens the file, within a call with it.
            let encryption = unsafe { ours.log.encryption(session, &name) };
            if let Some(said) = ours.clear_files.judge(path, encryption)? {
                ours.log.print(session, &said, false);
            }
        }
        let made = Box::new(Handle {
            file_system: files,
            name: own_name.into_raw(),
            close,
            advise,
            extend: ptr::null(),
            extend_nolock: extend,
            lock,
            maps: [ptr::null(); 4],
            read,
            size: file_size,
            sync,
            sync_nowait,
            truncate,
            write,
            log: ours.log,
            file,
        });
        // SAFETY: WiredTiger passes a place for the handle, and gives it to `close` (rule
        // "handles").
        unsafe { *handle = Box::into_raw(made) };
        Ok(())
    })
}

unsafe extern "C" fn remove(
    files: *mut FileSystem,
    session: *mut Session,
    name: *const c_char,
    flags: u32,
) -> c_int {
    // SAFETY: WiredTiger passes what `init` gave it (rule "owner").
    let files = unsafe { &*files };
    guarded(files.log, session, "remove", || {
        // SAFETY: rule "names".
        let path = unsafe { path(name) };
        files.files.remove(path, flags & DURABLE != 0)?;
        files.clear_files.gone(path);
        Ok(())
    })
}

unsafe extern "C" fn rename(
    files: *mut FileSystem,
    session: *mut Session,
    from: *const c_char,
    to: *const c_char,
    flags: u32,
) -> c_int {
    // SAFETY: WiredTiger passes what `init` gave it (rule "owner").
    let files = unsafe { &*files };
    guarded(files.log, session, "rename", || {
        // SAFETY: rule "names".
        let (from, to) = unsafe { (path(from), path(to)) };
        files.files.rename(from, to, flags & DURABLE != 0)?;
        files.clear_files.gone(from);
        Ok(())
    })
}

unsafe extern "C" fn size(
    files: *mut FileSystem,
    session: *mut Session,
    name: *const c_char,
    bytes: *mut i64,
) -> c_int {
    // SAFETY: WiredTiger passes what `init` gave it (rule "owner").
    let files = unsafe { &*files };
    guarded(files.log, session, "size", || {
        // SAFETY: rule "names"; WiredTiger passes a place for the answer.
        unsafe { *bytes = files.files.bytes_of(path(name))? as i64 };
        Ok(())
    })
}

unsafe extern "C" fn terminate(files: *mut FileSystem, session: *mut Session) -> c_int {
    // SAFETY: WiredTiger calls this once, after every other call (rule "owner").
    let files = unsafe { Box::from_raw(files) };
    guarded(files.log, session, "terminate", || files.files.close())
}

unsafe extern "C" fn close(handle: *mut Handle, session: *mut Session) -> c_int {
    // SAFETY: made by `open`, with a name made by `CString`, and closed once (rule "handles").
    let handle = unsafe { Box::from_raw(handle) };
    guarded(handle.log, session, "close", || {
        // SAFETY: as above.
        drop(unsafe { CString::from_raw(handle.name) });
        Ok(())
    })
}

unsafe extern "C" fn advise(
    handle: *mut Handle,
    _: *mut Session,
    at: i64,
    bytes: i64,
    advice: c_int,
) -> c_int {
    // SAFETY: WiredTiger passes what `open` gave it (rule "handles").
    let handle = unsafe { &*handle };
    let advice = match advice {
        DONT_NEED => PosixFadviseAdvice::POSIX_FADV_DONTNEED,
        WILL_NEED => PosixFadviseAdvice::POSIX_FADV_WILLNEED,
        _ => return libc::ENOTSUP,
    };
    handle.file.advise(at, bytes, advice).err().unwrap_or(0)
}

unsafe extern "C" fn extend(handle: *mut Handle, _: *mut Session, bytes: i64) -> c_int {
    // SAFETY: WiredTiger passes what `open` gave it (rule "handles").
    let handle = unsafe { &*handle };
    handle.file.extend(bytes).err().unwrap_or(0)
}

unsafe extern "C" fn lock(handle: *mut Handle, session: *mut Session, lock: bool) -> c_int {
    // SAFETY: WiredTiger passes what `open` gave it (rule "handles").
    let handle = unsafe { &*handle };
    guarded(handle.log, session, "lock", || handle.file.lock(lock))
}

unsafe extern "C" fn read(
    handle: *mut Handle,
    session: *mut Session,
    at: i64,
    bytes: usize,
    into: *mut c_void,
) -> c_int {
    // SAFETY: WiredTiger passes what `open` gave it (rule "handles").
    let handle = unsafe { &*handle };
    guarded(handle.log, session, "read", || {
        // SAFETY: WiredTiger passes a buffer of that many writable bytes. They may be
        // uninitialised, so they are written first.
        let into = unsafe {
            ptr::write_bytes(into.cast::<u8>(), 0, bytes);
            slice::from_raw_parts_mut(into.cast::<u8>(), bytes)
        };
        handle.file.read(position(at)?, into)
    })
}

unsafe extern "C" fn file_size(
    handle: *mut Handle,
    session: *mut Session,
    bytes: *mut i64,
) -> c_int {
    // SAFETY: WiredTiger passes what `open` gave it (rule "handles").
    let handle = unsafe { &*handle };
    guarded(handle.log, session, "size", || {
        // SAFETY: WiredTiger passes a place for the answer.
        unsafe { *bytes = handle.file.bytes()? as i64 };
        Ok(())
    })
}

unsafe extern "C" fn sync(handle: *mut Handle, session: *mut Session) -> c_int {
    // SAFETY: WiredTiger passes what `open` gave it (rule "handles").
    let handle = unsafe { &*handle };
    match guarded(handle.log, session, "sync", || handle.file.sync()) {
        0 => 0,
        _ => PANIC,
    }
}

unsafe extern "C" fn sync_nowait(handle: *mut Handle, session: *mut Session) -> c_int {
    // SAFETY: WiredTiger passes what `open` gave it (rule "handles").
    let handle = unsafe { &*handle };
    guarded(handle.log, session, "sync_nowait", || handle.file.start_sync())
}

unsafe extern "C" fn truncate(handle: *mut Handle, session: *mut Session, bytes: i64) -> c_int {
    // SAFETY: WiredTiger passes what `open` gave it (rule "handles").
    let handle = unsafe { &*handle };
    guarded(handle.log, session, "truncate", || handle.file.cut(position(bytes)?))
}

unsafe extern "C" fn write(
    handle: *mut Handle,
    session: *mut Session,
    at: i64,
    bytes: usize,
    from: *const c_void,
) -> c_int {
    // SAFETY: WiredTiger passes what `open` gave it (rule "handles").
    let handle = unsafe { &*handle };
    guarded(handle.log, session, "write", || {
        // SAFETY: WiredTiger passes a buffer of that many readable bytes.
        let from = unsafe { slice::from_raw_parts(from.cast::<u8>(), bytes) };
        handle.file.write(position(at)?, from)
    })
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// The places that WiredTiger's own header gives, counted in pointers.
    #[test]
    fn the_tables_are_laid_out_as_wiredtigers() {
        let pointer = size_of::<*const c_void>();
        assert_eq!(offset_of!(FileSystem, list), 0);
        assert_eq!(offset_of!(FileSystem, open), 4 * pointer);
        assert_eq!(offset_of!(FileSystem, terminate), 8 * pointer);
        assert_eq!(offset_of!(Handle, file_system), 0);
        assert_eq!(offset_of!(Handle, close), 2 * pointer);
        assert_eq!(offset_of!(Handle, lock), 6 * pointer);
        assert_eq!(offset_of!(Handle, read), 11 * pointer);
        assert_eq!(offset_of!(Handle, write), 16 * pointer);
    }
}
