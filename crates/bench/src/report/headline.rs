//! The answer in ten seconds: one sentence, and what the advised variant costs on the whole, at
//! worst and at best.

use serde::Serialize;

use super::index::Run;
use super::overview::{ends, of_cell, quantity, value};
use crate::conclude::figures;
use crate::conclude::fixed_rate::P99;
use crate::conclude::judgement::judge_as;
use crate::conclude::ratios::{headline as met, over_headline, to_baseline};
use crate::results::answer::sentence;
use crate::results::{Interval, Overhead, Piece, PieceKind};
use crate::words::verdict::{CONFIDENCE, Quantity, Verdict};
use crate::workload::Unit;

/// The answer, and what follows from it.
#[derive(Serialize)]
pub(super) struct Headline {
    /// One sentence.
    pub(super) sentence: String,
    /// The cost on the whole, at worst and at best; the only cost where there is one.
    pub(super) numbers: Vec<Number>,
    /// Rest of the answer: of other variants, or of each where none is advised.
    pub(super) others: Vec<String>,
}

/// One figure with the workloads that it is of.
#[derive(Serialize)]
pub(super) struct Number {
    /// `typical`, `worst` or `best`.
    name: &'static str,
    /// In words: `12.0 % slower`.
    pub(super) value: String,
    /// Its 95 % confidence interval.
    interval: String,
    /// `reads, cold cache (c-cold)`.
    of: String,
}

/// Returns the answer of `run`.
pub(super) fn headline(run: &Run) -> Headline {
    let answer = &run.results.recommendation.pieces;
    let taken = answer.iter().position(|piece| piece.kind == PieceKind::Take).and_then(|at| {
        let is_taken = |label: &str| label == answer[at].label;
        let number = run.results.variants.iter().position(|variant| is_taken(&variant.label))?;
        Some((at, number, on_the_whole(run, number)?))
    });
    let Some((at, number, whole)) = taken else { return without_a_choice(answer) };
    // with the pieces before it: whom nothing protects from, and who falls behind
    let mut first = answer[..=at].to_vec();
    first[at].text = effect(run, number, &whole);
    Headline {
        sentence: opening(&first),
        numbers: numbers(run, number, whole),
        others: texts(&answer[at + 1..]),
    }
}

/// Returns the answer where no variant is advised: its first piece, and the rest.
fn without_a_choice(answer: &[Piece]) -> Headline {
    let (sentence, others) = match answer {
        [] => ("Nothing was concluded.".into(), answer),
        // each variant with its interval, which is not the answer
        [Piece { kind: PieceKind::Open, .. }, ..] => {
            ("Nothing to take yet: what encryption costs cannot be concluded.".into(), answer)
        }
        [_, rest @ ..] => (opening(&answer[..1]), rest),
    };
    Headline { sentence, numbers: Vec::new(), others: texts(others) }
}

fn texts(pieces: &[Piece]) -> Vec<String> {
    pieces.iter().map(|piece| piece.text.clone()).collect()
}

/// Returns the cost of the variant `number` over all workloads that met a cipher.
pub(super) fn on_the_whole(run: &Run, number: usize) -> Option<Overhead> {
    let results = run.results;
    let label = &results.variants[number].label;
    let ranked = results.recommendation.ranking.iter().find(|ranked| ranked.label == *label);
    if run.rate().is_none() {
        return ranked?.overhead.clone();
    }
    let estimate = over_headline(&results.cells, number, 0, P99)?;
    let judged = judge_as(Quantity::Latency, &[Some(estimate)], results.plan.margin).remove(0);
    let interval = Interval::from(estimate.interval(CONFIDENCE));
    Some(Overhead {
        ratio: estimate.ratio(),
        interval: Some(interval),
        pairs: estimate.pairs,
        loads: estimate.loads,
        verdict: judged.verdict,
        words: judged.words,
        cpu_ratio: f64::NAN,
    })
}

/// Returns the effect of the variant `number` on the store in half a sentence, whose figure is that
/// of the first number below it.
fn effect(run: &Run, number: usize, whole: &Overhead) -> String {
    let store = &run.results.engine.name;
    let workloads = estimated(run, number);
    let over = match workloads.as_slice() {
        [one] => format!("under {}", run.results.plan.called(one)),
        _ => "on the whole".to_owned(),
    };
    let effect = whole.verdict.effect(quantity(run), whole.ratio, ends(whole), store);
    if let Some(rate) = run.rate() {
        return format!("at {}, {over}, {effect}", figures::rate(rate, Unit::Operations));
    }
    match run.limit() {
        Some(limit) => format!("with a p99 of at most {limit}, {over} {effect}"),
        None => format!("{over} {effect}"),
    }
}

/// Returns the workloads that the figure of the variant `number` is made of.
fn estimated<'a>(run: &Run<'a>, number: usize) -> Vec<&'a str> {
    let cells = &run.results.cells;
    let has_ratio =
        |name: &&str| run.rate().is_some() || to_baseline(cells, number, name).is_some();
    met(cells).into_iter().filter(has_ratio).collect()
}

/// Returns the figures of the variant `number`.
fn numbers(run: &Run, number: usize, whole: Overhead) -> Vec<Number> {
    let quantity = quantity(run);
    let one = |name, overhead: &Overhead, of: String| Number {
        name,
        value: value(quantity, overhead),
        interval: overhead
            .interval
            .map_or_else(String::new, |Interval { low, high }| quantity.between(low, high)),
        of,
    };
    let mut single: Vec<(&str, Overhead)> = estimated(run, number)
        .into_iter()
        .filter_map(|name| Some((name, of_cell(run.cell(name, number))?)))
        .filter(|(_, overhead)| overhead.interval.is_some() && overhead.verdict != Verdict::NotMet)
        .collect();
    single.sort_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    if quantity == Quantity::Latency {
        single.reverse();
    }
    let of_all = match (estimated(run, number).len(), run.workloads.len()) {
        (1, _) => {
            single.first().map_or_else(String::new, |(name, _)| run.results.plan.called(name))
        }
        (2, 2) => "both workloads".into(),
        (some, all) if some == all => format!("all {all} workloads"),
        (some, all) => format!("{some} of {all} workloads"),
    };
    let mut numbers = vec![one("typical", &whole, of_all)];
    if let [(worst, cost), .., (best, least)] = single.as_slice() {
        numbers.push(one("worst", cost, run.results.plan.called(worst)));
        numbers.push(one("best", least, run.results.plan.called(best)));
    }
    numbers
}

/// Returns `pieces` as a sentence with a capital first letter, unless it begins with the name of
/// the variant that its first piece is about.
fn opening(pieces: &[Piece]) -> String {
    let text = sentence(pieces) + ".";
    let is_name = |piece: &Piece| !piece.label.is_empty() && text.starts_with(&piece.label);
    if pieces.first().is_some_and(is_name) {
        return text;
    }
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + characters.as_str()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclude::testing::{cell, comparison};

    fn overhead(ratio: f64, (low, high): (f64, f64), verdict: Verdict) -> Overhead {
        Overhead {
            ratio,
            interval: Some(Interval { low, high }),
            pairs: 12,
            loads: 3,
            verdict,
            words: String::new(),
            cpu_ratio: 1.0,
        }
    }

    #[test]
    fn a_figure_is_said_in_whole_words() {
        let (of_work, of_time) = (Quantity::Throughput, Quantity::Latency);
        for (quantity, ratio, ends, verdict, words) in [
            (of_work, 0.88, (0.85, 0.91), Verdict::Costs, "12.0 % slower"),
            (of_work, 1.03, (1.02, 1.04), Verdict::Gains, "3.0 % faster"),
            (of_work, 0.99, (0.985, 1.01), Verdict::NoDifference, "no difference"),
            (of_work, 0.97, (0.947, 1.03), Verdict::AtMost, "at most 5.3 % slower"),
            (of_work, 1.04, (1.0, 1.08), Verdict::AtMost, "costs nothing"),
            (of_work, 0.9, (0.6, 1.2), Verdict::CannotConclude, "cannot conclude"),
            (of_time, 1.12, (1.05, 1.19), Verdict::Costs, "12.0 % longer"),
            (of_time, 1.1, (0.9, 1.3), Verdict::AtMost, "at most 30.0 % longer"),
        ] {
            assert_eq!(value(quantity, &overhead(ratio, ends, verdict)), words);
        }
    }

    /// The sentence states what the first figure shows, and worst and best are at the ends.
    #[test]
    fn the_sentence_follows_from_the_figures() {
        let slices = |ratio: f64| vec![ratio; 24];
        let mut cells = Vec::new();
        for (name, ratio) in [("a", 0.9), ("c-cold", 0.7), ("oltp", 0.95)] {
            cells.extend([cell(0, name, &slices(1.0)), cell(1, name, &slices(ratio))]);
        }
        let mut comparison = comparison(&["none", "aes-256"], cells);
        crate::compare::groups::judge_again(&mut comparison);
        let runs = comparison.runs();
        let run = Run::new(&runs[0], String::new());
        let found = headline(&run);
        let [typical, worst, best] = found.numbers.as_slice() else { panic!("three figures") };
        assert!(
            found.sentence.starts_with("Take aes-256: on the whole ")
                && found.sentence.ends_with(&format!(" is {} with it.", typical.value)),
            "{} {}",
            found.sentence,
            typical.value
        );
        assert_eq!(typical.of, "all 3 workloads");
        assert_eq!(
            (worst.value.as_str(), worst.of.as_str()),
            ("30.0 % slower", "reads, cold cache (c-cold)")
        );
        assert_eq!((best.value.as_str(), best.of.as_str()), ("5.0 % slower", "order entry (oltp)"));
        assert!(found.others.is_empty(), "{:?}", found.others);
    }

    #[test]
    fn without_a_choice_the_answer_is_its_first_piece() {
        let nothing = "nothing to recommend: no cipher was measured";
        let found = without_a_choice(&[Piece::finding(nothing), Piece::finding("more")]);
        assert_eq!(found.sentence, "Nothing to recommend: no cipher was measured.");
        assert_eq!(found.others, ["more"]);
        let open = "by throughput, aes-256 is open";
        let found = without_a_choice(&[Piece::open("aes-256", open)]);
        let unknown = "Nothing to take yet: what encryption costs cannot be concluded.";
        assert_eq!(found.sentence, unknown);
        assert_eq!(found.others, [open]);
        let behind = "aes-256 does not sustain 2.00 k ops/s under reads (c): reached 1.50 k ops/s";
        let found = without_a_choice(&[Piece::finding_on("aes-256", behind)]);
        assert_eq!(found.sentence, format!("{behind}."));
        // the baseline is called `none`, which is a word there
        let none = "none of the ciphers measured can be recommended under policy kcmvp";
        let found = without_a_choice(&[Piece::finding(none)]);
        assert!(found.sentence.starts_with("None of the ciphers "));
        assert_eq!(without_a_choice(&[]).sentence, "Nothing was concluded.");
    }
}
