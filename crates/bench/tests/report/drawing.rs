//! Tests of drawings: a colour for a variant, all else grey, text on the sheet, words for readers
//! who cannot see it.

use std::collections::{BTreeMap, BTreeSet};

use scraper::{ElementRef, Html, Selector};
use sealstone_bench::compare::merge;
use sealstone_bench::report::{self, Options, Picture, Theme};
use sealstone_bench::results::Results;
use sealstone_message::Language;
use unicode_width::UnicodeWidthStr;

use crate::{at, drawings, fixtures, html, select, shapes, text, whole_text};

/// Returns the variant that each class of colour means on `page`, by its key.
fn key(page: &Html) -> BTreeMap<String, String> {
    let entries = select(page, ".key > span:has(svg)");
    let entry = |entry: &ElementRef| {
        let swatch = entry.select(&Selector::parse("svg").unwrap()).next().unwrap();
        (text(entry), swatch.value().attr("class").unwrap().replace("swatch ", ""))
    };
    entries.iter().map(entry).collect()
}

/// Returns the colour of a shape, if it is one of a variant.
fn ink<'a>(node: &roxmltree::Node<'a, '_>) -> Option<&'a str> {
    let classes = node.attribute("class")?;
    classes.split(' ').find(|class| class.starts_with("series-") || *class == "baseline")
}

/// Returns the point where a shape of a chart begins.
fn place(node: &roxmltree::Node) -> (f64, f64) {
    if let (Some(x), Some(y)) = (node.attribute("cx"), node.attribute("cy")) {
        return (x.parse().unwrap(), y.parse().unwrap());
    }
    let start =
        node.attribute("d").unwrap().trim_start_matches('M').split(['L', 'Z', 'M']).next().unwrap();
    let (x, y) = start.split_once(' ').unwrap();
    (x.parse().unwrap(), y.parse().unwrap())
}

#[test]
fn a_colour_means_one_variant_in_every_chart_and_table() {
    let mut other = fixtures::large();
    other.machine.label = "another".into();
    let subjects = [fixtures::subject("none", 0.0, 0.0), fixtures::subject("aria-256", 0.1, 0.02)];
    let mut fewer = fixtures::results(&subjects, &["a", "c"]);
    fewer.machine.label = "a third".into();
    for results in [
        vec![fixtures::ordinary()],
        vec![fixtures::large()],
        vec![fewer, other, fixtures::ordinary()],
    ] {
        let html = html(&results);
        let page = Html::parse_document(&html);
        let key = key(&page);
        assert_eq!(
            key.values().collect::<BTreeSet<_>>().len(),
            key.len(),
            "two variants share a colour: {key:?}"
        );
        let labels: BTreeSet<&str> = results
            .iter()
            .flat_map(|run| &run.variants)
            .map(|variant| variant.label.as_str())
            .collect();
        assert_eq!(key.keys().map(String::as_str).collect::<BTreeSet<_>>(), labels);
        // marks at the height of a variant's name, and the lines to them, have its colour
        let mut checked = 0;
        for svg in drawings(&html) {
            let drawing = roxmltree::Document::parse(svg).unwrap();
            let nodes = || drawing.descendants();
            let number = |node: &roxmltree::Node, name: &str| {
                node.attribute(name).unwrap().parse::<f64>().unwrap()
            };
            let texts = || nodes().filter(|node| node.has_tag_name("text"));
            for name in texts().filter(|node| key.contains_key(node.text().unwrap_or(""))) {
                let beside = nodes().filter(|node| ink(node).is_some()).filter(|node| {
                    match name.attribute("text-anchor") {
                        // a row of a chart over all workloads
                        Some("end") => (place(node).1 - number(&name, "y") + 4.0).abs() < 7.0,
                        // the end of a curve: the line that leads to it ends there
                        _ => {
                            let end = format!(
                                "L{} {}",
                                number(&name, "x") - 4.0,
                                number(&name, "y") - 4.0
                            );
                            node.attribute("d").is_some_and(|d| d.ends_with(&end))
                        }
                    }
                });
                for shape in beside {
                    assert_eq!(
                        ink(&shape).unwrap(),
                        key[name.text().unwrap()],
                        "{} in {svg}",
                        name.text().unwrap()
                    );
                    checked += 1;
                }
            }
        }
        assert!(checked > 50 * key.len(), "{checked} shapes");
        for swatch in select(&page, "th > svg") {
            let name = text(&ElementRef::wrap(swatch.parent().unwrap()).unwrap());
            assert_eq!(
                swatch.value().attr("class").unwrap().replace("swatch ", ""),
                key[&name],
                "{name}"
            );
        }
    }
}

/// Verdicts, notices and links have no colour of their own, so none can be taken for a cipher's.
#[test]
fn all_that_is_no_variant_is_grey() {
    for sheet in
        [include_str!("../../templates/report.css"), include_str!("../../templates/chart.css")]
    {
        for (at, _) in sheet
            .match_indices('#')
            .filter(|(at, _)| sheet[at + 1..].starts_with(|c: char| c.is_ascii_hexdigit()))
        {
            let digits: String =
                sheet[at + 1..].chars().take_while(char::is_ascii_hexdigit).collect();
            let parts: Vec<u32> = match digits.len() {
                3 => digits.chars().map(|digit| digit.to_digit(16).unwrap() * 17).collect(),
                _ => (0..3)
                    .map(|part| u32::from_str_radix(&digits[2 * part..2 * part + 2], 16).unwrap())
                    .collect(),
            };
            let (least, most) = (parts.iter().min().unwrap(), parts.iter().max().unwrap());
            assert!(most - least <= 16, "#{digits} has a hue");
        }
        assert!(!sheet.contains("rgb(") && !sheet.contains("hsl("));
    }
}

#[test]
fn every_colour_drawn_follows_the_theme() {
    let html = html(&[fixtures::large()]);
    let style = &html[..html.find("</style>").unwrap()];
    let mut seen = BTreeSet::new();
    for svg in drawings(&html) {
        let drawing = roxmltree::Document::parse(svg).unwrap();
        for node in drawing.descendants().filter(|node| node.is_element()) {
            assert!(
                node.attribute("fill").is_none() && node.attribute("stroke").is_none(),
                "{node:?}"
            );
            for class in node.attribute("class").unwrap().split(' ') {
                if style.contains(&format!(".{class}{{color:var(--{class})}}")) {
                    // once for each theme
                    assert_eq!(style.matches(&format!("--{class}:#")).count(), 2, "{class}");
                    seen.insert(class.to_owned());
                }
            }
        }
    }
    assert!(seen.len() > 12, "{seen:?}");
}

#[test]
fn one_chart_shows_all_workloads() {
    let results = fixtures::ordinary();
    let html = html(std::slice::from_ref(&results));
    let page = Html::parse_document(&html);
    for id in ["cost", "latency", "time", "size"] {
        let section =
            ElementRef::wrap(select(&page, &format!("#run-1-{id}"))[0].parent().unwrap()).unwrap();
        assert_eq!(section.select(&Selector::parse("figure").unwrap()).count(), 1, "{id}");
    }
    // the same growth under every workload is one row a cipher
    let size =
        drawings(&html).into_iter().find(|svg| svg.contains("Size on disk against")).unwrap();
    assert!(size.contains("every workload: aes-256 +0.5 %, aria-256 +1.1 %\""), "{size}");
    assert!(!size.contains("batch-load"));
}

#[test]
fn a_numeric_axis_is_drawn_with_a_line_a_variant() {
    let run = |clients| at(fixtures::ordinary(), "rocksdb", clients);
    let runs = [run(1), run(8), run(32)];
    assert_eq!(merge::labels(&runs), ["1 client", "8 clients", "32 clients"]);
    let page = html(&runs);
    for heading in ["Cost by clients", "Throughput by clients"] {
        assert!(whole_text(&Html::parse_document(&page)).contains(heading), "{heading}");
    }
    let described = |what: &str| drawings(&page).iter().any(|svg| svg.contains(what));
    assert!(
        described("reads and updates (a) by clients: curves of none, aes-256, aria-256"),
        "the baseline has a line, too"
    );
    assert!(
        described("reads and updates (a) by clients: curves of aes-256, aria-256"),
        "cost is against the baseline"
    );
    // runs that differ in more than the axis have separate panels; a single value is not a line
    let mixed = [run(1), run(8), at(fixtures::ordinary(), "mongodb", 8)];
    let page = whole_text(&Html::parse_document(&html(&mixed)));
    assert!(
        page.contains("reads and updates (a), rocksdb")
            && !page.contains("reads and updates (a), mongodb"),
        "{page}"
    );
}

#[test]
fn the_picture_stands_by_itself() {
    let pictures = picture_files(&[fixtures::ordinary()]);
    let names: Vec<&str> = pictures.iter().map(|picture| picture.name.as_str()).collect();
    assert_eq!(names[..4], ["cost", "between", "latency", "percentiles-reads-and-updates-a-read"]);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    for Picture { name, title, svg } in &pictures {
        let drawing = roxmltree::Document::parse(svg).unwrap();
        let root = drawing.root_element();
        assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2000/svg"), "{name}");
        // programs that show drawings know no variables, and nothing is fetched
        assert!(!svg.contains("var(--") && !svg.contains("url("), "{name}");
        for wanted in ["prefers-color-scheme: dark", "font-family:", "sans-serif"] {
            assert!(svg.contains(wanted), "{name} lacks {wanted}");
        }
        let texts: Vec<&str> = drawing.descendants().filter_map(|node| node.text()).collect();
        assert!(texts.contains(&title.as_str()), "{name} lacks its title {title}");
    }
    let legend = |picture: &Picture, wanted: &str| {
        assert!(picture.svg.contains(&format!(">{wanted}</text>")), "{wanted}: {}", picture.svg);
    };
    for wanted in
        ["aes-256", "aria-256", "shown to differ", "← slower", "faster →", "full scan (batch-scan)"]
    {
        legend(&pictures[0], wanted);
    }
    for wanted in ["median", "99 %"] {
        legend(&pictures[2], wanted);
    }
}

/// Every text of a picture is on its sheet, also beside a long name, and in Korean.
#[test]
fn text_of_pictures_stays_on_the_sheet() {
    for (name, results) in shapes() {
        for language in Language::ALL {
            let options = Options { language, ..Options::default() };
            for picture in report::pictures(&results, &options, Theme::Light).unwrap() {
                let drawing = roxmltree::Document::parse(&picture.svg)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                let root = drawing.root_element();
                let width: f64 = root.attribute("width").unwrap().parse().unwrap();
                for node in drawing.descendants().filter(|node| node.has_tag_name("text")) {
                    let x: f64 = node.attribute("x").unwrap().parse().unwrap();
                    let wide = node.text().unwrap_or("").trim().width() as f64 * 12.0 * 0.56;
                    let end = match node.attribute("text-anchor").unwrap() {
                        "start" => x + wide,
                        "middle" => x + wide / 2.0,
                        _ => x,
                    };
                    assert!(end <= width, "{name}, {}: {:?}", picture.name, node.text());
                }
            }
        }
    }
}

fn picture_files(results: &[Results]) -> Vec<Picture> {
    report::pictures(results, &Options::default(), Theme::OfReader).unwrap()
}

#[test]
fn charts_speak_to_those_who_cannot_see_them() {
    let results = fixtures::large();
    let html = html(std::slice::from_ref(&results));
    let page = Html::parse_document(&html);
    let charts = select(&page, "svg.chart");
    // wide and narrow: the first, cost, cipher against cipher, latency, time, size; a curve for 16
    // operations, CPU for 9 workloads
    assert_eq!(charts.len(), 2 * 6 + 16 + 9);
    for chart in charts {
        let description = chart.value().attr("aria-label").unwrap();
        assert_eq!(chart.value().attr("role"), Some("img"));
        // the first shows as many as fit a screen
        let is_first = description.starts_with("Cost of encryption by workload");
        for variant in &results.variants[1..if is_first { 2 } else { results.variants.len() }] {
            assert!(description.contains(&variant.label), "{description}");
        }
    }
    for table in select(&page, "table") {
        assert!(table.value().attr("aria-label").is_some_and(|label| !label.is_empty()));
        assert!(
            table
                .ancestors()
                .filter_map(ElementRef::wrap)
                .any(|parent| parent.value().classes().any(|class| class == "scroll"))
        );
    }
}

/// Text on a chart must stay on the sheet: checked with a generous estimate of its width.
#[test]
fn chart_text_stays_on_the_sheet() {
    for (name, results) in shapes() {
        for svg in drawings(&html(&results)) {
            let drawing = roxmltree::Document::parse(svg).unwrap();
            let sheet: Vec<f64> = drawing
                .root_element()
                .attribute("viewBox")
                .unwrap()
                .split(' ')
                .map(|n| n.parse().unwrap())
                .collect();
            for node in drawing.descendants().filter(|node| node.has_tag_name("text")) {
                let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
                let width = node.text().unwrap_or("").trim().width() as f64 * 12.0 * 0.56;
                let left = match node.attribute("text-anchor").unwrap() {
                    "start" => number("x"),
                    "middle" => number("x") - width / 2.0,
                    _ => number("x") - width,
                };
                assert!(
                    left >= -1.0 && left + width <= sheet[2] + 1.0,
                    "{name}: {:?} leaves the sheet",
                    node.text()
                );
                assert!((0.0..=sheet[3]).contains(&number("y")), "{name}: {:?}", node.text());
            }
        }
    }
}
