//! An attacker who may do anything to the files of a closed store, and has older copies of them and
//! those of another store under the same key, but not the key: files removed, emptied, cut,
//! renamed, added, put back in an older state or taken from the other store, one attack alone and
//! in every combination of two. The outcomes are counted:
//!
//! - refused: it does not open, or a read fails
//! - harmless: it opens, and holds the same data
//! - stale: it opens, and holds something that was overwritten or deleted
//! - lost: it opens, and lacks something that was written and synced
//!
//! The last two must not happen. The remaining attack, restoring an older copy of every file at
//! once, takes more than two files and only an anchor detects it; see SECURITY.md.

mod logs;
mod names;
mod readers;
mod undo;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use sealstone_cipher::Backend;
use sealstone_keys::EphemeralKey;
use sealstone_rocksdb::{Db, DbOptions, Error, Range, SealedEnv};

/// Stored files by name.
type Files = BTreeMap<String, Vec<u8>>;
/// Content of a store.
type Content = BTreeMap<Vec<u8>, Vec<u8>>;

const MODES: [&str; 4] = [
    "kPointInTimeRecovery",
    "kTolerateCorruptedTailRecords",
    "kAbsoluteConsistency",
    "kSkipAnyCorruptedRecords",
];

struct Site {
    scratch: tempfile::TempDir,
    keys: Arc<EphemeralKey>,
}

impl Site {
    fn open(&self, dir: &Path, mode: &str) -> Result<Db, Error> {
        let cipher = sealstone_cipher::cipher("aes-256").unwrap();
        let env = SealedEnv::new(self.keys.clone(), cipher, Backend::auto());
        let mut options = DbOptions::default();
        options
            .text
            .push_str(";compression=kNoCompression;max_background_jobs=2;wal_recovery_mode=");
        options.text.push_str(mode);
        env.open(dir, &options)
    }
}

/// Returns a directory in memory where the system has one: a store opened thousands of times is
/// synced as often.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

fn files(dir: &Path) -> Files {
    let mut files = Files::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        files.insert(entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
    }
    files.remove("LOCK");
    files
}

fn put(db: &Db, range: std::ops::Range<u32>, generation: u32) {
    for number in range {
        let value = format!("generation {generation} {}", "v".repeat(100));
        db.put(format!("key{number:04}").as_bytes(), value.as_bytes(), true).unwrap();
    }
}

fn delete(db: &Db, range: std::ops::Range<u32>) {
    for number in range {
        db.delete(format!("key{number:04}").as_bytes(), true).unwrap();
    }
}

fn read(db: &Db) -> Result<Content, Error> {
    let mut content = Content::new();
    let mut iterator = db.iterator(Range::default());
    iterator.first();
    while let Some((key, value)) = iterator.entry() {
        content.insert(key.to_vec(), value.to_vec());
        iterator.advance();
    }
    iterator.status()?;
    Ok(content)
}

/// A store with a history: its current files, its data, and its files at earlier times.
struct Victim {
    now: Files,
    content: Content,
    earlier: Vec<Files>,
}

fn victim(site: &Site, name: &str, salt: u32) -> Victim {
    let dir = site.scratch.path().join(name);
    let mut earlier = Vec::new();
    let db = site.open(&dir, MODES[0]).unwrap();
    put(&db, 0..30, salt + 1);
    earlier.push(files(&dir));
    put(&db, 20..50, salt + 2);
    earlier.push(files(&dir));
    db.flush().unwrap();
    put(&db, 0..10, salt + 3);
    delete(&db, 40..45);
    earlier.push(files(&dir));
    db.close().unwrap();
    earlier.push(files(&dir));
    let db = site.open(&dir, MODES[0]).unwrap();
    put(&db, 5..25, salt + 4);
    delete(&db, 45..48);
    // only the log holds the following writes
    earlier.push(files(&dir));
    put(&db, 50..60, salt + 5);
    delete(&db, 0..3);
    db.close().unwrap();
    let now = files(&dir);
    let db = site.open(&dir, MODES[0]).unwrap();
    let content = read(&db).unwrap();
    db.close().unwrap();
    Victim { now, content, earlier }
}

/// Attack on one file.
#[derive(Clone)]
struct Attack {
    what: String,
    name: String,
    /// Content under the name afterwards; none: nothing.
    content: Option<Vec<u8>>,
}

fn attacks(victim: &Victim, other: &Victim) -> Vec<Attack> {
    let mut attacks: Vec<Attack> = Vec::new();
    let mut add = |what: String, name: &str, content: Option<&[u8]>| {
        let content = content.map(<[u8]>::to_vec);
        let same = victim.now.get(name) == content.as_ref();
        if !same
            && !attacks.iter().any(|other: &Attack| other.name == name && other.content == content)
        {
            attacks.push(Attack { what, name: name.to_owned(), content });
        }
    };
    for (name, stored) in &victim.now {
        add(format!("{name} removed"), name, None);
        add(format!("{name} emptied"), name, Some(&[]));
        add(
            format!("{name} cut by 50 bytes"),
            name,
            Some(&stored[..stored.len().saturating_sub(50)]),
        );
        add(format!("{name} cut to its header"), name, Some(&stored[..stored.len().min(8192)]));
    }
    for (time, earlier) in victim.earlier.iter().enumerate() {
        for (name, stored) in earlier {
            add(format!("{name} as it was at time {time}"), name, Some(stored));
            if name.ends_with(".log") {
                add(format!("{name} of time {time} as 000999.log"), "000999.log", Some(stored));
                for live in victim.now.keys().filter(|live| live.ends_with(".log")) {
                    add(format!("{name} of time {time} as {live}"), live, Some(stored));
                }
            }
        }
    }
    for (name, stored) in &other.now {
        add(format!("{name} of the other store"), name, Some(stored));
        if name.ends_with(".log") {
            add(format!("{name} of the other store as 000998.log"), "000998.log", Some(stored));
        }
    }
    attacks
}

#[derive(Default)]
struct Outcomes {
    refused: AtomicUsize,
    harmless: AtomicUsize,
    stale: AtomicUsize,
    lost: AtomicUsize,
}

/// Judges the behaviour of a store with the files `attacked`; if it is not allowed, returns a
/// description of what the store returned.
fn judge(
    site: &Site,
    dir: &Path,
    attacked: &Files,
    victim: &Victim,
    mode: &str,
    outcomes: &Outcomes,
) -> Option<String> {
    let _ = fs::remove_dir_all(dir);
    fs::create_dir(dir).unwrap();
    for (name, stored) in attacked {
        fs::write(dir.join(name), stored).unwrap();
    }
    let got = site.open(dir, mode).and_then(|db| {
        let content = read(&db)?;
        drop(db);
        Ok(content)
    });
    let Ok(content) = got else {
        outcomes.refused.fetch_add(1, Ordering::Relaxed);
        return None;
    };
    if content == victim.content {
        outcomes.harmless.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    let stale =
        content.iter().filter(|(key, value)| victim.content.get(*key) != Some(value)).count();
    let lost = victim.content.keys().filter(|key| !content.contains_key(*key)).count();
    let counter = if stale > 0 { &outcomes.stale } else { &outcomes.lost };
    counter.fetch_add(1, Ordering::Relaxed);
    Some(format!("{stale} entries stale, {lost} lost, under {mode}"))
}

/// Variable of the environment that, if set, puts every pair of attacks under every recovery mode,
/// which takes minutes. Otherwise each pair is under one mode, alternately.
const ALL_PAIRS: &str = "SEALSTONE_ALL_PAIRS";

#[test]
fn no_attack_on_two_files_yields_stale_or_lost_data() {
    let site = Site { scratch: scratch(), keys: Arc::new(EphemeralKey::new().unwrap()) };
    let victim = victim(&site, "victim", 0);
    let other = self::victim(&site, "other", 100);
    let attacks = attacks(&victim, &other);

    let alone = (0..attacks.len()).map(|one| (one, None));
    let pairs =
        (0..attacks.len()).flat_map(|one| (one + 1..attacks.len()).map(move |two| (one, two)));
    let pairs = pairs
        .filter(|(one, two)| attacks[*one].name != attacks[*two].name)
        .map(|(one, two)| (one, Some(two)));
    let under_each_mode = |(one, two)| MODES.map(|mode| (one, two, mode));
    let alone: Vec<(usize, Option<usize>, &str)> = alone.flat_map(under_each_mode).collect();
    let mut cases = alone.clone();
    match std::env::var_os(ALL_PAIRS) {
        Some(_) => cases.extend(pairs.flat_map(under_each_mode)),
        None => cases
            .extend(pairs.zip(MODES.iter().cycle()).map(|((one, two), mode)| (one, two, *mode))),
    }

    let (outcomes, next) = (Outcomes::default(), AtomicUsize::new(0));
    let work = |worker: usize| {
        let dir: PathBuf = site.scratch.path().join(format!("attacked-{worker}"));
        let mut bad = Vec::new();
        while let Some((one, two, mode)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut attacked = victim.now.clone();
            let done: Vec<&Attack> =
                [Some(one), two.as_ref()].into_iter().flatten().map(|at| &attacks[*at]).collect();
            for attack in &done {
                match &attack.content {
                    Some(content) => attacked.insert(attack.name.clone(), content.clone()),
                    None => attacked.remove(&attack.name),
                };
            }
            if let Some(found) = judge(&site, &dir, &attacked, &victim, mode, &outcomes) {
                let what: Vec<&str> = done.iter().map(|attack| attack.what.as_str()).collect();
                bad.push(format!("{}: {found}", what.join(", ")));
            }
        }
        bad
    };
    let bad: Vec<String> = thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..2).map(|worker| scope.spawn(move || work(worker))).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });

    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    println!(
        "{} attacks, alone under each of {} recovery modes ({} cases) and in every pair ({} \
         cases):\n\
         refused {}, harmless {}, stale {}, lost {}",
        attacks.len(),
        MODES.len(),
        alone.len(),
        cases.len() - alone.len(),
        count(&outcomes.refused),
        count(&outcomes.harmless),
        count(&outcomes.stale),
        count(&outcomes.lost),
    );
    assert_eq!(count(&outcomes.refused) + count(&outcomes.harmless) + bad.len(), cases.len());
    assert!(count(&outcomes.refused) > cases.len() / 2, "attacks that do nothing test nothing");
    assert!(
        bad.is_empty(),
        "{} of {} attacks went through:\n{}",
        bad.len(),
        cases.len(),
        bad[..bad.len().min(40)].join("\n")
    );
}
