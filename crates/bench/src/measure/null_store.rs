//! A store that stores nothing: a run on it measures the cost of the load generator itself.

use std::sync::OnceLock;

use sealstone_store::{
    BulkLoad, Record, Row, Store, StoreError, Table, Transaction, Transactional, Upkeep,
};

/// Remembers the first record written to each table, answers every read and scan with it, and
/// forgets the rest.
#[derive(Debug)]
pub struct NullStore {
    firsts: Vec<OnceLock<Record>>,
}

impl Default for NullStore {
    fn default() -> Self {
        Self { firsts: (0..=u8::MAX).map(|_| OnceLock::new()).collect() }
    }
}

impl NullStore {
    /// Returns an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn keep(&self, table: &Table, record: &Record) {
        self.firsts[usize::from(table.id)].get_or_init(|| record.clone());
    }

    fn copy(&self, table: &Table, into: &mut Record) -> bool {
        into.clear();
        let first = self.firsts[usize::from(table.id)].get();
        first.map(|record| into.copy_from(record)).is_some()
    }
}

impl Store for NullStore {
    fn read(
        &self,
        table: &Table,
        _key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        let Some(fields) = fields else { return Ok(self.copy(table, into)) };
        into.clear();
        let Some(record) = self.firsts[usize::from(table.id)].get() else { return Ok(false) };
        fields.iter().for_each(|&field| into.push(record.get(field).unwrap_or_default()));
        Ok(true)
    }

    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError> {
        let Some(record) = self.firsts[usize::from(table.id)].get() else { return Ok(0) };
        (0..count).for_each(|_| each(start, record));
        Ok(count)
    }

    fn insert(&self, table: &Table, _key: &[u8], record: &Record) -> Result<(), StoreError> {
        self.keep(table, record);
        Ok(())
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        rows.iter().try_for_each(|(key, record)| self.insert(table, key, record))
    }

    fn update(
        &self,
        table: &Table,
        _key: &[u8],
        _changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        Ok(self.firsts[usize::from(table.id)].get().is_some())
    }

    fn delete(&self, _table: &Table, _key: &[u8]) -> Result<(), StoreError> {
        Ok(())
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        Some(self)
    }

    fn transactional(&self) -> Option<&dyn Transactional> {
        Some(self)
    }
}

impl Upkeep for NullStore {
    fn disk_bytes(&self) -> Result<u64, StoreError> {
        Ok(0)
    }
}

impl BulkLoad for NullStore {
    fn bulk_load(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
    ) -> Result<u64, StoreError> {
        Ok(rows.map(|(_, record)| self.keep(table, &record)).count() as u64)
    }
}

impl Transactional for NullStore {
    fn transaction(
        &self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        body(&mut NullTransaction { store: self })
    }
}

struct NullTransaction<'a> {
    store: &'a NullStore,
}

impl Transaction for NullTransaction<'_> {
    fn read(
        &mut self,
        table: &Table,
        _key: &[u8],
        _for_update: bool,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        Ok(self.store.copy(table, into))
    }

    fn put(&mut self, table: &Table, _key: &[u8], record: &Record) -> Result<(), StoreError> {
        self.store.keep(table, record);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_everything_with_the_first_record() {
        let table = Table { id: 7, name: "t".into(), fields: Vec::new() };
        let store = NullStore::new();
        let mut record = Record::new();
        assert!(!store.read(&table, b"a", None, &mut record).unwrap());
        record.push(b"first");
        store.insert(&table, b"a", &record).unwrap();
        store.insert(&table, b"b", &Record::new()).unwrap();
        let mut into = Record::new();
        assert!(store.read(&table, b"c", None, &mut into).unwrap());
        assert_eq!(into, record);
        let mut seen = 0;
        assert_eq!(
            store
                .scan(&table, b"x", 3, &mut |_, found| seen += usize::from(*found == record))
                .unwrap(),
            3
        );
        assert_eq!(seen, 3);
    }
}
