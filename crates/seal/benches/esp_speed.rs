//! Speed of sealing and opening packets on one core, by suite and by the number of packets per
//! call: GB/s of the packets' contents, and cycles of the CPU's reference clock per byte. A
//! measurement, not a test.
//!
//! `cargo bench -p sealstone-seal --bench esp_speed -- [BACKEND [SUITE…]]`
//!
//! Each figure is the median of rounds that visit all counts alternately. Every batch is sealed
//! under its own numbers and opened once; keys are set again, outside the timed part, before they
//! have sealed too much.

use std::error::Error;
use std::time::Instant;

use sealstone_cipher::Backend;
use sealstone_cipher::speed::ticks;
use sealstone_seal::esp::{Association, Inbound, Outbound, Sealed, Suite, suite, suites};

/// An IPv4 packet that still fits a link of 1,500 bytes when sealed.
const PACKET_BYTES: usize = 1_400;
/// Packets in a call: a single packet, the packets of one read of 64 KiB, and of several reads.
const COUNTS: [usize; 4] = [1, 16, 44, 400];
const ROUNDS: usize = 21;

/// Time a byte and ticks a byte, of each round.
#[derive(Clone, Default)]
struct Rounds {
    ns: Vec<f64>,
    ticks: Vec<f64>,
}

impl Rounds {
    /// Runs `job`, which works on `bytes` bytes.
    fn time(&mut self, bytes: usize, job: impl FnOnce()) {
        let (begin, begin_ticks) = (Instant::now(), ticks());
        job();
        let (end_ticks, elapsed) = (ticks(), begin.elapsed());
        self.ns.push(elapsed.as_nanos() as f64 / bytes as f64);
        if let (Some(begin), Some(end)) = (begin_ticks, end_ticks) {
            self.ticks.push((end - begin) as f64 / bytes as f64);
        }
    }

    fn cells(self) -> String {
        let cycles = if self.ticks.is_empty() {
            "-".to_owned()
        } else {
            format!("{:.2}", median(self.ticks))
        };
        format!("{:>8.3}{cycles:>7}", 1.0 / median(self.ns))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let backend = Backend::by_name(arguments.next().as_deref().unwrap_or("auto"))?;
    let named: Vec<&'static Suite> =
        arguments.map(|name| suite(&name)).collect::<Result<_, _>>()?;
    let chosen = if named.is_empty() { suites().iter().collect() } else { named };
    println!(
        "packets of {PACKET_BYTES} bytes on {}, medians of {ROUNDS} rounds of five calls: GB/s and \
         cycles a byte",
        backend.name()
    );
    let heads: String = COUNTS.map(|count| format!("{:>15}", format!("{count} a call"))).concat();
    println!("{:<16}{:<5}{heads}", "suite", "job");
    for suite in chosen {
        let mut rounds = vec![[Rounds::default(), Rounds::default()]; COUNTS.len()];
        for _ in 0..ROUNDS {
            for (count, [sealing, opening]) in COUNTS.into_iter().zip(&mut rounds) {
                round(suite, backend, count, sealing, opening)?;
            }
        }
        let (sealing, opening): (Vec<Rounds>, Vec<Rounds>) =
            rounds.into_iter().map(<(_, _)>::from).unzip();
        for (job, rounds) in [("seal", sealing), ("open", opening)] {
            println!(
                "{:<16}{job:<5}{}",
                suite.name,
                rounds.into_iter().map(Rounds::cells).collect::<String>()
            );
        }
    }
    Ok(())
}

/// Seals and opens `count` packets under fresh keys, once to warm up and then several times against
/// the clock.
fn round(
    suite: &'static Suite,
    backend: Backend,
    count: usize,
    sealing: &mut Rounds,
    opening: &mut Rounds,
) -> Result<(), Box<dyn Error>> {
    let association = Association { spi: 0x1000, suite, extended: true, backend };
    let (key, integrity_key) = (vec![7; suite.key_bytes()], vec![8; suite.integrity_key_bytes()]);
    let mut outbound = Outbound::new(&association, &key, &integrity_key)?;
    let mut inbound = Inbound::new(&association, &key, &integrity_key, 4096)?;
    let mut packet = vec![0x45; PACKET_BYTES];
    packet[2..4].copy_from_slice(&(PACKET_BYTES as u16).to_be_bytes());
    let packets = vec![&*packet; count];
    let (mut sealed, mut opened) = (Sealed::default(), Vec::new());
    let bytes = count * PACKET_BYTES;
    for warm in [false, true, true, true, true, true] {
        sealed.clear();
        let mut job = || outbound.seal(&packets, &mut sealed).expect("packets within the lifetime");
        if warm {
            sealing.time(bytes, job)
        } else {
            job()
        }
        let mut arrived = sealed.bytes().to_vec();
        let mut arrived: Vec<&mut [u8]> =
            arrived.chunks_exact_mut(sealed.bytes().len() / count).collect();
        let mut job = || inbound.open_many(&mut arrived, &mut opened);
        if warm {
            opening.time(bytes, job)
        } else {
            job()
        }
        if !opened
            .iter()
            .all(|opened| matches!(opened, Ok(Some(inside)) if inside.len() == PACKET_BYTES))
        {
            return Err(format!("{}: {opened:?}", suite.name).into());
        }
    }
    Ok(())
}

fn median(mut rounds: Vec<f64>) -> f64 {
    rounds.sort_by(f64::total_cmp);
    rounds[rounds.len() / 2]
}
