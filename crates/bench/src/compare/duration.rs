//! First guesses of how long a comparison takes, before anything of it is measured: from its
//! settings and from paces of ordinary machines. Not here: better ones, from what was measured
//! (`measure::progress`), and the time of further rounds (`forecast`).

use crate::study::plan::Plan;
use crate::study::point::StudyPoint;
use crate::words::target::Target;
use crate::workload::{SizedBy, Spec, Unit};

/// Bytes of records that a store in this process, and one behind a server, take in a second.
const LOAD_BYTES_A_SECOND: [f64; 2] = [50e6, 20e6];

/// Bytes that they give back in a second, as a multiple of that.
const SCAN_OF_LOAD: f64 = 4.0;

/// Part of the time of a load that each further member adds.
const MEMBER_OF_LOAD: f64 = 1.0 / 3.0;

/// Operations that they do in a second, all clients together.
const OPERATIONS_A_SECOND: [f64; 2] = [50e3, 10e3];

/// Seconds until a server is up, and then down again.
const SERVER_S: f64 = 5.0;

/// Time of settling and of checks, as a share of the slices.
const BESIDE_SLICES: f64 = 1.2;

/// The longest of a few slices that a warm-up lasts, in seconds.
const WARM_UP_S: f64 = 2.0;

/// Guessed length of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Seconds.
    pub seconds: f64,
    /// True if it ends before, once its intervals are narrow.
    pub can_end_before: bool,
}

/// Settings and sizes from which the lengths of a point follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'a> {
    /// The settings at the point.
    pub(super) plan: &'a Plan,
    /// Number of variants.
    pub(super) variants: usize,
    /// Number of rounds.
    pub(super) rounds: usize,
    /// True if the stores are behind servers.
    pub(super) has_servers: bool,
}

/// Returns about how long `point` takes, with the usual rounds of its plan.
#[must_use]
pub fn forecast(point: &StudyPoint) -> Forecast {
    let plan = &point.plan;
    let expected = Expected {
        plan,
        variants: point.variants.len(),
        rounds: plan.rounds,
        has_servers: !point.surroundings.within_process,
    };
    let mut seconds = 0.0;
    let mut loaded: Vec<&str> = Vec::new();
    for spec in point.specs() {
        if !loaded.contains(&spec.dataset) {
            loaded.push(spec.dataset);
            let of_set = |other: &&Spec| other.dataset == spec.dataset;
            let loads_itself = point.specs().filter(of_set).any(|other| other.from_empty);
            seconds += expected.load_s(spec.sized_by, loads_itself);
        }
        seconds += expected.warm_up_s() + expected.run_s(spec);
    }
    let can_end_before = plan.until.is_some();
    Forecast { seconds: plan.time_s().unwrap_or(seconds), can_end_before }
}

impl Expected<'_> {
    /// Seconds that all loads of a data set take on all variants; `loads_itself`: whether a
    /// measured workload does that.
    pub(super) fn load_s(&self, sized_by: SizedBy, loads_itself: bool) -> f64 {
        let loads = self.rounds.div_ceil(self.plan.load_every) as f64;
        let bytes = sized_by.stored_bytes(&self.plan.data()) as f64;
        let members = self.plan.point().members as f64;
        let servers_s = if self.has_servers { SERVER_S * members } else { 0.0 };
        let load_s = match loads_itself {
            true => 0.0,
            false => bytes / self.bytes_a_second() * (1.0 + MEMBER_OF_LOAD * (members - 1.0)),
        };
        loads * self.variants as f64 * (load_s + servers_s)
    }

    /// Seconds of the warm-up of a workload on all variants.
    pub(super) fn warm_up_s(&self) -> f64 {
        warm_up_s(self.plan) * self.variants as f64
    }

    /// Seconds that all slices of a workload take: in each round as many as there are pairs, and at
    /// least one pass.
    pub(super) fn run_s(&self, spec: &Spec) -> f64 {
        let slice_s = self.plan.slice_ms as f64 / 1e3;
        let slices_s =
            self.plan.pairs as f64 * if spec.from_empty || spec.cold { 2.0 } else { 1.0 } * slice_s;
        let pass_s = match spec.unit {
            Unit::Bytes => {
                let pace = if spec.from_empty { 1.0 } else { SCAN_OF_LOAD };
                let bytes = spec.sized_by.stored_bytes(&self.plan.data()) as f64;
                bytes / (pace * self.bytes_a_second()).min(self.link_bytes_a_second())
            }
            Unit::Operations => self.plan.operations as f64 / self.operations_a_second(),
        };
        self.rounds as f64 * self.variants as f64 * slices_s.max(pass_s) * BESIDE_SLICES
    }

    fn bytes_a_second(&self) -> f64 {
        LOAD_BYTES_A_SECOND[usize::from(self.has_servers)].min(self.link_bytes_a_second())
    }

    fn link_bytes_a_second(&self) -> f64 {
        self.plan.point().link_mbit_s().map_or(f64::INFINITY, |rate| rate * 1e6 / 8.0)
    }

    fn operations_a_second(&self) -> f64 {
        let usual = OPERATIONS_A_SECOND[usize::from(self.has_servers)];
        self.plan.target.and_then(Target::rate).unwrap_or(usual).max(1e-3)
    }
}

/// Returns the length of a variant's warm-up, in seconds: a few slices, or fewer if they are long.
pub(super) fn warm_up_s(plan: &Plan) -> f64 {
    let slice_s = plan.slice_ms as f64 / 1e3;
    (4.0 * slice_s).min(slice_s.max(WARM_UP_S))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::workload;

    fn run_s(plan: &Plan, name: &str) -> f64 {
        let expected = Expected { plan, variants: 2, rounds: plan.rounds, has_servers: false };
        expected.run_s(workload(name).unwrap())
    }

    #[test]
    fn more_rounds_and_longer_slices_take_longer() {
        let plan = Plan { rounds: 2, pairs: 6, slice_ms: 100, operations: 10, ..Plan::default() };
        assert!((run_s(&plan, "a") - 2.0 * 2.0 * 0.6 * BESIDE_SLICES).abs() < 1e-9);
        let longer = Plan { slice_ms: 200, ..plan.clone() };
        assert!((run_s(&longer, "a") / run_s(&plan, "a") - 2.0).abs() < 1e-9);
        // a pass is done whole, however short slices are
        let passes = Plan { operations: 5_000_000, ..plan.clone() };
        assert!((run_s(&passes, "a") - 2.0 * 2.0 * 100.0 * BESIDE_SLICES).abs() < 1e-9);
        let slow = Plan { target: Some(Target::Rate(10.0)), ..plan.clone() };
        assert!(run_s(&slow, "a") > run_s(&plan, "a"));
        assert!(run_s(&plan, "batch-load") > 2.0 * run_s(&plan, "batch-scan"));
        let load = |rounds, loads_itself| {
            let expected = Expected { plan: &plan, variants: 2, rounds, has_servers: false };
            expected.load_s(SizedBy::Bytes, loads_itself)
        };
        assert!((load(4, false) / load(2, false) - 2.0).abs() < 1e-9 && load(4, true) == 0.0);
        assert!(warm_up_s(&plan) <= 0.4 && warm_up_s(&Plan { slice_ms: 9_000, ..plan }) <= 9.0);
    }
}
