//! Block devices: a fixed number of bytes, read and written in whole sectors at any offset, many
//! requests at once.

use crate::StoreError;

/// A block device that is open. Requests go through queues of it; each client has a queue of its
/// own.
pub trait Device: Send + Sync {
    /// Returns the kind and location of the device, for errors and reports, such as `/dev/sdb` or
    /// `iscsi://10.77.0.2/iqn.2026-11.x:disk/1`.
    fn place(&self) -> &str;

    /// Its size in bytes.
    fn capacity_bytes(&self) -> u64;

    /// Offsets and lengths of requests are multiples of this many bytes.
    fn sector_bytes(&self) -> u32;

    /// Opens a queue that holds up to `depth` requests at once.
    ///
    /// # Errors
    /// A device that is gone, or that refuses another client.
    fn queue(&self, depth: usize) -> Result<Box<dyn DeviceQueue>, StoreError>;
}

/// A queue of requests to a device. When dropped it waits for the requests under way.
pub trait DeviceQueue: Send {
    /// Hands a request over, and returns without waiting for it.
    ///
    /// # Errors
    /// A request beyond the end of the device or across its sectors; more requests than the queue
    /// holds; a device that is gone. The request is lost then.
    fn submit(&mut self, request: DeviceRequest) -> Result<(), StoreError>;

    /// Waits for the first request to be done, and returns it, with the data read in its buffer.
    ///
    /// # Errors
    /// The device's error, with the offset. Also an error without a request under way.
    fn complete(&mut self) -> Result<DeviceRequest, StoreError>;

    /// Waits until everything that was written is on the medium. No request may be under way.
    ///
    /// # Errors
    /// The device's error.
    fn flush(&mut self) -> Result<(), StoreError>;
}

/// Direction in which the bytes of a request go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

impl Access {
    /// Returns the word for it: `read`, `write`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// One request.
#[derive(Debug)]
pub struct DeviceRequest {
    /// Direction in which the bytes go.
    pub access: Access,
    /// Start of the bytes on the device, in bytes.
    pub offset: u64,
    /// A number by which the caller recognises it.
    pub tag: usize,
    /// Bytes to write, or space to read into; its length is that of the request.
    pub buffer: DeviceBuffer,
}

/// Memory for a request, aligned for the strictest device.
#[derive(Debug)]
pub struct DeviceBuffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

/// To how many bytes buffers are aligned: a page, which suits direct input and output on every
/// device.
const ALIGNMENT: usize = 4_096;

impl DeviceBuffer {
    /// Returns `length` zeros.
    #[must_use]
    pub fn zeroed(length: usize) -> Self {
        let bytes = vec![0; length + ALIGNMENT];
        // moving a vector leaves its bytes where they are
        let start = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { bytes, start, length }
    }
}

impl std::ops::Deref for DeviceBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }
}

impl std::ops::DerefMut for DeviceBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

/// Checks that `request` fits a device of `capacity_bytes` in sectors of `sector_bytes`, called
/// `place`; every device makes this check first.
///
/// # Errors
/// [`StoreError::Engine`], with what does not fit.
pub fn check_request(
    request: &DeviceRequest,
    place: &str,
    capacity_bytes: u64,
    sector_bytes: u32,
) -> Result<(), StoreError> {
    let (offset, length, word) =
        (request.offset, request.buffer.len() as u64, request.access.word());
    let at = format!("cannot {word} {length} bytes at offset {offset} of {place}");
    if !offset.is_multiple_of(sector_bytes.into())
        || !length.is_multiple_of(sector_bytes.into())
        || length == 0
    {
        let step = "choose a length of blocks that is a multiple of it";
        return Err(StoreError::engine(format!(
            "{at}: its sectors have {sector_bytes} bytes\n{step}"
        )));
    }
    if offset.checked_add(length).is_none_or(|end| end > capacity_bytes) {
        let step = "work on fewer bytes, or on a larger device";
        return Err(StoreError::engine(format!("{at}: it has {capacity_bytes} bytes\n{step}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_wherever_they_go() {
        for length in [1, 512, 4_096, 65_536, 70_000] {
            let mut buffer = DeviceBuffer::zeroed(length);
            buffer[length - 1] = 7;
            let moved = Box::new([buffer]);
            assert!(
                moved[0].as_ptr().cast::<u8>().align_offset(ALIGNMENT) == 0
                    && moved[0].len() == length
            );
            assert_eq!(moved[0][length - 1], 7);
        }
    }

    #[test]
    fn requests_that_do_not_fit_are_refused() {
        let check = |offset, length| {
            let buffer = DeviceBuffer::zeroed(length);
            let request = DeviceRequest { access: Access::Write, offset, tag: 0, buffer };
            check_request(&request, "/dev/x", 8_192, 512).map_err(|error| error.to_string())
        };
        check(0, 8_192).unwrap();
        check(7_680, 512).unwrap();
        let beyond = check(7_680, 1_024).unwrap_err();
        assert!(
            beyond.starts_with(
                "cannot write 1024 bytes at offset 7680 of /dev/x: it has 8192 bytes\n"
            ),
            "{beyond}"
        );
        for (offset, length) in [(1, 512), (0, 100), (0, 0)] {
            assert!(check(offset, length).unwrap_err().contains("its sectors have 512 bytes\n"));
        }
        assert!(check(u64::MAX - 511, 512).is_err());
    }
}
