//! The flags of `sealstone audit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use sealstone_audit::Language;

#[cfg(any(feature = "mysql", feature = "postgres"))]
use super::columns::ServerTls;
use super::opening::OpeningFlags;
#[cfg(feature = "volume")]
use super::volume::VolumeRuntime;

const EXAMPLES: &str = "\
Examples:
  sealstone audit /data/orders /var/lib/mongodb --key orders.key
      what is sealed there, with what, under which key, and how old that is
  sealstone audit /data/orders --key orders.key --verify
      every page and frame is checked, too
  sealstone audit /data/orders --leak-markers markers.txt --search /var/log/shop
      looks for the lines of markers.txt in the data and there
  sealstone audit /data/orders --lang ko
      the page in Korean

Exit code 1 if something is in the clear, damaged or unread.";

/// Language of the page.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum LanguageName {
    /// English
    #[default]
    En,
    /// Korean
    Ko,
}

impl From<LanguageName> for Language {
    fn from(name: LanguageName) -> Self {
        match name {
            LanguageName::En => Self::English,
            LanguageName::Ko => Self::Korean,
        }
    }
}

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AuditFlags {
    /// Stores, data directories of servers, sealed volumes, files with sealed columns or
    /// directories of such
    #[arg(value_name = "PLACE", value_hint = ValueHint::AnyPath)]
    #[cfg_attr(
        any(feature = "mysql", feature = "postgres"),
        arg(required_unless_present = "table")
    )]
    #[cfg_attr(not(any(feature = "mysql", feature = "postgres")), arg(required = true))]
    pub(crate) places: Vec<PathBuf>,
    /// Keys that things are under: files, kmip:...
    #[arg(long, value_name = "KEY", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) key: Vec<String>,
    /// Days between rotations of a key
    #[arg(long, hide_short_help = true, value_name = "DAYS", default_value_t = 365,
        value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub(crate) rotate_after: u32,
    /// Check with these keys that all of it is whole
    #[arg(long, requires = "key")]
    pub(crate) verify: bool,
    /// The JSON of an earlier audit: what it checked is shown where nothing is checked now
    #[arg(long, hide_short_help = true, value_name = "JSON", value_hint = ValueHint::FilePath)]
    pub(crate) previous: Option<PathBuf>,
    /// File of texts, one a line, to be nowhere
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) leak_markers: Option<PathBuf>,
    /// Policy of sealed columns: values of their formats that can be told from other text are
    /// looked for (card, rrn, phone, email)
    #[arg(long, hide_short_help = true, value_name = "POLICY", value_hint = ValueHint::FilePath)]
    pub(crate) leak_policy: Option<PathBuf>,
    /// More places to search: logs, core dumps
    #[arg(long, value_name = "PATH", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) search: Vec<PathBuf>,
    /// Directory for the page and its JSON [default: sealstone-audit]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Language of the page
    #[arg(long, value_enum, value_name = "LANGUAGE", default_value = "en")]
    pub(crate) lang: LanguageName,
    /// Title of the page
    #[arg(long, hide_short_help = true, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    #[cfg(feature = "volume")]
    #[command(flatten)]
    pub(crate) runtime: VolumeRuntime,
    #[command(flatten)]
    pub(crate) opening: OpeningFlags,
    /// Print the JSON, too
    #[arg(long)]
    pub(crate) json: bool,
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    /// Tables with sealed columns: the address of the database (or @FILE) and the name of the table
    #[arg(long, help_heading = "Tables", value_name = "ADDRESS#TABLE", num_args = 1..)]
    pub(crate) table: Vec<String>,
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    #[command(flatten)]
    pub(crate) tls: ServerTls,
}
