//! The store: the commands that write and read records.

use std::collections::HashMap;
use std::sync::Arc;

use redis::{Cmd, Value};
use sealstone_store::{
    BulkLoad, Record, Row, Store, StoreError, StoreOptions, Table, Transactional, Upkeep,
};

use super::connection::{Dialect, Redis, Topology, command, pairs};
use super::layout::{Layout, Order, bytes, decode_all, decode_some, no_hash};
use super::links::{Link, Links};
use crate::lent::Lent;

/// Records that loading sends at once, and that a scan requests at once.
const BATCH_ROWS: usize = 1_000;
/// Names of keys read beyond the requested number, where several have the same hash.
const SAME_HASH: usize = 8;

/// A store in Redis. A write is as durable as the server makes it.
pub struct RedisStore {
    pub(super) server: Redis,
    pub(super) links: Links,
    layouts: HashMap<u8, Layout>,
    /// Dropped with the store, after everything else in it.
    lent: Option<Box<dyn Lent>>,
}

impl std::fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisStore").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Redis {
    /// Opens the store. The memory of the server is its own business: `options.cache_bytes` is not
    /// used, nor is `options.sync_writes`, which the server's own settings decide.
    #[must_use]
    pub fn open_store(&self, options: &StoreOptions) -> RedisStore {
        let inner = &self.inner;
        let layout = |table: &Arc<Table>| {
            (table.id, Layout::new(table, inner.keys, inner.dialect == Dialect::Redis))
        };
        let layouts = options.tables.iter().map(layout).collect();
        RedisStore { server: self.clone(), links: Links::new(), layouts, lent: None }
    }
}

impl RedisStore {
    /// Returns the servers.
    #[must_use]
    pub fn server(&self) -> &Redis {
        &self.server
    }

    /// Returns the same store with `lent`, which is dropped with it: its own servers, or its data
    /// on others.
    pub(crate) fn with(self, lent: Box<dyn Lent>) -> Self {
        Self { lent: Some(lent), ..self }
    }

    /// Removes all records of `tables` in their indexes.
    ///
    /// # Errors
    /// As [`Store::insert`].
    pub fn remove(&self, tables: &[Arc<Table>]) -> Result<(), StoreError> {
        for table in tables {
            let index = &self.layout(table)?.index;
            loop {
                let first = command("ZRANGE", index).arg(0).arg(BATCH_ROWS - 1).take();
                let keys = self.ask("look into the index of", table, "ZRANGE", &first)?;
                let keys: Vec<&[u8]> =
                    keys.as_sequence().unwrap_or_default().iter().map(bytes).collect();
                if keys.is_empty() {
                    break;
                }
                let mut commands: Vec<Cmd> = keys.iter().map(|key| self.removal(key)).collect();
                commands.extend(keys.iter().map(|key| command("ZREM", index).arg(*key).take()));
                self.ask_all("remove the records of", table, "DEL", &commands)?;
            }
        }
        Ok(())
    }

    /// Removes the hash `key`: SSDB's DEL leaves hashes.
    fn removal(&self, key: &[u8]) -> Cmd {
        command(if self.is_ssdb() { "hclear" } else { "DEL" }, key)
    }

    fn is_ssdb(&self) -> bool {
        self.server.inner.dialect == Dialect::Ssdb
    }

    pub(super) fn layout(&self, table: &Table) -> Result<&Layout, StoreError> {
        self.layouts.get(&table.id).ok_or_else(|| {
            let found =
                "the store was not opened with it; this is a bug in sealstone, please report it"
                    .into();
            StoreError::Shape { table: table.name.clone(), found }
        })
    }

    /// Runs `body` on this thread's connection; `attempt` and the first command are for its error.
    fn run<T>(
        &self,
        attempt: &str,
        table: &Table,
        first: &str,
        body: impl FnMut(&mut Link) -> redis::RedisResult<T>,
    ) -> Result<T, StoreError> {
        let attempt = || format!("{attempt} table {} ({first}) on", table.name);
        self.server.inner.run(&self.links, attempt, body).map_err(StoreError::from)
    }

    fn ask(
        &self,
        attempt: &str,
        table: &Table,
        first: &str,
        command: &Cmd,
    ) -> Result<Value, StoreError> {
        self.run(attempt, table, first, |link| link.ask(command))
    }

    fn ask_all(
        &self,
        attempt: &str,
        table: &Table,
        first: &str,
        all: &[Cmd],
    ) -> Result<Vec<Value>, StoreError> {
        self.run(attempt, table, first, |link| link.ask_all(all))
    }

    /// Returns the commands that write a whole record and its entry in the index.
    pub(super) fn writes(
        &self,
        table: &Table,
        key: &[u8],
        record: &Record,
    ) -> Result<[Cmd; 2], StoreError> {
        let layout = self.layout(table)?;
        if record.len() != table.fields.len() || record.is_empty() {
            let found = format!("{} values for {} fields", record.len(), table.fields.len());
            return Err(StoreError::Shape { table: table.name.clone(), found });
        }
        let key_there = layout.key(key);
        let mut write = Cmd::with_capacity(
            2 + 2 * record.len(),
            record.bytes() + 16 * record.len() + key.len() + 16,
        );
        write.arg(if self.is_ssdb() { "HMSET" } else { "HSET" }).arg(&key_there);
        for (field, value) in table.fields.iter().zip(record.iter()) {
            write.arg(field.name.as_bytes()).arg(value);
        }
        Ok([write, command("ZADD", &layout.index).arg(layout.score(key)).arg(&key_there).take()])
    }

    fn write_batch(&self, attempt: &str, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        for rows in rows.chunks(BATCH_ROWS) {
            let mut commands = Vec::with_capacity(2 * rows.len());
            for (key, record) in rows {
                commands.extend(self.writes(table, key, record)?);
            }
            self.ask_all(attempt, table, "HSET", &commands)?;
        }
        Ok(())
    }

    /// Returns up to `count` keys from `start` on, in the order of the index.
    ///
    /// YCSB's binding takes all keys with the hash of `start` or a higher hash. A start that ends
    /// in a zero byte is the successor of a returned key: then the keys after it.
    fn keys(&self, table: &Table, start: &[u8], count: usize) -> Result<Vec<Vec<u8>>, StoreError> {
        let layout = self.layout(table)?;
        let ask = |request: &Cmd| -> Result<Vec<Vec<u8>>, StoreError> {
            let keys = self.ask("scan", table, "ZRANGEBYSCORE", request)?;
            Ok(keys
                .as_sequence()
                .unwrap_or_default()
                .iter()
                .map(|key| bytes(key).to_vec())
                .collect())
        };
        let limit = i64::try_from(count).unwrap_or(i64::MAX);
        match layout.order {
            Order::Hash => {}
            Order::None => {
                return Err(StoreError::Lacks {
                    caller: "a scan",
                    ability: "an index sorted by key",
                });
            }
            Order::Key => {
                let from = [b"[", layout.key(start).as_slice()].concat();
                return ask(command("ZRANGEBYLEX", &layout.index)
                    .arg(from)
                    .arg("+")
                    .arg("LIMIT")
                    .arg(0)
                    .arg(limit));
            }
        }
        let after = start.strip_suffix(b"\0");
        let from = if start.is_empty() { i32::MIN } else { layout.score(after.unwrap_or(start)) };
        let mut more = if after.is_some() { SAME_HASH } else { 0 };
        loop {
            let limit = limit.saturating_add(more as i64);
            let mut request = command("ZRANGEBYSCORE", &layout.index);
            let mut keys = ask(request.arg(from).arg(i32::MAX).arg("LIMIT").arg(0).arg(limit))?;
            let found = keys.len();
            if let Some(after) = after {
                let last = layout.key(after);
                keys.retain(|key| layout.score(layout.record_key(key)) != from || *key > last);
            }
            if keys.len() >= count || (found as u64) < limit as u64 {
                keys.truncate(count);
                return Ok(keys);
            }
            more *= 2;
        }
    }

    /// Returns the change to a record of SSDB, whose HMSET does not report existing fields.
    fn update_ssdb(&self, table: &Table, key: &[u8], change: Cmd) -> Result<bool, StoreError> {
        let answers =
            self.ask_all("change a record of", table, "HMSET", &[command("HLEN", key), change])?;
        let was_there = !matches!(answers.first(), Some(Value::Int(0)));
        if !was_there {
            self.ask("change a record of", table, "hclear", &self.removal(key))?;
        }
        Ok(was_there)
    }
}

impl Store for RedisStore {
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        const ATTEMPT: &str = "read a record of";
        into.clear();
        let key = self.layout(table)?.key(key);
        let Some(fields) = fields else {
            let request = [command("HGETALL", &key)];
            let mut is_there = None;
            self.run(ATTEMPT, table, "HGETALL", |link| {
                link.hashes(&request, &mut |pairs| {
                    is_there = pairs.map(|pairs| decode_all(table, pairs, into))
                })
            })?;
            return is_there.ok_or_else(|| no_hash(table));
        };
        if !fields.is_empty() {
            let mut request = command("HMGET", &key);
            for field in fields {
                request.arg(table.fields[*field].name.as_bytes());
            }
            let answer = self.ask(ATTEMPT, table, "HMGET", &request)?;
            if decode_some(table, &answer, into)? {
                return Ok(true);
            }
        }
        // none of these fields, or no record
        let answer = self.ask(ATTEMPT, table, "HLEN", &command("HLEN", &key))?;
        let is_there = !matches!(answer, Value::Int(0));
        if !is_there {
            into.clear();
        }
        Ok(is_there)
    }

    /// Scans in key order; in YCSB's table in the order of its index, by the keys' hashes.
    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError> {
        if count == 0 {
            return Ok(0);
        }
        let layout = self.layout(table)?;
        let keys = self.keys(table, start, count)?;
        let mut record = Record::new();
        let (mut asked, mut done, mut are_hashes) = (0, 0, true);
        while asked < keys.len() {
            // after a failover it goes on with the first that was not answered
            self.run("scan", table, "HGETALL", |link| {
                let keys = &keys[asked..keys.len().min(asked + BATCH_ROWS)];
                let commands: Vec<Cmd> = keys.iter().map(|key| command("HGETALL", key)).collect();
                let mut answered = keys.iter();
                let outcome = link.hashes(&commands, &mut |pairs| {
                    let key = answered.next();
                    are_hashes &= pairs.is_some();
                    // a record removed in the meantime has no fields
                    if let (Some(key), Some(pairs)) = (key, pairs)
                        && decode_all(table, pairs, &mut record)
                    {
                        each(layout.record_key(key), &record);
                        done += 1;
                    }
                });
                asked += keys.len() - answered.len();
                outcome
            })?;
        }
        if are_hashes { Ok(done) } else { Err(no_hash(table)) }
    }

    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        let commands = self.writes(table, key, record)?;
        self.ask_all("write a record of", table, "HSET", &commands).map(drop)
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        self.write_batch("load into", table, rows)
    }

    fn update(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        const ATTEMPT: &str = "change a record of";
        if changes.is_empty() {
            return self.read(table, key, Some(&[]), &mut Record::new());
        }
        let key = self.layout(table)?.key(key);
        let mut change = command(if self.is_ssdb() { "HMSET" } else { "HSET" }, &key);
        let mut fields: Vec<&[u8]> = Vec::with_capacity(changes.len());
        for (field, value) in changes {
            let name = table.fields[*field].name.as_bytes();
            change.arg(name).arg(*value);
            if !fields.contains(&name) {
                fields.push(name);
            }
        }
        if self.is_ssdb() {
            return self.update_ssdb(table, &key, change);
        }
        let Value::Int(added @ 1..) = self.ask(ATTEMPT, table, "HSET", &change)? else {
            return Ok(true);
        };
        // a record has all its fields: either there was none, and now there is a piece of one, or
        // others wrote it
        let length = self.ask(ATTEMPT, table, "HLEN", &command("HLEN", &key))?;
        if !matches!(length, Value::Int(length) if length == added) {
            return Ok(true);
        }
        let mut undo = command("HDEL", &key);
        for name in fields {
            undo.arg(name);
        }
        self.ask(ATTEMPT, table, "HDEL", &undo)?;
        Ok(false)
    }

    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError> {
        let layout = self.layout(table)?;
        let key = layout.key(key);
        let commands = [self.removal(&key), command("ZREM", &layout.index).arg(&key).take()];
        self.ask_all("remove a record of", table, "DEL", &commands).map(drop)
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        Some(self)
    }

    fn transactional(&self) -> Option<&dyn Transactional> {
        let has_them = self.server.topology() != Topology::Cluster && !self.is_ssdb();
        has_them.then_some(self)
    }
}

impl Upkeep for RedisStore {
    /// Returns the bytes of the records in the server's memory; for SSDB on its disk.
    fn disk_bytes(&self) -> Result<u64, StoreError> {
        let inner = &self.server.inner;
        let request = match inner.dialect {
            Dialect::Ssdb => redis::cmd("DBSIZE"),
            Dialect::Redis => redis::cmd("INFO").arg("memory").take(),
        };
        let answer =
            inner.run(&self.links, || "ask for the size of".into(), |link| link.ask(&request))?;
        let used = |answer: &Value| -> u64 {
            let used =
                pairs(answer).get("used_memory_dataset").and_then(|bytes| bytes.parse().ok());
            used.unwrap_or(0)
        };
        Ok(match &answer {
            Value::Int(bytes) => (*bytes).try_into().unwrap_or(0),
            // one answer of each node of a cluster
            Value::Map(nodes) => nodes.iter().map(|(_, answer)| used(answer)).sum(),
            answer => used(answer),
        })
    }

    /// Has an SSDB of its own compact its tables; the others have no layers.
    fn merge_layers(&self) -> Result<(), StoreError> {
        if self.is_ssdb() && !self.servers().is_empty() {
            let compact = redis::cmd("compact");
            let attempt = || "have its tables compacted by".into();
            self.server.inner.run(&self.links, attempt, |link| link.ask(&compact))?;
        }
        Ok(())
    }

    /// Starts its own servers again where they keep a cache; a server of others, who may be using
    /// it, keeps its cache.
    fn drop_caches(&self) -> Result<(), StoreError> {
        let Some(lent) = &self.lent else { return Ok(()) };
        let outcome = lent.restart();
        // to a server that is gone, also where it did not come back
        self.links.forget();
        outcome.map(drop)
    }

    fn servers(&self) -> Vec<u32> {
        self.lent.as_ref().map(|lent| lent.pids()).unwrap_or_default()
    }
}

/// Loading in batches, as there is no load that bypasses the write path here. Written records are
/// removed after an error that the server reported; if it no longer answers, half a load may
/// remain.
impl BulkLoad for RedisStore {
    fn bulk_load(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
    ) -> Result<u64, StoreError> {
        let mut count = 0;
        let mut last: Option<Vec<u8>> = None;
        let mut loaded: Vec<Vec<u8>> = Vec::new();
        let mut batch: Vec<Row> = Vec::new();
        loop {
            let row = rows.next();
            let ended = row.is_none();
            let mut outcome = Ok(());
            if let Some((key, record)) = row {
                count += 1;
                if last.as_ref().is_some_and(|last| *last >= key) {
                    outcome = Err(StoreError::Order { table: table.name.clone(), row: count });
                } else {
                    last = Some(key.clone());
                    loaded.push(key.clone());
                    batch.push((key, record));
                }
            }
            if outcome.is_ok() && (ended || batch.len() == BATCH_ROWS) {
                outcome = self.write_batch("load into", table, &batch);
                batch.clear();
            }
            if let Err(error) = outcome {
                // the first error matters
                let _ = loaded.iter().try_for_each(|key| self.delete(table, key));
                return Err(error);
            }
            if ended {
                return Ok(count);
            }
        }
    }
}
