//! PostgreSQL under pgbench.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use sealstone_servers::{POSTGRES_PROGRAM, POSTGRES_USER, PostgresOptions, start_postgres};

use crate::benchmark::{Benchmark, Turn};
use sealstone_turns::program::{number_after, output};

const SCALE: u32 = 15;
const CACHE_BYTES: u64 = 64 << 20;
const CLIENTS: &str = "8";
/// Rows of the largest table for each unit of the scale.
const ROWS: u32 = 100_000;

/// A load, TPC-B and reads by pgbench.
pub(crate) struct Pgbench {
    pub(crate) seconds: u32,
}

impl Benchmark for Pgbench {
    fn run(&self, dir: &Path) -> Result<Turn> {
        let options =
            PostgresOptions { cache_bytes: Some(CACHE_BYTES), ..PostgresOptions::default() };
        let mut server = start_postgres(&dir.join("postgres"), options)?;
        let pgbench = |options: &[&str]| {
            let mut command = Command::new("pgbench");
            command.env("PGPASSFILE", server.secrets_path());
            command.args(["-h", "127.0.0.1", "-U", POSTGRES_USER, "-p"]);
            output(command.arg(server.port().to_string()).args(options).arg("postgres"))
        };
        let begin = Instant::now();
        pgbench(&["-i", "-q", "-s", &SCALE.to_string()])?;
        let load_s = begin.elapsed().as_secs_f64();
        let (seconds, clients) = (self.seconds.to_string(), ["-c", CLIENTS, "-j", "2"]);
        let timed = [&clients[..], &["-n", "-T", &seconds]].concat();
        let mixed = pgbench(&timed)?;
        let select = pgbench(&[&timed[..], &["-S"]].concat())?;
        server.stop().context("stop PostgreSQL")?;
        Ok(Turn::of(vec![
            ("pgbench, rows loaded".into(), f64::from(SCALE * ROWS) / load_s),
            ("pgbench, TPC-B, synced".into(), number_after(&mixed, "tps =")?),
            ("pgbench, selects".into(), number_after(&select, "tps =")?),
        ]))
    }
}

/// Returns a line on it.
pub(crate) fn fact() -> Result<String> {
    let program = POSTGRES_PROGRAM.find(None)?;
    let version = output(Command::new(program).arg("--version"))?;
    Ok(format!(
        "{}: pgbench, scale {SCALE}, a cache of 64 MiB, {CLIENTS} clients, loaded again in each \
         round",
        version.trim()
    ))
}
