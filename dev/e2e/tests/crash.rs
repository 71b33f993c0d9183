//! Kills a process that writes to a sealed database at two hundred random moments, opening
//! included, and finds every acknowledged write after reopening, whole and unmixed.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_cipher::Backend;
use sealstone_e2e::crash_check::{Acks, Ledger, run_and_kill};
use sealstone_e2e::crash_load::options;
use sealstone_keys::KeyFile;
use sealstone_rocksdb::{SealedEnv, rest};

/// Kills in all, over all ciphers; `SEALSTONE_KILLS` overrides it.
const KILLS: u64 = 200;
/// Cipher, and whether each write is synced.
const RUNS: [(&str, bool); 4] =
    [("aes-256", false), ("aes-256", true), ("aria-256", false), ("3des", false)];

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
        let mut known = Ledger::default();
        let mut acknowledged = 0;
        let mut during_open = 0;
        let mut rng = SmallRng::seed_from_u64(99);
        for round in 0..kills {
            let after = Duration::from_micros(rng.random_range(2_000..250_000));
            let acks = run_and_kill(&mut writer(&dir, &key_path, cipher, sync, round), after);
            acknowledged += acks.values().map(|last| last + 1).sum::<u64>();
            during_open += u64::from(acks.is_empty());
            check(&dir, &key_path, cipher, round, &acks, &mut known);
        }
        assert!(acknowledged > kills, "{cipher}: the writer hardly wrote");
        let mode = if sync { "synced" } else { "unsynced" };
        summary += &format!(
            "{cipher} {mode}: {kills} kills ({during_open} before the first write), {acknowledged} \
             acknowledged writes, 0 lost\n"
        );
    }
    std::io::stderr().write_all(summary.as_bytes()).expect("stderr");
}

/// The process that writes until it is killed.
fn writer(dir: &Path, key: &Path, cipher: &str, sync: bool, round: u64) -> Command {
    let mut writer = Command::new(env!("CARGO_BIN_EXE_crash_writer"));
    writer
        .args([dir.as_os_str(), key.as_os_str(), cipher.as_ref(), round.to_string().as_ref()])
        .arg(if sync { "sync" } else { "" });
    writer
}

/// Reopens the database and compares it with the acknowledged writes.
fn check(dir: &Path, key: &Path, cipher: &str, round: u64, acks: &Acks, known: &mut Ledger) {
    let keys_source = Arc::new(KeyFile::open(key).expect("the key file"));
    let env = SealedEnv::new(
        Arc::clone(&keys_source) as _,
        sealstone_cipher::cipher(cipher).expect("known"),
        Backend::auto(),
    );
    let db =
        env.open(dir, &options()).unwrap_or_else(|error| panic!("{cipher} round {round}: {error}"));
    known.check(&db, round, acks, &format!("{cipher} round {round}"));
    db.close().expect("a clean end");
    // tables that the kill left unfinished have been removed: the remaining files must be whole
    let report = rest::verify(dir, &*keys_source, Backend::auto(), None, &mut |_| ())
        .expect("a readable directory");
    assert!(report.is_whole(), "{cipher} round {round}: a kill looks like damage: {report:?}");
}
