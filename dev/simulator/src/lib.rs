#![deny(unsafe_code)]
//! A simulator below the seal: plain and sealed RocksDB on a disk that loses what was not synced,
//! as a seed dictates.
//!
//! - [`scenario`] is what a seed means, the same for both.
//! - [`run`] does it: RocksDB on sealed files or not ([`env`](mod@env)), on [`files`], on a
//!   [`disk`].
//! - [`judge`] determines what each crash may leave, and [`coverage`] what a run has to have met.
//!
//! - [`volume`] is the same for sealed volumes.
//!
//! Not here: an attacker who does more than cut a log, and engines other than RocksDB.

pub mod base_files;
pub mod coverage;
pub mod disk;
pub mod env;
#[allow(unsafe_code)]
mod ffi;
pub mod files;
pub mod judge;
pub mod keys;
pub mod random;
pub mod run;
pub mod scenario;
pub mod volume;
