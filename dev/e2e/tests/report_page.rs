//! The report in a browser: tables are sorted by a press on a column's head, no page is wider than
//! a phone, the answer is on the first screen, the sheet for decision makers is one sheet, and
//! paper keeps together what belongs together. Chromium runs the page as `sealstone report` wrote
//! it, in a frame of a page that presses and measures, or prints it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
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
    first: Object.fromEntries([".sentence", ".numbers", ".key.drawn", "figure.overview svg"].map((selector) =>
      [selector, Math.max(...shown(selector).map((one) => one.getBoundingClientRect().bottom))])),
    charts: shown("figure.overview svg").length,
    cut: shown("svg text").map((one) => one.textContent).filter((text) => text.includes("…")),
    outside: shown("svg.chart text").filter((one) => {
      const [text, sheet] = [one, one.ownerSVGElement].map((part) => part.getBoundingClientRect());
      return text.left < sheet.left - 0.5 || text.right > sheet.right + 0.5;
    }).map((one) => one.textContent),
    language: page.documentElement.lang,
    colours: [".answer", ".sentence", "svg.chart text"].map((selector) => {
      const element = page.querySelector(selector);
      if (!element) return null;
      const style = getComputedStyle(element);
      return selector === ".answer" ? style.backgroundColor : selector === ".sentence" ? style.color : style.fill;
    }),
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
fn visit(chromium: &str, page: &Path, size: (u32, u32)) -> Value {
    visit_with(chromium, page, size, "preferredColorScheme=1")
}

/// As [`visit`], with settings of the browser: a preferred colour scheme of 0 is dark.
fn visit_with(chromium: &str, page: &Path, (width, height): (u32, u32), settings: &str) -> Value {
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
        .arg(format!("--blink-settings={settings}"))
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

/// Returns the luminance of `rgb(…)`, 0 to 1, roughly.
fn luminance(colour: &Value) -> f64 {
    let text = colour.as_str().unwrap();
    let parts = text.trim_start_matches("rgba(").trim_start_matches("rgb(").trim_end_matches(')');
    let parts: Vec<f64> =
        parts.split(',').take(3).map(|part| part.trim().parse().unwrap()).collect();
    parts.iter().sum::<f64>() / 765.0
}

/// Text is dark on light on a light screen, and light on dark on a dark one; names in charts, too.
#[test]
fn the_page_follows_a_dark_screen() {
    let chromium = match chromium() {
        Ok(chromium) => chromium,
        Err(reason) => return println!("SKIP: the_page_follows_a_dark_screen: {reason}"),
    };
    let dir = measured(&USUAL);
    run(&mut sealstone(dir.path(), &["report", "results.json"])).done();
    let page = dir.path().join("report.html");
    for (scheme, is_dark) in [(0, true), (1, false)] {
        let settings = format!("preferredColorScheme={scheme}");
        let seen = visit_with(chromium, &page, (1280, 900), &settings);
        let [background, sentence, name] = [0, 1, 2].map(|at| luminance(&seen["colours"][at]));
        for text in [sentence, name] {
            let about = format!("dark: {is_dark}: {text} on {background}");
            assert_eq!(text > background, is_dark, "{about}");
            assert!((text - background).abs() > 0.4, "{about}");
        }
    }
}

/// Looks at the report of `results` in `dir`: its answer is on the first screen, and nothing is
/// cut.
///
/// - `may`: what of `cut` (names of variants in curves) and `scrolls` (tables, by themselves) a
///   wide screen has all the same, for many variants or for long names
fn first_screen(chromium: &str, dir: &Path, results: &str, may: &[&str]) {
    for language in ["en", "ko"] {
        let page = dir.join(format!("{language}.html"));
        let out = page.display().to_string();
        let arguments = ["report", results, "--lang", language, "--out", &out, "--replace"];
        run(&mut sealstone(dir, &arguments)).done();
        for (width, height) in [(1280, 900), (390, 844)] {
            let seen = visit(chromium, &page, (width, height));
            let about = format!("{results}, {language}, {width}");
            assert_eq!(seen["language"], language);
            assert_eq!(seen["beyond"], 0, "{about}: the page scrolls sideways");
            assert_eq!(seen["charts"], 1, "{about}: one chart");
            for (what, bottom) in seen["first"].as_object().unwrap() {
                let bottom = bottom.as_f64().unwrap_or(f64::MAX);
                assert!(
                    bottom > 0.0 && bottom <= f64::from(height),
                    "{about}: {what} ends at {bottom}"
                );
            }
            assert_eq!(seen["outside"], json!([]), "{about}");
            for what in ["cut", "scrolls"] {
                let is_allowed = width < 1280 || may.contains(&what);
                assert!(is_allowed || seen[what] == json!([]), "{about}: {what}: {}", seen[what]);
            }
        }
    }
}

/// Sentence, figures and the whole first chart with its colours are seen without scrolling, on a
/// wide screen and on a phone, in both languages; nothing is cut.
#[test]
fn the_answer_is_on_the_first_screen() {
    let chromium = match chromium() {
        Ok(chromium) => chromium,
        Err(reason) => return println!("SKIP: the_answer_is_on_the_first_screen: {reason}"),
    };
    let dir = measured(&USUAL);
    first_screen(chromium, dir.path(), "results.json", &[]);
    // runs as people made them: two ciphers, several places, modules
    let runs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/runs");
    for (name, may) in [
        ("main-job", &[][..]),
        ("main-job-module", &["cut", "scrolls"]),
        ("mariadb-tablespace", &["scrolls"]),
        ("mysql-own-volume", &["scrolls"]),
    ] {
        let results = runs.join(format!("{name}.json.gz")).display().to_string();
        first_screen(chromium, dir.path(), &results, may);
    }
}

/// Prints `page` and returns the path of the PDF.
fn printed(chromium: &str, page: &Path) -> PathBuf {
    let pdf = page.with_extension("pdf");
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"])
        .arg(format!("--user-data-dir={}", page.with_file_name("profile").display()))
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    assert!(pdf.is_file(), "{}", String::from_utf8_lossy(&output.stderr));
    pdf
}

/// Returns the number of sheets of paper that `page` takes.
fn sheets(chromium: &str, page: &Path) -> usize {
    let bytes = std::fs::read(printed(chromium, page)).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    // objects of single pages; the list of them is of the type Pages
    text.match_indices("/Type /Page").filter(|(at, _)| !text[at + 11..].starts_with('s')).count()
}

#[test]
fn the_sheet_for_decision_makers_is_one_sheet() {
    let chromium = match chromium() {
        Ok(chromium) => chromium,
        Err(reason) => {
            return println!("SKIP: the_sheet_for_decision_makers_is_one_sheet: {reason}");
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

/// Script that writes tiny words into a page, each with a number, by which the ends of its parts
/// are found on paper: `lead` and `next` of a heading and of what it is of, `chart` and `under` of
/// a drawing, `head`, `row` and `sum` of a table.
const MARKS: &str = r#"
addEventListener("load", () => {
  let count = 0;
  const tiny = (text) => {
    const mark = document.createElement("span");
    mark.style.fontSize = "1px";
    mark.textContent = text;
    return mark;
  };
  const paint = (chart, y, text) => {
    const mark = document.createElementNS("http://www.w3.org/2000/svg", "text");
    mark.style.fontSize = "1px";
    mark.setAttribute("x", 1);
    mark.setAttribute("y", y);
    mark.textContent = text;
    chart.append(mark);
  };
  const isShown = (element) => element.getClientRects().length > 0;
  // as the report itself does before it is printed
  for (const part of document.querySelectorAll("details")) part.open = true;
  for (const chart of [...document.querySelectorAll("svg.chart")].filter(isShown)) {
    paint(chart, 2, `zq${++count}chart`);
    paint(chart, chart.viewBox.baseVal.height - 2, `zq${count}under`);
  }
  // a heading is of the next text, of the first row of a table, or of a drawing down to its foot
  const leads = "h1, h2, h3, h4, .caption, figcaption, .charts .how, .charts .legend";
  const hasText = (element) => isShown(element) && !element.closest("thead, svg") &&
    [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const isNext = (element) => element.matches("tbody th, tbody td, svg.chart, " + leads) ||
    hasText(element);
  for (const lead of [...document.querySelectorAll(leads)].filter(isShown)) {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT);
    walker.currentNode = lead;
    let next = walker.nextNode();
    while (next && (lead.contains(next) || !isNext(next))) next = walker.nextNode();
    if (!next) continue;
    lead.append(tiny(`zq${++count}lead`));
    if (next.matches("svg")) paint(next, next.viewBox.baseVal.height - 4, `zq${count}next`);
    else next.prepend(tiny(`zq${count}next`));
  }
  for (const table of [...document.querySelectorAll("table")].filter(isShown)) {
    const head = table.tHead.rows[0].cells[0];
    (head.querySelector("button") ?? head).append(tiny(`zq${++count}head`));
    for (const row of table.tBodies[0].rows) row.cells[0].prepend(tiny(`zq${count}row`));
    table.tFoot?.rows[0].cells[0].append(tiny(`zq${count}sum`));
  }
});
"#;

/// Returns what pdftotext makes of `pdf` with `arguments`.
fn pdf_text(pdf: &Path, arguments: &[&str]) -> String {
    let output = Command::new("pdftotext").args(arguments).arg(pdf).arg("-").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the pages of `text` on which each mark is, by kind and number.
fn marks(text: &str) -> BTreeMap<(&'static str, usize), Vec<usize>> {
    const KINDS: [&str; 7] = ["lead", "next", "chart", "under", "head", "row", "sum"];
    let mut found: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (page, text) in text.split('\u{c}').enumerate() {
        let joined: String = text.split_whitespace().collect();
        for mark in joined.split("zq").skip(1) {
            let end = mark.find(|one: char| !one.is_ascii_digit()).unwrap_or(mark.len());
            let Ok(number) = mark[..end].parse() else { continue };
            let kind = KINDS.into_iter().find(|kind| mark[end..].starts_with(kind));
            if let Some(kind) = kind {
                found.entry((kind, number)).or_default().push(page + 1);
            }
        }
    }
    found
}

/// Returns what is apart on paper and belongs together: a heading at the foot of a page, a drawing
/// that is cut, a part of a table without its heads or with its sum before the end.
fn apart(text: &str) -> Vec<String> {
    let found = marks(text);
    let of = |kind, number| found.get(&(kind, number)).map_or(&[][..], Vec::as_slice);
    let foot = |page: usize| {
        let lines = text.split('\u{c}').nth(page - 1).unwrap_or_default().trim_end().lines();
        lines.rev().take(3).collect::<Vec<_>>().join(" / ")
    };
    let mut apart = Vec::new();
    for (&(kind, number), pages) in &found {
        let last = *pages.last().unwrap_or(&1);
        match kind {
            "lead" if of("next", number) != pages => apart.push(format!(
                "a heading on page {pages:?}, what it is of on page {:?}: {}",
                of("next", number),
                foot(last)
            )),
            "chart" if of("under", number) != pages => apart.push(format!(
                "a drawing from page {pages:?} to page {:?}: {}",
                of("under", number),
                foot(last)
            )),
            "row" if pages.iter().any(|page| !of("head", number).contains(page)) => {
                apart.push(format!("rows on pages {pages:?}, heads on {:?}", of("head", number)));
            }
            "sum" if *pages != [*of("row", number).last().unwrap_or(&0)] => {
                apart.push(format!("rows on pages {:?}, a sum on {pages:?}", of("row", number)));
            }
            _ => {}
        }
    }
    apart
}

/// Returns the share of each page of `boxes`, from its top, that has words.
fn filled(boxes: &str) -> Vec<f64> {
    let number = |text: &str| text.split('"').next().and_then(|text| text.parse::<f64>().ok());
    let page = |page: &str| {
        let height = page.split("height=\"").nth(1).and_then(number).unwrap_or(f64::MAX);
        let ends = page.split("yMax=\"").skip(1).filter_map(number);
        ends.fold(0.0, f64::max) / height
    };
    boxes.split("<page ").skip(1).map(page).collect()
}

#[test]
fn paper_keeps_together_what_belongs_together() {
    let needed = chromium().and_then(|chromium| {
        let version = Command::new("pdftotext").arg("-v").output();
        let missing = "no pdftotext is installed; make test-report installs it";
        version.map(|_| chromium).map_err(|_| missing.to_owned())
    });
    let chromium = match needed {
        Ok(chromium) => chromium,
        Err(reason) => {
            return println!("SKIP: paper_keeps_together_what_belongs_together: {reason}");
        }
    };
    let dir = measured(&USUAL);
    let text = std::fs::read_to_string(dir.path().join("results.json")).unwrap();
    let mut second: Value = serde_json::from_str(&text).unwrap();
    second["machine"]["label"] = json!("Another machine");
    std::fs::write(dir.path().join("second.json"), second.to_string()).unwrap();
    for (name, arguments) in [
        ("paper-en", &["results.json", "--lang", "en"][..]),
        ("paper-ko", &["results.json", "--lang", "ko"]),
        ("paper-two", &["results.json", "second.json"]),
    ] {
        let out = format!("{name}.html");
        run(&mut sealstone(dir.path(), &[&["report", "--out", &out], arguments].concat())).done();
        let page = dir.path().join(&out);
        let html = std::fs::read_to_string(&page).unwrap();
        let marked = html.replace("</body>", &format!("<script>{MARKS}</script></body>"));
        assert_ne!(html, marked);
        std::fs::write(&page, marked).unwrap();
        let pdf = printed(chromium, &page);

        let text = pdf_text(&pdf, &["-raw"]);
        let found = marks(&text);
        for (kind, fewest) in [("lead", 30), ("chart", 15), ("row", 8), ("sum", 1)] {
            let count = found.keys().filter(|(known, _)| *known == kind).count();
            assert!(count >= fewest, "{name}: {count} of {kind}");
        }
        let apart = apart(&text);
        assert!(apart.is_empty(), "{name}: {apart:#?}");
        let filled = filled(&pdf_text(&pdf, &["-bbox"]));
        let most = &filled[..filled.len() - 1];
        assert!(most.len() > 8, "{name}: {filled:?}");
        assert!(
            most.iter().all(|share| *share > 0.33),
            "{name}: a page is nearly empty: {filled:?}"
        );
    }
}

/// The check above finds what it looks for.
#[test]
fn what_is_apart_on_paper_is_found() {
    let text = "zq1lead zq2chart\u{c}zq1next zq2under zq3head zq3row zq4lead zq4next\u{c}zq3row";
    assert_eq!(apart(text).len(), 3, "{:?}", apart(text));
    assert_eq!(apart("zq3head zq3row\u{c}zq3head zq3row zq3sum"), [""; 0]);
    assert_eq!(apart("zq3head zq3row zq3sum\u{c}zq3head zq3row zq3sum").len(), 1);
    let boxes = "<page height=\"800\"><word yMax=\"200\"><word yMax=\"80\"><page height=\"8\">";
    assert_eq!(filled(boxes), [0.25, 0.0]);
}
