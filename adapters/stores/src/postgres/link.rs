//! A connection, with its prepared statements.

use std::collections::HashMap;
use std::io::Write;

use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, SimpleQueryMessage};
use sealstone_store::{Kind, Record};

use super::failure::failure;
use super::function::PGP_SYM_ENCRYPT;
use super::guard::Patience;
use super::value::{Received, Sent, copy};
use crate::sql::{Dialect, EachRow, Failure, Layout, Link, Param, Statement};
use crate::time_limits::{ANSWER_LIMIT, LONG_LIMIT, QUESTION_LIMIT};

/// Rows of one statement that loads where COPY cannot.
const LOAD_ROWS: usize = 100;

/// Dialect of PostgreSQL's SQL. Keys are sorted by their bytes, as everywhere here, not as some
/// language sorts them.
pub(super) static DIALECT: Dialect = Dialect {
    quote: '"',
    placeholder: |number| format!("${number}"),
    key_type: "text COLLATE \"C\"",
    column_type: |kind| match kind {
        Kind::Integer => "bigint",
        Kind::Decimal => "numeric",
        Kind::Text => "text",
        Kind::Bytes => "bytea",
    },
    table_options: "",
    replace: |key, columns| {
        let sets: Vec<String> =
            columns.iter().map(|column| format!("{column} = EXCLUDED.{column}")).collect();
        format!("ON CONFLICT ({key}) DO UPDATE SET {}", sets.join(", "))
    },
    begin: "BEGIN",
    begin_loading: &["BEGIN", "SET LOCAL synchronous_commit = off"],
    begin_bulk: &["BEGIN", "SET LOCAL synchronous_commit = on"],
    functions: &[&PGP_SYM_ENCRYPT],
};

/// A connection to PostgreSQL.
pub struct PostgresLink {
    client: Client,
    /// Time that the server may take for the next request.
    pub(super) patience: Patience,
    prepared: HashMap<usize, postgres::Statement>,
    /// The statements that load many rows, by their text.
    loading: HashMap<String, postgres::Statement>,
    record: Record,
    scratch: Vec<u8>,
}

impl PostgresLink {
    pub(super) fn new(client: Client, patience: Patience) -> Self {
        let (prepared, loading) = (HashMap::new(), HashMap::new());
        Self { client, patience, prepared, loading, record: Record::new(), scratch: Vec::new() }
    }

    /// As [`PostgresLink::ask`], for requests that may take long.
    ///
    /// # Errors
    /// As [`PostgresLink::ask`].
    pub(super) fn ask_long(&mut self, text: &str) -> Result<Vec<Vec<String>>, Failure> {
        self.patience.set(LONG_LIMIT);
        let answer = self.ask(text);
        self.patience.set(QUESTION_LIMIT);
        answer
    }

    /// Returns the rows that the server answers to `text`, as text.
    ///
    /// # Errors
    /// The server's error, or the reason for its silence.
    pub(super) fn ask(&mut self, text: &str) -> Result<Vec<Vec<String>>, Failure> {
        let answers = self.client.simple_query(text).map_err(|error| failure(&error))?;
        let values = |row: &postgres::SimpleQueryRow| -> Vec<String> {
            (0..row.len()).map(|at| row.get(at).unwrap_or_default().to_owned()).collect()
        };
        let rows = answers.iter().filter_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => Some(values(row)),
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Writes `rows` into an empty place of the table of `layout`.
    fn copy(&mut self, layout: &Layout, rows: &[Vec<Param<'_>>]) -> Result<(), Failure> {
        let broken =
            |error: std::io::Error| match error.get_ref().and_then(|cause| cause.downcast_ref()) {
                Some(error) => failure(error),
                None => Failure::broken(error.to_string(), "look at the server's log"),
            };
        self.patience.set(LONG_LIMIT);
        let mut into = self.client.copy_in(&copy_text(layout)).map_err(|error| failure(&error))?;
        let mut line = Vec::new();
        for row in rows {
            line.clear();
            for (at, param) in row.iter().enumerate() {
                if at > 0 {
                    line.push(b'\t');
                }
                copy(*param, at > 0 && layout.kind(at - 1) == Kind::Bytes, &mut line);
            }
            line.push(b'\n');
            into.write_all(&line).map_err(broken)?;
        }
        into.finish().map(drop).map_err(|error| failure(&error))
    }
}

impl PostgresLink {
    /// Writes `rows`, whose keys all differ, many a statement, and the rest one by one.
    fn insert(
        &mut self,
        layout: &Layout,
        put: &Statement,
        rows: &[Vec<Param<'_>>],
    ) -> Result<(), Failure> {
        self.patience.set(ANSWER_LIMIT);
        for rows in rows.chunks(LOAD_ROWS) {
            if rows.len() < LOAD_ROWS {
                rows.iter().try_for_each(|row| self.run(put, row, &mut |_, _| ()).map(drop))?;
                continue;
            }
            let text = DIALECT.insert(layout, LOAD_ROWS);
            let ready = match self.loading.get(&text) {
                Some(ready) => ready,
                None => {
                    let ready = self.client.prepare(&text).map_err(|error| failure(&error))?;
                    self.loading.entry(text).or_insert(ready)
                }
            };
            let sent: Vec<Sent<'_>> = rows.iter().flatten().map(|param| Sent(*param)).collect();
            let mut answer = self.client.query_raw(ready, sent).map_err(|error| failure(&error))?;
            while answer.next().map_err(|error| failure(&error))?.is_some() {}
        }
        Ok(())
    }
}

fn copy_text(layout: &Layout) -> String {
    let names = std::iter::once("ycsb_key").chain(layout.columns.iter().map(String::as_str));
    let columns: Vec<String> = names.map(|name| DIALECT.quoted(name)).collect();
    format!("COPY {} ({}) FROM STDIN", DIALECT.quoted(&layout.name), columns.join(", "))
}

impl Link for PostgresLink {
    fn run(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
        each: EachRow<'_>,
    ) -> Result<u64, Failure> {
        let Self { client, patience, prepared, record, scratch, .. } = self;
        // statements whose rows have keys are scans
        patience.set(if statement.has_key { LONG_LIMIT } else { ANSWER_LIMIT });
        let ready = match prepared.get(&statement.id) {
            Some(ready) => ready,
            None => {
                let ready = client.prepare(&statement.text).map_err(|error| failure(&error))?;
                prepared.entry(statement.id).or_insert(ready)
            }
        };
        let sent = params.iter().map(|param| Sent(*param));
        let mut rows = client.query_raw(ready, sent).map_err(|error| failure(&error))?;
        let first = usize::from(statement.has_key);
        while let Some(row) = rows.next().map_err(|error| failure(&error))? {
            record.clear();
            for at in first..row.len() {
                match Received::of(&row, at).map_err(|error| failure(&error))? {
                    None => record.push(b""),
                    Some(value) => value.push(scratch, record).ok_or_else(|| {
                        let found = format!(
                            "column {} has a value that is no number",
                            row.columns()[at].name()
                        );
                        Failure::new(found, "the table is another program's: name another database")
                    })?,
                }
            }
            let key = if statement.has_key {
                Received::of(&row, 0).map_err(|error| failure(&error))?
            } else {
                None
            };
            each(key.map(|key| key.bytes()).unwrap_or_default(), record);
        }
        Ok(rows.rows_affected().unwrap_or(0))
    }

    fn command(&mut self, text: &str) -> Result<(), Failure> {
        self.patience.set(LONG_LIMIT);
        self.client.batch_execute(text).map_err(|error| failure(&error))
    }

    /// Loads by COPY; where a record with the same key exists, which COPY does not replace, one by
    /// one. COPY calls no function either.
    fn load(
        &mut self,
        layout: &Layout,
        put: &Statement,
        rows: &[Vec<Param<'_>>],
    ) -> Result<(), Failure> {
        if layout.function.is_some() {
            return self.insert(layout, put, rows);
        }
        self.command("SAVEPOINT batch")?;
        match self.copy(layout, rows) {
            Err(failure) if failure.is_duplicate => {
                self.command("ROLLBACK TO SAVEPOINT batch")?;
                rows.iter().try_for_each(|row| self.run(put, row, &mut |_, _| ()).map(drop))?;
            }
            outcome => outcome?,
        }
        self.command("RELEASE SAVEPOINT batch")
    }
}
