//! The flags of the command that seals columns of a table of a database in place.

use clap::{Args, ValueEnum, ValueHint};
use sealstone_fields::pass::OnMisfit;

use super::columns::{ColumnFlags, ServerTls};
use super::key_access::OpeningFlags;
use crate::count::parse_small;

pub(super) const EXAMPLES: &str = "\
Examples:
  sealstone field check mysql://app@db.example/shop --table people \\
      --column phone=ff1:phone
      how many values fit; changes nothing
  sealstone field migrate mysql://app@db.example/shop --table people \\
      --column phone=ff1:phone --column memo=aead --key people.key
      both columns sealed in place while others use the table; the same
      command goes on after it was stopped or killed
  sealstone field migrate @address --table people --policy fields.toml \\
      --rows-per-second 5000
      the address from a file, the columns from a policy, not too fast
  sealstone field migrate postgres://app@db.example/shop --table people \\
      --reseal --key people.key
      all of it under the newest version of the key
  sealstone field migrate mysql://app@db.example/shop --table people \\
      --open --key people.key
      and back; everything that sealing added is removed

A column phone gets a column phone_sealed beside it: the version of the key that
a value is sealed under, or NULL for one in the clear. Read \"Tables in use\" in
docs/guide/fields.md first: applications must know it.

Exit codes: 0 done, 1 values stay in the clear or do not open, 2 error";

/// Pace of the requests to the server.
#[derive(Args, Debug)]
#[command(next_help_heading = "Server")]
pub(crate) struct TablePace {
    /// Rows that are read and changed at a time
    #[arg(long, value_name = "ROWS", default_value = "1000", value_parser = parse_small)]
    pub(crate) batch: usize,
    /// Rows a second at most, for a server that has other work
    #[arg(long, value_name = "ROWS", value_parser = parse_small)]
    pub(crate) rows_per_second: Option<usize>,
}

#[derive(Args, Debug)]
pub(crate) struct FieldMigrateFlags {
    /// mysql://USER:PASSWORD@HOST:PORT/DATABASE, postgres://..., or @FILE with that in the file
    #[arg(value_name = "ADDRESS")]
    pub(crate) address: String,
    /// The key file, or kmip:... [default: the policy's]
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) opening: OpeningFlags,
    /// Open what is sealed, and remove all that sealing added
    #[arg(long)]
    pub(crate) open: bool,
    /// Bring what is sealed to the newest version of the key
    #[arg(long, conflicts_with = "open")]
    pub(crate) reseal: bool,
    /// Remove the record of a table that was dropped, or dropped and recreated with values in the
    /// clear
    #[arg(long, conflicts_with_all = ["open", "reseal"])]
    pub(crate) forget: bool,
    #[command(flatten)]
    pub(crate) columns: ColumnFlags,
    /// The table, which is also that of the policy; on PostgreSQL the name of its schema may stand
    /// before it
    #[arg(long, value_name = "NAME", help_heading = "Columns")]
    pub(crate) table: String,
    #[command(flatten)]
    pub(crate) pace: TablePace,
    #[command(flatten)]
    pub(crate) tls: ServerTls,
    /// At a value that does not fit: end, or leave it as it is and report it
    #[arg(long, value_enum, default_value_t = OnMisfitName::Fail, help_heading = "Output")]
    pub(crate) on_error: OnMisfitName,
    /// Begin without asking
    #[arg(long, help_heading = "Output")]
    pub(crate) yes: bool,
    /// No progress, only the answer
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// `OnMisfit` as the parser needs it, for values of a table.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OnMisfitName {
    /// End; with nothing changed, if it was there from the beginning
    Fail,
    /// Leave the value as it is and list it
    Report,
}

impl From<OnMisfitName> for OnMisfit {
    fn from(name: OnMisfitName) -> Self {
        match name {
            OnMisfitName::Fail => Self::Fail,
            OnMisfitName::Report => Self::Report,
        }
    }
}
