//! Errors of reports that could not be made.

#[cfg(feature = "png")]
use sealstone_message::SettingName;

/// Error of a report that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// There are no results.
    #[error("no results to report on\nname the results.json of at least one comparison")]
    Empty,
    /// A result set contradicts itself.
    #[error(
        "results of {run} are damaged: {what}\nuse the results.json as sealstone compare wrote it"
    )]
    Damaged {
        /// Name of the run.
        run: String,
        /// Description of the error.
        what: String,
    },
    /// The page could not be put together.
    #[error("cannot put the report together: {0}\nthis is a fault of Sealstone, please report it")]
    Template(#[from] minijinja::Error),
    /// There is no font to draw text with.
    #[cfg(feature = "png")]
    #[error(
        "cannot draw text: no font is on this machine\ninstall one, such as fonts-dejavu-core, or \
         take {}, which needs none",
        SettingName("svg")
    )]
    NoFont,
    /// No font has letters of the language.
    #[cfg(feature = "png")]
    #[error(
        "cannot draw text: no font on this machine has Korean letters\ninstall one, such as \
         fonts-noto-cjk, or take {}, which needs none",
        SettingName("svg")
    )]
    NoLetters,
    /// A drawing could not be turned into pixels.
    #[cfg(feature = "png")]
    #[error(
        "cannot draw the chart {name}: {found}\ntake {}, and please report this fault",
        SettingName("svg")
    )]
    Pixels {
        /// Name of the picture.
        name: String,
        /// Description of the error.
        found: String,
    },
    /// The page could not be put into words.
    #[error("cannot put the report together: {0}\nthis is a fault of Sealstone, please report it")]
    Page(#[from] serde_json::Error),
}
