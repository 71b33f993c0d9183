#![deny(unsafe_code)]
//! A sealed block device in user space.

mod aligned_memory;
pub mod attachment;
mod checkpoint;
mod child_process;
mod counts;
mod device;
mod directory;
mod discard;
mod disk;
mod error;
#[allow(unsafe_code)]
mod ffi;
pub mod front;
mod header;
mod in_flight;
mod index;
mod log;
mod marks;
mod names;
mod pages;
mod plain;
mod read;
mod recovery;
pub mod reseal;
mod roots;
mod segment;
mod service;
mod sizes;
mod state_on_disk;
mod tool;
pub mod tree;
mod upkeep;
mod verify;
mod volume;
mod volume_anchor;
mod write;

pub use child_process::{Serving, ServingProcess};
pub use device::Device;
pub use directory::Directory;
pub use disk::{Disk, DiskFile};
pub use error::Failure;
pub use ffi::{become_io_flusher, lock_memory};
pub use header::{header, in_use, keys_of, misplaced, rotate};
pub use names::is_of_volume;
pub use plain::PlainFile;
pub use service::{AttachedStatus, Order, Report, Served};
pub use sizes::Sizes;
pub use upkeep::Upkeep;
pub use verify::{Verification, verify};
pub use volume::Volume;
