//! The flags for the sealed columns and their methods, and for reaching a server that holds them.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use super::names::{Suggest, cipher_names_only};

/// Choice of columns, and of how they are treated.
#[derive(Args, Debug)]
#[command(next_help_heading = "Columns")]
pub(crate) struct ColumnFlags {
    /// A column and its method, such as phone=ff1:phone or memo=aead; may be repeated
    #[arg(long = "column", value_name = "COLUMN=METHOD")]
    pub(crate) columns: Vec<String>,
    /// Take the columns of a table of this TOML file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "columns")]
    pub(crate) policy: Option<PathBuf>,
    /// Binding of values: none, column, or row:COLUMN; may be repeated [default: column]
    #[arg(long = "tweak", value_name = "COLUMN=TWEAK", conflicts_with = "policy")]
    pub(crate) tweaks: Vec<String>,
    /// Add a column COLUMN_index to find equal values by, of so many bits [default: 32]
    #[arg(long = "index", value_name = "COLUMN[=BITS]", conflicts_with = "policy")]
    pub(crate) indexes: Vec<String>,
    /// Leave empty values of this column empty, which shows that they are
    #[arg(long = "keep-empty", value_name = "COLUMN", conflicts_with = "policy")]
    pub(crate) keep_empty: Vec<String>,
    /// Allow a format of fewer than a million values in this column, which can all be tried
    #[arg(long = "small-domain", value_name = "COLUMN", conflicts_with = "policy")]
    pub(crate) small_domain: Vec<String>,
    /// The cipher [default: the policy's, or the key's if a key server knows it; else aes-256]
    #[arg(long, value_name = "CIPHER", value_parser = Suggest(cipher_names_only))]
    pub(crate) cipher: Option<String>,
    /// Refuse a column whose cipher or mode is not on this list: fips, kcmvp; of algorithms, since
    /// Sealstone is not a validated module
    #[arg(long, value_enum, value_name = "LIST", hide_possible_values = true)]
    pub(crate) approved: Option<ApprovedName>,
}

/// A list of approved algorithms.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ApprovedName {
    /// FIPS 140.
    Fips,
    /// The Korean validation list.
    Kcmvp,
}

/// Settings for reaching a server of the user's own.
#[cfg(any(feature = "mysql", feature = "postgres"))]
#[derive(Args, Debug)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerTls {
    /// Authorities that the server's certificate is checked with
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tls_ca_file: Option<PathBuf>,
    /// Certificate and key to show to the server
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) tls_certificate_key_file: Option<PathBuf>,
}
