//! Sentences that differ in their numbers alone, merged into one with the range of each number.

/// A word of a sentence.
enum Word<'a> {
    Text(&'a str),
    /// A whole number: the text before it, the least and the largest number seen in its place.
    Number(&'a str, u64, u64),
}

/// Returns `sentences` without repetitions: sentences that differ only in whole numbers become one,
/// in which `84 %` and `97 %` are `84–97 %`. In order of their first appearance.
pub(super) fn merged<'a>(sentences: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<Vec<Word>> = Vec::new();
    for sentence in sentences.into_iter().filter(|sentence| !sentence.is_empty()) {
        let words = sentence.split(' ').map(|word| {
            let digits = word.trim_start_matches('(');
            match digits.parse() {
                Ok(number) => Word::Number(&word[..word.len() - digits.len()], number, number),
                Err(_) => Word::Text(word),
            }
        });
        let words: Vec<Word> = words.collect();
        match found.iter_mut().find(|known| are_alike(known, &words)) {
            Some(known) => known.iter_mut().zip(&words).for_each(|pair| {
                if let (Word::Number(_, least, most), Word::Number(_, number, _)) = pair {
                    (*least, *most) = ((*least).min(*number), (*most).max(*number));
                }
            }),
            None => found.push(words),
        }
    }
    let text = |word: &Word| match word {
        Word::Text(text) => (*text).to_owned(),
        Word::Number(before, least, most) if least == most => format!("{before}{least}"),
        Word::Number(before, least, most) => format!("{before}{least}–{most}"),
    };
    found.iter().map(|words| words.iter().map(text).collect::<Vec<_>>().join(" ")).collect()
}

/// Returns whether two sentences differ in numbers only.
fn are_alike(one: &[Word], other: &[Word]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|pair| match pair {
            (Word::Text(a), Word::Text(b)) => a == b,
            (Word::Number(a, ..), Word::Number(b, ..)) => a == b,
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_are_merged() {
        let sentences = [
            "2 cores (97 % of them)",
            "aes-256",
            "",
            "2 cores (84 % of them)",
            "aes-128",
            "aes-256",
        ];
        assert_eq!(merged(sentences), ["2 cores (84–97 % of them)", "aes-256", "aes-128"]);
        assert!(merged([]).is_empty());
    }
}
