//! The pages of this repository: their links, the answers to a new user's questions, their
//! sentences, and their Korean forms.

use sealstone_docs::korean::{counterpart, differences};
use sealstone_docs::links::{broken, clicks, resolve};
use sealstone_docs::page::Page;
use sealstone_docs::sentences::{Length, WORDS_MAX, length, sentences};
use sealstone_docs::tree::{is_korean, pages};

/// English pages that have a Korean form.
const IN_KOREAN: [&str; 7] = [
    "README.md",
    "docs/guide/fields.md",
    "docs/guide/keys.md",
    "docs/guide/modules.md",
    "docs/guide/mongodb.md",
    "docs/guide/volumes.md",
    "docs/guide/which-place.md",
];

/// The page with the table of questions, which is below its first heading.
const QUESTIONS: &str = "docs/questions.md";

#[test]
fn every_link_leads_somewhere() {
    let found = broken(&pages());
    assert!(found.is_empty(), "{} links lead nowhere: {found:#?}", found.len());
}

#[test]
fn every_question_of_a_new_user_is_answered_two_clicks_away() {
    let pages = pages();
    let section = pages[QUESTIONS].section("questions").expect("the section with the questions");
    let rows = section.tables[0].rows.len() - 1;
    assert!(rows >= 10, "{rows} questions");
    // each row has one link, to its answer
    let answers: Vec<(String, String)> =
        section.links.iter().filter_map(|link| resolve(QUESTIONS, &link.target)).collect();
    assert_eq!(answers.len(), rows, "questions, and links to answers");
    for (page, anchor) in answers {
        assert!(!anchor.is_empty(), "{page}: an answer is below a heading");
        let answer = pages.get(&page).and_then(|page| page.section(&anchor));
        let answer = answer.unwrap_or_else(|| panic!("there is no {page}#{anchor}"));
        let is_empty = answer.prose.is_empty() && answer.tables.is_empty();
        assert!(!is_empty, "{page}#{anchor} says nothing");
        let clicks = clicks(&pages, "README.md", &page);
        assert!(clicks.is_some(), "{page} is more than two clicks from README.md");
    }
}

#[test]
fn every_guide_is_linked_from_readme() {
    let pages = pages();
    let far: Vec<&String> = pages
        .keys()
        .filter(|page| page.starts_with("docs/guide/"))
        .filter(|page| clicks(&pages, "README.md", page).is_none_or(|clicks| clicks > 1))
        .collect();
    assert!(far.is_empty(), "README.md does not link {far:#?}");
}

fn prose(page: &Page) -> impl Iterator<Item = &str> {
    page.sections.iter().flat_map(|section| section.prose.iter().map(String::as_str))
}

#[test]
fn every_page_is_in_the_contents_of_the_site() {
    let contents = include_str!("../contents.md");
    let listed: Vec<&str> = contents.lines().map(str::trim).collect();
    let stems =
        pages().into_keys().filter(|path| !path.starts_with("results/") && path != "README.md");
    let missing: Vec<String> = stems
        .map(|path| path.trim_end_matches(".md").to_owned())
        .filter(|stem| !listed.contains(&stem.as_str()))
        .collect();
    assert!(missing.is_empty(), "dev/docs/contents.md lacks {missing:#?}");
}

#[test]
fn sentences_are_short() {
    let pages = pages();
    let is_for_users =
        |path: &str| !is_korean(path) && (path == "README.md" || path.starts_with("docs/guide/"));
    let mut long = Vec::new();
    let mut all = Length::default();
    for (path, page) in pages.iter().filter(|(path, _)| is_for_users(path)) {
        let found = length(prose(page));
        all = all.and(found);
        println!("{path}: {:.1} words in each of {} sentences", found.average(), found.sentences);
        if found.average() > WORDS_MAX {
            let mut found: Vec<String> = prose(page).flat_map(sentences).collect();
            found.sort_by_key(|sentence| std::cmp::Reverse(sentence.split_whitespace().count()));
            found.truncate(5);
            long.push(format!("{path}: {found:#?}"));
        }
    }
    println!("all: {:.1} words in each of {} sentences", all.average(), all.sentences);
    assert!(all.sentences > 500, "{all:?}");
    for page in &long {
        println!("{page}");
    }
    assert!(long.is_empty(), "{} pages have long sentences", long.len());
}

#[test]
fn korean_pages_are_in_step_with_the_english_ones() {
    let pages = pages();
    let mut found = Vec::new();
    for path in IN_KOREAN {
        let korean = counterpart(path).expect("it has a Korean form");
        if pages.contains_key(&korean) {
            found.extend(differences(&pages, path));
        } else {
            found.push(format!("{korean} is not there"));
        }
    }
    let listed: Vec<String> = IN_KOREAN.iter().filter_map(|path| counterpart(path)).collect();
    let forgotten = pages.keys().filter(|path| is_korean(path) && !listed.contains(path));
    found.extend(forgotten.map(|path| format!("{path} is not compared")));
    for difference in &found {
        println!("{difference}");
    }
    assert!(found.is_empty(), "{} differences between the languages", found.len());
}
