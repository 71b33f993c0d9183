//! Open loops on a store in memory: latency at a rate that is reached, a rate that is not, and the
//! search for the highest rate under a limit.

use std::path::Path;
use std::time::Duration;

use sealstone_bench::compare::groups;
use sealstone_bench::compare::merge;
use sealstone_bench::report::{self, summary};
use sealstone_bench::results::{Cell, Results, Verdict};
use sealstone_bench::study::plan::Plan;
use sealstone_bench::words::{Limit, Target};

use super::engine::{FakeEngine, Trouble};
use super::{on_a_quiet_machine, plan, run};

/// Returns a plan with requests at `rate` a second that takes some seconds.
fn at_rate(dir: &Path, rate: f64, ciphers: &[&str]) -> Plan {
    Plan { target: Some(Target::Rate(rate)), operations: 50_000, ..plan(dir, ciphers, &["c"]) }
}

/// Returns an engine whose reads take `delay` with the variants `slow`.
fn slow(slow: &[&'static str], delay: Duration) -> FakeEngine {
    FakeEngine {
        read_delay: slow.iter().map(|label| (*label, delay)).collect(),
        ..FakeEngine::default()
    }
}

/// Returns the conclusions from the files of `results`.
fn read_again(plan: &Plan, results: &Results) -> Results {
    let path = plan.out.join("results.json");
    let comparison = groups::comparison(plan, vec![results.clone()]);
    comparison.write_json(&path).unwrap();
    comparison.write_csv(&path.with_extension("csv")).unwrap();
    merge::read(&[path]).unwrap().runs().remove(0)
}

#[test]
fn a_rate_that_is_reached_is_answered_in_latency() {
    on_a_quiet_machine(a_rate_that_is_reached);
}

fn a_rate_that_is_reached() {
    let dir = tempfile::tempdir().unwrap();
    let plan = at_rate(dir.path(), 4_000.0, &["none", "aes-256"]);
    let results = run(&plan, &slow(&["aes-256"], Duration::from_micros(300))).unwrap();
    for cell in &results.cells {
        let (response, service) = (&cell.latency["read"], &cell.service["read"]);
        assert!(response.count == service.count && response.mean_us >= service.mean_us);
        assert!(response.interval_us(0.99).is_some(), "{response:?}");
        let found = cell.open_loop.as_ref().unwrap();
        assert_eq!(found.slices.len(), cell.samples.len());
        let requests: u64 = found.slices.iter().map(|slice| slice.count()).sum();
        assert_eq!(requests, cell.samples.iter().map(|sample| sample.operations).sum::<u64>());
        // twice what a 99th percentile needs
        assert!(requests >= 19_000, "{requests}");
        let at_rate = found.at_rate.as_ref().unwrap();
        assert!(at_rate.is_kept, "{at_rate:?}");
        assert!(cell.overhead.is_none());
    }
    let p50 = |cell: &Cell| {
        cell.open_loop.as_ref().unwrap().at_rate.as_ref().unwrap().p50.clone().unwrap()
    };
    let (base, sealed) = (p50(&results.cells[0]), p50(&results.cells[1]));
    assert!(
        sealed.us > 300.0 && sealed.low_us <= sealed.us && sealed.us <= sealed.high_us,
        "{sealed:?}"
    );
    let against = sealed.against.unwrap();
    assert!(
        (against.difference_us - (sealed.us - base.us)).abs() < 1e-6 && against.ratio.ratio > 1.0,
        "{against:?}"
    );
    let answer = &results.recommendation.answer;
    assert!(answer.starts_with("take aes-256: at 4.00 k ops/s under reads (c) "), "{answer}");
    assert!(!answer.contains('×') && answer.contains("p99"), "{answer}");

    // the files are enough to conclude the same again
    let again = read_again(&plan, &results);
    assert_eq!(&again.recommendation.answer, answer);
    let screen = summary::screen(&again, 80, false);
    for shown in ["c p50", "c p99", "p99 change", "CPU a request", "at 4.00 k ops/s"] {
        assert!(screen.contains(shown), "{shown} in\n{screen}");
    }
    let (page, markdown) =
        (report::html(std::slice::from_ref(&again)).unwrap(), report::markdown(&again, None));
    assert!(page.contains("At 4.00 k ops") && !page.contains("Throughput and overhead"));
    assert!(
        markdown.contains("| c p99 | ") && markdown.contains("| c p99 change | – | "),
        "{markdown}"
    );
}

#[test]
fn a_rate_that_is_not_reached_is_said_first() {
    on_a_quiet_machine(a_rate_that_is_not_reached);
}

fn a_rate_that_is_not_reached() {
    let dir = tempfile::tempdir().unwrap();
    // four clients with reads of two milliseconds do less than 2000 a second
    let plan = at_rate(dir.path(), 4_000.0, &["none", "aes-256"]);
    let plan = Plan { rounds: 1, ..plan };
    let results = run(&plan, &slow(&["aes-256"], Duration::from_millis(2))).unwrap();
    let found = results.cells[1].open_loop.as_ref().unwrap().at_rate.as_ref().unwrap();
    assert!(!found.is_kept && found.kept_per_s < 2_100.0 && found.kept_per_s > 300.0, "{found:?}");
    let answer = &results.recommendation.answer;
    assert!(
        answer.starts_with("aes-256 does not sustain 4.00 k ops/s under reads (c): reached 1."),
        "{answer}"
    );
    assert!(answer.ends_with(
        "; none of the ciphers measured sustains 4.00 k ops/s everywhere; a lower --target would"
    ));
    assert!(results.recommendation.take.is_none());
    assert!(summary::screen(&results, 80, false).contains("only 1."));
}

#[test]
fn the_highest_rate_under_a_limit_is_found_side_by_side() {
    on_a_quiet_machine(the_highest_rate);
}

fn the_highest_rate() {
    let dir = tempfile::tempdir().unwrap();
    let (target, p99) = (Some(Target::Max), Some(Limit { limit_us: 100_000.0 }));
    let plan = Plan { target, p99, rounds: 1, ..at_rate(dir.path(), 1.0, &["none", "aes-256"]) };
    // four clients: at most 8000 and 2000 reads a second; a store that is paused for tens of
    // milliseconds, as happens on a machine shared with others, stays within the limit
    let delay = [("none", Duration::from_micros(500)), ("aes-256", Duration::from_millis(2))];
    let results =
        run(&plan, &FakeEngine { read_delay: delay.into(), ..FakeEngine::default() }).unwrap();
    for (cell, most) in results.cells.iter().zip([8_000.0, 2_000.0]) {
        let recorded = cell.open_loop.as_ref().unwrap();
        assert_eq!(recorded.searches.len(), 6);
        let found = recorded.sustained.as_ref().unwrap();
        let rate = found.rate_per_s.unwrap();
        assert!(rate <= most * 1.02 && rate > most / 8.0, "{}", found.words);
        assert!(found.held_per_s.unwrap() < rate && found.held_p99.is_some(), "{}", found.words);
    }
    let overhead = results.cells[1].overhead.as_ref().unwrap();
    assert!(overhead.ratio < 0.8 && overhead.pairs == 6, "{overhead:?}");
    let answer = &results.recommendation.answer;
    let start = match overhead.verdict {
        Verdict::CannotConclude => "nothing to take yet: ",
        _ => "take aes-256: ",
    };
    let by =
        "by the rate sustained with a p99 of at most 100ms against no encryption, under reads (c)";
    assert!(answer.starts_with(&format!("{start}{by}")), "{answer}");
    let again = read_again(&plan, &results);
    assert_eq!(&again.recommendation.answer, answer);
    assert!(
        report::html(std::slice::from_ref(&again))
            .unwrap()
            .contains("Rate sustained with a p99 of at most 100ms")
    );
    assert!(
        summary::screen(&again, 80, false)
            .contains("rate sustained with a p99 of at most 100ms, in %")
    );
    assert!(report::markdown(&again, None).contains("sustained"));
}

#[test]
fn a_limit_that_no_rate_meets_and_a_stop_in_between() {
    on_a_quiet_machine(a_limit_that_no_rate_meets);
}

fn a_limit_that_no_rate_meets() {
    let dir = tempfile::tempdir().unwrap();
    let (target, p99) = (Some(Target::Max), Some(Limit { limit_us: 100.0 }));
    let plan = Plan { target, p99, rounds: 1, ..at_rate(dir.path(), 1.0, &["none", "aes-256"]) };
    let engine = slow(&["none", "aes-256"], Duration::from_millis(1));
    let results = run(&plan, &engine).unwrap();
    let answer = &results.recommendation.answer;
    assert_eq!(
        answer,
        "no variant with a cipher has a rate with a p99 of at most 100µs; nothing to recommend"
    );
    let found = results.cells[0].open_loop.as_ref().unwrap().sustained.as_ref().unwrap();
    assert_eq!(found.words, "the limit was not met even at 50.0 ops/s");
    assert!(summary::screen(&results, 80, false).contains("never met"));
    report::html(&[read_again(&plan, &results)]).unwrap();

    let trouble = Trouble { stop_at_read: Some(3_000), ..Trouble::default() };
    let stopped =
        run(&plan, &FakeEngine { trouble, ..slow(&["none", "aes-256"], Duration::from_millis(1)) });
    if let Ok(results) = stopped {
        assert!(results.interrupted);
        report::html(&[read_again(&plan, &results)]).unwrap();
    }
}
