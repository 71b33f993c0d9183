//! The writes of the crash test: the effect of step number n of a thread, common to the writing and
//! the checking process.

use sealstone_rocksdb::DbOptions;

/// Threads that write at once.
pub const THREADS: u8 = 4;
/// Length of one acknowledgement: thread and step number.
pub const ACK_BYTES: usize = 9;
/// In place of a thread: a resealing began.
pub const RESEAL_BEGINS: u8 = 0xfe;
/// In place of a thread: a resealing ended.
pub const RESEAL_ENDS: u8 = 0xff;
/// In place of a thread: another [`RESEAL_STEP_BYTES`] are resealed, counted over all resealings.
pub const RESEAL_STEPS: u8 = 0xfd;
/// Bytes between two reports of a resealing.
pub const RESEAL_STEP_BYTES: u64 = 1 << 16;
/// Pairs of keys that each thread writes to, over and over.
pub const PAIRS: u64 = 500;

/// One atomic write: a pair of keys gets the same value, or is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of the thread.
    pub thread: u8,
    /// Number of the writer's start.
    pub round: u64,
    /// Number of the step, from 0.
    pub number: u64,
}

impl Step {
    /// Step `number` of `thread` in `round`.
    pub fn new(thread: u8, round: u64, number: u64) -> Self {
        Self { thread, round, number }
    }

    /// Returns the pair that the step writes: scattered, each once in `PAIRS` steps.
    pub fn pair(&self) -> u64 {
        // 211 and 500 share no factor
        (self.number * 211 + self.round * 17) % PAIRS
    }

    /// Returns the two keys, far apart in the key space.
    pub fn keys(&self) -> [Vec<u8>; 2] {
        keys(self.thread, self.pair())
    }

    /// Returns the value that both keys get; if absent, both are deleted.
    pub fn value(&self) -> Option<Vec<u8>> {
        if self.number % 11 == 7 {
            return None;
        }
        let text = format!("round {} step {} of thread {};", self.round, self.number, self.thread);
        Some(text.into_bytes().repeat(1 + (self.number % 13) as usize))
    }
}

/// Returns the keys of pair `pair` of `thread`.
pub fn keys(thread: u8, pair: u64) -> [Vec<u8>; 2] {
    ["left", "right"].map(|side| format!("{side}-{thread}-{pair:04}").into_bytes())
}

/// Returns options for small memory and files, so that logs roll, tables are written and compacted
/// all the time.
pub fn options() -> DbOptions {
    let defaults = DbOptions::default();
    let text = format!(
        "{};write_buffer_size=131072;target_file_size_base=131072;max_bytes_for_level_base=524288;\
         level0_file_num_compaction_trigger=2;max_background_jobs=2",
        defaults.text
    );
    DbOptions { text, ..defaults }
}
