//! E-mail addresses in text.
//!
//! Not here: the format of columns, which accepts more (`sealstone_fields`).

use super::unit::{Units, wide};
use super::window::View;

/// Longest part before the @ (RFC 5321, 4.5.3.1.1).
const LOCAL_MAX: isize = 64;
/// Longest domain (RFC 1035, 2.3.4).
const DOMAIN_MAX: isize = 253;
/// Longest part of a domain (RFC 1035, 2.3.4).
const LABEL_MAX: usize = 63;
/// Fewest characters of an address. One shorter is in a GiB of random data by chance.
const CHARACTERS_MIN: usize = 11;

/// Reads the address around the @ that `at` holds; returns the number of characters before it.
fn local(at: Units<'_>) -> Option<isize> {
    let is_local = |c: u8| c.is_ascii_alphanumeric() || b"._%+-".contains(&c);
    let mut count =
        (1..=LOCAL_MAX + 1).take_while(|step| at.get(-step).is_some_and(is_local)).count();
    if count > LOCAL_MAX as usize || at.get(-1) == Some(b'.') {
        return None;
    }
    // of dots at the end of other text, none
    while count > 0 && at.get(-(count as isize)) == Some(b'.') {
        count -= 1;
    }
    if count == 0 {
        return None;
    }
    let domain: Vec<u8> = (1..=DOMAIN_MAX + 1)
        .map_while(|step| at.get(step).filter(|c| c.is_ascii_alphanumeric() || b".-".contains(c)))
        .collect();
    (is_domain(&domain, CHARACTERS_MIN - 1 - count.min(CHARACTERS_MIN - 1)))
        .then_some(count as isize)
}

/// Returns whether `text` begins with a domain and goes on with nothing but the end of a sentence.
/// It has a dot, at least `min` characters, and parts of letters that are all small or all capital
/// but for the first: random letters seldom are.
fn is_domain(text: &[u8], min: usize) -> bool {
    let end = text.iter().rposition(|c| c.is_ascii_alphanumeric()).map_or(0, |last| last + 1);
    let text = &text[..end];
    let mut labels = text.rsplit(|&c| c == b'.');
    let (top, second) = (labels.next().unwrap_or_default(), labels.next().unwrap_or_default());
    (min..=DOMAIN_MAX as usize).contains(&text.len())
        && (2..=24).contains(&top.len())
        && top.iter().all(u8::is_ascii_alphabetic)
        && second.len() >= 2
        && text.split(|&c| c == b'.').all(is_label)
}

fn is_label(label: &[u8]) -> bool {
    let rest = label.get(1..).unwrap_or_default();
    !label.is_empty()
        && label.len() <= LABEL_MAX
        && label[0] != b'-'
        && !label.ends_with(b"-")
        && (!rest.iter().any(u8::is_ascii_uppercase) || !label.iter().any(u8::is_ascii_lowercase))
}

/// Calls `found` for every address whose @ is in the piece, with its encoding and offset.
pub(super) fn search(view: &View<'_>, found: &mut dyn FnMut(super::hit::Encoding, u64)) {
    let read =
        |at: Units<'_>| local(at).map(|count| (at.encoding(), view.offset(at.index(-count))));
    for place in memchr::memchr_iter(b'@', &view.bytes[view.from..view.to]) {
        let at = view.from + place;
        let narrow = read(Units::narrow(view.bytes, at));
        if let Some((encoding, offset)) = narrow.or_else(|| wide(view, at, &read)) {
            found(encoding, offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leak::hit::Encoding;

    fn found(text: &str) -> Vec<u64> {
        let mut all = Vec::new();
        let bytes = text.as_bytes();
        let view = View { bytes, base: 0, from: 0, to: bytes.len() };
        search(&view, &mut |encoding, offset| {
            assert_eq!(encoding, Encoding::Plain);
            all.push(offset);
        });
        all
    }

    #[test]
    fn addresses_are_found_and_others_are_not() {
        for (text, want) in [
            ("hong@example.com", vec![0]),
            ("<h.g_d+tag@mail.example.co.kr>, kim@Naver.COM.", vec![1, 32]),
            ("..hong@example.com", vec![2]),
            ("mail:hong@EXAMPLE.COM", vec![5]),
            ("a@b.com", vec![]),
            ("hong@example", vec![]),
            ("hong@example.c", vec![]),
            ("hong@example.c0m", vec![]),
            ("hong@.example.com", vec![]),
            ("hong@example..com", vec![]),
            ("hong@-example.com", vec![]),
            ("hong.@example.com", vec![]),
            ("@example.com.example", vec![]),
            ("hong@exAmple.com", vec![]),
            ("hong@example.com-1", vec![]),
        ] {
            assert_eq!(found(text), want, "{text}");
        }
        assert_eq!(found(&format!("{}@example.com", "h".repeat(64))), [0]);
        assert_eq!(found(&format!("{}@example.com", "h".repeat(65))), [0; 0]);
        assert_eq!(found(&format!("hong@{}.com", "h".repeat(63))), [0]);
        assert_eq!(found(&format!("hong@{}.com", "h".repeat(64))), [0; 0]);
        let long = "abcdefghi.".repeat(25);
        assert_eq!(found(&format!("hong@{long}com")), [0]);
        assert_eq!(found(&format!("hong@{long}comm")), [0; 0]);
    }
}
