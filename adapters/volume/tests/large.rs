//! Devices that are far larger than the disk below them, written here and there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_volume::{Directory, Failure, Sizes, Volume, verify};

const TIB: u64 = 1 << 40;
const BLOCK_BYTES: u64 = 4096;

fn attach(dir: &Path, keys: &EphemeralKey) -> Volume {
    let disk = Arc::new(Directory::new(dir));
    Volume::attach(disk, keys, None, (Backend::auto(), Sizes::default())).unwrap()
}

#[test]
fn a_tebibyte_is_written_here_and_there_and_verified() {
    let home = tempfile::tempdir().unwrap();
    let (dir, keys) = (home.path().join("vol"), EphemeralKey::new().unwrap());
    fs::create_dir(&dir).unwrap();
    let disk = Directory::new(&dir);
    Volume::create(&disk, &keys, cipher("aria-256").unwrap(), (4096, TIB)).unwrap();
    let mut random = SmallRng::seed_from_u64(36);
    let mut written: BTreeMap<u64, u64> = BTreeMap::new();
    for opening in 0..3 {
        let volume = attach(&dir, &keys);
        // the first block and the last among them
        let drawn = (0..400).map(|_| random.random_range(0..TIB / BLOCK_BYTES));
        for block in drawn.chain([0, TIB / BLOCK_BYTES - 1]).collect::<Vec<_>>() {
            let value = block ^ opening;
            let data = value.to_le_bytes().repeat(BLOCK_BYTES as usize / 8);
            volume.write(block * BLOCK_BYTES, &data).unwrap();
            written.insert(block, value);
        }
        volume.flush().unwrap();
        if opening == 1 {
            volume.checkpoint().unwrap();
        }
    }
    let volume = attach(&dir, &keys);
    for (block, value) in &written {
        let mut found = vec![0; BLOCK_BYTES as usize];
        volume.read(block * BLOCK_BYTES, &mut found).unwrap();
        assert_eq!(found, value.to_le_bytes().repeat(BLOCK_BYTES as usize / 8), "block {block}");
    }
    let past = volume.write(TIB - 1, &[1, 2]);
    assert!(matches!(past, Err(Failure::PastEnd { .. })), "{past:?}");
    volume.checkpoint().unwrap();
    drop(volume);
    let report = verify(&Directory::read_only(&dir), &keys, None, &mut |_, _| {}).unwrap();
    assert!(report.is_whole(), "{:?}", report.findings);
    assert_eq!((report.blocks, report.size_bytes), (written.len() as u64, TIB));
    // two pages of entries and two of leaves for each block are the most
    let taken = fs::metadata(dir.join("sealstone.data")).map(|file| {
        use std::os::unix::fs::MetadataExt;
        file.blocks() * 512
    });
    assert!(taken.unwrap() < 6 * BLOCK_BYTES * written.len() as u64);
}
