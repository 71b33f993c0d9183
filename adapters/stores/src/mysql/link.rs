//! A connection, with its prepared statements.

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Value};
use sealstone_store::{Kind, Record};

use super::failure::failure;
use super::function::{AES_ENCRYPT, SHA2};
use super::timed_connection::Watched;
use crate::sql::{Dialect, EachRow, Failure, Layout, Link, Param, Statement};
use crate::time_limits::{ANSWER_LIMIT, LONG_LIMIT, QUESTION_LIMIT};

/// Rows of one statement that loads, and the most bytes of their values: a server takes 16 MiB in a
/// message.
const LOAD_ROWS: usize = 100;
const LOAD_BYTES: usize = 4 << 20;

/// Dialect of MySQL's SQL. Keys are bytes, which sort as such, with blanks at their end; decimal
/// numbers are text, as `decimal` has the same number of digits after the point in each row.
pub(super) static DIALECT: Dialect = Dialect {
    quote: '`',
    placeholder: |_| "?".into(),
    key_type: "varbinary(1024)",
    column_type: |kind| match kind {
        Kind::Integer => "bigint",
        Kind::Decimal | Kind::Text => "longtext",
        Kind::Bytes => "longblob",
    },
    table_options: " ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
    replace: |_, columns| {
        let sets: Vec<String> =
            columns.iter().map(|column| format!("{column} = VALUES({column})")).collect();
        format!("ON DUPLICATE KEY UPDATE {}", sets.join(", "))
    },
    begin: "START TRANSACTION",
    begin_loading: &["START TRANSACTION"],
    begin_bulk: &["START TRANSACTION"],
    functions: &[&AES_ENCRYPT, &SHA2],
};

/// A connection to MySQL or MariaDB.
pub struct MysqlLink {
    client: Watched,
    prepared: HashMap<usize, mysql::Statement>,
    /// The statements that load many rows, by their text.
    loading: HashMap<String, mysql::Statement>,
    record: Record,
}

impl MysqlLink {
    pub(super) fn new(client: Watched) -> Self {
        Self { client, prepared: HashMap::new(), loading: HashMap::new(), record: Record::new() }
    }

    /// Returns the rows that the server answers to `text`, as text.
    ///
    /// # Errors
    /// The server's error, or the reason for its silence.
    pub(super) fn ask(&mut self, text: &str) -> Result<Vec<Vec<String>>, Failure> {
        self.ask_within(QUESTION_LIMIT, text)
    }

    /// As [`MysqlLink::ask`], where the server may take `limit`.
    ///
    /// # Errors
    /// As [`MysqlLink::ask`].
    pub(super) fn ask_within(
        &mut self,
        limit: Duration,
        text: &str,
    ) -> Result<Vec<Vec<String>>, Failure> {
        let rows: Vec<mysql::Row> =
            self.client.timed(limit, |conn| conn.query(text).map_err(|error| failure(&error)))?;
        let shown = |value: Value| match value {
            Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Value::NULL => String::new(),
            value => value.as_sql(false).trim_matches('\'').to_owned(),
        };
        Ok(rows.into_iter().map(|row| row.unwrap().into_iter().map(shown).collect()).collect())
    }
}

fn value(param: &Param<'_>) -> Value {
    match param {
        Param::Null => Value::NULL,
        Param::Number(number) => Value::Int(*number),
        Param::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
    }
}

/// Appends `value` to `record`, as it was written.
fn push(value: &Value, record: &mut Record) -> Result<(), Failure> {
    let mut digits = [0_u8; 24];
    let mut rest = &mut digits[..];
    match value {
        Value::NULL => {
            record.push(b"");
            return Ok(());
        }
        Value::Bytes(bytes) => {
            record.push(bytes);
            return Ok(());
        }
        // 24 bytes hold every number of 64 bits with its sign
        Value::Int(number) => drop(write!(rest, "{number}")),
        Value::UInt(number) => drop(write!(rest, "{number}")),
        _ => {
            let found = "a column has a value that is neither text nor a whole number";
            return Err(Failure::new(
                found,
                "the table is another program's: name another database",
            ));
        }
    }
    let unused = rest.len();
    record.push(&digits[..digits.len() - unused]);
    Ok(())
}

/// Runs `statement` on `conn`; the rest as of [`Link::run`].
fn run(
    conn: &mut Conn,
    prepared: &mut HashMap<usize, mysql::Statement>,
    record: &mut Record,
    statement: &Statement,
    params: &[Param<'_>],
    each: EachRow<'_>,
) -> Result<u64, Failure> {
    let ready = match prepared.get(&statement.id) {
        Some(ready) => ready,
        None => {
            let ready = conn.prep(&statement.text).map_err(|error| failure(&error))?;
            prepared.entry(statement.id).or_insert(ready)
        }
    };
    let values: Vec<Value> = params.iter().map(value).collect();
    let mut rows = conn.exec_iter(ready, values).map_err(|error| failure(&error))?;
    let changed = rows.affected_rows();
    let first = usize::from(statement.has_key);
    for row in rows.by_ref() {
        let values = row.map_err(|error| failure(&error))?.unwrap();
        record.clear();
        // a server may send fewer columns than requested
        let (key, values) = values.split_at_checked(first).unwrap_or_default();
        values.iter().try_for_each(|value| push(value, record))?;
        let key: &[u8] = match key {
            [Value::Bytes(key)] => key,
            _ => b"",
        };
        each(key, record);
    }
    Ok(changed)
}

impl Link for MysqlLink {
    fn run(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
        each: EachRow<'_>,
    ) -> Result<u64, Failure> {
        let Self { client, prepared, record, .. } = self;
        // statements whose rows have keys are scans
        let limit = if statement.has_key { LONG_LIMIT } else { ANSWER_LIMIT };
        client.timed(limit, |conn| run(conn, prepared, record, statement, params, each))
    }

    fn command(&mut self, text: &str) -> Result<(), Failure> {
        self.client.timed(LONG_LIMIT, |conn| conn.query_drop(text).map_err(|error| failure(&error)))
    }

    /// Loads many rows a statement, and the rest and rows that are too long one by one.
    fn load(
        &mut self,
        layout: &Layout,
        put: &Statement,
        rows: &[Vec<Param<'_>>],
    ) -> Result<(), Failure> {
        let bytes = |rows: &[Vec<Param<'_>>]| -> usize {
            let length =
                |param: &Param<'_>| if let Param::Bytes(bytes) = param { bytes.len() } else { 8 };
            rows.iter().flatten().map(length).sum()
        };
        for rows in rows.chunks(LOAD_ROWS) {
            if rows.len() < LOAD_ROWS || bytes(rows) > LOAD_BYTES {
                rows.iter().try_for_each(|row| self.run(put, row, &mut |_, _| ()).map(drop))?;
                continue;
            }
            let text = DIALECT.insert(layout, LOAD_ROWS);
            let ready = match self.loading.get(&text) {
                Some(ready) => ready,
                None => {
                    let prepare =
                        |conn: &mut Conn| conn.prep(&text).map_err(|error| failure(&error));
                    let ready = self.client.timed(ANSWER_LIMIT, prepare)?;
                    self.loading.entry(text).or_insert(ready)
                }
            };
            let values: Vec<Value> = rows.iter().flatten().map(value).collect();
            let load =
                |conn: &mut Conn| conn.exec_drop(ready, values).map_err(|error| failure(&error));
            self.client.timed(ANSWER_LIMIT, load)?;
        }
        Ok(())
    }
}
