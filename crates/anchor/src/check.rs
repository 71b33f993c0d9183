//! The check of a store against its anchor, for reports.

use serde::Serialize;

use super::Mark;

/// Comparison of how new a store is with what an anchor remembered: generation and changes of its
/// catalogue, or of a volume's root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnchorCheck {
    /// Location of the anchor.
    pub anchor: String,
    /// State that it remembered; absent: nothing yet.
    pub remembered: Option<String>,
    /// State that was found, which it remembers from now on if the store is whole; absent: the
    /// store has no catalogue.
    pub found: Option<String>,
}

impl AnchorCheck {
    /// Returns the comparison of two marks, at the anchor that describes itself as `anchor`.
    #[must_use]
    pub fn new(anchor: String, remembered: Option<&Mark>, found: Option<&Mark>) -> Self {
        Self { anchor, remembered: remembered.map(Mark::age), found: found.map(Mark::age) }
    }

    /// Describes the outcome in a sentence.
    ///
    /// - `is_whole`: the rest of the check found nothing, so that the state was recorded
    #[must_use]
    pub fn text(&self, is_whole: bool) -> String {
        let Self { anchor, remembered, found } = self;
        match (remembered, found) {
            (_, None) => format!(
                "the store has no catalogue, so the anchor {anchor} remembers nothing about it"
            ),
            (Some(remembered), Some(found)) if is_whole && remembered != found => format!(
                "newer than the anchor {anchor} remembered: {found}, not {remembered}; it now \
                 remembers that"
            ),
            (None, Some(found)) if is_whole => {
                format!("the anchor {anchor} remembers this state from now on: {found}")
            }
            (Some(remembered), Some(found)) => {
                format!("as new as the anchor {anchor} remembers: {found}, it {remembered}")
            }
            (None, Some(_)) => format!(
                "the anchor {anchor} remembers nothing yet, and does not record a damaged store"
            ),
        }
    }
}
