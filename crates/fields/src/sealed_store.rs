//! A store around another one: columns are sealed before a record reaches the inner store, and
//! opened when it comes back, transparently to users of the store. Not here: the choice of columns
//! (`layer`).
//!
//! The inner store is opened with separate tables (`table`): sealed columns hold text, whatever
//! they held before, and columns of index values come last. Records are sealed and opened in
//! batches: the batch of a load, 256 rows of a scan. A load that meets a value that does not fit
//! hands the inner store two rows with the same key, so that it keeps nothing. An update of a value
//! that another column is bound to, or of that column, takes a transaction, since the two must
//! change together.

mod bulk;
mod table;
mod transaction;
mod work;

use sealstone_store::{
    BulkLoad, Counters, Meter, Record, Row, Store, StoreError, Table, Transactional,
};

pub use table::SealedTable;
use work::Work;

/// Rows of a scan that are opened together.
const SCAN_ROWS: usize = 256;

/// A store whose tables have sealed columns.
///
/// Keys stay in the clear, since records are found and scanned by them. A table without sealed
/// columns is passed on unchanged.
///
/// ```
/// use std::sync::Arc;
/// use sealstone_cipher::cipher;
/// use sealstone_fields::{FieldLayer, Keyed, Sealed};
/// use sealstone_keys::EphemeralKey;
/// use sealstone_store::{Choice, Field, Kind, MemoryStore, Record, Store, Table};
///
/// let name = Field { name: "name".into(), kind: Kind::Text };
/// let people = Arc::new(Table { id: 0, name: "people".into(), fields: vec![name] });
/// let layer = FieldLayer::new(None, Keyed::current(Arc::new(EphemeralKey::new()?))?);
/// let tables = layer.tables(&[people.clone()], &Choice::auto(cipher("aes-256")?))?;
/// let store = Sealed::new(MemoryStore::new(), tables);
///
/// let mut record = Record::new();
/// record.push(b"Kim");
/// store.insert(&people, b"1", &record)?;
/// let (mut opened, mut stored) = (Record::new(), Record::new());
/// store.read(&people, b"1", None, &mut opened)?;
/// store.inner().read(&people, b"1", None, &mut stored)?;
/// assert_eq!(opened.get(0), Some(&b"Kim"[..]));
/// assert_ne!(stored.get(0), Some(&b"Kim"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sealed<S> {
    inner: S,
    tables: Vec<SealedTable>,
    work: Work,
}

impl<S: Store> Sealed<S> {
    /// Returns `inner`, which was opened with [`SealedTable::stored`] of each of `tables` in the
    /// place of the table itself.
    pub fn new(inner: S, tables: Vec<SealedTable>) -> Self {
        Self { inner, tables, work: Work::default() }
    }

    /// Returns the store below, in which columns are sealed.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn table(&self, table: &Table) -> Option<&SealedTable> {
        self.tables.iter().find(|sealed| sealed.clear.id == table.id)
    }

    /// Changes single fields of a record in which a value is bound to another one: the whole record
    /// is read, and written again.
    fn update_whole(
        &self,
        table: &SealedTable,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        let caller = "an update of a value that is bound to another column, or of that one,";
        let inner = self.inner.transactional();
        let inner = inner.ok_or(StoreError::Lacks { caller, ability: "transactions" })?;
        let asked = table.asked(None);
        let mut is_there = false;
        inner.transaction(&mut |transaction| {
            let mut stored = Record::new();
            is_there = transaction.read(table.stored(), key, true, &mut stored)?;
            if !is_there {
                return Ok(());
            }
            let clear =
                self.work.open(&stored, || table.open(&[(key, &stored)], &asked))?.remove(0);
            let mut changed = Record::with_capacity(clear.len(), clear.bytes());
            for (field, old) in clear.iter().enumerate() {
                let change = changes.iter().rev().find(|(changed, _)| *changed == field);
                changed.push(change.map_or(old, |(_, new)| new));
            }
            let sealed =
                self.work.seal(changed.bytes(), 1, || table.seal(&[(key, &changed)]))?.remove(0);
            transaction.put(table.stored(), key, &sealed)
        })?;
        Ok(is_there)
    }
}

impl<S: Store> Store for Sealed<S> {
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        let Some(sealed) = self.table(table) else {
            return self.inner.read(table, key, fields, into);
        };
        let asked = sealed.asked(fields);
        let below = fields.map(|_| asked.fields.as_slice());
        if !self.inner.read(sealed.stored(), key, below, into)? {
            return Ok(false);
        }
        let opened = self.work.open(into, || sealed.open(&[(key, &*into)], &asked));
        into.clear();
        into.copy_from(&opened?[0]);
        Ok(true)
    }

    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError> {
        let Some(sealed) = self.table(table) else {
            return self.inner.scan(table, start, count, each);
        };
        let asked = sealed.asked(None);
        let mut waiting: Vec<Row> = Vec::new();
        let mut failed = None;
        let mut pass_on = |waiting: &mut Vec<Row>| -> Result<(), StoreError> {
            let rows: Vec<(&[u8], &Record)> =
                waiting.iter().map(|(key, record)| (key.as_slice(), record)).collect();
            let bytes = rows.iter().map(|(_, record)| record.bytes()).sum();
            let opened = self.work.open_many(bytes, rows.len(), || sealed.open(&rows, &asked))?;
            rows.iter().zip(&opened).for_each(|((key, _), record)| each(key, record));
            waiting.clear();
            Ok(())
        };
        let found = self.inner.scan(sealed.stored(), start, count, &mut |key, record| {
            if failed.is_none() {
                waiting.push((key.to_vec(), record.clone()));
                if waiting.len() == SCAN_ROWS {
                    failed = pass_on(&mut waiting).err();
                }
            }
        })?;
        match failed {
            Some(error) => Err(error),
            None => pass_on(&mut waiting).map(|()| found),
        }
    }

    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        let Some(sealed) = self.table(table) else { return self.inner.insert(table, key, record) };
        let stored = self.work.seal(record.bytes(), 1, || sealed.seal(&[(key, record)]))?;
        self.inner.insert(sealed.stored(), key, &stored[0])
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        let Some(sealed) = self.table(table) else { return self.inner.insert_many(table, rows) };
        let records = self.seal_records(sealed, rows)?;
        let stored: Vec<Row> =
            rows.iter().zip(records).map(|((key, _), record)| (key.clone(), record)).collect();
        self.inner.insert_many(sealed.stored(), &stored)
    }

    fn update(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        let Some(sealed) = self.table(table) else { return self.inner.update(table, key, changes) };
        if sealed.needs_record(changes) {
            return self.update_whole(sealed, key, changes);
        }
        let bytes = changes.iter().map(|(_, value)| value.len()).sum();
        let stored = self.work.seal(bytes, 1, || sealed.seal_changes(key, changes))?;
        let stored: Vec<(usize, &[u8])> =
            stored.iter().map(|(field, value)| (*field, value.as_slice())).collect();
        self.inner.update(sealed.stored(), key, &stored)
    }

    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError> {
        self.inner.delete(self.table(table).map_or(table, |sealed| sealed.stored()), key)
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        self.inner.bulk().map(|_| self as &dyn BulkLoad)
    }

    fn transactional(&self) -> Option<&dyn Transactional> {
        self.inner.transactional().map(|_| self as &dyn Transactional)
    }
}

impl<S: Store> Meter for Sealed<S> {
    fn counters(&self) -> Counters {
        self.work.counters()
    }
}

impl<S: Store> Sealed<S> {
    /// Returns the records of `rows` as they are stored.
    fn seal_records(&self, table: &SealedTable, rows: &[Row]) -> Result<Vec<Record>, StoreError> {
        let rows: Vec<(&[u8], &Record)> =
            rows.iter().map(|(key, record)| (key.as_slice(), record)).collect();
        let bytes = rows.iter().map(|(_, record)| record.bytes()).sum();
        self.work.seal(bytes, rows.len(), || table.seal(&rows))
    }
}
