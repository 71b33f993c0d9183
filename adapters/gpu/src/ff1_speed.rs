//! Speed of FF1 on a device, compared with this machine's CPU (`speed`): values a second by number
//! of values, under a single tweak.

use std::hint::black_box;
use std::time::Duration;

use sealstone_cipher::Cipher;
use sealstone_cipher::ff1::{Domain, Ff1, Tweaks};

use crate::ctr::{PageLocked, Settings};
use crate::device::Device;
use crate::error::Error;
use crate::ff1::{DeviceFf1, Ff1Resident, Ff1Settings};
use crate::speed::{Rates, Way, by_turns, cpu_threads, on_all_cores};

/// Numerals of the values that are measured, and their radix: the digits of a card or an account.
pub const DIGITS: usize = 16;
const RADIX: u32 = 10;
const TWEAK: &[u8] = b"accounts";

/// Measures FF1 over `cipher` with calls of `values` values, at least one, of [`DIGITS`] digits, in
/// `rounds` rounds in which each way runs for `slice` at least.
///
/// # Errors
/// Errors of [`Device::ff1`] and of its result.
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
    by_turns(rounds, slice, values, |way| bench.run(way))
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
            Way::CpuOne => {
                self.copied.cpu().seal_batch(tweaks, black_box(&mut self.ordinary), DIGITS)?
            }
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
    on_all_cores(values.chunks_mut(part), |_, part| {
        cpu.seal_batch(Tweaks::One(TWEAK), part, DIGITS)
    })
}
