//! Prints what memory for keys costs beside a `Box` that is zeroed when dropped: making and
//! dropping a value, and looking at one. Both alternate in one run, the quickest of many rounds
//! each. Then prints how much memory one keyed cipher takes.
//!
//! cargo bench -p sealstone-cipher --bench protected_memory

use std::hint::black_box;
use std::mem;
use std::time::Instant;

use sealstone_cipher::memory::{Generation, Protected, protection};
use sealstone_cipher::{Backend, aead, ciphers};
use zeroize::optimization_barrier;

const ROUNDS: usize = 200;
const CALLS: u32 = 5_000;
/// Keyed ciphers of each kind.
const KEYED: usize = 500;

/// Nanoseconds a call of each of `calls`.
fn quickest<const N: usize>(mut calls: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut best = [f64::INFINITY; N];
    for _ in 0..ROUNDS {
        for (call, best) in calls.iter_mut().zip(&mut best) {
            let begin = Instant::now();
            (0..CALLS).for_each(|_| call());
            *best = best.min(begin.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
        }
    }
    best
}

fn row<const BYTES: usize>() {
    let [protected, boxed] =
        quickest([&mut || drop(black_box(Protected::new(black_box([1_u8; BYTES])))), &mut || {
            let mut value = black_box(Box::new(black_box([1_u8; BYTES])));
            value.fill(0);
            optimization_barrier(&*value);
        }]);
    println!("{BYTES:>6} bytes: protected {protected:>6.1} ns, box {boxed:>6.1} ns");
}

fn main() {
    println!("made and dropped, one thread");
    row::<32>();
    row::<240>();
    row::<1_500>();
    row::<20_000>();
    let (value, plain, opened_in) =
        (Protected::new([1_u8; 32]), Box::new([1_u8; 32]), Generation::current());
    let [protected, boxed, check] = quickest([
        &mut || {
            black_box(black_box(&value)[0]);
        },
        &mut || {
            black_box(black_box(&plain)[0]);
        },
        &mut || {
            let _ = black_box(black_box(opened_in).check());
        },
    ]);
    println!(
        "looked at: protected {protected:.1} ns, box {boxed:.1} ns; generation checked: {check:.1} \
         ns"
    );
    println!("{:?}", protection());
    println!("bytes for one keyed cipher that sealed a page, on average over {KEYED}");
    for cipher in ciphers() {
        for backend in Backend::available() {
            let before = protection().mapped_bytes;
            let keyed = || {
                aead(cipher, &vec![7; cipher.key_bytes], backend)
                    .expect("a key of the right length")
            };
            let held: Vec<_> = (0..KEYED).map(|_| keyed()).collect();
            for keyed in &held {
                keyed
                    .seal(&vec![3; cipher.nonce_bytes()], &[], &mut [0; 4096])
                    .expect("a nonce of the right length");
            }
            let bytes = (protection().mapped_bytes - before) / KEYED;
            println!("{:<10}{:<10}{bytes:>8}", cipher.name, backend.name());
            // slots that are free would be used again
            mem::forget(held);
        }
    }
}
