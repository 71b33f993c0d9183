#![forbid(unsafe_code)]
//! Prints how fast our ciphers are compared with those of other libraries: every cipher in counter
//! mode and in GCM, by message size and backend, all contestants in turn in one run; the same with
//! a fresh key for each message; FF1; and HMAC and sealed packets, many at a time.

use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use sealstone_cipher::testing::Behind;
use sealstone_cipher::{Backend, Cipher, Mode, aead, blocks, cipher, ctr};
use sealstone_rivals::contest::{Call, Contest, Contestant};
use sealstone_rivals::{Library, ff1, libraries, packets, page_ends};

#[derive(Parser)]
#[command(version, about)]
struct Flags {
    /// Rows to measure
    #[arg(long, value_delimiter = ',', default_values_t = Rows::value_variants().to_vec())]
    rows: Vec<Rows>,
    /// Ciphers, by name [default: all]
    #[arg(long, value_delimiter = ',')]
    ciphers: Vec<String>,
    /// Our backends [default: all that this CPU can run]
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Rows {
    /// Messages of many sizes under one key, GB/s
    Sizes,
    /// A key and one message of 64 bytes under it, nanoseconds
    Keys,
    /// Ours where buffers end with a page, by every length: time against that elsewhere
    PageEnds,
    /// Format-preserving encryption beside the crate fpe, values a second
    Ff1,
    /// HMAC of many messages, and sealed packets, GB/s
    Packets,
}

impl std::fmt::Display for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.to_possible_value().expect("no row is hidden").get_name())
    }
}

/// The message of [`Rows::Keys`], in bytes: a field or a small packet.
const KEYED_BYTES: usize = 64;

fn main() -> Result<()> {
    let flags = Flags::parse();
    let ciphers: Vec<&'static Cipher> = match flags.ciphers.as_slice() {
        [] => sealstone_cipher::ciphers().iter().collect(),
        names => names.iter().map(|name| cipher(name)).collect::<Result<_, _>>()?,
    };
    let backends = match flags.backends.as_slice() {
        [] => Backend::available(),
        names => names.iter().map(|name| Backend::by_name(name)).collect::<Result<_, _>>()?,
    };
    let libraries = libraries();
    let contest = Contest { rounds: flags.rounds, turn: Duration::from_micros(flags.turn_us) };
    println!("median of {} rounds of {} us a contestant, one thread", flags.rounds, flags.turn_us);
    if flags.rows.contains(&Rows::Sizes) {
        println!(
            "\nGB/s; last line: our fastest against the fastest rival, median (and 10 to 90 % of \
             the rounds)"
        );
        for &cipher in &ciphers {
            let counters =
                counter_contestants(cipher, &backends, &libraries).context("setting keys")?;
            contest.print(
                &format!("{} counter mode", cipher.name),
                &flags.sizes,
                1,
                backends.len(),
                counters,
            );
            if cipher.mode == Mode::Gcm {
                let gcms =
                    gcm_contestants(cipher, &backends, &libraries).context("setting keys")?;
                contest.print(
                    &format!("{} GCM", cipher.name),
                    &flags.sizes,
                    1,
                    backends.len(),
                    gcms,
                );
            }
        }
    }
    if flags.rows.contains(&Rows::Keys) {
        println!(
            "\na key and {KEYED_BYTES} bytes under it, ns; ours make a keyed object and drop it, \
             the others set the key of"
        );
        println!(
            "one that they have; speed: of ours in the last row against each, median (and 10 to 90 \
             % of the rounds)"
        );
        for &cipher in &ciphers {
            let counters = rekeyed_counters(cipher, &backends, &libraries);
            key_table(&format!("{} counter mode", cipher.name), contest, backends.len(), counters);
            if cipher.mode == Mode::Gcm {
                let gcms = rekeyed_gcms(cipher, &backends, &libraries);
                key_table(&format!("{} GCM", cipher.name), contest, backends.len(), gcms);
            }
        }
    }
    if flags.rows.contains(&Rows::PageEnds) {
        let backend = *backends.last().context("no backend to measure")?;
        println!(
            "\ntime of a call whose buffer ends with a page against that of the same call \
             elsewhere, lengths 1 to"
        );
        println!(
            "{LENGTH_MAX} bytes, ours on {}; over: lengths beyond {}",
            backend.name(),
            page_ends::LIMIT
        );
        println!(
            "{:<24}{:<12}{:>8}{:>8}{:>8}{:>10}{:>8}",
            "", "next page", "median", "99 %", "most", "at bytes", "over"
        );
        for cipher in ciphers {
            page_end_rows(cipher, backend).context("measuring at page ends")?;
        }
    }
    if flags.rows.contains(&Rows::Packets) {
        packets::print(&backends, &libraries, &flags.sizes, contest)
            .context("measuring packets")?;
    }
    if flags.rows.contains(&Rows::Ff1) {
        for backend in backends {
            ff1::print(backend, contest).context("measuring FF1")?;
        }
    }
    Ok(())
}

/// The longest message of [`Rows::PageEnds`], in bytes.
const LENGTH_MAX: usize = 4200;

/// One line for each mode of `cipher` and each kind of page after the end.
fn page_end_rows(cipher: &'static Cipher, backend: Backend) -> Result<()> {
    let (key, block_bytes) = (key(cipher), cipher.block_bytes);
    let (counter, nonce) = (vec![3; block_bytes], vec![3; cipher.nonce_bytes()]);
    let (keyed_ctr, keyed_aead) = (ctr(cipher, &key, backend)?, aead(cipher, &key, backend)?);
    let keyed_blocks = blocks(cipher, &key, backend)?;
    let mut modes: [(&str, usize, Box<Call>); 3] = [
        (
            "ctr",
            1,
            Box::new(move |data: &mut [u8]| {
                keyed_ctr.apply(&counter, 0, data).expect("a counter block")
            }),
        ),
        (
            cipher.mode.word(),
            1,
            Box::new(move |data: &mut [u8]| {
                black_box(keyed_aead.seal(&nonce, &[], data).expect("a nonce of the right length"));
            }),
        ),
        (
            "blocks",
            block_bytes,
            Box::new(move |data: &mut [u8]| keyed_blocks.encrypt(data).expect("whole blocks")),
        ),
    ];
    for (mode, step, call) in &mut modes {
        for (behind, words) in
            [(Behind::Untouched, "untouched"), (Behind::Unreadable, "unreadable")]
        {
            let ratios =
                page_ends::measure(&mut **call, behind, (*step..=LENGTH_MAX).step_by(*step), 12)?;
            let ((at, most), (_, median), (_, high)) =
                (ratios.at(1.0), ratios.at(0.5), ratios.at(0.99));
            let name = format!("{} {mode}", cipher.name);
            println!(
                "{name:<24}{words:<12}{median:>8.2}{high:>8.2}{most:>8.2}{at:>10}{:>8}",
                ratios.over()
            );
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
        contestants
            .push(Contestant { name: format!("ours, {}", backend.name()), call: Box::new(call) });
    }
    for library in libraries {
        let Some(mut rival) = (library.ctr)(cipher.name, &key) else { continue };
        let counter = counter.clone();
        let call = move |data: &mut [u8]| rival.ctr(&counter, data);
        contestants.push(Contestant { name: library.name.clone(), call: Box::new(call) });
    }
    Ok(contestants)
}

fn gcm_contestants(
    cipher: &'static Cipher,
    backends: &[Backend],
    libraries: &[Library],
) -> Result<Vec<Contestant>> {
    let key = key(cipher);
    let mut contestants: Vec<Contestant> = Vec::new();
    for backend in backends {
        let keyed = aead(cipher, &key, *backend)?;
        let call = move |data: &mut [u8]| {
            black_box(keyed.seal(&[3; 12], &[], data).expect("a nonce of twelve bytes"));
        };
        contestants
            .push(Contestant { name: format!("ours, {}", backend.name()), call: Box::new(call) });
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

/// Key after key for each message: the number of the message makes it.
struct Keys(Vec<u8>);

impl Keys {
    fn of(cipher: &Cipher) -> Self {
        Self(key(cipher))
    }

    fn next(&mut self) -> &[u8] {
        let number: &mut [u8; 8] = self.0.first_chunk_mut().expect("keys are longer");
        *number = u64::from_le_bytes(*number).wrapping_add(0x0101_0101_0101_0101).to_le_bytes();
        &self.0
    }
}

fn rekeyed_counters(
    cipher: &'static Cipher,
    backends: &[Backend],
    libraries: &[Library],
) -> Vec<Contestant> {
    let counter = vec![3; cipher.block_bytes];
    let mut contestants: Vec<Contestant> = Vec::new();
    for &backend in backends {
        let (mut keys, counter) = (Keys::of(cipher), counter.clone());
        let call = move |data: &mut [u8]| {
            let keyed = ctr(cipher, keys.next(), backend).expect("a key of the right length");
            keyed.apply(&counter, 0, data).expect("a counter block");
        };
        contestants
            .push(Contestant { name: format!("ours, {}", backend.name()), call: Box::new(call) });
    }
    for library in libraries {
        let Some(mut rival) = (library.ctr)(cipher.name, &key(cipher)) else { continue };
        let (mut keys, counter) = (Keys::of(cipher), counter.clone());
        let call = move |data: &mut [u8]| {
            rival.set_key(keys.next());
            rival.ctr(&counter, data);
        };
        contestants.push(Contestant { name: library.name.clone(), call: Box::new(call) });
    }
    contestants
}

fn rekeyed_gcms(
    cipher: &'static Cipher,
    backends: &[Backend],
    libraries: &[Library],
) -> Vec<Contestant> {
    let mut contestants: Vec<Contestant> = Vec::new();
    for &backend in backends {
        let mut keys = Keys::of(cipher);
        let call = move |data: &mut [u8]| {
            let keyed = aead(cipher, keys.next(), backend).expect("a key of the right length");
            black_box(keyed.seal(&[3; 12], &[], data).expect("a nonce of twelve bytes"));
        };
        contestants
            .push(Contestant { name: format!("ours, {}", backend.name()), call: Box::new(call) });
    }
    for library in libraries {
        let Some(mut rival) = (library.gcm)(cipher.name, &key(cipher)) else { continue };
        let mut keys = Keys::of(cipher);
        let call = move |data: &mut [u8]| {
            rival.set_key(keys.next());
            black_box(rival.seal(&[3; 12], data));
        };
        contestants.push(Contestant { name: library.name.clone(), call: Box::new(call) });
    }
    contestants
}

/// Times `contestants`, of which the first `ours` are ours, each on a key and a short message, and
/// prints them.
fn key_table(title: &str, contest: Contest, ours: usize, mut contestants: Vec<Contestant>) {
    let speeds = contest.time(&mut contestants, KEYED_BYTES);
    println!("\n{title}");
    for (contestant, own) in contestants.iter().zip(&speeds) {
        let ratio = speeds[ours - 1].against(own);
        println!("{:<18}{:>10.0}{ratio:>20}", contestant.name, KEYED_BYTES as f64 / own.median());
    }
}
