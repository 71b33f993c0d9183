//! Counts that a store keeps while it works.

/// Counts that a store has kept since it was opened. All values only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counters {
    /// CPU seconds spent inside the cipher (encrypting, decrypting, authenticating).
    pub cipher_cpu_s: f64,
    /// CPU seconds spent inside file reads, writes and syncs.
    pub io_cpu_s: f64,
    /// Wall seconds, summed over threads, spent inside file reads, writes and syncs.
    pub io_wall_s: f64,
    /// Syncs of files and directories; 0 where the store does not say.
    pub syncs: u64,
    /// Wall seconds inside those, summed over threads; `io_wall_s` contains them.
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
