//! Writeback of files: telling the system to begin writing one to its disk.

#[allow(unsafe_code)]
mod ffi;

pub(crate) use ffi::start_writing;
