//! The callbacks of the sealed file system, which `shim/sealed_fs.cc` and the files next to it
//! call. Not here: their work (`file_system`, `catalogue`), and the files of catalogues
//! (`stored_files`).
//!
//! The rules of `ffi` hold here, too.

use std::borrow::Cow;
use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

use super::c;
use super::call::{as_bytes, from_bytes};
use super::stored_files::ShimFiles;
use crate::file_system::{Failure, RawFailed, RawRead, Reader, SealedFiles, Syncer, Writer};
use crate::pace;
use crate::place::not_text;

/// The functions that the shim calls; `seal` is an `Arc<SealedFiles>`, a writer a `Box<Writer>`, a
/// reader a `Box<Reader>`.
pub(super) static SEAL_OPS: c::SealOps = c::SealOps {
    release: seal_release,
    attach: seal_attach,
    create: seal_create,
    append: seal_append,
    appended: seal_appended,
    finish: seal_finish,
    writer_free: seal_writer_free,
    before_sync: seal_before_sync,
    synced: seal_synced,
    syncer_free: seal_syncer_free,
    open: seal_open,
    read: seal_read,
    size: seal_size,
    reader_free: seal_reader_free,
    remove: seal_remove,
    link: seal_link,
    rename: seal_rename,
    renamed: seal_renamed,
    hides: seal_hides,
    list: seal_list,
    locked: seal_locked,
    unlocked: seal_unlocked,
    remove_directory: seal_remove_directory,
};

/// The stored file, read through the shim.
struct ShimFile<'a>(&'a c::Raw);

impl RawRead for ShimFile<'_> {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Result<usize, RawFailed> {
        let mut got = 0;
        // SAFETY: the shim's own function with its own file; `into` is writable for its whole
        // length.
        let code =
            unsafe { (self.0.read)(self.0.file, offset, into.len(), into.as_mut_ptr(), &mut got) };
        if code != 0 || got > into.len() { Err(RawFailed) } else { Ok(got) }
    }
}

/// Runs the body of a callback; reports failures and panics to the shim.
///
/// # Safety
/// `message` points to a writable `Message`.
unsafe fn guarded(message: *mut c::Message, body: impl FnOnce() -> Result<(), Failure>) -> i32 {
    let (code, text) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return c::OK,
        Ok(Err(Failure::Raw)) => return c::READ_FAILED,
        Ok(Err(Failure::Damaged(text))) => (c::DAMAGED, text),
        Ok(Err(Failure::Refused(text))) => (c::REFUSED, text),
        Ok(Err(Failure::Io(text))) => (c::IO_FAILED, text),
        Err(_) => {
            (c::BUG, "a bug in sealstone: a sealing function panicked, please report it".to_owned())
        }
    };
    // SAFETY: promised by the caller.
    let message = unsafe { &mut *message };
    let mut bytes = text.len().min(message.text.len());
    while !text.is_char_boundary(bytes) {
        bytes -= 1;
    }
    message.text[..bytes].copy_from_slice(&text.as_bytes()[..bytes]);
    message.text_bytes = bytes;
    code
}

/// # Safety
/// `seal` is from `Arc::into_raw` and not used afterwards.
unsafe extern "C" fn seal_release(seal: *const c_void) {
    // SAFETY: promised by the caller: the shim calls this once, at the end of the file system.
    let seal = unsafe { Arc::from_raw(seal.cast::<SealedFiles>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(seal)));
}

/// Returns the text that the shim points at.
///
/// # Safety
/// `data` points to `bytes` readable bytes that live and do not change for `'a`.
unsafe fn text<'a>(data: *const c_char, bytes: usize) -> Cow<'a, str> {
    // SAFETY: promised by the caller.
    String::from_utf8_lossy(unsafe { from_bytes(c::Bytes { data: data.cast(), bytes }) })
}

/// Takes the path that the shim points at, which names a file in catalogues.
///
/// # Safety
/// As [`text`].
unsafe fn path<'a>(data: *const c_char, bytes: usize) -> Result<&'a str, Failure> {
    // SAFETY: promised by the caller.
    match unsafe { text(data, bytes) } {
        Cow::Borrowed(path) => Ok(path),
        Cow::Owned(path) => Err(Failure::Refused(not_text(&path))),
    }
}

/// # Safety
/// Implements, from `shim/sealstone.h`, `attach`.
unsafe extern "C" fn seal_attach(seal: *const c_void, files: *const c::Files) {
    // SAFETY: `seal` lives as long as the file system, and `files` until `release`, before which
    // the last use is.
    let (seal, files) = unsafe { (&*seal.cast::<SealedFiles>(), ShimFiles::new(files)) };
    let _ = catch_unwind(AssertUnwindSafe(|| seal.catalogues().attach(Box::new(files))));
}

/// Makes a callback that takes one path.
macro_rules! on_path {
    ($callback:ident, $operation:literal, $method:ident) => {
        /// # Safety
        #[doc = concat!("As `shim/sealstone.h` says of `", $operation, "`.")]
        unsafe extern "C" fn $callback(
            seal: *const c_void,
            name: *const c_char,
            name_bytes: usize,
            message: *mut c::Message,
        ) -> i32 {
            // SAFETY: `message` is the shim's; `seal` lives as long as the file system, `name`
            // during the call.
            unsafe {
                guarded(message, || {
                    Ok((*seal.cast::<SealedFiles>())
                        .catalogues()
                        .$method(path(name, name_bytes)?)?)
                })
            }
        }
    };
}
on_path!(seal_list, "list", listing);
on_path!(seal_locked, "locked", locked);
on_path!(seal_unlocked, "unlocked", unlocked);
on_path!(seal_remove_directory, "remove_directory", remove_directory);

/// Makes a callback that takes two paths.
macro_rules! on_two_paths {
    ($callback:ident, $operation:literal, $method:ident) => {
        /// # Safety
        #[doc = concat!("As `shim/sealstone.h` says of `", $operation, "`.")]
        unsafe extern "C" fn $callback(
            seal: *const c_void,
            from: *const c_char,
            from_bytes: usize,
            to: *const c_char,
            to_bytes: usize,
            message: *mut c::Message,
        ) -> i32 {
            // SAFETY: `message` is the shim's; `seal` lives as long as the file system, the names
            // during the call.
            unsafe {
                guarded(message, || {
                    let seal = &*seal.cast::<SealedFiles>();
                    Ok(seal.catalogues().$method(path(from, from_bytes)?, path(to, to_bytes)?)?)
                })
            }
        }
    };
}
on_two_paths!(seal_link, "link", link);
on_two_paths!(seal_rename, "rename", rename);

/// # Safety
/// Implements, from `shim/sealstone.h`, `renamed`.
unsafe extern "C" fn seal_renamed(
    seal: *const c_void,
    from: *const c_char,
    from_bytes: usize,
    to: *const c_char,
    to_bytes: usize,
    done: i32,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: as in `seal_rename`.
    unsafe {
        guarded(message, || {
            let seal = &*seal.cast::<SealedFiles>();
            Ok(seal.catalogues().renamed(
                path(from, from_bytes)?,
                path(to, to_bytes)?,
                done != 0,
            )?)
        })
    }
}

/// # Safety
/// Implements, from `shim/sealstone.h`, `remove`.
unsafe extern "C" fn seal_remove(
    seal: *const c_void,
    name: *const c_char,
    name_bytes: usize,
    now: *mut i32,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: `message` and `now` are the shim's; `seal` lives as long as the file system, `name`
    // during the call.
    unsafe {
        guarded(message, || {
            *now = i32::from(
                (*seal.cast::<SealedFiles>()).catalogues().remove(path(name, name_bytes)?)?,
            );
            Ok(())
        })
    }
}

/// # Safety
/// Implements, from `shim/sealstone.h`, `hides`.
unsafe extern "C" fn seal_hides(
    seal: *const c_void,
    name: *const c_char,
    name_bytes: usize,
) -> i32 {
    // SAFETY: `seal` lives as long as the file system, `name` during the call.
    let (seal, name) = unsafe { (&*seal.cast::<SealedFiles>(), text(name, name_bytes)) };
    catch_unwind(AssertUnwindSafe(|| seal.catalogues().hides(&name))).map_or(0, i32::from)
}

/// # Safety
/// Implements, from `shim/sealstone.h`, `create`.
unsafe extern "C" fn seal_create(
    seal: *const c_void,
    name: *const c_char,
    name_bytes: usize,
    writer: *mut *mut c_void,
    syncer: *mut *mut c_void,
    stored: *mut c::Bytes,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: `message` is the shim's; inside: `seal` lives as long as the file system, `name`
    // during the call, and `writer`, `syncer` and `stored` are the shim's to be written.
    unsafe {
        guarded(message, || {
            let seal = &*seal.cast::<SealedFiles>();
            let made = Box::new(seal.create(path(name, name_bytes)?)?);
            let sync = made.syncer()?;
            *stored = as_bytes(made.stored());
            *syncer = sync.map_or(ptr::null_mut(), |made| Box::into_raw(Box::new(made)).cast());
            *writer = Box::into_raw(made).cast();
            Ok(())
        })
    }
}

/// # Safety
/// Implements, from `shim/sealstone.h`, `append`.
unsafe extern "C" fn seal_append(
    writer: *mut c_void,
    data: *const u8,
    bytes: usize,
    stored: *mut c::Bytes,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: `message` and `stored` are the shim's; `writer` is from `seal_create`, used by one
    // thread at a time, and `data` lives during the call.
    unsafe {
        guarded(message, || {
            let writer = &mut *writer.cast::<Writer>();
            *stored = as_bytes(writer.append(from_bytes(c::Bytes { data, bytes }))?);
            Ok(())
        })
    }
}

/// Implements, from `shim/sealstone.h`, `appended`.
extern "C" fn seal_appended(bytes: usize) {
    // a failure while waiting is no reason not to write
    let _ = catch_unwind(|| pace::wrote(bytes));
}

/// # Safety
/// Implements, from `shim/sealstone.h`, `finish`.
unsafe extern "C" fn seal_finish(
    writer: *mut c_void,
    stored: *mut c::Bytes,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: as in `seal_append`.
    unsafe {
        guarded(message, || {
            let writer = &mut *writer.cast::<Writer>();
            *stored = as_bytes(writer.finish()?);
            Ok(())
        })
    }
}

/// # Safety
/// `writer` is from `seal_create` and not used afterwards.
unsafe extern "C" fn seal_writer_free(writer: *mut c_void) {
    // SAFETY: promised by the caller.
    let writer = unsafe { Box::from_raw(writer.cast::<Writer>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(writer)));
}

/// # Safety
/// Implements, from `shim/sealstone.h`, `before_sync`.
unsafe extern "C" fn seal_before_sync(syncer: *const c_void, message: *mut c::Message) -> i32 {
    // SAFETY: `message` is the shim's; `syncer` is from `seal_create` and shared only by reference.
    unsafe { guarded(message, || (*syncer.cast::<Syncer>()).before()) }
}

/// # Safety
/// Implements, from `shim/sealstone.h`, `synced`.
unsafe extern "C" fn seal_synced(
    syncer: *const c_void,
    stored_bytes: u64,
    mark: *mut c::Mark,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: `message` and `mark` are the shim's; `syncer` is from `seal_create` and shared only
    // by reference.
    unsafe {
        guarded(message, || {
            if let Some(made) = (*syncer.cast::<Syncer>()).synced(stored_bytes)? {
                *mark = c::Mark {
                    offset: made.offset,
                    bytes: made.bytes,
                    bytes_used: made.bytes.len(),
                };
            }
            Ok(())
        })
    }
}

/// # Safety
/// `syncer` is from `seal_create` and not used afterwards.
unsafe extern "C" fn seal_syncer_free(syncer: *mut c_void) {
    // SAFETY: promised by the caller.
    let syncer = unsafe { Box::from_raw(syncer.cast::<Syncer>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(syncer)));
}

/// # Safety
/// Implements, from `shim/sealstone.h`, `open`.
unsafe extern "C" fn seal_open(
    seal: *const c_void,
    name: *const c_char,
    name_bytes: usize,
    stored_bytes: u64,
    raw: *const c::Raw,
    reader: *mut *mut c_void,
    page_bytes: *mut u64,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: `message`, `reader` and `page_bytes` are the shim's; `seal` lives as long as the file
    // system, `name` and `raw` during the call.
    unsafe {
        guarded(message, || {
            let seal = &*seal.cast::<SealedFiles>();
            let made = seal.open(path(name, name_bytes)?, stored_bytes, &ShimFile(&*raw))?;
            *page_bytes = made.page_bytes();
            *reader = Box::into_raw(Box::new(made)).cast();
            Ok(())
        })
    }
}

/// # Safety
/// Implements, from `shim/sealstone.h`, `read`.
unsafe extern "C" fn seal_read(
    reader: *const c_void,
    raw: *const c::Raw,
    offset: u64,
    bytes: usize,
    into: *mut u8,
    got: *mut usize,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: `message` and `got` are the shim's; `reader` is from `seal_open` and shared only by
    // reference; `into` is writable for `bytes` bytes that nobody else looks at, and initialised by
    // the shim's caller or about to be written as plain bytes.
    unsafe {
        guarded(message, || {
            let reader = &*reader.cast::<Reader>();
            let into =
                if bytes == 0 { &mut [][..] } else { std::slice::from_raw_parts_mut(into, bytes) };
            *got = reader.read(&ShimFile(&*raw), offset, into)?;
            Ok(())
        })
    }
}

/// # Safety
/// Implements, from `shim/sealstone.h`, `size`.
unsafe extern "C" fn seal_size(
    reader: *const c_void,
    raw: *const c::Raw,
    bytes: *mut u64,
    message: *mut c::Message,
) -> i32 {
    // SAFETY: as in `seal_read`.
    unsafe {
        guarded(message, || {
            *bytes = (*reader.cast::<Reader>()).size(&ShimFile(&*raw))?;
            Ok(())
        })
    }
}

/// # Safety
/// `reader` is from `seal_open` and not used afterwards.
unsafe extern "C" fn seal_reader_free(reader: *mut c_void) {
    // SAFETY: promised by the caller.
    let reader = unsafe { Box::from_raw(reader.cast::<Reader>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(reader)));
}
