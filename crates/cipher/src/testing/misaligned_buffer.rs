//! A buffer that begins at a chosen distance from an aligned address.
//!
//! Not here: buffers at the end of a page (`arch::page_end`).

/// A buffer that begins `offset` bytes after an aligned address and is fenced: writes outside
/// `data` are seen.
pub(super) struct Misaligned {
    memory: Vec<u8>,
    start: usize,
    count: usize,
}

impl Misaligned {
    const FENCE: u8 = 0xa5;
    const ALIGN_BYTES: usize = 64;

    pub(super) fn new(data: &[u8], offset: usize) -> Self {
        let mut memory = vec![Self::FENCE; data.len() + 3 * Self::ALIGN_BYTES];
        let start =
            memory.as_ptr().align_offset(Self::ALIGN_BYTES) + Self::ALIGN_BYTES / 2 + offset;
        memory[start..start + data.len()].copy_from_slice(data);
        Self { memory, start, count: data.len() }
    }

    pub(super) fn data(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.count]
    }

    pub(super) fn shared(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.count]
    }

    pub(super) fn check_fence(&self, what: &str) {
        let outside =
            self.memory[..self.start].iter().chain(&self.memory[self.start + self.count..]);
        assert!(
            outside.into_iter().all(|byte| *byte == Self::FENCE),
            "{what}: wrote outside its buffer"
        );
    }
}
