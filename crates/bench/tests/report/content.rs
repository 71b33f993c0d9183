//! Tests of the contents of a report, and of their order.

use std::collections::BTreeMap;

use scraper::{Html, Selector};
use sealstone_bench::compare::groups;
use sealstone_bench::compare::merge;
use sealstone_bench::conclude::figures;
use sealstone_bench::report::{self, Options, summary};
use sealstone_bench::results::{Conditions, Results};
use sealstone_bench::words::Target;

use crate::{at, comparison, fixtures, html, select, text, whole_text};

/// Returns texts of more than 60 characters that occur more than twice in `page`.
fn repeated(page: &Html, selector: &str) -> Vec<String> {
    let mut times = BTreeMap::<String, usize>::new();
    for element in select(page, selector) {
        *times.entry(text(&element)).or_default() += 1;
    }
    times
        .into_iter()
        .filter(|(text, times)| text.chars().count() > 60 && *times > 2)
        .map(|(text, _)| text)
        .collect()
}

#[test]
fn nothing_is_explained_again_and_again() {
    let page = Html::parse_document(&html(&[fixtures::large()]));
    assert_eq!(repeated(&page, "p, li, dd, td, th, small, summary"), Vec::<String>::new());
    let footnotes = select(&page, ".footnotes li").iter().map(text).collect::<Vec<_>>().join("; ");
    assert!(
        footnotes
            .contains("CPU: the 8 cores were 90–97 % busy; the load generator itself took 3 %"),
        "{footnotes}"
    );
    // many runs are explained once for all
    let runs: Vec<Results> =
        (1..=21).map(|clients| at(fixtures::ordinary(), "rocksdb", clients)).collect();
    let page = Html::parse_document(&html(&runs));
    assert_eq!(repeated(&page, ".how, .caption, .legend, pre"), Vec::<String>::new());
    let first = "How much slower each workload is with encryption";
    for title in [first, "Latency", "Throughput and overhead"] {
        assert!(
            select(&page, "#reading + dl dt").iter().any(|term| text(term) == title),
            "{title}"
        );
    }
}

#[test]
fn conditions_stand_at_the_end_of_the_answer() {
    let mut results = fixtures::ordinary();
    for cell in &mut results.cells {
        let cache = Conditions { cache_bytes: 195 << 20, ..Conditions::default() };
        cell.conditions = Some(Conditions { data_bytes: 100_000_000, ..cache });
    }
    for cell in results.cells.iter_mut().filter(|cell| cell.workload == "c") {
        for sample in &mut cell.samples {
            (sample.encrypted_bytes, sample.decrypted_bytes) = (0, 0);
        }
    }
    let page = Html::parse_document(&html(&[results]));
    let conditions = text(&select(&page, "section:has(#run-1-conditions)")[0]);
    for wanted in [
        "batch-scan: a cache that holds the records",
        "Sync off",
        "Load 8 clients, as fast as possible",
        "medians of 9 slices in 3 rounds",
    ] {
        assert!(conditions.contains(wanted), "{wanted}: {conditions}");
    }
    let answer = text(&select(&page, "section:has(#run-1-meaning)")[0]);
    for wanted in [
        "Through the cipher Cache hits",
        "geometric mean without reads (c), where next to nothing met a cipher",
        "reads (c) 118 k ops/s ○ −0.5 % ± 1.3 no difference ● −2.3 % ± 1.6 costs 0 B 97.0 %",
    ] {
        assert!(answer.contains(wanted), "{wanted}: {answer}");
    }
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
    assert!(error.starts_with("1 label for 2 files\ngive one label"), "{error}");
    merged.label(&[]).unwrap();
    merged.label(&["mine".into(), "yours".into()]).unwrap();
    assert_eq!(merge::labels(&merged.runs()), ["mine", "yours"]);
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
            assert!(
                all[0].contains(&figures::overhead(overhead)),
                "the answer lacks {}",
                overhead.words
            );
        }
        for (operation, percentiles) in &cell.latency {
            assert!(latency.contains(operation));
            for time_us in
                [percentiles.p50_us, percentiles.p95_us, percentiles.p99_us, percentiles.p999_us]
            {
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
    let label = results.recommendation.take.as_ref().unwrap();
    let sentence = format!("Take {label}: ");
    let order = [
        "ended early, after 51.0 s",
        &sentence,
        "class=\"numbers\"",
        "id=\"run-1-cost\"",
        "only 1 of 5 rounds was measured",
        "Cost by workload",
        "run-1-latency\"",
        "run-1-tables\"",
        "run-1-conditions\"",
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
        let found = if mark.ends_with('"') && !mark.contains('=') {
            html[html_after_contents..].find(&format!("id=\"{mark}")).unwrap() + html_after_contents
        } else {
            place(mark)
        };
        assert!(found > before, "{mark} comes too early");
        before = found;
    }
    assert!(html.contains("Not measured: full scan (batch-scan)."));
    assert!(html.contains("as few as 1 of 5 rounds"));
}

#[test]
fn what_affects_trust_is_reported() {
    let results = fixtures::undecided();
    let page = Html::parse_document(&html(std::slice::from_ref(&results)));
    let text = whole_text(&page);
    assert!(text.contains(
        "was built with assertions on: its baseline is slower than necessary, and overheads are \
         understated: where it was measured, AES-256 took 11.4 % more CPU time with assertions \
         (RocksDB 7.8.3) and 13.7 % more without (11.8.1)"
    ));
    assert!(
        text.contains("What could not be concluded what aes-256 costs: between 36 % and nothing")
    );
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
    assert!(text_of.contains(
        "engine differs: rocksdb 7.8.3 (system library) on Example CPU 9000, 8 cores; rocksdb 9.0.1"
    ));
    assert!(text_of.contains("setting workloads differs: a,b,c,e,oltp,batch-load,batch-scan on"));
    assert_eq!(select(&page, "article").len(), 2);
}

#[test]
fn stores_are_compared_with_each_other_only_when_asked() {
    let runs =
        || vec![at(fixtures::ordinary(), "rocksdb", 8), at(fixtures::ordinary(), "mongodb", 8)];
    let plan = |against: Option<&str>| {
        let store = ["rocksdb", "mongodb"].map(String::from).to_vec();
        sealstone_bench::study::plan::Plan {
            store,
            against: against.map(String::from),
            ..runs()[0].plan.clone()
        }
    };
    assert!(groups::comparison(&plan(None), runs()).against.is_empty());
    let comparison = groups::comparison(&plan(Some("rocksdb")), runs());
    assert!(!comparison.against.is_empty());
    for one in &comparison.against {
        assert_eq!((one.point.store.as_str(), one.other.store.as_str()), ("mongodb", "rocksdb"));
        assert!(
            (one.ratio - 0.5).abs() < 0.02 && one.low < one.ratio && one.ratio < one.high,
            "{one:?}"
        );
    }
    let options = Options { against: comparison.against.clone(), ..Options::default() };
    let page = report::html_with(&comparison.runs(), &options).unwrap();
    assert!(page.contains("Stores against each other"));
    assert!(!report::html(&comparison.runs()).unwrap().contains("Stores against each other"));
    let screen = summary::screens(&comparison.runs(), &comparison.against, 80, false);
    assert!(screen.contains("mongodb as a multiple of rocksdb, in throughput"), "{screen}");
    assert!(
        screen.lines().any(|line| line.starts_with("mongodb: none") && line.contains("0.50")),
        "{screen}"
    );
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
    let plan = sealstone_bench::study::plan::Plan {
        store,
        against: Some("redis".into()),
        ..runs[1].plan.clone()
    };
    let comparison = groups::comparison(&plan, runs);
    let encrypted =
        comparison.against.iter().filter(|one| one.variant == "aes-256").collect::<Vec<_>>();
    assert!(
        !encrypted.is_empty() && encrypted.iter().all(|one| one.other_variant == "none"),
        "{encrypted:?}"
    );
    let runs = comparison.runs();
    assert_eq!((runs[0].variants.len(), runs[1].variants.len()), (1, 3));
    let screen = summary::screens(&runs, &comparison.against, 80, false);
    assert!(screen.contains("- rocksdb, 3 clients: take "), "more than a screen each: {screen}");
    assert!(screen.contains("aes-256 to none"), "{screen}");
    let options = Options { against: comparison.against.clone(), ..Options::default() };
    assert!(report::html_with(&runs, &options).unwrap().contains("redis, none"));
    // another store has other settings; readers must see that the same store has other settings
    assert_eq!(merge::differences(&runs), [] as [&str; 0]);
    let mut mixed = runs.clone();
    mixed[7].engine.version = "9.9.9".into();
    let found = merge::differences(&mixed);
    assert_eq!(found.len(), 1, "{found:?}");
    let six = "rocksdb, 2 clients and rocksdb, 3 clients and rocksdb, 4 clients and 3 more";
    assert!(
        found[0].contains(six) && found[0].contains("9.9.9 (system library) on rocksdb, 8 clients"),
        "{found:?}"
    );
}

/// A row for each variant and for each place that was not measured, a column for each person, and
/// the words of costs.
#[test]
fn places_people_and_costs_are_drawn_and_written() {
    let results = fixtures::places();
    let coverage = results.recommendation.coverage.as_ref().unwrap();
    assert_eq!(coverage.rows.len(), 6, "four variants, the wire and the server's functions");
    let page = Html::parse_document(&html(std::slice::from_ref(&results)));
    let drawing = &select(&page, "section.charts svg")[0];
    let label = drawing.value().attr("aria-label").unwrap();
    assert!(label.starts_with(
        "Which variant protects from whom, and its cost; aes-256 rest: disk-thief protects, "
    ));
    assert!(
        label.contains("wire: disk-thief leaves open") && label.contains("cost not measured"),
        "{label}"
    );
    // every requested name is bold, in the wide and in the narrow drawing
    for svg in &select(&page, "section.charts")[0]
        .select(&Selector::parse("svg").unwrap())
        .collect::<Vec<_>>()
    {
        let bold = svg
            .select(&Selector::parse("text.bold").unwrap())
            .map(|one| text(&one))
            .collect::<Vec<_>>();
        let taken = results.recommendation.take.clone().unwrap();
        assert_eq!(bold, ["disk-thief".to_owned(), "dba".into(), taken]);
    }
    let whole = whole_text(&page);
    for wanted in [
        "Who is kept out, at what cost",
        "the running server decrypts for every statement",
        "PCI DSS 4.0",
    ] {
        assert!(whole.contains(wanted), "{wanted}");
    }
    for width in [40, 80, 120] {
        let screen = summary::screen(&results, width, false);
        for wanted in ["disk-thief", "dba", "protects"] {
            assert!(screen.contains(wanted), "{wanted} at {width}:\n{screen}");
        }
    }
    let markdown = report::markdown(&results, None);
    assert!(
        markdown
            .contains("| | disk-thief | backup-reader | network | dba | server-admin | cost |\n")
    );
    assert!(markdown.contains(
        "| wire | leaves open | leaves open | protects | leaves open | leaves open | not measured |"
    ));
}
