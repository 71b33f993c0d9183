//! Shape of requests to a block device, whatever the workload: their size, how many run at once,
//! whether they are checked.

/// The settings of the workloads on block devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockShape {
    /// Bytes of a request.
    pub block_bytes: u64,
    /// Requests under way at once.
    pub depth: usize,
    /// Set when every block that is written identifies itself, and is checked whenever it is read.
    pub verify: bool,
}

impl BlockShape {
    /// Shape of requests unless another is set: 64 KiB, as a file system reads ahead, 16 at once.
    pub const USUAL: Self = Self { block_bytes: 64 << 10, depth: 16, verify: false };
}
