//! Record in the results of the advice across places: the protection of each place, and its
//! measured cost.

use serde::{Deserialize, Serialize};

use crate::study::plan::Plan;
use crate::words::places::Protection;
use crate::words::verdict::Verdict;

/// Word among the modes of a field policy for the mode in which its cipher authenticates.
pub(crate) const OWN_MODE: &str = "aead";

/// Place where a store runs and what can be encrypted in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// True if the store is in the process of its client, so that there is neither a network nor a
    /// server.
    #[serde(default)]
    pub within_process: bool,
    /// The layers that can be measured with it, by name; empty where that is unknown.
    #[serde(default)]
    pub layers: Vec<String>,
    /// True if the policy of the field layer seals every column, authenticated, so that it is the
    /// same place as without a policy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub policy_seals_everything: bool,
    /// Names of the modes in which the policy of the field layer has columns sealed, `OWN_MODE`
    /// for that in which the cipher authenticates; none: that one alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub field_modes: Vec<String>,
}

/// Question of a comparison: its settings at one point, where the store of that point runs.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The settings.
    pub plan: &'a Plan,
    /// Surroundings of the store.
    pub surroundings: &'a Surroundings,
}

/// Unknown surroundings.
static UNKNOWN: Surroundings = Surroundings {
    within_process: false,
    layers: Vec::new(),
    policy_seals_everything: false,
    field_modes: Vec::new(),
};

/// The question of a plan about an unknown store.
impl<'a> From<&'a Plan> for Question<'a> {
    fn from(plan: &'a Plan) -> Self {
        Self { plan, surroundings: &UNKNOWN }
    }
}

/// Places, people and costs of one group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// The requested threats.
    pub protect_from: Vec<String>,
    /// Surroundings in which the store runs.
    pub surroundings: Surroundings,
    /// Quantity that a cost refers to: `throughput`, or the `p99` at a fixed rate.
    pub quantity: String,
    /// A row for each variant that was measured, and for each place that was not.
    pub rows: Vec<CoverageRow>,
}

/// One variant, or one place that was not measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoverageRow {
    /// Layers, joined: `rest`, `field+rest`.
    pub place: String,
    /// Label of the variant; absent: not measured.
    pub variant: Option<String>,
    /// Cost over all workloads; absent: not measured, or in too few pairs.
    pub cost: Option<Cost>,
    /// From whom it protects, in the order of the table of threats.
    pub entries: Vec<CoverageEntry>,
}

/// Effect of one row on a particular person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageEntry {
    /// The threat.
    pub threat: String,
    /// Degree of protection.
    pub protection: Protection,
    /// Reason, in one sentence.
    pub reason: String,
}

/// A cost over all workloads against no encryption.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The ratio to no encryption.
    pub ratio: f64,
    /// Lower end of its 95 % confidence interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// In words.
    pub words: String,
}
