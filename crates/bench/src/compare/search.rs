//! The search for the highest rate that each variant sustains under a limit on its 99th percentile.
//! All variants search at the same time, step by step in alternation, so that drift of the machine
//! hits all of them; many short searches in sequence show how far a single search can be trusted.
//! Then each variant is held at its rate for longer.
//!
//! A step is a slice at one rate. It meets the limit if the 99th percentile of its requests, from
//! when they were due, is at most the limit and the clients kept up. The first search starts at
//! half of the store's full speed, and goes down by factors of four until a rate meets the limit;
//! then it halves the distance between the highest rate that met it and the lowest that missed it,
//! on a scale of logarithms, until they are 3 % apart. Later searches start around the result of
//! the previous search.

use std::ops::Range;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::{At, Comparison, Halt, Ready, Stores};
use crate::conclude::fixed_rate::KEPT_MIN;
use crate::conclude::statistics::median;
use crate::measure::progress::Phase;
use crate::measure::schedule::orders;
use crate::measure::slice_latency::SliceLatency;
use crate::results::Sample;
use crate::results::open_loop::Search;
use crate::words::verdict::FEWEST_PAIRS;
use crate::words::verdict::REQUESTS_P99;

/// Requests of a step: ten beyond the 99th percentile.
const STEP_REQUESTS: f64 = 1_000.0;

/// Shortest and longest step, in seconds.
const STEP_S: (f64, f64) = (0.2, 2.0);

/// The lowest rate that is tried: a hundred requests in the longest step.
const RATE_MIN: f64 = 100.0 / STEP_S.1;

/// A search ends when the rate that missed the limit is this many times the rate that met it.
const RESOLUTION: f64 = 1.03;

/// A later search begins between the rate found before divided and multiplied by this.
const AROUND: f64 = 1.3;

/// Number of times that the rate at which a variant is held is lowered, by 5 %, when its 99th
/// percentile is beyond the limit.
const ATTEMPTS: usize = 3;

/// Searches in a round of the plan.
const ROUND_SEARCHES: usize = 4;

/// The search of one variant, between a rate that met the limit and one that did not.
#[derive(Clone, Copy, Debug)]
struct Bracket {
    met_per_s: Option<f64>,
    missed_per_s: Option<f64>,
    fell_behind: bool,
    /// Rate to continue with as long as one of the two is missing.
    next_per_s: f64,
    /// By which factor, then.
    stride: f64,
}

impl Bracket {
    /// Begins at `start_per_s`, and goes up or down from there by `stride`.
    fn new(start_per_s: f64, stride: f64) -> Self {
        let next_per_s = start_per_s.max(RATE_MIN);
        Self { met_per_s: None, missed_per_s: None, fell_behind: false, next_per_s, stride }
    }

    /// Returns the rate to try next; none if the search has ended.
    fn next(&self) -> Option<f64> {
        match (self.met_per_s, self.missed_per_s) {
            (Some(met), Some(missed)) => (missed / met > RESOLUTION).then(|| (met * missed).sqrt()),
            (None, Some(missed)) if missed <= RATE_MIN * RESOLUTION => None,
            _ => Some(self.next_per_s),
        }
    }

    /// Takes in what the step at `rate_per_s` showed.
    fn learn(&mut self, rate_per_s: f64, is_met: bool, fell_behind: bool) {
        if is_met {
            self.met_per_s = Some(rate_per_s);
            self.next_per_s = rate_per_s * self.stride;
        } else {
            self.missed_per_s = Some(rate_per_s);
            self.fell_behind = fell_behind;
            self.next_per_s = (rate_per_s / self.stride).max(RATE_MIN);
        }
    }

    fn result(&self) -> Search {
        let missed_per_s = self.missed_per_s.unwrap_or(self.next_per_s);
        Search { met_per_s: self.met_per_s, missed_per_s, fell_behind: self.fell_behind, load: 0 }
    }
}

impl<'a> Comparison<'a> {
    /// Searches for the highest rate of every variant under `ready`, then holds each at its own,
    /// for which the searches on earlier loads count, too.
    ///
    /// - `limit_us`: limit of the 99th percentile, in microseconds
    /// - `rounds`: the rounds of this load
    pub(super) fn search(
        &mut self,
        ready: &mut Ready<'a>,
        stores: &mut Stores,
        limit_us: f64,
        rounds: Range<usize>,
    ) -> Result<(), Halt> {
        let variants = self.variants.len();
        // of a single round, as many as an interval needs
        let all = self.rounds.len().max(1);
        let of_rounds = |rounds: usize| (ROUND_SEARCHES * rounds).max(FEWEST_PAIRS / all);
        let searches = of_rounds(all);
        let first = self.cell(ready.number, 0).searches.len();
        let own = first..first + of_rounds(rounds.len());
        let mut random = SmallRng::seed_from_u64(
            self.plan.seed.wrapping_add((ready.number + 1_000 * first) as u64),
        );
        let step_s = f64::max(STEP_S.0, 2.0 * self.plan.slice_ms as f64 / 1e3);
        // about five steps a search, and holding as long as a quarter of them
        let length_s = searches as f64 * 5.0 * step_s * variants as f64 * 1.25;
        self.estimate().expect(ready.task, length_s);

        // the full speed of every store: no rate above that can be sustained
        let full_per_s = self.full_speed(ready, stores)?;
        let mut found: Vec<Vec<Search>> = (0..variants)
            .map(|variant| self.cell(ready.number, variant).searches.clone())
            .collect();
        for number in own {
            let mut brackets: Vec<Bracket> = (0..variants)
                .map(|variant| match found[variant].last().and_then(|search| search.met_per_s) {
                    // a different start each time, so that searches try different rates
                    Some(met) => Bracket::new(met * random.random_range(0.9..1.1), AROUND),
                    // the lowest rate that is tried is all that is left
                    None if number > 0 => Bracket::new(RATE_MIN, 4.0),
                    None => Bracket::new(full_per_s[variant] / 2.0, 4.0),
                })
                .collect();
            self.run_search(ready, stores, (number, searches), &mut brackets, limit_us, step_s)?;
            // only a search that all variants have ended counts
            for (variant, bracket) in brackets.iter().enumerate() {
                let search = Search { load: stores.load, ..bracket.result() };
                found[variant].push(search);
                self.cell(ready.number, variant).searches.push(search);
            }
        }
        self.hold(ready, stores, &found, limit_us)?;
        self.measure_sizes(ready, stores)
    }

    /// Operations a second of every variant as fast as it can.
    fn full_speed(&mut self, ready: &mut Ready<'a>, stores: &mut Stores) -> Result<Vec<f64>, Halt> {
        // the slices of this workload were cut to a length in time
        let operations = ready.workload.operations() * ready.slicing.passes as u64
            / ready.slicing.slices.max(1) as u64;
        let at = self.part(ready, operations);
        let mut full = Vec::new();
        for variant in 0..self.variants.len() {
            let (outcome, _) = self.slice(ready.workload, stores, variant, at)?;
            full.push(outcome.operations as f64 / outcome.elapsed_s.max(1e-9));
        }
        ready.next_pass += at.passes;
        Ok(full)
    }

    /// Returns about `requests` operations of the next pass, or of as many passes as needed.
    fn part(&self, ready: &Ready, requests: u64) -> At {
        let operations = ready.workload.operations().max(1);
        let clients = self.clients(ready.workload) as u64;
        let requests = requests.max(clients);
        match operations / requests {
            0 => At {
                pass: ready.next_pass,
                passes: requests.div_ceil(operations) as usize,
                slice: 0,
                slices: 1,
            },
            slices => At { pass: ready.next_pass, passes: 1, slice: 0, slices: slices as usize },
        }
    }

    /// Runs the steps of one search until every variant has ended it.
    fn run_search(
        &mut self,
        ready: &mut Ready<'a>,
        stores: &mut Stores,
        (number, searches): (usize, usize),
        brackets: &mut [Bracket],
        limit_us: f64,
        step_s: f64,
    ) -> Result<(), Halt> {
        let variants = brackets.len();
        let mut step = 0;
        while brackets.iter().any(|bracket| bracket.next().is_some()) {
            let seed = self.plan.seed ^ ((number * 1_000 + step) as u64);
            for variant in orders(variants, 1, seed).remove(0) {
                let Some(rate_per_s) = brackets[variant].next() else { continue };
                let share = (number as f64 / searches as f64).min(1.0) * 0.8;
                self.estimate().done(ready.task, share);
                let name = ready.workload.spec().name;
                self.tell(
                    Phase::Search,
                    name,
                    variant,
                    0,
                    number as u64,
                    searches.max(number) as u64,
                );
                let seconds = (STEP_REQUESTS / rate_per_s).clamp(step_s, STEP_S.1.max(step_s));
                let at = self.part(ready, (rate_per_s * seconds).ceil() as u64);
                let outcome = self
                    .at_rate(rate_per_s, |this| this.slice(ready.workload, stores, variant, at))?
                    .0;
                let p99_us =
                    outcome.latencies.requests().quantile_us(0.99).unwrap_or(f64::INFINITY);
                let is_kept = outcome.kept_per_s >= KEPT_MIN * rate_per_s;
                let is_within = p99_us <= limit_us;
                brackets[variant].learn(rate_per_s, is_kept && is_within, is_within);
                ready.next_pass += at.passes;
            }
            step += 1;
        }
        Ok(())
    }

    /// Runs `body` with slices at `rate_per_s` operations a second.
    fn at_rate<T>(&mut self, rate_per_s: f64, body: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.rate_per_s.replace(rate_per_s);
        let result = body(self);
        self.rate_per_s = before;
        result
    }

    /// Holds every variant at the lower end of the rates that it found, in alternation, for as many
    /// requests as a 99th percentile needs; lower by 5 % and once more if that was beyond the
    /// limit.
    fn hold(
        &mut self,
        ready: &mut Ready<'a>,
        stores: &mut Stores,
        found: &[Vec<Search>],
        limit_us: f64,
    ) -> Result<(), Halt> {
        let middle = |searches: &Vec<Search>| {
            let met: Vec<f64> = searches.iter().filter_map(|search| search.met_per_s).collect();
            // half of the searches met it there, so their median itself is met about as often as
            // not
            (2 * met.len() > searches.len()).then(|| 0.97 * median(&met))
        };
        let mut rates: Vec<Option<f64>> = found.iter().map(middle).collect();
        for attempt in 0..ATTEMPTS {
            for (variant, rate) in rates.iter().enumerate() {
                let cell = self.cell(ready.number, variant);
                cell.clear();
                cell.held_per_s = *rate;
            }
            self.hold_once(ready, stores, &rates, attempt)?;
            let mut is_last = true;
            for (variant, rate) in rates.iter_mut().enumerate() {
                let Some(rate) = rate else { continue };
                let requests = SliceLatency::sum(&self.cell(ready.number, variant).requests);
                if requests.quantile_us(0.99).is_some_and(|p99_us| p99_us > limit_us)
                    && attempt + 1 < ATTEMPTS
                {
                    *rate *= 0.95;
                    is_last = false;
                }
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }

    fn hold_once(
        &mut self,
        ready: &mut Ready<'a>,
        stores: &mut Stores,
        rates: &[Option<f64>],
        attempt: usize,
    ) -> Result<(), Halt> {
        let blocks = self.plan.pairs;
        let each = (1.1 * REQUESTS_P99 as f64 / blocks as f64).ceil();
        for (block, order) in
            orders(rates.len(), blocks, self.plan.seed ^ attempt as u64).into_iter().enumerate()
        {
            let mut outcomes = Vec::new();
            for variant in order {
                let Some(rate_per_s) = rates[variant] else { continue };
                self.estimate().done(ready.task, 0.8 + 0.2 * block as f64 / blocks as f64);
                let name = ready.workload.spec().name;
                self.tell(Phase::Measure, name, variant, attempt, block as u64, blocks as u64);
                let longest = rate_per_s * STEP_S.1;
                let at = self
                    .part(ready, f64::max(each.min(longest), rate_per_s * STEP_S.0).ceil() as u64);
                let outcome = self
                    .at_rate(rate_per_s, |this| this.slice(ready.workload, stores, variant, at))?;
                outcomes.push((variant, outcome));
                ready.next_pass += at.passes;
            }
            for (variant, (outcome, sample)) in outcomes {
                self.count(
                    ready.number,
                    variant,
                    outcome,
                    Sample { round: 0, slice: block, ..sample },
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a search finds on a store that meets the limit up to `capacity_per_s`, and the
    /// number of steps it takes.
    fn searched(mut bracket: Bracket, capacity_per_s: f64) -> (Search, usize) {
        let mut steps = 0;
        while let Some(rate) = bracket.next() {
            bracket.learn(rate, rate <= capacity_per_s, false);
            steps += 1;
            assert!(steps < 100, "{bracket:?}");
        }
        (bracket.result(), steps)
    }

    #[test]
    fn a_search_ends_around_the_rate_wherever_it_begins() {
        for capacity_per_s in [51.0, 400.0, 9_000.0, 120_000.0, 3e6] {
            for start_per_s in [60.0, 2_000.0, 1e5, 1e7] {
                let (found, steps) = searched(Bracket::new(start_per_s, 4.0), capacity_per_s);
                let met = found.met_per_s.unwrap();
                assert!(met <= capacity_per_s && capacity_per_s < found.missed_per_s, "{found:?}");
                assert!(found.missed_per_s / met <= RESOLUTION && steps <= 20, "{steps} steps");
            }
            let (found, steps) =
                searched(Bracket::new(capacity_per_s * 1.05, AROUND), capacity_per_s);
            assert!(found.met_per_s.is_some() && steps <= 7, "{steps} steps");
        }
        let (never, steps) = searched(Bracket::new(1e5, 4.0), 10.0);
        assert_eq!((never.met_per_s, never.missed_per_s), (None, RATE_MIN));
        assert!(steps <= 10);
    }
}
