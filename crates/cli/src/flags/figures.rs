//! The flags of `report` that say what is drawn of the results.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::language::LanguageName;

#[derive(Args, Debug)]
pub(crate) struct DrawnFlags {
    /// One sheet of A4 for decision makers, in place of the report [default: summary.html]
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub(crate) summary: bool,
    /// Each chart as an SVG file in DIR, and no page
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(conflicts_with_all = ["json", "markdown", "summary", "out"])]
    pub(crate) svg: Option<PathBuf>,
    /// Each chart as a PNG file in DIR, and no page
    #[cfg(feature = "png")]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(conflicts_with_all = ["json", "markdown", "summary", "out", "findings"])]
    pub(crate) png: Option<PathBuf>,
    /// Language of page and charts
    #[arg(long, value_enum, value_name = "LANGUAGE", default_value = "en")]
    #[arg(conflicts_with_all = ["json", "markdown"])]
    pub(crate) lang: LanguageName,
}
