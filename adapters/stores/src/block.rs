//! Block devices as stores: a file or a disk by its path, a unit behind iSCSI, or a target with a
//! file that is started on this machine, optionally behind a link of a chosen speed.

mod engine;
mod error;
mod file;
mod kind;
mod link_target;
mod stream;
mod upkeep;

pub use error::BlockError;
pub use file::FileDevice;
pub use kind::{BLOCK, ISCSI};
pub use link_target::{link_called, link_names, suite_names, tunnels};
