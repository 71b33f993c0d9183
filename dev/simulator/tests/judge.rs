//! The judge on states made by hand: states that it must accept or reject.

use std::collections::BTreeSet;

use sealstone_simulator::disk::{Cut, Fate, Loss, LostEntries, Tail};
use sealstone_simulator::judge::{Act, Crash, History, State, Unit, state_is_allowed};
use sealstone_simulator::scenario::Mode;

/// Returns six units, each with its own key: 1 to 3 in log 10, 4 to 6 in log 20. The first is
/// synced.
fn history() -> History {
    let unit = |id: u64| Unit {
        id,
        act: Act::Write(vec![((0, format!("k{id}")), false)]),
        place: Some(if id <= 3 { (10, id as usize) } else { (20, id as usize - 3) }),
    };
    History {
        units: (1..=6).map(unit).collect(),
        acknowledged: 6,
        synced: 1,
        flushed: vec![0],
        ..History::default()
    }
}

/// Returns a power cut that left `whole` records of log 10, and all of log 20.
fn cut(whole: usize, tail: Tail) -> Crash {
    let fate = |number, whole, tail| Fate {
        number,
        path: format!("/db/0000{number}.log"),
        named: true,
        pieces: 3,
        whole,
        tail,
        zeros_first: false,
        flawed_before: false,
        loss: Loss::Holes,
        stable_bytes: 100,
    };
    let files = vec![fate(10, whole, tail), fate(20, 3, Tail::Clean)];
    Crash {
        power: true,
        cut: Cut { files, entries: LostEntries::default() },
        manifest_failed: false,
    }
}

/// Returns the state that holds what these units wrote.
fn state(units: &[u64]) -> State {
    let values = units.iter().map(|id| ((0, format!("k{id}")), *id)).collect();
    State { values, prepared: BTreeSet::new() }
}

fn modes_that_allow(crash: &Crash, units: &[u64]) -> Vec<Mode> {
    let allowed = |mode: &Mode| state_is_allowed(&history(), crash, *mode, &state(units)).is_ok();
    Mode::ALL.into_iter().filter(allowed).collect()
}

#[test]
fn what_was_synced_must_be_there_in_every_mode() {
    assert!(modes_that_allow(&cut(1, Tail::Torn), &[]).is_empty());
    assert!(modes_that_allow(&cut(1, Tail::Torn), &[2, 3]).is_empty());
}

#[test]
fn a_hole_behind_a_torn_log_is_for_the_lenient_modes_alone() {
    for tail in [Tail::Short, Tail::Torn] {
        assert_eq!(
            modes_that_allow(&cut(1, tail), &[1, 4, 5, 6]),
            [Mode::TolerateTail, Mode::SkipAny]
        );
    }
    // a log that lost whole records looks like one that ended there
    assert_eq!(modes_that_allow(&cut(1, Tail::Clean), &[1, 4, 5, 6]), Mode::ALL);
    // but not if one of the existing records is left out
    assert_eq!(modes_that_allow(&cut(2, Tail::Clean), &[1, 4, 5, 6]), [Mode::SkipAny]);
}

#[test]
fn a_torn_log_is_refused_under_absolute_and_opened_under_point_in_time() {
    let torn = cut(1, Tail::Short);
    assert_eq!(
        modes_that_allow(&torn, &[1]),
        [Mode::TolerateTail, Mode::PointInTime, Mode::SkipAny]
    );
    assert!(torn.may_refuse(Mode::Absolute) && !torn.may_refuse(Mode::TolerateTail));
    assert!(!torn.may_refuse(Mode::PointInTime) && !torn.may_refuse(Mode::SkipAny));
    assert!(cut(1, Tail::Torn).may_refuse(Mode::TolerateTail));
    for tail in [Tail::Clean, Tail::Zeros] {
        assert!(!Mode::ALL.iter().any(|mode| cut(1, tail).may_refuse(*mode)));
    }
    // the lost part of the log is in a table
    assert_eq!(modes_that_allow(&torn, &[1, 2, 3, 4, 5, 6]), Mode::ALL);
}

#[test]
fn a_killed_process_loses_nothing() {
    let mut crash = cut(3, Tail::Clean);
    crash.power = false;
    assert_eq!(modes_that_allow(&crash, &[1, 2, 3, 4, 5, 6]), Mode::ALL);
    assert!(modes_that_allow(&crash, &[1, 2, 3, 4, 5]).is_empty());
}

#[test]
fn what_was_flushed_is_asked_for_and_the_last_unit_may_not_be_acknowledged() {
    let mut history = history();
    history.flushed = vec![3];
    let crash = cut(1, Tail::Clean);
    let allows = |history: &History, units: &[u64]| {
        state_is_allowed(history, &crash, Mode::PointInTime, &state(units)).is_ok()
    };
    assert!(!allows(&history, &[1, 2]));
    assert!(allows(&history, &[1, 2, 3]));
    history.acknowledged = 5;
    assert!(allows(&history, &[1, 2, 3, 4, 5]) && allows(&history, &[1, 2, 3, 4, 5, 6]));
}
