#![forbid(unsafe_code)]
//! The figures that other programs measured alternately, round after round, as a table: ratios with
//! their intervals, by the statistics of `sealstone compare`; and what several of their sources
//! run. Not here: those sources (`dev/db-bench`, `dev/mariadb-bench`, `dev/volume-bench`).

pub mod program;
pub mod sysbench;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use sealstone_bench::conclude::judge;
use sealstone_bench::conclude::{Estimate, median};
use sealstone_bench::words::{CONFIDENCE, MARGIN};

/// Work a second: for each benchmark and variant, one figure a round.
#[derive(Debug)]
pub struct Samples {
    variants: Vec<String>,
    /// In the order in which they were first run; each has a list for every variant.
    benchmarks: Vec<(String, Vec<Vec<f64>>)>,
}

impl Samples {
    /// Returns none yet for `variants`.
    #[must_use]
    pub fn new(variants: Vec<String>) -> Self {
        Self { variants, benchmarks: Vec::new() }
    }

    /// Notes the next round's figure of the variant with the number `variant`.
    pub fn add(&mut self, benchmark: &str, variant: usize, per_s: f64) {
        let at =
            self.benchmarks.iter().position(|(name, _)| name == benchmark).unwrap_or_else(|| {
                self.benchmarks.push((benchmark.to_owned(), vec![Vec::new(); self.variants.len()]));
                self.benchmarks.len() - 1
            });
        self.benchmarks[at].1[variant].push(per_s);
    }
}

/// Returns a table in Markdown: the variants with the numbers `others` beside the one with the
/// number `reference`, below a sentence that states what is in it.
#[must_use]
pub fn markdown(samples: &Samples, reference: usize, others: &[usize]) -> String {
    let name = |variant: &usize| samples.variants[*variant].as_str();
    let mut text = format!(
        "A second, medians of all rounds; in brackets the ratio to {} in the same round, with its \
         {} % confidence interval, and what follows from it (docs/method.md).\n\n",
        name(&reference),
        CONFIDENCE * 100.0
    );
    let names: Vec<&str> = others.iter().map(name).collect();
    let _ = writeln!(text, "| benchmark | {} | {} |", name(&reference), names.join(" | "));
    let _ = writeln!(text, "|---|---|{}", "---|".repeat(others.len()));
    // some benchmarks have figures of some variants alone
    let benchmarks = || {
        let has = |variant: &usize, figures: &[Vec<f64>]| !figures[*variant].is_empty();
        samples.benchmarks.iter().filter(move |(_, figures)| {
            has(&reference, figures) && others.iter().any(|one| has(one, figures))
        })
    };
    let questions = benchmarks().flat_map(|(_, figures)| {
        others.iter().map(move |one| (&figures[reference], &figures[*one]))
    });
    let estimates: Vec<Option<Estimate>> =
        questions.map(|(reference, other)| estimate(reference, other)).collect();
    let mut judged = estimates.iter().zip(judge(&estimates, MARGIN));
    for (name, figures) in benchmarks() {
        let _ = write!(text, "| {name} | {:.0} |", median(&figures[reference]));
        for other in others {
            let (estimate, judgement) = judged.next().expect("one for each");
            if figures[*other].is_empty() {
                text.push_str(" – |");
                continue;
            }
            let ratio = estimate.map_or(String::new(), |estimate| {
                let (low, high) = estimate.interval(CONFIDENCE);
                format!("x {:.3}, {low:.3} to {high:.3}: ", estimate.ratio())
            });
            let median = median(&figures[*other]);
            let _ = write!(text, " {median:.0} ({ratio}{}) |", judgement.words);
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
#[must_use]
pub fn csv(samples: &Samples) -> String {
    let mut text = "benchmark,variant,round,per_s\n".to_owned();
    for (name, figures) in &samples.benchmarks {
        for (variant, figures) in samples.variants.iter().zip(figures) {
            for (round, per_s) in figures.iter().enumerate() {
                let _ = writeln!(text, "{},{variant},{},{per_s:.0}", quoted(name), round + 1);
            }
        }
    }
    text
}

/// Writes `text` to `out`, with every figure in a CSV beside it, and prints both paths; without
/// `out` it prints the text.
///
/// # Errors
/// Of the file system.
pub fn publish(out: Option<&Path>, text: &str, samples: &Samples) -> Result<()> {
    let Some(path) = out else {
        print!("{text}");
        return Ok(());
    };
    let beside = path.with_extension("csv");
    fs::write(path, text)
        .and_then(|()| fs::write(&beside, csv(samples)))
        .with_context(|| format!("write {} and its CSV", path.display()))?;
    println!("{}\n{}", path.display(), beside.display());
    Ok(())
}

/// Returns `name` as a field of CSV (RFC 4180).
fn quoted(name: &str) -> String {
    if name.contains([',', '"']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.into()
    }
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
        let text = markdown(&samples, 0, &[1, 2]);
        assert!(
            text.contains("| benchmark | plain | aes-256 | aria-256 |\n|---|---|---|---|\n"),
            "{text}"
        );
        assert!(
            text.contains("| fillseq | 1350 | 1215 (x 0.900, 0.900 to 0.900: costs 10.0 %"),
            "{text}"
        );
        assert!(text.contains("| 1350 (x 1.000, 1.000 to 1.000: no difference"), "{text}");
        assert!(
            markdown(&samples, 1, &[2])
                .contains("| fillseq | 1215 | 1350 (x 1.111, 1.111 to 1.111"),
            "another reference"
        );
        assert!(csv(&samples).contains("fillseq,aes-256,8,1530\n"));
        samples.add("fio, 4 KiB", 0, 7.0);
        assert!(csv(&samples).contains("\"fio, 4 KiB\",plain,1,7\n"));
        samples.add("MB of a CPU second", 1, 900.0);
        let text = markdown(&samples, 1, &[0, 2]);
        assert!(!text.contains("CPU second") && !text.contains("KiB"), "neither has both: {text}");
        samples.add("MB of a CPU second", 2, 800.0);
        let text = markdown(&samples, 1, &[0, 2]);
        assert!(text.contains("| MB of a CPU second | 900 | – | 800 (cannot conclude"), "{text}");
        let mut few = Samples::new(vec!["plain".into(), "aes-256".into()]);
        few.add("readseq", 0, 5.0);
        few.add("readseq", 1, 4.0);
        assert!(
            markdown(&few, 0, &[1]).contains("| readseq | 5 | 4 (cannot conclude (fewer than"),
            "too few for a ratio"
        );
    }
}
