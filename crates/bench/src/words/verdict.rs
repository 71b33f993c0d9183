//! The verdicts on a ratio, and the thresholds between them. `docs/method.md` defines both. Not
//! here: the verdict of a ratio (`conclude::judgement`).

use serde::{Deserialize, Serialize};

/// Confidence of every interval that is shown.
pub const CONFIDENCE: f64 = 0.95;

/// Fewest pairs of slices from which anything is concluded.
pub const FEWEST_PAIRS: usize = 6;

/// Fewest requests from which anything is concluded about a 99th percentile.
pub const REQUESTS_P99: u64 = 10_000;

/// The default margin within which a ratio counts as no difference: a share.
pub const MARGIN: f64 = 0.02;

/// Differences up to this share are never claimed: two stores with the same content differ that
/// much by how their files and memory happen to be laid out.
pub const LAYOUT: f64 = 0.01;

/// The largest bound on a cost that is worth stating: a share. Beyond it the answer is that nothing
/// can be concluded.
pub const BOUND_MAX: f64 = 0.10;

/// Quantity that a ratio compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Work in a time: less of it is a cost.
    Throughput,
    /// A percentile of latencies: a longer one is a cost. It depends on few requests, and near
    /// saturation it grows much more than the work that causes it, so every threshold is
    /// [`Quantity::scale`] times that for throughputs.
    Latency,
}

impl Quantity {
    /// Returns the factor by which its thresholds (margin, layout, largest bound, wide interval)
    /// exceed the thresholds for throughputs.
    #[must_use]
    pub fn scale(self) -> f64 {
        match self {
            Self::Throughput => 1.0,
            Self::Latency => 5.0,
        }
    }

    /// Returns whether a ratio is on the side of a cost.
    pub(crate) fn is_worse(self, ratio: f64) -> bool {
        match self {
            Self::Throughput => ratio < 1.0,
            Self::Latency => ratio > 1.0,
        }
    }

    /// Returns whether an interval is wholly beyond the effect of layout, so that alone it would be
    /// a claim.
    pub(crate) fn is_apart(self, low: f64, high: f64) -> bool {
        let layout = 1.0 + self.scale() * LAYOUT;
        high * layout < 1.0 || low > layout
    }

    /// Formats an interval of ratios in words, such as `between 3.0 % slower and 8.1 % faster`.
    #[must_use]
    pub fn between(self, low: f64, high: f64) -> String {
        let (below, above) = match self {
            Self::Throughput => ("slower", "faster"),
            Self::Latency => ("shorter", "longer"),
        };
        let percent = |ratio: f64| one_place(ratio - 1.0);
        match (low < 1.0, high < 1.0) {
            (true, true) => format!("between {} and {} % {below}", percent(high), percent(low)),
            (false, false) => format!("between {} and {} % {above}", percent(low), percent(high)),
            _ => format!("between {} % {below} and {} % {above}", percent(low), percent(high)),
        }
    }
}

/// The verdict on a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Equivalent: the whole interval is within the margin.
    NoDifference,
    /// Slower, beyond what layout does, after the correction for the number of ratios.
    Costs,
    /// Faster, likewise.
    Gains,
    /// Not shown to differ, nor to be equivalent; but the interval bounds the cost.
    AtMost,
    /// The interval is too wide for a conclusion.
    CannotConclude,
    /// No byte passed a cipher, so there is no question: whatever differs is not what a cipher
    /// costs.
    NotMet,
}

impl Verdict {
    /// Its row of the table.
    #[must_use]
    pub fn row(self) -> &'static Row {
        TABLE.iter().find(|row| row.verdict == self).expect("every verdict has a row")
    }

    /// Returns it in a word or two, for tables and legends.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.row().word
    }

    /// Returns its name in results, as `no_difference`.
    #[must_use]
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).expect("a variant without data is its name");
        name.as_str().expect("a name is text").into()
    }

    /// Returns whether a difference is claimed.
    #[must_use]
    pub fn is_claim(self) -> bool {
        matches!(self, Self::Costs | Self::Gains)
    }
}

/// Shape by which a verdict is recognised where colours are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A filled circle.
    Disc,
    /// A circle, empty within.
    Ring,
    /// A filled square.
    Square,
    /// A filled diamond.
    Diamond,
}

impl Mark {
    /// Returns the character that has this shape.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Disc => "●",
            Self::Ring => "○",
            Self::Square => "■",
            Self::Diamond => "◆",
        }
    }
}

/// Content of a cell of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A dash: no ratio is shown.
    Dash,
    /// The word of the verdict.
    Word,
    /// The change with its interval.
    Change,
    /// The largest cost that the interval leaves possible.
    Bound,
    /// The half width of the interval.
    HalfWidth,
}

/// Emphasis of a cell in a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Nothing that speaks against a choice.
    Good,
    /// A cost.
    Cost,
    /// A bound, which is neither.
    Plain,
    /// An open question.
    Open,
    /// No evidence.
    Aside,
}

/// Everything that is printed or drawn for a verdict.
#[derive(Debug)]
pub struct Row {
    /// The verdict.
    pub verdict: Verdict,
    /// Its word, in tables, legends and documents.
    pub word: &'static str,
    /// Content of a cell.
    pub cell: Cell,
    /// Sign in place of the word where there is little room.
    pub sign: Option<&'static str>,
    /// Mark in charts and tables; none where nothing is drawn.
    pub mark: Option<Mark>,
    /// Meaning of the mark, in a legend; verdicts with one mark share it.
    pub legend: &'static str,
    /// Class of a cell in the style sheet of the report.
    pub class: &'static str,
    /// Emphasis in a terminal.
    pub tone: Tone,
    /// Beginning of the predicate whose subject is a variant; the words of the judgement follow.
    pub verb: &'static str,
    /// Beginning of a sentence about the 99th percentile of a variant; the words of the judgement
    /// follow.
    pub p99: &'static str,
}

/// The table of verdicts: whatever prints or draws one reads it. A new row also needs a line of
/// docs/method.md.
pub const TABLE: [Row; 6] = [
    Row {
        verdict: Verdict::NoDifference,
        word: "no difference",
        cell: Cell::Word,
        sign: Some("="),
        mark: Some(Mark::Ring),
        legend: "shown to be equal",
        class: "figure same",
        tone: Tone::Good,
        verb: "makes ",
        p99: "its p99 shows ",
    },
    Row {
        verdict: Verdict::Costs,
        word: "costs",
        cell: Cell::Change,
        sign: None,
        mark: Some(Mark::Disc),
        legend: "shown to differ",
        class: "figure costs",
        tone: Tone::Cost,
        verb: "",
        p99: "its p99 is ",
    },
    Row {
        verdict: Verdict::Gains,
        word: "gains",
        cell: Cell::Change,
        sign: None,
        mark: Some(Mark::Disc),
        legend: "shown to differ",
        class: "figure costs",
        tone: Tone::Good,
        verb: "",
        p99: "its p99 is ",
    },
    Row {
        verdict: Verdict::AtMost,
        word: "costs at most",
        cell: Cell::Bound,
        sign: Some("≤"),
        mark: Some(Mark::Square),
        legend: "costs at most what the interval reaches",
        class: "figure open",
        tone: Tone::Plain,
        verb: "",
        p99: "its p99 is ",
    },
    Row {
        verdict: Verdict::CannotConclude,
        word: "cannot conclude",
        cell: Cell::HalfWidth,
        sign: Some("?"),
        mark: Some(Mark::Diamond),
        legend: "cannot conclude",
        class: "figure open",
        tone: Tone::Open,
        verb: "is open: ",
        p99: "what it does to the p99 is open: ",
    },
    Row {
        verdict: Verdict::NotMet,
        word: "met no cipher",
        cell: Cell::Dash,
        sign: Some("–"),
        mark: None,
        legend: "",
        class: "figure open",
        tone: Tone::Aside,
        verb: "is open: ",
        p99: "what it does to the p99 is open: ",
    },
];

/// Formats an interval of ratios of throughputs in words, such as `between 3.0 % slower and 8.1 %
/// faster`.
#[must_use]
pub fn between(low: f64, high: f64) -> String {
    Quantity::Throughput.between(low, high)
}

/// Formats a share in percent with one place, without its sign.
pub(crate) fn one_place(share: f64) -> String {
    format!("{:.1}", share.abs() * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first column of the table that defines the verdicts in docs/method.md.
    #[test]
    fn the_documented_verdicts_are_those_of_the_table() {
        let page = include_str!("../../../../docs/method.md");
        let (_, section) = page.split_once("\n## The verdicts\n").expect("the section");
        let rows = section.lines().skip_while(|line| !line.starts_with("| verdict |")).skip(2);
        let first = rows
            .take_while(|line| line.starts_with('|'))
            .map(|line| line.split('|').nth(1).unwrap().trim());
        let documented: Vec<&str> = first.flat_map(|words| words.split(", ")).collect();
        assert_eq!(documented, TABLE.each_ref().map(|row| row.word));
    }

    /// The names that a reader of `results.json` or of the findings meets.
    #[test]
    fn the_documented_names_are_those_of_the_table() {
        let page = include_str!("../../../../docs/results.md");
        let names: Vec<String> =
            TABLE.iter().map(|row| format!("`{}`", row.verdict.name())).collect();
        let lists = page.lines().filter(|line| line.contains(&names.join(", "))).count();
        assert_eq!(lists, 2, "the column of the findings, and the type of the JSON");
    }

    #[test]
    fn verdicts_with_one_mark_share_a_legend() {
        for row in &TABLE {
            assert_eq!(row.verdict.row().word, row.word);
            for other in TABLE.iter().filter(|other| other.mark == row.mark) {
                assert_eq!(other.legend, row.legend, "{} and {}", other.word, row.word);
            }
        }
    }
}
