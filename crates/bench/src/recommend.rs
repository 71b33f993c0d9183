//! Which variant to choose, and why: what the policy allows, ranked by measured cost and standing. Candidates are
//! compared by the ratio of their own slices; the words for every ratio are those of `verdict`. Reports what it could
//! not conclude and warns of limits; measures nothing and knows ciphers only through the table.

use std::collections::BTreeMap;

use sealstone_cipher::registry::{self, Cipher, Standing};

use crate::plan::{Plan, Policy};
use crate::ratios::{headline, left_out, overall_cpu, overall_estimate};
use crate::results::{Cell, Choice, Ranked, Recommendation, Variant};
use crate::size::human_bytes;
use crate::statistics::{Estimate, FEWEST_PAIRS};
use crate::verdict::{CONFIDENCE, Judgement, Verdict, between, judge, more_cpu};

/// One variant with a cipher, and what was measured of it.
struct Candidate<'a> {
    number: usize,
    variant: &'a Variant,
    cipher: &'static Cipher,
    cells: Vec<&'a Cell>,
    /// Its throughput to that without encryption, over the workloads that met a cipher.
    cost: Estimate,
    /// What is concluded from that.
    judgement: Judgement,
    /// Why it must not be recommended, if so.
    barred: Option<String>,
}

/// How an allowed candidate compares with the one that is recommended.
struct Relation<'a> {
    label: &'a str,
    judgement: Judgement,
    range: String,
}

/// Recommends one of `variants` on the evidence of `cells`.
pub fn recommend(plan: &Plan, variants: &[Variant], cells: &[Cell]) -> Recommendation {
    let mut candidates = candidates(plan, variants, cells);
    // allowed first; among them the quickest
    candidates.sort_by(|a, b| {
        (a.barred.is_some(), -a.cost.log_ratio)
            .partial_cmp(&(b.barred.is_some(), -b.cost.log_ratio))
            .expect("ratios are numbers")
    });
    let relations = settle(&mut candidates, cells, plan.margin);
    let mut recommendation = Recommendation {
        policy: plan.policy.word().into(),
        open_questions: open_questions(variants, cells),
        warnings: warnings(&candidates),
        ..Recommendation::default()
    };
    match candidates.first() {
        None => {
            recommendation.answer = baseline_answer(variants, cells, plan.margin);
        }
        Some(best) if best.barred.is_some() => {
            recommendation.answer = format!(
                "none of the ciphers measured can be recommended under policy {}; {} would be: {}",
                plan.policy.word(),
                if plan.policy == Policy::Any { "these" } else { "on its list" },
                allowed_names(plan.policy).join(", ")
            );
        }
        Some(best) => {
            recommendation.take = Some(best.variant.label.clone());
            recommendation.answer = answer(best, &relations, cells);
            recommendation.meaning = meaning(plan, best, &candidates, &relations, cells);
        }
    }
    let left = left_out(cells);
    if !left.is_empty() && !candidates.is_empty() {
        recommendation.open_questions.push(format!(
            "{} gave the cipher nothing to do, or next to nothing, since reads came from the cache: left out of the \
             figure over all workloads; a smaller --cache would show the cost",
            left.join(", ")
        ));
    }
    recommendation.ranking = candidates.iter().map(|candidate| ranked(candidate, &relations)).collect();
    recommendation
}

fn candidates<'a>(plan: &Plan, variants: &'a [Variant], cells: &'a [Cell]) -> Vec<Candidate<'a>> {
    let mut found = Vec::new();
    for (number, variant) in variants.iter().enumerate() {
        let Some(cipher) = variant.cipher().and_then(|name| registry::cipher(name).ok()) else { continue };
        let Some(cost) = overall_estimate(cells, number, 0) else { continue };
        found.push((number, variant, cipher, cost));
    }
    let judgements = judge(&found.iter().map(|(.., cost)| Some(*cost)).collect::<Vec<_>>(), plan.margin);
    let made = found.into_iter().zip(judgements).map(|((number, variant, cipher, cost), judgement)| Candidate {
        number,
        variant,
        cipher,
        cells: cells.iter().filter(|cell| cell.variant == number).collect(),
        cost,
        judgement,
        barred: barred(plan.policy, cipher, variant, variants),
    });
    made.collect()
}

/// Puts the candidate to take first, and says how each other allowed one compares with it. Those that are not shown to
/// be slower than the quickest go by standing.
fn settle<'a>(candidates: &mut [Candidate<'a>], cells: &[Cell], margin: f64) -> Vec<Relation<'a>> {
    let allowed = candidates.iter().filter(|candidate| candidate.barred.is_none()).count();
    if allowed == 0 {
        return Vec::new();
    }
    let to_first = |candidates: &[Candidate<'a>]| -> Vec<(Option<Estimate>, Judgement)> {
        let first = candidates[0].number;
        let estimates: Vec<Option<Estimate>> =
            candidates[1..allowed].iter().map(|other| overall_estimate(cells, other.number, first)).collect();
        let judgements = judge(&estimates, margin);
        estimates.into_iter().zip(judgements).collect()
    };
    let slower: Vec<bool> = std::iter::once(false)
        .chain(to_first(candidates).into_iter().map(|(_, judgement)| judgement.verdict == Verdict::Costs))
        .collect();
    let numbers: Vec<(usize, bool)> = candidates.iter().map(|candidate| candidate.number).zip(slower).collect();
    let is_slower = |number: usize| numbers.iter().any(|(known, slower)| *known == number && *slower);
    // a stable sort: those that are slower stay in the order of their cost
    candidates[..allowed].sort_by_key(|candidate| match is_slower(candidate.number) {
        false => (false, Some(standing(candidate.cipher))),
        true => (true, None),
    });
    let relation = |(candidate, (estimate, judgement)): (&Candidate<'a>, (Option<Estimate>, Judgement))| Relation {
        label: &candidate.variant.label,
        judgement,
        range: estimate.map_or_else(String::new, |estimate| {
            let (low, high) = estimate.interval(CONFIDENCE);
            between(low, high)
        }),
    };
    let judged = to_first(candidates);
    candidates[1..allowed].iter().zip(judged).map(relation).collect()
}

/// What to report if no variant has a cipher: how well the measurement agrees with itself.
fn baseline_answer(variants: &[Variant], cells: &[Cell], margin: f64) -> String {
    let nothing = "nothing to recommend: no cipher was measured";
    let estimates: Vec<Option<Estimate>> =
        (1..variants.len()).map(|number| overall_estimate(cells, number, 0)).collect();
    let judged = variants.iter().skip(1).zip(estimates.iter().zip(judge(&estimates, margin)));
    let answers = judged.filter(|(_, (estimate, _))| estimate.is_some()).map(|(variant, (_, judgement))| {
        let pair = format!("{} against {}", variant.label, variants[0].label);
        match judgement.verdict.is_claim() {
            true => format!(
                "{pair}: {}, though they do the same: the machine is not quiet enough for this comparison",
                judgement.words
            ),
            false => format!("{pair}: {}", judgement.words),
        }
    });
    let answers: Vec<String> = answers.collect();
    if answers.is_empty() { nothing.into() } else { format!("{}; {nothing}", answers.join("; ")) }
}

/// Why `cipher` must not be recommended under `policy`.
fn barred(policy: Policy, cipher: &Cipher, variant: &Variant, variants: &[Variant]) -> Option<String> {
    match cipher.standing {
        Standing::Legacy => return Some("legacy: for comparison and old data only".into()),
        Standing::Experimental => return Some("experimental: no standard stands behind it".into()),
        Standing::Standard | Standing::National => {}
    }
    if !allows(policy, cipher) {
        let (list, has_cipher) = match policy {
            Policy::Fips => ("approved under FIPS 140", cipher.fips),
            _ => ("on the Korean validation list (KCMVP)", cipher.kcmvp),
        };
        return Some(match has_cipher {
            true => format!("the cipher is {list}, its mode here ({}) is not", cipher.mode.word()),
            false => format!("not {list}"),
        });
    }
    // a forced backend shows what other machines would get; nobody should force it where a better one is available
    let choice = variant.choice()?;
    let is_better =
        |other: &Choice| other.accel == "auto" && other.cipher == choice.cipher && other.backend != choice.backend;
    if choice.accel != "auto" && variants.iter().filter_map(Variant::choice).any(is_better) {
        return Some(format!("the backend {} was forced for comparison; auto does the same work", choice.accel));
    }
    None
}

fn allows(policy: Policy, cipher: &Cipher) -> bool {
    match policy {
        Policy::Any => matches!(cipher.standing, Standing::Standard | Standing::National),
        Policy::Fips => cipher.meets_fips(),
        Policy::Kcmvp => cipher.meets_kcmvp(),
    }
}

/// Names of the ciphers that could be recommended under `policy`.
fn allowed_names(policy: Policy) -> Vec<&'static str> {
    let good =
        |cipher: &&Cipher| allows(policy, cipher) && matches!(cipher.standing, Standing::Standard | Standing::National);
    registry::ciphers().iter().filter(good).map(|cipher| cipher.name).collect()
}

/// Better standing is smaller: standards before national ones, longer keys before shorter, large blocks before small.
fn standing(cipher: &Cipher) -> (bool, usize, usize) {
    let rank = match cipher.standing {
        Standing::Standard => 0,
        Standing::National => 1,
        Standing::Experimental => 2,
        Standing::Legacy => 3,
    };
    (cipher.block_bytes < 16, rank, usize::MAX - cipher.key_bytes)
}

/// The answer in one sentence: what to take, what it costs, and how the others compare with it.
fn answer(best: &Candidate, relations: &[Relation], cells: &[Cell]) -> String {
    let workloads = match headline(cells).as_slice() {
        [one] => format!("under workload {one}"),
        many => format!("over {} workloads", many.len()),
    };
    let words = &best.judgement.words;
    let cost = match best.judgement.verdict {
        Verdict::NoDifference => format!("it makes {words} {workloads}"),
        Verdict::CannotConclude => format!("what it costs {workloads} is open: {words}"),
        Verdict::Costs | Verdict::Gains | Verdict::AtMost => format!("{workloads} it {words}"),
    };
    let mut answer = format!("take {}: {cost}", best.variant.label);
    for relation in relations {
        answer.push_str("; ");
        answer.push_str(&compared(relation, &best.variant.label));
    }
    answer
}

/// How one candidate compares with the one that is recommended, `best`.
fn compared(relation: &Relation, best: &str) -> String {
    let Relation { label, judgement, range } = relation;
    match judgement.verdict {
        Verdict::Costs => format!("{label} {} more", judgement.words),
        Verdict::Gains => format!("{label} {}", judgement.words),
        Verdict::NoDifference => {
            format!("{label} costs the same as {best} (no difference: {range}), so standing decided")
        }
        Verdict::AtMost | Verdict::CannotConclude if range.is_empty() => {
            format!("cannot conclude whether {label} costs more or less than {best}, so standing decided")
        }
        Verdict::AtMost | Verdict::CannotConclude => {
            format!("cannot conclude whether {label} costs more or less than {best} ({range}), so standing decided")
        }
    }
}

/// What taking `best` means to its reader, what it leaves open to others, and what would change the advice.
fn meaning(
    plan: &Plan,
    best: &Candidate,
    candidates: &[Candidate],
    relations: &[Relation],
    cells: &[Cell],
) -> Vec<String> {
    let cpu = more_cpu(overall_cpu(cells, best.number, 0), plan.margin);
    let mut meaning = vec![format!("it means: {cpu}")];
    if best.variant.layers.keys().all(|layer| layer == "rest") {
        meaning.push(
            "not protected by it: data in memory and on the wire, and whatever a user of the running store may read"
                .into(),
        );
    }
    let mut changes = Vec::new();
    // the first policy that this cipher does not meet and another one measured does
    let policy = if allows(Policy::Fips, best.cipher) { Policy::Kcmvp } else { Policy::Fips };
    let better = |other: &&Candidate| allows(policy, other.cipher) && other.barred.is_none();
    if plan.policy == Policy::Any
        && !allows(policy, best.cipher)
        && let Some(other) = candidates.iter().find(better)
    {
        changes.push(format!("--policy {} ({} instead)", policy.word(), other.variant.label));
    }
    let is_open = |relation: &Relation| matches!(relation.judgement.verdict, Verdict::AtMost | Verdict::CannotConclude);
    if relations.iter().any(is_open) {
        changes.push("more rounds, which could tell the open ones apart".into());
    }
    if !left_out(cells).is_empty() {
        changes.push("a cache that the data does not fit into".into());
    }
    if !changes.is_empty() {
        meaning.push(format!("what would change this: {}", changes.join("; ")));
    }
    meaning
}

fn ranked(candidate: &Candidate, relations: &[Relation]) -> Ranked {
    let Candidate { cipher, variant, cells, cost, barred, .. } = candidate;
    let (low, high) = cost.interval(CONFIDENCE);
    let ratio = cost.ratio();
    let mut reasons = Vec::new();
    if let Some(reason) = barred {
        reasons.push(reason.clone());
    }
    reasons.push(format!("{}: {}", cipher.standing.word(), cipher.source));
    reasons.push(format!("throughput × {ratio:.3} of unencrypted ({low:.3} to {high:.3})"));
    let costs = cells.iter().filter_map(|cell| Some((cell.overhead.as_ref()?.ratio, cell.workload.as_str())));
    let worst = costs.min_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((worst, workload)) = worst.filter(|_| cells.len() > 1) {
        reasons.push(format!("worst under {workload}: × {worst:.3}"));
    }
    let below = cells.iter().filter(|cell| crate::saturation::is_below(&cell.saturation)).count();
    if below > 0 {
        reasons
            .push(format!("{below} of {} workloads ran below saturation, where part of a cost is hidden", cells.len()));
    }
    if let Some(relation) = relations.iter().find(|relation| relation.label == variant.label) {
        reasons.push(format!("against the one recommended: {}", relation.judgement.words));
    }
    Ranked { label: variant.label.clone(), allowed: barred.is_none(), ratio, reasons }
}

/// Cells whose verdict is open, and thin evidence.
fn open_questions(variants: &[Variant], cells: &[Cell]) -> Vec<String> {
    let mut questions: Vec<String> = cells
        .iter()
        .filter_map(|cell| {
            let overhead = cell.overhead.as_ref().filter(|overhead| overhead.verdict == Verdict::CannotConclude)?;
            Some(format!("{} under {}: {}", variants[cell.variant].label, cell.workload, overhead.words))
        })
        .collect();
    let thin = cells.iter().filter_map(|cell| cell.overhead.as_ref()).map(|overhead| overhead.pairs).min();
    if let Some(pairs) = thin.filter(|&pairs| pairs < 2 * FEWEST_PAIRS) {
        questions.push(format!("some ratios rest on {pairs} pairs of slices only; more rounds would firm them up"));
    }
    questions
}

/// What to heed before taking one of the ciphers.
fn warnings(candidates: &[Candidate]) -> Vec<String> {
    // one warning a cipher, however many backends ran it
    let mut ciphers: BTreeMap<u16, (&Cipher, u64)> = BTreeMap::new();
    for candidate in candidates {
        let stored = candidate.cells.iter().map(|cell| cell.disk_bytes).max().unwrap_or(0);
        let written = |cell: &&Cell| cell.samples.iter().map(|sample| sample.encrypted_bytes).sum::<u64>();
        let volume = candidate.cells.iter().map(written).max().unwrap_or(0).max(stored);
        let entry = ciphers.entry(candidate.cipher.id).or_insert((candidate.cipher, 0));
        entry.1 = entry.1.max(volume);
    }
    let mut warnings = Vec::new();
    for (cipher, volume) in ciphers.into_values() {
        let name = cipher.name;
        match cipher.standing {
            Standing::Legacy => warnings.push(format!("{name} is legacy: for comparison and old data only")),
            Standing::Experimental => warnings.push(format!("{name} is experimental: no standard stands behind it")),
            Standing::Standard | Standing::National => {}
        }
        if let Some(caveat) = cipher.caveat {
            warnings.push(format!("{name}: {caveat}"));
        }
        if cipher.block_bytes < 16 {
            warnings.push(format!(
                "{name} has blocks of {} bits: collisions become likely within gigabytes under one key",
                cipher.block_bytes * 8
            ));
        }
        let limit = cipher.limits.bytes_per_key;
        if volume > limit {
            warnings.push(format!(
                "{name} may encrypt {} under one key ({}); the {} of this data set need at least {} keys",
                human_bytes(limit),
                cipher.limits.source,
                human_bytes(volume),
                volume.div_ceil(limit)
            ));
        }
    }
    warnings
}

#[cfg(test)]
mod tests;
