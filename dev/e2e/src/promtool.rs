//! Prometheus' own checker of metrics and rules, `promtool`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the program: the one that `SEALSTONE_PROMTOOL` names, one on the path, or the one that
/// `sh dev/setup.sh promtool` fetched. Without one it prints that `test` is skipped.
#[must_use]
pub fn find(test: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let fetched = cache.map(|cache| cache.join("sealstone/prometheus/promtool"));
    let named = std::env::var_os("SEALSTONE_PROMTOOL").map(PathBuf::from);
    let all = [named, Some("promtool".into()), fetched];
    let works = |program: &PathBuf| {
        let version = Command::new(program).arg("--version").output();
        version.is_ok_and(|output| output.status.success())
    };
    let found = all.into_iter().flatten().find(works);
    if found.is_none() {
        println!("SKIP: {test}: no promtool; sh dev/setup.sh promtool fetches it");
    }
    found
}

/// Returns what the checker reports about `metrics`, if it finds fault.
///
/// # Panics
/// If it cannot be run.
#[must_use]
pub fn faults(promtool: &Path, metrics: &str) -> Option<String> {
    let mut child = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool");
    child.stdin.take().expect("piped").write_all(metrics.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("an end");
    let said = [output.stdout, output.stderr].concat();
    (!output.status.success()).then(|| String::from_utf8_lossy(&said).into_owned())
}

/// Returns the value of the sample of `metrics` that begins with `name` and has all of `labels`.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn sample(metrics: &str, name: &str, labels: &[&str]) -> f64 {
    let is_it = |line: &&str| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']))
            && labels.iter().all(|label| line.contains(label))
    };
    let line = metrics.lines().find(is_it);
    let line = line.unwrap_or_else(|| panic!("no {name} with {labels:?} in\n{metrics}"));
    line.rsplit(' ').next().expect("a value").parse().expect("a number")
}
