//! Warnings of a run that other parts of the program recognise. Not here: warnings that are only
//! printed (`compare::summary`).

use sealstone_store::EngineFacts;

/// The warning of a run that was ended early.
pub(crate) const ENDED_EARLY: &str =
    "the run was ended early: what is shown is whole, but rests on fewer slices than planned";

/// The size of the bias, as it was measured once: results/main-job.md, "With and without
/// assertions".
const BIAS_OF_ROCKSDB: &str = ": where it was measured, AES-256 took 11.4 % more CPU time with \
                               assertions (RocksDB 7.8.3) and 13.7 % more without (11.8.1)";

/// Returns the warning about `engine`, which was built with assertions. The size of the bias is
/// stated where it is known.
pub(crate) fn assertions(engine: &EngineFacts) -> String {
    let size = if engine.name == "rocksdb" { BIAS_OF_ROCKSDB } else { "" };
    assertions_of(engine) + size
}

/// Returns true if `warning` is the one about `engine`'s assertions; results before 0.1 have it
/// without its size, and that of one of several clients begins with its number.
pub(crate) fn is_about_assertions(warning: &str, engine: &EngineFacts) -> bool {
    warning.ends_with(&assertions(engine)) || warning.ends_with(&assertions_of(engine))
}

fn assertions_of(engine: &EngineFacts) -> String {
    format!(
        "{} ({}) was built with assertions on: its baseline is slower than necessary, and \
         overheads are understated",
        engine.name_and_version(),
        engine.build
    )
}
