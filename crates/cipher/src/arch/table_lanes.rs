//! Vectors of bytes with look-ups in tables of 256 bytes, for ciphers whose tables depend on the
//! key: every look-up reads the whole table, so that time and memory traffic reveal nothing of the
//! entry.

use super::Lanes;

/// Vectors with look-ups, one a byte. The value is the proof that the CPU has them.
pub(crate) trait TableLanes: Lanes {
    /// Returns the entries of `table` at the lower six bits of each byte of `index`.
    fn look_up64(self, index: Self::Vector, table: &[u8; 64]) -> Self::Vector;
    /// Returns the entries of `table` at each byte of `index`.
    fn look_up(self, index: Self::Vector, table: &[u8; 256]) -> Self::Vector;
    /// Sums modulo 2^32 of numbers of four bytes, the most significant in the first vector.
    fn add_sliced32(self, a: [Self::Vector; 4], b: [Self::Vector; 4]) -> [Self::Vector; 4];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Kernel, with_tables};
    use crate::backend::Backend;
    use crate::testing::bytes;

    struct LookUp<'a>(&'a [u8], &'a [u8; 256]);

    impl<L: TableLanes> Kernel<L> for LookUp<'_> {
        type Output = [Vec<u8>; 2];

        #[inline(always)]
        fn run(self, lanes: L) -> [Vec<u8>; 2] {
            let mut found = [vec![0; L::BYTES], vec![0; L::BYTES]];
            let (index, table) = (lanes.load(self.0), self.1);
            lanes.store(lanes.look_up(index, table), &mut found[0]);
            lanes.store(
                lanes.look_up64(index, table.first_chunk().expect("64 of 256 bytes")),
                &mut found[1],
            );
            found
        }
    }

    struct Add<'a>(&'a [Vec<u8>], &'a [Vec<u8>]);

    impl<L: TableLanes> Kernel<L> for Add<'_> {
        type Output = Vec<Vec<u8>>;

        #[inline(always)]
        fn run(self, lanes: L) -> Vec<Vec<u8>> {
            let Self(a, b) = self;
            let a = [lanes.load(&a[0]), lanes.load(&a[1]), lanes.load(&a[2]), lanes.load(&a[3])];
            let b = [lanes.load(&b[0]), lanes.load(&b[1]), lanes.load(&b[2]), lanes.load(&b[3])];
            let mut sums = vec![vec![0; L::BYTES]; 4];
            for (sum, vector) in sums.iter_mut().zip(lanes.add_sliced32(a, b)) {
                lanes.store(vector, sum);
            }
            sums
        }
    }

    /// Bytes of which many are 0 or 255, where carries run on.
    fn extreme(label: &str) -> Vec<u8> {
        bytes(label, 64)
            .into_iter()
            .map(|byte| [0, 255, 255, byte, byte][usize::from(byte) % 5])
            .collect()
    }

    #[test]
    fn look_ups_and_sums_are_those_of_single_bytes_and_numbers() {
        fn check<L: TableLanes>(lanes: L, seed: u64) {
            let index = bytes(&format!("index {seed}"), 64);
            let table: [u8; 256] = bytes(&format!("table {seed}"), 256).try_into().unwrap();
            let index_of =
                |mask: u8| index[..L::BYTES].iter().map(move |at| usize::from(*at & mask));
            let want =
                [0xff, 0x3f].map(|mask| index_of(mask).map(|at| table[at]).collect::<Vec<u8>>());
            assert_eq!(lanes.enter(LookUp(&index, &table)), want, "{}", lanes.name());

            let planes =
                |of: &str| (0..4).map(|i| extreme(&format!("{of} {i} {seed}"))).collect::<Vec<_>>();
            let (a, b) = (planes("a"), planes("b"));
            let sums = lanes.enter(Add(&a, &b));
            let number = |planes: &[Vec<u8>], at: usize| {
                u32::from_be_bytes(std::array::from_fn(|i| planes[i][at]))
            };
            for at in 0..L::BYTES {
                let want = number(&a, at).wrapping_add(number(&b, at));
                assert_eq!(number(&sums, at), want, "{} at {at}", lanes.name());
            }
        }
        for seed in 0..50 {
            for backend in Backend::available() {
                with_tables!(backend, |lanes| check(lanes, seed), else ());
            }
        }
    }
}
