//! Runs go-ycsb and reads its output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use sealstone_servers::{Place, Program};
use serde::Deserialize;

/// Places to look for go-ycsb.
pub static PROGRAM: Program = Program {
    what: "go-ycsb",
    flag: "go-ycsb",
    variable: "SEALSTONE_GO_YCSB",
    places: &[Place::Cache("go-ycsb/go-ycsb"), Place::SearchPath("go-ycsb")],
    works: Path::is_file,
    install: "build it with: make setup-go-ycsb, or name one in SEALSTONE_GO_YCSB",
};

/// The program on one store.
#[derive(Clone, Debug)]
pub struct GoYcsb {
    /// The program.
    pub program: PathBuf,
    /// Its name of the store, such as `mongodb`.
    pub store: &'static str,
    /// Its properties for every run, such as the address of the server.
    pub properties: Vec<(String, String)>,
}

/// Work of one run of go-ycsb.
#[derive(Clone, Debug)]
pub struct Job {
    /// Loads records; otherwise runs operations on those that are there.
    pub load: bool,
    /// Threads.
    pub threads: usize,
    /// Operations a second, all threads together; none: as many as possible.
    pub target: Option<u64>,
    /// More properties.
    pub properties: Vec<(&'static str, String)>,
}

/// Figures that go-ycsb reports for one kind of operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Operations.
    pub count: u64,
    /// Median latency in microseconds, from the begin of an operation.
    pub p50_us: f64,
}

/// Report of go-ycsb on a run, by its names: `READ`, `UPDATE`, `READ_ERROR`, `TOTAL`.
pub type Said = BTreeMap<String, Figures>;

impl GoYcsb {
    /// Runs `job` and waits for its end.
    ///
    /// # Errors
    /// A program that cannot be started, that ends with an error (as for a value that it did not
    /// write), or that reports nothing about its operations.
    pub fn run(&self, job: &Job) -> Result<Said> {
        let mut command = Command::new(&self.program);
        command.arg(if job.load { "load" } else { "run" }).arg(self.store);
        command.args(["--threads", &job.threads.to_string()]);
        if let Some(target) = job.target {
            command.args(["--target", &target.to_string()]);
        }
        // by default it opens a profiler to everyone
        let fixed = [("workload", "core"), ("debug.pprof", "127.0.0.1:0"), ("outputstyle", "json")];
        let fixed = fixed.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let own = job.properties.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        for (name, value) in fixed.into_iter().chain(self.properties.iter().cloned()).chain(own) {
            command.arg("-p").arg(format!("{name}={value}"));
        }
        let output = command.stdin(Stdio::null()).output();
        let output = output
            .with_context(|| format!("start {}\n{}", self.program.display(), PROGRAM.install))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            bail!(
                "{command:?}: {}\n{}{}",
                output.status,
                tail(&said),
                tail(&String::from_utf8_lossy(&output.stderr))
            );
        }
        figures(&said).with_context(|| format!("{command:?} said:\n{}", tail(&said)))
    }
}

/// Operations of `said` that failed.
#[must_use]
pub fn failed(said: &Said) -> u64 {
    said.iter().filter(|(name, _)| name.ends_with("_ERROR")).map(|(_, figures)| figures.count).sum()
}

/// One entry of the list that it prints at its end.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "Operation")]
    operation: String,
    #[serde(rename = "Count")]
    count: String,
    #[serde(rename = "50th(us)")]
    p50_us: String,
}

/// Returns the last list that it printed: those before are of the run so far.
fn figures(said: &str) -> Result<Said> {
    let list = said
        .lines()
        .rev()
        .find(|line| line.starts_with("[{"))
        .context("no list of its operations")?;
    let entries: Vec<Entry> = serde_json::from_str(list).context("its list of operations")?;
    let figures = |entry: Entry| -> Result<(String, Figures)> {
        let Entry { operation, count, p50_us } = entry;
        let number = |text: &str| {
            text.parse::<u64>().with_context(|| format!("{operation}: {text} is no number"))
        };
        let figures = Figures { count: number(&count)?, p50_us: number(&p50_us)? as f64 };
        Ok((operation, figures))
    };
    entries.into_iter().map(figures).collect()
}

/// Returns the end of a long text.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(6)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_list_counts() {
        let list = |count: u32| {
            format!(
                "[{{\"50th(us)\":\"487\",\"90th(us)\":\"1186\",\"Count\":\"{count}\",\
                 \"OPS\":\"5282.2\",\"Operation\":\"READ\"}},{{\"50th(us)\":\"375\",\
                 \"Count\":\"4\",\"Operation\":\"READ_ERROR\"}}]"
            )
        };
        let said = format!(
            "\"threadcount\"=\"4\"\n{}\n*****\nRun finished, takes 947ms\n{}\n",
            list(10),
            list(4996)
        );
        let said = figures(&said).unwrap();
        assert_eq!(said["READ"], Figures { count: 4996, p50_us: 487.0 });
        assert_eq!(failed(&said), 4);
        assert!(figures("Run finished\n").is_err());
    }
}
