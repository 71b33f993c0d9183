//! The store: records as documents, one collection a table.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use mongodb::bson::{Document, RawDocumentBuf, Timestamp, doc};
use mongodb::error::{Error as DriverError, ErrorKind, WriteFailure};
use mongodb::options::{Acknowledgment, WriteConcern};
use mongodb::sync::Collection;
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use sealstone_servers::bson_number;
use sealstone_store::{
    BulkLoad, Counters, Record, Row, Store, StoreError, StoreOptions, Table, Transactional, Upkeep,
};

use super::connection::{MongoDb, Topology};
use super::document::{ID, Layout, id};
use super::error::Error;
use crate::server_error::ServerError;

/// Documents that bulk loading sends at once, and their bytes: below what one message may hold.
const BATCH_ROWS: usize = 1_000;
const BATCH_BYTES: usize = 8 << 20;
/// Most documents of a scan in one answer.
const ANSWER_ROWS: usize = 10_000;
/// Interval between the checks of `quiesce`.
const POLL: Duration = Duration::from_millis(50);
/// Size below which a cache counts as emptied, and the time limit for that.
const SMALL_CACHE_BYTES: i64 = 1 << 20;
const EMPTY_LIMIT: Duration = Duration::from_secs(5);
/// Time that secondaries may take to catch up.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(600);

/// The server's answer to a command that the user may not run, or that is unknown.
const UNAUTHORIZED: i32 = 13;
const UNKNOWN_COMMAND: i32 = 59;
const NOT_SUPPORTED: i32 = 115;
const NAMESPACE_EXISTS: i32 = 48;
const DUPLICATE_KEY: i32 = 11000;

/// A table's collection, and how its records are laid out.
pub(super) struct Place {
    pub(super) collection: Collection<RawDocumentBuf>,
    pub(super) layout: Layout,
}

/// A store in MongoDB. Reads and writes are acknowledged according to the connection's options and
/// the server's defaults.
///
/// Counters come from the server that is primary: bytes through its block manager and journal, and
/// its cache. They include the work of other clients, and are zero if the user may not read them.
pub struct MongoDbStore {
    pub(super) server: MongoDb,
    places: HashMap<u8, Place>,
    counted: Mutex<Counted>,
    /// Processes of this machine that do its work.
    pids: Vec<u32>,
    /// Dropped with the store, after everything else in it.
    _servers: Servers,
}

/// Servers, or data loaded into them, that exist for one store.
struct Servers(Option<Box<dyn Send + Sync>>);

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "its own" } else { "others" })
    }
}

/// Counters of a server, and their sums: a server that starts again begins at zero.
#[derive(Debug, Default)]
struct Counted {
    last: [u64; 4],
    sum: [u64; 4],
}

impl fmt::Debug for MongoDbStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MongoDbStore").field("server", &self.server).finish_non_exhaustive()
    }
}

impl MongoDb {
    /// Opens the store: makes a collection for each table that has none.
    ///
    /// The cache is the server's own business: `options.cache_bytes` is not used.
    ///
    /// # Errors
    /// [`ServerError::Failed`].
    pub fn open_store(&self, options: &StoreOptions) -> Result<MongoDbStore, ServerError> {
        MongoDbStore::open(self.clone(), &options.tables)
    }

    /// As [`MongoDb::open_store`], of collections that are there: makes none, and so works on a
    /// secondary.
    #[must_use]
    pub fn open_for_reading(&self, options: &StoreOptions) -> MongoDbStore {
        MongoDbStore::over(self.clone(), &options.tables)
    }
}

impl MongoDbStore {
    pub(super) fn open(server: MongoDb, tables: &[Arc<Table>]) -> Result<Self, ServerError> {
        for table in tables {
            match server.inner.database.create_collection(&table.name).run() {
                Err(error) if code(&error) != Some(NAMESPACE_EXISTS) => {
                    return Err(server
                        .inner
                        .route
                        .failure(&format!("make collection {} in", table.name), &error));
                }
                _ => {}
            }
        }
        Ok(Self::over(server, tables))
    }

    /// Makes a store over existing collections.
    pub(super) fn over(server: MongoDb, tables: &[Arc<Table>]) -> Self {
        let place = |table: &Arc<Table>| {
            let collection = server.inner.database.collection(&table.name);
            (table.id, Place { collection, layout: Layout::new(table) })
        };
        let places = tables.iter().map(place).collect();
        let (counted, pids) = (Mutex::default(), Vec::new());
        let store = Self { server, places, counted, pids, _servers: Servers(None) };
        // earlier work of others does not belong to this store
        let before = store.server_counters();
        *store.counted.lock().unwrap_or_else(PoisonError::into_inner) =
            Counted { last: before.unwrap_or_default(), sum: [0; 4] };
        store
    }

    /// Returns the connection.
    #[must_use]
    pub fn server(&self) -> &MongoDb {
        &self.server
    }

    /// Returns the same store, on its own servers: `pids` are their processes on this machine, and
    /// `servers` is dropped with it.
    pub(super) fn with_servers(self, pids: Vec<u32>, servers: Box<dyn Send + Sync>) -> Self {
        Self { pids, _servers: Servers(Some(servers)), ..self }
    }

    pub(super) fn place(&self, table: &Table) -> Result<&Place, StoreError> {
        self.places.get(&table.id).ok_or_else(|| {
            let found =
                "the store was not opened with it; this is a bug in sealstone, please report it"
                    .into();
            StoreError::Shape { table: table.name.clone(), found }
        })
    }

    /// Returns the collection of the table with the number `table`.
    pub(super) fn collection(&self, table: u8) -> Option<&Collection<RawDocumentBuf>> {
        self.places.get(&table).map(|place| &place.collection)
    }

    pub(super) fn failure(&self, attempt: &str, table: &Table, error: &DriverError) -> StoreError {
        self.server.inner.route.failure_of(attempt, table, error)
    }

    fn failed(&self, attempt: &str, error: &DriverError) -> StoreError {
        self.server.inner.route.failure(attempt, error).into()
    }

    /// Returns bytes read, bytes written, pages requested from the cache, pages read into it.
    fn server_counters(&self) -> Option<[u64; 4]> {
        let status = self.server.inner.server_status().ok()?;
        let engine = status.get_document("wiredTiger").ok()?;
        let count = |section: &str, name: &str| {
            engine
                .get_document(section)
                .ok()
                .and_then(|section| bson_number(section, name))
                .unwrap_or(0) as u64
        };
        let (blocks, cache) = ("block-manager", "cache");
        Some([
            count(blocks, "bytes read"),
            count(blocks, "bytes written") + count("log", "log bytes written"),
            count(cache, "pages requested from the cache"),
            count(cache, "pages read into cache"),
        ])
    }

    /// Makes the primary write everything it holds to its files.
    fn checkpoint(&self) -> Result<(), StoreError> {
        match self.server.inner.admin(doc! { "fsync": 1 }) {
            Err(error) if !may_be_refused(&error) => Err(self.failed("flush", &error)),
            _ => Ok(()),
        }
    }

    /// Waits until every member that is up has what the primary has now.
    fn catch_up(&self) -> Result<(), StoreError> {
        let begin = Instant::now();
        let mut wanted: Option<Timestamp> = None;
        loop {
            let status = match self.server.inner.admin(doc! { "replSetGetStatus": 1 }) {
                Err(error) if may_be_refused(&error) => return Ok(()),
                outcome => {
                    outcome.map_err(|error| self.failed("ask for the members of", &error))?
                }
            };
            let members: Vec<&Document> = status
                .get_array("members")
                .into_iter()
                .flatten()
                .filter_map(|member| member.as_document())
                .collect();
            let applied = |member: &Document| {
                member.get_document("optime").and_then(|time| time.get_timestamp("ts")).ok()
            };
            let up = |member: &&&Document| {
                bson_number(member, "health") == Some(1)
                    && matches!(bson_number(member, "state"), Some(1 | 2))
            };
            let times: Vec<Option<Timestamp>> =
                members.iter().filter(up).map(|member| applied(member)).collect();
            let goal = *wanted.get_or_insert(
                times
                    .iter()
                    .flatten()
                    .max()
                    .copied()
                    .unwrap_or(Timestamp { time: 0, increment: 0 }),
            );
            if times.iter().all(|time| time.is_some_and(|time| time >= goal)) {
                return Ok(());
            }
            if begin.elapsed() > CATCH_UP_LIMIT {
                return Err(Error::Behind { limit_s: CATCH_UP_LIMIT.as_secs() }.into());
            }
            thread::sleep(POLL);
        }
    }

    /// Shrinks the primary's cache until hardly anything is in it, and restores its size.
    fn empty_cache(&self) -> Result<(), StoreError> {
        let figure = |name: &str| -> Result<i64, StoreError> {
            let status = self
                .server
                .inner
                .server_status()
                .map_err(|error| self.failed("ask for the cache of", &error))?;
            let cache =
                status.get_document("wiredTiger").and_then(|engine| engine.get_document("cache"));
            Ok(cache.ok().and_then(|cache| bson_number(cache, name)).unwrap_or(0))
        };
        let resize = |bytes: i64| {
            let config = format!("cache_size={bytes}");
            let command = doc! { "setParameter": 1, "wiredTigerEngineRuntimeConfig": config };
            self.server
                .inner
                .admin(command)
                .map(drop)
                .map_err(|error| self.failed("change the cache of", &error))
        };
        let size = figure("maximum bytes configured")?;
        if size == 0 {
            return Ok(());
        }
        resize(SMALL_CACHE_BYTES)?;
        let begin = Instant::now();
        let emptied = loop {
            match figure("bytes currently in the cache") {
                // pages in use stay, however long the wait
                Ok(bytes) if bytes > SMALL_CACHE_BYTES && begin.elapsed() < EMPTY_LIMIT => {
                    thread::sleep(POLL)
                }
                outcome => break outcome,
            }
        };
        resize(size)?;
        emptied.map(drop)
    }

    /// Sends one batch of a bulk load. Returns the keys that came in, also of a batch that failed.
    fn load_batch(
        &self,
        table: &Table,
        place: &Place,
        keys: Vec<String>,
        batch: Vec<RawDocumentBuf>,
    ) -> (Vec<String>, Result<(), StoreError>) {
        let concern = place.collection.write_concern().cloned().unwrap_or_default();
        let in_set = self.server.inner.topology != Topology::Single;
        let members = concern.w.or(in_set.then_some(Acknowledgment::Majority));
        let durable =
            WriteConcern::builder().w(members).w_timeout(concern.w_timeout).journal(true).build();
        match place.collection.insert_many(batch).ordered(false).write_concern(durable).run() {
            Ok(_) => (keys, Ok(())),
            Err(error) => {
                let failure = self.failure("load into", table, &error);
                let ErrorKind::InsertMany(errors) = &*error.kind else {
                    // it is unknown which of them were inserted; others may have been there before,
                    // and must not be removed
                    return (Vec::new(), Err(failure));
                };
                let failed: HashSet<usize> =
                    errors.write_errors.iter().flatten().map(|one| one.index).collect();
                let came_in = keys.into_iter().enumerate().filter(|(at, _)| !failed.contains(at));
                (came_in.map(|(_, key)| key).collect(), Err(failure))
            }
        }
    }

    /// Removes what a failed load had inserted, as far as the servers answer.
    fn unload(&self, place: &Place, batches: &[Vec<String>]) {
        for keys in batches {
            // the error of the load is reported
            let _ = place.collection.delete_many(doc! { ID: { "$in": keys } }).run();
        }
    }
}

/// Returns whether `error` means that the user may not do this, or that this kind of server does
/// not have it.
fn may_be_refused(error: &DriverError) -> bool {
    matches!(code(error), Some(UNAUTHORIZED | UNKNOWN_COMMAND | NOT_SUPPORTED))
}

/// Returns whether all failures among many inserts are records that were there before.
fn has_duplicates(error: &DriverError) -> bool {
    let ErrorKind::InsertMany(errors) = &*error.kind else { return false };
    let failed = errors.write_errors.iter().flatten();
    errors.write_concern_error.is_none()
        && failed.clone().count() > 0
        && failed.clone().all(|one| one.code == DUPLICATE_KEY)
}

/// Returns the code of a command or a write that failed.
pub(super) fn code(error: &DriverError) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(error) => Some(error.code),
        ErrorKind::Write(WriteFailure::WriteError(error)) => Some(error.code),
        _ => None,
    }
}

/// Returns whether `error` means that the key is there already.
pub(super) fn is_duplicate(error: &DriverError) -> bool {
    code(error) == Some(DUPLICATE_KEY)
}

impl Store for MongoDbStore {
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        into.clear();
        let place = self.place(table)?;
        let mut find = place.collection.find_one(doc! { ID: id(key) });
        if let Some(fields) = fields {
            let mut projection: Document = fields
                .iter()
                .map(|&field| (place.layout.name(field).to_owned(), 1.into()))
                .collect();
            projection.insert(ID, i32::from(fields.is_empty()));
            find = find.projection(projection);
        }
        let found = find.run().map_err(|error| self.failure("read from", table, &error))?;
        match found {
            Some(document) => place.layout.decode(table, &document, fields, into).map(|()| true),
            None => Ok(false),
        }
    }

    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError> {
        let place = self.place(table)?;
        // to the server, a limit of 0 means no limit
        if count == 0 {
            return Ok(0);
        }
        let failure = |error: DriverError| self.failure("scan", table, &error);
        let mut find =
            place.collection.find(doc! { ID: { "$gte": id(start) } }).sort(doc! { ID: 1 });
        find = find.batch_size(count.min(ANSWER_ROWS) as u32);
        if let Ok(limit) = i64::try_from(count) {
            find = find.limit(limit);
        }
        let mut rows = find.run().map_err(failure)?;
        let (mut key, mut record) = (Vec::new(), Record::new());
        let mut done = 0;
        while done < count && rows.advance().map_err(failure)? {
            place.layout.decode_row(table, rows.current(), &mut key, &mut record)?;
            each(&key, &record);
            done += 1;
        }
        Ok(done)
    }

    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        let place = self.place(table)?;
        let document = place.layout.encode(key, record);
        let inserted = match place.collection.insert_one(&document).run() {
            // not new after all
            Err(error) if is_duplicate(&error) => {
                let replaced = place
                    .collection
                    .replace_one(doc! { ID: id(key) }, &document)
                    .upsert(true)
                    .run();
                replaced.map(drop)
            }
            outcome => outcome.map(drop),
        };
        inserted.map_err(|error| self.failure("write to", table, &error))
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        let place = self.place(table)?;
        let documents = rows.iter().map(|(key, record)| place.layout.encode(key, record));
        match place.collection.insert_many(documents).ordered(false).run() {
            // some are not new; it does not matter which, as writing a record again changes nothing
            Err(error) if has_duplicates(&error) => {
                rows.iter().try_for_each(|(key, record)| self.insert(table, key, record))
            }
            outcome => outcome.map(drop).map_err(|error| self.failure("load into", table, &error)),
        }
    }

    fn update(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        let place = self.place(table)?;
        let changed = place.layout.encode_changes(changes);
        if changed.is_empty() {
            return self.read(table, key, Some(&[]), &mut Record::new());
        }
        let changed = Document::try_from(changed).map_err(|error| StoreError::Shape {
            table: table.name.clone(),
            found: error.to_string(),
        })?;
        let outcome = place.collection.update_one(doc! { ID: id(key) }, changed).run();
        outcome
            .map(|done| done.matched_count > 0)
            .map_err(|error| self.failure("write to", table, &error))
    }

    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError> {
        let place = self.place(table)?;
        let outcome = place.collection.delete_one(doc! { ID: id(key) }).run();
        outcome.map(drop).map_err(|error| self.failure("write to", table, &error))
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        Some(self)
    }

    fn transactional(&self) -> Option<&dyn Transactional> {
        (self.server.inner.topology != Topology::Single).then_some(self)
    }
}

impl Upkeep for MongoDbStore {
    fn counters(&self) -> Counters {
        let now = self.server_counters();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(now) = now {
            let Counted { last, sum } = &mut *counted;
            for ((sum, last), now) in sum.iter_mut().zip(last).zip(now) {
                // another server, or the same one started again, counts from zero
                *sum += now.checked_sub(*last).unwrap_or(now);
                *last = now;
            }
        }
        let [read_bytes, written_bytes, asked, cache_misses] = counted.sum;
        let cache_hits = asked.saturating_sub(cache_misses);
        Counters { read_bytes, written_bytes, cache_hits, cache_misses, ..Counters::default() }
    }

    /// Returns the size of the files in the data directories, where they are known: of all members
    /// together. Else the server's figure for this database: of one copy, after its last
    /// checkpoint.
    fn disk_bytes(&self) -> Result<u64, StoreError> {
        let dirs = &self.server.inner.data_dirs;
        if dirs.is_empty() {
            let answer = self.server.inner.database.run_command(doc! { "dbStats": 1 }).run();
            let answer = answer.map_err(|error| self.failed("ask for the size of", &error))?;
            return Ok(bson_number(&answer, "totalSize").unwrap_or(0) as u64);
        }
        let mut bytes = 0;
        dirs.iter().try_for_each(|dir| each_file(dir, &mut |_, length| bytes += length))?;
        Ok(bytes)
    }

    /// Has the primary write a checkpoint, and waits until the secondaries have caught up; without
    /// the rights for that it returns at once.
    fn quiesce(&self) -> Result<(), StoreError> {
        if self.server.inner.topology == Topology::ReplicaSet {
            self.catch_up()?;
        }
        self.checkpoint()
    }

    /// Makes the primary write a checkpoint. Where the data directories are known, it also empties
    /// its cache, and drops their files from the system's cache; servers elsewhere, which others
    /// may be using, keep their cache.
    fn drop_caches(&self) -> Result<(), StoreError> {
        self.checkpoint()?;
        if self.server.inner.data_dirs.is_empty() {
            return Ok(());
        }
        self.empty_cache()?;
        let forget = &mut |path: &Path, _| {
            // a file that has been removed has no pages
            if let Ok(file) = File::open(path) {
                let _ = posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
            }
        };
        self.server.inner.data_dirs.iter().try_for_each(|dir| each_file(dir, forget))
    }

    fn servers(&self) -> Vec<u32> {
        self.pids.clone()
    }
}

/// Loading in batches: in the journal before it is acknowledged. Inserted records are removed after
/// an error that the servers reported; if they no longer answer, or the client is killed, half a
/// load may remain, as there is no load that bypasses the write path here.
impl BulkLoad for MongoDbStore {
    fn bulk_load(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
    ) -> Result<u64, StoreError> {
        let place = self.place(table)?;
        let mut loaded: Vec<Vec<String>> = Vec::new();
        let mut last: Option<Vec<u8>> = None;
        let mut count = 0;
        let (mut keys, mut batch, mut bytes) = (Vec::new(), Vec::new(), 0);
        loop {
            let row = rows.next();
            let ended = row.is_none();
            if let Some((key, record)) = row {
                count += 1;
                if last.as_ref().is_some_and(|last| *last >= key) {
                    self.unload(place, &loaded);
                    return Err(StoreError::Order { table: table.name.clone(), row: count });
                }
                let document = place.layout.encode(&key, &record);
                bytes += document.as_bytes().len();
                keys.push(id(&key));
                batch.push(document);
                last = Some(key);
            }
            if !batch.is_empty() && (ended || batch.len() == BATCH_ROWS || bytes >= BATCH_BYTES) {
                let (came_in, outcome) = self.load_batch(
                    table,
                    place,
                    std::mem::take(&mut keys),
                    std::mem::take(&mut batch),
                );
                loaded.push(came_in);
                if let Err(error) = outcome {
                    self.unload(place, &loaded);
                    return Err(error);
                }
                bytes = 0;
            }
            if ended {
                return Ok(count);
            }
        }
    }
}

/// Calls `each` with path and length of every file in `dir` and below; a file that vanishes in the
/// meantime is left out.
fn each_file(dir: &Path, each: &mut dyn FnMut(&Path, u64)) -> Result<(), StoreError> {
    let cannot = |source| Error::Directory { dir: dir.to_owned(), source };
    for entry in fs::read_dir(dir).map_err(cannot)? {
        let Ok(entry) = entry else { continue };
        match entry.metadata() {
            Ok(facts) if facts.is_dir() => each_file(&entry.path(), each)?,
            Ok(facts) if facts.is_file() => each(&entry.path(), facts.len()),
            _ => {}
        }
    }
    Ok(())
}
