//! Counts tests from what libtest prints with `--show-output`.
//!
//! A test that cannot run here prints `SKIP: <test>: <reason>` and returns. libtest calls it
//! passed; here it counts as skipped, not as passed, so that passed + failed + skipped is the
//! number of tests.
//!
//! It also keeps what a failed test printed, so that the end of a long log lists the failures, and
//! finds lines without information: a passed test may catch panics, and their backtraces would hide
//! the one of a failure.

use std::collections::BTreeSet;
use std::path::Path;

/// A test that did not run, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Skip {
    pub(crate) test: String,
    pub(crate) reason: String,
}

/// A test that failed, and what it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// Package and target, such as `sealstone-e2e pages`.
    pub(crate) program: String,
    pub(crate) test: String,
    pub(crate) printed: Vec<String>,
}

impl Failure {
    /// Returns the lines that explain why: without backtraces, and the last `most` of them.
    pub(crate) fn reason(&self, most: usize) -> Vec<&str> {
        let mut in_backtrace = false;
        let mut lines: Vec<&str> = Vec::new();
        for line in &self.printed {
            in_backtrace =
                (in_backtrace || line == "stack backtrace:") && !line.starts_with(AFTER_PANIC);
            if !in_backtrace && !line.starts_with(AFTER_PANIC) && !line.trim().is_empty() {
                lines.push(line);
            }
        }
        lines.split_off(lines.len().saturating_sub(most))
    }
}

/// Beginning of the last line of a panic's message, after its backtrace or in place of it.
const AFTER_PANIC: &str = "note: ";

/// The counts so far. Feed it every line in order.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    program: String,
    libtest_passed: u64,
    libtest_failed: u64,
    libtest_ignored: u64,
    /// Sections (one a test) of the current test binary that held a SKIP line.
    sections_skipped: BTreeSet<String>,
    skipped_passes: u64,
    skipped_alone: u64,
    section: Option<String>,
    in_failures: bool,
    /// Within the message of a panic that a passed test caught.
    in_caught_panic: bool,
    skips: Vec<Skip>,
    failures: Vec<Failure>,
}

impl Tally {
    /// Names the test whose lines follow.
    pub(crate) fn begin(&mut self, program: &str) {
        self.program = program.to_owned();
    }

    /// Takes one line of output; returns whether it is informative: all lines are, except lines of
    /// panics that a passed test caught, and the names of passed tests the second time.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        let marks = self.marks(line);
        if marks || self.section.is_none() {
            self.in_caught_panic = false;
            return marks || self.in_failures || !line.starts_with("    ");
        } else if self.in_failures {
            if let Some(failure) = self.failures.last_mut() {
                failure.printed.push(line.to_owned());
            }
        } else if line.starts_with("thread '") && line.contains(" panicked at ") {
            self.in_caught_panic = true;
        } else if self.in_caught_panic && line.starts_with(AFTER_PANIC) {
            self.in_caught_panic = false;
            return false;
        }
        !self.in_caught_panic
    }

    /// Returns whether `line` is libtest's own, or a SKIP, and not just what a test printed.
    fn marks(&mut self, line: &str) -> bool {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.end_of_binary(counts);
        } else if line == "successes:" || line == "failures:" {
            (self.section, self.in_failures) = (None, line == "failures:");
        } else if let Some(name) =
            line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            self.section = Some(name.to_string());
            if self.in_failures {
                self.fail(name, Vec::new());
            }
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ignored"))
        {
            self.skips.push(Skip { test: name.0.to_string(), reason: "ignored".into() });
        } else if let Some((test, reason)) =
            line.strip_prefix("SKIP: ").and_then(|rest| rest.split_once(": "))
        {
            self.skip(Skip { test: test.trim().to_string(), reason: reason.trim().to_string() });
        } else {
            return false;
        }
        true
    }

    fn fail(&mut self, test: &str, printed: Vec<String>) {
        self.failures.push(Failure {
            program: self.program.clone(),
            test: test.to_owned(),
            printed,
        });
    }

    fn skip(&mut self, skip: Skip) {
        match &self.section {
            Some(_) if self.in_failures => {}
            Some(section) => {
                if self.sections_skipped.insert(section.clone()) {
                    self.skipped_passes += 1;
                }
            }
            None => self.skipped_alone += 1,
        }
        self.skips.push(skip);
    }

    fn end_of_binary(&mut self, counts: &str) {
        let count = |label: &str| {
            let part =
                counts.split([';', '.']).map(str::trim).find_map(|part| part.strip_suffix(label));
            part.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        self.libtest_passed += count(" passed");
        self.libtest_failed += count(" failed");
        self.libtest_ignored += count(" ignored");
        self.sections_skipped.clear();
        (self.section, self.in_failures) = (None, false);
    }

    /// Takes note of a program that died without its summary: one failed test, if not more.
    ///
    /// - `how`: in words, with its output
    pub(crate) fn died(&mut self, how: Vec<String>) {
        self.libtest_failed += 1;
        self.fail("which of its tests is not known", how);
        self.sections_skipped.clear();
        (self.section, self.in_failures) = (None, false);
    }

    /// Tests that ran and passed.
    pub(crate) fn passed(&self) -> u64 {
        self.libtest_passed.saturating_sub(self.skipped_passes)
    }

    /// Tests that failed.
    pub(crate) fn failed(&self) -> u64 {
        self.libtest_failed
    }

    /// Tests that did not run, or not all of them.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped_passes + self.skipped_alone + self.libtest_ignored
    }

    /// Returns the tests that failed and printed something, in order of appearance.
    pub(crate) fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Returns every SKIP line, in order of appearance.
    pub(crate) fn skips(&self) -> &[Skip] {
        &self.skips
    }
}

/// Reads the list of expected skips: one test a line; `#` begins a remark. A line
/// `NAME without FLAG` counts only if `cpuinfo` lists processors and none has this flag, so that a
/// test of instructions cannot be skipped where the machine has them; likewise `NAME without /PATH`
/// only if there is no such file. `NAME with FLAG` counts only if a processor has the flag.
///
/// - `cpuinfo`: the text of `/proc/cpuinfo`
pub(crate) fn expected(list: &str, cpuinfo: &str) -> BTreeSet<String> {
    let flags: BTreeSet<&str> = cpuinfo
        .lines()
        .filter_map(|line| line.strip_prefix("flags")?.split_once(':'))
        .flat_map(|(_, flags)| flags.split_whitespace())
        .collect();
    let lacks = |what: &str| match what.starts_with('/') {
        true => !Path::new(what).exists(),
        false => !flags.is_empty() && !flags.contains(what),
    };
    let lines = list.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    let names = lines.filter_map(|line| {
        if let Some((name, what)) = line.split_once(" without ") {
            return lacks(what.trim()).then_some(name.trim());
        }
        match line.split_once(" with ") {
            Some((name, flag)) => flags.contains(flag.trim()).then_some(name.trim()),
            None => (!line.is_empty()).then_some(line),
        }
    });
    names.map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 4 tests
test a ... ok
test b ... ok
test c ... FAILED
test d ... ignored, slow

successes:

---- a stdout ----
SKIP: a: no such instruction
SKIP: a: none of those either
---- b stdout ----
all well


successes:
    a
    b

failures:

---- c stdout ----
SKIP: c: half of it
thread 'c' panicked

failures:
    c

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 1 test
test a ... ok

successes:

---- a stdout ----
SKIP: other a: no server

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.25s
SKIP: program of its own: no device
";

    #[test]
    fn every_test_counts_once() {
        let mut tally = Tally::default();
        for line in OUTPUT.lines() {
            tally.line(line);
        }
        assert_eq!((tally.passed(), tally.failed(), tally.skipped()), (1, 1, 4));
        assert_eq!(tally.skips().len(), 6);
        assert_eq!(
            tally.skips()[1],
            Skip { test: "a".into(), reason: "no such instruction".into() }
        );
    }

    #[test]
    fn why_a_test_failed_is_kept_without_its_backtrace() {
        let mut tally = Tally::default();
        tally.begin("some-package a");
        let output = "running 2 tests
test a ... FAILED
test b ... FAILED

failures:

---- a stdout ----
before

thread 'a' (7) panicked at src/a.rs:1:2:
1 is not 2
stack backtrace:
   0: begin
             at src/a.rs
note: Some details are omitted
after
---- b stdout ----
Error: no server

failures:
    a
    b

test result: FAILED. 0 passed; 2 failed; 0 ignored
";
        assert!(output.lines().all(|line| tally.line(line)), "all of a failed test is printed");
        let [a, b] = tally.failures() else { panic!("{:?}", tally.failures()) };
        assert_eq!(
            (a.program.as_str(), a.test.as_str(), b.test.as_str()),
            ("some-package a", "a", "b")
        );
        assert_eq!(
            a.reason(10),
            ["before", "thread 'a' (7) panicked at src/a.rs:1:2:", "1 is not 2", "after"]
        );
        assert_eq!((a.reason(1), b.reason(10)), (vec!["after"], vec!["Error: no server"]));
        tally.died(vec!["signal: 9".into()]);
        assert_eq!((tally.failed(), tally.failures()[2].reason(10)), (3, vec!["signal: 9"]));
    }

    #[test]
    fn a_panic_that_a_passed_test_caught_says_nothing() {
        let mut tally = Tally::default();
        let output = "running 2 tests\ntest a ... ok\ntest b ... ok\n\nsuccesses:\n\n---- a stdout \
                      ----\nseen\n\
                      thread 'a' (7) panicked at src/a.rs:1:2:\nhidden\nstack backtrace:\nhidden\n\
                      note: hidden\nseen\n\
                      thread 'a' (7) panicked at src/a.rs:3:4:\nhidden\nSKIP: a: no device\n---- b \
                      stdout ----\nseen\n\n\
                      successes:\n    a\n    b\n\ntest result: ok. 2 passed; 0 failed; 0 ignored\n";
        let shown: Vec<&str> = output.lines().filter(|line| tally.line(line)).collect();
        assert_eq!(shown.iter().filter(|line| **line == "seen").count(), 3);
        assert!(!shown.contains(&"    a") && shown.contains(&"test a ... ok"));
        assert!(
            !shown.iter().any(|line| line.contains("hidden") || line.contains("panicked")),
            "{shown:?}"
        );
        assert_eq!((tally.passed(), tally.skipped(), tally.failures().len()), (1, 1, 0));
    }

    #[test]
    fn nothing_run_counts_nothing() {
        let tally = Tally::default();
        assert_eq!((tally.passed(), tally.failed(), tally.skipped()), (0, 0, 0));
    }

    #[test]
    fn reads_expected_skips() {
        let names = expected("# why\n\ncrash_test # needs a device\n  other  \n", "");
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["crash_test", "other"]);
    }

    #[test]
    fn a_skip_for_a_missing_instruction_is_expected_only_where_it_is_missing() {
        let skipped =
            |cpuinfo: &str| expected("wide::avx512 without avx512f # why\n", cpuinfo).len();
        assert_eq!(skipped("processor\t: 0\nflags\t\t: fpu avx2 vaes\n"), 1);
        assert_eq!(skipped("processor\t: 0\nflags\t\t: fpu avx2 avx512f\n"), 0);
        assert_eq!(skipped(""), 0, "nothing is known of this machine");
    }

    #[test]
    fn a_skip_for_an_instruction_is_expected_only_where_it_is() {
        let skipped = |cpuinfo: &str| expected("kernel with amx_tile # why\n", cpuinfo).len();
        assert_eq!(skipped("processor\t: 0\nflags\t\t: fpu amx_tile\n"), 1);
        assert_eq!(skipped("processor\t: 0\nflags\t\t: fpu avx2\n"), 0);
        assert_eq!(skipped(""), 0, "nothing is known of this machine");
    }

    #[test]
    fn a_skip_for_a_missing_device_is_expected_only_where_it_is_missing() {
        let skipped = |device: &str| expected(&format!("link without {device} # why\n"), "").len();
        assert_eq!((skipped("/dev/no-such-device"), skipped("/dev/null")), (1, 0));
    }
}
