//! Links of pages: those that lead nowhere, and how many clicks lead from one page to another. Not
//! here: addresses of other sites, which nothing looks up.

use std::path::Path;

use crate::tree::{Pages, root};

/// Returns the file that `target`, on the page `from`, is in, and the anchor; nothing for an
/// address of another site.
#[must_use]
pub fn resolve(from: &str, target: &str) -> Option<(String, String)> {
    if target.contains("://") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    if path.is_empty() {
        return Some((from.to_owned(), anchor.to_owned()));
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    Some((parts.join("/"), anchor.to_owned()))
}

/// Returns a line for each link of `pages` that leads nowhere.
#[must_use]
pub fn broken(pages: &Pages) -> Vec<String> {
    let mut found = Vec::new();
    for (path, page) in pages {
        for link in page.links() {
            let Some((file, anchor)) = resolve(path, &link.target) else { continue };
            let place = format!("{path}:{}: {}", link.line, link.target);
            if !root().join(Path::new(&file)).exists() {
                found.push(format!("{place}: there is no {file}"));
            } else if !anchor.is_empty()
                && pages.get(&file).is_none_or(|page| page.section(&anchor).is_none())
            {
                found.push(format!("{place}: {file} has no such heading"));
            }
        }
    }
    found
}

/// Returns how many clicks lead from the page `from` to the page `to`: 0, 1 or 2; nothing if it
/// takes more.
#[must_use]
pub fn clicks(pages: &Pages, from: &str, to: &str) -> Option<usize> {
    let linked = |from: &str| -> Vec<String> {
        let links = pages.get(from).map(|page| page.links().collect::<Vec<_>>());
        let files = links.into_iter().flatten().filter_map(|link| resolve(from, &link.target));
        files.map(|(file, _)| file).collect()
    };
    let first = linked(from);
    if from == to {
        Some(0)
    } else if first.iter().any(|page| page == to) {
        Some(1)
    } else if first.iter().any(|page| linked(page).iter().any(|page| page == to)) {
        Some(2)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;

    fn resolved(from: &str, target: &str) -> Option<(String, String)> {
        resolve(from, target)
    }

    #[test]
    fn targets_are_relative_to_their_page() {
        let found = |from, target| resolved(from, target).map(|(file, _)| file);
        assert_eq!(found("docs/guide/a.md", "../method.md#b").as_deref(), Some("docs/method.md"));
        assert_eq!(found("README.md", "docs/a.md").as_deref(), Some("docs/a.md"));
        assert_eq!(found("docs/a.md", "https://example.org/x"), None);
        assert_eq!(resolved("docs/a.md", "#b"), Some(("docs/a.md".into(), "b".into())));
    }

    #[test]
    fn what_leads_nowhere_is_named() {
        let text = "# A b\n[1](README.md#a-b) [2](#c) [3](no-such-page.md) [4](https://x.org/)\n";
        let pages = Pages::from([("README.md".to_owned(), Page::parse(text))]);
        let found = broken(&pages);
        assert_eq!(found.len(), 2, "{found:#?}");
        assert!(found[0].ends_with("has no such heading") && found[1].contains("no-such-page"));
    }

    #[test]
    fn clicks_are_counted() {
        let page = |text| Page::parse(text);
        let pages = Pages::from([
            ("a.md".to_owned(), page("[b](b.md)")),
            ("b.md".to_owned(), page("[c](c.md)")),
            ("c.md".to_owned(), page("[d](d.md)")),
        ]);
        let count = |to| clicks(&pages, "a.md", to);
        let counts = [count("a.md"), count("b.md"), count("c.md"), count("d.md")];
        assert_eq!(counts, [Some(0), Some(1), Some(2), None]);
    }
}
