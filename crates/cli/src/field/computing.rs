//! What computes FF1 for a command: this machine's CPU, or the device that was asked for. Not here: how a device
//! computes (`sealstone_gpu`), and what ran where (`computed`).

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

/// How much of a file is worked on at once by a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtOnce {
    /// Bytes of a CSV file.
    pub(super) csv_bytes: usize,
    /// Rows of a column of a Parquet file.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "for a kind of file that is not built in"))]
    pub(super) parquet_rows: usize,
}

/// Rows of a Parquet file that the CPU works on at once.
#[cfg(feature = "parquet")]
const BATCH_ROWS: usize = sealstone_parquet::BATCH_ROWS;
#[cfg(not(feature = "parquet"))]
const BATCH_ROWS: usize = 0;

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

    /// How much a thread works on at once: a device wants many values at a time.
    pub(super) fn at_once(&self) -> AtOnce {
        match self {
            Self::Cpu => AtOnce { csv_bytes: CHUNK_BYTES, parquet_rows: BATCH_ROWS },
            #[cfg(feature = "gpu")]
            Self::Device(_) => AtOnce { csv_bytes: 8 * CHUNK_BYTES, parquet_rows: 32 * BATCH_ROWS },
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
