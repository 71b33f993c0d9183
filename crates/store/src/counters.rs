//! Counts that a store keeps while it works.

use std::ops::Add;

/// Counts that a store has kept since it was opened. All values only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// CPU seconds spent inside the cipher (encrypting, decrypting, authenticating).
    pub cipher_cpu_s: f64,
    /// CPU seconds spent inside file reads, writes and syncs.
    pub io_cpu_s: f64,
    /// Wall seconds, summed over threads, spent inside file reads, writes and syncs.
    pub io_wall_s: f64,
    /// Syncs of files and directories; 0 where the store does not report them.
    pub syncs: u64,
    /// Wall seconds inside these syncs, summed over threads; `io_wall_s` contains them.
    pub sync_wall_s: f64,
    /// Bytes read from files.
    pub read_bytes: u64,
    /// Bytes written to files.
    pub written_bytes: u64,
    /// Bytes encrypted.
    pub encrypted_bytes: u64,
    /// Bytes decrypted.
    pub decrypted_bytes: u64,
    /// Lookups answered by the store's own cache.
    pub cache_hits: u64,
    /// Lookups that went to a file.
    pub cache_misses: u64,
}

impl Counters {
    /// Returns the counts since `before`, an earlier reading.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        self.with(before, |after, before| (after - before).max(0.0), u64::saturating_sub)
    }

    fn with(self, other: Self, seconds: fn(f64, f64) -> f64, amount: fn(u64, u64) -> u64) -> Self {
        Self {
            cipher_cpu_s: seconds(self.cipher_cpu_s, other.cipher_cpu_s),
            io_cpu_s: seconds(self.io_cpu_s, other.io_cpu_s),
            io_wall_s: seconds(self.io_wall_s, other.io_wall_s),
            syncs: amount(self.syncs, other.syncs),
            sync_wall_s: seconds(self.sync_wall_s, other.sync_wall_s),
            read_bytes: amount(self.read_bytes, other.read_bytes),
            written_bytes: amount(self.written_bytes, other.written_bytes),
            encrypted_bytes: amount(self.encrypted_bytes, other.encrypted_bytes),
            decrypted_bytes: amount(self.decrypted_bytes, other.decrypted_bytes),
            cache_hits: amount(self.cache_hits, other.cache_hits),
            cache_misses: amount(self.cache_misses, other.cache_misses),
        }
    }
}

/// The counts of two parts of a store together.
impl Add for Counters {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.with(other, |one, other| one + other, u64::saturating_add)
    }
}
