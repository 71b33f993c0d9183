//! Counter blocks at an offset of a key stream. Not here: the key stream, which a module makes.

/// Returns the counter block `blocks` after `initial`; it wraps (SP 800-38A, appendix B.1).
pub(crate) fn counter_after(initial: [u8; 16], blocks: u64) -> [u8; 16] {
    u128::from_be_bytes(initial).wrapping_add(u128::from(blocks)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_128_bits_count() {
        assert_eq!(counter_after([0xff; 16], 1), [0; 16]);
        let mut carried = [0; 16];
        carried[7] = 1;
        let mut initial = [0; 16];
        initial[8..].fill(0xff);
        assert_eq!(counter_after(initial, 1), carried);
    }
}
