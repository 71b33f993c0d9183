#![forbid(unsafe_code)]
//! A sealed block device in user space.

mod aligned;
mod checkpoint;
mod device;
mod directory;
mod disk;
mod error;
pub mod front;
mod in_flight;
mod index;
mod log;
mod marks;
mod names;
mod pages;
mod plain;
mod recovery;
mod roots;
mod segment;
mod served;
mod upkeep;
mod volume;

pub use device::Device;
pub use directory::Directory;
pub use disk::{Disk, DiskFile};
pub use error::Failure;
pub use plain::PlainFile;
pub use served::Served;
pub use upkeep::Upkeep;
pub use volume::{Sizes, Volume};
