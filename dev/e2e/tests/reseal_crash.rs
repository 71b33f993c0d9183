//! Kills a process that reseals a database under load at two hundred random moments, most of them
//! after a random part of the work, and finds every acknowledged write after reopening; resealing
//! then resumes with the remaining files, and finishes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_cipher::Backend;
use sealstone_e2e::crash_check::{Acks, Ledger, Moment, run_and_kill};
use sealstone_e2e::crash_load::{RESEAL_BEGINS, RESEAL_ENDS, RESEAL_STEPS, Step, THREADS, options};
use sealstone_keys::KeyFile;
use sealstone_rocksdb::reseal::{self, Reseal, Why};
use sealstone_rocksdb::{Db, DbOptions, PlainEnv, SealedEnv, Sealing, WriteBatch, rest};

/// Kills in all; `SEALSTONE_KILLS` overrides it. A quarter of them during the conversion of a plain
/// database.
const KILLS: u64 = 200;
/// From which to which.
const CIPHERS: [[&str; 2]; 3] =
    [["aes-256", "aria-256"], ["seed-128", "3des"], ["lea-128", "aes-128"]];
/// Every how many kills the resealing is finished; until then ever more generations of files mix.
const FINISH_EVERY: u64 = 3;
/// Every how many kills one falls at any time after the start, the opening included; the others
/// fall into the work.
const BY_CLOCK_EVERY: u64 = 5;
/// Resealings of a writer that kills fall into.
const RESEALINGS: u64 = 3;
/// Parts of a conversion after which kills fall into it: nothing, a file, about a half.
const CONVERSION: [(u8, u64); 3] = [(RESEAL_BEGINS, 0), (RESEAL_STEPS, 0), (RESEAL_STEPS, 50)];
/// Steps of each thread that a plain database holds in the beginning.
const PLAIN_STEPS: u64 = 3000;
/// And entries in addition to those.
const BALLAST: u32 = 12_000;

fn kills() -> u64 {
    std::env::var("SEALSTONE_KILLS").ok().map_or(KILLS, |text| text.parse().expect("a number"))
}

/// A database to be killed, and its key.
struct Victim {
    scratch: tempfile::TempDir,
    keys: Arc<KeyFile>,
    ciphers: [&'static str; 2],
}

impl Victim {
    fn new(ciphers: [&'static str; 2]) -> Self {
        let scratch = tempfile::tempdir().expect("a directory");
        let keys = Arc::new(
            KeyFile::create(scratch.path().join("key"), "reseal-crash-test").expect("a key file"),
        );
        Self { scratch, keys, ciphers }
    }

    fn dir(&self) -> PathBuf {
        self.scratch.path().join("db")
    }

    fn sealing(&self, cipher: &str) -> Sealing {
        Sealing::new(
            self.keys.clone(),
            sealstone_cipher::cipher(cipher).expect("known"),
            Backend::auto(),
        )
    }

    fn writer(&self, round: u64, from: &str) -> Command {
        let mut writer = Command::new(env!("CARGO_BIN_EXE_reseal_writer"));
        writer
            .args([self.dir(), self.scratch.path().join("key")])
            .args(self.ciphers)
            .args([&round.to_string(), from]);
        writer
    }

    /// Reseals to the end.
    fn finish(&self, db: &Db, cipher: &str, about: &str) {
        let cipher = sealstone_cipher::cipher(cipher).expect("known");
        let run = Reseal::new(db, cipher).rate(0).run(&AtomicBool::new(false), &mut |_| ());
        let report = run.unwrap_or_else(|error| panic!("{about}: {error}"));
        let open_only = |why: Why| why == Why::NextOpening;
        assert!(report.left.iter().all(|left| open_only(left.why)), "{about}: {report:?}");
    }

    fn verify(&self, about: &str) {
        let report = rest::verify(&self.dir(), &*self.keys, Backend::auto(), None, &mut |_| ())
            .expect("a directory");
        assert!(report.is_whole(), "{about}: a kill looks like damage: {report:?}");
    }
}

/// Returns the moment of the kill of `round`.
///
/// - `seen`: acknowledgements of which a kill within the work waits for one
/// - `within_us`: longest time between that and the kill
fn moment(round: u64, seen: &[(u8, u64)], within_us: u64, rng: &mut SmallRng) -> Moment {
    let is_by_clock = round % BY_CLOCK_EVERY == BY_CLOCK_EVERY - 1;
    let (seen, within_us) = if is_by_clock { (&[][..], 300_000) } else { (seen, within_us) };
    let after = Duration::from_micros(rng.random_range(2_000..within_us));
    Moment { seen: seen.to_vec(), after }
}

/// Returns whether the process was killed while it was resealing.
fn midway(acks: &Acks) -> bool {
    acks.get(&RESEAL_BEGINS).copied() > acks.get(&RESEAL_ENDS).copied()
}

#[test]
fn every_acknowledged_write_survives_a_kill_during_resealing() {
    let kills = kills() * 3 / 4 / CIPHERS.len() as u64;
    let mut summary = String::new();
    for ciphers in CIPHERS {
        let victim = Victim::new(ciphers);
        let mut known = Ledger::default();
        let (mut acknowledged, mut during, mut finished) = (0, 0, 0);
        let mut rng = SmallRng::seed_from_u64(17);
        for round in 0..kills {
            let about = format!("{ciphers:?} round {round}");
            let seen = (RESEAL_BEGINS, rng.random_range(0..RESEALINGS));
            let moment = moment(round, &[seen], 300_000, &mut rng);
            let acks = run_and_kill(&mut victim.writer(round, "sealed"), moment);
            during += u64::from(midway(&acks));
            acknowledged += (0..THREADS)
                .filter_map(|thread| acks.get(&thread))
                .map(|last| last + 1)
                .sum::<u64>();
            let target = ciphers[round as usize % 2];
            let db = SealedEnv::with(victim.sealing(target)).open(&victim.dir(), &options());
            let db = db.unwrap_or_else(|error| panic!("{about}: {error}"));
            known.check(&db, round, &acks, &about);
            if round % FINISH_EVERY == 0 || round + 1 == kills {
                victim.finish(&db, target, &about);
                known.check(&db, round, &acks, &about);
                finished += 1;
            }
            db.close().expect("a clean end");
            victim.verify(&about);
        }
        // the last opening replaces what only an opening does
        let target = ciphers[(kills - 1) as usize % 2];
        SealedEnv::with(victim.sealing(target))
            .open(&victim.dir(), &options())
            .and_then(Db::close)
            .expect("it opens and closes");
        let left = reseal::left(
            &victim.dir(),
            sealstone_cipher::cipher(target).expect("known"),
            &key(&victim.keys),
            None,
        );
        assert_eq!(left.expect("a directory"), []);
        assert!(
            acknowledged > kills && during > kills / 2,
            "{acknowledged} writes, {during} of {kills} kills"
        );
        summary += &format!(
            "{ciphers:?}: {kills} kills, {during} of them while resealing, finished {finished} \
             times; {acknowledged} acknowledged writes, 0 lost\n"
        );
    }
    std::io::stderr().write_all(summary.as_bytes()).expect("stderr");
}

fn key(keys: &KeyFile) -> sealstone_keys::KeyRef {
    use sealstone_keys::KeySource;
    keys.current().expect("a key file has a key").0
}

#[test]
fn every_acknowledged_write_survives_a_kill_during_a_conversion() {
    let kills = kills() / 4;
    let victim = Victim::new(["aes-256", "aes-256"]);
    let template = victim.scratch.path().join("plain");
    plain(&template);
    let mut rng = SmallRng::seed_from_u64(23);
    let (mut known, mut acknowledged, mut during, mut finished) = (Ledger::default(), 0, 0, 0);
    for round in 1..=kills {
        let about = format!("conversion round {round}");
        if !victim.dir().exists() {
            copy(&template, &victim.dir());
            known = Ledger::default();
            known.note(0, &(0..THREADS).map(|thread| (thread, PLAIN_STEPS - 1)).collect());
        }
        let part = CONVERSION[rng.random_range(0..CONVERSION.len())];
        // little may be left to convert, and then the end comes without that
        let seen = [part, (RESEAL_ENDS, 0)];
        let moment = moment(round, &seen, 50_000, &mut rng);
        let acks = run_and_kill(&mut victim.writer(round, "plain"), moment);
        during += u64::from(midway(&acks));
        acknowledged +=
            (0..THREADS).filter_map(|thread| acks.get(&thread)).map(|last| last + 1).sum::<u64>();
        let db = SealedEnv::converting(victim.sealing("aes-256")).open(&victim.dir(), &options());
        let db = db.unwrap_or_else(|error| panic!("{about}: {error}"));
        known.check(&db, round, &acks, &about);
        if round % 2 == 0 || round == kills {
            victim.finish(&db, "aes-256", &about);
            known.check(&db, round, &acks, &about);
            for (key, value) in (0..BALLAST).map(ballast) {
                assert!(
                    db.get(&key).expect("a readable database") == Some(value),
                    "{about}: ballast is missing"
                );
            }
            db.close().expect("a clean end");
            victim.verify(&about);
            assert!(
                rest::status(&victim.dir()).expect("a directory").not_sealed.is_empty(),
                "{about}"
            );
            fs::remove_dir_all(victim.dir()).expect("ours");
            finished += 1;
        }
    }
    assert!(
        acknowledged > kills && during > kills / 3,
        "{acknowledged} writes, {during} of {kills} kills"
    );
    let summary = format!(
        "conversion: {kills} kills, {during} of them while converting, finished {finished} times; \
         {acknowledged} acknowledged writes, 0 lost\n"
    );
    std::io::stderr().write_all(summary.as_bytes()).expect("stderr");
}

/// Content that is only there to be converted, so that this takes its time.
fn ballast(n: u32) -> (Vec<u8>, Vec<u8>) {
    (format!("ballast-{n:06}").into_bytes(), format!("ballast {n}").into_bytes().repeat(40))
}

/// A database in the clear, with the steps of round 0 and the ballast in several tables.
fn plain(dir: &Path) {
    let options = DbOptions {
        text: "create_if_missing=true;compression=kNoCompression".into(),
        ..DbOptions::default()
    };
    let db = PlainEnv::new().open(dir, &options).expect("a plain store");
    for number in 0..PLAIN_STEPS {
        for thread in 0..THREADS {
            let step = Step::new(thread, 0, number);
            let mut batch = WriteBatch::new();
            for key in step.keys() {
                match step.value() {
                    Some(value) => batch.put(&key, &value),
                    None => batch.delete(&key),
                }
            }
            db.write(&mut batch, false).expect("a write");
        }
        if number % 700 == 500 {
            db.flush().expect("a flush");
        }
    }
    for n in 0..BALLAST {
        let (key, value) = ballast(n);
        db.put(&key, &value, false).expect("a write");
        if n % 1000 == 999 {
            db.flush().expect("a flush");
        }
    }
    db.close().expect("a clean end");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a new directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("room");
    }
}
