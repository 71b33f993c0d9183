//! A volume with an anchor: an older copy of all of its files, or another volume in its place, is
//! refused; an anchor out of reach stops no writer, and nothing is lost.

use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sealstone_anchor::{Anchor, AnchorError, FileAnchor, Mark};
use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_volume::{Device, Directory, Failure, Served, Sizes, Upkeep, Volume, verify};

const BLOCK_BYTES: u64 = 4096;
const BLOCKS: u64 = 600;

fn sizes() -> Sizes {
    Sizes {
        segment_bytes: 256 << 10,
        checkpoint_bytes: 512 << 10,
        checkpoint_blocks: 100_000,
        at_once_bytes: 64 << 10,
        request_bytes: 128 << 10,
        pages: NonZeroUsize::new(16).unwrap(),
        ..Sizes::default()
    }
}

fn create(dir: &Path, keys: &EphemeralKey) {
    fs::create_dir(dir).unwrap();
    let aes = cipher("aes-256").unwrap();
    Volume::create(&Directory::new(dir), keys, aes, (4096, BLOCKS * BLOCK_BYTES)).unwrap();
}

fn attach(dir: &Path, keys: &EphemeralKey, anchor: &Path) -> Result<Volume, Failure> {
    attach_with(dir, keys, Arc::new(FileAnchor::new(anchor)))
}

fn attach_with(
    dir: &Path,
    keys: &EphemeralKey,
    anchor: Arc<dyn Anchor>,
) -> Result<Volume, Failure> {
    let disk = Arc::new(Directory::new(dir));
    Volume::attach(disk, keys, Some(anchor), (Backend::auto(), sizes()))
}

fn write(volume: &Volume, value: u8) -> Result<(), Failure> {
    for block in 0..40 {
        volume.write(block * 2 * BLOCK_BYTES, &[value; BLOCK_BYTES as usize])?;
    }
    volume.flush()
}

fn value(volume: &Volume) -> u8 {
    let mut out = [0; BLOCK_BYTES as usize];
    volume.read(0, &mut out).unwrap();
    out[0]
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    let done = std::process::Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(done.success());
}

#[test]
fn an_older_copy_of_all_of_a_volume_and_another_volume_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let [now, older, victim, other, anchor] =
        ["now", "older", "victim", "other", "anchor"].map(|name| home.path().join(name));
    let keys = EphemeralKey::new().unwrap();
    create(&now, &keys);
    create(&other, &keys);
    let volume = attach(&now, &keys, &anchor).unwrap();
    write(&volume, 1).unwrap();
    volume.checkpoint().unwrap();
    drop(volume);
    copy(&now, &older);
    for checkpoint in [false, true] {
        let volume = attach(&now, &keys, &anchor).unwrap();
        write(&volume, 2).unwrap();
        if checkpoint {
            volume.checkpoint().unwrap();
            assert!(!volume.is_anchor_behind());
        }
        drop(volume);
        copy(&older, &victim);
        for dir in [&victim, &other] {
            let said = attach(dir, &keys, &anchor).err().expect("it is older").to_string();
            assert!(said.contains("older than its anchor"), "{said}");
            let checked = FileAnchor::new(&anchor);
            let remembered = checked.read().unwrap();
            let found = verify(&Directory::new(dir), &keys, Some(&checked), &mut |_, _| ());
            let found = found.unwrap();
            assert!(found.failures == 1 && found.findings[0].contains("older than its anchor"));
            assert_eq!((found.anchor, checked.read().unwrap()), (None, remembered));
        }
    }
    let before = fs::read(&anchor).unwrap();
    let volume = attach(&now, &keys, &anchor).unwrap();
    assert_eq!(value(&volume), 2);
    drop(volume);
    // an anchor one step behind, as after a crash
    fs::write(&anchor, before).unwrap();
    let volume = attach(&now, &keys, &anchor).unwrap();
    assert_eq!(value(&volume), 2);
    drop(volume);
    fs::write(&anchor, "rubbish").unwrap();
    let said = attach(&now, &keys, &anchor).err().expect("no anchor").to_string();
    assert!(said.contains("is not an anchor of a store"), "{said}");
}

#[test]
fn a_check_records_what_is_newer_and_whole() {
    let home = tempfile::tempdir().unwrap();
    let (dir, anchor) = (home.path().join("now"), FileAnchor::new(home.path().join("anchor")));
    let keys = EphemeralKey::new().unwrap();
    create(&dir, &keys);
    let check = || verify(&Directory::new(&dir), &keys, Some(&anchor), &mut |_, _| ()).unwrap();
    let first = check().anchor.unwrap();
    assert_eq!((first.remembered, first.found.as_deref()), (None, Some("1.0")));
    let disk = Arc::new(Directory::new(&dir));
    let volume = Volume::attach(disk, &keys, None, (Backend::auto(), sizes())).unwrap();
    write(&volume, 1).unwrap();
    volume.checkpoint().unwrap();
    let generation = volume.generation();
    drop(volume);
    let newer = check().anchor.unwrap();
    assert_eq!(newer.remembered.as_deref(), Some("1.0"));
    assert_eq!(newer.found, Some(format!("{generation}.0")));
    assert_eq!(anchor.read().unwrap().unwrap().generation, generation);
    // damage is not recorded
    let data = fs::OpenOptions::new().write(true).open(dir.join("sealstone.data")).unwrap();
    data.set_len(0).unwrap();
    fs::remove_file(home.path().join("anchor")).unwrap();
    let damaged = check();
    assert!(!damaged.is_whole());
    assert_eq!(anchor.read().unwrap(), None);
}

/// An anchor that can be out of reach.
struct Remote {
    anchor: FileAnchor,
    away: AtomicBool,
}

impl Anchor for Remote {
    fn read(&self) -> Result<Option<Mark>, AnchorError> {
        self.anchor.read()
    }

    fn write(&self, mark: &Mark) -> Result<(), AnchorError> {
        match self.away.load(Ordering::Relaxed) {
            true => Err(AnchorError("cannot write the anchor: it is away".into())),
            false => self.anchor.write(mark),
        }
    }

    fn describe(&self) -> String {
        self.anchor.describe()
    }
}

#[test]
fn an_anchor_out_of_reach_is_reported_stops_no_writer_and_is_tried_again() {
    let home = tempfile::tempdir().unwrap();
    let (dir, path) = (home.path().join("now"), home.path().join("anchor"));
    let keys = EphemeralKey::new().unwrap();
    create(&dir, &keys);
    let remote = Arc::new(Remote { anchor: FileAnchor::new(path), away: true.into() });
    let attach = || attach_with(&dir, &keys, Arc::clone(&remote) as _);
    let said = attach().err().expect("an opening is recorded").to_string();
    assert!(said.contains("it is away"), "{said}");
    remote.away.store(false, Ordering::Relaxed);
    let volume = Arc::new(attach().unwrap());
    remote.away.store(true, Ordering::Relaxed);
    write(&volume, 1).unwrap();
    let failed = volume.checkpoint();
    assert!(matches!(failed, Err(Failure::Anchor(_))), "{failed:?}");
    assert!(volume.is_anchor_behind() && !volume.is_pending());
    // more than the log may have, so that writers run checkpoints themselves
    for round in 0..20 {
        write(&volume, round).unwrap();
    }
    assert!(volume.generation() > remote.read().unwrap().unwrap().generation + 2);
    assert!(matches!(volume.checkpoint(), Err(Failure::Anchor(_))));
    // the operator sees that in its state
    let served = Arc::new(Served::new(Arc::clone(&volume), &dir, Box::new(|_| ())));
    let told = Arc::clone(&served);
    let upkeep =
        Upkeep::of(Arc::clone(&volume), Box::new(move |failure| told.note(failure))).unwrap();
    while !served.status().contains("it is away") {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let status = served.status();
    let has_age = status.contains("\"last_failure_s\":") && !status.contains("_s\":null");
    assert!(has_age, "{status}");
    remote.away.store(false, Ordering::Relaxed);
    while volume.is_anchor_behind() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    drop((upkeep, served));
    assert_eq!(remote.read().unwrap().unwrap().generation, volume.generation());
    drop(volume);
    assert_eq!(value(&attach().unwrap()), 19);
}
