//! Files of results, and files that a report refuses.

use std::path::PathBuf;

use sealstone_bench::compare::merge::{self, MergeError};
use sealstone_bench::report::{self, ReportError};

use crate::{comparison, fixtures};

#[test]
fn results_that_cannot_be_shown_are_refused() {
    assert!(matches!(report::html(&[]), Err(ReportError::Empty)));

    let mut damaged = fixtures::ordinary();
    damaged.cells[0].variant = 9;
    let error = report::html(&[damaged]).unwrap_err().to_string();
    assert!(error.contains("workload a names variant 9 of 3"), "{error}");
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
    assert_eq!(
        merge::labels(&sets),
        ["1 member", "3 members"],
        "the number of members says which is which"
    );
    // a store that does not report where time goes has no chart of it, rather than one of zeros
    let page = report::html(&sets).unwrap();
    assert!(page.contains("run-1-time\"") && page.contains("Time and bytes"));
    for cell in sets.iter_mut().flat_map(|run| &mut run.cells) {
        (cell.time.cipher_s, cell.time.io_s) = (0.0, 0.0);
    }
    let page = report::html(&sets).unwrap();
    assert!(!page.contains("run-1-time\"") && !page.contains("Time and bytes"));
    assert!(report::html(&runs).unwrap().contains("run 2 (2026-03-03 10:00 UTC)"));

    // the directory of a run stands for its results
    let run = directory.path().join("run");
    std::fs::create_dir(&run).unwrap();
    std::fs::copy(&first, run.join("results.json")).unwrap();
    let named = merge::read(std::slice::from_ref(&run)).unwrap();
    assert_eq!(named.sources, [run.join("results.json")]);
    assert!(merge::read(&[run.clone(), run.join("results.json")]).is_err());

    assert!(matches!(merge::read(&[]), Err(MergeError::Empty)));
    let refused = |path: PathBuf| merge::read(&[first.clone(), path]).unwrap_err().to_string();
    assert!(refused(directory.path().join("none.json")).starts_with("cannot read results"));
    assert!(
        refused(file("text.json", "hello"))
            .contains("text.json is not a result set: it is no JSON")
    );
    assert!(refused(file("other.json", "{\"a\":1}")).contains("missing field `schema`"));
    assert!(
        refused(file("cut.json", "{\"schema\":1,\"version\":\"0.1.0\"}")).contains("missing field")
    );
    // every two variants are compared, so few kilobytes would take hours
    let mut many = comparison(fixtures::ordinary());
    let one = many.variants[1].clone();
    many.variants.resize(1_001, one);
    let path = directory.path().join("many.json");
    many.write_json(&path).unwrap();
    assert!(refused(path).contains("1001 variants at 1 points, more than a comparison has"));
    let future = refused(file("future.json", "{\"schema\":7,\"version\":\"9.9\",\"shape\":{}}"));
    assert!(
        future.contains(
            "have schema 7, this build reads schema 1\nreport on them with Sealstone 9.9"
        ),
        "{future}"
    );
}
