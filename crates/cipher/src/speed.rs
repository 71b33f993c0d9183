//! Speed of a cipher on this machine, with one thread and data in cache. For `sealstone
//! ciphers --speed` and anyone who has to choose a cipher.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::aead::{Aead, aead};
use crate::arch::tsc;
use crate::ctr::{Ctr, ctr};
use crate::error::Error;
use crate::facts::Cipher;
use crate::memory::Protected;
use crate::provider::Provider;

/// Buffer lengths in bytes worth a column: fields, log records, packets, and pages.
pub const BUFFER_BYTES: [usize; 6] = [16, 64, 256, 1024, 4096, 16384];

/// Returns the time stamp counter of the CPU, where it has one that programs may read (x86-64):
/// ticks at a fixed rate.
#[inline]
#[must_use]
pub fn ticks() -> Option<u64> {
    tsc::ticks()
}

/// Work that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Encrypt and authenticate, with 16 bytes of associated data.
    Seal,
    /// Authenticate and decrypt, with 16 bytes of associated data.
    Open,
    /// Counter mode alone.
    Ctr,
}

impl Work {
    /// Returns the word for flags and tables: `seal`, `open`, `ctr`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Seal => "seal",
            Self::Open => "open",
            Self::Ctr => "ctr",
        }
    }
}

/// One measured speed. Figures are medians over `repetitions`; the key was set before, and its cost
/// is reported separately.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Speed {
    /// Bytes in one call.
    pub buffer_bytes: usize,
    /// The backend in use.
    pub backend: &'static str,
    /// 10^9 bytes a second.
    pub gb_per_s: f64,
    /// The slowest repetition.
    pub gb_per_s_min: f64,
    /// The fastest repetition.
    pub gb_per_s_max: f64,
    /// Ticks of the CPU's reference clock (its time stamp counter) a byte; none where the CPU has
    /// no such counter, and for empty buffers.
    pub cycles_per_byte: Option<f64>,
    /// One call, in nanoseconds.
    pub ns_per_call: f64,
    /// Setting a key and dropping it again, in nanoseconds.
    pub ns_key_setup: f64,
    /// Repetitions behind each median.
    pub repetitions: usize,
    /// Calls in all repetitions together.
    pub calls: u64,
}

/// Repetitions behind a median: odd, so that one of them is it.
const REPETITIONS: usize = 9;

/// Measures `work` of `cipher` by `provider`, calls of `buffer_bytes` each, for at least `min_time`
/// in all (its repetitions together; setting keys takes a third more). Nothing is kept or printed.
///
/// # Errors
/// `Error::MessageTooLong` where the cipher does not take `buffer_bytes` in one message.
///
/// Source: our design. A warm-up, then nine repetitions of equal length, each over a batch of
/// buffers that fits in the second-level cache; data changed by opening is restored outside the
/// timed part.
pub fn measure(
    cipher: &'static Cipher,
    provider: impl Into<Provider>,
    work: Work,
    buffer_bytes: usize,
    min_time: Duration,
) -> Result<Speed, Error> {
    let provider = provider.into();
    let (found, limit) = (buffer_bytes as u64, cipher.limits.message_bytes);
    if found > limit {
        return Err(Error::MessageTooLong { found, limit });
    }
    let key: Vec<u8> = (0..cipher.key_bytes).map(|i| i as u8).collect();
    let mut bench = Bench::new(cipher, provider, work, buffer_bytes, &key)?;
    let slice = min_time / REPETITIONS as u32;
    bench.repetition(slice / 2)?;
    let mut lots = Vec::with_capacity(REPETITIONS);
    for _ in 0..REPETITIONS {
        lots.push(bench.repetition(slice)?);
    }
    let setups = (0..REPETITIONS)
        .map(|_| key_setup(cipher, provider, work, &key, slice / 3))
        .collect::<Result<_, _>>()?;

    let per_call: Vec<f64> = lots.iter().map(|lot| lot.seconds / lot.calls as f64).collect();
    let gb_per_s = |seconds_per_call: f64| buffer_bytes as f64 / seconds_per_call / 1e9;
    let cycles: Option<Vec<f64>> = lots
        .iter()
        .map(|lot| lot.ticks.map(|ticks| ticks as f64 / lot.calls as f64 / buffer_bytes as f64))
        .collect();
    let cycles = cycles.filter(|_| buffer_bytes > 0);
    let slowest = per_call.iter().copied().fold(0.0, f64::max);
    let fastest = per_call.iter().copied().fold(f64::INFINITY, f64::min);
    let typical = median(per_call);
    Ok(Speed {
        buffer_bytes,
        backend: bench.keyed.backend(),
        gb_per_s: gb_per_s(typical),
        gb_per_s_min: gb_per_s(slowest),
        gb_per_s_max: gb_per_s(fastest),
        cycles_per_byte: cycles.map(median),
        ns_per_call: typical * 1e9,
        ns_key_setup: median(setups),
        repetitions: REPETITIONS,
        calls: lots.iter().map(|lot| lot.calls).sum(),
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Nanoseconds to set a key and drop it, over as many as fit in `time`.
fn key_setup(
    cipher: &'static Cipher,
    provider: Provider,
    work: Work,
    key: &[u8],
    time: Duration,
) -> Result<f64, Error> {
    let start = Instant::now();
    let mut keys = 0_u64;
    loop {
        for _ in 0..8 {
            match work {
                Work::Ctr => drop(black_box(ctr(cipher, black_box(key), provider)?)),
                Work::Seal | Work::Open => drop(black_box(aead(cipher, black_box(key), provider)?)),
            }
        }
        keys += 8;
        let elapsed = start.elapsed();
        if elapsed >= time {
            return Ok(elapsed.as_secs_f64() * 1e9 / keys as f64);
        }
    }
}

/// The clock over one repetition.
#[derive(Default)]
struct Lot {
    seconds: f64,
    ticks: Option<u64>,
    calls: u64,
}

/// The keyed cipher and its buffers.
struct Bench {
    keyed: Keyed,
    buffer_bytes: usize,
    batch: Vec<u8>,
    tags: Vec<[u8; 16]>,
    nonce: u64,
}

enum Keyed {
    Seal(Protected<dyn Aead>),
    Open(Protected<dyn Aead>),
    Ctr(Protected<dyn Ctr>),
}

impl Keyed {
    fn backend(&self) -> &'static str {
        match self {
            Self::Seal(aead) | Self::Open(aead) => aead.backend(),
            Self::Ctr(ctr) => ctr.backend(),
        }
    }
}

const ASSOCIATED: [u8; 16] = [0x5a; 16];

/// Bytes in a batch, where one buffer is not longer than that.
const BATCH_BYTES: usize = 64 << 10;

impl Bench {
    fn new(
        cipher: &'static Cipher,
        provider: Provider,
        work: Work,
        buffer_bytes: usize,
        key: &[u8],
    ) -> Result<Self, Error> {
        let keyed = match work {
            Work::Seal => Keyed::Seal(aead(cipher, key, provider)?),
            Work::Open => Keyed::Open(aead(cipher, key, provider)?),
            Work::Ctr => Keyed::Ctr(ctr(cipher, key, provider)?),
        };
        let buffers = (BATCH_BYTES / buffer_bytes.max(16)).max(1);
        Ok(Self {
            keyed,
            buffer_bytes,
            batch: vec![0; buffers * buffer_bytes],
            tags: vec![[0; 16]; buffers],
            nonce: 0,
        })
    }

    /// Runs batches for `time` on the clock, and at least one.
    fn repetition(&mut self, time: Duration) -> Result<Lot, Error> {
        let mut lot = Lot { ticks: tsc::ticks().map(|_| 0), ..Lot::default() };
        while lot.calls == 0 || lot.seconds < time.as_secs_f64() {
            self.prepare()?;
            let (start, ticks) = (Instant::now(), tsc::ticks());
            self.run()?;
            lot.seconds += start.elapsed().as_secs_f64();
            let passed = tsc::ticks().zip(ticks).map(|(end, start)| end.wrapping_sub(start));
            lot.ticks = lot.ticks.zip(passed).map(|(sum, passed)| sum + passed);
            lot.calls += self.tags.len() as u64;
        }
        Ok(lot)
    }

    /// Moves on to fresh nonces, and makes what opening needs.
    fn prepare(&mut self) -> Result<(), Error> {
        // The first counter blocks of two messages stay further apart than any message is long.
        self.nonce = self.nonce.wrapping_add((self.tags.len() as u64) << 32);
        let Keyed::Open(aead) = &self.keyed else { return Ok(()) };
        let nonces = Nonces { first: self.nonce, bytes: aead.nonce_bytes() };
        for (i, (buffer, tag)) in
            buffers(&mut self.batch, self.buffer_bytes).zip(&mut self.tags).enumerate()
        {
            *tag = aead.seal(nonces.get(i, &mut [0; 16]), &ASSOCIATED, buffer)?;
        }
        Ok(())
    }

    /// Makes one call for each buffer of the batch.
    fn run(&mut self) -> Result<(), Error> {
        let pairs = buffers(&mut self.batch, self.buffer_bytes).zip(&mut self.tags).enumerate();
        match &self.keyed {
            Keyed::Seal(aead) => {
                let nonces = Nonces { first: self.nonce, bytes: aead.nonce_bytes() };
                for (i, (buffer, tag)) in pairs {
                    *tag =
                        aead.seal(nonces.get(i, &mut [0; 16]), &ASSOCIATED, black_box(buffer))?;
                }
            }
            Keyed::Open(aead) => {
                let nonces = Nonces { first: self.nonce, bytes: aead.nonce_bytes() };
                for (i, (buffer, tag)) in pairs {
                    aead.open(nonces.get(i, &mut [0; 16]), &ASSOCIATED, black_box(buffer), tag)?;
                }
            }
            Keyed::Ctr(ctr) => {
                let nonces = Nonces { first: self.nonce, bytes: ctr.block_bytes() };
                for (i, (buffer, _)) in pairs {
                    ctr.apply(nonces.get(i, &mut [0; 16]), 0, black_box(buffer))?;
                }
            }
        }
        black_box(&self.batch);
        Ok(())
    }
}

/// Returns the buffers of a batch; empty buffers are also as many as the tags.
fn buffers(batch: &mut [u8], buffer_bytes: usize) -> impl Iterator<Item = &mut [u8]> {
    let mut rest = batch;
    std::iter::from_fn(move || {
        let (buffer, after) = std::mem::take(&mut rest).split_at_mut_checked(buffer_bytes)?;
        rest = after;
        Some(buffer)
    })
}

/// The nonces of a batch.
struct Nonces {
    first: u64,
    bytes: usize,
}

impl Nonces {
    fn get<'a>(&self, i: usize, memory: &'a mut [u8; 16]) -> &'a [u8] {
        memory[..8].copy_from_slice(&self.first.wrapping_add((i as u64) << 32).to_be_bytes());
        &memory[..self.bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::registry::{cipher, ciphers};

    #[test]
    fn every_cipher_has_a_speed_at_every_work() {
        for cipher in ciphers() {
            for backend in Backend::available() {
                for work in [Work::Seal, Work::Open, Work::Ctr] {
                    let speed =
                        measure(cipher, backend, work, 256, Duration::from_micros(900)).unwrap();
                    let what =
                        format!("{} {} {}: {speed:?}", cipher.name, backend.name(), work.word());
                    assert!(
                        speed.gb_per_s_min <= speed.gb_per_s
                            && speed.gb_per_s <= speed.gb_per_s_max,
                        "{what}"
                    );
                    assert!(speed.gb_per_s_min > 0.0 && speed.gb_per_s_max.is_finite(), "{what}");
                    assert!(speed.ns_key_setup > 0.0 && speed.calls >= 9, "{what}");
                    assert_eq!(
                        speed.cycles_per_byte.is_some(),
                        cfg!(target_arch = "x86_64"),
                        "{what}"
                    );
                    // the two figures agree
                    let again = 256.0 / speed.ns_per_call;
                    assert!((again / speed.gb_per_s - 1.0).abs() < 1e-9, "{what}");
                }
            }
        }
    }

    #[test]
    fn messages_the_cipher_does_not_take_are_refused() {
        let limit = 8 << 20;
        let result = measure(
            cipher("3des").unwrap(),
            Backend::auto(),
            Work::Seal,
            limit + 1,
            Duration::ZERO,
        );
        assert_eq!(
            result,
            Err(Error::MessageTooLong { found: limit as u64 + 1, limit: limit as u64 })
        );
    }

    #[test]
    fn empty_messages_have_a_price_too() {
        let speed = measure(
            cipher("aes-128").unwrap(),
            Backend::auto(),
            Work::Seal,
            0,
            Duration::from_micros(90),
        );
        let speed = speed.unwrap();
        assert!(speed.ns_per_call > 0.0);
        assert_eq!(speed.gb_per_s, 0.0);
        assert_eq!(speed.cycles_per_byte, None);
    }
}
