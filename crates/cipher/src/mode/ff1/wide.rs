//! FF1 on numbers of any length: limbs of 64 bits, the lowest first, in buffers on the stack.
//!
//! Numbers are secret: all loops run as often as their lengths say. Not here: what is bound to a value (`round`).

use zeroize::Zeroize;

use crate::block::BlockCipher;

use super::round::{Mac, head};
use super::shape::Shape;
use super::{LENGTH_MAX, ROUNDS};

/// Limbs of the largest number there is: what a round takes, and half a value added to it.
pub(super) const LIMBS: usize = LENGTH_MAX / 2 * 16 / 64 + 2;

type Number = [u64; LIMBS];

/// Seals or opens `value`, of the length in `shape`, in place.
pub(super) fn crypt<const N: usize, const SEAL: bool>(
    cipher: &dyn BlockCipher<N>,
    shape: &Shape,
    tweak: &[u8],
    value: &mut [u16],
) {
    let (left, right) = value.split_at_mut(shape.left);
    let mut halves = [[0; LIMBS]; 2];
    let mut moduli = [[0; LIMBS]; 2];
    set_to_numerals(&mut halves[0], left, shape.radix);
    set_to_numerals(&mut halves[1], right, shape.radix);
    set_to_power(&mut moduli[0], shape.radix, shape.left);
    set_to_power(&mut moduli[1], shape.radix, shape.right);

    let mut bound = Mac::new(cipher);
    bound.update(head(shape, tweak.len()).into_iter());
    bound.update(tweak.iter().copied());
    let ends = (tweak.len() + 1 + shape.number_bytes) % 16;
    bound.skip((16 - ends) % 16);

    for step in 0..ROUNDS {
        let round = if SEAL { step } else { ROUNDS - 1 - step };
        // The half that changes is the left one in even rounds; the other one goes into the function.
        let changed = usize::from(round % 2);
        let mut mac = bound.fork();
        mac.update([round].into_iter());
        mac.update(big_endian(&halves[1 - changed], shape.number_bytes));
        let mut stretched = stretch(cipher, mac.finish(), shape.round_bytes);
        let half = &mut halves[changed];
        let modulus = &moduli[changed];
        if SEAL {
            add(&mut stretched, half);
            reduce(&mut stretched, modulus, 8 * shape.round_bytes + 1);
            *half = stretched;
        } else {
            reduce(&mut stretched, modulus, 8 * shape.round_bytes);
            subtract(half, &stretched, modulus);
        }
        stretched.zeroize();
    }
    numerals(&mut halves[0], left, shape.radix);
    numerals(&mut halves[1], right, shape.radix);
    halves.zeroize();
}

/// The first `bytes` bytes of R || E(R ^ 1) || E(R ^ 2) ..., as a number.
fn stretch<const N: usize>(cipher: &dyn BlockCipher<N>, first: [u8; N], bytes: usize) -> Number {
    let mut number = [0; LIMBS];
    let mut block = first;
    for at in 0..bytes {
        if at > 0 && at % N == 0 {
            block = first;
            let counter = ((at / N) as u64).to_be_bytes();
            for (byte, count) in block[N - 8..].iter_mut().zip(counter) {
                *byte ^= count;
            }
            cipher.encrypt_blocks(std::slice::from_mut(&mut block));
        }
        let place = bytes - 1 - at;
        number[place / 8] |= u64::from(block[at % N]) << (8 * (place % 8));
    }
    block.zeroize();
    number
}

fn big_endian(number: &Number, bytes: usize) -> impl Iterator<Item = u8> + '_ {
    (0..bytes).rev().map(|place| (number[place / 8] >> (8 * (place % 8))) as u8)
}

/// Times `factor` and `added` more.
fn multiply_add(number: &mut Number, factor: u64, added: u64) {
    let mut carry = added;
    for limb in number {
        let product = u128::from(*limb) * u128::from(factor) + u128::from(carry);
        (*limb, carry) = (product as u64, (product >> 64) as u64);
    }
}

fn set_to_numerals(number: &mut Number, numerals: &[u16], radix: u32) {
    for numeral in numerals {
        multiply_add(number, radix.into(), u64::from(*numeral));
    }
}

/// Sets `number`, which is 0, to `radix` to the power of `exponent`.
pub(super) fn set_to_power(number: &mut Number, radix: u32, exponent: usize) {
    number[0] = 1;
    for _ in 0..exponent {
        multiply_add(number, radix.into(), 0);
    }
}

/// Bits up to the highest that is set. For numbers that are not secret.
pub(super) fn bits(number: &Number) -> usize {
    let top = number.iter().rposition(|limb| *limb != 0);
    top.map_or(0, |top| 64 * top + (64 - number[top].leading_zeros() as usize))
}

fn add(number: &mut Number, other: &Number) {
    let mut carry = 0;
    for (limb, other) in number.iter_mut().zip(other) {
        let sum = u128::from(*limb) + u128::from(*other) + carry;
        *limb = sum as u64;
        carry = sum >> 64;
    }
}

/// `number` modulo `modulus`, where it has at most `number_bits` bits.
fn reduce(number: &mut Number, modulus: &Number, number_bits: usize) {
    let modulus_bits = bits(modulus);
    for shift in (0..=(number_bits + 1).saturating_sub(modulus_bits)).rev() {
        subtract_unless_below(number, modulus, shift);
    }
}

/// Subtracts `other` times 2^`shift` where that is not more than `number`.
fn subtract_unless_below(number: &mut Number, other: &Number, shift: usize) {
    let (limbs, shift) = (shift / 64, shift % 64);
    let shifted = |place: usize| {
        let at = |place: Option<usize>| place.and_then(|place| other.get(place)).copied().unwrap_or(0);
        let low = at(place.checked_sub(limbs)) << shift;
        if shift == 0 { low } else { low | at(place.checked_sub(limbs + 1)) >> (64 - shift) }
    };
    let mut borrow = 0;
    for (place, limb) in number.iter().enumerate() {
        borrow = borrow_of(*limb, shifted(place), borrow).1;
    }
    let mask = borrow.wrapping_sub(1);
    borrow = 0;
    for (place, limb) in number.iter_mut().enumerate() {
        (*limb, borrow) = borrow_of(*limb, shifted(place) & mask, borrow);
    }
}

fn borrow_of(a: u64, b: u64, borrow: u64) -> (u64, u64) {
    let difference = u128::from(a).wrapping_sub(u128::from(b)).wrapping_sub(u128::from(borrow));
    (difference as u64, (difference >> 64) as u64 & 1)
}

/// Subtracts `other` modulo `modulus`, both numbers being below it.
fn subtract(number: &mut Number, other: &Number, modulus: &Number) {
    let mut borrow = 0;
    for (limb, other) in number.iter_mut().zip(other) {
        (*limb, borrow) = borrow_of(*limb, *other, borrow);
    }
    let mask = 0_u64.wrapping_sub(borrow);
    let mut carry = 0;
    for (limb, modulus) in number.iter_mut().zip(modulus) {
        let sum = u128::from(*limb) + u128::from(*modulus & mask) + carry;
        *limb = sum as u64;
        carry = sum >> 64;
    }
}

/// Writes `number` as numerals, most significant first, and leaves 0.
fn numerals(number: &mut Number, numerals: &mut [u16], radix: u32) {
    let radix = u64::from(radix);
    // 2^64 / radix from below: a quotient estimated with it is at most two too small
    let inverse = u64::MAX / radix;
    for numeral in numerals.iter_mut().rev() {
        let mut rest = 0;
        for limb in number.iter_mut().rev() {
            let mut quotient = 0;
            for part in [*limb >> 32, *limb & 0xffff_ffff] {
                let dividend = rest << 32 | part;
                let mut estimate = ((u128::from(dividend) * u128::from(inverse)) >> 64) as u64;
                rest = dividend - estimate * radix;
                for _ in 0..2 {
                    let (less, borrow) = borrow_of(rest, radix, 0);
                    let mask = borrow.wrapping_sub(1);
                    rest = less & mask | rest & !mask;
                    estimate += mask & 1;
                }
                quotient = quotient << 32 | estimate;
            }
            *limb = quotient;
        }
        *numeral = rest as u16;
    }
}
