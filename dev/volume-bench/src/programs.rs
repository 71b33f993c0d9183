//! All that is measured in a place, by program.

use anyhow::{Result, bail};

use crate::benchmark::Benchmark;
use crate::fio::Fio;
use crate::mariadb::Sysbench;
use crate::postgres::Pgbench;
use crate::redis::RedisBenchmark;
use crate::{mariadb, postgres, redis};
use sealstone_turns::program;

/// Names of the programs that measure.
pub(crate) const PROGRAMS: [&str; 4] = ["postgres", "fio", "redis", "mariadb"];

/// Returns the turns of the programs `with`, in their order, of `seconds` each.
pub(crate) fn all(with: &[String], seconds: u32) -> Result<Vec<Box<dyn Benchmark>>> {
    let mut all: Vec<Box<dyn Benchmark>> = Vec::new();
    for name in with {
        match name.as_str() {
            "postgres" => all.push(Box::new(Pgbench { seconds })),
            "fio" => all.extend(Fio::all(seconds).map(|one| Box::new(one) as Box<dyn Benchmark>)),
            "redis" => all.extend(
                RedisBenchmark::all(seconds).map(|one| Box::new(one) as Box<dyn Benchmark>),
            ),
            "mariadb" => all.push(Box::new(Sysbench { seconds })),
            _ => bail!("no program that measures is called {name}: {}", PROGRAMS.join(", ")),
        }
    }
    Ok(all)
}

/// Returns a line on each of the programs `with`.
pub(crate) fn facts(with: &[String]) -> Result<Vec<String>> {
    let mut facts = Vec::new();
    for name in with {
        facts.push(match name.as_str() {
            "postgres" => postgres::fact()?,
            "fio" => format!(
                "{}: one file of 256 MiB, rewritten in each round; reads and 1 MiB writes \
                 direct, synced writes with fdatasync after each",
                program::run("fio", &["--version"])?.trim()
            ),
            "redis" => redis::fact()?,
            _ => mariadb::fact()?,
        });
    }
    Ok(facts)
}
