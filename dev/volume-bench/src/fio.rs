//! fio: single requests. Its figures for all sizes but 1 MiB are requests a second; for 1 MiB they
//! are MB a second.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::benchmark::{Benchmark, Turn};
use sealstone_turns::program;

/// One job of fio.
pub(crate) struct Fio {
    name: &'static str,
    options: &'static [&'static str],
    /// None: until the file is written once.
    seconds: Option<u32>,
}

impl Fio {
    /// Returns all jobs; the first one makes the file that the others use.
    pub(crate) fn all(seconds: u32) -> impl Iterator<Item = Self> {
        let synced = ["--rw=randwrite", "--fdatasync=1"];
        let [bs4, bs16, many] = ["--bs=4k", "--bs=16k", "--numjobs=16"];
        let long = ["--bs=1M", "--direct=1"];
        let jobs: [(_, Vec<&'static str>, bool); 9] = [
            ("fio, 1 MiB writes, new, MB/s", [&long[..], &["--rw=write"]].concat(), false),
            ("fio, 1 MiB writes, again, MB/s", [&long[..], &["--rw=write"]].concat(), true),
            ("fio, 1 MiB reads, cold, MB/s", [&long[..], &["--rw=read"]].concat(), true),
            ("fio, 4 KiB reads, cold", vec![bs4, "--direct=1", "--rw=randread"], true),
            (
                "fio, 4 KiB reads, cold, 16 jobs",
                vec![bs4, "--direct=1", "--rw=randread", many],
                true,
            ),
            ("fio, 4 KiB synced writes", [&synced[..], &[bs4]].concat(), true),
            ("fio, 4 KiB synced writes, 16 jobs", [&synced[..], &[bs4, many]].concat(), true),
            ("fio, 16 KiB synced writes", [&synced[..], &[bs16]].concat(), true),
            ("fio, 16 KiB synced writes, 16 jobs", [&synced[..], &[bs16, many]].concat(), true),
        ];
        jobs.into_iter().map(move |(name, options, is_timed)| Self {
            name,
            options: options.leak(),
            seconds: is_timed.then_some(seconds),
        })
    }
}

impl Benchmark for Fio {
    fn run(&self, dir: &Path) -> Result<Turn> {
        let file = dir.join("fio");
        if self.seconds.is_none() && file.exists() {
            fs::remove_file(&file)?;
        }
        let filename = format!("--filename={}", file.display());
        let mut options =
            vec!["--name=job", "--size=256M", "--ioengine=psync", "--group_reporting"];
        options.extend(["--output-format=json", "--randrepeat=0", "--invalidate=1", &filename]);
        options.extend(self.options);
        let runtime = self.seconds.map(|seconds| format!("--runtime={seconds}"));
        if let Some(runtime) = &runtime {
            options.extend(["--time_based", runtime, "--overwrite=1"]);
        } else {
            options.push("--end_fsync=1");
        }
        let said: Value = serde_json::from_str(&program::run("fio", &options)?)?;
        let is_read = self.options.iter().any(|option| option.ends_with("read"));
        let job = &said["jobs"][0][if is_read { "read" } else { "write" }];
        let is_long = self.options.contains(&"--bs=1M");
        let figure = match is_long {
            true => job["bw_bytes"].as_f64().map(|bytes| bytes / 1e6),
            false => job["iops"].as_f64(),
        };
        let figures = vec![(self.name.to_owned(), figure.context("no figure from fio")?)];
        let bytes = job["io_bytes"].as_f64().context("no bytes from fio")?;
        let what = self.name.strip_suffix(", MB/s").unwrap_or(self.name);
        Ok(Turn { figures, bytes: Some((format!("{what}, MB of a CPU second"), bytes)) })
    }
}
