//! The flags of `sealstone audit`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use sealstone_audit::facts::ROTATE_AFTER_DAYS;

use super::language::LanguageName;
use super::places::{PlacesFlags, TablesFlags};

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

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AuditFlags {
    #[command(flatten)]
    pub(crate) places: PlacesFlags,
    /// Days between rotations of a key
    #[arg(long, hide_short_help = true, value_name = "DAYS", default_value_t = ROTATE_AFTER_DAYS,
        value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub(crate) rotate_after: u32,
    /// Check with these keys that all of it is whole
    #[arg(long, requires = "key")]
    pub(crate) verify: bool,
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
    /// Print the JSON, too
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) tables: TablesFlags,
}
