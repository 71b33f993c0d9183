//! Redis with its log under redis-benchmark.

use std::path::Path;

use anyhow::{Context, Result};
use sealstone_servers::{Persistence, RedisOptions, start_redis};

use crate::benchmark::{Benchmark, Turn};
use sealstone_turns::program::{number_after, run};

/// SET by redis-benchmark.
pub(crate) struct RedisBenchmark {
    name: &'static str,
    log: Persistence,
    requests: u32,
}

impl RedisBenchmark {
    /// Returns one for each way to write the log, of about `seconds` each.
    pub(crate) fn all(seconds: u32) -> impl Iterator<Item = Self> {
        [
            ("Redis, SET, log always synced", Persistence::SyncedLog, 6_000),
            ("Redis, SET, log synced every second", Persistence::Log, 60_000),
        ]
        .into_iter()
        .map(move |(name, log, each_s)| Self { name, log, requests: each_s * seconds })
    }
}

impl Benchmark for RedisBenchmark {
    fn run(&self, dir: &Path) -> Result<Turn> {
        let options = RedisOptions { persistence: self.log, ..RedisOptions::default() };
        let dir = dir.join("redis");
        let mut server = start_redis(&dir, options)?;
        let (port, requests) = (server.port().to_string(), self.requests.to_string());
        let load = ["-p", &port, "-t", "set", "-d", "100", "-c", "8", "-r", "100000", "--csv"];
        let said = run("redis-benchmark", &[&load[..], &["-n", &requests]].concat())?;
        let per_s = number_after(&said, "\"SET\",\"")?;
        server.stop().context("stop Redis")?;
        std::fs::remove_dir_all(&dir)?;
        Ok(Turn::of(vec![(self.name.to_owned(), per_s)]))
    }
}

/// Returns a line on it.
pub(crate) fn fact() -> Result<String> {
    let version = run("redis-server", &["--version"])?;
    let version = version.split_whitespace().find(|word| word.starts_with("v=")).unwrap_or("");
    Ok(format!("Redis {version}: redis-benchmark, SET of 100 bytes, 8 clients, 100,000 keys"))
}
