//! Choice of places that cover the threats in `protect-from`, and the report about it: the gaps of
//! a variant, the layers to add, and changes that would alter the advice. Costs come in as ratios
//! and are judged like all others; the costs of two places are never added up.

use sealstone_store::Layer;

use crate::advise::algorithm::Algorithm;
use crate::advise::eligibility;
use crate::conclude::judgement::judge_as;
use crate::conclude::statistics::Estimate;
use crate::results::{Piece, Variant};
use crate::study::coverage::{Cost, Coverage, CoverageEntry, CoverageRow, Question};
use crate::words::places::{Place, Protection, entry, place_name};
use crate::words::threat::Threat;
use crate::words::verdict::{CONFIDENCE, Quantity, Verdict};

/// Layers that are advised, from the caller down: functions of the server are measured, and never
/// advised.
const ADVISED: [Layer; 3] = [Layer::Field, Layer::Wire, Layer::Rest];

/// Returns how far `layers` together protect from `threat`, and why: as far as the best of them
/// does.
fn protection(
    question: Question<'_>,
    layers: &[Layer],
    threat: Threat,
) -> (Protection, &'static str) {
    let within = question.surroundings.within_process;
    let mut best = match entry(Place::Rest, threat).at(within) {
        nobody @ (Protection::NobodyThere, _) => nobody,
        _ => (Protection::LeavesOpen, "nothing is encrypted"),
    };
    for (at, layer) in layers.iter().enumerate() {
        let by_policy =
            question.plan.fields.is_some() && !question.surroundings.policy_seals_everything;
        let found = entry(Place::of(*layer, by_policy), threat).at(within);
        if at == 0 || found.0 > best.0 {
            best = found;
        }
    }
    best
}

/// Returns the least that `layers` do about any of `threats`.
fn least(question: Question<'_>, layers: &[Layer], threats: &[Threat]) -> Protection {
    let each = threats.iter().map(|threat| protection(question, layers, *threat).0);
    each.min().unwrap_or(Protection::NobodyThere)
}

/// Returns the layers in which `variant` encrypts, from the caller down.
fn layers_of(variant: &Variant) -> Vec<Layer> {
    variant.layers.keys().copied().collect()
}

/// Returns the threats that `question` names; empty where it names none.
fn asked(question: Question<'_>) -> Vec<Threat> {
    question.plan.threats().unwrap_or_default()
}

/// Returns `Partly` where that is the most that anything of what may be recommended does about all
/// of `threats`.
fn needed(question: Question<'_>, variants: &[Variant], threats: &[Threat]) -> Option<Protection> {
    let of = |variant: &Variant| {
        let is_allowed =
            eligibility::barred(question.plan.policy, Algorithm::of(variant)?, variant, variants)
                .is_none();
        is_allowed.then(|| least(question, &layers_of(variant), threats).min(Protection::Protects))
    };
    variants.iter().filter_map(of).max().filter(|best| *best > Protection::LeavesOpen)
}

/// Returns the reason why `variant` with `algorithm` must not be recommended: policy and standing,
/// or what it leaves open.
pub(crate) fn barred(
    question: Question<'_>,
    algorithm: Algorithm,
    variant: &Variant,
    variants: &[Variant],
) -> Option<String> {
    if let Some(reason) = eligibility::barred(question.plan.policy, algorithm, variant, variants) {
        return Some(reason);
    }
    let threats = asked(question);
    let (layers, needed) = (layers_of(variant), needed(question, variants, &threats));
    let falls_short = |threat: &&Threat| {
        let found = protection(question, &layers, **threat).0;
        needed.is_none_or(|needed| found < needed) && found < Protection::Protects
    };
    let threat = threats.iter().find(falls_short)?;
    let (found, reason) = protection(question, &layers, *threat);
    Some(match found {
        Protection::Partly => format!("protects from {} only in part: {reason}", threat.name()),
        _ => format!("leaves {} open: {reason}", threat.name()),
    })
}

/// Computes what decides between variants whose cost and standing are alike: who else can still see
/// data, then the number of its places. Smaller is better.
pub(crate) fn breadth(question: Question<'_>, variant: &Variant) -> (usize, usize) {
    if question.plan.protect_from.is_empty() {
        return (0, 0);
    }
    let layers = layers_of(variant);
    let open = Threat::ALL
        .iter()
        .filter(|threat| protection(question, &layers, **threat).0 < Protection::Protects);
    (open.count(), layers.len())
}

/// Returns the reason for `best` rather than `other`, if their figures do not separate them.
pub(crate) fn decided(
    question: Question<'_>,
    best: (Algorithm, &Variant),
    other: (Algorithm, &Variant),
) -> &'static str {
    let by_standing = eligibility::decided(best.0, other.0);
    let alike = eligibility::standing(best.0) == eligibility::standing(other.0);
    match (breadth(question, best.1), breadth(question, other.1)) {
        (one, two) if !alike || one == two => by_standing,
        (one, two) if one.0 != two.0 => "so what else it protects from decided",
        _ => "so the smaller number of places decided",
    }
}

/// Returns the requested protection, for the answer to take `best`: `to protect from dba and
/// network`; `None` if nothing was requested.
pub(crate) fn purpose(question: Question<'_>, best: &Variant) -> Option<Piece> {
    let threats = asked(question);
    let layers = layers_of(best);
    let (partly, wholly): (Vec<Threat>, Vec<Threat>) = threats
        .iter()
        .partition(|threat| protection(question, &layers, **threat).0 < Protection::Protects);
    let text = match (wholly.is_empty(), partly.is_empty()) {
        (true, true) => return None,
        (false, true) => format!("to protect from {}", listed(&wholly)),
        (true, false) => {
            format!("nothing that was measured protects wholly from {}; in part", listed(&partly))
        }
        (false, false) => format!(
            "nothing that was measured protects wholly from all of them; to protect from {} and in \
             part from {}",
            listed(&wholly),
            listed(&partly)
        ),
    };
    Some(Piece::purpose(&best.label, text))
}

/// Returns, if no measured variant covers the request under any policy, the layers that would cover
/// it and how to measure them.
pub(crate) fn uncovered(question: Question<'_>, variants: &[Variant]) -> Option<Vec<Piece>> {
    let threats = asked(question);
    let sealed = variants.iter().filter(|variant| Algorithm::of(variant).is_some());
    let covers =
        |variant: &Variant| least(question, &layers_of(variant), &threats) > Protection::LeavesOpen;
    if threats.is_empty() || sealed.clone().any(covers) {
        return None;
    }
    let left_open = |threat: &&Threat| {
        sealed.clone().all(|variant| {
            protection(question, &layers_of(variant), **threat).0 == Protection::LeavesOpen
        })
    };
    let open: Vec<Threat> = threats.iter().filter(left_open).copied().collect();
    // each may be covered by something, and nothing covers all of them
    let open = if open.is_empty() { threats.clone() } else { open };
    let (first, rest) = what_would(question, &threats);
    let first = format!("nothing that was measured protects from {}: {first}", listed(&open));
    Some(std::iter::once(first).chain(rest).map(Piece::finding).collect())
}

/// Returns what would protect from all of `threats`, and how it could be measured, if anything
/// would.
fn what_would(question: Question<'_>, threats: &[Threat]) -> (String, Option<String>) {
    let Some(layers) = fewest(question, threats) else {
        let cannot = |threat: &&Threat| fewest(question, &[**threat]).is_none();
        let Some(threat) = threats.iter().find(cannot) else {
            return ("no places together protect from all of them".into(), None);
        };
        let (_, reason) = protection(question, &ADVISED, *threat);
        return (format!("no place protects from {} here: {reason}", threat.name()), None);
    };
    let (name, verb) =
        (place_name(&layers), if layers.len() > 1 { "together would" } else { "would" });
    let mut list = question.plan.layer.clone();
    list.push(name.clone());
    let how = match can_measure(question, &layers) {
        true => format!("--layer {} measures it", list.join(",")),
        false => {
            format!("what that costs is not measured, since {}", why_not(question, &layers))
        }
    };
    (format!("{name} {verb}"), Some(how))
}

/// Returns the smallest set of advised layers that protects from all of `threats`; of several equal
/// sets one that can be measured.
fn fewest(question: Question<'_>, threats: &[Threat]) -> Option<Vec<Layer>> {
    let sets = (1_u32..1 << ADVISED.len()).map(|bits| -> Vec<Layer> {
        ADVISED
            .into_iter()
            .enumerate()
            .filter(|(at, _)| bits >> at & 1 == 1)
            .map(|(_, layer)| layer)
            .collect()
    });
    let covering = sets.filter(|layers| least(question, layers, threats) >= Protection::Protects);
    let lacking = |layer: &&Layer| !can_measure(question, std::slice::from_ref(*layer));
    covering.min_by_key(|layers| (layers.len(), layers.iter().filter(lacking).count()))
}

/// Returns whether a comparison can have `layers` with the store of `question`.
fn can_measure(question: Question<'_>, layers: &[Layer]) -> bool {
    layers.iter().all(|layer| store_takes(question, *layer))
}

fn store_takes(question: Question<'_>, layer: Layer) -> bool {
    let known = &question.surroundings.layers;
    known.is_empty() || known.iter().any(|name| name == layer.name())
}

/// Returns the reason why `layers` cannot be measured.
fn why_not(question: Question<'_>, layers: &[Layer]) -> String {
    let store = question.plan.point().store;
    match layers.iter().find(|layer| !store_takes(question, **layer)) {
        Some(Layer::Wire) => {
            format!("{store} speaks no TLS (a sealed tunnel does without: sealstone wire)")
        }
        lacking => {
            format!("sealstone has no {} for {store}", lacking.map_or("", |layer| layer.name()))
        }
    }
}

/// Returns `a`, `a and b`, `a, b and c`.
fn listed(threats: &[Threat]) -> String {
    joined(threats, "and")
}

/// Returns the names of `threats` with commas, and `word` before the last.
fn joined(threats: &[Threat], word: &str) -> String {
    let names: Vec<&str> = threats.iter().map(|threat| threat.name()).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).into(),
        [most @ .., last] => format!("{} {word} {last}", most.join(", ")),
    }
}

/// Variants with the ratios between them.
pub(crate) struct Measured<'a> {
    pub(crate) question: Question<'a>,
    pub(crate) variants: &'a [Variant],
    /// Quantity that the ratios are of.
    pub(crate) quantity: Quantity,
    /// Ratio of a variant to another one, over all workloads.
    pub(crate) ratio: &'a dyn Fn(usize, usize) -> Option<Estimate>,
}

/// An alternative request, with the variant that would then be taken.
struct Instead {
    /// True if the threat is left out; otherwise it is added.
    drops: bool,
    threat: Threat,
    number: usize,
    /// The ratio of that variant to the advised variant.
    ratio: Estimate,
}

impl Measured<'_> {
    /// Returns what taking the variant number `best` means for each person: who is kept out, why
    /// somebody is kept out only in part, and who was not part of the request.
    pub(crate) fn meaning(&self, best: usize) -> Vec<String> {
        let (threats, layers) = (asked(self.question), layers_of(&self.variants[best]));
        let found = |threat: &Threat| protection(self.question, &layers, *threat);
        let those = |wanted: Protection| -> Vec<Threat> {
            threats.iter().filter(|threat| found(threat).0 == wanted).copied().collect()
        };
        let mut lines = Vec::new();
        let (kept_out, absent) = (those(Protection::Protects), those(Protection::NobodyThere));
        if !kept_out.is_empty() {
            lines.push(format!("protects from {}", listed(&kept_out)));
        }
        for threat in those(Protection::Partly) {
            lines.push(format!(
                "protects from {} in part only: {}",
                threat.name(),
                found(&threat).1
            ));
        }
        if let Some(one) = absent.first() {
            lines.push(format!("there is no {} here: {}", joined(&absent, "or"), found(one).1));
        }
        let open = self.others(&threats, &layers);
        if !threats.is_empty() && !open.is_empty() {
            lines.push(format!(
                "not asked about, and left open or protected from in part only: {}",
                listed(&open)
            ));
        }
        lines
    }

    /// Returns what would change the advice to take the variant number `best`: to protect from
    /// fewer people, where that is shown to be cheaper, or from more.
    pub(crate) fn changes(&self, best: usize) -> Vec<String> {
        let (threats, layers) = (asked(self.question), layers_of(&self.variants[best]));
        let mut instead =
            if threats.len() > 1 { self.with_fewer(best, &threats) } else { Vec::new() };
        let mut unmeasured = Vec::new();
        let others = if threats.is_empty() { Vec::new() } else { self.others(&threats, &layers) };
        for threat in others {
            let more: Vec<Threat> = threats.iter().copied().chain([threat]).collect();
            let found = self.cheapest(best, |layers| {
                least(self.question, layers, &more) >= Protection::Protects
            });
            match found {
                Some((number, ratio)) => {
                    instead.push(Instead { drops: false, threat, number, ratio })
                }
                None => unmeasured.extend(
                    // a threat that nothing protects from changes nothing
                    fewest(self.question, &more).map(|layers| {
                        format!("{} as well: {}, not measured", threat.name(), place_name(&layers))
                    }),
                ),
            }
        }
        if least(self.question, &layers, &threats) < Protection::Protects {
            let (first, rest) = what_would(self.question, &threats);
            let parts: Vec<String> = std::iter::once(first).chain(rest).collect();
            unmeasured.push(format!("to protect wholly: {}", parts.join("; ")));
        }
        // one family
        let estimates: Vec<Option<Estimate>> = instead.iter().map(|one| Some(one.ratio)).collect();
        let judged = judge_as(self.quantity, &estimates, self.question.plan.margin);
        let words = instead.iter().zip(judged).filter_map(|(one, judgement)| {
            let (threat, label) = (one.threat.name(), &self.variants[one.number].label);
            match (one.drops, judgement.verdict) {
                (false, _) => {
                    Some(format!("{threat} as well: {label} ({} against this)", judgement.words))
                }
                (true, Verdict::Gains) => {
                    Some(format!("without {threat}: {label} ({} against this)", judgement.words))
                }
                (true, _) => None,
            }
        });
        words.chain(unmeasured).collect()
    }

    /// Returns, for each of `threats`, the cheapest variant that would suffice without that threat.
    fn with_fewer(&self, best: usize, threats: &[Threat]) -> Vec<Instead> {
        let own = layers_of(&self.variants[best]);
        let without = |threat: &Threat| {
            let fewer: Vec<Threat> = threats.iter().filter(|one| *one != threat).copied().collect();
            let needed = least(self.question, &own, &fewer).min(Protection::Protects);
            let of = |layers: &[Layer]| protection(self.question, layers, *threat).0;
            let does = |layers: &[Layer]| {
                least(self.question, layers, &fewer) >= needed && of(layers) < of(&own)
            };
            let (number, ratio) = self.cheapest(best, does)?;
            Some(Instead { drops: true, threat: *threat, number, ratio })
        };
        threats.iter().filter_map(without).collect()
    }

    /// Returns the threats that are not among `threats`, and from which `layers` do not wholly
    /// protect.
    fn others(&self, threats: &[Threat], layers: &[Layer]) -> Vec<Threat> {
        let is_open = |threat: &Threat| {
            !threats.contains(threat)
                && protection(self.question, layers, *threat).0 < Protection::Protects
        };
        Threat::ALL.into_iter().filter(is_open).collect()
    }

    /// Returns the cheapest variant except `best` that may be recommended and whose layers satisfy
    /// `wanted`, with its ratio to `best`.
    fn cheapest(
        &self,
        best: usize,
        wanted: impl Fn(&[Layer]) -> bool,
    ) -> Option<(usize, Estimate)> {
        let Self { question, variants, .. } = self;
        let is_allowed = |variant: &Variant| {
            let algorithm = Algorithm::of(variant);
            algorithm.is_some_and(|one| {
                eligibility::barred(question.plan.policy, one, variant, variants).is_none()
            })
        };
        let cost = |estimate: &Estimate| match self.quantity {
            Quantity::Throughput => -estimate.log_ratio,
            Quantity::Latency => estimate.log_ratio,
        };
        let numbers = (0..variants.len()).filter(|number| *number != best);
        let found = numbers.filter(|number| {
            is_allowed(&variants[*number]) && wanted(&layers_of(&variants[*number]))
        });
        let measured = found.filter_map(|number| Some((number, (self.ratio)(number, best)?)));
        measured.min_by(|a, b| cost(&a.1).total_cmp(&cost(&b.1)))
    }

    /// Returns the record for the results: every variant and every place that was not measured,
    /// each with what it protects from.
    pub(crate) fn coverage(&self) -> Option<Coverage> {
        let Self { question, variants, quantity, .. } = self;
        if question.plan.protect_from.is_empty() {
            return None;
        }
        let mut rows: Vec<CoverageRow> = Vec::new();
        for (number, cost) in self.costs() {
            let layers = layers_of(&variants[number]);
            rows.push(self.row(&layers, Some(variants[number].label.clone()), cost));
        }
        let within = question.surroundings.within_process;
        let is_here = |layer: &Layer| !(within && matches!(layer, Layer::Wire | Layer::Server));
        for layer in Layer::ALL.into_iter().filter(is_here) {
            if !rows.iter().any(|row| row.place == layer.name()) {
                rows.push(self.row(&[layer], None, None));
            }
        }
        Some(Coverage {
            protect_from: asked(*question).iter().map(|threat| threat.name().into()).collect(),
            surroundings: question.surroundings.clone(),
            quantity: match quantity {
                Quantity::Throughput => "throughput".into(),
                Quantity::Latency => "p99".into(),
            },
            rows,
        })
    }

    /// Returns the cost of every variant that encrypts. Ciphers are one family, as in the answer;
    /// functions of the server, which are never advised, another one.
    fn costs(&self) -> Vec<(usize, Option<Cost>)> {
        let is_ours = |number: &usize| Algorithm::of(&self.variants[*number]).is_some();
        let sealed =
            (0..self.variants.len()).filter(|number| !self.variants[*number].is_baseline());
        let (ours, theirs): (Vec<usize>, Vec<usize>) = sealed.partition(is_ours);
        let judged = |numbers: Vec<usize>| -> Vec<(usize, Option<Cost>)> {
            let estimates: Vec<Option<Estimate>> =
                numbers.iter().map(|number| (self.ratio)(*number, 0)).collect();
            // a variant without a ratio is left out
            let known: Vec<Option<Estimate>> =
                estimates.iter().copied().filter(Option::is_some).collect();
            let mut judgements =
                judge_as(self.quantity, &known, self.question.plan.margin).into_iter();
            let mut cost = |estimate: Estimate| {
                let judgement = judgements.next()?;
                let (low, high) = estimate.interval(CONFIDENCE);
                let (verdict, words) = (judgement.verdict, judgement.words);
                Some(Cost { ratio: estimate.ratio(), low, high, verdict, words })
            };
            let costs: Vec<Option<Cost>> =
                estimates.into_iter().map(|one| one.and_then(&mut cost)).collect();
            numbers.into_iter().zip(costs).collect()
        };
        [judged(ours), judged(theirs)].concat()
    }

    fn row(&self, layers: &[Layer], variant: Option<String>, cost: Option<Cost>) -> CoverageRow {
        let entry = |threat: Threat| {
            let (protection, reason) = protection(self.question, layers, threat);
            CoverageEntry { threat: threat.name().into(), protection, reason: reason.into() }
        };
        let place = place_name(layers);
        CoverageRow { place, variant, cost, entries: Threat::ALL.into_iter().map(entry).collect() }
    }
}

#[cfg(test)]
mod tests;
