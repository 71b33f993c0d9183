//! The report in a browser: tables are sorted by a press on a column's head, and no page is wider
//! than a phone. Chromium runs the page as `sealstone report` wrote it, in a frame of a page that
//! presses and measures.

use std::path::Path;
use std::process::Command;

use sealstone_e2e::transcript::{run, sealstone};
use serde_json::{Value, json};

/// Script of the outer page, which runs once the report is loaded and reports what it saw as JSON.
const VISITOR: &str = r#"
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
  const page = frame.contentDocument;
  const table = page.querySelector("table[aria-label='Throughput and overhead']");
  const heads = [...table.tHead.rows[0].cells];
  const at = (name) => heads.findIndex((head) => head.textContent === name);
  const column = (name) => [...table.tBodies[0].rows].map((row) => row.cells[at(name)].dataset.sort ??
    row.cells[at(name)].textContent);
  const press = (name) => {
    heads[at(name)].querySelector("button").click();
    return [heads.map((head) => head.getAttribute("aria-sort")).filter((sort) => sort !== "none"), column(name)];
  };
  const seen = {
    before: column("Median"),
    up: press("Median"),
    down: press("Median"),
    words: press("Workload"),
    gaps: press("Change"),
    buttons: [...page.querySelectorAll("thead button")].length,
    heads: [...page.querySelectorAll("table")].filter((table) => table.tBodies[0].rows.length > 1)
      .reduce((sum, table) => sum + table.tHead.rows[0].cells.length, 0),
    beyond: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    scrolls: [...page.querySelectorAll(".scroll")].some((box) => box.scrollWidth > box.clientWidth),
  };
  document.querySelector("pre").textContent = JSON.stringify(seen);
});
frame.srcdoc = document.querySelector("template").content.textContent;
"#;

/// Returns the program, or why there is none.
fn chromium() -> Result<&'static str, String> {
    let runs = |name: &&str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(runs)
        .ok_or_else(|| "no chromium is installed; make test-report installs it".into())
}

/// Returns the visitor's observations of the report at `page`, in a frame `width` pixels wide.
fn visit(chromium: &str, page: &Path, width: u32) -> Value {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let report = escape(&std::fs::read_to_string(page).unwrap());
    let outer = format!(
        "<!doctype html><meta charset=utf-8><iframe \
         style='width:{width}px;height:900px;\
         border:0'></iframe><pre></pre><template>{report}</template><script>{VISITOR}</script>"
    );
    let path = page.with_file_name(format!("visit-{width}.html"));
    std::fs::write(&path, outer).unwrap();
    let profile = page.with_file_name("profile");
    let output = Command::new(chromium)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", path.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let seen = dom
        .split_once("<pre>")
        .and_then(|(_, rest)| rest.split_once("</pre>"))
        .map(|(seen, _)| seen);
    serde_json::from_str(
        &seen.unwrap_or("").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"),
    )
    .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn tables_are_sorted_and_fit_a_phone() {
    let chromium = match chromium() {
        Ok(chromium) => chromium,
        Err(reason) => return println!("SKIP: tables_are_sorted_and_fit_a_phone: {reason}"),
    };
    let dir = tempfile::tempdir().unwrap();
    let short = [
        "--workloads=a",
        "--ciphers=none,aria-256",
        "--records=1000",
        "--operations=600",
        "--rounds=1",
    ];
    let quick = ["--set=pairs=6", "--set=slice-ms=5", "--threads=2", "--quiet", "--out=measured"];
    run(&mut sealstone(dir.path(), &[&["compare"], &short[..], &quick].concat())).done();
    let measured = std::fs::read(dir.path().join("measured/results.json")).unwrap();
    let mut results: Value = serde_json::from_slice(&measured).unwrap();
    let group = &mut results["groups"][0];
    let cells = group["cells"].as_array().unwrap().clone();
    let more = [("b", 3.0), ("c", 2.0)].into_iter().flat_map(|(workload, factor)| {
        cells.iter().map(move |cell| {
            let mut cell = cell.clone();
            cell["workload"] = json!(workload);
            cell["throughput"] = json!(cell["throughput"].as_f64().unwrap() * factor);
            cell
        })
    });
    let more: Vec<Value> = more.collect();
    group["cells"].as_array_mut().unwrap().extend(more);
    group["workloads"] = json!(["a", "b", "c"]);
    results["plan"]["workloads"] = json!(["a", "b", "c"]);
    std::fs::write(dir.path().join("results.json"), results.to_string()).unwrap();
    run(&mut sealstone(dir.path(), &["report", "results.json"])).done();

    let page = dir.path().join("report.html");
    let seen = visit(chromium, &page, 1200);
    let numbers = |column: &Value| -> Vec<f64> {
        column
            .as_array()
            .unwrap()
            .iter()
            .map(|text| text.as_str().unwrap().parse().unwrap())
            .collect()
    };
    let before = numbers(&seen["before"]);
    let mut sorted = before.clone();
    sorted.sort_by(f64::total_cmp);
    assert_ne!(before, sorted, "the test needs something to sort");
    assert_eq!((&seen["up"][0], numbers(&seen["up"][1])), (&json!(["ascending"]), sorted.clone()));
    sorted.reverse();
    assert_eq!((&seen["down"][0], numbers(&seen["down"][1])), (&json!(["descending"]), sorted));
    assert_eq!(seen["words"], json!([["ascending"], ["a", "a", "b", "b", "c", "c"]]));
    // the baseline has no change: its dashes stay below
    let gaps = seen["gaps"][1].as_array().unwrap();
    assert!(
        gaps[..3].iter().all(|change| change != "–")
            && gaps[3..].iter().all(|change| change == "–"),
        "{gaps:?}"
    );
    assert!(seen["buttons"].as_u64() > Some(20) && seen["buttons"] == seen["heads"], "{seen}");

    for width in [390, 1200] {
        let seen = visit(chromium, &page, width);
        assert_eq!(seen["beyond"], 0, "the page can be scrolled sideways");
        assert!(
            width > 390 || seen["scrolls"] == true,
            "a table is wider than a phone, and scrolls by itself"
        );
    }
}
