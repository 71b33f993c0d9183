#![forbid(unsafe_code)]
//! Prints what pgbench, fio, Redis and sysbench measure on sealed volumes and on what they are set
//! against: the machine's own file system, a loop device on a plain file, our device without cipher
//! and log, and gocryptfs; all interleaved, round after round.

mod benchmark;
mod fio;
mod judge;
mod mariadb;
mod place;
mod place_flags;
mod postgres;
mod programs;
mod redis;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use sealstone_turns::Samples;
use sealstone_volume::{PlainFile, front::fuse};

use crate::benchmark::{Benchmark, Turn};
use crate::place::{Kind, Place};
use crate::place_flags::PlaceFlags;

/// Threads that serve the device without cipher, as many as serve a volume.
const THREADS: usize = 4;

#[derive(Parser)]
#[command(version, about)]
struct Flags {
    #[command(subcommand)]
    other: Option<Other>,
    #[command(flatten)]
    common: PlaceFlags,
    /// Programs that measure: postgres, fio, redis, mariadb
    #[arg(long, value_delimiter = ',', default_values_t = programs::PROGRAMS.map(str::to_owned))]
    with: Vec<String>,
    /// Rounds in which every place has its turn; 6 are the fewest that give an interval
    #[arg(long, default_value_t = 6)]
    rounds: usize,
    /// Seconds of one turn
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// File for the tables, with every figure in a CSV beside it [default: the tables to stdout]
    #[arg(long, value_name = "FILE.md")]
    out: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Other {
    /// Run fio with --verify and fsx on ext4 on sealed volumes and on a plain loop device, and say
    /// whether they find the same; exit code 1 if not
    Judge(judge::Flags),
    /// Serve a plain file as a device until standard input ends
    #[command(hide = true)]
    ServePlain { file: PathBuf, bytes: u64, dir: PathBuf },
}

fn main() -> Result<()> {
    let flags = Flags::parse();
    match &flags.other {
        Some(Other::Judge(flags)) => return judge::judge(flags),
        Some(Other::ServePlain { file, bytes, dir }) => return serve_plain(file, *bytes, dir),
        None => {}
    }
    let program = flags.common.program()?;
    if flags.rounds == 0 || flags.seconds == 0 {
        bail!("nothing to measure: rounds and seconds are at least 1");
    }
    let scratch = flags.common.scratch()?;
    let kinds = place::kinds(&flags.common.ciphers);
    let names: Vec<String> = kinds.iter().map(Kind::name).collect();
    let mut places = Vec::new();
    for kind in kinds {
        places.push(Place::make(kind, scratch.path(), &program)?);
    }
    let mut samples = Samples::new(names.clone());
    let mut settled: Vec<f64> = vec![0.0; places.len()];
    for round in 0..flags.rounds {
        for benchmark in programs::all(&flags.with, flags.seconds)? {
            measure(&*benchmark, round, &places, &mut samples, &mut settled)?;
        }
        eprintln!("round {} of {}", round + 1, flags.rounds);
    }
    let text = report(&flags, &names, &samples, &settled, &facts(&flags, scratch.path())?);
    sealstone_turns::publish(flags.out.as_deref(), &text, &samples)
}

/// Serves a plain file as a device until standard input ends.
fn serve_plain(file: &Path, bytes: u64, dir: &Path) -> Result<()> {
    let device = PlainFile::open(file, bytes)?;
    let mounted = fuse::mount(std::sync::Arc::new(device), dir, THREADS)?;
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(mounted.unmount()?)
}

/// Gives every place its turn at `benchmark`, each round beginning with another one. What a turn
/// left to be written is written, and what a volume has in its log is in place, before the next one
/// begins; the time of that is added to `settled`.
fn measure(
    benchmark: &dyn Benchmark,
    round: usize,
    places: &[Place],
    samples: &mut Samples,
    settled: &mut [f64],
) -> Result<()> {
    for turn in 0..places.len() {
        let number = (turn + round) % places.len();
        let place = &places[number];
        let served_s = place.serving_s()?;
        let run = benchmark.run(place.files());
        let Turn { figures, bytes } = run.with_context(|| format!("on {}", place.name()))?;
        for (name, per_s) in figures {
            eprintln!("{} {name}: {per_s:.0}", place.name());
            samples.add(&name, number, per_s);
        }
        let begin = Instant::now();
        place.settle()?;
        settled[number] += begin.elapsed().as_secs_f64();
        // what was in the log is in place, so that nothing of it is left to a later turn
        if let (Some(before), Some(after), Some((name, bytes))) =
            (served_s, place.serving_s()?, bytes)
        {
            samples.add(&name, number, bytes / 1e6 / (after - before));
        }
    }
    Ok(())
}

/// Returns the tables: all places against the file system below, then against the device without
/// cipher and log, then the ciphers against each other.
fn report(
    flags: &Flags,
    names: &[String],
    samples: &Samples,
    settled: &[f64],
    facts: &[String],
) -> String {
    let mut text = "# Volumes measured by other programs\n\n".to_owned();
    text.extend(facts.iter().map(|fact| format!("- {fact}\n")));
    let settled: Vec<String> = names
        .iter()
        .zip(settled)
        .map(|(name, s)| format!("{name} {:.1} s", s / flags.rounds as f64))
        .collect();
    text.push_str(&format!(
        "- after each turn everything is written, and a volume's log is in place, which no figure \
         includes; in a round that took: {}\n",
        settled.join(", ")
    ));
    let (control, gocryptfs) = (2, names.len() - 1);
    let sealed: Vec<usize> = (control + 1..gocryptfs).collect();
    let all: Vec<usize> = (1..names.len()).collect();
    for (title, reference, others) in [
        ("Against the file system below", 0, &all),
        ("Against our device without cipher and log", control, &sealed),
        ("Against gocryptfs", gocryptfs, &sealed),
        ("Against the first cipher", control + 1, &sealed[1..].to_vec()),
    ] {
        if !others.is_empty() {
            let table = sealstone_turns::markdown(samples, reference, others);
            text.push_str(&format!("\n## {title}\n\n{table}"));
        }
    }
    text
}

/// Returns the facts needed to do the same again, a line each.
fn facts(flags: &Flags, scratch: &Path) -> Result<Vec<String>> {
    let machine = sealstone_bench::study::machine::facts(scratch);
    let mut facts = vec![
        format!(
            "{}; Linux {}; {}; all places on {}",
            machine.label, machine.kernel, machine.os, machine.file_system
        ),
        format!("{} interleaved rounds, {} s a turn", flags.rounds, flags.seconds),
        "plain: a directory; loop: ext4 on a loop device with direct I/O on a plain file; control: \
         the same on our device without cipher and log; the ciphers: sealed volumes; gocryptfs: a \
         directory under it"
            .into(),
        "a CPU second: of the process that serves the place, until what a turn wrote is in place; \
         not of the kernel's threads, such as that of a loop device"
            .into(),
    ];
    facts.extend(programs::facts(&flags.with)?);
    Ok(facts)
}
