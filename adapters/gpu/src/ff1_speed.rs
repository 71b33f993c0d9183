//! How fast FF1 is on a device, beside this machine's CPU: by number of values, under one tweak, in one run, by turns
//! as counter mode is measured (`speed`).
//!
//! Not here: how figures are shown.

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use sealstone_cipher::ff1::{Domain, Ff1, Tweaks};
use sealstone_cipher::registry::Cipher;

use crate::ctr::{PageLocked, Settings};
use crate::device::Device;
use crate::error::Error;
use crate::ff1::{DeviceFf1, Ff1Resident, Ff1Settings};
use crate::speed::{Way, by_turns, cpu_threads};

/// Numerals of the values that are measured, and their radix: the digits of a card or an account.
pub const DIGITS: usize = 16;
const RADIX: u32 = 10;
const TWEAK: &[u8] = b"accounts";

/// Values a second: the median of the rounds, the slowest and the fastest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The median.
    pub values_per_s: f64,
    /// The slowest round.
    pub values_per_s_min: f64,
    /// The fastest round.
    pub values_per_s_max: f64,
}

/// The rates for one number of values, in the order of [`Way::ALL`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Values in one call.
    pub values: usize,
    /// One for each way.
    pub ways: [Rate; 6],
}

impl Rates {
    /// The rate of `way`.
    #[must_use]
    pub fn of(&self, way: Way) -> Rate {
        self.ways[way as usize]
    }
}

/// The smallest number of values from which on the slowest round of `way` beats the fastest of every one of `rivals`,
/// at that number and all larger ones of `by_count` (numbers rising); none if it does not at the largest.
#[must_use]
pub fn wins_from(by_count: &[Rates], way: Way, rivals: &[Way]) -> Option<usize> {
    let wins =
        |rates: &&Rates| rivals.iter().all(|rival| rates.of(way).values_per_s_min > rates.of(*rival).values_per_s_max);
    by_count.iter().rev().take_while(wins).last().map(|rates| rates.values)
}

/// Measures FF1 over `cipher` with calls of `values` values, at least one, of [`DIGITS`] digits, in `rounds` rounds in
/// which each way runs for `slice` at least.
///
/// # Errors
/// Those of [`Device::ff1`] and of what it returns.
pub fn measure(
    device: &Device,
    cipher: &'static Cipher,
    values: usize,
    rounds: usize,
    slice: Duration,
) -> Result<Rates, Error> {
    let key: Vec<u8> = (0..cipher.key_bytes).map(|i| i as u8).collect();
    let settings = |lanes| Ff1Settings { lanes, values_min: 0 };
    // all in one chunk: 80 bytes a value, and what a tile may be short of
    let alone = Settings { lanes: 1, chunk_bytes: (values + 1024) * 80 };
    let ff1 = |lanes| device.ff1(cipher, &key, RADIX, Domain::Standard, settings(lanes));
    let copied = ff1(alone)?;
    let numerals: Vec<u16> = (0..values * DIGITS).map(|i| (i * 7 % 10) as u16).collect();
    let bytes: Vec<u8> = numerals.iter().flat_map(|numeral| numeral.to_le_bytes()).collect();
    let mut locked = device.page_locked(bytes.len())?;
    locked.copy_from_slice(&bytes);
    let resident = copied.resident(TWEAK, &bytes, DIGITS)?;
    let overlapped = ff1(Ff1Settings::default().lanes)?;
    let mut bench = Bench { copied, overlapped, resident, locked, ordinary: numerals };
    let rates = by_turns(rounds, slice, values as f64, |way| bench.run(way))?;
    let rate = |rates: Vec<f64>| {
        let at = |index: usize| rates.get(index).copied().unwrap_or(0.0);
        let (values_per_s, values_per_s_max) = (at(rates.len() / 2), at(rates.len().saturating_sub(1)));
        Rate { values_per_s, values_per_s_min: at(0), values_per_s_max }
    };
    Ok(Rates { values, ways: rates.map(rate) })
}

/// The keyed ciphers and their values.
struct Bench {
    copied: DeviceFf1,
    overlapped: DeviceFf1,
    resident: Ff1Resident,
    locked: PageLocked,
    ordinary: Vec<u16>,
}

impl Bench {
    fn run(&mut self, way: Way) -> Result<(), Error> {
        let tweaks = Tweaks::One(TWEAK);
        match way {
            Way::CpuOne => self.copied.cpu().seal_batch(tweaks, black_box(&mut self.ordinary), DIGITS)?,
            Way::CpuAll => cpu_all(self.copied.cpu(), &mut self.ordinary)?,
            Way::Kernel => self.resident.seal()?,
            Way::Copied => self.copied.seal_page_locked(TWEAK, &mut self.locked, DIGITS)?,
            Way::Overlapped => self.overlapped.seal_page_locked(TWEAK, &mut self.locked, DIGITS)?,
            Way::Ordinary => self.overlapped.seal_batch(tweaks, &mut self.ordinary, DIGITS)?,
        }
        Ok(())
    }
}

fn cpu_all(cpu: &Ff1, values: &mut [u16]) -> Result<(), Error> {
    let part = (values.len() / DIGITS).div_ceil(cpu_threads()) * DIGITS;
    thread::scope(|scope| {
        let seal = |part| scope.spawn(move || cpu.seal_batch(Tweaks::One(TWEAK), part, DIGITS));
        let threads: Vec<_> = values.chunks_mut(part).map(seal).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a thread that encrypts"))
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_wins_from_where_it_wins_ever_after() {
        let rates = |values: usize, cpu: f64, device: f64| {
            let ways = Way::ALL.map(|way| {
                let values_per_s = if way == Way::Ordinary { device } else { cpu };
                Rate { values_per_s, values_per_s_min: values_per_s * 0.9, values_per_s_max: values_per_s * 1.1 }
            });
            Rates { values, ways }
        };
        let by_count = [rates(1, 1.0, 2.0), rates(2, 2.0, 1.0), rates(3, 1.0, 2.0), rates(4, 1.0, 3.0)];
        assert_eq!(wins_from(&by_count, Way::Ordinary, &[Way::CpuOne, Way::CpuAll]), Some(3));
        assert_eq!(wins_from(&by_count[..2], Way::Ordinary, &[Way::CpuOne]), None);
    }
}
