//! `xtask test`: formatting, lints, house rules, then every test; ends with `N passed, N failed, N skipped`.
//!
//! In CI (environment variable `CI` set) a skip that `.ci/expected-skips` does not list is a failure.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::tally::{Tally, expected};
use crate::tidy;

/// Runs everything; returns whether all of it passed.
pub(crate) fn run() -> Result<bool> {
    let root = tidy::root();
    let checks: [(&str, &[&str]); 3] = [
        ("formatting", &["fmt", "--all", "--check"]),
        ("lints", &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
        ("build", &["build", "--workspace", "--all-targets", "--locked"]),
    ];
    if !tidy::run()? {
        return Ok(stopped_at("tidy"));
    }
    for (what, words) in checks {
        println!("check: cargo {}", words.join(" "));
        if !cargo(&root, words).status().context("run cargo")?.success() {
            return Ok(stopped_at(what));
        }
    }
    let (tally, succeeded) = tests(&root)?;
    let allowed = expected(&std::fs::read_to_string(root.join(".ci/expected-skips")).unwrap_or_default());
    let mut unexpected = 0;
    if !tally.skips().is_empty() {
        println!("\nskipped (a test that printed SKIP counts as skipped, not as passed):");
    }
    for skip in tally.skips() {
        let known = allowed.contains(&skip.test);
        unexpected += usize::from(!known);
        println!("  {}: {}{}", skip.test, skip.reason, if known { "" } else { " [not in .ci/expected-skips]" });
    }
    let strict = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    if strict && unexpected > 0 {
        println!("{unexpected} skips were not expected: make them run, or list them in .ci/expected-skips");
    }
    // a test program that died without its summary line is a failure that no summary counted
    let failed = if !succeeded && tally.failed() == 0 { 1 } else { tally.failed() };
    println!("\n{} passed, {failed} failed, {} skipped", tally.passed(), tally.skipped());
    Ok(failed == 0 && tally.passed() > 0 && !(strict && unexpected > 0))
}

fn stopped_at(what: &str) -> bool {
    println!("\nstopped at: {what}; no test was run\n0 passed, 1 failed, 0 skipped");
    false
}

fn cargo(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(tidy::cargo());
    command.args(words).current_dir(root);
    // `cargo run` says these of xtask; some build scripts look at them, and would build everything anew after a build
    // by hand
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs the tests, echoing their output, and counts. Returns whether cargo was content, too.
fn tests(root: &Path) -> Result<(Tally, bool)> {
    let words = ["test", "--workspace", "--no-fail-fast", "--locked", "--", "--show-output"];
    println!("check: cargo {}", words.join(" "));
    let mut command = cargo(root, &words);
    // xtask is next to the `sealstone` that the build step made
    let beside = std::env::current_exe().context("where xtask lies")?.with_file_name("sealstone");
    let mut child = command.env("SEALSTONE_BIN", beside).stdout(Stdio::piped()).spawn().context("run cargo test")?;
    let mut tally = Tally::default();
    let stdout = child.stdout.take().expect("piped above");
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.context("read the output of cargo test")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        tally.line(&line);
    }
    Ok((tally, child.wait().context("wait for cargo test")?.success()))
}
