//! Runs `db_bench` and reads its figures.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use sealstone_bench::measure::CpuTime;

/// Benchmarks on one store, by the program's own names and in order, each by a process of its own,
/// so that its CPU time is known. What writes goes on until everything is in tables and no
/// compaction is left, so that later ones find the store at rest.
const UNSYNCED: [&str; 6] = [
    "fillseq,flush,waitforcompaction",
    "overwrite,flush,waitforcompaction",
    "readrandom",
    "multireadrandom",
    "seekrandom",
    "readseq",
];
const SYNCED: [&str; 1] = ["fillsync"];

/// Keys that `multireadrandom` reads at once.
const BATCH: u32 = 16;

/// Work done in one run.
#[derive(Clone, Copy)]
pub(crate) struct Workload {
    /// True if every record is synced.
    pub(crate) synced: bool,
    pub(crate) records: u64,
    pub(crate) value_bytes: u64,
    pub(crate) block_bytes: u32,
    /// True if RocksDB compares its own checksum of each block that it reads.
    pub(crate) block_checksum: bool,
}

/// Way in which the files of a store are kept.
#[derive(Clone, Copy)]
pub(crate) enum Files<'a> {
    /// Unencrypted, without a library of ours.
    Plain,
    /// By RocksDB's own EncryptedFileSystem.
    Rival { library: &'a Path },
    /// By our plug-in.
    Sealed { plugin: &'a Path, cipher: &'a str, page_bytes: Option<u32>, accel: Option<&'a str> },
}

/// Figures of one benchmark.
#[derive(Debug, PartialEq)]
pub(crate) struct Figures {
    /// Its name.
    pub(crate) name: String,
    /// Operations a second.
    pub(crate) per_s: f64,
    /// Operations.
    pub(crate) operations: f64,
}

/// One run.
pub(crate) struct Run<'a> {
    /// Directory in which the store is made; has the keys, `store.key` and the rival's `rival.key`.
    pub(crate) scratch: &'a Path,
    pub(crate) files: Files<'a>,
    pub(crate) seed: u64,
}

impl Run<'_> {
    /// Runs all benchmarks of `workload` on a new store, which is removed. Returns the figures of
    /// each, with the operations in a second of the CPU time of its process, in which opening and
    /// closing the store are included.
    pub(crate) fn measure(&self, workload: &Workload) -> Result<Vec<(Figures, f64)>> {
        let store = self.scratch.join("store");
        let benchmarks = if workload.synced { &SYNCED[..] } else { &UNSYNCED };
        let mut all = Vec::new();
        for (number, benchmark) in benchmarks.iter().enumerate() {
            let mut command = self.command(workload, &store);
            command.arg(format!("--benchmarks={benchmark}"));
            command.arg(format!("--use_existing_db={}", number > 0));
            let before = CpuTime::of_ended_children();
            let output = output(command)?;
            let cpu_s = CpuTime::of_ended_children().since(before).total_s();
            let found = figures(&output);
            let [figures] = <[Figures; 1]>::try_from(found).map_err(|found| {
                anyhow!("db_bench printed {} figures for {benchmark}:\n{output}", found.len())
            })?;
            let per_cpu_s = figures.operations / cpu_s;
            all.push((figures, per_cpu_s));
        }
        fs::remove_dir_all(&store).with_context(|| format!("remove {}", store.display()))?;
        Ok(all)
    }

    /// Returns the program with all its flags but those of a benchmark.
    fn command(&self, workload: &Workload, store: &Path) -> Command {
        let mut command = Command::new("db_bench");
        command
            .args([
                "--compression_type=none",
                "--multiread_batched=true",
                &format!("--batch_size={BATCH}"),
                &format!("--seed={}", self.seed),
            ])
            .args([
                format!("--num={}", workload.records),
                format!("--value_size={}", workload.value_bytes),
                format!("--block_size={}", workload.block_bytes),
                format!("--verify_checksum={}", workload.block_checksum),
            ])
            .arg(format!("--db={}", store.display()));
        match self.files {
            Files::Plain => {}
            Files::Rival { library } => {
                command.env("ENCRYPTED_FS_KEY", self.scratch.join("rival.key"));
                command.env("LD_PRELOAD", library).arg("--fs_uri=encrypted-fs://");
            }
            Files::Sealed { plugin, cipher, page_bytes, accel } => {
                let key = self.scratch.join("store.key");
                let pages =
                    page_bytes.map_or(String::new(), |bytes| format!("&page_bytes={bytes}"));
                let accel = accel.map_or(String::new(), |name| format!("&accel={name}"));
                command.env("LD_PRELOAD", plugin).arg(format!(
                    "--fs_uri=sealstone://?key={}&cipher={cipher}{pages}{accel}",
                    key.display()
                ));
            }
        }
        command
    }
}

/// Returns the name and version, in its own words.
pub(crate) fn version() -> Result<String> {
    let mut command = Command::new("db_bench");
    command.arg("--version");
    Ok(output(command)?.trim().to_owned())
}

/// Returns whether the program reports that its RocksDB checks assertions.
pub(crate) fn warns_of_assertions() -> Result<bool> {
    let scratch = tempfile::tempdir().context("make a directory")?;
    let mut command = Command::new("db_bench");
    command
        .args(["--benchmarks=fillseq", "--num=1"])
        .arg(format!("--db={}", scratch.path().join("store").display()));
    Ok(output(command)?.contains("Assertions are enabled"))
}

/// Returns the output of `command` on stdout.
fn output(mut command: Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context(
        "start db_bench\nsh dev/setup.sh rocksdb-tools installs it (Debian: rocksdb-tools)",
    )?;
    if !output.status.success() {
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the figures in lines such as `fillseq : 9.589 micros/op 104264 ops/sec 0.192 seconds
/// 20000 operations; …`
fn figures(output: &str) -> Vec<Figures> {
    let figures = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let (per_s, rest) = rest.split_once(" micros/op ")?.1.split_once(" ops/sec ")?;
        let operations = rest.split_once(" seconds ")?.1.split_once(" operations")?.0;
        Some(Figures {
            name: name.trim().to_owned(),
            per_s: per_s.trim().parse().ok()?,
            operations: operations.trim().parse().ok()?,
        })
    };
    output.lines().filter_map(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_among_other_lines() {
        let output = "Write rate: 0 bytes/second\nRead rate: 0 ops/second\nDB path: [/tmp/b]\n\
                      fillseq      :       9.589 micros/op 104264 ops/sec 0.192 seconds 20000 \
                      operations;   11.5 MB/s\nwaitforcompaction(/tmp/b): started\n\
                      readrandom   :       5.549 micros/op 172114 ops/sec 0.116 seconds 20000 \
                      operations;   19.0 MB/s (1 of 2)\n";
        let of = |name: &str, per_s| Figures { name: name.into(), per_s, operations: 20_000.0 };
        assert_eq!(figures(output), [of("fillseq", 104_264.0), of("readrandom", 172_114.0)]);
    }
}
