//! FF1 on numbers of any length, in buffers on the stack.

use zeroize::optimization_barrier;

use crate::mode::BlockCipher;

use super::round::Mac;
use crate::mode::ff1_value::bounds::ROUNDS;
use crate::mode::ff1_value::limbs::{
    LIMBS, Modulus, add, mask, of_big_endian, set_to_numerals, subtract, to_big_endian, to_numerals,
};
use crate::mode::ff1_value::shape::Shape;

/// Bytes of the largest number.
const BYTES: usize = 8 * LIMBS;

/// All that is computed with, zeroed where it was used when it is dropped.
struct Room {
    halves: [[u64; LIMBS]; 2],
    sum: [u64; LIMBS],
    bytes: [u8; BYTES],
    used: usize,
}

/// Seals or opens `value`, of the length in `shape`, in place. Never part of its caller, whose
/// stack would grow by some kilobytes for shorter values, too.
#[inline(never)]
pub(super) fn crypt<const N: usize, const SEAL: bool>(
    cipher: &dyn BlockCipher<N>,
    shape: &Shape,
    tweak: &[u8],
    value: &mut [u16],
) {
    let radix = &shape.radix;
    let used = (8 * shape.round_bytes + 1).div_ceil(64);
    let mut room = Room { halves: [[0; LIMBS]; 2], sum: [0; LIMBS], bytes: [0; BYTES], used };
    let (left, right) = value.split_at_mut(shape.left);
    let moduli = [Modulus::new(radix, left.len()), Modulus::new(radix, right.len())];
    set_to_numerals(&mut room.halves[0][..used], left, radix);
    set_to_numerals(&mut room.halves[1][..used], right, radix);
    let bound = Mac::of_tweak(cipher, shape, tweak);
    for step in 0..ROUNDS {
        let round = if SEAL { step } else { ROUNDS - 1 - step };
        // The half that changes is the left one in even rounds; the other one goes into the
        // function.
        let changed = usize::from(round % 2);
        let other = &room.halves[1 - changed][..used];
        let bytes = &mut room.bytes[..shape.round_bytes.next_multiple_of(N)];
        to_big_endian(other, &mut bytes[..shape.number_bytes]);
        let mut mac = bound.fork();
        mac.update(&[round]);
        mac.update(&bytes[..shape.number_bytes]);
        let mut first = [0; N];
        mac.finish(&mut first);
        stretch(cipher, &first, bytes);
        let (sum, half) = (&mut room.sum[..used], &mut room.halves[changed][..used]);
        of_big_endian(&bytes[..shape.round_bytes], sum);
        let modulus = &moduli[changed];
        if SEAL {
            add(sum, half, u64::MAX);
        }
        modulus.reduce(sum, 8 * shape.round_bytes + 1);
        if SEAL {
            half.copy_from_slice(sum);
        } else {
            let borrow = subtract(half, sum, u64::MAX);
            add(half, &modulus.limbs[..used], mask(borrow));
        }
    }
    to_numerals(&mut room.halves[0][..used], left, radix);
    to_numerals(&mut room.halves[1][..used], right, radix);
}

impl Drop for Room {
    fn drop(&mut self) {
        for number in self.halves.iter_mut().chain([&mut self.sum]) {
            number[..self.used].fill(0);
        }
        self.bytes[..(8 * self.used).min(BYTES)].fill(0);
        optimization_barrier(self);
    }
}

/// Fills `bytes`, whole blocks, with R || E(R ^ 1) || E(R ^ 2) ..., where R is `first`.
fn stretch<const N: usize>(cipher: &dyn BlockCipher<N>, first: &[u8; N], bytes: &mut [u8]) {
    let (blocks, _) = bytes.as_chunks_mut();
    for (block, counter) in blocks.iter_mut().zip(0_u64..) {
        *block = *first;
        for (byte, count) in block[N - 8..].iter_mut().zip(counter.to_be_bytes()) {
            *byte ^= count;
        }
    }
    cipher.encrypt_blocks(&mut blocks[1..]);
}
