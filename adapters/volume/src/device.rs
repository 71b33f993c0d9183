//! A block device as a kernel sees one: what a front serves.

use std::io;

/// A device of fixed blocks, used by many threads at once.
///
/// Every offset and length is in bytes and within the device, and may begin and end anywhere; a
/// request of at most one mebibyte is one request, and after a crash wholly there or not at all.
pub trait Device: Send + Sync + 'static {
    /// Returns the size, in bytes: a multiple of [`Device::block_bytes`].
    fn size_bytes(&self) -> u64;

    /// Returns the length of a block, in bytes: requests that begin and end with blocks are the
    /// quickest.
    fn block_bytes(&self) -> u32;

    /// Reads the bytes at `offset` into all of `out`.
    ///
    /// # Errors
    /// `out` then holds nothing that was read.
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Writes `data` at `offset`. It is durable after the next [`Device::flush`].
    ///
    /// # Errors
    /// Nothing of `data` was written, so far as a reader can tell.
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// Makes everything durable whose write returned before this call.
    ///
    /// # Errors
    /// From then on every write and flush fails: what the last ones were promised is unknown.
    fn flush(&self) -> io::Result<()>;

    /// Makes `bytes` at `offset` zeros, and returns their space where whole blocks are concerned.
    ///
    /// # Errors
    /// As [`Device::write`].
    fn discard(&self, offset: u64, bytes: u64) -> io::Result<()>;

    /// Returns the state, for the operator.
    fn status(&self) -> String;

    /// Obeys a command of the operator.
    ///
    /// # Errors
    /// It was not obeyed.
    fn command(&self, text: &str) -> io::Result<()>;
}
