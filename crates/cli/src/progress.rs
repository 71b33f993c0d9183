//! Shows the progress of a comparison on stderr: a bar with the time left on a terminal, otherwise an occasional
//! line.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_bench::progress::{Observer, Phase, Progress};

use crate::message::{safe, say};

/// Steps of the bar: a thousandth of the whole each.
const STEPS: u64 = 1000;

/// Without a bar, a new phase or workload prints a new line, and otherwise one is printed at most this often.
const SILENCE: Duration = Duration::from_secs(15);

/// Watches a comparison.
pub(crate) enum Display {
    /// `--quiet`: only what the user must read.
    Quiet,
    /// A bar.
    Bar(ProgressBar),
    /// Lines.
    Lines(Mutex<Line>),
}

/// The line printed last.
#[derive(Debug)]
pub(crate) struct Line {
    at: Instant,
    about: Option<(Phase, String, usize)>,
}

impl Display {
    /// A display that suits stderr.
    pub(crate) fn new(quiet: bool) -> Self {
        if quiet {
            return Self::Quiet;
        }
        if !std::io::stderr().is_terminal() {
            return Self::Lines(Mutex::new(Line { at: Instant::now(), about: None }));
        }
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(5));
        let style = ProgressStyle::with_template("{bar:24} {percent:>3} %  {msg}").expect("a valid template");
        bar.set_style(style);
        Self::Bar(bar)
    }

    /// Clears the bar, so that only the answer remains.
    pub(crate) fn end(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Display {
    fn progress(&self, progress: &Progress) {
        match self {
            Self::Quiet => {}
            Self::Bar(bar) => {
                bar.set_position((progress.share * STEPS as f64) as u64);
                bar.set_message(safe(&describe(progress)));
            }
            Self::Lines(line) => {
                let about = (progress.phase, progress.workload.clone(), progress.round);
                // loading reports from several threads at once; a thread that finds the lock taken has nothing new to
                // report
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
        match self {
            Self::Bar(bar) => bar.suspend(|| say(&text)),
            Self::Quiet | Self::Lines(_) => say(&text),
        }
    }
}

/// Such as `measuring a, aes-256, round 2 of 3, 1 min 20 s left`.
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
        left_s if left_s < 3600.0 => format!(", {} min {:02} s left", left_s as u64 / 60, left_s as u64 % 60),
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
}
