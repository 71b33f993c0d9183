//! Our FF1 and the crate `fpe`'s, alternately, on values of several shapes: many values in one
//! call, and one at a time.

use anyhow::Result;
use fpe::ff1::{FF1, FlexibleNumeralString};
use sealstone_cipher::ff1::{Domain, Ff1, Tweaks, ff1};
use sealstone_cipher::{Backend, cipher};

use crate::contest::{Call, Contest, Contestant, Speeds};

/// Values of one shape under one cipher.
struct Shape {
    what: &'static str,
    cipher: &'static str,
    radix: u32,
    length: usize,
}

/// The shapes, each of which the crate's FF1 over AES-256 meets, too: it is the measure of all.
const SHAPES: &[Shape] = &[
    Shape { what: "16 digits", cipher: "aes-256", radix: 10, length: 16 },
    Shape { what: "16 digits", cipher: "aria-256", radix: 10, length: 16 },
    Shape { what: "16 digits", cipher: "pipo-128", radix: 10, length: 16 },
    Shape { what: "19 of radix 36", cipher: "aes-256", radix: 36, length: 19 },
    Shape { what: "3 syllables", cipher: "aes-256", radix: 11_172, length: 3 },
    Shape { what: "13 digits", cipher: "aria-256", radix: 10, length: 13 },
    Shape { what: "40 digits", cipher: "aes-256", radix: 10, length: 40 },
    Shape { what: "200 of radix 62", cipher: "aes-256", radix: 62, length: 200 },
];

/// Values in a batch.
const BATCH: usize = 4096;
/// Values that the crate's FF1 seals in a call here: it takes one at a time, whatever their number.
const RIVAL_VALUES: usize = 16;

fn numerals(radix: u32, count: usize) -> Vec<u16> {
    (0..count as u64)
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % u64::from(radix))
        .map(|x| x as u16)
        .collect()
}

fn key(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 37 + 11) as u8).collect()
}

/// Ours in batches, ours one value at a time, and the crate's.
fn contestants(shape: &Shape, backend: Backend) -> Result<Vec<(usize, Contestant)>> {
    let &Shape { radix, length, .. } = shape;
    let row = cipher(shape.cipher)?;
    let keyed =
        || -> Result<Ff1> { Ok(ff1(row, &key(row.key_bytes), backend, radix, Domain::Standard)?) };
    let tweaks: Vec<u8> = (0..8 * BATCH as u64).map(|i| (i * 151 % 251) as u8).collect();
    let mut found: Vec<(usize, Contestant)> = Vec::new();
    let mut add = |name: &str, values: usize, call: Box<Call>| {
        found.push((values, Contestant { name: name.into(), call }));
    };
    let (ours, mut values) = (keyed()?, numerals(radix, length * BATCH));
    let batch = move |_: &mut [u8]| {
        ours.seal_batch(Tweaks::One(b""), &mut values, length).expect("numerals")
    };
    add("batches, one tweak", BATCH, Box::new(batch));
    let (ours, mut values) = (keyed()?, numerals(radix, length * BATCH));
    let batch = move |_: &mut [u8]| {
        let tweaks = Tweaks::Packed { bytes: &tweaks, tweak_bytes: 8 };
        ours.seal_batch(tweaks, &mut values, length).expect("numerals");
    };
    add("batches, a tweak each", BATCH, Box::new(batch));
    let (ours, mut value) = (keyed()?, numerals(radix, length));
    let single = move |_: &mut [u8]| {
        (0..RIVAL_VALUES).for_each(|_| ours.seal(b"", &mut value).expect("numerals"))
    };
    add("one at a time", RIVAL_VALUES, Box::new(single));
    let theirs = FF1::<aes::Aes256>::new(&key(32), radix).expect("a key and a radix that it takes");
    let mut value = FlexibleNumeralString::from(numerals(radix, length));
    let rival = move |_: &mut [u8]| {
        for _ in 0..RIVAL_VALUES {
            value = theirs.encrypt(&[], &value).expect("numerals");
        }
    };
    add("crate fpe, AES-256", RIVAL_VALUES, Box::new(rival));
    Ok(found)
}

/// Times all shapes on `backend` and prints millions of values a second.
///
/// # Errors
/// None that a table of ciphers with these names has.
pub fn print(backend: Backend, contest: Contest) -> Result<()> {
    println!(
        "\nFF1: million values a second on {}; times: against the crate fpe, median (and 10 to 90 \
         % of the",
        backend.name()
    );
    println!("rounds). Batches of {BATCH} values; the crate's FF1 is over AES-256 in every row");
    for shape in SHAPES {
        let (values, mut contestants): (Vec<usize>, Vec<Contestant>) =
            contestants(shape, backend)?.into_iter().unzip();
        let mut speeds = contest.time(&mut contestants, 1);
        for (speeds, values) in speeds.iter_mut().zip(values) {
            // the measured speed is calls a nanosecond
            speeds.rounds.iter_mut().for_each(|speed| *speed *= 1000.0 * values as f64);
        }
        println!("\n{}, {}", shape.what, shape.cipher);
        let rival: &Speeds = speeds.last().expect("a rival");
        for (contestant, own) in contestants.iter().zip(&speeds) {
            let ratio = own.against(rival);
            let cells = format!("{:.1} ({:.1}-{:.1})", ratio.at(0.5), ratio.at(0.1), ratio.at(0.9));
            println!("{:<24}{:>10.3}{cells:>24}", contestant.name, own.median());
        }
    }
    Ok(())
}
