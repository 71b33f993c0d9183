//! Cost of sealing one frame of a log, by cipher and length: called repeatedly ("hot"), and after
//! other work that has evicted keys and code out of the CPU's first two caches ("cold"), as in a
//! store between two writes. A measurement, not a test.
//!
//! `cargo bench -p sealstone-seal --bench frame_cost -- [CIPHER…]`

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::KeyFile;
use sealstone_seal::frame::FrameWriter;
use sealstone_seal::{Layout, SealedFile};

/// Lengths of the sealed data, in bytes: an update of one field, a record of YCSB with its key, two
/// and four of them.
const LENGTHS: [usize; 6] = [100, 800, 1100, 1500, 2200, 4400];
const ROUNDS: usize = 301;
const HOT_CALLS: usize = 64;
/// More than the first two caches hold.
const ELSEWHERE_BYTES: usize = 4 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut ciphers: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if ciphers.is_empty() {
        ciphers = ["aes-256", "aria-256", "lea-256", "seed-128", "3des"].map(String::from).to_vec();
    }
    let dir = tempfile::tempdir()?;
    let keys = KeyFile::create(dir.path().join("cost.key"), "cost")?;
    let mut writers = Vec::new();
    for name in &ciphers {
        let (file, _) = SealedFile::create(&keys, cipher(name)?, Backend::auto(), Layout::Frames)?;
        writers.push(FrameWriter::new(&file)?);
    }
    let mut elsewhere = vec![1_u8; ELSEWHERE_BYTES];
    let mut stored = Vec::with_capacity(1 << 20);
    println!(
        "{:<10} {:>7} {:>9} {:>9}   ns a frame, medians of {ROUNDS} rounds",
        "cipher", "bytes", "hot", "cold"
    );
    for bytes in LENGTHS {
        let data = vec![7; bytes];
        let mut hot = vec![Vec::with_capacity(ROUNDS); writers.len()];
        let mut cold = hot.clone();
        for _ in 0..ROUNDS {
            for (i, writer) in writers.iter_mut().enumerate() {
                stored.clear();
                let began = Instant::now();
                for _ in 0..HOT_CALLS {
                    writer.append(black_box(&data), &mut stored)?;
                }
                hot[i].push(began.elapsed().as_nanos() as f64 / HOT_CALLS as f64);
                stored.clear();
                elsewhere
                    .iter_mut()
                    .step_by(64)
                    .for_each(|byte| *byte = black_box(*byte).wrapping_add(1));
                let began = Instant::now();
                writer.append(black_box(&data), &mut stored)?;
                cold[i].push(began.elapsed().as_nanos() as f64);
            }
        }
        for ((name, hot), cold) in ciphers.iter().zip(&mut hot).zip(&mut cold) {
            println!("{name:<10} {bytes:>7} {:>9.0} {:>9.0}", median(hot), median(cold));
        }
    }
    Ok(())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
