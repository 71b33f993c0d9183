//! Steps applied to many values side by side between the calls of the block cipher: loops without
//! branches, each of which the compiler turns into instructions on vectors of the backend at hand.
//!
//! Not here: the steps on one value (`half`, `reduction`), and their order (`narrow`).

use crate::arch::{Kernel, Lanes};

use super::columns;
use crate::mode::ff1_value::half::Half;
use crate::mode::ff1_value::reduction::{Estimate, Modulus64};
use crate::mode::ff1_value::shape::Shape;

/// Values that numbers are added to as they go into the round function.
pub(super) enum Bases<'a, const N: usize> {
    /// The same for all values.
    One(&'a [u8; N]),
    /// One for each value.
    Each(&'a [[u8; N]]),
}

/// The steps, on slices that are all as long: one item for each value.
pub(super) trait Steps<H: Half, const N: usize>: Send + Sync {
    /// Numerals to numbers.
    fn read(&self, shape: &Shape, values: &[u16], left: &mut [H], right: &mut [H]);
    /// Numbers to numerals; of the numbers nothing is left that is of use.
    fn write(&self, shape: &Shape, left: &mut [H], right: &mut [H], values: &mut [u16]);
    /// `end` and the numbers, where blocks have 8 bytes the upper 8 of their 16, added to the
    /// bases.
    fn upper(&self, bases: &Bases<'_, N>, end: u128, halves: &[H], blocks: &mut [[u8; N]]);
    /// `end` and the numbers, where blocks have 8 bytes the lower 8 of their 16, added to the
    /// bases.
    fn lower(&self, bases: &Bases<'_, N>, end: u128, halves: &[H], blocks: &mut [[u8; N]]);
    /// Adds what a round takes.
    fn add(&self, modulus: &H::Modulus, halves: &mut [H], blocks: &[[u8; N]], more: &[[u8; N]]);
    /// Subtracts what a round takes.
    fn subtract(
        &self,
        modulus: &H::Modulus,
        halves: &mut [H],
        blocks: &[[u8; N]],
        more: &[[u8; N]],
    );
}

/// One value after the other, for few of them and for long numbers.
pub(super) struct InTurn;

impl<H: Half, const N: usize> Steps<H, N> for InTurn {
    #[inline(always)]
    fn read(&self, shape: &Shape, values: &[u16], left: &mut [H], right: &mut [H]) {
        read(shape, values, left, right);
    }
    #[inline(always)]
    fn write(&self, shape: &Shape, left: &mut [H], right: &mut [H], values: &mut [u16]) {
        write(shape, left, right, values);
    }
    #[inline(always)]
    fn upper(&self, bases: &Bases<'_, N>, end: u128, halves: &[H], blocks: &mut [[u8; N]]) {
        fill::<H, N, true>(bases, end, halves, blocks);
    }
    #[inline(always)]
    fn lower(&self, bases: &Bases<'_, N>, end: u128, halves: &[H], blocks: &mut [[u8; N]]) {
        fill::<H, N, false>(bases, end, halves, blocks);
    }
    #[inline(always)]
    fn add(&self, modulus: &H::Modulus, halves: &mut [H], blocks: &[[u8; N]], more: &[[u8; N]]) {
        turn::<H, N, true>(modulus, halves, blocks, more);
    }
    #[inline(always)]
    fn subtract(
        &self,
        modulus: &H::Modulus,
        halves: &mut [H],
        blocks: &[[u8; N]],
        more: &[[u8; N]],
    ) {
        turn::<H, N, false>(modulus, halves, blocks, more);
    }
}

/// With the instructions of a backend.
pub(super) struct On<L>(pub(super) L);

impl<L: Lanes, const N: usize> Steps<u64, N> for On<L> {
    fn read(&self, shape: &Shape, values: &[u16], left: &mut [u64], right: &mut [u64]) {
        self.0.enter(Read { shape, values, left, right });
    }
    fn write(&self, shape: &Shape, left: &mut [u64], right: &mut [u64], values: &mut [u16]) {
        self.0.enter(Write { shape, left, right, values });
    }
    fn upper(&self, bases: &Bases<'_, N>, end: u128, halves: &[u64], blocks: &mut [[u8; N]]) {
        self.0.enter(Fill::<N, true> { bases, end, halves, blocks });
    }
    fn lower(&self, bases: &Bases<'_, N>, end: u128, halves: &[u64], blocks: &mut [[u8; N]]) {
        self.0.enter(Fill::<N, false> { bases, end, halves, blocks });
    }
    fn add(&self, modulus: &Modulus64, halves: &mut [u64], blocks: &[[u8; N]], more: &[[u8; N]]) {
        self.0.enter(Turn::<N, true> { modulus, halves, blocks, more });
    }
    fn subtract(
        &self,
        modulus: &Modulus64,
        halves: &mut [u64],
        blocks: &[[u8; N]],
        more: &[[u8; N]],
    ) {
        self.0.enter(Turn::<N, false> { modulus, halves, blocks, more });
    }
}

struct Read<'a> {
    shape: &'a Shape,
    values: &'a [u16],
    left: &'a mut [u64],
    right: &'a mut [u64],
}

impl<L> Kernel<L> for Read<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _lanes: L) {
        let Self { shape, values, left, right } = self;
        for (places, numbers) in [(0..shape.left, left), (shape.left..shape.length, right)] {
            columns::read(&shape.radix, values, shape.length, places, numbers);
        }
    }
}

struct Write<'a> {
    shape: &'a Shape,
    left: &'a mut [u64],
    right: &'a mut [u64],
    values: &'a mut [u16],
}

impl<L> Kernel<L> for Write<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _lanes: L) {
        let Self { shape, left, right, values } = self;
        for (places, numbers) in [(0..shape.left, left), (shape.left..shape.length, right)] {
            columns::write(&shape.radix, numbers, shape.length, places, values);
        }
    }
}

struct Fill<'a, const N: usize, const UPPER: bool> {
    bases: &'a Bases<'a, N>,
    end: u128,
    halves: &'a [u64],
    blocks: &'a mut [[u8; N]],
}

impl<L, const N: usize, const UPPER: bool> Kernel<L> for Fill<'_, N, UPPER> {
    type Output = ();

    #[inline(always)]
    fn run(self, _lanes: L) {
        fill::<u64, N, UPPER>(self.bases, self.end, self.halves, self.blocks);
    }
}

struct Turn<'a, const N: usize, const SEAL: bool> {
    modulus: &'a Modulus64,
    halves: &'a mut [u64],
    blocks: &'a [[u8; N]],
    more: &'a [[u8; N]],
}

impl<L, const N: usize, const SEAL: bool> Kernel<L> for Turn<'_, N, SEAL> {
    type Output = ();

    #[inline(always)]
    fn run(self, _lanes: L) {
        let Self { modulus, halves, blocks, more } = self;
        // A loop for each way to estimate, so that none chooses.
        macro_rules! each_estimate {
            ($($estimate:ident)*) => {
                match modulus.estimate {
                    $(Estimate::$estimate => {
                        let modulus = Modulus64 { estimate: Estimate::$estimate, ..*modulus };
                        turn::<u64, N, SEAL>(&modulus, halves, blocks, more);
                    })*
                }
            };
        }
        each_estimate!(Short Twice Long);
    }
}

#[inline(always)]
fn read<H: Half>(shape: &Shape, values: &[u16], left: &mut [H], right: &mut [H]) {
    for ((value, left), right) in values.chunks_exact(shape.length).zip(left).zip(right) {
        let (left_numerals, right_numerals) = value.split_at(shape.left);
        *left = H::of_numerals(left_numerals, &shape.radix);
        *right = H::of_numerals(right_numerals, &shape.radix);
    }
}

#[inline(always)]
fn write<H: Half>(shape: &Shape, left: &mut [H], right: &mut [H], values: &mut [u16]) {
    for ((value, left), right) in values.chunks_exact_mut(shape.length).zip(left).zip(right) {
        let (left_numerals, right_numerals) = value.split_at_mut(shape.left);
        left.to_numerals(left_numerals, &shape.radix);
        right.to_numerals(right_numerals, &shape.radix);
    }
}

/// Fills `blocks`; where blocks have 8 bytes, `UPPER` selects the half of the last 16 bytes.
#[inline(always)]
fn fill<H: Half, const N: usize, const UPPER: bool>(
    bases: &Bases<'_, N>,
    end: u128,
    halves: &[H],
    blocks: &mut [[u8; N]],
) {
    let end = [(end >> 64) as u64, end as u64];
    match bases {
        Bases::One(base) => {
            let [first, last] = words(base);
            for (half, block) in halves.iter().zip(blocks) {
                put::<H, N, UPPER>([first ^ end[0], last ^ end[1]], *half, block);
            }
        }
        Bases::Each(bases) => {
            for ((half, block), base) in halves.iter().zip(blocks).zip(*bases) {
                let [first, last] = words(base);
                put::<H, N, UPPER>([first ^ end[0], last ^ end[1]], *half, block);
            }
        }
    }
}

/// One block of [`fill`].
#[inline(always)]
pub(super) fn added<H: Half, const N: usize, const UPPER: bool>(
    base: &[u8; N],
    end: u128,
    half: H,
) -> [u8; N] {
    let ([first, last], mut block) = (words(base), [0; N]);
    put::<H, N, UPPER>([first ^ (end >> 64) as u64, last ^ end as u64], half, &mut block);
    block
}

/// Returns a block as numbers of its first and its last 8 bytes, which may be the same.
#[inline(always)]
pub(super) fn words<const N: usize>(block: &[u8; N]) -> [u64; 2] {
    let (first, last) = (
        block.first_chunk().expect("8 bytes or more"),
        block.last_chunk().expect("8 bytes or more"),
    );
    [u64::from_be_bytes(*first), u64::from_be_bytes(*last)]
}

/// Adds each half of a block separately, so that the compiler combines many of them.
#[inline(always)]
fn put<H: Half, const N: usize, const UPPER: bool>(added: [u64; 2], half: H, block: &mut [u8; N]) {
    let [high, low] = half.words();
    let (first, last) = block.split_at_mut(N - 8);
    if N == 16 {
        first.copy_from_slice(&(high ^ added[0]).to_be_bytes());
        last.copy_from_slice(&(low ^ added[1]).to_be_bytes());
    } else {
        last.copy_from_slice(&(if UPPER { high ^ added[0] } else { low ^ added[1] }).to_be_bytes());
    }
}

#[inline(always)]
fn turn<H: Half, const N: usize, const SEAL: bool>(
    modulus: &H::Modulus,
    halves: &mut [H],
    blocks: &[[u8; N]],
    more: &[[u8; N]],
) {
    for ((half, block), more) in halves.iter_mut().zip(blocks).zip(more) {
        let [high, low] = words(block);
        let low = if N == 16 { low } else { words(more)[0] };
        *half = half.turn::<SEAL>(modulus, high, low);
    }
}
