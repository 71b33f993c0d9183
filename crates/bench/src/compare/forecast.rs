//! Forecast of further rounds: how many, how long, and the command for them.

use std::collections::BTreeSet;

use crate::compare::conclusions::compared;
use crate::conclude::figures;
use crate::conclude::statistics::{Estimate, FEWEST_LOADS, is_narrow, loads_in_all};
use crate::conclude::sustained_rate::is_searched;
use crate::results::{Cell, Results, Verdict};
use crate::words::max_time::MaxTime;
use crate::words::percent::percent;

/// Most rounds that are foretold.
const ROUNDS_MAX: f64 = 10_000.0;

/// Returns what would decide the open comparisons of `results`, in one sentence with the command
/// for it; `None` if all are decided, or if nothing can be predicted.
#[must_use]
pub(crate) fn sentence(results: &Results) -> Option<String> {
    let plan = &results.plan;
    if results.client.is_some() || results.failure.is_some() {
        return None;
    }
    let mut cells = results.cells.clone();
    let all = compared(plan, &mut cells);
    let open: Vec<Estimate> =
        all.iter().filter(|one| is_open(&cells, one.0)).filter_map(|(_, ratio)| *ratio).collect();
    let rounds = rounds(results) as f64;
    if open.is_empty() || rounds < 1.0 {
        return None;
    }
    let dir = shell(&plan.out.display().to_string());
    let of = format!("{} of {} comparisons are open", open.len(), all.len());
    let each_s = results.elapsed_s / rounds;
    if open.iter().any(|one| one.loads == 1) {
        let rounds_s = FEWEST_LOADS as f64 * each_s;
        return Some(format!(
            "{of}; {FEWEST_LOADS} more rounds, each on freshly loaded stores, would say what holds \
             for any load and take about {}: sealstone compare --resume {dir} --load-every 1 \
             --rounds {FEWEST_LOADS}",
            figures::seconds(rounds_s)
        ));
    }
    let until = plan.margin;
    // loads in proportion to rounds: some workloads are loaded several times in one
    let needed = |one: &Estimate| rounds * loads_until(one, until) as f64 / one.loads as f64;
    let needed = open.iter().map(needed).fold(0.0, f64::max).ceil();
    if needed > ROUNDS_MAX {
        return Some(format!(
            "{of}, and would take more than {ROUNDS_MAX} rounds; a quieter machine would narrow \
             the intervals"
        ));
    }
    let more = (needed - rounds).max(1.0);
    let more_s = 1.2 * more * each_s;
    let longer = if more_s < 3_600.0 {
        String::new()
    } else {
        format!(" --max-time {}", MaxTime { seconds: (more_s / 3_600.0).ceil() * 3_600.0 })
    };
    Some(format!(
        "{of}; about {more} more rounds, {}, would bring their intervals to ± {} %: sealstone \
         compare --resume {dir} --until {}%{longer}",
        figures::seconds(more * each_s),
        percent(until),
        percent(until)
    ))
}

/// Rounds of which every workload has slices.
pub(crate) fn rounds(results: &Results) -> usize {
    if results.cells.iter().any(is_searched) {
        return results.plan.rounds;
    }
    let of_cell =
        |cell: &Cell| cell.samples.iter().map(|sample| sample.round).collect::<BTreeSet<_>>().len();
    results.cells.iter().map(of_cell).min().unwrap_or(0)
}

/// Returns whether nothing is claimed about the cell number `cell`, neither a difference nor that
/// there is none.
fn is_open(cells: &[Cell], cell: usize) -> bool {
    let at_rate = cells[cell].open_loop.as_ref().and_then(|found| found.at_rate.as_ref());
    let of_p99 =
        at_rate.and_then(|found| Some(found.p99.as_ref()?.against.as_ref()?.ratio.verdict));
    let verdict = cells[cell].overhead.as_ref().map(|overhead| overhead.verdict).or(of_p99);
    verdict.is_some_and(Verdict::is_open)
}

/// Computes the total number of loads of a run that goes on until half of the interval of
/// `estimate` is at most the share `until`, if they scatter like the loads so far.
fn loads_until(estimate: &Estimate, until: f64) -> usize {
    let each = estimate.standard_error * (estimate.loads as f64).sqrt();
    let at = |loads: usize| Estimate {
        standard_error: each / (loads as f64).sqrt(),
        freedom: loads as f64 - 1.0,
        loads,
        ..*estimate
    };
    let mut most = FEWEST_LOADS.max(estimate.loads);
    while !is_narrow(&[at(most)], until) && (most as f64) < ROUNDS_MAX {
        most += 1 + most / 50;
    }
    loads_in_all(most)
}

/// Returns `word` as a shell reads it back.
fn shell(word: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "/._-+=:@%".contains(one);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclude::testing::{cell, comparison};

    /// Returns a variant under `a` with `loads` loads of six pairs, whose means are `spread` apart.
    fn run(loads: usize, spread: f64) -> Results {
        let slices = |ratio: f64, spread: f64| -> Vec<f64> {
            (0..6 * loads).map(|at| ratio * (1.0 + spread * (at / 6 % 2) as f64)).collect()
        };
        let mut cells = vec![cell(0, "a", &slices(1.0, 0.0)), cell(1, "a", &slices(0.99, spread))];
        for (at, sample) in cells.iter_mut().flat_map(|cell| cell.samples.iter_mut().enumerate()) {
            (sample.round, sample.load, sample.slice) = (at / 6, at / 6, at % 6);
        }
        let mut found = comparison(&["none", "aes-256"], cells).runs().remove(0);
        found.elapsed_s = 60.0 * loads as f64;
        found
    }

    #[test]
    fn what_more_rounds_take_is_said_with_the_command() {
        let words = sentence(&run(6, 0.08)).unwrap();
        assert!(words.starts_with("1 of 1 comparisons are open; about "), "{words}");
        assert!(
            words.contains(" min ") && words.contains("would bring their intervals to ± 2 %"),
            "{words}"
        );
        assert!(
            words.ends_with(": sealstone compare --resume sealstone-results --until 2%"),
            "{words}"
        );
        // the forecast is the time that the run then takes
        let more: usize =
            words.split("about ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!((15..60).contains(&more), "{words}");
        // stores that scatter more take longer than the run's limit of an hour
        let words = sentence(&run(6, 0.3)).unwrap();
        assert!(words.contains("--until 2% --max-time "), "{words}");
        assert_eq!(sentence(&run(8, 0.001)), None, "no difference is an answer");
    }

    #[test]
    fn of_a_single_load_the_next_step_is_to_load_again() {
        let words = sentence(&run(1, 0.0));
        assert_eq!(words, None);
        let mut noisy = run(1, 0.0);
        for (at, sample) in noisy.cells[1].samples.iter_mut().enumerate() {
            sample.operations = (sample.operations as f64 * (1.0 + 0.1 * (at % 2) as f64)) as u64;
        }
        crate::conclude::ratios::judge_overheads(&mut noisy.cells, 0.02);
        noisy.plan.out = "my results".into();
        let words = sentence(&noisy).unwrap();
        assert!(
            words.ends_with("sealstone compare --resume 'my results' --load-every 1 --rounds 6"),
            "{words}"
        );
    }
}
