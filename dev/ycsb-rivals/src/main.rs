#![forbid(unsafe_code)]
//! Prints how many operations our client and go-ycsb, run alternately on the same server, do in a
//! CPU second of the client, and what latency each measures at the same load.

mod rounds;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use sealstone_ycsb_rivals::our_client::Job;
use sealstone_ycsb_rivals::shared;

use crate::rounds::{Contest, WORKLOADS};
use crate::table::Finding;

#[derive(Parser)]
#[command(version, about, args_conflicts_with_subcommands = true)]
struct Flags {
    #[command(subcommand)]
    role: Option<Role>,
    #[command(flatten)]
    contest: ContestFlags,
}

#[derive(Subcommand)]
enum Role {
    /// One run of our client, in a process of its own
    #[command(hide = true)]
    Client(ClientFlags),
}

#[derive(Args)]
struct ContestFlags {
    /// Store on which both run
    #[arg(long, default_value = "mongodb")]
    store: String,
    /// Workloads, by name
    #[arg(long, value_delimiter = ',', default_values_t = ["c".to_owned(), "a".to_owned()])]
    workloads: Vec<String>,
    /// Records that each client has
    #[arg(long, default_value_t = 10_000)]
    records: u64,
    /// Threads of each client
    #[arg(long, default_value_t = 8)]
    threads: usize,
    /// Operations of one turn
    #[arg(long, default_value_t = 100_000)]
    operations: u64,
    /// Rounds in which both have their turns; 6 are the fewest that give an interval
    #[arg(long, default_value_t = 12)]
    rounds: usize,
    /// Operations a second at which latencies are compared [default: half of what the slower one
    /// does]
    #[arg(long)]
    rate: Option<u64>,
    /// Seconds of one turn at that rate
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// The program go-ycsb [default: what make setup-go-ycsb built]
    #[arg(long, value_name = "FILE")]
    go_ycsb: Option<PathBuf>,
    /// File for the table, with every figure in a CSV beside it [default: the table to stdout]
    #[arg(long, value_name = "FILE.md")]
    out: Option<PathBuf>,
}

#[derive(Args)]
struct ClientFlags {
    #[arg(long)]
    store: String,
    #[arg(long)]
    address: String,
    #[arg(long)]
    workload: String,
    #[arg(long)]
    records: u64,
    #[arg(long)]
    operations: u64,
    #[arg(long)]
    threads: usize,
    #[arg(long)]
    rate: Option<u64>,
    #[arg(long)]
    round: usize,
    /// Loads the records instead
    #[arg(long)]
    load: bool,
}

fn main() -> Result<()> {
    let flags = Flags::parse();
    match flags.role {
        Some(Role::Client(flags)) => client(flags),
        None => contest(&flags.contest),
    }
}

/// One run of our client: prints what it gave as JSON.
fn client(flags: ClientFlags) -> Result<()> {
    let ClientFlags { store, address, workload, records, operations, threads, rate, round, load } =
        flags;
    let job = Job { workload, records, operations, threads, target: rate, round };
    let workload = job.workload()?;
    let store = shared::store(&store)?.open(&address, threads, workload.tables())?;
    if load {
        return job.load(&*workload, &store);
    }
    println!("{}", serde_json::to_string(&job.run(&*workload, &store)?)?);
    Ok(())
}

fn contest(flags: &ContestFlags) -> Result<()> {
    if let Some(unknown) =
        flags.workloads.iter().find(|name| !WORKLOADS.iter().any(|(known, _)| known == name))
    {
        let known: Vec<&str> = WORKLOADS.iter().map(|(name, _)| *name).collect();
        bail!(
            "{unknown} is no workload that both do on records that stay the same\nchoose of: {}",
            known.join(", ")
        );
    }
    if flags.rounds == 0
        || flags.records == 0
        || flags.operations < flags.threads as u64
        || flags.threads == 0
    {
        bail!(
            "nothing to measure: rounds, records and threads are at least 1, operations as many as \
             threads"
        );
    }
    let shared = shared::store(&flags.store)?;
    let scratch = tempfile::tempdir().context("make a directory")?;
    // before a server is started for nothing
    shared.rival("", flags.go_ycsb.as_deref())?;
    let server = shared.start(scratch.path())?;
    let rival = shared.rival(&server.address, flags.go_ycsb.as_deref())?;
    let contest = Contest {
        shared,
        rival,
        address: server.address.clone(),
        records: flags.records,
        threads: flags.threads,
        operations: flags.operations,
    };
    contest.load()?;
    let mut findings = Vec::new();
    for workload in &flags.workloads {
        let rate = match flags.rate {
            Some(rate) => rate,
            None => contest.half_speed(workload)?,
        };
        let mut finding = Finding::new(workload, rate);
        for round in 0..flags.rounds {
            contest.round(workload, round, rate, flags.seconds, &mut finding)?;
            eprintln!("workload {workload}: round {} of {}", round + 1, flags.rounds);
        }
        findings.push(finding);
    }
    let text = table::markdown(shared, &findings, &facts(flags, scratch.path()));
    match &flags.out {
        Some(path) => {
            fs::write(path, &text).with_context(|| format!("write {}", path.display()))?;
            let csv = path.with_extension("csv");
            fs::write(&csv, table::csv(&findings))
                .with_context(|| format!("write {}", csv.display()))?;
            println!("{}\n{}", path.display(), csv.display());
        }
        None => print!("{text}"),
    }
    Ok(())
}

/// Returns the facts needed to do the same again, a line each.
fn facts(flags: &ContestFlags, scratch: &Path) -> Vec<String> {
    let machine = sealstone_bench::study::machine::facts(scratch);
    let profile = if cfg!(debug_assertions) {
        "; ours built without optimisation, so understated"
    } else {
        ""
    };
    vec![
        format!("{}; Linux {}; {}{profile}", machine.label, machine.kernel, machine.os),
        format!(
            "{} interleaved rounds; {} records of 10 fields of 100 bytes for each client, {} \
             threads, {} operations a turn, {} s at the rate",
            flags.rounds, flags.records, flags.threads, flags.operations, flags.seconds
        ),
    ]
}
