//! Differences between the English and the Korean form of a page: headings, blocks of code, code
//! within text, tables, figures and links.

use crate::links::resolve;
use crate::page::{Page, Section};
use crate::tree::Pages;

/// Returns the path of the Korean form of the English page `path`: `README.ko.md` for `README.md`,
/// `docs/ko/keys.md` for `docs/guide/keys.md`.
#[must_use]
pub fn counterpart(path: &str) -> Option<String> {
    match path.strip_prefix("docs/guide/") {
        Some(name) => Some(format!("docs/ko/{name}")),
        None if path.starts_with("docs/") || path.contains('/') => None,
        None => path.strip_suffix(".md").map(|stem| format!("{stem}.ko.md")),
    }
}

/// Returns a line for each difference between the English page `path` and its Korean form.
///
/// # Panics
/// If one of the two is not among `pages`.
#[must_use]
pub fn differences(pages: &Pages, path: &str) -> Vec<String> {
    let other = counterpart(path).expect("it has a Korean form");
    let (english, korean) = (&pages[path], &pages[&other]);
    let mut found = Vec::new();
    for (from, to) in [(path, other.as_str()), (other.as_str(), path)] {
        let mut targets = pages[from].links().filter_map(|link| resolve(from, &link.target));
        if !targets.any(|(file, _)| file == to) {
            found.push(format!("{from}: it has no link to {to}"));
        }
    }
    let levels = |page: &Page| page.sections.iter().map(|section| section.level).collect();
    let (wanted, levels): (Vec<usize>, Vec<usize>) = (levels(english), levels(korean));
    if wanted != levels {
        let at = wanted.iter().zip(&levels).take_while(|(a, b)| a == b).count();
        let shown = |page: &Page| {
            page.sections.get(at).map_or("nothing".to_owned(), |section| {
                format!("line {}: level {} \"{}\"", section.line, section.level, section.title)
            })
        };
        found.push(format!(
            "{other}: its headings differ from the {}th on: {} there, {} here",
            at + 1,
            shown(english),
            shown(korean)
        ));
        return found;
    }
    for (wanted, section) in english.sections.iter().zip(&korean.sections) {
        let place = format!("{other}:{} (\"{}\")", section.line, wanted.title);
        let links = (links(pages, path, wanted, true), links(pages, &other, section, false));
        for (what, wanted, here) in [
            ("blocks of code", blocks(wanted), blocks(section)),
            ("code within text", sorted(wanted.words.clone()), sorted(section.words.clone())),
            ("tables", shapes(wanted), shapes(section)),
            ("figures of tables", rows(wanted), rows(section)),
            ("figures", figures(wanted), figures(section)),
            ("links", links.0, links.1),
        ] {
            found.extend(difference(&place, what, &wanted, &here));
        }
    }
    found
}

/// Returns what is in one of two lists alone.
fn difference(place: &str, what: &str, wanted: &[String], here: &[String]) -> Option<String> {
    if wanted == here {
        return None;
    }
    let alone = |these: &[String], those: &[String]| {
        let mut rest = those.to_vec();
        let mut alone = Vec::new();
        for text in these {
            match rest.iter().position(|other| other == text) {
                Some(at) => drop(rest.remove(at)),
                None => alone.push(text.clone()),
            }
        }
        alone
    };
    Some(format!(
        "{place}: {what}: in English alone {:?}, in Korean alone {:?}",
        alone(wanted, here),
        alone(here, wanted)
    ))
}

fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts.dedup();
    texts
}

/// Returns the blocks of code of `section`, without the comments that may be translated.
fn blocks(section: &Section) -> Vec<String> {
    let bare = |line: &str| {
        let code = line.split_once(" # ").map_or(line, |(code, _)| code).trim_end();
        if code.starts_with("# ") { String::new() } else { code.to_owned() }
    };
    let lines = |block: &String| block.lines().map(bare).collect::<Vec<_>>().join("\n");
    section.blocks.iter().map(lines).collect()
}

fn shapes(section: &Section) -> Vec<String> {
    let shape = |table: &crate::page::Table| {
        format!("{} columns, {} rows", table.columns, table.rows.len())
    };
    section.tables.iter().map(shape).collect()
}

/// A number in a text.
struct Number<'a> {
    /// Its digits, without separators of thousands, with its decimal point.
    digits: String,
    /// The text behind it, without the space between.
    behind: &'a str,
}

/// Returns the numbers in `text`, but for those that Korean counts in ten thousands, for which
/// English has a word.
fn numbers(text: &str) -> impl Iterator<Item = Number<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = &rest[rest.find(|c: char| c.is_ascii_digit())?..];
        let is_part = |(at, c): &(usize, char)| {
            let has_more = || rest[at + 1..].starts_with(|c: char| c.is_ascii_digit());
            c.is_ascii_digit() || matches!(c, ',' | '.') && has_more()
        };
        let end = rest.char_indices().take_while(is_part).count();
        let (digits, behind) = rest.split_at(end);
        rest = behind;
        let behind = behind.trim_start_matches([' ', '\u{a0}', '\u{202f}']);
        Some(Number { digits: digits.replace(',', ""), behind })
    })
    .filter(|number| !number.behind.starts_with(['만', '억']))
}

/// Returns the numbers of each row of the tables of `section` that has any, sorted.
fn rows(section: &Section) -> Vec<String> {
    let of_row = |row: &Vec<String>| {
        let all = row.iter().flat_map(|cell| numbers(cell)).map(|number| number.digits);
        let mut all: Vec<String> = all.collect();
        all.sort();
        all.join(" ")
    };
    let all = section.tables.iter().flat_map(|table| table.rows.iter().map(of_row));
    all.filter(|row| !row.is_empty()).collect()
}

/// Returns the figures of `section` that no language has a word for: those with a decimal point,
/// and those in per cent.
fn figures(section: &Section) -> Vec<String> {
    let texts = section.prose.iter().chain(&section.blocks);
    let all = texts.flat_map(|text| numbers(text)).filter_map(|number| {
        let in_per_cent = number.behind.starts_with('%');
        let sign = if in_per_cent { " %" } else { "" };
        (in_per_cent || number.digits.contains('.')).then(|| number.digits + sign)
    });
    sorted(all.collect())
}

/// Returns the targets of the links of `section` on the page `path`, sorted, those to the other
/// form of the page left out; a picture is the same in both. With `translate`, each page as its
/// Korean form is, where there is one.
fn links(pages: &Pages, path: &str, section: &Section, translate: bool) -> Vec<String> {
    let mut found = Vec::new();
    for link in &section.links {
        let Some((file, anchor)) = resolve(path, &link.target) else {
            found.push(link.target.clone());
            continue;
        };
        if is_other_form(path, &file) {
            continue;
        }
        let korean = counterpart(&file).filter(|korean| translate && pages.contains_key(korean));
        found.push(match korean {
            Some(korean) => format!("{korean}#{}", same_heading(pages, &file, &korean, &anchor)),
            None => format!("{}#{anchor}", same_picture(&file)),
        });
    }
    found.sort();
    found
}

/// Returns the English form of `file` if it is a picture with Korean words, else `file`.
fn same_picture(file: &str) -> String {
    file.strip_suffix(".ko.svg").map_or(file.to_owned(), |stem| format!("{stem}.svg"))
}

/// Returns whether `file` is the page `path` in the other language.
fn is_other_form(path: &str, file: &str) -> bool {
    counterpart(path).as_deref() == Some(file) || counterpart(file).as_deref() == Some(path)
}

/// Returns the anchor in the page `korean` of the heading that has `anchor` in the page `english`.
fn same_heading(pages: &Pages, english: &str, korean: &str, anchor: &str) -> String {
    let at = pages[english].sections.iter().position(|section| section.anchor == anchor);
    at.and_then(|at| pages[korean].sections.get(at))
        .map_or(anchor.to_owned(), |section| section.anchor.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGLISH: &str = "\
# Keys
Use `--key` ([fields](fields.md#rotating), [한국어](../ko/keys.md), [code](../../Cargo.toml)).

    sealstone keys new   # a new one

It takes 1.5 s, a million times 10 %.

| a | b |
|---|---|
| 1,000 | 2 |
";
    const KOREAN: &str = "\
# 키
[필드](fields.md#교체)의 `--key` ([English](../guide/keys.md), [코드](../../Cargo.toml)).

    sealstone keys new   # 새 키

1.5초, 100만 번에 10 %.

| 가 | 나 |
|---|---|
| 1,000 | 2 |
";

    fn found(korean: &str) -> Vec<String> {
        let page = |text| Page::parse(text);
        let pages = Pages::from([
            ("docs/guide/keys.md".to_owned(), page(ENGLISH)),
            ("docs/ko/keys.md".to_owned(), page(korean)),
            ("docs/guide/fields.md".to_owned(), page("# Fields\n## Rotating\n")),
            ("docs/ko/fields.md".to_owned(), page("# 필드\n## 교체\n")),
        ]);
        differences(&pages, "docs/guide/keys.md")
    }

    #[test]
    fn a_page_and_its_korean_form_are_in_step() {
        assert_eq!(found(KOREAN), Vec::<String>::new());
    }

    #[test]
    fn what_differs_is_named() {
        for (from, to, what) in [
            ("# 키\n", "# 키\n## 더\n", "its headings differ from the 3th on"),
            ("keys new", "keys old", "blocks of code"),
            ("`--key`", "`--clef`", "code within text"),
            ("| 2 |\n", "| 2 |\n| 다 | 라 |\n", "tables: "),
            ("| 2 |", "| 3 |", "figures of tables"),
            ("1.5초", "1.6초", "figures: in English alone [\"1.5\"], in Korean alone [\"1.6\"]"),
            ("10 %", "11 %", "figures"),
            ("#교체", "", "links"),
            ("../../Cargo.toml", "../../Makefile", "links"),
            ("[English](../guide/keys.md)", "English", "it has no link to docs/guide/keys.md"),
        ] {
            let changed = KOREAN.replacen(from, to, 1);
            assert_ne!(changed, KOREAN);
            let found = found(&changed);
            assert!(found.len() == 1 && found[0].contains(what), "{from}: {found:#?}");
        }
    }

    #[test]
    fn a_picture_may_have_korean_words() {
        assert_eq!(same_picture("docs/report.ko.svg"), "docs/report.svg");
        assert_eq!(same_picture("docs/other.svg"), "docs/other.svg");
    }

    #[test]
    fn korean_pages_have_their_places() {
        let found = |path| counterpart(path);
        assert_eq!(found("README.md").as_deref(), Some("README.ko.md"));
        assert_eq!(found("docs/guide/keys.md").as_deref(), Some("docs/ko/keys.md"));
        assert_eq!(found("docs/method.md"), None);
        assert_eq!(found("results/method.md"), None);
    }
}
