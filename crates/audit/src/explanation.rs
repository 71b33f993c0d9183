//! Words with which the program explains a file, a column or a finding: they come in English, and a
//! page in another language has them in that language.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use sealstone_message::Language;

/// Explanations in Korean, by the English ones.
static KOREAN: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    toml::from_str(include_str!("../texts/explanations.ko.toml")).expect("a table of texts")
});

/// Mark in an English explanation for anything.
const ANYTHING: &str = "{}";
/// Separator of explanations in a list of them.
const SEPARATOR: &str = "; ";

/// Returns `english` in `language`; none where nobody has translated it. Of several explanations,
/// separated by semicolons, each is translated.
#[must_use]
pub fn explanation(english: &str, language: Language) -> Option<String> {
    match language {
        Language::English => Some(english.to_owned()),
        Language::Korean => KOREAN.get(english).cloned().or_else(|| {
            let parts: Option<Vec<String>> = english.split(SEPARATOR).map(one).collect();
            parts.map(|parts| parts.join(SEPARATOR))
        }),
    }
}

/// Returns a single explanation in Korean.
fn one(english: &str) -> Option<String> {
    KOREAN.get(english).cloned().or_else(|| {
        let patterns = KOREAN.iter().filter(|(pattern, _)| pattern.contains(ANYTHING));
        patterns.filter_map(|(pattern, words)| Some((filled(pattern, english)?, words))).next().map(
            |(values, words)| {
                (1..).zip(values).fold(words.clone(), |words, (number, value)| {
                    words.replace(&format!("{{{number}}}"), value)
                })
            },
        )
    })
}

/// Returns what `text` has in the places of `pattern` that stand for anything; none if it is
/// another text.
fn filled<'a>(pattern: &str, text: &'a str) -> Option<Vec<&'a str>> {
    // from the end: what stands for a name, which may have anything in it, comes first
    let mut pieces = pattern.rsplit(ANYTHING);
    let mut rest = text.strip_suffix(pieces.next()?)?;
    let mut values = Vec::new();
    for piece in pieces {
        let begin = if piece.is_empty() { 0 } else { rest.rfind(piece)? };
        values.push(&rest[begin + piece.len()..]);
        rest = &rest[..begin];
    }
    values.reverse();
    rest.is_empty().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_translated_and_nothing_else() {
        let of = |english: &str| explanation(english, Language::Korean);
        assert_eq!(of("a sealed volume").unwrap(), "암호화 볼륨");
        assert_eq!(of("memo (12 values)").unwrap(), "memo (값 12개)");
        assert_eq!(of("memo (1 values, written over)").unwrap(), "memo (값 1개, 덮어써짐)");
        assert_eq!(of("memo (old) (12 values)").unwrap(), "memo (old) (값 12개)");
        let several = "by i, which values are equal, but for one in 2^12; which values are equal; \
                       the length";
        assert_eq!(
            of(several).unwrap(),
            "i 색인으로 같은 값끼리 같다는 것(2^12에 하나는 예외); 같은 값끼리 같다는 것; 길이"
        );
        for other in ["", "orders.ibd", "the length; and more", "memo (values)"] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(explanation("orders", Language::English).unwrap(), "orders");
    }

    #[test]
    fn values_stand_in_both_languages() {
        for (english, korean) in KOREAN.iter() {
            assert!(korean.chars().any(|c| ('가'..='힣').contains(&c)), "{english}");
            let places = english.matches(ANYTHING).count();
            for number in 1..=places {
                assert!(korean.contains(&format!("{{{number}}}")), "{english}: {number}");
            }
            assert_eq!(korean.matches('{').count(), places, "{english}");
        }
    }
}
