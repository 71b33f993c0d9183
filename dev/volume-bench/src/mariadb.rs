//! InnoDB of MariaDB under sysbench.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use sealstone_servers::{
    MARIADB_DATABASE, MARIADB_PROGRAM, MARIADB_USER, MariaDbOptions, start_mariadb,
};

use crate::benchmark::Benchmark;
use crate::program::{number_after, output};

/// Less than a third of the tables, so that reads come from the device's side.
const CACHE_BYTES: u64 = 32 << 20;
const TABLES: u32 = 4;
const ROWS: u32 = 100_000;

/// A load, reads, and reads with writes by sysbench.
pub(crate) struct Sysbench {
    pub(crate) seconds: u32,
}

impl Benchmark for Sysbench {
    fn run(&self, dir: &Path) -> Result<Vec<(String, f64)>> {
        let options = MariaDbOptions {
            cache_bytes: Some(CACHE_BYTES),
            password: Some("measured".into()),
            ..MariaDbOptions::default()
        };
        let mut server = start_mariadb(&dir.join("mariadb"), options)?;
        let sysbench = |test: &str, deed: &str| {
            let mut command = Command::new("sysbench");
            command.arg(test).arg("--mysql-host=127.0.0.1").arg("--mysql-password=measured");
            command.arg(format!("--mysql-port={}", server.port()));
            command.arg(format!("--mysql-user={MARIADB_USER}"));
            command.arg(format!("--mysql-db={MARIADB_DATABASE}"));
            command.arg(format!("--tables={TABLES}")).arg(format!("--table-size={ROWS}"));
            command.arg(format!("--time={}", self.seconds)).arg("--threads=8");
            output(command.arg(deed))
        };
        sysbench("oltp_read_write", "cleanup")?;
        sysbench("oltp_read_write", "prepare")?;
        let read = sysbench("oltp_read_only", "run")?;
        let both = sysbench("oltp_read_write", "run")?;
        server.stop().context("stop MariaDB")?;
        Ok(vec![
            ("sysbench, oltp_read_only".into(), transactions(&read)?),
            ("sysbench, oltp_read_write".into(), transactions(&both)?),
        ])
    }
}

/// Returns the transactions a second from `transactions:  12345  (1234.56 per sec.)`.
fn transactions(said: &str) -> Result<f64> {
    let line = said.lines().find(|line| line.trim().starts_with("transactions:"));
    number_after(line.context("no transactions")?, "(")
}

/// Returns a line on it.
pub(crate) fn fact() -> Result<String> {
    let version = output(Command::new(MARIADB_PROGRAM.find(None)?).arg("--version"))?;
    Ok(format!(
        "{}: sysbench, {TABLES} tables of {ROWS} rows, a cache of 32 MiB, 8 threads, loaded anew \
         in each round",
        version.split(" for ").next().unwrap_or(&version).trim()
    ))
}
