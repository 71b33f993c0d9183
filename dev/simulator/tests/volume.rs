//! Sealed volumes over many seeds, over histories that were recorded, and over bugs that were put
//! in.

use std::collections::BTreeSet;

use sealstone_simulator::volume::disk::Bug;
use sealstone_simulator::volume::mutant::{BUGS, found_by};
use sealstone_simulator::volume::run::{CLASSES, run};
use sealstone_simulator::volume::source::Source;
use sealstone_simulator::volume::walk::walk;

/// Seeds with requests that are made up: about half a minute. `SEALSTONE_SEEDS` overrides it, and
/// `SEALSTONE_FIRST_SEED` sets where to begin.
const SEEDS: u64 = 400;

/// Seeds with requests that were recorded, whose devices are larger: about as long.
const SEEDS_RECORDED: u64 = 180;

/// Operations of the disk from one power cut to the next; `SEALSTONE_CUT_EVERY` overrides it. Not a
/// multiple of what one commit takes, so that cuts fall everywhere in it.
const CUT_EVERY: u64 = 83;

/// Returns the number in the environment variable `name`.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().expect("a number"))
}

/// Runs `seeds` seeds, each with one of `sources`.
fn run_all(sources: &[Source], seeds: u64) {
    let mut hit = BTreeSet::new();
    let first = number("SEALSTONE_FIRST_SEED", 0);
    let seeds = number("SEALSTONE_SEEDS", seeds);
    for seed in first..first + seeds {
        let source = sources[seed as usize % sources.len()];
        let outcome = run(seed, source, None);
        assert!(
            outcome.failures.is_empty(),
            "seed {seed}, {source:?}: {:?}\n{}",
            outcome.failures,
            outcome.trace.join("\n")
        );
        hit.extend(outcome.hit);
        if (seed + 1 - first).is_multiple_of(500) {
            println!("{} seeds", seed + 1 - first);
        }
    }
    let missing: Vec<_> = CLASSES.iter().filter(|class| !hit.contains(**class)).collect();
    assert!(missing.is_empty(), "never met: {missing:?}");
}

#[test]
fn a_volume_has_after_any_crash_what_a_plain_device_may_have() {
    run_all(&[Source::MadeUp], SEEDS);
}

#[test]
fn a_volume_under_recorded_histories_has_after_any_crash_what_a_plain_device_may_have() {
    run_all(&Source::RECORDED, SEEDS_RECORDED);
}

#[test]
fn the_power_is_cut_throughout_each_recorded_history() {
    let every = number("SEALSTONE_CUT_EVERY", CUT_EVERY);
    for source in Source::RECORDED {
        let cuts = walk(source, every, None).unwrap_or_else(|error| panic!("{source:?}: {error}"));
        println!("{source:?}: {cuts} cuts");
    }
}

#[test]
fn bugs_that_were_put_in_are_found_by_power_cuts_alone() {
    for source in Source::RECORDED {
        for (bug, name) in BUGS.into_iter().filter(|(bug, _)| *bug != Bug::RetriedSync) {
            // at each operation, as there are few moments at which it shows; the first comes soon
            let found = walk(source, 1, Some(bug));
            println!("{name}, {source:?}: {found:?}");
            assert!(found.is_err(), "{name}, {source:?}");
        }
    }
}

#[test]
fn bugs_that_were_put_in_are_found() {
    for source in [&[Source::MadeUp], &Source::RECORDED[..]].concat() {
        for (bug, name) in BUGS {
            let found = found_by(bug, source, 1000);
            println!("{name}, {source:?}: {found:?}");
            assert!(found.is_some(), "{name}, {source:?}");
        }
    }
}
