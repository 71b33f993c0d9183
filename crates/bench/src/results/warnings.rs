//! Warnings of a run that other parts of the program recognise. Not here: warnings that are only
//! printed (`compare::summary`).

use sealstone_store::EngineFacts;

/// The warning of a run that was ended early.
pub(crate) const ENDED_EARLY: &str =
    "the run was ended early: what is shown is whole, but rests on fewer slices than planned";

/// Returns the warning about `engine`, which was built with assertions.
pub(crate) fn assertions(engine: &EngineFacts) -> String {
    format!(
        "{} ({}) was built with assertions on: its baseline is slower than necessary, and \
         overheads are understated",
        engine.name_and_version(),
        engine.build
    )
}
