//! Counts tests from what libtest prints with `--show-output`.
//!
//! A test that cannot run here prints `SKIP: <test>: <reason>` and returns. libtest calls it passed; here it counts as
//! skipped, not as passed, so that passed + failed + skipped is the number of tests.

use std::collections::BTreeSet;

/// A test that did not run, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Skip {
    pub(crate) test: String,
    pub(crate) reason: String,
}

/// The counts so far. Feed it every line in order.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    libtest_passed: u64,
    libtest_failed: u64,
    libtest_ignored: u64,
    /// Sections (one a test) of the current test binary that held a SKIP line.
    sections_skipped: BTreeSet<String>,
    skipped_passes: u64,
    skipped_alone: u64,
    section: Option<String>,
    in_failures: bool,
    skips: Vec<Skip>,
}

impl Tally {
    /// Takes one line of output.
    pub(crate) fn line(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.end_of_binary(counts);
        } else if line == "successes:" || line == "failures:" {
            (self.section, self.in_failures) = (None, line == "failures:");
        } else if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            self.section = Some(name.to_string());
        } else if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... ignored")) {
            self.skips.push(Skip { test: name.0.to_string(), reason: "ignored".into() });
        } else if let Some((test, reason)) = line.strip_prefix("SKIP: ").and_then(|rest| rest.split_once(": ")) {
            self.skip(Skip { test: test.trim().to_string(), reason: reason.trim().to_string() });
        }
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
            let part = counts.split([';', '.']).map(str::trim).find_map(|part| part.strip_suffix(label));
            part.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        self.libtest_passed += count(" passed");
        self.libtest_failed += count(" failed");
        self.libtest_ignored += count(" ignored");
        self.sections_skipped.clear();
        (self.section, self.in_failures) = (None, false);
    }

    /// Takes note of a program that died without its summary: one failed test, if not more.
    pub(crate) fn died(&mut self) {
        self.libtest_failed += 1;
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

    /// Every SKIP line, in order of appearance.
    pub(crate) fn skips(&self) -> &[Skip] {
        &self.skips
    }
}

/// Reads the list of expected skips: one test a line; `#` begins a remark. A line `NAME without FLAG` counts only if
/// `cpuinfo` lists processors and none has this flag, so that a test of instructions cannot be skipped where the
/// machine has them.
///
/// - `cpuinfo`: the text of `/proc/cpuinfo`
pub(crate) fn expected(list: &str, cpuinfo: &str) -> BTreeSet<String> {
    let flags: BTreeSet<&str> = cpuinfo
        .lines()
        .filter_map(|line| line.strip_prefix("flags")?.split_once(':'))
        .flat_map(|(_, flags)| flags.split_whitespace())
        .collect();
    let lacks = |flag: &str| !flags.is_empty() && !flags.contains(flag);
    let lines = list.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    let names = lines.filter_map(|line| match line.split_once(" without ") {
        Some((name, flag)) => lacks(flag.trim()).then_some(name.trim()),
        None => (!line.is_empty()).then_some(line),
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
        OUTPUT.lines().for_each(|line| tally.line(line));
        assert_eq!((tally.passed(), tally.failed(), tally.skipped()), (1, 1, 4));
        assert_eq!(tally.skips().len(), 6);
        assert_eq!(tally.skips()[1], Skip { test: "a".into(), reason: "no such instruction".into() });
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
        let skipped = |cpuinfo: &str| expected("wide::avx512 without avx512f # why\n", cpuinfo).len();
        assert_eq!(skipped("processor\t: 0\nflags\t\t: fpu avx2 vaes\n"), 1);
        assert_eq!(skipped("processor\t: 0\nflags\t\t: fpu avx2 avx512f\n"), 0);
        assert_eq!(skipped(""), 0, "nothing is known of this machine");
    }
}
