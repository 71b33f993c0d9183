//! Patterns: the bytes that a marker is in each encoding.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use zeroize::Zeroizing;

use super::hit::Encoding;
use super::window::View;

/// A row of bytes to look for.
pub(super) struct Pattern {
    /// Number of the marker.
    pub(super) what: u32,
    pub(super) encoding: Encoding,
    pub(super) bytes: Zeroizing<Vec<u8>>,
    edge: Edge,
}

/// Demand on what is around the bytes.
enum Edge {
    None,
    /// The same text in UTF-16 of the other byte order. It may match one byte further, since both
    /// orders of `0 a 0 b 0` are text.
    Swapped(Zeroizing<Vec<u8>>),
    /// The bits of the marker in the characters of base64 before and behind.
    Mixed {
        before: Option<Bits>,
        behind: Option<Bits>,
    },
}

/// Some of the six bits of a character of base64.
#[derive(Clone, Copy)]
struct Bits {
    mask: u8,
    value: u8,
}

impl Bits {
    fn of(character: u8, mask: u8) -> Self {
        Self { mask, value: sextet(character).unwrap_or_default() & mask }
    }

    /// Returns whether `neighbour` has these bits, or is no character of base64: that text is cut.
    fn fit(self, neighbour: Option<&u8>) -> bool {
        let found = neighbour.and_then(|&character| sextet(character));
        found.is_none_or(|found| found & self.mask == self.value)
    }
}

/// Returns the value of a character in either alphabet of base64.
fn sextet(character: u8) -> Option<u8> {
    Some(match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

impl Pattern {
    /// Returns whether the pattern is at `index` of the view.
    pub(super) fn is_at(&self, view: &View<'_>, index: usize) -> bool {
        let is_there = |bytes: &[u8], at: Option<usize>| {
            at.and_then(|at| view.bytes.get(at..)).is_some_and(|rest| rest.starts_with(bytes))
        };
        if !is_there(&self.bytes, Some(index)) {
            return false;
        }
        match &self.edge {
            Edge::None => true,
            Edge::Swapped(other) => {
                let low_first = self.encoding == Encoding::Utf16Le;
                let twin = if low_first { index.checked_sub(1) } else { Some(index + 1) };
                view.offset(index).is_multiple_of(2) || !is_there(other, twin)
            }
            Edge::Mixed { before, behind } => {
                let end = index + self.bytes.len();
                let first = index.checked_sub(1).and_then(|at| view.bytes.get(at));
                before.is_none_or(|bits| bits.fit(first))
                    && behind.is_none_or(|bits| bits.fit(view.bytes.get(end)))
            }
        }
    }
}

/// Returns the patterns of `text`, the marker number `what`, each once.
pub(super) fn patterns(what: u32, text: &str) -> Vec<Pattern> {
    let mut all: Vec<Pattern> = Vec::new();
    let mut add = |encoding, bytes: Zeroizing<Vec<u8>>, edge| {
        if !all.iter().any(|other| other.bytes == bytes) {
            all.push(Pattern { what, encoding, bytes, edge });
        }
    };
    let row = |bytes: Vec<u8>| Zeroizing::new(bytes);
    add(Encoding::Plain, row(text.as_bytes().to_vec()), Edge::None);
    let low_first = || row(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
    let high_first = || row(text.encode_utf16().flat_map(u16::to_be_bytes).collect());
    add(Encoding::Utf16Le, low_first(), Edge::Swapped(high_first()));
    add(Encoding::Utf16Be, high_first(), Edge::Swapped(low_first()));
    for digits in [b"0123456789abcdef", b"0123456789ABCDEF"] {
        let halves = |byte: u8| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]];
        add(Encoding::Hex, row(text.bytes().flat_map(halves).collect()), Edge::None);
    }
    for engine in [STANDARD, URL_SAFE] {
        for before in 0..3 {
            let (bytes, edge) = mixed(&engine, before, text);
            add(Encoding::Base64, bytes, edge);
        }
    }
    all
}

/// Returns the characters of base64 that depend on `text` alone if `before` bytes precede it, and
/// the bits of it in the two characters around them.
fn mixed(engine: &impl Engine, before: usize, text: &str) -> (Zeroizing<Vec<u8>>, Edge) {
    let bits = 8 * before..8 * (before + text.len());
    let mut padded = Zeroizing::new(vec![0; before]);
    padded.extend_from_slice(text.as_bytes());
    // so that the last character is one of these and no padding
    padded.extend_from_slice(&[0; 3]);
    let encoded = Zeroizing::new(engine.encode(&padded).into_bytes());
    let (from, to) = (bits.start.div_ceil(6), bits.end / 6);
    let first = (!bits.start.is_multiple_of(6))
        .then(|| Bits::of(encoded[from - 1], 0b11_1111 >> (bits.start % 6)));
    let last = (!bits.end.is_multiple_of(6))
        .then(|| Bits::of(encoded[to], 0b11_1111 << (6 - bits.end % 6) & 0b11_1111));
    (Zeroizing::new(encoded[from..to].to_vec()), Edge::Mixed { before: first, behind: last })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(Encoding, String)> {
        let readable = |pattern: Pattern| {
            (pattern.encoding, String::from_utf8(pattern.bytes.to_vec()).unwrap())
        };
        patterns(0, text).into_iter().map(readable).collect()
    }

    #[test]
    fn a_text_has_these_patterns() {
        use Encoding::{Base64, Hex, Plain, Utf16Be, Utf16Le};
        let want = [
            (Plain, "mosslz"),
            (Utf16Le, "m\0o\0s\0s\0l\0z\0"),
            (Utf16Be, "\0m\0o\0s\0s\0l\0z"),
            (Hex, "6d6f73736c7a"),
            (Hex, "6D6F73736C7A"),
            // `printf mosslz | base64`, and with x and xx before it
            (Base64, "bW9zc2x6"),
            (Base64, "1vc3Nse"),
            (Base64, "tb3NzbH"),
        ];
        assert_eq!(texts("mosslz"), want.map(|(encoding, text)| (encoding, text.to_owned())));
        // hexadecimal without letters, once; both alphabets where they differ
        let of = |text, kind| texts(text).into_iter().filter(|(found, _)| *found == kind).count();
        assert_eq!((of("123456", Hex), of("123456", Base64)), (1, 3));
        assert!(of("???>>>~~~", Base64) > 3);
    }
}
