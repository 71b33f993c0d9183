//! The sentences of every page of help are short. Those of the pages of documentation:
//! `dev/docs/tests/pages.rs`.

use sealstone_docs::sentences::{Length, WORDS_MAX, length, sentences};
use sealstone_e2e::help::{pages, paragraphs};

#[test]
fn sentences_of_help_are_short() {
    let mut long = Vec::new();
    let mut all = Length::default();
    for page in pages() {
        let prose = paragraphs(&page.long);
        let found = length(prose.iter().map(String::as_str));
        all = all.and(found);
        println!(
            "sealstone {}: {:.1} words in each of {} sentences",
            page.command,
            found.average(),
            found.sentences
        );
        if found.average() > WORDS_MAX {
            let mut said: Vec<String> = prose.iter().flat_map(|text| sentences(text)).collect();
            said.sort_by_key(|sentence| std::cmp::Reverse(sentence.split_whitespace().count()));
            said.truncate(5);
            long.push(format!("sealstone {}: {said:#?}", page.command));
        }
    }
    println!("all: {:.1} words in each of {} sentences", all.average(), all.sentences);
    assert!(all.sentences > 500, "{all:?}");
    for page in &long {
        println!("{page}");
    }
    assert!(long.is_empty(), "{} pages of help have long sentences", long.len());
}
