//! Check of the advice of a short run against a longer one that it has not seen: for each pair of
//! `results.json`, a short run's and a long one's, prints the advice of each and whether they
//! agree. Exit code 1 if any two do not.
//!
//! They agree if both name the same variant, or if the short run made no claim about the two named
//! variants: it then reported that it could not conclude which of them costs less.
//!
//! `cargo bench -p sealstone-bench --bench held_out -- SHORT LONG [SHORT LONG ...]`

use std::path::PathBuf;
use std::process::ExitCode;

use sealstone_bench::compare::merge;
use sealstone_bench::results::{Results, Verdict};

/// Returns what `short` claims of the variants that the two runs advise, if it claims anything that
/// `long` denies.
fn denied<'a>(short: &'a Results, long: &Results) -> Option<&'a str> {
    let (taken, wanted) =
        (short.recommendation.take.as_deref(), long.recommendation.take.as_deref());
    if taken == wanted {
        return None;
    }
    let label = |variant: usize| Some(short.variants[variant].label.as_str());
    let about = short.between.iter().find(|between| {
        let labels = [label(between.variant), label(between.other)];
        between.workload.is_none() && labels.contains(&taken) && labels.contains(&wanted)
    });
    match about {
        Some(between) if matches!(between.verdict, Verdict::CannotConclude | Verdict::AtMost) => {
            None
        }
        Some(between) => Some(&between.words),
        None => Some("not compared"),
    }
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let files: Vec<PathBuf> = std::env::args_os()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .map(PathBuf::from)
        .collect();
    let pairs = files.chunks_exact(2);
    if files.is_empty() || !pairs.remainder().is_empty() {
        return Err("name results.json files in pairs: a short run's, then a long one's".into());
    }
    let mut failed = false;
    println!("| comparison | short run | long run | agree |\n|---|---|---|---|");
    for pair in pairs {
        let (short, long) = (merge::read(&pair[..1])?.runs(), merge::read(&pair[1..])?.runs());
        if short.len() != long.len() {
            return Err(format!(
                "{} and {} compare different things",
                pair[0].display(),
                pair[1].display()
            )
            .into());
        }
        for (short, long) in short.iter().zip(&long) {
            let denied = denied(short, long);
            failed |= denied.is_some();
            let advice = |run: &Results| run.recommendation.answer.replace('|', "\\|");
            let agree = denied
                .map_or_else(|| String::from("yes"), |words| format!("**no** (claimed: {words})"));
            println!(
                "| {} | {} | {} | {agree} |",
                short.plan.workloads.join(", "),
                advice(short),
                advice(long)
            );
        }
    }
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
