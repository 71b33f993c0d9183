//! Kills a process that writes to a sealed database at two hundred random moments, opening included, and finds every
//! acknowledged write after reopening, whole and unmixed.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_cipher::backend::Backend;
use sealstone_e2e::crash_load::{ACK_BYTES, PAIRS, Step, THREADS, keys, options};
use sealstone_keys::file::KeyFile;
use sealstone_rocksdb::{Db, SealedEnv, rest};

/// Kills in all, over all ciphers; `SEALSTONE_KILLS` overrides it.
const KILLS: u64 = 200;
/// Cipher, and whether each write is synced.
const RUNS: [(&str, bool); 4] = [("aes-256", false), ("aes-256", true), ("aria-256", false), ("3des", false)];

/// What is known of a pair: its last acknowledged step, or none. A later step may have happened unacknowledged.
type Known = HashMap<(u8, u64), Step>;

#[test]
fn every_acknowledged_write_survives_a_kill() {
    let wanted = std::env::var("SEALSTONE_KILLS").ok().map(|text| text.parse().expect("a number"));
    let kills = wanted.unwrap_or(KILLS) / RUNS.len() as u64;
    let mut summary = String::new();
    for (cipher, sync) in RUNS {
        let scratch = tempfile::tempdir().expect("a directory");
        let key_path = scratch.path().join("key");
        KeyFile::create(&key_path, "crash-test").expect("a key file");
        let dir = scratch.path().join("db");
        let mut known = Known::new();
        let mut acknowledged = 0;
        let mut during_open = 0;
        let mut rng = SmallRng::seed_from_u64(99);
        for round in 0..kills {
            let after = Duration::from_micros(rng.random_range(2_000..250_000));
            let acks = run_and_kill(&dir, &key_path, cipher, sync, round, after);
            acknowledged += acks.values().map(|last| last + 1).sum::<u64>();
            during_open += u64::from(acks.is_empty());
            check(&dir, &key_path, cipher, round, &acks, &mut known);
        }
        assert!(acknowledged > kills, "{cipher}: the writer hardly wrote");
        let mode = if sync { "synced" } else { "unsynced" };
        summary += &format!(
            "{cipher} {mode}: {kills} kills ({during_open} before the first write), {acknowledged} acknowledged writes, 0 lost\n"
        );
    }
    std::io::stderr().write_all(summary.as_bytes()).expect("stderr");
}

/// Starts the writer, kills it `after` a while, and returns the last acknowledged step of each thread.
fn run_and_kill(dir: &Path, key: &Path, cipher: &str, sync: bool, round: u64, after: Duration) -> HashMap<u8, u64> {
    let mut writer = Command::new(env!("CARGO_BIN_EXE_crash_writer"))
        .args([dir.as_os_str(), key.as_os_str(), cipher.as_ref(), round.to_string().as_ref()])
        .arg(if sync { "sync" } else { "" })
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the writer starts");
    let mut stdout = writer.stdout.take().expect("piped");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stdout.read_to_end(&mut bytes).expect("a pipe");
        bytes
    });
    std::thread::sleep(after);
    let early = writer.try_wait().expect("a child of ours");
    assert!(early.is_none(), "the writer ended by itself: {early:?}");
    writer.kill().expect("SIGKILL");
    writer.wait().expect("a child of ours");
    let bytes = reader.join().expect("the reader ends with the writer");
    let mut last = HashMap::new();
    for ack in bytes.chunks_exact(ACK_BYTES) {
        let number = u64::from_be_bytes(ack[1..].try_into().expect("eight bytes"));
        let before = last.insert(ack[0], number);
        assert_eq!(before.map_or(0, |before| before + 1), number, "acknowledgements come in order");
    }
    last
}

/// Reopens the database and compares it with what was acknowledged.
fn check(dir: &Path, key: &Path, cipher: &str, round: u64, acks: &HashMap<u8, u64>, known: &mut Known) {
    let keys_source = Arc::new(KeyFile::open(key).expect("the key file"));
    let env = SealedEnv::new(
        Arc::clone(&keys_source) as _,
        sealstone_cipher::registry::cipher(cipher).expect("known"),
        Backend::auto(),
    );
    let db = env.open(dir, &options()).unwrap_or_else(|error| panic!("{cipher} round {round}: {error}"));
    for thread in 0..THREADS {
        let done = acks.get(&thread).map_or(0, |last| last + 1);
        for number in done.saturating_sub(PAIRS)..done {
            let step = Step::new(thread, round, number);
            known.insert((thread, step.pair()), step);
        }
        // the one step that may have reached the database without its acknowledgement reaching us
        let in_flight = Step::new(thread, round, done);
        for pair in 0..PAIRS {
            let last = known.get(&(thread, pair)).copied();
            let found = pair_value(&db, thread, pair, cipher, round);
            let acknowledged = found == last.and_then(|step| step.value());
            let unacknowledged = in_flight.pair() == pair && found == in_flight.value();
            assert!(
                acknowledged || unacknowledged,
                "{cipher} round {round}: pair {pair} of thread {thread} should hold {last:?}, found {:?}",
                found.map(|value| String::from_utf8_lossy(&value).into_owned())
            );
            if !acknowledged {
                known.insert((thread, pair), in_flight);
            }
        }
    }
    db.close().expect("a clean end");
    // tables that the kill left unfinished are gone now: what remains must be whole
    let report = rest::verify(dir, &*keys_source, Backend::auto(), &mut |_| ()).expect("a readable directory");
    assert!(report.is_whole(), "{cipher} round {round}: a kill looks like damage: {report:?}");
}

/// What both keys of a pair hold; they were written together, so they must agree.
fn pair_value(db: &Db, thread: u8, pair: u64, cipher: &str, round: u64) -> Option<Vec<u8>> {
    let [left, right] = keys(thread, pair).map(|key| db.get(&key).expect("a readable database"));
    assert!(left == right, "{cipher} round {round}: half of an atomic write of pair {pair} of thread {thread}");
    left
}
