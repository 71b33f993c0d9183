//! Atomic transactions over records: MongoDB's own, which need a replica set or a sharded cluster,
//! run again after a conflict.

use std::collections::HashSet;
use std::time::Duration;

use mongodb::bson::doc;
use mongodb::error::{
    Error as DriverError, ErrorKind, TRANSIENT_TRANSACTION_ERROR, UNKNOWN_TRANSACTION_COMMIT_RESULT,
};
use mongodb::options::{
    Acknowledgment, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern,
};
use mongodb::sync::ClientSession;
use sealstone_store::{Record, StoreError, Table, Transaction, Transactional};

use super::MongoDbStore;
use super::document::{ID, id};
use super::store::is_duplicate;
use crate::retry::{ATTEMPTS, pause};

/// Number of times that a transaction is tried if servers did not answer; each time they are
/// searched for again.
const ATTEMPTS_UNANSWERED: u32 = 3;
/// A field that is set and removed again, to have a record written that is not changed.
const LOCK_FIELD: &str = "_lock";

impl Transactional for MongoDbStore {
    /// Reads see one snapshot. A record read for update must be unchanged since when the
    /// transaction commits, which MongoDB checks as it writes it; it is written even if the
    /// transaction does not change it.
    fn transaction(
        &self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let inner = &self.server.inner;
        let failure = |attempt: &str, error: &DriverError| {
            StoreError::from(inner.route.failure(attempt, error))
        };
        let session = inner.client.start_session().run();
        let session = session.map_err(|error| failure("begin a transaction on", &error))?;
        let mut running = Running { store: self, session, locked: HashSet::new(), conflict: None };
        let mut unanswered = 0;
        for attempt in 1..=ATTEMPTS {
            running.begin().map_err(|error| failure("begin a transaction on", &error))?;
            let outcome = body(&mut running).and_then(|()| running.finish());
            let Err(error) = outcome else { return Ok(()) };
            // one that the server gave up already cannot be aborted, and need not be
            let _ = running.session.abort_transaction().run();
            match running.conflict.take() {
                None => return Err(error),
                Some(Conflict::Unanswered) => {
                    unanswered += 1;
                    if unanswered == ATTEMPTS_UNANSWERED {
                        return Err(error);
                    }
                }
                Some(Conflict::Others) if attempt == ATTEMPTS => return Err(error),
                Some(Conflict::Others) => pause(attempt, Duration::from_micros(50)),
            }
        }
        unreachable!("the last attempt returns")
    }
}

/// Reason for which a transaction is worth another attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Conflict {
    /// Another transaction wrote the same record.
    Others,
    /// A server did not answer, or is no longer primary.
    Unanswered,
}

/// A transaction under way.
struct Running<'store> {
    store: &'store MongoDbStore,
    session: ClientSession,
    /// Records read for update and not written so far, by table and key.
    locked: HashSet<(u8, String)>,
    conflict: Option<Conflict>,
}

impl Running<'_> {
    fn begin(&mut self) -> Result<(), DriverError> {
        self.locked.clear();
        self.conflict = None;
        let acknowledged = self.store.server.inner.client.write_concern().cloned();
        let acknowledged = acknowledged
            .unwrap_or_else(|| WriteConcern::builder().w(Acknowledgment::Majority).build());
        self.session
            .start_transaction()
            .read_concern(ReadConcern::snapshot())
            .write_concern(acknowledged)
            .selection_criteria(SelectionCriteria::ReadPreference(ReadPreference::Primary))
            .run()
    }

    fn noted(&mut self, error: &DriverError) {
        if error.contains_label(TRANSIENT_TRANSACTION_ERROR) || is_duplicate(error) {
            let by_others = matches!(&*error.kind, ErrorKind::Command(_) | ErrorKind::Write(_));
            self.conflict = Some(if by_others { Conflict::Others } else { Conflict::Unanswered });
        }
    }

    fn failure(&mut self, attempt: &str, table: &Table, error: &DriverError) -> StoreError {
        self.noted(error);
        self.store.failure(attempt, table, error)
    }

    /// Writes records that were read for update and not changed, so that they conflict, too; then
    /// commits.
    fn finish(&mut self) -> Result<(), StoreError> {
        let locked: Vec<(u8, String)> = self.locked.drain().collect();
        let mut unknown = None;
        let mut outcome = locked.iter().try_for_each(|(table, key)| self.touch(*table, key));
        for _ in 0..ATTEMPTS_UNANSWERED {
            outcome = outcome.and_then(|()| self.session.commit_transaction().run());
            // on a second request the servers report the outcome
            match &outcome {
                Err(error) if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) => {
                    unknown = outcome.err();
                    outcome = Ok(());
                }
                _ => {
                    unknown = None;
                    break;
                }
            }
        }
        let outcome = unknown.map_or(outcome, Err);
        outcome.map_err(|error| {
            self.noted(&error);
            self.store.server.inner.route.failure("commit to", &error).into()
        })
    }

    fn touch(&mut self, table: u8, key: &str) -> Result<(), DriverError> {
        let Some(collection) = self.store.collection(table) else { return Ok(()) };
        for change in [doc! { "$set": { LOCK_FIELD: 1 } }, doc! { "$unset": { LOCK_FIELD: "" } }] {
            collection.update_one(doc! { ID: key }, change).session(&mut self.session).run()?;
        }
        Ok(())
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
        let place = self.store.place(table)?;
        let key = id(key);
        let found = place.collection.find_one(doc! { ID: &key }).session(&mut self.session).run();
        let Some(document) = found.map_err(|error| self.failure("read from", table, &error))?
        else {
            return Ok(false);
        };
        if for_update {
            self.locked.insert((table.id, key));
        }
        place.layout.decode(table, &document, None, into).map(|()| true)
    }

    fn put(&mut self, table: &Table, key: &[u8], record: &Record) -> Result<(), StoreError> {
        let place = self.store.place(table)?;
        let document = place.layout.encode(key, record);
        let key = id(key);
        let replaced = place
            .collection
            .replace_one(doc! { ID: &key }, &document)
            .upsert(true)
            .session(&mut self.session)
            .run();
        replaced.map_err(|error| self.failure("write to", table, &error))?;
        self.locked.remove(&(table.id, key));
        Ok(())
    }
}
