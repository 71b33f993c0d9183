//! Bytes as they cross the boundary, `sealstone_bytes` of `sealstone.h`.
//!
//! The rules of `ffi` hold here, too.

/// Some bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    pub(super) data: *const u8,
    pub(super) bytes: usize,
}

pub(super) fn as_bytes(slice: &[u8]) -> Bytes {
    Bytes { data: slice.as_ptr(), bytes: slice.len() }
}

/// Returns the slice of `bytes` bytes that the shim has at `data`.
///
/// # Safety
/// `data` points to `bytes` readable bytes that live and do not change for `'a`, unless there are
/// none.
pub(super) unsafe fn from_bytes<'a>(data: *const u8, bytes: usize) -> &'a [u8] {
    if bytes == 0 {
        return &[];
    }
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(data, bytes) }
}
