//! Volumes copied onto others under another cipher and key: whatever was there first, wherever it
//! was stopped, both read the same in the end, or the new one is not to be taken for a whole one.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_volume::reseal::{Pass, Resealed, is_unfinished, reseal};
use sealstone_volume::{Directory, Failure, Sizes, Volume, verify};

const MIB: u64 = 1 << 20;
const BYTES: u64 = 40 * MIB + 4096;

fn volume(dir: &Path, keys: &EphemeralKey, name: &str, bytes: u64) -> Volume {
    if !dir.exists() {
        fs::create_dir(dir).unwrap();
        let disk = Directory::new(dir);
        Volume::create(&disk, keys, cipher(name).unwrap(), (4096, bytes)).unwrap();
    }
    let disk = Arc::new(Directory::new(dir));
    let sizes = Sizes { segment_bytes: 4 * MIB, ..Sizes::default() };
    Volume::attach(disk, keys, None, (Backend::auto(), sizes)).unwrap()
}

fn all(volume: &Volume) -> Vec<u8> {
    let mut out = vec![0; BYTES as usize];
    volume.read(0, &mut out).unwrap();
    out
}

/// Writes here and there, the first block among it, and the last.
fn fill(volume: &Volume, seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    for _ in 0..60 {
        let bytes = 4096 * random.random_range(1..200);
        let at = 4096 * random.random_range(0..(BYTES - bytes) / 4096);
        let mut data = vec![0; bytes as usize];
        random.fill(&mut data[..]);
        volume.write(at, &data).unwrap();
    }
    volume.discard(9 * MIB, 3 * MIB).unwrap();
    volume.write(0, &[7; 4096]).unwrap();
    volume.write(BYTES - 4096, &[8; 4096]).unwrap();
    volume.flush().unwrap();
}

#[test]
fn a_copy_under_another_cipher_is_the_same_wherever_it_was_stopped() {
    let home = tempfile::tempdir().unwrap();
    let (old, new) = (EphemeralKey::new().unwrap(), EphemeralKey::new().unwrap());
    let from = volume(&home.path().join("from"), &old, "aes-256", BYTES);
    fill(&from, 1);
    let to_dir = home.path().join("to");
    let mut stops = 0;
    for allowed in (3..).step_by(11) {
        // opened again each time, as after a kill
        let to = volume(&to_dir, &new, "3des", BYTES);
        assert!(is_unfinished(&to).unwrap());
        let mut calls = 0;
        let result = reseal(&from, &to, &mut |_, _| {
            calls += 1;
            calls <= allowed
        });
        if result.unwrap() != Resealed::Stopped {
            break;
        }
        stops += 1;
        if stops == 4 {
            // it was in use again between two tries
            fill(&from, 2);
            from.discard(0, 8 * MIB).unwrap();
            from.write(0, &[9; 4096]).unwrap();
        }
    }
    assert!(stops > 5, "{stops}");
    let to = volume(&to_dir, &new, "3des", BYTES);
    assert_eq!(all(&from), all(&to));
    assert!(!is_unfinished(&to).unwrap());
    drop(to);
    assert!(verify(&Directory::read_only(&to_dir), &new, None, &mut |_, _| {}).unwrap().is_whole());
}

#[test]
fn a_copy_has_the_holes_of_the_first_and_may_be_larger_and_not_smaller() {
    let home = tempfile::tempdir().unwrap();
    let keys = EphemeralKey::new().unwrap();
    let from = volume(&home.path().join("from"), &keys, "aes-256", BYTES);
    from.write(0, &[7; 4096]).unwrap();
    from.write(20 * MIB, &[0; 4 << 20]).unwrap();
    from.write(30 * MIB, &[1; 4096]).unwrap();
    let to = volume(&home.path().join("to"), &keys, "lea-256", BYTES + 8 * MIB);
    let mut offsets = Vec::new();
    let done = reseal(&from, &to, &mut |pass, offset| {
        offsets.extend((pass == Pass::Copy).then_some(offset));
        true
    });
    // two pieces of the first had anything in them
    assert_eq!(done.unwrap(), Resealed::Done { written: 2 * MIB });
    assert!(offsets.len() < 20, "{offsets:?}");
    assert_eq!(all(&from), all(&to));
    let small = volume(&home.path().join("small"), &keys, "lea-256", BYTES - 4096);
    let refused = reseal(&from, &small, &mut |_, _| true);
    assert!(matches!(refused, Err(Failure::Smaller { .. })), "{refused:?}");
}
