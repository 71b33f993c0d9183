//! Cost of one call of the encryptor to WiredTiger: encrypt and decrypt through the callbacks, for
//! a journal record of 100 bytes and for pages; decrypt also into buffers in turn, of which none is
//! in the CPU's nearest cache, as those of a database are. A measurement, not a test.
//!
//! `cargo bench -p sealstone-wiredtiger --bench callback_cost -- [CIPHER…]`

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use sealstone_keys::KeyFile;
use sealstone_wiredtiger::{Callbacks, Encryptor, PAGE_SKIP_BYTES, RECORD_SKIP_BYTES, Settings};

/// Sizes of the sealed data, in bytes.
const SIZES: [usize; 3] = [100, 4096, 32768];
/// Bytes of the buffers that are decrypted into in turn.
const TURNS_BYTES: usize = 16 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut ciphers: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if ciphers.is_empty() {
        ciphers = ["aes-256", "aria-256", "lea-256", "seed-128", "3des"].map(String::from).to_vec();
    }
    let dir = tempfile::tempdir()?;
    let key = dir.path().join("cost.key");
    KeyFile::create(&key, "cost")?;
    println!(
        "{:<10} {:>7} {:>12} {:>12} {:>12}   ns a call, the best of 15 rounds",
        "cipher", "bytes", "encrypt", "decrypt", "in turn"
    );
    for cipher in &ciphers {
        let settings = Settings::parse(&format!("key=\"{}\",cipher={cipher}", key.display()))?;
        let encryptor = Encryptor::open(&settings)?;
        let backend = encryptor.pages().provider().name();
        let callbacks = Callbacks::new(encryptor);
        let expansion =
            callbacks.expansion_bytes().map_err(|code| format!("sizing returned {code}"))?;
        for bytes in SIZES {
            // a journal record, or a page: header, then content
            let skip = if bytes < 4096 { RECORD_SKIP_BYTES - 4 } else { PAGE_SKIP_BYTES - 4 };
            let mut item = vec![0x87; skip + bytes];
            item[..skip].fill(0);
            let mut stored = vec![0; item.len() + 4 + expansion];
            if bytes >= 4096 {
                let whole = u32::try_from(item.len())?;
                item[16..20].copy_from_slice(&whole.to_le_bytes());
                item[24] = 7;
            }
            let encrypt =
                best_ns(|| callbacks.encrypt(black_box(&item), skip, &mut stored).is_ok());
            let length = callbacks
                .encrypt(&item, skip, &mut stored)
                .map_err(|code| format!("encrypt returned {code}"))?;
            // fields that WiredTiger sets after sealing
            let (size, at) =
                if bytes < 4096 { (length.next_multiple_of(128), 0) } else { (length, 28) };
            stored[at..at + 4].copy_from_slice(&u32::try_from(size)?.to_le_bytes());
            let mut opened = vec![0; stored.len()];
            let decrypt =
                best_ns(|| callbacks.decrypt(black_box(&stored), skip, &mut opened).is_ok());
            assert_eq!(
                opened[skip..item.len()],
                item[skip..],
                "{cipher}: what was opened is not what was sealed"
            );
            let mut buffers = vec![opened; TURNS_BYTES / stored.len()];
            let mut turn = 0;
            let in_turn = best_ns(|| {
                turn = (turn + 1) % buffers.len();
                callbacks.decrypt(black_box(&stored), skip, &mut buffers[turn]).is_ok()
            });
            println!(
                "{cipher:<10} {bytes:>7} {encrypt:>12.0} {decrypt:>12.0} {in_turn:>12.0}   \
                 {backend}"
            );
        }
    }
    Ok(())
}

/// Nanoseconds that one call takes, in the best round of a few milliseconds each: the other rounds
/// were disturbed.
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
