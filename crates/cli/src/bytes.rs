//! Keys and values of records as people read and write them: text, or `0x` and hexadecimal digits.

use std::fmt::Write;

/// Separator of key and value, as RocksDB's `ldb` writes and reads it.
pub(crate) const SEPARATOR: &str = " ==> ";

/// Bytes as a person reads them: as text if they are text, and otherwise, or if `hex`, as `0x` and
/// hexadecimal digits. Text that begins with `0x` itself is shown in digits, so that one line means
/// one record.
pub(crate) fn shown(bytes: &[u8], hex: bool) -> String {
    let is_text = |text: &&str| {
        !text.is_empty()
            && !text.starts_with("0x")
            && !text.contains(SEPARATOR)
            && !text.chars().any(char::is_control)
    };
    match std::str::from_utf8(bytes).ok().filter(is_text).filter(|_| !hex) {
        Some(text) => text.to_owned(),
        None => {
            let mut text = String::with_capacity(2 + 2 * bytes.len());
            text.push_str("0x");
            bytes
                .iter()
                .for_each(|byte| write!(text, "{byte:02X}").expect("a String takes everything"));
            text
        }
    }
}

/// Bytes on the command line: plain text, or `0x` and hexadecimal digits.
#[derive(Clone, Debug)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

/// Reads bytes from the command line.
///
/// # Errors
/// One line that describes the accepted values.
pub(crate) fn parse(text: &str) -> Result<Bytes, String> {
    let Some(digits) = text.strip_prefix("0x") else { return Ok(Bytes(text.as_bytes().to_vec())) };
    let pairs = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2));
    let byte = |pair: Option<&str>| {
        let digits = pair.filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        u8::from_str_radix(digits, 16).ok()
    };
    let bytes: Option<Vec<u8>> = pairs.map(byte).collect();
    bytes
        .map(Bytes)
        .ok_or_else(|| "expected text, or 0x and an even number of hexadecimal digits".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_given_back() {
        for (bytes, want) in [
            (&b"order 17"[..], "order 17"),
            ("주문".as_bytes(), "주문"),
            (b"\x00\xff", "0x00FF"),
            (b"two\nlines", "0x74776F0A6C696E6573"),
            (b"0x12", "0x30783132"),
            (b"a ==> b", "0x61203D3D3E2062"),
            (b"", "0x"),
        ] {
            assert_eq!(shown(bytes, false), want);
            assert_eq!(parse(want).unwrap().0, bytes);
            assert_eq!(parse(&shown(bytes, true)).unwrap().0, bytes);
        }
        for text in ["0x1", "0x1g", "0xé", "0x+1"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
