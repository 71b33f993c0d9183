//! `xtask check`: formatting, lints, house rules, build. `xtask test`: the same, then every test;
//! ends with what failed and `N passed, N failed, N skipped`. `xtask test NAME...`: the programs of
//! these names alone, with what they test already built.
//!
//! In CI (environment variable `CI` set) a skip that `.ci/expected-skips` does not list is a
//! failure.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::programs;
use crate::tally::{Tally, expected};
use crate::tidy;

/// Number of lines of a failed test's output that are shown at the end.
const REASON_LINES: usize = 20;

/// Checks the house rules, formatting, lints and links of the documentation, and builds all that
/// the tests need; returns whether all of it passed.
pub(crate) fn check() -> Result<bool> {
    let root = tidy::root();
    let checks: [(&str, &[&str]); 5] = [
        ("formatting", &["fmt", "--all", "--check"]),
        ("lints", &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
        // what `make compare` builds has fewer features than what the tests build
        (
            "the quick build",
            &[
                "clippy",
                "--package=sealstone-cli",
                "--no-default-features",
                "--locked",
                "--",
                "-D",
                "warnings",
            ],
        ),
        ("documentation", &["doc", "--workspace", "--no-deps", "--locked", "--quiet"]),
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
    Ok(true)
}

/// Runs everything, or the test programs `names` alone if there are any; returns whether all of it
/// passed.
pub(crate) fn run(names: &[&str]) -> Result<bool> {
    if names.is_empty() && !check()? {
        return Ok(false);
    }
    let root = tidy::root();
    let tally = tests(&root, names)?;
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let allowed =
        expected(&read(&root.join(".ci/expected-skips")), &read(Path::new("/proc/cpuinfo")));
    let mut unexpected = 0;
    if !tally.skips().is_empty() {
        println!("\nskipped (a test that printed SKIP counts as skipped, not as passed):");
    }
    for skip in tally.skips() {
        let known = allowed.contains(&skip.test);
        unexpected += usize::from(!known);
        println!(
            "  {}: {}{}",
            skip.test,
            skip.reason,
            if known { "" } else { " [not in .ci/expected-skips]" }
        );
    }
    let strict = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    if strict && unexpected > 0 {
        println!(
            "{unexpected} skips were not expected: make them run, or list them in \
             .ci/expected-skips"
        );
    }
    if !tally.failures().is_empty() {
        println!("\nfailed (all that it printed is further up, under the name of its program):");
    }
    for failure in tally.failures() {
        println!("  {}: {}", failure.program, failure.test);
        for line in failure.reason(REASON_LINES) {
            println!("    {line}");
        }
    }
    println!("\n{} passed, {} failed, {} skipped", tally.passed(), tally.failed(), tally.skipped());
    Ok(tally.failed() == 0 && tally.passed() > 0 && !(strict && unexpected > 0))
}

fn stopped_at(what: &str) -> bool {
    println!("\nstopped at: {what}; no test was run\n0 passed, 1 failed, 0 skipped");
    false
}

fn cargo(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(tidy::cargo());
    command.args(words).current_dir(root);
    // `cargo run` sets these for xtask; some build scripts read them, and would rebuild everything
    // after a build by hand
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        }) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs the tests, those of the programs `names` if there are any, printing the output of each
/// program as it ends, and counts.
fn tests(root: &Path, names: &[&str]) -> Result<Tally> {
    // xtask is next to the `sealstone` that the build step made
    let beside = std::env::current_exe().context("where xtask is")?.with_file_name("sealstone");
    let target =
        beside.parent().and_then(Path::parent).context("xtask is in cargo's target folder")?;
    let cargo = || {
        let mut command = cargo(root, &[]);
        command.env("SEALSTONE_BIN", &beside);
        command
    };
    println!("check: cargo test --workspace --no-run");
    let programs = programs::build(cargo(), names)?;
    println!("check: {} test programs", programs.len());
    let mut tally = Tally::default();
    programs::run(programs, &cargo, target, |done| {
        println!("\nprogram: {}, {:.1} s", done.name, done.took.as_secs_f64());
        tally.begin(&done.name);
        print!("{}", String::from_utf8_lossy(&done.output.stderr));
        let failed_before = tally.failed();
        for line in String::from_utf8_lossy(&done.output.stdout).lines() {
            if tally.line(line) {
                println!("{line}");
            }
        }
        if !done.output.status.success() && tally.failed() == failed_before {
            let how =
                format!("{} ended without saying which test failed: {}", done.name, done.ending());
            println!("{how}");
            let errors = String::from_utf8_lossy(&done.output.stderr);
            tally.died(errors.lines().map(str::to_owned).chain([how]).collect());
        }
    })?;
    Ok(tally)
}
