//! Progress that a running comparison reports to its observer. Draws nothing: that is the command
//! line's job.

use std::time::Instant;

use crate::study::plan::Plan;

/// Phase of the work.
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
    /// Returns the word for progress bars: `preparing`, `loading`, `warming up`, `searching`,
    /// `measuring`, `checking`.
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
    /// Current phase of the work.
    pub phase: Phase,
    /// The workload, or the data set while loading; all workloads while preparing.
    pub workload: String,
    /// Label of the variant; empty while preparing.
    pub variant: String,
    /// Round, from 0; 0 outside of measuring.
    pub round: usize,
    /// Rounds in all; none where a time or the widths of the intervals end the run.
    pub rounds: Option<usize>,
    /// Rows (loading) or slices (else) of this phase that are done.
    pub done: u64,
    /// Rows or slices in this phase.
    pub total: u64,
    /// Share of the whole comparison that is done, 0 to 1, by estimated time.
    pub share: f64,
    /// Estimated seconds until the end.
    pub left_s: f64,
    /// True if the run may end before them: once its intervals are narrow.
    pub can_end_before: bool,
    /// Width of the intervals so far.
    pub precision: Precision,
}

/// Width of the intervals of a comparison: half of it, as a share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Precision {
    /// The widest interval after the last whole load; absent as long as a ratio has none.
    pub reached: Option<f64>,
    /// The width at which the run ends, if it ends at one.
    pub wanted: Option<f64>,
}

impl Progress {
    /// Returns the progress before anything of `plan` has been done.
    #[must_use]
    pub fn preparing(plan: &Plan) -> Self {
        Self {
            phase: Phase::Prepare,
            workload: plan.workloads.join(", "),
            variant: String::new(),
            round: 0,
            rounds: plan.time_s().is_none().then_some(plan.rounds),
            done: 0,
            total: 0,
            share: 0.0,
            left_s: f64::INFINITY,
            can_end_before: plan.until.is_some(),
            precision: Precision { reached: None, wanted: plan.until },
        }
    }
}

/// Watches a comparison. Called from the thread that runs it and, while loading, from several.
pub trait Observer: Sync {
    /// Reports progress; called often, so be quick.
    fn progress(&self, progress: &Progress);

    /// Reports something that the user should read now, such as a warning, which will also be in
    /// the results.
    fn note(&self, _note: &str) {}
}

/// Watches nothing.
impl Observer for () {
    fn progress(&self, _progress: &Progress) {}
}

/// Estimates the time left: each task has an expected length, replaced by better estimates as they
/// become known.
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

    /// Returns the share of everything done, and seconds left.
    pub(crate) fn now(&self) -> (f64, f64) {
        let left_s: f64 =
            self.tasks.iter().map(|task| task.expected_s * (1.0 - task.share_done)).sum();
        let spent_s = self.begin.elapsed().as_secs_f64();
        (spent_s / (spent_s + left_s).max(1e-9), left_s)
    }
}

/// Times that the slices of one workload take on each variant: the times of the warm-up, until
/// slices of the variant are measured. All slices do the same work, so on a slow variant a slice
/// can take many times as long as on the baseline.
#[derive(Clone, Debug)]
pub(crate) struct SliceTimes {
    expected_s: Vec<f64>,
    /// Seconds and number of the measured slices.
    measured: Vec<(f64, u32)>,
    blocks: usize,
}

impl SliceTimes {
    /// Returns `blocks` slices of each variant are to come, which take `expected_s` each.
    pub(crate) fn new(expected_s: Vec<f64>, blocks: usize) -> Self {
        Self { measured: vec![(0.0, 0); expected_s.len()], expected_s, blocks }
    }

    /// Records that one slice of `variant` took `seconds`, including its overhead.
    pub(crate) fn took(&mut self, variant: usize, seconds: f64) {
        let (sum_s, count) = &mut self.measured[variant];
        (*sum_s, *count) = (*sum_s + seconds, *count + 1);
    }

    fn each_s(&self, variant: usize) -> f64 {
        match self.measured[variant] {
            (_, 0) => self.expected_s[variant],
            (sum_s, count) => sum_s / f64::from(count),
        }
    }

    /// Seconds of all of them.
    pub(crate) fn all_s(&self) -> f64 {
        self.blocks as f64
            * (0..self.expected_s.len()).map(|variant| self.each_s(variant)).sum::<f64>()
    }

    /// Returns the share of that time that is over after `blocks` whole blocks and the slices of
    /// `begun` in the next block.
    pub(crate) fn share(&self, blocks: usize, begun: &[usize]) -> f64 {
        let within: f64 = begun.iter().map(|variant| self.each_s(*variant)).sum();
        let done = blocks as f64 / self.blocks.max(1) as f64;
        done + within / self.all_s().max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// strongSwan's slices took 25 times as long as the baseline's: a run of 340 s showed 26 s from
    /// its start to its end.
    #[test]
    fn a_slow_variant_takes_the_longest_share() {
        let mut times = SliceTimes::new(vec![1.0, 25.0], 10);
        assert!((times.all_s() - 260.0).abs() < 1e-9);
        assert!((times.share(5, &[0]) - (0.5 + 1.0 / 260.0)).abs() < 1e-9);
        // measured times count for more than expected times
        times.took(1, 40.0);
        times.took(1, 60.0);
        assert!((times.all_s() - 510.0).abs() < 1e-9);
        assert!((times.share(0, &[1]) - 50.0 / 510.0).abs() < 1e-9);
        assert!((times.share(10, &[]) - 1.0).abs() < 1e-9);
    }

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
