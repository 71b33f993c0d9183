//! The report and the terminal summary over made-up results of many shapes: well-formed, self-contained, complete,
//! safe against hostile names, and within the width of a terminal.

mod fixtures;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use scraper::{ElementRef, Html, Selector};
use sealstone_bench::groups;
use sealstone_bench::merge::{self, MergeError};
use sealstone_bench::report::{self, Options, ReportError, figures, summary};
use sealstone_bench::results::{Comparison, Results};
use sealstone_bench::target::Target;
use unicode_width::UnicodeWidthStr;

/// Every shape of results, by name.
fn shapes() -> Vec<(&'static str, Vec<Results>)> {
    vec![
        ("ordinary", vec![fixtures::ordinary()]),
        ("alone", vec![fixtures::alone()]),
        ("large", vec![fixtures::large()]),
        ("interrupted", vec![fixtures::interrupted()]),
        ("undecided", vec![fixtures::undecided()]),
        ("places", vec![fixtures::places()]),
        ("places twice", vec![fixtures::places(), fixtures::places()]),
        ("two machines", fixtures::two_machines()),
        ("same machine twice", vec![fixtures::ordinary(), fixtures::ordinary()]),
        ("korean", vec![fixtures::korean()]),
        ("extreme", vec![fixtures::extreme()]),
        ("hostile", vec![fixtures::hostile()]),
        ("hostile twice", vec![fixtures::hostile(), fixtures::hostile()]),
        ("nothing measured", vec![nothing_measured()]),
    ]
}

/// Ended before the first slice.
fn nothing_measured() -> Results {
    let mut results = fixtures::interrupted();
    results.cells.clear();
    results.recommendation = Default::default();
    results
}

fn html(results: &[Results]) -> String {
    report::html(results).unwrap()
}

fn select<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    page.select(&Selector::parse(selector).unwrap()).collect()
}

fn text(element: &ElementRef) -> String {
    element.text().collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn whole_text(page: &Html) -> String {
    text(&select(page, "body")[0])
}

/// The drawings of a page, unchanged.
fn drawings(html: &str) -> Vec<&str> {
    html.match_indices("<svg class=\"chart\"")
        .map(|(from, _)| &html[from..from + html[from..].find("</svg>").unwrap() + 6])
        .collect()
}

#[test]
fn pages_are_well_formed() {
    for (name, results) in shapes() {
        let html = html(&results);
        let page = Html::parse_document(&html);
        assert!(page.errors.is_empty(), "{name}: {:?}", page.errors);
        for svg in drawings(&html) {
            roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{name}: {error}\n{svg}"));
        }
        for word in ["NaN", "inf ", "undefined", "none(", "None", "Some("] {
            assert!(!whole_text(&page).contains(word), "{name}: {word}");
        }
    }
}

/// Whether the one script of `page` is the one that sorts, which contains nothing of what was measured.
fn runs_only_our_script(page: &Html) -> bool {
    let ours = include_str!("../templates/report.js");
    let scripts: Vec<String> = select(page, "script").iter().map(|script| script.text().collect()).collect();
    scripts.len() == 1 && scripts[0].trim() == ours.trim()
}

#[test]
fn pages_fetch_nothing_and_run_only_their_own_script() {
    for (name, results) in shapes() {
        let html = html(&results);
        let page = Html::parse_document(&html);
        let fetching = "link, img, image, iframe, object, embed, audio, video, source, base, form, use, [src], \
                        [srcset], [style], [onerror], [onload], [onclick]";
        assert!(select(&page, fetching).is_empty(), "{name}");
        assert!(runs_only_our_script(&page), "{name}");
        assert!(!html.contains("<button"), "{name}: without scripts there is nothing to press");
        for element in select(&page, "*") {
            for (attribute, value) in element.value().attrs() {
                let is_link = attribute == "href";
                assert!(!is_link || value.starts_with('#') || value.starts_with("./"), "{name}: {attribute}={value}");
                assert!(
                    !attribute.starts_with("on") && !value.starts_with("javascript:"),
                    "{name}: {attribute}={value}"
                );
            }
        }
        let style = text(&select(&page, "style")[0]);
        assert!(!style.contains("url(") && !style.contains("@import") && !style.contains("//"), "{name}");
    }
}

#[test]
fn links_and_headings_are_in_order() {
    for (name, results) in shapes() {
        let html = html(&results);
        let page = Html::parse_document(&html);
        let ids: Vec<&str> = select(&page, "[id]").iter().filter_map(|element| element.value().id()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{name}: an id stands twice");
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
        raw_data: Some(vec!["javascript:alert(1)".into(), "//example.org/x".into(), "a b#c.json".into()]),
        ..Options::default()
    };
    let html = report::html_with(&[fixtures::ordinary()], &options).unwrap();
    let page = Html::parse_document(&html);
    assert!(runs_only_our_script(&page));
    for link in
        select(&page, "a").iter().filter_map(|link| link.value().attr("href")).filter(|href| !href.starts_with('#'))
    {
        assert!(link.starts_with("./") && !link.contains(':') && !link.contains(' ') && !link.contains('#'), "{link}");
    }
}

/// The variant that each class of colour means on `page`, by its key.
fn key(page: &Html) -> BTreeMap<String, String> {
    let entries = select(page, ".key > span:has(svg)");
    let entry = |entry: &ElementRef| {
        let swatch = entry.select(&Selector::parse("svg").unwrap()).next().unwrap();
        (text(entry), swatch.value().attr("class").unwrap().replace("swatch ", ""))
    };
    entries.iter().map(entry).collect()
}

/// The colour of a shape, if it is one of a variant.
fn ink<'a>(node: &roxmltree::Node<'a, '_>) -> Option<&'a str> {
    let classes = node.attribute("class")?;
    classes.split(' ').find(|class| class.starts_with("series-") || *class == "baseline")
}

/// Where a shape of a chart begins.
fn place(node: &roxmltree::Node) -> (f64, f64) {
    if let (Some(x), Some(y)) = (node.attribute("cx"), node.attribute("cy")) {
        return (x.parse().unwrap(), y.parse().unwrap());
    }
    let start = node.attribute("d").unwrap().trim_start_matches('M').split(['L', 'Z', 'M']).next().unwrap();
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
    for results in [vec![fixtures::ordinary()], vec![fixtures::large()], vec![fewer, other, fixtures::ordinary()]] {
        let html = html(&results);
        let page = Html::parse_document(&html);
        let key = key(&page);
        assert_eq!(key.values().collect::<BTreeSet<_>>().len(), key.len(), "two variants share a colour: {key:?}");
        let labels: BTreeSet<&str> =
            results.iter().flat_map(|run| &run.variants).map(|variant| variant.label.as_str()).collect();
        assert_eq!(key.keys().map(String::as_str).collect::<BTreeSet<_>>(), labels);
        // what is drawn at the height of a variant's name, and what leads to it, has its colour
        let mut checked = 0;
        for svg in drawings(&html) {
            let drawing = roxmltree::Document::parse(svg).unwrap();
            let nodes = || drawing.descendants();
            let number = |node: &roxmltree::Node, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
            let texts = || nodes().filter(|node| node.has_tag_name("text"));
            for name in texts().filter(|node| key.contains_key(node.text().unwrap_or(""))) {
                let beside =
                    nodes().filter(|node| ink(node).is_some()).filter(|node| match name.attribute("text-anchor") {
                        // a row of a chart over all workloads
                        Some("end") => (place(node).1 - number(&name, "y") + 4.0).abs() < 7.0,
                        // the end of a curve: the line that leads to it ends there
                        _ => {
                            let end = format!("L{} {}", number(&name, "x") - 4.0, number(&name, "y") - 4.0);
                            node.attribute("d").is_some_and(|d| d.ends_with(&end))
                        }
                    });
                for shape in beside {
                    assert_eq!(ink(&shape).unwrap(), key[name.text().unwrap()], "{} in {svg}", name.text().unwrap());
                    checked += 1;
                }
            }
        }
        assert!(checked > 50 * key.len(), "{checked} shapes");
        for swatch in select(&page, "th > svg") {
            let name = text(&ElementRef::wrap(swatch.parent().unwrap()).unwrap());
            assert_eq!(swatch.value().attr("class").unwrap().replace("swatch ", ""), key[&name], "{name}");
        }
    }
}

/// Verdicts, notices and links have no colour of their own, so none can be taken for a cipher's.
#[test]
fn all_that_is_no_variant_is_grey() {
    for sheet in [include_str!("../templates/report.css"), include_str!("../templates/chart.css")] {
        for (at, _) in
            sheet.match_indices('#').filter(|(at, _)| sheet[at + 1..].starts_with(|c: char| c.is_ascii_hexdigit()))
        {
            let digits: String = sheet[at + 1..].chars().take_while(char::is_ascii_hexdigit).collect();
            let parts: Vec<u32> = match digits.len() {
                3 => digits.chars().map(|digit| digit.to_digit(16).unwrap() * 17).collect(),
                _ => (0..3).map(|part| u32::from_str_radix(&digits[2 * part..2 * part + 2], 16).unwrap()).collect(),
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
            assert!(node.attribute("fill").is_none() && node.attribute("stroke").is_none(), "{node:?}");
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

/// Texts of more than 60 characters that stand more often than twice in `page`.
fn repeated(page: &Html, selector: &str) -> Vec<String> {
    let mut times = BTreeMap::<String, usize>::new();
    for element in select(page, selector) {
        *times.entry(text(&element)).or_default() += 1;
    }
    times.into_iter().filter(|(text, times)| text.chars().count() > 60 && *times > 2).map(|(text, _)| text).collect()
}

#[test]
fn nothing_is_explained_again_and_again() {
    let page = Html::parse_document(&html(&[fixtures::large()]));
    assert_eq!(repeated(&page, "p, li, dd, td, th, small, summary"), Vec::<String>::new());
    let footnotes = select(&page, ".footnotes li").iter().map(text).collect::<Vec<_>>().join("; ");
    assert!(
        footnotes.contains("CPU: the 8 cores were 90–97 % busy; the load generator itself took 3 %"),
        "{footnotes}"
    );
    // many runs are explained once for all
    let runs: Vec<Results> = (1..=21).map(|clients| at(fixtures::ordinary(), "rocksdb", clients)).collect();
    let page = Html::parse_document(&html(&runs));
    assert_eq!(repeated(&page, ".how, .caption, .legend, pre"), Vec::<String>::new());
    for title in ["Cost", "Latency", "Throughput and overhead"] {
        assert!(select(&page, "#reading + dl dt").iter().any(|term| text(term) == title), "{title}");
    }
}

#[test]
fn one_chart_shows_all_workloads() {
    let results = fixtures::ordinary();
    let html = html(std::slice::from_ref(&results));
    let page = Html::parse_document(&html);
    for id in ["cost", "latency", "time", "size"] {
        let section = ElementRef::wrap(select(&page, &format!("#run-1-{id}"))[0].parent().unwrap()).unwrap();
        assert_eq!(section.select(&Selector::parse("figure").unwrap()).count(), 1, "{id}");
    }
    // the same growth under every workload is one row a cipher
    let size = drawings(&html).into_iter().find(|svg| svg.contains("Size on disk against")).unwrap();
    assert!(size.contains("every workload: aes-256 +0.5 %, aria-256 +1.1 %\""), "{size}");
    assert!(!size.contains("batch-load"));
}

#[test]
fn conditions_stand_beside_the_answer() {
    let mut results = fixtures::ordinary();
    results.engine.settings.insert("cache (ycsb)".into(), "195 MB for 100 MB of data".into());
    for cell in results.cells.iter_mut().filter(|cell| cell.workload == "c") {
        for sample in &mut cell.samples {
            (sample.encrypted_bytes, sample.decrypted_bytes) = (0, 0);
        }
    }
    let page = Html::parse_document(&html(&[results]));
    let answer = text(&select(&page, "section.answer")[0]);
    for wanted in [
        "Cache ycsb: 195 MB for 100 MB of data",
        "Sync off",
        "Load 8 clients, as fast as possible",
        "medians of 9 slices in 3 rounds",
        "Through the cipher Cache hits",
        "geometric mean without c, where next to nothing met a cipher",
        "c 118 k ops/s ○ −0.5 % ± 1.3 no difference ● −2.3 % ± 1.6 costs 0 B 97.0 %",
    ] {
        assert!(answer.contains(wanted), "{wanted}: {answer}");
    }
}

#[test]
fn the_picture_stands_by_itself() {
    let picture = report::picture(&fixtures::ordinary()).unwrap();
    let drawing = roxmltree::Document::parse(&picture).unwrap();
    assert_eq!(drawing.root_element().tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
    for wanted in ["prefers-color-scheme: dark", "--series-1:#", ".chart .line", "workload batch-scan"] {
        assert!(picture.contains(wanted), "{wanted}");
    }
}

#[test]
fn the_picture_in_readme_is_the_one_drawn_today() {
    let drawn = report::picture(&fixtures::recorded().unwrap()).unwrap();
    let shown = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report.svg");
    let is_same = std::fs::read_to_string(shown).unwrap() == drawn;
    assert!(is_same, "redraw it: cargo run -p sealstone-bench --example readme_picture > docs/report.svg");
}

#[test]
fn machines_are_told_apart_by_label_or_host() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, host: &str| {
        let mut results = fixtures::ordinary();
        results.machine.host = host.into();
        let path = directory.path().join(name);
        comparison(results).write_json(&path).unwrap();
        path
    };
    let mut merged = merge::read(&[file("a.json", "laptop"), file("b.json", "server")]).unwrap();
    assert_eq!(
        merge::labels(&merged.runs()),
        ["Example CPU 9000, 8 cores (laptop)", "Example CPU 9000, 8 cores (server)"]
    );
    let page = whole_text(&Html::parse_document(&html(&merged.runs())));
    assert!(page.contains("Machine: what differs Run Host"), "{page}");
    let error = merged.label(&["one".into()]).unwrap_err().to_string();
    assert!(error.starts_with("1 label for 2 files\ngive one --label"), "{error}");
    merged.label(&[]).unwrap();
    merged.label(&["mine".into(), "yours".into()]).unwrap();
    assert_eq!(merge::labels(&merged.runs()), ["mine", "yours"]);
}

#[test]
fn charts_speak_to_those_who_cannot_see_them() {
    let results = fixtures::large();
    let html = html(std::slice::from_ref(&results));
    let page = Html::parse_document(&html);
    let charts = select(&page, "svg.chart");
    // wide and narrow: cost, cipher against cipher, latency, time, size; a curve for 16 operations, CPU for 9 workloads
    assert_eq!(charts.len(), 2 * 5 + 16 + 9);
    for chart in charts {
        let description = chart.value().attr("aria-label").unwrap();
        assert_eq!(chart.value().attr("role"), Some("img"));
        for variant in &results.variants[1..] {
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
            let sheet: Vec<f64> =
                drawing.root_element().attribute("viewBox").unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
            for node in drawing.descendants().filter(|node| node.has_tag_name("text")) {
                let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
                let width = node.text().unwrap_or("").trim().width() as f64 * 12.0 * 0.56;
                let left = match node.attribute("text-anchor").unwrap() {
                    "start" => number("x"),
                    "middle" => number("x") - width / 2.0,
                    _ => number("x") - width,
                };
                assert!(left >= -1.0 && left + width <= sheet[2] + 1.0, "{name}: {:?} leaves the sheet", node.text());
                assert!((0.0..=sheet[3]).contains(&number("y")), "{name}: {:?}", node.text());
            }
        }
    }
}

#[test]
fn tables_hold_every_figure() {
    let results = fixtures::ordinary();
    let page = Html::parse_document(&html(std::slice::from_ref(&results)));
    let all: Vec<String> = select(&page, "table").iter().map(text).collect();
    let [throughput, latency] = ["Throughput and overhead", "Latency"]
        .map(|title| text(&select(&page, &format!("table[aria-label='{title}']"))[0]));
    for cell in &results.cells {
        assert!(throughput.contains(&figures::rate(cell.throughput, cell.unit)));
        if let Some(overhead) = &cell.overhead {
            assert!(throughput.contains(&overhead.words), "{}", overhead.words);
            assert!(throughput.contains(&figures::interval(overhead)));
            assert!(all[0].contains(&figures::overhead(overhead)), "the answer lacks {}", overhead.words);
        }
        for (operation, percentiles) in &cell.latency {
            assert!(latency.contains(operation));
            for time_us in [percentiles.p50_us, percentiles.p95_us, percentiles.p99_us, percentiles.p999_us] {
                assert!(latency.contains(&figures::micros(time_us)));
            }
        }
    }
    // every row of a table has as many columns as its head
    for table in select(&page, "table") {
        let columns = table.select(&Selector::parse("thead th").unwrap()).count();
        for row in table.select(&Selector::parse("tbody tr, tfoot tr").unwrap()) {
            assert_eq!(row.child_elements().count(), columns, "{}", text(&row));
        }
    }
}

#[test]
fn the_answer_comes_first_and_an_early_end_before_it() {
    let results = fixtures::interrupted();
    let html = html(std::slice::from_ref(&results));
    let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("the page lacks {text}"));
    let order = [
        "ended early, after 51.0 s",
        &results.recommendation.answer,
        "only 1 of 3 rounds was measured",
        "Cost by workload",
        "run-1-cost\"",
        "run-1-latency\"",
        "run-1-tables\"",
        "setting\"",
        "6.1.0-18-amd64",
        "rerun\"",
        "results.json",
        "sealstone compare --out",
        "batch-scan",
    ];
    // the contents at the top name the sections too
    let html_after_contents = html.find("</nav>").unwrap();
    let mut before = 0;
    for mark in &order[..order.len() - 1] {
        let found = if mark.ends_with('"') {
            html[html_after_contents..].find(&format!("id=\"{mark}")).unwrap() + html_after_contents
        } else {
            place(mark)
        };
        assert!(found > before, "{mark} stands too early");
        before = found;
    }
    assert!(html.contains("Not measured: batch-scan."));
    assert!(html.contains("as few as 1 of 3 rounds"));
}

#[test]
fn what_affects_trust_is_reported() {
    let results = fixtures::undecided();
    let page = Html::parse_document(&html(std::slice::from_ref(&results)));
    let text = whole_text(&page);
    assert!(text.contains("was built with assertions: its baseline is slower, so overheads are understated"));
    assert!(text.contains("What could not be concluded what aes-256 costs: between 36 % and nothing"));
    assert!(text.contains("cannot conclude"));

    let large = whole_text(&Html::parse_document(&html(&[fixtures::large()])));
    assert!(large.contains("3des: 64-bit blocks; one key reaches its limit"));
    assert!(large.contains("not to be recommended"));
    assert!(large.contains("† below saturation"));
}

#[test]
fn a_target_rate_shows_both_clocks() {
    let mut results = fixtures::ordinary();
    results.plan.target = Some(Target::Rate(5000.0));
    for cell in &mut results.cells {
        cell.service = cell.latency.clone();
    }
    let text = whole_text(&Html::parse_document(&html(&[results])));
    assert!(text.contains("Latency Counted from the moment an operation was due."));
    assert!(text.contains("Service time Counted from the moment an operation began."));
    assert!(text.contains("at 5000 operations a second"));
}

#[test]
fn several_runs_are_shown_side_by_side() {
    let runs = fixtures::two_machines();
    let page = Html::parse_document(&html(&runs));
    let text_of = whole_text(&page);
    let across = text(&select(&page, "table[aria-label='Overhead of each run']")[0]);
    for run in &runs {
        assert!(across.contains(&run.machine.label));
        for cell in &run.cells {
            if let Some(overhead) = &cell.overhead {
                assert!(across.contains(&figures::overhead(overhead)));
            }
        }
    }
    assert!(
        text_of.contains("engine differs: rocksdb 7.8.3 (system library) on Example CPU 9000, 8 cores; rocksdb 9.0.1")
    );
    assert!(text_of.contains("setting workloads differs: a,b,c,e,oltp,batch-load,batch-scan on"));
    assert_eq!(select(&page, "article").len(), 2);
}

#[test]
fn results_that_cannot_be_shown_are_refused() {
    assert!(matches!(report::html(&[]), Err(ReportError::Empty)));

    let mut damaged = fixtures::ordinary();
    damaged.cells[0].variant = 9;
    let error = report::html(&[damaged]).unwrap_err().to_string();
    assert!(error.contains("workload a names variant 9 of 3"), "{error}");
}

/// A comparison of one group.
fn comparison(results: Results) -> Comparison {
    groups::comparison(&results.plan.clone(), vec![results])
}

#[test]
fn results_of_schema_1_still_give_the_same_answer() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/schema-1.json");
    let merged = merge::read(std::slice::from_ref(&file)).unwrap();
    let [run] = &merged.runs()[..] else { panic!("{} runs", merged.runs().len()) };
    assert_eq!(summary::screen(run, 80, false), include_str!("fixtures/schema-1.txt"));
    assert_eq!((run.plan.point().clients, run.variants[1].cipher()), (2, Some("aria-256")));
    // rewritten, they have today's schema, and are the same
    let directory = tempfile::tempdir().unwrap();
    let again = directory.path().join("results.json");
    merged.comparisons[0].write_json(&again).unwrap();
    let again = merge::read(&[again]).unwrap();
    assert_eq!(again.comparisons[0].schema, 2);
    assert_eq!(summary::screen(&again.runs()[0], 80, false), include_str!("fixtures/schema-1.txt"));
    let charts = |runs: &[Results]| report::html(runs).unwrap();
    assert_eq!(charts(&merged.runs()), charts(&again.runs()));
}

/// `results` at another point of the axes.
fn at(mut results: Results, store: &str, clients: usize) -> Results {
    (results.plan.store, results.plan.threads) = (vec![store.into()], vec![clients]);
    results.engine.name = store.into();
    for cell in &mut results.cells {
        cell.clients = clients;
        for sample in &mut cell.samples {
            sample.elapsed_s /= if store == "rocksdb" { 1.0 } else { 0.5 };
        }
    }
    results
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
    assert!(described("workload a by clients: curves of none, aes-256, aria-256"), "the baseline has a line, too");
    assert!(described("workload a by clients: curves of aes-256, aria-256"), "cost is against the baseline");
    // runs that differ in more than the axis have separate panels; a single value is not a line
    let mixed = [run(1), run(8), at(fixtures::ordinary(), "mongodb", 8)];
    let page = whole_text(&Html::parse_document(&html(&mixed)));
    assert!(page.contains("workload a, rocksdb") && !page.contains("workload a, mongodb"), "{page}");
}

#[test]
fn stores_are_compared_with_each_other_only_when_asked() {
    let runs = || vec![at(fixtures::ordinary(), "rocksdb", 8), at(fixtures::ordinary(), "mongodb", 8)];
    let plan = |against: Option<&str>| {
        let store = ["rocksdb", "mongodb"].map(String::from).to_vec();
        sealstone_bench::plan::Plan { store, against: against.map(String::from), ..runs()[0].plan.clone() }
    };
    assert!(groups::comparison(&plan(None), runs()).against.is_empty());
    let comparison = groups::comparison(&plan(Some("rocksdb")), runs());
    assert!(!comparison.against.is_empty());
    for one in &comparison.against {
        assert_eq!((one.point.store.as_str(), one.other.store.as_str()), ("mongodb", "rocksdb"));
        assert!((one.ratio - 0.5).abs() < 0.02 && one.low < one.ratio && one.ratio < one.high, "{one:?}");
    }
    let options = Options { against: comparison.against.clone(), ..Options::default() };
    let page = report::html_with(&comparison.runs(), &options).unwrap();
    assert!(page.contains("Stores against each other"));
    assert!(!report::html(&comparison.runs()).unwrap().contains("Stores against each other"));
    let screen = summary::screens(&comparison.runs(), &comparison.against, 80, false);
    assert!(screen.contains("mongodb as a multiple of rocksdb, in throughput"), "{screen}");
    assert!(screen.lines().any(|line| line.starts_with("mongodb: none") && line.contains("0.50")), "{screen}");
}

#[test]
fn a_store_that_does_not_encrypt_is_what_the_others_stand_against() {
    let mut plain = at(fixtures::ordinary(), "redis", 8);
    plain.variants.truncate(1);
    plain.cells.retain(|cell| cell.variant == 0);
    plain.between.clear();
    let mut runs = vec![plain];
    runs.extend((2..=8).map(|clients| at(fixtures::ordinary(), "rocksdb", clients)));
    let store = ["redis", "rocksdb"].map(String::from).to_vec();
    let plan = sealstone_bench::plan::Plan { store, against: Some("redis".into()), ..runs[1].plan.clone() };
    let comparison = groups::comparison(&plan, runs);
    let encrypted = comparison.against.iter().filter(|one| one.variant == "aes-256").collect::<Vec<_>>();
    assert!(!encrypted.is_empty() && encrypted.iter().all(|one| one.other_variant == "none"), "{encrypted:?}");
    let runs = comparison.runs();
    assert_eq!((runs[0].variants.len(), runs[1].variants.len()), (1, 3));
    let screen = summary::screens(&runs, &comparison.against, 80, false);
    assert!(screen.contains("- rocksdb, 3 clients: take "), "more than a screen each: {screen}");
    assert!(screen.contains("aes-256 to none"), "{screen}");
    let options = Options { against: comparison.against.clone(), ..Options::default() };
    assert!(report::html_with(&runs, &options).unwrap().contains("redis, none"));
    // another store has other settings; the same store with others is what readers must know
    assert_eq!(merge::differences(&runs), [] as [&str; 0]);
    let mut mixed = runs.clone();
    mixed[7].engine.version = "9.9.9".into();
    let found = merge::differences(&mixed);
    assert_eq!(found.len(), 1, "{found:?}");
    let six = "rocksdb, 2 clients and rocksdb, 3 clients and rocksdb, 4 clients and 3 more";
    assert!(found[0].contains(six) && found[0].contains("9.9.9 (system library) on rocksdb, 8 clients"), "{found:?}");
}

#[test]
fn result_files_are_read_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| -> PathBuf {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let first = directory.path().join("first.json");
    comparison(fixtures::ordinary()).write_json(&first).unwrap();
    let mut again = fixtures::ordinary();
    again.started_at = "2026-03-03T10:00:00Z".into();
    let second = directory.path().join("second.json");
    comparison(again).write_json(&second).unwrap();

    let runs = merge::read(&[first.clone(), second]).unwrap().runs();
    assert_eq!(runs.len(), 2);
    assert_eq!(
        merge::labels(&runs),
        [
            "Example CPU 9000, 8 cores, run 1 (2026-03-02 09:14 UTC)",
            "Example CPU 9000, 8 cores, run 2 (2026-03-03 10:00 UTC)"
        ]
    );
    assert!(merge::differences(&runs).is_empty());
    let mut sets = runs.clone();
    (sets[0].plan.nodes, sets[1].plan.nodes) = (vec![1], vec![3]);
    assert_eq!(merge::labels(&sets), ["1 member", "3 members"], "the number of members says which is which");
    // a store that does not report where time goes has no chart of it, rather than one of zeros
    let page = report::html(&sets).unwrap();
    assert!(page.contains("run-1-time\"") && page.contains("Time and bytes"));
    for cell in sets.iter_mut().flat_map(|run| &mut run.cells) {
        (cell.time.cipher_s, cell.time.io_s) = (0.0, 0.0);
    }
    let page = report::html(&sets).unwrap();
    assert!(!page.contains("run-1-time\"") && !page.contains("Time and bytes"));
    assert!(report::html(&runs).unwrap().contains("run 2 (2026-03-03 10:00 UTC)"));

    assert!(matches!(merge::read(&[]), Err(MergeError::Empty)));
    let refused = |path: PathBuf| merge::read(&[first.clone(), path]).unwrap_err().to_string();
    assert!(refused(directory.path().join("none.json")).starts_with("cannot read results"));
    assert!(refused(file("text.json", "hello")).contains("text.json is not a result set: expected value at line 1"));
    assert!(refused(file("other.json", "{\"a\":1}")).contains("missing field `schema`"));
    assert!(refused(file("cut.json", "{\"schema\":1,\"version\":\"0.1.0\"}")).contains("missing field"));
    let future = refused(file("future.json", "{\"schema\":7,\"version\":\"9.9\",\"shape\":{}}"));
    assert!(
        future.contains("have schema 7, this build reads schemas 1 and 2\nreport on them with Sealstone 9.9"),
        "{future}"
    );
}

/// `text` without colour.
fn uncoloured(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        plain += &rest[..at];
        rest = &rest[at + rest[at..].find('m').unwrap() + 1..];
    }
    plain + rest
}

#[test]
fn the_summary_fits_the_terminal() {
    for (name, results) in shapes() {
        for width in [40, 80, 132] {
            let screen = summary::screen(&results[0], width, false);
            for line in screen.lines() {
                assert!(line.width() <= width, "{name}: {} columns of {width}: {line}", line.width());
                assert!(!line.chars().any(char::is_control), "{name}: {line:?}");
            }
            assert!(screen.ends_with('\n') && !screen.contains("NaN"), "{name}");
            assert_eq!(uncoloured(&summary::screen(&results[0], width, true)), screen, "{name}");
        }
        let lines = summary::screen(&results[0], 80, false).lines().count();
        assert!(lines <= 40, "{name}: {lines} lines");
    }
}

#[test]
fn the_summary_and_the_report_agree() {
    for results in [fixtures::ordinary(), fixtures::interrupted(), fixtures::undecided(), fixtures::korean()] {
        let screen = summary::screen(&results, 200, false);
        let page = whole_text(&Html::parse_document(&html(std::slice::from_ref(&results))));
        assert!(screen.contains(&results.recommendation.answer) && page.contains(&results.recommendation.answer));
        let mut figures_seen = 0;
        for entry in screen.lines().flat_map(|line| line.split("  ")).map(|entry| entry.trim().trim_end_matches('*')) {
            if entry.starts_with(|first: char| first.is_ascii_digit() || "+−".contains(first)) {
                figures_seen += 1;
                assert!(page.contains(entry), "the report lacks {entry}");
            }
        }
        assert!(figures_seen >= 4, "{screen}");
    }
}

#[test]
fn the_summary_is_a_table_of_short_verdicts() {
    let screen = summary::screen(&fixtures::ordinary(), 80, false);
    let wanted = "\
workload               none        aes-256        aria-256
backend                   –         avx512          avx512
a               118 k ops/s  no difference    −5.8 % ± 1.6
b               118 k ops/s  no difference    −5.8 % ± 1.6
c               118 k ops/s  no difference    −2.3 % ± 1.6
e              4.20 k ops/s  no difference    −5.8 % ± 1.6
oltp           9.80 k ops/s  no difference   no difference
batch-load         180 MB/s  −2.4 % ± 1.3*  −11.6 % ± 1.6*
batch-scan        1.35 GB/s  −3.1 % ± 1.3*  −15.1 % ± 1.6*
all workloads                       −1.2 %          −5.8 %
";
    assert!(screen.contains(wanted), "{screen}");
    assert!(summary::screen(&fixtures::undecided(), 80, false).contains("unclear ± 31.0"));
}

#[test]
fn names_cannot_take_over_the_terminal() {
    let mut results = fixtures::ordinary();
    results.variants[1].label = "\u{1b}]0;owned\u{7}".into();
    results.recommendation.answer = "take \u{1b}[2J it\nnow".into();
    let screen = summary::screen(&results, 80, false);
    assert!(!screen.contains('\u{1b}') && !screen.contains('\u{7}'), "{screen:?}");
}

/// A row for each variant and for each place that was not measured, a column for each person, and the words of costs.
#[test]
fn places_people_and_costs_are_drawn_and_written() {
    let results = fixtures::places();
    let coverage = results.recommendation.coverage.as_ref().unwrap();
    assert_eq!(coverage.rows.len(), 6, "four variants, the wire and the server's functions");
    let page = Html::parse_document(&html(std::slice::from_ref(&results)));
    let drawing = &select(&page, "section.charts svg")[0];
    let label = drawing.value().attr("aria-label").unwrap();
    assert!(label.starts_with("Which variant protects from whom, and its cost; aes-256 rest: disk-thief protects, "));
    assert!(label.contains("wire: disk-thief leaves open") && label.contains("cost not measured"), "{label}");
    // everything that is asked about is bold, in the wide drawing and in the narrow one
    for svg in &select(&page, "section.charts")[0].select(&Selector::parse("svg").unwrap()).collect::<Vec<_>>() {
        let bold = svg.select(&Selector::parse("text.bold").unwrap()).map(|one| text(&one)).collect::<Vec<_>>();
        let taken = results.recommendation.take.clone().unwrap();
        assert_eq!(bold, ["disk-thief".to_owned(), "dba".into(), taken]);
    }
    let whole = whole_text(&page);
    for wanted in ["Who is kept out, at what cost", "the running server decrypts for every statement", "PCI DSS 4.0"] {
        assert!(whole.contains(wanted), "{wanted}");
    }
    for width in [40, 80, 120] {
        let screen = summary::screen(&results, width, false);
        for wanted in ["disk-thief", "dba", "protects"] {
            assert!(screen.contains(wanted), "{wanted} at {width}:\n{screen}");
        }
    }
    let markdown = report::markdown(&results, None);
    assert!(markdown.contains("| | disk-thief | backup-reader | network | dba | server-admin | cost |\n"));
    assert!(
        markdown.contains("| wire | leaves open | leaves open | protects | leaves open | leaves open | not measured |")
    );
}
