//! Amount of data and number of operations of a plan on the link of its first point: no more than a
//! slow link carries in the time.

use super::Plan;

impl Plan {
    /// Bytes a second that the link of the first point carries, if it is limited.
    pub(super) fn link_bytes_per_s(&self) -> Option<f64> {
        self.point().link_mbit_s().map(|rate| rate * 1e6 / 8.0)
    }

    /// Bytes of the data sets that are sized by bytes: over a slow link no more than load within
    /// seconds.
    pub(super) fn bytes_over_link(&self) -> u64 {
        const LOAD_S: f64 = 5.0;
        let least = (4 * self.depth as u64).saturating_mul(self.block_bytes);
        self.link_bytes_per_s()
            .map_or(self.bytes, |rate| self.bytes.min(((rate * LOAD_S) as u64).max(least)))
    }

    /// Operations of one pass: over a slow link no more than fit into the slices of a round.
    pub(super) fn operations_over_link(&self) -> u64 {
        let round_s = 2.0 * self.pairs as f64 * self.slice_ms as f64 / 1e3;
        let fitting = |rate: f64| (rate * round_s / self.block_bytes as f64) as u64;
        // as many that each slice fills the queue once
        let least = (self.pairs * self.depth) as u64;
        self.link_bytes_per_s()
            .map_or(self.operations, |rate| self.operations.min(fitting(rate).max(least)))
    }
}
