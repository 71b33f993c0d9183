//! Measurement of the cost of resealing for a database in use: YCSB b in slices that alternate
//! between a reseal in progress and none, on about a gigabyte. Prints the ratio of throughputs with
//! its 95 % confidence interval, and the longest wait of a reader.
//!
//! `cargo bench -p sealstone-stores --bench reseal_cost -- [PAIRS] [SLICE_SECONDS]
//! [RECORDS] [RATE_MB_S] [THREADS]`
//!
//! A slice with a reseal ends by stopping it, and the next one resumes with the remaining files;
//! once all of the store is under one cipher, it continues with the other. The order within a pair
//! changes from pair to pair. Exits with 1 if the interval is not entirely above a loss of 15 %.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use sealstone_bench::conclude::{Estimate, median};
use sealstone_bench::measure::{Runner, SliceOutcome, Work};
use sealstone_bench::study::plan::Plan;
use sealstone_bench::words::human_bytes;
use sealstone_bench::workload::{Position, Workload, build};
use sealstone_cipher::{Cipher, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_rocksdb::reseal::{RATE_BYTES_S, Report, Reseal};
use sealstone_store::{Choice, OpenStore, RestSeal, StoreOptions, Target, Upkeep, Variant};
use sealstone_stores::{RocksDb, RocksStore};

/// The loss of throughput that is allowed.
const LOSS_MAX: f64 = 0.15;

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// One store under one workload.
struct Bench {
    store: Arc<RocksStore>,
    workload: Box<dyn Workload>,
    runner: Runner,
    slice: Duration,
    slices: usize,
    threads: usize,
    rate_bytes_s: u64,
    ciphers: [&'static Cipher; 2],
    /// Bytes that were resealed within slices, and how often all of the store was.
    resealed: (u64, u64),
}

fn main() -> Result<ExitCode, AnyError> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut number =
        |default: f64| arguments.next().map_or(Ok(default), |text| text.parse::<f64>());
    let pairs = number(12.0)? as usize;
    let slice = Duration::from_secs_f64(number(5.0)?);
    let records = number(1_000_000.0)? as u64;
    let rate_bytes_s = (number(RATE_BYTES_S as f64 / 1e6)? * 1e6) as u64;
    let threads = number(8.0)? as usize;

    let dir = tempfile::tempdir()?;
    let plan = Plan { records: vec![records], ..Plan::default() };
    let workload = build(&plan.data(), &["b"])?.remove(0);
    let engine = RocksDb::new(Arc::new(EphemeralKey::new()?));
    let variant = Variant {
        rest: Some(RestSeal::Own(Choice::auto(cipher("aes-256")?))),
        ..Variant::plain("aes-256")
    };
    let cache_bytes = workload.data_bytes() / 2;
    let options =
        StoreOptions { cache_bytes, tables: workload.tables().to_vec(), sync_writes: false };
    let store = Arc::new(engine.open_store(&variant, dir.path(), &options)?);
    workload.load(Target::from(&store), 0, 1, &|_| ())?;
    store.quiesce()?;
    println!(
        "YCSB b, {records} records ({}), {threads} threads, cache {}, reseal at {} a second",
        human_bytes(workload.data_bytes()),
        human_bytes(cache_bytes),
        human_bytes(rate_bytes_s)
    );
    let ciphers = [cipher("aria-256")?, cipher("aes-256")?];
    let (runner, resealed) = (Runner::default(), (0, 0));
    let mut bench = Bench {
        store,
        workload,
        runner,
        slice,
        slices: 0,
        threads,
        rate_bytes_s,
        ciphers,
        resealed,
    };
    let code = bench.run(pairs)?;
    Arc::into_inner(bench.store).expect("no slice is running").close()?;
    Ok(code)
}

impl Bench {
    fn run(&mut self, pairs: usize) -> Result<ExitCode, AnyError> {
        // caches fill
        for _ in 0..2 {
            self.without()?;
        }
        println!(
            "{:>5} {:>12} {:>12} {:>7} {:>12} {:>12}",
            "pair", "without", "with", "ratio", "longest", "longest"
        );
        let mut ratios = Vec::new();
        let mut longest = [Vec::new(), Vec::new()];
        for pair in 0..pairs {
            let (without, with) = if pair % 2 == 0 {
                let without = self.without()?;
                (without, self.with()?)
            } else {
                let with = self.with()?;
                (self.without()?, with)
            };
            let rates = [&without, &with].map(|slice| slice.operations as f64 / slice.elapsed_s);
            let waits =
                [&without, &with].map(|slice| slice.latencies.response()["read"].max_us / 1e3);
            ratios.push((rates[1] / rates[0]).ln());
            longest.iter_mut().zip(waits).for_each(|(all, wait)| all.push(wait));
            println!(
                "{:>5} {:>10.0}/s {:>10.0}/s {:>7.3} {:>9.1} ms {:>9.1} ms",
                pair + 1,
                rates[0],
                rates[1],
                rates[1] / rates[0],
                waits[0],
                waits[1]
            );
        }
        let most = |waits: &[f64]| waits.iter().copied().fold(0.0, f64::max);
        println!(
            "longest wait of a reader in a slice: median {:.1} ms without, {:.1} ms with; most \
             {:.1} and {:.1} ms",
            median(&longest[0]),
            median(&longest[1]),
            most(&longest[0]),
            most(&longest[1])
        );
        println!(
            "resealed {} in that time, all of the store {} times",
            human_bytes(self.resealed.0),
            self.resealed.1
        );
        let Some(estimate) = Estimate::from_pairs(&ratios) else {
            println!("too few pairs for an interval");
            return Ok(ExitCode::FAILURE);
        };
        let (low, high) = estimate.interval(0.95);
        println!(
            "throughput with a reseal × {:.3} ({low:.3} to {high:.3}, 95 %)",
            estimate.ratio()
        );
        Ok(if low >= 1.0 - LOSS_MAX { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// One slice on the store alone.
    fn without(&mut self) -> Result<SliceOutcome, AnyError> {
        let (work, slice) = (self.work(), self.slice);
        let over = AtomicBool::new(false);
        let (runner, store) = (&mut self.runner, &self.store);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(slice);
                over.store(true, Ordering::Release);
            });
            Ok(runner.run_slice(&OpenStore::from(Arc::clone(store)), work, None, &over)?)
        })
    }

    /// One slice with a reseal in progress from before its beginning to after its end.
    fn with(&mut self) -> Result<SliceOutcome, AnyError> {
        let (work, slice) = (self.work(), self.slice);
        let over = AtomicBool::new(false);
        let (runner, store, ciphers, rate_bytes_s) =
            (&mut self.runner, &self.store, self.ciphers, self.rate_bytes_s);
        let turn = self.resealed.1 as usize;
        let (outcome, bytes, whole) = thread::scope(|scope| {
            let resealing = scope.spawn(|| -> Result<(u64, u64), AnyError> {
                let (mut bytes, mut whole) = (0, 0);
                while !over.load(Ordering::Acquire) {
                    let cipher = ciphers[(turn + whole as usize) % 2];
                    let report: Report = Reseal::new(store.db(), cipher)
                        .rate(rate_bytes_s)
                        .run(&over, &mut |_| ())?;
                    bytes += report.rewritten_bytes;
                    whole += u64::from(report.is_finished());
                }
                Ok((bytes, whole))
            });
            scope.spawn(|| {
                thread::sleep(slice);
                over.store(true, Ordering::Release);
            });
            let outcome =
                runner.run_slice(&OpenStore::from(Arc::clone(store)), work, None, &over)?;
            let (bytes, whole) = resealing.join().expect("it does not panic")?;
            Ok::<_, AnyError>((outcome, bytes, whole))
        })?;
        self.resealed.0 += bytes;
        self.resealed.1 += whole;
        Ok(outcome)
    }

    /// Clients that run until the slice is over.
    fn work(&mut self) -> Vec<Work> {
        let round = self.slices;
        self.slices += 1;
        let clients = self.threads;
        let at = |client| Position { variant: 0, round, slice: 0, slices: 1, client, clients };
        (0..clients).map(|client| vec![(self.workload.client(at(client)), u64::MAX)]).collect()
    }
}
