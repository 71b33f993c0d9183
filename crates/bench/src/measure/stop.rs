//! A store that accepts no more once a comparison was asked to stop, so that a long load ends soon. Everything else is
//! passed on to the inner store.

use std::sync::atomic::{AtomicBool, Ordering};

use sealstone_store::device::{Device, DeviceQueue};
use sealstone_store::{BulkLoad, Record, Row, Store, StoreError, Table, forward};

/// A store whose writes end with an error once `stop` is set.
pub(crate) struct Stoppable<'a> {
    inner: &'a dyn Store,
    stop: &'a AtomicBool,
}

impl<'a> Stoppable<'a> {
    pub(crate) fn new(inner: &'a dyn Store, stop: &'a AtomicBool) -> Self {
        Self { inner, stop }
    }

    fn go_on(&self) -> Result<(), StoreError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(StoreError::Stopped),
            false => Ok(()),
        }
    }
}

impl Store for Stoppable<'_> {
    forward!(
        self => self.inner;
        read, scan, counters, disk_bytes, quiesce, merge_layers, drop_caches, lead_in, servers, transactional, stream
    );

    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        self.go_on()?;
        self.inner.insert(table, key, record)
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        self.go_on()?;
        self.inner.insert_many(table, rows)
    }

    fn update(&self, table: &Table, key: &[u8], changes: &[(usize, &[u8])]) -> Result<bool, StoreError> {
        self.go_on()?;
        self.inner.update(table, key, changes)
    }

    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError> {
        self.go_on()?;
        self.inner.delete(table, key)
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        self.inner.bulk().map(|_| self as &dyn BulkLoad)
    }

    fn device(&self) -> Option<&dyn Device> {
        self.inner.device().map(|_| self as &dyn Device)
    }
}

// a load takes a queue for every piece of it
impl Device for Stoppable<'_> {
    fn place(&self) -> &str {
        self.inner.device().map_or("", Device::place)
    }

    fn capacity_bytes(&self) -> u64 {
        self.inner.device().map_or(0, Device::capacity_bytes)
    }

    fn sector_bytes(&self) -> u32 {
        self.inner.device().map_or(1, Device::sector_bytes)
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn DeviceQueue>, StoreError> {
        self.go_on()?;
        self.inner.device().ok_or(StoreError::Lacks { caller: "loading", ability: "a block device" })?.queue(depth)
    }
}

impl BulkLoad for Stoppable<'_> {
    fn bulk_load(&self, table: &Table, rows: &mut dyn Iterator<Item = Row>) -> Result<u64, StoreError> {
        self.go_on()?;
        let bulk = self.inner.bulk().ok_or_else(|| StoreError::Lacks { caller: "loading", ability: "bulk loading" })?;
        // rows that are cut short amount to an error: the caller gets the error below and uses none of them
        let loaded = bulk.bulk_load(table, &mut rows.take_while(|_| self.go_on().is_ok()))?;
        self.go_on()?;
        Ok(loaded)
    }
}
