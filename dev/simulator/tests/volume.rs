//! Sealed volumes over many seeds, over histories that were recorded, and over bugs that were put
//! in.

use std::collections::BTreeSet;

use sealstone_simulator::volume::mutant::{BUGS, found_by};
use sealstone_simulator::volume::run::{CLASSES, run};
use sealstone_simulator::volume::source::Source;
use sealstone_simulator::volume::walk::walk;

/// About half a minute for each of the two tests; `SEALSTONE_SEEDS` overrides it.
const SEEDS: u64 = 400;

/// Operations of the disk between two power cuts; `SEALSTONE_CUT_EVERY` overrides it.
const CUT_EVERY: u64 = 100;

/// Returns the number in the environment variable `name`.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().expect("a number"))
}

/// Runs every seed, on the source that `source` says.
fn run_all(source: impl Fn(u64) -> Source) {
    let mut hit = BTreeSet::new();
    let first = number("SEALSTONE_FIRST_SEED", 0);
    let seeds = number("SEALSTONE_SEEDS", SEEDS);
    for seed in first..first + seeds {
        let source = source(seed);
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
    run_all(|_| Source::MadeUp);
}

#[test]
fn a_volume_under_recorded_histories_has_after_any_crash_what_a_plain_device_may_have() {
    run_all(|seed| Source::RECORDED[(seed % 3) as usize]);
}

#[test]
fn the_power_is_cut_throughout_each_recorded_history() {
    let every = number("SEALSTONE_CUT_EVERY", CUT_EVERY);
    for source in Source::RECORDED {
        let cuts = walk(source, every, 0).unwrap_or_else(|error| panic!("{source:?}: {error}"));
        println!("{source:?}: {cuts} cuts");
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
