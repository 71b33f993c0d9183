//! Shows the progress of a comparison on stderr: a bar with the time left on a terminal, otherwise
//! an occasional line.

use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_bench::measure::{Observer, Phase, Precision, Progress};
use sealstone_bench::words::percent;

use crate::message::{safe, say};

/// Steps of the bar: a thousandth of the whole each.
const STEPS: u64 = 1000;

/// Without a bar, a new phase or workload prints a new line, and otherwise one is printed at most
/// this often.
const SILENCE: Duration = Duration::from_secs(15);

/// Half width of an interval, as a share, from which a figure means nothing.
const WIDE: f64 = 1.0;

/// Watches a comparison, of one point of its axes after the other.
pub(crate) struct Display {
    shown: Shown,
    whole: Mutex<Whole>,
}

/// Form in which progress is shown.
enum Shown {
    /// `--quiet`: only what the user must read.
    Quiet,
    /// A bar.
    Bar(ProgressBar),
    /// Lines.
    Lines(Mutex<Line>),
}

/// The line printed last.
#[derive(Debug)]
struct Line {
    at: Instant,
    about: Option<(Phase, String, usize)>,
}

/// Progress of all points together.
#[derive(Debug)]
struct Whole {
    points: usize,
    done: usize,
    /// The current point, in words; empty if there is only one.
    place: String,
    /// The time at which the first point and the current point began.
    begin: Instant,
    point_begin: Instant,
    /// The largest share that was shown: estimates change, but finished work stays finished.
    share: f64,
}

impl Whole {
    fn new(now: Instant) -> Self {
        Self { points: 1, done: 0, place: String::new(), begin: now, point_begin: now, share: 0.0 }
    }

    fn next(&mut self, done: usize, points: usize, place: &str, now: Instant) {
        if done == 0 {
            self.begin = now;
        }
        (self.done, self.points, self.point_begin) = (done, points, now);
        self.place = place.to_owned();
    }

    /// Returns text such as `point 2 of 6 (8 clients)`; none for a single point.
    fn point(&self) -> Option<String> {
        if self.points < 2 {
            return None;
        }
        let place =
            if self.place.is_empty() { String::new() } else { format!(" ({})", self.place) };
        Some(format!("point {} of {}{place}", self.done + 1, self.points))
    }

    /// `share` and `left_s` of one point for all points; the remaining points are assumed to take
    /// as long as the points so far.
    fn overall(&mut self, share: f64, left_s: f64, now: Instant) -> (f64, f64) {
        let this_s = now.duration_since(self.point_begin).as_secs_f64() + left_s;
        let before_s = self.point_begin.duration_since(self.begin).as_secs_f64();
        let each_s = (before_s + this_s) / (self.done + 1) as f64;
        let to_come = self.points.saturating_sub(self.done + 1) as f64;
        let overall = (self.done as f64 + share.clamp(0.0, 1.0)) / self.points as f64;
        self.share = self.share.max(overall);
        (self.share, left_s + to_come * each_s)
    }
}

impl Display {
    /// Returns a display that suits stderr.
    pub(crate) fn new(quiet: bool) -> Self {
        let whole = Mutex::new(Whole::new(Instant::now()));
        if quiet {
            return Self { shown: Shown::Quiet, whole };
        }
        if !std::io::stderr().is_terminal() {
            return Self {
                shown: Shown::Lines(Mutex::new(Line { at: Instant::now(), about: None })),
                whole,
            };
        }
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(5));
        // what is longer than the line is cut, and never wraps
        let style = ProgressStyle::with_template("{bar:20} {percent:>3} %  {prefix}\n{wide_msg}")
            .expect("a valid template");
        bar.set_style(style);
        Self { shown: Shown::Bar(bar), whole }
    }

    /// Records that the next of `points` points is measured, of which `done` are done; `place`: its
    /// position on the axes in words, if it is not the only one.
    pub(crate) fn next_point(&self, done: usize, points: usize, place: &str) {
        self.whole().next(done, points, place, Instant::now());
    }

    fn whole(&self) -> MutexGuard<'_, Whole> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clears the bar, so that only the answer remains.
    pub(crate) fn end(&self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Display {
    fn progress(&self, progress: &Progress) {
        let now = Instant::now();
        let (times, point, share) = {
            let mut whole = self.whole();
            let (share, left_s) = whole.overall(progress.share, progress.left_s, now);
            let elapsed_s = now.duration_since(whole.begin).as_secs_f64();
            (times(elapsed_s, left_s, progress.can_end_before), whole.point(), share)
        };
        match &self.shown {
            Shown::Quiet => {}
            Shown::Bar(bar) => {
                bar.set_position((share * STEPS as f64) as u64);
                bar.set_prefix(safe(&joined([Some(times), point])));
                bar.set_message(safe(&describe(progress)));
            }
            Shown::Lines(line) => {
                let about = (progress.phase, progress.workload.clone(), progress.round);
                // loading reports from several threads at once; a thread that finds the lock taken
                // has nothing new to report
                let Ok(mut line) = line.try_lock() else { return };
                if line.about.as_ref() != Some(&about) || line.at.elapsed() >= SILENCE {
                    *line = Line { at: Instant::now(), about: Some(about) };
                    let text = joined([Some(times), point, Some(describe(progress))]);
                    say(&format!("{:>3.0} %  {text}", share * 100.0));
                }
            }
        }
    }

    fn note(&self, note: &str) {
        let text = format!("note: {note}");
        match &self.shown {
            Shown::Bar(bar) => bar.suspend(|| say(&text)),
            Shown::Quiet | Shown::Lines(_) => say(&text),
        }
    }
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Returns text such as `measuring a, aes-256, round 2 of 3; widest interval ± 3.1 %, wanted
/// ± 2 %`.
fn describe(progress: &Progress) -> String {
    let round = match (progress.phase, progress.rounds) {
        (Phase::Prepare, _) => return format!("preparing the data of {}", progress.workload),
        (Phase::Measure, Some(rounds)) => format!(", round {} of {rounds}", progress.round + 1),
        (Phase::Measure, None) => format!(", round {}", progress.round + 1),
        _ => String::new(),
    };
    let doing =
        format!("{} {}, {}{round}", progress.phase.word(), progress.workload, progress.variant);
    joined([Some(doing), precision(progress.precision)])
}

/// Returns how wide the intervals are, and are to be; none before the first load is over, unless
/// they decide about the end.
fn precision(precision: Precision) -> Option<String> {
    let words = |share: f64| match share {
        share if share > WIDE => format!("more than ± {:.0} %", WIDE * 100.0),
        share => format!("± {:.1} %", share * 100.0),
    };
    let reached = precision.reached.map(words);
    match (reached, precision.wanted) {
        (Some(reached), Some(wanted)) => {
            Some(format!("widest interval {reached}, wanted ± {} %", percent(wanted)))
        }
        (Some(reached), None) => Some(format!("widest interval {reached}")),
        (None, Some(wanted)) => {
            Some(format!("no interval for every figure yet, wanted ± {} %", percent(wanted)))
        }
        (None, None) => None,
    }
}

/// Returns text such as `14 s so far, 1 min 20 s left`.
fn times(elapsed_s: f64, left_s: f64, can_end_before: bool) -> String {
    let so_far = format!("{} so far", duration(elapsed_s));
    let bound = if can_end_before { "at most " } else { "" };
    match left_s.is_finite() {
        true => format!("{so_far}, {bound}{} left", duration(left_s.ceil())),
        false => so_far,
    }
}

fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 60.0 => format!("{seconds:.0} s"),
        seconds if seconds < 3600.0 => {
            format!("{} min {:02} s", seconds as u64 / 60, seconds as u64 % 60)
        }
        seconds => format!("{} h {:02} min", seconds as u64 / 3600, seconds as u64 / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_running_and_how_far_it_is() {
        let mut progress = Progress {
            phase: Phase::Measure,
            workload: "a".into(),
            variant: "aes-256".into(),
            round: 1,
            rounds: Some(3),
            done: 5,
            total: 10,
            share: 0.5,
            left_s: 80.4,
            can_end_before: false,
            precision: Precision { reached: None, wanted: None },
        };
        assert_eq!(describe(&progress), "measuring a, aes-256, round 2 of 3");
        progress.rounds = None;
        progress.precision = Precision { reached: Some(0.0312), wanted: Some(0.02) };
        assert_eq!(
            describe(&progress),
            "measuring a, aes-256, round 2; widest interval ± 3.1 %, wanted ± 2 %"
        );
        progress.phase = Phase::Load;
        progress.precision = Precision { reached: Some(0.004), wanted: None };
        assert_eq!(describe(&progress), "loading a, aes-256; widest interval ± 0.4 %");
        progress.precision = Precision { reached: Some(69.0), wanted: None };
        assert!(describe(&progress).ends_with("; widest interval more than ± 100 %"));
        progress.precision = Precision { reached: None, wanted: Some(0.005) };
        assert_eq!(
            describe(&progress),
            "loading a, aes-256; no interval for every figure yet, wanted ± 0.5 %"
        );
        progress.phase = Phase::Prepare;
        assert_eq!(describe(&progress), "preparing the data of a");
        assert_eq!(times(14.4, 79.2, false), "14 s so far, 1 min 20 s left");
        assert_eq!(times(61.0, 7_265.0, true), "1 min 01 s so far, at most 2 h 01 min left");
        assert_eq!(times(2.0, f64::INFINITY, false), "2 s so far");
    }

    #[test]
    fn one_of_several_points_is_named() {
        let now = Instant::now();
        let mut whole = Whole::new(now);
        assert_eq!(whole.point(), None);
        whole.next(1, 6, "3 members, 8 clients", now);
        assert_eq!(whole.point().unwrap(), "point 2 of 6 (3 members, 8 clients)");
    }

    /// An estimate may grow, and each of several points begins at zero: progress shown as done
    /// stays so.
    #[test]
    fn progress_never_runs_backwards() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut whole = Whole::new(begin);
        let mut shown = Vec::new();
        let mut last = 0.0;
        for point in 0..3_u64 {
            whole.next(point as usize, 3, "", at(point * 10));
            for (second, share) in [(0, 0.0), (2, 0.4), (4, 0.2), (9, 0.9), (9, f64::NAN)] {
                let (share, left_s) =
                    whole.overall(share, 10.0 - second as f64, at(point * 10 + second));
                assert!(share >= last, "{share} after {last}");
                last = share;
                shown.push(left_s.round() as u64);
            }
        }
        assert!((last - 2.9 / 3.0).abs() < 1e-9, "{last}");
        assert_eq!(shown[..4], [30, 28, 26, 21]);
        assert_eq!(shown[5..7], [20, 18]);
        assert_eq!(shown[10], 10);
    }
}
