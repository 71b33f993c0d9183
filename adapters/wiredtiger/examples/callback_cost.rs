//! What one call of the encryptor costs WiredTiger: encrypt and decrypt through the callbacks, for a journal record of 100
//! bytes and for pages. A measurement, not a test.
//!
//! `cargo run --release -p sealstone-wiredtiger --example callback_cost [CIPHER…]`

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use sealstone_keys::file::KeyFile;
use sealstone_wiredtiger::settings::Settings;
use sealstone_wiredtiger::{Callbacks, Encryptor};

/// Sizes of what is sealed, in bytes.
const SIZES: [usize; 3] = [100, 4096, 32768];

fn main() -> Result<(), Box<dyn Error>> {
    let mut ciphers: Vec<String> = std::env::args().skip(1).collect();
    if ciphers.is_empty() {
        ciphers = ["aes-256", "aria-256", "lea-256", "seed-128", "3des"].map(String::from).to_vec();
    }
    let dir = tempfile::tempdir()?;
    let key = dir.path().join("cost.key");
    KeyFile::create(&key, "cost")?;
    println!("{:<10} {:>7} {:>12} {:>12}   ns a call, the best of 15 rounds", "cipher", "bytes", "encrypt", "decrypt");
    for cipher in &ciphers {
        let settings = Settings::parse(&format!("key=\"{}\",cipher={cipher}", key.display()))?;
        let encryptor = Encryptor::open(&settings)?;
        let backend = encryptor.pages().backend().name();
        let callbacks = Callbacks::new(encryptor);
        let expansion = callbacks.expansion_bytes().map_err(|code| format!("sizing returned {code}"))?;
        for bytes in SIZES {
            let mut page = vec![7; bytes];
            let mut block = vec![0; bytes + expansion];
            let mut opened = vec![0; block.len()];
            let encrypt = best_ns(|| callbacks.encrypt(black_box(&page), &mut block).is_ok());
            let decrypt = best_ns(|| callbacks.decrypt(black_box(&block), &mut opened).is_ok());
            assert_eq!(opened[..bytes], page, "{cipher}: what was opened is not what was sealed");
            page[0] ^= 1;
            println!("{cipher:<10} {bytes:>7} {encrypt:>12.0} {decrypt:>12.0}   {backend}");
        }
    }
    Ok(())
}

/// Nanoseconds that one call takes, in the best round of some milliseconds each: other rounds met something else.
fn best_ns(mut call: impl FnMut() -> bool) -> f64 {
    let mut calls = 1u32;
    let mut best = f64::INFINITY;
    let mut rounds = 0;
    while rounds < 15 {
        let start = Instant::now();
        for _ in 0..calls {
            assert!(call(), "a callback failed");
        }
        let took = start.elapsed();
        if took < Duration::from_millis(5) {
            calls *= 2;
            continue;
        }
        best = best.min(took.as_secs_f64() * 1e9 / f64::from(calls));
        rounds += 1;
    }
    best
}
