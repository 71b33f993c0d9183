//! Vectors of bytes, for ciphers whose S-boxes are affine maps around the inversion of GF(2^8):
//! many blocks at once, with no table in memory.
//!
//! A cipher lays its blocks out in one of two ways. *Sliced*: vector i holds byte i of many blocks,
//! so that moving bytes within a block costs nothing. *In rows*: a vector holds whole blocks of 16
//! bytes, as in memory, for messages too short for the sliced layout.

use super::Lanes;

/// Vectors with affine maps and inversion of their bytes. The value is the proof that the CPU has
/// them.
///
/// A lane is a byte. The field is that of AES: GF(2^8) modulo x^8 + x^4 + x^3 + x + 1, 0 being its
/// own inverse. An affine map is a `MATRIX` over GF(2), whose row for bit i of the result is byte
/// 7 - i, and a `CONSTANT` (0 to 255) that is added.
pub(crate) trait ByteLanes: Lanes {
    /// Returns `block` in every group.
    fn splat_block(self, block: &[u8; 16]) -> Self::Vector;

    /// Lane i of each group from `a` where bit i of `A` is set, else from `b`.
    fn select<const A: u16>(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Lane i of each group takes lane `from[i]`, less than 16.
    fn shuffle(self, v: Self::Vector, from: &[u8; 16]) -> Self::Vector;

    /// Applies the affine map.
    fn affine<const MATRIX: u64, const CONSTANT: i32>(self, v: Self::Vector) -> Self::Vector;
    /// Applies the affine map after inversion.
    fn invert_affine<const MATRIX: u64, const CONSTANT: i32>(self, v: Self::Vector)
    -> Self::Vector;
    /// Inversion after the affine map.
    fn affine_invert<const MATRIX: u64, const CONSTANT: i32>(self, v: Self::Vector)
    -> Self::Vector;
}

/// An array of sixteen, `$value` for each `$i`, a constant: vectors stay in registers only where
/// nothing is left to index at run time.
macro_rules! sixteen {
    ($i:ident, $value:expr) => {
        sixteen!($i, $value, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    ($i:ident, $value:expr, $($n:literal)*) => {
        [$({
            const $i: usize = $n;
            $value
        }),*]
    };
}
pub(crate) use sixteen;

/// Rows and columns of the 16 x 16 bytes in each group exchanged: lane j of vector i becomes lane i
/// of vector j.
#[inline(always)]
pub(crate) fn transpose<L: ByteLanes>(lanes: L, v: [L::Vector; 16]) -> [L::Vector; 16] {
    // Rows and columns have four bits of number each. A step moves the highest bit of the row to
    // the lowest of the column and the highest of the column to the lowest of the row; four steps
    // exchange the two.
    let v = transpose_step(lanes, v);
    let v = transpose_step(lanes, v);
    let v = transpose_step(lanes, v);
    transpose_step(lanes, v)
}

#[inline(always)]
fn transpose_step<L: ByteLanes>(lanes: L, v: [L::Vector; 16]) -> [L::Vector; 16] {
    sixteen!(I, {
        let (a, b) = (v[I / 2], v[I / 2 + 8]);
        if I.is_multiple_of(2) { lanes.interleave_low(a, b) } else { lanes.interleave_high(a, b) }
    })
}

/// For each lane, the number of its block such that [`transpose`] of sliced blocks gives them in
/// order.
pub(crate) const fn block_order(groups: usize) -> [u8; 64] {
    let mut order = [0; 64];
    let mut lane = 0;
    while lane < 16 * groups {
        order[lane] = (lane % 16 * groups + lane / 16) as u8;
        lane += 1;
    }
    order
}

/// The matrix that changes nothing.
#[cfg(target_arch = "x86_64")]
pub(super) const IDENTITY: u64 = 0x0102_0408_1020_4080;

/// An affine map as two tables of 16: one for the low, one for the high four bits of a byte;
/// results are added.
///
/// It takes the place of an instruction for affine maps where there is one for the S-box of AES
/// alone, which is an affine map too (FIPS 197, 5.1.1) and must be undone.
#[cfg(target_arch = "x86_64")]
pub(super) struct Nibbles {
    /// For the low bits, with the constant.
    pub(super) low: [u8; 16],
    /// For the high bits.
    pub(super) high: [u8; 16],
    /// True if the map changes nothing.
    pub(super) identity: bool,
}

#[cfg(target_arch = "x86_64")]
impl Nibbles {
    /// The affine map of AES after inversion, and what undoes it.
    const AES: (u64, u8) = (0xf1e3_c78f_1f3e_7cf8, 0x63);
    const AES_UNDONE: (u64, u8) = (0xa449_9225_4a94_2952, 0x05);

    /// Applies the map alone.
    pub(super) const fn affine(matrix: u64, constant: i32) -> Self {
        Self::composed((matrix, constant as u8), (IDENTITY, 0))
    }

    /// Builds the map that turns the S-box of AES into the map `matrix`, `constant` after
    /// inversion.
    pub(super) const fn after_aes(matrix: u64, constant: i32) -> Self {
        Self::composed((matrix, constant as u8), Self::AES_UNDONE)
    }

    /// Builds the map that turns the inverse S-box of AES into inversion after the map `matrix`,
    /// `constant`.
    pub(super) const fn before_inverse_aes(matrix: u64, constant: i32) -> Self {
        Self::composed(Self::AES, (matrix, constant as u8))
    }

    const fn composed(outer: (u64, u8), inner: (u64, u8)) -> Self {
        let (mut low, mut high) = ([0; 16], [0; 16]);
        let zero = apply(outer, apply(inner, 0));
        let mut identity = true;
        let mut nibble = 0;
        while nibble < 16 {
            low[nibble as usize] = apply(outer, apply(inner, nibble));
            high[nibble as usize] = apply(outer, apply(inner, nibble << 4)) ^ zero;
            identity =
                identity && low[nibble as usize] == nibble && high[nibble as usize] == nibble << 4;
            nibble += 1;
        }
        Self { low, high, identity }
    }
}

#[cfg(target_arch = "x86_64")]
const fn apply((matrix, constant): (u64, u8), x: u8) -> u8 {
    let rows = matrix.to_be_bytes();
    let mut y = constant;
    let mut bit = 0;
    while bit < 8 {
        y ^= ((rows[bit] & x).count_ones() as u8 & 1) << bit;
        bit += 1;
    }
    y
}
