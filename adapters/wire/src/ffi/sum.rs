//! Sums of words for checksums, with wider vectors where the CPU has them.

/// Adds up the words of 32 bits, in the machine's own byte order, of as many whole blocks of 64
/// bytes as there are. Returns the sum and what remains.
pub(crate) fn words(bytes: &[u8]) -> (u64, &[u8]) {
    let (blocks, rest) = bytes.as_chunks();
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: this CPU has the instructions.
        return (unsafe { with_avx2(blocks) }, rest);
    }
    (of_blocks(blocks), rest)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2(blocks: &[[u8; 64]]) -> u64 {
    of_blocks(blocks)
}

#[inline(always)]
fn of_blocks(blocks: &[[u8; 64]]) -> u64 {
    // several sums at once, which become vectors
    let mut lanes = [0_u64; 16];
    for block in blocks {
        let (words, _) = block.as_chunks::<4>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane += u64::from(u32::from_ne_bytes(*word));
        }
    }
    lanes.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_give_the_same() {
        let bytes: Vec<u8> =
            (0..10_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 11) as u8).collect();
        for length in [0, 63, 64, 65, 1_448, 9_999] {
            let (sum, rest) = words(&bytes[..length]);
            assert_eq!((sum, rest.len()), (of_blocks(bytes[..length].as_chunks().0), length % 64));
        }
        assert_eq!(words(&[0xff; 128]).0, 32 * u64::from(u32::MAX));
    }
}
