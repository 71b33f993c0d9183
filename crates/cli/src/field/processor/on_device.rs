//! FF1 of a file's columns on a device. The first values of each column that go there are also
//! sealed on the CPU, to check that both results agree, and to estimate the CPU's time.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use sealstone_cipher::Cipher;
use sealstone_cipher::ff1::{Domain, Tweaks};
use sealstone_fields::{FieldsError, Permutation, Permuter};
use sealstone_gpu::{Device, DeviceFf1, Error, Ff1Settings};

use crate::field::device_report::{Computed, ComputedColumn};

/// Values of a column that are computed on both.
const SAMPLE_VALUES: usize = 4096;

/// A device, and the columns that use it.
pub(crate) struct OnDevice {
    device: Device,
    columns: Mutex<Vec<Arc<Permuted>>>,
}

/// FF1 of a column over one radix.
#[derive(Debug)]
struct Permuted {
    column: String,
    ff1: DeviceFf1,
    values_min: usize,
    /// Nanoseconds that a thread of the CPU takes for a value.
    cpu_ns: OnceLock<f64>,
}

impl OnDevice {
    /// Opens the device called `name`.
    pub(super) fn open(name: &str) -> Result<Self, Error> {
        Ok(Self { device: Device::open(name)?, columns: Mutex::default() })
    }

    /// Returns what ran where so far.
    pub(super) fn computed(&self) -> Computed {
        let all = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        let mut columns: Vec<ComputedColumn> = Vec::new();
        let (mut waited_ns, mut copying_ns, mut computing_ns, mut cpu_ns) = (0, 0, 0, Some(0.0));
        for permuted in all.iter() {
            let counts = permuted.ff1.counts();
            // a column may have several radices, and a reseal seals and opens it
            let at = columns
                .iter()
                .position(|column| column.name == permuted.column)
                .unwrap_or_else(|| {
                    let name = permuted.column.clone();
                    columns.push(ComputedColumn { name, device_values: 0, cpu_values: 0 });
                    columns.len() - 1
                });
            columns[at].device_values += counts.device_values;
            columns[at].cpu_values += counts.cpu_values;
            waited_ns += counts.waited_ns;
            copying_ns += counts.copying_ns;
            computing_ns += counts.computing_ns;
            if counts.device_values > 0 {
                let of_column = permuted.cpu_ns.get().map(|ns| ns * counts.device_values as f64);
                cpu_ns = cpu_ns.zip(of_column).map(|(all, some)| all + some);
            }
        }
        Computed {
            name: self.device.facts().name.clone(),
            columns,
            waited_s: waited_ns as f64 / 1e9,
            copying_share: copying_ns as f64 / ((copying_ns + computing_ns) as f64).max(1.0),
            cpu_s: cpu_ns.filter(|ns| *ns > 0.0).map(|ns| ns / 1e9),
        }
    }
}

impl Permuter for OnDevice {
    fn permutation(
        &self,
        column: &str,
        cipher: &'static Cipher,
        key: &[u8],
        radix: u32,
        domain: Domain,
    ) -> Result<Box<dyn Permutation>, FieldsError> {
        let settings = Ff1Settings::default();
        let ff1 = self.device.ff1(cipher, key, radix, domain, settings);
        let ff1 = ff1.map_err(|error| of_device(column, error))?;
        let permuted = Arc::new(Permuted {
            column: column.to_owned(),
            ff1,
            values_min: settings.values_min,
            cpu_ns: OnceLock::new(),
        });
        self.columns.lock().unwrap_or_else(PoisonError::into_inner).push(permuted.clone());
        Ok(Box::new(Shared(permuted)))
    }
}

/// Converts `error` for a user who had a file's column computed on a device.
fn of_device(column: &str, error: Error) -> FieldsError {
    let words = match error {
        Error::Ff1(error) => return FieldsError::Ff1(error),
        Error::Lost { device, doing, reason, .. } => format!(
            "column {column}: {device} failed while {doing}: {reason}\n\
             nothing was written; run the same command again, or without --device"
        ),
        Error::OutOfMemory { device, bytes, .. } => format!(
            "column {column}: {device} has no {bytes} bytes of memory left\n\
             nothing was written; end what else uses the device, or leave --device out"
        ),
        error => return FieldsError::Permuter(Box::new(error)),
    };
    FieldsError::Permuter(words.into())
}

/// A column whose counts are read afterwards.
#[derive(Debug)]
struct Shared(Arc<Permuted>);

impl Permutation for Shared {
    fn seal_batch(
        &self,
        tweaks: Tweaks<'_>,
        numerals: &mut [u16],
        length: usize,
    ) -> Result<(), FieldsError> {
        self.0.crypt(true, tweaks, numerals, length)
    }

    fn open_batch(
        &self,
        tweaks: Tweaks<'_>,
        numerals: &mut [u16],
        length: usize,
    ) -> Result<(), FieldsError> {
        self.0.crypt(false, tweaks, numerals, length)
    }
}

impl Permuted {
    fn crypt(
        &self,
        seal: bool,
        tweaks: Tweaks<'_>,
        numerals: &mut [u16],
        length: usize,
    ) -> Result<(), FieldsError> {
        let count = numerals.len() / length;
        let goes = count >= self.values_min && self.ff1.cpu().outline(length).is_some();
        let first = &numerals[..SAMPLE_VALUES.min(count) * length];
        let sample = if goes { self.sample(seal, tweaks, first, length)? } else { None };
        match seal {
            true => self.ff1.seal_batch(tweaks, numerals, length),
            false => self.ff1.open_batch(tweaks, numerals, length),
        }
        .map_err(|error| of_device(&self.column, error))?;
        if sample.is_some_and(|sample| sample[..] != numerals[..sample.len()]) {
            let differs = format!(
                "column {}: {} computed other values than the CPU: it, its driver or its compiler \
                 is faulty\n\
                 nothing was written; leave --device out, and please report this, with the \
                 driver's version",
                self.column,
                self.ff1.device()
            );
            return Err(FieldsError::Permuter(differs.into()));
        }
        Ok(())
    }

    /// Returns the first values of the column that are given, on the CPU; none if there was a
    /// sample before.
    fn sample(
        &self,
        seal: bool,
        tweaks: Tweaks<'_>,
        numerals: &[u16],
        length: usize,
    ) -> Result<Option<Vec<u16>>, FieldsError> {
        if self.cpu_ns.get().is_some() {
            return Ok(None);
        }
        let count = numerals.len() / length;
        let (mut sample, tweaks) = (numerals.to_vec(), tweaks.of(0..count));
        let begin = Instant::now();
        match seal {
            true => self.ff1.cpu().seal_batch(tweaks, &mut sample, length)?,
            false => self.ff1.cpu().open_batch(tweaks, &mut sample, length)?,
        }
        let _ = self.cpu_ns.set(begin.elapsed().as_nanos() as f64 / count as f64);
        Ok(Some(sample))
    }
}
