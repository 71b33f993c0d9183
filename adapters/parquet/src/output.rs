//! Output of a pass: the current position, and the MAC.

use std::io::Write;

use sealstone_fields::FileMac;

use crate::error::ParquetError;

/// The file that is being written.
pub(crate) struct Out<'a> {
    inner: &'a mut dyn Write,
    mac: Option<&'a mut FileMac>,
    position: u64,
}

impl<'a> Out<'a> {
    pub(crate) fn new(inner: &'a mut dyn Write, mac: Option<&'a mut FileMac>) -> Self {
        Self { inner, mac, position: 0 }
    }

    /// Returns the position of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), ParquetError> {
        if let Some(mac) = &mut self.mac {
            mac.update(bytes);
        }
        self.position += bytes.len() as u64;
        self.inner.write_all(bytes).map_err(ParquetError::Write)
    }

    pub(crate) fn flush(&mut self) -> Result<(), ParquetError> {
        self.inner.flush().map_err(ParquetError::Write)
    }
}
