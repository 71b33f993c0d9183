//! An attacker who may do anything to the files of a volume that is not attached: one thing, or two
//! at once. What is read afterwards is what was written last, or there is an error; never something
//! older, never zeros where data was.

use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;
use sealstone_volume::{Directory, Failure, Sizes, Volume};

const BLOCK_BYTES: u64 = 4096;
const BLOCKS: u64 = 600;

fn sizes() -> Sizes {
    Sizes {
        segment_bytes: 256 << 10,
        checkpoint_bytes: 64 << 20,
        checkpoint_blocks: 100_000,
        at_once_bytes: 64 << 10,
        request_bytes: 128 << 10,
        pages: NonZeroUsize::new(16).unwrap(),
        ..Sizes::default()
    }
}

fn attach(dir: &Path, keys: &EphemeralKey) -> Result<Volume, Failure> {
    Volume::attach(Arc::new(Directory::new(dir)), keys, None, (Backend::auto(), sizes()))
}

fn create(dir: &Path, keys: &EphemeralKey) {
    fs::create_dir(dir).unwrap();
    let aes = cipher("aes-256").unwrap();
    Volume::create(&Directory::new(dir), keys, aes, (4096, BLOCKS * BLOCK_BYTES)).unwrap();
}

/// Writes blocks, one request each, with `value` all over.
fn write(volume: &Volume, blocks: impl IntoIterator<Item = u64>, value: u8) {
    for block in blocks {
        volume.write(block * BLOCK_BYTES, &[value; BLOCK_BYTES as usize]).unwrap();
    }
}

/// Returns the value of each block.
fn read(dir: &Path, keys: &EphemeralKey) -> Result<Vec<u8>, Failure> {
    let volume = attach(dir, keys)?;
    let mut out = vec![0; (BLOCKS * BLOCK_BYTES) as usize];
    volume.read(0, &mut out)?;
    Ok(out.chunks_exact(BLOCK_BYTES as usize).map(|block| block[0]).collect())
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Returns the names of all files below `dir`.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = PathBuf::from(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => names.extend(files(&entry.path()).iter().map(|below| name.join(below))),
            false => names.push(name),
        }
    }
    names.sort();
    names
}

/// A volume at three times, and another one under the same key.
struct Scene {
    keys: EphemeralKey,
    _home: tempfile::TempDir,
    now: PathBuf,
    /// Before the last opening.
    older: PathBuf,
    /// In the last opening, before the last flush.
    earlier: PathBuf,
    foreign: PathBuf,
    victim: PathBuf,
    want: Vec<u8>,
}

fn scene() -> Scene {
    let home = tempfile::tempdir().unwrap();
    let [now, older, earlier, foreign, victim] =
        ["now", "older", "earlier", "foreign", "victim"].map(|name| home.path().join(name));
    let keys = EphemeralKey::new().unwrap();
    create(&now, &keys);
    let volume = attach(&now, &keys).unwrap();
    write(&volume, 0..400, 1);
    volume.flush().unwrap();
    volume.checkpoint().unwrap();
    write(&volume, (0..400).step_by(3), 2);
    volume.flush().unwrap();
    drop(volume);
    copy(&now, &older);
    let volume = attach(&now, &keys).unwrap();
    write(&volume, (0..400).step_by(5), 3);
    volume.flush().unwrap();
    volume.checkpoint().unwrap();
    write(&volume, (0..400).step_by(7), 4);
    volume.discard(100 * BLOCK_BYTES, 20 * BLOCK_BYTES).unwrap();
    volume.flush().unwrap();
    copy(&now, &earlier);
    write(&volume, (0..400).step_by(11), 5);
    volume.flush().unwrap();
    drop(volume);
    create(&foreign, &keys);
    let other = attach(&foreign, &keys).unwrap();
    write(&other, 0..400, 9);
    other.flush().unwrap();
    other.checkpoint().unwrap();
    write(&other, 0..50, 8);
    other.flush().unwrap();
    drop(other);
    copy(&now, &victim);
    let want = read(&victim, &keys).unwrap();
    assert_eq!((want[0], want[1], want[3], want[5], want[7], want[110]), (5, 1, 2, 3, 4, 5));
    assert_eq!((want[101], want[401]), (0, 0));
    Scene { keys, _home: home, now, older, earlier, foreign, victim, want }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Removed,
    Emptied,
    Halved,
    Zeroed,
    Directory,
    Dangling,
    Link,
    Fifo,
    Older,
    Earlier,
    Foreign,
}

const DEEDS: [Deed; 11] = [
    Deed::Removed,
    Deed::Emptied,
    Deed::Halved,
    Deed::Zeroed,
    Deed::Directory,
    Deed::Dangling,
    Deed::Link,
    Deed::Fifo,
    Deed::Older,
    Deed::Earlier,
    Deed::Foreign,
];

/// Those of which every two are tried: one of each kind.
const PAIRED: [Deed; 7] = [
    Deed::Removed,
    Deed::Halved,
    Deed::Zeroed,
    Deed::Directory,
    Deed::Older,
    Deed::Earlier,
    Deed::Foreign,
];

impl Deed {
    /// Does it to the file `name`; false if there is nothing to do it with.
    fn does(self, scene: &Scene, name: &Path) -> bool {
        let path = scene.victim.join(name);
        let from = match self {
            Self::Older => Some(&scene.older),
            Self::Earlier => Some(&scene.earlier),
            Self::Foreign => Some(&scene.foreign),
            _ => None,
        };
        if let Some(from) = from {
            return fs::copy(from.join(name), &path).is_ok();
        }
        let bytes = fs::metadata(&path).map_or(0, |found| found.len());
        match self {
            Self::Emptied => fs::write(&path, []).unwrap(),
            Self::Halved => {
                fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes / 2).unwrap();
            }
            Self::Zeroed => fs::write(&path, vec![0; bytes as usize]).unwrap(),
            _ => {
                let _ = fs::remove_file(&path);
                match self {
                    Self::Directory => fs::create_dir(&path).unwrap(),
                    Self::Dangling => symlink("/nowhere", &path).unwrap(),
                    Self::Link => symlink(scene.now.join(name), &path).unwrap(),
                    Self::Fifo => {
                        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
                    }
                    _ => {}
                }
            }
        }
        true
    }
}

/// Returns what is wrong with what is read after `deeds`; none if it is right or refused.
fn outcome(scene: &Scene, deeds: &[(&Path, Deed)]) -> Option<String> {
    copy(&scene.now, &scene.victim);
    if !deeds.iter().all(|(name, deed)| deed.does(scene, name)) {
        return None;
    }
    let found = read(&scene.victim, &scene.keys).ok()?;
    let wrong = found.iter().zip(&scene.want).position(|(one, other)| one != other)?;
    Some(format!(
        "{deeds:?}: block {wrong} has {}, and {} was written",
        found[wrong], scene.want[wrong]
    ))
}

#[test]
fn one_file_that_was_changed_is_refused_or_harmless() {
    let scene = scene();
    let mut refused = 0;
    for name in files(&scene.now) {
        for deed in DEEDS {
            if let Some(wrong) = outcome(&scene, &[(&name, deed)]) {
                panic!("{wrong}");
            }
            refused += usize::from(read(&scene.victim, &scene.keys).is_err());
        }
    }
    // most of it is found, and not merely without effect
    assert!(refused > 30, "{refused}");
}

#[test]
fn two_files_that_were_changed_are_refused_or_harmless() {
    let scene = scene();
    let names = files(&scene.now);
    let mut wrong = Vec::new();
    for (index, first) in names.iter().enumerate() {
        for second in &names[index + 1..] {
            for one in PAIRED {
                for other in PAIRED {
                    wrong.extend(outcome(&scene, &[(first, one), (second, other)]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

/// An older state of everything is a volume; that it is older only an anchor could tell.
#[test]
fn all_of_an_older_volume_opens() {
    let scene = scene();
    for older in [&scene.older, &scene.earlier] {
        copy(older, &scene.victim);
        assert_ne!(read(&scene.victim, &scene.keys).unwrap(), scene.want);
    }
}

/// Within one opening the log and the three files with marks undo what was flushed since the last
/// checkpoint: SECURITY.md says so.
#[test]
fn four_files_undo_what_was_flushed_since_the_last_checkpoint() {
    let scene = scene();
    copy(&scene.earlier, &scene.victim);
    let want = read(&scene.victim, &scene.keys).unwrap();
    copy(&scene.now, &scene.victim);
    for name in files(&scene.now).iter().filter(|name| !name.ends_with("sealstone.data")) {
        if !Deed::Earlier.does(&scene, name) {
            Deed::Removed.does(&scene, name);
        }
    }
    let found = read(&scene.victim, &scene.keys).unwrap();
    assert_eq!(found, want);
    assert_ne!(found, scene.want);
}

/// The directory of the log, and a second name, which no deed on a file makes.
#[test]
fn a_directory_elsewhere_and_a_second_name_are_refused() {
    let scene = scene();
    let log = scene.victim.join("sealstone.log");
    let said = || read(&scene.victim, &scene.keys).unwrap_err().to_string();
    copy(&scene.now, &scene.victim);
    fs::remove_dir_all(&log).unwrap();
    symlink(scene.now.join("sealstone.log"), &log).unwrap();
    assert!(said().contains("is a symbolic link, where a directory belongs"), "{}", said());
    fs::remove_file(&log).unwrap();
    fs::write(&log, "").unwrap();
    assert!(said().contains("is a file, where a directory belongs"), "{}", said());
    fs::remove_file(&log).unwrap();
    let gone = said();
    assert!(gone.contains("of the log, at byte 0 of segment"), "{gone}");

    copy(&scene.now, &scene.victim);
    fs::hard_link(scene.victim.join("sealstone.data"), scene.victim.join("second")).unwrap();
    assert!(said().contains("a file with another name elsewhere"), "{}", said());
}

/// An older page beside everything that is newer, which no copy of a file makes.
#[test]
fn an_older_piece_of_the_blocks_is_refused() {
    let scene = scene();
    let (now, older) = ["now", "older"]
        .map(|name| fs::read(scene.now.with_file_name(name).join("sealstone.data")).unwrap())
        .into();
    let mut refused = 0;
    for at in (0..now.len()).step_by(4096) {
        if now[at..at + 4096] == older[at..at + 4096] {
            continue;
        }
        copy(&scene.now, &scene.victim);
        let mut data = now.clone();
        data[at..at + 4096].copy_from_slice(&older[at..at + 4096]);
        fs::write(scene.victim.join("sealstone.data"), data).unwrap();
        match read(&scene.victim, &scene.keys) {
            Ok(found) => assert_eq!(found, scene.want, "at {at}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 10, "{refused}");
}

#[test]
fn errors_say_what_is_there_and_what_to_do() {
    let scene = scene();
    let said = |name: &str, deed: Deed| {
        copy(&scene.now, &scene.victim);
        assert!(deed.does(&scene, Path::new(name)));
        read(&scene.victim, &scene.keys).unwrap_err().to_string()
    };
    for (name, deed, want) in [
        ("sealstone.volume", Deed::Removed, "no volume here: sealstone.volume is missing\n"),
        ("sealstone.volume", Deed::Zeroed, "incomplete: the header is 512 zero bytes\n"),
        ("sealstone.data", Deed::Fifo, "cannot open sealstone.data: sealstone.data is a FIFO (a"),
        ("sealstone.data", Deed::Link, "cannot open sealstone.data: sealstone.data is a symbolic"),
        ("sealstone.data", Deed::Directory, "cannot open sealstone.data: sealstone.data is a dir"),
        ("sealstone.data", Deed::Foreign, "leaf page 0 at byte 4096 of sealstone.data failed"),
    ] {
        let said = said(name, deed);
        assert!(said.starts_with(want), "{name} {deed:?}: {said}");
    }
}
