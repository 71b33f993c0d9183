//! Limits on how much one key may protect, and the source of each limit.

/// Amount of data that one key may protect before a fresh key is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes that may be encrypted under one key.
    pub bytes_per_key: u64,
    /// Messages (pages, frames, records) that may be encrypted under one key.
    pub messages_per_key: u64,
    /// Bytes in one message.
    pub message_bytes: u64,
    /// Source of the limit (standard and section).
    pub source: &'static str,
}

/// GCM over a 128-bit block cipher with a 12-byte nonce.
pub(crate) const GCM_LIMITS: Limits = Limits {
    bytes_per_key: 1 << 52,
    messages_per_key: 1 << 32,
    message_bytes: (1 << 36) - 32,
    source: "SP 800-38D 5.2.1.1 (message), 8.3 (messages); bytes: 2^48 blocks keep the \
             distinguishing bound of counter mode under 2^-32",
};

/// Triple DES: 2^20 blocks, whatever the mode.
pub(crate) const TDES_LIMITS: Limits = Limits {
    bytes_per_key: 8 << 20,
    messages_per_key: 1 << 20,
    message_bytes: 8 << 20,
    source: "SP 800-67r2 3.3: at most 2^20 64-bit blocks under one key bundle",
};

/// Any other 64-bit block: a gigabyte is 2^27 blocks, where two of them collide once in about 2^11
/// keys.
pub(crate) const BLOCK64_LIMITS: Limits = Limits {
    bytes_per_key: 1_000_000_000,
    messages_per_key: 1 << 27,
    message_bytes: 1_000_000_000,
    source: "collisions of 64-bit blocks (Sweet32, CCS 2016): never a gigabyte under one key",
};
