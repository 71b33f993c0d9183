//! Modes of operation, over whatever block cipher and backend was chosen when the key was set.

/// A keyed 128-bit block cipher as GCM needs it: many counter blocks at a time.
pub(crate) trait Counter128: Send + Sync {
    /// Encrypts one 16-byte block in place.
    fn encrypt_block(&self, block: &mut [u8; 16]);

    /// XORs `data` (any length) with the key stream that starts at `counter`; between blocks the last 32 bits count
    /// up big-endian and wrap (SP 800-38D, 6.2, inc32).
    fn xor_keystream32(&self, counter: &[u8; 16], data: &mut [u8]);
}
