//! The JSON of an audit: facts and conclusions in one.

use serde::Serialize;

use crate::facts::Audit;
use crate::verdict::Verdict;

/// An audit with its conclusions.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The facts.
    #[serde(flatten)]
    pub audit: Audit,
    /// The conclusions.
    pub verdict: Verdict,
}
