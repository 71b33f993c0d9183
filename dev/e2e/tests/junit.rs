//! `--fail-if` for pipelines: the JUnit file of `--junit`, read as CI systems read it, for a cost
//! that grew, one that did not, and a question that stays open.

use std::fs;
use std::path::Path;

use roxmltree::{Document, Node};
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use serde_json::Value;

fn compare(dir: &Path, more: &[&str]) -> Transcript {
    let small = [
        "compare",
        "--records=500",
        "--threads=1",
        "--ciphers=none,aes-256",
        "--workloads=a,c-cold",
        "--operations=300",
        // two rounds would do, and their interval is so wide that one slow round in a hundred runs
        // hides a thousandfold change
        "--rounds=4",
        "--set=pairs=3",
        "--set=slice-ms=5",
        "--quiet",
    ];
    run(&mut sealstone(dir, &[&small[..], more].concat()))
}

/// Writes the results in `out/results.json` to `name`, as if sealed stores had been `factor` times
/// as fast then.
fn as_if(dir: &Path, name: &str, factor: f64) {
    let text = fs::read_to_string(dir.join("out/results.json")).unwrap();
    let mut old: Value = serde_json::from_str(&text).unwrap();
    let cells = old["groups"][0]["cells"].as_array_mut().unwrap();
    for cell in cells.iter_mut().filter(|cell| cell["variant"] == 1) {
        for sample in cell["samples"].as_array_mut().unwrap() {
            sample["elapsed_s"] = (sample["elapsed_s"].as_f64().unwrap() / factor).into();
        }
    }
    fs::write(dir.join(name), old.to_string()).unwrap();
}

fn cases<'a>(document: &'a Document<'a>) -> Vec<Node<'a, 'a>> {
    let root = document.root_element();
    assert!(root.has_tag_name("testsuites"));
    let suite = root.children().find(|one| one.has_tag_name("testsuite")).unwrap();
    let cases: Vec<Node> = suite.children().filter(|one| one.has_tag_name("testcase")).collect();
    let count = |name: &str| suite.attribute(name).unwrap().parse::<usize>().unwrap();
    let with = |element: &str| {
        let has = |case: &&Node| case.children().any(|one| one.has_tag_name(element));
        cases.iter().filter(has).count()
    };
    assert_eq!(count("tests"), cases.len());
    assert_eq!(
        [count("failures"), count("errors"), count("skipped")],
        ["failure", "error", "skipped"].map(with)
    );
    cases
}

#[test]
fn ci_gets_a_case_for_each_workload_and_variant() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    compare(at, &["--out=out"]).done();
    as_if(at, "fast.json", 1e6);
    as_if(at, "slow.json", 1e-6);
    let asked = |baseline: &str, limit: &str| {
        let _ = fs::remove_file(at.join("j.xml"));
        let transcript =
            compare(at, &["--baseline", baseline, "--fail-if", limit, "--junit", "j.xml"]);
        (transcript, fs::read_to_string(at.join("j.xml")).unwrap_or_default())
    };

    // a negative answer is written, too
    let (grown, text) = asked("fast.json", "5%");
    assert_eq!(grown.code, Some(1), "{}", grown.stderr);
    let document = Document::parse(&text).unwrap();
    let found = cases(&document);
    let names: Vec<&str> = found.iter().map(|case| case.attribute("name").unwrap()).collect();
    assert_eq!(names, ["a, aes-256", "c-cold, aes-256"]);
    for case in &found {
        assert!(case.attribute("classname").unwrap().starts_with("rocksdb, 1 member"));
        let failure = case.children().find(|one| one.has_tag_name("failure")).expect("a failure");
        let message = failure.attribute("message").unwrap();
        assert!(message.contains("more than the 5 % allowed: between "), "{message}");
        assert!(message.contains("95 % interval 0."), "{message}");
    }

    let (within, text) = asked("slow.json", "5%");
    assert_eq!(within.code, Some(0), "{}", within.stderr);
    let document = Document::parse(&text).unwrap();
    assert_eq!(cases(&document).len(), 2);
    assert!(!text.contains("<failure") && !text.contains("<skipped"), "{text}");

    // a limit so small that nothing is shown either way
    let (open, text) = asked("out/results.json", "0.001%");
    let document = Document::parse(&text).unwrap();
    let skipped = cases(&document).into_iter().filter(|case| {
        case.children().any(|one| {
            one.has_tag_name("skipped")
                && one.attribute("message").unwrap().starts_with("inconclusive: ")
        })
    });
    match open.code {
        Some(3) => assert!(skipped.count() > 0, "{text}"),
        code => assert!(matches!(code, Some(0 | 1)), "{code:?}: {}", open.stderr),
    }
}

#[test]
fn what_cannot_be_answered_or_written_is_said_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    compare(at, &["--junit", "j.xml"]).fails_with(
        "sealstone: cannot write j.xml: --junit has the answer to --fail-if, and no limit is \
         set\n  say what may not grow, such as: --baseline old/results.json --fail-if 5%\n",
    );
    assert!(!at.join("sealstone-results").exists(), "nothing was measured");
    compare(at, &["--out=out"]).done();
    let asked = ["--baseline=out/results.json", "--fail-if=5%", "--junit=nowhere/j.xml"];
    compare(at, &asked).fails_with(
        "sealstone: cannot make nowhere/j.xml: there is no directory nowhere\n  make it first, \
         with: mkdir -p nowhere\n",
    );
    // results without anything in common: the file reports that, as the command does
    let other = ["--baseline=out/results.json", "--fail-if=5%", "--junit=j.xml", "--records=501"];
    let small: Vec<&str> = other.to_vec();
    let stranger = run(&mut sealstone(
        at,
        &[
            &["compare", "--ciphers=none,aria-256", "--workloads=a", "--operations=200"][..],
            &["--threads=1", "--rounds=1", "--set=pairs=6", "--set=slice-ms=2", "--quiet"],
            &small,
        ]
        .concat(),
    ));
    assert_eq!(stranger.code, Some(2), "{}", stranger.stderr);
    let text = fs::read_to_string(at.join("j.xml")).unwrap();
    let document = Document::parse(&text).unwrap();
    let error = document.descendants().find(|one| one.has_tag_name("error")).unwrap();
    assert!(error.attribute("message").unwrap().contains("nothing to compare with"), "{text}");
}
