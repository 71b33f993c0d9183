//! A sealed volume as a device: what fails is reported to whoever runs it, and to the kernel as a
//! number.

use std::io;
use std::sync::Arc;

use crate::device::Device;
use crate::error::Failure;
use crate::volume::Volume;

/// A volume whose failures are reported.
pub struct Served {
    volume: Arc<Volume>,
    report: Box<dyn Fn(&Failure) + Send + Sync>,
}

impl Served {
    /// Returns `volume` as a device.
    ///
    /// - `report`: gets every failure, since the kernel is told a number alone
    #[must_use]
    pub fn new(volume: Arc<Volume>, report: Box<dyn Fn(&Failure) + Send + Sync>) -> Self {
        Self { volume, report }
    }

    fn told(&self, result: Result<(), Failure>) -> io::Result<()> {
        result.map_err(|failure| {
            (self.report)(&failure);
            io::Error::from_raw_os_error(failure.errno())
        })
    }
}

impl Device for Served {
    fn size_bytes(&self) -> u64 {
        self.volume.size_bytes()
    }

    fn block_bytes(&self) -> u32 {
        self.volume.block_bytes()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.told(self.volume.read(offset, out))
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.told(self.volume.write(offset, data))
    }

    fn flush(&self) -> io::Result<()> {
        self.told(self.volume.flush())
    }

    fn discard(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.told(self.volume.discard(offset, bytes))
    }
}
