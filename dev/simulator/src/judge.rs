//! The possible outcomes of a crash: the model of the database, and the states that each recovery
//! mode allows. Written from RocksDB's documentation of the modes and from the disk's account of
//! the logs, never from the code under test.
//!
//! A *unit* is one write that takes effect as a whole: a batch, a prepare, a commit, a rollback.
//! The state that a database recovers must be one of these:
//!
//! - *Kill.* Every unit that was acknowledged, and perhaps the unit being written.
//! - *Power cut, any mode.* Every unit that was acknowledged as synced, and every unit of a family
//!   before its acknowledged flush.
//! - *PointInTime, Absolute.* A prefix of the units. The one exception, which plain RocksDB cannot
//!   see either: a log that was never synced and lost a whole number of records, so that nothing of
//!   the lost records is there, looks like a log that ended there; later logs are replayed.
//! - *TolerateTail.* For each log a prefix of its units; later logs are replayed.
//! - *SkipAny.* For each key, the newest write that must be there, or a later write.
//!
//! These databases may refuse to open: under Absolute, a database with a log that holds a part of a
//! record, and under TolerateTail, a database with a log that lost something before its end, also
//! if an earlier crash caused that and it is still needed for a prepared transaction (then under
//! PointInTime, too: tables are ahead of it). Under Absolute such a database *must* refuse, unless
//! the lost data is in a table. A manifest that lost more than its end may be refused in every
//! mode, and any database after a failed call on its manifest: RocksDB 7 then removes tables that
//! the manifest may name (later versions keep them). Nothing else may be refused.
//!
//! A log that goes on behind a record whose header is zeros is beyond plain RocksDB, see
//! [`Crash::is_beyond_plain`]: plain RocksDB must then keep only synced data; sealed RocksDB,
//! everything above.

use std::collections::{BTreeMap, BTreeSet};

use crate::disk::{Cut, Fate, Number, Tail};
use crate::files::Kind;
use crate::scenario::Mode;

/// Family and key.
pub type Key = (u32, String);

/// Contents of a database: for each key the unit that wrote its value, and the transactions that
/// are prepared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The newest write of each existing key.
    pub values: BTreeMap<Key, u64>,
    /// Names of transactions.
    pub prepared: BTreeSet<String>,
}

/// One write that takes effect as a whole.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Its number, which its values contain.
    pub id: u64,
    /// Action of the unit.
    pub act: Act,
    /// The log that it went to, and how many pieces that had afterwards.
    pub place: Option<(Number, usize)>,
}

/// Keys and whether they are removed.
pub type Writes = Vec<(Key, bool)>;

/// Action of a unit.
#[derive(Clone, Debug)]
pub enum Act {
    /// Writes.
    Write(Writes),
    /// Prepares the transaction of this name.
    Prepare(String),
    /// Commits it, with the unit that its values contain.
    Commit(String, u64, Writes),
    /// Rolls it back.
    Rollback(String),
}

impl Act {
    /// Returns the writes of the action, and the unit that the values contain.
    fn writes(&self, id: u64) -> (&[(Key, bool)], u64) {
        match self {
            Self::Write(writes) => (writes, id),
            Self::Commit(_, values, writes) => (writes, *values),
            Self::Prepare(_) | Self::Rollback(_) => (&[], id),
        }
    }
}

impl State {
    /// Applies `unit` to the state.
    pub fn apply(&mut self, unit: &Unit) {
        let (writes, id) = unit.act.writes(unit.id);
        for (key, removed) in writes {
            if *removed {
                self.values.remove(key);
            } else {
                self.values.insert(key.clone(), id);
            }
        }
        match &unit.act {
            Act::Prepare(name) => {
                self.prepared.insert(name.clone());
            }
            Act::Commit(name, ..) | Act::Rollback(name) => {
                self.prepared.remove(name);
            }
            Act::Write(_) => {}
        }
    }
}

/// Record of the operations between two crashes.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Contents of the database at the beginning, all of it on stable storage.
    pub base: State,
    /// In their order. The last one may not have been acknowledged.
    pub units: Vec<Unit>,
    /// Number of units that were acknowledged.
    pub acknowledged: usize,
    /// Number of units, from the first on, that were acknowledged as synced.
    pub synced: usize,
    /// For each family: how many units, from the first on, had their writes there flushed.
    pub flushed: Vec<usize>,
}

impl History {
    /// Returns the state with everything done.
    pub fn whole(&self) -> State {
        self.after(self.acknowledged)
    }

    fn after(&self, units: usize) -> State {
        let mut state = self.base.clone();
        self.units[..units].iter().for_each(|unit| state.apply(unit));
        state
    }

    /// Returns the number of units, from the first on, that must be present if there are no holes.
    fn floor(&self, power: bool) -> usize {
        if !power {
            return self.acknowledged;
        }
        let of_family = |family: u32, flushed: usize| {
            let touches = |unit: &Unit| {
                unit.act.writes(unit.id).0.iter().any(|((other, _), _)| *other == family)
            };
            self.units[..flushed].iter().rposition(touches).map_or(0, |last| last + 1)
        };
        let flushed = self
            .flushed
            .iter()
            .enumerate()
            .map(|(family, flushed)| of_family(family as u32, *flushed));
        flushed.max().unwrap_or(0).max(self.synced)
    }

    /// Returns whether the value that unit `index` wrote under `key` must be there.
    fn must_hold(&self, index: usize, key: &Key, power: bool) -> bool {
        if !power {
            return index < self.acknowledged;
        }
        index < self.synced.max(self.flushed.get(key.0 as usize).copied().unwrap_or(0))
    }
}

/// The facts of a crash that the judge needs.
#[derive(Clone, Debug)]
pub struct Crash {
    /// True if it was a power cut.
    pub power: bool,
    /// The outcome for the files.
    pub cut: Cut,
    /// True if a call on a manifest failed before.
    pub manifest_failed: bool,
}

impl Crash {
    fn fate(&self, number: Number) -> Option<&Fate> {
        self.cut.files.iter().find(|fate| fate.number == number)
    }

    fn logs(&self) -> impl Iterator<Item = &Fate> {
        self.cut
            .files
            .iter()
            .filter(|fate| fate.named && fate.is_of_database() && Kind::of(&fate.path) == Kind::Log)
    }

    /// Returns whether a log contains more after a record whose header is zeros. RocksDB takes such
    /// a header for the end of the writes (its logs were once preallocated), and continues 32 KiB
    /// later as if nothing were missing, in every mode. A seal sees more.
    pub fn is_beyond_plain(&self) -> bool {
        self.logs().any(|log| log.tail == Tail::Torn && log.zeros_first)
    }

    /// Returns whether a log that an earlier crash tore is still there. A recovery that went past
    /// it leaves it unchanged, for as long as a prepared transaction needs it, and the next
    /// recovery under PointInTime stops there: RocksDB refuses if there are tables, since they are
    /// ahead of it, and otherwise opens with all later logs lost, synced or not.
    pub fn stops_at_an_earlier_flaw(&self, mode: Mode) -> bool {
        mode == Mode::PointInTime && self.logs().any(|log| log.flawed_before)
    }

    fn manifest_is_torn(&self) -> bool {
        let is = |fate: &&Fate| {
            fate.is_of_database()
                && Kind::of(&fate.path) == Kind::Manifest
                && fate.tail == Tail::Torn
        };
        self.cut.files.iter().any(|fate| is(&fate))
    }

    /// Returns whether the database may refuse to open in `mode`.
    pub fn may_refuse(&self, mode: Mode) -> bool {
        self.manifest_failed
            || self.manifest_is_torn()
            || match mode {
                Mode::Absolute => {
                    self.logs().any(|log| matches!(log.tail, Tail::Short | Tail::Torn))
                }
                Mode::TolerateTail => self.logs().any(|log| log.tail == Tail::Torn),
                Mode::PointInTime => self.stops_at_an_earlier_flaw(mode),
                Mode::SkipAny => false,
            }
    }
}

/// Remains in a log of the units that went to it.
struct LogUnits {
    /// Positions of the units.
    units: Vec<usize>,
    /// Number of units, from the first on, that are whole.
    whole: usize,
    tail: Tail,
}

fn logs(history: &History, crash: &Crash) -> Vec<LogUnits> {
    let mut logs: Vec<(Option<Number>, LogUnits)> = Vec::new();
    for (position, unit) in history.units.iter().enumerate() {
        let number = unit.place.map(|(number, _)| number);
        let fate = number.and_then(|number| crash.fate(number));
        // a log that was removed before the crash was not needed any more
        let (kept, tail) = fate.map_or((usize::MAX, Tail::Clean), |fate| (fate.whole, fate.tail));
        let is_whole = unit.place.is_some_and(|(_, pieces)| pieces <= kept);
        match logs.last_mut() {
            Some((last, log)) if *last == number => {
                log.whole += usize::from(is_whole && log.whole == log.units.len());
                log.units.push(position);
            }
            _ => logs.push((
                number,
                LogUnits { units: vec![position], whole: usize::from(is_whole), tail },
            )),
        }
    }
    logs.into_iter().map(|(_, log)| log).collect()
}

/// Checks that `found` is a state that `mode` allows.
///
/// # Errors
/// The fault of the state, in words.
pub fn state_is_allowed(
    history: &History,
    crash: &Crash,
    mode: Mode,
    found: &State,
) -> Result<(), String> {
    let floor = history.floor(crash.power);
    let torn = |position: usize| {
        let words = "opened under Absolute although the log holds only a part of unit";
        format!("{words} {}", history.units[position].id)
    };
    for units in (floor..=history.units.len()).rev() {
        if history.after(units) == *found {
            let lost = logs(history, crash).into_iter().find_map(|log| {
                let first = *log.units.get(log.whole)?;
                (first >= units && matches!(log.tail, Tail::Short | Tail::Torn)).then_some(first)
            });
            return match lost {
                Some(position) if mode == Mode::Absolute => Err(torn(position)),
                _ => Ok(()),
            };
        }
    }
    if !crash.power {
        return Err(explain(
            history,
            floor,
            found,
            "a killed process had written more or other than this",
        ));
    }
    let logs = logs(history, crash);
    let allowed = match mode {
        Mode::PointInTime | Mode::Absolute => behind_clean_ends(history, &logs, floor, found),
        Mode::TolerateTail => {
            behind_any_ends(history, &logs, floor, 0, history.base.clone(), found)
        }
        Mode::SkipAny => return newest_of_each_key(history, found, crash.power),
    };
    if allowed {
        Ok(())
    } else {
        Err(explain(history, floor, found, "no state that the mode allows"))
    }
}

/// Returns whether `found` is the state after each log is replayed up to its end, as long as that
/// end is clean.
fn behind_clean_ends(history: &History, logs: &[LogUnits], floor: usize, found: &State) -> bool {
    let mut state = history.base.clone();
    for log in logs {
        for (index, position) in log.units.iter().enumerate() {
            if index < log.whole || *position < floor {
                state.apply(&history.units[*position]);
                if *position + 1 >= floor && state == *found {
                    return true;
                }
            }
        }
        if log.whole < log.units.len() && matches!(log.tail, Tail::Short | Tail::Torn) {
            return false;
        }
    }
    false
}

/// Returns whether `found` is the state after a prefix of each log from `at` on is replayed.
fn behind_any_ends(
    history: &History,
    logs: &[LogUnits],
    floor: usize,
    at: usize,
    state: State,
    found: &State,
) -> bool {
    let Some(log) = logs.get(at) else { return state == *found };
    let forced = log.units.iter().filter(|position| **position < floor).count();
    // a log with a clean end is replayed completely, except for unacknowledged units
    let acknowledged =
        log.units[..log.whole].iter().filter(|position| **position < history.acknowledged).count();
    let is_torn = log.whole < log.units.len() && matches!(log.tail, Tail::Short | Tail::Torn);
    let fewest = if is_torn { forced } else { acknowledged };
    let mut state = state;
    for (index, position) in log.units.iter().enumerate().take(log.whole.max(forced)) {
        if index >= fewest && behind_any_ends(history, logs, floor, at + 1, state.clone(), found) {
            return true;
        }
        state.apply(&history.units[*position]);
    }
    behind_any_ends(history, logs, floor, at + 1, state, found)
}

/// Checks that each key has the value of its newest write that must be there, or of a later write.
///
/// # Errors
/// The key that is not, in words.
pub fn newest_of_each_key(history: &History, found: &State, power: bool) -> Result<(), String> {
    let mut keys: BTreeSet<&Key> = history.base.values.keys().chain(found.values.keys()).collect();
    for unit in &history.units {
        keys.extend(unit.act.writes(unit.id).0.iter().map(|(key, _)| key));
    }
    for key in keys {
        let mut allowed = vec![history.base.values.get(key).copied()];
        for (index, unit) in history.units.iter().enumerate() {
            let (writes, id) = unit.act.writes(unit.id);
            if let Some((_, removed)) = writes.iter().rev().find(|(written, _)| written == key) {
                if history.must_hold(index, key, power) {
                    allowed.clear();
                }
                allowed.push((!removed).then_some(id));
            }
        }
        let is = found.values.get(key).copied();
        if !allowed.contains(&is) {
            return Err(format!(
                "family {} key {} is {is:?}, allowed are {allowed:?}",
                key.0, key.1
            ));
        }
    }
    Ok(())
}

/// Describes how `found` differs from the two extremes of the allowed states.
fn explain(history: &History, floor: usize, found: &State, what: &str) -> String {
    let (least, most) = (history.after(floor), history.after(history.units.len()));
    let mut text = format!(
        "{what}; at least the first {floor} of {} units must be there",
        history.units.len()
    );
    let keys: BTreeSet<&Key> =
        least.values.keys().chain(most.values.keys()).chain(found.values.keys()).collect();
    for key in keys {
        let (is, low, high) = (found.values.get(key), least.values.get(key), most.values.get(key));
        if is != high {
            text.push_str(&format!(
                "\n    family {} key {}: unit {is:?}; least {low:?}, most {high:?}",
                key.0, key.1
            ));
        }
    }
    if found.prepared != most.prepared {
        let (is, low, high) = (&found.prepared, &least.prepared, &most.prepared);
        text.push_str(&format!("\n    prepared: {is:?}; least {low:?}, most {high:?}"));
    }
    text
}
