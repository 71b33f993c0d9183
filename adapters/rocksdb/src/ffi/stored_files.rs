//! The boundary for the files of catalogues: operations of `shim/stored_files.cc`, called from
//! here.
//!
//! The rules of `ffi` hold here, too.

use std::ffi::{c_char, c_void};
use std::panic::resume_unwind;
use std::ptr;

use super::c;
use super::call::{Sink, deliver};
use crate::catalogue::raw::{RawError, RawFiles, RawUpdate};
use crate::place::Place;

/// The stored files that the catalogues are kept on, through the shim.
pub(super) struct ShimFiles(*const c::Files);

// SAFETY: the shim's functions serve any number of threads at once, as `shim/sealstone.h` states.
unsafe impl Send for ShimFiles {}
// SAFETY: as above.
unsafe impl Sync for ShimFiles {}

impl ShimFiles {
    /// Returns the stored files that `files` has the functions of.
    ///
    /// # Safety
    /// `files` is the shim's, and lives as long as the result.
    pub(super) unsafe fn new(files: *const c::Files) -> Self {
        Self(files)
    }

    fn calls(&self) -> &c::Files {
        // SAFETY: promised to `new`: the shim keeps it until `release`, which drops `self`.
        unsafe { &*self.0 }
    }
}

/// Calls a function of `c::Files`; true if what it is about is there.
fn files_call(function: impl FnOnce(*mut c::Message) -> i32) -> Result<bool, RawError> {
    let mut message = c::Message { text: [0; 1024], text_bytes: 0 };
    match function(&mut message) {
        c::FILES_OK => Ok(true),
        c::FILES_NOT_FOUND => Ok(false),
        _ => {
            let bytes = &message.text[..message.text_bytes.min(message.text.len())];
            Err(RawError(String::from_utf8_lossy(bytes).into_owned()))
        }
    }
}

fn must_exist(path: &str, found: bool) -> Result<(), RawError> {
    if found { Ok(()) } else { Err(RawError(format!("{path}: no such file or directory"))) }
}

fn chars(path: &str) -> (*const c_char, usize) {
    (path.as_ptr().cast(), path.len())
}

/// Makes a call that hands bytes to `take`.
fn files_sink(
    take: &mut dyn FnMut(&[u8]),
    function: impl FnOnce(*mut c_void, *mut c::Message) -> i32,
) -> Result<bool, RawError> {
    let mut found = |_: usize, bytes: &[u8]| take(bytes);
    let mut sink = Sink { found: &mut found, panic: None };
    let result = files_call(|message| function((&raw mut sink).cast(), message));
    if let Some(panic) = sink.panic {
        resume_unwind(panic);
    }
    result
}

impl RawFiles for ShimFiles {
    fn look(&self, path: &str) -> Result<Place, RawError> {
        let (calls, (name, name_bytes)) = (self.calls(), chars(path));
        let (mut bytes, mut other) = (0, String::new());
        let mut take = |words: &[u8]| other = String::from_utf8_lossy(words).into_owned();
        // SAFETY: as in `read`; `bytes` is ours to be filled in.
        let found = files_sink(&mut take, |sink, message| unsafe {
            (calls.look)(calls.files, name, name_bytes, &mut bytes, deliver, sink, message)
        })?;
        Ok(match (found, other.is_empty()) {
            (false, _) => Place::Nothing,
            (true, true) => Place::File { bytes },
            (true, false) => Place::Other(other),
        })
    }

    fn read(&self, path: &str, bytes: usize) -> Result<Option<Vec<u8>>, RawError> {
        let (calls, (name, name_bytes)) = (self.calls(), chars(path));
        let mut content = Vec::new();
        // SAFETY: the shim's own function with its own files; `path` lives during the call.
        let found =
            files_sink(&mut |piece| content.extend_from_slice(piece), |sink, message| unsafe {
                (calls.read)(calls.files, name, name_bytes, bytes, deliver, sink, message)
            })?;
        Ok(found.then_some(content))
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<(), RawError> {
        let (calls, (name, name_bytes)) = (self.calls(), chars(path));
        // SAFETY: as in `read`; `bytes` lives during the call.
        let found = files_call(|message| unsafe {
            (calls.create)(calls.files, name, name_bytes, bytes.as_ptr(), bytes.len(), message)
        })?;
        must_exist(path, found)
    }

    fn update(&self, path: &str) -> Result<Box<dyn RawUpdate>, RawError> {
        let (calls, (name, name_bytes)) = (self.calls(), chars(path));
        let mut update = ptr::null_mut();
        // SAFETY: as in `read`; `update` is ours to be filled in.
        let found = files_call(|message| unsafe {
            (calls.update)(calls.files, name, name_bytes, &mut update, message)
        })?;
        must_exist(path, found)?;
        Ok(Box::new(ShimUpdate {
            update,
            write: calls.write,
            sync: calls.sync,
            free: calls.update_free,
        }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), RawError> {
        let (calls, (one, one_bytes), (other, other_bytes)) =
            (self.calls(), chars(from), chars(to));
        // SAFETY: as in `read`.
        let found = files_call(|message| unsafe {
            (calls.rename)(calls.files, one, one_bytes, other, other_bytes, message)
        })?;
        must_exist(from, found)
    }

    fn remove(&self, path: &str) -> Result<(), RawError> {
        let (calls, (name, name_bytes)) = (self.calls(), chars(path));
        // SAFETY: as in `read`.
        files_call(|message| unsafe { (calls.remove)(calls.files, name, name_bytes, message) })
            .map(|_| ())
    }

    fn sync_directory(&self, directory: &str) -> Result<(), RawError> {
        let (calls, (name, name_bytes)) = (self.calls(), chars(directory));
        // SAFETY: as in `read`.
        let found = files_call(|message| unsafe {
            (calls.sync_directory)(calls.files, name, name_bytes, message)
        })?;
        must_exist(directory, found)
    }

    fn names(&self, directory: &str) -> Result<Option<Vec<String>>, RawError> {
        let (calls, (name, name_bytes)) = (self.calls(), chars(directory));
        let mut names = Vec::new();
        // SAFETY: as in `read`.
        let found = files_sink(
            &mut |found| names.push(String::from_utf8_lossy(found).into_owned()),
            |sink, message| unsafe {
                (calls.names)(calls.files, name, name_bytes, deliver, sink, message)
            },
        )?;
        Ok(found.then_some(names))
    }
}

/// A stored file that is written in place.
struct ShimUpdate {
    update: *mut c_void,
    write: unsafe extern "C" fn(*mut c_void, u64, *const u8, usize, *mut c::Message) -> i32,
    sync: unsafe extern "C" fn(*mut c_void, *mut c::Message) -> i32,
    free: unsafe extern "C" fn(*mut c_void),
}

// SAFETY: the object belongs to its holder, and may be used from any single thread at a time.
unsafe impl Send for ShimUpdate {}

impl RawUpdate for ShimUpdate {
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), RawError> {
        // SAFETY: `update` is the shim's, ours alone; `bytes` lives during the call.
        let found = files_call(|message| unsafe {
            (self.write)(self.update, offset, bytes.as_ptr(), bytes.len(), message)
        })?;
        must_exist("a catalogue", found)
    }

    fn sync(&mut self) -> Result<(), RawError> {
        // SAFETY: as in `write`.
        let found = files_call(|message| unsafe { (self.sync)(self.update, message) })?;
        must_exist("a catalogue", found)
    }
}

impl Drop for ShimUpdate {
    fn drop(&mut self) {
        // SAFETY: ours to be given up, once.
        unsafe { (self.free)(self.update) }
    }
}
