//! Contestants that alternate, so that other work of the machine affects all of them. It is
//! independent of ciphers.

use std::fmt;
use std::time::{Duration, Instant};

/// Works through one message, the bytes it is given.
pub type Call = dyn FnMut(&mut [u8]);

/// Something to be timed.
pub struct Contestant {
    /// The contestant's name.
    pub name: String,
    /// One message.
    pub call: Box<Call>,
}

/// Speeds of one contestant.
pub struct Speeds {
    /// Bytes a nanosecond, and so GB/s, one for each round.
    pub rounds: Vec<f64>,
}

/// Ratios of two contestants, one for each round, in order of size.
pub struct Ratio {
    sorted: Vec<f64>,
}

impl Speeds {
    /// Returns the median, in GB/s.
    pub fn median(&self) -> f64 {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    /// Computes how many times as fast as `other` it is.
    pub fn against(&self, other: &Self) -> Ratio {
        let mut sorted: Vec<f64> =
            self.rounds.iter().zip(&other.rounds).map(|(own, other)| own / other).collect();
        sorted.sort_by(f64::total_cmp);
        Ratio { sorted }
    }
}

impl Ratio {
    /// Returns the ratio that the share `quantile` (0 to 1) of the rounds is below.
    pub fn at(&self, quantile: f64) -> f64 {
        self.sorted[((self.sorted.len() - 1) as f64 * quantile).round() as usize]
    }
}

/// The median, and the range of the inner four fifths.
impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{:.2} ({:.2}-{:.2})", self.at(0.5), self.at(0.1), self.at(0.9)))
    }
}

/// Length of a contest.
#[derive(Clone, Copy, Debug)]
pub struct Contest {
    /// Number of turns of each contestant.
    pub rounds: usize,
    /// Approximate length of a turn.
    pub turn: Duration,
}

impl Contest {
    /// Times all contestants on messages of `bytes` bytes.
    pub fn time(&self, contestants: &mut [Contestant], bytes: usize) -> Vec<Speeds> {
        let mut data = vec![0x5a; bytes];
        let mut speeds: Vec<Speeds> = contestants
            .iter()
            .map(|_| Speeds { rounds: Vec::with_capacity(self.rounds) })
            .collect();
        for round in 0..self.rounds {
            for turn_number in 0..contestants.len() {
                // no contestant always follows the same other one
                let number = (turn_number + round) % contestants.len();
                let (contestant, speeds) = (&mut contestants[number], &mut speeds[number]);
                (contestant.call)(&mut data);
                let (mut calls, begin) = (0_u32, Instant::now());
                let elapsed = loop {
                    for _ in 0..4 {
                        (contestant.call)(&mut data);
                    }
                    calls += 4;
                    let elapsed = begin.elapsed();
                    if elapsed >= self.turn {
                        break elapsed;
                    }
                };
                speeds.rounds.push(bytes as f64 * f64::from(calls) / elapsed.as_nanos() as f64);
            }
        }
        speeds
    }

    /// Times `contestants`, of which the first `ours` are ours, on messages of each of `sizes`
    /// bytes, `at_once` of them in a call. Prints the median of each in GB/s, and how many times as
    /// fast our fastest is as the fastest of the others.
    pub fn print(
        &self,
        title: &str,
        sizes: &[usize],
        at_once: usize,
        ours: usize,
        mut contestants: Vec<Contestant>,
    ) {
        let by_size: Vec<Vec<Speeds>> =
            sizes.iter().map(|bytes| self.time(&mut contestants, bytes * at_once)).collect();
        println!("\n{title}");
        println!(
            "{:<18}{}",
            "bytes",
            sizes.iter().map(|bytes| format!("{bytes:>20}")).collect::<String>()
        );
        for (number, contestant) in contestants.iter().enumerate() {
            let cells: String =
                by_size.iter().map(|speeds| format!("{:>20.3}", speeds[number].median())).collect();
            println!("{:<18}{cells}", contestant.name);
        }
        if contestants.len() > ours {
            let ratios: String =
                by_size.iter().map(|speeds| format!("{:>20}", against(speeds, ours))).collect();
            println!("{:<18}{ratios}", "ratio");
        }
    }
}

/// Returns the fastest of ours against the fastest of the others.
fn against(speeds: &[Speeds], ours: usize) -> String {
    let fastest = |of: &[Speeds]| {
        let median = |at: &usize| of[*at].median();
        (0..of.len()).max_by(|a, b| median(a).total_cmp(&median(b))).expect("at least one")
    };
    let (own, rivals) = speeds.split_at(ours);
    own[fastest(own)].against(&rivals[fastest(rivals)]).to_string()
}
