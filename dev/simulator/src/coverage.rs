//! Counts of the seeds that met each class of fault, and the classes that a run must meet: a fault
//! that is never injected proves nothing.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::run::Side;

/// From how many seeds on a run has to meet every class.
pub const ENOUGH_SEEDS: u64 = 400;

/// Classes of fault that a run of [`ENOUGH_SEEDS`] seeds has to meet on either side.
const EXPECTED: &[&str] = &[
    "power cut",
    "kill",
    "several logs",
    "a torn log before a later one",
    "entry lost: new",
    "entry lost: removed",
    "entry lost: renamed",
    "entries reordered",
    "Log: All",
    "Log: Tail",
    "Log: Cut",
    "Log: Holes",
    "Log: ZeroTail",
    "Log: FirstUnit",
    "log ends Zeros",
    "log ends Short",
    "log ends Torn",
    "Manifest: All",
    "Manifest: Holes",
    "Table: All",
    "Table: Holes",
    "fault Io at Append",
    "fault Io at Create",
    "fault Io at Open",
    "fault Io at Read",
    "fault Io at Remove",
    "fault Io at Rename",
    "fault Io at Sync",
    "fault Io at SyncDirectory",
    "fault NoSpace at Append",
    "fault NoSpace at Create",
    "fault Short at Append",
    "fault Short at Read",
    "crash inside: write",
    "crash inside: synced write",
    "crash inside: sync of the log",
    "crash inside: flush",
    "crash inside: compaction",
    "crash inside: resealing",
    "crash inside: checkpoint",
    "crash inside: close and open",
    "crash inside: prepare",
    "crash inside: commit",
    "crash inside: recovery",
    "fault inside: recovery",
    "step: key rotation",
    "step: resealing",
    "step: checkpoint",
    "step: commit",
    "step: rollback",
    "opened: TolerateTail",
    "opened: Absolute",
    "opened: PointInTime",
    "opened: SkipAny",
    "refused, as it may: Absolute",
];

/// The same, for plain RocksDB alone: in unsynced data, the sealed side takes a lost sector for a
/// torn end, which this mode tolerates.
const EXPECTED_PLAIN: &[&str] = &["refused, as it may: TolerateTail"];

/// The same, for the sealed side alone.
const EXPECTED_SEALED: &[&str] = &[
    "attack: EmptyLog",
    "attack: CutLog",
    "attack refused",
    "headers put under a new key",
    "crash inside: new key",
];

/// Seeds that met each class.
#[derive(Debug, Default)]
pub struct Coverage {
    counts: BTreeMap<String, [u64; 2]>,
    /// Seeds that were run.
    pub seeds: u64,
}

impl Coverage {
    /// Counts a class that a seed met on one side.
    pub fn add(&mut self, class: &str, side: Side) {
        self.counts.entry(class.to_owned()).or_default()[side as usize] += 1;
    }

    fn count(&self, class: &str, side: Side) -> u64 {
        self.counts.get(class).map_or(0, |counts| counts[side as usize])
    }

    /// Classes that a run of this many seeds should have met but did not.
    pub fn missing(&self) -> Vec<String> {
        if self.seeds < ENOUGH_SEEDS {
            return Vec::new();
        }
        let both = EXPECTED.iter().flat_map(|class| Side::BOTH.map(|side| (*class, side)));
        let sealed = EXPECTED_SEALED.iter().map(|class| (*class, Side::Sealed));
        let plain = EXPECTED_PLAIN.iter().map(|class| (*class, Side::Plain));
        let missed =
            both.chain(sealed).chain(plain).filter(|(class, side)| self.count(class, *side) == 0);
        missed.map(|(class, side)| format!("{class} ({})", side.name())).collect()
    }

    /// Returns the table.
    pub fn table(&self) -> String {
        let width = self.counts.keys().map(String::len).max().unwrap_or(0);
        let mut table = format!("{:width$}  {:>6}  {:>6}\n", "seeds that met", "plain", "sealed");
        for (class, [plain, sealed]) in &self.counts {
            let _ = writeln!(table, "{class:width$}  {plain:>6}  {sealed:>6}");
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_was_never_met_is_missing() {
        let mut coverage = Coverage { seeds: ENOUGH_SEEDS, ..Coverage::default() };
        for class in EXPECTED.iter().chain(EXPECTED_SEALED).chain(EXPECTED_PLAIN) {
            for side in Side::BOTH {
                coverage.add(class, side);
            }
        }
        assert!(coverage.missing().is_empty());
        coverage.counts.remove("Log: Holes");
        assert_eq!(coverage.missing(), ["Log: Holes (plain)", "Log: Holes (sealed)"]);
        coverage.seeds = ENOUGH_SEEDS - 1;
        assert!(coverage.missing().is_empty());
    }
}
