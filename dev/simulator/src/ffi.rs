//! The boundary to the C++ part of the simulator: files that are kept in Rust (`base`), databases
//! with column families on them (`families`). This file and those below `ffi/` are the only ones of
//! this crate with `unsafe`.
//!
//! The boundary is described in `shim/base_files.h`.
//!
//! The rules of that crate's `ffi` hold in all of these files, and every `SAFETY` line relies on
//! them:
//! - *Owner.* Each wrapper holds the one pointer to its object and passes it, once, to the function
//!   that ends it.
//! - *Slices.* Pointer and length always come from one live Rust slice, or from the shim, which
//!   promises bytes that stay valid during the call.
//! - *Panics.* No panic leaves a callback, and no exception leaves the shim.

pub(crate) mod base;
mod bytes;
pub(crate) mod families;
