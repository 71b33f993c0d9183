//! A table on PostgreSQL whose columns are sealed in place. Not here: the text of statements
//! (`table_text`), reading the catalogue (`table_shape`), the order of steps
//! (`sealstone_fields::migration`).

use std::thread;
use std::time::{Duration, Instant};

use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, SimpleQueryMessage, Statement};
use sealstone_fields::migration::{
    ColumnLayout, Counted, FailureKind, Layout, Phase, Row, RowChange, SealedTables, ServerFailure,
    Shape, State, TableServer, Wanted,
};

use super::connection::{Postgres, PostgresOptions};
use super::failure::failure;
use super::guard::Patience;
use super::table_shape::{Column, Values, columns, key, keys, table, table_hindrance, tables};
use super::table_text::{NAME_BYTES_MAX, Named, TRIGGER, literal, quoted};
use super::trigger_order::{self, Later};
use crate::server_error::Place;
use crate::sql::{
    Error, Failure, NO_BACKUP, OTHER_TRIGGER, OutOfOrder, RowTransaction, STATE, Server, UNKEPT,
    table_failure,
};
use crate::time_limits::LONG_LIMIT;

/// Settings of a connection: values are written in one way, nobody waits for us for long, no row is
/// hidden silently, and rows are found by their key.
const SETTINGS: &str = "SET standard_conforming_strings = on; SET row_security = off; SET \
                        DateStyle = 'ISO'; SET TimeZone = 'UTC'; SET bytea_output = 'hex'; SET \
                        IntervalStyle = 'postgres'; SET lock_timeout = '5s'; SET statement_timeout \
                        = 0; SET enable_hashjoin = off; SET enable_mergejoin = off; SET SESSION \
                        CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED";
/// Number of times that a change of the table itself is tried again, how long each may wait, and
/// the pause before the next: while it waits for transactions, all others wait for it.
const CHANGES_MAX: u32 = 30;
const CHANGE_WAIT: &str = "SET lock_timeout = '2s'";
const USUAL_WAIT: &str = "SET lock_timeout = '5s'";
const CHANGE_PAUSE: Duration = Duration::from_secs(1);
/// Time that another process may take to give the table back: a process that was killed takes a
/// moment.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_NAP: Duration = Duration::from_millis(100);

/// A connection to a table.
pub(crate) struct PostgresTable {
    client: Client,
    /// Time that the server may take for the next request.
    patience: Patience,
    place: Place,
    /// Its name as requested.
    asked: String,
    /// Its actual name; empty before the first look-up.
    named: Named,
    oid: String,
    update: Option<(String, Statement)>,
}

impl std::fmt::Debug for PostgresTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { place, asked, .. } = self;
        f.debug_struct("PostgresTable")
            .field("at", &place.shown)
            .field("table", asked)
            .finish_non_exhaustive()
    }
}

/// The lists that one statement changes many rows by.
#[derive(Default)]
struct Lists {
    keys: Vec<Vec<String>>,
    columns: Vec<ColumnLists>,
}

/// The same of one sealed column.
#[derive(Default)]
struct ColumnLists {
    old: Vec<Option<String>>,
    old_mark: Vec<Option<i32>>,
    row: Vec<Option<String>>,
    changes: Vec<bool>,
    new: Vec<Option<String>>,
    new_mark: Vec<Option<i32>>,
    index: Vec<Option<String>>,
}

impl Lists {
    fn of(keys: usize, layout: &Layout, changes: &[RowChange]) -> Self {
        let keys = (0..keys)
            .map(|at| changes.iter().map(|change| change.old.key[at].clone()).collect())
            .collect();
        let columns = (0..layout.columns.len()).map(|at| {
            let mut lists = ColumnLists::default();
            for RowChange { old, new } in changes {
                let (cell, new) = (&old.cells[at], new[at].as_ref());
                lists.old.push(cell.value.clone());
                lists.old_mark.push(cell.mark);
                lists.row.push(cell.row.clone());
                lists.changes.push(new.is_some());
                lists.new.push(new.map_or_else(|| cell.value.clone(), |new| new.value.clone()));
                // a negative mark is a claim that the value is sealed, which the trigger turns
                lists.new_mark.push(new.map_or(cell.mark, |new| new.mark.map(|mark| -mark)));
                lists.index.push(new.and_then(|new| new.index.clone()));
            }
            lists
        });
        Self { keys, columns: columns.collect() }
    }

    fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        let mut parameters: Vec<&(dyn ToSql + Sync)> = Vec::new();
        for list in &self.keys {
            parameters.push(list);
        }
        for ColumnLists { old, old_mark, row, changes, new, new_mark, index } in &self.columns {
            let lists: [&(dyn ToSql + Sync); 7] =
                [old, old_mark, row, changes, new, new_mark, index];
            parameters.extend(lists);
        }
        parameters
    }
}

impl PostgresTable {
    /// Connects for the table `table`, which need not exist; the name of its schema may precede it.
    ///
    /// # Errors
    /// As [`Postgres::connect`].
    pub(crate) fn connect(options: &PostgresOptions, table: &str) -> Result<Self, Error> {
        let server = Postgres::connect(options)?;
        let (mut client, patience) = server.client()?;
        let place = server.place().clone();
        let set_up = client.batch_execute(SETTINGS);
        set_up.map_err(|error| place.failure("set up a connection to", failure(&error)))?;
        let (asked, named, oid) = (table.to_owned(), Named::default(), String::new());
        Ok(Self { client, patience, place, asked, named, oid, update: None })
    }

    fn failed(&self, attempt: &str, found: Failure) -> ServerFailure {
        table_failure(&self.place, &self.asked, attempt, found)
    }

    fn answered(&self, attempt: &str, error: &postgres::Error) -> ServerFailure {
        let found = failure(error);
        let is_held = error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE);
        self.failed(attempt, Failure { is_conflict: found.is_conflict || is_held, ..found })
    }

    fn command(&mut self, attempt: &str, text: &str) -> Result<(), ServerFailure> {
        self.client.batch_execute(text).map_err(|error| self.answered(attempt, &error))
    }

    /// Returns the rows that the server answers to `text`.
    fn ask(&mut self, attempt: &str, text: &str) -> Result<Vec<Values>, ServerFailure> {
        let answers =
            self.client.simple_query(text).map_err(|error| self.answered(attempt, &error))?;
        let rows = answers.iter().filter_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Changes the table itself in one transaction, as soon as no other is at it.
    fn change(&mut self, attempt: &str, text: &str) -> Result<(), ServerFailure> {
        self.patience.set(LONG_LIMIT);
        self.command(attempt, CHANGE_WAIT)?;
        let mut outcome = self.command(attempt, text);
        for _ in 1..CHANGES_MAX {
            if outcome.is_ok() {
                break;
            }
            // the transaction that failed is still open
            let _ = self.client.batch_execute("ROLLBACK");
            if outcome.as_ref().is_err_and(|failure| failure.kind == FailureKind::Lasting) {
                break;
            }
            thread::sleep(CHANGE_PAUSE);
            outcome = self.command(attempt, text);
        }
        outcome.and_then(|()| self.command(attempt, USUAL_WAIT))
    }

    fn has_states(&mut self) -> Result<bool, ServerFailure> {
        let name = literal(&self.named.states());
        let found =
            self.ask("look for the state of", &format!("SELECT to_regclass({name}) IS NOT NULL"))?;
        Ok(found.first().and_then(|row| row[0].as_deref()) == Some("t"))
    }

    /// Removes the table of states if no table has one.
    fn remove_states(&mut self) -> Result<(), ServerFailure> {
        // nobody can add a row between these two
        let states = self.named.states();
        let text = format!(
            "BEGIN; LOCK TABLE {states} IN ACCESS EXCLUSIVE MODE; DO $sealstone$BEGIN IF NOT \
             EXISTS (SELECT FROM {states}) THEN DROP TABLE {states}; END IF; END$sealstone$; COMMIT"
        );
        self.change(&format!("remove {STATE} of"), &text)
    }

    fn update(&mut self, layout: &Layout) -> Result<Statement, ServerFailure> {
        let text = self.named.update(layout);
        if let Some((_, statement)) = self.update.as_ref().filter(|(known, _)| *known == text) {
            return Ok(statement.clone());
        }
        let prepared = self.client.prepare(&text);
        let statement = prepared.map_err(|error| self.answered("prepare the change of", &error))?;
        self.update = Some((text, statement.clone()));
        Ok(statement)
    }

    /// Changes rows without committing, and leaves the transaction as it is after a failure.
    /// Returns how many were changed.
    fn send_all(&mut self, layout: &Layout, changes: &[RowChange]) -> Result<u64, ServerFailure> {
        const ATTEMPT: &str = "change rows (UPDATE) of";
        self.patience.set(LONG_LIMIT);
        let statement = self.update(layout)?;
        let lists = Lists::of(self.named.key.len(), layout, changes);
        self.command(ATTEMPT, "BEGIN")?;
        let rows = self.client.query(&statement, &lists.parameters());
        let rows = rows.map_err(|error| self.answered(ATTEMPT, &error))?;
        for row in &rows {
            let number: i64 = row.get(0);
            let Some(change) = usize::try_from(number - 1).ok().and_then(|at| changes.get(at))
            else {
                continue;
            };
            if let Some(found) = difference(layout, change, row) {
                return Err(self.failed(ATTEMPT, Failure::new(found, OTHER_TRIGGER)));
            }
        }
        Ok(rows.len() as u64)
    }
}

/// Describes how the values that the server has stored differ from the sent values; `None` if they
/// do not. The description contains no value.
fn difference(layout: &Layout, change: &RowChange, row: &postgres::Row) -> Option<String> {
    for (at, (column, new)) in layout.columns.iter().zip(&change.new).enumerate() {
        let Some(new) = new else { continue };
        let (value, mark): (Option<String>, Option<i32>) =
            (row.get(1 + 2 * at), row.get(2 + 2 * at));
        let mark = mark.map(|mark| mark.to_string());
        let found = new.difference(column, value.as_deref(), mark.as_deref());
        if found.is_some() {
            return found;
        }
    }
    None
}

impl TableServer for PostgresTable {
    fn place(&self) -> String {
        format!("{} at {}", self.place.server, self.place.shown)
    }

    fn lock(&mut self) -> Result<Option<String>, ServerFailure> {
        const ATTEMPT: &str = "take the lock for";
        let oid = self.oid.clone();
        let begin = Instant::now();
        loop {
            let text =
                format!("SELECT pg_try_advisory_lock(hashtext('sealstone'), hashtext('{oid}'))");
            let taken = self.ask(ATTEMPT, &text)?;
            if taken.first().and_then(|row| row[0].as_deref()) == Some("t") {
                return Ok(None);
            }
            if begin.elapsed() >= LOCK_WAIT {
                break;
            }
            thread::sleep(LOCK_NAP);
        }
        let number = |text: &str| format!("(hashtext('{text}')::int8 & 4294967295)::oid");
        let holder = format!(
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = \
             (SELECT oid FROM pg_database WHERE datname = current_database()) AND classid = {} AND \
             objid = {}",
            number("sealstone"),
            number(&oid)
        );
        let holder = self.ask(ATTEMPT, &holder)?;
        let holder =
            holder.into_iter().flatten().flatten().next().unwrap_or_else(|| "unknown".into());
        Ok(Some(format!(
            "process {holder} of the server, which SELECT pg_terminate_backend({holder}) ends"
        )))
    }

    fn tables(&mut self) -> Result<Vec<String>, ServerFailure> {
        Ok(self.ask("look for", &tables())?.into_iter().flatten().flatten().collect())
    }

    fn shape(&mut self) -> Result<Option<Shape>, ServerFailure> {
        let found = self.ask("look for", &table(&self.asked))?;
        let Some(found) = found.into_iter().next() else {
            let (schema, table) = match self.asked.rsplit_once('.') {
                Some((schema, table)) => (Some(schema.to_owned()), table.to_owned()),
                None => {
                    let schema = self.ask("look for", "SELECT current_schema()")?;
                    (schema.into_iter().flatten().flatten().next(), self.asked.clone())
                }
            };
            self.named = Named { schema: schema.unwrap_or_default(), table, key: Vec::new() };
            return Ok(None);
        };
        let text = |at: usize| found[at].clone().unwrap_or_default();
        self.oid = text(0);
        let (answers, unicode) =
            (self.ask("look at", &columns(&text(0)))?, found[8].as_deref() == Some("t"));
        let keys = self.ask("look at the keys of", &keys(&text(0)))?;
        let (key, no_key) = match key(&keys, &text(2)) {
            Ok(key) => (key, None),
            Err(hindrance) => (Vec::new(), Some(hindrance)),
        };
        self.named = Named { schema: text(1), table: text(2), key };
        let shape = |row: &Values| Column::new(row).shape(&self.named, unicode);
        Ok(Some(Shape {
            table: self.asked.clone(),
            columns: answers.iter().map(shape).collect(),
            key: self.named.key.iter().map(|(name, _)| name.clone()).collect(),
            hindrance: table_hindrance(&found).or(no_key),
            rows: text(7).parse().unwrap_or(0),
        }))
    }

    fn widening(&self, column: &str, chars: u64) -> String {
        format!(
            "ALTER TABLE {} ALTER COLUMN {} TYPE varchar({chars})",
            self.named.full(),
            quoted(column)
        )
    }

    fn state(&mut self) -> Result<Option<State>, ServerFailure> {
        if !self.has_states()? {
            return Ok(None);
        }
        let text = format!(
            "SELECT phase, manifest FROM {} WHERE table_name = {}",
            self.named.states(),
            literal(&self.named.table)
        );
        let row = self.ask("read the state of", &text)?.into_iter().next();
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        Ok(row.map(|row| State { phase: text(&row[0]), manifest: text(&row[1]) }))
    }

    fn save(&mut self, phase: Phase, manifest: &str) -> Result<(), ServerFailure> {
        const ATTEMPT: &str = "save the state of";
        if !self.has_states()? {
            let text = self.named.state_table();
            self.command(ATTEMPT, &text)?;
        }
        let text = self.named.saving(phase.name(), manifest);
        self.command(ATTEMPT, &text)
    }

    fn check_order(&mut self, _: &Layout) -> Result<(), ServerFailure> {
        let answers = self.ask("look at the triggers of", &trigger_order::question(&self.oid))?;
        match trigger_order::later(&answers) {
            None => Ok(()),
            Some(Later { table, found, step }) => Err(ServerFailure {
                kind: FailureKind::Lasting,
                error: Box::new(OutOfOrder { place: self.place(), table, found, step }),
            }),
        }
    }

    fn left(&mut self, layout: &Layout) -> Result<Vec<String>, ServerFailure> {
        if self.oid.is_empty() {
            return Ok(Vec::new());
        }
        let columns = self.ask("look at the columns of", &columns(&self.oid))?;
        let is_there = |name: &String| columns.iter().any(|row| row[0].as_ref() == Some(name));
        let mut left: Vec<String> = layout
            .columns
            .iter()
            .flat_map(ColumnLayout::added)
            .filter(|name| is_there(name))
            .cloned()
            .collect();
        let triggers = self.ask("look at the triggers of", &trigger_order::named(&self.oid))?;
        left.extend(triggers.into_iter().flatten().flatten());
        Ok(left)
    }

    fn forget(&mut self) -> Result<(), ServerFailure> {
        let text = self.named.forgetting();
        self.change("remove the state of", &text)?;
        self.remove_states()
    }

    fn prepare(&mut self, layout: &Layout, may_add: bool) -> Result<(), ServerFailure> {
        if !may_add {
            let text = trigger_order::without_ours(&self.oid, &self.named.function_name());
            if let Some(row) = self.ask("look at the trigger of", &text)?.into_iter().next() {
                let of = row[0].clone().unwrap_or_default();
                let found =
                    format!("its trigger {TRIGGER} on {of} is missing, disabled, or another one");
                return Err(self.failed("use", Failure::new(found, UNKEPT)));
            }
            let answers = self.ask("look at the columns of", &columns(&self.oid))?;
            let is_there = |name: &String| answers.iter().any(|row| row[0].as_ref() == Some(name));
            if !layout.columns.iter().flat_map(ColumnLayout::added).all(is_there) {
                return Err(self.failed(
                    "use",
                    Failure::new("columns are missing that sealing added", NO_BACKUP),
                ));
            }
            return Ok(());
        }
        let added = layout.columns.iter().flat_map(ColumnLayout::added).cloned();
        let long =
            added.chain([self.named.function_name()]).find(|name| name.len() > NAME_BYTES_MAX);
        if let Some(name) = long {
            let found = format!(
                "something would be called {name}, and the server takes {NAME_BYTES_MAX} bytes"
            );
            return Err(
                self.failed("prepare", Failure::new(found, "give table and columns shorter names"))
            );
        }
        let text = self.named.preparing(layout);
        self.change("add columns and a trigger to", &text)
    }

    fn refuse_sealed(&mut self, layout: &Layout) -> Result<(), ServerFailure> {
        let text = self.named.refusing(layout);
        self.change("change the trigger of", &text)
    }

    fn remove(&mut self, layout: &Layout) -> Result<(), ServerFailure> {
        let text = self.named.removing(layout);
        self.change("remove columns and the trigger from", &text)?;
        self.remove_states()
    }

    fn read(
        &mut self,
        layout: &Layout,
        wanted: Wanted,
        after: Option<&[String]>,
        limit: usize,
    ) -> Result<Vec<Row>, ServerFailure> {
        self.patience.set(LONG_LIMIT);
        let rows =
            self.ask("read rows (SELECT) of", &self.named.read(layout, wanted, after, limit))?;
        let keys = self.named.key.len();
        Ok(rows.into_iter().map(|values| Row::answered(values, keys)).collect())
    }

    fn find(&mut self, layout: &Layout, key: &[String]) -> Result<Option<Row>, ServerFailure> {
        let rows = self.ask("read rows (SELECT) of", &self.named.find(layout, key))?;
        let keys = self.named.key.len();
        Ok(rows.into_iter().next().map(|values| Row::answered(values, keys)))
    }

    fn count(
        &mut self,
        layout: &Layout,
        at: usize,
        marked: bool,
    ) -> Result<Vec<Counted>, ServerFailure> {
        self.patience.set(LONG_LIMIT);
        let text = self.named.count(layout, at, marked);
        let rows = self.ask("read rows (SELECT count) of", &text)?;
        Ok(rows.iter().map(|values| Counted::answered(values)).collect())
    }

    fn sealed_tables(&mut self) -> Result<SealedTables, ServerFailure> {
        const ATTEMPT: &str = "read the states of";
        let schemas = format!(
            "SELECT n.nspname, n.nspname = current_schema(), has_schema_privilege(n.oid, 'USAGE') \
             AND has_table_privilege(c.oid, 'SELECT') FROM pg_class c JOIN pg_namespace n ON n.oid \
             = c.relnamespace WHERE c.relname = {} AND c.relkind = 'r' ORDER BY 1",
            literal(STATE)
        );
        let mut found = SealedTables::default();
        for row in self.ask(ATTEMPT, &schemas)? {
            let schema = row[0].clone().unwrap_or_default();
            let is_true = |at: usize| row[at].as_deref() == Some("t");
            if !is_true(2) {
                found.unread_schemas.push(schema);
                continue;
            }
            let is_current = is_true(1);
            let text = format!("SELECT table_name FROM {}.{STATE} ORDER BY 1", quoted(&schema));
            let tables = self.ask(ATTEMPT, &text)?.into_iter().flatten().flatten();
            let full = |name: String| if is_current { name } else { format!("{schema}.{name}") };
            found.names.extend(tables.map(full));
        }
        Ok(found)
    }

    fn write(&mut self, layout: &Layout, changes: &[RowChange]) -> Result<u64, ServerFailure> {
        self.write_checked(layout, changes)
    }
}

impl RowTransaction for PostgresTable {
    fn write_all(&mut self, layout: &Layout, changes: &[RowChange]) -> Result<u64, ServerFailure> {
        let changed = self.send_all(layout, changes);
        if changed.as_ref().is_err_and(|failure| failure.kind == FailureKind::Lasting) {
            // a transaction that failed answers nothing more
            self.roll_back();
        }
        changed
    }

    fn commit(&mut self) -> Result<(), ServerFailure> {
        self.command("change rows (COMMIT) of", "COMMIT")
    }

    fn roll_back(&mut self) {
        let _ = self.client.batch_execute("ROLLBACK");
    }
}
