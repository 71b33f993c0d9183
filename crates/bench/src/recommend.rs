//! Which variant to choose, and why: what the policy allows, ranked by measured cost and standing. Reports what it
//! could not conclude and warns of limits; measures nothing and knows ciphers only through the table.

use std::collections::BTreeMap;

use sealstone_cipher::registry::{self, Cipher, Standing};

use crate::plan::{Plan, Policy};
use crate::results::{Cell, Choice, Ranked, Recommendation, Variant, Verdict};
use crate::size::human_bytes;
use crate::statistics::{self, FEWEST_PAIRS};

/// One variant with a cipher, and what was measured of it.
struct Candidate<'a> {
    variant: &'a Variant,
    cipher: &'static Cipher,
    cells: Vec<&'a Cell>,
    /// Geometric mean of its ratios over the workloads.
    ratio: f64,
    /// The same for the ends of the interval: the true mean at worst and at best.
    low: f64,
    high: f64,
    /// Why it must not be recommended, if so.
    barred: Option<String>,
}

/// Recommends one of `variants` on the evidence of `cells`.
pub fn recommend(plan: &Plan, variants: &[Variant], cells: &[Cell]) -> Recommendation {
    let mut candidates: Vec<Candidate> = variants
        .iter()
        .enumerate()
        .filter_map(|(number, variant)| candidate(plan.policy, number, variant, variants, cells))
        .collect();
    // allowed first; among them the quickest; what is as quick within noise goes by standing, further down
    candidates.sort_by(|a, b| {
        (a.barred.is_some(), -a.ratio).partial_cmp(&(b.barred.is_some(), -b.ratio)).expect("ratios are numbers")
    });
    let tied = settle_ties(&mut candidates);
    let mut recommendation = Recommendation {
        policy: plan.policy.word().into(),
        open_questions: open_questions(variants, cells),
        warnings: warnings(&candidates),
        ..Recommendation::default()
    };
    match candidates.first() {
        None => {
            recommendation.answer = baseline_answer(variants, cells);
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
            recommendation.answer = answer(best, &tied);
        }
    }
    recommendation.ranking = candidates.iter().map(|candidate| ranked(candidate, &candidates[0], &tied)).collect();
    recommendation
}

fn candidate<'a>(
    policy: Policy,
    number: usize,
    variant: &'a Variant,
    variants: &[Variant],
    cells: &'a [Cell],
) -> Option<Candidate<'a>> {
    let cipher = registry::cipher(variant.cipher()?).ok()?;
    let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.variant == number).collect();
    let (ratio, low, high) = overall(&cells)?;
    let barred = barred(policy, cipher, variant, variants);
    Some(Candidate { variant, cipher, cells, ratio, low, high, barred })
}

/// The geometric mean of the ratios of `cells`, and its value at worst and at best; none without ratios.
fn overall(cells: &[&Cell]) -> Option<(f64, f64, f64)> {
    let overheads: Vec<_> = cells.iter().filter_map(|cell| cell.overhead.as_ref()).collect();
    if overheads.is_empty() {
        return None;
    }
    let mean = |of: fn(&crate::results::Overhead) -> f64| {
        (overheads.iter().map(|overhead| of(overhead).max(1e-9).ln()).sum::<f64>() / overheads.len() as f64).exp()
    };
    let ratio = mean(|overhead| overhead.ratio);
    // the ratios of different workloads err independently, so the error of their mean is the root of the sum of squares
    let half = overheads
        .iter()
        .map(|overhead| ((overhead.high.max(1e-9) / overhead.low.max(1e-9)).ln() / 2.0).powi(2))
        .sum::<f64>()
        .sqrt()
        / overheads.len() as f64;
    Some((ratio, ratio * (-half).exp(), ratio * half.exp()))
}

/// What to report if no variant has a cipher: how well the measurement agrees with itself.
fn baseline_answer(variants: &[Variant], cells: &[Cell]) -> String {
    // as seldom wrong as a verdict on one workload, though it is drawn from all and asked every time: 99 instead of 95
    // %
    const SURE: f64 = 2.576 / 1.96;
    let nothing = "nothing to recommend: no cipher was measured";
    let mut answers = Vec::new();
    for (number, variant) in variants.iter().enumerate().skip(1) {
        let cells: Vec<&Cell> = cells.iter().filter(|cell| cell.variant == number).collect();
        let Some((ratio, low, high)) = overall(&cells) else { continue };
        let surely = ratio.ln().abs() - SURE * (high / low).ln() / 2.0 > statistics::MARGIN;
        let finding = match (high / low).ln() / 2.0 {
            half if half > statistics::NARROW => "cannot be told apart yet: more rounds would help",
            _ if surely => "differ, though they do the same: the machine is not quiet enough for this comparison",
            _ => "no difference",
        };
        let range = statistics::between(low, high);
        answers.push(format!("{} against {}: {finding} ({range})", variant.label, variants[0].label));
    }
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

/// Among the allowed candidates whose cost cannot be distinguished from the least, puts those of the best standing
/// first, and returns the labels of all that tie.
fn settle_ties(candidates: &mut [Candidate]) -> Vec<String> {
    let Some(best) = candidates.first().filter(|best| best.barred.is_none()) else { return Vec::new() };
    let (low, ratio) = (best.low, best.ratio);
    // the lower end of the best against the upper end of the other; a difference below the margin does not count
    let ties = |candidate: &Candidate| {
        candidate.barred.is_none()
            && (candidate.high >= low || (ratio / candidate.ratio).ln() <= statistics::MARGIN.ln_1p())
    };
    let count = candidates.iter().take_while(|candidate| ties(candidate)).count();
    candidates[..count].sort_by_key(|candidate| standing(candidate.cipher));
    candidates[..count].iter().map(|candidate| candidate.variant.label.clone()).collect()
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

fn answer(best: &Candidate, tied: &[String]) -> String {
    let label = &best.variant.label;
    let workloads = match best.cells.len() {
        1 => format!("under workload {}", best.cells[0].workload),
        count => format!("over {count} workloads"),
    };
    let narrow = (best.high / best.low).ln() / 2.0 <= statistics::NARROW;
    let range = statistics::between(best.low, best.high);
    let cost = match (1.0 - best.ratio) * 100.0 {
        _ if !narrow => format!("what it costs {workloads} cannot be concluded yet ({range}); more rounds would help"),
        _ if best.low <= 1.0 && best.high >= 1.0 => {
            format!("it costs nothing that could be told from noise {workloads} ({range})")
        }
        percent if percent > 0.0 => format!("it costs {percent:.1} % of the throughput {workloads} ({range})"),
        percent => format!("its throughput is {:.1} % higher than without encryption {workloads} ({range})", -percent),
    };
    let others: Vec<&str> = tied.iter().filter(|other| *other != label).map(String::as_str).collect();
    match others.len() {
        0 => format!("take {label}: {cost}"),
        1 => format!("take {label}: {cost}; {} costs the same within noise, so standing decided", others[0]),
        _ => format!("take {label}: {cost}; {} cost the same within noise, so standing decided", others.join(", ")),
    }
}

fn ranked(candidate: &Candidate, best: &Candidate, tied: &[String]) -> Ranked {
    let Candidate { cipher, variant, cells, ratio, low, high, barred } = candidate;
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
    if barred.is_none() && tied.len() > 1 && tied.contains(&variant.label) && variant.label != best.variant.label {
        reasons.push(format!("cannot be told from {} by cost", best.variant.label));
    }
    Ranked { label: variant.label.clone(), allowed: barred.is_none(), ratio: *ratio, reasons }
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
mod tests {
    use super::*;
    use crate::results::{Latency, Overhead, Sample, Saturation, TimeSplit};
    use crate::workload::Unit;

    fn choice(cipher: &str, accel: &str) -> Choice {
        let backend = if accel == "auto" { "avx2" } else { accel };
        Choice { cipher: cipher.into(), accel: accel.into(), backend: backend.into() }
    }

    fn variants(labels: &[(&str, Option<&str>, &str)]) -> Vec<Variant> {
        let variant = |&(label, cipher, accel): &(&str, Option<&str>, &str)| Variant {
            label: label.into(),
            layers: cipher.map(|cipher| ("rest".into(), choice(cipher, accel))).into_iter().collect(),
        };
        labels.iter().map(variant).collect()
    }

    fn cell(variant: usize, workload: &str, ratio: f64, half: f64) -> Cell {
        let verdict = if half > 0.05 { Verdict::CannotConclude } else { Verdict::Costs };
        Cell {
            variant,
            workload: workload.into(),
            unit: Unit::Operations,
            clients: 8,
            samples: vec![Sample { encrypted_bytes: 10_000_000, ..Sample::default() }; 3],
            throughput: 1_000.0 * ratio,
            latency: BTreeMap::<String, Latency>::new(),
            service: BTreeMap::new(),
            cpu: Vec::new(),
            time: TimeSplit::default(),
            cache_hit_rate: None,
            disk_bytes: 100_000_000,
            generator_share: None,
            saturation: Saturation { by: "cpu".into(), cpu_share: 0.95, reason: String::new() },
            overhead: (variant > 0).then(|| Overhead {
                ratio,
                low: ratio * (1.0 - half),
                high: ratio * (1.0 + half),
                pairs: 24,
                verdict,
                words: "words".into(),
                cpu_ratio: 1.0,
            }),
        }
    }

    fn plan(policy: Policy) -> Plan {
        Plan { policy, ..Plan::default() }
    }

    const THREE: [(&str, Option<&str>, &str); 4] = [
        ("none", None, "auto"),
        ("aes-256", Some("aes-256"), "auto"),
        ("aria-256", Some("aria-256"), "auto"),
        ("3des", Some("3des"), "auto"),
    ];

    fn cells(ratios: [f64; 3], half: f64) -> Vec<Cell> {
        let mut cells = vec![cell(0, "a", 1.0, half), cell(0, "c", 1.0, half)];
        for (number, ratio) in ratios.into_iter().enumerate() {
            cells.extend([cell(number + 1, "a", ratio, half), cell(number + 1, "c", ratio * 0.98, half)]);
        }
        cells
    }

    fn labels(recommendation: &Recommendation) -> Vec<&str> {
        recommendation.ranking.iter().map(|ranked| ranked.label.as_str()).collect()
    }

    #[test]
    fn the_quickest_allowed_one_wins_and_legacy_never() {
        let found = recommend(&plan(Policy::Any), &variants(&THREE), &cells([0.90, 0.97, 0.99], 0.01));
        assert_eq!(found.take.as_deref(), Some("aria-256"));
        assert_eq!(labels(&found), ["aria-256", "aes-256", "3des"]);
        assert!(
            found.answer.starts_with("take aria-256: it costs 4.0 % of the throughput over 2 workloads"),
            "{}",
            found.answer
        );
        assert!(!found.ranking[2].allowed && found.ranking[2].reasons[0].starts_with("legacy"));
        assert!(found.warnings.iter().any(|warning| warning.contains("3des has blocks of 64 bits")));
        assert!(found.warnings.iter().any(|warning| warning.contains("need at least 12 keys")), "{:?}", found.warnings);
        assert!(!found.warnings.iter().any(|warning| warning.starts_with("aes-256")));
        assert!(found.open_questions.is_empty());
    }

    #[test]
    fn within_noise_standing_decides_and_says_so() {
        let found = recommend(&plan(Policy::Any), &variants(&THREE), &cells([0.965, 0.97, 0.5], 0.02));
        assert_eq!(found.take.as_deref(), Some("aes-256"));
        assert!(
            found.answer.ends_with("aria-256 costs the same within noise, so standing decided"),
            "{}",
            found.answer
        );
        assert!(found.ranking[1].reasons.iter().any(|reason| reason == "cannot be told from aes-256 by cost"));
    }

    #[test]
    fn the_policy_is_obeyed() {
        let all = cells([0.99, 0.80, 0.99], 0.01);
        let korean = recommend(&plan(Policy::Kcmvp), &variants(&THREE), &all);
        assert_eq!(korean.take.as_deref(), Some("aria-256"));
        assert!(korean.ranking.iter().any(|ranked| ranked.label == "aes-256" && !ranked.allowed));
        let fips = recommend(&plan(Policy::Fips), &variants(&THREE), &all);
        assert_eq!(fips.take.as_deref(), Some("aes-256"));
    }

    /// HIGHT is on the Korean list; counter mode with keyed BLAKE3, which it is sealed with here, is not.
    #[test]
    fn a_policy_is_about_cipher_and_mode() {
        let two = variants(&[THREE[0], ("hight", Some("hight"), "auto"), THREE[2]]);
        let all = [cell(0, "a", 1.0, 0.01), cell(1, "a", 0.99, 0.01), cell(2, "a", 0.8, 0.01)];
        let korean = recommend(&plan(Policy::Kcmvp), &two, &all);
        assert_eq!(korean.take.as_deref(), Some("aria-256"));
        let hight = korean.ranking.iter().find(|ranked| ranked.label == "hight").unwrap();
        let reason = "the cipher is on the Korean validation list (KCMVP), its mode here (ctr+mac) is not";
        assert!(!hight.allowed && hight.reasons[0] == reason, "{:?}", hight.reasons);
        let alone = recommend(&plan(Policy::Kcmvp), &two[..2], &all[..2]);
        assert!(alone.take.is_none() && !alone.answer.contains("hight"), "{}", alone.answer);
    }

    #[test]
    fn without_an_allowed_cipher_it_names_some() {
        let only = variants(&[THREE[0], THREE[3]]);
        let found = recommend(&plan(Policy::Kcmvp), &only, &[cell(0, "a", 1.0, 0.01), cell(1, "a", 0.9, 0.01)]);
        assert_eq!(found.take, None);
        assert!(found.answer.contains("policy kcmvp") && found.answer.contains("aria-256"), "{}", found.answer);
        assert!(!found.answer.contains("3des"));
        let none = recommend(&plan(Policy::Any), &only[..1], &[cell(0, "a", 1.0, 0.01)]);
        assert_eq!((none.take, none.ranking.len()), (None, 0));
    }

    #[test]
    fn a_forced_backend_is_shown_and_not_recommended() {
        let two = variants(&[THREE[0], THREE[1], ("aes-256 portable", Some("aes-256"), "portable")]);
        let all = [cell(0, "a", 1.0, 0.01), cell(1, "a", 0.95, 0.01), cell(2, "a", 0.99, 0.01)];
        let found = recommend(&plan(Policy::Any), &two, &all);
        assert_eq!(found.take.as_deref(), Some("aes-256"));
        assert!(found.ranking[1].reasons[0].contains("forced for comparison"));
    }

    #[test]
    fn the_baseline_against_itself_is_answered_too() {
        let both = variants(&[THREE[0], ("none (2)", None, "auto")]);
        let answer = |ratio, half| {
            let cells = [
                cell(0, "a", 1.0, half),
                cell(0, "c", 1.0, half),
                cell(1, "a", ratio, half),
                cell(1, "c", ratio, half),
            ];
            recommend(&plan(Policy::Any), &both, &cells).answer
        };
        for (ratio, half, want) in [
            (1.0, 0.02, "none (2) against none: no difference (between "),
            // twenty standard errors off, but within what two stores with the same content differ by
            (1.009, 0.001, "none (2) against none: no difference (between "),
            (0.9, 0.02, "none (2) against none: differ, though they do the same"),
            (1.1, 0.02, "none (2) against none: differ, though they do the same"),
            (1.0, 0.3, "none (2) against none: cannot be told apart yet: more rounds would help (between "),
            (0.9, 0.3, "none (2) against none: cannot be told apart yet: more rounds would help (between "),
        ] {
            let found = answer(ratio, half);
            assert!(found.starts_with(want), "{ratio} ± {half}: {found}");
            assert!(found.ends_with("; nothing to recommend: no cipher was measured"), "{found}");
        }
    }

    #[test]
    fn what_stays_open_is_reported() {
        let found = recommend(&plan(Policy::Any), &variants(&THREE), &cells([0.9, 0.9, 0.9], 0.2));
        assert_eq!(found.open_questions.len(), 6);
        assert!(found.answer.contains("cannot be concluded yet"), "{}", found.answer);
        assert_eq!(found.open_questions[0], "aes-256 under a: words");
    }
}
