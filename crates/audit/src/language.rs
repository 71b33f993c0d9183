//! Words of the page in each language (`texts/`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use sealstone_message::{Language, Texts};

static ENGLISH: LazyLock<Texts> = LazyLock::new(|| texts(include_str!("../texts/en.toml")));
static KOREAN: LazyLock<Texts> = LazyLock::new(|| texts(include_str!("../texts/ko.toml")));

fn texts(toml: &str) -> Texts {
    toml::from_str::<BTreeMap<String, String>>(toml).expect("a table of texts").into()
}

/// Returns the texts of `language`.
pub(crate) fn texts_of(language: Language) -> &'static Texts {
    match language {
        Language::English => &ENGLISH,
        Language::Korean => &KOREAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_says_everything() {
        for language in Language::ALL {
            assert_eq!(ENGLISH.differences(texts_of(language)), [""; 0], "{language:?}");
            assert_eq!(texts_of(language).text("language"), language.code());
        }
        // nothing is left in English by oversight
        let is_korean = |text: &str| text.chars().any(|c| ('가'..='힣').contains(&c));
        let same = ["language", "as_base64"];
        for (key, text) in KOREAN.all() {
            assert!(is_korean(text) || same.contains(&key.as_str()), "{key}: {text}");
        }
    }
}
