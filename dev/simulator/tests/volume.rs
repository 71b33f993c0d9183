//! Sealed volumes over many seeds, and over bugs that were put in.

use std::collections::BTreeSet;

use sealstone_simulator::volume::mutant::{BUGS, found_by};
use sealstone_simulator::volume::run::{CLASSES, run};

/// About half a minute; `SEALSTONE_SEEDS` overrides it.
const SEEDS: u64 = 400;

fn seeds() -> u64 {
    std::env::var("SEALSTONE_SEEDS").map_or(SEEDS, |seeds| seeds.parse().expect("a number"))
}

#[test]
fn a_volume_has_after_any_crash_what_a_plain_device_may_have() {
    let mut hit = BTreeSet::new();
    for seed in 0..seeds() {
        let outcome = run(seed, None);
        assert!(
            outcome.failures.is_empty(),
            "seed {seed}: {:?}\n{}",
            outcome.failures,
            outcome.trace.join("\n")
        );
        hit.extend(outcome.hit);
    }
    let missing: Vec<_> = CLASSES.iter().filter(|class| !hit.contains(**class)).collect();
    assert!(missing.is_empty(), "never met: {missing:?}");
}

#[test]
fn bugs_that_were_put_in_are_found() {
    for (bug, name) in BUGS {
        let found = found_by(bug, 1000);
        println!("{name}: {found:?}");
        assert!(found.is_some(), "{name}");
    }
}
