//! Rules for calling the shim: taking over errors and panics, and passing bytes across.
//!
//! The rules of `ffi` hold here, too.

use std::any::Any;
use std::ffi::c_void;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::ptr;

use super::c;
use super::error::{Code, Error};

/// Makes a call that fills in an error when it fails, and takes the error over.
pub(super) fn call(function: impl FnOnce(*mut c::Error) -> i32) -> Result<(), Error> {
    let mut raw = c::Error { code: 0, subcode: 0, text: ptr::null_mut(), text_bytes: 0 };
    if function(&mut raw) == 0 {
        return Ok(());
    }
    let text = if raw.text.is_null() {
        "out of memory".to_owned()
    } else {
        // SAFETY: the shim promises `text_bytes` readable bytes at `text`, which is not null.
        let bytes = unsafe { std::slice::from_raw_parts(raw.text.cast::<u8>(), raw.text_bytes) };
        let text = String::from_utf8_lossy(bytes).into_owned();
        // SAFETY: ours to free, once; `bytes` is not used any more.
        unsafe { c::sealstone_text_free(raw.text) };
        text
    };
    Err(Error { code: Code::new(raw.code, raw.subcode), text })
}

/// Panic message for when the shim has no memory for an object.
pub(super) const NO_MEMORY: &str = "not enough memory for an object of RocksDB";

pub(super) fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

pub(super) fn as_bytes(slice: &[u8]) -> c::Bytes {
    c::Bytes { data: slice.as_ptr(), bytes: slice.len() }
}

/// Returns a slice of what the shim points at.
///
/// # Safety
/// `bytes.data` points to `bytes.bytes` readable bytes that live and do not change for `'a`.
pub(super) unsafe fn from_bytes<'a>(bytes: c::Bytes) -> &'a [u8] {
    if bytes.bytes == 0 {
        return &[];
    }
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(bytes.data, bytes.bytes) }
}

/// Receiver of the values found.
pub(super) struct Sink<'a> {
    /// Gets the position of the key, and the value, which lives during the call only.
    pub(super) found: &'a mut dyn FnMut(usize, &[u8]),
    /// A panic of `found`, to be resumed once the shim has returned.
    pub(super) panic: Option<Box<dyn Any + Send>>,
}

/// Passes a found value to the `Sink` that `context` points at.
///
/// # Safety
/// `context` points at a `Sink` that lives and is used by nobody else during the call, `value` at
/// `value_bytes` readable bytes.
pub(super) unsafe extern "C" fn deliver(
    context: *mut c_void,
    index: usize,
    value: *const u8,
    value_bytes: usize,
) {
    // SAFETY: promised by the caller.
    let (sink, value) = unsafe {
        (&mut *context.cast::<Sink<'_>>(), from_bytes(c::Bytes { data: value, bytes: value_bytes }))
    };
    if sink.panic.is_none() {
        sink.panic = catch_unwind(AssertUnwindSafe(|| (sink.found)(index, value))).err();
    }
}

/// Makes a call that hands found values to `found`, through `deliver` and the context given.
pub(super) fn call_with_sink(
    found: &mut dyn FnMut(usize, &[u8]),
    function: impl FnOnce(*mut c_void, *mut c::Error) -> i32,
) -> Result<(), Error> {
    let mut sink = Sink { found, panic: None };
    let result = call(|error| function((&raw mut sink).cast(), error));
    if let Some(panic) = sink.panic {
        resume_unwind(panic);
    }
    result
}
