//! The boundary for files that are kept in Rust: callbacks of `shim/base_fs.cc`, and environments
//! on such files.
//!
//! The rules of `ffi` hold here, too.

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use sealstone_rocksdb::Sealing;
use sealstone_rocksdb::testing::ForeignEnv;

use super::bytes::from_bytes;
use crate::base_files::{BaseFiles, How, Refusal};

const OK: i32 = 0;
const NOT_SUPPORTED: i32 = 6;

type Names = unsafe extern "C" fn(*mut c_void, *const c_char, usize);
type OnPath = unsafe extern "C" fn(*const c_void, *const c_char, usize) -> i32;
type OnPaths =
    unsafe extern "C" fn(*const c_void, *const c_char, usize, *const c_char, usize) -> i32;
type Same = unsafe extern "C" fn(
    *const c_void,
    *const c_char,
    usize,
    *const c_char,
    usize,
    *mut i32,
) -> i32;
type Look = unsafe extern "C" fn(*const c_void, *const c_char, usize, *mut u32, *mut u64) -> i32;
type List = unsafe extern "C" fn(*const c_void, *const c_char, usize, Names, *mut c_void) -> i32;

/// `sealstone_base_ops` of `shim/base_files.h`, in its order.
#[repr(C)]
struct BaseOps {
    release: unsafe extern "C" fn(*const c_void),
    open: unsafe extern "C" fn(*const c_void, *const c_char, usize, u32, *mut u64) -> i32,
    close: unsafe extern "C" fn(*const c_void, u64),
    read: unsafe extern "C" fn(*const c_void, u64, u64, usize, *mut u8, *mut usize) -> i32,
    append: unsafe extern "C" fn(*const c_void, u64, *const u8, usize) -> i32,
    write: unsafe extern "C" fn(*const c_void, u64, u64, *const u8, usize) -> i32,
    truncate: unsafe extern "C" fn(*const c_void, u64, u64) -> i32,
    sync: unsafe extern "C" fn(*const c_void, u64) -> i32,
    handle_size: unsafe extern "C" fn(*const c_void, u64, *mut u64) -> i32,
    size: unsafe extern "C" fn(*const c_void, *const c_char, usize, *mut u64) -> i32,
    look: Look,
    same: Same,
    list: List,
    remove: OnPath,
    rename: OnPaths,
    link: OnPaths,
    make_directory: OnPath,
    remove_directory: OnPath,
    sync_directory: OnPath,
    lock: OnPath,
    unlock: unsafe extern "C" fn(*const c_void, *const c_char, usize),
}

unsafe extern "C" {
    fn sealstone_env_on(
        base_ops: *const BaseOps,
        base: *const c_void,
        count: i32,
        ops: *const c_void,
        seal: *const c_void,
    ) -> *mut c_void;
}

/// Target of the pointer `base`: a pointer to a trait object is two words, and C keeps one.
struct Base(Arc<dyn BaseFiles>);

static BASE_OPS: BaseOps = BaseOps {
    release: base_release,
    open: base_open,
    close: base_close,
    read: base_read,
    append: base_append,
    write: base_write,
    truncate: base_truncate,
    sync: base_sync,
    handle_size: base_handle_size,
    size: base_size,
    look: base_look,
    same: base_same,
    list: base_list,
    remove: base_remove,
    rename: base_rename,
    link: base_link,
    make_directory: base_make_directory,
    remove_directory: base_remove_directory,
    sync_directory: base_sync_directory,
    lock: base_lock,
    unlock: base_unlock,
};

/// Makes an environment on `files` that counts, and seals where `sealing` is given.
pub(crate) fn env_on(files: Arc<dyn BaseFiles>, sealing: Option<Sealing>) -> ForeignEnv {
    let base = Box::into_raw(Box::new(Base(files))).cast_const().cast();
    // SAFETY: the table fits the type behind `base`; the shim copies both tables, takes `base` and
    // `seal` over, and gives its environment away.
    unsafe { ForeignEnv::new(sealing, |ops, seal| sealstone_env_on(&BASE_OPS, base, 1, ops, seal)) }
}

/// Runs the body of a callback and gives its answer to the shim; a panic is "not supported".
///
/// # Safety
/// `base` is from `env_on` and lives during the call.
unsafe fn answer(
    base: *const c_void,
    body: impl FnOnce(&dyn BaseFiles) -> Result<(), Refusal>,
) -> i32 {
    // SAFETY: promised by the caller.
    let base = unsafe { &*base.cast::<Base>() };
    match catch_unwind(AssertUnwindSafe(|| body(&*base.0))) {
        Ok(Ok(())) => OK,
        Ok(Err(refusal)) => refusal as i32,
        Err(_) => NOT_SUPPORTED,
    }
}

/// A path of the shim.
///
/// # Safety
/// `path` points to `bytes` readable bytes that live for `'a`.
unsafe fn path<'a>(path: *const c_char, bytes: usize) -> Result<&'a str, Refusal> {
    // SAFETY: promised by the caller.
    let bytes = unsafe { from_bytes(path.cast(), bytes) };
    std::str::from_utf8(bytes).map_err(|_| Refusal::NotSupported)
}

/// # Safety
/// `base` is from `env_on` and not used afterwards.
unsafe extern "C" fn base_release(base: *const c_void) {
    // SAFETY: promised by the caller: the shim calls this once, at the end of the file system.
    let base = unsafe { Box::from_raw(base.cast_mut().cast::<Base>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(base)));
}

/// # Safety
/// Implements the declaration in `shim/base_files.h`.
unsafe extern "C" fn base_open(
    base: *const c_void,
    name: *const c_char,
    name_bytes: usize,
    how: u32,
    handle: *mut u64,
) -> i32 {
    // SAFETY: `base` lives as long as the file system, `name` during the call; `handle` is the
    // shim's to be written.
    unsafe {
        answer(base, |files| {
            let how = match how {
                0 => How::Read,
                1 => How::Create,
                2 => How::Append,
                3 => How::Update,
                _ => return Err(Refusal::NotSupported),
            };
            *handle = files.open(path(name, name_bytes)?, how)?;
            Ok(())
        })
    }
}

/// # Safety
/// Implements the declaration in `shim/base_files.h`.
unsafe extern "C" fn base_close(base: *const c_void, handle: u64) {
    // SAFETY: `base` lives as long as the file system and its open files.
    unsafe {
        answer(base, |files| {
            files.close(handle);
            Ok(())
        });
    }
}

/// # Safety
/// Implements the declaration in `shim/base_files.h`.
unsafe extern "C" fn base_read(
    base: *const c_void,
    handle: u64,
    offset: u64,
    bytes: usize,
    into: *mut u8,
    got: *mut usize,
) -> i32 {
    // SAFETY: `base` lives as long as its open files; `into` is writable for `bytes` bytes that
    // nobody else looks at and that are only written; `got` is the shim's to be written.
    unsafe {
        answer(base, |files| {
            let into =
                if bytes == 0 { &mut [][..] } else { std::slice::from_raw_parts_mut(into, bytes) };
            *got = files.read(handle, offset, into)?;
            Ok(())
        })
    }
}

/// # Safety
/// Implements the declaration in `shim/base_files.h`.
unsafe extern "C" fn base_append(
    base: *const c_void,
    handle: u64,
    data: *const u8,
    bytes: usize,
) -> i32 {
    // SAFETY: `base` lives as long as its open files, `data` during the call.
    unsafe { answer(base, |files| files.append(handle, from_bytes(data, bytes))) }
}

/// # Safety
/// Implements the declaration in `shim/base_files.h`.
unsafe extern "C" fn base_write(
    base: *const c_void,
    handle: u64,
    offset: u64,
    data: *const u8,
    bytes: usize,
) -> i32 {
    // SAFETY: as in `base_append`.
    unsafe { answer(base, |files| files.write(handle, offset, from_bytes(data, bytes))) }
}

/// # Safety
/// Implements the declaration in `shim/base_files.h`.
unsafe extern "C" fn base_truncate(base: *const c_void, handle: u64, bytes: u64) -> i32 {
    // SAFETY: `base` lives as long as its open files.
    unsafe { answer(base, |files| files.truncate(handle, bytes)) }
}

/// # Safety
/// Implements the declaration in `shim/base_files.h`.
unsafe extern "C" fn base_sync(base: *const c_void, handle: u64) -> i32 {
    // SAFETY: `base` lives as long as its open files.
    unsafe { answer(base, |files| files.sync(handle)) }
}

/// # Safety
/// Implements the declaration in `shim/base_files.h`.
unsafe extern "C" fn base_handle_size(base: *const c_void, handle: u64, bytes: *mut u64) -> i32 {
    // SAFETY: `base` lives as long as its open files; `bytes` is the shim's to be written.
    unsafe {
        answer(base, |files| {
            *bytes = files.handle_size(handle)?;
            Ok(())
        })
    }
}

/// # Safety
/// Implements the declaration in `shim/base_files.h`.
unsafe extern "C" fn base_size(
    base: *const c_void,
    name: *const c_char,
    name_bytes: usize,
    bytes: *mut u64,
) -> i32 {
    // SAFETY: `base` lives as long as the file system, `name` during the call; `bytes` is the
    // shim's to be written.
    unsafe {
        answer(base, |files| {
            *bytes = files.size(path(name, name_bytes)?)?;
            Ok(())
        })
    }
}

/// # Safety
/// Implements the declaration in `shim/base_files.h`.
unsafe extern "C" fn base_look(
    base: *const c_void,
    name: *const c_char,
    name_bytes: usize,
    kind: *mut u32,
    links: *mut u64,
) -> i32 {
    // SAFETY: `base` lives as long as the file system, `name` during the call; the others are the
    // shim's to be written.
    unsafe {
        answer(base, |files| {
            let found = files.look(path(name, name_bytes)?)?;
            *kind = u32::from(found.is_directory);
            *links = found.links;
            Ok(())
        })
    }
}

/// # Safety
/// Implements the declaration in `shim/base_files.h`.
unsafe extern "C" fn base_same(
    base: *const c_void,
    one: *const c_char,
    one_bytes: usize,
    other: *const c_char,
    other_bytes: usize,
    same: *mut i32,
) -> i32 {
    // SAFETY: `base` lives as long as the file system, the paths during the call; `same` is the
    // shim's to be written.
    unsafe {
        answer(base, |files| {
            *same = i32::from(files.same(path(one, one_bytes)?, path(other, other_bytes)?)?);
            Ok(())
        })
    }
}

/// # Safety
/// Implements the declaration in `shim/base_files.h`.
unsafe extern "C" fn base_list(
    base: *const c_void,
    name: *const c_char,
    name_bytes: usize,
    names: Names,
    context: *mut c_void,
) -> i32 {
    // SAFETY: `base` lives as long as the file system, `name` during the call; `names` is the
    // shim's, with its context.
    unsafe {
        answer(base, |files| {
            for entry in files.list(path(name, name_bytes)?)? {
                names(context, entry.as_ptr().cast(), entry.len());
            }
            Ok(())
        })
    }
}

/// Callbacks that take only paths.
macro_rules! on_paths {
    ($($callback:ident => $method:ident ($($name:ident $bytes:ident),+);)*) => { $(
        /// # Safety
        /// Implements the declaration in `shim/base_files.h`.
        unsafe extern "C" fn $callback(base: *const c_void, $($name: *const c_char,
            $bytes: usize),+) -> i32 {
            // SAFETY: `base` lives as long as the file system, the paths during the call.
            unsafe { answer(base, |files| files.$method($(path($name, $bytes)?),+)) }
        }
    )* };
}
on_paths! {
    base_remove => remove(name name_bytes);
    base_rename => rename(from from_bytes, to to_bytes);
    base_link => link(from from_bytes, to to_bytes);
    base_make_directory => make_directory(name name_bytes);
    base_remove_directory => remove_directory(name name_bytes);
    base_sync_directory => sync_directory(name name_bytes);
    base_lock => lock(name name_bytes);
}

/// # Safety
/// Implements the declaration in `shim/base_files.h`.
unsafe extern "C" fn base_unlock(base: *const c_void, name: *const c_char, name_bytes: usize) {
    // SAFETY: `base` lives as long as the file system, `name` during the call.
    unsafe {
        answer(base, |files| {
            files.unlock(path(name, name_bytes)?);
            Ok(())
        });
    }
}
