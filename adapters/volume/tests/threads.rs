//! Many threads on one volume, while checkpoints put its log in place as fast as they can: each
//! reads what it wrote, no block is a mixture, and of requests to the same blocks one is last.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_volume::{Directory, Sizes, Volume};

const BLOCK_BYTES: u64 = 4096;
const THREADS: u64 = 4;
/// Blocks that one thread has for itself.
const OWN: u64 = 120;
/// Blocks at the beginning that all write, always together.
const SHARED: u64 = 20;
const STEPS: u64 = 1500;

/// Numbers that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn sizes() -> Sizes {
    Sizes {
        segment_bytes: 512 << 10,
        checkpoint_bytes: 200 << 10,
        checkpoint_blocks: 60,
        at_once_bytes: 16 << 10,
        request_bytes: 128 << 10,
        pages: NonZeroUsize::new(2).unwrap(),
        ..Sizes::default()
    }
}

/// Returns the value of each block; a mixture is a failure.
fn read(volume: &Volume, first: u64, blocks: u64) -> Vec<u64> {
    let mut out = vec![1; (blocks * BLOCK_BYTES) as usize];
    volume.read(first * BLOCK_BYTES, &mut out).unwrap();
    let values = out.chunks_exact(BLOCK_BYTES as usize).map(|block| {
        assert!(block[8..] == block[..block.len() - 8], "a block is a mixture");
        u64::from_le_bytes(block[..8].try_into().unwrap())
    });
    values.collect()
}

fn write(volume: &Volume, first: u64, blocks: u64, value: u64) {
    let data = value.to_le_bytes().repeat((blocks * BLOCK_BYTES / 8) as usize);
    volume.write(first * BLOCK_BYTES, &data).unwrap();
}

/// Works on blocks of its own, and now and then on those of all; returns what its own have.
fn work(volume: &Volume, thread: u64) -> Vec<u64> {
    let begin = SHARED + thread * OWN;
    let mut own = vec![0; OWN as usize];
    let mut numbers = Numbers(thread + 1);
    for step in 1..=STEPS {
        let value = thread << 32 | step;
        let at = numbers.below(OWN);
        let count = (1 + numbers.below(24)).min(OWN - at);
        let range = at as usize..(at + count) as usize;
        match numbers.below(12) {
            0..5 => {
                write(volume, begin + at, count, value);
                own[range].fill(value);
            }
            5 => {
                volume.discard((begin + at) * BLOCK_BYTES, count * BLOCK_BYTES).unwrap();
                own[range].fill(0);
            }
            // part of a block
            6 => {
                let data = value.to_le_bytes().repeat(BLOCK_BYTES as usize / 8);
                let offset = (begin + at) * BLOCK_BYTES;
                volume.write(offset, &data[..1000]).unwrap();
                volume.write(offset + 1000, &data[1000..]).unwrap();
                own[at as usize] = value;
            }
            7 => volume.flush().unwrap(),
            8 => write(volume, 0, SHARED, value),
            9 => drop(read(volume, 0, SHARED)),
            _ => assert_eq!(read(volume, begin + at, count), own[range], "step {step}"),
        }
    }
    own
}

#[test]
fn threads_read_what_they_wrote_while_checkpoints_run() {
    let home = tempfile::tempdir().unwrap();
    let keys = EphemeralKey::new().unwrap();
    let disk = Directory::new(home.path());
    let blocks = SHARED + THREADS * OWN;
    let lea = cipher("lea-128").unwrap();
    Volume::create(&disk, &keys, lea, (4096, blocks * BLOCK_BYTES)).unwrap();
    let attach = || {
        Volume::attach(
            Arc::new(Directory::new(home.path())),
            &keys,
            None,
            (Backend::auto(), sizes()),
        )
    };
    let volume = attach().unwrap();
    let done = AtomicBool::new(false);
    let (own, checkpoints) = std::thread::scope(|scope| {
        let checkpoints = scope.spawn(|| {
            let mut count = 0u64;
            while !done.load(Ordering::Relaxed) {
                volume.prepare().unwrap();
                volume.checkpoint().unwrap();
                count += 1;
            }
            count
        });
        let volume = &volume;
        let workers: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || work(volume, thread))).collect();
        let own: Vec<u64> = workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        (own, checkpoints.join().unwrap())
    });
    assert!(checkpoints > 10, "{checkpoints}");
    let shared = read(&volume, 0, SHARED);
    assert!(shared.iter().all(|value| *value == shared[0]), "{shared:?}");
    assert_eq!(read(&volume, SHARED, THREADS * OWN), own);
    drop(volume);
    let volume = attach().unwrap();
    assert_eq!(read(&volume, SHARED, THREADS * OWN), own);
    assert_eq!(read(&volume, 0, SHARED), shared);
}
