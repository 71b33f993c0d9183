//! The verdicts on a ratio, and the thresholds between them. `docs/method.md` defines both. Not
//! here: the verdict of a ratio (`conclude::judgement`).

use serde::{Deserialize, Serialize};

/// Confidence of every interval that is shown.
pub const CONFIDENCE: f64 = 0.95;

/// Fewest pairs of slices from which anything is concluded.
pub(crate) const FEWEST_PAIRS: usize = 6;

/// Fewest requests from which anything is concluded about a 99th percentile.
pub(crate) const REQUESTS_P99: u64 = 10_000;

/// The default margin within which a ratio counts as no difference: a share.
pub const MARGIN: f64 = 0.02;

/// Differences up to this share are never claimed: two stores with the same content differ that
/// much by how their files and memory happen to be laid out.
pub(crate) const LAYOUT: f64 = 0.01;

/// The largest bound on a cost that is worth stating: a share. Beyond it the answer is that nothing
/// can be concluded.
pub(crate) const BOUND_MAX: f64 = 0.10;

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

    /// Returns the word for what is on the side of a cost.
    pub(crate) fn worse(self) -> &'static str {
        match self {
            Self::Throughput => "slower",
            Self::Latency => "longer",
        }
    }

    /// Returns the word for what is on the other side.
    pub(crate) fn better(self) -> &'static str {
        match self {
            Self::Throughput => "faster",
            Self::Latency => "shorter",
        }
    }

    /// Returns the words for a bound that leaves no cost possible.
    pub(crate) fn no_cost(self) -> &'static str {
        match self {
            Self::Throughput => "costs nothing",
            Self::Latency => "not longer",
        }
    }

    /// Returns the largest cost that an interval from `low` to `high` leaves possible, as a share;
    /// `None` if it leaves none.
    pub(crate) fn largest_cost(self, (low, high): (f64, f64)) -> Option<f64> {
        let worst = match self {
            Self::Throughput => low,
            Self::Latency => high,
        };
        self.is_worse(worst).then(|| (worst - 1.0).abs())
    }

    /// Formats an interval of ratios in words, such as `between 3.0 % slower and 8.1 % faster`.
    #[must_use]
    pub fn between(self, low: f64, high: f64) -> String {
        let (below, above) = match self {
            Self::Throughput => (self.worse(), self.better()),
            Self::Latency => (self.better(), self.worse()),
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
    /// The sample of CONTRIBUTING.md; `report/toy_verdict.rs` tries it.
    #[cfg(test)]
    Toy,
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

    /// Returns it in whole words with its figure, such as `12.0 % slower` for a `ratio` whose
    /// interval is from `low` to `high`.
    pub(crate) fn value(self, quantity: Quantity, ratio: f64, ends: (f64, f64)) -> String {
        let row = self.row();
        match row.cell {
            Cell::Dash | Cell::Word | Cell::HalfWidth => row.word.into(),
            Cell::Change => {
                let is_worse = quantity.is_worse(ratio);
                let side = if is_worse { quantity.worse() } else { quantity.better() };
                format!("{} % {side}", one_place(ratio - 1.0))
            }
            Cell::Bound => match quantity.largest_cost(ends) {
                Some(most) => format!("at most {} % {}", one_place(most), quantity.worse()),
                None => quantity.no_cost().into(),
            },
        }
    }

    /// Returns the same as a clause on a `store`: `rocksdb is 12.0 % slower with it`.
    pub(crate) fn effect(
        self,
        quantity: Quantity,
        ratio: f64,
        ends: (f64, f64),
        store: &str,
    ) -> String {
        let row = self.row();
        let clauses = match (row.cell, quantity.largest_cost(ends)) {
            (Cell::Bound, None) => NO_COST,
            _ => row.effect,
        };
        let value = self.value(quantity, ratio, ends);
        filled(clauses.of(quantity), &[("store", store), ("value", &value)])
    }

    /// Returns whether more rounds could still decide.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Self::AtMost | Self::CannotConclude)
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

/// A clause with holes for throughput, and one for the 99th percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clauses {
    /// Clause on throughput.
    pub throughput: &'static str,
    /// Clause on the 99th percentile.
    pub latency: &'static str,
}

impl Clauses {
    /// Returns the clause on `quantity`.
    #[must_use]
    pub fn of(&self, quantity: Quantity) -> &'static str {
        match quantity {
            Quantity::Throughput => self.throughput,
            Quantity::Latency => self.latency,
        }
    }
}

/// Returns `template` with `values` in its holes, such as `{store}`.
pub(crate) fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let (mut text, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}').expect("a hole has an end");
        let value = values.iter().find(|(known, _)| *known == name);
        text += before;
        text += value.expect("a hole has a value").1;
        rest = behind;
    }
    text + rest
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
    /// Effect of a variant on a `{store}`; `{value}` is the verdict in whole words.
    pub effect: Clauses,
    /// Comparison of a candidate, `{label}`, with the variant to take, `{best}`, in clauses that
    /// stand by themselves: `{own}` is its cost against no encryption, `{range}` the interval
    /// between the two, `{in_brackets}` the same if there is one, `{decided}` what decided.
    pub comparison: &'static [&'static str],
    /// The same of 99th percentiles; `{words}` is the judgement.
    pub comparison_p99: &'static str,
}

/// Effect on a store of what costs or gains something.
const CHANGES: Clauses = Clauses {
    throughput: "{store} is {value} with it",
    latency: "the p99 of {store} is {value} with it",
};

/// Effect on a store of what costs nothing.
const NO_COST: Clauses = Clauses {
    throughput: "it costs {store} nothing",
    latency: "the p99 of {store} is {value} with it",
};

/// Effect on a store where nothing is known of it.
const UNKNOWN: Clauses = Clauses {
    throughput: "what it costs {store} cannot be concluded",
    latency: "what it does to the p99 of {store} cannot be concluded",
};

/// Comparison in which neither candidate is shown to cost more.
const UNDECIDED: &[&str] = &[
    "{label} {own}",
    "cannot conclude whether that is more or less than {best}{in_brackets}, {decided}",
];

/// The same of 99th percentiles.
const UNDECIDED_P99: &str = "cannot conclude whether the p99 of {label} is longer or shorter than \
                             that of {best}{in_brackets}, {decided}";

/// Comparison of 99th percentiles that are shown to differ.
const DIFFERS_P99: &str = "{label} has a p99 that is {words} than that of {best}";

/// The table of verdicts: whatever prints or draws one reads it. Tests name what else a new row
/// needs: a line of docs/method.md, names in docs/results.md, and its words in `texts`.
pub(crate) const TABLE: &[Row] = &[
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
        effect: Clauses {
            throughput: "it makes {value} to the speed of {store}",
            latency: "it makes {value} to the p99 of {store}",
        },
        comparison: &["{label} {own}, the same as {best} (no difference: {range}), {decided}"],
        comparison_p99: "{label} has the same p99 as {best} (no difference: {range}), {decided}",
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
        effect: CHANGES,
        comparison: &["{label} {own}, which is more: {range} than {best}"],
        comparison_p99: DIFFERS_P99,
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
        effect: CHANGES,
        comparison: &["{label} {own}, which is less: {range} than {best}"],
        comparison_p99: DIFFERS_P99,
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
        effect: CHANGES,
        comparison: UNDECIDED,
        comparison_p99: UNDECIDED_P99,
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
        effect: UNKNOWN,
        comparison: UNDECIDED,
        comparison_p99: UNDECIDED_P99,
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
        effect: UNKNOWN,
        comparison: UNDECIDED,
        comparison_p99: UNDECIDED_P99,
    },
    #[cfg(test)]
    Row {
        verdict: Verdict::Toy,
        word: "plays",
        cell: Cell::Change,
        sign: Some("~"),
        mark: Some(Mark::Diamond),
        legend: "cannot conclude",
        class: "figure toy",
        tone: Tone::Plain,
        verb: "plays: ",
        p99: "its p99 plays: ",
        effect: Clauses {
            throughput: "{store} plays at {value}",
            latency: "the p99 of {store} plays at {value}",
        },
        comparison: &["{label} {own}, and plays with {best}: {range}"],
        comparison_p99: "the p99 of {label} plays with that of {best}",
    },
];

/// Formats a share in percent with one place, without its sign.
pub(crate) fn one_place(share: f64) -> String {
    format!("{:.1}", share.abs() * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rows that a build for users has.
    fn real() -> impl Iterator<Item = &'static Row> {
        TABLE.iter().filter(|row| row.verdict != Verdict::Toy)
    }

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
        let words: Vec<&str> = real().map(|row| row.word).collect();
        assert_eq!(documented, words);
    }

    /// The names that a reader of `results.json` or of the findings meets.
    #[test]
    fn the_documented_names_are_those_of_the_table() {
        let page = include_str!("../../../../docs/results.md");
        let names: Vec<String> = real().map(|row| format!("`{}`", row.verdict.name())).collect();
        let lists = page.lines().filter(|line| line.contains(&names.join(", "))).count();
        assert_eq!(lists, 2, "the column of the findings, and the type of the JSON");
    }

    /// The words that an answer is made of, from the smallest to the sentence.
    #[test]
    fn a_verdict_has_the_same_words_wherever_it_stands() {
        let of = |verdict: Verdict, quantity, ratio, ends| {
            (verdict.value(quantity, ratio, ends), verdict.effect(quantity, ratio, ends, "redis"))
        };
        let (work, time) = (Quantity::Throughput, Quantity::Latency);
        for (verdict, quantity, ratio, ends, value, effect) in [
            (Verdict::Costs, work, 0.88, (0.85, 0.91), "12.0 % slower", "redis is 12.0 % slower"),
            (Verdict::Gains, work, 1.03, (1.02, 1.04), "3.0 % faster", "redis is 3.0 % faster"),
            (Verdict::NoDifference, work, 0.99, (0.98, 1.01), "no difference", "it makes no diff"),
            (Verdict::AtMost, work, 0.97, (0.947, 1.03), "at most 5.3 % slower", "redis is at mo"),
            (Verdict::AtMost, work, 1.04, (1.0, 1.08), "costs nothing", "it costs redis nothing"),
            (
                Verdict::CannotConclude,
                work,
                0.9,
                (0.6, 1.2),
                "cannot conclude",
                "what it costs red",
            ),
            (Verdict::Costs, time, 1.12, (1.05, 1.19), "12.0 % longer", "the p99 of redis is 12.0"),
            (
                Verdict::AtMost,
                time,
                1.1,
                (0.9, 1.3),
                "at most 30.0 % longer",
                "the p99 of redis is",
            ),
            (
                Verdict::AtMost,
                time,
                0.9,
                (0.8, 1.0),
                "not longer",
                "the p99 of redis is not longer",
            ),
        ] {
            let found = of(verdict, quantity, ratio, ends);
            assert!(found.0 == value && found.1.starts_with(effect), "{found:?}");
        }
    }

    #[test]
    fn verdicts_with_one_mark_share_a_legend() {
        for row in TABLE {
            assert_eq!(row.verdict.row().word, row.word);
            for other in TABLE.iter().filter(|other| other.mark == row.mark) {
                assert_eq!(other.legend, row.legend, "{} and {}", other.word, row.word);
            }
        }
    }
}
