//! Memory for a large device, and the time of an opening after a crash with a full log.
//!
//! `limits DIR [TEBIBYTES]`: DIR is new, and removed afterwards.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_volume::{Directory, Sizes, Volume};

const MIB: u64 = 1 << 20;
const WRITE_BYTES: u64 = 16 << 10;

fn main() {
    // as `cargo bench` calls it, with a flag of its own at the end
    let args: Vec<String> = std::env::args().filter(|arg| arg != "--bench").collect();
    let Some(dir) = args.get(1) else {
        eprintln!("limits: nothing was measured; usage: limits DIR [TEBIBYTES]");
        return;
    };
    let bytes = args.get(2).map_or(10, |tebibytes| tebibytes.parse().unwrap()) << 40;
    std::fs::create_dir(dir).unwrap();
    let (disk, keys) = (Directory::new(dir), EphemeralKey::new().unwrap());
    Volume::create(&disk, &keys, cipher("aria-256").unwrap(), (4096, bytes)).unwrap();
    let begin = Instant::now();
    let mut volume = attach(&disk, &keys);
    println!("{} TiB: attached in {:?}, {} MiB in memory", bytes >> 40, begin.elapsed(), rss());
    let mut state = 1_u64;
    let mut next = || {
        // an xorshift generator: any order will do
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % (bytes / WRITE_BYTES) * WRITE_BYTES
    };
    let data = vec![7; WRITE_BYTES as usize];
    while volume.log_bytes() < 250 * MIB {
        volume.write(next(), &data).unwrap();
    }
    volume.flush().unwrap();
    println!("{} MiB in the log: {} MiB in memory", volume.log_bytes() / MIB, rss());
    let begin = Instant::now();
    volume.checkpoint().unwrap();
    println!("put in place in {:?}: {} MiB in memory", begin.elapsed(), rss());
    for from in ["the page cache", "no cache"] {
        // an opening leaves the log as it is; each is given a new one
        volume.checkpoint().unwrap();
        while volume.log_bytes() < 250 * MIB {
            volume.write(next(), &data).unwrap();
        }
        volume.flush().unwrap();
        // nothing is put in place
        drop(volume);
        if from == "no cache" {
            forget(Path::new(dir));
        }
        let (begin, before) = (Instant::now(), from_disk());
        volume = attach(&disk, &keys);
        let (took, left) = (begin.elapsed(), volume.log_bytes() / MIB);
        println!(
            "attached with a full log in {from}, in {took:?}: {} MiB read from the disk, {left} \
             MiB left in the log, {} MiB in memory",
            (from_disk() - before) / MIB,
            rss()
        );
    }
    drop(volume);
    std::fs::remove_dir_all(Path::new(dir)).unwrap();
}

fn attach(disk: &Directory, keys: &EphemeralKey) -> Volume {
    let disk = Arc::new(disk.clone());
    Volume::attach(disk, keys, None, (Backend::auto(), Sizes::default())).unwrap()
}

/// Has the kernel drop what it caches of the files in `dir`, which are synced: a machine that has
/// just started has none of it.
fn forget(dir: &Path) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let file = File::open(entry.unwrap().path()).unwrap();
        file.sync_all().unwrap();
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED).unwrap();
    }
}

/// Returns the bytes that this process has had the disk read.
fn from_disk() -> u64 {
    let counts = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = counts.lines().find_map(|line| line.strip_prefix("read_bytes: ")).unwrap();
    line.parse().unwrap()
}

/// Returns the memory of this process, in MiB.
fn rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}
