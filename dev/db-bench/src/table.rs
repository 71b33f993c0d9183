//! The figures of all rounds as a table. Not here: their source (`db_bench`).

use std::fmt::Write;

use sealstone_bench::conclude::judgement::judge;
use sealstone_bench::conclude::statistics::{Estimate, median};
use sealstone_bench::words::verdict::{CONFIDENCE, MARGIN};

/// Operations a second: for each benchmark and variant, one figure a round. The first variant is
/// the plain store.
pub(crate) struct Samples {
    variants: Vec<String>,
    /// In the order in which db_bench runs them; each has a list for every variant.
    benchmarks: Vec<(String, Vec<Vec<f64>>)>,
}

impl Samples {
    pub(crate) fn new(variants: Vec<String>) -> Self {
        Self { variants, benchmarks: Vec::new() }
    }

    /// Notes the next round's figure.
    pub(crate) fn add(&mut self, benchmark: &str, variant: usize, per_s: f64) {
        let at =
            self.benchmarks.iter().position(|(name, _)| name == benchmark).unwrap_or_else(|| {
                self.benchmarks.push((benchmark.to_owned(), vec![Vec::new(); self.variants.len()]));
                self.benchmarks.len() - 1
            });
        self.benchmarks[at].1[variant].push(per_s);
    }
}

/// Returns the table in Markdown, with `facts` above it.
pub(crate) fn markdown(samples: &Samples, facts: &[String]) -> String {
    let mut text = "# db_bench with and without the seal\n\n".to_owned();
    for fact in facts {
        let _ = writeln!(text, "- {fact}");
    }
    let others = &samples.variants[1..];
    let _ = writeln!(
        text,
        "\nOperations a second, medians of all rounds; in brackets the ratio to the plain store in \
         the same round, with its {} % confidence interval, and what follows from it \
         (docs/method.md).\n",
        CONFIDENCE * 100.0
    );
    let _ = writeln!(text, "| benchmark | plain | {} |", others.join(" | "));
    let _ = writeln!(text, "|---|---|{}", "---|".repeat(others.len()));
    let questions = samples
        .benchmarks
        .iter()
        .flat_map(|(_, figures)| figures[1..].iter().map(|one| (&figures[0], one)));
    let estimates: Vec<Option<Estimate>> =
        questions.map(|(plain, sealed)| estimate(plain, sealed)).collect();
    let mut judged = estimates.iter().zip(judge(&estimates, MARGIN));
    for (name, figures) in &samples.benchmarks {
        let _ = write!(text, "| {name} | {:.0} |", median(&figures[0]));
        for sealed in &figures[1..] {
            let (estimate, judgement) = judged.next().expect("one for each");
            let ratio = estimate.map_or(String::new(), |estimate| {
                let (low, high) = estimate.interval(CONFIDENCE);
                format!("x {:.3}, {low:.3} to {high:.3}: ", estimate.ratio())
            });
            let _ = write!(text, " {:.0} ({ratio}{}) |", median(sealed), judgement.words);
        }
        text.push('\n');
    }
    text
}

/// Returns the ratio of two variants, from the rounds in which both had a turn.
fn estimate(plain: &[f64], sealed: &[f64]) -> Option<Estimate> {
    let pairs: Vec<f64> =
        plain.iter().zip(sealed).map(|(plain, sealed)| (sealed / plain).ln()).collect();
    Estimate::from_pairs(&pairs)
}

/// Returns every figure, a line each.
pub(crate) fn csv(samples: &Samples) -> String {
    let mut text = "benchmark,variant,round,operations_per_s\n".to_owned();
    for (name, figures) in &samples.benchmarks {
        for (variant, figures) in samples.variants.iter().zip(figures) {
            for (round, per_s) in figures.iter().enumerate() {
                let _ = writeln!(text, "{name},{variant},{},{per_s:.0}", round + 1);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_what_the_rounds_say() {
        let mut samples = Samples::new(vec!["plain".into(), "aes-256".into(), "aria-256".into()]);
        for round in 0..8 {
            let drift = 1.0 + 0.1 * f64::from(round);
            samples.add("fillseq", 0, 1000.0 * drift);
            samples.add("fillseq", 1, 900.0 * drift);
            samples.add("fillseq", 2, 1000.0 * drift);
        }
        let text = markdown(&samples, &["a machine".into()]);
        assert!(text.contains("- a machine\n"), "{text}");
        assert!(
            text.contains("| benchmark | plain | aes-256 | aria-256 |\n|---|---|---|---|\n"),
            "{text}"
        );
        assert!(
            text.contains("| fillseq | 1350 | 1215 (x 0.900, 0.900 to 0.900: costs 10.0 %"),
            "{text}"
        );
        assert!(text.contains("| 1350 (x 1.000, 1.000 to 1.000: no difference"), "{text}");
        assert!(csv(&samples).contains("fillseq,aes-256,8,1530\n"));
        let mut few = Samples::new(vec!["plain".into(), "aes-256".into()]);
        few.add("readseq", 0, 5.0);
        few.add("readseq", 1, 4.0);
        assert!(
            markdown(&few, &[]).contains("| readseq | 5 | 4 (cannot conclude (fewer than"),
            "too few for a ratio"
        );
    }
}
