//! Writeback of files: making the system begin writing a file to its disk.

#[allow(unsafe_code)]
mod ffi;

pub(crate) use ffi::start_writing;
