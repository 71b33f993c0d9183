//! The report in a browser: tables are sorted by a press on a column's head, no page is wider than
//! a phone, the answer is on the first screen, and the sheet for whoever decides is one sheet.
//! Chromium runs the page as `sealstone report` wrote it, in a frame of a page that presses and
//! measures, or prints it.

use std::path::Path;
use std::process::Command;

use sealstone_e2e::transcript::{run, sealstone};
use serde_json::{Value, json};

/// Script of the outer page, which runs once the report is loaded and reports what it saw as JSON.
const VISITOR: &str = r#"
const frame = document.querySelector("iframe");
frame.addEventListener("load", () => {
  const page = frame.contentDocument;
  const shown = (selector) => [...page.querySelectorAll(selector)]
    .filter((element) => element.getClientRects().length > 0);
  const seen = {
    beyond: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    scrolls: [...page.querySelectorAll(".scroll")].filter((box) => box.scrollWidth > box.clientWidth)
      .map((box) => box.getAttribute("aria-label")),
    first: Object.fromEntries([".sentence", ".numbers", "figure.overview svg"].map((selector) =>
      [selector, Math.max(...shown(selector).map((one) => one.getBoundingClientRect().bottom))])),
    charts: shown("figure.overview svg").length,
    cut: shown("svg text").map((one) => one.textContent).filter((text) => text.includes("…")),
    language: page.documentElement.lang,
    ...SORTING(page),
  };
  document.querySelector("pre").textContent = JSON.stringify(seen);
});
frame.srcdoc = document.querySelector("template").content.textContent;
"#;

/// Part of the script that sorts a table.
const SORTING: &str = r#"
const SORTING = (page) => {
  const table = page.querySelector("table[aria-label='Throughput and overhead']");
  if (!table) return {};
  const heads = [...table.tHead.rows[0].cells];
  const at = (name) => heads.findIndex((head) => head.textContent === name);
  const column = (name) => [...table.tBodies[0].rows].map((row) => row.cells[at(name)].dataset.sort ??
    row.cells[at(name)].textContent);
  const press = (name) => {
    heads[at(name)].querySelector("button").click();
    return [heads.map((head) => head.getAttribute("aria-sort")).filter((sort) => sort !== "none"), column(name)];
  };
  return {
    before: column("Median"),
    up: press("Median"),
    down: press("Median"),
    words: press("Workload"),
    gaps: press("Change"),
    buttons: [...page.querySelectorAll("thead button")].length,
    heads: [...page.querySelectorAll("table")].filter((table) => table.tBodies[0].rows.length > 1)
      .reduce((sum, table) => sum + table.tHead.rows[0].cells.length, 0),
  };
};
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

/// Returns the visitor's observations of the report at `page`, in a frame of `width` by `height`
/// pixels.
fn visit(chromium: &str, page: &Path, (width, height): (u32, u32)) -> Value {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let report = escape(&std::fs::read_to_string(page).unwrap());
    let outer = format!(
        "<!doctype html><meta charset=utf-8><iframe \
         style='width:{width}px;height:{height}px;\
         border:0'></iframe><pre></pre><template>{report}</template>\
         <script>{SORTING}{VISITOR}</script>"
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
    let dir = measured(&[("a", 1.0), ("b", 3.0), ("c", 2.0)]);
    run(&mut sealstone(dir.path(), &["report", "results.json"])).done();

    let page = dir.path().join("report.html");
    let seen = visit(chromium, &page, (1200, 900));
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
    let [a, b, c] = ["reads and updates (a)", "mostly reads (b)", "reads (c)"];
    assert_eq!(seen["words"], json!([["ascending"], [b, b, c, c, a, a]]));
    // the baseline has no change: its dashes stay below
    let gaps = seen["gaps"][1].as_array().unwrap();
    assert!(
        gaps[..3].iter().all(|change| change != "–")
            && gaps[3..].iter().all(|change| change == "–"),
        "{gaps:?}"
    );
    assert!(seen["buttons"].as_u64() > Some(20) && seen["buttons"] == seen["heads"], "{seen}");

    for width in [390, 1200] {
        let seen = visit(chromium, &page, (width, 900));
        assert_eq!(seen["beyond"], 0, "the page can be scrolled sideways");
        assert!(
            width > 390 || !seen["scrolls"].as_array().unwrap().is_empty(),
            "a table is wider than a phone, and scrolls by itself"
        );
    }
}

/// Returns a directory with the results of a short comparison, as if it had run `workloads`, each
/// so many times as fast as the first, and had cost a tenth and somewhat more under each.
fn measured(workloads: &[(&str, f64)]) -> tempfile::TempDir {
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
    let of_a = group["cells"].as_array().unwrap().clone();
    let mut cells = Vec::new();
    for (at, (workload, factor)) in workloads.iter().enumerate() {
        for cell in &of_a {
            let mut cell = cell.clone();
            cell["workload"] = json!(workload);
            cell["throughput"] = json!(cell["throughput"].as_f64().unwrap() * factor);
            let base = of_a[0]["samples"].as_array().unwrap();
            let is_sealed = of_a[0]["variant"] != cell["variant"];
            let samples = cell["samples"].as_array_mut().unwrap();
            for (slice, (sample, base)) in samples.iter_mut().zip(base).enumerate() {
                for figure in ["operations", "elapsed_s"] {
                    sample[figure] = base[figure].clone();
                }
                if is_sealed {
                    let longer = 1.1 + 0.04 * at as f64 + 0.002 * (slice % 5) as f64;
                    sample["elapsed_s"] = json!(base["elapsed_s"].as_f64().unwrap() * longer);
                }
            }
            cells.push(cell);
        }
    }
    group["cells"] = json!(cells);
    let names: Vec<&str> = workloads.iter().map(|(name, _)| *name).collect();
    group["workloads"] = json!(names);
    results["plan"]["workloads"] = json!(names);
    std::fs::write(dir.path().join("results.json"), results.to_string()).unwrap();
    dir
}

/// The six workloads of a usual run, one of which has the longest name.
const USUAL: [(&str, f64); 6] = [
    ("a", 1.0),
    ("c", 2.0),
    ("c-cold", 1.5),
    ("oltp-sync", 0.2),
    ("batch-load", 1.0),
    ("batch-scan", 1.0),
];

/// Sentence, figures and the whole first chart are seen without scrolling, on a wide screen and on
/// a phone, in both languages; nothing is cut.
#[test]
fn the_answer_is_on_the_first_screen() {
    let chromium = match chromium() {
        Ok(chromium) => chromium,
        Err(reason) => return println!("SKIP: the_answer_is_on_the_first_screen: {reason}"),
    };
    let dir = measured(&USUAL);
    for language in ["en", "ko"] {
        let page = dir.path().join(format!("{language}.html"));
        let out = page.display().to_string();
        run(&mut sealstone(
            dir.path(),
            &["report", "results.json", "--lang", language, "--out", &out],
        ))
        .done();
        for (width, height) in [(1280, 900), (390, 844)] {
            let seen = visit(chromium, &page, (width, height));
            assert_eq!(seen["language"], language);
            assert_eq!(seen["beyond"], 0, "{language}, {width}: the page scrolls sideways");
            assert_eq!(seen["charts"], 1, "{language}, {width}: one chart");
            for (what, bottom) in seen["first"].as_object().unwrap() {
                let bottom = bottom.as_f64().unwrap_or(f64::MAX);
                assert!(
                    bottom > 0.0 && bottom <= f64::from(height),
                    "{language}, {width}: {what} ends at {bottom}"
                );
            }
            assert!(width < 1280 || seen["cut"] == json!([]), "{language}: {}", seen["cut"]);
            assert!(
                width < 1280 || seen["scrolls"] == json!([]),
                "{language}: {}",
                seen["scrolls"]
            );
        }
    }
}

/// Returns the number of sheets of paper that `page` takes.
fn sheets(chromium: &str, page: &Path) -> usize {
    let pdf = page.with_extension("pdf");
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"])
        .arg(format!("--user-data-dir={}", page.with_file_name("profile").display()))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let bytes = std::fs::read(&pdf)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let text = String::from_utf8_lossy(&bytes);
    // objects of single pages; the list of them is of the type Pages
    text.match_indices("/Type /Page").filter(|(at, _)| !text[at + 11..].starts_with('s')).count()
}

#[test]
fn the_sheet_for_whoever_decides_is_one_sheet() {
    let chromium = match chromium() {
        Ok(chromium) => chromium,
        Err(reason) => {
            return println!("SKIP: the_sheet_for_whoever_decides_is_one_sheet: {reason}");
        }
    };
    let dir = measured(&USUAL);
    for language in ["en", "ko"] {
        let name = format!("sheet-{language}.html");
        let page = dir.path().join(&name);
        run(&mut sealstone(
            dir.path(),
            &["report", "results.json", "--summary", "--lang", language, "--out", &name],
        ))
        .done();
        assert_eq!(sheets(chromium, &page), 1, "{language}");
        for width in [390, 1280] {
            assert_eq!(visit(chromium, &page, (width, 900))["beyond"], 0, "{language}, {width}");
        }
    }
    // the count finds more than one where there is more
    run(&mut sealstone(dir.path(), &["report", "results.json"])).done();
    assert!(sheets(chromium, &dir.path().join("report.html")) > 2);
}
