//! Numerals to numbers of 64 bits and back, for many values side by side: four numerals of a value
//! are a word, and loops over the words of all values have neither branches nor divisions.
//!
//! Not here: one value at a time (`half`).

use std::ops::Range;

use zeroize::optimization_barrier;

use crate::mode::ff1_value::bounds::CHUNK;
use crate::mode::ff1_value::half::{Half, Radix, of_four};

/// The numbers of the numerals at `places` of `values`, each of `length` numerals; at most
/// [`CHUNK`].
#[inline(always)]
pub(super) fn read(
    radix: &Radix,
    values: &[u16],
    length: usize,
    places: Range<usize>,
    numbers: &mut [u64],
) {
    let first = places.len() % 4;
    for (value, number) in values.chunks_exact(length).zip(&mut *numbers) {
        *number = u64::of_numerals(&value[places.start..places.start + first], radix);
    }
    let mut words = [0; CHUNK];
    let words = &mut words[..numbers.len()];
    let power = u64::from(radix.value);
    let [power_2, power_4] = [power.wrapping_pow(2), power.wrapping_pow(4)];
    for start in (places.start + first..places.end).step_by(4) {
        for (value, word) in values.chunks_exact(length).zip(&mut *words) {
            let [a, b, c, d] = *value[start..].first_chunk().expect("four more numerals");
            *word = u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48;
        }
        for (word, number) in words.iter().zip(&mut *numbers) {
            *number = number.wrapping_mul(power_4).wrapping_add(of_four(*word, power, power_2));
        }
    }
    words.fill(0);
    optimization_barrier(words);
}

/// Writes the numerals of `numbers`, at most [`CHUNK`], to `places` of `values`, each of `length`
/// numerals. The numbers are used up.
#[inline(always)]
pub(super) fn write(
    radix: &Radix,
    numbers: &mut [u64],
    length: usize,
    places: Range<usize>,
    values: &mut [u16],
) {
    let mut room = [[0; CHUNK]; 2];
    let [pieces, words] = &mut room;
    let (pieces, words) = (&mut pieces[..numbers.len()], &mut words[..numbers.len()]);
    let mut end = places.end;
    while end > places.start {
        let left = end - places.start;
        let start = end - left.min(radix.piece_numerals);
        if start > places.start {
            for (number, piece) in numbers.iter_mut().zip(&mut *pieces) {
                (*number, *piece) = radix.divide_by_piece(*number);
            }
        } else {
            pieces.copy_from_slice(numbers);
        }
        let mut at = end;
        while at > start {
            let count = (at - start).min(4);
            match count {
                4 => write_group::<4>(radix, pieces, words, length, at, values),
                3 => write_group::<3>(radix, pieces, words, length, at, values),
                2 => write_group::<2>(radix, pieces, words, length, at, values),
                _ => write_group::<1>(radix, pieces, words, length, at, values),
            }
            at -= count;
        }
        end = start;
    }
    pieces.fill(0);
    words.fill(0);
    optimization_barrier(&room);
}

/// Writes the last `G` numerals of `pieces` before place `end` of each value, by way of `words`,
/// and leaves the numerals before them.
#[inline(always)]
fn write_group<const G: usize>(
    radix: &Radix,
    pieces: &mut [u64],
    words: &mut [u64],
    length: usize,
    end: usize,
    values: &mut [u16],
) {
    for (piece, word) in pieces.iter_mut().zip(&mut *words) {
        let (mut rest, mut numerals) = (*piece, 0);
        for _ in 0..G {
            let (quotient, numeral) = radix.divide_piece(rest);
            (rest, numerals) = (quotient, numerals << 16 | numeral);
        }
        (*piece, *word) = (rest, numerals);
    }
    for (value, word) in values.chunks_exact_mut(length).zip(&*words) {
        let numerals: &mut [u16; G] = value[end - G..].first_chunk_mut().expect("so many numerals");
        *numerals = std::array::from_fn(|i| (*word >> (16 * i)) as u16);
    }
}
