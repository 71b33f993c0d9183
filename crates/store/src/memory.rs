//! A store in memory with every ability of the store trait. Tests run workloads and the runner on
//! it; it is neither for keeping data nor a baseline to compare with.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{BulkLoad, Record, Row, Store, StoreError, Table, Transaction, Transactional, Upkeep};

/// Records in a sorted map behind one lock. Transactions are optimistic: records read for update
/// must be unchanged when they commit, otherwise they run again.
#[derive(Debug, Default)]
pub struct MemoryStore {
    tables: RwLock<HashMap<u8, BTreeMap<Vec<u8>, Entry>>>,
}

#[derive(Debug)]
struct Entry {
    record: Record,
    /// Differs from that of every other write, so that a key which was deleted and written again
    /// counts as changed.
    version: u64,
}

/// Returns a version that no other write has, from 1.
fn next_version() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl MemoryStore {
    /// Returns an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn read_tables<T>(&self, read: impl FnOnce(&HashMap<u8, BTreeMap<Vec<u8>, Entry>>) -> T) -> T {
        read(&self.tables.read().expect("no code that holds this lock panics"))
    }

    fn write_tables<T>(
        &self,
        write: impl FnOnce(&mut HashMap<u8, BTreeMap<Vec<u8>, Entry>>) -> T,
    ) -> T {
        write(&mut self.tables.write().expect("no code that holds this lock panics"))
    }

    /// Calls `found` with the entry, if there is one, outside no lock.
    fn entry<T>(&self, table: u8, key: &[u8], found: impl FnOnce(Option<&Entry>) -> T) -> T {
        self.read_tables(|tables| found(tables.get(&table).and_then(|rows| rows.get(key))))
    }
}

fn put(rows: &mut BTreeMap<Vec<u8>, Entry>, key: &[u8], record: Record) {
    match rows.get_mut(key) {
        Some(entry) => *entry = Entry { record, version: next_version() },
        None => drop(rows.insert(key.to_vec(), Entry { record, version: next_version() })),
    }
}

/// Copies the values of `record`, or only the fields in `fields`, into `into`.
fn copy(record: &Record, fields: Option<&[usize]>, into: &mut Record) {
    match fields {
        None => into.copy_from(record),
        Some(fields) => {
            fields.iter().for_each(|&field| into.push(record.get(field).unwrap_or_default()))
        }
    }
}

impl Store for MemoryStore {
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        into.clear();
        Ok(self.entry(table.id, key, |entry| {
            entry.map(|entry| copy(&entry.record, fields, into)).is_some()
        }))
    }

    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError> {
        Ok(self.read_tables(|tables| {
            let rows = tables.get(&table.id).into_iter();
            rows.flat_map(|rows| rows.range::<[u8], _>((Bound::Included(start), Bound::Unbounded)))
                .take(count)
                .map(|(key, entry)| each(key, &entry.record))
                .count()
        }))
    }

    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        self.write_tables(|tables| put(tables.entry(table.id).or_default(), key, record.clone()));
        Ok(())
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        rows.iter().try_for_each(|(key, record)| self.insert(table, key, record))
    }

    fn update(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        Ok(self.write_tables(|tables| {
            let Some(entry) = tables.get_mut(&table.id).and_then(|rows| rows.get_mut(key)) else {
                return false;
            };
            let mut changed = Record::with_capacity(entry.record.len(), entry.record.bytes());
            for (field, old) in entry.record.iter().enumerate() {
                let change = changes.iter().rev().find(|(changed, _)| *changed == field);
                changed.push(change.map_or(old, |(_, new)| new));
            }
            *entry = Entry { record: changed, version: next_version() };
            true
        }))
    }

    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError> {
        self.write_tables(|tables| tables.get_mut(&table.id).and_then(|rows| rows.remove(key)));
        Ok(())
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        Some(self)
    }

    fn transactional(&self) -> Option<&dyn Transactional> {
        Some(self)
    }
}

impl Upkeep for MemoryStore {
    fn disk_bytes(&self) -> Result<u64, StoreError> {
        let row_bytes =
            |(key, entry): (&Vec<u8>, &Entry)| (key.len() + entry.record.bytes()) as u64;
        Ok(self.read_tables(|tables| tables.values().flatten().map(row_bytes).sum()))
    }
}

impl BulkLoad for MemoryStore {
    fn bulk_load(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
    ) -> Result<u64, StoreError> {
        let mut loaded: Vec<Row> = Vec::new();
        for row in rows {
            if loaded.last().is_some_and(|(last, _)| *last >= row.0) {
                return Err(StoreError::Order {
                    table: table.name.clone(),
                    row: loaded.len() as u64 + 1,
                });
            }
            loaded.push(row);
        }
        let count = loaded.len() as u64;
        self.write_tables(|tables| {
            let rows = tables.entry(table.id).or_default();
            loaded.into_iter().for_each(|(key, record)| put(rows, &key, record));
        });
        Ok(count)
    }
}

impl Transactional for MemoryStore {
    fn transaction(
        &self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        loop {
            let mut transaction =
                MemoryTransaction { store: self, locked: HashMap::new(), written: BTreeMap::new() };
            body(&mut transaction)?;
            if transaction.commit() {
                return Ok(());
            }
            std::thread::yield_now();
        }
    }
}

struct MemoryTransaction<'a> {
    store: &'a MemoryStore,
    /// Version of each record when it was first read for update; 0 if it was absent.
    locked: HashMap<(u8, Vec<u8>), u64>,
    written: BTreeMap<(u8, Vec<u8>), Record>,
}

impl MemoryTransaction<'_> {
    /// Applies the writes, unless a record read for update has changed since. Returns whether it
    /// did.
    fn commit(self) -> bool {
        self.store.write_tables(|tables| {
            let version = |table, key| {
                tables.get(table).and_then(|rows| rows.get(key)).map_or(0, |entry| entry.version)
            };
            if self.locked.iter().any(|((table, key), &seen)| version(table, key) != seen) {
                return false;
            }
            for ((table, key), record) in self.written {
                put(tables.entry(table).or_default(), &key, record);
            }
            true
        })
    }
}

impl Transaction for MemoryTransaction<'_> {
    fn read(
        &mut self,
        table: &Table,
        key: &[u8],
        for_update: bool,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        into.clear();
        let at = (table.id, key.to_vec());
        if let Some(record) = self.written.get(&at) {
            copy(record, None, into);
            return Ok(true);
        }
        let version = self.store.entry(table.id, key, |entry| {
            entry.map_or(0, |entry| {
                copy(&entry.record, None, into);
                entry.version
            })
        });
        if for_update {
            self.locked.entry(at).or_insert(version);
        }
        Ok(version > 0)
    }

    fn put(&mut self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        self.written.insert((table.id, key.to_vec()), record.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Field, Kind};

    fn table(id: u8) -> Table {
        let field = |name: &str| Field { name: name.into(), kind: Kind::Text };
        Table { id, name: format!("table{id}"), fields: vec![field("one"), field("two")] }
    }

    fn record(one: &str, two: &str) -> Record {
        let mut record = Record::new();
        record.push(one.as_bytes());
        record.push(two.as_bytes());
        record
    }

    fn read(store: &MemoryStore, table: &Table, key: &str) -> Option<Record> {
        let mut into = record("left", "over");
        store.read(table, key.as_bytes(), None, &mut into).unwrap().then_some(into)
    }

    #[test]
    fn reads_what_was_written_last_and_nothing_else() {
        let (store, table) = (MemoryStore::new(), table(0));
        store.insert(&table, b"a", &record("1", "2")).unwrap();
        store.insert(&table, b"a", &record("3", "4")).unwrap();
        assert_eq!(read(&store, &table, "a"), Some(record("3", "4")));
        assert_eq!(read(&store, &table, "b"), None);
        assert_eq!(read(&store, &self::table(1), "a"), None);
        let mut into = Record::new();
        assert!(store.read(&table, b"a", Some(&[1]), &mut into).unwrap());
        assert_eq!(into.iter().collect::<Vec<_>>(), [b"4"]);
        assert!(!store.read(&table, b"b", None, &mut into).unwrap());
        assert!(into.is_empty());
    }

    #[test]
    fn updates_only_the_fields_named() {
        let (store, table) = (MemoryStore::new(), table(0));
        assert!(!store.update(&table, b"a", &[(0, b"x")]).unwrap());
        store.insert(&table, b"a", &record("1", "2")).unwrap();
        assert!(store.update(&table, b"a", &[(1, b"new")]).unwrap());
        assert_eq!(read(&store, &table, "a"), Some(record("1", "new")));
        assert_eq!(store.disk_bytes().unwrap(), 5);
    }

    #[test]
    fn what_was_deleted_is_gone_and_can_be_written_again() {
        let (store, table) = (MemoryStore::new(), table(0));
        store.delete(&table, b"a").unwrap();
        store.insert(&table, b"a", &record("1", "2")).unwrap();
        store.insert(&table, b"b", &record("3", "4")).unwrap();
        store.delete(&table, b"a").unwrap();
        assert_eq!(
            (read(&store, &table, "a"), read(&store, &table, "b")),
            (None, Some(record("3", "4")))
        );
        assert!(!store.update(&table, b"a", &[(0, b"x")]).unwrap());
        assert_eq!(store.scan(&table, b"", 9, &mut |key, _| assert_eq!(key, b"b")).unwrap(), 1);
        store.insert(&table, b"a", &record("5", "6")).unwrap();
        assert_eq!(read(&store, &table, "a"), Some(record("5", "6")));
    }

    #[test]
    fn scans_in_key_order_from_the_start_within_one_table() {
        let (store, table) = (MemoryStore::new(), table(0));
        for key in ["c", "a", "d", "b"] {
            store.insert(&table, key.as_bytes(), &record(key, "")).unwrap();
        }
        store.insert(&self::table(1), b"z", &record("", "")).unwrap();
        let scan = |start: &str, count| {
            let mut keys = Vec::new();
            let rows = store
                .scan(&table, start.as_bytes(), count, &mut |key, _| keys.push(key[0] as char))
                .unwrap();
            assert_eq!(rows, keys.len());
            keys
        };
        assert_eq!(scan("b", 2), ['b', 'c']);
        assert_eq!(scan("bb", 9), ['c', 'd']);
        assert_eq!(scan("e", 9), []);
    }

    #[test]
    fn a_bulk_load_out_of_order_leaves_nothing() {
        let (store, table) = (MemoryStore::new(), table(0));
        let rows = |keys: &[&str]| -> Vec<Row> {
            keys.iter().map(|key| (key.as_bytes().to_vec(), record(key, ""))).collect()
        };
        let error = store.bulk_load(&table, &mut rows(&["a", "c", "b"]).into_iter()).unwrap_err();
        assert!(
            matches!(&error, StoreError::Order { table, row: 3 } if table == "table0"),
            "{error}"
        );
        assert!(store.bulk_load(&table, &mut rows(&["a", "a"]).into_iter()).is_err());
        assert_eq!(read(&store, &table, "a"), None);
        assert_eq!(store.bulk_load(&table, &mut rows(&["a", "b"]).into_iter()).unwrap(), 2);
        assert_eq!(read(&store, &table, "b"), Some(record("b", "")));
    }

    #[test]
    fn a_transaction_is_all_or_nothing() {
        let (store, table) = (MemoryStore::new(), table(0));
        let failed = store.transaction(&mut |transaction| {
            transaction.put(&table, b"a", &record("1", "2"))?;
            let mut into = Record::new();
            assert!(
                transaction.read(&table, b"a", false, &mut into)?,
                "a transaction sees its own writes"
            );
            assert_eq!(read(&store, &table, "a"), None, "others do not see them yet");
            Err(StoreError::Stopped)
        });
        assert_eq!(failed.unwrap_err().to_string(), "stopped");
        assert_eq!(read(&store, &table, "a"), None);
        store
            .transaction(&mut |transaction| transaction.put(&table, b"a", &record("1", "2")))
            .unwrap();
        assert_eq!(read(&store, &table, "a"), Some(record("1", "2")));
    }

    #[test]
    fn concurrent_transactions_lose_no_update() {
        let (store, table) = (MemoryStore::new(), table(0));
        store.insert(&table, b"n", &record("0", "")).unwrap();
        let add = || {
            for _ in 0..500 {
                let body = &mut |transaction: &mut dyn Transaction| {
                    let mut into = Record::new();
                    transaction.read(&table, b"n", true, &mut into)?;
                    let count: u32 =
                        std::str::from_utf8(into.get(0).unwrap()).unwrap().parse().unwrap();
                    transaction.put(&table, b"n", &record(&(count + 1).to_string(), ""))
                };
                store.transaction(body).unwrap();
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(add))));
        assert_eq!(read(&store, &table, "n"), Some(record("2000", "")));
    }
}
