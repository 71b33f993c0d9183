//! The flags of the commands that look at places of any kind, and at the keys these are under.

use std::path::PathBuf;

use clap::{Args, ValueHint};

#[cfg(any(feature = "mysql", feature = "postgres"))]
use super::columns::ServerTls;
use super::key_access::OpeningFlags;
#[cfg(feature = "volume")]
use super::volume::VolumeRuntime;

/// Places to look at, and the keys.
#[derive(Args, Debug)]
pub(crate) struct PlacesFlags {
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
    /// The JSON of an earlier audit, or the directory with the directories of several: what the
    /// newest checked is shown where nothing is checked now
    #[arg(long, hide_short_help = true, value_name = "JSON|DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) previous: Option<PathBuf>,
    #[cfg(feature = "volume")]
    #[command(flatten)]
    pub(crate) runtime: VolumeRuntime,
    #[command(flatten)]
    pub(crate) opening: OpeningFlags,
}

/// Tables among the places. Last of a command's flags, whose headings would go on otherwise.
#[derive(Args, Debug)]
pub(crate) struct TablesFlags {
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    /// Tables with sealed columns: the address of the database (or @FILE) and the name of the table
    #[arg(long, help_heading = "Tables", value_name = "ADDRESS#TABLE", num_args = 1..)]
    pub(crate) table: Vec<String>,
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    #[command(flatten)]
    pub(crate) tls: ServerTls,
}
