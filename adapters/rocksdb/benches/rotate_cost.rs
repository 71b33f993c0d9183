//! Measurement of the cost of rotating the key of a store in use: how long it takes until all
//! headers are under the new version, and how long a reader waits during the rotation, compared
//! with slices of the same length without a rotation.
//!
//! `cargo bench -p sealstone-rocksdb --bench rotate_cost -- [ROTATIONS] [TABLES]
//! [KIB_A_TABLE] [READERS]`
//!
//! The store has that many tables, four times as much data as its cache, and readers that read
//! random keys without a pause. The order within a pair of slices changes from pair to pair. Exits
//! with 1 if a rotation took a second or a reader waited longer than 10 ms during one.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_cipher::{Backend, cipher};
use sealstone_keys::KeyFile;
use sealstone_rocksdb::{Db, DbOptions, SealedEnv, rest};

/// The longest that a reader may wait, in milliseconds.
const WAIT_MAX_MS: f64 = 10.0;
/// The longest that a rotation may take.
const ROTATION_MAX: Duration = Duration::from_secs(1);
/// Bytes of one value.
const VALUE_BYTES: usize = 1000;
/// Time that readers run before and after a rotation, and just as long without one.
const MARGIN: Duration = Duration::from_millis(200);

type AnyError = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<ExitCode, AnyError> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (rotations, tables, kib, readers) = (number(30)?, number(1000)?, number(256)?, number(2)?);

    let dir = tempfile::tempdir()?;
    let store = dir.path().join("store");
    let keys = Arc::new(KeyFile::create(dir.path().join("key"), "rotate-cost")?);
    let env = SealedEnv::new(keys.clone(), cipher("aes-256")?, Backend::auto());
    let rows = kib * 1024 / VALUE_BYTES as u64;
    let options = DbOptions {
        text: "create_if_missing=true;compression=kNoCompression;disable_auto_compactions=true;\
               max_open_files=-1"
            .into(),
        cache_bytes: Some(tables * kib * 1024 / 4),
        ..DbOptions::default()
    };
    let db = env.open(&store, &options)?;
    fill(&db, dir.path(), tables, rows)?;
    println!("{tables} tables of {kib} KiB, {readers} readers, a cache for a quarter of it");
    // the first reads open every table
    read(&db, tables * rows, readers, || thread::sleep(Duration::from_secs(3)))?;

    let (mut waits, mut takes) = ([Vec::new(), Vec::new()], Vec::new());
    println!(
        "{:>8} {:>10} {:>10} {:>12} {:>12}",
        "rotation", "files", "took", "wait without", "wait with"
    );
    for number in 0..rotations {
        let mut rotated = None;
        let with = |rotated: &mut Option<(u64, Duration)>| {
            read(&db, tables * rows, readers, || {
                thread::sleep(MARGIN);
                keys.rotate().expect("a new version");
                let begun = Instant::now();
                let done = rest::rotate(&store, &*keys, &mut |_| ()).expect("a store");
                *rotated = Some((done.rewrapped, begun.elapsed()));
                assert!(done.is_complete());
                thread::sleep(MARGIN);
            })
        };
        let without = || read(&db, tables * rows, readers, || thread::sleep(MARGIN * 4));
        let (plain, busy) = if number % 2 == 0 {
            (without()?, with(&mut rotated)?)
        } else {
            swap(with(&mut rotated)?, without()?)
        };
        let (files, took) = rotated.expect("it ran");
        println!(
            "{:>8} {files:>10} {:>7} ms {plain:>9.2} ms {busy:>9.2} ms",
            number + 1,
            took.as_millis()
        );
        waits[0].push(plain);
        waits[1].push(busy);
        takes.push(took);
    }
    Ok(verdict(&mut waits, &mut takes))
}

fn swap(with: f64, without: f64) -> (f64, f64) {
    (without, with)
}

/// Prints medians and worst cases; returns whether both limits hold.
fn verdict(waits: &mut [Vec<f64>; 2], takes: &mut [Duration]) -> ExitCode {
    takes.sort_unstable();
    println!(
        "a rotation took {} ms in the median, {} ms at most",
        takes[takes.len() / 2].as_millis(),
        takes[takes.len() - 1].as_millis()
    );
    for (all, when) in waits.iter_mut().zip(["without a rotation", "with one"]) {
        all.sort_unstable_by(f64::total_cmp);
        println!(
            "longest wait of a reader {when}: median {:.2} ms, most {:.2} ms",
            all[all.len() / 2],
            all[all.len() - 1]
        );
    }
    let holds =
        takes[takes.len() - 1] < ROTATION_MAX && waits[1].iter().all(|wait| *wait <= WAIT_MAX_MS);
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tables of rows in key order, each its own file.
fn fill(db: &Db, dir: &Path, tables: u64, rows: u64) -> Result<(), AnyError> {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut value = [0; VALUE_BYTES];
    for table in 0..tables {
        let path = dir.join("next.sst");
        let mut writer = db.table_writer(&path)?;
        for row in 0..rows {
            rng.fill(&mut value);
            writer.put(&key(table * rows + row), &value)?;
        }
        writer.finish()?;
        db.ingest(&[&path], true)?;
    }
    Ok(())
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Makes `readers` threads read random rows of `rows` while the given work runs; returns the
/// longest wait for one row, in milliseconds.
fn read(db: &Db, rows: u64, readers: u64, meanwhile: impl FnOnce()) -> Result<f64, AnyError> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..readers)
            .map(|reader| {
                let over = &over;
                scope.spawn(move || -> Result<u64, AnyError> {
                    let mut rng = SmallRng::seed_from_u64(reader);
                    let mut waits = Histogram::<u64>::new(3)?;
                    while !over.load(Ordering::Acquire) {
                        let begun = Instant::now();
                        let found = db.get_with(&key(rng.random_range(0..rows)), |_| ())?;
                        waits.record(begun.elapsed().as_micros() as u64)?;
                        assert!(found, "every row is there");
                    }
                    Ok(waits.max())
                })
            })
            .collect();
        meanwhile();
        over.store(true, Ordering::Release);
        let mut longest = 0;
        for thread in threads {
            longest = longest.max(thread.join().expect("it does not panic")?);
        }
        Ok(longest as f64 / 1e3)
    })
}
