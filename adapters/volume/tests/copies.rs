//! Copies of a volume that all go on, and an older state that is put back: no two of them seal a
//! block or a page of entries under the same key and nonce.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_seal::volume::{
    ENTRY_BYTES, Entry, Level, PAGE_BYTES, Places, ROOT_AT, Root, RootHead, Salt,
};
use sealstone_seal::{HEADER_BYTES, SealedFile};
use sealstone_volume::{Directory, Sizes, Volume};

const BLOCK_BYTES: u64 = 4096;
const BLOCKS: u64 = 300;

fn attach(dir: &Path, keys: &EphemeralKey) -> Volume {
    let disk = Arc::new(Directory::new(dir));
    Volume::attach(disk, keys, None, (Backend::auto(), Sizes::default())).unwrap()
}

fn write(volume: &Volume, blocks: std::ops::Range<u64>, value: u8) {
    for block in blocks {
        volume.write(block * BLOCK_BYTES, &[value; BLOCK_BYTES as usize]).unwrap();
    }
    volume.flush().unwrap();
}

fn value(volume: &Volume, block: u64) -> u8 {
    let mut out = [0; BLOCK_BYTES as usize];
    volume.read(block * BLOCK_BYTES, &mut out).unwrap();
    out[0]
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

/// Returns the salts of a volume's openings, as its newest root has them.
fn salts(dir: &Path, keys: &EphemeralKey) -> Vec<Salt> {
    let header = fs::read(dir.join("sealstone.volume")).unwrap();
    let stored: [u8; HEADER_BYTES] = *header.first_chunk().unwrap();
    let file = SealedFile::open(keys, Backend::auto(), &stored).unwrap();
    let root = |name: &str| {
        let bytes = fs::read(dir.join(name)).unwrap();
        let head = RootHead::read(bytes.first_chunk()?).ok()?;
        let sealed = bytes[ROOT_AT as usize..][..head.sealed_bytes].to_vec();
        Root::open(&file, &head, sealed).ok()
    };
    let roots = ["sealstone.map-0", "sealstone.map-1"].into_iter().filter_map(root);
    roots.max_by_key(|root| root.generation).unwrap().salts
}

/// Adds to `seen` what the pages of a volume say of everything that was sealed in its file, by the
/// salt of the opening and the counter, from which keys and nonces are made.
fn look(dir: &Path, keys: &EphemeralKey, seen: &mut HashMap<(Salt, u64), Entry>) {
    let salts = salts(dir, keys);
    let data = fs::read(dir.join("sealstone.data")).unwrap();
    let places = Places::new(BLOCK_BYTES as u32);
    let (last, _) = places.tag_page(BLOCKS - 1);
    let pairs = (0..=last).map(|page| places.pair(Level::Tags, page));
    for pair in pairs.chain([places.pair(Level::Leaf, 0)]) {
        let pages = &data[pair as usize..][..2 * PAGE_BYTES];
        for bytes in pages.chunks_exact(ENTRY_BYTES) {
            let entry = Entry::from_bytes(bytes.first_chunk().unwrap());
            let Some(index) = entry.epoch.checked_sub(1) else { continue };
            // an opening that wrote nothing into its root yet is in none
            let salt = salts[index as usize];
            let before = seen.insert((salt, entry.counter), entry);
            assert!(before.is_none_or(|before| before == entry), "twice: {before:?}, {entry:?}");
        }
    }
}

#[test]
fn copies_that_all_go_on_use_no_nonce_twice() {
    let home = tempfile::tempdir().unwrap();
    let [one, in_use, at_rest, older] =
        ["one", "in-use", "at-rest", "older"].map(|name| home.path().join(name));
    let keys = EphemeralKey::new().unwrap();
    fs::create_dir(&one).unwrap();
    let size = (BLOCK_BYTES as u32, BLOCKS * BLOCK_BYTES);
    Volume::create(&Directory::new(&one), &keys, cipher("aes-256").unwrap(), size).unwrap();
    let mut seen = HashMap::new();

    // copied as a snapshot of the disk would be, with a log that is not in its place, and the
    // original goes on in the opening of which the copy has the beginning
    let volume = attach(&one, &keys);
    write(&volume, 0..200, 1);
    volume.checkpoint().unwrap();
    write(&volume, 100..250, 2);
    copy(&one, &in_use);
    write(&volume, 50..150, 3);
    volume.checkpoint().unwrap();
    drop(volume);
    copy(&one, &at_rest);
    copy(&one, &older);
    look(&one, &keys, &mut seen);

    let copies = [&one, &in_use, &at_rest];
    for round in 0..4 {
        for (number, dir) in (0..).zip(copies) {
            let volume = attach(dir, &keys);
            let own = 10 * (round + 1) + number;
            write(&volume, 0..180, own);
            // some end with a log, as a killed process does
            if round % 2 == 0 {
                volume.checkpoint().unwrap();
            }
            assert_eq!(value(&volume, 7), own);
            drop(volume);
            look(dir, &keys, &mut seen);
        }
        if round == 1 {
            // restored: what it seals from here on is new, too
            copy(&older, &one);
        }
    }
    let openings = copies.map(|dir| salts(dir, &keys));
    let all = openings.iter().flatten().collect::<std::collections::HashSet<_>>();
    // one in common, four and four of the copies, and two of the one that an older state replaced
    assert!(all.len() >= 1 + 4 + 4 + 2, "{}", all.len());
    assert!(seen.len() > 1000, "{}", seen.len());
}
