//! Cost of the load generator itself: every workload, with its draws, clock reads and histograms,
//! against a store that does nothing. Prints the CPU time of an operation and its share of one CPU
//! at 100,000 operations a second.
//!
//! Run it with `cargo bench -p sealstone-bench --bench generator_cost -- [SECONDS]`; SECONDS
//! is how long each workload runs, 1 if not given. It exits with 1 if a YCSB workload takes more
//! than 5 % of a CPU.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use sealstone_bench::measure::Latencies;
use sealstone_bench::measure::NullStore;
use sealstone_bench::study::plan::Plan;
use sealstone_bench::workload::{Done, Position, Unit, Workload, build, names};
use sealstone_store::{MemoryStore, Target};

const OPERATIONS_PER_S: f64 = 100_000.0;
const CPU_SHARE_MAX: f64 = 0.05;

/// Returns the CPU time of this process so far.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every Linux has this clock").into()
}

/// Cost of running a workload.
struct Cost {
    cpu: Duration,
    operations: u64,
    done: Done,
}

/// Runs rounds of `workload` on `target` for about `wall`, and counts all but the making of
/// clients.
fn cost(workload: &dyn Workload, target: Target<'_>, wall: Duration) -> Cost {
    let mut recorder = Latencies::default();
    let mut cost = Cost { cpu: Duration::ZERO, operations: 0, done: Done::default() };
    let begin = Instant::now();
    for round in 0.. {
        let at = Position { variant: 0, round, slice: 0, slices: 1, client: 0, clients: 1 };
        let mut client = workload.client(at);
        let before = cpu_time();
        for _ in 0..workload.operations() {
            let done = client.next(target, &mut recorder).expect("a store without faults");
            cost.operations += 1;
            cost.done.rows += done.rows;
            cost.done.bytes += done.bytes;
        }
        cost.cpu += cpu_time() - before;
        if begin.elapsed() >= wall {
            return cost;
        }
    }
    unreachable!("rounds have no end")
}

fn main() -> ExitCode {
    let seconds = std::env::args()
        .filter(|argument| argument != "--bench")
        .nth(1)
        .and_then(|seconds| seconds.parse().ok())
        .unwrap_or(1.0);
    let wall = Duration::from_secs_f64(seconds);
    let plan = Plan { bytes: 64_000_000, ..Plan::default() };
    let mut too_much = false;
    println!(
        "{:<12} {:>14} {:>10} {:>22}",
        "workload", "ns/operation", "ns/row", "CPU at 100,000 op/s"
    );
    for workload in build(&plan.data(), &names()).expect("the default plan") {
        let (null, memory) = (NullStore::new(), MemoryStore::new());
        // the scan checks the data it reads, so it needs a store that returns the written data; its
        // cost is counted too
        let target: Target<'_> =
            if workload.spec().cold { (&memory).into() } else { (&null).into() };
        workload.load(target, 0, 1, &|_| {}).expect("a store without faults");
        let Cost { cpu, operations, done } = cost(&*workload, target, wall);
        let ns = cpu.as_nanos() as f64;
        let [per_operation, per_row] =
            [operations, done.rows].map(|count| ns / count.max(1) as f64);
        let share = per_operation * OPERATIONS_PER_S / 1e9;
        let share_text = match workload.spec().unit {
            Unit::Operations => format!("{:.1} % of one CPU", share * 100.0),
            Unit::Bytes => "-".to_owned(),
        };
        println!(
            "{:<12} {per_operation:>14.0} {per_row:>10.1} {share_text:>22}",
            workload.spec().name
        );
        too_much |= workload.spec().dataset == "ycsb" && share > CPU_SHARE_MAX;
    }
    println!(
        "\nthe figures of oltp include copying rows out of the null store, those of batch-scan a \
         walk through memory"
    );
    ExitCode::from(u8::from(too_much))
}
