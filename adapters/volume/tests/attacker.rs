//! An attacker who may do anything to the files of a volume that is not attached: one thing, or two
//! at once. What is read afterwards is what was written last, or there is an error; never something
//! older, never zeros where data was.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs};

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

/// Makes a directory in memory, where there is one: each opening syncs what it found.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

fn scene() -> Scene {
    let home = scratch();
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

#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// To a name that another file has, which is gone then, or that none has.
    Renamed(PathBuf),
}

/// Those that are done to each file in one way.
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

impl Deed {
    /// Returns everything that is done to the file `name` of a volume with the files `names`.
    fn all(name: &Path, names: &[PathBuf]) -> Vec<Self> {
        let others = names.iter().filter(|other| *other != name).cloned();
        let renamed = others.chain(new_names(names)).map(Self::Renamed);
        DEEDS.into_iter().chain(renamed).collect()
    }

    /// Does it to the file `name`; false if there is nothing to do it with.
    fn does(&self, scene: &Scene, name: &Path) -> bool {
        let path = scene.victim.join(name);
        let from = match self {
            Self::Older => Some(scene.older.join(name)),
            Self::Earlier => Some(scene.earlier.join(name)),
            Self::Foreign => Some(scene.foreign.join(name)),
            _ => None,
        };
        if let Some(from) = from {
            return fs::copy(from, &path).is_ok();
        }
        let bytes = fs::metadata(&path).map_or(0, |found| found.len());
        match self {
            Self::Emptied => fs::write(&path, []).unwrap(),
            Self::Halved => {
                fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes / 2).unwrap();
            }
            Self::Zeroed => fs::write(&path, vec![0; bytes as usize]).unwrap(),
            Self::Renamed(other) => {
                // its old name is free already: two files may have changed places
                let other = scene.victim.join(other);
                let _ = fs::remove_file(&other);
                let _ = fs::remove_dir(&other);
                fs::copy(scene.now.join(name), other).unwrap();
            }
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

/// Returns names that no file of `names` has: one that nobody looks for, that of a segment that was
/// made beforehand, and that of the segment after the last one.
fn new_names(names: &[PathBuf]) -> [PathBuf; 3] {
    let segments = names
        .iter()
        .filter_map(|name| name.strip_prefix("sealstone.log").ok()?.to_str()?.parse::<u64>().ok());
    let next = segments.max().expect("a log has a segment") + 1;
    ["new".into(), "sealstone.log/spare-00000050".into(), format!("sealstone.log/{next:08}").into()]
}

/// Something that is done to one file.
#[derive(Clone, Debug)]
enum Change {
    Deed(PathBuf, Deed),
    /// Bytes of the file at a position, which are those of another time, or of another volume.
    Piece {
        file: PathBuf,
        at: u64,
        bytes: Arc<Vec<u8>>,
        what: String,
    },
}

impl Change {
    fn file(&self) -> &Path {
        match self {
            Self::Deed(file, _) | Self::Piece { file, .. } => file,
        }
    }

    /// Does it; false if there is nothing to do it with.
    fn does(&self, scene: &Scene) -> bool {
        match self {
            Self::Deed(file, deed) => deed.does(scene, file),
            Self::Piece { file, at, bytes, .. } => {
                let file =
                    fs::OpenOptions::new().write(true).open(scene.victim.join(file)).unwrap();
                file.write_all_at(bytes, *at).is_ok()
            }
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deed(file, deed) => write!(f, "{} {deed:?}", file.display()),
            Self::Piece { file, at, what, .. } => write!(f, "{} at {at}: {what}", file.display()),
        }
    }
}

/// End that an attacked volume came to.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// It does not open, or a read fails.
    Refused,
    /// It holds what it held, opened once and once more.
    Harmless,
    /// It holds something that was overwritten.
    Stale(String),
    /// It holds zeros where data was.
    Lost(String),
}

/// Returns the outcome of `changes`; none if there is nothing to do one of them with.
fn outcome(scene: &Scene, changes: &[&Change]) -> Option<Outcome> {
    let victim = &scene.victim;
    copy(&scene.now, victim);
    for change in changes {
        if let Change::Deed(file, Deed::Renamed(_)) = change {
            fs::remove_file(victim.join(file)).unwrap();
        }
    }
    if !changes.iter().all(|change| change.does(scene)) {
        return None;
    }
    for opening in ["first", "second"] {
        let found = match read(victim, &scene.keys) {
            Ok(found) => found,
            Err(_) if opening == "first" => return Some(Outcome::Refused),
            // the first one has taken it for whole and gone on in it
            Err(error) => return Some(Outcome::Lost(format!("at the second opening: {error}"))),
        };
        let differs = |at: &usize| found[*at] != scene.want[*at];
        let Some(wrong) = (0..found.len()).find(differs) else { continue };
        let (has, wanted) = (found[wrong], scene.want[wrong]);
        let text =
            format!("at the {opening} opening block {wrong} has {has}, and {wanted} was written");
        return Some(if has == 0 { Outcome::Lost(text) } else { Outcome::Stale(text) });
    }
    Some(Outcome::Harmless)
}

/// Variable of the environment that, if set, tries every two changes of all, which takes minutes.
/// Otherwise it is a part of them, the same one each time.
const ALL_PAIRS: &str = "SEALSTONE_ALL_PAIRS";

/// Returns every two of the changes, one of `first` and one of `second`, but for two deeds on one
/// file; one of `each` of these without [`ALL_PAIRS`].
fn pairs<'a>(first: &'a [Change], second: &'a [Change], each: usize) -> Vec<Vec<&'a Change>> {
    let each = if std::env::var_os(ALL_PAIRS).is_some() { 1 } else { each };
    let is_same = std::ptr::eq(first, second);
    let pairs = first.iter().enumerate().flat_map(|(index, one)| {
        // what is done to a file as a whole leaves nothing else to be done to it
        let is_other =
            |two: &&Change| matches!(two, Change::Piece { .. }) || one.file() != two.file();
        let later = if is_same { index + 1 } else { 0 };
        second[later..].iter().filter(is_other).map(move |two| vec![one, two])
    });
    pairs.step_by(each).collect()
}

/// Tries the cases, and has none of them end in anything stale or lost. A good part is refused, or
/// the cases would be without effect.
fn try_all(scene: &Scene, what: &str, cases: &[Vec<&Change>]) {
    let (mut refused, mut harmless, mut nothing, mut wrong) = (0, 0, 0, Vec::new());
    for changes in cases {
        match outcome(scene, changes) {
            None => nothing += 1,
            Some(Outcome::Refused) => refused += 1,
            Some(Outcome::Harmless) => harmless += 1,
            Some(bad) => {
                let done: Vec<String> = changes.iter().map(|one| one.to_string()).collect();
                wrong.push(format!("{}: {bad:?}", done.join(", ")));
            }
        }
    }
    println!(
        "{what}: {} cases; refused {refused}, harmless {harmless}, stale or lost {}, nothing to \
         do it with {nothing}",
        cases.len(),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    assert!(refused > cases.len() / 3 && harmless > 0, "{refused} of {}", cases.len());
}

/// Returns everything that is done to a file of the volume as a whole.
fn deeds(scene: &Scene) -> Vec<Change> {
    let names = files(&scene.now);
    let of = |name: &PathBuf| {
        let all = Deed::all(name, &names).into_iter();
        all.map(|deed| Change::Deed(name.clone(), deed)).collect::<Vec<_>>()
    };
    names.iter().flat_map(of).collect()
}

#[test]
fn one_file_that_was_changed_is_refused_or_harmless() {
    let scene = scene();
    let deeds = deeds(&scene);
    try_all(&scene, "one file", &deeds.iter().map(|deed| vec![deed]).collect::<Vec<_>>());
}

#[test]
fn two_files_that_were_changed_are_refused_or_harmless() {
    let scene = scene();
    let deeds = deeds(&scene);
    try_all(&scene, "two files", &pairs(&deeds, &deeds, 31));
}

/// Returns pieces of a volume that are other than they were: blocks and pages of entries, segments
/// as a whole and what is in them, and roots and marks each for themselves.
///
/// - `each`: one in so many of the blocks, which are many alike
fn pieces(scene: &Scene, each: usize) -> Vec<Change> {
    let times =
        [("older", &scene.older), ("earlier", &scene.earlier), ("another's", &scene.foreign)];
    let mut pieces = Pieces::default();
    let names = files(&scene.now);
    for (when, dir) in times {
        for file in &names {
            let name = file.to_str().unwrap();
            let now = fs::read(scene.now.join(file)).unwrap();
            let Ok(then) = fs::read(dir.join(file)) else { continue };
            let mut add = |range: Range<usize>, what: &str| {
                let range = range.start..range.end.min(now.len()).min(then.len());
                pieces.add(file, (&now, &then), range, format!("{when} {what}"));
            };
            if name == "sealstone.data" {
                for at in (0..now.len()).step_by(BLOCK_BYTES as usize) {
                    let what = page_or_block(at as u64);
                    if what != "block" || (at / BLOCK_BYTES as usize).is_multiple_of(each) {
                        add(at..at + BLOCK_BYTES as usize, what);
                    }
                }
            } else if name.starts_with("sealstone.map-") {
                add(0..now.len(), "catalogue");
                add(0..128, "head of a root");
                add(8192..now.len(), "root");
                add(2048..8192, "marks");
            } else if name == "sealstone.volume" {
                add(8192..now.len(), "marks");
            } else {
                add(0..now.len(), "segment");
                // a frame of one block is 80 bytes longer than it
                let frame_bytes = BLOCK_BYTES as usize + 80;
                let each = if when == "another's" { 20 * frame_bytes } else { frame_bytes };
                for at in (0..now.len()).step_by(each) {
                    add(at..at + frame_bytes, "frame");
                }
            }
        }
        // a segment that was used again since then, or removed, in the place of each
        let is_segment = |name: &&PathBuf| name.starts_with("sealstone.log");
        let gone = |name: &&PathBuf| is_segment(name) && !names.contains(name);
        for gone in files(dir).iter().filter(gone).take(2) {
            let then = fs::read(dir.join(gone)).unwrap();
            for file in names.iter().filter(is_segment) {
                let now = fs::read(scene.now.join(file)).unwrap();
                let what = format!("{when} segment, {}", gone.display());
                pieces.add(file, (&now, &then), 0..then.len(), what);
            }
        }
    }
    pieces.0
}

#[derive(Default)]
struct Pieces(Vec<Change>);

impl Pieces {
    /// Adds the bytes of `then` in `range` of `file`, unless they are those of `now`, or there
    /// already.
    fn add(&mut self, file: &Path, (now, then): (&[u8], &[u8]), range: Range<usize>, what: String) {
        let Some(bytes) = then.get(range.clone()) else { return };
        let begin = range.start as u64;
        let is_known = self.0.iter().any(|piece| match piece {
            Change::Piece { file: other, at, bytes: known, .. } => {
                other == file && *at == begin && known[..] == *bytes
            }
            Change::Deed(..) => false,
        });
        if bytes != &now[range] && !is_known {
            let (file, bytes) = (file.to_owned(), Arc::new(bytes.to_vec()));
            self.0.push(Change::Piece { file, at: begin, bytes, what });
        }
    }
}

/// Returns the name of what is at a position of `sealstone.data`.
fn page_or_block(at: u64) -> &'static str {
    const GROUP_BYTES: u64 = 8192 + 127 * BLOCK_BYTES;
    match at.checked_sub(8192) {
        None => "leaf page",
        Some(within) if within % GROUP_BYTES < 8192 => "tag page",
        Some(_) => "block",
    }
}

/// An older block, page, frame, segment or catalogue beside everything that is newer, which no copy
/// of a file makes.
#[test]
fn an_older_piece_is_refused_or_harmless() {
    let scene = scene();
    let pieces = pieces(&scene, 1);
    for kind in [
        "older block",
        "older tag page",
        "older leaf page",
        "older segment, sealstone.log/00000000",
        "earlier segment",
        "older catalogue",
        "older root",
        "older marks",
        "earlier frame",
        "another's block",
    ] {
        let is_kind = |piece: &Change| matches!(piece, Change::Piece { what, .. } if what == kind);
        assert!(pieces.iter().any(is_kind), "{kind}");
    }
    try_all(&scene, "one piece", &pieces.iter().map(|piece| vec![piece]).collect::<Vec<_>>());
}

/// A block with its older tag, an older segment with the older catalogue, and every other two.
#[test]
fn two_older_pieces_are_refused_or_harmless() {
    let scene = scene();
    let pieces = pieces(&scene, 11);
    try_all(&scene, "two pieces", &pairs(&pieces, &pieces, 7));
}

#[test]
fn a_changed_file_beside_an_older_piece_is_refused_or_harmless() {
    let scene = scene();
    let (pieces, deeds) = (pieces(&scene, 11), deeds(&scene));
    try_all(&scene, "a piece and a file", &pairs(&pieces, &deeds, 29));
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
/// checkpoint, as SECURITY.md states.
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

#[test]
fn errors_say_what_is_there_and_what_to_do() {
    let scene = scene();
    let said = |name: &str, deed: &Deed| {
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
        let said = said(name, &deed);
        assert!(said.starts_with(want), "{name} {deed:?}: {said}");
    }
}
