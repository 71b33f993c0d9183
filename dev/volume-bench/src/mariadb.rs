//! InnoDB of MariaDB under sysbench.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use sealstone_servers::{
    MARIADB_DATABASE, MARIADB_PROGRAM, MARIADB_USER, MariaDbOptions, start_mariadb,
};

use crate::benchmark::{Benchmark, Turn};
use sealstone_turns::{program::output, sysbench};

/// Less than a third of the tables, so that reads come from the device's side.
const CACHE_BYTES: u64 = 32 << 20;
const PASSWORD: &str = "measured";
const TABLES: u32 = 4;
const ROWS: u32 = 100_000;

/// The tests: their names in the tables, and how sysbench is called. Where nothing else is said,
/// three of four rows come from a hundredth of each table.
const TESTS: [(&str, &str, &[&str]); 3] = [
    ("oltp_read_only", "oltp_read_only", &[]),
    ("oltp_read_write", "oltp_read_write", &[]),
    ("oltp_point_select, uniform", "oltp_point_select", &["--rand-type=uniform"]),
];

/// A load, reads, and reads with writes by sysbench.
pub(crate) struct Sysbench {
    pub(crate) seconds: u32,
}

impl Benchmark for Sysbench {
    fn run(&self, dir: &Path) -> Result<Turn> {
        let options = MariaDbOptions {
            cache_bytes: Some(CACHE_BYTES),
            password: Some(PASSWORD.into()),
            ..MariaDbOptions::default()
        };
        let mut server = start_mariadb(&dir.join("mariadb"), options)?;
        let sysbench = sysbench::Sysbench {
            port: server.port(),
            user: MARIADB_USER,
            password: PASSWORD,
            database: MARIADB_DATABASE,
            tables: TABLES,
            rows: ROWS,
            threads: 8,
            seconds: self.seconds,
        };
        sysbench.prepare()?;
        let measure = |(name, test, options): (&str, &str, &[&str])| {
            Ok((format!("sysbench, {name}"), sysbench.per_s(test, options)?))
        };
        let measured = TESTS.into_iter().map(measure).collect::<Result<Vec<_>>>()?;
        server.stop().context("stop MariaDB")?;
        Ok(Turn::of(measured))
    }
}

/// Returns a line on it.
pub(crate) fn fact() -> Result<String> {
    let version = output(Command::new(MARIADB_PROGRAM.find(None)?).arg("--version"))?;
    Ok(format!(
        "{}: sysbench, {TABLES} tables of {ROWS} rows, a cache of 32 MiB, 8 threads, loaded again \
         in each round",
        version.split(" for ").next().unwrap_or(&version).trim()
    ))
}
