//! A store that is a block device, and keeps no records. Not here: the device (`device`).

use std::time::Duration;

use crate::device::Device;
use crate::{Record, Row, Store, StoreError, Table};

/// An open device with what it needs while it is open.
pub struct DeviceStore {
    device: Box<dyn Device>,
    stream: Option<Box<dyn Device>>,
    lead_in: Duration,
    servers: Vec<u32>,
    /// Dropped after the device.
    _running: Option<Box<dyn Send + Sync>>,
}

impl DeviceStore {
    /// The store that is `device`.
    #[must_use]
    pub fn new(device: Box<dyn Device>) -> Self {
        Self { device, stream: None, lead_in: Duration::ZERO, servers: Vec::new(), _running: None }
    }

    /// With a stream over the same link.
    #[must_use]
    pub fn with_stream(self, stream: Box<dyn Device>) -> Self {
        Self { stream: Some(stream), ..self }
    }

    /// With requests for so long before any is counted, see [`Store::lead_in`].
    #[must_use]
    pub fn with_lead_in(self, lead_in: Duration) -> Self {
        Self { lead_in, ..self }
    }

    /// With processes of this machine that do its work, and with `running`, which ends after the device.
    #[must_use]
    pub fn with_servers(self, servers: Vec<u32>, running: Box<dyn Send + Sync>) -> Self {
        Self { servers, _running: Some(running), ..self }
    }
}

impl Store for DeviceStore {
    fn read(&self, _: &Table, _: &[u8], _: Option<&[usize]>, _: &mut Record) -> Result<bool, StoreError> {
        Err(NO_RECORDS)
    }

    fn scan(&self, _: &Table, _: &[u8], _: usize, _: &mut dyn FnMut(&[u8], &Record)) -> Result<usize, StoreError> {
        Err(NO_RECORDS)
    }

    fn insert(&self, _: &Table, _: &[u8], _: &Record) -> Result<(), StoreError> {
        Err(NO_RECORDS)
    }

    fn insert_many(&self, _: &Table, _: &[Row]) -> Result<(), StoreError> {
        Err(NO_RECORDS)
    }

    fn update(&self, _: &Table, _: &[u8], _: &[(usize, &[u8])]) -> Result<bool, StoreError> {
        Err(NO_RECORDS)
    }

    fn delete(&self, _: &Table, _: &[u8]) -> Result<(), StoreError> {
        Err(NO_RECORDS)
    }

    fn disk_bytes(&self) -> Result<u64, StoreError> {
        Ok(self.device.capacity_bytes())
    }

    fn lead_in(&self) -> Duration {
        self.lead_in
    }

    fn servers(&self) -> Vec<u32> {
        self.servers.clone()
    }

    fn device(&self) -> Option<&dyn Device> {
        Some(&*self.device)
    }

    fn stream(&self) -> Option<&dyn Device> {
        self.stream.as_deref()
    }
}

const NO_RECORDS: StoreError = StoreError::Lacks { caller: "an operation on records", ability: "records" };
