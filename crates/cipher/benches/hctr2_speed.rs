//! HCTR2 beside GCM of the same cipher: gigabytes a second, and the ratio, by message size.
//!
//! `hctr2_speed [BACKEND] [CIPHER...]`; without a backend's name the fastest one is taken. Each
//! figure is the median of rounds in which both have their turn, for every cipher and size, so that
//! the machine's drift hits them alike; the ratio is that of each round, with the quarters of the
//! rounds around it.

use std::error::Error;
use std::time::{Duration, Instant};

use sealstone_cipher::{Backend, aead, cipher, ciphers, hctr2};

const SIZES: [usize; 4] = [512, 4096, 16_354, 65_536];
const ROUNDS: usize = 51;
const ROUND: Duration = Duration::from_micros(400);

fn main() -> Result<(), Box<dyn Error>> {
    let mut named: Vec<String> =
        std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let is_backend = |word: &String| Backend::all_names().contains(&word.as_str());
    let backend = match named.first().is_some_and(is_backend) {
        true => Backend::by_name(&named.remove(0))?,
        false => Backend::auto(),
    };
    let chosen = match &named[..] {
        [] => ciphers().iter().filter(|cipher| cipher.block_bytes == 16).collect(),
        named => named.iter().map(|name| cipher(name)).collect::<Result<Vec<_>, _>>()?,
    };
    println!("{}: GB/s of GCM and HCTR2, and the ratio (quarters of the rounds)", backend.name());
    for cipher in chosen {
        let key = vec![7; cipher.key_bytes];
        let (gcm, wide) = (aead(cipher, &key, backend)?, hctr2(cipher, &key, backend)?);
        let mut figures = vec![[const { Vec::new() }; 2]; SIZES.len()];
        for _ in 0..ROUNDS {
            for (figures, bytes) in figures.iter_mut().zip(SIZES) {
                let mut data = vec![1; bytes];
                figures[0].push(gb_s(bytes, || {
                    gcm.seal(&[3; 12], b"", &mut data).expect("short enough");
                }));
                figures[1].push(gb_s(bytes, || {
                    wide.encrypt(&[3; 16], &mut data).expect("long enough");
                }));
            }
        }
        for ([gcm, wide], bytes) in figures.into_iter().zip(SIZES) {
            let ratios = wide.iter().zip(&gcm).map(|(wide, gcm)| wide / gcm).collect();
            let [low, middle, high] = quarters(ratios);
            println!(
                "{:<9}{bytes:>7}{:>9.3}{:>9.3}   {middle:.3} ({low:.3}; {high:.3})",
                cipher.name,
                quarters(gcm)[1],
                quarters(wide)[1],
            );
        }
    }
    Ok(())
}

/// Returns gigabytes a second of `job` on `bytes`, over one round.
fn gb_s(bytes: usize, mut job: impl FnMut()) -> f64 {
    job();
    let (mut calls, start) = (0_u64, Instant::now());
    loop {
        job();
        calls += 1;
        let elapsed = start.elapsed();
        if elapsed >= ROUND {
            return calls as f64 * bytes as f64 / elapsed.as_nanos() as f64;
        }
    }
}

/// Returns the values at one, two and three quarters.
fn quarters(mut rounds: Vec<f64>) -> [f64; 3] {
    rounds.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| rounds[rounds.len() * quarter / 4])
}
