#![forbid(unsafe_code)]
//! Prints the measurements of RocksDB's own `db_bench` with and without our plug-in: the plain
//! store and each cipher alternately, round after round, and the ratios with their intervals. The
//! figures are db_bench's; the statistics are those of `sealstone compare`.
//!
//! Not here: running db_bench and reading its figures (`db_bench`), and the table (`table`).

mod db_bench;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Parser;
use sealstone_keys::KeyFile;

use crate::db_bench::{Run, Workload};
use crate::table::Samples;

#[derive(Parser)]
#[command(version, about)]
struct Flags {
    /// The plug-in, libsealstone_rocksdb_plugin.so
    #[arg(long, value_name = "FILE")]
    plugin: PathBuf,
    /// Ciphers that are set against the plain store
    #[arg(long, value_delimiter = ',', default_values_t = ["aes-256".to_owned(),
        "aria-256".to_owned()])]
    ciphers: Vec<String>,
    /// Rounds in which the plain store and every cipher have their turn; 6 are the fewest that give
    /// an interval
    #[arg(long, default_value_t = 12)]
    rounds: usize,
    /// Records in a store
    #[arg(long, default_value_t = 500_000)]
    records: u64,
    /// Bytes of a value
    #[arg(long, default_value_t = 100)]
    value_bytes: u64,
    /// Records that are written with a sync each, one after the other, into a store of their own
    #[arg(long, default_value_t = 1_000)]
    synced: u64,
    /// Directory on whose disk the stores are made, and removed again [default: that of temporary
    /// files]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// File for the table, with every figure in a CSV beside it [default: the table to stdout]
    #[arg(long, value_name = "FILE.md")]
    out: Option<PathBuf>,
}

fn main() -> Result<()> {
    let flags = Flags::parse();
    for name in &flags.ciphers {
        sealstone_cipher::cipher(name)?;
    }
    if flags.rounds == 0 || flags.records == 0 || flags.synced == 0 {
        bail!("nothing to measure: rounds, records and synced are at least 1");
    }
    let plugin = fs::canonicalize(&flags.plugin).with_context(|| {
        format!("no plug-in at {}\nmake db-bench builds it", flags.plugin.display())
    })?;
    let scratch = match &flags.dir {
        Some(dir) => tempfile::tempdir_in(dir)
            .with_context(|| format!("make a directory in {}", dir.display()))?,
        None => tempfile::tempdir().context("make a directory")?,
    };
    KeyFile::create(scratch.path().join("store.key"), "db-bench")?;
    let mut samples = Samples::new(&flags.ciphers);
    for round in 0..flags.rounds {
        measure(&flags, &plugin, scratch.path(), round, &mut samples)?;
        eprintln!("round {} of {}", round + 1, flags.rounds);
    }
    let text = table::markdown(&samples, &facts(&flags, scratch.path())?);
    match &flags.out {
        Some(path) => {
            fs::write(path, &text).with_context(|| format!("write {}", path.display()))?;
            let csv = path.with_extension("csv");
            fs::write(&csv, table::csv(&samples))
                .with_context(|| format!("write {}", csv.display()))?;
            println!("{}\n{}", path.display(), csv.display());
        }
        None => print!("{text}"),
    }
    Ok(())
}

/// Runs one turn for each variant; each round begins with another variant, so that none always
/// comes first.
fn measure(
    flags: &Flags,
    plugin: &Path,
    scratch: &Path,
    round: usize,
    samples: &mut Samples,
) -> Result<()> {
    let variants = 1 + flags.ciphers.len();
    for turn in 0..variants {
        let variant = (turn + round) % variants;
        let cipher = variant.checked_sub(1).map(|at| flags.ciphers[at].as_str());
        for workload in [
            Workload { synced: false, records: flags.records, value_bytes: flags.value_bytes },
            Workload { synced: true, records: flags.synced, value_bytes: flags.value_bytes },
        ] {
            let run = Run { scratch, plugin, cipher, seed: 1 + round as u64 };
            for (name, per_s) in run.measure(&workload)? {
                samples.add(&name, variant, per_s);
            }
        }
    }
    Ok(())
}

/// Returns the facts needed to do the same again, a line each.
fn facts(flags: &Flags, scratch: &Path) -> Result<Vec<String>> {
    let machine = sealstone_bench::study::machine::facts(scratch);
    let assertions = if db_bench::warns_of_assertions()? {
        ", with assertions: slow by itself, so the cost in percent is understated"
    } else {
        ""
    };
    Ok(vec![
        format!("{}{assertions}", db_bench::version()?),
        format!(
            "{}; Linux {}; {}; stores on {}",
            machine.label, machine.kernel, machine.os, machine.file_system
        ),
        format!(
            "{} rounds by turns; {} records of 16 + {} bytes, {} synced ones, 1 client, no \
             compression, db_bench's own cache of blocks",
            flags.rounds, flags.records, flags.value_bytes, flags.synced
        ),
    ])
}
