//! Whether the time of a call depends on a secret: dudect's test (Reparaz, Balasch, Verbauwhede: Dude, is my code
//! constant time?, DATE 2017), for every cipher, mode, MAC and backend that this CPU has; what valgrind cannot run,
//! VAES, AVX-512 and the instructions for SHA, is tested by this alone.
//!
//! Calls with one fixed secret and calls with random ones come in random order. Welch's t-test compares the times of
//! both classes: all of them, those below each of several percentiles (what interrupts a call is no leak, and hides
//! one), and their squared distances from the mean. The largest |t| counts. Below 4.5 nothing was seen; above 10 there
//! is a leak; in between the same call is measured again, since some of the many comparisons come out there by chance.
//! Two toys that leak on purpose must be found. Not here: `tests/constant_time.rs`, which looks at instructions instead
//! of times.
//!
//! `timing_leaks [CALLS] [CIPHER OR MAC...]`; ends with an error where a leak was found that docs/side-channels.md does
//! not name.

use std::error::Error;
use std::fmt;
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;

use sealstone_cipher::aead::aead;
use sealstone_cipher::backend::Backend;
use sealstone_cipher::blocks::blocks;
use sealstone_cipher::ctr::ctr;
use sealstone_cipher::ff1::{Domain, Tweaks, ff1, takes};
use sealstone_cipher::hmac::{Mac, Message, TAG_BYTES_MAX, hmac, macs};
use sealstone_cipher::registry::{Cipher, ciphers};
use sealstone_cipher::testing::bytes;

/// Nothing seen below this |t|.
const UNSEEN: f64 = 4.5;
/// A leak above this |t|.
const LEAK: f64 = 10.0;
/// Bytes of a message: whole vectors and a tail, on every backend.
const MESSAGE_BYTES: usize = 208;
/// Percentiles, in hundredths of a class's share, above which times are left out.
const CROPS: [f64; 8] = [0.2, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0];
/// Secrets prepared for each class; more than a cache line predictor learns by heart.
const PREPARED: usize = 4096;

/// The secret of one class; shorter ones are its beginning.
static FIXED: LazyLock<Vec<u8>> = LazyLock::new(|| bytes("the fixed secret", MESSAGE_BYTES));

/// The comparison of both classes in which they differ most.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The absolute value of Welch's t.
    t: f64,
    /// Mean times of the calls compared, in ns: of random secrets, and of the fixed one.
    mean_ns: [f64; 2],
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [random, fixed] = self.mean_ns;
        write!(f, "|t| is {:.1}, {:+.1} ns of {random:.0}", self.t, fixed - random)
    }
}

/// Works with one secret.
type Job<'a> = dyn FnMut(&[u8]) + 'a;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let calls: usize = arguments.next().map_or(Ok(200_000), |calls| calls.parse())?;
    let named: Vec<String> = arguments.collect();
    println!("largest |t| of {calls} calls; up to {UNSEEN}: nothing seen; over {LEAK}: a leak");
    let mut wrong = Vec::new();
    let toys: [(&str, &mut Job); 2] = [("toy: early exit", &mut early_exit), ("toy: branch", &mut branch)];
    for (name, toy) in toys {
        let seen = largest_t(toy, 64, calls);
        println!("{name:<40}{:>10.1}", seen.t);
        if seen.t <= LEAK {
            wrong.push(format!("{name}: leaks on purpose, and {seen}"));
        }
    }
    for cipher in ciphers().iter().filter(|cipher| named.is_empty() || named.iter().any(|name| name == cipher.name)) {
        for backend in Backend::available() {
            wrong.extend(test(cipher, backend, calls)?);
        }
    }
    for mac in macs().iter().filter(|mac| named.is_empty() || named.iter().any(|name| name == mac.name)) {
        for backend in Backend::available() {
            wrong.extend(test_mac(mac, backend, calls)?);
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Prints the figures of one cipher on one backend; returns what should not be.
fn test(cipher: &'static Cipher, backend: Backend, calls: usize) -> Result<Vec<String>, Box<dyn Error>> {
    let key = bytes("key of a class", cipher.key_bytes);
    let (nonce, counter) = (vec![5; cipher.nonce_bytes()], vec![5; cipher.block_bytes]);
    let sealing = aead(cipher, &key, backend)?;
    let (counting, whole) = (ctr(cipher, &key, backend)?, blocks(cipher, &key, backend)?);
    let mut data = vec![0; MESSAGE_BYTES];
    let mut by_data = |apply: &dyn Fn(&mut [u8])| {
        let mut job = |secret: &[u8]| {
            data.copy_from_slice(secret);
            apply(black_box(&mut data));
        };
        settled_t(&mut job, MESSAGE_BYTES, calls)
    };
    let sealed = by_data(&|data| {
        black_box(sealing.seal(&nonce, &[], data).expect("a nonce of the right length"));
    });
    let counted = by_data(&|data| counting.apply(&counter, 0, data).expect("a counter block"));
    let encrypted = by_data(&|data| whole.encrypt(data).expect("whole blocks"));
    let decrypted = by_data(&|data| whole.decrypt(data).expect("whole blocks"));
    let mut message = vec![0; 40];
    let mut with_key = |secret: &[u8]| {
        let keyed = aead(cipher, secret, backend).expect("a key of the right length");
        black_box(keyed.seal(&nonce, &[], &mut message).expect("a nonce of the right length"));
    };
    // setting a key takes longer
    let keyed = settled_t(&mut with_key, cipher.key_bytes, calls / 4);
    let mut figures = vec![
        (cipher.mode.word(), sealed),
        ("ctr", counted),
        ("encrypt", encrypted),
        ("decrypt", decrypted),
        ("key", keyed),
    ];
    if takes(cipher) {
        let keyed = ff1(cipher, &key, backend, 10, Domain::Standard)?;
        let mut values = [0; MESSAGE_BYTES / 2];
        let mut job = |secret: &[u8]| {
            for (numeral, bytes) in values.iter_mut().zip(secret.as_chunks().0) {
                *numeral = ((u32::from(u16::from_le_bytes(*bytes)) * 10) >> 16) as u16;
            }
            // one value, and four side by side
            keyed.seal(b"", &mut values[..16]).expect("digits");
            keyed.seal_batch(Tweaks::One(b""), black_box(&mut values[16..80]), 16).expect("digits");
        };
        figures.push(("ff1", settled_t(&mut job, MESSAGE_BYTES, calls)));
    }
    let cells: String = figures.iter().map(|(what, seen)| format!("{what:>10}{:>7.1}", seen.t)).collect();
    println!("{:<12}{:<10}{cells}", cipher.name, backend.name());
    let leaks = figures.iter().filter(|(_, seen)| seen.t > LEAK && cipher.constant_time);
    Ok(leaks.map(|(what, seen)| format!("{} on {}, {what}: {seen}", cipher.name, backend.name())).collect())
}

/// Prints the figures of one MAC on one backend; returns what should not be.
fn test_mac(mac: &'static Mac, backend: Backend, calls: usize) -> Result<Vec<String>, Box<dyn Error>> {
    let keyed = hmac(mac, &bytes("key of a class", mac.key_bytes), backend)?;
    let mut tags = [[0; TAG_BYTES_MAX]; 20];
    let alone = settled_t(
        &mut |secret: &[u8]| {
            black_box(keyed.tag(&Message { data: secret, tail: &[] }));
        },
        MESSAGE_BYTES,
        calls,
    );
    // all as long, and each of another length
    let many = settled_t(
        &mut |secret: &[u8]| keyed.tags(&[Message { data: secret, tail: b"tail" }; 20], &mut tags),
        MESSAGE_BYTES,
        calls,
    );
    let mut pieces = |secret: &[u8]| {
        let messages: [Message<'_>; 20] = std::array::from_fn(|i| Message { data: &secret[..10 * i], tail: &[] });
        keyed.tags(&messages, &mut tags);
    };
    let pieces = settled_t(&mut pieces, MESSAGE_BYTES, calls);
    let mut with_key = |secret: &[u8]| {
        let keyed = hmac(mac, secret, backend).expect("a key of the right length");
        black_box(keyed.tag(&Message { data: &[7; 40], tail: &[] }));
    };
    let key = settled_t(&mut with_key, mac.key_bytes, calls / 4);
    let figures = [("tag", alone), ("tags", many), ("lengths", pieces), ("key", key)];
    let cells: String = figures.iter().map(|(what, seen)| format!("{what:>10}{:>7.1}", seen.t)).collect();
    println!("{:<18}{:<10}{cells}", mac.name, backend.name());
    let leaks = figures.iter().filter(|(_, seen)| seen.t > LEAK);
    Ok(leaks.map(|(what, seen)| format!("{} on {}, {what}: {seen}", mac.name, backend.name())).collect())
}

/// The largest |t|; where it is neither small nor large, that of a longer run.
fn settled_t(job: &mut Job, secret_bytes: usize, calls: usize) -> Seen {
    let mut seen = largest_t(job, secret_bytes, calls);
    for times in [2, 4] {
        if seen.t > UNSEEN {
            seen = largest_t(job, secret_bytes, calls * times);
        }
    }
    seen
}

/// The largest |t| of all comparisons of the two classes.
fn largest_t(job: &mut Job, secret_bytes: usize, calls: usize) -> Seen {
    // One secret for each call, whether fixed or random, so that both classes come from memory of the same kind.
    let order = bytes(&format!("order {calls}"), PREPARED);
    let mut secrets = bytes(&format!("random {calls}"), PREPARED * secret_bytes);
    for (secret, order) in secrets.chunks_exact_mut(secret_bytes).zip(&order) {
        if order & 1 == 1 {
            secret.copy_from_slice(&FIXED[..secret_bytes]);
        }
    }
    let mut place = vec![0; secret_bytes];
    let mut times: [Vec<f64>; 2] = [Vec::with_capacity(calls), Vec::with_capacity(calls)];
    for call in 0..calls + PREPARED {
        let (class, start) = (order[call % PREPARED] & 1, call % PREPARED * secret_bytes);
        place.copy_from_slice(&secrets[start..start + secret_bytes]);
        let begin = Instant::now();
        job(black_box(&place));
        let time_ns = begin.elapsed().as_nanos() as f64;
        // the first round warms up
        if call >= PREPARED {
            times[usize::from(class)].push(time_ns);
        }
    }
    let mut all: Vec<f64> = times.concat();
    all.sort_by(f64::total_cmp);
    let mean = mean_of(&all);
    let by_crop = CROPS.map(|crop| {
        let most = all[((all.len() - 1) as f64 * crop) as usize];
        let kept = times.each_ref().map(|times| times.iter().copied().filter(|time| *time <= most).collect::<Vec<_>>());
        compare(&kept, kept.each_ref().map(|times| mean_of(times)))
    });
    let squares = times.each_ref().map(|times| times.iter().map(|time| (time - mean).powi(2)).collect::<Vec<_>>());
    let spread = compare(&squares, times.each_ref().map(|times| mean_of(times)));
    by_crop.into_iter().fold(spread, |most, seen| if seen.t > most.t { seen } else { most })
}

/// Two samples, of calls whose mean times are `mean_ns`.
fn compare([a, b]: &[Vec<f64>; 2], mean_ns: [f64; 2]) -> Seen {
    Seen { t: welch_t(a, b).abs(), mean_ns }
}

fn mean_of(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len() as f64
}

/// Welch's t of two samples; 0 where one has too few to say.
fn welch_t(a: &[f64], b: &[f64]) -> f64 {
    if a.len().min(b.len()) < 100 {
        return 0.0;
    }
    let [(mean_a, share_a), (mean_b, share_b)] = [a, b].map(|sample| {
        let (count, mean) = (sample.len() as f64, mean_of(sample));
        (mean, sample.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (count - 1.0) / count)
    });
    let error = (share_a + share_b).sqrt();
    if error == 0.0 { 0.0 } else { (mean_a - mean_b) / error }
}

/// Compares with the fixed secret byte by byte, and stops at the first that differs.
fn early_exit(secret: &[u8]) {
    for (a, b) in secret.iter().zip(&*FIXED) {
        if black_box(a) != black_box(b) {
            return;
        }
    }
}

/// Does more where a bit of the secret is set.
fn branch(secret: &[u8]) {
    for byte in secret {
        if black_box(*byte) & 1 == 1 {
            black_box((0..8).fold(*byte, |sum, i| black_box(sum).wrapping_mul(i | 3)));
        }
    }
}
