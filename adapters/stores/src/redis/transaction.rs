//! Atomic transactions over records: WATCH, MULTI and EXEC, run again after a conflict. A cluster
//! has none over records of several nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use redis::{Cmd, ErrorKind, RedisError, ServerErrorKind, Value};
use sealstone_store::{Record, StoreError, Table, Transaction, Transactional};

use super::connection::{command, is_broken};
use super::layout::{bytes, decode_all, no_hash};
use super::links::Link;
use super::store::RedisStore;
use crate::retry::{ATTEMPTS, pause};

impl Transactional for RedisStore {
    /// Runs a transaction: a record read for update must be unchanged at its commit. Writes become
    /// visible together.
    fn transaction(
        &self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let inner = &self.server.inner;
        for attempt in 1..=ATTEMPTS {
            // the body may use the store besides, which then takes another connection
            let link = self.links.take().map_or_else(|| inner.link(), Ok);
            let link = link.map_err(|error| StoreError::from(inner.unconnected(&error)))?;
            let mut running = Running {
                store: self,
                link,
                watched: false,
                broken: false,
                written: BTreeMap::new(),
            };
            let outcome = body(&mut running).and_then(|()| running.commit());
            let is_done = match outcome {
                Ok(is_done) => is_done,
                Err(error) => {
                    running.give_up();
                    return Err(error);
                }
            };
            running.end();
            if is_done {
                return Ok(());
            }
            pause(attempt, Duration::from_micros(20));
        }
        let found = format!("others wrote the same records {ATTEMPTS} times");
        Err(inner.route.error("commit a transaction (EXEC) on", &found, "use fewer clients").into())
    }
}

/// A transaction under way.
struct Running<'store> {
    store: &'store RedisStore,
    link: Link,
    /// Set when the server watches any record for the transaction.
    watched: bool,
    /// Set when the connection broke.
    broken: bool,
    /// Records written so far, each with the commands that write it, by table and key.
    written: BTreeMap<(u8, Vec<u8>), (Record, [Cmd; 2])>,
}

impl Running<'_> {
    fn failure(&mut self, attempt: &str, error: &RedisError) -> StoreError {
        self.broken |= is_broken(error);
        self.store.server.inner.route.failure(attempt, error).into()
    }

    /// Writes everything at once, unless a record that was read for update has changed. Returns
    /// whether it did.
    fn commit(&mut self) -> Result<bool, StoreError> {
        if self.written.is_empty() {
            self.unwatch();
            return Ok(true);
        }
        let mut commands = vec![redis::cmd("MULTI")];
        commands
            .extend(std::mem::take(&mut self.written).into_values().flat_map(|(_, writes)| writes));
        commands.push(redis::cmd("EXEC"));
        self.watched = false;
        match self.link.ask_all(&commands) {
            Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::ExecAbort) => {
                Err(self.failure("commit a transaction (EXEC) on", &error))
            }
            Err(error) => {
                // an earlier answer refused a write: the last answer reported that nothing was
                // written
                Err(self.failure("write within a transaction (HSET) on", &error))
            }
            Ok(answers) => match answers.last() {
                Some(Value::Nil) => Ok(false),
                Some(Value::Array(outcomes)) => {
                    match outcomes.iter().find_map(|outcome| outcome.clone().extract_error().err())
                    {
                        Some(error) => {
                            Err(self.failure("write within a transaction (HSET) on", &error))
                        }
                        None => Ok(true),
                    }
                }
                _ => Ok(true),
            },
        }
    }

    fn unwatch(&mut self) {
        if std::mem::take(&mut self.watched)
            && let Err(error) = self.link.ask(&redis::cmd("UNWATCH"))
        {
            self.broken |= is_broken(&error);
        }
    }

    fn give_up(mut self) {
        self.unwatch();
        self.end();
    }

    fn end(self) {
        if self.broken {
            self.store.links.forget();
        } else {
            self.store.links.keep(self.link);
        }
    }
}

impl Transaction for Running<'_> {
    fn read(
        &mut self,
        table: &Table,
        key: &[u8],
        for_update: bool,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        into.clear();
        if let Some((record, _)) = self.written.get(&(table.id, key.to_vec())) {
            into.copy_from(record);
            return Ok(true);
        }
        let key = self.store.layout(table)?.key(key);
        let read = command("HGETALL", &key);
        let answers = match for_update {
            true => self.link.ask_all(&[command("WATCH", &key), read]),
            false => self.link.ask(&read).map(|answer| vec![answer]),
        };
        self.watched |= for_update;
        let attempt =
            || format!("read a record of table {} within a transaction (HGETALL) on", table.name);
        let answers = answers.map_err(|error| self.failure(&attempt(), &error))?;
        let pairs = answers.last().and_then(Value::as_sequence).ok_or_else(|| no_hash(table))?;
        Ok(decode_all(table, pairs.iter().map(bytes), into))
    }

    fn put(&mut self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        let writes = self.store.writes(table, key, record)?;
        self.written.insert((table.id, key.to_vec()), (record.clone(), writes));
        Ok(())
    }
}
