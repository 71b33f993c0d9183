//! Modes of operation, over whatever block cipher and backend was chosen when the key was set.

pub(crate) mod ctr;
pub(crate) mod ctr_mac;
pub(crate) mod gcm;
pub(crate) mod ghash;

/// A keyed 128-bit block cipher as GCM needs it: many counter blocks at a time.
pub(crate) trait Counter128: Send + Sync {
    /// Name of the backend in use.
    fn backend(&self) -> &'static str;

    /// Encrypts one 16-byte block in place.
    fn encrypt_block(&self, block: &mut [u8; 16]);

    /// XORs `data` (any length) with the key stream that starts at `counter`; between blocks the last 32 bits count
    /// up big-endian and wrap (SP 800-38D, 6.2, inc32).
    fn xor_keystream32(&self, counter: &[u8; 16], data: &mut [u8]);
}

/// A keyed 64-bit block cipher as counter mode needs it.
pub(crate) trait Counter64: Send + Sync {
    /// Name of the backend in use.
    fn backend(&self) -> &'static str;

    /// XORs `data` (any length) with the key stream whose first block encrypts `counter`, big-endian; between blocks
    /// all 64 bits count up and wrap.
    fn xor_keystream64(&self, counter: u64, data: &mut [u8]);
}
