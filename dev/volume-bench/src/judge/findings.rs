//! Findings of judges in a place, and the verdict on all places together.

use std::fmt::Write;

/// Ends the names of judges whose counts depend on time.
const NOT_COMPARED: &str = "(not compared)";
/// Lines of a failure that are shown.
const SHOWN_LINES: usize = 12;

/// Findings of one judge in one place.
#[derive(Debug, Default)]
struct Finding {
    judge: String,
    count: u64,
    bytes: u64,
    same: Option<String>,
    failures: Vec<String>,
}

/// Findings of every judge in one place, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) place: String,
    all: Vec<Finding>,
}

impl Findings {
    pub(crate) fn new(place: String) -> Self {
        Self { place, all: Vec::new() }
    }

    fn at(&mut self, judge: &str) -> &mut Finding {
        let known = self.all.iter().position(|one| one.judge == judge);
        let number = known.unwrap_or_else(|| {
            self.all.push(Finding { judge: judge.to_owned(), ..Finding::default() });
            self.all.len() - 1
        });
        &mut self.all[number]
    }

    /// Adds things that were looked at and found right.
    pub(crate) fn count(&mut self, judge: &str, count: u64) {
        self.at(judge).count += count;
    }

    /// Adds requests that did what they had to, and their bytes.
    pub(crate) fn requests(&mut self, judge: &str, count: u64, bytes: u64) {
        let finding = self.at(judge);
        finding.count += count;
        finding.bytes += bytes;
    }

    /// Notes words that have to be the same in all places.
    pub(crate) fn same(&mut self, judge: &str, words: &str) {
        self.at(judge).same = Some(words.to_owned());
    }

    /// Notes a failure.
    pub(crate) fn fail(&mut self, judge: &str, failure: &str) {
        let shown: Vec<&str> = failure.lines().take(SHOWN_LINES).collect();
        eprintln!("{}: {judge} FAILED: {}", self.place, shown.join("\n"));
        self.at(judge).failures.push(shown.join("\n"));
    }

    fn find(&self, judge: &str) -> Option<&Finding> {
        self.all.iter().find(|one| one.judge == judge)
    }
}

impl Finding {
    fn cell(&self) -> String {
        let count = grouped(self.count);
        let found = match (&self.same, self.bytes) {
            (Some(words), _) => words.clone(),
            (None, 0) => count,
            (None, bytes) => format!("{count}, {} MiB", grouped(bytes >> 20)),
        };
        match self.failures.len() {
            0 => found,
            failures => format!("{found}, **{failures} FAILED**"),
        }
    }

    /// Returns whether it is right beside that of another place.
    fn agrees(&self, other: &Self) -> bool {
        let is_counted = !self.judge.ends_with(NOT_COMPARED);
        let has_words = |one: &Self| one.same.as_deref().is_some_and(|words| words != "-");
        let is_absent = [self, other].iter().any(|one| one.same.as_deref() == Some("-"));
        self.failures.is_empty()
            && other.failures.is_empty()
            && (!is_counted || is_absent || (self.count, self.bytes) == (other.count, other.bytes))
            && (!has_words(self) || self.same == other.same)
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (number, digit) in digits.chars().enumerate() {
        if number > 0 && (digits.len() - number).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns the names of all judges, in order.
fn judges(findings: &[Findings]) -> Vec<&str> {
    let mut judges: Vec<&str> = Vec::new();
    for finding in findings.iter().flat_map(|place| &place.all) {
        if !judges.contains(&finding.judge.as_str()) {
            judges.push(&finding.judge);
        }
    }
    judges
}

/// Returns a line on whether all places agree with the first one, and nothing failed; and that.
pub(crate) fn verdict(findings: &[Findings]) -> (String, bool) {
    let [first, others @ ..] = findings else { return ("Nothing was judged.".into(), false) };
    let mut differ: Vec<String> = Vec::new();
    let mut failed = 0;
    for judge in judges(findings) {
        failed += usize::from(first.find(judge).is_none_or(|one| !one.failures.is_empty()));
        for other in others {
            let agrees = match (first.find(judge), other.find(judge)) {
                (Some(first), Some(other)) => first.agrees(other),
                _ => false,
            };
            if !agrees {
                differ.push(format!("{judge} on {}", other.place));
            }
        }
    }
    let places: Vec<&str> = others.iter().map(|other| other.place.as_str()).collect();
    let places = places.join(" and ");
    match (differ.is_empty(), failed) {
        (true, 0) if !others.is_empty() => {
            (format!("The volumes ({places}) give what the plain loop gives, with 0 errors."), true)
        }
        (_, 0) => (format!("The volumes do NOT give it: {}.", differ.join("; ")), false),
        _ => (format!("NOT JUDGED: {failed} judges failed on the plain loop itself."), false),
    }
}

/// Returns the table of all places, and under it every failure.
pub(crate) fn table(findings: &[Findings]) -> String {
    let places = findings.iter().map(|place| match place.place.as_str() {
        "loop" => "plain loop",
        name => name,
    });
    let places: Vec<&str> = places.collect();
    let mut text = format!("| judge | {} |\n|---|", places.join(" | "));
    text.push_str(&"---|".repeat(findings.len()));
    text.push('\n');
    for judge in judges(findings) {
        let cells = findings.iter().map(|place| match place.find(judge) {
            Some(finding) => finding.cell(),
            None => "**not run**".into(),
        });
        let cells: Vec<String> = cells.collect();
        let _ = writeln!(text, "| {judge} | {} |", cells.join(" | "));
    }
    for place in findings {
        for finding in &place.all {
            for failure in &finding.failures {
                let (judge, place) = (&finding.judge, &place.place);
                let _ = write!(text, "\n{judge} on {place}:\n\n    ");
                let _ = writeln!(text, "{}", failure.replace('\n', "\n    "));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str, count: u64) -> Findings {
        let mut findings = Findings::new(name.into());
        findings.requests("fio", count, 1 << 20);
        findings.same("sum", "abc");
        findings
    }

    #[test]
    fn places_that_found_the_same_agree() {
        let mut loop_ = place("loop", 7);
        let mut sealed = place("aes-256", 7);
        for (findings, trims) in [(&mut loop_, 3), (&mut sealed, 4)] {
            findings.count("fstrim (not compared)", trims);
        }
        loop_.same("verify", "-");
        sealed.count("verify", 5);
        let all = [loop_, sealed];
        let (verdict, is_same) = verdict(&all);
        assert!(is_same, "{verdict}");
        assert!(table(&all).contains("| fio | 7, 1 MiB | 7, 1 MiB |"), "{}", table(&all));
    }

    #[test]
    fn a_difference_and_a_failure_are_told() {
        let (text, is_same) = verdict(&[place("loop", 7), place("aes-256", 8)]);
        assert!(!is_same && text.contains("fio on aes-256"), "{text}");
        let mut other = place("aes-256", 7);
        other.same("sum", "abd");
        let (text, is_same) = verdict(&[place("loop", 7), other]);
        assert!(!is_same && text.contains("sum on aes-256"), "{text}");
        let mut failed = place("aes-256", 7);
        failed.fail("fio", "bad header at offset 512");
        let all = [place("loop", 7), failed];
        let (text, is_same) = verdict(&all);
        assert!(!is_same && text.contains("fio on aes-256"), "{text}");
        assert!(table(&all).contains("fio on aes-256:\n\n    bad header at offset 512"));
        let mut loop_ = place("loop", 7);
        loop_.fail("fio", "bad header");
        let (text, is_same) = verdict(&[loop_, place("aes-256", 7)]);
        assert!(!is_same && text.starts_with("NOT JUDGED"), "{text}");
        let (_, is_same) = verdict(&[place("loop", 7), Findings::new("aes-256".into())]);
        assert!(!is_same);
    }
}
