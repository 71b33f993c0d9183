//! The highest rate that each variant sustains under a limit on its 99th percentile, from searches
//! that ran side by side. Not here: running a search (`compare::search`), comparing two variants
//! (`ratios`, by the ratios of their searches).

use crate::conclude::figures;
use crate::conclude::quantile::Quantile;
use crate::conclude::statistics::{Estimate, by_load};
use crate::results::Cell;
use crate::results::open_loop::{OpenLoop, Percentile, Search, Sustained};
use crate::words::verdict::{CONFIDENCE, FEWEST_PAIRS, Verdict};
use crate::workload::Unit;

/// Sets what the searches of every cell found.
///
/// - `limit_us`: limit of the 99th percentile, in microseconds
pub(crate) fn judge_searches(cells: &mut [Cell], limit_us: f64) {
    for cell in cells {
        let held_per_s =
            cell.open_loop.as_ref().and_then(|open_loop| open_loop.sustained.as_ref()?.held_per_s);
        let loads: Vec<usize> = cell.samples.iter().map(|sample| sample.load).collect();
        if let Some(open_loop) = &mut cell.open_loop {
            open_loop.sustained = Some(concluded(open_loop, &loads, held_per_s, limit_us));
        }
    }
}

/// Returns the rate that each search found, as logarithms, each with the load on which it ran; none
/// without searches, or if half of them or more found none.
pub(crate) fn log_rates(cell: &Cell) -> Option<Vec<(usize, f64)>> {
    cell.open_loop.as_ref().and_then(|open_loop| found(&open_loop.searches))
}

/// Returns the findings about the rate that `cell` sustains, once judged.
pub(crate) fn sustained(cell: &Cell) -> Option<&Sustained> {
    cell.open_loop.as_ref()?.sustained.as_ref()
}

/// Returns whether the highest rate of `cell` was searched for.
pub(crate) fn is_searched(cell: &Cell) -> bool {
    cell.open_loop.as_ref().is_some_and(|open_loop| !open_loop.searches.is_empty())
}

/// Returns whether the highest rate of `cell` was searched for, and at least half of the searches
/// found none.
pub(crate) fn is_searched_in_vain(cell: &Cell) -> bool {
    is_searched(cell) && log_rates(cell).is_none()
}

fn found(searches: &[Search]) -> Option<Vec<(usize, f64)>> {
    let met = searches.iter().filter(|search| search.met_per_s.is_some()).count();
    // a search that found none only shows that the rate is below the lowest rate tried
    let rate = |search: &Search| {
        (
            search.load,
            (search.met_per_s.unwrap_or(search.missed_per_s) * search.missed_per_s).sqrt().ln(),
        )
    };
    (2 * met > searches.len()).then(|| searches.iter().map(rate).collect())
}

fn concluded(
    open_loop: &OpenLoop,
    loads: &[usize],
    held_per_s: Option<f64>,
    limit_us: f64,
) -> Sustained {
    let rate = |per_s: f64| figures::rate(per_s, Unit::Operations);
    let searches = &open_loop.searches;
    let lowest = searches.iter().map(|search| search.missed_per_s).fold(f64::INFINITY, f64::min);
    let of_loads = found(searches).map(by_load);
    let estimate =
        of_loads.and_then(|found| Estimate::from_loads(&found.into_values().collect::<Vec<_>>()));
    let Some(estimate) = estimate else {
        return Sustained {
            rate_per_s: None,
            low_per_s: 0.0,
            high_per_s: lowest,
            is_full_speed: false,
            held_per_s: None,
            held_p99: None,
            is_confirmed: false,
            words: match found(searches) {
                Some(rates) => {
                    format!(
                        "{}: an interval needs {FEWEST_PAIRS} searches, and {} ended",
                        Verdict::CannotConclude.word(),
                        rates.len()
                    )
                }
                None => format!("the limit was not met even at {}", rate(lowest)),
            },
        };
    };
    let (low_per_s, high_per_s) = estimate.interval(CONFIDENCE);
    let behind = searches.iter().filter(|search| search.fell_behind).count();
    let held_p99 = Quantile::new(&open_loop.slices.iter().collect::<Vec<_>>(), loads, 0.99)
        .and_then(|quantile| {
            let (low_us, high_us) = quantile.estimate()?.interval(CONFIDENCE);
            Some(Percentile { us: quantile.us(), low_us, high_us, against: None })
        });
    let is_confirmed = held_p99.as_ref().is_some_and(|p99| p99.us <= limit_us);
    let is_full_speed = 2 * behind > searches.len();
    let mut words = format!(
        "sustains {} (between {} and {})",
        rate(estimate.ratio()),
        rate(low_per_s),
        rate(high_per_s)
    );
    if is_full_speed {
        words.push_str(", its full speed: the limit was not reached");
    }
    match (held_per_s, &held_p99) {
        (Some(per_s), Some(p99)) if is_confirmed => {
            words.push_str(&format!("; held at {}: p99 {}", rate(per_s), figures::micros(p99.us)));
        }
        (Some(per_s), Some(p99)) => words.push_str(&format!(
            "; not confirmed: held at {} its p99 was {}",
            rate(per_s),
            figures::micros(p99.us)
        )),
        _ => words.push_str("; not confirmed: too few requests for a p99"),
    }
    Sustained {
        rate_per_s: Some(estimate.ratio()),
        low_per_s,
        high_per_s,
        is_full_speed,
        held_per_s,
        held_p99,
        is_confirmed,
        words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclude::ratios::judge_overheads;
    use crate::conclude::testing::cells_of;
    use crate::measure::slice_latency::SliceLatency;
    use crate::words::verdict::Verdict;
    fn searches(rate: f64, behind: bool) -> Vec<Search> {
        let search = |at: u32| {
            let rate = rate * (1.0 + 0.01 * f64::from(at % 3));
            Search {
                met_per_s: Some(rate * 0.99),
                missed_per_s: rate * 1.01,
                fell_behind: behind,
                load: 0,
            }
        };
        (0..12).map(search).collect()
    }

    fn open_loop(searches: Vec<Search>, p99_us: f64) -> OpenLoop {
        let slice =
            SliceLatency::new((0..1_000).map(|at| (if at < 970 { 100.0 } else { p99_us }, 1)));
        OpenLoop { slices: vec![slice; 24], searches, ..OpenLoop::default() }
    }

    #[test]
    fn the_rate_is_that_of_the_searches_and_the_ratio_that_of_their_pairs() {
        let mut cells = cells_of("a", &[vec![1.0; 24], vec![1.0; 24]]);
        for (cell, rate) in cells.iter_mut().zip([40_000.0, 36_000.0]) {
            let held_per_s = Some(rate * 0.97);
            let mut open_loop = open_loop(searches(rate, false), 8_000.0);
            open_loop.sustained =
                Some(Sustained { held_per_s, ..concluded(&open_loop, &[0; 24], None, 10_000.0) });
            cell.open_loop = Some(open_loop);
        }
        judge_searches(&mut cells, 10_000.0);
        judge_overheads(&mut cells, 0.02);
        let found = cells[1].open_loop.as_ref().unwrap().sustained.as_ref().unwrap();
        assert!(
            (found.rate_per_s.unwrap() / 36_360.0 - 1.0).abs() < 0.01 && found.is_confirmed,
            "{found:?}"
        );
        assert!(found.words.starts_with("sustains 36.4 k ops/s (between "), "{}", found.words);
        assert!(found.words.contains("; held at 34.9 k ops/s: p99 7.98 ms"), "{}", found.words);
        let overhead = cells[1].overhead.as_ref().unwrap();
        assert_eq!((overhead.verdict, overhead.pairs), (Verdict::Costs, 12), "{}", overhead.words);
        assert!((overhead.ratio - 0.9).abs() < 1e-3, "{}", overhead.words);
    }

    #[test]
    fn limits_that_are_never_met_or_never_reached_are_said() {
        let never =
            vec![Search { met_per_s: None, missed_per_s: 50.0, fell_behind: false, load: 0 }; 12];
        let found = concluded(&open_loop(never, 1.0), &[0; 24], None, 10.0);
        assert_eq!(
            (found.rate_per_s, found.words.as_str()),
            (None, "the limit was not met even at 50.0 ops/s")
        );
        let full =
            concluded(&open_loop(searches(9_000.0, true), 100.0), &[0; 24], Some(8_800.0), 1e6);
        assert!(
            full.is_full_speed && full.words.contains("its full speed: the limit was not reached")
        );
        let missed =
            concluded(&open_loop(searches(9_000.0, false), 20_000.0), &[0; 24], Some(8_800.0), 1e4);
        assert!(
            !missed.is_confirmed
                && missed.words.contains("not confirmed: held at 8.80 k ops/s its p99 was 20.")
        );
    }
}
