//! Numbers from a seed, the same on every machine and in every version: SplitMix64 (Steele, Lea and
//! Flood, "Fast splittable pseudorandom number generators", 2014). Not for secrets.

/// A stream of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Returns the stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a separate stream for `purpose`, whatever else is drawn from this one.
    pub fn fork(&self, purpose: u64) -> Self {
        let mut fork = Self(self.0 ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93));
        fork.number();
        fork
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    /// Returns a number of `range`, both ends included.
    pub fn within(&mut self, first: usize, last: usize) -> usize {
        first + self.below(last - first + 1)
    }

    /// Returns true in `of_hundred` of a hundred cases.
    pub fn chance(&mut self, of_hundred: usize) -> bool {
        self.below(100) < of_hundred
    }

    /// Returns one of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // the first outputs of SplitMix64 for seed 1234567, as given with the reference code in C
        let mut random = Random::new(1_234_567);
        let first = [random.number(), random.number(), random.number()];
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }
}
