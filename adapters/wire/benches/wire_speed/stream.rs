//! One TCP stream at full speed, and the bytes received in a period.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use sealstone_wire::WireError;
use sealstone_wire::links::Links;

use crate::cpu::Cpu;
use crate::table::Sample;

/// Until windows and batches have grown.
const WARM_UP: Duration = Duration::from_millis(700);
const WRITE_BYTES: usize = 128 << 10;
const READ_BYTES: usize = 256 << 10;

/// Sends from the first end to the second for `stretch` after a warm-up; CPU time is that of this
/// process, which does what both ends do, and of `processes`.
pub(crate) fn measure(
    links: &Links,
    addresses: [IpAddr; 2],
    stretch: Duration,
    processes: &[u32],
) -> Result<Sample, WireError> {
    let listener = links.ends[1]
        .run(|| Ok(TcpListener::bind((addresses[1], 0)).expect("an address of this end")))?;
    let to = listener.local_addr().expect("it is bound");
    let (done, received) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("the other end connects");
            let mut buffer = vec![0; READ_BYTES];
            while let Ok(bytes) = stream.read(&mut buffer) {
                if bytes == 0 {
                    break;
                }
                received.fetch_add(bytes as u64, Ordering::Relaxed);
            }
        });
        let sender = scope.spawn(|| {
            links.ends[0].run(|| {
                let mut stream = TcpStream::connect(to).expect("the other end listens");
                let data = vec![0x5a; WRITE_BYTES];
                while !done.load(Ordering::Relaxed) {
                    stream.write_all(&data).expect("the other end takes all");
                }
                let _ = stream.shutdown(Shutdown::Both);
                Ok(())
            })
        });
        sleep(WARM_UP);
        let cpu = Cpu::of(processes);
        let (bytes, seconds, since) =
            (received.load(Ordering::Relaxed), cpu.seconds(), Instant::now());
        sleep(stretch);
        let (bytes, wall_s) =
            (received.load(Ordering::Relaxed) - bytes, since.elapsed().as_secs_f64());
        let cpu_s = cpu.seconds() - seconds;
        done.store(true, Ordering::Relaxed);
        sender.join().expect("it ends")?;
        Ok(Sample {
            mbit_s: bytes as f64 * 8.0 / 1e6 / wall_s,
            cpu_s_per_gb: cpu_s / (bytes as f64 / 1e9),
        })
    })
}
