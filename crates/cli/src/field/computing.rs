//! What computes FF1 for a command: this machine's CPU, or the device that was asked for. Not here: how a device computes
//! (`sealstone_gpu`), and what ran where (`computed`).

#[cfg(feature = "gpu")]
mod on_device;

use sealstone_cipher::backend::Backend;
use sealstone_fields::csv::CHUNK_BYTES;
use sealstone_fields::policy::Table;
use sealstone_fields::{ColumnCipher, Keyed};

use super::computed::Computed;
use crate::flags::FieldDevice;
#[cfg(feature = "gpu")]
use on_device::OnDevice;

/// What computes FF1.
pub(super) enum Computing {
    Cpu,
    #[cfg(feature = "gpu")]
    Device(Box<OnDevice>),
}

impl Computing {
    /// What the flags say.
    ///
    /// # Errors
    /// There is no such device.
    #[cfg_attr(not(feature = "gpu"), expect(clippy::unnecessary_wraps, reason = "a device may not be there"))]
    pub(super) fn chosen(flags: &FieldDevice) -> anyhow::Result<Self> {
        #[cfg(feature = "gpu")]
        if let Some(name) = &flags.device {
            return Ok(Self::Device(Box::new(OnDevice::open(name)?)));
        }
        let FieldDevice { .. } = flags;
        Ok(Self::Cpu)
    }

    /// A cipher for each column of `table`.
    pub(super) fn ciphers(&self, table: &Table, keyed: &Keyed) -> anyhow::Result<Vec<ColumnCipher>> {
        let cipher = |column| {
            Ok(match self {
                Self::Cpu => ColumnCipher::new(table, column, keyed, Backend::auto())?,
                #[cfg(feature = "gpu")]
                Self::Device(device) => ColumnCipher::with(table, column, keyed, Backend::auto(), &**device)?,
            })
        };
        table.columns.iter().map(cipher).collect()
    }

    /// How much of a CSV file is worked on at once by a thread, in bytes: a device wants many values at a time.
    pub(super) fn chunk_bytes(&self) -> usize {
        match self {
            Self::Cpu => CHUNK_BYTES,
            #[cfg(feature = "gpu")]
            Self::Device(_) => 8 << 20,
        }
    }

    /// What ran where, if a device was asked for.
    pub(super) fn computed(&self) -> Option<Computed> {
        match self {
            Self::Cpu => None,
            #[cfg(feature = "gpu")]
            Self::Device(device) => Some(device.computed()),
        }
    }
}
