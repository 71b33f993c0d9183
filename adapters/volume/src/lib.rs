#![deny(unsafe_code)]
//! A sealed block device in user space: every block is authenticated, what was flushed outlives a
//! crash, and an older state of a part of it is refused.
//!
//! - [`Volume`] reads and writes ranges of bytes over a [`Disk`], which is a [`Directory`] in
//!   practice and a simulator in tests. It takes the place of a plain device.
//! - [`front`] shows one as a file of FUSE, of which a loop device makes a block device, and
//!   [`attachment`] keeps a process for it.
//! - [`Upkeep`] puts the log in place in the background, [`verify()`] reads everything, and
//!   [`reseal`] and [`rotate`] move a volume to another cipher or key.
//!
//! ```
//! use std::sync::Arc;
//!
//! use sealstone_cipher::{Backend, cipher};
//! use sealstone_keys::EphemeralKey;
//! use sealstone_volume::{Directory, Sizes, Volume};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (home, keys) = (tempfile::tempdir()?, EphemeralKey::new()?);
//! let disk = Directory::new(home.path());
//! let (block_bytes, blocks) = (4096, 16_384);
//! Volume::create(&disk, &keys, cipher("aria-256")?, (block_bytes, blocks * 4096))?;
//!
//! let attach = || {
//!     let with = (Backend::auto(), Sizes::default());
//!     Volume::attach(Arc::new(disk.clone()), &keys, None, with)
//! };
//! let volume = attach()?;
//! volume.write(8192, b"an order")?;
//! volume.flush()?; // no crash loses it from here on
//! drop(volume);
//!
//! let mut found = [0; 8];
//! attach()?.read(8192, &mut found)?;
//! assert_eq!(&found, b"an order");
//! # Ok(())
//! # }
//! ```
//!
//! Not here: the bytes of a block, a page and a frame (`sealstone_seal::volume`).

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
