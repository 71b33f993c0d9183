//! Upkeep of a block device: its size, and its servers.

use std::time::Duration;

use sealstone_store::{StoreError, Upkeep};

/// Care for an open device. Neither side caches or counts anything, so that there is little to do.
pub(super) struct DeviceUpkeep {
    capacity_bytes: u64,
    lead_in: Duration,
    servers: Vec<u32>,
    /// Ends with this, after the device.
    _running: Option<Box<dyn Send + Sync>>,
}

impl DeviceUpkeep {
    /// Makes the upkeep of a device of `capacity_bytes` without a server.
    pub(super) fn of(capacity_bytes: u64) -> Self {
        Self { capacity_bytes, lead_in: Duration::ZERO, servers: Vec::new(), _running: None }
    }

    /// Adds requests for `lead_in` before any is counted, see [`Upkeep::lead_in`].
    pub(super) fn with_lead_in(self, lead_in: Duration) -> Self {
        Self { lead_in, ..self }
    }

    /// Adds processes of this machine that do its work, and `running`, which ends after the device.
    pub(super) fn with_servers(self, servers: Vec<u32>, running: Box<dyn Send + Sync>) -> Self {
        Self { servers, _running: Some(running), ..self }
    }
}

impl Upkeep for DeviceUpkeep {
    fn disk_bytes(&self) -> Result<u64, StoreError> {
        Ok(self.capacity_bytes)
    }

    fn lead_in(&self) -> Duration {
        self.lead_in
    }

    fn servers(&self) -> Vec<u32> {
        self.servers.clone()
    }
}
