//! A 128-bit block cipher in counter mode and GCM: gigabytes a second by backend and message size,
//! on one core.
//!
//! Arguments: the cipher (aes-256), and one backend (all that the CPU has).
//!
//! Each figure is the median of rounds that visit all sizes and backends alternately, so that the
//! machine's drift hits them alike.

use std::error::Error;
use std::time::{Duration, Instant};

use sealstone_cipher::{Backend, aead, cipher, ctr};

const SIZES: [usize; 7] = [16, 64, 256, 1024, 1500, 4096, 16384];
const ROUNDS: usize = 15;
const ROUND: Duration = Duration::from_millis(2);

fn main() -> Result<(), Box<dyn Error>> {
    let line = cipher(
        &std::env::args()
            .filter(|argument| argument != "--bench")
            .nth(1)
            .unwrap_or("aes-256".to_owned()),
    )?;
    let key = vec![7; line.key_bytes];
    let backends: Vec<Backend> =
        match std::env::args().filter(|argument| argument != "--bench").nth(2) {
            Some(name) => vec![Backend::by_name(&name)?],
            None => Backend::available(),
        };
    println!("CPU features: {}", Backend::cpu_features().join(" "));
    println!("{:<10} {:<6}{}", "backend", "job", SIZES.map(|bytes| format!("{bytes:>9}")).concat());
    for backend in backends {
        let counter_mode = ctr(line, &key, backend)?;
        let gcm = aead(line, &key, backend)?;
        let mut rows: [(&str, Vec<Vec<f64>>); 4] =
            ["ctr", "seal", "open", "key"].map(|job| (job, vec![Vec::new(); SIZES.len()]));
        for _ in 0..ROUNDS {
            for (column, bytes) in SIZES.into_iter().enumerate() {
                let mut data = vec![1; bytes];
                let mut apply = || counter_mode.apply(&[3; 16], 0, &mut data).expect("one block");
                rows[0].1[column].push(gigabytes_per_second(bytes, &mut apply));
                let mut seal = || {
                    gcm.seal(&[3; 12], &[5; 24], &mut data).expect("twelve bytes");
                };
                rows[1].1[column].push(gigabytes_per_second(bytes, &mut seal));
                let tag = gcm.seal(&[3; 12], &[5; 24], &mut data)?;
                let ciphertext = data.clone();
                let mut open = || {
                    data.copy_from_slice(&ciphertext);
                    gcm.open(&[3; 12], &[5; 24], &mut data, &tag).expect("just sealed");
                };
                rows[2].1[column].push(gigabytes_per_second(bytes, &mut open));
                let mut set_and_seal = || {
                    let fresh = aead(line, &key, backend).expect("a key of its length");
                    fresh.seal(&[3; 12], &[5; 24], &mut data).expect("twelve bytes");
                };
                rows[3].1[column].push(gigabytes_per_second(bytes, &mut set_and_seal));
            }
        }
        for (job, columns) in rows {
            let cells: String =
                columns.into_iter().map(|rounds| format!("{:>9.3}", median(rounds))).collect();
            println!("{:<10} {job:<6}{cells}", backend.name());
        }
    }
    println!("GB/s; open copies its input first, key sets a new key for each message");
    Ok(())
}

/// Returns the speed of `job` on messages of `bytes` bytes, over one round.
fn gigabytes_per_second(bytes: usize, job: &mut impl FnMut()) -> f64 {
    job();
    let calls = (32768 / bytes).max(1) as u32;
    let (mut done, start) = (0_u64, Instant::now());
    loop {
        for _ in 0..calls {
            job();
        }
        done += u64::from(calls) * bytes as u64;
        let elapsed = start.elapsed();
        if elapsed >= ROUND {
            return done as f64 / elapsed.as_nanos() as f64;
        }
    }
}

fn median(mut rounds: Vec<f64>) -> f64 {
    rounds.sort_by(f64::total_cmp);
    rounds[rounds.len() / 2]
}
