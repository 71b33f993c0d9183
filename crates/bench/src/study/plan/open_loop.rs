//! The settings of an open loop, and the length of its passes.

use sealstone_message::SettingName;

use super::{CLIENTS_FOR_A_RATE, Plan, PlanError, value};
use crate::words::target::Target;
use crate::words::verdict::REQUESTS_P99;
use crate::workload::{self, Unit};

impl Plan {
    /// Checks the settings of an open loop.
    pub(super) fn check_target(&self) -> Result<(), PlanError> {
        match (self.target, self.p99) {
            (None | Some(Target::Rate(_)), Some(limit)) => {
                let reason = format!(
                    "a limit is for finding the highest rate under it: add {}, or leave it out",
                    SettingName("target max")
                );
                return Err(value("p99", limit, &reason));
            }
            (None, None) => return Ok(()),
            (Some(Target::Max), None) => {
                let reason = format!(
                    "it needs the latency to stay under, such as {}",
                    SettingName("p99 10ms")
                );
                return Err(value("target", "max", &reason));
            }
            (Some(Target::Max), Some(limit)) if !(1.0..=60e6).contains(&limit.limit_us) => {
                return Err(value("p99", limit, "a limit on latency is between 1us and 1m"));
            }
            (Some(Target::Rate(rate)), None) if !(rate.is_finite() && rate > 0.0) => {
                let reason = "operations a second must be a number above 0; leave it out to run as \
                              fast as possible";
                return Err(value("target", rate, reason));
            }
            _ => {}
        }
        if let Some(store) = &self.against {
            let reason = "it compares throughputs, which a target sets: leave out one of the two";
            return Err(value("against", store, reason));
        }
        for name in &self.workloads {
            let spec = self.workload(name)?;
            let own = self.own_workloads.iter().find(|own| own.name == spec.base);
            if own.is_some_and(workload::Definition::pauses) {
                let reason = "requests are due at the rate of the target, and nobody pauses: leave \
                              out its [think-time]";
                return Err(value("workloads", name, reason));
            }
            if spec.unit == Unit::Bytes {
                let reason = "requests are due at the rate of the target, and a batch has none: \
                              leave it out";
                return Err(value("workloads", name, reason));
            }
        }
        Ok(())
    }

    /// Operations of one pass. In an open loop a pass takes as long as the rate makes it, so it is
    /// as long as the percentiles need it to be, and at most `operations`.
    pub(super) fn pass_operations(&self) -> u64 {
        /// Requests of all rounds together, twice what a 99th percentile needs.
        const REQUESTS: f64 = 2.0 * REQUESTS_P99 as f64;
        /// Longest pass, in seconds.
        const LONGEST_S: f64 = 20.0;
        let Some(rate) = self.target.and_then(Target::rate) else {
            return self.operations_over_link();
        };
        let most = self.threads.iter().copied().max().unwrap_or(CLIENTS_FOR_A_RATE);
        let of = |name: &String| {
            let fixed = self.workload(name).ok().and_then(|spec| spec.clients);
            fixed.or_else(|| self.threads_of.get(name).copied()).unwrap_or(most)
        };
        let clients = self.workloads.iter().map(of).max().unwrap_or(1);
        let each_slice = f64::max(clients as f64, rate * self.slice_ms as f64 / 1e3);
        let wanted = f64::min(REQUESTS / self.rounds as f64, rate * LONGEST_S);
        self.operations.min(f64::max(wanted, self.pairs as f64 * each_slice).ceil() as u64)
    }
}
