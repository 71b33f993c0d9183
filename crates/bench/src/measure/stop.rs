//! A store that accepts no more once a comparison was requested to stop, so that a long load ends
//! soon. Everything else is passed on to the inner store.

use std::sync::atomic::{AtomicBool, Ordering};

use sealstone_store::{
    BulkLoad, Device, DeviceQueue, Record, Row, Store, StoreError, Table, Target, Transactional,
};

/// A target whose writes end with an error once `stop` is set.
pub(crate) enum Stoppable<'a> {
    Records(Until<'a, dyn Store + 'a>),
    Device { device: Until<'a, dyn Device + 'a>, stream: Option<&'a dyn Device> },
}

impl<'a> Stoppable<'a> {
    pub(crate) fn new(target: Target<'a>, stop: &'a AtomicBool) -> Self {
        match target {
            Target::Records(inner) => Self::Records(Until { inner, stop }),
            Target::Device { device, stream } => {
                Self::Device { device: Until { inner: device, stop }, stream }
            }
        }
    }

    pub(crate) fn target(&self) -> Target<'_> {
        match self {
            Self::Records(store) => Target::Records(store),
            Self::Device { device, stream } => Target::Device { device, stream: *stream },
        }
    }
}

/// `inner` until `stop` is set.
pub(crate) struct Until<'a, T: ?Sized> {
    inner: &'a T,
    stop: &'a AtomicBool,
}

impl<T: ?Sized> Until<'_, T> {
    fn go_on(&self) -> Result<(), StoreError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(StoreError::Stopped),
            false => Ok(()),
        }
    }
}

impl Store for Until<'_, dyn Store + '_> {
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        self.inner.read(table, key, fields, into)
    }

    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError> {
        self.inner.scan(table, start, count, each)
    }

    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        self.go_on()?;
        self.inner.insert(table, key, record)
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        self.go_on()?;
        self.inner.insert_many(table, rows)
    }

    fn update(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
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

    fn transactional(&self) -> Option<&dyn Transactional> {
        self.inner.transactional()
    }
}

impl BulkLoad for Until<'_, dyn Store + '_> {
    fn bulk_load(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
    ) -> Result<u64, StoreError> {
        self.go_on()?;
        let bulk = self
            .inner
            .bulk()
            .ok_or_else(|| StoreError::Lacks { caller: "loading", ability: "bulk loading" })?;
        // rows that are cut short amount to an error: the caller gets the error below and uses none
        // of them
        let loaded = bulk.bulk_load(table, &mut rows.take_while(|_| self.go_on().is_ok()))?;
        self.go_on()?;
        Ok(loaded)
    }
}

// a load takes a queue for every piece of it
impl Device for Until<'_, dyn Device + '_> {
    fn place(&self) -> &str {
        self.inner.place()
    }

    fn capacity_bytes(&self) -> u64 {
        self.inner.capacity_bytes()
    }

    fn sector_bytes(&self) -> u32 {
        self.inner.sector_bytes()
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn DeviceQueue>, StoreError> {
        self.go_on()?;
        self.inner.queue(depth)
    }
}
