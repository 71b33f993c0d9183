//! Statements for each operation, for every table.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sealstone_store::Kind;

use super::columns::{KEY, Layout};
use super::function::SqlFunction;

/// Differences of the SQL of a server.
#[derive(Debug)]
pub struct Dialect {
    /// Character that encloses a name.
    pub quote: char,
    /// Value number `n` of a statement, from 1.
    pub placeholder: fn(usize) -> String,
    /// The column of the key, behind its name.
    pub key_type: &'static str,
    /// The type of a column.
    pub column_type: fn(Kind) -> &'static str,
    /// Text that follows the columns of a new table.
    pub table_options: &'static str,
    /// Clause that makes an insert replace an existing record, given the quoted columns of key and
    /// values.
    pub replace: fn(&str, &[String]) -> String,
    /// The command that begins a transaction.
    pub begin: &'static str,
    /// The same for loading, which need not wait for the disk.
    pub begin_loading: &'static [&'static str],
    /// The same for loading that is on the disk at its end.
    pub begin_bulk: &'static [&'static str],
    /// Functions that the server has to encrypt or digest values.
    pub functions: &'static [&'static SqlFunction],
}

impl Dialect {
    /// Returns `name` as a statement has it.
    #[must_use]
    pub fn quoted(&self, name: &str) -> String {
        let quote = self.quote;
        format!("{quote}{}{quote}", name.replace(quote, &format!("{quote}{quote}")))
    }

    /// Writes `rows` whole records into the table of `layout`, new or not: for each the key and the
    /// values.
    #[must_use]
    pub fn insert(&self, layout: &Layout, rows: usize) -> String {
        let columns: Vec<String> = layout.columns.iter().map(|name| self.quoted(name)).collect();
        let (key, width) = (self.quoted(KEY), columns.len() + 1);
        let value = |at: usize| match layout.function.filter(|_| !at.is_multiple_of(width)) {
            Some(function) => (function.seal)(&(self.placeholder)(at + 1)),
            None => (self.placeholder)(at + 1),
        };
        let row = |row: usize| {
            format!(
                "({})",
                (row * width..(row + 1) * width).map(value).collect::<Vec<_>>().join(", ")
            )
        };
        format!(
            "INSERT INTO {} ({key}, {}) VALUES {} {}",
            self.quoted(&layout.name),
            columns.join(", "),
            (0..rows).map(row).collect::<Vec<_>>().join(", "),
            (self.replace)(&key, &columns)
        )
    }
}

/// A statement that connections prepare.
#[derive(Debug)]
pub struct Statement {
    /// A number that no other has.
    pub id: usize,
    /// Its text.
    pub text: String,
    /// True if the first column of the statement's rows is the key.
    pub has_key: bool,
}

impl Statement {
    pub(super) fn new(text: String) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), text, has_key: false }
    }

    fn with_key(text: String) -> Self {
        Self { has_key: true, ..Self::new(text) }
    }
}

/// Statements by whether they write, and the fields.
type ByFields = HashMap<(bool, Vec<usize>), Arc<Statement>>;

/// The statements for one table.
#[derive(Debug)]
pub(super) struct Statements {
    dialect: &'static Dialect,
    /// Its name, quoted.
    table: String,
    /// Its columns of fields, quoted.
    columns: Vec<String>,
    key: String,
    function: Option<&'static SqlFunction>,
    /// Makes the table, where it is not there.
    pub(super) create: String,
    /// Finds any row.
    pub(super) any: Statement,
    pub(super) read: Statement,
    pub(super) read_for_update: Statement,
    pub(super) exists: Statement,
    /// Rows from a key on, and rows after a key.
    pub(super) scan: Statement,
    pub(super) scan_after: Statement,
    /// Writes a whole record, new or not.
    pub(super) put: Statement,
    pub(super) delete: Statement,
    /// Statements for some fields, by fields: reads and updates.
    some: Mutex<ByFields>,
    /// The same for one field, the case of most workloads.
    one: Vec<[Arc<Statement>; 2]>,
}

impl Statements {
    pub(super) fn new(layout: &Layout, dialect: &'static Dialect) -> Self {
        let table = dialect.quoted(&layout.name);
        let key = dialect.quoted(KEY);
        let columns: Vec<String> = layout.columns.iter().map(|name| dialect.quoted(name)).collect();
        let value = dialect.placeholder;
        let opened = |name: &String| {
            layout.function.map_or_else(|| name.clone(), |function| (function.open)(name))
        };
        let all = columns.iter().map(opened).collect::<Vec<_>>().join(", ");
        let types: String = columns
            .iter()
            .enumerate()
            .map(|(at, name)| format!(", {name} {}", (dialect.column_type)(layout.kind(at))))
            .collect();
        let read = format!("SELECT {all} FROM {table} WHERE {key} = {}", value(1));
        let scan = |than: &str| {
            Statement::with_key(format!(
                "SELECT {key}, {all} FROM {table} WHERE {key} {than} {} ORDER BY {key} LIMIT {}",
                value(1),
                value(2)
            ))
        };
        let mut made = Self {
            dialect,
            create: format!(
                "CREATE TABLE IF NOT EXISTS {table} ({key} {} PRIMARY KEY{types}){}",
                dialect.key_type, dialect.table_options
            ),
            any: Statement::new(format!("SELECT 1 FROM {table} LIMIT 1")),
            read_for_update: Statement::new(format!("{read} FOR UPDATE")),
            read: Statement::new(read),
            exists: Statement::new(format!("SELECT 1 FROM {table} WHERE {key} = {}", value(1))),
            scan: scan(">="),
            scan_after: scan(">"),
            put: Statement::new(dialect.insert(layout, 1)),
            delete: Statement::new(format!("DELETE FROM {table} WHERE {key} = {}", value(1))),
            some: Mutex::default(),
            one: Vec::new(),
            table,
            columns,
            key,
            function: layout.function,
        };
        made.one = (0..made.columns.len())
            .map(|field| {
                [Arc::new(made.select_some(&[field])), Arc::new(made.update_some(&[field]))]
            })
            .collect();
        made
    }

    /// Reads `fields`, at least one, in that order.
    pub(super) fn read_some(&self, fields: &[usize]) -> Arc<Statement> {
        match fields {
            [field] => Arc::clone(&self.one[*field][0]),
            _ => self.kept(false, fields, || self.select_some(fields)),
        }
    }

    /// Replaces `fields`, at least one and each once; the key is the last value.
    pub(super) fn update(&self, fields: &[usize]) -> Arc<Statement> {
        match fields {
            [field] => Arc::clone(&self.one[*field][1]),
            _ => self.kept(true, fields, || self.update_some(fields)),
        }
    }

    /// Removes all rows, or the table with them.
    pub(super) fn empty(&self) -> String {
        format!("DELETE FROM {}", self.table)
    }

    pub(super) fn drop_table(&self) -> String {
        format!("DROP TABLE IF EXISTS {}", self.table)
    }

    fn kept(
        &self,
        writes: bool,
        fields: &[usize],
        make: impl FnOnce() -> Statement,
    ) -> Arc<Statement> {
        let mut some = self.some.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(some.entry((writes, fields.to_vec())).or_insert_with(|| Arc::new(make())))
    }

    fn select_some(&self, fields: &[usize]) -> Statement {
        let opened = |name: &String| {
            self.function.map_or_else(|| name.clone(), |function| (function.open)(name))
        };
        let columns: Vec<String> =
            fields.iter().map(|field| opened(&self.columns[*field])).collect();
        let (table, key, value) = (&self.table, &self.key, (self.dialect.placeholder)(1));
        Statement::new(format!("SELECT {} FROM {table} WHERE {key} = {value}", columns.join(", ")))
    }

    fn update_some(&self, fields: &[usize]) -> Statement {
        let value = self.dialect.placeholder;
        let sealed = |value: String| {
            self.function.map_or_else(|| value.clone(), |function| (function.seal)(&value))
        };
        let set = |(at, field): (usize, &usize)| {
            format!("{} = {}", self.columns[*field], sealed(value(at + 1)))
        };
        let sets: Vec<String> = fields.iter().enumerate().map(set).collect();
        let (table, key, last) = (&self.table, &self.key, value(fields.len() + 1));
        Statement::new(format!("UPDATE {table} SET {} WHERE {key} = {last}", sets.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use sealstone_store::{Field, Table};

    use super::*;

    static PLAIN: Dialect = Dialect {
        quote: '"',
        placeholder: |n| format!("${n}"),
        key_type: "text",
        column_type: |_| "text",
        table_options: "",
        replace: |_, _| "OR REPLACE".into(),
        begin: "BEGIN",
        begin_loading: &["BEGIN"],
        begin_bulk: &["BEGIN"],
        functions: &[],
    };

    #[test]
    fn statements_are_about_the_columns_asked_for() {
        let field = |name: &str| Field { name: name.into(), kind: Kind::Text };
        let fields = vec![field("field0"), field("o\"dd"), field("field2")];
        let layout = Layout::new(&Arc::new(Table { id: 1, name: "t".into(), fields }));
        let statements = Statements::new(&layout, &PLAIN);
        assert_eq!(
            statements.create,
            "CREATE TABLE IF NOT EXISTS \"t\" (\"ycsb_key\" text PRIMARY KEY, \"field0\" text, \
             \"o\"\"dd\" text, \"field2\" text)"
        );
        assert_eq!(
            statements.update(&[1]).text,
            "UPDATE \"t\" SET \"o\"\"dd\" = $1 WHERE \"ycsb_key\" = $2"
        );
        assert_eq!(
            statements.read_some(&[2, 0]).text,
            "SELECT \"field2\", \"field0\" FROM \"t\" WHERE \"ycsb_key\" = $1"
        );
        assert_eq!(
            statements.read_some(&[2, 0]).id,
            statements.read_some(&[2, 0]).id,
            "it is prepared once"
        );
        assert_ne!(statements.read_some(&[0]).id, statements.update(&[0]).id);
        assert!(
            statements
                .scan_after
                .text
                .ends_with("WHERE \"ycsb_key\" > $1 ORDER BY \"ycsb_key\" LIMIT $2")
        );
    }

    #[test]
    fn values_go_through_a_function_and_the_key_of_a_record_does_not() {
        static FUNCTION: SqlFunction = SqlFunction {
            function: sealstone_store::ServerFunction {
                name: "hide",
                about: "",
                is_one_way: false,
            },
            seal: |value| format!("hide({value})"),
            open: |column| format!("show({column})"),
            install: None,
            unlock: None,
        };
        let fields =
            ["a", "b"].map(|name| Field { name: name.into(), kind: Kind::Integer }).to_vec();
        let layout = Layout::new(&Arc::new(Table { id: 1, name: "t".into(), fields }))
            .through(Some(&FUNCTION));
        assert_eq!((layout.kind(0), layout.value(0, b"007").is_ok()), (Kind::Bytes, true));
        let statements = Statements::new(&layout, &PLAIN);
        assert_eq!(
            PLAIN.insert(&layout, 2),
            "INSERT INTO \"t\" (\"ycsb_key\", \"a\", \"b\") VALUES ($1, hide($2), hide($3)), \
             ($4, hide($5), hide($6)) OR REPLACE"
        );
        assert_eq!(
            statements.read.text,
            "SELECT show(\"a\"), show(\"b\") FROM \"t\" WHERE \"ycsb_key\" = $1"
        );
        assert_eq!(
            statements.update(&[1]).text,
            "UPDATE \"t\" SET \"b\" = hide($1) WHERE \"ycsb_key\" = $2"
        );
        assert_eq!(
            statements.read_some(&[1]).text,
            "SELECT show(\"b\") FROM \"t\" WHERE \"ycsb_key\" = $1"
        );
        assert!(
            statements
                .scan
                .text
                .starts_with("SELECT \"ycsb_key\", show(\"a\"), show(\"b\") FROM \"t\" ")
        );
    }
}
