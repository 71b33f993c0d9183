//! Choice of the variant to recommend, with reasons: the variants that the policy allows, ranked by
//! measured cost and standing. Candidates are compared by the ratio of their own slices; the words
//! for every ratio come from `judgement`. Reports open questions and warns of limits; measures
//! nothing and takes facts about ciphers only from the table.

pub(crate) mod fixed_rate;
mod refusal;
mod setting_costs;

use crate::advise::algorithm::{Algorithm, Noun};
use crate::advise::eligibility::{
    allows, module_stated, no_module, standing, unprotected, warnings,
};
use crate::advise::place_choice::{self, Measured};
use crate::conclude::judgement::{Judgement, judge, more_cpu};
use crate::conclude::ratios::{self, headline, overall_cpu, overall_estimate};
use crate::conclude::statistics::Estimate;
use crate::conclude::sustained_rate;
use crate::results::{Cell, Overhead, Piece, Ranked, Recommendation, Variant};
use crate::study::coverage::Question;
use crate::study::plan::{Plan, Policy};
use crate::words::verdict::FEWEST_PAIRS;
use crate::words::verdict::{CONFIDENCE, Quantity, Verdict, filled};

/// One variant with a cipher or a suite, and its measurements.
struct Candidate<'a> {
    number: usize,
    variant: &'a Variant,
    algorithm: Algorithm,
    cells: Vec<&'a Cell>,
    /// Its throughput to that without encryption, over the workloads that met a cipher.
    cost: Estimate,
    /// Conclusion drawn from that.
    judgement: Judgement,
    /// CPU seconds for the same work to those without encryption; 1 where none were counted.
    cpu_ratio: f64,
    /// Reason why it must not be recommended, if there is one.
    barred: Option<String>,
}

/// Comparison of an allowed candidate with the recommended one.
struct Relation<'a> {
    label: &'a str,
    /// Its own cost, compared with no encryption.
    own: Judgement,
    /// Conclusion about it, compared with the recommended candidate.
    judgement: Judgement,
    /// Factor that decided between it and the recommended candidate, if not the figures.
    decided: &'static str,
}

/// Recommends one of `variants` on the evidence of `cells`, as an answer to `question`.
pub fn recommend(question: Question<'_>, variants: &[Variant], cells: &[Cell]) -> Recommendation {
    let plan = question.plan;
    let mut candidates = candidates(question, variants, cells);
    // allowed first; among them the quickest
    candidates.sort_by(|a, b| {
        (a.barred.is_some(), -a.cost.log_ratio)
            .partial_cmp(&(b.barred.is_some(), -b.cost.log_ratio))
            .expect("ratios are numbers")
    });
    let measured: Vec<_> =
        candidates.iter().map(|candidate| (candidate.algorithm, candidate.cells.clone())).collect();
    let relations = settle(question, &mut candidates, cells);
    let ratio = |variant: usize, other: usize| overall_estimate(cells, variant, other);
    let across = Measured { question, variants, quantity: Quantity::Throughput, ratio: &ratio };
    let open_questions = open_questions(plan, variants, cells);
    let mut recommendation = begun(&across, open_questions, &measured);
    let uncovered = place_choice::uncovered(question, variants);
    let noun = Noun::of(plan, variants.iter().filter_map(Algorithm::of));
    let is_sealed = variants.iter().any(|variant| Algorithm::of(variant).is_some());
    let pieces = match candidates.first() {
        None if is_sealed => refusal::estimated(plan, noun, cells),
        None => baseline_answer(plan, variants, cells),
        Some(best)
            if best.barred.is_some() && limit_not_met(plan, cells, best.number).is_some() =>
        {
            let (label, why) = (&best.variant.label, best.barred.as_deref().unwrap_or_default());
            vec![
                Piece::finding(format!(
                    "none of the {} measured meets the limit under every workload",
                    noun.several()
                )),
                Piece::finding_on(label, format!("{label}: {why}")),
            ]
        }
        Some(best) if best.barred.is_some() && uncovered.is_some() => uncovered.unwrap_or_default(),
        Some(best) if best.barred.is_some() => refusal::allowed(plan, noun, variants),
        // a variant without a finding cannot be taken
        Some(best) if best.judgement.verdict == Verdict::CannotConclude => {
            open(plan, &candidates, cells)
        }
        Some(best) => {
            recommendation.take = Some(best.variant.label.clone());
            recommendation.cpu =
                Some(more_cpu(overall_cpu(cells, best.number, 0), plan.margin).words);
            recommendation.meaning = meaning(&across, best, &candidates, &relations, cells);
            let purpose = place_choice::purpose(question, best.variant);
            purpose.into_iter().chain(answer(plan, best, &relations, cells)).collect()
        }
    };
    let mut recommendation = recommendation.with_answer(pieces);
    // whatever the answer is, it is one under this policy
    recommendation.meaning.extend(no_module(plan.policy != Policy::Any));
    let left = setting_costs::unanswered(cells);
    if !left.is_empty() && is_sealed {
        recommendation.open_questions.push(format!(
            "{} gave the cipher nothing to do, or next to nothing, since reads came from the \
             cache: left out of the figure over all workloads; --preset cold would show the cost",
            left.iter().map(|name| plan.called(name)).collect::<Vec<_>>().join(", ")
        ));
    }
    // against the one recommended, if one is
    let relations = recommendation.take.as_ref().map_or(&[][..], |_| &relations);
    recommendation.ranking =
        candidates.iter().map(|candidate| ranked(plan, candidate, relations)).collect();
    recommendation
}

/// Returns a recommendation that has no answer yet.
///
/// - `measured`: each candidate with its measurements
fn begun(
    across: &Measured<'_>,
    open_questions: Vec<String>,
    measured: &[(Algorithm, Vec<&Cell>)],
) -> Recommendation {
    Recommendation {
        policy: across.question.plan.policy.word().into(),
        open_questions,
        warnings: warnings(measured),
        coverage: across.coverage(),
        ..Recommendation::default()
    }
}

fn candidates<'a>(
    question: Question<'_>,
    variants: &'a [Variant],
    cells: &'a [Cell],
) -> Vec<Candidate<'a>> {
    let mut found = Vec::new();
    for (number, variant) in variants.iter().enumerate() {
        let Some(algorithm) = Algorithm::of(variant) else { continue };
        let Some(cost) = overall_estimate(cells, number, 0) else { continue };
        found.push((number, variant, algorithm, cost));
    }
    let judgements = judge(
        &found.iter().map(|(.., cost)| Some(*cost)).collect::<Vec<_>>(),
        question.plan.margin,
    );
    let made =
        found.into_iter().zip(judgements).map(|((number, variant, algorithm, cost), judgement)| {
            Candidate {
                number,
                variant,
                algorithm,
                cells: cells.iter().filter(|cell| cell.variant == number).collect(),
                cost,
                judgement,
                cpu_ratio: overall_cpu(cells, number, 0).map_or(1.0, |cpu| cpu.ratio()),
                barred: place_choice::barred(question, algorithm, variant, variants)
                    .or_else(|| limit_not_met(question.plan, cells, number)),
            }
        });
    made.collect()
}

/// Puts the candidate to take first, and returns how each other allowed candidate compares with it.
/// Candidates not shown to be slower than the quickest are ranked by standing, then by their
/// further protection.
fn settle<'a>(
    question: Question<'_>,
    candidates: &mut [Candidate<'a>],
    cells: &[Cell],
) -> Vec<Relation<'a>> {
    let plan = question.plan;
    let allowed = candidates.iter().filter(|candidate| candidate.barred.is_none()).count();
    if allowed == 0 {
        return Vec::new();
    }
    let to_first = |candidates: &[Candidate<'a>]| -> Vec<Judgement> {
        let first = candidates[0].number;
        let estimates: Vec<Option<Estimate>> = candidates[1..allowed]
            .iter()
            .map(|other| overall_estimate(cells, other.number, first))
            .collect();
        judge(&estimates, plan.margin)
    };
    let slower: Vec<bool> = std::iter::once(false)
        .chain(
            to_first(candidates).into_iter().map(|judgement| judgement.verdict == Verdict::Costs),
        )
        .collect();
    let numbers: Vec<(usize, bool)> =
        candidates.iter().map(|candidate| candidate.number).zip(slower).collect();
    let is_slower =
        |number: usize| numbers.iter().any(|(known, slower)| *known == number && *slower);
    // a stable sort: slower candidates stay in the order of their cost
    candidates[..allowed].sort_by_key(|candidate| match is_slower(candidate.number) {
        false => (
            false,
            Some((
                standing(candidate.algorithm),
                place_choice::breadth(question, candidate.variant),
            )),
        ),
        true => (true, None),
    });
    let relation = |(candidate, judgement): (&Candidate<'a>, Judgement)| Relation {
        label: &candidate.variant.label,
        own: candidate.judgement.clone(),
        judgement,
        decided: place_choice::decided(
            question,
            (candidates[0].algorithm, candidates[0].variant),
            (candidate.algorithm, candidate.variant),
        ),
    };
    let judged = to_first(candidates);
    candidates[1..allowed].iter().zip(judged).map(relation).collect()
}

/// Returns why the highest rate of `variant` under the limit is not enough to go by: there is none
/// under a workload where the baseline has one.
fn limit_not_met(plan: &Plan, cells: &[Cell], variant: usize) -> Option<String> {
    let rate = |cell: &Cell| cell.open_loop.as_ref()?.sustained.as_ref()?.rate_per_s;
    let is_lost = |cell: &&Cell| {
        let base = cells.iter().find(|base| base.variant == 0 && base.workload == cell.workload);
        cell.variant == variant
            && sustained_rate::is_searched(cell)
            && rate(cell).is_none()
            && base.and_then(rate).is_some()
    };
    let lost = cells.iter().find(is_lost)?;
    let words = lost
        .open_loop
        .as_ref()?
        .sustained
        .as_ref()
        .map(|found| found.words.as_str())
        .unwrap_or_default();
    Some(format!("under {} {words}", plan.called(&lost.workload)))
}

/// Reports how well the measurement agrees with itself, for the case that no variant has a cipher.
fn baseline_answer(plan: &Plan, variants: &[Variant], cells: &[Cell]) -> Vec<Piece> {
    let estimates: Vec<Option<Estimate>> =
        (1..variants.len()).map(|number| overall_estimate(cells, number, 0)).collect();
    let judged = variants.iter().skip(1).zip(estimates.iter().zip(judge(&estimates, plan.margin)));
    let answers =
        judged.filter(|(_, (estimate, _))| estimate.is_some()).map(|(variant, (_, judgement))| {
            let pair = format!("{} against {}", variant.label, variants[0].label);
            // functions of the server are measured, but not recommended
            let text = match judgement.verdict.is_claim() && variant.is_baseline() {
                true => format!(
                    "{pair}: {}, though they do the same: the machine is not quiet enough for this \
                     comparison",
                    judgement.words
                ),
                false => format!("{pair}: {}", judgement.words),
            };
            Piece::finding_on(&variant.label, text)
        });
    answers.chain([refusal::measured(plan)]).collect()
}

/// Describes what the figures measure, and over how many of the workloads: `by throughput against
/// no encryption, over 5 of 6 workloads`.
fn of_what(plan: &Plan, candidate: &Candidate, cells: &[Cell]) -> String {
    // the workloads that its figure is made of: a run that ended early has others, too
    let estimated = |name: &&str| ratios::to_baseline(cells, candidate.number, name).is_some();
    let workloads = match (
        headline(cells).into_iter().filter(estimated).collect::<Vec<_>>(),
        candidate.cells.len(),
    ) {
        (one, 1) if one.len() == 1 => format!("under {}", plan.called(one[0])),
        (all, 2) if all.len() == 2 => "over both workloads".into(),
        (all, most) if all.len() == most => format!("over all {most} workloads"),
        (some, most) => format!("over {} of {most} workloads", some.len()),
    };
    let quantity = match plan.p99 {
        None => "throughput".into(),
        Some(limit) => format!("the rate sustained with a p99 of at most {limit}"),
    };
    format!("by {quantity} against no encryption, {workloads}")
}

/// Returns a cost in a sentence whose subject comes before it.
fn verb(judgement: &Judgement) -> String {
    format!("{}{}", judgement.verdict.row().verb, judgement.words)
}

/// Returns the answer: the variant to take, its cost, and how the others compare with it. Every
/// figure is against no encryption, except figures between two candidates, which are labelled.
fn answer(plan: &Plan, best: &Candidate, relations: &[Relation], cells: &[Cell]) -> Vec<Piece> {
    let label = &best.variant.label;
    let cost = format!("{} it {}", of_what(plan, best, cells), verb(&best.judgement));
    let others = relations.iter().flat_map(|relation| compared(relation, label));
    std::iter::once(Piece::take(label, cost)).chain(others).collect()
}

/// Returns the answer where the cost of the candidate that would be taken is unknown.
fn open(plan: &Plan, candidates: &[Candidate], cells: &[Cell]) -> Vec<Piece> {
    let allowed = candidates.iter().filter(|candidate| candidate.barred.is_none());
    let each = allowed.enumerate().map(|(at, candidate)| {
        let label = &candidate.variant.label;
        let cost = format!("{label} {}", verb(&candidate.judgement));
        match at {
            0 => Piece::open(label, format!("{}, {cost}", of_what(plan, candidate, cells))),
            _ => Piece::open(label, cost),
        }
    });
    each.collect()
}

/// Describes how a candidate compares with the recommended one, `best`.
fn compared(relation: &Relation, best: &str) -> Vec<Piece> {
    let Relation { label, own, judgement, decided } = relation;
    let (own, in_brackets) = (verb(own), in_brackets(&judgement.range));
    let values = [
        ("label", *label),
        ("own", own.as_str()),
        ("best", best),
        ("range", judgement.range.as_str()),
        ("in_brackets", in_brackets.as_str()),
        ("decided", *decided),
    ];
    let clauses = judgement.verdict.row().comparison.iter();
    clauses.map(|clause| Piece::finding_on(label, filled(clause, &values))).collect()
}

/// Returns `range` in brackets, after a space; nothing if there is none.
fn in_brackets(range: &str) -> String {
    if range.is_empty() { String::new() } else { format!(" ({range})") }
}

/// Explains the consequences of taking `best` to the reader, the gaps that it leaves, and changes
/// that would alter the advice.
fn meaning(
    across: &Measured,
    best: &Candidate,
    candidates: &[Candidate],
    relations: &[Relation],
    cells: &[Cell],
) -> Vec<String> {
    let plan = across.question.plan;
    let mut meaning = rates(plan, best, cells);
    meaning.extend(setting_costs::line(plan, cells, best.number));
    meaning.extend(across.meaning(best.number));
    meaning.extend(unprotected(best.variant));
    let mut changes = across.changes(best.number);
    // the first policy that this cipher does not meet and another one measured does
    let policy = if allows(Policy::Fips, best.variant) { Policy::Kcmvp } else { Policy::Fips };
    let better = |other: &&Candidate| allows(policy, other.variant) && other.barred.is_none();
    let mut names_list = false;
    if plan.policy == Policy::Any
        && !allows(policy, best.variant)
        && let Some(other) = candidates.iter().find(better)
    {
        names_list = true;
        changes.push(format!("--policy {} ({} instead)", policy.word(), other.variant.label));
    }
    let is_open = |relation: &Relation| relation.judgement.verdict.is_open();
    if relations.iter().any(is_open) {
        changes.push("more rounds, which could tell the open ones apart".into());
    }
    if !setting_costs::unanswered(cells).is_empty() {
        changes.push("a cache that the data does not fit into".into());
    }
    if !changes.is_empty() {
        meaning.push(format!("what would change this: {}", changes.join("; ")));
    }
    meaning.extend(module_stated(best.variant));
    meaning.extend(no_module(names_list));
    meaning
}

/// Returns the rates that `best` and the baseline sustain under each workload, if there was a
/// search for them.
fn rates(plan: &Plan, best: &Candidate, cells: &[Cell]) -> Vec<String> {
    let words = |cell: &Cell| Some(cell.open_loop.as_ref()?.sustained.as_ref()?.words.clone());
    let both = |cell: &&Cell| {
        let base = cells.iter().find(|base| base.variant == 0 && base.workload == cell.workload)?;
        Some(format!(
            "under {} it {}; without encryption the store {}",
            plan.called(&cell.workload),
            words(cell)?,
            words(base)?
        ))
    };
    best.cells.iter().filter_map(both).collect()
}

fn ranked(plan: &Plan, candidate: &Candidate, relations: &[Relation]) -> Ranked {
    let Candidate { algorithm, variant, cells, cost, barred, .. } = candidate;
    let (low, high) = cost.interval(CONFIDENCE);
    let ratio = cost.ratio();
    let mut reasons = Vec::new();
    if let Some(reason) = barred {
        reasons.push(reason.clone());
    }
    reasons.push(algorithm.described());
    let measure = if cells.iter().any(|cell| sustained_rate::is_searched(cell)) {
        "rate sustained"
    } else {
        "throughput"
    };
    reasons.push(format!("{measure} × {ratio:.3} of unencrypted ({low:.3} to {high:.3})"));
    let estimated =
        |cell: &&Cell| cell.overhead.as_ref().is_some_and(|overhead| overhead.interval.is_some());
    let costs = cells.iter().filter(|cell| estimated(cell));
    let costs =
        costs.filter_map(|cell| Some((cell.overhead.as_ref()?.ratio, cell.workload.as_str())));
    let worst = costs.min_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((worst, workload)) = worst.filter(|_| cells.len() > 1) {
        reasons.push(format!("worst under {}: × {worst:.3}", plan.called(workload)));
    }
    let below = cells
        .iter()
        .filter(|cell| {
            cell.open_loop.is_none() && crate::conclude::saturation::is_below(&cell.saturation)
        })
        .count();
    if below > 0 {
        reasons.push(format!(
            "{below} of {} workloads ran below saturation, where part of a cost is hidden",
            cells.len()
        ));
    }
    if let Some(relation) = relations.iter().find(|relation| relation.label == variant.label) {
        reasons.push(format!("against the one recommended: {}", relation.judgement.words));
    }
    let overhead = Overhead {
        ratio,
        interval: Some((low, high).into()),
        pairs: cost.pairs,
        loads: cost.loads,
        verdict: candidate.judgement.verdict,
        words: candidate.judgement.words.clone(),
        cpu_ratio: candidate.cpu_ratio,
    };
    Ranked {
        label: variant.label.clone(),
        allowed: barred.is_none(),
        ratio,
        overhead: Some(overhead),
        reasons,
    }
}

/// Cells whose verdict is open, and thin evidence.
fn open_questions(plan: &Plan, variants: &[Variant], cells: &[Cell]) -> Vec<String> {
    let unconfirmed = cells.iter().filter_map(|cell| {
        let found =
            cell.open_loop.as_ref()?.sustained.as_ref().filter(|found| !found.is_confirmed)?;
        let workload = plan.called(&cell.workload);
        Some(format!("{} under {workload}: {}", variants[cell.variant].label, found.words))
    });
    let mut questions: Vec<String> = unconfirmed.collect();
    questions.extend(cells.iter().filter_map(|cell| {
        let overhead = cell
            .overhead
            .as_ref()
            .filter(|overhead| overhead.verdict == Verdict::CannotConclude)?;
        let workload = plan.called(&cell.workload);
        Some(format!("{} under {workload}: {}", variants[cell.variant].label, overhead.words))
    }));
    let estimated =
        cells.iter().filter_map(|cell| cell.overhead.as_ref()).filter(|one| one.interval.is_some());
    let thin = estimated.map(|overhead| overhead.pairs).min();
    if let Some(pairs) = thin.filter(|&pairs| pairs < 2 * FEWEST_PAIRS) {
        questions.push(format!(
            "some ratios rest on {pairs} pairs of slices only; more rounds would firm them up"
        ));
    }
    questions
}

#[cfg(test)]
mod tests;
