//! fio with `--verify`: writes that are read back, at once and after mounting again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::findings::Findings;

/// Blocks of mixed lengths; a device of 4,096-byte sectors takes no shorter direct requests.
const MIXED: &str = "--bssplit=512/15:1k/10:4k/20:4608/10:16k/15:64k/15:256k/10:1M/5";
const MIXED_DIRECT: &str = "--bssplit=4k/30:8k/10:12k/10:16k/15:64k/15:256k/10:1M/10";

/// One file and how it is written.
pub(crate) struct Job {
    name: &'static str,
    options: &'static [&'static str],
}

/// All jobs, each with a file of its own.
pub(crate) const JOBS: [Job; 5] = [
    Job { name: "in order", options: &["--rw=write", MIXED, "--fsync=64"] },
    Job { name: "at random", options: &["--rw=randwrite", MIXED, "--fdatasync=32"] },
    Job {
        name: "in order, direct",
        options: &["--rw=write", MIXED_DIRECT, "--direct=1", "--fsync=64"],
    },
    Job {
        name: "at random, direct",
        options: &["--rw=randwrite", MIXED_DIRECT, "--direct=1", "--fsync=64"],
    },
    Job {
        name: "at random, direct, 16 at once",
        options: &[
            "--rw=randwrite",
            MIXED_DIRECT,
            "--direct=1",
            "--ioengine=libaio",
            "--iodepth=16",
            "--fdatasync=64",
        ],
    },
];

impl Job {
    /// Rewrites its file and reads it back.
    pub(crate) fn write(&self, files: &Path, round: u32, mib: u32, findings: &mut Findings) {
        let judge = format!("fio, {}: writes, read back at once", self.name);
        note(&judge, self.run(files, round, mib, &[]), findings);
    }

    /// Reads back what the last `write` with the same `round` wrote.
    pub(crate) fn read_back(&self, files: &Path, round: u32, mib: u32, findings: &mut Findings) {
        let judge = format!("fio, {}: read back when mounted again", self.name);
        note(&judge, self.run(files, round, mib, &["--verify_only"]), findings);
    }

    /// Removes its file.
    pub(crate) fn remove(&self, files: &Path) -> Result<()> {
        fs::remove_file(self.file(files)).with_context(|| format!("remove {}", self.name))
    }

    fn file(&self, files: &Path) -> PathBuf {
        files.join(format!("fio-{}", self.name.replace(", ", "-").replace(' ', "-")))
    }

    /// Runs fio, and returns the requests and bytes that were verified. Rounds alternate: in odd
    /// ones every block has a sum of itself, which an older block would have too, in even ones a
    /// pattern of its round, which no older block has.
    fn run(&self, files: &Path, round: u32, mib: u32, options: &[&str]) -> Result<(u64, u64)> {
        let mut fio = Command::new("fio");
        fio.arg("--name=job").arg(format!("--filename={}", self.file(files).display()));
        fio.arg(format!("--size={mib}M")).arg(format!("--randseed={round}"));
        match round % 2 {
            1 => fio.arg("--verify=crc32c"),
            _ => fio.arg("--verify=pattern").arg(format!("--verify_pattern=0x5ea1{round:04x}%o")),
        };
        fio.args(["--verify_fatal=1", "--verify_state_save=0", "--output-format=json"]);
        let output = fio.args(self.options).args(options).output().context("run fio")?;
        let said = String::from_utf8_lossy(&output.stdout);
        let failed = String::from_utf8_lossy(&output.stderr);
        let begin = said.find('{').with_context(|| format!("no JSON from fio: {said}{failed}"))?;
        let said: Value = serde_json::from_str(&said[begin..]).context("read fio's JSON")?;
        let job = &said["jobs"][0];
        let figure = |from: &str, name: &str| {
            job[from][name].as_u64().with_context(|| format!("fio says no {from} {name}"))
        };
        if !output.status.success() || job["error"] != 0 {
            bail!("{}, error {}\n{failed}", output.status, job["error"]);
        }
        let bytes = figure("read", "io_bytes")?;
        if bytes != u64::from(mib) << 20 || figure("write", "io_bytes")? != bytes {
            bail!("{bytes} of {mib} MiB verified\n{failed}");
        }
        Ok((figure("read", "total_ios")?, bytes))
    }
}

fn note(judge: &str, verified: Result<(u64, u64)>, findings: &mut Findings) {
    match verified {
        Ok((requests, bytes)) => findings.requests(judge, requests, bytes),
        Err(error) => findings.fail(judge, &format!("{error:#}")),
    }
}
