//! An engine in memory that can be slow, fail, and set the stop flag; it records its requests.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sealstone_store::kind::{Opened, StoreKind};
use sealstone_store::{
    BulkLoad, Engine, EngineFacts, Layer, MemoryStore, OpenStore, Record, Row, Store, StoreError,
    StoreOptions, Table, Transactional, Upkeep, Variant,
};

/// The kind of the store. Tests open its engine themselves, as they need it.
pub(crate) static KIND: StoreKind = StoreKind {
    name: "rocksdb",
    about: "in memory",
    replicated: false,
    layers: &[Layer::Field, Layer::Rest],
    rest_modes: None,
    server_rest: &[],
    on_volume: false,
    functions: &[],
    device: false,
    in_memory: false,
    cache_bytes_min: 0,
    cache_decided_by: None,
    shared_by: None,
    shared_by_variant: false,
    suited: "",
    settings: &[],
    engine: |_| Ok(Opened { engine: Box::new(FakeEngine::default()), notes: Vec::new() }),
};

/// Request to a store, other than reads and writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Open(String),
    /// A store whose writes wait for the disk.
    OpenSynced(String),
    DropCaches(String),
    /// The end of a load or of a slice.
    Quiesce(String),
}

/// Faults that occur, counted over the reads of all stores.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trouble {
    /// This read fails.
    pub(crate) fail_at_read: Option<u64>,
    /// So do all after it.
    pub(crate) stays_dead: bool,
    /// Every read fails whose number is a multiple of this.
    pub(crate) fail_each: Option<u64>,
    /// At this read the stop flag is set.
    pub(crate) stop_at_read: Option<u64>,
    /// At this insert the stop flag is set.
    pub(crate) stop_at_insert: Option<u64>,
}

#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) events: Mutex<Vec<Event>>,
    pub(crate) stop: AtomicBool,
    reads: AtomicU64,
    inserts: AtomicU64,
}

#[derive(Default)]
pub(crate) struct FakeEngine {
    /// Duration of a read, by variant label.
    pub(crate) read_delay: HashMap<&'static str, Duration>,
    pub(crate) trouble: Trouble,
    /// Time that a read sleeps while it holds the store's only lock.
    pub(crate) locked_read: Option<Duration>,
    /// Time that a read works.
    pub(crate) working_read: Option<Duration>,
    /// Time for which reads are slow after a pause, as over a connection that was idle.
    pub(crate) waking: Duration,
    /// Time that the store reports for that.
    pub(crate) lead_in: Duration,
    pub(crate) shared: Arc<Shared>,
}

impl FakeEngine {
    pub(crate) fn events(&self) -> Vec<Event> {
        self.shared.events.lock().unwrap().clone()
    }
}

impl Engine for FakeEngine {
    fn facts(&self) -> EngineFacts {
        EngineFacts {
            name: "memory".into(),
            version: "1".into(),
            build: "test".into(),
            ..EngineFacts::default()
        }
    }

    fn open(
        &self,
        variant: &Variant,
        dir: &Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        let empty = std::fs::read_dir(dir).map_err(StoreError::engine)?.next().is_none();
        assert!(empty, "a store is opened in {}, which is not empty", dir.display());
        std::fs::write(dir.join("data"), &variant.label).map_err(StoreError::engine)?;
        let store = FakeStore {
            label: variant.label.clone(),
            inner: MemoryStore::new(),
            delay: self.read_delay.get(variant.label.as_str()).copied(),
            trouble: self.trouble,
            locked_read: self.locked_read,
            working_read: self.working_read,
            waking: self.waking,
            lead_in: self.lead_in,
            used_since: Mutex::default(),
            lock: Mutex::default(),
            shared: Arc::clone(&self.shared),
        };
        store.log(if options.sync_writes { Event::OpenSynced } else { Event::Open });
        Ok(OpenStore::records(store))
    }
}

struct FakeStore {
    label: String,
    inner: MemoryStore,
    delay: Option<Duration>,
    trouble: Trouble,
    locked_read: Option<Duration>,
    working_read: Option<Duration>,
    waking: Duration,
    lead_in: Duration,
    /// The time of the first read after a load or a slice.
    used_since: Mutex<Option<Instant>>,
    lock: Mutex<()>,
    shared: Arc<Shared>,
}

impl FakeStore {
    fn log(&self, event: fn(String) -> Event) {
        self.shared.events.lock().unwrap().push(event(self.label.clone()));
    }

    fn count_insert(&self) {
        if Some(self.shared.inserts.fetch_add(1, Ordering::Relaxed)) == self.trouble.stop_at_insert
        {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl BulkLoad for FakeStore {
    fn bulk_load(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
    ) -> Result<u64, StoreError> {
        let bulk = self.inner.bulk().expect("a store in memory has it");
        bulk.bulk_load(table, &mut rows.inspect(|_| self.count_insert()))
    }
}

impl Store for FakeStore {
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        let number = self.shared.reads.fetch_add(1, Ordering::Relaxed);
        if Some(number) == self.trouble.stop_at_read {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        let dead =
            self.trouble.fail_at_read.is_some_and(|at| self.trouble.stays_dead && number > at);
        let shaky = self.trouble.fail_each.is_some_and(|each| number.is_multiple_of(each));
        if Some(number) == self.trouble.fail_at_read || dead || shaky {
            return Err(StoreError::engine("page 7 of 000012.sst failed authentication"));
        }
        if let Some(delay) = self.delay {
            std::thread::sleep(delay);
        }
        if let Some(delay) = self.locked_read {
            let _held = self.lock.lock().unwrap();
            std::thread::sleep(delay);
        }
        if let Some(length) = self.working_read {
            let begin = Instant::now();
            while begin.elapsed() < length {
                std::hint::spin_loop();
            }
        }
        let used_since = *self.used_since.lock().unwrap().get_or_insert_with(Instant::now);
        if used_since.elapsed() < self.waking {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.inner.read(table, key, fields, into)
    }

    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        self.count_insert();
        self.inner.insert(table, key, record)
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        rows.iter().try_for_each(|(key, record)| self.insert(table, key, record))
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

    fn update(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        self.inner.update(table, key, changes)
    }

    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError> {
        self.inner.delete(table, key)
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        Some(self)
    }

    fn transactional(&self) -> Option<&dyn Transactional> {
        self.inner.transactional()
    }
}

impl Upkeep for FakeStore {
    fn disk_bytes(&self) -> Result<u64, StoreError> {
        Ok(1_234)
    }

    fn quiesce(&self) -> Result<(), StoreError> {
        self.log(Event::Quiesce);
        *self.used_since.lock().unwrap() = None;
        self.inner.quiesce()
    }

    fn lead_in(&self) -> Duration {
        self.lead_in
    }

    fn drop_caches(&self) -> Result<(), StoreError> {
        self.log(Event::DropCaches);
        self.inner.drop_caches()
    }
}
