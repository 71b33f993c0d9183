//! One turn on one server: sysbench's transactions and a scan of all of its tables, by the clock
//! and by the server's CPU time.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use sealstone_bench::measure::CpuTime;
use sealstone_servers::{MARIADB_DATABASE, MARIADB_USER, MariaDb};
use sealstone_turns::program::output;
use sealstone_turns::sysbench::Sysbench;

/// Tests of sysbench that are run.
const TESTS: [&str; 3] = ["oltp_read_only", "oltp_read_write", "oltp_write_only"];

/// The least CPU time that Linux counts, in seconds.
const TICK: f64 = 0.01;

/// Password of the account on every server.
pub(crate) const PASSWORD: &str = "measured";

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) tables: u32,
    pub(crate) rows: u32,
    pub(crate) threads: u32,
    pub(crate) seconds: u32,
}

/// Returns sysbench's tables on `server`.
pub(crate) fn tables(server: &MariaDb, sizes: Sizes) -> Sysbench<'static> {
    Sysbench {
        port: server.port(),
        user: MARIADB_USER,
        password: PASSWORD,
        database: MARIADB_DATABASE,
        tables: sizes.tables,
        rows: sizes.rows,
        threads: sizes.threads,
        seconds: sizes.seconds,
    }
}

/// Returns what `server` does a second, and a second of its CPU time, by name.
pub(crate) fn measure(server: &mut MariaDb, sizes: Sizes) -> Result<Vec<(String, f64)>> {
    let pid = server.pid().context("the server has ended")?;
    let pid = u32::try_from(pid).context("a number of a process")?;
    let cpu_seconds = || CpuTime::of_all(&[pid]).total_s();
    let mut found = Vec::new();
    for test in TESTS {
        let before = cpu_seconds();
        let per_s = tables(server, sizes).per_s(test, &[])?;
        let used = cpu_seconds() - before;
        found.push((format!("{test}, transactions"), per_s));
        let done = per_s * f64::from(sizes.seconds);
        found.push((format!("{test}, transactions of a CPU second"), done / used.max(TICK)));
    }
    let (begin, before) = (Instant::now(), cpu_seconds());
    let mut scans = 0.0;
    // one scan of small tables ends within a few ticks of the CPU's account
    while begin.elapsed().as_secs() < u64::from(sizes.seconds) {
        scan(server, sizes.tables)?;
        scans += 1.0;
    }
    let (elapsed, used) = (begin.elapsed().as_secs_f64(), cpu_seconds() - before);
    let rows = scans * f64::from(sizes.tables) * f64::from(sizes.rows);
    found.push(("full scan, rows".into(), rows / elapsed));
    found.push(("full scan, rows of a CPU second".into(), rows / used.max(TICK)));
    Ok(found)
}

/// Reads every row of all tables.
pub(crate) fn scan(server: &MariaDb, tables: u32) -> Result<()> {
    let statements: String = (1..=tables)
        .map(|table| format!("SELECT SUM(LENGTH(pad) + LENGTH(c)) FROM sbtest{table};"))
        .collect();
    let mut command = Command::new("mariadb");
    command.arg(format!("--defaults-file={}", server.secrets_path().display()));
    command.arg("--host=127.0.0.1").arg(format!("--port={}", server.port()));
    output(command.arg(MARIADB_DATABASE).arg("--execute").arg(statements)).map(drop)
}
