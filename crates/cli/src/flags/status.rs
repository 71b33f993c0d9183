//! The flags of `sealstone status`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::places::{PlacesFlags, TablesFlags};

const EXAMPLES: &str = "\
Examples:
  sealstone status /data/orders /var/lib/mongodb --key orders.key
      what is sealed there and how old its key is, in a short table
  sealstone status /data/orders --key orders.key --prometheus \\
      --out /var/lib/prometheus/node-exporter/sealstone.prom
      the same as metrics, for the textfile collector of node_exporter

A place that cannot be looked at is one line of the answer, and the others are
looked at all the same.

Exit code 1 if something is in the clear, damaged or unread.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct StatusFlags {
    #[command(flatten)]
    pub(crate) places: PlacesFlags,
    /// Check with these keys that all of it is whole, which reads all of it
    #[arg(long, requires = "key")]
    pub(crate) verify: bool,
    /// Print metrics in the text format of Prometheus
    #[arg(long, conflicts_with = "json")]
    pub(crate) prometheus: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write to this file, which appears when it is whole and which everybody may read
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tables: TablesFlags,
}
