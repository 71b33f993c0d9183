//! The order in which variants take turns, and the division of a workload into slices. Runs
//! nothing.

use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// Returns the order of the variants in each of `blocks` blocks; a block has one slice of every
/// variant.
///
/// Blocks are rows of Latin squares: within `variants` blocks in a row each variant takes each
/// position once, so that a machine that slows down or speeds up does so for all of them equally.
/// Squares are drawn from `seed`, and turned round with probability one half, so that no variant
/// always runs after the same other one.
pub(crate) fn orders(variants: usize, blocks: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut orders: Vec<Vec<usize>> = Vec::with_capacity(blocks + variants);
    while orders.len() < blocks {
        let mut first: Vec<usize> = (0..variants).collect();
        first.shuffle(&mut random);
        let mut shifts: Vec<usize> = (0..variants).collect();
        shifts.shuffle(&mut random);
        let backwards: bool = random.random();
        orders.extend(shifts.into_iter().map(|shift| {
            let mut row = first.clone();
            row.rotate_left(shift);
            if backwards {
                row.reverse();
            }
            row
        }));
    }
    orders.truncate(blocks);
    orders
}

/// Division of a round of one workload into slices. A *pass* is what the workload calls a round:
/// all its operations once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slicing {
    /// Slices in a pass, if a slice is a part of one.
    pub slices: usize,
    /// Passes in a slice, if one pass is too short for a slice.
    pub passes: usize,
    /// Number of times that this is done in a round.
    pub repeats: usize,
}

impl Slicing {
    /// Slices in a round.
    pub(crate) fn round_slices(&self) -> usize {
        self.slices * self.repeats
    }
}

/// Input of `slicing`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Duration of one pass, in seconds, on the fastest variant.
    pub pass_s: f64,
    /// The shortest slice, in seconds.
    pub slice_s: f64,
    /// The minimum number of slices in a round.
    pub round_slices: usize,
    /// Most slices that a pass can be cut into: each has an operation for every client.
    pub most_slices: usize,
    /// Set when a slice may hold several passes.
    pub joinable: bool,
}

/// More passes than this are never joined into a slice.
const MOST_PASSES: usize = 10_000;

/// Slices longer than this many times the shortest are cut again: more pairs are more informative
/// than longer slices.
const LONG: f64 = 4.0;

/// Cuts a round so that it has enough slices and none is too short.
pub(crate) fn slicing(pace: Pace) -> Slicing {
    let fitting = (pace.pass_s / pace.slice_s).clamp(0.0, 1e9) as usize;
    let most = pace.most_slices.max(1);
    if fitting < 1 {
        let passes = (pace.slice_s / pace.pass_s.max(1e-9)).ceil() as usize;
        let passes = if pace.joinable { passes.clamp(1, MOST_PASSES) } else { 1 };
        return Slicing { slices: 1, passes, repeats: pace.round_slices.max(1) };
    }
    if fitting >= pace.round_slices {
        let roomy = (pace.pass_s / (LONG * pace.slice_s)) as usize;
        let slices = pace.round_slices.max(roomy.min(2 * pace.round_slices)).min(most);
        return Slicing { slices, passes: 1, repeats: pace.round_slices.div_ceil(slices).max(1) };
    }
    let slices = fitting.min(most);
    Slicing { slices, passes: 1, repeats: pace.round_slices.div_ceil(slices).max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_takes_every_position_equally_often() {
        for variants in 1..=6 {
            let orders = orders(variants, variants * 10, 3);
            for position in 0..variants {
                let mut counts = vec![0; variants];
                for order in &orders {
                    counts[order[position]] += 1;
                }
                assert!(counts.iter().all(|&count| count == 10), "{variants} variants: {counts:?}");
            }
        }
    }

    #[test]
    fn every_block_has_every_variant_once_even_in_a_cut_square() {
        for order in orders(5, 13, 1) {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
        assert_eq!(orders(5, 13, 1).len(), 13);
        assert_ne!(orders(5, 13, 1), orders(5, 13, 2));
        assert_eq!(orders(5, 13, 1), orders(5, 13, 1));
    }

    #[test]
    fn no_contestant_always_follows_the_same_other() {
        let orders = orders(3, 300, 9);
        let after = |a: usize, b: usize| {
            orders
                .iter()
                .flat_map(|order| order.windows(2))
                .filter(|pair| pair[0] == a && pair[1] == b)
                .count()
        };
        for (a, b) in [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)] {
            assert!((60..=140).contains(&after(a, b)), "{b} after {a}: {} of 600", after(a, b));
        }
    }

    const PACE: Pace =
        Pace { pass_s: 1.0, slice_s: 0.2, round_slices: 8, most_slices: 1_000, joinable: true };

    #[test]
    fn long_passes_are_cut_and_short_ones_repeated_or_joined() {
        let cut = |pass_s| slicing(Pace { pass_s, ..PACE });
        assert_eq!(cut(2.0), Slicing { slices: 8, passes: 1, repeats: 1 });
        assert_eq!(cut(0.9), Slicing { slices: 4, passes: 1, repeats: 2 });
        assert_eq!(cut(0.21), Slicing { slices: 1, passes: 1, repeats: 8 });
        assert_eq!(cut(0.05), Slicing { slices: 1, passes: 4, repeats: 8 });
        assert_eq!(cut(100.0), Slicing { slices: 16, passes: 1, repeats: 1 });
        let load = slicing(Pace { pass_s: 0.05, joinable: false, ..PACE });
        assert_eq!(load, Slicing { slices: 1, passes: 1, repeats: 8 });
        // eighty clients with a hundred operations in all: one slice is all there is
        let few = slicing(Pace { pass_s: 5.0, most_slices: 1, ..PACE });
        assert_eq!(few, Slicing { slices: 1, passes: 1, repeats: 8 });
    }

    #[test]
    fn every_slicing_has_the_slices_wanted() {
        for pass_ms in [0, 1, 3, 10, 33, 100, 250, 333, 1_000, 3_333, 10_000, 100_000] {
            for round_slices in [1, 2, 5, 8, 24] {
                for most_slices in [1, 3, 1_000] {
                    let pass_s = pass_ms as f64 / 1e3;
                    let slicing = slicing(Pace { pass_s, round_slices, most_slices, ..PACE });
                    assert!(
                        slicing.round_slices() >= round_slices,
                        "{slicing:?} for {round_slices}"
                    );
                    assert!(slicing.slices <= most_slices && slicing.passes >= 1);
                }
            }
        }
    }
}
