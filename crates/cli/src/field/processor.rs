//! Choice of the processor that computes FF1 for a command: this machine's CPU, or the requested
//! device. Not here: computing on a device (`sealstone_gpu`), and the report (`device_report`).

#[cfg(feature = "gpu")]
mod on_device;

use sealstone_cipher::Backend;
use sealstone_fields::policy::Table;
use sealstone_fields::{ColumnCipher, Keyed};
use sealstone_files::AtOnce;

use super::device_report::Computed;
use crate::flags::FieldDevice;
#[cfg(feature = "gpu")]
use on_device::OnDevice;

/// Processor that computes FF1.
pub(super) enum Computing {
    Cpu,
    #[cfg(feature = "gpu")]
    Device(Box<OnDevice>),
}

impl Computing {
    /// Returns the choice made by the flags.
    ///
    /// # Errors
    /// The device does not exist.
    pub(super) fn chosen(flags: &FieldDevice) -> anyhow::Result<Self> {
        #[cfg(feature = "gpu")]
        if let Some(name) = &flags.device {
            return Ok(Self::Device(Box::new(OnDevice::open(name)?)));
        }
        let FieldDevice { .. } = flags;
        Ok(Self::Cpu)
    }

    /// Returns a cipher for each column of `table`.
    pub(super) fn ciphers(
        &self,
        table: &Table,
        keyed: &Keyed,
    ) -> anyhow::Result<Vec<ColumnCipher>> {
        let cipher = |column| {
            Ok(match self {
                Self::Cpu => ColumnCipher::new(table, column, keyed, Backend::auto())?,
                #[cfg(feature = "gpu")]
                Self::Device(device) => {
                    ColumnCipher::with(table, column, keyed, Backend::auto(), &**device)?
                }
            })
        };
        table.columns.iter().map(cipher).collect()
    }

    /// Returns the amount that a thread works on at once: a device needs many values at a time.
    pub(super) fn at_once(&self) -> AtOnce {
        let cpu = AtOnce::default();
        match self {
            Self::Cpu => cpu,
            #[cfg(feature = "gpu")]
            Self::Device(_) => {
                AtOnce { csv_bytes: 8 * cpu.csv_bytes, parquet_rows: 32 * cpu.parquet_rows, ..cpu }
            }
        }
    }

    /// Returns what ran where, if a device was requested.
    pub(super) fn computed(&self) -> Option<Computed> {
        match self {
            Self::Cpu => None,
            #[cfg(feature = "gpu")]
            Self::Device(device) => Some(device.computed()),
        }
    }
}
