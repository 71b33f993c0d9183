//! Speed of a device compared with this machine's CPU: the ways to do the same work, measured
//! alternately, round after round, so that drift of the machine affects all of them.
//!
//! Not here: the measured work (`ctr_speed`, `ff1_speed`).

use std::num::NonZero;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;

/// Way of doing the work that is measured, and so a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The CPU's fastest backend, one thread.
    CpuOne,
    /// The same on all cores, each thread with a part of the data; threads are started for each
    /// call.
    CpuAll,
    /// The kernel alone: the data are read from the device's memory, and written to it.
    Kernel,
    /// Copied to the device, encrypted and copied back one after the other, from page-locked
    /// memory.
    Copied,
    /// The same in chunks, so that copying in, computing and copying out overlap.
    Overlapped,
    /// Overlapped, from and to ordinary memory, by way of page-locked memory.
    Ordinary,
}

impl Way {
    /// All, in the order in which to show them.
    pub const ALL: [Self; 6] =
        [Self::CpuOne, Self::CpuAll, Self::Kernel, Self::Copied, Self::Overlapped, Self::Ordinary];

    /// Returns the word for tables and JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::CpuOne => "cpu 1",
            Self::CpuAll => "cpu all",
            Self::Kernel => "kernel",
            Self::Copied => "copied",
            Self::Overlapped => "overlapped",
            Self::Ordinary => "any memory",
        }
    }
}

/// Amount done a second, in bytes or in values: the median of the rounds, the slowest and the
/// fastest.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rate {
    /// The median.
    pub per_s: f64,
    /// The slowest round.
    pub per_s_min: f64,
    /// The fastest round.
    pub per_s_max: f64,
}

impl Rate {
    fn of(mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        let at = |index: usize| rounds.get(index).copied().unwrap_or(0.0);
        Self {
            per_s: at(rounds.len() / 2),
            per_s_min: at(0),
            per_s_max: at(rounds.len().saturating_sub(1)),
        }
    }
}

/// The rates for one amount of work, in the order of [`Way::ALL`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rates {
    /// Amount of work in a single call, in bytes or in values.
    pub amount: usize,
    /// One for each way.
    pub ways: [Rate; 6],
}

impl Rates {
    /// Returns the rate of `way`.
    #[must_use]
    pub fn of(&self, way: Way) -> Rate {
        self.ways[way as usize]
    }
}

/// Returns the smallest amount from which on the slowest round of `way` beats the fastest of every
/// one of `rivals`, at that amount and all larger amounts of `by_amount` (amounts rising); none if
/// it does not at the largest.
#[must_use]
pub fn wins_from(by_amount: &[Rates], way: Way, rivals: &[Way]) -> Option<usize> {
    let wins = |rates: &&Rates| {
        rivals.iter().all(|rival| rates.of(way).per_s_min > rates.of(*rival).per_s_max)
    };
    by_amount.iter().rev().take_while(wins).last().map(|rates| rates.amount)
}

/// Threads of [`Way::CpuAll`].
#[must_use]
pub fn cpu_threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs `work` on each of `parts`, in its own thread, with the number of the part.
pub(crate) fn on_all_cores<'a, T: Send + 'a, E: Into<Error> + Send + 'static>(
    parts: impl Iterator<Item = &'a mut [T]>,
    work: impl Fn(usize, &mut [T]) -> Result<(), E> + Sync,
) -> Result<(), Error> {
    let work = &work;
    let done = thread::scope(|scope| {
        let threads: Vec<_> =
            parts.enumerate().map(|(i, part)| scope.spawn(move || work(i, part))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a thread that encrypts"))
    });
    done.map_err(Into::into)
}

/// Returns the rates of `rounds` rounds in which each way runs for `slice` at least; a call of
/// `run` does `amount`. Each way runs once before the clock starts.
pub(crate) fn by_turns(
    rounds: usize,
    slice: Duration,
    amount: usize,
    mut run: impl FnMut(Way) -> Result<(), Error>,
) -> Result<Rates, Error> {
    let mut rates = [const { Vec::new() }; 6];
    for round in 0..=rounds {
        for way in Way::ALL {
            let (start, mut calls) = (Instant::now(), 0);
            loop {
                run(way)?;
                calls += 1;
                if round == 0 || start.elapsed() >= slice {
                    break;
                }
            }
            if round > 0 {
                rates[way as usize]
                    .push(amount as f64 * f64::from(calls) / start.elapsed().as_secs_f64());
            }
        }
    }
    Ok(Rates { amount, ways: rates.map(Rate::of) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(amount: usize, cpu: f64, device: f64) -> Rates {
        let ways = Way::ALL.map(|way| {
            let per_s = if way == Way::Ordinary { device } else { cpu };
            Rate { per_s, per_s_min: per_s * 0.9, per_s_max: per_s * 1.1 }
        });
        Rates { amount, ways }
    }

    #[test]
    fn a_device_wins_from_where_it_wins_ever_after() {
        let wins =
            |by_amount: &[Rates]| wins_from(by_amount, Way::Ordinary, &[Way::CpuOne, Way::CpuAll]);
        assert_eq!(
            wins(&[rates(1, 1.0, 2.0), rates(2, 2.0, 1.0), rates(3, 1.0, 2.0), rates(4, 1.0, 3.0)]),
            Some(3)
        );
        assert_eq!(wins(&[rates(1, 1.0, 2.0)]), Some(1));
        // within the spread is no win
        assert_eq!(wins(&[rates(1, 1.0, 1.1)]), None);
        assert_eq!(wins(&[rates(1, 1.0, 2.0), rates(2, 1.0, 0.5)]), None);
        assert_eq!(wins(&[]), None);
    }

    #[test]
    fn a_rate_is_the_median_of_its_rounds() {
        let rate = Rate::of(vec![3.0, 1.0, 7.0]);
        assert_eq!((rate.per_s, rate.per_s_min, rate.per_s_max), (3.0, 1.0, 7.0));
    }
}
