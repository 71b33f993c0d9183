//! The figures of all rounds as a table.

use std::collections::BTreeMap;
use std::fmt::Write;

use sealstone_bench::conclude::{Estimate, median};
use sealstone_bench::words::CONFIDENCE;
use sealstone_ycsb_rivals::shared::Shared;

/// Largest permitted distance between medians at the same load.
const MEDIANS_APART: f64 = 0.05;

/// Results of one turn of a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) operations: u64,
    /// CPU time of the client's process, in seconds.
    pub(crate) cpu_s: f64,
    pub(crate) wall_s: f64,
    /// By operation.
    pub(crate) p50_us: BTreeMap<String, f64>,
}

impl Turn {
    /// Operations in a second.
    pub(crate) fn per_s(&self) -> f64 {
        self.operations as f64 / self.wall_s
    }

    fn per_cpu_s(&self) -> f64 {
        self.operations as f64 / self.cpu_s
    }
}

/// All turns under one workload; of each pair ours is the first.
pub(crate) struct Finding {
    workload: String,
    /// Operations a second.
    rate: u64,
    /// As quick as they can.
    pub(crate) free: Vec<[Turn; 2]>,
    /// At the rate.
    pub(crate) at_rate: Vec<[Turn; 2]>,
}

impl Finding {
    pub(crate) fn new(workload: &str, rate: u64) -> Self {
        Self { workload: workload.to_owned(), rate, free: Vec::new(), at_rate: Vec::new() }
    }

    /// Operations whose latency both report.
    fn operations(&self) -> Vec<&str> {
        let Some([ours, theirs]) = self.at_rate.first() else { return Vec::new() };
        ours.p50_us
            .keys()
            .filter(|operation| theirs.p50_us.contains_key(*operation))
            .map(String::as_str)
            .collect()
    }
}

/// Medians of ours and theirs, and the ratio with its interval, of what `figure` takes from each
/// turn.
fn compared(turns: &[[Turn; 2]], figure: impl Fn(&Turn) -> f64) -> ([f64; 2], Option<Estimate>) {
    let of = |client: usize| turns.iter().map(|pair| figure(&pair[client])).collect::<Vec<f64>>();
    let (ours, theirs) = (of(0), of(1));
    let pairs: Vec<f64> =
        ours.iter().zip(&theirs).map(|(ours, theirs)| (ours / theirs).ln()).collect();
    ([median(&ours), median(&theirs)], Estimate::from_pairs(&pairs))
}

fn ratio(estimate: Option<Estimate>) -> String {
    estimate.map_or("too few rounds".to_owned(), |estimate| {
        let (low, high) = estimate.interval(CONFIDENCE);
        format!("x {:.3} ({low:.3} to {high:.3})", estimate.ratio())
    })
}

/// Returns the tables in Markdown, with `facts` above them.
pub(crate) fn markdown(shared: &Shared, findings: &[Finding], facts: &[String]) -> String {
    let mut text = format!("# Our client beside go-ycsb 1.0.1 on {}\n\n", shared.name);
    for fact in facts {
        let _ = writeln!(text, "- {fact}");
    }
    let _ = writeln!(
        text,
        "\nBoth on one server, each a process of its own with records of its own in the same \
         table, zipfian keys. Operations in a CPU second of the client, its start included, as \
         quick as it can; medians of all rounds, and the ratio in the same round with its {} % \
         confidence interval. Operations a second in brackets.\n",
        CONFIDENCE * 100.0
    );
    let _ = writeln!(text, "| workload | ours | go-ycsb | ratio | wanted |\n|---|---|---|---|---|");
    let wanted = shared.wanted.map_or("not said".to_owned(), |wanted| format!("{wanted}"));
    for finding in findings {
        let ([ours, theirs], estimate) = compared(&finding.free, Turn::per_cpu_s);
        let ([our_speed, their_speed], _) = compared(&finding.free, Turn::per_s);
        let _ = writeln!(
            text,
            "| {} | {ours:.0} ({our_speed:.0}) | {theirs:.0} ({their_speed:.0}) | {} | {wanted} |",
            finding.workload,
            ratio(estimate)
        );
    }
    let _ = writeln!(
        text,
        "\nMedian latency of an operation at the same rate, from its begin in both, in \
         microseconds. Wanted: at most {} % apart.\n\n| workload | operation | rate | ours | \
         go-ycsb | ratio |\n|---|---|---|---|---|---|",
        MEDIANS_APART * 100.0
    );
    for finding in findings {
        for operation in finding.operations() {
            let ([ours, theirs], estimate) =
                compared(&finding.at_rate, |turn| turn.p50_us[operation]);
            let _ = writeln!(
                text,
                "| {} | {operation} | {}/s | {ours:.0} | {theirs:.0} | {} |",
                finding.workload,
                finding.rate,
                ratio(estimate)
            );
        }
    }
    text
}

/// Returns every figure, a line each.
pub(crate) fn csv(findings: &[Finding]) -> String {
    let mut text =
        "workload,rate_per_s,round,client,operations,cpu_s,wall_s,read_p50_us,update_p50_us\n"
            .to_owned();
    for finding in findings {
        let rate = finding.rate.to_string();
        for (rate, turns) in [("", &finding.free), (rate.as_str(), &finding.at_rate)] {
            for (round, pair) in turns.iter().enumerate() {
                for (client, turn) in ["sealstone", "go-ycsb"].iter().zip(pair) {
                    let p50 = |operation| {
                        turn.p50_us.get(operation).map_or(String::new(), |us| format!("{us:.1}"))
                    };
                    let _ = writeln!(
                        text,
                        "{},{rate},{},{client},{},{:.6},{:.6},{},{}",
                        finding.workload,
                        round + 1,
                        turn.operations,
                        turn.cpu_s,
                        turn.wall_s,
                        p50("read"),
                        p50("update")
                    );
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use sealstone_ycsb_rivals::shared::STORES;

    use super::*;

    fn turn(operations: u64, cpu_s: f64, read_us: f64) -> Turn {
        Turn { operations, cpu_s, wall_s: 2.0, p50_us: [("read".to_owned(), read_us)].into() }
    }

    #[test]
    fn tables_say_what_the_rounds_say() {
        let mut finding = Finding::new("c", 500);
        for round in 0..8 {
            let drift = 1.0 + 0.1 * f64::from(round);
            finding.free.push([turn(1000, 0.1 * drift, 80.0), turn(1000, 0.2 * drift, 90.0)]);
            finding.at_rate.push([turn(100, 0.1, 99.0 * drift), turn(100, 0.1, 100.0 * drift)]);
        }
        let text = markdown(&STORES[0], &[finding], &["a machine".into()]);
        assert!(text.contains("- a machine\n"), "{text}");
        assert!(
            text.contains("| c | 7418 (500) | 3709 (500) | x 2.000 (2.000 to 2.000) |"),
            "{text}"
        );
        assert!(
            text.contains("| c | read | 500/s | 134 | 135 | x 0.990 (0.990 to 0.990) |"),
            "{text}"
        );
    }

    #[test]
    fn every_figure_is_a_line() {
        let mut finding = Finding::new("a", 500);
        finding.free.push([turn(1000, 0.5, 80.0), turn(1000, 0.75, 90.0)]);
        finding.at_rate.push([turn(100, 0.1, 99.0), turn(100, 0.1, 100.0)]);
        let text = csv(&[finding]);
        assert!(text.contains("\na,,1,sealstone,1000,0.500000,2.000000,80.0,\n"), "{text}");
        assert!(text.ends_with("\na,500,1,go-ycsb,100,0.100000,2.000000,100.0,\n"), "{text}");
    }
}
