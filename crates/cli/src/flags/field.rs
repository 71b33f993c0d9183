//! The flags of the commands that seal and open columns of files.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use sealstone_csv::Delimiter;
use sealstone_fields::csv::Encoding;
use sealstone_fields::pass::OnMisfit;

use super::columns::ColumnFlags;
#[cfg(any(feature = "mysql", feature = "postgres"))]
use super::columns::ServerTls;
use super::key_access::OpeningFlags;
#[cfg(any(feature = "mysql", feature = "postgres"))]
use super::migrate::FieldMigrateFlags;
use super::names::{DelimiterName, Suggest, cipher_names_only};
#[cfg(any(feature = "mysql", feature = "postgres"))]
use super::read_back::{FieldGetFlags, FieldScanFlags, FieldStatusFlags};

const SEAL_EXAMPLES: &str = "\
Examples:
  sealstone field check people.csv --column phone=ff1:phone --column memo=aead
      how many values fit, and what can be seen of them; needs no key
  sealstone field seal people.csv --column phone=ff1:phone --column memo=aead \\
      --key people.key --out sealed.csv
      both columns sealed; all else is copied byte for byte
  sealstone field seal people.csv --policy fields.toml --table people \\
      --key people.key --out sealed.csv
      the columns that a policy names
  sealstone field open sealed.csv --key people.key --out people.csv
      and back; what was sealed how is in sealed.csv.sealed.toml

A row that does not fit ends it, and nothing is written; with --on-error report
such rows are left out, and listed by line (of Parquet files by row) in
OUT.rejects.csv, without values.
docs/guide/fields.md has all formats and what each gives away.

Exit codes: 0 done, 1 rows were left out or do not fit, 2 error";

#[derive(Debug, Subcommand)]
pub(crate) enum FieldCommand {
    /// Seal columns of a CSV or Parquet file
    #[command(after_help = SEAL_EXAMPLES, mut_arg("columns",
        |arg| arg.required_unless_present("policy")))]
    Seal(FieldSealFlags),
    /// Open the columns of a sealed file
    Open(FieldOpenFlags),
    /// Count the rows that fit, and show what sealing would leave to be seen; needs no key
    #[command(mut_arg("columns", |arg| arg.required_unless_present("policy")))]
    Check(FieldCheckFlags),
    /// Seal a sealed file again, under the newest version of its key
    Reseal(FieldResealFlags),
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    /// Seal columns of a table of MySQL, MariaDB or PostgreSQL in place, while it is in use
    #[command(after_help = super::migrate::EXAMPLES)]
    #[command(mut_arg("columns", |arg| arg.required_unless_present_any(["policy", "open", "reseal",
        "forget"])))]
    Migrate(FieldMigrateFlags),
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    /// Show the sealed columns of one row of a table in the clear
    #[command(after_help = super::read_back::GET_EXAMPLES)]
    #[command(override_usage = super::read_back::GET_USAGE)]
    Get(FieldGetFlags),
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    /// Show the sealed columns of all rows of a table in the clear
    #[command(after_help = super::read_back::SCAN_EXAMPLES)]
    Scan(FieldScanFlags),
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    /// Count the sealed, clear and older values of the tables of a database; needs no key
    #[command(after_help = super::read_back::STATUS_EXAMPLES)]
    Status(FieldStatusFlags),
}

/// Choice of the columns of a table, and of how they are treated.
#[derive(Args, Debug)]
pub(crate) struct FieldColumns {
    #[command(flatten)]
    pub(crate) flags: ColumnFlags,
    /// The table, which values are bound to [default: the policy's only one, or the file's name]
    #[arg(long, value_name = "NAME", help_heading = "Columns")]
    pub(crate) table: Option<String>,
}

/// Format in which a CSV file is written.
#[derive(Args, Debug)]
#[command(next_help_heading = "CSV")]
pub(crate) struct FieldLayout {
    /// Separator of the fields: comma, semicolon, tab, pipe [default: what its first lines show]
    #[arg(long, value_name = "NAME", value_parser = DelimiterName)]
    pub(crate) delimiter: Option<Delimiter>,
    /// UTF-8 or CP949 [default: what its first lines show]
    #[arg(long, value_name = "NAME", value_parser = Encoding::by_name)]
    pub(crate) encoding: Option<Encoding>,
}

/// Device that computes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Computing")]
pub(crate) struct FieldDevice {
    /// Compute ff1 on this device where many values come together, else on the CPU: cuda:0,
    /// opencl:0
    #[cfg(feature = "gpu")]
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Option<String>,
}

/// Output that is written, and messages shown during the work.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct FieldOutput {
    /// The file to write; it appears when it is whole
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: PathBuf,
    /// At a row that does not fit: end with nothing written, or leave it out and report it
    #[arg(long, value_enum, default_value_t = OnErrorName::Fail)]
    pub(crate) on_error: OnErrorName,
    /// Replace an existing file without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// No progress, only the answer
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) device: FieldDevice,
}

#[derive(Args, Debug)]
pub(crate) struct FieldSealFlags {
    /// The CSV or Parquet file
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The key file, or kmip:... [default: the policy's]
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) opening: OpeningFlags,
    #[command(flatten)]
    pub(crate) columns: FieldColumns,
    #[command(flatten)]
    pub(crate) layout: FieldLayout,
    #[command(flatten)]
    pub(crate) output: FieldOutput,
}

#[derive(Args, Debug)]
pub(crate) struct FieldCheckFlags {
    /// The CSV or Parquet file, or the address of a database, as migrate takes it
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) columns: FieldColumns,
    #[command(flatten)]
    pub(crate) layout: FieldLayout,
    /// The key that a table is to be sealed under: its name counts for the width that columns need,
    /// and nothing of it is opened [default: the policy's, or as wide as any key needs]
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath, help_heading = "Server")]
    pub(crate) key: Option<String>,
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    #[command(flatten)]
    pub(crate) tls: ServerTls,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A sealed file, and what opens it.
#[derive(Args, Debug)]
pub(crate) struct SealedFields {
    /// The sealed file; a table is opened and sealed again by migrate
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The key file, or kmip:...
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) opening: OpeningFlags,
    /// Manifest written beside it when it was sealed [default: FILE.sealed.toml]
    #[arg(long, value_name = "MANIFEST", value_hint = ValueHint::FilePath)]
    pub(crate) manifest: Option<PathBuf>,
    /// Rows were added, removed or sorted since: open it without knowing that no ff1 value was
    /// changed
    #[arg(long)]
    pub(crate) changed: bool,
}

#[derive(Args, Debug)]
pub(crate) struct FieldOpenFlags {
    #[command(flatten)]
    pub(crate) sealed: SealedFields,
    #[command(flatten)]
    pub(crate) output: FieldOutput,
}

#[derive(Args, Debug)]
pub(crate) struct FieldResealFlags {
    #[command(flatten)]
    pub(crate) sealed: SealedFields,
    /// Another cipher [default: the one that it is sealed with]
    #[arg(long, value_name = "CIPHER", value_parser = Suggest(cipher_names_only))]
    pub(crate) cipher: Option<String>,
    #[command(flatten)]
    pub(crate) output: FieldOutput,
}

/// `OnMisfit` as the parser needs it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OnErrorName {
    /// End, with nothing written
    Fail,
    /// Leave the row out and list it
    Report,
}

impl From<OnErrorName> for OnMisfit {
    fn from(name: OnErrorName) -> Self {
        match name {
            OnErrorName::Fail => Self::Fail,
            OnErrorName::Report => Self::Report,
        }
    }
}
