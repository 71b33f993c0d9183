//! Resealing an open database: another cipher, another key version, from plain to sealed, always
//! while one thread writes and one reads. Not here: kills (`dev/e2e/tests/reseal_crash.rs`), the
//! command (`dev/e2e/tests/reseal_cli.rs`).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use sealstone_cipher::{Backend, Cipher, Provider};
use sealstone_keys::{KeyError, KeyRef, KeySource, Secret};
use sealstone_rocksdb::reseal::{self, Progress, Report, Reseal, ResealError, Why};
use sealstone_rocksdb::{Db, DbOptions, Error, PlainEnv, Range, SealedEnv, Sealing, rest};

/// Part of every value, so that it would be found if anything were stored in the clear.
const MARKER: &str = "PLAINTEXT-MARKER";
const ENTRIES: u32 = 20_000;

/// A key of which new versions can be made, as by a rotation.
struct Versions(Mutex<Vec<[u8; 32]>>);

impl Versions {
    fn new() -> Arc<Self> {
        let first = Secret::random(Provider::own()).unwrap();
        Arc::new(Self(Mutex::new(vec![*first.as_bytes()])))
    }

    fn rotate(&self) {
        self.0.lock().unwrap().push(*Secret::random(Provider::own()).unwrap().as_bytes());
    }

    fn newest(&self) -> KeyRef {
        self.current().unwrap().0
    }
}

impl KeySource for Versions {
    fn current(&self) -> Result<(KeyRef, Secret), KeyError> {
        let versions = self.0.lock().unwrap();
        let key = KeyRef { id: "orders".into(), version: versions.len() as u32 };
        Ok((key, Secret::from_bytes(versions.last().unwrap())))
    }

    fn get(&self, key: &KeyRef) -> Result<Secret, KeyError> {
        let versions = self.0.lock().unwrap();
        let missing = || KeyError::MissingVersion {
            wanted: key.clone(),
            place: "the test".into(),
            available: (1..=versions.len() as u32).collect(),
        };
        versions.get(key.version as usize - 1).map(Secret::from_bytes).ok_or_else(missing)
    }

    fn describe(&self) -> String {
        "the test".into()
    }
}

struct Site {
    dir: tempfile::TempDir,
    keys: Arc<Versions>,
}

impl Site {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), keys: Versions::new() }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("db")
    }

    fn sealing(&self, cipher: &str) -> Sealing {
        Sealing::new(self.keys.clone(), by_name(cipher), Backend::auto())
    }

    fn open(&self, cipher: &str) -> Result<Db, Error> {
        SealedEnv::with(self.sealing(cipher)).open(&self.path(), &options())
    }

    /// Returns a database with tables on several levels, still open.
    fn filled(&self, cipher: &str) -> Db {
        let db = self.open(cipher).unwrap();
        fill(&db);
        db
    }

    /// Makes a database without sealing in another environment and closes it.
    fn plain(&self) {
        let options = DbOptions {
            text: "create_if_missing=true;compression=kNoCompression".into(),
            ..DbOptions::default()
        };
        let db = PlainEnv::new().open(&self.path(), &options).unwrap();
        fill(&db);
        db.close().unwrap();
        // RocksDB itself would have left its log of events
        fs::write(self.path().join("LOG"), format!("opened {MARKER}")).unwrap();
        fs::write(self.path().join("LOG.old.1763700000000000"), format!("opened {MARKER}"))
            .unwrap();
    }

    fn verify(&self) -> rest::Verification {
        rest::verify(&self.path(), &*self.keys, Backend::auto(), None, &mut |_| ()).unwrap()
    }

    /// Ciphers and key versions of everything that is sealed below the directory.
    fn under(&self) -> Vec<(&'static str, u32)> {
        let totals = rest::status(&self.path()).unwrap().totals;
        totals.iter().map(|total| (total.cipher.name, total.key_version)).collect()
    }
}

/// RocksDB removes older files of options when it opens a database; they go when their removal is
/// in the catalogue on stable storage, and until then only the catalogue records it.
#[test]
fn files_about_to_be_removed_are_left_alone() {
    let site = Site::new();
    for _ in 0..4 {
        site.open("aes-256").unwrap().close().unwrap();
    }
    let db = site.open("aria-256").unwrap();
    let report = run(&db, "aria-256");
    assert!(report.left.iter().all(|left| left.why == Why::NextOpening), "{report:?}");
    db.close().unwrap();
    assert!(site.verify().is_whole());
}

fn by_name(cipher: &str) -> &'static Cipher {
    sealstone_cipher::cipher(cipher).unwrap()
}

fn options() -> DbOptions {
    let mut options = DbOptions { cache_bytes: Some(1 << 20), ..DbOptions::default() };
    options.text.push_str(
        ";compression=kNoCompression;write_buffer_size=262144;target_file_size_base=262144;\
         max_bytes_for_level_base=1048576;level0_file_num_compaction_trigger=4;\
         max_background_jobs=2",
    );
    options
}

/// Returns the same without RocksDB's own compactions, which would take over part of the work.
fn still() -> DbOptions {
    let mut options = options();
    options.text.push_str(";disable_auto_compactions=true");
    options
}

fn key(n: u32) -> Vec<u8> {
    format!("key{n:08}").into_bytes()
}

fn value(n: u32, generation: u32) -> Vec<u8> {
    format!("{MARKER} {n} {generation} {}", "x".repeat(60)).into_bytes()
}

/// Writes every entry in generation 0, in an order that leaves overlapping tables.
fn fill(db: &Db) {
    for n in 0..ENTRIES {
        let n = n * 7919 % ENTRIES;
        db.put(&key(n), &value(n, 0), false).unwrap();
        if n % 5000 == 17 {
            db.flush().unwrap();
        }
    }
}

/// Acknowledgements to a writer, entry by entry: the generation that was acknowledged.
struct Acknowledged(Vec<AtomicU32>);

impl Acknowledged {
    fn new() -> Self {
        Self((0..ENTRIES).map(|_| AtomicU32::new(0)).collect())
    }

    fn get(&self, n: u32) -> u32 {
        self.0[n as usize].load(Ordering::SeqCst)
    }

    /// Runs `work` while one thread writes and one reads; no read may be older than the writes
    /// acknowledged before it. Returns the result of `work` and the numbers of writes and reads.
    fn under_load<T>(&self, db: &Db, work: impl FnOnce() -> T) -> (T, u32, u32) {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut count = 0u32;
                while !done.load(Ordering::SeqCst) {
                    let n = count.wrapping_mul(7919) % ENTRIES;
                    let generation = self.get(n) + 1;
                    db.put(&key(n), &value(n, generation), false).unwrap();
                    self.0[n as usize].store(generation, Ordering::SeqCst);
                    count += 1;
                }
                count
            });
            let reader = scope.spawn(|| {
                let mut count = 0u32;
                while !done.load(Ordering::SeqCst) {
                    let n = count.wrapping_mul(104_729) % ENTRIES;
                    let least = self.get(n);
                    assert!(
                        generation_of(n, &db.get(&key(n)).unwrap().unwrap()) >= least,
                        "entry {n} is too old"
                    );
                    count += 1;
                }
                count
            });
            let result = work();
            // a small store is resealed almost at once
            thread::sleep(Duration::from_millis(20));
            done.store(true, Ordering::SeqCst);
            (result, writer.join().unwrap(), reader.join().unwrap())
        })
    }

    fn check(&self, db: &Db) {
        let mut entries = db.iterator(Range::default());
        entries.first();
        for n in 0..ENTRIES {
            let (found, stored) = entries.entry().expect("an entry is missing");
            assert_eq!(found, key(n));
            assert_eq!(generation_of(n, stored), self.get(n), "entry {n}");
            entries.advance();
        }
        // resealing ends a log by writing a deletion, not an entry
        assert!(entries.entry().is_none());
        entries.status().unwrap();
    }
}

/// Returns the generation of a value, which must be one of entry `n`.
fn generation_of(n: u32, stored: &[u8]) -> u32 {
    let text = std::str::from_utf8(stored).unwrap();
    let generation = text.split(' ').nth(2).unwrap().parse().unwrap();
    assert_eq!(stored, value(n, generation));
    generation
}

fn run(db: &Db, cipher: &str) -> Report {
    Reseal::new(db, by_name(cipher)).rate(0).run(&AtomicBool::new(false), &mut |_| ()).unwrap()
}

/// Returns the names of the remaining files, without the files that only the next opening replaces.
fn left(report: &Report) -> Vec<&str> {
    let until_opening = |why: Why| why == Why::NextOpening;
    report
        .left
        .iter()
        .filter(|left| !until_opening(left.why))
        .map(|left| left.file.as_str())
        .collect()
}

/// Returns the names of the files that hold `text`. Files that RocksDB removes in the meantime do
/// not count.
fn shows(dir: &Path, text: &str) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let holds = |path: &PathBuf| match fs::read(path) {
        Ok(bytes) => bytes.windows(text.len()).any(|window| window == text.as_bytes()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => panic!("{}: {error}", path.display()),
    };
    names.filter(holds).map(|path| path.display().to_string()).collect()
}

#[test]
fn from_cipher_to_cipher_under_load() {
    let site = Site::new();
    let db = site.filled("aes-256");
    assert_eq!(site.under(), [("aes-256", 1)]);
    let acknowledged = Acknowledged::new();
    let mut reports: Vec<Progress> = Vec::new();
    let (report, writes, reads) = acknowledged.under_load(&db, || {
        let mut progress = |progress: &Progress| reports.push(progress.clone());
        Reseal::new(&db, by_name("aria-256"))
            .rate(8_000_000)
            .run(&AtomicBool::new(false), &mut progress)
            .unwrap()
    });
    assert!(writes > 0 && reads > 0);
    assert!(report.is_finished() && !report.stopped, "{report:?}");
    assert_eq!(left(&report), [""; 0]);
    assert!(
        report.left.iter().all(|left| left.file == "CURRENT" || left.file.starts_with("MANIFEST-")),
        "{report:?}"
    );
    assert!(report.files > 0 && report.rewritten_bytes > 0, "{report:?}");
    // forward only, and to the end
    assert!(
        reports
            .windows(2)
            .all(|pair| pair[0].done_bytes <= pair[1].done_bytes || pair[0].total_bytes == 0)
    );
    let last = reports.last().unwrap();
    assert!(last.done_bytes == last.total_bytes && last.total_bytes > 0, "{last:?}");
    acknowledged.check(&db);
    db.close().unwrap();

    let db = site.open("aria-256").unwrap();
    acknowledged.check(&db);
    db.verify_checksum().unwrap();
    db.close().unwrap();
    assert_eq!(site.under(), [("aria-256", 1)]);
    assert_eq!(
        reseal::left(&site.path(), by_name("aria-256"), &site.keys.newest(), None).unwrap(),
        []
    );
    assert!(site.verify().is_whole());
    assert_eq!(shows(&site.path(), MARKER), [""; 0]);
}

#[test]
fn from_key_version_to_key_version_under_load() {
    let site = Site::new();
    let db = SealedEnv::with(site.sealing("aes-256")).open(&site.path(), &still()).unwrap();
    fill(&db);
    let acknowledged = Acknowledged::new();
    site.keys.rotate();
    let (report, ..) = acknowledged.under_load(&db, || run(&db, "aes-256"));
    assert!(report.is_finished(), "{report:?}");
    assert_eq!((report.key_id.as_str(), report.key_version), ("orders", 2));
    assert_eq!(left(&report), [""; 0]);
    // and a rotation in the middle of it
    let rotated = AtomicBool::new(false);
    let (report, ..) = acknowledged.under_load(&db, || {
        site.keys.rotate();
        let mut progress = |progress: &Progress| {
            let midway = progress.total_bytes / 3..progress.total_bytes;
            if midway.contains(&progress.done_bytes) && !rotated.swap(true, Ordering::SeqCst) {
                site.keys.rotate();
            }
        };
        Reseal::new(&db, by_name("aes-256"))
            .rate(2_000_000)
            .run(&AtomicBool::new(false), &mut progress)
            .unwrap()
    });
    assert!(rotated.load(Ordering::SeqCst) && report.is_finished(), "{report:?}");
    acknowledged.check(&db);
    db.close().unwrap();
    let report = {
        let db = site.open("aes-256").unwrap();
        let report = run(&db, "aes-256");
        acknowledged.check(&db);
        db.close().unwrap();
        report
    };
    assert_eq!((report.key_version, report.left.len()), (4, 0));
    assert_eq!(site.under(), [("aes-256", 4)]);
    assert!(site.verify().is_whole());
}

#[test]
fn from_plain_to_sealed_under_load() {
    let site = Site::new();
    site.plain();
    assert!(!shows(&site.path(), MARKER).is_empty());
    // plain files are read only on request
    let error = site.open("aes-256").unwrap_err();
    assert!(error.text.contains("not a sealed file"), "{error}");

    let env = SealedEnv::converting(site.sealing("aes-256"));
    let db = env.open(&site.path(), &options()).unwrap();
    let acknowledged = Acknowledged::new();
    let (report, ..) = acknowledged.under_load(&db, || run(&db, "aes-256"));
    assert!(report.is_finished(), "{report:?}");
    assert_eq!(report.left, []);
    acknowledged.check(&db);
    assert_eq!(shows(&site.path(), MARKER), [""; 0]);
    let status = rest::status(&site.path()).unwrap();
    assert!(
        status.not_sealed.is_empty() && status.not_sealed_bytes == 0,
        "{:?}",
        status.not_sealed
    );
    db.close().unwrap();
    assert!(site.verify().is_whole());
    let db = site.open("aes-256").unwrap();
    acknowledged.check(&db);
    drop(db);

    // the environment that converted has gone back to refusing plain files
    let table = fs::read_dir(site.path()).unwrap().map(|entry| entry.unwrap().path());
    let table =
        table.filter(|path| path.extension().is_some_and(|ending| ending == "sst")).max().unwrap();
    fs::write(&table, "planted").unwrap();
    let read = env.open(&site.path(), &options()).and_then(|db| db.verify_checksum());
    assert!(read.as_ref().is_err_and(|error| error.text.contains("not a sealed file")), "{read:?}");
}

#[test]
fn a_conversion_continues_where_another_process_stopped() {
    let site = Site::new();
    site.plain();
    let stop = AtomicBool::new(true);
    let db = SealedEnv::converting(site.sealing("seed-128")).open(&site.path(), &still()).unwrap();
    let report = Reseal::new(&db, by_name("seed-128")).run(&stop, &mut |_| ()).unwrap();
    assert!(report.stopped && !report.is_finished(), "{report:?}");
    assert!(report.left.iter().any(|left| left.plain && left.why == Why::Unfinished), "{report:?}");
    db.close().unwrap();
    // half sealed, it does not open where a sealed store is expected
    assert!(site.open("seed-128").and_then(|db| db.verify_checksum()).is_err());
    let without =
        reseal::open(&site.path(), site.sealing("seed-128"), false).unwrap_err().to_string();
    assert!(without.contains(" not sealed") && without.contains("from-plain"), "{without}");
    let db = reseal::open(&site.path(), site.sealing("seed-128"), true).unwrap();
    let report = run(&db, "seed-128");
    assert_eq!(report.left, []);
    Acknowledged::new().check(&db);
    db.close().unwrap();
    assert!(site.verify().is_whole());
    // with nothing plain left, asking for it again opens no door
    let db = reseal::open(&site.path(), site.sealing("seed-128"), true).unwrap();
    assert_eq!(run(&db, "seed-128").files, 0);
}

#[test]
fn iterators_and_their_files_live_through_it() {
    let site = Site::new();
    let db = site.filled("aes-256");
    let mut before = db.iterator(Range::default());
    before.first();
    for n in 0..ENTRIES {
        db.put(&key(n), &value(n, 1), false).unwrap();
    }
    let report = run(&db, "lea-256");
    assert!(report.is_finished(), "{report:?}");
    assert!(report.left.iter().any(|left| left.why == Why::Obsolete), "{report:?}");
    for n in 0..ENTRIES {
        assert_eq!(before.entry(), Some((&key(n)[..], &value(n, 0)[..])), "as of its making");
        before.advance();
    }
    before.status().unwrap();
    drop(before);
    let report = run(&db, "lea-256");
    assert_eq!((report.files, left(&report).len()), (0, 0), "{report:?}");
    assert_eq!(db.get(&key(17)).unwrap().unwrap(), value(17, 1));
}

#[test]
fn it_stops_and_resumes() {
    let site = Site::new();
    let db = SealedEnv::with(site.sealing("aes-256")).open(&site.path(), &still()).unwrap();
    fill(&db);
    let mut rewritten = 0;
    let mut rounds = 0;
    loop {
        let stop = AtomicBool::new(false);
        let mut progress =
            |progress: &Progress| stop.store(progress.done_bytes > 0, Ordering::SeqCst);
        let report = Reseal::new(&db, by_name("aria-128"))
            .rate(2_000_000)
            .run(&stop, &mut progress)
            .unwrap();
        rewritten += report.files;
        rounds += 1;
        assert!(rounds < 100, "it makes no headway");
        if report.is_finished() {
            break;
        }
    }
    assert!(rounds > 2 && rewritten > 5, "{rounds} rounds, {rewritten} files");
    Acknowledged::new().check(&db);
    // there is nothing left to do, and that is found without writing
    assert_eq!(run(&db, "aria-128").files, 0);
}

#[test]
fn the_limit_holds_and_a_second_run_is_refused() {
    let site = Site::new();
    let db = SealedEnv::with(site.sealing("aes-256")).open(&site.path(), &still()).unwrap();
    fill(&db);
    let begin = Instant::now();
    let report = thread::scope(|scope| {
        let first = scope.spawn(|| {
            Reseal::new(&db, by_name("aria-256"))
                .rate(2_000_000)
                .run(&AtomicBool::new(false), &mut |_| ())
                .unwrap()
        });
        thread::sleep(Duration::from_millis(300));
        assert!(!first.is_finished());
        let second = Reseal::new(&db, by_name("seed-128"))
            .run(&AtomicBool::new(false), &mut |_| ())
            .unwrap_err();
        assert!(second.to_string().contains("is already being resealed\n"), "{second}");
        first.join().unwrap()
    });
    // tables become a little longer or shorter when they are rewritten
    let least_s = report.rewritten_bytes as f64 / 2_000_000.0 * 0.8;
    assert!(begin.elapsed().as_secs_f64() > least_s, "{:?} {report:?}", begin.elapsed());
    assert!(report.is_finished());
    assert_eq!(left(&report), [""; 0]);
}

#[test]
fn an_idle_database_gets_a_new_log() {
    let site = Site::new();
    let db = site.filled("aes-256");
    db.flush().unwrap();
    site.keys.rotate();
    let report = run(&db, "aes-256");
    assert!(report.left.iter().all(|left| left.why == Why::NextOpening), "{report:?}");
    Acknowledged::new().check(&db);
    drop(db);
    let db = site.open("aes-256").unwrap();
    Acknowledged::new().check(&db);
}

#[test]
fn blobs_move_along() {
    let site = Site::new();
    let mut blobs = options();
    blobs.text.push_str(";enable_blob_files=true;min_blob_size=512;blob_file_size=262144");
    let db = SealedEnv::with(site.sealing("aes-256")).open(&site.path(), &blobs).unwrap();
    let large = |n: u32| format!("{MARKER} {n} ").into_bytes().repeat(100);
    for n in 0..1000 {
        db.put(&key(n), &if n % 3 == 0 { value(n, 0) } else { large(n) }, false).unwrap();
    }
    db.flush().unwrap();
    let count = |name: &str| {
        rest::status(&site.path()).unwrap().files.iter().filter(|f| f.name.ends_with(name)).count()
    };
    assert!(count(".blob") > 2);
    let report = run(&db, "aria-256");
    assert!(report.is_finished(), "{report:?}");
    assert_eq!(left(&report), [""; 0]);
    assert!(count(".blob") > 2, "values stay in blob files");
    for n in 0..1000 {
        assert_eq!(
            db.get(&key(n)).unwrap().unwrap(),
            if n % 3 == 0 { value(n, 0) } else { large(n) }
        );
    }
    db.close().unwrap();
    let db = SealedEnv::with(site.sealing("aria-256")).open(&site.path(), &blobs).unwrap();
    assert_eq!(run(&db, "aria-256").left, []);
    // and back again, so that numbers of old and new blob files are mixed up
    let report = run(&db, "aes-256");
    assert_eq!(left(&report), [""; 0], "{report:?}");
    assert_eq!(db.get(&key(1)).unwrap().unwrap(), large(1));
    db.close().unwrap();
    assert!(site.verify().is_whole());
}

#[test]
fn what_does_not_belong_to_the_store_is_left_alone_and_named() {
    let site = Site::new();
    let db = site.filled("aes-256");
    fs::write(site.path().join("notes.txt"), "by hand").unwrap();
    let report = run(&db, "aria-256");
    assert!(report.is_finished());
    let notes = report.left.iter().find(|left| left.file == "notes.txt").unwrap();
    assert_eq!((notes.why, notes.plain, notes.stored_bytes), (Why::Foreign, true, 7));
    assert_eq!(fs::read(site.path().join("notes.txt")).unwrap(), b"by hand");
}

#[test]
fn without_a_key_nothing_begins() {
    struct Gone(Arc<Versions>, AtomicBool);
    impl KeySource for Gone {
        fn current(&self) -> Result<(KeyRef, Secret), KeyError> {
            if self.1.load(Ordering::SeqCst) {
                return Err(KeyError::NoFile { path: "gone.key".into(), nearest: None });
            }
            self.0.current()
        }
        fn get(&self, key: &KeyRef) -> Result<Secret, KeyError> {
            self.0.get(key)
        }
        fn describe(&self) -> String {
            "the test".into()
        }
    }
    let site = Site::new();
    let keys = Arc::new(Gone(site.keys.clone(), AtomicBool::new(false)));
    let env = SealedEnv::new(keys.clone(), by_name("aes-256"), Backend::auto());
    let db = env.open(&site.path(), &still()).unwrap();
    fill(&db);
    db.flush().unwrap();
    let gone = |gone: bool| keys.1.store(gone, Ordering::SeqCst);
    gone(true);
    let before = rest::status(&site.path()).unwrap();
    let error = Reseal::new(&db, by_name("aria-256"))
        .run(&AtomicBool::new(false), &mut |_| ())
        .unwrap_err();
    assert!(
        matches!(&error, ResealError::Key(_)) && error.to_string().contains("gone.key"),
        "{error}"
    );
    assert_eq!(rest::status(&site.path()).unwrap().totals, before.totals);
    gone(false);
    // and in the middle of it: that ends the work between two files, and the database carries on
    let mut progress = |progress: &Progress| gone(progress.done_bytes > 300_000);
    let error = Reseal::new(&db, by_name("aria-256"))
        .rate(1_000_000)
        .run(&AtomicBool::new(false), &mut progress)
        .unwrap_err();
    assert!(matches!(&error, ResealError::Key(_)), "{error}");
    gone(false);
    Acknowledged::new().check(&db);
    db.put(&key(0), &value(0, 0), true).unwrap();
    let report = run(&db, "aria-256");
    assert!(report.is_finished() && left(&report).is_empty(), "{report:?}");
    Acknowledged::new().check(&db);
}
