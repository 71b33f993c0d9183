//! Bytes as hexadecimal digits in the text of a key file.

use std::fmt;

use serde::Deserialize;
use zeroize::{Zeroize, Zeroizing};

/// Bytes as hex digits, decoded straight from the text to a place that is zeroed.
pub(super) struct Hex<const N: usize>(pub(super) Box<Zeroizing<[u8; N]>>);

impl<'de, const N: usize> Deserialize<'de> for Hex<N> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<const N: usize>;
        impl<const N: usize> serde::de::Visitor<'_> for Visitor<N> {
            type Value = Hex<N>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} hex digits", 2 * N)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Hex<N>, E> {
                from_hex(text).ok_or_else(|| E::custom("not that many hex digits"))
            }
            fn visit_string<E: serde::de::Error>(self, mut text: String) -> Result<Hex<N>, E> {
                let bytes = self.visit_str(&text);
                text.zeroize();
                bytes
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

fn from_hex<const N: usize>(text: &str) -> Option<Hex<N>> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = Hex(Box::new(Zeroizing::new([0; N])));
    for (byte, pair) in bytes.0.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = (high << 4 | low) as u8;
    }
    Some(bytes)
}

/// Adds the line `name = "bytes in hex"` to `text`, which has room for it.
pub(super) fn push_hex(text: &mut String, name: &str, bytes: &[u8]) {
    text.push_str(name);
    text.push_str(" = \"");
    for byte in bytes {
        text.push(char::from_digit(u32::from(byte >> 4), 16).expect("four bits"));
        text.push(char::from_digit(u32::from(byte & 15), 16).expect("four bits"));
    }
    text.push_str("\"\n");
}
