//! Lengths of the sentences of a text. Not here: other questions of style, and other languages
//! than English.

/// Shortenings with a full stop that ends no sentence.
const SHORTENED: [&str; 6] = ["e.g.", "i.e.", "etc.", "vs.", "no.", "cf."];

/// The longest average, in words a sentence.
pub const WORDS_MAX: f64 = 20.0;

/// Sentences of a text, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Length {
    /// Number of sentences.
    pub sentences: usize,
    /// Number of words in them.
    pub words: usize,
}

impl Length {
    /// Returns the words a sentence; 0 without any sentence.
    #[must_use]
    pub fn average(self) -> f64 {
        if self.sentences == 0 { 0.0 } else { self.words as f64 / self.sentences as f64 }
    }

    /// Adds `other` to this.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { sentences: self.sentences + other.sentences, words: self.words + other.words }
    }
}

/// Counts the sentences of `paragraphs`. The end of a paragraph ends a sentence.
#[must_use]
pub fn length<'a>(paragraphs: impl IntoIterator<Item = &'a str>) -> Length {
    paragraphs
        .into_iter()
        .flat_map(sentences)
        .map(|sentence| Length { sentences: 1, words: words(&sentence) })
        .fold(Length::default(), Length::and)
}

/// Returns the sentences of `paragraph`.
#[must_use]
pub fn sentences(paragraph: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut sentence: Vec<&str> = Vec::new();
    let all: Vec<&str> = paragraph.split_whitespace().collect();
    for (at, word) in all.iter().enumerate() {
        sentence.push(word);
        let bare = word.trim_end_matches(['"', '\'', ')', '”', '*', ']']);
        let is_end = bare.ends_with(['.', '?', '!'])
            && !SHORTENED.contains(&bare.to_lowercase().as_str())
            && all.get(at + 1).is_none_or(|next| !next.starts_with(|c: char| c.is_lowercase()));
        if is_end {
            found.push(sentence.join(" "));
            sentence.clear();
        }
    }
    if !sentence.is_empty() {
        found.push(sentence.join(" "));
    }
    found.retain(|sentence| words(sentence) > 0);
    found
}

/// Counts the words of `sentence`: signs alone, such as a dash, are none.
fn words(sentence: &str) -> usize {
    sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        let text = "One two. (Three, e.g. four?) Version 2.0 of five – six: seven; a.b is `code`!";
        let found = sentences(text);
        let expected =
            ["One two.", "(Three, e.g. four?)", "Version 2.0 of five – six: seven; a.b is `code`!"];
        assert_eq!(found, expected);
        let counted = length([text, "- ", "An item"]);
        assert_eq!(counted, Length { sentences: 4, words: 2 + 3 + 9 + 2 });
        assert!(length([]).average() < f64::EPSILON);
    }
}
