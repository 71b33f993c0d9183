//! Test of whether the time of a call depends on a secret: dudect's test (Reparaz, Balasch,
//! Verbauwhede: Dude, is my code constant time?, DATE 2017), for every cipher, mode, MAC and
//! backend that this CPU has; only this test covers VAES, AVX-512 and the instructions for SHA,
//! which valgrind cannot run.
//!
//! Calls with one fixed secret and calls with random secrets come in random order. Welch's t-test
//! compares the times of both classes: all of them, those below each of several percentiles (an
//! interrupted call is no leak, and hides one), and their squared distances from the mean. The
//! largest |t| counts. Below 4.5 nothing was seen; above 10 there is a difference; in between the
//! same call is measured again, since some of the many comparisons come out there by chance.
//!
//! A leak shows in every process, and always in the same direction. On some CPUs differences also
//! come and go with the place that a process got in memory (results/constant-time.md). So a
//! difference is measured again in processes of their own, and is a leak where all of them have it
//! with the same sign; the others are printed. Two toys that leak on purpose must be found this
//! way.
//!
//! Not here: `tests/constant_time.rs`, which looks at instructions instead of times.
//!
//! `timing_leaks [CALLS] [CIPHER OR MAC[@BACKEND]...]`; ends with an error on a leak that
//! docs/side-channels.md does not name, and on an unknown name.

use std::error::Error;
use std::fmt;
use std::hint::black_box;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Instant;

use sealstone_cipher::cbc::cbc;
use sealstone_cipher::ff1::{Domain, Tweaks, ff1, takes};
use sealstone_cipher::hmac::{Mac, Message, TAG_BYTES_MAX, hmac, macs};
use sealstone_cipher::testing::bytes;
use sealstone_cipher::{Backend, Cipher, Mode, aead, blocks, ciphers, ctr, hctr2};

/// Nothing seen below this |t|.
const UNSEEN: f64 = 4.5;
/// A difference above this |t|.
const DIFFERENT: f64 = 10.0;
/// So many processes must have a difference, for it to be a leak.
const PROCESSES: usize = 3;
/// Makes a process report only its own differences, each after this word on a line of its own.
const ALONE: &str = "--alone";
/// Functions that leak on purpose.
const TOYS: [(&str, Toy); 2] = [("toy: early exit", early_exit), ("toy: branch", branch)];
/// Bytes of a message: whole vectors and a tail, on every backend.
const MESSAGE_BYTES: usize = 208;
/// Percentiles, in hundredths of a class's share, above which times are left out.
const CROPS: [f64; 8] = [0.2, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0];
/// Secrets prepared for each class; more than a cache line predictor learns by heart.
const PREPARED: usize = 4096;

/// The secret of one class; shorter secrets are its beginning.
static FIXED: LazyLock<Vec<u8>> = LazyLock::new(|| bytes("the fixed secret", MESSAGE_BYTES));

/// A comparison of both classes.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Welch's t; positive where calls with the fixed secret take longer.
    t: f64,
    /// Mean times of the calls compared, in ns: of random secrets, and of the fixed one.
    mean_ns: [f64; 2],
}

/// The comparisons with the largest and the smallest t.
type Extremes = [Seen; 2];

/// Returns the largest |t| of all comparisons.
fn largest(extremes: &Extremes) -> f64 {
    extremes[0].t.max(-extremes[1].t)
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [random, fixed] = self.mean_ns;
        write!(f, "|t| is {:.1}, {:+.1} ns of {random:.0}", self.t.abs(), fixed - random)
    }
}

/// A difference that a process saw, one way round.
struct Difference {
    /// The argument that has it measured again; nothing for a toy, which always is.
    of: Option<String>,
    /// The call.
    call: String,
    seen: Seen,
}

impl Difference {
    /// Returns the line that processes print if they see the same difference.
    fn line(&self) -> String {
        format!("{ALONE} {} {}", if self.seen.t > 0.0 { '+' } else { '-' }, self.call)
    }
}

/// Works with one secret.
type Job<'a> = dyn FnMut(&[u8]) + 'a;
/// A job that leaks on purpose.
type Toy = fn(&[u8]);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let alone = arguments.first().is_some_and(|argument| argument == ALONE);
    if alone {
        arguments.remove(0);
    }
    let calls: usize = arguments.first().map_or(Ok(200_000), |calls| calls.parse())?;
    let named = arguments.get(1..).unwrap_or_default();
    let all = ciphers().iter().map(|cipher| cipher.name).chain(macs().iter().map(|mac| mac.name));
    let all: Vec<[String; 2]> = all
        .flat_map(|name| Backend::available().into_iter().map(move |backend| names(name, backend)))
        .collect();
    if let Some(name) = named.iter().find(|name| !all.iter().any(|names| names.contains(name))) {
        return Err(format!(
            "no cipher or MAC is called {name:?}, or not on this machine: it is NAME or \
             NAME@BACKEND"
        )
        .into());
    }
    println!(
        "largest |t| of {calls} calls; up to {UNSEEN}: nothing seen; over {DIFFERENT}: a difference"
    );
    let mut found = differences(calls, |of| {
        named.is_empty() && !alone || named.iter().any(|name| of.contains(name))
    })?;
    if alone {
        found.iter().for_each(|difference| println!("{}", difference.line()));
        return Ok(());
    }
    for _ in 1..PROCESSES {
        let others = differences_elsewhere(calls, &found)?;
        found.retain(|difference| {
            let again = others.contains(&difference.line());
            if !again {
                println!("{}: {}; not in another process", difference.call, difference.seen);
            }
            again
        });
    }
    let missed =
        TOYS.iter().filter(|(toy, _)| found.iter().all(|difference| difference.call != *toy));
    let missed = missed.map(|(toy, _)| format!("{toy}: leaks on purpose, and was not found"));
    let leaks = found.iter().filter(|difference| difference.of.is_some());
    let leaks = leaks.map(|leak| {
        format!(
            "{}: {}, and over {DIFFERENT} in each of {PROCESSES} processes",
            leak.call, leak.seen
        )
    });
    let wrong: Vec<String> = missed.chain(leaks).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Returns the names that the arguments may use for a cipher or MAC on one backend.
fn names(name: &str, backend: Backend) -> [String; 2] {
    [name.to_owned(), format!("{name}@{}", backend.name())]
}

/// Returns the differences that this process sees, toys first. `wanted` takes the subject of a
/// figure, as the arguments have it: the name and the name with the backend.
fn differences(
    calls: usize,
    wanted: impl Fn(&[String; 2]) -> bool,
) -> Result<Vec<Difference>, Box<dyn Error>> {
    let mut found = Vec::new();
    for (name, mut toy) in TOYS {
        let extremes = compare_classes(&mut toy, 64, calls);
        println!("{name:<40}{:>10.1}", largest(&extremes));
        found.extend(ways(&extremes).map(|seen| Difference {
            of: None,
            call: name.to_owned(),
            seen,
        }));
    }
    for cipher in ciphers() {
        for backend in
            Backend::available().into_iter().filter(|backend| wanted(&names(cipher.name, *backend)))
        {
            found.extend(test(cipher, backend, calls)?);
        }
    }
    for mac in macs() {
        for backend in
            Backend::available().into_iter().filter(|backend| wanted(&names(mac.name, *backend)))
        {
            found.extend(test_mac(mac, backend, calls)?);
        }
    }
    Ok(found)
}

/// Returns the lines of a fresh process that measures again what `found` is of.
fn differences_elsewhere(
    calls: usize,
    found: &[Difference],
) -> Result<Vec<String>, Box<dyn Error>> {
    let mut process = Command::new(std::env::current_exe()?);
    process
        .arg(ALONE)
        .arg(calls.to_string())
        .args(found.iter().filter_map(|difference| difference.of.as_ref()));
    let output = process.output()?;
    if !output.status.success() {
        return Err(format!(
            "measuring again: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
        .into());
    }
    Ok(String::from_utf8(output.stdout)?
        .lines()
        .filter(|line| line.starts_with(ALONE))
        .map(str::to_owned)
        .collect())
}

/// Prints the figures of one cipher on one backend; returns the differences, but none of a cipher
/// that is documented to leak.
fn test(
    cipher: &'static Cipher,
    backend: Backend,
    calls: usize,
) -> Result<Vec<Difference>, Box<dyn Error>> {
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
        settled(&mut job, MESSAGE_BYTES, calls)
    };
    let sealed = by_data(&|data| {
        black_box(sealing.seal(&nonce, &[], data).expect("a nonce of the right length"));
    });
    let counted = by_data(&|data| counting.apply(&counter, 0, data).expect("a counter block"));
    let encrypted = by_data(&|data| whole.encrypt(data).expect("whole blocks"));
    let decrypted = by_data(&|data| whole.decrypt(data).expect("whole blocks"));
    let chain = cbc(cipher, &key, backend)?;
    let chained = by_data(&|data| chain.encrypt(&counter, data).expect("whole blocks"));
    let mut message = vec![0; 40];
    let mut with_key = |secret: &[u8]| {
        let keyed = aead(cipher, secret, backend).expect("a key of the right length");
        black_box(keyed.seal(&nonce, &[], &mut message).expect("a nonce of the right length"));
    };
    // setting a key takes longer
    let keyed = settled(&mut with_key, cipher.key_bytes, calls / 4);
    let mut figures = vec![
        (cipher.mode.word(), sealed),
        ("ctr", counted),
        ("encrypt", encrypted),
        ("decrypt", decrypted),
        ("cbc", chained),
        ("key", keyed),
    ];
    if Mode::Hctr2.facts().block_bytes.contains(&cipher.block_bytes) {
        let keyed = hctr2(cipher, &key, backend)?;
        // long enough for the hash to go by groups
        let mut long = [0; 4 * MESSAGE_BYTES];
        let mut job = |secret: &[u8]| {
            for part in long.chunks_exact_mut(MESSAGE_BYTES) {
                part.copy_from_slice(secret);
            }
            keyed.encrypt(b"", black_box(&mut long)).expect("a block at least");
        };
        figures.push(("hctr2", settled(&mut job, MESSAGE_BYTES, calls)));
    }
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
        figures.push(("ff1", settled(&mut job, MESSAGE_BYTES, calls)));
    }
    let found = different(cipher.name, 12, backend, &figures);
    Ok(if cipher.constant_time { found } else { Vec::new() })
}

/// Prints the figures of one MAC on one backend; returns the differences.
fn test_mac(
    mac: &'static Mac,
    backend: Backend,
    calls: usize,
) -> Result<Vec<Difference>, Box<dyn Error>> {
    let keyed = hmac(mac, &bytes("key of a class", mac.key_bytes), backend)?;
    let mut tags = [[0; TAG_BYTES_MAX]; 20];
    let alone = settled(
        &mut |secret: &[u8]| {
            black_box(keyed.tag(&Message { data: secret, tail: &[] }));
        },
        MESSAGE_BYTES,
        calls,
    );
    // all as long, and each of another length
    let many = settled(
        &mut |secret: &[u8]| keyed.tags(&[Message { data: secret, tail: b"tail" }; 20], &mut tags),
        MESSAGE_BYTES,
        calls,
    );
    let mut pieces = |secret: &[u8]| {
        let messages: [Message<'_>; 20] =
            std::array::from_fn(|i| Message { data: &secret[..10 * i], tail: &[] });
        keyed.tags(&messages, &mut tags);
    };
    let pieces = settled(&mut pieces, MESSAGE_BYTES, calls);
    let mut with_key = |secret: &[u8]| {
        let keyed = hmac(mac, secret, backend).expect("a key of the right length");
        black_box(keyed.tag(&Message { data: &[7; 40], tail: &[] }));
    };
    let key = settled(&mut with_key, mac.key_bytes, calls / 4);
    let figures = [("tag", alone), ("tags", many), ("lengths", pieces), ("key", key)];
    Ok(different(mac.name, 18, backend, &figures))
}

/// Prints `figures`, whose row begins with `name` over `columns`; returns those that are
/// differences.
fn different(
    name: &str,
    columns: usize,
    backend: Backend,
    figures: &[(&str, Extremes)],
) -> Vec<Difference> {
    let cells: String = figures
        .iter()
        .map(|(what, extremes)| format!("{what:>10}{:>7.1}", largest(extremes)))
        .collect();
    println!("{name:<columns$}{:<10}{cells}", backend.name());
    let of = Some(format!("{name}@{}", backend.name()));
    let found = figures.iter().flat_map(|(what, extremes)| {
        let call = format!("{name} on {}, {what}", backend.name());
        ways(extremes).map(move |seen| (call.clone(), seen))
    });
    found.map(|(call, seen)| Difference { of: of.clone(), call, seen }).collect()
}

/// Returns the differences among both, at most one in each direction.
fn ways([most, least]: &Extremes) -> impl Iterator<Item = Seen> + use<> {
    let slower = (most.t > DIFFERENT).then_some(*most);
    slower.into_iter().chain((least.t < -DIFFERENT).then_some(*least))
}

/// Compares the two classes; where |t| is not small, again in longer runs.
fn settled(job: &mut Job, secret_bytes: usize, calls: usize) -> Extremes {
    let mut extremes = compare_classes(job, secret_bytes, calls);
    for times in [2, 4] {
        if largest(&extremes) > UNSEEN {
            extremes = compare_classes(job, secret_bytes, calls * times);
        }
    }
    extremes
}

/// Compares the two classes in each of the ways above.
fn compare_classes(job: &mut Job, secret_bytes: usize, calls: usize) -> Extremes {
    // One secret for each call, whether fixed or random, so that both classes come from memory of
    // the same kind.
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
        let kept = times
            .each_ref()
            .map(|times| times.iter().copied().filter(|time| *time <= most).collect::<Vec<_>>());
        compare(&kept, kept.each_ref().map(|times| mean_of(times)))
    });
    let squares = times
        .each_ref()
        .map(|times| times.iter().map(|time| (time - mean).powi(2)).collect::<Vec<_>>());
    let spread = compare(&squares, times.each_ref().map(|times| mean_of(times)));
    by_crop.into_iter().fold([spread; 2], |[most, least], seen| {
        [if seen.t > most.t { seen } else { most }, if seen.t < least.t { seen } else { least }]
    })
}

/// Compares two samples, of calls whose mean times are `mean_ns`.
fn compare([random, fixed]: &[Vec<f64>; 2], mean_ns: [f64; 2]) -> Seen {
    Seen { t: welch_t(fixed, random), mean_ns }
}

fn mean_of(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len() as f64
}

/// Returns Welch's t of two samples; 0 where a sample is too small.
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
