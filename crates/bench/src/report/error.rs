//! Errors of reports that could not be made.

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
}
