//! Counter mode of one cipher: gigabytes a second by backend and message size, and what setting a
//! key costs.
//!
//! `ctr_speed CIPHER [BACKEND]`. Each figure is the median of rounds that visit all backends and
//! sizes alternately, so that the machine's drift hits them alike.

use std::error::Error;
use std::time::{Duration, Instant};

use sealstone_cipher::{Backend, cipher, ctr};

const SIZES: [usize; 9] = [8, 16, 64, 256, 512, 1024, 1500, 4096, 16384];
const ROUNDS: usize = 51;
const ROUND: Duration = Duration::from_micros(200);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let line = cipher(&arguments.next().ok_or("usage: ctr_speed CIPHER [BACKEND]")?)?;
    let backends = match arguments.next() {
        Some(name) => vec![Backend::by_name(&name)?],
        None => Backend::available(),
    };
    let key = vec![7; line.key_bytes];
    let counter = vec![3; line.block_bytes];
    let mut tables = vec![vec![Vec::new(); SIZES.len() + 1]; backends.len()];
    for _ in 0..ROUNDS {
        for (table, backend) in tables.iter_mut().zip(&backends) {
            let keyed = ctr(line, &key, *backend)?;
            for (column, bytes) in SIZES.into_iter().enumerate() {
                let mut data = vec![1; bytes];
                let call_ns = call_ns(&mut || {
                    keyed.apply(&counter, 0, &mut data).expect("one block of counter")
                });
                table[column].push(bytes as f64 / call_ns);
            }
            table[SIZES.len()].push(call_ns(&mut || drop(ctr(line, &key, *backend))));
        }
    }
    println!(
        "{} in counter mode, GB/s by message size in bytes; key: nanoseconds to set one",
        line.name
    );
    println!("{:<10}{}{:>9}", "backend", SIZES.map(|bytes| format!("{bytes:>9}")).concat(), "key");
    for (table, backend) in tables.into_iter().zip(backends) {
        let mut medians: Vec<f64> = table.into_iter().map(median).collect();
        let key_ns = medians.pop().expect("the last column");
        let cells: String = medians.iter().map(|speed| format!("{speed:>9.4}")).collect();
        println!("{:<10}{cells}{key_ns:>9.0}", backend.name());
    }
    Ok(())
}

/// Nanoseconds for one call of `job`, over one round.
fn call_ns(job: &mut impl FnMut()) -> f64 {
    job();
    let (mut calls, start) = (0_u64, Instant::now());
    loop {
        for _ in 0..4 {
            job();
        }
        calls += 4;
        let elapsed = start.elapsed();
        if elapsed >= ROUND {
            return elapsed.as_nanos() as f64 / calls as f64;
        }
    }
}

fn median(mut rounds: Vec<f64>) -> f64 {
    rounds.sort_by(f64::total_cmp);
    rounds[rounds.len() / 2]
}
