//! Values as a statement takes them: the check that a column returns each unchanged, and the form
//! in which it is sent.

use sealstone_store::Kind;

/// A value in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param<'a> {
    /// None.
    Null,
    /// A whole number.
    Number(i64),
    /// Text, the digits of a decimal number, or bytes.
    Bytes(&'a [u8]),
}

/// Returns `value` for a column of `kind`; `is_text`: one whose bytes are kept as text.
///
/// # Errors
/// The fault of a value that the column would refuse, or not return unchanged.
pub(super) fn bind(value: &[u8], kind: Kind, is_text: bool) -> Result<Param<'_>, &'static str> {
    match kind {
        // empty is absent
        Kind::Integer | Kind::Decimal if value.is_empty() => Ok(Param::Null),
        Kind::Integer => whole(value)
            .map(Param::Number)
            .ok_or("is no whole number of 64 bits in its shortest form"),
        Kind::Decimal if is_decimal(value) => Ok(Param::Bytes(value)),
        Kind::Decimal => Err("is no decimal number in its shortest form"),
        Kind::Bytes if !is_text => Ok(Param::Bytes(value)),
        Kind::Text | Kind::Bytes => text(value).map(Param::Bytes),
    }
}

/// Returns `value`, which a column of text can have.
///
/// # Errors
/// The fault of the value.
pub(super) fn text(value: &[u8]) -> Result<&[u8], &'static str> {
    match std::str::from_utf8(value) {
        Ok(text) if !text.contains('\0') => Ok(value),
        _ => Err("is no text in UTF-8 without zero bytes"),
    }
}

/// Returns the number that `digits` are, and that is written so.
fn whole(digits: &[u8]) -> Option<i64> {
    let number: i64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let shortest = match digits {
        [b'0'] => true,
        [b'-', first, ..] | [first, ..] => *first != b'0' && *first != b'+',
        [] => false,
    };
    shortest.then_some(number)
}

/// Returns whether `text` is a decimal number as a server writes it: no sign but a minus, no zero
/// before other digits, no minus before zero alone.
fn is_decimal(text: &[u8]) -> bool {
    const DIGITS_MAX: usize = 1_000;
    let (is_negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let mut parts = digits.splitn(2, |byte| *byte == b'.');
    let (whole, fraction) = (parts.next().unwrap_or_default(), parts.next());
    let are_digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    are_digits(whole)
        && fraction.is_none_or(are_digits)
        && (whole.len() == 1 || whole[0] != b'0')
        && !(is_negative && digits.iter().all(|byte| matches!(byte, b'0' | b'.')))
        && digits.len() <= DIGITS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_only_as_a_column_returns_them() {
        let integer = |value: &'static [u8]| bind(value, Kind::Integer, false);
        assert_eq!(integer(b""), Ok(Param::Null));
        assert_eq!(integer(b"0"), Ok(Param::Number(0)));
        assert_eq!(integer(b"-9223372036854775808"), Ok(Param::Number(i64::MIN)));
        for odd in ["007", "+7", "-0", "-07", "7.0", " 7", "9223372036854775808", "seven"] {
            assert!(integer(odd.as_bytes()).is_err(), "{odd}");
        }
        let decimal = |value: &'static str| bind(value.as_bytes(), Kind::Decimal, false);
        for plain in ["0", "2.50", "-0.5", "10", "0.00", "123456789012345678901234567890.1"] {
            assert_eq!(decimal(plain), Ok(Param::Bytes(plain.as_bytes())), "{plain}");
        }
        for odd in ["-0.0", "-0", "02.5", ".5", "5.", "1e3", "--1", "1.2.3", "-"] {
            assert!(decimal(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn bytes_need_be_text_only_in_columns_of_text() {
        let odd = b"\xff\0";
        assert_eq!(bind(odd, Kind::Bytes, false), Ok(Param::Bytes(odd)));
        assert!(bind(odd, Kind::Bytes, true).is_err() && bind(b"a\0", Kind::Text, true).is_err());
        assert_eq!(bind(b"", Kind::Text, true), Ok(Param::Bytes(b"")));
    }
}
