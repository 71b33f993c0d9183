//! Contestants in turn, so that whatever else the machine does affects all of them. Knows nothing about ciphers.

use std::time::{Duration, Instant};

/// Works through one message, the bytes it is given.
pub type Call = dyn FnMut(&mut [u8]);

/// Something to be timed.
pub struct Contestant {
    /// Whose it is.
    pub name: String,
    /// One message.
    pub call: Box<Call>,
}

/// Speeds of one contestant.
pub struct Speeds {
    /// Bytes a nanosecond, and so GB/s, one for each round.
    pub rounds: Vec<f64>,
}

/// Of each round the ratio of two contestants, in order of size.
pub struct Ratio {
    sorted: Vec<f64>,
}

impl Speeds {
    /// The median, in GB/s.
    pub fn median(&self) -> f64 {
        let mut sorted = self.rounds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }

    /// How many times as fast as `other`.
    pub fn against(&self, other: &Self) -> Ratio {
        let mut sorted: Vec<f64> = self.rounds.iter().zip(&other.rounds).map(|(own, other)| own / other).collect();
        sorted.sort_by(f64::total_cmp);
        Ratio { sorted }
    }
}

impl Ratio {
    /// The ratio that the share `quantile` (0 to 1) of the rounds is below.
    pub fn at(&self, quantile: f64) -> f64 {
        self.sorted[((self.sorted.len() - 1) as f64 * quantile).round() as usize]
    }
}

/// Times all contestants on messages of `bytes` bytes: `rounds` rounds, each contestant about `turn` long in each.
pub fn time(contestants: &mut [Contestant], bytes: usize, rounds: usize, turn: Duration) -> Vec<Speeds> {
    let mut data = vec![0x5a; bytes];
    let mut speeds: Vec<Speeds> = contestants.iter().map(|_| Speeds { rounds: Vec::with_capacity(rounds) }).collect();
    for round in 0..rounds {
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
                if elapsed >= turn {
                    break elapsed;
                }
            };
            speeds.rounds.push(bytes as f64 * f64::from(calls) / elapsed.as_nanos() as f64);
        }
    }
    speeds
}
