//! The function G of SEED (RFC 4269, 2.4): the parts for the key schedule, and its half behind the
//! S-boxes.

use crate::arch::Lanes;

/// The function G of a single word, in constant time.
pub(super) trait Mix {
    fn mix(&self, word: u32) -> u32;
}

/// The masks m0 to m3 of the function G (RFC 4269, 2.4).
const MASKS: [u8; 4] = [0xfc, 0xf3, 0xcf, 0x3f];

/// Applies the second half of the function G (RFC 4269, 2.4), for the bytes `y` behind the S-boxes:
/// each byte of the result is the sum of all four of its word, of each without two bits.
#[inline(always)]
pub(super) fn mix_masked<L: Lanes>(lanes: L, y: L::Vector) -> L::Vector {
    const fn mask(even: usize, odd: usize) -> u32 {
        u32::from_le_bytes([MASKS[even], MASKS[odd], MASKS[even], MASKS[odd]])
    }
    // Byte i takes byte i + k under mask 2 i + k. For k and for k + 2 the masks of even and odd
    // bytes are exchanged, so that what comes from k = 2 and k = 3 can be summed before a rotation
    // by two bytes.
    let next = lanes.rotate32::<24>(y);
    let near = lanes.and(y, lanes.splat32(const { mask(0, 2) }));
    let near = lanes.xor_masked(near, next, lanes.splat32(const { mask(1, 3) }));
    let far = lanes.and(y, lanes.splat32(const { mask(2, 0) }));
    let far = lanes.xor_masked(far, next, lanes.splat32(const { mask(3, 1) }));
    lanes.xor(near, lanes.rotate32::<16>(far))
}
