//! Block devices over iSCSI (RFC 7143): an initiator in this process, by libiscsi, which is loaded
//! when a device is opened. So no kernel module and no privilege is needed, and a machine without
//! the library lacks nothing else.
//!
//! - [`Address`] is `iscsi://PORTAL/TARGET/LUN`.
//! - [`IscsiDevice`] is an open unit of a target, [`IscsiError`] the reason why there is none.
//!
//! Not here: targets (`sealstone-servers`, module `tgt`).

mod address;
mod device;
mod error;

pub use address::{Address, AddressError};
pub use device::{IscsiDevice, Options, Within};
pub use error::IscsiError;
