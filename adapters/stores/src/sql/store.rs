//! The store: the statements of its operations.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sealstone_store::{
    BulkLoad, Counters, Record, Row, Store, StoreError, StoreOptions, Table, Transactional, Upkeep,
};

use super::bound::Param;
use super::columns::Layout;
use super::error::Failure;
use super::function_key::Keyed;
use super::pool::Pool;
use super::server::{EachRow, Link, Server};
use super::statements::{Statement, Statements};
use crate::lent::Lent;
use crate::retry::{ATTEMPTS, pause};
use crate::server_error::ServerError;

/// Records that loading sends at once.
const BATCH_ROWS: usize = 1_000;
/// Wait for each attempt so far, before the next one.
pub(super) const PAUSE_STEP: Duration = Duration::from_micros(20);

/// A store on a server of SQL.
pub struct SqlStore<S: Server> {
    pub(super) server: S,
    pub(super) pool: Pool<S::Link>,
    sheets: HashMap<u8, Sheet>,
    sync_writes: bool,
    /// The function of the server that values go through.
    function: Option<Keyed>,
    counted: Mutex<Counted>,
    /// Dropped with the store, after everything else in it.
    lent: Option<Box<dyn Lent>>,
}

/// A table and its statements.
pub(super) struct Sheet {
    pub(super) layout: Layout,
    pub(super) statements: Statements,
}

/// Counters of the server: their sum since the store was opened, and their values at the last
/// query.
#[derive(Default)]
struct Counted {
    sum: Counters,
    last: Counters,
}

impl<S: Server> std::fmt::Debug for SqlStore<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqlStore").field("at", self.server.place()).finish_non_exhaustive()
    }
}

/// Returns a callback that ignores rows.
pub(super) fn nothing() -> impl FnMut(&[u8], &Record) {
    |_, _| ()
}

impl<S: Server> SqlStore<S> {
    /// Opens the store, and makes its tables where they are not there.
    ///
    /// # Errors
    /// A server that does not answer, or refuses to make a table.
    pub fn open(server: &S, options: &StoreOptions) -> Result<Self, StoreError> {
        Self::open_through(server, options, None, None)
    }

    /// Returns the same with values that go through a function of the server; `variant`: the owner
    /// of the tables, unless they are the tables that other programs use.
    pub(super) fn open_through(
        server: &S,
        options: &StoreOptions,
        function: Option<Keyed>,
        variant: Option<&str>,
    ) -> Result<Self, StoreError> {
        let sheet = |table: &Arc<Table>| {
            let layout =
                Layout::new(table).apart(variant).through(function.as_ref().map(|keyed| keyed.row));
            let statements = Statements::new(&layout, S::DIALECT);
            (table.id, Sheet { layout, statements })
        };
        let store = Self {
            server: server.clone(),
            pool: Pool::new(),
            sheets: options.tables.iter().map(sheet).collect(),
            sync_writes: options.sync_writes,
            function,
            counted: Mutex::default(),
            lent: None,
        };
        store.install()?;
        store.make_tables()?;
        if let Some(now) = store.asked() {
            store.counted.lock().unwrap_or_else(PoisonError::into_inner).last = now;
        }
        Ok(store)
    }

    /// Makes its function available in the database.
    fn install(&self) -> Result<(), StoreError> {
        let Some((text, step)) = self.function.as_ref().and_then(|keyed| keyed.row.install) else {
            return Ok(());
        };
        let installed =
            |link: &mut S::Link| link.command(text).map_err(|failure| Failure { step, ..failure });
        self.exchange(|| format!("install a function ({text}) on"), installed)
    }

    fn make_tables(&self) -> Result<(), StoreError> {
        for sheet in self.sheets.values() {
            let create = |link: &mut S::Link| link.command(&sheet.statements.create);
            // another client may be making it at this very moment
            let made = self.run("make", &sheet.layout.table, "CREATE TABLE", create);
            if made.is_err() {
                self.run("make", &sheet.layout.table, "CREATE TABLE", create)?;
            }
        }
        Ok(())
    }

    /// Returns the server.
    #[must_use]
    pub fn server(&self) -> &S {
        &self.server
    }

    /// Returns the same store, with a resource that it keeps as long as it is open.
    #[must_use]
    pub fn with(self, lent: Box<dyn Lent>) -> Self {
        Self { lent: Some(lent), ..self }
    }

    /// Removes all records of its tables.
    ///
    /// # Errors
    /// As [`Store::insert`].
    pub fn remove(&self) -> Result<(), StoreError> {
        self.sheets.values().try_for_each(|sheet| {
            self.run("empty", &sheet.layout.table, "DELETE", |link| {
                link.command(&sheet.statements.empty())
            })
        })
    }

    /// Removes its tables.
    ///
    /// # Errors
    /// As [`Store::insert`].
    pub fn drop_tables(&self) -> Result<(), StoreError> {
        self.sheets.values().try_for_each(|sheet| {
            let text = sheet.statements.drop_table();
            self.run("remove", &sheet.layout.table, "DROP TABLE", |link| link.command(&text))
        })
    }

    pub(super) fn sheet(&self, table: &Table) -> Result<&Sheet, StoreError> {
        self.sheets.get(&table.id).ok_or_else(|| {
            let found =
                "the store was not opened with it; this is a bug in sealstone, please report it"
                    .into();
            StoreError::Shape { table: table.name.clone(), found }
        })
    }

    /// Returns a connection that no other thread uses.
    pub(super) fn link(&self) -> Result<S::Link, ServerError> {
        if let Some(link) = self.pool.take() {
            return Ok(link);
        }
        let mut link = self.server.link(self.sync_writes)?;
        if let Some(function) = &self.function {
            let failed =
                |failure| self.server.place().failure("give the key of a function to", failure);
            function.unlock(&mut link).map_err(failed)?;
        }
        Ok(link)
    }

    /// Gives `link` back after an exchange, with its `failure`, if any.
    pub(super) fn settle_link(&self, link: S::Link, failure: Option<&Failure>) {
        if failure.is_some_and(|failure| failure.is_broken) {
            drop(link);
            self.pool.forget();
        } else {
            self.pool.keep(link);
        }
    }

    /// Runs `body` on a connection, and again where others were in its way; `attempt` and `command`
    /// are for its error.
    fn run<T>(
        &self,
        attempt: &str,
        table: &Table,
        command: &str,
        body: impl FnMut(&mut S::Link) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        self.exchange(|| format!("{attempt} table {} ({command}) on", table.name), body)
    }

    fn exchange<T>(
        &self,
        attempt: impl Fn() -> String,
        mut body: impl FnMut(&mut S::Link) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let mut attempts = 1;
        loop {
            let mut link = self.link()?;
            let outcome = body(&mut link);
            self.settle_link(link, outcome.as_ref().err());
            match outcome {
                Err(failure) if failure.is_conflict && attempts < ATTEMPTS => {
                    pause(attempts, PAUSE_STEP);
                    attempts += 1;
                }
                outcome => {
                    return outcome.map_err(|failure| {
                        self.server.place().failure(&attempt(), failure).into()
                    });
                }
            }
        }
    }

    /// Runs one statement.
    fn one(
        &self,
        (attempt, command): (&str, &str),
        table: &Table,
        statement: &Statement,
        params: &[Param<'_>],
        each: EachRow<'_>,
    ) -> Result<u64, StoreError> {
        let mut delivered = false;
        self.run(attempt, table, command, |link| {
            let outcome = link.run(statement, params, &mut |key, record| {
                delivered = true;
                each(key, record);
            });
            // rows that were passed on cannot be taken back
            outcome.map_err(|failure| Failure {
                is_conflict: failure.is_conflict && !delivered,
                ..failure
            })
        })
    }

    /// Loads `rows` within one transaction that begins with the commands `begin`.
    fn load(
        &self,
        table: &Table,
        begin: &[&str],
        rows: &mut dyn FnMut(&mut Vec<Row>) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        const ATTEMPT: &str = "load into";
        let sheet = self.sheet(table)?;
        let failed = |failure| -> StoreError {
            self.server
                .place()
                .failure(&format!("{ATTEMPT} table {} (INSERT) on", table.name), failure)
                .into()
        };
        let mut link = self.link()?;
        let mut count = 0;
        let mut batch: Vec<Row> = Vec::new();
        let mut work = |link: &mut S::Link| -> Result<Result<(), StoreError>, Failure> {
            begin.iter().try_for_each(|command| link.command(command))?;
            loop {
                batch.clear();
                if let Err(error) = rows(&mut batch) {
                    return Ok(Err(error));
                }
                if batch.is_empty() {
                    break;
                }
                let bound: Result<Vec<Vec<Param<'_>>>, StoreError> = batch
                    .iter()
                    .map(|(key, record)| {
                        let mut params = Vec::with_capacity(record.len() + 1);
                        sheet.layout.row(key, record, &mut params).map(|()| params)
                    })
                    .collect();
                match bound {
                    Ok(bound) => link.load(&sheet.layout, &sheet.statements.put, &bound)?,
                    Err(error) => return Ok(Err(error)),
                }
                count += batch.len() as u64;
            }
            link.command("COMMIT").map(Ok)
        };
        let outcome = work(&mut link);
        let refused = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some((None, error)),
            Err(failure) => Some((Some(failure.clone()), failed(failure))),
        };
        let Some((failure, error)) = refused else {
            self.settle_link(link, None);
            return Ok(count);
        };
        let failure =
            failure.filter(|failure| failure.is_broken).or_else(|| link.command("ROLLBACK").err());
        self.settle_link(link, failure.as_ref());
        Err(error)
    }

    /// Returns what the server has counted; `None` if it does not report it.
    fn asked(&self) -> Option<Counters> {
        let mut link = self.link().ok()?;
        let outcome = self.server.counters(&mut link);
        self.settle_link(link, outcome.as_ref().err());
        outcome.ok()
    }
}

/// Returns the key whose successor is `key`, from which a scan begins. A successor is a key with a
/// zero byte appended, which no text has.
fn predecessor(key: &[u8]) -> Option<&[u8]> {
    key.strip_suffix(b"\0")
}

impl<S: Server> Store for SqlStore<S> {
    fn read(
        &self,
        table: &Table,
        key: &[u8],
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        into.clear();
        let Sheet { layout, statements } = self.sheet(table)?;
        let key = [layout.key(key)?];
        let mut is_there = false;
        let mut each = |_: &[u8], record: &Record| {
            is_there = true;
            into.copy_from(record);
        };
        let attempt = ("read a record of", "SELECT");
        match fields {
            None => self.one(attempt, table, &statements.read, &key, &mut each)?,
            Some([]) => {
                self.one(attempt, table, &statements.exists, &key, &mut |_, _| is_there = true)?
            }
            Some(fields) => {
                self.one(attempt, table, &statements.read_some(fields), &key, &mut each)?
            }
        };
        Ok(is_there)
    }

    fn scan(
        &self,
        table: &Table,
        start: &[u8],
        count: usize,
        each: &mut dyn FnMut(&[u8], &Record),
    ) -> Result<usize, StoreError> {
        let Sheet { layout, statements } = self.sheet(table)?;
        let (statement, from) = match predecessor(start) {
            Some(before) => (&statements.scan_after, before),
            None => (&statements.scan, start),
        };
        if count == 0 {
            return Ok(0);
        }
        let limit = i64::try_from(count).unwrap_or(i64::MAX);
        let params = [layout.key(from)?, Param::Number(limit)];
        let mut done = 0;
        self.one(("scan", "SELECT"), table, statement, &params, &mut |key, record| {
            done += 1;
            each(key, record);
        })?;
        Ok(done)
    }

    fn insert(&self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        let Sheet { layout, statements } = self.sheet(table)?;
        let mut params = Vec::with_capacity(record.len() + 1);
        layout.row(key, record, &mut params)?;
        self.one(("write a record of", "INSERT"), table, &statements.put, &params, &mut nothing())
            .map(drop)
    }

    fn insert_many(&self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        let mut batches = rows.chunks(BATCH_ROWS);
        let next = &mut |batch: &mut Vec<Row>| {
            batch.extend_from_slice(batches.next().unwrap_or_default());
            Ok(())
        };
        self.load(table, S::DIALECT.begin_loading, next).map(drop)
    }

    fn update(
        &self,
        table: &Table,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<bool, StoreError> {
        if changes.is_empty() {
            return self.read(table, key, Some(&[]), &mut Record::new());
        }
        let Sheet { layout, statements } = self.sheet(table)?;
        let mut fields: Vec<usize> = Vec::with_capacity(changes.len());
        let mut params: Vec<Param<'_>> = Vec::with_capacity(changes.len() + 1);
        for (field, value) in changes {
            let value = layout.value(*field, value)?;
            // of several changes of a field the last one counts
            match fields.iter().position(|known| known == field) {
                Some(at) => params[at] = value,
                None => {
                    fields.push(*field);
                    params.push(value);
                }
            }
        }
        params.push(layout.key(key)?);
        let statement = statements.update(&fields);
        let changed =
            self.one(("change a record of", "UPDATE"), table, &statement, &params, &mut nothing())?;
        Ok(changed > 0)
    }

    fn delete(&self, table: &Table, key: &[u8]) -> Result<(), StoreError> {
        let Sheet { layout, statements } = self.sheet(table)?;
        let params = [layout.key(key)?];
        self.one(
            ("remove a record of", "DELETE"),
            table,
            &statements.delete,
            &params,
            &mut nothing(),
        )
        .map(drop)
    }

    fn bulk(&self) -> Option<&dyn BulkLoad> {
        Some(self)
    }

    fn transactional(&self) -> Option<&dyn Transactional> {
        Some(self)
    }
}

impl<S: Server> Upkeep for SqlStore<S> {
    /// Returns the counters that the server reports. It counts for all its users, and some figures
    /// come up to a second late.
    fn counters(&self) -> Counters {
        let now = self.asked();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(now) = now {
            let Counted { sum, last } = &mut *counted;
            let add = |sum: &mut u64, last: u64, now: u64| {
                // a server that was started again may count from zero
                *sum += now.checked_sub(last).unwrap_or(now);
            };
            add(&mut sum.read_bytes, last.read_bytes, now.read_bytes);
            add(&mut sum.written_bytes, last.written_bytes, now.written_bytes);
            add(&mut sum.cache_hits, last.cache_hits, now.cache_hits);
            add(&mut sum.cache_misses, last.cache_misses, now.cache_misses);
            add(&mut sum.syncs, last.syncs, now.syncs);
            *last = now;
        }
        counted.sum
    }

    fn disk_bytes(&self) -> Result<u64, StoreError> {
        let tables: Vec<&str> =
            self.sheets.values().map(|sheet| sheet.layout.name.as_str()).collect();
        self.exchange(
            || "ask for the size of the tables on".into(),
            |link| self.server.disk_bytes(link, &tables),
        )
    }

    /// Has the server write a checkpoint.
    fn quiesce(&self) -> Result<(), StoreError> {
        self.exchange(|| "write a checkpoint on".into(), |link| self.server.settle(link))
    }

    /// Has the server tidy up its tables.
    fn merge_layers(&self) -> Result<(), StoreError> {
        self.sheets.values().try_for_each(|sheet| {
            self.run("tidy up", &sheet.layout.table, "VACUUM", |link| {
                self.server.tidy(link, &sheet.layout)
            })
        })
    }

    /// Starts its own servers again; a server of others, who may be using it, keeps its cache.
    fn drop_caches(&self) -> Result<(), StoreError> {
        self.quiesce()?;
        if let Some(lent) = &self.lent {
            self.pool.forget();
            lent.restart()?;
        }
        Ok(())
    }

    fn servers(&self) -> Vec<u32> {
        self.lent.as_ref().map(|lent| lent.pids()).unwrap_or_default()
    }
}

/// Loading within one transaction.
impl<S: Server> BulkLoad for SqlStore<S> {
    fn bulk_load(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Row>,
    ) -> Result<u64, StoreError> {
        let mut count = 0;
        let mut last: Option<Vec<u8>> = None;
        let next = &mut |batch: &mut Vec<Row>| {
            for (key, record) in (&mut *rows).take(BATCH_ROWS) {
                count += 1;
                if last.as_ref().is_some_and(|last| *last >= key) {
                    return Err(StoreError::Order { table: table.name.clone(), row: count });
                }
                last = Some(key.clone());
                batch.push((key, record));
            }
            Ok(())
        };
        self.load(table, S::DIALECT.begin_bulk, next)
    }
}
