//! Pages in Korean: no English sentence remains in them, beside names and code.

use scraper::Html;
use sealstone_bench::report::{self, Options};
use sealstone_bench::results::Results;
use sealstone_message::Language;

use crate::{fixtures, judged, select};

/// Words of which an English sentence has one at least. Names and commands have none, but for those
/// of flags, which stand behind a hyphen.
const ENGLISH: &[&str] = &[
    "the",
    "of",
    "and",
    "is",
    "are",
    "was",
    "were",
    "with",
    "without",
    "against",
    "under",
    "over",
    "than",
    "more",
    "less",
    "between",
    "not",
    "no",
    "by",
    "for",
    "from",
    "to",
    "in",
    "at",
    "it",
    "each",
    "every",
    "all",
    "which",
    "that",
    "this",
    "what",
    "who",
    "how",
    "costs",
    "slower",
    "faster",
    "throughput",
    "workload",
    "workloads",
    "read",
    "reads",
    "cache",
    "slices",
    "rounds",
    "clients",
    "cipher",
    "ciphers",
    "interval",
    "change",
    "against",
    "measured",
    "recommended",
];

/// Returns the texts of `page` in which a word of English is left.
fn english_left(page: &str, names: &[&str]) -> Vec<String> {
    let document = Html::parse_document(page);
    let mut texts: Vec<String> = Vec::new();
    for node in document.tree.nodes() {
        let Some(text) = node.value().as_text() else { continue };
        let is_code = node.ancestors().any(|parent| {
            parent
                .value()
                .as_element()
                .is_some_and(|element| ["style", "script", "code", "pre"].contains(&element.name()))
        });
        if !is_code {
            texts.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    for element in select(&document, "[aria-label]") {
        texts.push(element.value().attr("aria-label").unwrap().to_owned());
    }
    texts.retain(|text| {
        let plain = names.iter().fold(text.clone(), |text, name| text.replace(name, ""));
        // a workload's code is in brackets
        let words = plain.split(|one: char| !one.is_ascii_alphabetic() && one != '-');
        words.map(str::to_lowercase).any(|word| ENGLISH.contains(&word.as_str()))
    });
    texts.sort();
    texts.dedup();
    texts
}

fn shapes() -> Vec<(&'static str, Vec<Results>)> {
    let mut noisy = fixtures::undecided();
    noisy.engine.assertions = true;
    vec![
        ("ordinary", vec![judged(fixtures::ordinary())]),
        ("alone", vec![judged(fixtures::alone())]),
        ("large", vec![judged(fixtures::large())]),
        ("undecided", vec![judged(noisy)]),
        ("places", vec![judged(fixtures::places())]),
        ("recorded", vec![fixtures::recorded().unwrap()]),
        ("two runs", vec![judged(fixtures::ordinary()), judged(fixtures::ordinary())]),
    ]
}

#[test]
fn no_english_sentence_remains() {
    // operations, settings of the engine, sources of standards and values of facts are names
    let names = [
        "read-modify-write",
        "read-transaction",
        "update-transaction",
        ", read",
        "read",
        "Security Limitations",
        "Encryption Options: Client-Side Encryption",
        "What sealing protects",
        "in the clear",
        // made up for the test
        "one client keeps 1 of 8 cores busy",
    ];
    let options = Options { language: Language::Korean, ..Options::default() };
    for (name, results) in shapes() {
        let page = report::html_with(&results, &options).unwrap();
        assert!(page.contains("<html lang=\"ko\">"), "{name}");
        let left = english_left(&page, &names);
        let left: Vec<&String> = left.iter().filter(|text| !is_source(text)).collect();
        assert!(left.is_empty(), "{name}: {left:#?}");
        let sheet = report::one_page(&results, &options).unwrap();
        let left = english_left(&sheet, &names);
        assert!(left.is_empty(), "{name}, one page: {left:#?}");
    }
}

/// Returns whether `text` names a source: the title of a standard, a manual or a page of ours.
fn is_source(text: &str) -> bool {
    ["SECURITY.md", "docs/", "NIST SP", "RFC ", "manual", "PCI DSS"]
        .iter()
        .any(|source| text.contains(source))
}

/// The check above finds what it looks for.
#[test]
fn an_english_page_is_found() {
    let page = report::html(&[judged(fixtures::ordinary())]).unwrap();
    assert!(english_left(&page, &[]).len() > 50);
}
