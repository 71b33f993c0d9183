//! Choice of a variant at a fixed rate: the throughput is fixed by the plan, so variants are ranked
//! by whether they keep up, then by their 99th percentile, then by the CPU time that a request
//! costs, then by standing. Not here: the answer by throughput, or by the highest rate
//! (`recommend`).

use super::{begun, in_brackets, refusal, setting_costs};
use crate::advise::algorithm::{Algorithm, Noun};
use crate::advise::eligibility::{module_stated, no_module, standing, unprotected};
use crate::advise::place_choice::{self, Measured};
use crate::conclude::figures;
use crate::conclude::fixed_rate::{P99, at_rate};
use crate::conclude::judgement::{Judgement, judge, judge_as, more_cpu};
use crate::conclude::ratios::{headline, over_headline, overall_cpu};
use crate::conclude::statistics::Estimate;
use crate::results::open_loop::{AtRate, Percentile};
use crate::results::{Cell, Piece, Ranked, Recommendation, Variant};
use crate::study::coverage::Question;
use crate::study::plan::{Plan, Policy};
use crate::words::verdict::FEWEST_PAIRS;
use crate::words::verdict::REQUESTS_P99;
use crate::words::verdict::{CONFIDENCE, Quantity, Verdict, filled};
use crate::workload::Unit;

/// One variant with a cipher or a suite, and its measurements.
struct Candidate<'a> {
    number: usize,
    variant: &'a Variant,
    algorithm: Algorithm,
    cells: Vec<&'a Cell>,
    /// Its 99th percentile to that without encryption, over the workloads that met a cipher and
    /// where both kept up.
    p99: Option<Estimate>,
    /// Reason why it must not be recommended, if there is one.
    barred: Option<String>,
}

impl Candidate<'_> {
    /// Returns whether it fell behind under a workload that the baseline kept up with.
    fn falls_behind(&self, cells: &[Cell]) -> bool {
        self.cells
            .iter()
            .any(|cell| is_behind(cell) && !base_of(cells, cell).is_some_and(is_behind))
    }
}

fn is_behind(cell: &Cell) -> bool {
    at_rate(cell).is_some_and(|at_rate| !at_rate.is_kept)
}

fn base_of<'a>(cells: &'a [Cell], cell: &Cell) -> Option<&'a Cell> {
    cells.iter().find(|other| other.variant == 0 && other.workload == cell.workload)
}

/// Reason why an allowed candidate comes after the recommended one.
enum Reason {
    FallsBehind,
    Longer,
    MoreCpu,
    Standing,
}

/// Comparison of an allowed candidate with the recommended one.
struct Relation {
    label: String,
    reason: Reason,
    p99: Judgement,
    cpu: Option<Estimate>,
    /// Factor that decided between it and the recommended candidate, if not the figures.
    decided: &'static str,
}

/// Recommends one of `variants` at `rate` operations a second, on the evidence of `cells`, which
/// are judged.
pub(crate) fn recommend(
    question: Question<'_>,
    rate: f64,
    variants: &[Variant],
    cells: &[Cell],
) -> Recommendation {
    let plan = question.plan;
    let mut candidates = candidates(question, variants, cells);
    let allowed = candidates.iter().filter(|candidate| candidate.barred.is_none()).count();
    let relations = settle(question, &mut candidates, allowed, cells);
    let ratio = |variant: usize, other: usize| over_headline(cells, variant, other, P99);
    let across = Measured { question, variants, quantity: Quantity::Latency, ratio: &ratio };
    let measured: Vec<_> =
        candidates.iter().map(|candidate| (candidate.algorithm, candidate.cells.clone())).collect();
    let open_questions = open_questions(plan, variants, cells);
    let mut recommendation = begun(&across, open_questions, &measured);
    let uncovered = place_choice::uncovered(question, variants);
    let noun = Noun::of(plan, candidates.iter().map(|candidate| candidate.algorithm));
    let mut pieces = behind(plan, rate, variants, cells);
    match candidates.first() {
        None => pieces.extend(against_itself(plan, variants, cells)),
        Some(best) if best.barred.is_some() && uncovered.is_some() => {
            pieces.extend(uncovered.unwrap_or_default());
        }
        Some(best) if best.barred.is_some() => {
            pieces.extend(refusal::allowed(plan, noun, variants));
        }
        Some(best) if best.falls_behind(cells) => {
            pieces.push(Piece::finding(format!(
                "none of the {} measured sustains {} everywhere",
                noun.several(),
                per_s(rate)
            )));
            pieces.push(Piece::finding("a lower --target would"));
        }
        Some(best) => {
            recommendation.take = Some(best.variant.label.clone());
            recommendation.meaning = meaning(&across, best, &relations, cells);
            pieces.extend(place_choice::purpose(question, best.variant));
            pieces.extend(answer(plan, rate, best, &relations, cells));
        }
    }
    let mut recommendation = recommendation.with_answer(pieces);
    recommendation.meaning.extend(no_module(plan.policy != Policy::Any));
    recommendation.ranking =
        candidates.iter().map(|candidate| ranked(candidate, cells, plan.margin)).collect();
    recommendation
}

fn candidates<'a>(
    question: Question<'_>,
    variants: &'a [Variant],
    cells: &'a [Cell],
) -> Vec<Candidate<'a>> {
    let made = variants.iter().enumerate().filter_map(|(number, variant)| {
        let algorithm = Algorithm::of(variant)?;
        let of_it: Vec<&Cell> = cells.iter().filter(|cell| cell.variant == number).collect();
        (!of_it.is_empty()).then(|| Candidate {
            number,
            variant,
            algorithm,
            cells: of_it,
            p99: over_headline(cells, number, 0, P99),
            barred: place_choice::barred(question, algorithm, variant, variants),
        })
    });
    made.collect()
}

/// Puts the candidate to take first, and returns why each other allowed candidate comes after it.
fn settle(
    question: Question<'_>,
    candidates: &mut [Candidate],
    allowed: usize,
    cells: &[Cell],
) -> Vec<Relation> {
    let margin = question.plan.margin;
    let longest_last =
        |candidate: &Candidate| candidate.p99.map_or(f64::INFINITY, |p99| p99.log_ratio);
    candidates.sort_by(|a, b| {
        let key = |one: &Candidate| (one.barred.is_some(), one.falls_behind(cells));
        key(a).cmp(&key(b)).then(longest_last(a).total_cmp(&longest_last(b)))
    });
    let Some(quickest) = candidates[..allowed].first().map(|candidate| candidate.number) else {
        return Vec::new();
    };
    let p99 = |number: usize, than: usize| over_headline(cells, number, than, P99);
    let numbers: Vec<usize> =
        candidates[..allowed].iter().map(|candidate| candidate.number).collect();
    let estimates: Vec<Option<Estimate>> = numbers
        .iter()
        .map(|number| p99(*number, quickest).filter(|_| *number != quickest))
        .collect();
    let longer: Vec<bool> = judge_as(Quantity::Latency, &estimates, margin)
        .into_iter()
        .map(|judgement| judgement.verdict == Verdict::Costs)
        .collect();
    // of the variants not shown to take longer, the variant with the least CPU time
    let cpu_of =
        |number: usize| overall_cpu(cells, number, 0).map_or(f64::INFINITY, |cpu| cpu.log_ratio);
    let equal =
        numbers.iter().zip(&longer).filter(|(_, longer)| !**longer).map(|(number, _)| *number);
    let leanest = equal.min_by(|a, b| cpu_of(*a).total_cmp(&cpu_of(*b))).unwrap_or(quickest);
    let estimates: Vec<Option<Estimate>> = numbers
        .iter()
        .map(|number| {
            overall_cpu(cells, *number, leanest)
                .filter(|_| *number != leanest)
                .map(Estimate::inverse)
        })
        .collect();
    let hungrier: Vec<bool> = judge(&estimates, margin)
        .into_iter()
        .map(|judgement| judgement.verdict == Verdict::Costs)
        .collect();
    let flags = |number: usize| {
        let at = numbers.iter().position(|known| *known == number).unwrap_or(0);
        (longer[at], hungrier[at])
    };
    candidates[..allowed].sort_by_key(|candidate| {
        let breadth = place_choice::breadth(question, candidate.variant);
        (
            candidate.falls_behind(cells),
            flags(candidate.number),
            standing(candidate.algorithm),
            breadth,
        )
    });

    let (best, first) = (candidates[0].number, (candidates[0].algorithm, candidates[0].variant));
    let others = &candidates[1..allowed];
    let estimates: Vec<Option<Estimate>> =
        others.iter().map(|other| p99(other.number, best)).collect();
    let judged = judge_as(Quantity::Latency, &estimates, margin);
    let relation = |(other, p99): (&Candidate, Judgement)| Relation {
        label: other.variant.label.clone(),
        reason: match flags(other.number) {
            _ if other.falls_behind(cells) => Reason::FallsBehind,
            (true, _) => Reason::Longer,
            (false, true) => Reason::MoreCpu,
            (false, false) => Reason::Standing,
        },
        p99,
        cpu: overall_cpu(cells, other.number, best),
        decided: place_choice::decided(question, first, (other.algorithm, other.variant)),
    };
    others.iter().zip(judged).map(relation).collect()
}

fn per_s(rate: f64) -> String {
    figures::rate(rate, Unit::Operations)
}

/// Returns the variants that did not keep up, and their workloads: a reader of percentiles must see
/// that first.
fn behind(plan: &Plan, rate: f64, variants: &[Variant], cells: &[Cell]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for cell in cells.iter().filter(|cell| is_behind(cell)) {
        let is_base_behind = base_of(cells, cell).is_some_and(is_behind);
        let kept = at_rate(cell).map_or(0.0, |at_rate| at_rate.kept_per_s);
        let workload = plan.called(&cell.workload);
        let reached = format!("under {workload}: reached {}", per_s(kept));
        if cell.variant == 0 {
            pieces.push(Piece::finding(format!(
                "even without encryption {} is not sustained {reached}",
                per_s(rate)
            )));
        } else if !is_base_behind {
            let label = &variants[cell.variant].label;
            let text = format!("{label} does not sustain {} {reached}", per_s(rate));
            pieces.push(Piece::finding_on(label, text));
        }
    }
    pieces
}

/// Reports how well the measurement agrees with itself, for the case that no variant has a cipher.
fn against_itself(plan: &Plan, variants: &[Variant], cells: &[Cell]) -> Vec<Piece> {
    let estimates: Vec<Option<Estimate>> =
        (1..variants.len()).map(|number| over_headline(cells, number, 0, P99)).collect();
    let judged = judge_as(Quantity::Latency, &estimates, plan.margin);
    let against = variants
        .iter()
        .skip(1)
        .zip(&estimates)
        .zip(judged)
        .filter(|((_, estimate), _)| estimate.is_some())
        .map(|((variant, _), judged)| {
            let (label, base) = (&variant.label, &variants[0].label);
            Piece::finding_on(label, format!("{label} against {base}: p99 {}", judged.words))
        });
    against.chain([refusal::measured(plan)]).collect()
}

/// Returns the answer: the variant to take, its effect on latency and CPU time, and how the others
/// compare.
fn answer(
    plan: &Plan,
    rate: f64,
    best: &Candidate,
    relations: &[Relation],
    cells: &[Cell],
) -> Vec<Piece> {
    let workloads = match headline(cells).as_slice() {
        [one] => format!("under {}", plan.called(one)),
        many => format!("over {} workloads", many.len()),
    };
    let judged = judge_as(Quantity::Latency, &[best.p99], plan.margin).remove(0);
    let words = if best.p99.is_some() { judged.words } else { why_no_p99(best) };
    let p99 = format!("{}{words}", judged.verdict.row().p99);
    let cpu = more_cpu(overall_cpu(cells, best.number, 0), plan.margin);
    let cpu = match cpu.is_open {
        true => format!(" ({})", cpu.words),
        false => format!(", with {}", cpu.words),
    };
    let label = &best.variant.label;
    let effect = format!("at {} {workloads} {p99}{cpu}", per_s(rate));
    let others = relations
        .iter()
        .map(|relation| Piece::finding_on(&relation.label, compared(relation, label, plan.margin)));
    std::iter::once(Piece::take(label, effect)).chain(others).collect()
}

/// Explains why nothing is concluded about the 99th percentile of `candidate`.
fn why_no_p99(candidate: &Candidate) -> String {
    let fewest = candidate
        .cells
        .iter()
        .filter_map(|cell| at_rate(cell))
        .map(|at_rate| at_rate.requests)
        .min();
    let slices =
        candidate.cells.iter().filter(|cell| !is_behind(cell)).map(|cell| cell.samples.len()).max();
    match (fewest, slices) {
        (Some(requests), _) if requests < REQUESTS_P99 => too_few(requests),
        (_, Some(slices)) if slices < FEWEST_PAIRS => {
            format!(
                "too few slices for an interval ({slices} of {FEWEST_PAIRS} needed; more rounds \
                 would do)"
            )
        }
        _ => "no workload was kept up with both with and without it".into(),
    }
}

fn too_few(requests: u64) -> String {
    format!(
        "too few requests for a p99 ({} of {} needed; more rounds would do)",
        figures::count(requests),
        figures::count(REQUESTS_P99)
    )
}

/// Describes how a candidate compares with the recommended one, `best`.
fn compared(relation: &Relation, best: &str, margin: f64) -> String {
    let Relation { label, reason, p99, cpu, decided } = relation;
    let decided = match reason {
        Reason::FallsBehind => return format!("{label} falls behind, see above"),
        Reason::MoreCpu => {
            return format!("{label} takes {} than {best}", more_cpu(*cpu, margin).words);
        }
        // than the shortest, which need not be that of the recommended one
        Reason::Longer => "so the shortest p99 decided",
        Reason::Standing => *decided,
    };
    let in_brackets = in_brackets(&p99.range);
    let values = [
        ("label", label.as_str()),
        ("words", p99.words.as_str()),
        ("best", best),
        ("range", p99.range.as_str()),
        ("in_brackets", in_brackets.as_str()),
        ("decided", decided),
    ];
    filled(p99.verdict.row().comparison_p99, &values)
}

/// Explains the consequences of taking `best` to the reader: latencies with and without it, the
/// gaps that it leaves, and changes that would alter the advice.
fn meaning(
    across: &Measured,
    best: &Candidate,
    relations: &[Relation],
    cells: &[Cell],
) -> Vec<String> {
    let mut meaning: Vec<String> = Vec::new();
    for cell in &best.cells {
        let (Some(own), Some(base)) = (at_rate(cell), base_of(cells, cell).and_then(at_rate))
        else {
            continue;
        };
        if let Some(line) = with_and_without(own, base) {
            let workload = across.question.plan.called(&cell.workload);
            meaning.push(format!("under {workload}: {line}"));
        }
    }
    meaning.extend(across.meaning(best.number));
    meaning.extend(unprotected(best.variant));
    let mut changes = across.changes(best.number);
    let is_open = |relation: &Relation| {
        matches!(relation.reason, Reason::Standing) && relation.p99.verdict != Verdict::NoDifference
    };
    if relations.iter().any(is_open) {
        changes.push("more rounds, which could tell the open ones apart".into());
    }
    if !changes.is_empty() {
        meaning.push(format!("what would change this: {}", changes.join("; ")));
    }
    meaning.extend(module_stated(best.variant));
    meaning
}

/// Percentiles with encryption and without, and the difference of the 99th.
fn with_and_without(own: &AtRate, base: &AtRate) -> Option<String> {
    let one = |name: &str, own: &Percentile, base: &Percentile| {
        format!(
            "{name} {} (without encryption {})",
            figures::latency_interval(own),
            figures::micros(base.us)
        )
    };
    let p50 = one("p50", own.p50.as_ref()?, base.p50.as_ref()?);
    let (Some(p99), Some(base)) = (&own.p99, &base.p99) else { return Some(p50) };
    let difference = p99.against.as_ref().map_or_else(String::new, |against| {
        let [by, low, high] =
            [against.difference_us, against.difference_low_us, against.difference_high_us]
                .map(figures::signed_micros);
        format!(", {by} ({low} to {high})")
    });
    Some(format!("{p50}, {}{difference}", one("p99", p99, base)))
}

fn ranked(candidate: &Candidate, cells: &[Cell], margin: f64) -> Ranked {
    let mut reasons: Vec<String> = candidate.barred.iter().cloned().collect();
    reasons.push(candidate.algorithm.described());
    if let Some(p99) = candidate.p99 {
        let (low, high) = p99.interval(CONFIDENCE);
        reasons.push(format!(
            "p99 × {:.3} of that without encryption ({low:.3} to {high:.3})",
            p99.ratio()
        ));
    }
    reasons.push(more_cpu(overall_cpu(cells, candidate.number, 0), margin).words);
    Ranked {
        label: candidate.variant.label.clone(),
        allowed: candidate.barred.is_none(),
        ratio: candidate.p99.map_or(0.0, |p99| p99.ratio()),
        overhead: None,
        reasons,
    }
}

/// Percentiles whose verdict is open, and thin evidence.
fn open_questions(plan: &Plan, variants: &[Variant], cells: &[Cell]) -> Vec<String> {
    let mut questions = Vec::new();
    for cell in cells.iter().filter(|cell| cell.variant != 0) {
        let p99 = at_rate(cell).and_then(|at_rate| at_rate.p99.as_ref()?.against.as_ref());
        if let Some(open) = p99.filter(|longer| longer.ratio.verdict == Verdict::CannotConclude) {
            let label = &variants[cell.variant].label;
            let workload = plan.called(&cell.workload);
            questions.push(format!("p99 of {label} under {workload}: {}", open.ratio.words));
        }
    }
    let few: Vec<&AtRate> = cells
        .iter()
        .filter_map(at_rate)
        .filter(|at_rate| at_rate.requests < REQUESTS_P99)
        .collect();
    if let Some(fewest) = few.iter().map(|at_rate| at_rate.requests).min() {
        let rounds = (plan.rounds as u64 * REQUESTS_P99).div_ceil(fewest.max(1));
        questions.push(format!("{}: --rounds {rounds}", too_few(fewest)));
    }
    let left = setting_costs::unanswered(cells);
    if !left.is_empty() {
        questions.push(format!(
            "{} gave the cipher nothing to do, or next to nothing, since reads came from the \
             cache: left out of the figures over all workloads; --preset cold would show the cost",
            left.iter().map(|name| plan.called(name)).collect::<Vec<_>>().join(", ")
        ));
    }
    questions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclude::testing::{cells_of, variants};
    use crate::measure::slice_latency::SliceLatency;
    use crate::results::open_loop::OpenLoop;

    const RATE: f64 = 2_000.0;

    /// Returns cells with the given latency, CPU time and rate, judged against the first.
    fn judged(them: &[(f64, f64, f64)], requests: u64) -> Vec<Cell> {
        let mut cells = cells_of("a", &vec![vec![2.0; 24]; them.len()]);
        for (number, (cell, (longer, cpu, kept))) in cells.iter_mut().zip(them).enumerate() {
            let slice = |block: usize| {
                // a little independent noise in each slice
                let chance = 1.0 + 0.01 * ((block * (2 * number + 3)) % 7) as f64;
                SliceLatency::new((1..=requests).map(|at| {
                    let share = at as f64 / (requests + 1) as f64;
                    (longer * chance * 100.0 * -(1.0 - share).ln(), 1)
                }))
            };
            cell.open_loop =
                Some(OpenLoop { slices: (0..24).map(slice).collect(), ..OpenLoop::default() });
            for (at, sample) in cell.samples.iter_mut().enumerate() {
                sample.operations = requests;
                sample.kept_per_s = *kept;
                sample.cpu_user_s = cpu * (1.0 + 0.002 * ((at * (number + 2)) % 5) as f64);
            }
        }
        crate::conclude::fixed_rate::judge_at_rate(&mut cells, RATE, 0.02);
        cells
    }

    fn advice(them: &[(f64, f64, f64)], requests: u64) -> Recommendation {
        let labels = ["none", "aes-256", "aria-256"];
        recommend(
            Question::from(&Plan::default()),
            RATE,
            &variants(&labels[..them.len()]),
            &judged(them, requests),
        )
    }

    #[test]
    fn who_does_not_keep_up_is_said_first_and_not_taken() {
        let found = advice(&[(1.0, 1.0, RATE), (1.0, 1.0, 1_874.0), (1.02, 1.1, RATE)], 500);
        assert_eq!(found.take.as_deref(), Some("aria-256"));
        assert!(
            found.answer.starts_with(
                "aes-256 does not sustain 2.00 k ops/s under reads and updates (a): reached \
                 1.87 k ops/s; take \
                 aria-256: at 2.00 k ops/s under reads and updates (a) its p99 shows no difference"
            ),
            "{}",
            found.answer
        );
        assert!(found.answer.ends_with("; aes-256 falls behind, see above"), "{}", found.answer);
        let none = advice(&[(1.0, 1.0, 1_500.0), (1.0, 1.0, 1_400.0)], 500);
        assert!(
            none.answer.starts_with(
                "even without encryption 2.00 k ops/s is not sustained under reads and updates \
                 (a): reached 1.50 k"
            ),
            "{}",
            none.answer
        );
    }

    #[test]
    fn the_shorter_p99_decides_then_cpu_time_then_standing() {
        let longer = advice(&[(1.0, 1.0, RATE), (1.5, 1.0, RATE), (1.0, 1.0, RATE)], 500);
        assert_eq!(longer.take.as_deref(), Some("aria-256"));
        assert!(longer.answer.contains("; aes-256 has a p99 that is "), "{}", longer.answer);
        assert!(longer.answer.ends_with(" longer than that of aria-256"), "{}", longer.answer);
        let hungrier = advice(&[(1.0, 1.0, RATE), (1.0, 1.3, RATE), (1.0, 1.1, RATE)], 500);
        assert_eq!(hungrier.take.as_deref(), Some("aria-256"));
        assert!(
            hungrier.answer.contains(" % more CPU time for the same work (between "),
            "{}",
            hungrier.answer
        );
        assert!(hungrier.answer.contains("; aes-256 takes 18."), "{}", hungrier.answer);
        let equal = advice(&[(1.0, 1.0, RATE), (1.0, 1.1, RATE), (1.0, 1.1, RATE)], 500);
        assert_eq!(equal.take.as_deref(), Some("aes-256"));
        assert!(
            equal.answer.contains("; aria-256 has the same p99 as aes-256 (no difference: "),
            "{}",
            equal.answer
        );
        assert!(
            equal.meaning[0].starts_with("under reads and updates (a): p50 "),
            "{:?}",
            equal.meaning
        );
    }

    #[test]
    fn too_few_requests_are_said_with_the_remedy() {
        let few = advice(&[(1.0, 1.0, RATE), (1.5, 1.0, RATE)], 200);
        assert!(
            few.answer.contains("the p99 is open: too few requests for a p99 (4\u{202f}800 of 10"),
            "{}",
            few.answer
        );
        assert!(
            few.open_questions.iter().any(|question| question.ends_with("--rounds 11")),
            "{:?}",
            few.open_questions
        );
        // a run that was ended early: enough requests, in too few slices
        let mut cells = judged(&[(1.0, 1.0, RATE), (1.5, 1.0, RATE)], 3_000);
        for cell in &mut cells {
            cell.samples.truncate(4);
            cell.open_loop.as_mut().unwrap().slices.truncate(4);
        }
        crate::conclude::fixed_rate::judge_at_rate(&mut cells, RATE, 0.02);
        let early = recommend(
            Question::from(&Plan::default()),
            RATE,
            &variants(&["none", "aes-256"]),
            &cells,
        );
        let want =
            "the p99 is open: too few slices for an interval (4 of 6 needed; more rounds would do)";
        assert!(early.answer.contains(want), "{}", early.answer);
        let itself = recommend(
            Question::from(&Plan::default()),
            RATE,
            &variants(&["none", "none (2)"]),
            &judged(&[(1.0, 1.0, RATE); 2], 500),
        );
        assert!(
            itself.answer.starts_with("none (2) against none: p99 no difference"),
            "{}",
            itself.answer
        );
    }
}
