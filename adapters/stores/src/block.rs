//! Block devices as stores: a file or a disk by its path, a unit behind iSCSI, or a target with a file that is started on
//! this machine. Not here: how requests travel over iSCSI (`sealstone-wire`), what is asked of a device
//! (`sealstone-bench`).

mod engine;
mod error;
mod file;
mod kind;

pub use error::BlockError;
pub use file::FileDevice;
pub use kind::{BLOCK, ISCSI};
