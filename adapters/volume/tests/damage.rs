//! A changed byte: the error names the block and where it is on the device, nothing of it is
//! returned, and all other blocks are read.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_seal::volume::Places;
use sealstone_volume::{Directory, Sizes, Volume, verify};

const BLOCK_BYTES: usize = 4096;
const BLOCKS: u64 = 300;

fn attach(dir: &Path, keys: &EphemeralKey) -> Volume {
    let disk = Arc::new(Directory::new(dir));
    Volume::attach(disk, keys, None, (Backend::auto(), Sizes::default())).unwrap()
}

/// Returns what a block has: bytes that no fresh buffer has.
fn content(block: u64) -> [u8; BLOCK_BYTES] {
    [(block % 200) as u8 + 1; BLOCK_BYTES]
}

#[test]
fn a_changed_byte_is_named_by_block_and_offset() {
    let home = tempfile::tempdir().unwrap();
    let (dir, keys) = (home.path(), EphemeralKey::new().unwrap());
    let size = (BLOCK_BYTES as u32, BLOCKS * BLOCK_BYTES as u64);
    Volume::create(&Directory::new(dir), &keys, cipher("aria-256").unwrap(), size).unwrap();
    let volume = attach(dir, &keys);
    for block in 0..BLOCKS {
        volume.write(block * BLOCK_BYTES as u64, &content(block)).unwrap();
    }
    volume.flush().unwrap();
    volume.checkpoint().unwrap();
    drop(volume);

    let data = dir.join("sealstone.data");
    let places = Places::new(BLOCK_BYTES as u32);
    // the first and the last one of the device, and those beside a page of entries
    for damaged in [0, 126, 127, BLOCKS - 1] {
        let whole = fs::read(&data).unwrap();
        let at = places.block(damaged) + 77;
        let file = File::options().write(true).open(&data).unwrap();
        file.write_all_at(&[!whole[at as usize]], at).unwrap();
        let offset = damaged * BLOCK_BYTES as u64;
        let said = format!("block {damaged} at byte {offset} of the device failed authentication");

        let volume = attach(dir, &keys);
        for block in 0..BLOCKS {
            let mut out = [0xee; BLOCK_BYTES];
            let read = volume.read(block * BLOCK_BYTES as u64, &mut out);
            match read {
                Ok(()) => assert!(block != damaged && out == content(block)),
                Err(error) => {
                    assert_eq!(block, damaged, "{error}");
                    assert!(error.to_string().contains(&said), "{error}");
                    let is_told = |bytes: &[u8]| bytes == &content(damaged)[..16];
                    assert!(!out.chunks(16).any(is_told), "its content is returned");
                }
            }
        }
        drop(volume);
        let report = verify(&Directory::read_only(dir), &keys, None, &mut |_, _| ()).unwrap();
        assert_eq!(report.failures, 1, "{:?}", report.findings);
        assert!(report.findings[0].contains(&format!("block {damaged} ")), "{:?}", report.findings);
        fs::write(&data, whole).unwrap();
    }
}
