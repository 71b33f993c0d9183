//! The text that goes with an artefact: what others wrote of it, in order of name, each with the
//! numbers of its licences; then every licence, once.

use std::fmt::Write;

/// Something that others wrote: a crate or a library.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// Version; empty where nobody here knows it.
    pub(crate) version: String,
    /// Licence in the words of SPDX; empty where only the texts contain it.
    pub(crate) licence: String,
    /// Place that it belongs to, or that its texts come from; empty if there is nothing to say.
    pub(crate) remark: String,
    pub(crate) texts: Vec<String>,
}

/// A licence, and those that have it.
struct Licence {
    /// Its words alone: packages break the lines of one text in many ways, and changed addresses.
    words: String,
    text: String,
    holders: Vec<String>,
}

/// Widest line of what is not copied, in characters.
const LINE_CHARS: usize = 100;

/// Returns the text for what is called `title`.
pub(crate) fn text(title: &str, mut parts: Vec<Part>) -> String {
    parts.sort_by(|a, b| (&a.name, &a.version, &a.remark).cmp(&(&b.name, &b.version, &b.remark)));
    let mut licences: Vec<Licence> = Vec::new();
    let mut out = format!("What others wrote of {title}, and its licences\n\n");
    out += "Sealstone itself is under MIT or Apache-2.0, at your option. Parts that are linked \
            into its\nprograms and libraries have the licences below: first the parts in order of \
            name, each with the\nnumbers of its texts, then the texts, each once.\n\n";
    for part in &parts {
        let title = format!("{} {}", part.name, part.version).trim_end().to_owned();
        let mut numbers = Vec::new();
        for text in part.texts.iter().flat_map(|text| pieces(text)) {
            let number = numbered(&mut licences, text);
            let holders = &mut licences[number].holders;
            if !holders.contains(&title) {
                holders.push(title.clone());
            }
            let number = format!("[{}]", number + 1);
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        let licence = if part.licence.is_empty() { "as its texts say" } else { &part.licence };
        let _ = writeln!(out, "{title}\n    {licence}: {}", numbers.join(" "));
        if !part.remark.is_empty() {
            let _ = writeln!(out, "    ({})", part.remark);
        }
    }
    let rule = "-".repeat(LINE_CHARS);
    for (index, licence) in licences.iter().enumerate() {
        let holders = wrapped(&format!("[{}] {}", index + 1, licence.holders.join(", ")));
        let _ = write!(out, "\n{rule}\n{holders}\n{rule}\n\n{}\n", licence.text);
    }
    out
}

/// Returns `text` in pieces that are the same for many: of the Apache License its terms, and what
/// is behind them, where packages name the copyright holder.
fn pieces(text: &str) -> Vec<&str> {
    const END: &str = "END OF TERMS AND CONDITIONS";
    let split = text.trim_start().starts_with("Apache License");
    let Some(at) = text.find(END).filter(|_| split) else { return vec![text] };
    let (terms, behind) = text.split_at(at + END.len());
    let behind = behind.trim_matches('\n');
    if behind.is_empty() { vec![terms] } else { vec![terms, behind] }
}

/// Returns the place of `text` in `licences`, to which it is added if it is new.
fn numbered(licences: &mut Vec<Licence>, text: &str) -> usize {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("https:", "http:");
    licences.iter().position(|licence| licence.words == words).unwrap_or_else(|| {
        licences.push(Licence { words, text: text.to_owned(), holders: Vec::new() });
        licences.len() - 1
    })
}

/// Breaks `line` at blanks.
fn wrapped(line: &str) -> String {
    let mut lines = vec![String::new()];
    for word in line.split(", ") {
        let last = lines.last_mut().expect("there is one from the start");
        if !last.is_empty() && last.chars().count() + 2 + word.chars().count() >= LINE_CHARS {
            *last += ",";
            lines.push(format!("    {word}"));
        } else {
            *last += if last.is_empty() { "" } else { ", " };
            *last += word;
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, texts: &[&str]) -> Part {
        Part {
            name: name.into(),
            version: "1.0.0".into(),
            licence: "MIT".into(),
            remark: String::new(),
            texts: texts.iter().map(|&text| text.to_owned()).collect(),
        }
    }

    #[test]
    fn parts_come_in_order_and_texts_once() {
        let others = part("b", &["Second", "one\n  text"]);
        let made = text("a program", vec![others, part("a", &["One", "one text", "One"])]);
        let (a, b) =
            (made.find("a 1.0.0\n    MIT: [1] [2]\n"), made.find("b 1.0.0\n    MIT: [3] [2]"));
        assert!(a.is_some() && a < b, "{made}");
        assert_eq!(made.matches("one text").count(), 1, "{made}");
        assert_eq!(made.matches("one\n  text").count(), 0, "{made}");
        assert!(made.contains("[2] a 1.0.0, b 1.0.0\n"), "{made}");
        assert!(made.contains("[1] a 1.0.0\n"), "{made}");
    }

    #[test]
    fn terms_of_the_apache_license_come_once_and_what_is_behind_them_is_kept() {
        let terms = "Apache License\n  https://a.example\n\n END OF TERMS AND CONDITIONS";
        let (plain, named) = (terms.replace("https", "http"), format!("{terms}\n\nCopyright B\n"));
        let made = text("a program", vec![part("a", &[&plain]), part("b", &[&named])]);
        assert!(made.contains("a 1.0.0\n    MIT: [1]\nb 1.0.0\n    MIT: [1] [2]\n"), "{made}");
        assert_eq!(made.matches("END OF TERMS").count(), 1, "{made}");
        assert!(made.ends_with("\n\nCopyright B\n"), "{made}");
    }

    #[test]
    fn long_rows_of_names_are_broken() {
        let parts = (10..60).map(|at| part(&format!("crate-{at}"), &["Text"])).collect();
        let made = text("a program", parts);
        assert!(made.lines().all(|line| line.chars().count() <= LINE_CHARS), "{made}");
        assert!(made.contains(" crate-59 1.0.0\n"), "{made}");
    }
}
