//! Turns of both clients on one server. Each turn is a separate process, so that its CPU time is
//! the client's alone.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use sealstone_bench::measure::CpuTime;
use sealstone_ycsb_rivals::go_ycsb::{self, GoYcsb};
use sealstone_ycsb_rivals::our_client::Outcome;
use sealstone_ycsb_rivals::shared::Shared;

use crate::table::{Finding, Turn};

/// The workloads that leave the keys as they are, and go-ycsb's properties for them. The
/// distribution of keys is that of YCSB's own workload files.
pub(crate) const WORKLOADS: [(&str, [(&str, &str); 3]); 4] = [
    (
        "a",
        [
            ("readproportion", "0.5"),
            ("updateproportion", "0.5"),
            ("readmodifywriteproportion", "0"),
        ],
    ),
    (
        "b",
        [
            ("readproportion", "0.95"),
            ("updateproportion", "0.05"),
            ("readmodifywriteproportion", "0"),
        ],
    ),
    ("c", [("readproportion", "1"), ("updateproportion", "0"), ("readmodifywriteproportion", "0")]),
    (
        "f",
        [
            ("readproportion", "0.5"),
            ("updateproportion", "0"),
            ("readmodifywriteproportion", "0.5"),
        ],
    ),
];

/// Both clients on one server.
pub(crate) struct Contest {
    pub(crate) shared: &'static Shared,
    pub(crate) rival: GoYcsb,
    pub(crate) address: String,
    pub(crate) records: u64,
    pub(crate) threads: usize,
    pub(crate) operations: u64,
}

/// One turn: what, how many operations, at which rate.
struct Task<'a> {
    workload: &'a str,
    operations: u64,
    rate: Option<u64>,
    round: usize,
}

impl Contest {
    /// Loads the records of both.
    pub(crate) fn load(&self) -> Result<()> {
        let task = Task { workload: "c", operations: self.operations, rate: None, round: 0 };
        let output = self.our_command(&task).arg("--load").status().context("start our client")?;
        if !output.success() {
            bail!("our client could not load its records: {output}");
        }
        // number 0 has one key in both, which is there; with a zipfian distribution it draws one
        // number more than it has records, which would not be there
        let properties = vec![
            ("insertstart", "1".to_owned()),
            ("insertcount", self.records.to_string()),
            ("recordcount", (self.records + 1).to_string()),
        ];
        let said = self.rival.run(&go_ycsb::Job {
            load: true,
            threads: self.threads,
            target: None,
            properties,
        })?;
        all_went_well(&said)
    }

    /// Returns half of the operations a second that the slower one does; rounded, at least 1 for
    /// each thread.
    pub(crate) fn half_speed(&self, workload: &str) -> Result<u64> {
        let task = Task { workload, operations: self.operations, rate: None, round: 0 };
        let slower = self.ours(&task)?.per_s().min(self.theirs(&task)?.per_s());
        Ok(((slower / 2.0) as u64).next_multiple_of(100).max(self.threads as u64))
    }

    /// One turn each without a rate and one each at `rate`, for `seconds`; the other one begins in
    /// the next round.
    pub(crate) fn round(
        &self,
        workload: &str,
        round: usize,
        rate: u64,
        seconds: u64,
        finding: &mut Finding,
    ) -> Result<()> {
        let tasks = [
            Task { workload, operations: self.operations, rate: None, round: round + 1 },
            Task { workload, operations: rate * seconds, rate: Some(rate), round: round + 1 },
        ];
        for (task, turns) in tasks.iter().zip([&mut finding.free, &mut finding.at_rate]) {
            let (ours, theirs) = if round.is_multiple_of(2) {
                let ours = self.ours(task)?;
                (ours, self.theirs(task)?)
            } else {
                let theirs = self.theirs(task)?;
                (self.ours(task)?, theirs)
            };
            turns.push([ours, theirs]);
        }
        Ok(())
    }

    fn our_command(&self, task: &Task<'_>) -> Command {
        // the program that runs is there
        let mut command = Command::new(std::env::current_exe().unwrap_or_default());
        command.args(["client", "--store", self.shared.name, "--address", &self.address]);
        command.args(["--workload", task.workload]).stdin(Stdio::null());
        let numbers = [
            ("--records", self.records),
            ("--operations", task.operations),
            ("--threads", self.threads as u64),
            ("--round", task.round as u64),
        ];
        let rate = task.rate.map(|rate| ("--rate", rate));
        for (flag, number) in numbers.into_iter().chain(rate) {
            command.args([flag, &number.to_string()]);
        }
        command
    }

    fn ours(&self, task: &Task<'_>) -> Result<Turn> {
        let mut command = self.our_command(task);
        let (output, cpu_s, wall_s) = measured(|| command.stderr(Stdio::inherit()).output());
        let output = output.context("start our client")?;
        if !output.status.success() {
            bail!("our client ended with {}", output.status);
        }
        let Outcome { operations, p50_us } =
            serde_json::from_slice(&output.stdout).context("what our client says")?;
        Ok(Turn { operations, cpu_s, wall_s, p50_us })
    }

    fn theirs(&self, task: &Task<'_>) -> Result<Turn> {
        let (_, mix) = WORKLOADS
            .iter()
            .find(|(name, _)| *name == task.workload)
            .context("a workload of the table")?;
        let mut properties = vec![
            ("recordcount", self.records.to_string()),
            ("operationcount", task.operations.to_string()),
            ("requestdistribution", "zipfian".to_owned()),
        ];
        properties.extend(mix.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let job =
            go_ycsb::Job { load: false, threads: self.threads, target: task.rate, properties };
        let before = self.shared.unfound(&self.address)?;
        let (said, cpu_s, wall_s) = measured(|| self.rival.run(&job));
        let said = said?;
        all_went_well(&said)?;
        let unfound = self.shared.unfound(&self.address)? - before;
        if unfound > 0 {
            bail!("go-ycsb read {unfound} records that are not there");
        }
        let names =
            [("READ", "read"), ("UPDATE", "update"), ("READ_MODIFY_WRITE", "read-modify-write")];
        let p50 = |(theirs, ours): (&str, &str)| Some((ours.to_owned(), said.get(theirs)?.p50_us));
        let p50_us: BTreeMap<String, f64> = names.into_iter().filter_map(p50).collect();
        Ok(Turn { operations: task.operations, cpu_s, wall_s, p50_us })
    }
}

fn all_went_well(said: &go_ycsb::Said) -> Result<()> {
    match go_ycsb::failed(said) {
        0 => Ok(()),
        failed => bail!("{failed} operations of go-ycsb failed: {said:?}"),
    }
}

/// Returns the result of `run`, with the CPU seconds of the process that it starts and waits for,
/// and the wall seconds.
fn measured<T>(run: impl FnOnce() -> T) -> (T, f64, f64) {
    let of_children = || CpuTime::with_ended_children().since(CpuTime::now()).total_s();
    let (begin, before) = (Instant::now(), of_children());
    let result = run();
    (result, of_children() - before, begin.elapsed().as_secs_f64())
}
