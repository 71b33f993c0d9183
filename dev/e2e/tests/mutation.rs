//! Changes the files of sealed databases in every way someone with write access could, thousands of
//! times, and opens them: each change must be refused or be without effect. Wrong data, even once,
//! fails the test.
//!
//! One outcome is in between: a write-ahead log cut short after a crash reads as a shorter log,
//! since that is what a crash leaves behind. It is accepted only where the log was not synced, and
//! only if the result is exactly the state after some earlier write. One change is left out because
//! no seal of a single file can notice it: restoring an older whole log or manifest (SECURITY.md,
//! "Going back in time"). All outcomes are counted and printed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_cipher::Backend;
use sealstone_keys::{EphemeralKey, KeySource};
use sealstone_rocksdb::{Db, DbOptions, Range, SealedEnv, rest};
use sealstone_seal::{HEADER_BYTES, Layout, TAG_BYTES, frame, inspect};

/// Changes made in all, over all ciphers: of each kind ten for each kind of file of each database,
/// on average. `SEALSTONE_MUTATIONS` overrides it.
const MUTATIONS: usize = 7_000;
/// Ciphers whose files are changed: both modes, and segments shorter than a file (3des).
const CIPHERS: [&str; 3] = ["aes-256", "aria-256", "3des"];
/// The number of changes after which `rest verify` is run, too.
const VERIFY_EVERY: usize = 4;

type State = BTreeMap<Vec<u8>, Vec<u8>>;

/// A closed sealed database that changes are made to copies of.
struct Master {
    cipher: &'static str,
    /// Set when the log was synced before the end: then not even its tail may be cut.
    synced: bool,
    keys: Arc<dyn KeySource>,
    /// File name to stored bytes.
    files: BTreeMap<String, Vec<u8>>,
    /// The same directory at an earlier time.
    older: BTreeMap<String, Vec<u8>>,
    /// Contents of the tables.
    flushed: State,
    /// Contents of the log, in order; all keys differ from each other and from flushed keys.
    logged: Vec<(Vec<u8>, Vec<u8>)>,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    /// Opening or reading failed with an error.
    Refused(String),
    /// All data came back as written.
    Harmless,
    /// The database is as it was after this many logged writes.
    Earlier(usize),
}

fn options() -> DbOptions {
    let defaults = DbOptions::default();
    let text = format!(
        "{};enable_blob_files=true;min_blob_size=2000;disable_auto_compactions=true;\
         block_based_table_factory={{block_size=4096;}}",
        defaults.text
    );
    DbOptions { text, ..defaults }
}

fn env(cipher: &str, keys: &Arc<dyn KeySource>) -> SealedEnv {
    SealedEnv::new(
        Arc::clone(keys),
        sealstone_cipher::cipher(cipher).expect("a known cipher"),
        Backend::auto(),
    )
}

/// Returns a directory in memory where there is one: the test is about bytes, not about disks.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a scratch directory")
}

fn load(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).expect("the directory of a database");
    entries
        .map(|entry| entry.expect("an entry").path())
        // the lock file is empty and never read
        .filter(|path| !path.ends_with("LOCK"))
        .map(|path| {
            let name = path.file_name().expect("a name").to_str().expect("ASCII").to_owned();
            (name, fs::read(&path).expect("a file of the database"))
        })
        .collect()
}

fn lay(files: &BTreeMap<String, Vec<u8>>, dir: &Path) {
    for (name, bytes) in files {
        fs::write(dir.join(name), bytes).expect("room for a copy");
    }
}

impl Master {
    fn build(cipher: &'static str, synced: bool) -> Self {
        let keys: Arc<dyn KeySource> = Arc::new(EphemeralKey::new().expect("randomness"));
        let scratch = scratch();
        let dir = scratch.path().join("db");
        let mut rng = SmallRng::seed_from_u64(7);
        let mut flushed = State::new();
        let db = env(cipher, &keys).open(&dir, &options()).expect("a fresh database");
        let mut older = BTreeMap::new();
        for table in 0..3 {
            for row in 0..120 {
                // every tenth value is long enough for a blob file
                let value_bytes = if row % 10 == 0 { 5000 } else { rng.random_range(50..600) };
                let (key, value) = entry(&mut rng, &format!("table-{table}-{row:04}"), value_bytes);
                db.put(&key, &value, false).expect("a write");
                flushed.insert(key, value);
            }
            db.flush().expect("a flush");
            if table == 1 {
                older = load(&dir);
            }
        }
        let mut logged = Vec::new();
        for row in 0..150 {
            let value_bytes = rng.random_range(20..900);
            let (key, value) = entry(&mut rng, &format!("zlog-{row:04}"), value_bytes);
            db.put(&key, &value, synced && row % 50 == 0).expect("a write");
            logged.push((key, value));
        }
        if synced {
            db.sync_wal().expect("a sync");
            db.close().expect("a clean end");
        } else {
            // the state after a kill: the log as written, without a clean close
            std::mem::forget(db);
        }
        let files = load(&dir);
        let master = Self { cipher, synced, keys, files, older, flushed, logged };
        assert_eq!(
            master.outcome("unchanged", &master.files),
            Outcome::Harmless,
            "an unchanged copy opens"
        );
        for part in [".sst", ".blob", ".log", "MANIFEST-", "CURRENT", "OPTIONS-", "IDENTITY"] {
            assert!(
                master.files.keys().any(|name| name.contains(part)),
                "no {part} file in {:?}",
                master.files.keys()
            );
        }
        master
    }

    /// Opens a copy made of `files` and reads all of it, forwards and key by key.
    fn outcome(&self, what: &str, files: &BTreeMap<String, Vec<u8>>) -> Outcome {
        let scratch = scratch();
        let dir = scratch.path().join("db");
        fs::create_dir(&dir).expect("a directory");
        lay(files, &dir);
        let db = match env(self.cipher, &self.keys).open(&dir, &options()) {
            Ok(db) => db,
            Err(error) => return Outcome::Refused(error.to_string()),
        };
        match read_all(&db).and_then(|state| self.read_each(what, &db).map(|()| state)) {
            Err(error) => Outcome::Refused(error.to_string()),
            Ok(state) => self.judge(what, &state),
        }
    }

    /// Gets every key by name; a value that is there must be the one written.
    fn read_each(&self, what: &str, db: &Db) -> Result<(), sealstone_rocksdb::Error> {
        let written =
            self.flushed.iter().chain(self.logged.iter().map(|(key, value)| (key, value)));
        for (key, value) in written {
            if let Some(found) = db.get(key)? {
                assert_eq!(
                    &found,
                    value,
                    "WRONG DATA under {} after {what}",
                    String::from_utf8_lossy(key)
                );
            }
        }
        Ok(())
    }

    fn judge(&self, what: &str, state: &State) -> Outcome {
        let logged = state.len().checked_sub(self.flushed.len());
        let count = logged.filter(|count| *count <= self.logged.len()).unwrap_or_else(|| {
            panic!(
                "WRONG DATA after {what}: {} entries, {} were flushed and {} logged",
                state.len(),
                self.flushed.len(),
                self.logged.len()
            )
        });
        let mut expected = self.flushed.clone();
        expected.extend(self.logged[..count].iter().cloned());
        assert!(
            *state == expected,
            "WRONG DATA after {what}: not the state after {count} logged writes"
        );
        if count == self.logged.len() { Outcome::Harmless } else { Outcome::Earlier(count) }
    }
}

fn entry(rng: &mut SmallRng, key: &str, value_bytes: usize) -> (Vec<u8>, Vec<u8>) {
    let value = (0..value_bytes).map(|_| rng.random_range(b' '..=b'~')).collect();
    (key.as_bytes().to_vec(), value)
}

fn read_all(db: &Db) -> Result<State, sealstone_rocksdb::Error> {
    let mut state = State::new();
    let mut iterator = db.iterator(Range::default());
    iterator.first();
    while let Some((key, value)) = iterator.entry() {
        state.insert(key.to_vec(), value.to_vec());
        iterator.advance();
    }
    iterator.status()?;
    Ok(state)
}

/// Returns the ranges of the pages or frames of a stored file, read from the parts in the clear.
fn pieces(stored: &[u8]) -> Vec<std::ops::Range<usize>> {
    let info = inspect(stored).expect("a sealed file");
    let mut pieces = Vec::new();
    let mut at = match info.layout {
        Layout::Paged { .. } | Layout::Volume { .. } => HEADER_BYTES,
        Layout::Frames => info.frames_at() as usize,
    };
    while at < stored.len() {
        let bytes = match info.layout {
            Layout::Paged { page_bytes } => page_bytes as usize + TAG_BYTES,
            Layout::Frames => {
                let length: [u8; 4] = stored[at..at + 4].try_into().expect("four bytes");
                u32::from_be_bytes(length) as usize + frame::OVERHEAD_BYTES
            }
            Layout::Volume { .. } => stored.len() - at,
        };
        pieces.push(at..(at + bytes).min(stored.len()));
        at += bytes;
    }
    pieces
}

/// One way of changing files.
type Change = fn(&Master, &mut SmallRng, &str, &mut BTreeMap<String, Vec<u8>>);

/// All of them, by the name they are counted under.
const CHANGES: [(&str, Change); 14] = [
    ("flip a bit", |_, rng, name, files| {
        let file = files.get_mut(name).expect("the file");
        let at = rng.random_range(0..file.len());
        file[at] ^= 1 << rng.random_range(0..8);
    }),
    ("flip a bit of the header", |_, rng, name, files| {
        files.get_mut(name).expect("the file")[rng.random_range(0..HEADER_BYTES)] ^=
            1 << rng.random_range(0..8);
    }),
    ("overwrite bytes", |_, rng, name, files| {
        let file = files.get_mut(name).expect("the file");
        let start = rng.random_range(0..file.len());
        let end = (start + rng.random_range(1..200)).min(file.len());
        rng.fill(&mut file[start..end]);
    }),
    ("zero bytes", |_, rng, name, files| {
        let file = files.get_mut(name).expect("the file");
        let start = rng.random_range(0..file.len());
        let end = (start + rng.random_range(1..2000)).min(file.len());
        file[start..end].fill(0);
    }),
    ("swap two pages of a file", |_, rng, name, files| {
        let file = files.get_mut(name).expect("the file");
        let pieces = pieces(file);
        let (a, b) = (rng.random_range(0..pieces.len()), rng.random_range(0..pieces.len()));
        let (a, b) = (pieces[a.min(b)].clone(), pieces[a.max(b)].clone());
        let swapped = [
            &file[..a.start],
            &file[b.clone()],
            &file[a.end.min(b.start)..b.start],
            &file[a],
            &file[b.end..],
        ];
        *file = swapped.concat();
    }),
    ("put a page of another file", |_, rng, name, files| {
        let donor = other(rng, name, files);
        let pieces_there = pieces(&files[&donor]);
        let piece =
            files[&donor][pieces_there[rng.random_range(0..pieces_there.len())].clone()].to_vec();
        let file = files.get_mut(name).expect("the file");
        let pieces_here = pieces(file);
        let here = pieces_here[rng.random_range(0..pieces_here.len())].clone();
        file.splice(here, piece);
    }),
    ("put a page of an older version", |master, rng, name, files| {
        let Some(older) = older(master, rng, name) else { return };
        let file = files.get_mut(name).expect("the file");
        let (theirs, ours) = (pieces(older), pieces(file));
        let shared = theirs.len().min(ours.len());
        if shared == 0 {
            return; // a log that had just begun
        }
        let index = rng.random_range(0..shared);
        let piece = older[theirs[index].clone()].to_vec();
        file.splice(ours[index].clone(), piece);
    }),
    ("put an older version of the file", |master, rng, name, files| {
        let Some(older) = older(master, rng, name) else { return };
        files.insert(name.to_owned(), older.clone());
    }),
    ("cut the file", |_, rng, name, files| {
        let file = files.get_mut(name).expect("the file");
        file.truncate(rng.random_range(0..file.len()));
    }),
    ("cut the file after a page", |_, rng, name, files| {
        let file = files.get_mut(name).expect("the file");
        let pieces = pieces(file);
        file.truncate(pieces[rng.random_range(0..pieces.len())].start);
    }),
    ("leave out a page", |_, rng, name, files| {
        let file = files.get_mut(name).expect("the file");
        let pieces = pieces(file);
        file.drain(pieces[rng.random_range(0..pieces.len())].clone());
    }),
    ("repeat a page", |_, rng, name, files| {
        let file = files.get_mut(name).expect("the file");
        let pieces = pieces(file);
        let piece = pieces[rng.random_range(0..pieces.len())].clone();
        let copy = file[piece.clone()].to_vec();
        file.splice(piece.end..piece.end, copy);
    }),
    ("put another file in its place", |_, rng, name, files| {
        let donor = other(rng, name, files);
        let bytes = files[&donor].clone();
        files.insert(name.to_owned(), bytes);
    }),
    ("put the header of another file", |_, rng, name, files| {
        let donor = other(rng, name, files);
        let header = files[&donor][..HEADER_BYTES].to_vec();
        files.get_mut(name).expect("the file")[..HEADER_BYTES].copy_from_slice(&header);
    }),
];

fn other(rng: &mut SmallRng, name: &str, files: &BTreeMap<String, Vec<u8>>) -> String {
    let names: Vec<&String> = files.keys().filter(|other| *other != name).collect();
    names[rng.random_range(0..names.len())].clone()
}

/// Returns a file of the same kind from the earlier copy, of the same name if there is one.
fn older<'a>(master: &'a Master, rng: &mut SmallRng, name: &str) -> Option<&'a Vec<u8>> {
    if let Some(same) = master.older.get(name) {
        return Some(same);
    }
    let alike: Vec<&Vec<u8>> = master
        .older
        .iter()
        .filter(|(other, _)| kind(other) == kind(name))
        .map(|(_, bytes)| bytes)
        .collect();
    if alike.is_empty() { None } else { Some(alike[rng.random_range(0..alike.len())]) }
}

fn kind(name: &str) -> &'static str {
    ["sst", "blob", "log", "MANIFEST", "CURRENT", "OPTIONS", "IDENTITY", "CATALOGUE"]
        .into_iter()
        .find(|kind| name.contains(kind))
        .unwrap_or("other")
}

/// The outcome of all changes: by kind of file and of change, how many were refused, harmless, or
/// an earlier state.
type Tally = BTreeMap<(&'static str, &'static str), [usize; 3]>;

fn trial(master: &Master, rng: &mut SmallRng, number: usize, tally: &mut Tally) {
    let names: Vec<&String> = master.files.keys().collect();
    let (change_name, name, files) = loop {
        let name = names[rng.random_range(0..names.len())].clone();
        let (change_name, change) = CHANGES[rng.random_range(0..CHANGES.len())];
        let mut files = master.files.clone();
        change(master, rng, &name, &mut files);
        if files != master.files {
            break (change_name, name, files);
        }
    };
    let what = format!(
        "{} ({}): {change_name} of {name}",
        master.cipher,
        if master.synced { "synced" } else { "killed" }
    );
    let outcome = master.outcome(&what, &files);
    let counted = match &outcome {
        Outcome::Refused(message) => {
            assert!(
                message.lines().next().is_some_and(|line| line.len() > 20),
                "{what}: unhelpful: {message}"
            );
            0
        }
        Outcome::Harmless => 1,
        Outcome::Earlier(count) => {
            assert!(
                name.ends_with(".log"),
                "{what}: acknowledged writes are missing, {count} left"
            );
            assert!(
                !master.synced,
                "{what}: the log was synced, yet only {count} of its writes are left"
            );
            2
        }
    };
    tally.entry((kind(&name), change_name)).or_default()[counted] += 1;
    if number.is_multiple_of(VERIFY_EVERY) && counted != 2 {
        let scratch = scratch();
        lay(&files, scratch.path());
        let found = rest::verify(scratch.path(), &*master.keys, Backend::auto(), None, &mut |_| ());
        let whole = found.as_ref().is_ok_and(|report| report.is_whole());
        // a log or manifest may end in zeros, or early, after a crash; a catalogue has another
        // copy, and so has a header, which verify notes
        let noted = found.as_ref().is_ok_and(|report| !report.notes.is_empty());
        let may_be_whole =
            counted == 1 && (noted || matches!(kind(&name), "log" | "MANIFEST" | "CATALOGUE"));
        assert!(!whole || may_be_whole, "{what}: rest verify calls it whole, outcome {outcome:?}");
    }
}

#[test]
fn no_change_of_a_file_yields_wrong_data() {
    let wanted =
        std::env::var("SEALSTONE_MUTATIONS").ok().map(|text| text.parse().expect("a number"));
    let wanted: usize = wanted.unwrap_or(MUTATIONS);
    let mut masters = Vec::new();
    for cipher in CIPHERS {
        masters.extend([true, false].map(|synced| Master::build(cipher, synced)));
    }
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let next = AtomicUsize::new(0);
    let tallies: Vec<Tally> = std::thread::scope(|scope| {
        let run = || {
            let mut tally = Tally::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= wanted {
                    return tally;
                }
                // one generator a trial: the trials are the same however many workers share them
                let mut rng = SmallRng::seed_from_u64(number as u64);
                trial(&masters[number % masters.len()], &mut rng, number, &mut tally);
            }
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(run)).collect();
        workers.into_iter().map(|worker| worker.join().expect("every trial passes")).collect()
    });
    report(&tallies, wanted);
}

/// Prints the counts past the test harness, which would swallow them.
fn report(tallies: &[Tally], wanted: usize) {
    let mut total = Tally::new();
    for (place, counts) in tallies.iter().flatten() {
        let sum = total.entry(*place).or_default();
        (0..3).for_each(|outcome| sum[outcome] += counts[outcome]);
    }
    let mut text = format!(
        "{:<9} {:<34} {:>8} {:>9} {:>8}\n",
        "file", "change", "refused", "harmless", "earlier"
    );
    let mut sums = [0; 3];
    for ((kind, change), [refused, harmless, earlier]) in &total {
        text += &format!("{kind:<9} {change:<34} {refused:>8} {harmless:>9} {earlier:>8}\n");
        sums = [sums[0] + refused, sums[1] + harmless, sums[2] + earlier];
    }
    text += &format!(
        "{wanted} changes: {} refused, {} harmless, {} an earlier state of an unsynced log, 0 \
         wrong data\n",
        sums[0], sums[1], sums[2]
    );
    assert_eq!(sums.iter().sum::<usize>(), wanted);
    std::io::stderr().write_all(text.as_bytes()).expect("stderr");
}
