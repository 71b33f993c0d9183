//! Limits on the sizes of the pieces of sealed files, and the room for a catalogue's slots. Not
//! here: how much a key may protect (`sealstone_cipher::ciphers`).

/// Shortest page, in bytes of data: tags are then 1.6 % of a file.
pub const PAGE_BYTES_MIN: u32 = 1 << 10;

/// Longest page, in bytes of data.
pub const PAGE_BYTES_MAX: u32 = 64 << 10;

/// Possible lengths of a volume's block, in bytes of data: a memory page, so that direct I/O below
/// is possible, and up to the page of a database.
pub(crate) const VOLUME_BLOCK_BYTES: [u32; 3] = [4 << 10, 8 << 10, 16 << 10];

/// Most data in one frame, in bytes; longer portions are split. Bounds what a reader must hold.
pub const FRAME_BYTES_MAX: u32 = 1 << 20;

/// Number of logs and manifests that may be in use at once with their own slot; for further files
/// the synced length becomes a frame.
pub const SLOTS: u16 = 256;

/// Length of one slot, in bytes: a divisor of a sector, so that no slot spans two.
pub(crate) const SLOT_BYTES: u64 = 64;

/// Length of all slots, each twice, in bytes.
pub(crate) const SLOTS_BYTES: u64 = 2 * SLOTS as u64 * SLOT_BYTES;
