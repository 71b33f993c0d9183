//! The summary in a terminal: its width, its table, and names that cannot take it over.

use scraper::Html;
use sealstone_bench::report::summary;
use sealstone_bench::results::Interval;
use unicode_width::UnicodeWidthStr;

use crate::{fixtures, html, shapes, whole_text};

/// Returns `text` without colour.
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
                assert!(
                    line.width() <= width,
                    "{name}: {} columns of {width}: {line}",
                    line.width()
                );
                assert!(!line.chars().any(char::is_control), "{name}: {line:?}");
            }
            assert!(screen.ends_with('\n') && !screen.contains("NaN"), "{name}");
            assert_eq!(uncoloured(&summary::screen(&results[0], width, true)), screen, "{name}");
        }
        let lines = summary::screen(&results[0], 80, false).lines().count();
        // two of them report that the stores were loaded once
        assert!(lines <= 42, "{name}: {lines} lines");
    }
}

#[test]
fn the_summary_and_the_report_agree() {
    for results in
        [fixtures::ordinary(), fixtures::interrupted(), fixtures::undecided(), fixtures::korean()]
    {
        let screen = summary::screen(&results, 200, false);
        let page = whole_text(&Html::parse_document(&html(std::slice::from_ref(&results))));
        let answer = &results.recommendation.answer;
        assert!(screen.contains(answer));
        // the page states it in whole words, from the same figures
        let taken = results.recommendation.take.as_ref();
        assert!(page.contains(
            &taken.map_or_else(|| answer[1..].to_owned(), |label| format!("ake {label}: "))
        ));
        let mut figures_seen = 0;
        for entry in screen
            .lines()
            .flat_map(|line| line.split("  "))
            .map(|entry| entry.trim().trim_end_matches('*'))
        {
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
all workloads                 −1.2 % ± 1.0    −5.8 % ± 1.0
";
    assert!(screen.contains(wanted), "{screen}");
    assert!(summary::screen(&fixtures::undecided(), 80, false).contains("? ± 31.0"));
}

/// A word and the figure beside it agree: too few pairs show no interval, and a result that looks
/// clear but is not claimed explains why.
#[test]
fn what_is_unclear_shows_why() {
    let mut results = fixtures::undecided();
    for cell in &mut results.cells {
        let Some(overhead) = &mut cell.overhead else { continue };
        if cell.workload == "a" {
            (overhead.interval, overhead.pairs, overhead.ratio) = (None, 4, 0.984);
            overhead.words =
                "cannot conclude (fewer than 6 pairs of slices; more rounds would help)".into();
        } else {
            let interval = Some(Interval { low: 0.885, high: 0.917 });
            (overhead.interval, overhead.ratio) = (interval, 0.901);
            overhead.words =
                "cannot conclude (between 8.3 and 11.5 % slower; one such among 400 ratios can be \
                 chance; more rounds would help)"
                    .into();
        }
    }
    let screen = summary::screen(&results, 80, false);
    let row = |name: &str| {
        let line = screen.lines().find(|line| line.starts_with(&format!("{name}  "))).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(row("a").ends_with("? 4 pairs ? 4 pairs"), "{screen}");
    assert!(row("b").ends_with("−9.9 % ± 1.6 chance? −9.9 % ± 1.6 chance?"), "{screen}");
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains(
            "chance? alone it would be claimed, one such among so many ratios can be chance"
        ),
        "{words}"
    );
    let page = whole_text(&Html::parse_document(&html(std::slice::from_ref(&results))));
    assert!(
        page.contains("−1.6 %, 4 pairs") && !page.contains("−1.6 % ±"),
        "no interval of four pairs"
    );
    assert!(
        page.contains("−9.9 % ± 1.6")
            && page.contains("can be chance")
            && page.contains("−11.5 to −8.3 %")
    );
}

#[test]
fn names_cannot_take_over_the_terminal() {
    let mut results = fixtures::ordinary();
    results.variants[1].label = "\u{1b}]0;owned\u{7}".into();
    results.recommendation.answer = "take \u{1b}[2J it\nnow".into();
    let screen = summary::screen(&results, 80, false);
    assert!(!screen.contains('\u{1b}') && !screen.contains('\u{7}'), "{screen:?}");
}
