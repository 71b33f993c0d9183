//! Pages in Korean: no English sentence remains in them, beside names and code.

use std::collections::BTreeMap;

use scraper::Html;
use sealstone_bench::report::{self, Options};
use sealstone_bench::results::Results;
use sealstone_message::Language;

use crate::studies::studies;
use crate::{fixtures, judged, select, shapes};

/// Words of which one is enough to make a text English. Names and commands have none, but for those
/// of flags, which stand behind a hyphen.
const ENGLISH: &str = "\
    the of and is are was were with without against under over than more less between not no by \
    for from to in at it its each every all which that this what who how costs slower faster \
    longer shorter throughput workload workloads reads cache slices rounds searches clients \
    cipher ciphers interval change take measured recommended";

/// Words that are no English: labels, units, operations, codes of workloads, places, stores,
/// machines, products, standards.
const NAMES: &str = "\
    none CPU UTC DB ms ns min kB MB GB EB MiB GiB read update insert scan load operation \
    read-modify-write read-transaction update-transaction oltp oltp-sync batch-load batch-scan \
    stream field rest wire server rocksdb mongodb Example Old blowfish hight seq-read rand-write \
    rand-mix aes gfni vaes pclmulqdq portable sealstone Sealstone FIPS KCMVP KS TCP NIST";

fn is_one_of(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// Returns the words of `text` that are English: two or more that stand together, and each that is
/// unmistakable.
fn english_in(text: &str) -> Vec<String> {
    let (mut found, mut together) = (Vec::new(), Vec::new());
    let mut end = |together: &mut Vec<&str>| {
        let is_known = |word: &&str| is_one_of(ENGLISH, &word.to_lowercase());
        if together.len() > 1 || together.iter().any(is_known) {
            found.push(together.join(" "));
        }
        together.clear();
    };
    for word in text.split_whitespace() {
        let plain = word.trim_matches(|one: char| ".,;:()[]\"…–·←→".contains(one));
        // a particle ends a Korean word
        let ascii = &plain[..plain.find(|one: char| !one.is_ascii()).unwrap_or(plain.len())];
        let is_word = ascii.len() > 1
            && ascii.starts_with(|one: char| one.is_ascii_alphabetic())
            && ascii.bytes().all(|one| one.is_ascii_alphabetic() || b"-'".contains(&one));
        let is_english = is_word && !is_one_of(NAMES, ascii);
        if is_english {
            together.push(ascii);
        }
        if !is_english || ascii.len() < plain.len() {
            end(&mut together);
        }
    }
    end(&mut together);
    found
}

/// Returns the texts of `page` that have English words, `names` aside, each with these words.
fn english_left(page: &str, names: &[String]) -> Vec<(String, Vec<String>)> {
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
    texts.sort();
    texts.dedup();
    let without_names = |text: &str| {
        names.iter().fold(text.to_owned(), |text, name| text.replace(name.as_str(), "·"))
    };
    texts
        .into_iter()
        .filter(|text| !is_source(text))
        .filter_map(|text| {
            let found = english_in(&without_names(&text));
            (!found.is_empty()).then_some((text, found))
        })
        .collect()
}

/// Returns whether `text` names a source: the title of a standard, a manual or a page of ours.
fn is_source(text: &str) -> bool {
    ["SECURITY.md", "docs/", "NIST SP", "RFC ", "manual", "FSE", "ICISC"]
        .iter()
        .any(|source| text.contains(source))
}

/// Texts of which the test and the user are the authors.
const GIVEN: &[&str] = &[
    "only 1 of 5 rounds was measured",
    "one client keeps 1 of 8 cores busy",
    "cannot read from /dev/sdb: Input/output error",
    // settings of the plan and of engines, and commands
    "block size",
    "page size",
    "설정 workloads",
    "sealstone volume create",
    "sealstone mongo config",
    "tlsMode requireTLS",
    "write concern",
    "my-rest",
    "accel auto",
];

fn names(results: &[Results]) -> Vec<String> {
    let labels = results.iter().flat_map(|run| run.variants.iter().map(|one| &one.label));
    let given = GIVEN.iter().map(|name| (*name).to_owned());
    let mut names: Vec<String> =
        labels.filter(|label| label.contains(' ')).cloned().chain(given).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names
}

#[test]
fn no_english_sentence_remains() {
    let options = Options { language: Language::Korean, ..Options::default() };
    let all = shapes().into_iter().map(|(name, results)| {
        (name.to_owned(), results.into_iter().map(judged).collect::<Vec<_>>())
    });
    let mut found: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for (shape, results) in all.chain(studies()) {
        // a name that is code by itself fits no pattern, and is tried for what it breaks (`page`)
        if shape.starts_with("hostile") {
            continue;
        }
        let names = names(&results);
        let page = report::html_with(&results, &options).unwrap();
        assert!(page.contains("<html lang=\"ko\">"), "{shape}");
        for page in [page, report::one_page(&results, &options).unwrap()] {
            for (text, words) in english_left(&page, &names) {
                found.entry(text).or_insert_with(|| (shape.clone(), words));
            }
        }
    }
    let list: Vec<String> = found
        .iter()
        .map(|(text, (shape, words))| format!("{shape}: {words:?} in {text}"))
        .collect();
    assert!(list.is_empty(), "{} texts:\n{}", list.len(), list.join("\n"));
}

/// The check above finds what it looks for.
#[test]
fn an_english_page_is_found() {
    let page = report::html(&[judged(fixtures::ordinary())]).unwrap();
    assert!(english_left(&page, &[]).len() > 50);
    assert_eq!(english_in("라운드 3회, slower"), ["slower"]);
    assert_eq!(english_in("aes-256, order entry (oltp)의 p99"), ["order entry"]);
    assert!(english_in("none 대비 rocksdb의 CPU 시간").is_empty());
}
