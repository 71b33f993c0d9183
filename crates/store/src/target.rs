//! Targets of operations: the records of a store, or a block device.

use crate::device::Device;
use crate::{Store, StoreError};

/// An open store as its clients see it.
#[derive(Clone, Copy)]
pub enum Target<'a> {
    /// Records.
    Records(&'a dyn Store),
    /// Blocks, without any record.
    Device {
        /// The device.
        device: &'a dyn Device,
        /// The sink at the other end of the link to the device, which takes everything that is
        /// written, if there is one: a device of no size, each queue of which is one TCP stream.
        stream: Option<&'a dyn Device>,
    },
}

impl<'a> Target<'a> {
    /// Returns the records.
    ///
    /// # Errors
    /// [`StoreError::Lacks`], with `caller`, if the target is a block device.
    pub const fn records(self, caller: &'static str) -> Result<&'a dyn Store, StoreError> {
        match self {
            Self::Records(store) => Ok(store),
            Self::Device { .. } => Err(StoreError::Lacks { caller, ability: "records" }),
        }
    }

    /// Returns the device.
    ///
    /// # Errors
    /// [`StoreError::Lacks`], with `caller`, if the target is a store of records.
    pub const fn device(self, caller: &'static str) -> Result<&'a dyn Device, StoreError> {
        match self {
            Self::Device { device, .. } => Ok(device),
            Self::Records(_) => Err(StoreError::Lacks { caller, ability: "a block device" }),
        }
    }

    /// Returns the sink at the other end of the link.
    ///
    /// # Errors
    /// [`StoreError::Lacks`], with `caller`, if the target has none.
    pub const fn stream(self, caller: &'static str) -> Result<&'a dyn Device, StoreError> {
        match self {
            Self::Device { stream: Some(stream), .. } => Ok(stream),
            _ => Err(StoreError::Lacks { caller, ability: "a link to a block device" }),
        }
    }
}

impl<'a, S: Store> From<&'a S> for Target<'a> {
    fn from(store: &'a S) -> Self {
        Self::Records(store)
    }
}
