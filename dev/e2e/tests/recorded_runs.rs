//! The recorded runs in `results/runs`: this version draws each of them, and their page states what
//! they answer.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sealstone_e2e::transcript::{run, sealstone};

/// Returns the folder of results.
fn results() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results")
}

/// Returns the names of the recorded runs.
fn recorded() -> Vec<String> {
    let entries = fs::read_dir(results().join("runs")).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string();
    let mut names: Vec<String> = entries.map(|entry| name(entry).unwrap()).collect();
    names.sort();
    assert!(names.len() >= 4, "{names:?}");
    names
}

#[test]
fn recorded_runs_answer_as_their_page_says() {
    let page = fs::read_to_string(results().join("runs.md")).unwrap();
    for name in recorded() {
        let at = results();
        let drawn = run(&mut sealstone(&at, &["report", &format!("runs/{name}"), "--markdown"]));
        let answers = drawn.done();
        let rows = page.lines().filter(|line| line.contains(&format!("](runs/{name})")));
        let row = rows.collect::<Vec<_>>().join("\n");
        assert!(!row.is_empty(), "{name} is not on the page");
        // the last column is the answer for each point
        let found: Vec<&str> = answers
            .lines()
            .filter_map(|line| line.strip_prefix("**")?.strip_suffix("**"))
            .collect();
        assert!(!found.is_empty(), "{answers}");
        for answer in found {
            assert!(row.contains(answer), "{name}: {answer}");
        }
    }
}

#[test]
fn charts_of_recorded_runs_are_drawn_again() {
    let to = tempfile::tempdir().unwrap();
    for name in recorded() {
        let charts = to.path().join(&name);
        let arguments = ["report", &format!("runs/{name}"), "--svg", charts.to_str().unwrap()];
        run(&mut sealstone(&results(), &arguments)).done();
        let drawn = fs::read_dir(&charts).unwrap().count();
        assert!(drawn >= 1, "{name}");
    }
}

/// Sentences that a run recorded in English are found by their English, so a changed one would stay
/// as it is in a page in Korean.
#[test]
fn warnings_of_recorded_runs_are_in_korean_too() {
    let to = tempfile::tempdir().unwrap();
    let (page, mut found) = (to.path().join("page.html"), 0);
    for name in recorded() {
        let json = run(Command::new("gzip").arg("-dc").arg(results().join("runs").join(&name)));
        let run_of: serde_json::Value = serde_json::from_str(&json.done()).unwrap();
        let groups = run_of["groups"].as_array().unwrap();
        let warnings = groups.iter().flat_map(|group| group["warnings"].as_array().unwrap());
        let texts: Vec<&str> = warnings.map(|text| text.as_str().unwrap()).collect();
        let to = page.to_str().unwrap();
        let arguments = ["report", &format!("runs/{name}"), "--lang", "ko", "--out", to];
        run(&mut sealstone(&results(), &arguments)).done();
        let drawn = fs::read_to_string(&page).unwrap();
        fs::remove_file(&page).unwrap();
        for text in texts {
            let is_there = drawn.contains(text.split(['\'', '&', '<', '>']).next_back().unwrap());
            assert!(!is_there, "{name}: {text}");
            found += 1;
        }
    }
    assert!(found > 0, "{found}");
}

#[test]
fn recorded_runs_are_as_the_schema_says() {
    let schema = fs::read(results().join("../docs/schema/results.schema.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_slice(&schema).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    for name in recorded() {
        let json = run(Command::new("gzip").arg("-dc").arg(results().join("runs").join(&name)));
        let found: serde_json::Value = serde_json::from_str(&json.done()).unwrap();
        let faults: Vec<String> = validator
            .iter_errors(&found)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{name}: {faults:#?}");
    }
}

/// The first answer that anybody reads is that of the recorded main job.
#[test]
fn the_answer_in_readme_is_that_of_the_recorded_main_job() {
    let main_job = ["report", "runs/main-job.json.gz", "--markdown"];
    let drawn = run(&mut sealstone(&results(), &main_job)).done();
    let answer = drawn.lines().find_map(|line| line.strip_prefix("**")?.strip_suffix("**"));
    let answer = answer.expect("an answer");
    for page in ["README.md", "README.ko.md", "docs/guide/compare.md"] {
        let text = fs::read_to_string(results().join("..").join(page)).unwrap();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(answer), "{page} has another answer than: {answer}");
    }
}

#[test]
fn the_pictures_in_readme_are_those_of_the_recorded_main_job() {
    for (language, picture) in [("en", "report.svg"), ("ko", "report.ko.svg")] {
        let to = tempfile::tempdir().unwrap();
        let to = to.path().join("charts");
        let to_words = ["--svg", to.to_str().unwrap(), "--lang", language];
        let arguments = [&["report", "runs/main-job.json.gz"][..], &to_words].concat();
        run(&mut sealstone(&results(), &arguments)).done();
        let [drawn, shown] = [to.join("cost.svg"), results().join("../docs").join(picture)]
            .map(|path| fs::read_to_string(path).unwrap());
        assert!(drawn == shown, "copy cost.svg to docs/{picture}, as docs/testing.md says");
    }
}
