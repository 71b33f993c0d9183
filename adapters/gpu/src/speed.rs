//! How fast counter mode is on a device, beside this machine's CPU: by size of the data, from memory of both, in one
//! run.
//!
//! Figures of a size are taken in turn, round after round, so that drift of the machine hits all of them. Not here:
//! how they are shown.

use std::hint::black_box;
use std::num::NonZero;
use std::thread;
use std::time::{Duration, Instant};

use sealstone_cipher::backend::Backend;
use sealstone_cipher::ctr::{Ctr, ctr};
use sealstone_cipher::registry::Cipher;

use crate::ctr::{DeviceCtr, Resident, Settings};
use crate::device::Device;
use crate::error::Error;

/// What is measured, and so a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The CPU's fastest backend, one thread.
    CpuOne,
    /// The same on all cores, each thread with a part of the data; threads are started for each call.
    CpuAll,
    /// The kernel alone: XOR of data in the device's memory with its key stream, one byte read and one written each.
    Kernel,
    /// Copied to the device, encrypted and copied back one after the other, from page-locked memory.
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

    /// The word for tables and JSON.
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

/// 10^9 bytes a second: the median of the rounds, the slowest and the fastest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// The median.
    pub gb_per_s: f64,
    /// The slowest round.
    pub gb_per_s_min: f64,
    /// The fastest round.
    pub gb_per_s_max: f64,
}

/// The speeds for one size of data, in the order of [`Way::ALL`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speeds {
    /// Bytes in one call.
    pub bytes: usize,
    /// One for each way.
    pub ways: [Speed; 6],
}

impl Speeds {
    /// The speed of `way`.
    #[must_use]
    pub fn of(&self, way: Way) -> Speed {
        self.ways[way as usize]
    }
}

/// The smallest size from which on the slowest round of `way` beats the fastest of every one of `rivals`, at that size
/// and all larger ones of `by_size` (sizes rising); none if it does not at the largest.
#[must_use]
pub fn wins_from(by_size: &[Speeds], way: Way, rivals: &[Way]) -> Option<usize> {
    let wins =
        |speeds: &&Speeds| rivals.iter().all(|rival| speeds.of(way).gb_per_s_min > speeds.of(*rival).gb_per_s_max);
    by_size.iter().rev().take_while(wins).last().map(|speeds| speeds.bytes)
}

/// Threads of [`Way::CpuAll`].
#[must_use]
pub fn cpu_threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Measures `cipher` with calls of `bytes` bytes, in `rounds` rounds in which each way runs for `slice` at least.
///
/// # Errors
/// Those of [`Device::ctr`] and of what it returns.
///
/// Source: our design. Keys are set, memory is taken and touched, and each way runs once, before the clock starts.
pub fn measure(
    device: &Device,
    cipher: &'static Cipher,
    bytes: usize,
    rounds: usize,
    slice: Duration,
) -> Result<Speeds, Error> {
    let key: Vec<u8> = (0..cipher.key_bytes).map(|i| i as u8).collect();
    let alone = Settings { lanes: 1, chunk_bytes: bytes.max(1) };
    let mut bench = Bench {
        cpu: &*ctr(cipher, &key, Backend::auto())?,
        initial: vec![0; cipher.block_bytes],
        copied: device.ctr(cipher, &key, alone)?,
        overlapped: device.ctr(cipher, &key, Settings::default())?,
        resident: None,
        locked: device.page_locked(bytes)?,
        ordinary: vec![0; bytes],
    };
    // data like any other: zeros can be quicker
    bench.cpu.apply(&bench.initial, 1 << 40, &mut bench.ordinary)?;
    bench.locked.copy_from_slice(&bench.ordinary);
    let mut resident = bench.copied.resident(&bench.initial, 0, bytes)?;
    resident.load(&bench.ordinary)?;
    bench.resident = Some(resident);

    let rates = by_turns(rounds, slice, bytes as f64 / 1e9, |way| bench.run(way))?;
    Ok(Speeds { bytes, ways: rates.map(speed) })
}

/// How much is done a second in each of `rounds` rounds, sorted, for each way; a call of `run` does `amount`.
pub(crate) fn by_turns(
    rounds: usize,
    slice: Duration,
    amount: f64,
    mut run: impl FnMut(Way) -> Result<(), Error>,
) -> Result<[Vec<f64>; 6], Error> {
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
                rates[way as usize].push(amount * f64::from(calls) / start.elapsed().as_secs_f64());
            }
        }
    }
    rates.iter_mut().for_each(|rates| rates.sort_by(f64::total_cmp));
    Ok(rates)
}

fn speed(rates: Vec<f64>) -> Speed {
    let at = |index: usize| rates.get(index).copied().unwrap_or(0.0);
    Speed { gb_per_s: at(rates.len() / 2), gb_per_s_min: at(0), gb_per_s_max: at(rates.len().saturating_sub(1)) }
}

/// The keyed ciphers and their data.
struct Bench<'a> {
    cpu: &'a dyn Ctr,
    initial: Vec<u8>,
    copied: DeviceCtr,
    overlapped: DeviceCtr,
    resident: Option<Resident>,
    locked: crate::ctr::PageLocked,
    ordinary: Vec<u8>,
}

impl Bench<'_> {
    fn run(&mut self, way: Way) -> Result<(), Error> {
        match way {
            Way::CpuOne => self.cpu.apply(&self.initial, 0, black_box(&mut self.ordinary))?,
            Way::CpuAll => self.cpu_all()?,
            Way::Kernel => self.resident.as_mut().map_or(Ok(()), Resident::apply)?,
            Way::Copied => self.copied.apply_page_locked(&self.initial, 0, &mut self.locked)?,
            Way::Overlapped => self.overlapped.apply_page_locked(&self.initial, 0, &mut self.locked)?,
            Way::Ordinary => self.overlapped.apply(&self.initial, 0, &mut self.ordinary)?,
        }
        Ok(())
    }

    fn cpu_all(&mut self) -> Result<(), Error> {
        let (cpu, initial) = (self.cpu, &self.initial);
        // parts end where pages do
        let part_bytes = self.ordinary.len().div_ceil(cpu_threads()).next_multiple_of(4096);
        thread::scope(|scope| {
            let parts = self.ordinary.chunks_mut(part_bytes).enumerate();
            let threads: Vec<_> =
                parts.map(|(i, part)| scope.spawn(move || cpu.apply(initial, (i * part_bytes) as u64, part))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("a thread that encrypts"))
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speeds(bytes: usize, cpu: f64, device: f64) -> Speeds {
        let ways = Way::ALL.map(|way| {
            let gb_per_s = if way == Way::Ordinary { device } else { cpu };
            Speed { gb_per_s, gb_per_s_min: gb_per_s * 0.9, gb_per_s_max: gb_per_s * 1.1 }
        });
        Speeds { bytes, ways }
    }

    #[test]
    fn a_device_wins_from_where_it_wins_ever_after() {
        let wins = |by_size: &[Speeds]| wins_from(by_size, Way::Ordinary, &[Way::CpuOne, Way::CpuAll]);
        assert_eq!(
            wins(&[speeds(1, 1.0, 2.0), speeds(2, 2.0, 1.0), speeds(3, 1.0, 2.0), speeds(4, 1.0, 3.0)]),
            Some(3)
        );
        assert_eq!(wins(&[speeds(1, 1.0, 2.0)]), Some(1));
        // within the spread is no win
        assert_eq!(wins(&[speeds(1, 1.0, 1.1)]), None);
        assert_eq!(wins(&[speeds(1, 1.0, 2.0), speeds(2, 1.0, 0.5)]), None);
        assert_eq!(wins(&[]), None);
    }
}
