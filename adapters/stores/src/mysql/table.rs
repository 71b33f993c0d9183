//! A table on MySQL or MariaDB whose columns are sealed in place. Not here: the text of statements
//! (`table_text`), reading the catalogue (`table_shape`), the order of steps
//! (`sealstone_fields::migration`).

use std::thread;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Row as Answer, Value};
use sealstone_fields::migration::{
    ColumnLayout, Counted, FailureKind, Layout, Phase, Row, RowChange, SealedTables, ServerFailure,
    Shape, State, TableServer, Wanted,
};

use super::connection::{Mysql, MysqlOptions};
use super::failure::failure;
use super::table_shape::{Catalogue, Checks, Values, questions, table_hindrance, tables};
use super::table_text::{
    NAME_MAX, Named, Trigger, additions, keeping, literal, quoted, refusing, removals, state_table,
};
use super::timed_connection::Watched;
use super::trigger_order::{self, Later};
use crate::server_error::Place;
use crate::sql::{
    Error, Failure, NO_BACKUP, OTHER_TRIGGER, OutOfOrder, RowTransaction, STATE, Server, UNKEPT,
    table_failure,
};
use crate::time_limits::{LONG_LIMIT, QUESTION_LIMIT};

/// Settings of a connection: nothing is cut to fit, dates are written in one way, and nobody waits
/// for us for long.
const SETTINGS: [&str; 3] = [
    "SET NAMES utf8mb4",
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00'",
    "SET SESSION innodb_lock_wait_timeout = 5, lock_wait_timeout = 2, autocommit = 1",
];
/// Bytes of the statements that are sent at once; a server takes 16 MiB.
const SENT_BYTES: usize = 1 << 20;
/// Number of times that a change of the table itself is tried again, and the pause before that:
/// while it waits for transactions, all others wait for it.
const CHANGES_MAX: u32 = 30;
const CHANGE_PAUSE: Duration = Duration::from_secs(1);
/// Time that another process may take to give the table back, in seconds: a process that was killed
/// takes a moment.
const LOCK_WAIT_S: u32 = 5;
/// Time that another table's migration may take to write down its state, in seconds.
const STATES_WAIT_S: u32 = 30;
/// Advice on what to do where it took longer.
const HELD_STATES: &str =
    "look for a migration that hangs (SHOW PROCESSLIST), end it, and run the same command again";

/// A connection to a table.
pub(crate) struct MysqlTable {
    client: Watched,
    place: Place,
    checks: Checks,
    /// True if columns can be hidden from statements that do not name them.
    hides: bool,
    named: Named,
    catalogue: Catalogue,
}

impl std::fmt::Debug for MysqlTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { place, named, .. } = self;
        f.debug_struct("MysqlTable")
            .field("at", &place.shown)
            .field("table", &named.table)
            .finish_non_exhaustive()
    }
}

impl MysqlTable {
    /// Connects for the table `table` of the address's database, which need not be there.
    ///
    /// # Errors
    /// As [`Mysql::connect`].
    pub(crate) fn connect(options: &MysqlOptions, table: &str) -> Result<Self, Error> {
        let server = Mysql::connect(options)?;
        let mut client = server.client()?;
        let place = server.place().clone();
        for text in SETTINGS {
            let set = client.timed(QUESTION_LIMIT, |conn| {
                conn.query_drop(text).map_err(|error| failure(&error))
            });
            set.map_err(|failure| place.failure("set up a connection to", failure))?;
        }
        let is_mariadb = server.version().contains("MariaDB");
        let checks = match is_mariadb {
            true => Checks::OfTable,
            false if is_since(server.version(), [8, 0, 16]) => Checks::OfSchema,
            false => Checks::Ignored,
        };
        let hides = is_mariadb || is_since(server.version(), [8, 0, 23]);
        let named = Named { table: table.to_owned(), key: Vec::new() };
        Ok(Self { client, place, checks, hides, named, catalogue: Catalogue::default() })
    }

    /// Returns the names of our triggers, of whatever phase.
    fn our_triggers(&self, layout: &Layout) -> Vec<String> {
        let table = &self.named.table;
        keeping(table, layout)
            .into_iter()
            .chain(refusing(table, layout))
            .map(|trigger| trigger.name)
            .collect()
    }

    fn failed(&self, attempt: &str, found: Failure) -> ServerFailure {
        table_failure(&self.place, &self.named.table, attempt, found)
    }

    fn command(&mut self, attempt: &str, text: &str) -> Result<(), ServerFailure> {
        let done = self
            .client
            .timed(LONG_LIMIT, |conn| conn.query_drop(text).map_err(|error| failure(&error)));
        done.map_err(|failure| self.failed(attempt, failure))
    }

    /// Returns the rows that the server answers to `text`.
    fn ask(&mut self, attempt: &str, text: &str) -> Result<Vec<Values>, ServerFailure> {
        let limit = if attempt.starts_with("read rows") { LONG_LIMIT } else { QUESTION_LIMIT };
        let rows =
            self.client.timed(limit, |conn| conn.query(text).map_err(|error| failure(&error)));
        let rows: Vec<Answer> = rows.map_err(|failure| self.failed(attempt, failure))?;
        let rows: Result<Vec<Values>, Failure> = rows.into_iter().map(values).collect();
        rows.map_err(|found| self.failed(attempt, found))
    }

    /// Changes the table itself, as soon as no transaction is at it.
    fn change(&mut self, attempt: &str, text: &str) -> Result<(), ServerFailure> {
        for _ in 1..CHANGES_MAX {
            match self.command(attempt, text) {
                Err(failure) if failure.kind == FailureKind::Conflict => {
                    thread::sleep(CHANGE_PAUSE)
                }
                outcome => return outcome,
            }
        }
        self.command(attempt, text)
    }

    /// As [`MysqlTable::change`], at once if the engine can, else while others go on reading and
    /// writing.
    fn change_online(&mut self, attempt: &str, text: &str) -> Result<(), ServerFailure> {
        match self.change(attempt, &format!("{text}, ALGORITHM=INSTANT")) {
            Err(failure) if failure.kind == FailureKind::Lasting => {
                self.change(attempt, &format!("{text}, ALGORITHM=INPLACE, LOCK=NONE"))
            }
            outcome => outcome,
        }
    }

    fn column_names(&mut self) -> Result<Vec<String>, ServerFailure> {
        let text = format!(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() \
             AND table_name = {}",
            literal(&self.named.table)
        );
        Ok(self.ask("look at the columns of", &text)?.into_iter().flatten().flatten().collect())
    }

    fn trigger_names(&mut self) -> Result<Vec<String>, ServerFailure> {
        let text = format!(
            "SELECT trigger_name FROM information_schema.triggers WHERE event_object_schema = \
             DATABASE() AND event_object_table = {}",
            literal(&self.named.table)
        );
        Ok(self.ask("look at the triggers of", &text)?.into_iter().flatten().flatten().collect())
    }

    fn add_triggers(&mut self, triggers: &[Trigger]) -> Result<(), ServerFailure> {
        let known = self.trigger_names()?;
        for trigger in triggers.iter().filter(|trigger| !known.contains(&trigger.name)) {
            self.change("add a trigger to", &trigger.text)?;
        }
        Ok(())
    }

    fn has_states(&mut self) -> Result<bool, ServerFailure> {
        let found = self.ask("look for the state of", &tables(Some(STATE)))?;
        Ok(found.iter().any(|row| row[0].as_deref() == Some(STATE)))
    }

    /// Removes the table of states if no other table has one.
    fn remove_states(&mut self) -> Result<(), ServerFailure> {
        const ATTEMPT: &str = "remove the state of";
        let text = format!("DELETE FROM {STATE} WHERE table_name = {}", literal(&self.named.table));
        self.command(ATTEMPT, &text)?;
        self.with_states(ATTEMPT, |table| {
            match table.ask(ATTEMPT, &format!("SELECT 1 FROM {STATE} LIMIT 1"))?.is_empty() {
                true => table.change(ATTEMPT, &format!("DROP TABLE {STATE}")),
                false => Ok(()),
            }
        })
    }

    /// Does `work` on the table of states while no other connection of ours adds or removes it.
    /// LOCK TABLES would not do: MySQL 8.0.15 cannot drop a table that it locked.
    fn with_states(
        &mut self,
        attempt: &str,
        work: impl FnOnce(&mut Self) -> Result<(), ServerFailure>,
    ) -> Result<(), ServerFailure> {
        const NAME: &str = "concat('sealstone states ', md5(lower(DATABASE())))";
        let taken = self.ask(attempt, &format!("SELECT GET_LOCK({NAME}, {STATES_WAIT_S})"))?;
        if taken.first().and_then(|row| row[0].as_deref()) != Some("1") {
            let found = format!("{STATE} is in use by another table");
            return Err(self.failed(attempt, Failure::new(found, HELD_STATES)));
        }
        let outcome = work(self);
        // the end of the connection gives it back, too
        let released = self.ask(attempt, &format!("SELECT RELEASE_LOCK({NAME})"));
        outcome.and(released.map(drop))
    }

    /// Sends `text`, which has an update and a question for each of `changes`, and compares the
    /// answers.
    fn send(
        &mut self,
        layout: &Layout,
        text: &str,
        changes: &[RowChange],
    ) -> Result<u64, ServerFailure> {
        const ATTEMPT: &str = "change rows (UPDATE) of";
        let answers = self.client.timed(LONG_LIMIT, |conn| exchange(conn, text));
        let answers = answers.map_err(|found| self.failed(ATTEMPT, found))?;
        if answers.len() != 2 * changes.len() {
            let found = format!("{} answers to {} statements", answers.len(), 2 * changes.len());
            return Err(
                self.failed(ATTEMPT, Failure::new(found, "report this as a bug of sealstone"))
            );
        }
        let mut changed = 0;
        for (change, answers) in changes.iter().zip(answers.chunks_exact(2)) {
            // somebody else changed or removed it
            if answers[0].0 == 0 {
                continue;
            }
            let stored = answers[1].1.first().map(Vec::as_slice).unwrap_or_default();
            if let Some(found) = difference(layout, change, stored) {
                return Err(self.failed(ATTEMPT, Failure::new(found, OTHER_TRIGGER)));
            }
            changed += 1;
        }
        Ok(changed)
    }
}

/// Returns whether `version`, such as `8.0.35`, is `wanted` or newer.
fn is_since(version: &str, wanted: [u32; 3]) -> bool {
    let mut numbers = version.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    let found = [(); 3].map(|()| numbers.next().unwrap_or(0));
    found >= wanted
}

fn values(row: Answer) -> Result<Values, Failure> {
    let value = |value: Value| match value {
        Value::NULL => Ok(None),
        Value::Bytes(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| {
            let step = "look for the bytes that are no text in its character set";
            Failure::new("a value is not text", step)
        }),
        other => Ok(Some(other.as_sql(true).trim_matches('\'').to_owned())),
    };
    row.unwrap().into_iter().map(value).collect()
}

/// Runs `text`, and returns for each statement the number of rows that it changed, and the rows
/// that it returned.
fn exchange(client: &mut Conn, text: &str) -> Result<Vec<(u64, Vec<Values>)>, Failure> {
    let mut results = client.query_iter(text).map_err(|error| failure(&error))?;
    let mut answers = Vec::new();
    while let Some(result) = results.iter() {
        let changed = result.affected_rows();
        let mut rows = Vec::new();
        for row in result {
            rows.push(values(row.map_err(|error| failure(&error))?)?);
        }
        answers.push((changed, rows));
    }
    Ok(answers)
}

/// Describes how the values that the server has `stored` differ from the sent values; `None` if
/// they do not. The description contains no value.
fn difference(layout: &Layout, change: &RowChange, stored: &[Option<String>]) -> Option<String> {
    for ((column, new), stored) in layout.columns.iter().zip(&change.new).zip(stored.chunks(2)) {
        let Some(new) = new else { continue };
        let [value, mark] = stored else {
            return Some("the row was gone after it was changed".into());
        };
        let found = new.difference(column, value.as_deref(), mark.as_deref());
        if found.is_some() {
            return found;
        }
    }
    stored.is_empty().then(|| "the row was gone after it was changed".into())
}

impl TableServer for MysqlTable {
    fn place(&self) -> String {
        format!("{} at {}", self.place.server, self.place.shown)
    }

    fn lock(&mut self) -> Result<Option<String>, ServerFailure> {
        const ATTEMPT: &str = "take the lock for";
        let name = format!(
            "concat('sealstone ', md5(lower(concat(DATABASE(), '.', {}))))",
            literal(&self.named.table)
        );
        let taken = self.ask(ATTEMPT, &format!("SELECT GET_LOCK({name}, {LOCK_WAIT_S})"))?;
        if taken.first().and_then(|row| row[0].as_deref()) == Some("1") {
            return Ok(None);
        }
        let holder = self.ask(ATTEMPT, &format!("SELECT IS_USED_LOCK({name})"))?;
        let holder =
            holder.into_iter().flatten().flatten().next().unwrap_or_else(|| "unknown".into());
        Ok(Some(format!("connection {holder} of the server, which KILL {holder} ends")))
    }

    fn tables(&mut self) -> Result<Vec<String>, ServerFailure> {
        let rows = self.ask("look for", &tables(None))?;
        let names = rows.into_iter().filter_map(|row| row.into_iter().next().flatten());
        Ok(names.filter(|name| name != STATE).collect())
    }

    fn shape(&mut self) -> Result<Option<Shape>, ServerFailure> {
        let table = self.named.table.clone();
        let found = self.ask("look for", &tables(Some(&table)))?;
        let Some(found) = found.into_iter().find(|row| row[0].as_deref() == Some(table.as_str()))
        else {
            return Ok(None);
        };
        let kind = found[1].clone().unwrap_or_default();
        let hindrance = table_hindrance(&kind, found[2].as_deref());
        let rows = found[3].as_ref().and_then(|rows| rows.parse().ok()).unwrap_or(0);
        let mut answers = Vec::new();
        for question in questions(&table, self.checks) {
            answers.push(self.ask("look at", &question)?);
        }
        self.catalogue = Catalogue::new(answers.try_into().unwrap_or_default());
        let (key, no_key) = match self.catalogue.key(&table) {
            Ok(key) => (key, None),
            Err(hindrance) => (Vec::new(), Some(hindrance)),
        };
        self.named.key = key;
        let columns = self.catalogue.shapes(&self.named);
        let key = self.named.key.iter().map(|(name, _)| name.clone()).collect();
        Ok(Some(Shape { table, columns, key, hindrance: hindrance.or(no_key), rows }))
    }

    fn widening(&self, column: &str, chars: u64) -> String {
        let found = self.catalogue.column(column);
        found.map(|column| column.widening(&self.named.table, chars)).unwrap_or_default()
    }

    fn state(&mut self) -> Result<Option<State>, ServerFailure> {
        if !self.has_states()? {
            return Ok(None);
        }
        let text = format!(
            "SELECT phase, manifest FROM {STATE} WHERE table_name = {}",
            literal(&self.named.table)
        );
        let row = self.ask("read the state of", &text)?.into_iter().next();
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        Ok(row.map(|row| State { phase: text(&row[0]), manifest: text(&row[1]) }))
    }

    fn save(&mut self, phase: Phase, manifest: &str) -> Result<(), ServerFailure> {
        const ATTEMPT: &str = "save the state of";
        let (table, phase, manifest) =
            (literal(&self.named.table), phase.name(), literal(manifest));
        let text = format!(
            "INSERT INTO {STATE} (table_name, phase, manifest) VALUES ({table}, '{phase}', \
             {manifest}) ON DUPLICATE KEY UPDATE phase = VALUES(phase), manifest = VALUES(manifest)"
        );
        self.with_states(ATTEMPT, |table| {
            table.change(ATTEMPT, &state_table())?;
            table.command(ATTEMPT, &text)
        })
    }

    fn check_order(&mut self, layout: &Layout) -> Result<(), ServerFailure> {
        let answers =
            self.ask("look at the triggers of", &trigger_order::question(&self.named.table))?;
        match trigger_order::later(&answers, &self.our_triggers(layout), layout) {
            None => Ok(()),
            Some(Later { found, step }) => Err(ServerFailure {
                kind: FailureKind::Lasting,
                error: Box::new(OutOfOrder {
                    place: self.place(),
                    table: self.named.table.clone(),
                    found,
                    step,
                }),
            }),
        }
    }

    fn left(&mut self, layout: &Layout) -> Result<Vec<String>, ServerFailure> {
        let (columns, triggers) = (self.column_names()?, self.trigger_names()?);
        let added = layout.columns.iter().flat_map(ColumnLayout::added).cloned();
        let columns: Vec<String> = added.filter(|name| columns.contains(name)).collect();
        let ours = self.our_triggers(layout).into_iter().filter(|name| triggers.contains(name));
        Ok(columns.into_iter().chain(ours).collect())
    }

    fn forget(&mut self) -> Result<(), ServerFailure> {
        self.remove_states()
    }

    fn prepare(&mut self, layout: &Layout, may_add: bool) -> Result<(), ServerFailure> {
        let table = self.named.table.clone();
        let (columns, triggers) = (self.column_names()?, keeping(&table, layout));
        let addition = additions(&table, layout, &columns, !self.hides);
        if !may_add {
            let known = self.trigger_names()?;
            let missing = triggers.iter().find(|trigger| !known.contains(&trigger.name));
            let lacks = |found: String, step| Err(self.failed("use", Failure::new(found, step)));
            if addition.is_some() {
                return lacks("columns are missing that sealing added".into(), NO_BACKUP);
            }
            return match missing {
                Some(Trigger { name, .. }) => {
                    lacks(format!("its trigger {name} is missing"), UNKEPT)
                }
                None => Ok(()),
            };
        }
        // triggers that are needed later must be possible, too
        let long = triggers.iter().chain(&refusing(&table, layout)).find_map(|trigger| {
            (trigger.name.chars().count() > NAME_MAX).then(|| trigger.name.clone())
        });
        if let Some(name) = long {
            let found = format!(
                "a trigger would be called {name}, and the server takes {NAME_MAX} characters"
            );
            return Err(self
                .failed("add a trigger to", Failure::new(found, "give the table a shorter name")));
        }
        if let Some(text) = addition {
            self.change_online("add columns (ALTER TABLE) to", &text)?;
        }
        self.add_triggers(&triggers)
    }

    fn refuse_sealed(&mut self, layout: &Layout) -> Result<(), ServerFailure> {
        self.add_triggers(&refusing(&self.named.table, layout))
    }

    fn remove(&mut self, layout: &Layout) -> Result<(), ServerFailure> {
        let table = self.named.table.clone();
        let known = self.trigger_names()?;
        for Trigger { name, .. } in refusing(&table, layout).iter().chain(&keeping(&table, layout))
        {
            if known.contains(name) {
                self.change("remove a trigger from", &format!("DROP TRIGGER {}", quoted(name)))?;
            }
        }
        let columns = self.column_names()?;
        if let Some(text) = removals(&table, layout, &columns) {
            self.change_online("remove columns (ALTER TABLE) from", &text)?;
        }
        self.remove_states()
    }

    fn read(
        &mut self,
        layout: &Layout,
        wanted: Wanted,
        after: Option<&[String]>,
        limit: usize,
    ) -> Result<Vec<Row>, ServerFailure> {
        let rows =
            self.ask("read rows (SELECT) of", &self.named.read(layout, wanted, after, limit))?;
        let keys = self.named.key.len();
        Ok(rows.into_iter().map(|values| Row::answered(values, keys)).collect())
    }

    fn find(&mut self, layout: &Layout, key: &[String]) -> Result<Option<Row>, ServerFailure> {
        const ATTEMPT: &str = "read rows (SELECT) of";
        let text = self.named.find(layout, key).map_err(|column| {
            let found = format!("what was given for {column} is no value of that column");
            self.failed(
                ATTEMPT,
                Failure::new(found, "give a number as it is, bytes in hexadecimal"),
            )
        })?;
        let keys = self.named.key.len();
        let rows = self.ask(ATTEMPT, &text)?;
        Ok(rows.into_iter().next().map(|values| Row::answered(values, keys)))
    }

    fn count(
        &mut self,
        layout: &Layout,
        at: usize,
        marked: bool,
    ) -> Result<Vec<Counted>, ServerFailure> {
        let text = self.named.count(layout, at, marked);
        let rows = self.ask("read rows (SELECT COUNT) of", &text)?;
        Ok(rows.iter().map(|values| Counted::answered(values)).collect())
    }

    fn sealed_tables(&mut self) -> Result<SealedTables, ServerFailure> {
        if !self.has_states()? {
            return Ok(SealedTables::default());
        }
        let text = format!("SELECT table_name FROM {STATE} ORDER BY table_name");
        let rows = self.ask("read the states of", &text)?;
        let names = rows.into_iter().flatten().flatten().collect();
        Ok(SealedTables { names, ..SealedTables::default() })
    }

    fn write(&mut self, layout: &Layout, changes: &[RowChange]) -> Result<u64, ServerFailure> {
        self.write_checked(layout, changes)
    }
}

impl RowTransaction for MysqlTable {
    fn write_all(&mut self, layout: &Layout, changes: &[RowChange]) -> Result<u64, ServerFailure> {
        self.command("change rows of", "START TRANSACTION")?;
        let mut changed = 0;
        let (mut first, mut text) = (0, String::new());
        for (at, change) in changes.iter().enumerate() {
            text.push_str(&self.named.update(layout, change));
            text.push_str("; ");
            text.push_str(&self.named.read_back(layout, &change.old.key));
            if text.len() >= SENT_BYTES || at + 1 == changes.len() {
                changed += self.send(layout, &text, &changes[first..=at])?;
                (first, text) = (at + 1, String::new());
            } else {
                text.push_str("; ");
            }
        }
        Ok(changed)
    }

    fn commit(&mut self) -> Result<(), ServerFailure> {
        self.command("change rows (COMMIT) of", "COMMIT")
    }

    fn roll_back(&mut self) {
        let _ = self.client.timed(QUESTION_LIMIT, |conn| {
            conn.query_drop("ROLLBACK").map_err(|error| failure(&error))
        });
    }
}
