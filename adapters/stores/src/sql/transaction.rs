//! Atomic transactions over records: rows that are read for update are locked until the end.

use sealstone_store::{Record, StoreError, Table, Transaction, Transactional};

use super::bound::Param;
use super::error::Failure;
use super::server::{EachRow, Link, Server};
use super::statements::Statement;
use super::store::{PAUSE_STEP, Sheet, SqlStore, nothing};
use crate::retry::{ATTEMPTS, pause};

impl<S: Server> Transactional for SqlStore<S> {
    /// Runs a transaction, and runs it again if the server broke it off, such as one of two in a
    /// deadlock.
    fn transaction(
        &self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for attempt in 1..=ATTEMPTS {
            // the body may use the store besides, which then takes another connection
            let mut running = Running { store: self, link: self.link()?, failed: None };
            let outcome =
                running.begin().and_then(|()| body(&mut running)).and_then(|()| running.commit());
            let is_conflict = running.failed.as_ref().is_some_and(|failure| failure.is_conflict);
            running.end(outcome.is_ok());
            match outcome {
                Err(_) if is_conflict => pause(attempt, PAUSE_STEP),
                outcome => return outcome,
            }
        }
        let found = format!("others were in its way {ATTEMPTS} times");
        let place = self.server.place();
        Err(place
            .failure("commit a transaction (COMMIT) on", Failure::new(found, "use fewer clients"))
            .into())
    }
}

/// A transaction under way.
struct Running<'store, S: Server> {
    store: &'store SqlStore<S>,
    link: S::Link,
    /// First failure, if there was any; nothing more is done after it.
    failed: Option<Failure>,
}

impl<S: Server> Running<'_, S> {
    fn failure(&mut self, attempt: &str, failure: Failure) -> StoreError {
        self.failed.get_or_insert_with(|| failure.clone());
        self.store.server.place().failure(attempt, failure).into()
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        let begun = self.link.command(S::DIALECT.begin);
        begun.map_err(|failure| self.failure("begin a transaction (BEGIN) on", failure))
    }

    /// Commits: a server that has broken a transaction off may silently take a commit for a
    /// rollback.
    fn commit(&mut self) -> Result<(), StoreError> {
        const ATTEMPT: &str = "commit a transaction (COMMIT) on";
        if let Some(failure) = self.failed.clone() {
            return Err(self.failure(ATTEMPT, failure));
        }
        self.link.command("COMMIT").map_err(|failure| self.failure(ATTEMPT, failure))
    }

    fn end(mut self, is_done: bool) {
        let is_broken = self.failed.as_ref().is_some_and(|failure| failure.is_broken);
        if !is_done && !is_broken {
            self.failed = self.link.command("ROLLBACK").err();
        }
        self.store.settle_link(self.link, self.failed.as_ref());
    }

    fn run(
        &mut self,
        attempt: impl FnOnce() -> String,
        statement: &Statement,
        params: &[Param<'_>],
        each: EachRow<'_>,
    ) -> Result<(), StoreError> {
        let outcome = self.link.run(statement, params, each);
        outcome.map(drop).map_err(|failure| self.failure(&attempt(), failure))
    }
}

impl<S: Server> Transaction for Running<'_, S> {
    fn read(
        &mut self,
        table: &Table,
        key: &[u8],
        for_update: bool,
        into: &mut Record,
    ) -> Result<bool, StoreError> {
        into.clear();
        let Sheet { layout, statements } = self.store.sheet(table)?;
        let statement = if for_update { &statements.read_for_update } else { &statements.read };
        let params = [layout.key(key)?];
        let mut is_there = false;
        let attempt =
            || format!("read a record of table {} within a transaction (SELECT) on", table.name);
        self.run(attempt, statement, &params, &mut |_, record| {
            is_there = true;
            into.copy_from(record);
        })?;
        Ok(is_there)
    }

    fn put(&mut self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        let Sheet { layout, statements } = self.store.sheet(table)?;
        let mut params = Vec::with_capacity(record.len() + 1);
        layout.row(key, record, &mut params)?;
        let attempt =
            || format!("write a record of table {} within a transaction (INSERT) on", table.name);
        self.run(attempt, &statements.put, &params, &mut nothing())
    }
}
