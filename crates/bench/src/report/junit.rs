//! The answer to `--fail-if` as JUnit XML, which CI systems show: a test case for each point,
//! workload and variant.

use std::fmt::Write;

use sealstone_message::printable;

use crate::conclude::regression::Change;
use crate::results::{Cell, Comparison};
use crate::words::percent::percent;

/// Outcome of a test case.
enum Outcome {
    /// The cost is shown not to have grown by more.
    Passed,
    /// The cost is shown to have grown by more.
    Failed,
    /// Neither is shown, or nothing was compared.
    Skipped,
    /// The run ended before it could be measured.
    Errored,
}

struct Case {
    class: String,
    name: String,
    outcome: Outcome,
    message: String,
}

/// Returns the JUnit XML of `changes` of `comparison` since an earlier run.
///
/// - `limit`: the share by which a cost may have grown
/// - `failure`: the error that ended the run, if one did
#[must_use]
pub fn junit(
    comparison: &Comparison,
    changes: &[Change],
    limit: f64,
    failure: Option<&str>,
) -> String {
    let mut cases: Vec<Case> = changes.iter().map(|change| case(change, limit)).collect();
    cases.extend(not_compared(comparison, changes));
    cases.extend(missing(comparison, failure));
    let count = |is: fn(&Outcome) -> bool| cases.iter().filter(|case| is(&case.outcome)).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        cases.len(),
        count(|one| matches!(one, Outcome::Failed)),
        count(|one| matches!(one, Outcome::Errored)),
        count(|one| matches!(one, Outcome::Skipped)),
        comparison.elapsed_s
    );
    let name = escaped(&format!("sealstone compare --fail-if {}%", percent(limit)));
    let begin = comparison.started_at.split(['.', 'Z']).next().unwrap_or_default();
    let (begin, host) = (escaped(begin), escaped(&comparison.machine.host));
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{name}\" {counts}>\n  \
         <testsuite name=\"{name}\" {counts} timestamp=\"{begin}\" hostname=\"{host}\">\n"
    );
    for case in &cases {
        case.write(&mut text).expect("text takes everything");
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

impl Case {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        let Self { class, name, outcome, message } = self;
        let [class, name, message] = [class, name, message].map(|words| escaped(words));
        let element = match outcome {
            Outcome::Passed => {
                return writeln!(
                    text,
                    "    <testcase classname=\"{class}\" name=\"{name}\">\n      \
                     <system-out>{message}</system-out>\n    </testcase>"
                );
            }
            Outcome::Failed => "failure",
            Outcome::Skipped => "skipped",
            Outcome::Errored => "error",
        };
        writeln!(
            text,
            "    <testcase classname=\"{class}\" name=\"{name}\">\n      <{element} \
             message=\"{message}\"/>\n    </testcase>"
        )
    }
}

/// Returns the case of one change, with its figures.
fn case(change: &Change, limit: f64) -> Case {
    let Change { quantity, ratio, low, high, .. } = change;
    let range = quantity.between(*low, *high);
    let allowed = percent(limit);
    let figures =
        format!("{range} than then; ratio {ratio:.4}, 95 % interval {low:.4} to {high:.4}");
    let (outcome, message) = match change {
        Change { exceeds: true, .. } => (
            Outcome::Failed,
            format!("the cost grew by more than the {allowed} % allowed: {figures}"),
        ),
        Change { is_within: true, .. } => (
            Outcome::Passed,
            format!("the cost grew by at most the {allowed} % allowed: {figures}"),
        ),
        _ => (
            Outcome::Skipped,
            format!(
                "inconclusive: it is neither shown nor ruled out that the cost grew by more than \
                 the {allowed} % allowed: {figures}"
            ),
        ),
    };
    Case {
        class: change.point.in_full(),
        name: name(&change.workload, &change.variant),
        outcome,
        message,
    }
}

fn name(workload: &str, variant: &str) -> String {
    format!("{workload}, {variant}")
}

/// Returns the cases of what was measured now, and was not compared with anything.
fn not_compared(comparison: &Comparison, changes: &[Change]) -> Vec<Case> {
    let is_compared = |class: &str, name: &str| {
        changes.iter().any(|change| {
            change.point.in_full() == class && self::name(&change.workload, &change.variant) == name
        })
    };
    let mut cases = Vec::new();
    for group in &comparison.groups {
        let class = group.point.in_full();
        let sealed = |cell: &&Cell| {
            comparison.variants.get(cell.variant).is_some_and(|one| !one.is_baseline())
        };
        for cell in group.cells.iter().filter(sealed) {
            let name = name(&cell.workload, &comparison.variants[cell.variant].label);
            if !is_compared(&class, &name) {
                let message = "not compared: the earlier results have no such figure, or one of \
                               the two has too few pairs of slices";
                let (class, message) = (class.clone(), message.into());
                cases.push(Case { class, name, outcome: Outcome::Skipped, message });
            }
        }
    }
    cases
}

/// Returns a case for each planned point that is missing, and one for the error that ended the run.
fn missing(comparison: &Comparison, failure: Option<&str>) -> Vec<Case> {
    let missing = comparison.missing.iter().map(|missing| Case {
        class: missing.point.in_full(),
        name: missing.workloads.join(", "),
        outcome: if missing.left_out { Outcome::Skipped } else { Outcome::Errored },
        message: format!("not measured: {}", missing.reason),
    });
    let ended = match (failure, comparison.interrupted) {
        (Some(error), _) => Some(format!("the run ended with an error: {error}")),
        (None, true) => Some("the run was ended before it was done".to_owned()),
        (None, false) => None,
    };
    let ended = ended.map(|message| Case {
        class: "sealstone".into(),
        name: "the whole run".into(),
        outcome: Outcome::Errored,
        message,
    });
    missing.chain(ended).collect()
}

/// Returns `text` as an attribute or an element of XML has it, without characters that XML cannot
/// have.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in printable(&text.replace(['\n', '\r', '\t'], " ")).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use roxmltree::Document;

    use super::*;
    use crate::conclude::testing::{cell, comparison};
    use crate::words::verdict::{Quantity, Verdict};

    fn change(workload: &str, low: f64, exceeds: bool, is_within: bool) -> Change {
        let point = comparison(&["none"], Vec::new()).groups[0].point.clone();
        Change {
            point,
            variant: "aes-256".into(),
            workload: workload.into(),
            quantity: Quantity::Throughput,
            ratio: low + 0.01,
            low,
            high: low + 0.02,
            verdict: Verdict::Costs,
            words: String::new(),
            exceeds,
            is_within,
        }
    }

    #[test]
    fn every_comparison_is_a_case_with_its_figures() {
        let slices = [1.0, 1.1, 1.0, 1.1, 1.0, 1.1];
        let cells = ["a", "<c & \"d\"\u{1}>"].map(|name| cell(1, name, &slices)).to_vec();
        let mut now = comparison(&["none", "aes-256"], cells);
        now.machine.host = "db\u{ffff}".into();
        let changes = [
            change("a", 0.8, true, false),
            change("b", 0.99, false, true),
            change("x", 0.93, false, false),
        ];
        let text = junit(&now, &changes, 0.05, None);
        let document = Document::parse(&text).unwrap();
        let suite = document.descendants().find(|one| one.has_tag_name("testsuite")).unwrap();
        let counts = ["tests", "failures", "errors", "skipped"].map(|name| suite.attribute(name));
        assert_eq!(counts, ["4", "1", "0", "2"].map(Some));
        let cases: Vec<_> = suite.children().filter(|one| one.has_tag_name("testcase")).collect();
        let outcome = |at: usize| cases[at].children().find(|one| one.is_element()).unwrap();
        assert_eq!(cases[0].attribute("name"), Some("a, aes-256"));
        assert!(cases[0].attribute("classname").unwrap().starts_with("rocksdb, 1 member"));
        let failure = outcome(0);
        assert!(failure.has_tag_name("failure"));
        let message = failure.attribute("message").unwrap();
        assert!(
            message
                .starts_with("the cost grew by more than the 5 % allowed: between 18.0 and 20.0")
                && message.ends_with("ratio 0.8100, 95 % interval 0.8000 to 0.8200"),
            "{message}"
        );
        assert!(outcome(1).has_tag_name("system-out") && outcome(2).has_tag_name("skipped"));
        assert!(cases[3].attribute("name").unwrap().starts_with("<c & \"d\""));
    }

    #[test]
    fn a_run_that_an_error_ended_has_a_case_for_it() {
        let now = comparison(&["none", "aes-256"], Vec::new());
        let text = junit(&now, &[], 0.05, Some("the server died"));
        let document = Document::parse(&text).unwrap();
        let error = document.descendants().find(|one| one.has_tag_name("error")).unwrap();
        assert!(error.attribute("message").unwrap().contains("the server died"), "{text}");
    }
}
