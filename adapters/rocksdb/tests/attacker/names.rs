//! Stores in which one name is something else than a file: a directory, a FIFO, a socket, a device,
//! a link that is good, leads nowhere, leads to itself or to another store's file; or nothing.
//! Every opener of such a store returns the synced data, or refuses with an error that names the
//! file, and never waits; and `rest verify` never reports a store as whole that an opener refuses.
//! Plain RocksDB, after the same history, defines the expected content.
//!
//! `SEALSTONE_NAMES=1000 SEALSTONE_SEED=7` tries that many, drawn by that seed.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::mkfifo;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use sealstone_cipher::Backend;
use sealstone_keys::KeySource;
use sealstone_rocksdb::rest::{self, Records, Selection};
use sealstone_rocksdb::{Db, DbOptions, PlainEnv, SealedEnv};

use super::{Content, MODES, Site, read, scratch};

/// Time that any of this may take, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(120);
/// Stores that are attacked at once: nearly all of the time is pauses in which a store in use would
/// settle.
const WORKERS: usize = 12;
/// Attacks in a run of all tests.
const ATTACKS: u64 = 500;
/// Names that no file of the store has.
const UNLISTED: [&str; 11] = [
    "000999.log",
    "000999.sst",
    "000999.blob",
    "000999.dbtmp",
    "MANIFEST-000999",
    "OPTIONS-000999",
    "OPTIONS-000999.dbtmp",
    "CURRENT.tmp",
    "SEALSTONE-CATALOGUE-1.new",
    "LOG",
    "notes.txt",
];

/// A stand-in for a file, or for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instead {
    Nothing,
    Directory,
    FullDirectory,
    Fifo,
    Socket,
    Null,
    Zero,
    Device,
    GoodLink,
    LinkOfLinks,
    Dangling,
    Itself,
    InCircles,
    OtherStore,
}

const INSTEAD: [Instead; 14] = [
    Instead::Nothing,
    Instead::Directory,
    Instead::FullDirectory,
    Instead::Fifo,
    Instead::Socket,
    Instead::Null,
    Instead::Zero,
    Instead::Device,
    Instead::GoodLink,
    Instead::LinkOfLinks,
    Instead::Dangling,
    Instead::Itself,
    Instead::InCircles,
    Instead::OtherStore,
];

impl Instead {
    /// Returns whether the file that this leads to is the original file.
    fn is_good(self) -> bool {
        matches!(self, Self::GoodLink | Self::LinkOfLinks)
    }

    /// Returns whether this is neither nothing nor a regular file.
    fn is_no_file(self) -> bool {
        !matches!(self, Self::Nothing | Self::OtherStore) && !self.is_good()
    }

    /// Puts it in place of the file at `path`, which is moved into `aside` where it was there.
    /// `other`: a file of another store. Returns false where the system does not let us.
    fn put(self, path: &Path, aside: &Path, other: &Path) -> bool {
        let kept = aside.join("kept");
        if path.exists() {
            fs::rename(path, &kept).unwrap();
        } else if self.is_good() {
            // a good link of a name that means nothing leads to a file that does no harm there
            fs::write(&kept, b"").unwrap();
        }
        match self {
            Self::Nothing => {}
            Self::Directory => fs::create_dir(path).unwrap(),
            Self::FullDirectory => {
                fs::create_dir(path).unwrap();
                fs::write(path.join("something"), b"in it").unwrap();
            }
            Self::Fifo => mkfifo(path, Mode::S_IRWXU).unwrap(),
            Self::Socket => drop(UnixListener::bind(path).unwrap()),
            Self::Null => symlink("/dev/null", path).unwrap(),
            Self::Zero => symlink("/dev/zero", path).unwrap(),
            Self::Device => {
                let made = mknod(path, SFlag::S_IFCHR, Mode::S_IRWXU, makedev(1, 5));
                // where a device may be made, it may still not be opened
                return made.is_ok() && OpenOptions::new().read(true).open(path).is_ok();
            }
            Self::GoodLink => symlink(&kept, path).unwrap(),
            Self::LinkOfLinks => {
                symlink(&kept, aside.join("next")).unwrap();
                symlink(aside.join("next"), path).unwrap();
            }
            Self::Dangling => symlink(aside.join("nowhere"), path).unwrap(),
            Self::Itself => symlink(path.file_name().unwrap(), path).unwrap(),
            Self::InCircles => {
                symlink(aside.join("two"), aside.join("one")).unwrap();
                symlink(aside.join("one"), aside.join("two")).unwrap();
                symlink(aside.join("one"), path).unwrap();
            }
            Self::OtherStore => symlink(other, path).unwrap(),
        }
        true
    }
}

/// A store with a history, in `db` below its place, and its logs in `logs` if they are apart.
struct Base {
    place: PathBuf,
    options: String,
    /// Every file by its path from the place on.
    files: Vec<(PathBuf, Vec<u8>)>,
    content: Content,
}

#[derive(Clone, Copy, Debug)]
enum History {
    /// Closed in order, with everything in one directory.
    Closed,
    /// Killed with several logs that hold synced writes.
    Killed,
    /// Closed, with the logs in a separate directory.
    Apart,
}

fn write(db: &Db, range: Range<u32>, generation: u32) {
    for n in range {
        let value =
            format!("generation {generation} {}", "v".repeat(if n % 7 == 0 { 900 } else { 90 }));
        db.put(format!("key{n:04}").as_bytes(), value.as_bytes(), true).unwrap();
    }
}

/// Runs the same history on a store each time. Returns it open, where it will be killed.
fn live(history: History, open: &dyn Fn() -> Db) -> Option<Db> {
    let db = open();
    write(&db, 0..40, 1);
    db.flush().unwrap();
    write(&db, 20..60, 2);
    if matches!(history, History::Killed) {
        return Some(db);
    }
    db.flush().unwrap();
    db.close().unwrap();
    let db = open();
    write(&db, 50..70, 3);
    db.delete(b"key0001", true).unwrap();
    db.close().unwrap();
    None
}

fn all(dir: &Path, below: &Path, into: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(dir.join(below)).unwrap() {
        let name = below.join(entry.unwrap().file_name());
        if dir.join(&name).is_dir() {
            all(dir, &name, into);
        } else if !name.ends_with("LOG") {
            into.push((name.clone(), fs::read(dir.join(&name)).unwrap()));
        }
    }
    into.sort();
}

impl Base {
    fn new(site: &Site, history: History, name: &str) -> Self {
        let place = site.scratch.path().join(name);
        let mut options = "create_if_missing=true;compression=kNoCompression;\
                           enable_blob_files=true;min_blob_size=500;disable_auto_compactions=true;\
                           max_background_jobs=2"
            .to_owned();
        match history {
            History::Closed => {}
            // a memory table is full soon, and is not flushed for that
            History::Killed => options.push_str(
                ";write_buffer_size=65536;arena_block_size=4096;min_write_buffer_number_to_merge=32\
                 ;max_write_buffer_number=64",
            ),
            History::Apart => {
                options.push_str(&format!(";wal_dir={}", place.join("logs").display()))
            }
        }
        let wanted = |options: &str| DbOptions { text: options.to_owned(), ..DbOptions::default() };
        // plain RocksDB first, whose store then makes room for the sealed one
        let mut content = Content::new();
        for sealed in [false, true] {
            let _ = fs::remove_dir_all(&place);
            fs::create_dir(&place).unwrap();
            let dir = place.join("db");
            let open = || match sealed {
                true => site.env().open(&dir, &wanted(&options)).unwrap(),
                false => PlainEnv::new().open(&dir, &wanted(&options)).unwrap(),
            };
            let left_open = live(history, &open);
            let mut files = Vec::new();
            all(&place, Path::new(""), &mut files);
            drop(left_open);
            let base = Self {
                place: place.clone(),
                options: options.clone(),
                files,
                content: content.clone(),
            };
            base.restore();
            let found = read(&open()).unwrap();
            if sealed {
                assert_eq!(found.len(), base.content.len());
                assert!(found == base.content, "{history:?}: not what plain RocksDB holds");
                return base;
            }
            content = found;
        }
        unreachable!("the second one returned")
    }

    fn db(&self) -> PathBuf {
        self.place.join("db")
    }

    /// Puts every file back as it was, and nothing else.
    fn restore(&self) {
        fs::remove_dir_all(&self.place).unwrap();
        for (name, content) in &self.files {
            let path = self.place.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        fs::create_dir(self.place.join("aside")).unwrap();
    }

    /// Returns the names to try, by their paths from the place on.
    fn names(&self) -> Vec<PathBuf> {
        let mut names: BTreeSet<PathBuf> =
            self.files.iter().map(|(name, _)| name.clone()).collect();
        let directories: BTreeSet<PathBuf> =
            names.iter().map(|name| name.parent().unwrap().to_owned()).collect();
        for directory in directories {
            names.extend(UNLISTED.iter().map(|name| directory.join(name)));
        }
        names.into_iter().collect()
    }
}

impl Site {
    fn env(&self) -> SealedEnv {
        let cipher = sealstone_cipher::cipher("aes-256").unwrap();
        SealedEnv::new(self.keys.clone(), cipher, Backend::auto())
    }
}

/// An opener of stores, and its result: the store's content, or the reason of its refusal.
type Opener<'a> = (&'static str, Box<dyn FnOnce() -> Result<Content, String> + Send + 'a>);

fn openers<'a>(site: &'a Site, base: &'a Base) -> Vec<Opener<'a>> {
    let dir = base.db();
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let keys = || -> Arc<dyn KeySource> { site.keys.clone() };
    let mut openers: Vec<Opener<'a>> = Vec::new();
    let (out, from) = (base.place.join("out"), dir.clone());
    openers.push((
        "rest unseal",
        Box::new(move || {
            let stop = AtomicBool::new(false);
            let done = rest::unseal(&from, keys(), Backend::auto(), &out, &stop, &mut |_| ());
            done.map_err(|error| text(&error))?;
            let db =
                PlainEnv::new().open(&out, &DbOptions::default()).map_err(|error| text(&error))?;
            read(&db).map_err(|error| text(&error))
        }),
    ));
    let from = dir.clone();
    openers.push((
        "rest dump",
        Box::new(move || {
            let opened = Records::open(&from, keys(), Backend::auto(), "default")
                .map_err(|error| text(&error))?;
            let mut content = Content::new();
            opened
                .scan(Selection::default(), |key, value| {
                    content.insert(key.to_vec(), value.to_vec());
                    ControlFlow::Continue(())
                })
                .map_err(|error| text(&error))?;
            Ok(content)
        }),
    ));
    let from = dir.clone();
    openers.push((
        "a reader",
        Box::new(move || {
            let db = site.env().open_for_reading(&from, &[]).map_err(|error| text(&error))?;
            read(&db).map_err(|error| text(&error))
        }),
    ));
    for mode in MODES {
        let from = dir.clone();
        openers.push((
            mode,
            Box::new(move || {
                let text = format!("{};wal_recovery_mode={mode}", base.options);
                let options = DbOptions { text, ..DbOptions::default() };
                let db = site.env().open(&from, &options).map_err(|error| error.to_string())?;
                read(&db).map_err(|error| error.to_string())
            }),
        ));
    }
    openers
}

/// Runs `work` on a separate thread; returns none if it does not return.
fn in_time<T: Send>(work: impl FnOnce() -> T + Send) -> Option<T> {
    let (done, wait) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || drop(done.send(work())));
        let found = wait.recv_timeout(PATIENCE);
        if found.is_err() {
            // the thread is not coming back, and a scope would wait for it
            eprintln!("somebody waits for ever; the test ends here");
            std::process::abort();
        }
        found.ok()
    })
}

/// Reports wrong reactions to a store that was attacked at `name`.
fn judge(
    site: &Site,
    base: &Base,
    name: &Path,
    instead: Instead,
    other: &Path,
) -> Option<Vec<String>> {
    let attack = || {
        base.restore();
        instead.put(&base.place.join(name), &base.place.join("aside"), other)
    };
    if !attack() {
        return None;
    }
    let mut wrong = Vec::new();
    let file = name.file_name().unwrap().to_str().unwrap();
    let about = format!("{} as {instead:?}", name.display());
    let dir = base.db();
    eprintln!("{about}");

    let verified =
        in_time(|| rest::verify(&dir, &*site.keys, Backend::auto(), None, &mut |_| ())).unwrap();
    let (is_whole, failures) = match verified {
        Ok(report) => (report.is_whole(), report.failures),
        Err(error) => panic!("{about}: {error}"),
    };
    // a catalogue of another store is detected by its list, and not by itself
    let is_catalogue = file.starts_with("SEALSTONE");
    let names_it =
        failures.iter().any(|failure| failure.file.contains(file) || failure.what.contains(file));
    if !is_whole && !is_catalogue && !names_it {
        wrong.push(format!("{about}: verify does not name it: {failures:?}"));
    }
    let is_apart = name.starts_with("logs");
    if instead.is_no_file() && !is_apart {
        let is_directory = matches!(instead, Instead::Directory | Instead::FullDirectory);
        let means_nothing = ["LOG", "notes.txt"].contains(&file);
        if is_whole && !(is_directory && means_nothing) {
            wrong.push(format!("{about}: verify calls it whole"));
        }
        // no store has a file of that name that anything is lost with
        let may_be = is_directory && (means_nothing || file == "LOCK");
        let status = in_time(|| rest::status(&dir)).unwrap().unwrap();
        if !may_be && !status.unreadable.iter().any(|found| found == file) {
            wrong.push(format!("{about}: status passes over it: {:?}", status.unreadable));
        }
        let rotated = in_time(|| rest::rotate(&dir, &*site.keys, &mut |_| ())).unwrap().unwrap();
        if !may_be && !rotated.failures.iter().any(|found| found.file == file) {
            wrong.push(format!("{about}: rotate passes over it: {:?}", rotated.failures));
        }
        let current = site.keys.current().unwrap().0;
        let protected = in_time(|| rest::protected(&dir, &current)).unwrap();
        // nothing is under a key where another program listens
        let is_listening = instead == Instead::Socket && (means_nothing || file == "LOCK");
        if !may_be
            && !is_listening
            && !protected.as_ref().is_err_and(|error| error.to_string().contains(file))
        {
            wrong.push(format!("{about}: retiring passes over it: {protected:?}"));
        }
    }
    // a listed file that is away for a while keeps its key
    let is_missing = |what: &str| what.starts_with("missing: ");
    let away: Vec<&str> = failures
        .iter()
        .filter(|failure| !is_apart && is_missing(&failure.what))
        .map(|failure| failure.file.as_str())
        .collect();
    if !away.is_empty() {
        let rotated = in_time(|| rest::rotate(&dir, &*site.keys, &mut |_| ())).unwrap().unwrap();
        let missing = in_time(|| rest::missing(&dir, &*site.keys)).unwrap().unwrap();
        for (who, found) in [("rotate", rotated.failures), ("retiring", missing)] {
            if !away.iter().all(|file| found.iter().any(|one| one.file == *file)) {
                wrong.push(format!("{about}: {who} does not miss {away:?}: {found:?}"));
            }
        }
    }
    for (who, open) in openers(site, base) {
        attack();
        match in_time(open).unwrap() {
            Ok(content) if content == base.content => {}
            Ok(content) => {
                let lost = base.content.keys().filter(|key| !content.contains_key(*key)).count();
                wrong.push(format!(
                    "{about}: {who} returns {} records, {lost} are lost",
                    content.len()
                ));
            }
            Err(error) => {
                let is_named = error.contains(file) || is_catalogue && error.contains("catalogue");
                if !is_named {
                    wrong.push(format!("{about}: {who} does not name it: {error}"));
                }
                if is_whole {
                    wrong.push(format!(
                        "{about}: verify calls it whole, and {who} refuses: {error}"
                    ));
                }
                if instead.is_good() && base.files.iter().any(|(known, _)| known == name) {
                    wrong
                        .push(format!("{about}: {who} refuses a link to the file itself: {error}"));
                }
            }
        }
    }
    Some(wrong)
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn no_name_that_stands_for_something_else_is_taken_for_its_file() {
    let site =
        Site { scratch: scratch(), keys: Arc::new(sealstone_keys::EphemeralKey::new().unwrap()) };
    let other = Base::new(&site, History::Closed, "other");
    other.restore();
    let histories =
        [(History::Closed, "closed"), (History::Killed, "killed"), (History::Apart, "apart")];
    let bases_of = |worker: usize| {
        histories.map(|(history, name)| Base::new(&site, history, &format!("{name}-{worker}")))
    };
    let bases = bases_of(0);
    let mut random = StdRng::seed_from_u64(number("SEALSTONE_SEED", 33));
    let mut cases: Vec<(usize, PathBuf, Instead)> = Vec::new();
    for (at, base) in bases.iter().enumerate() {
        cases.extend(
            base.names()
                .into_iter()
                .flat_map(|name| INSTEAD.map(|instead| (at, name.clone(), instead))),
        );
    }
    let possible = cases.len();
    cases.shuffle(&mut random);
    // first what once went through: a log of the closed store, and a directory in place of any of
    // its files
    let closed = |name: &Path| bases[0].files.iter().any(|(known, _)| known == name);
    let is_log = |name: &Path| name.extension().is_some_and(|ending| ending == "log");
    cases.sort_by_key(|(at, name, instead)| {
        *at > 0 || !closed(name) || !(is_log(name) || *instead == Instead::Directory)
    });
    cases.truncate(number("SEALSTONE_NAMES", ATTACKS) as usize);
    let others: Vec<PathBuf> = other.files.iter().map(|(name, _)| other.place.join(name)).collect();
    let of_other = |name: &Path, random: &mut StdRng| {
        // a file of the same kind where there is one
        let same = others
            .iter()
            .find(|path| path.extension() == name.extension() && path.extension().is_some());
        same.unwrap_or_else(|| &others[random.random_range(0..others.len())]).clone()
    };

    let cases: Vec<_> = cases
        .into_iter()
        .map(|(at, name, instead)| (at, of_other(&name, &mut random), name, instead))
        .collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new((0, Vec::new())));
    thread::scope(|scope| {
        for worker in 1..=WORKERS {
            let (next, found, cases, site) = (&next, &found, &cases, &site);
            let bases = bases_of(worker);
            scope.spawn(move || {
                while let Some((at, other, name, instead)) =
                    cases.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    if let Some(wrong) = judge(site, &bases[*at], name, *instead, other) {
                        let mut found = found.lock().unwrap();
                        found.0 += 1;
                        found.1.extend(wrong);
                    }
                }
            });
        }
    });
    let (tried, wrong) = found.into_inner().unwrap();
    println!("{tried} stores of {possible} that there are");
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
}
