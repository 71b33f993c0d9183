//! Kills `sealstone rest rotate` at two hundred random moments while another process writes to the
//! store. After each kill every file must open under the version that its header names; the next
//! run finishes the work; in the end the older versions are retired and every acknowledged write is
//! there.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_cipher::Backend;
use sealstone_e2e::crash_load::{ACK_BYTES, PAIRS, Step, THREADS, keys, options};
use sealstone_e2e::transcript::{run, sealstone};
use sealstone_keys::{KeyFile, KeySource};
use sealstone_rocksdb::{SealedEnv, rest};
use sealstone_seal::paged::PageWriter;
use sealstone_seal::{HEADER_BYTES, Layout, SealError, SealedFile};

/// Kills in all, over all ciphers; `SEALSTONE_KILLS` overrides it.
const KILLS: u64 = 200;
const CIPHERS: [&str; 4] = ["aes-256", "aria-256", "3des", "lea-128"];
/// Starts of the writer for each cipher; the store is opened and checked after each.
const ROUNDS: u64 = 2;
/// Files in a folder of the store in addition to those that the writer makes, so that most kills
/// hit a running rotation.
const MORE_FILES: usize = 300;

#[test]
fn a_rotation_killed_anywhere_leaves_every_file_openable() {
    let wanted = std::env::var("SEALSTONE_KILLS").ok().map(|text| text.parse().expect("a number"));
    let kills = wanted.unwrap_or(KILLS) / (CIPHERS.len() as u64 * ROUNDS);
    let mut summary = String::new();
    for cipher in CIPHERS {
        let scratch = tempfile::tempdir().expect("a directory");
        let place = scratch.path();
        let key = Arc::new(KeyFile::create(place.join("key"), "rotate-test").expect("a key file"));
        add_files(place, &key, cipher);
        let mut rng = SmallRng::seed_from_u64(7);
        let mut partly = 0;
        let mut acknowledged = 0;
        for round in 0..ROUNDS {
            let writer = Writer::start(place, cipher, round);
            writer.wait_for_files(place);
            for _ in 0..kills {
                key.rotate().expect("a new version");
                rotate_and_kill(place, Duration::from_micros(rng.random_range(0..60_000)));
                partly += u64::from(every_header_opens(place, &key) > 1);
            }
            // the next run finishes the work of the killed runs, while the writer continues
            let newest = key.current().expect("a key").0;
            let done = run(&mut sealstone(place, &["rest", "rotate", "db", "--key", "key"])).done();
            assert!(done.contains(&format!("under key {newest}")), "{done}");
            let status = rest::status(&place.join("db")).expect("a directory");
            assert!(
                status.totals.iter().all(|total| total.key_version == newest.version),
                "{:?}",
                status.totals
            );

            let acks = writer.kill();
            acknowledged += acks.iter().sum::<u64>();
            let older: Vec<u32> = key
                .versions()
                .map(|(version, _)| version)
                .filter(|version| *version < newest.version)
                .collect();
            for version in older {
                key.retire(version).expect("an older version");
            }
            check(place, &key, cipher, round, &acks);
        }
        assert!(acknowledged > kills, "{cipher}: the writer hardly wrote");
        summary += &format!(
            "{cipher}: {} rotations killed, {partly} left several versions, {acknowledged} \
             acknowledged writes, 0 lost\n",
            kills * ROUNDS
        );
    }
    std::io::stderr().write_all(summary.as_bytes()).expect("stderr");
}

/// Puts sealed files into a folder of the store.
fn add_files(place: &Path, key: &KeyFile, cipher: &str) {
    fs::create_dir_all(place.join("db/more")).expect("a directory");
    let layout = Layout::Paged { page_bytes: 4096 };
    for number in 0..MORE_FILES {
        let (file, header) = SealedFile::create(
            key,
            sealstone_cipher::cipher(cipher).expect("known"),
            Backend::auto(),
            layout,
        )
        .expect("a key");
        let mut stored = header.to_vec();
        let mut pages = PageWriter::new(&file).expect("the first writer");
        pages.append(format!("file {number}").as_bytes(), &mut stored).expect("a short file");
        pages.finish(&mut stored).expect("a short file");
        fs::write(place.join(format!("db/more/{number:04}.sealed")), stored).expect("a file");
    }
}

/// The process that writes to the store.
struct Writer {
    child: Child,
    acks: JoinHandle<Vec<u8>>,
}

impl Writer {
    fn start(place: &Path, cipher: &str, round: u64) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_crash_writer"))
            .current_dir(place)
            .args(["db", "key", cipher, &round.to_string(), ""])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the writer starts");
        let mut stdout = child.stdout.take().expect("piped");
        let acks = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stdout.read_to_end(&mut bytes).expect("a pipe");
            bytes
        });
        Self { child, acks }
    }

    /// Waits until there is something to rotate.
    fn wait_for_files(&self, place: &Path) {
        for _ in 0..1000 {
            if rest::status(&place.join("db"))
                .is_ok_and(|status| status.files.len() > MORE_FILES + 8)
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the writer makes no files");
    }

    /// Kills it, and returns how many steps of each thread were acknowledged.
    fn kill(mut self) -> Vec<u64> {
        let early = self.child.try_wait().expect("a child of ours");
        assert!(early.is_none(), "the writer ended by itself: {early:?}");
        self.child.kill().expect("SIGKILL");
        self.child.wait().expect("a child of ours");
        let bytes = self.acks.join().expect("the reader ends with the writer");
        let mut done = vec![0; usize::from(THREADS)];
        for ack in bytes.chunks_exact(ACK_BYTES) {
            let number = u64::from_be_bytes(ack[1..].try_into().expect("eight bytes"));
            let done = &mut done[usize::from(ack[0])];
            assert_eq!(*done, number, "acknowledgements come in order");
            *done += 1;
        }
        done
    }
}

fn rotate_and_kill(place: &Path, after: Duration) {
    let mut command = sealstone(place, &["rest", "rotate", "db", "--key", "key"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    std::thread::sleep(after);
    // it may be done already
    child.kill().expect("SIGKILL");
    child.wait().expect("a child of ours");
}

/// Opens every sealed file's header under the version it names. Returns how many versions there
/// are.
fn every_header_opens(place: &Path, key: &KeyFile) -> usize {
    let db = place.join("db");
    let mut versions = Vec::new();
    for found in rest::status(&db).expect("a directory").files {
        let path = db.join(&found.name);
        if found.state == rest::State::Empty {
            continue;
        }
        // the writer removes files
        let Ok(file) = File::open(&path) else { continue };
        let mut header = Vec::new();
        file.take(HEADER_BYTES as u64).read_to_end(&mut header).expect("a readable file");
        match SealedFile::open(key, Backend::auto(), &header) {
            Ok(sealed) => versions.push(sealed.info().key.version),
            // the writer has just made it
            Err(SealError::Unfinished { .. }) => {}
            // the writer was putting down how much it had synced
            Err(SealError::Damaged { found }) if found.contains("synced") => {}
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
    versions.sort_unstable();
    versions.dedup();
    versions.len()
}

/// Reopens the store, with only the newest version available, and looks for every acknowledged
/// write.
fn check(place: &Path, key: &Arc<KeyFile>, cipher: &str, round: u64, acks: &[u64]) {
    let env = SealedEnv::new(
        Arc::clone(key) as _,
        sealstone_cipher::cipher(cipher).expect("known"),
        Backend::auto(),
    );
    let db = env
        .open(&place.join("db"), &options())
        .unwrap_or_else(|error| panic!("{cipher} round {round}: {error}"));
    for (thread, &done) in (0..THREADS).zip(acks) {
        // the one step that may have reached the store without its acknowledgement reaching us
        let in_flight = Step::new(thread, round, done);
        for number in done.saturating_sub(PAIRS)..done {
            let step = Step::new(thread, round, number);
            let [left, right] =
                keys(thread, step.pair()).map(|key| db.get(&key).expect("a readable store"));
            assert!(left == right, "{cipher} round {round}: half of an atomic write");
            let found = left == step.value()
                || in_flight.pair() == step.pair() && left == in_flight.value();
            assert!(found, "{cipher} round {round}: {step:?} is lost");
        }
    }
    db.close().expect("a clean end");
    let report = rest::verify(&place.join("db"), &**key, Backend::auto(), None, &mut |_| ())
        .expect("a readable directory");
    assert!(report.is_whole(), "{cipher} round {round}: {report:?}");
}
