//! The report in a language. Advice, verdicts and tables make their sentences in English, and
//! results hold them; `texts/en.toml` has these sentences as patterns, each under a key, and every
//! other language has the same keys. A sentence is translated by finding its pattern, and so is
//! what fills its holes. A name, a figure and a command fit no pattern and stay as they are. Not
//! here: what a language is (`sealstone-message`).

use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, Mutex, PoisonError};

use sealstone_message::{Language, Texts};
use serde_json::Value;

/// Texts of a language, and the patterns by which English sentences are put into it.
pub(super) struct Words {
    language: Language,
    texts: Texts,
    /// Texts without holes, by their English.
    whole: HashMap<String, String>,
    /// Sentences with holes.
    patterns: Vec<Pattern>,
    /// Texts that were looked for as a whole, with the finds: holes are tried at many places.
    tried: Mutex<HashMap<String, Option<String>>>,
}

/// A sentence with holes, in English and in the language.
struct Pattern {
    parts: Vec<Part>,
    /// Characters of it that are no holes: the more, the better it fits.
    weight: usize,
    /// The longest text in it, which a sentence must have.
    longest: String,
    in_language: String,
}

/// A part of a pattern.
#[derive(Debug, PartialEq)]
enum Part {
    Text(String),
    /// The name of what goes there.
    Hole(String),
}

static ENGLISH: LazyLock<Words> =
    LazyLock::new(|| Words::new(Language::English, include_str!("../../texts/en.toml")));
static KOREAN: LazyLock<Words> =
    LazyLock::new(|| Words::new(Language::Korean, include_str!("../../texts/ko.toml")));

/// Returns the words of `language`.
pub(super) fn words_in(language: Language) -> &'static Words {
    match language {
        Language::English => &ENGLISH,
        Language::Korean => &KOREAN,
    }
}

/// Parts of a page that are no text: drawings, which are in the language already, and what is
/// copied by programs.
const NO_TEXT: [&str; 13] = [
    "svg",
    "narrow",
    "style",
    "script",
    "id",
    "class",
    "ink",
    "dashes",
    "mark",
    "reruns",
    "raw_data",
    "sort",
    "title_given",
];

/// Bytes of a name of a variant in a sentence.
const LABEL_MAX: usize = 60;

/// Bytes after which a text is no sentence of ours: it may be several.
const LONGEST: usize = 1_500;

fn texts(toml: &str) -> BTreeMap<String, String> {
    toml::from_str(toml).expect("a table of texts")
}

impl Words {
    fn new(language: Language, toml: &str) -> Self {
        let (english, own) = (texts(include_str!("../../texts/en.toml")), texts(toml));
        let (mut whole, mut patterns) = (HashMap::new(), Vec::new());
        if language != Language::English {
            for (key, text) in &english {
                let Some(in_language) = own.get(key).cloned() else { continue };
                match parts_of(text) {
                    parts if parts.iter().any(|part| matches!(part, Part::Hole(_))) => {
                        let weight = |part: &Part| match part {
                            Part::Text(text) => text.len(),
                            Part::Hole(_) => 0,
                        };
                        let weight = parts.iter().map(weight).sum();
                        let texts = parts.iter().filter_map(|part| match part {
                            Part::Text(text) => Some(text.clone()),
                            Part::Hole(_) => None,
                        });
                        let longest = texts.max_by_key(String::len).unwrap_or_default();
                        patterns.push(Pattern { parts, weight, longest, in_language });
                    }
                    _ => {
                        whole.insert(text.clone(), in_language);
                    }
                }
            }
        }
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.weight));
        Self { language, texts: own.into(), whole, patterns, tried: Mutex::default() }
    }

    /// Returns every text by its key, for a template.
    pub(super) fn texts(&self) -> &Texts {
        &self.texts
    }

    /// Returns `english` in this language.
    pub(super) fn say(&self, english: &str) -> String {
        match self.language {
            Language::English => english.to_owned(),
            _ => self.found(english).unwrap_or_else(|| english.to_owned()),
        }
    }

    /// Puts every text of `page` into this language.
    pub(super) fn say_all(&self, page: &mut Value) {
        match page {
            Value::String(text) => {
                if let Some(found) = self.found(text) {
                    *text = found;
                }
            }
            Value::Array(entries) => entries.iter_mut().for_each(|entry| self.say_all(entry)),
            Value::Object(fields) => {
                let texts = fields.iter_mut().filter(|(name, _)| !NO_TEXT.contains(&name.as_str()));
                texts.for_each(|(_, value)| self.say_all(value));
            }
            _ => {}
        }
    }

    /// Returns `english` in this language; `None` where no part of it is known.
    fn found(&self, english: &str) -> Option<String> {
        if !english.bytes().any(|byte| byte.is_ascii_alphabetic()) {
            return None;
        }
        if english.len() > LONGEST {
            let sentences = pieces(english, ". ");
            return (sentences.len() > 1).then(|| self.one_by_one(&sentences, ". ")).flatten();
        }
        // a full stop ends the sentence in each language, not the name before it
        if let Some(sentence) = english.strip_suffix('.') {
            let whole = self.whole.get(english).cloned();
            return whole.or_else(|| Some(self.found(sentence)? + "."));
        }
        // a sentence is found by itself, not as a part of what is beside it
        match english.contains(". ") {
            true => self.in_parts(english).or_else(|| self.known(english)),
            false => self.known(english).or_else(|| self.in_parts(english)),
        }
    }

    /// Returns `english` in this language if it is a text or fits a pattern as a whole.
    fn known(&self, english: &str) -> Option<String> {
        if let Some(text) = self.whole.get(english) {
            return Some(text.clone());
        }
        let tried = || self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tried().get(english) {
            return known.clone();
        }
        let filled = |pattern: &Pattern| {
            let values = self.holes(&pattern.parts, english)?;
            Some(self.filled(&pattern.in_language, &values))
        };
        // a hole is always shorter than its text, so this ends
        let mut fitting =
            self.patterns.iter().filter(|pattern| english.contains(pattern.longest.as_str()));
        let found = fitting.find_map(filled);
        tried().insert(english.to_owned(), found.clone());
        found
    }

    /// Returns whether `english` is a sentence that begins with a name: the name may be the end of
    /// a longer one before it.
    fn begins_with_a_name(&self, english: &str) -> bool {
        let named = self.patterns.iter().filter(
            |pattern| matches!(&pattern.parts[0], Part::Hole(name) if name.starts_with("l_")),
        );
        named.into_iter().any(|pattern| {
            english.contains(pattern.longest.as_str())
                && self.holes(&pattern.parts, english).is_some()
        })
    }

    /// Returns what is in the holes of `parts` if they make `text`, each as [`Words::fits`] has it.
    fn holes<'a>(&self, parts: &'a [Part], text: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
        match parts {
            [] => text.is_empty().then(Vec::new),
            [Part::Text(wanted), rest @ ..] => {
                self.holes(rest, text.strip_prefix(wanted.as_str())?)
            }
            [Part::Hole(name), rest @ ..] => {
                let fits = |value: &str| self.fits(name, value);
                let with = |value: &'a str, mut found: Vec<(&'a str, &'a str)>| {
                    found.push((name, value));
                    found
                };
                match rest {
                    [] => fits(text).then(|| with(text, Vec::new())),
                    [Part::Hole(_), ..] => None,
                    [Part::Text(next), ..] => {
                        let places = text.match_indices(next.as_str()).map(|(at, _)| at);
                        places.filter(|at| fits(&text[..*at])).find_map(|at| {
                            let found = self.holes(rest, &text[at..])?;
                            Some(with(&text[..at], found))
                        })
                    }
                }
            }
        }
    }

    /// Returns whether `value` may stand in the hole called `name`. By the beginning of its name a
    /// hole takes a figure alone (`n_`), words that are known (`w_`), a name (`l_`), one word
    /// (`o_`), what readers know a workload by (`k_`), a list of codes (`c_`), what has no brackets
    /// (`b_`) or ends no part of a sentence (`i_`), or names of runs (`j_`); any other takes all.
    fn fits(&self, name: &str, value: &str) -> bool {
        let has = |any: &[&str]| any.iter().any(|one| value.contains(one));
        match name.split_once('_').map(|(kind, _)| kind) {
            _ if value.is_empty() => false,
            Some("n") => is_figure(value),
            Some("w") => self.known(value).is_some() && !self.begins_with_a_name(value),
            Some("c") => !has(&["(", ")", ";", ". "]),
            // that of a module has a colon within
            Some("l") => {
                value.len() <= LABEL_MAX && !has(&[".", ";", ": "]) && !value.ends_with(':')
            }
            Some("o") => !has(&[" "]),
            Some("k") => !has(&[";", ". "]) && (!has(&[" "]) || value.ends_with(')')),
            Some("b") => !has(&["(", ")"]),
            Some("i" | "j") => !has(&["; ", ". "]),
            _ => true,
        }
    }

    /// Returns `text` of this language with `values` in its holes.
    fn filled(&self, text: &str, values: &[(&str, &str)]) -> String {
        let part = |part: Part| match part {
            Part::Text(text) => text,
            Part::Hole(name) => {
                let value = values.iter().find(|(known, _)| *known == name);
                let value = value.map_or("", |(_, value)| *value);
                let said = |value: &str| self.found(value).unwrap_or_else(|| value.to_owned());
                match name.starts_with("j_") {
                    true => value.split(" and ").map(said).collect::<Vec<_>>().join(", "),
                    false => said(value),
                }
            }
        };
        parts_of(text).into_iter().map(part).collect()
    }

    /// Returns `pieces` with those that are known in this language, each by itself. `None` where
    /// none is.
    fn one_by_one(&self, pieces: &[&str], between: &str) -> Option<String> {
        let said: Vec<Option<String>> = pieces.iter().map(|piece| self.found(piece)).collect();
        let is_any_known = said.iter().any(Option::is_some);
        let or_same =
            |(said, piece): (Option<String>, &&str)| said.unwrap_or_else(|| (*piece).to_owned());
        let said: Vec<String> = said.into_iter().zip(pieces).map(or_same).collect();
        is_any_known.then(|| said.join(between))
    }

    /// Returns `pieces` with those that are known in this language; several that are known together
    /// are one. `None` where none is.
    fn in_pieces(&self, pieces: &[&str], between: &str) -> Option<String> {
        let (mut said, mut is_any_known, mut at) = (Vec::new(), false, 0);
        while at < pieces.len() {
            let together = (at + 2..=pieces.len())
                .rev()
                .find_map(|end| Some((self.known(&pieces[at..end].join(between))?, end)));
            let single = || Some((self.found(pieces[at])?, at + 1));
            let found = together.filter(|(_, end)| end - at < pieces.len()).or_else(single);
            is_any_known |= found.is_some();
            let (text, end) = found.unwrap_or_else(|| (pieces[at].to_owned(), at + 1));
            said.push(text);
            at = end;
        }
        is_any_known.then(|| said.join(between))
    }

    /// Returns `english` with those of its parts that are known: sentences, members of lists,
    /// what is in brackets.
    fn in_parts(&self, english: &str) -> Option<String> {
        for between in [". ", "; ", ": ", ", "] {
            let pieces = pieces(english, between);
            if pieces.len() < 2 {
                continue;
            }
            if let Some(said) = self.in_pieces(&pieces, between) {
                return Some(said);
            }
        }
        let (before, within) = english.strip_suffix(')')?.rsplit_once(" (")?;
        let said = [before, within].map(|part| self.found(part));
        let is_known = said.iter().any(Option::is_some);
        let [before, within] = said.map(|part| part.unwrap_or_default());
        let of = |said: String, english: &str| if said.is_empty() { english.into() } else { said };
        let (plain_before, plain_within) = english.strip_suffix(')')?.rsplit_once(" (")?;
        is_known.then(|| format!("{}({})", of(before, plain_before), of(within, plain_within)))
    }
}

/// Returns `text` cut at every `between` that is outside of brackets.
pub(super) fn pieces<'a>(text: &'a str, between: &str) -> Vec<&'a str> {
    let (mut found, mut from, mut depth) = (Vec::new(), 0, 0_usize);
    let mut at = 0;
    while at < text.len() {
        if depth == 0 && at > from && text[at..].starts_with(between) {
            found.push(&text[from..at]);
            at += between.len();
            from = at;
            continue;
        }
        let character = text[at..].chars().next().unwrap_or(' ');
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += character.len_utf8();
    }
    found.push(&text[from..]);
    found
}

/// Returns `text` cut at its names in braces.
fn parts_of(text: &str) -> Vec<Part> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}').expect("a name in braces");
        if !before.is_empty() {
            parts.push(Part::Text(before.into()));
        }
        parts.push(Part::Hole(name.into()));
        rest = behind;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.into()));
    }
    parts
}

/// Returns whether `text` is a number as the report writes one, perhaps with a unit.
fn is_figure(text: &str) -> bool {
    let starts = text.trim_start_matches(['+', '\u{2212}', '-', '±', ' ', '×']);
    let is_part = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_digit())
            || ["k", "M", "G", "T", "%", "±", "s", "ms", "µs", "ns", "min", "h", "ops/s"]
                .contains(&word)
            || word.ends_with("B/s")
            || word.ends_with('B')
    };
    starts.starts_with(|first: char| first.is_ascii_digit())
        && starts.split([' ', '\u{202f}']).all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::verdict::{Quantity, TABLE, Verdict, filled};

    #[test]
    fn every_language_has_the_same_keys() {
        for language in Language::ALL {
            let differences = ENGLISH.texts.differences(&words_in(language).texts);
            assert_eq!(differences, [""; 0], "{language:?}");
            assert_eq!(words_in(language).texts.text("language"), language.code());
        }
        let is_korean = |text: &str| text.chars().any(|c| ('가'..='힣').contains(&c));
        // names and figures, in which there is nothing to say
        for (key, text) in KOREAN.texts.all() {
            let outside: String = parts_of(text)
                .into_iter()
                .filter_map(|part| match part {
                    Part::Text(text) => Some(text),
                    Part::Hole(_) => None,
                })
                .collect();
            let is_name = |word: &str| ["CPU", "Assertion", "FIPS", "p50", "p99"].contains(&word);
            let mut words = outside.split(|one: char| !one.is_alphanumeric());
            let is_bare = words.all(|word| !word.contains(char::is_alphabetic) || is_name(word));
            let same = key == "language" || key == "q_rounds";
            assert!(is_korean(text) || is_bare || same, "{key}: {text}");
        }
    }

    #[test]
    fn no_two_patterns_are_the_same() {
        let mut seen: BTreeMap<&String, &String> = BTreeMap::new();
        for (key, text) in ENGLISH.texts.all() {
            let twice = seen.insert(text, key);
            let said = |key: &str| KOREAN.texts.text(key);
            assert!(
                twice.is_none_or(|other| said(other) == said(key)),
                "{key} and {twice:?} are {text:?} in English, and differ in Korean"
            );
        }
    }

    #[test]
    fn a_sentence_is_found_by_its_pattern() {
        let say = |text: &str| KOREAN.say(text);
        assert_eq!(say("costs 4.0 % ± 1.5"), "4.0 % ± 1.5 느림");
        assert_eq!(say("reads, cold cache (c-cold)"), "읽기, 콜드 캐시(c-cold)");
        // names are nobody's text
        let open = "aes-256 rest costs 4.0 % ± 1.5, which is more: between 1.0 and 2.0 % slower \
                    than none";
        assert_eq!(
            say(open),
            "aes-256 rest: 4.0 % ± 1.5 느림, 비용이 더 큼(none보다 1.0–2.0 % 느림)"
        );
        for name in ["none", "aes-256 rest", "db-1", "sealstone compare --rounds 3", "4.0 %"] {
            assert_eq!(say(name), name);
        }
        assert_eq!(
            say("Take x: on the whole it makes no difference to the speed of rocksdb."),
            "x 사용을 권장합니다. 전체적으로 rocksdb의 처리량에 차이가 없습니다."
        );
        assert_eq!(words_in(Language::English).say("costs 4.0 % ± 1.5"), "costs 4.0 % ± 1.5");
    }

    /// A new row of the table of verdicts fails here until every language has its words, and its
    /// clauses about a toy store.
    #[test]
    fn every_word_of_a_verdict_is_in_every_language() {
        let holes = [
            ("label", "lea-256"),
            ("best", "aes-256"),
            ("own", "costs 4.0 % ± 1.5"),
            ("words", "4.0 % ± 1.5 longer"),
            ("range", "between 1.0 and 2.0 % slower"),
            ("in_brackets", " (between 1.0 and 2.0 % slower)"),
            ("decided", "so standing decided"),
        ];
        for row in TABLE.iter().filter(|row| row.verdict != Verdict::Toy) {
            let mut texts = vec![row.word.to_owned()];
            texts.extend((!row.legend.is_empty()).then(|| row.legend.to_owned()));
            let (work, time) = (Quantity::Throughput, Quantity::Latency);
            // an interval that leaves a cost possible, and one that leaves none
            for (quantity, ends) in
                [(work, (0.9, 1.2)), (work, (1.1, 1.2)), (time, (0.9, 1.2)), (time, (0.8, 0.9))]
            {
                let clause = row.verdict.effect(quantity, 0.96, ends, "toy");
                texts.push(row.verdict.value(quantity, 0.96, ends));
                texts.push(match quantity {
                    Quantity::Throughput => format!("on the whole {clause}"),
                    Quantity::Latency => format!("at 2.00 k ops/s, on the whole, {clause}"),
                });
            }
            texts.extend(row.comparison.iter().skip(1).map(|clause| filled(clause, &holes)));
            texts.push(filled(row.comparison_p99, &holes));
            for text in texts {
                assert!(KOREAN.known(&text).is_some(), "texts/en.toml has no pattern for {text:?}");
            }
        }
    }

    #[test]
    fn a_hole_for_a_figure_takes_no_words() {
        let parts = parts_of("costs {n_percent} % of {what}");
        let found = KOREAN.holes(&parts, "costs 4.0 % of the time");
        let mut found = found.unwrap();
        found.sort_unstable();
        assert_eq!(found, [("n_percent", "4.0"), ("what", "the time")]);
        assert_eq!(KOREAN.holes(&parts, "costs nothing % of the time"), None);
    }

    /// A hole ends where what belongs in it does, whatever is beside it.
    #[test]
    fn a_hole_takes_what_belongs_in_it() {
        for (english, korean) in [
            (
                "under reads and updates (a) rocksdb is 2.5 % slower with it",
                "읽기·갱신(a)에서 rocksdb은(는) 암호화 전보다 2.5 % 느립니다",
            ),
            (
                "aria-256 does not sustain 2.00 k ops/s under a: reached 1.60 k ops/s; lea-256 \
                 falls behind, see above",
                "aria-256: a에서 2.00 k ops/s를 유지하지 못함(도달: 1.60 k ops/s); lea-256: 처리율을 \
                 따라가지 못함(위 참조)",
            ),
            (
                "costs at most 2.6 % (between 2.6 % slower and 2.4 % faster; it can be chance)",
                "최대 2.6 % 느림(2.6 % 느림 ~ 2.4 % 빠름; 우연일 수 있음)",
            ),
            (
                "setting policy differs: any on one and two; fips on three",
                "설정 policy의 차이: one, two에서 any; three에서 fips",
            ),
            ("aes-256 openssl:fips costs 4.0 % ± 1.5", "aes-256 openssl:fips: 4.0 % ± 1.5 느림"),
        ] {
            assert_eq!(KOREAN.say(english), korean);
        }
    }

    #[test]
    fn lists_are_cut_outside_of_brackets() {
        assert_eq!(pieces("a (b; c); d", "; "), ["a (b; c)", "d"]);
        assert_eq!(pieces("a", "; "), ["a"]);
    }
}
