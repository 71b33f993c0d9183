//! The flags of the commands that read rows of a table with sealed columns, and its state.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::columns::ServerTls;
use super::key_access::OpeningFlags;
use super::language::LanguageName;
use crate::count::parse_small;

/// The usage, which would be longer than a line.
pub(super) const GET_USAGE: &str =
    "sealstone field get [OPTIONS] --table NAME --key KEY ADDRESS ROW...";

pub(super) const GET_EXAMPLES: &str = "\
Examples:
  sealstone field get mysql://app@db.example/shop --table people \\
      --key people.key 4711
      the sealed columns of the row with this primary key, in the clear, as CSV
  sealstone field get @address --table orders --key people.key 17 2
      where the key has two columns: one value for each

NULL is a field without anything, an empty text is \"\".

Exit codes: 0 done, 1 no such row, 2 error, or a value does not open";

pub(super) const SCAN_EXAMPLES: &str = "\
Examples:
  sealstone field scan mysql://app@db.example/shop --table people \\
      --key people.key --limit 10
      the first rows in the order of their primary key, in the clear, as CSV
  sealstone field scan @address --table people --key people.key --out people.csv
      all of them into a file that only its owner can read

A row with a value that does not open is left out, and named on stderr with the
column and the reason. NULL is a field without anything, an empty text is \"\".

Exit codes: 0 done, 2 error, or values do not open";

pub(super) const STATUS_EXAMPLES: &str = "\
Examples:
  sealstone field status mysql://app@db.example/shop
      every sealed table of the database: sealed, clear and older values
  sealstone field status @address --table people --key people.key \\
      --html people.html
      one table, with the holders and the age of its key, also as a page

Exit code 1 if a value is in the clear, or was written over.";

/// A table with sealed columns, and what opens it.
#[derive(Args, Debug)]
pub(crate) struct SealedTable {
    /// mysql://USER:PASSWORD@HOST:PORT/DATABASE, postgres://..., or @FILE with that in the file
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: String,
    /// The table; on PostgreSQL the name of its schema may stand before it
    #[arg(long, value_name = "NAME")]
    pub(crate) table: String,
    /// The key file, or kmip:...
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) opening: OpeningFlags,
    /// Write to this file, which appears when it is whole and which only its owner can read
    #[arg(long, short, value_name = "FILE", help_heading = "Output",
        value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// Replace an existing file without asking
    #[arg(long, help_heading = "Output", requires = "out")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) tls: ServerTls,
}

#[derive(Args, Debug)]
pub(crate) struct FieldGetFlags {
    #[command(flatten)]
    pub(crate) table: SealedTable,
    /// The primary key of the row: a value for each column of it
    #[arg(required = true, value_name = "ROW", allow_negative_numbers = true,
        help_heading = Option::<&'static str>::None)]
    pub(crate) values: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct FieldScanFlags {
    #[command(flatten)]
    pub(crate) table: SealedTable,
    /// Rows at most
    #[arg(long, value_name = "ROWS")]
    pub(crate) limit: Option<u64>,
    /// Rows that are read at a time
    #[arg(long, value_name = "ROWS", default_value = "1000", help_heading = "Server",
        value_parser = parse_small)]
    pub(crate) batch: usize,
}

#[derive(Args, Debug)]
pub(crate) struct FieldStatusFlags {
    /// mysql://USER:PASSWORD@HOST:PORT/DATABASE, postgres://..., or @FILE with that in the file
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: String,
    /// Only this table [default: every sealed table of the database]
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,
    /// Keys that tables are under, for their holders and ages: files, kmip:...
    #[arg(long, value_name = "KEY", num_args = 1.., value_hint = ValueHint::FilePath)]
    pub(crate) key: Vec<String>,
    #[command(flatten)]
    pub(crate) opening: OpeningFlags,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write a page with the date to this file, too
    #[arg(long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    /// Language of the page
    #[arg(
        long,
        value_enum,
        value_name = "LANGUAGE",
        default_value = "en",
        requires = "html",
        help_heading = "Output"
    )]
    pub(crate) lang: LanguageName,
    #[command(flatten)]
    pub(crate) tls: ServerTls,
}
