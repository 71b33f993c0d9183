//! Bit planes: wide words of independent bits, for ciphers that are computed as circuits on many
//! blocks at once.
//!
//! Here are the trait and what every CPU can do; `x86_64/planes.rs` has the vectors of that
//! architecture.

use super::Kernel;

/// Words of [`Planes::WORDS`] times 64 bits with plain logic. The value is the proof that the CPU
/// has the instructions.
pub(crate) trait Planes: Copy + Send + Sync + 'static {
    /// A plane in registers.
    type Plane: Copy;

    /// 64-bit words in a plane, a power of two.
    const WORDS: usize;
    /// Bytes in a plane.
    const BYTES: usize = 8 * Self::WORDS;
    /// True if any function of three planes is one instruction.
    const TERNARY: bool;

    /// Returns the name of the backend.
    fn backend(self) -> &'static str;
    /// Runs `kernel`, compiled for these instructions.
    fn enter_planes<K: Kernel<Self>>(self, kernel: K) -> K::Output;

    /// Returns `word` in every word.
    fn splat(self, word: u64) -> Self::Plane;
    /// Returns the first `BYTES` bytes of `bytes`, which must hold as many; each word is
    /// little-endian.
    fn load(self, bytes: &[u8]) -> Self::Plane;
    /// Writes `plane` to the first `BYTES` bytes of `bytes`, which must hold as many.
    fn store(self, plane: Self::Plane, bytes: &mut [u8]);

    /// Returns the exclusive or.
    fn xor(self, a: Self::Plane, b: Self::Plane) -> Self::Plane;
    /// Returns the bitwise and.
    fn and(self, a: Self::Plane, b: Self::Plane) -> Self::Plane;
    /// Returns the inclusive or.
    fn or(self, a: Self::Plane, b: Self::Plane) -> Self::Plane;
    /// Returns `a` where `b` is 0, else 0.
    fn and_not(self, a: Self::Plane, b: Self::Plane) -> Self::Plane;
    /// Complement.
    #[inline(always)]
    fn not(self, a: Self::Plane) -> Self::Plane {
        self.xor(a, self.splat(u64::MAX))
    }

    /// Returns the function of three planes with truth table `F`: for bits a, b, c the result is
    /// bit 4a + 2b + c of `F`.
    #[inline(always)]
    fn ternary<const F: i32>(self, a: Self::Plane, b: Self::Plane, c: Self::Plane) -> Self::Plane {
        // Where this is no instruction it is a sum of products of the inputs, its coefficients by
        // Möbius inversion.
        const { assert!(F >= 0 && F < 256) };
        let products =
            [c, b, self.and(b, c), a, self.and(a, c), self.and(a, b), self.and(a, self.and(b, c))];
        let mut sum = self.splat(0_u64.wrapping_sub(F as u64 & 1));
        for (inputs, product) in (1..8).zip(products) {
            let mut odd = 0;
            for subset in 0..=inputs {
                odd ^= if subset & !inputs == 0 { F >> subset & 1 } else { 0 };
            }
            if odd == 1 {
                sum = self.xor(sum, product);
            }
        }
        sum
    }

    /// Returns each word shifted left by `N` bits.
    fn shift_left<const N: i32>(self, plane: Self::Plane) -> Self::Plane;
    /// Returns each word shifted right by `N` bits.
    fn shift_right<const N: i32>(self, plane: Self::Plane) -> Self::Plane;
}

/// Planes as arrays of two words.
#[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2")), miri))]
macro_rules! array_planes {
    ($token:ty, $name:literal) => {
        impl Planes for $token {
            type Plane = [u64; 2];

            const WORDS: usize = 2;
            const TERNARY: bool = false;

            fn backend(self) -> &'static str {
                $name
            }
            #[inline(always)]
            fn enter_planes<K: Kernel<Self>>(self, kernel: K) -> K::Output {
                kernel.run(self)
            }

            #[inline(always)]
            fn splat(self, word: u64) -> [u64; 2] {
                [word; 2]
            }
            #[inline(always)]
            fn load(self, bytes: &[u8]) -> [u64; 2] {
                let (words, _) = bytes.as_chunks::<8>();
                [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])]
            }
            #[inline(always)]
            fn store(self, plane: [u64; 2], bytes: &mut [u8]) {
                let (words, _) = bytes.as_chunks_mut::<8>();
                words[0] = plane[0].to_le_bytes();
                words[1] = plane[1].to_le_bytes();
            }

            #[inline(always)]
            fn xor(self, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
                [a[0] ^ b[0], a[1] ^ b[1]]
            }
            #[inline(always)]
            fn and(self, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
                [a[0] & b[0], a[1] & b[1]]
            }
            #[inline(always)]
            fn or(self, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
                [a[0] | b[0], a[1] | b[1]]
            }
            #[inline(always)]
            fn and_not(self, a: [u64; 2], b: [u64; 2]) -> [u64; 2] {
                [a[0] & !b[0], a[1] & !b[1]]
            }
            #[inline(always)]
            fn shift_left<const N: i32>(self, plane: [u64; 2]) -> [u64; 2] {
                [plane[0] << N, plane[1] << N]
            }
            #[inline(always)]
            fn shift_right<const N: i32>(self, plane: [u64; 2]) -> [u64; 2] {
                [plane[0] >> N, plane[1] >> N]
            }
        }
    };
}

#[cfg(any(not(all(target_arch = "x86_64", target_feature = "sse2")), miri))]
array_planes!(super::Portable, "portable");

/// Planes as arrays, where `Portable` has registers: to test the code of other architectures on
/// this one.
#[cfg(test)]
#[derive(Clone, Copy)]
pub(crate) struct Arrays;
#[cfg(test)]
array_planes!(Arrays, "arrays");
