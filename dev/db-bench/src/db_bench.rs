//! Runs `db_bench` and reads its figures.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Benchmarks of one run of the program, by its own names and in order.
const UNSYNCED: &str = "fillseq,overwrite,readrandom,seekrandom,readseq";
const SYNCED: &str = "fillsync";

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

/// One run.
pub(crate) struct Run<'a> {
    /// Directory in which the store is made; has the key, `store.key`.
    pub(crate) scratch: &'a Path,
    pub(crate) files: Files<'a>,
    pub(crate) seed: u64,
}

impl Run<'_> {
    /// Operations a second of each benchmark, by its name. The store is removed.
    pub(crate) fn measure(&self, workload: &Workload) -> Result<Vec<(String, f64)>> {
        let store = self.scratch.join("store");
        let benchmarks = if workload.synced { SYNCED } else { UNSYNCED };
        let mut command = Command::new("db_bench");
        command
            .args([
                "--compression_type=none",
                &format!("--benchmarks={benchmarks}"),
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
        let output = output(command)?;
        fs::remove_dir_all(&store).with_context(|| format!("remove {}", store.display()))?;
        let figures = figures(&output);
        if figures.len() != benchmarks.split(',').count() {
            bail!("db_bench printed {} figures for {benchmarks}:\n{output}", figures.len());
        }
        Ok(figures)
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
fn figures(output: &str) -> Vec<(String, f64)> {
    let figure = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let per_s = rest.split_once(" micros/op ")?.1.split_once(" ops/sec")?.0;
        Some((name.trim().to_owned(), per_s.trim().parse().ok()?))
    };
    output.lines().filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_among_other_lines() {
        let output = "Write rate: 0 bytes/second\nRead rate: 0 ops/second\nDB path: [/tmp/b]\n\
                      fillseq      :       9.589 micros/op 104264 ops/sec 0.192 seconds 20000 \
                      operations;   11.5 MB/s\n\
                      readrandom   :       5.549 micros/op 172114 ops/sec 0.116 seconds 20000 \
                      operations;   19.0 MB/s (1 of 2)\n";
        assert_eq!(
            figures(output),
            [("fillseq".to_owned(), 104_264.0), ("readrandom".to_owned(), 172_114.0)]
        );
    }
}
