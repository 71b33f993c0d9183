//! What follows from radix and length alone: the lengths of the halves and of their numbers (SP 800-38G, algorithm 7,
//! steps 1 to 4). All of it is public.

/// What follows from radix and length.
pub(super) struct Shape {
    /// The radix.
    pub(super) radix: u32,
    /// Numerals of a value: n.
    pub(super) length: usize,
    /// Numerals of the left half: u, the smaller one.
    pub(super) left: usize,
    /// Numerals of the right half: v.
    pub(super) right: usize,
    /// Bytes of a number of `right` numerals: b.
    pub(super) number_bytes: usize,
    /// Bytes that a round takes from its function: d.
    pub(super) round_bytes: usize,
}

impl Shape {
    /// Of `length` numerals, at least 2 and at most `LENGTH_MAX`, in `radix`.
    pub(super) fn new(radix: u32, length: usize) -> Self {
        let left = length / 2;
        let right = length - left;
        let number_bytes = number_bytes(radix, right);
        Self { radix, length, left, right, number_bytes, round_bytes: 4 * number_bytes.div_ceil(4) + 4 }
    }
}

/// Bytes of the largest number of `numerals` numerals in `radix`: the bit length of radix^numerals - 1, in bytes. It is
/// computed with whole numbers, since logarithms in floating point are off by one where the power is one of two.
fn number_bytes(radix: u32, numerals: usize) -> usize {
    if radix.is_power_of_two() {
        return (radix.trailing_zeros() as usize * numerals).div_ceil(8);
    }
    // No power of such a radix is one of two, so radix^numerals has as many bits as that number less one.
    let mut power = [0_u64; super::wide::LIMBS];
    super::wide::set_to_power(&mut power, radix, numerals);
    super::wide::bits(&power).div_ceil(8)
}
