//! Memory that begins at addresses which direct I/O takes.

use std::ops::{Deref, DerefMut};

/// Alignment of memory, offsets and lengths that direct I/O requires, in bytes: no disk and no file
/// system that this runs on requires more.
pub(crate) const ALIGNMENT: usize = 4096;

/// Bytes that begin at a multiple of [`ALIGNMENT`].
#[derive(Debug)]
pub(crate) struct Aligned {
    memory: Vec<u8>,
    begin: usize,
    bytes: usize,
}

impl Aligned {
    /// Returns `bytes` zeros.
    pub(crate) fn new(bytes: usize) -> Self {
        let memory = vec![0; bytes + ALIGNMENT];
        let begin = memory.as_ptr().align_offset(ALIGNMENT);
        Self { memory, begin, bytes }
    }
}

impl Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.begin..self.begin + self.bytes]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin..self.begin + self.bytes]
    }
}
