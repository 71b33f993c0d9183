//! Number of clients that measure a workload if the user leaves that open: the fewest that bring
//! the unencrypted store to its maximum. One number for all variants, so that their slices stay
//! pairs. The bottleneck of the run is another matter (`saturation`).

use super::{At, Clients, Comparison, Halt, Stores};
use crate::measure::progress::Phase;
use crate::results::added_settings;
use crate::study::machine;
use crate::study::plan::{CLIENTS_FOR_A_RATE, CLIENTS_MOST};
use crate::workload::Workload;

/// A step lasts this many times a slice, about.
const STEP_SLICES: f64 = 3.0;

/// A number of clients is enough if it reaches this share of the best.
const ENOUGH: f64 = 0.95;

/// Share of the CPUs in use from which more clients have nothing left to use.
const CPU_FULL: f64 = 0.95;

/// More passes than a round has.
const PASSES_A_ROUND: usize = 100_000;

/// Result of one step of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    clients: usize,
    /// Operations a second.
    rate: f64,
    /// Share of the CPUs in use.
    cpu_share: f64,
}

impl<'a> Comparison<'a> {
    /// Returns the clients of `workload`: its own, the plan's, or the number found for it.
    pub(super) fn clients(&self, workload: &dyn Workload) -> usize {
        self.fixed_clients(workload)
            .or_else(|| Some(self.found.get(workload.spec().name)?.count))
            .unwrap_or(1)
            .max(1)
    }

    fn fixed_clients(&self, workload: &dyn Workload) -> Option<usize> {
        let spec = workload.spec();
        let of_plan = self.plan.threads.first().copied();
        let fixed =
            spec.clients.or_else(|| self.plan.threads_of.get(spec.name).copied()).or(of_plan);
        fixed.or(self.plan.target.map(|_| CLIENTS_FOR_A_RATE))
    }

    /// Returns whether a search found that more clients than `workload` has do not achieve more.
    pub(super) fn is_peak(&self, workload: &dyn Workload) -> bool {
        self.fixed_clients(workload).is_none()
            && self.found.get(workload.spec().name).is_some_and(|found| found.peak)
    }

    /// Doubles the clients of `workload` on the baseline until the CPUs are in use or more clients
    /// do no more, and keeps the fewest that reach the best. The other variants do the same work
    /// after it, so that all stores continue from the same state. Returns the number of the first
    /// pass that was not begun.
    pub(super) fn find_clients(
        &mut self,
        workload: &dyn Workload,
        stores: &mut Stores,
    ) -> Result<usize, Halt> {
        let name = workload.spec().name;
        if self.fixed_clients(workload).is_some() || self.found.contains_key(name) {
            // rounds added to earlier rounds request other operations
            return Ok(self.rounds.start * PASSES_A_ROUND);
        }
        let step_s = STEP_SLICES * self.plan.slice_ms as f64 / 1e3;
        let cores = machine::cores();
        let most =
            usize::try_from(workload.operations()).unwrap_or(usize::MAX).clamp(1, CLIENTS_MOST);
        let mut steps: Vec<Step> = Vec::new();
        // thousands of operations are more than the start of their clients
        let mut rate = 1_000.0 / step_s;
        let mut clients = cores.min(most);
        let mut pass = 0;
        loop {
            self.found.insert(name, Clients { count: clients, peak: false });
            // the first length is a guess, so its step is taken again with what it showed
            for is_guess in [true, false] {
                if is_guess && !steps.is_empty() {
                    continue;
                }
                let at = part(workload.operations(), clients, rate * step_s, pass);
                pass += at.passes;
                for variant in 0..self.variants.len() {
                    self.tell_in_turn(Phase::WarmUp, name, variant);
                    let (outcome, _) = self.slice(workload, stores, variant, at)?;
                    if variant == 0 {
                        rate = outcome.operations as f64 / outcome.elapsed_s.max(1e-9);
                        let cpu_share =
                            outcome.cpu.total_s() / (outcome.elapsed_s.max(1e-9) * cores as f64);
                        if !is_guess {
                            steps.push(Step {
                                clients,
                                rate,
                                cpu_share: cpu_share.max(outcome.machine.share()),
                            });
                        }
                    }
                }
            }
            if is_over(&steps) || clients >= most {
                break;
            }
            clients = (2 * clients).min(most);
        }
        let found = chosen(&steps);
        self.found.insert(name, found);
        self.settings.insert(added_settings::clients(name), words(&steps, found));
        Ok(pass)
    }
}

/// Returns about `wanted` operations of a pass of `operations`: a part of it, or several whole
/// passes.
fn part(operations: u64, clients: usize, wanted: f64, pass: usize) -> At {
    const MOST_PASSES: f64 = 1_000.0;
    let (operations, wanted) = (operations.max(1) as f64, wanted.max(clients as f64));
    let slices = (operations / wanted).max(1.0) as usize;
    let passes =
        if slices > 1 { 1 } else { (wanted / operations).round().clamp(1.0, MOST_PASSES) as usize };
    At { pass, passes, slice: 0, slices }
}

/// Returns whether more clients cannot achieve more: the CPUs are in use, or two steps in a row
/// brought next to nothing.
fn is_over(steps: &[Step]) -> bool {
    let Some((last, before)) = steps.split_last() else { return false };
    let best_before = |steps: &[Step]| steps.iter().map(|step| step.rate).fold(0.0, f64::max);
    let brings = |before: &[Step], step: &Step| step.rate > best_before(before) / ENOUGH;
    let ended = |(one, rest): (&Step, &[Step])| {
        !rest.is_empty() && !brings(rest, one) && !brings(rest, last)
    };
    last.cpu_share >= CPU_FULL || before.split_last().is_some_and(ended)
}

/// Returns the fewest clients that reach the best rate.
fn chosen(steps: &[Step]) -> Clients {
    let best = steps.iter().map(|step| step.rate).fold(0.0, f64::max);
    let enough = steps.iter().find(|step| step.rate >= ENOUGH * best).or(steps.last());
    enough.map_or(Clients { count: 1, peak: false }, |step| Clients {
        count: step.clients,
        peak: step.cpu_share < CPU_FULL && steps.iter().any(|more| more.clients > step.clients),
    })
}

/// Returns a description of the finding, for the facts of the run.
fn words(steps: &[Step], found: Clients) -> String {
    let step = |step: &Step| {
        format!(
            "{}: {:.0} a second at {:.0} % CPU",
            step.clients,
            step.rate,
            100.0 * step.cpu_share
        )
    };
    format!(
        "{}, found by search ({})",
        found.count,
        steps.iter().map(step).collect::<Vec<_>>().join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(list: &[(usize, f64, f64)]) -> Vec<Step> {
        list.iter().map(|&(clients, rate, cpu_share)| Step { clients, rate, cpu_share }).collect()
    }

    #[test]
    fn the_search_ends_at_full_cpus_or_when_nothing_is_gained() {
        assert!(is_over(&steps(&[(2, 100.0, 0.97)])));
        assert!(
            !is_over(&steps(&[(2, 100.0, 0.6), (4, 101.0, 0.6)])),
            "one flat step may be chance"
        );
        assert!(is_over(&steps(&[(2, 100.0, 0.6), (4, 101.0, 0.6), (8, 99.0, 0.6)])));
        assert!(!is_over(&steps(&[(2, 100.0, 0.6), (4, 101.0, 0.6), (8, 140.0, 0.7)])));
        assert!(!is_over(&[]));
    }

    #[test]
    fn the_fewest_clients_that_do_the_most_are_chosen() {
        let found = |list| chosen(&steps(list));
        assert_eq!(found(&[(2, 100.0, 0.99)]), Clients { count: 2, peak: false });
        assert_eq!(found(&[(2, 100.0, 0.5), (4, 180.0, 0.97)]), Clients { count: 4, peak: false });
        // a lock: flat, with idle CPUs
        assert_eq!(
            found(&[(2, 100.0, 0.6), (4, 103.0, 0.6), (8, 99.0, 0.6)]),
            Clients { count: 2, peak: true }
        );
        // grew to the end of the search: more might do more
        assert_eq!(
            found(&[(32, 100.0, 0.3), (64, 190.0, 0.5)]),
            Clients { count: 64, peak: false }
        );
    }

    #[test]
    fn a_step_is_as_long_as_wanted() {
        let cut = |wanted| part(50_000, 8, wanted, 3);
        assert_eq!((cut(5_000.0).slices, cut(5_000.0).passes), (10, 1));
        assert_eq!((cut(200_000.0).slices, cut(200_000.0).passes), (1, 4));
        assert_eq!((cut(1.0).slices, cut(1.0).pass), (6_250, 3));
    }
}
