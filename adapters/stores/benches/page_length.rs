//! Measurement of the cost of sealing by page length: loads, scans and random reads, cold and warm;
//! it prints how much of each a CPU second does. For choosing a page length; comparisons proper are
//! made with `sealstone compare`.
//!
//! `cargo bench -p sealstone-stores --bench page_length -- [CIPHER] [MEGABYTES]`

use std::sync::Arc;

use nix::time::{ClockId, clock_gettime};
use sealstone_keys::EphemeralKey;
use sealstone_store::{
    Choice, Field, Kind, Record, RestSeal, Store, StoreError, StoreOptions, Table, Upkeep, Variant,
};
use sealstone_stores::RocksDb;

const ROUNDS: usize = 3;
const READS: u32 = 5000;

fn main() -> Result<(), StoreError> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let name = arguments.next().unwrap_or_else(|| "aes-256".into());
    let cipher = sealstone_cipher::cipher(&name).map_err(StoreError::engine)?;
    let megabytes: u32 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(128);
    let fields = (0..10).map(|n| Field { name: format!("field{n}"), kind: Kind::Text }).collect();
    let table = Arc::new(Table { id: 1, name: "usertable".into(), fields });
    let keys = Arc::new(EphemeralKey::new().map_err(StoreError::engine)?);
    println!(
        "{name}, {megabytes} MB, best of {ROUNDS} rounds; operations or megabytes a CPU second of \
         the process"
    );
    print!("{:>10}", "page");
    for column in ["load", "put", "scan", "decrypt", "short", "cold get", "warm get", "cold MB"] {
        print!(" {column:>9}");
    }
    println!();
    for page_bytes in [0, 1024, 2048, 4096, 16384] {
        let engine = RocksDb::new(keys.clone()).with_page_bytes(page_bytes.max(1024));
        let variant = match page_bytes {
            0 => Variant::plain("none"),
            _ => Variant {
                rest: Some(RestSeal::Own(Choice::auto(cipher))),
                ..Variant::plain("sealed")
            },
        };
        let mut best = [0f64; 8];
        for _ in 0..ROUNDS {
            let figures = round(&engine, &variant, &table, megabytes)?;
            best.iter_mut().zip(figures).for_each(|(best, figure)| *best = best.max(figure));
        }
        print!("{page_bytes:>10}");
        best.iter().for_each(|figure| print!(" {figure:>9.0}"));
        println!();
    }
    Ok(())
}

fn round(
    engine: &RocksDb,
    variant: &Variant,
    table: &Arc<Table>,
    megabytes: u32,
) -> Result<[f64; 8], StoreError> {
    let dir = tempfile::tempdir().map_err(StoreError::engine)?;
    let options =
        StoreOptions { cache_bytes: 512 << 20, tables: vec![table.clone()], sync_writes: false };
    let store = engine.open_store(variant, dir.path(), &options)?;
    let rows = megabytes * 1000;
    let mut random = 1u64;
    let mut record = Record::new();
    let mut filled = || {
        record.clear();
        for _ in 0..10 {
            let value: Vec<u8> = (0..100).map(|_| draw(&mut random) as u8).collect();
            record.push(&value);
        }
        record.clone()
    };
    let sample: Vec<Record> = (0..1000).map(|_| filled()).collect();
    let key = |n: u32| format!("user{n:010}").into_bytes();

    let start = cpu_s();
    let mut loaded = (0..rows).map(|n| (key(n), sample[n as usize % 1000].clone()));
    store.bulk().expect("RocksDB loads in bulk").bulk_load(table, &mut loaded)?;
    let load = f64::from(megabytes) / (cpu_s() - start);

    store.drop_caches()?;
    let before = store.counters();
    let start = cpu_s();
    let scanned = store.scan(table, b"", usize::MAX, &mut |_, _| ())?;
    let elapsed = cpu_s() - start;
    assert_eq!(scanned, rows as usize);
    let after = store.counters();
    let scan = f64::from(megabytes) / elapsed;
    let scan_cipher = f64::from(megabytes) / (after.cipher_cpu_s - before.cipher_cpu_s).max(1e-9);

    store.drop_caches()?;
    let start = cpu_s();
    for _ in 0..READS / 10 {
        let from = draw(&mut random) as u32 % rows;
        store.scan(table, &key(from), 50, &mut |_, _| ())?;
    }
    let short = f64::from(READS / 10) / (cpu_s() - start);

    store.drop_caches()?;
    let mut found = Record::new();
    let mut gets = |count: u32, random: &mut u64| -> Result<f64, StoreError> {
        let start = cpu_s();
        for _ in 0..count {
            let n = draw(random) as u32 % rows;
            assert!(store.read(table, &key(n), None, &mut found)?);
        }
        Ok(f64::from(count) / (cpu_s() - start))
    };
    let decrypted = store.counters().decrypted_bytes;
    let cold = gets(READS, &mut random)?;
    let decrypted = (store.counters().decrypted_bytes - decrypted) as f64 / 1e6;
    for _ in 0..4 {
        gets(READS * 10, &mut random)?;
    }
    let warm = gets(READS * 20, &mut random)?;

    let start = cpu_s();
    for n in 0..rows.min(50_000) {
        store.insert(table, &key(n), &sample[n as usize % 1000])?;
    }
    store.db().flush().map_err(StoreError::engine)?;
    let put = f64::from(rows.min(50_000)) / (cpu_s() - start);
    store.close()?;
    let cipher = if !variant.is_baseline() { [scan_cipher, decrypted] } else { [0.0; 2] };
    Ok([load, put, scan, cipher[0], short, cold, warm, cipher[1]])
}

/// Returns the CPU seconds of this process, all threads, user and system.
fn cpu_s() -> f64 {
    let time =
        clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every Linux has this clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}

/// Returns a pseudo-random number, good enough to spread reads (xorshift64*).
fn draw(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
}
