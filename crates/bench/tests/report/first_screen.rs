//! The answer at the top of a page: a sentence, three figures and a chart that agree, each said
//! once. Not here: that they fit a screen, which a browser checks (`report_page` of the e2e tests).

use std::collections::BTreeMap;

use scraper::Html;
use sealstone_bench::compare::groups;
use sealstone_bench::results::{Results, Verdict};

use crate::{comparison, fixtures, html, judged, select, text};

#[test]
fn the_answer_is_three_figures_that_are_in_the_table_below() {
    let results = judged(fixtures::ordinary());
    let page = Html::parse_document(&html(std::slice::from_ref(&results)));
    let label = results.recommendation.take.as_ref().unwrap();
    let sentence = text(&select(&page, ".sentence")[0]);
    assert!(sentence.starts_with(&format!("Take {label}: ")), "{sentence}");
    let names: Vec<String> = select(&page, ".numbers dt").iter().map(text).collect();
    let values: Vec<String> = select(&page, ".numbers dd").iter().map(text).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    for (name, wanted) in names.iter().zip(["typical ", "worst ", "best "]) {
        assert!(name.starts_with(wanted), "{name}");
    }
    // each has its interval, and the sentence states the first
    assert!(values.iter().all(|value| value.contains("between ")), "{values:?}");
    let number = results.variants.iter().position(|variant| variant.label == *label).unwrap();
    let ratios = results.cells.iter().filter(|cell| cell.variant == number).filter_map(|cell| {
        let overhead = cell.overhead.as_ref()?;
        (overhead.verdict != Verdict::NotMet).then_some((cell.workload.as_str(), overhead.ratio))
    });
    let ratios: Vec<(&str, f64)> = ratios.collect();
    let worst = ratios.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let best = ratios.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert!(names[1].ends_with(&format!("({})", worst.0)), "{names:?} {worst:?}");
    assert!(names[2].ends_with(&format!("({})", best.0)), "{names:?} {best:?}");
    let first = values[0].split(" between").next().unwrap().trim();
    assert!(sentence.contains(first) || first == "no difference", "{sentence} {first}");
}

#[test]
fn a_workload_has_its_label_wherever_it_is_named() {
    let page = Html::parse_document(&html(&[judged(fixtures::ordinary())]));
    let labels = ["reads and updates (a)", "bulk load (batch-load)", "order entry (oltp)"];
    for place in ["figure.overview", "section.charts", "table", "section:has(#setting)"] {
        let words: String = select(&page, place).iter().map(text).collect::<Vec<_>>().join("; ");
        for label in labels {
            assert!(words.contains(label), "{label} in {place}");
        }
    }
    // a code alone is nowhere in a chart
    for drawn in select(&page, "svg text") {
        let words = text(&drawn);
        assert!(!["a", "batch-load", "oltp"].contains(&words.as_str()), "{words}");
        assert!(!words.contains("workload a"), "{words}");
    }
}

/// A row that met no cipher is grey, and has no mark.
#[test]
fn what_met_no_cipher_is_grey() {
    let mut results = fixtures::ordinary();
    for cell in results.cells.iter_mut().filter(|cell| cell.workload == "c") {
        for sample in &mut cell.samples {
            (sample.encrypted_bytes, sample.decrypted_bytes) = (0, 0);
        }
    }
    let page = Html::parse_document(&html(&[judged(results)]));
    let classes: Vec<&str> = select(&page, "figure.overview text")
        .iter()
        .filter(|drawn| text(drawn) == "met no cipher" || text(drawn) == "reads (c)")
        .map(|drawn| drawn.value().attr("class").unwrap())
        .collect();
    // wide and narrow: the name, and a line for each of two variants
    assert_eq!(classes, ["muted"; 6]);
}

#[test]
fn no_sentence_is_there_twice() {
    for results in [
        judged(fixtures::ordinary()),
        judged(fixtures::places()),
        judged(fixtures::undecided()),
        fixtures::recorded().unwrap(),
    ] {
        let page = Html::parse_document(&html(&[results]));
        let mut times = BTreeMap::<String, usize>::new();
        for element in select(&page, "p, li, dl:not(.reasons) dd, h1, h2, h3, h4, .notice > strong")
        {
            let words = text(&element);
            if words.chars().count() > 40 {
                *times.entry(words).or_default() += 1;
            }
        }
        let twice: Vec<_> = times.into_iter().filter(|(_, times)| *times > 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}

/// Without a variant to take, the answer states that and there are no figures of it.
#[test]
fn nothing_to_take_has_no_figures() {
    let none: Results = {
        let mut results = fixtures::ordinary();
        results.variants.truncate(1);
        results.cells.retain(|cell| cell.variant == 0);
        results.between.clear();
        let mut comparison = comparison(results);
        groups::judge_again(&mut comparison);
        comparison.runs().remove(0)
    };
    let page = Html::parse_document(&html(&[none]));
    assert_eq!(
        text(&select(&page, ".sentence")[0]),
        "Nothing to recommend: no cipher was measured."
    );
    assert!(select(&page, ".numbers, figure.overview").is_empty());
}
