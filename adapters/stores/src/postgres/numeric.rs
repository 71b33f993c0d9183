//! Decimal numbers as PostgreSQL sends them (`numeric`): groups of four digits, and the number of
//! digits behind the point.

/// The sign of a negative number, and of a positive one.
const NEGATIVE: u16 = 0x4000;
const POSITIVE: u16 = 0x0000;
/// Digits of a group.
const GROUP: usize = 4;

/// Appends the number with the digits `text` to `into`; `None` if it is none.
pub(super) fn encode(text: &[u8], mut into: impl FnMut(&[u8])) -> Option<()> {
    let (sign, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (NEGATIVE, digits),
        None => (POSITIVE, text),
    };
    let mut parts = digits.splitn(2, |byte| *byte == b'.');
    let (whole, fraction) = (parts.next()?, parts.next().unwrap_or_default());
    if whole.is_empty() || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
        return None;
    }
    let mut padded = vec![b'0'; whole.len().next_multiple_of(GROUP) - whole.len()];
    padded.extend_from_slice(whole);
    let whole_groups = padded.len() / GROUP;
    padded.extend_from_slice(fraction);
    padded.resize(padded.len().next_multiple_of(GROUP), b'0');
    let value =
        |group: &[u8]| group.iter().fold(0_u16, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    let groups: Vec<u16> = padded.chunks(GROUP).map(value).collect();
    // zeros at either end are not sent
    let first = groups.iter().position(|group| *group != 0).unwrap_or(groups.len());
    let last = groups.iter().rposition(|group| *group != 0).map_or(first, |last| last + 1);
    let sent = &groups[first..last];
    let weight = if sent.is_empty() { 0 } else { whole_groups as i16 - 1 - first as i16 };
    let sign = if sent.is_empty() { POSITIVE } else { sign };
    into(&u16::try_from(sent.len()).ok()?.to_be_bytes());
    into(&weight.to_be_bytes());
    into(&sign.to_be_bytes());
    into(&u16::try_from(fraction.len()).ok()?.to_be_bytes());
    sent.iter().for_each(|group| into(&group.to_be_bytes()));
    Some(())
}

/// Appends the digits of the number that `sent` is to `into`; `None` if it is no finite number.
pub(super) fn decode(sent: &[u8], into: &mut Vec<u8>) -> Option<()> {
    let mut words = sent.chunks_exact(2).map(|word| u16::from_be_bytes([word[0], word[1]]));
    let (count, weight, sign, scale) =
        (words.next()?, words.next()?.cast_signed(), words.next()?, words.next()?);
    let groups: Vec<u16> = words.collect();
    if groups.len() != usize::from(count) || !matches!(sign, POSITIVE | NEGATIVE) {
        return None;
    }
    let group = |place: i32| {
        // the first group has the place `weight`, places behind the point are negative
        let at = usize::try_from(i32::from(weight) - place).ok();
        at.and_then(|at| groups.get(at)).copied().unwrap_or(0)
    };
    if sign == NEGATIVE {
        into.push(b'-');
    }
    let begin = into.len();
    for place in (0..=i32::from(weight)).rev() {
        into.extend_from_slice(format!("{:04}", group(place)).as_bytes());
    }
    let zeros = into[begin..].iter().take_while(|digit| **digit == b'0').count();
    into.drain(begin..begin + zeros);
    if into.len() == begin {
        into.push(b'0');
    }
    if scale > 0 {
        into.push(b'.');
        let end = into.len() + usize::from(scale);
        let mut place = -1;
        while into.len() < end {
            into.extend_from_slice(format!("{:04}", group(place)).as_bytes());
            place -= 1;
        }
        into.truncate(end);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: &str) -> Vec<u8> {
        let mut sent = Vec::new();
        encode(text.as_bytes(), |bytes| sent.extend_from_slice(bytes))
            .unwrap_or_else(|| panic!("{text}"));
        sent
    }

    #[test]
    fn numbers_are_sent_as_the_server_stores_them() {
        // from `SELECT numeric_send(…)` of PostgreSQL 15
        let words = |text: &str| {
            sent(text)
                .chunks(2)
                .map(|word| u16::from_be_bytes([word[0], word[1]]))
                .collect::<Vec<_>>()
        };
        assert_eq!(words("0"), [0, 0, 0, 0]);
        assert_eq!(words("2.50"), [2, 0, 0, 2, 2, 5000]);
        assert_eq!(words("-0.0001"), [1, 0xFFFF, 0x4000, 4, 1]);
        assert_eq!(words("12345678"), [2, 1, 0, 0, 1234, 5678]);
        assert_eq!(words("10000"), [1, 1, 0, 0, 1]);
    }

    #[test]
    fn every_number_comes_back_with_the_same_digits() {
        for text in [
            "0",
            "0.00",
            "7",
            "-7",
            "10",
            "2.50",
            "-0.5",
            "0.00001",
            "9999",
            "10000",
            "12345.678901",
            "100000000.1",
            "-123456789012345678901234567890.000000000001",
            "1.0000",
            "0.10000000",
        ] {
            let mut back = Vec::new();
            decode(&sent(text), &mut back).unwrap();
            assert_eq!(String::from_utf8_lossy(&back), text);
        }
        let nan = [0, 0, 0, 0, 0xC0, 0, 0, 0];
        assert!(
            decode(&nan, &mut Vec::new()).is_none() && decode(&[0, 1], &mut Vec::new()).is_none()
        );
        assert!(encode(b"1e3", |_| ()).is_none() && encode(b"", |_| ()).is_none());
    }
}
