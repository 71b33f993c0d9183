#![forbid(unsafe_code)]
//! Prints the measurements of RocksDB's own `db_bench` with and without our plug-in: the plain
//! store, each cipher and a rival alternately, round after round, and the ratios with their
//! intervals. The figures are db_bench's; the statistics are those of `sealstone compare`.

mod db_bench;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Parser;
use sealstone_keys::{EphemeralKey, KeyFile, KeySource};
use sealstone_turns::Samples;

use crate::db_bench::{Files, Run, Workload};

#[derive(Parser)]
#[command(version, about)]
struct Flags {
    /// The plug-in, libsealstone_rocksdb_plugin.so
    #[arg(long, value_name = "FILE")]
    plugin: PathBuf,
    /// A library with RocksDB's own EncryptedFileSystem under AES-256-CTR of OpenSSL, which
    /// authenticates nothing, to be measured beside ours
    #[arg(long, value_name = "FILE")]
    rival: Option<PathBuf>,
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
    /// Bytes of a block of a table, for every variant
    #[arg(long, default_value_t = 4096)]
    block_bytes: u32,
    /// Bytes of data in a page of a sealed table [default: that of the plug-in]
    #[arg(long)]
    page_bytes: Option<u32>,
    /// Instruction set of the ciphers [default: the best of this machine]
    #[arg(long)]
    accel: Option<String>,
    /// Reads without RocksDB's own checksum over each block, for every variant: sealed pages are
    /// verified already
    #[arg(long)]
    no_block_checksum: bool,
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
    if let Some(name) = &flags.accel {
        sealstone_cipher::Backend::by_name(name)?;
    }
    if flags.rounds == 0 || flags.records == 0 || flags.synced == 0 {
        bail!("nothing to measure: rounds, records and synced are at least 1");
    }
    let built = |file: &Path| {
        fs::canonicalize(file)
            .with_context(|| format!("no library at {}\nmake db-bench builds it", file.display()))
    };
    let plugin = built(&flags.plugin)?;
    let rival = flags.rival.as_deref().map(built).transpose()?;
    let variants = variants(&flags, &plugin, rival.as_deref());
    let scratch = match &flags.dir {
        Some(dir) => tempfile::tempdir_in(dir)
            .with_context(|| format!("make a directory in {}", dir.display()))?,
        None => tempfile::tempdir().context("make a directory")?,
    };
    KeyFile::create(scratch.path().join("store.key"), "db-bench")?;
    let (_, key) = EphemeralKey::new()?.current()?;
    fs::write(scratch.path().join("rival.key"), key.as_bytes()).context("write the rival's key")?;
    let mut samples = Samples::new(variants.iter().map(|(name, _)| name.clone()).collect());
    for round in 0..flags.rounds {
        measure(&flags, &variants, scratch.path(), round, &mut samples)?;
        eprintln!("round {} of {}", round + 1, flags.rounds);
    }
    let facts = facts(&flags, scratch.path())?;
    let facts: String = facts.iter().map(|fact| format!("- {fact}\n")).collect();
    let others: Vec<usize> = (1..variants.len()).collect();
    let table = sealstone_turns::markdown(&samples, 0, &others);
    let text = format!("# db_bench with and without the seal\n\n{facts}\n{table}");
    sealstone_turns::publish(flags.out.as_deref(), &text, &samples)
}

/// Returns what is measured, by the name it has in the table: the plain store first.
fn variants<'a>(
    flags: &'a Flags,
    plugin: &'a Path,
    rival: Option<&'a Path>,
) -> Vec<(String, Files<'a>)> {
    let rival = rival.map(|library| ("encrypted-fs".to_owned(), Files::Rival { library }));
    let (page_bytes, accel) = (flags.page_bytes, flags.accel.as_deref());
    let sealed = flags
        .ciphers
        .iter()
        .map(|cipher| (cipher.clone(), Files::Sealed { plugin, cipher, page_bytes, accel }));
    std::iter::once(("plain".to_owned(), Files::Plain)).chain(rival).chain(sealed).collect()
}

/// Runs one turn for each variant; each round begins with another variant, so that none always
/// comes first.
fn measure(
    flags: &Flags,
    variants: &[(String, Files<'_>)],
    scratch: &Path,
    round: usize,
    samples: &mut Samples,
) -> Result<()> {
    for turn in 0..variants.len() {
        let variant = (turn + round) % variants.len();
        let all = Workload {
            synced: false,
            records: flags.records,
            value_bytes: flags.value_bytes,
            block_bytes: flags.block_bytes,
            block_checksum: !flags.no_block_checksum,
        };
        for workload in [all, Workload { synced: true, records: flags.synced, ..all }] {
            let run = Run { scratch, files: variants[variant].1, seed: 1 + round as u64 };
            for (figures, per_cpu_s) in run.measure(&workload)? {
                samples.add(&figures.name, variant, figures.per_s);
                samples.add(&format!("{}, a CPU second", figures.name), variant, per_cpu_s);
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
            "{} interleaved rounds; {} records of 16 + {} bytes, {} synced ones, 1 client, no \
             compression, blocks of {} bytes{}, {}, {}, db_bench's own cache of blocks",
            flags.rounds,
            flags.records,
            flags.value_bytes,
            flags.synced,
            flags.block_bytes,
            if flags.no_block_checksum { " read without RocksDB's checksum" } else { "" },
            flags.page_bytes.map_or("pages of the default length".into(), |bytes| format!(
                "pages of {bytes} bytes"
            )),
            flags.accel.as_deref().unwrap_or("the best instructions"),
        ),
    ])
}
