//! Whole comparisons on a store in memory: the order of the work, the end of a run, and the data
//! kept of it.

mod engine;
mod open_loop;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::{Event, FakeEngine, Trouble};
use sealstone_bench::compare::groups;
use sealstone_bench::compare::merge;
use sealstone_bench::compare::{self, CompareError};
use sealstone_bench::measure::{Observer, Phase, Progress};
use sealstone_bench::report::{self, summary};
use sealstone_bench::results::{Cell, Results, Sample, Verdict};
use sealstone_bench::study::Surroundings;
use sealstone_bench::study::plan::{Plan, Protections};
use sealstone_bench::study::{StudyError, StudyPoint};
use sealstone_bench::words::{Bottleneck, Target};
use serde_json::Value;

/// Returns a plan that takes about a second.
fn plan(dir: &Path, ciphers: &[&str], workloads: &[&str]) -> Plan {
    let list = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect();
    Plan {
        ciphers: list(ciphers),
        workloads: list(workloads),
        records: vec![1_000],
        operations: 2_000,
        threads: vec![4],
        rounds: 2,
        pairs: 8,
        slice_ms: 5,
        bytes: 200_000,
        out: dir.join("out"),
        ..Plan::default()
    }
}

fn run(plan: &Plan, engine: &FakeEngine) -> Result<Results, CompareError> {
    compare::run(&point(plan), engine, &(), &engine.shared.stop)
}

fn point(plan: &Plan) -> StudyPoint {
    resolved(plan).unwrap()
}

/// Resolves `plan`, which has one point.
fn resolved(plan: &Plan) -> Result<StudyPoint, StudyError> {
    let algorithms = plan.algorithms()?;
    let protections = Protections::of(&algorithms);
    StudyPoint::new(&engine::KIND, plan.clone(), &protections, Surroundings::default(), None)
}

/// Runs `test`, and again if it fails, three times at most: its expectations of times are met on a
/// machine that is idle for some seconds. A fault of the program shows every time.
fn on_a_quiet_machine(test: impl Fn() + std::panic::RefUnwindSafe) {
    for _ in 0..2 {
        if std::panic::catch_unwind(&test).is_ok() {
            return;
        }
    }
    test();
}

/// Files and directories below `dir`, itself not counted.
fn left_in(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn every_cell_has_whole_pairs_and_the_stores_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path(), &["none", "aes-256", "aria-256"], &["a", "e"]);
    let results = run(&plan, &FakeEngine::default()).unwrap();
    assert!(!results.interrupted);
    assert_eq!(
        results.variants.iter().map(|variant| variant.label.as_str()).collect::<Vec<_>>(),
        plan.ciphers
    );
    assert_eq!(results.cells.len(), 6);
    for cells in results.cells.chunks(3) {
        let places = |cell: usize| {
            cells[cell]
                .samples
                .iter()
                .map(|sample| (sample.round, sample.slice))
                .collect::<Vec<_>>()
        };
        assert!(places(0).len() >= plan.pairs);
        assert!(places(0).is_sorted(), "{:?}", places(0));
        assert!(places(0) == places(1) && places(0) == places(2));
        assert!(cells[0].overhead.is_none());
        for cell in &cells[1..] {
            assert_eq!(cell.overhead.as_ref().unwrap().pairs, cell.samples.len());
            // the same work was done on every variant; a scan's result depends on the order of
            // inserts
            let done = |cell: &Cell| {
                let bytes = |sample: &Sample| if cell.workload == "a" { sample.bytes } else { 0 };
                cell.samples
                    .iter()
                    .map(|sample| (sample.operations, bytes(sample)))
                    .collect::<Vec<_>>()
            };
            assert_eq!(done(cell), done(&cells[0]));
        }
        for cell in cells {
            assert_eq!((cell.clients, cell.disk_bytes), (4, 1_234));
            let counted: u64 = cell.latency.values().map(|latency| latency.count).sum();
            assert_eq!(counted, cell.samples.iter().map(|sample| sample.operations).sum::<u64>());
            assert!(cell.throughput > 0.0 && !cell.cpu.is_empty() && cell.service.is_empty());
            assert!(cell.generator_share.is_some(), "{}", cell.workload);
        }
    }
    assert_eq!(left_in(&plan.out), Vec::<PathBuf>::new());
}

/// Every load is an independent draw of the layout of files and memory, so every variant is loaded
/// again, the baseline included, and intervals are over loads.
#[test]
fn every_round_is_measured_on_stores_that_were_loaded_anew() {
    let dir = tempfile::tempdir().unwrap();
    let engine = FakeEngine::default();
    let plan = Plan { rounds: 4, pairs: 3, ..plan(dir.path(), &["none", "aes-256"], &["a", "d"]) };
    let results = run(&plan, &engine).unwrap();
    for label in ["none", "aes-256"] {
        let opened =
            engine.events().iter().filter(|event| **event == Event::Open(label.into())).count();
        assert_eq!(opened, 4, "{label}");
    }
    for cell in &results.cells {
        // both workloads run on one data set, and so on the same loads
        assert!(
            cell.samples.iter().all(|sample| sample.load == sample.round),
            "{:?}",
            cell.samples
        );
        assert_eq!(cell.samples.iter().map(|sample| sample.load).max(), Some(3));
    }
    for overhead in results.cells.iter().filter_map(|cell| cell.overhead.as_ref()) {
        assert_eq!(overhead.loads, 4, "{overhead:?}");
    }
    let screen = summary::screen(&results, 80, false);
    assert!(screen.contains("intervals are over 4 loads of each store"), "{screen}");

    // loaded once, the report states the limitation
    let engine = FakeEngine::default();
    let once = run(&Plan { load_every: 4, ..plan }, &engine).unwrap();
    assert_eq!(
        engine.events().iter().filter(|event| **event == Event::Open("none".into())).count(),
        1
    );
    assert!(once.cells.iter().flat_map(|cell| &cell.samples).all(|sample| sample.load == 0));
    for text in
        [summary::screen(&once, 80, false).replace('\n', " "), report::markdown(&once, None)]
    {
        assert!(
            text.contains("the stores were loaded once: intervals are of this one load"),
            "{text}"
        );
    }
}

#[test]
fn rounds_are_added_to_earlier_ones() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path(), &["none", "aes-256"], &["a"]);
    let first = run(&plan, &FakeEngine::default()).unwrap();
    let path = dir.path().join("results.json");
    groups::comparison(&plan, vec![first]).write_json(&path).unwrap();
    let first = merge::read(&[path]).unwrap().runs().remove(0);
    let engine = FakeEngine::default();
    let more = Plan { rounds: 3, ..plan };
    let both = compare::run_on(&point(&more), &first, &engine, &(), &engine.shared.stop).unwrap();
    assert_eq!((both.plan.rounds, both.interrupted), (5, false));
    assert!(both.started_at == first.started_at && both.elapsed_s > first.elapsed_s);
    for (cell, before) in both.cells.iter().zip(&first.cells) {
        assert_eq!(cell.samples[..before.samples.len()].len(), before.samples.len());
        let seen = |of: fn(&Sample) -> usize| {
            cell.samples.iter().map(of).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(seen(|sample| sample.round).into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(seen(|sample| sample.load).len(), 5);
        // every request is counted once, including earlier rounds
        let counted: u64 = cell.latency.values().map(|latency| latency.count).sum();
        assert_eq!(counted, cell.samples.iter().map(|sample| sample.operations).sum::<u64>());
    }
    assert_eq!(both.cells[1].overhead.as_ref().unwrap().loads, 5);
}

#[test]
fn rounds_go_on_until_intervals_are_narrow_or_the_time_is_up() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path(), &["none", "aes-256"], &["a"]);
    let until = Plan { until: Some(0.5), max_time: Some("5m".parse().unwrap()), ..plan.clone() };
    let results = run(&until, &FakeEngine::default()).unwrap();
    let overhead = results.cells[1].overhead.as_ref().unwrap();
    assert!(overhead.loads >= 6, "{overhead:?}");
    let interval = overhead.interval.unwrap();
    assert!((interval.high / interval.low).ln() <= 2.0 * 1.5_f64.ln(), "{interval:?}");
    assert!(
        !results.interrupted
            && results.plan.rounds == overhead.loads
            && results.plan.until.is_none()
    );
    // time ends it even where nothing is narrow, after whole rounds
    let timed = Plan { until: Some(0.001), max_time: Some("1s".parse().unwrap()), ..plan };
    let begin = Instant::now();
    let results = run(&timed, &FakeEngine::default()).unwrap();
    assert!(!results.interrupted && results.cells[0].samples.len() >= 8);
    println!("{} rounds in {:?}", results.plan.rounds, begin.elapsed());
}

#[test]
fn variants_take_turns_and_each_takes_every_place() {
    let dir = tempfile::tempdir().unwrap();
    let engine = FakeEngine::default();
    let plan = plan(dir.path(), &["none", "aes-256"], &["c"]);
    let results = run(&plan, &engine).unwrap();
    let quiet: Vec<String> = engine
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Quiesce(label) => Some(label),
            _ => None,
        })
        .collect();
    // the last are the measured slices: load and warm-up come before
    let slices = 2 * results.cells[0].samples.len();
    let measured = &quiet[quiet.len() - slices..];
    let mut first = 0;
    for block in measured.chunks(2) {
        assert_ne!(block[0], block[1]);
        first += usize::from(block[0] == "none");
    }
    assert!(
        first.abs_diff(slices / 4) <= 1,
        "the baseline was first in {first} of {} blocks",
        slices / 2
    );
}

#[test]
fn a_slow_store_costs_and_the_recommendation_follows() {
    on_a_quiet_machine(a_slow_store);
}

fn a_slow_store() {
    let dir = tempfile::tempdir().unwrap();
    let delay = [("none", 200), ("aes-256", 800), ("aria-256", 200)];
    let engine = FakeEngine {
        read_delay: delay.map(|(label, us)| (label, Duration::from_micros(us))).into(),
        ..FakeEngine::default()
    };
    // intervals are over loads, and two of them are no basis for a sentence
    let plan = plan(dir.path(), &["none", "aes-256", "aria-256"], &["c"]);
    let plan = Plan { operations: 100, rounds: 6, pairs: 4, ..plan };
    let results = run(&plan, &engine).unwrap();
    let overhead = results.cells[1].overhead.as_ref().unwrap();
    assert_eq!(overhead.verdict, Verdict::Costs, "{}", overhead.words);
    assert!((0.1..0.6).contains(&overhead.ratio), "{}", overhead.ratio);
    assert!(overhead.words.contains("times as long"), "{}", overhead.words);
    // sleeping stores keep no CPU busy, unless other programs do so
    let asleep = results.cells[1].saturation.by == Bottleneck::Engine;
    assert_eq!(overhead.words.ends_with("below saturation"), asleep, "{}", overhead.words);
    let warned = results.warnings.iter().any(|warning| {
        warning.starts_with(
            "CPUs were idle under c (bottleneck: a lock or queue of the engine): a \
             cost may be hidden",
        )
    });
    assert!(warned || !asleep, "{:?}", results.warnings);
    // where other programs keep the machine busy, even equal stores may not be found equal: then
    // aria-256 stays open
    let open = results.cells[2].overhead.as_ref().unwrap().verdict == Verdict::CannotConclude;
    let (take, start) =
        if open { (None, "nothing to take yet: ") } else { (Some("aria-256"), "take aria-256: ") };
    let advice = &results.recommendation;
    assert_eq!(advice.take.as_deref(), take, "{}", advice.answer);
    assert!(advice.answer.starts_with(start), "{}", advice.answer);
}

#[test]
fn stopping_keeps_whole_blocks_only() {
    let dir = tempfile::tempdir().unwrap();
    // a pass of 400 reads lasts at least 10 ms, so it is cut, and never joined: the warm-up takes
    // at most two passes on each store, and measuring at least four on each
    let plan =
        Plan { operations: 400, rounds: 4, ..plan(dir.path(), &["none", "aes-256"], &["c"]) };
    let delay = [("none", Duration::from_micros(100)), ("aes-256", Duration::from_micros(100))];
    let slow = |trouble| FakeEngine { read_delay: delay.into(), trouble, ..FakeEngine::default() };
    let whole = run(&plan, &slow(Trouble::default())).unwrap().cells[0].samples.len();
    let engine = slow(Trouble { stop_at_read: Some(2_400), ..Trouble::default() });
    let results = run(&plan, &engine).unwrap();
    assert!(results.interrupted);
    let samples: Vec<usize> = results.cells.iter().map(|cell| cell.samples.len()).collect();
    assert!(
        samples.len() == 2 && samples[0] == samples[1] && samples[0] < whole,
        "{samples:?} of {whole}"
    );
    for cell in &results.cells {
        let counted: u64 = cell.latency.values().map(|latency| latency.count).sum();
        assert_eq!(counted, cell.samples.iter().map(|sample| sample.operations).sum::<u64>());
    }
    assert!(results.warnings.iter().any(|warning| warning.contains("ended early")));
    assert_eq!(left_in(&plan.out), Vec::<PathBuf>::new());
}

#[test]
fn stopping_before_anything_was_measured_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path(), &["none", "aes-256"], &["a"]);
    let trouble = Trouble { stop_at_insert: Some(500), ..Trouble::default() };
    let engine = FakeEngine { trouble, ..FakeEngine::default() };
    let outcome = run(&plan, &engine);
    assert!(matches!(outcome, Err(CompareError::Stopped)), "{outcome:?}");
    // and the load ended there, instead of going on to the second store
    assert!(!engine.events().contains(&Event::Quiesce("aes-256".into())));
    assert_eq!(left_in(&plan.out), Vec::<PathBuf>::new());
}

#[test]
fn a_store_that_fails_ends_everything_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path(), &["none", "aes-256"], &["a", "c"]);
    let trouble = Trouble { fail_at_read: Some(9_000), ..Trouble::default() };
    let error =
        run(&plan, &FakeEngine { trouble, ..FakeEngine::default() }).unwrap_err().to_string();
    let named = ["none", "aes-256"].iter().any(|label| {
        error.ends_with(&format!("failed on {label}: page 7 of 000012.sst failed authentication"))
    });
    assert!(error.starts_with("workload ") && named, "{error}");
    assert_eq!(left_in(&plan.out), Vec::<PathBuf>::new());
}

#[test]
fn a_store_that_dies_leaves_what_was_measured_and_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    // as in the test above, it dies while slices are measured
    let plan =
        Plan { operations: 400, rounds: 4, ..plan(dir.path(), &["none", "aes-256"], &["c"]) };
    let plan = Plan { max_errors: 3, ..plan };
    let trouble = Trouble { fail_at_read: Some(2_400), stays_dead: true, ..Trouble::default() };
    let delay = [("none", Duration::from_micros(100)), ("aes-256", Duration::from_micros(100))];
    let error =
        run(&plan, &FakeEngine { trouble, read_delay: delay.into(), ..FakeEngine::default() })
            .unwrap_err();
    let CompareError::Unfinished { measured, source } = error else { panic!("{error}") };
    let words = source.to_string();
    assert!(words.contains(", one operation more than the 3 that may fail, failed on "), "{words}");
    assert!(words.ends_with(": page 7 of 000012.sst failed authentication"), "{words}");
    assert!(
        measured.interrupted && measured.failure.as_ref() == Some(&words),
        "{:?}",
        measured.failure
    );
    // three of them were let pass, and are in no figure
    assert_eq!(measured.cells.iter().flat_map(|cell| cell.failed.values()).sum::<u64>(), 3);
    assert!(
        measured.warnings[0].starts_with("operations failed, and are in no throughput"),
        "{:?}",
        measured.warnings
    );
    for pair in measured.cells.chunks(2) {
        assert!(!pair[0].samples.is_empty() && pair[0].samples.len() == pair[1].samples.len());
    }
    let is_withheld = |results: &Results| {
        results.recommendation.take.is_none()
            && results.recommendation.answer.starts_with("nothing is recommended: ")
    };
    assert!(is_withheld(&measured), "{}", measured.recommendation.answer);
    // nor is there an answer when the report is drawn again
    let json = dir.path().join("results.json");
    groups::comparison(&plan, vec![*measured]).write_json(&json).unwrap();
    let again = merge::read(&[json]).unwrap().runs();
    assert!(is_withheld(&again[0]) && again[0].failure.as_ref() == Some(&words));
    let page = report::html(&again).unwrap();
    assert!(
        page.contains("by an error: workload ") && page.contains("failed authentication"),
        "no error in the report"
    );
    assert_eq!(left_in(&plan.out), Vec::<PathBuf>::new());
}

/// Adds the keys of all objects in `value`, except of the plan and of objects whose keys are names.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    const MAPS: [&str; 7] =
        ["layers", "settings", "latency", "service", "failed", "histograms", "service_histograms"];
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                found.insert(key.clone());
                match inner {
                    _ if key == "plan" => {}
                    Value::Object(map) if MAPS.contains(&key.as_str()) => {
                        map.values().for_each(|inner| keys(inner, found));
                    }
                    inner => keys(inner, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn every_key_of_results_is_in_the_page_of_formats() {
    let dir = tempfile::tempdir().unwrap();
    let closed = plan(dir.path(), &["none", "aes-256", "aria-256"], &["a", "e"]);
    let fixed = Plan { target: Some(Target::Rate(2_000.0)), ..closed.clone() };
    let page = include_str!("../../../../docs/formats.md");
    let from = page.find("## 17. Results").expect("a section on results");
    let section = &page[from..page[from + 3..].find("\n## ").map_or(page.len(), |end| from + end)];
    let mut found = BTreeSet::new();
    for plan in [closed, fixed] {
        let results = run(&plan, &FakeEngine::default()).unwrap();
        let path = dir.path().join("results.json");
        groups::comparison(&plan, vec![results]).write_json(&path).unwrap();
        keys(&serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap(), &mut found);
    }
    assert!(
        ["schema", "layers", "cipher", "p99_us", "is_kept"].iter().all(|key| found.contains(*key))
    );
    found.extend(
        [
            Verdict::NoDifference,
            Verdict::Costs,
            Verdict::Gains,
            Verdict::AtMost,
            Verdict::CannotConclude,
            Verdict::NotMet,
        ]
        .map(|verdict| serde_json::to_value(verdict).unwrap().as_str().unwrap().to_owned()),
    );
    let missing: Vec<_> =
        found.iter().filter(|key| !section.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "not in docs/formats.md: {missing:?}");
}

#[test]
fn errors_within_the_limit_are_counted_and_end_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let trouble = Trouble { fail_each: Some(997), ..Trouble::default() };
    let engine = || FakeEngine { trouble, ..FakeEngine::default() };
    let plan = plan(dir.path(), &["none", "aes-256"], &["c"]);
    assert!(run(&plan, &engine()).unwrap_err().to_string().contains("failed on none: page 7"));
    let results = run(&Plan { max_errors: 1_000_000, ..plan }, &engine()).unwrap();
    assert!(!results.interrupted && results.failure.is_none());
    for cell in &results.cells {
        let failed = cell.failed["read"];
        let done: u64 = cell.samples.iter().map(|sample| sample.operations).sum();
        assert!(failed > 0 && cell.latency["read"].count == done, "{failed} of {done}");
    }
    let text = serde_json::to_value(&results.cells[0]).unwrap();
    assert_eq!(text["failed"]["read"], results.cells[0].failed["read"]);
    let page = report::html(&[results]).unwrap();
    assert!(page.contains("operations failed, and are in no throughput and no latency: "));
}

#[test]
fn a_load_starts_from_empty_and_a_cold_scan_from_cold() {
    let dir = tempfile::tempdir().unwrap();
    let engine = FakeEngine::default();
    let plan = plan(dir.path(), &["none", "aes-256"], &["batch-scan", "batch-load"]);
    let results = run(&plan, &engine).unwrap();
    let events = engine.events();
    let count = |event: &Event| events.iter().filter(|other| *other == event).count();
    for label in ["none", "aes-256"] {
        // once to warm up, and at least once a round
        assert!(count(&Event::Open(label.into())) > plan.rounds, "{events:?}");
        let cold = results
            .cells
            .iter()
            .filter(|cell| cell.workload == "batch-scan")
            .map(|cell| cell.samples.len())
            .max();
        assert!(count(&Event::DropCaches(label.into())) >= cold.unwrap());
    }
    // the cells are in the order of the plan, although the load has to run first
    assert_eq!(results.cells[0].workload, "batch-scan");
    for cell in &results.cells {
        assert!(
            cell.clients == 1 && cell.samples.iter().all(|sample| sample.bytes > 0),
            "{}",
            cell.workload
        );
    }
}

#[test]
fn oltp_runs_with_its_own_clients() {
    let dir = tempfile::tempdir().unwrap();
    let results =
        run(&plan(dir.path(), &["none", "none"], &["oltp"]), &FakeEngine::default()).unwrap();
    assert_eq!(results.variants[1].label, "none (2)");
    assert_eq!(results.cells[0].clients, 80);
    assert!(results.recommendation.take.is_none() && results.recommendation.ranking.is_empty());
}

#[test]
fn stores_are_kept_where_asked_and_nothing_there_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let keep = dir.path().join("kept");
    let plan = Plan { keep: Some(keep.clone()), ..plan(dir.path(), &["none", "aes-256"], &["c"]) };
    run(&plan, &FakeEngine::default()).unwrap();
    for label in ["none", "aes-256"] {
        assert!(keep.join("ycsb").join(label).join("data").is_file());
    }
    let error = run(&plan, &FakeEngine::default()).unwrap_err().to_string();
    assert!(error.contains("is not empty"), "{error}");
    assert!(keep.join("ycsb/none/data").is_file());
}

#[test]
fn progress_goes_from_nothing_to_all() {
    #[derive(Default)]
    struct Watcher(Mutex<Vec<Progress>>);
    impl Observer for Watcher {
        fn progress(&self, progress: &Progress) {
            self.0.lock().unwrap().push(progress.clone());
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let watcher = Watcher::default();
    let plan = plan(dir.path(), &["none", "aes-256"], &["a"]);
    compare::run(&point(&plan), &FakeEngine::default(), &watcher, &AtomicBool::new(false)).unwrap();
    let seen = watcher.0.into_inner().unwrap();
    for phase in [Phase::Load, Phase::WarmUp, Phase::Measure, Phase::Check] {
        assert!(seen.iter().any(|progress| progress.phase == phase), "{phase:?}");
    }
    assert!(seen.iter().all(|progress| progress.done <= progress.total && progress.left_s >= 0.0));
    assert!(seen.iter().all(|progress| (0.0..=1.0).contains(&progress.share)));
    assert!(seen.last().unwrap().share > 0.9, "{:?}", seen.last());
    // the time left counts warming up, four short slices on each variant, and less of it once the
    // first has ended; settling in on the stores of later rounds comes after that
    let before = seen.iter().take_while(|progress| progress.phase != Phase::Measure);
    let warm_up: Vec<f64> =
        before.filter(|at| at.phase == Phase::WarmUp).map(|at| at.left_s).collect();
    let of_one_s = warm_up[0] - warm_up.last().unwrap();
    assert!((of_one_s - 4e-3 * plan.slice_ms as f64).abs() < 1e-6, "{of_one_s} s of {warm_up:?}");
}

/// A slice does the same work on every variant, so that a slow one takes most of the time.
#[test]
fn the_time_left_is_that_of_slow_variants_too() {
    on_a_quiet_machine(|| {
        #[derive(Default)]
        struct Watcher(Mutex<Vec<(Instant, f64)>>);
        impl Observer for Watcher {
            fn progress(&self, progress: &Progress) {
                if progress.phase == Phase::Measure {
                    self.0.lock().unwrap().push((Instant::now(), progress.left_s));
                }
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let delay = [("none", 100), ("aes-256", 2_500)];
        let delay = delay.map(|(label, us)| (label, Duration::from_micros(us)));
        let engine = FakeEngine { read_delay: delay.into(), ..FakeEngine::default() };
        let watcher = Watcher::default();
        let plan =
            Plan { operations: 400, rounds: 1, ..plan(dir.path(), &["none", "aes-256"], &["c"]) };
        compare::run(&point(&plan), &engine, &watcher, &engine.shared.stop).unwrap();
        let seen = watcher.0.into_inner().unwrap();
        let (first, left_s) = seen[0];
        let took_s = seen.last().unwrap().0.duration_since(first).as_secs_f64();
        assert!(
            (0.5 * took_s..2.0 * took_s).contains(&left_s),
            "{left_s} s left, {took_s} s to the last slice"
        );
    });
}

/// As the connections of stores behind a link do, whose slices come after seconds in which others
/// ran.
#[test]
fn requests_after_a_pause_are_not_counted_before_the_store_has_its_pace() {
    let median_per_s = |lead_in| {
        let dir = tempfile::tempdir().unwrap();
        let waking = Duration::from_millis(20);
        let engine = FakeEngine { waking, lead_in, ..FakeEngine::default() };
        let results = run(&plan(dir.path(), &["none", "aes-256"], &["c"]), &engine).unwrap();
        let rate = |sample: &Sample| sample.operations as f64 / sample.elapsed_s;
        let mut rates: Vec<f64> =
            results.cells.iter().flat_map(|cell| cell.samples.iter().map(rate)).collect();
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    // a slice that begins with 20 ms of slow reads is little else
    let (with, without) = (median_per_s(Duration::from_millis(60)), median_per_s(Duration::ZERO));
    println!("{with} reads a second, {without} without a lead-in");
    assert!(with > 2.0 * without, "{with} reads a second, {without} without a lead-in");
}

#[test]
fn a_plan_that_cannot_be_is_refused_before_anything_is_touched() {
    let dir = tempfile::tempdir().unwrap();
    let engine = FakeEngine::default();
    let large = Plan { records: vec![1 << 39], ..plan(dir.path(), &["none"], &["a"]) };
    assert!(matches!(run(&large, &engine), Err(CompareError::Plan(_))));
    // names and numbers are refused where they are resolved
    for plan in [
        Plan { threads: vec![0], ..plan(dir.path(), &["none"], &["a"]) },
        plan(dir.path(), &["none", "aes-257"], &["a"]),
        plan(dir.path(), &["none"], &["z"]),
    ] {
        assert!(matches!(resolved(&plan), Err(StudyError::Plan(_))));
    }
    assert!(engine.events().is_empty() && !dir.path().join("out").exists());
}

/// Asserts equality except for the last digit of floating-point numbers, which reading JSON may
/// round.
fn assert_same(a: &Value, b: &Value) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            assert!(a.keys().eq(b.keys()));
            a.iter().for_each(|(key, value)| assert_same(value, &b[key]));
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len());
            a.iter().zip(b).for_each(|(a, b)| assert_same(a, b));
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-14 * a.abs(), "{a} is not {b}");
        }
        _ => assert_eq!(a, b),
    }
}

#[test]
fn results_survive_their_files() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan(dir.path(), &["none", "aes-256"], &["a", "c"]);
    let results = run(&plan, &FakeEngine::default()).unwrap();
    let (json, csv) = (dir.path().join("new/results.json"), dir.path().join("new/results.csv"));
    let comparison = groups::comparison(&plan, vec![results.clone()]);
    comparison.write_json(&json).unwrap();
    comparison.write_csv(&csv).unwrap();
    let read = merge::read(std::slice::from_ref(&json)).unwrap().comparisons.remove(0);
    assert_same(&serde_json::to_value(&read).unwrap(), &serde_json::to_value(&comparison).unwrap());

    let mut rows = csv::Reader::from_path(&csv).unwrap();
    let headers = rows.headers().unwrap().clone();
    let fields = serde_json::to_value(&results.cells[0].samples[0]).unwrap();
    for field in fields.as_object().unwrap().keys() {
        assert!(headers.iter().any(|header| header == field), "no column {field}");
    }
    let rows: Vec<csv::StringRecord> = rows.records().collect::<Result<_, _>>().unwrap();
    assert_eq!(rows.len(), results.cells.iter().map(|cell| cell.samples.len()).sum::<usize>());
    let column = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let first = &results.cells[0].samples[0];
    assert_eq!(&rows[0][column("variant")], "none");
    assert_eq!(rows[0][column("operations")].parse::<u64>().unwrap(), first.operations);
    assert_eq!(rows[0][column("elapsed_s")].parse::<f64>().unwrap(), first.elapsed_s);
    assert_eq!(rows[0][column("cache_misses")].parse::<u64>().unwrap(), first.cache_misses);
    // a file in the way is an error that names it
    let blocked = comparison.write_json(&json.join("x")).unwrap_err().to_string();
    assert!(blocked.contains("results.json"), "{blocked}");
}

#[test]
fn what_holds_a_store_back_is_found_and_named() {
    on_a_quiet_machine(a_store_held_back);
}

fn a_store_held_back() {
    let dir = tempfile::tempdir().unwrap();
    let run_with = |engine: FakeEngine, operations, slice_ms| {
        let plan = Plan { threads: Vec::new(), ..plan(dir.path(), &["none", "aes-256"], &["c"]) };
        run(&Plan { operations, slice_ms, ..plan }, &engine).unwrap()
    };
    let us = |us| Some(Duration::from_micros(us));
    // one read at a time, however many clients: two are enough to keep the lock taken
    let locked = run_with(FakeEngine { locked_read: us(500), ..FakeEngine::default() }, 400, 20);
    let cell = &locked.cells[0];
    // a machine that others keep busy is named first
    if cell.saturation.by != Bottleneck::Cpu {
        assert_eq!(cell.saturation.by, Bottleneck::Engine, "{:?}", cell.saturation);
        assert!(
            cell.saturation.peak && cell.saturation.reason.contains("more clients did no more"),
            "{cell:?}"
        );
        assert!(
            cell.saturation.reason.starts_with("a lock or queue of the engine: clients slept ")
        );
        assert!(
            !locked.warnings.iter().any(|warning| warning.starts_with("CPUs were idle")),
            "{:?}",
            locked.warnings
        );
    }
    let found = &locked.engine.settings["clients (c)"];
    assert!(found.starts_with(&format!("{}, found by search (", cell.clients)), "{found}");
    assert!(
        locked.cells.iter().all(|other| other.clients == cell.clients),
        "one number for all variants"
    );
    assert_eq!(locked.threads_found()["c"], cell.clients);
    let work = |cell: &Cell| {
        cell.samples.iter().map(|sample| (sample.operations, sample.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(work(&locked.cells[0]), work(&locked.cells[1]), "the same work after the search");
    // of short slices the idle moments before the first client works and after the last one would
    // be a tenth
    let busy = run_with(FakeEngine { working_read: us(200), ..FakeEngine::default() }, 1_600, 100);
    assert_eq!(busy.cells[0].saturation.by, Bottleneck::Cpu, "{:?}", busy.cells[0].saturation);
}

#[test]
fn workloads_under_a_setting_have_stores_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let engine = FakeEngine::default();
    let plan = plan(dir.path(), &["none", "aes-256"], &["e", "e-cold", "a-sync"]);
    let results = run(&plan, &engine).unwrap();
    let opened: Vec<_> =
        engine.events().into_iter().filter(|event| !matches!(event, Event::Quiesce(_))).collect();
    let of = |kind: fn(String) -> Event| {
        ["none", "aes-256"].map(|label| kind(label.to_owned())).to_vec()
    };
    let of_a_round = [of(Event::Open), of(Event::Open), of(Event::OpenSynced)].concat();
    assert_eq!(opened, vec![of_a_round; plan.rounds].concat());
    let conditions: Vec<_> =
        results.cells.iter().map(|cell| (&cell.workload[..], cell.conditions.unwrap())).collect();
    for (workload, conditions) in conditions {
        assert_eq!(conditions.synced, workload == "a-sync");
        let share = conditions.data_bytes as f64 / conditions.cache_bytes as f64;
        assert_eq!(share > 3.0, workload == "e-cold", "{workload}: {conditions:?}");
    }
    let text = serde_json::to_string(&results.cells).unwrap();
    let again: Vec<Cell> = serde_json::from_str(&text).unwrap();
    assert!(
        again.iter().zip(&results.cells).all(|(one, other)| one.conditions == other.conditions)
    );
}
