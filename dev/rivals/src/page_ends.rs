//! Cost of a call where its buffer ends with a page and the next page is untouched or inaccessible:
//! against the same call elsewhere, length by length. Page buffers of engines end like this, and a
//! load or store that reaches beyond them, however masked, sends the CPU into microcode.
//! Independent of ciphers.

use std::io;
use std::time::Instant;

use sealstone_cipher::testing::{Behind, PageEnd};

use crate::contest::Call;

/// Distance from a page's end at which a buffer elsewhere ends, in bytes: within the page, and as
/// well aligned.
const GAP_BYTES: usize = 2048;
/// Calls that are timed together.
const CALLS: u32 = 16;
/// The ratio that no call should exceed; calls that seem to are measured again.
pub const LIMIT: f64 = 1.2;

/// The ratios of all lengths: time at the page's end against time elsewhere.
pub struct Ratios {
    /// Length in bytes and ratio, in order of the ratio.
    sorted: Vec<(usize, f64)>,
}

impl Ratios {
    /// Returns the ratio that the share `quantile` (0 to 1) of the lengths is below, and the length
    /// that has it.
    pub fn at(&self, quantile: f64) -> (usize, f64) {
        self.sorted[((self.sorted.len() - 1) as f64 * quantile).round() as usize]
    }

    /// Returns the number of lengths that exceed [`LIMIT`].
    pub fn over(&self) -> usize {
        self.sorted.iter().filter(|(_, ratio)| *ratio > LIMIT).count()
    }
}

/// Times `call` on every length of `lengths`, in `rounds` rounds a length, both places alternately.
///
/// The fastest rounds are compared: an effect of the end of a page occurs in each of them.
///
/// # Errors
/// The operating system's error where it has no memory.
pub fn measure(
    call: &mut Call,
    behind: Behind,
    lengths: impl Iterator<Item = usize>,
    rounds: usize,
) -> io::Result<Ratios> {
    let lengths: Vec<usize> = lengths.collect();
    let room = lengths.iter().max().copied().unwrap_or(0) + GAP_BYTES;
    let (mut end, mut elsewhere) =
        (PageEnd::new(room, behind)?, PageEnd::new(room, Behind::Touched)?);
    let mut sorted: Vec<(usize, f64)> = Vec::with_capacity(lengths.len());
    for bytes in lengths {
        let mut ratio = f64::INFINITY;
        for again in 0..4 {
            let (end, elsewhere) =
                (end.before_end(bytes, 0), elsewhere.before_end(bytes, GAP_BYTES));
            ratio = ratio.min(fastest_ratio(call, end, elsewhere, rounds << again));
            if ratio <= LIMIT {
                break;
            }
        }
        sorted.push((bytes, ratio));
    }
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    Ok(Ratios { sorted })
}

fn fastest_ratio(call: &mut Call, end: &mut [u8], elsewhere: &mut [u8], rounds: usize) -> f64 {
    let (mut at_end, mut other) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..rounds {
        at_end = at_end.min(turn_ns(call, end));
        other = other.min(turn_ns(call, elsewhere));
    }
    at_end / other
}

fn turn_ns(call: &mut Call, data: &mut [u8]) -> f64 {
    call(data);
    let begin = Instant::now();
    for _ in 0..CALLS {
        call(data);
    }
    begin.elapsed().as_nanos() as f64
}
