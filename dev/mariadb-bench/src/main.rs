#![forbid(unsafe_code)]
//! Prints what sysbench measures on MariaDB plain, under its own encryption and under our plug-in,
//! with a buffer pool that holds a tenth of the tables and one that holds all of them: all servers
//! interleaved, round after round.

mod turn;
mod variant;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use sealstone_servers::testing::reachable;
use sealstone_servers::{MARIADB_PROGRAM, MariaDb, MariaDbOptions, start_mariadb};
use sealstone_turns::Samples;
use sealstone_turns::program::output;

use crate::turn::{PASSWORD, Sizes};
use crate::variant::{RIVAL, Variant};

/// Shares of the tables that a buffer pool holds, in percent.
const POOLS: [u64; 2] = [10, 120];

/// Bytes of a row of sysbench with its share of pages and of the index.
const ROW_BYTES: u64 = 235;

/// Time in which a server's background work comes to rest after a turn.
const SETTLE: Duration = Duration::from_secs(2);

#[derive(Parser)]
#[command(version, about)]
struct Flags {
    /// Our plug-in, libsealstone_mariadb.so
    #[arg(long, value_name = "FILE")]
    plugin: Option<PathBuf>,
    /// Ciphers of ours; the first is also measured without the CPU's instructions
    #[arg(long, value_delimiter = ',', default_values_t = ["aes-256".to_owned(),
        "aria-256".to_owned()])]
    ciphers: Vec<String>,
    /// Rounds in which every server has its turn; 6 are the fewest that give an interval
    #[arg(long, default_value_t = 6)]
    rounds: usize,
    /// Seconds of each test of sysbench, and of full scans
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Rows of each of the 4 tables
    #[arg(long, default_value_t = 100_000)]
    rows: u32,
    /// File for the tables, with every figure in a CSV beside it [default: the tables to stdout]
    #[arg(long, value_name = "FILE.md")]
    out: Option<PathBuf>,
}

fn main() -> Result<()> {
    let flags = Flags::parse();
    for name in &flags.ciphers {
        sealstone_cipher::cipher(name)?;
    }
    if flags.rounds == 0 || flags.seconds == 0 || flags.ciphers.is_empty() {
        bail!("nothing to measure: rounds, seconds and ciphers are at least 1");
    }
    let sizes = Sizes { tables: 4, rows: flags.rows, threads: 8, seconds: flags.seconds };
    let scratch = reachable();
    let variants = variant::all(&flags.ciphers);
    let mut samples = Samples::new(variants.iter().map(Variant::name).collect());
    let data_bytes = u64::from(sizes.tables) * u64::from(sizes.rows) * ROW_BYTES;
    for (at, pool) in POOLS.iter().enumerate() {
        let cache_bytes = data_bytes * pool / 100;
        let mut servers = Vec::new();
        for (number, variant) in variants.iter().enumerate() {
            let dir = scratch.path().join(number.to_string());
            let server = start(variant, &dir, cache_bytes, &flags, scratch.path());
            let server = server.with_context(|| variant.name())?;
            if at == 0 {
                turn::tables(&server, sizes).prepare()?;
            }
            // a pool begins empty, and the first round would fill it
            turn::scan(&server, sizes.tables)?;
            servers.push(server);
        }
        for round in 0..flags.rounds {
            for turn in 0..servers.len() {
                let number = (turn + round) % servers.len();
                let found = turn::measure(&mut servers[number], sizes)
                    .with_context(|| variants[number].name())?;
                for (name, per_s) in found {
                    samples.add(&format!("{name}, pool {pool} %"), number, per_s);
                }
                thread::sleep(SETTLE);
            }
            eprintln!("pool {pool} %: round {} of {}", round + 1, flags.rounds);
        }
        for server in &mut servers {
            server.stop()?;
        }
    }
    let text = report(&flags, &variants, &samples, scratch.path())?;
    sealstone_turns::publish(flags.out.as_deref(), &text, &samples)
}

/// Starts the server of `variant` in `dir`, or starts it again; its keys are in `keys`.
fn start(
    variant: &Variant,
    dir: &Path,
    cache_bytes: u64,
    flags: &Flags,
    keys: &Path,
) -> Result<MariaDb> {
    let options = MariaDbOptions {
        cache_bytes: Some(cache_bytes),
        password: Some(PASSWORD.into()),
        arguments: variant.arguments(keys, flags.plugin.as_deref())?,
        ..MariaDbOptions::default()
    };
    Ok(start_mariadb(dir, options)?)
}

/// Returns the tables: all against the plain server, ours against the rival, our ciphers against
/// the first of them.
fn report(
    flags: &Flags,
    variants: &[Variant],
    samples: &Samples,
    scratch: &Path,
) -> Result<String> {
    let machine = sealstone_bench::study::machine::facts(scratch);
    let version = output(Command::new(MARIADB_PROGRAM.find(None)?).arg("--version"))?;
    let mut text = format!(
        "# MariaDB's tablespaces under sysbench\n\n- {}; Linux {}; {}\n- {}: 4 tables of {} rows, \
         8 threads, {} s for each test, {} interleaved rounds; the log is synced at each commit\n",
        machine.label,
        machine.kernel,
        machine.os,
        version.split(" for ").next().unwrap_or(&version).trim(),
        flags.rows,
        flags.seconds,
        flags.rounds
    );
    let is_ours = |number: &usize| matches!(variants[*number], Variant::Ours(..));
    let is_rival = |variant: &Variant| matches!(variant, Variant::Server(RIVAL));
    let rival = variants.iter().position(is_rival).context("no rival")?;
    let all: Vec<usize> = (1..variants.len()).collect();
    let ours: Vec<usize> = all.iter().copied().filter(is_ours).collect();
    for (title, reference, others) in [
        ("Against the plain server", 0, &all),
        ("Ours against the server's own AES_CTR", rival, &ours),
        ("Against our first cipher", ours[0], &ours[1..].to_vec()),
    ] {
        let table = sealstone_turns::markdown(samples, reference, others);
        text.push_str(&format!("\n## {title}\n\n{table}"));
    }
    Ok(text)
}
