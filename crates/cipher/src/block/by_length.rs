//! One cipher of eight bytes in two forms: the first is quick for few blocks; the second takes many
//! at once and costs the same for a whole batch and for a part of it.

use crate::memory::Protected;
use crate::mode::BlockCipher;
use crate::mode::{Counter64, counter_mode};

/// Both forms under one key.
pub(super) struct ByLength<T: ?Sized> {
    pub(super) short: Protected<T>,
    pub(super) long: Protected<T>,
    /// Number of bytes that the long form takes at once.
    pub(super) batch_bytes: usize,
    /// From how many bytes on a part of a batch is worth a whole one.
    pub(super) worth_bytes: usize,
}

impl<T: ?Sized> ByLength<T> {
    /// Returns how many of `bytes` bytes go to the long form.
    fn long_bytes(&self, bytes: usize) -> usize {
        let rest = bytes % self.batch_bytes;
        if rest < self.worth_bytes { bytes - rest } else { bytes }
    }
}

impl Counter64 for ByLength<dyn Counter64> {
    fn xor_keystream64(&self, counter: u64, data: &mut [u8]) {
        let (long, short) = data.split_at_mut(self.long_bytes(data.len()));
        if !long.is_empty() {
            self.long.xor_keystream64(counter, long);
        }
        if !short.is_empty() {
            self.short.xor_keystream64(counter.wrapping_add(long.len() as u64 / 8), short);
        }
    }
}

counter_mode!(64, [] ByLength<dyn Counter64>, |cipher| cipher.long.backend());

impl BlockCipher<8> for ByLength<dyn BlockCipher<8>> {
    fn backend(&self) -> &'static str {
        self.long.backend()
    }

    fn encrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        let (long, short) = blocks.split_at_mut(self.long_bytes(8 * blocks.len()) / 8);
        if !long.is_empty() {
            self.long.encrypt_blocks(long);
        }
        if !short.is_empty() {
            self.short.encrypt_blocks(short);
        }
    }

    fn decrypt_blocks(&self, blocks: &mut [[u8; 8]]) {
        let (long, short) = blocks.split_at_mut(self.long_bytes(8 * blocks.len()) / 8);
        if !long.is_empty() {
            self.long.decrypt_blocks(long);
        }
        if !short.is_empty() {
            self.short.decrypt_blocks(short);
        }
    }
}
