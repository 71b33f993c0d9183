//! The field that GHASH multiplies in, the field of POLYVAL (RFC 8452): its modulus, and the
//! numbers that enter it.

/// x^128 + x^127 + x^126 + x^121 + 1, less its highest term.
pub(super) const MODULUS: u128 = 0xc200_0000_0000_0000_0000_0000_0000_0001;

/// Returns `h` in the field of POLYVAL: bytes reversed, times x.
#[inline(always)]
pub(super) fn field_key(h: &[u8; 16]) -> u128 {
    let h = u128::from_be_bytes(*h);
    let carry = 0_u128.wrapping_sub(h >> 127);
    h << 1 ^ carry & MODULUS
}

/// Returns the last block: both lengths in bits, 64-bit big-endian, as a number of the field.
#[inline(always)]
pub(crate) fn lengths(associated: &[u8], ciphertext_bytes: usize) -> u128 {
    u128::from(associated.len() as u64 * 8) << 64 | u128::from(ciphertext_bytes as u64 * 8)
}
