//! Words of the page in each language (`texts/`). Not here: the page.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A language of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Korean.
    Korean,
}

/// Words by their keys.
type Texts = BTreeMap<String, String>;

static ENGLISH: LazyLock<Texts> = LazyLock::new(|| texts(include_str!("../texts/en.toml")));
static KOREAN: LazyLock<Texts> = LazyLock::new(|| texts(include_str!("../texts/ko.toml")));

fn texts(toml: &str) -> Texts {
    toml::from_str(toml).expect("a table of texts")
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 2] = [Self::English, Self::Korean];

    /// Returns its code in HTML and in flags: `en`, `ko`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Korean => "ko",
        }
    }

    /// Returns every text of the language, for a template.
    pub(crate) fn all(self) -> &'static Texts {
        match self {
            Self::English => &ENGLISH,
            Self::Korean => &KOREAN,
        }
    }

    /// Returns the text `key`.
    ///
    /// # Panics
    /// If there is none: every key in the code is tried by a test.
    pub(crate) fn text(self, key: &str) -> &'static str {
        self.all().get(key).unwrap_or_else(|| panic!("no text {key}"))
    }

    /// Returns the text `key` with `values` in the places of their names in braces.
    ///
    /// # Panics
    /// As [`Language::text`].
    pub(crate) fn with(self, key: &str, values: &[(&str, &str)]) -> String {
        let mut rest = self.text(key);
        let mut text = String::with_capacity(rest.len());
        // what is filled in may have braces itself
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let (name, behind) = after.split_once('}').expect("a name in braces");
            let value = values.iter().find(|(known, _)| *known == name);
            text.push_str(value.unwrap_or_else(|| panic!("no value for {name} of {key}")).1);
            rest = behind;
        }
        text + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<&str> {
        let mut names: Vec<&str> = text
            .split('{')
            .skip(1)
            .map(|rest| rest.split_once('}').expect("a name in braces").0)
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn every_language_says_everything() {
        let keys: Vec<&String> = Language::English.all().keys().collect();
        for language in Language::ALL {
            assert_eq!(language.all().keys().collect::<Vec<_>>(), keys, "{language:?}");
            assert_eq!(language.text("language"), language.code());
            for key in &keys {
                let [here, there] = [Language::English, language].map(|one| names(one.text(key)));
                assert_eq!(here, there, "{key}");
            }
        }
        // nothing is left in English by oversight
        let is_korean = |text: &str| text.chars().any(|c| ('가'..='힣').contains(&c));
        let same = ["language", "as_base64"];
        for (key, text) in Language::Korean.all() {
            assert!(is_korean(text) || same.contains(&key.as_str()), "{key}: {text}");
        }
    }

    #[test]
    fn values_take_the_places_of_their_names() {
        let text = Language::English.with("owner", &[("owner", "{mode}"), ("mode", "0600")]);
        assert_eq!(text, "user {mode}, mode 0600");
    }
}
