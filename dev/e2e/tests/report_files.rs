//! Files that `sealstone report` writes in place of the report: charts as SVG and PNG files, the
//! sheet for decision makers, and pages in Korean. Not here: how they look (`report_page`).

use std::fs;
use std::path::Path;

use sealstone_e2e::transcript::{run, sealstone};

/// Returns a directory with the results of a short comparison in `measured`.
fn measured(language: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let short = [
        "compare",
        "--workloads=a,c-cold",
        "--ciphers=none,aria-256",
        "--records=1000",
        "--operations=600",
        "--rounds=1",
        "--set=pairs=6",
        "--set=slice-ms=5",
        "--threads=2",
        "--quiet",
        "--out=measured",
        "--lang",
        language,
    ];
    run(&mut sealstone(dir.path(), &short)).done();
    dir
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn charts_are_files_of_their_own() {
    let dir = measured("en");
    let report = |flags: &[&str]| {
        let all = [&["report", "measured/results.json"], flags].concat();
        run(&mut sealstone(dir.path(), &all))
    };
    let printed = report(&["--svg", "charts"]).done();
    let count = names(&dir.path().join("charts")).len();
    assert_eq!(printed, format!("{count} charts in charts\n"));
    let cost = fs::read_to_string(dir.path().join("charts/cost.svg")).unwrap();
    for wanted in [
        "How much slower each workload is with encryption",
        "← slower",
        "faster →",
        "reads, cold cache (c-cold)",
        "prefers-color-scheme: dark",
    ] {
        assert!(cost.contains(wanted), "{wanted}");
    }
    assert!(!dir.path().join("report.html").exists(), "no page is written");
    // nothing is written over unless it is said
    let refused = report(&["--svg", "charts"]);
    assert_eq!(refused.code, Some(2));
    let said = &refused.stderr;
    assert!(said.contains("is there already") && said.contains("name another directory"), "{said}");
    report(&["--svg", "charts", "--replace"]).done();
    // a Korean chart states the same in Korean
    report(&["--svg", "ko", "--lang", "ko"]).done();
    let cost = fs::read_to_string(dir.path().join("ko/cost.svg")).unwrap();
    assert!(cost.contains("← 느림") && cost.contains("읽기, 콜드 캐시(c-cold)"), "{cost}");
}

/// The same as pixels; where no font is installed, the error states what to do.
#[test]
fn charts_are_pixels_where_there_is_a_font() {
    let dir = measured("en");
    let all = ["report", "measured/results.json", "--png", "pixels"];
    let ended = run(&mut sealstone(dir.path(), &all));
    if ended.stderr.contains("no font is on this machine") {
        assert_eq!(ended.code, Some(2));
        println!("SKIP: charts_are_pixels_where_there_is_a_font: no font is installed");
        return;
    }
    ended.done();
    let found = names(&dir.path().join("pixels"));
    assert!(found.contains(&"cost.png".to_owned()), "{found:?}");
    for name in found {
        let bytes = fs::read(dir.path().join("pixels").join(&name)).unwrap();
        assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.len() > 2_000, "{name}");
    }
}

#[test]
fn pages_are_in_the_language_that_was_named() {
    let dir = measured("ko");
    let page = fs::read_to_string(dir.path().join("measured/report.html")).unwrap();
    assert!(page.contains("<html lang=\"ko\">") && page.contains("암호화 비용: rocksdb"));
    let report = |flags: &[&str]| {
        let all = [&["report", "measured/results.json"], flags].concat();
        run(&mut sealstone(dir.path(), &all)).done()
    };
    let printed = report(&["--summary", "--lang", "ko"]);
    assert!(printed.ends_with("summary.html\n"), "{printed}");
    let sheet = fs::read_to_string(dir.path().join("summary.html")).unwrap();
    assert!(sheet.contains("rocksdb 암호화") && sheet.contains("검증필 암호모듈"), "{sheet}");
    // RocksDB is in the process of its client
    assert!(sheet.contains("해당 없음"), "{sheet}");
    report(&["--summary"]);
    let sheet = fs::read_to_string(dir.path().join("summary-2.html")).unwrap();
    assert!(sheet.contains("Encrypting rocksdb: protection, cost, effort"), "{sheet}");
}
