//! Parts of the boundary to RocksDB for `dev/simulator`, which has files and databases of its own
//! (feature `testing`). Not part of the shipped library.

pub use crate::ffi::foreign::{ForeignEnv, Sink, call, call_with_sink};
