//! A block device in memory, for tests: it can be made to return wrong data. Not here: records in
//! memory (`memory`).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::StoreError;
use crate::device::{Access, Device, DeviceQueue, DeviceRequest, check_request};

/// Bytes of a sector.
const SECTOR_BYTES: u32 = 512;

/// Contents of a device in memory, and the requests it has served.
#[derive(Debug, Default)]
pub struct Medium {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Every request, in the order in which they were done: which way, offset, length.
    pub done: Vec<(Access, u64, usize)>,
    /// Most requests that were under way at once.
    pub deepest: usize,
    /// Writes that are acknowledged and forgotten, by their number from 0.
    pub lost: Vec<usize>,
    writes: usize,
}

/// A block device in memory. Clones share its contents.
#[derive(Clone, Debug)]
pub struct MemoryDevice {
    medium: Arc<Mutex<Medium>>,
    capacity_bytes: u64,
}

impl MemoryDevice {
    /// Returns a device of `capacity_bytes` zeros.
    #[must_use]
    pub fn new(capacity_bytes: usize) -> Self {
        let medium = Medium { bytes: vec![0; capacity_bytes], ..Medium::default() };
        Self { medium: Arc::new(Mutex::new(medium)), capacity_bytes: capacity_bytes as u64 }
    }

    /// Returns the contents of the device, to inspect and to damage.
    pub fn medium(&self) -> MutexGuard<'_, Medium> {
        self.medium.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device for MemoryDevice {
    fn place(&self) -> &str {
        "memory"
    }

    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn sector_bytes(&self) -> u32 {
        SECTOR_BYTES
    }

    fn queue(&self, depth: usize) -> Result<Box<dyn DeviceQueue>, StoreError> {
        Ok(Box::new(Queue { device: self.clone(), depth, waiting: VecDeque::new() }))
    }
}

struct Queue {
    device: MemoryDevice,
    depth: usize,
    waiting: VecDeque<DeviceRequest>,
}

impl DeviceQueue for Queue {
    fn submit(&mut self, request: DeviceRequest) -> Result<(), StoreError> {
        check_request(&request, self.device.place(), self.device.capacity_bytes, SECTOR_BYTES)?;
        if self.waiting.len() == self.depth {
            return Err(StoreError::engine(format!(
                "the queue holds {} requests already",
                self.depth
            )));
        }
        self.waiting.push_back(request);
        let mut medium = self.device.medium();
        medium.deepest = medium.deepest.max(self.waiting.len());
        Ok(())
    }

    fn complete(&mut self) -> Result<DeviceRequest, StoreError> {
        let mut request = self
            .waiting
            .pop_front()
            .ok_or_else(|| StoreError::engine("no request is under way"))?;
        let medium = &mut *self.device.medium();
        let (from, length) = (request.offset as usize, request.buffer.len());
        match request.access {
            Access::Read => request.buffer.copy_from_slice(&medium.bytes[from..from + length]),
            Access::Write => {
                if !medium.lost.contains(&medium.writes) {
                    medium.bytes[from..from + length].copy_from_slice(&request.buffer);
                }
                medium.writes += 1;
            }
        }
        medium.done.push((request.access, request.offset, length));
        Ok(request)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::DeviceBuffer;

    #[test]
    fn what_is_written_is_read_again_in_order() {
        let device = MemoryDevice::new(4_096);
        let mut queue = device.queue(2).unwrap();
        let mut buffer = DeviceBuffer::zeroed(512);
        buffer.fill(9);
        queue.submit(DeviceRequest { access: Access::Write, offset: 512, tag: 4, buffer }).unwrap();
        let buffer = DeviceBuffer::zeroed(1_024);
        queue.submit(DeviceRequest { access: Access::Read, offset: 0, tag: 5, buffer }).unwrap();
        let buffer = DeviceBuffer::zeroed(512);
        let full = queue.submit(DeviceRequest { access: Access::Read, offset: 0, tag: 6, buffer });
        assert_eq!(full.unwrap_err().to_string(), "the queue holds 2 requests already");
        assert_eq!(queue.complete().unwrap().tag, 4);
        let read = queue.complete().unwrap();
        assert!(read.tag == 5 && read.buffer[..512] == [0; 512] && read.buffer[512..] == [9; 512]);
        assert!(queue.complete().is_err() && device.medium().deepest == 2);
    }
}
