//! Vectors of one 128-bit block with sums and products of numbers.

use super::AesLanes;

/// Vectors of one block whose 64-bit halves are little-endian numbers as well, and products of
/// their lower 52 bits, as AVX512-IFMA has them. The value is the proof that the CPU has the
/// instructions of [`AesLanes`].
///
/// The fallback here, for CPUs without such products, computes the same numbers in registers, and
/// takes longer than plain numbers would.
pub(crate) trait Products: AesLanes {
    /// True if the CPU has these products.
    const QUICK: bool = false;

    /// Returns `number` in the first half, zero in the second.
    #[inline(always)]
    fn number(self, number: u64) -> Self::Vector {
        self.first(&u128::from(number).to_le_bytes())
    }
    /// Returns the first half.
    #[inline(always)]
    fn to_number(self, v: Self::Vector) -> u64 {
        u128::from_le_bytes(self.to_block(v)) as u64
    }
    /// Sums, modulo 2^64.
    #[inline(always)]
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        each_half(self, [a, b, a], |a, b, _| a.wrapping_add(b))
    }
    /// Sums, modulo 2^64, of `sum` and the lower 52 bits of the products of the lower 52 bits of
    /// `a` and `b`.
    #[inline(always)]
    fn add_low_product(self, sum: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        each_half(self, [sum, a, b], |sum, a, b| sum.wrapping_add(product(a, b) as u64 & LOWER_52))
    }
    /// Sums, modulo 2^64, of `sum` and the upper 52 bits of the products of the lower 52 bits of
    /// `a` and `b`.
    #[inline(always)]
    fn add_high_product(self, sum: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        each_half(self, [sum, a, b], |sum, a, b| sum.wrapping_add((product(a, b) >> 52) as u64))
    }
}

/// Lanes that also come one block wide.
pub(crate) trait OneBlock: AesLanes {
    /// The lanes that hold one block.
    type Lanes: Products;

    /// Returns the instructions for a single block.
    fn one_block(self) -> Self::Lanes;
}

const LOWER_52: u64 = (1 << 52) - 1;

/// Returns the product of the lower 52 bits.
#[inline(always)]
fn product(a: u64, b: u64) -> u128 {
    u128::from(a & LOWER_52) * u128::from(b & LOWER_52)
}

#[inline(always)]
fn each_half<L: AesLanes>(
    lanes: L,
    vectors: [L::Vector; 3],
    compute: impl Fn(u64, u64, u64) -> u64,
) -> L::Vector {
    let [a, b, c] = vectors.map(|v| u128::from_le_bytes(lanes.to_block(v)));
    let half = |shift: u32| {
        u128::from(compute((a >> shift) as u64, (b >> shift) as u64, (c >> shift) as u64))
    };
    lanes.first(&(half(0) | half(64) << 64).to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Kernel, OneBlock, with_aes};
    use crate::backend::Backend;
    use crate::testing::bytes;

    struct LikeNumbers;

    impl<L: Products> Kernel<L> for LikeNumbers {
        type Output = ();

        fn run(self, lanes: L) {
            let random = bytes("numbers to multiply", 48 * 1000);
            let mut numbers: Vec<[[u64; 2]; 3]> = random
                .as_chunks::<48>()
                .0
                .iter()
                .map(|bytes| {
                    let words = bytes.as_chunks::<8>().0;
                    std::array::from_fn(|i| {
                        [2 * i, 2 * i + 1].map(|at| u64::from_le_bytes(words[at]))
                    })
                })
                .collect();
            numbers.push([[u64::MAX; 2]; 3]);
            for [sum, a, b] in numbers {
                let [v, x, y] = [sum, a, b].map(|[low, high]| {
                    lanes.first(&(u128::from(low) | u128::from(high) << 64).to_le_bytes())
                });
                let halves = |v: L::Vector| {
                    let block = u128::from_le_bytes(lanes.to_block(v));
                    [block as u64, (block >> 64) as u64]
                };
                let product =
                    |i: usize| u128::from(a[i] % (1 << 52)) * u128::from(b[i] % (1 << 52));
                let low = |i: usize| sum[i].wrapping_add((product(i) % (1 << 52)) as u64);
                let high = |i: usize| sum[i].wrapping_add((product(i) >> 52) as u64);
                assert_eq!(halves(lanes.add(v, x)), [0, 1].map(|i| sum[i].wrapping_add(a[i])));
                assert_eq!(halves(lanes.add_low_product(v, x, y)), [0, 1].map(low));
                assert_eq!(halves(lanes.add_high_product(v, x, y)), [0, 1].map(high));
                assert_eq!(halves(lanes.number(sum[0])), [sum[0], 0]);
                assert_eq!(lanes.to_number(v), sum[0]);
            }
        }
    }

    #[test]
    fn vectors_compute_like_numbers() {
        for backend in Backend::available() {
            with_aes!(backend, |lanes| lanes.one_block().enter(LikeNumbers), |_plain| ());
        }
    }
}
