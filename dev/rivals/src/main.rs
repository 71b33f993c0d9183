#![forbid(unsafe_code)]
//! Prints how fast our ciphers are beside those of other libraries: every cipher in counter mode and in GCM, by message
//! size and backend, all contestants in turn in one run.

use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use sealstone_cipher::aead::aead;
use sealstone_cipher::backend::Backend;
use sealstone_cipher::ctr::ctr;
use sealstone_cipher::registry::{self, Cipher, Mode};
use sealstone_rivals::contest::{Contestant, Speeds, time};
use sealstone_rivals::{Library, libraries};

#[derive(Parser)]
#[command(version, about)]
struct Flags {
    /// Ciphers, by name [default: all]
    #[arg(long, value_delimiter = ',')]
    ciphers: Vec<String>,
    /// Backends of ours [default: all that this CPU can run]
    #[arg(long, value_delimiter = ',')]
    backends: Vec<String>,
    /// Message sizes in bytes
    #[arg(long, value_delimiter = ',', default_values_t = [16, 64, 256, 1024, 1500, 4096, 16384])]
    sizes: Vec<usize>,
    /// Rounds in which every contestant has its turn
    #[arg(long, default_value_t = 31)]
    rounds: usize,
    /// Microseconds of a turn
    #[arg(long, default_value_t = 500)]
    turn_us: u64,
}

fn main() -> Result<()> {
    let flags = Flags::parse();
    let ciphers: Vec<&'static Cipher> = match flags.ciphers.as_slice() {
        [] => registry::ciphers().iter().collect(),
        names => names.iter().map(|name| registry::cipher(name)).collect::<Result<_, _>>()?,
    };
    let backends = match flags.backends.as_slice() {
        [] => Backend::available(),
        names => names.iter().map(|name| Backend::by_name(name)).collect::<Result<_, _>>()?,
    };
    let libraries = libraries();
    println!("GB/s, median of {} rounds of {} us a contestant, one thread;", flags.rounds, flags.turn_us);
    println!("last line: our fastest against the fastest rival, median (and 10 to 90 % of the rounds)");
    for cipher in ciphers {
        let counters = counter_contestants(cipher, &backends, &libraries).context("setting keys")?;
        table(&format!("{} counter mode", cipher.name), &flags, backends.len(), counters);
        if cipher.mode == Mode::Gcm {
            let gcms = gcm_contestants(cipher, &backends, &libraries).context("setting keys")?;
            table(&format!("{} GCM", cipher.name), &flags, backends.len(), gcms);
        }
    }
    Ok(())
}

fn key(cipher: &Cipher) -> Vec<u8> {
    (0..cipher.key_bytes).map(|i| (i * 37 + 11) as u8).collect()
}

fn counter_contestants(
    cipher: &'static Cipher,
    backends: &[Backend],
    libraries: &[Library],
) -> Result<Vec<Contestant>> {
    let (key, counter) = (key(cipher), vec![3; cipher.block_bytes]);
    let mut contestants: Vec<Contestant> = Vec::new();
    for backend in backends {
        let (keyed, counter) = (ctr(cipher, &key, *backend)?, counter.clone());
        let call = move |data: &mut [u8]| keyed.apply(&counter, 0, data).expect("a counter block");
        contestants.push(Contestant { name: format!("ours, {}", backend.name()), call: Box::new(call) });
    }
    for library in libraries {
        let Some(mut rival) = (library.ctr)(cipher.name, &key) else { continue };
        let counter = counter.clone();
        let call = move |data: &mut [u8]| rival.ctr(&counter, data);
        contestants.push(Contestant { name: library.name.clone(), call: Box::new(call) });
    }
    Ok(contestants)
}

fn gcm_contestants(cipher: &'static Cipher, backends: &[Backend], libraries: &[Library]) -> Result<Vec<Contestant>> {
    let key = key(cipher);
    let mut contestants: Vec<Contestant> = Vec::new();
    for backend in backends {
        let keyed = aead(cipher, &key, *backend)?;
        let call = move |data: &mut [u8]| {
            black_box(keyed.seal(&[3; 12], &[], data).expect("a nonce of twelve bytes"));
        };
        contestants.push(Contestant { name: format!("ours, {}", backend.name()), call: Box::new(call) });
    }
    for library in libraries {
        let Some(mut rival) = (library.gcm)(cipher.name, &key) else { continue };
        let call = move |data: &mut [u8]| {
            black_box(rival.seal(&[3; 12], data));
        };
        contestants.push(Contestant { name: library.name.clone(), call: Box::new(call) });
    }
    Ok(contestants)
}

/// Times `contestants`, of which the first `ours` are ours, and prints them.
fn table(title: &str, flags: &Flags, ours: usize, mut contestants: Vec<Contestant>) {
    let turn = Duration::from_micros(flags.turn_us);
    let by_size: Vec<Vec<Speeds>> =
        flags.sizes.iter().map(|&bytes| time(&mut contestants, bytes, flags.rounds, turn)).collect();
    println!("\n{title}");
    println!("{:<18}{}", "bytes", flags.sizes.iter().map(|bytes| format!("{bytes:>20}")).collect::<String>());
    for (number, contestant) in contestants.iter().enumerate() {
        let cells: String = by_size.iter().map(|speeds| format!("{:>20.3}", speeds[number].median())).collect();
        println!("{:<18}{cells}", contestant.name);
    }
    if contestants.len() > ours {
        let ratios: String = by_size.iter().map(|speeds| format!("{:>20}", against(speeds, ours))).collect();
        println!("{:<18}{ratios}", "ratio");
    }
}

/// The fastest of ours against the fastest of the others.
fn against(speeds: &[Speeds], ours: usize) -> String {
    let fastest = |of: &[Speeds]| {
        let median = |at: &usize| of[*at].median();
        (0..of.len()).max_by(|a, b| median(a).total_cmp(&median(b))).expect("at least one")
    };
    let (own, rivals) = speeds.split_at(ours);
    let ratio = own[fastest(own)].against(&rivals[fastest(rivals)]);
    format!("{:.2} ({:.2}-{:.2})", ratio.at(0.5), ratio.at(0.1), ratio.at(0.9))
}
