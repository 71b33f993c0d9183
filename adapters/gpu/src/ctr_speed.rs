//! Speed of counter mode on a device, compared with this machine's CPU (`speed`): bytes a second by
//! size of the data, from the memory of each.

use std::hint::black_box;
use std::time::Duration;

use sealstone_cipher::{Backend, Cipher, Ctr, ctr};

use crate::ctr::{DeviceCtr, PageLocked, Resident, Settings};
use crate::device::Device;
use crate::error::Error;
use crate::speed::{Rates, Way, by_turns, cpu_threads, on_all_cores};

/// Measures `cipher` with calls of `bytes` bytes, in `rounds` rounds in which each way runs for
/// `slice` at least.
///
/// # Errors
/// Errors of [`Device::ctr`] and of its result.
///
/// Source: our design. Keys are set, memory is taken and touched, and each way runs once, before
/// the clock starts.
pub fn measure(
    device: &Device,
    cipher: &'static Cipher,
    bytes: usize,
    rounds: usize,
    slice: Duration,
) -> Result<Rates, Error> {
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

    by_turns(rounds, slice, bytes, |way| bench.run(way))
}

/// The keyed ciphers and their data.
struct Bench<'a> {
    cpu: &'a dyn Ctr,
    initial: Vec<u8>,
    copied: DeviceCtr,
    overlapped: DeviceCtr,
    resident: Option<Resident>,
    locked: PageLocked,
    ordinary: Vec<u8>,
}

impl Bench<'_> {
    fn run(&mut self, way: Way) -> Result<(), Error> {
        match way {
            Way::CpuOne => self.cpu.apply(&self.initial, 0, black_box(&mut self.ordinary))?,
            Way::CpuAll => self.cpu_all()?,
            Way::Kernel => self.resident.as_mut().map_or(Ok(()), Resident::apply)?,
            Way::Copied => self.copied.apply_page_locked(&self.initial, 0, &mut self.locked)?,
            Way::Overlapped => {
                self.overlapped.apply_page_locked(&self.initial, 0, &mut self.locked)?
            }
            Way::Ordinary => self.overlapped.apply(&self.initial, 0, &mut self.ordinary)?,
        }
        Ok(())
    }

    fn cpu_all(&mut self) -> Result<(), Error> {
        let (cpu, initial) = (self.cpu, &self.initial);
        // parts end where pages do
        let part_bytes = self.ordinary.len().div_ceil(cpu_threads()).next_multiple_of(4096);
        let parts = self.ordinary.chunks_mut(part_bytes);
        on_all_cores(parts, |i, part| cpu.apply(initial, (i * part_bytes) as u64, part))
    }
}
