//! Vectors of 128-bit blocks with AES rounds and carry-less products.

use super::Kernel;

/// Vectors of [`AesLanes::BLOCKS`] 128-bit blocks, each an independent lane, and the instructions
/// for AES and carry-less multiplication on them. The value is the proof that the CPU has them.
///
/// Bytes of a lane are numbered as in memory. As a 128-bit number a lane is little-endian: byte 0
/// is the least significant one.
pub(crate) trait AesLanes: Copy + Send + Sync + 'static {
    /// A vector in registers.
    type Vector: Copy;

    /// Blocks in a vector.
    const BLOCKS: usize;
    /// Bytes in a vector.
    const BYTES: usize = 16 * Self::BLOCKS;

    /// Returns the name of the backend.
    fn name(self) -> &'static str;

    /// Runs `kernel`, compiled for these instructions.
    fn enter<K: Kernel<Self>>(self, kernel: K) -> K::Output;

    /// Returns all zero.
    fn zero(self) -> Self::Vector;
    /// Returns `block` in every lane.
    fn splat(self, block: &[u8; 16]) -> Self::Vector;
    /// Returns `block` in the first lane, zero in the others.
    fn first(self, block: &[u8; 16]) -> Self::Vector;
    /// Returns the first lane.
    fn to_block(self, v: Self::Vector) -> [u8; 16];
    /// Returns the first `BYTES` bytes of `bytes`, which must hold as many.
    fn load(self, bytes: &[u8]) -> Self::Vector;
    /// Writes `v` to the first `BYTES` bytes of `bytes`, which must hold as many.
    fn store(self, v: Self::Vector, bytes: &mut [u8]);
    /// Returns all of `bytes`, at most `BYTES`, followed by zeros.
    fn load_partial(self, bytes: &[u8]) -> Self::Vector;
    /// Fills `bytes`, at most `BYTES`, with the first bytes of `v`.
    fn store_partial(self, v: Self::Vector, bytes: &mut [u8]);
    /// Returns the first `bytes` bytes of `v`, at most `BYTES`, followed by zeros.
    fn keep(self, v: Self::Vector, bytes: usize) -> Self::Vector;

    /// Returns the exclusive or.
    fn xor(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Returns the exclusive or of all lanes, in the first lane; the others hold zeros.
    fn fold(self, v: Self::Vector) -> Self::Vector;
    /// Returns the first lane of `first`, then the lanes of `rest` but its last one.
    fn prepend(self, first: Self::Vector, rest: Self::Vector) -> Self::Vector;
    /// Returns each lane with its 16 bytes in reverse order.
    fn reverse_bytes(self, v: Self::Vector) -> Self::Vector;
    /// Byte i of each lane from byte `order[i]` of that lane, below 16; zero where that is 0x80.
    fn shuffle_bytes(self, v: Self::Vector, order: &[u8; 16]) -> Self::Vector;
    /// Returns each lane with its 64-bit halves exchanged.
    fn swap_halves(self, v: Self::Vector) -> Self::Vector;
    /// Returns each lane shifted up by 64 bits: the low half becomes the high half.
    fn low_to_high(self, v: Self::Vector) -> Self::Vector;
    /// Returns each lane shifted down by 64 bits: the high half becomes the low half.
    fn high_to_low(self, v: Self::Vector) -> Self::Vector;

    /// Counters from `block` on, one a lane, whose last four bytes are a little-endian number so
    /// that they can count.
    fn counters(self, block: &[u8; 16]) -> Self::Vector;
    /// Counters `by` further, modulo 2^32.
    fn count(self, counters: Self::Vector, by: u32) -> Self::Vector;
    /// Counter blocks as SP 800-38D has them: the last four bytes big-endian.
    fn counter_blocks(self, counters: Self::Vector) -> Self::Vector;

    /// One AES round: SubBytes, ShiftRows, MixColumns, AddRoundKey (FIPS 197, 5.1).
    fn aes_round(self, v: Self::Vector, round_key: Self::Vector) -> Self::Vector;
    /// Applies the last AES round, without MixColumns.
    fn aes_last_round(self, v: Self::Vector, round_key: Self::Vector) -> Self::Vector;
    /// One round of the equivalent inverse cipher: InvShiftRows, InvSubBytes, InvMixColumns,
    /// AddRoundKey (FIPS 197, 5.3.5).
    fn aes_round_back(self, v: Self::Vector, round_key: Self::Vector) -> Self::Vector;
    /// Applies the last round of the equivalent inverse cipher, without InvMixColumns.
    fn aes_last_round_back(self, v: Self::Vector, round_key: Self::Vector) -> Self::Vector;

    /// Carry-less product of the low halves.
    fn multiply_low(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Carry-less product of the high halves.
    fn multiply_high(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
}
