//! Shows the progress of a comparison on stderr: a bar with the time left on a terminal, otherwise
//! an occasional line.

use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_bench::measure::progress::{Observer, Phase, Progress};

use crate::message::{safe, say};

/// Steps of the bar: a thousandth of the whole each.
const STEPS: u64 = 1000;

/// Without a bar, a new phase or workload prints a new line, and otherwise one is printed at most
/// this often.
const SILENCE: Duration = Duration::from_secs(15);

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
    /// The time at which the first point and the current point began.
    begin: Instant,
    point_begin: Instant,
    /// The largest share that was shown: estimates change, but finished work stays finished.
    share: f64,
}

impl Whole {
    fn new(now: Instant) -> Self {
        Self { points: 1, done: 0, begin: now, point_begin: now, share: 0.0 }
    }

    fn next(&mut self, done: usize, points: usize, now: Instant) {
        if done == 0 {
            self.begin = now;
        }
        (self.done, self.points, self.point_begin) = (done, points, now);
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
        let style = ProgressStyle::with_template("{bar:24} {percent:>3} %  {msg}")
            .expect("a valid template");
        bar.set_style(style);
        Self { shown: Shown::Bar(bar), whole }
    }

    /// Records that the next of `points` points is measured, of which `done` are done.
    pub(crate) fn next_point(&self, done: usize, points: usize) {
        self.whole().next(done, points, Instant::now());
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
        let (share, left_s) = self.whole().overall(progress.share, progress.left_s, Instant::now());
        let progress = &Progress { share, left_s, ..progress.clone() };
        match &self.shown {
            Shown::Quiet => {}
            Shown::Bar(bar) => {
                bar.set_position((progress.share * STEPS as f64) as u64);
                bar.set_message(safe(&describe(progress)));
            }
            Shown::Lines(line) => {
                let about = (progress.phase, progress.workload.clone(), progress.round);
                // loading reports from several threads at once; a thread that finds the lock taken
                // has nothing new to report
                let Ok(mut line) = line.try_lock() else { return };
                if line.about.as_ref() != Some(&about) || line.at.elapsed() >= SILENCE {
                    *line = Line { at: Instant::now(), about: Some(about) };
                    say(&format!("{:>3.0} %  {}", progress.share * 100.0, describe(progress)));
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

/// Returns text such as `measuring a, aes-256, round 2 of 3, 1 min 20 s left`.
fn describe(progress: &Progress) -> String {
    let round = match progress.phase {
        Phase::Prepare => return format!("preparing the data of {}", progress.workload),
        Phase::Measure => format!(", round {} of {}", progress.round + 1, progress.rounds),
        _ => String::new(),
    };
    let left = left(progress.left_s);
    format!("{} {}, {}{round}{left}", progress.phase.word(), progress.workload, progress.variant)
}

fn left(left_s: f64) -> String {
    match left_s {
        left_s if !left_s.is_finite() => String::new(),
        left_s if left_s < 60.0 => format!(", {:.0} s left", left_s.ceil()),
        left_s if left_s < 3600.0 => {
            format!(", {} min {:02} s left", left_s as u64 / 60, left_s as u64 % 60)
        }
        _ => format!(", {} h {:02} min left", left_s as u64 / 3600, left_s as u64 / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_running_and_how_long_it_takes() {
        let mut progress = Progress {
            phase: Phase::Measure,
            workload: "a".into(),
            variant: "aes-256".into(),
            round: 1,
            rounds: 3,
            done: 5,
            total: 10,
            share: 0.5,
            left_s: 80.4,
        };
        assert_eq!(describe(&progress), "measuring a, aes-256, round 2 of 3, 1 min 20 s left");
        progress.phase = Phase::Load;
        progress.left_s = 4.2;
        assert_eq!(describe(&progress), "loading a, aes-256, 5 s left");
        progress.phase = Phase::Prepare;
        assert_eq!(describe(&progress), "preparing the data of a");
        assert_eq!(left(7265.0), ", 2 h 01 min left");
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
            whole.next(point as usize, 3, at(point * 10));
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
