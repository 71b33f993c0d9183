//! The boundary to RocksDB: C declarations of the shim (`c`), calls of its functions (`call`), the
//! callbacks it makes (`sealed_fs`, `stored_files`), and small owned wrappers around its objects,
//! one file for each. This file and those below `ffi/` are the only ones of this crate with
//! `unsafe`; everything else is built on the wrappers.
//!
//! The boundary is described in `shim/sealstone.h`.
//!
//! Rules kept in all of these files, on which every `SAFETY` line relies:
//! - *Owner.* Each wrapper holds the one pointer to its object, obtained from a `_new` or `_open`
//!   function and not null, and passes it to the matching `_free` once, in `Drop`. Lifetimes and
//!   `Arc`s keep alive everything an object needs.
//! - *Slices.* Pointer and length always come from one live Rust slice, or from the shim, which
//!   promises bytes that stay valid until the next call on the same object; they are copied or
//!   borrowed no longer than that.
//! - *Threads.* `Env`, `Cache` and `Db` serve many threads at once, as stated in the header, hence
//!   `Sync`. The others are used through `&mut` by one thread at a time, hence only `Send`.
//! - *Panics.* No panic leaves a callback: each is caught, and reported to the shim as an error or
//!   resumed once the shim has returned. Nor does an exception leave the shim: where there is no
//!   memory for an object, it returns null, and that is a panic here.

mod backup;
mod batch;
mod c;
mod cache;
mod call;
mod database;
mod env;
mod error;
#[cfg(feature = "testing")]
pub(crate) mod foreign;
mod iterator;
#[cfg(feature = "plugin")]
mod registry;
mod rewrite;
mod sealed_fs;
mod stored_files;
mod table_writer;
mod transaction;

pub use backup::Backups;
pub use batch::WriteBatch;
pub(crate) use cache::Cache;
pub(crate) use database::Abilities;
pub use database::{Bottommost, Db};
pub use env::IoCounts;
pub(crate) use env::{Base, Env};
pub use error::{Code, Error};
pub use iterator::{Iterator, Range};
#[cfg(feature = "plugin")]
pub use registry::{Opener, register};
pub(crate) use rewrite::{LiveFile, LiveKind, Rewrite};
pub use table_writer::TableWriter;
pub use transaction::Transaction;

/// Returns the version of RocksDB that the shim was compiled for: major, minor.
pub(crate) fn headers_version() -> (i32, i32) {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: two integers of ours.
    unsafe { c::sealstone_headers_version(&mut major, &mut minor) };
    (major, minor)
}

/// Version of the RocksDB that is loaded: major, minor, patch.
pub(crate) fn version() -> (i32, i32, i32) {
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: three integers of ours.
    unsafe { c::sealstone_version(&mut major, &mut minor, &mut patch) };
    (major, minor, patch)
}
