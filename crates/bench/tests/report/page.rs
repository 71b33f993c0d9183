//! Pages are well-formed, self-contained and safe against hostile names.

use std::collections::BTreeSet;

use scraper::Html;
use sealstone_bench::report::{self, Options};

use crate::studies::studies;
use crate::{drawings, fixtures, html, select, shapes, text, whole_text};

#[test]
fn pages_are_well_formed() {
    let plain = shapes().into_iter().map(|(name, results)| (name.to_owned(), results));
    for (name, results) in plain.chain(studies()) {
        let html = html(&results);
        let page = Html::parse_document(&html);
        assert!(page.errors.is_empty(), "{name}: {:?}", page.errors);
        for svg in drawings(&html) {
            roxmltree::Document::parse(svg)
                .unwrap_or_else(|error| panic!("{name}: {error}\n{svg}"));
        }
        let words = whole_text(&page).replace("None of the ", "");
        for word in ["NaN", "inf ", "undefined", "none(", "None", "Some("] {
            assert!(!words.contains(word), "{name}: {word}");
        }
    }
}

/// Returns whether the only script of `page` is the sorting script, which contains no measurements.
fn runs_only_our_script(page: &Html) -> bool {
    let ours = include_str!("../../templates/report.js");
    let scripts: Vec<String> =
        select(page, "script").iter().map(|script| script.text().collect()).collect();
    scripts.len() == 1 && scripts[0].trim() == ours.trim()
}

#[test]
fn pages_fetch_nothing_and_run_only_their_own_script() {
    for (name, results) in shapes() {
        let html = html(&results);
        let page = Html::parse_document(&html);
        let fetching = "link, img, image, iframe, object, embed, audio, video, source, base, form, \
                        use, [src], [srcset], [style], [onerror], [onload], [onclick]";
        assert!(select(&page, fetching).is_empty(), "{name}");
        assert!(runs_only_our_script(&page), "{name}");
        assert!(!html.contains("<button"), "{name}: without scripts there is nothing to press");
        for element in select(&page, "*") {
            for (attribute, value) in element.value().attrs() {
                let is_link = attribute == "href";
                assert!(
                    !is_link || value.starts_with('#') || value.starts_with("./"),
                    "{name}: {attribute}={value}"
                );
                assert!(
                    !attribute.starts_with("on") && !value.starts_with("javascript:"),
                    "{name}: {attribute}={value}"
                );
            }
        }
        let style = text(&select(&page, "style")[0]);
        assert!(
            !style.contains("url(") && !style.contains("@import") && !style.contains("//"),
            "{name}"
        );
    }
}

#[test]
fn links_and_headings_are_in_order() {
    for (name, results) in shapes() {
        let html = html(&results);
        let page = Html::parse_document(&html);
        let ids: Vec<&str> =
            select(&page, "[id]").iter().filter_map(|element| element.value().id()).collect();
        assert_eq!(
            ids.iter().collect::<BTreeSet<_>>().len(),
            ids.len(),
            "{name}: an id is there twice"
        );
        for link in select(&page, "a[href^='#']") {
            let target = &link.value().attr("href").unwrap()[1..];
            assert!(ids.contains(&target), "{name}: nothing has the id {target}");
        }
        let mut before = 0;
        for heading in select(&page, "h1, h2, h3, h4, h5, h6") {
            let level = heading.value().name()[1..].parse::<usize>().unwrap();
            assert!(level <= before + 1, "{name}: h{level} after h{before}");
            assert!(!text(&heading).is_empty(), "{name}");
            before = level;
        }
        assert_eq!(select(&page, "h1").len(), 1, "{name}");
    }
}

#[test]
fn hostile_names_are_shown_as_text() {
    let page = Html::parse_document(&html(&[fixtures::hostile()]));
    let attack = fixtures::hostile().machine.cpu;
    let squeezed = attack.split_whitespace().collect::<Vec<_>>().join(" ");
    // command line, version, workload, labels, warnings, facts: at least once each
    assert!(whole_text(&page).matches(&squeezed).count() > 20);
    assert!(select(&page, "body img, body style").is_empty() && runs_only_our_script(&page));

    let options = Options {
        title: Some("</title><script>alert(1)</script>".into()),
        raw_data: Some(vec![
            "javascript:alert(1)".into(),
            "//example.org/x".into(),
            "a b#c.json".into(),
        ]),
        ..Options::default()
    };
    let html = report::html_with(&[fixtures::ordinary()], &options).unwrap();
    let page = Html::parse_document(&html);
    assert!(runs_only_our_script(&page));
    for link in select(&page, "a")
        .iter()
        .filter_map(|link| link.value().attr("href"))
        .filter(|href| !href.starts_with('#'))
    {
        assert!(
            link.starts_with("./")
                && !link.contains(':')
                && !link.contains(' ')
                && !link.contains('#'),
            "{link}"
        );
    }
}
