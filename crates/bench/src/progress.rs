//! What a running comparison reports to its observer. Draws nothing: that is the command line's job.

use std::time::Instant;

use crate::plan::Plan;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reading or computing the data of the workloads.
    Prepare,
    /// Writing a data set into a store.
    Load,
    /// Filling caches and finding out how fast the machine is; not counted.
    WarmUp,
    /// Looking for the highest rate that can be sustained.
    Search,
    /// Measuring.
    Measure,
    /// Checking that the stores hold what the workloads left in them.
    Check,
}

impl Phase {
    /// The word for progress bars: `preparing`, `loading`, `warming up`, `searching`, `measuring`, `checking`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Prepare => "preparing",
            Self::Load => "loading",
            Self::WarmUp => "warming up",
            Self::Search => "searching",
            Self::Measure => "measuring",
            Self::Check => "checking",
        }
    }
}

/// The progress of a comparison.
#[derive(Clone, Debug)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// The workload, or the data set while loading; all workloads while preparing.
    pub workload: String,
    /// Label of the variant; empty while preparing.
    pub variant: String,
    /// Round, from 0; 0 outside of measuring.
    pub round: usize,
    /// Rounds in all.
    pub rounds: usize,
    /// Rows (loading) or slices (else) of this phase that are done.
    pub done: u64,
    /// Rows or slices in this phase.
    pub total: u64,
    /// Share of the whole comparison that is done, 0 to 1, by estimated time.
    pub share: f64,
    /// Estimated seconds until the end.
    pub left_s: f64,
}

impl Progress {
    /// Before anything of `plan` has been done.
    #[must_use]
    pub fn preparing(plan: &Plan) -> Self {
        Self {
            phase: Phase::Prepare,
            workload: plan.workloads.join(", "),
            variant: String::new(),
            round: 0,
            rounds: plan.rounds,
            done: 0,
            total: 0,
            share: 0.0,
            left_s: f64::INFINITY,
        }
    }
}

/// Watches a comparison. Called from the thread that runs it and, while loading, from several.
pub trait Observer: Sync {
    /// Something went on; called often, so be quick.
    fn progress(&self, progress: &Progress);

    /// Something the user should read now, such as a warning, which will also be in the results.
    fn note(&self, _note: &str) {}
}

/// Watches nothing.
impl Observer for () {
    fn progress(&self, _progress: &Progress) {}
}

/// Estimates the time left: each task has an expected length, replaced by better ones as they become known.
#[derive(Debug)]
pub(crate) struct Estimate {
    begin: Instant,
    tasks: Vec<Task>,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    expected_s: f64,
    share_done: f64,
}

impl Estimate {
    pub(crate) fn new() -> Self {
        Self { begin: Instant::now(), tasks: Vec::new() }
    }

    /// Adds a task that is expected to take `expected_s` seconds, and returns its number.
    pub(crate) fn add(&mut self, expected_s: f64) -> usize {
        self.tasks.push(Task { expected_s, share_done: 0.0 });
        self.tasks.len() - 1
    }

    /// Replaces the expectation for `task`.
    pub(crate) fn expect(&mut self, task: usize, expected_s: f64) {
        self.tasks[task].expected_s = expected_s;
    }

    /// Reports what share of `task` is done.
    pub(crate) fn done(&mut self, task: usize, share: f64) {
        self.tasks[task].share_done = share.clamp(0.0, 1.0);
    }

    /// Share of everything done, and seconds left.
    pub(crate) fn now(&self) -> (f64, f64) {
        let left_s: f64 = self.tasks.iter().map(|task| task.expected_s * (1.0 - task.share_done)).sum();
        let spent_s = self.begin.elapsed().as_secs_f64();
        (spent_s / (spent_s + left_s).max(1e-9), left_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_what_is_not_done() {
        let mut estimate = Estimate::new();
        let (load, measure) = (estimate.add(10.0), estimate.add(100.0));
        assert!((estimate.now().1 - 110.0).abs() < 1e-9);
        estimate.done(load, 1.0);
        estimate.expect(measure, 50.0);
        estimate.done(measure, 0.5);
        let (share, left_s) = estimate.now();
        assert!((left_s - 25.0).abs() < 1e-9 && (0.0..0.1).contains(&share));
        estimate.done(measure, 2.0);
        assert_eq!(estimate.now(), (1.0, 0.0));
    }
}
