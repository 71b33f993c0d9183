//! A root whose sync failed, read back by the next opening: from memory, since the disk does not
//! have it. Seed 3312 of the history recorded under PostgreSQL found it.

use std::sync::Arc;

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_simulator::random::Random;
use sealstone_simulator::volume::disk::{Faults, SimulatedDisk};
use sealstone_volume::{Sizes, Volume};

#[test]
fn a_root_whose_sync_failed_is_not_taken_for_one_on_stable_storage() {
    let sizes = Sizes { segment_bytes: 256 << 10, request_bytes: 128 << 10, ..Sizes::default() };
    let sizes = sizes.in_order();
    let keys = EphemeralKey::new().unwrap();
    let open = |disk: &SimulatedDisk| {
        Volume::attach(Arc::new(disk.clone()), &keys, None, (Backend::auto(), sizes))
    };
    let mut lost = Vec::new();
    for failing in 1..=8 {
        for after in 1..60 {
            for seed in 0..20 {
                let disk = SimulatedDisk::new(None);
                Volume::create(&disk, &keys, cipher("aes-128").unwrap(), (4096, 150 * 4096))
                    .unwrap();
                let volume = open(&disk).unwrap();
                volume.write(0, &[1; 4096]).unwrap();
                volume.flush().unwrap();
                disk.set_faults(Faults { failing_sync: Some(failing), ..Faults::default() });
                let Err(failure) = volume.checkpoint() else { continue };
                drop(volume);
                disk.set_faults(Faults { cut_after: Some(after), ..Faults::default() });
                drop(open(&disk));
                let disk = disk.after_cut(&mut Random::new(seed));
                if let Err(error) = open(&disk) {
                    lost.push(format!("sync {failing} ({failure}), cut {after}: {error}"));
                }
            }
        }
    }
    let first: Vec<_> = lost.iter().step_by(lost.len().max(6) / 6).collect();
    assert!(lost.is_empty(), "{}: {first:#?}", lost.len());
}
