//! Parameters of the FF1 kernel that are common to all values of a run: radix, lengths, moduli with
//! their inverses, and offsets in a lane's memory. All of it is public except the state of the
//! round function.
//!
//! Not here: the kernel (`kernels/ff1.c`), and its values (`ff1`).

use sealstone_cipher::ff1::{Ff1, Outline};
use zeroize::Zeroize;

/// Values of a tile; 32 threads share one, with 32 values each.
pub(crate) const TILE_VALUES: usize = 1024;
const TILE_THREADS: u32 = 32;

/// The largest modulus for numbers of 64 bits, a power of two: four times it leaves a bit free.
const NARROW: u128 = 1 << 60;

/// A half of all values, with the fields of `half_shape` in the kernel.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct HalfShape {
    modulus_low: u64,
    modulus_high: u64,
    inverse_low: u64,
    inverse_high: u64,
    at: u64,
    numerals: u32,
    estimate: u32,
}

/// The fields of `ff1_shape` in the kernel. The state in it is zeroed on drop.
#[repr(C)]
#[derive(Clone, Default)]
pub(crate) struct Shape {
    left: HalfShape,
    right: HalfShape,
    power: u64,
    power_inverse_low: u64,
    power_inverse_high: u64,
    radix_inverse: u64,
    blocks_at: u64,
    bases_at: u64,
    tweaks_at: u64,
    base: [u32; 4],
    radix: u32,
    power_numerals: u32,
    number_bytes: u32,
    round_bytes: u32,
    wide: u32,
    each: u32,
    tweak_blocks: u32,
    seal: u32,
    tiles: u32,
    not_used: u32,
}

impl std::fmt::Debug for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shape").field("radix", &self.radix).finish_non_exhaustive()
    }
}

impl Drop for Shape {
    fn drop(&mut self) {
        self.base.zeroize();
    }
}

/// The tweaks of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TweakShape<'a> {
    /// One for all values.
    One(&'a [u8]),
    /// One for each, all of so many bytes.
    Each { tweak_bytes: usize },
}

impl Shape {
    /// Makes the shape of values with `outline`, sealed or opened under `ff1`'s key.
    pub(crate) fn new(ff1: &Ff1, outline: Outline, tweaks: TweakShape<'_>, seal: bool) -> Self {
        let radix = u64::from(ff1.radix());
        let length = outline.left + outline.right;
        let power = |numerals: usize| u128::from(radix).pow(numerals as u32);
        let wide = power(outline.right) > NARROW;
        let (power_numerals, largest) = (1..)
            .map(|numerals| (numerals, u128::from(radix).pow(numerals)))
            .take_while(|(_, power)| *power <= NARROW)
            .last()
            .expect("the radix itself");
        let power_inverse = over(largest);
        let half =
            |numerals: usize| half_shape(numerals, power(numerals), outline.round_bytes, wide);
        let mut shape = Self {
            left: half(outline.left),
            right: half(outline.right),
            power: largest as u64,
            power_inverse_low: power_inverse as u64,
            power_inverse_high: (power_inverse >> 64) as u64,
            radix_inverse: ((1_u128 << 64) / u128::from(radix)) as u64,
            radix: ff1.radix(),
            power_numerals,
            number_bytes: outline.number_bytes as u32,
            round_bytes: outline.round_bytes as u32,
            wide: wide.into(),
            seal: seal.into(),
            ..Self::default()
        };
        let state = match tweaks {
            TweakShape::One(tweak) => ff1.state_after_tweak(length, tweak),
            TweakShape::Each { tweak_bytes } => {
                shape.each = 1;
                shape.tweak_blocks = tweak_blocks(ff1, outline, tweak_bytes) as u32;
                ff1.state_before_tweak(length, tweak_bytes)
            }
        };
        for (word, bytes) in shape.base.iter_mut().zip(state.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        shape
    }

    /// Bytes of a value's numerals, and so where they end and other things begin.
    fn numerals_bytes(&self) -> usize {
        2 * (self.left.numerals + self.right.numerals) as usize
    }

    /// Bytes of a value's halves as numbers.
    fn number_bytes(&self) -> usize {
        if self.wide == 0 { 8 } else { 16 }
    }

    /// Bytes that a lane's memory must have for each value.
    pub(crate) fn value_bytes(&self, tweak_stride: usize) -> usize {
        let each = if self.each == 0 { 0 } else { 16 + tweak_stride };
        self.numerals_bytes() + 2 * self.number_bytes() + 16 + each
    }

    /// Returns the same for a run of `tiles` tiles.
    pub(crate) fn of_tiles(&self, tiles: u32) -> Self {
        let mut shape = self.clone();
        let values = tiles as usize * TILE_VALUES;
        let mut end = values * self.numerals_bytes();
        let mut place = |bytes: usize| {
            let at = end as u64;
            end += values * bytes;
            at
        };
        shape.left.at = place(self.number_bytes());
        shape.right.at = place(self.number_bytes());
        shape.blocks_at = place(16);
        if self.each != 0 {
            shape.bases_at = place(16);
            shape.tweaks_at = place(0);
        }
        shape.tiles = tiles;
        shape
    }

    /// Returns the offset of the tweaks of the values, in bytes.
    pub(crate) fn tweaks_at(&self) -> usize {
        self.tweaks_at as usize
    }

    /// Threads of a run.
    pub(crate) fn threads(&self) -> u32 {
        self.tiles.checked_mul(TILE_THREADS).expect("tiles of one lane")
    }
}

/// Returns 2^128 over `divisor`, rounded down; 2 at least.
fn over(divisor: u128) -> u128 {
    u128::MAX / divisor + u128::from(divisor.is_power_of_two())
}

fn half_shape(numerals: usize, modulus: u128, round_bytes: usize, wide: bool) -> HalfShape {
    // as the kernel calls them: SHORT, TWICE, and by more than 2^32
    let estimate = match (round_bytes, modulus <= 1 << 32) {
        (8, _) => 0,
        (_, true) => 1,
        _ => 2,
    };
    let inverse = match estimate {
        _ if wide => over(modulus),
        2 => (1 << 96) / modulus,
        _ => (1 << 64) / modulus,
    };
    HalfShape {
        modulus_low: modulus as u64,
        modulus_high: (modulus >> 64) as u64,
        inverse_low: inverse as u64,
        inverse_high: (inverse >> 64) as u64,
        at: 0,
        numerals: numerals as u32,
        estimate,
    }
}

/// Blocks of a tweak with its zeros that are encrypted before the rounds.
fn tweak_blocks(ff1: &Ff1, outline: Outline, tweak_bytes: usize) -> usize {
    (tweak_bytes + outline.zeros(tweak_bytes)) / ff1.block_bytes()
}

/// Bytes from one value's tweak to the next: its blocks, and the value added to the rounds' first
/// block.
pub(crate) fn tweak_stride(ff1: &Ff1, outline: Outline, tweak_bytes: usize) -> usize {
    (tweak_blocks(ff1, outline, tweak_bytes) + 1) * ff1.block_bytes()
}
