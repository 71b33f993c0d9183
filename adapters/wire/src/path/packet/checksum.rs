//! The checksum of IP, TCP and UDP.
//!
//! Source: RFC 1071. Sums are of words in the machine's own byte order, which that memo (section 2)
//! allows: the stored value is then in that order, too.

use crate::ffi::sum;

/// Returns `sum` with the words of `bytes` added; a last odd byte counts as one followed by zero.
#[must_use]
pub(crate) fn add(sum: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = sum::words(bytes);
    let (pairs, last) = rest.as_chunks::<2>();
    let tail: u64 = pairs.iter().map(|pair| u64::from(u16::from_ne_bytes(*pair))).sum();
    let odd = last.first().map_or(0, |byte| u64::from(u16::from_ne_bytes([*byte, 0])));
    // each folded, so that sums of many pieces do not overflow
    u64::from(fold(words)) + tail + odd + sum
}

/// Returns the sum with its carries added, as 16 bits.
#[must_use]
pub(crate) fn fold(sum: u64) -> u16 {
    let mut sum = (sum >> 32) + (sum & 0xffff_ffff);
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    sum as u16
}

/// Computes what a number in a header adds to a sum.
#[must_use]
pub(crate) fn number(value: u16) -> u64 {
    u64::from(value.to_be())
}

/// Computes the checksum that is stored for data with this sum.
#[must_use]
pub(crate) fn stored(sum: u64) -> [u8; 2] {
    (!fold(sum)).to_ne_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_memo() {
        // RFC 1071, section 3
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(add(0, &bytes)).to_ne_bytes(), [0xdd, 0xf2]);
        assert_eq!(stored(add(0, &bytes)), [0x22, 0x0d]);
    }

    #[test]
    fn pieces_give_the_same_as_the_whole() {
        let bytes: Vec<u8> =
            (0..70_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let plain = |bytes: &[u8]| {
            let words = bytes
                .chunks(2)
                .map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)));
            let mut sum: u64 = words.sum();
            while sum > 0xffff {
                sum = (sum >> 16) + (sum & 0xffff);
            }
            (sum as u16).to_be_bytes()
        };
        for length in (0..200).chain([1_447, 1_448, 65_535, 70_000]) {
            assert_eq!(
                fold(add(0, &bytes[..length])).to_ne_bytes(),
                plain(&bytes[..length]),
                "{length}"
            );
            let cut = length / 3 / 2 * 2;
            let pieces = add(add(0, &bytes[..cut]), &bytes[cut..length]);
            assert_eq!(fold(pieces), fold(add(0, &bytes[..length])), "{length}");
        }
        assert_eq!(fold(add(number(0x1234), &[])).to_ne_bytes(), [0x12, 0x34]);
        assert_eq!(fold(add(u64::from(u32::MAX), &[0xff; 70_000])), 0xffff);
    }
}
