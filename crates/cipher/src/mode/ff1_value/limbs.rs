//! Numbers of any length: limbs of 64 bits, the lowest first.
//!
//! Numbers are secret and their lengths are not: each loop runs as often as a length requires.

use zeroize::optimization_barrier;

use super::bounds::LENGTH_MAX;
use super::half::{Half, Radix};

/// Limbs of the largest number: the input of a round, half a value added to it, and one more.
pub(crate) const LIMBS: usize = LENGTH_MAX / 2 * 16 / 64 + 2;

/// Writes `number` big-endian into all of `bytes`, which suffice.
pub(crate) fn to_big_endian(number: &[u64], bytes: &mut [u8]) {
    for (bytes, limb) in bytes.rchunks_mut(8).zip(number) {
        bytes.copy_from_slice(&limb.to_be_bytes()[8 - bytes.len()..]);
    }
}

/// Reads `bytes`, big-endian, into `number`, which is long enough.
pub(crate) fn of_big_endian(bytes: &[u8], number: &mut [u64]) {
    number.fill(0);
    for (bytes, limb) in bytes.rchunks(8).zip(number) {
        let mut all = [0; 8];
        all[8 - bytes.len()..].copy_from_slice(bytes);
        *limb = u64::from_be_bytes(all);
    }
}

/// Adds the bits of `other` that `mask` has.
pub(crate) fn add(number: &mut [u64], other: &[u64], mask: u64) {
    let mut carry: u128 = 0;
    for (limb, other) in number.iter_mut().zip(other) {
        // a check for overflow, which debugging builds have, would be a branch on the value;
        // likewise below
        let sum = u128::from(*limb).wrapping_add(u128::from(*other & mask)).wrapping_add(carry);
        (*limb, carry) = (sum as u64, sum >> 64);
    }
}

/// Subtracts the bits of `other` that `mask` has, and returns the borrow, 0 or 1.
pub(crate) fn subtract(number: &mut [u64], other: &[u64], mask: u64) -> u64 {
    let mut borrow = 0;
    for (limb, other) in number.iter_mut().zip(other) {
        let difference =
            u128::from(*limb).wrapping_sub(u128::from(*other & mask)).wrapping_sub(borrow);
        (*limb, borrow) = (difference as u64, difference >> 64 & 1);
    }
    borrow as u64
}

/// Subtracts `other` times `factor`, moved up by `limbs` limbs; the result is not below 0.
fn subtract_product(number: &mut [u64], other: &[u64], factor: u64, limbs: usize) {
    let (mut carry, mut borrow) = (0, 0);
    for (limb, other) in number[limbs..].iter_mut().zip(other.iter().chain(std::iter::repeat(&0))) {
        let product = u128::from(*other).wrapping_mul(u128::from(factor)).wrapping_add(carry);
        carry = product >> 64;
        let difference =
            u128::from(*limb).wrapping_sub(u128::from(product as u64)).wrapping_sub(borrow);
        (*limb, borrow) = (difference as u64, difference >> 64 & 1);
    }
}

/// Times `factor`, and `added` more; returns what does not fit.
fn multiply_add(number: &mut [u64], factor: u64, added: u64) -> u64 {
    let mut carry = added;
    for limb in number {
        let product =
            u128::from(*limb).wrapping_mul(u128::from(factor)).wrapping_add(u128::from(carry));
        (*limb, carry) = (product as u64, (product >> 64) as u64);
    }
    carry
}

/// Multiplies by `factor` and adds `added`, for a number with `length` limbs in use; updates
/// `length`.
fn grow(number: &mut [u64], length: &mut usize, factor: u64, added: u64) {
    let carry = multiply_add(&mut number[..*length], factor, added);
    if let Some(next) = number.get_mut(*length) {
        *next = carry;
        *length += 1;
    }
}

/// Returns the product of `numerals` radices.
fn factor(radix: &Radix, numerals: usize) -> u64 {
    if numerals == radix.power_numerals {
        radix.power
    } else {
        u64::from(radix.value).pow(numerals as u32)
    }
}

/// Sets `number` to that of `numerals`.
pub(crate) fn set_to_numerals(number: &mut [u64], numerals: &[u16], radix: &Radix) {
    let mut length = 0;
    for piece in numerals.chunks(radix.power_numerals) {
        grow(number, &mut length, factor(radix, piece.len()), u64::of_numerals(piece, radix));
    }
}

/// Writes the numerals of `number`, and leaves 0.
pub(crate) fn to_numerals(number: &mut [u64], numerals: &mut [u16], radix: &Radix) {
    let mut left = numerals.len();
    for piece in numerals.rchunks_mut(radix.power_numerals) {
        // no limb beyond can be in use any more
        let used = (radix.bits * left).div_ceil(64).min(number.len());
        let rest = divide(&mut number[..used], radix.power, radix.power_inverse);
        rest.to_numerals(piece, radix);
        left -= piece.len();
    }
}

/// Divides by `divisor`, above 2^44 and at most 2^60, of which 2^128 over it is `inverse`; returns
/// the remainder.
fn divide(number: &mut [u64], divisor: u64, inverse: u128) -> u64 {
    // Remainder and 32 bits of the number are below 2^92.
    let mut remainder = 0;
    for limb in number.iter_mut().rev() {
        let mut quotient = 0;
        for part in [*limb >> 32, *limb & 0xffff_ffff] {
            let dividend = u128::from(remainder) << 32 | u128::from(part);
            let digit;
            (digit, remainder) = super::reduction::divide(dividend, divisor, inverse);
            quotient = quotient << 32 | digit;
        }
        *limb = quotient;
    }
    remainder
}

/// Bits of `radix` to the power of `numerals`.
pub(crate) fn power_bits(radix: &Radix, numerals: usize) -> usize {
    Modulus::new(radix, numerals).bits
}

/// A power of the radix.
pub(crate) struct Modulus {
    pub(crate) limbs: [u64; LIMBS],
    /// Limbs in use.
    used: usize,
    bits: usize,
    /// 2^87 over one more than the number of its highest 44 bits, rounded down; of no use below
    /// 2^44.
    inverse: u64,
}

/// The highest bits by which quotients are estimated.
const HIGHEST: usize = 44;

impl Modulus {
    pub(crate) fn new(radix: &Radix, numerals: usize) -> Self {
        let mut modulus = Self { limbs: [0; LIMBS], used: 1, bits: 0, inverse: 0 };
        modulus.limbs[0] = 1;
        let (pieces, rest) = (numerals / radix.power_numerals, numerals % radix.power_numerals);
        for factor in std::iter::repeat_n(radix.power, pieces).chain([factor(radix, rest)]) {
            grow(&mut modulus.limbs, &mut modulus.used, factor, 0);
        }
        modulus.used = modulus.limbs.iter().rposition(|limb| *limb != 0).map_or(0, |top| top + 1);
        modulus.bits = 64 * modulus.used - modulus.limbs[modulus.used - 1].leading_zeros() as usize;
        if modulus.bits >= HIGHEST {
            let highest = at_bit(&modulus.limbs, modulus.bits - HIGHEST) as u64;
            modulus.inverse = ((1 << 87) / (u128::from(highest) + 1)) as u64;
        }
        modulus
    }

    /// Reduces `number` of at most `bits` bits.
    pub(crate) fn reduce(&self, number: &mut [u64], bits: usize) {
        let limbs = &self.limbs[..self.used];
        // The number is below the modulus times 2^above.
        let mut above = (bits + 1).saturating_sub(self.bits);
        while above > 1 {
            // Of the quotient the 36 highest bits, never too large and at most one too small: with
            // 44 bits of the modulus the estimate is off by less than 2^-6.
            let shift = above.saturating_sub(36);
            let highest = at_bit(number, shift + self.bits - HIGHEST);
            let quotient = highest.wrapping_mul(u128::from(self.inverse)) >> 87;
            let quotient = quotient << (shift % 64);
            subtract_product(number, limbs, quotient as u64, shift / 64);
            subtract_product(number, limbs, (quotient >> 64) as u64, shift / 64 + 1);
            above = shift + 1;
        }
        let mut less = [0; LIMBS];
        let less = &mut less[..number.len()];
        less.copy_from_slice(number);
        let borrow = subtract(less, &self.limbs[..less.len()], u64::MAX);
        let stays = mask(borrow);
        for (limb, less) in number.iter_mut().zip(&mut *less) {
            *limb = *limb & stays | *less & !stays;
        }
        less.fill(0);
        optimization_barrier(less);
    }
}

/// Returns all bits where `bit` is 1, none where it is 0. The compiler must not see that there are
/// no other masks: it made a branch of that, which valgrind showed.
pub(crate) fn mask(bit: u64) -> u64 {
    0_u64.wrapping_sub(std::hint::black_box(bit))
}

/// Returns 128 bits of `number` from bit `bit` on.
fn at_bit(number: &[u64], bit: usize) -> u128 {
    let at = |limb: usize| u128::from(number.get(limb).copied().unwrap_or(0));
    let (limb, bit) = (bit / 64, bit % 64);
    let low = at(limb) | at(limb + 1) << 64;
    if bit == 0 { low } else { low >> bit | at(limb + 2) << (128 - bit) }
}
