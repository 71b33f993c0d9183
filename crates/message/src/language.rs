//! The languages of a page, and texts by their keys. Not here: the texts, which are with the pages.

use std::collections::BTreeMap;

/// A language of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Korean.
    Korean,
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
}

/// Texts of one language by their keys. A name in braces in a text stands for a value.
#[derive(Clone, Debug)]
pub struct Texts(BTreeMap<String, String>);

impl From<BTreeMap<String, String>> for Texts {
    fn from(texts: BTreeMap<String, String>) -> Self {
        Self(texts)
    }
}

impl Texts {
    /// Returns every text, for a template.
    #[must_use]
    pub fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// Returns the text `key`.
    ///
    /// # Panics
    /// If there is none: every key in the code is tried by a test.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        self.0.get(key).unwrap_or_else(|| panic!("no text {key}"))
    }

    /// Returns the text `key` with `values` in the places of their names in braces.
    ///
    /// # Panics
    /// As [`Texts::text`].
    #[must_use]
    pub fn with(&self, key: &str, values: &[(&str, &str)]) -> String {
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

    /// Returns how `other` differs in what it contains: keys that one of them lacks, and texts
    /// whose names in braces are not the same. Empty if a page has the same in both.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for key in self.0.keys().chain(other.0.keys()) {
            match (self.0.get(key), other.0.get(key)) {
                (Some(here), Some(there)) if names(here) == names(there) => {}
                (Some(_), Some(_)) => found.push(format!("{key}: other names in braces")),
                _ => found.push(format!("{key}: in one language only")),
            }
        }
        found.dedup();
        found
    }
}

/// Returns the names in braces of `text`, in the order of the alphabet.
fn names(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = text
        .split('{')
        .skip(1)
        .map(|rest| rest.split_once('}').expect("a name in braces").0)
        .collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(of: &[(&str, &str)]) -> Texts {
        let of = of.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        of.collect::<BTreeMap<_, _>>().into()
    }

    #[test]
    fn values_take_the_places_of_their_names() {
        let texts = texts(&[("owner", "user {owner}, mode {mode}")]);
        let text = texts.with("owner", &[("owner", "{mode}"), ("mode", "0600")]);
        assert_eq!(text, "user {mode}, mode 0600");
    }

    #[test]
    fn what_one_language_lacks_is_found() {
        let one = texts(&[("a", "{x} and {y}"), ("b", "only here"), ("c", "{x}")]);
        let other = texts(&[("a", "{y}, {x}"), ("c", "{z}")]);
        let found = ["b: in one language only", "c: other names in braces"];
        assert_eq!(one.differences(&one), [""; 0]);
        let mut differences = one.differences(&other);
        differences.sort();
        differences.dedup();
        assert_eq!(differences, found);
    }
}
