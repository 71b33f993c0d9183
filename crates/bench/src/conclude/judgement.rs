//! The words for a ratio: the one function that makes every verdict of the program, the report and
//! the documents. `docs/method.md` defines it and names its sources. Not here: the verdicts
//! themselves (`words::verdict`), the estimate of a ratio (`statistics`), the choice of ratios
//! (`ratios`).
//!
//! "No difference" is a claim of equivalence, never the lack of a proof: the whole 95 % interval is
//! within the margin, which is two one-sided tests at 2.5 % each (Schuirmann 1987, Journal of
//! Pharmacokinetics and Biopharmaceutics 15; Lakens 2017, Social Psychological and Personality
//! Science 8). One comparison tests the same question many times, so "costs" and "gains" are
//! claimed only after Holm's correction (1979, Scandinavian Journal of Statistics 6).

use crate::conclude::statistics::{Estimate, holm};
use crate::words::percent;
use crate::words::verdict::{
    BOUND_MAX, CONFIDENCE, FEWEST_PAIRS, LAYOUT, Quantity, Verdict, one_place,
};

/// The largest probability, after Holm's correction, that chance alone produces a claim. Half of it
/// is on the side of a cost, and less where [`LAYOUT`] exceeds the scatter of loads: a test counts
/// at most 1 in 100.
const FALSE_CLAIMS: f64 = 0.03;

/// Half width of an interval, as a share, from which its ends are shown instead of `±`.
const WIDE: f64 = 0.05;

/// Returns the judgement on a cell that met no cipher: none.
#[must_use]
pub(crate) fn not_met() -> Judgement {
    Judgement {
        verdict: Verdict::NotMet,
        words: format!("{}: says nothing of what one costs", Verdict::NotMet.word()),
        range: String::new(),
    }
}

/// A verdict and the words for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// In words, with the figures.
    pub words: String,
    /// The interval in words, and that it can be chance where it is apart from 1 and nothing is
    /// claimed; empty without an interval.
    pub range: String,
}

/// Judges all ratios of throughputs of one family together, as `judge_as` does.
#[must_use]
pub fn judge(estimates: &[Option<Estimate>], margin: f64) -> Vec<Judgement> {
    judge_as(Quantity::Throughput, estimates, margin)
}

/// Judges all ratios of one family together.
///
/// - `quantity`: quantity of the ratios; its scale s multiplies the thresholds
/// - `estimates`: one for each question, `None` where there are too few pairs
/// - `margin`: the share within which two throughputs count as no difference, such as 0.02
///
/// A ratio gets the first verdict that holds:
///
/// - `NoDifference`: its 95 % interval is within `1 - s margin` to `1 + s margin`
/// - `Costs`, `Gains`: it is beyond s times [`LAYOUT`], even after Holm's correction for the number
///   of ratios
/// - `AtMost`: its interval ends before s times [`BOUND_MAX`] on the side of a cost, so a larger
///   one is ruled out
/// - `CannotConclude`
#[must_use]
pub(crate) fn judge_as(
    quantity: Quantity,
    estimates: &[Option<Estimate>],
    margin: f64,
) -> Vec<Judgement> {
    let layout = quantity.scale() * LAYOUT;
    let single: Vec<f64> =
        estimates.iter().flatten().map(|estimate| estimate.p_beyond(layout)).collect();
    let questions = single.len();
    let mut together = holm(&single).into_iter();
    let judged = estimates.iter().map(|estimate| match estimate {
        Some(estimate) => {
            judge_one(quantity, estimate, together.next().expect("one for each"), questions, margin)
        }
        None => Judgement {
            verdict: Verdict::CannotConclude,
            words: format!(
                "{} (fewer than {FEWEST_PAIRS} pairs of slices; more rounds would help)",
                Verdict::CannotConclude.word()
            ),
            range: String::new(),
        },
    });
    judged.collect()
}

fn judge_one(
    quantity: Quantity,
    estimate: &Estimate,
    together: f64,
    questions: usize,
    margin: f64,
) -> Judgement {
    let (low, high) = estimate.interval(CONFIDENCE);
    let range = quantity.between(low, high);
    let scale = quantity.scale();
    let margin = scale * margin;
    if low >= 1.0 - margin && high <= 1.0 + margin {
        let same = Verdict::NoDifference.word();
        let words = if low <= 1.0 && high >= 1.0 {
            format!("{same} (± {} %)", one_place(f64::max(1.0 - low, high - 1.0)))
        } else {
            format!("{same} beyond {} % ({range})", percent::percent(margin))
        };
        return Judgement { verdict: Verdict::NoDifference, words, range };
    }
    if together < FALSE_CLAIMS {
        let verdict =
            if quantity.is_worse(estimate.ratio()) { Verdict::Costs } else { Verdict::Gains };
        let words = claim(quantity, estimate, (low, high));
        return Judgement { verdict, words, range };
    }
    let chance = match questions {
        _ if !quantity.is_apart(low, high) => String::new(),
        1 => "; it can be chance".into(),
        _ => format!("; one such among {questions} ratios can be chance"),
    };
    let range = range + &chance;
    let bound = match (quantity.largest_cost((low, high)), quantity) {
        (None, _) => quantity.no_cost().to_owned(),
        (Some(most), _) if most > scale * BOUND_MAX => {
            let verdict = Verdict::CannotConclude;
            let words = format!("{} ({range}; more rounds would help)", verdict.word());
            return Judgement { verdict, words, range };
        }
        (Some(most), Quantity::Throughput) => {
            format!("{} {} %", Verdict::AtMost.word(), one_place(most))
        }
        (Some(_), Quantity::Latency) => {
            Verdict::AtMost.value(quantity, estimate.ratio(), (low, high))
        }
    };
    Judgement { verdict: Verdict::AtMost, words: format!("{bound} ({range})"), range }
}

/// Formats a difference that is claimed, in words: `costs 4.0 % ± 1.5`, `12.0 % ± 4.0 longer`.
fn claim(quantity: Quantity, estimate: &Estimate, (low, high): (f64, f64)) -> String {
    let ratio = estimate.ratio();
    let half = (high - low) / 2.0;
    let (least, most) = if ratio < 1.0 { (1.0 - high, 1.0 - low) } else { (low - 1.0, high - 1.0) };
    let amount = match half <= WIDE * quantity.scale() {
        true => format!("{} % ± {}", one_place(1.0 - ratio), one_place(half)),
        false => format!("between {} and {} %", one_place(least), one_place(most)),
    };
    let (costs, gains) = (Verdict::Costs.word(), Verdict::Gains.word());
    match (quantity, quantity.is_worse(ratio)) {
        (Quantity::Throughput, true) if ratio < 0.5 => {
            format!("{costs} {amount}, takes {:.1} times as long", 1.0 / ratio)
        }
        (Quantity::Throughput, true) => format!("{costs} {amount}"),
        (Quantity::Throughput, false) => format!("{gains} {amount}"),
        (Quantity::Latency, true) if ratio > 2.0 => {
            format!("{ratio:.1} times as long (between {low:.1} and {high:.1} times)")
        }
        (Quantity::Latency, true) => format!("{amount} {}", quantity.worse()),
        (Quantity::Latency, false) => format!("{amount} {}", quantity.better()),
    }
}

/// Words for a ratio of CPU seconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MoreCpu {
    /// A noun phrase; a sentence if it is open.
    pub words: String,
    /// True if nothing can be concluded.
    pub is_open: bool,
}

/// Describes what a ratio of CPU seconds means for the machine that pays for them.
///
/// - `estimate`: CPU seconds for the same work, above 1 if it takes more; `None` if there are too
///   few pairs
#[must_use]
pub(crate) fn more_cpu(estimate: Option<Estimate>, margin: f64) -> MoreCpu {
    let open = format!("{} how much CPU time the same work takes", Verdict::CannotConclude.word());
    let Some(estimate) = estimate else {
        return MoreCpu { words: format!("{open}; more rounds would help"), is_open: true };
    };
    let (low, high) = estimate.interval(CONFIDENCE);
    let words = if low >= 1.0 - margin && high <= 1.0 + margin {
        format!("no more CPU time for the same work, within {} %", percent::percent(margin))
    } else if high <= 1.0 {
        let (least, most) = (one_place(1.0 - high), one_place(1.0 - low));
        format!("no more CPU time for the same work (between {least} and {most} % less)")
    } else if low > 1.0 {
        let (low, high) = (one_place(low - 1.0), one_place(high - 1.0));
        let more = one_place(estimate.ratio() - 1.0);
        format!("{more} % more CPU time for the same work (between {low} and {high} % more)")
    } else if high <= 1.0 + BOUND_MAX {
        format!("at most {} % more CPU time for the same work", one_place(high - 1.0))
    } else {
        let words =
            format!("{open} (perhaps {} % more); more rounds would help", one_place(high - 1.0));
        return MoreCpu { words, is_open: true };
    };
    MoreCpu { words, is_open: false }
}

#[cfg(test)]
mod tests;
