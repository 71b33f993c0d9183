#![forbid(unsafe_code)]
//! The command: runs seeds in several processes at once, prints divergences and how many seeds met
//! each class of fault, and ends with an error if something diverged or a class was never met.
//!
//! Each process runs a few seeds and is watched: a process that dies (an assertion of RocksDB, a
//! crash in the shim) is a failure of its current seed.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use sealstone_simulator::coverage::Coverage;
use sealstone_simulator::run::{Side, run};

/// Seeds that one process runs.
const SEEDS_A_PROCESS: u64 = 25;
/// One seed in this many is run twice, and must do the same.
const TWICE: u64 = 16;
/// Failures that are printed without --all.
const PRINTED: usize = 20;

/// Runs plain and sealed RocksDB on a disk that loses what was not synced.
#[derive(Debug, Parser)]
struct Arguments {
    /// Replay one seed and print all that was done
    #[arg(long)]
    seed: Option<u64>,
    /// With --seed: print every call to the files, too
    #[arg(long)]
    calls: bool,
    /// With --seed: only this side, plain or sealed
    #[arg(long)]
    side: Option<String>,
    /// First seed
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Number of seeds
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// Run for this many minutes instead
    #[arg(long)]
    minutes: Option<u64>,
    /// Processes at once; 0: one for each core
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// Print every failure, not only the first ones
    #[arg(long)]
    all: bool,
    /// Run the seeds in this process and print lines for the one that started it
    #[arg(long, hide = true)]
    worker: bool,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(seed) = arguments.seed {
        return Ok(replay(seed, &arguments));
    }
    if arguments.worker {
        work(arguments.first, arguments.seeds);
        return Ok(ExitCode::SUCCESS);
    }
    watch(&arguments)
}

/// Runs one seed and prints its history.
fn replay(seed: u64, arguments: &Arguments) -> ExitCode {
    let mut failures = 0;
    for side in Side::BOTH {
        if arguments.side.as_deref().is_some_and(|wanted| wanted != side.name()) {
            continue;
        }
        let outcome = run(seed, side, arguments.calls);
        println!("{}", outcome.history.join("\n"));
        failures += outcome.failures.len();
    }
    println!("{failures} failures");
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs seeds and prints a line for each event that the watching process needs.
fn work(first: u64, seeds: u64) {
    for seed in first..first + seeds {
        println!("begin\t{seed}\t\t");
        for side in Side::BOTH {
            let outcome = run(seed, side, false);
            for class in &outcome.hit {
                println!("hit\t{seed}\t{}\t{class}", side.name());
            }
            for failure in &outcome.failures {
                println!("failure\t{seed}\t{}\t{}", side.name(), failure.replace('\n', " "));
            }
            if seed.is_multiple_of(TWICE) {
                let again = run(seed, side, false);
                if (again.trace, again.calls) != (outcome.trace, outcome.calls) {
                    println!(
                        "failure\t{seed}\t{}\tthe same seed did something else the second time",
                        side.name()
                    );
                }
            }
        }
        println!("end\t{seed}\t\t");
    }
}

/// Findings of the processes.
#[derive(Default)]
struct Found {
    coverage: Coverage,
    failures: Vec<(u64, String)>,
}

fn watch(arguments: &Arguments) -> Result<ExitCode> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let jobs = if arguments.jobs == 0 { cores } else { arguments.jobs };
    let begin = Instant::now();
    let limit = arguments.minutes.map(|minutes| Duration::from_secs(60 * minutes));
    let next = AtomicU64::new(arguments.first);
    let stop = AtomicBool::new(false);
    let found = Mutex::new(Found::default());
    let one = || -> Result<()> {
        while !stop.load(Ordering::Relaxed) && limit.is_none_or(|limit| begin.elapsed() < limit) {
            let first = next.fetch_add(SEEDS_A_PROCESS, Ordering::Relaxed);
            let end = if limit.is_some() { u64::MAX } else { arguments.first + arguments.seeds };
            if first >= end {
                return Ok(());
            }
            process(first, SEEDS_A_PROCESS.min(end - first), &found)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(one)).collect();
        threads.into_iter().try_for_each(|thread| {
            let done = thread.join().expect("watching does not panic");
            stop.store(done.is_err(), Ordering::Relaxed);
            done
        })
    })?;
    let printed = if arguments.all { usize::MAX } else { PRINTED };
    Ok(report(found.into_inner().expect("nobody panicked"), begin.elapsed(), printed))
}

/// Runs one process of `seeds` seeds from `first` on, again after a seed that killed it.
fn process(first: u64, seeds: u64, found: &Mutex<Found>) -> Result<()> {
    let mut from = first;
    while from < first + seeds {
        let program = std::env::current_exe().context("where this program is")?;
        let mut child = Command::new(program)
            .args([
                "--worker",
                "--first",
                &from.to_string(),
                "--seeds",
                &(first + seeds - from).to_string(),
            ])
            .stdout(Stdio::piped())
            .spawn()
            .context("start a process for some seeds")?;
        let mut at = from;
        let mut ended = false;
        for line in BufReader::new(child.stdout.take().expect("piped above")).lines() {
            let line = line.context("read what a process found")?;
            let mut parts = line.splitn(4, '\t');
            let (what, seed, side, text) = (
                parts.next(),
                parts.next().and_then(|seed| seed.parse().ok()),
                parts.next(),
                parts.next(),
            );
            let (Some(what), Some(seed), Some(side), Some(text)) = (what, seed, side, text) else {
                continue;
            };
            let mut found = found.lock().expect("nobody panicked");
            let side_is = if side == Side::Plain.name() { Side::Plain } else { Side::Sealed };
            match what {
                "begin" => (at, ended) = (seed, false),
                "hit" => found.coverage.add(text, side_is),
                "failure" => found.failures.push((seed, format!("{side}: {text}"))),
                "end" => {
                    found.coverage.seeds += 1;
                    ended = true;
                }
                _ => {}
            }
        }
        let status = child.wait().context("wait for a process")?;
        if !ended {
            let text = format!("the process died ({status})");
            found.lock().expect("nobody panicked").failures.push((at, text));
        }
        from = at + 1;
    }
    Ok(())
}

fn report(mut found: Found, took: Duration, printed: usize) -> ExitCode {
    println!("{}", found.coverage.table());
    found.failures.sort();
    let missing = found.coverage.missing();
    for class in &missing {
        println!("never met: {class}");
    }
    for (seed, failure) in found.failures.iter().take(printed) {
        println!("seed {seed}: {failure}");
        println!("    replay: make soak SEED={seed}");
    }
    if found.failures.len() > printed {
        println!("and {} more failures", found.failures.len() - printed);
    }
    println!(
        "{} seeds in {:.0} s, {} failures, {} classes never met",
        found.coverage.seeds,
        took.as_secs_f64(),
        found.failures.len(),
        missing.len()
    );
    if found.failures.is_empty() && missing.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
