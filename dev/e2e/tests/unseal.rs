//! A store that went in comes out: `ldb` makes a plain store, `rest reseal --from-plain` seals it,
//! `rest unseal` makes a plain one of it, and `ldb` reads that record by record. In between,
//! processes are killed, disks fill up, the store is changed, and its files are attacked.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_cipher::{Backend, cipher};
use sealstone_e2e::crash_check::run_and_kill;
use sealstone_e2e::ldb::{Ldb, Records, line};
use sealstone_e2e::transcript::{Transcript, plain, run, sealstone};
use sealstone_keys::KeyFile;
use sealstone_rocksdb::{Db, DbOptions, PlainEnv, SealedEnv, Sealing};
use serde_json::Value;
use tempfile::TempDir;

/// RocksDB's message about an unfinished copy.
const REFUSED: &str = "CURRENT file corrupted";
/// Column families of the stores here.
const FAMILIES: [&str; 2] = ["default", "items"];
/// Kills of each kind; `SEALSTONE_KILLS` overrides it.
const KILLS: u64 = 30;
/// Time within which a command that is killed over and over must be done.
const PATIENCE: Duration = Duration::from_secs(240);

fn kills() -> u64 {
    std::env::var("SEALSTONE_KILLS").ok().map_or(KILLS, |text| text.parse().expect("a number"))
}

/// Returns a directory with a key file `orders.key`.
fn scene() -> (TempDir, Arc<KeyFile>) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let key = KeyFile::create(dir.path().join("orders.key"), "orders").expect("a key file");
    (dir, Arc::new(key))
}

fn env(key: &Arc<KeyFile>) -> SealedEnv {
    SealedEnv::new(key.clone(), cipher("aes-256").expect("known"), Backend::auto())
}

/// Some records of any bytes, the same for the same seed.
fn drawn(seed: u64, count: u64) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut rng = SmallRng::seed_from_u64(seed);
    let mut bytes = |most: usize| -> Vec<u8> {
        (0..rng.random_range(1..=most)).map(|_| rng.random()).collect()
    };
    (0..count).map(|_| (bytes(40), bytes(900))).collect()
}

/// Makes a plain store by `ldb`: two column families, large values in blob files in one of them,
/// several tables, and records that are only in the log.
fn plain_store(ldb: &Ldb, dir: &Path, count: u64) {
    // each load ends in a table of its own
    let load = |family: &str, seed, more: &[&str]| {
        let lines: Vec<String> =
            drawn(seed, count).iter().map(|(key, value)| line(key, value)).collect();
        for part in lines.chunks(lines.len().div_ceil(3)) {
            ldb.load(dir, family, &[&["--disable_wal"], more].concat(), &part.concat());
        }
    };
    load("default", 1, &["--create_if_missing"]);
    ldb.run(dir, &["create_column_family", "items"]).done();
    load("items", 2, &["--enable_blob_files", "--min_blob_size=400"]);
    ldb.run(dir, &["put", "only in the log", "17"]).done();
}

/// Returns the records that `ldb` finds in each column family.
fn content(ldb: &Ldb, dir: &Path) -> Vec<Records> {
    FAMILIES.iter().map(|family| ldb.records(dir, family)).collect()
}

fn unseal(dir: &Path, more: &[&str]) -> Transcript {
    run(&mut sealstone(
        dir,
        &[&["rest", "unseal", "db", "--key", "orders.key", "--out", "copy"], more].concat(),
    ))
}

/// Names and contents of the files in `dir`, and when they were written.
fn files(dir: &Path) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
    let entries = fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| {
            let written = entry.metadata().expect("a file").modified().expect("a time");
            (
                entry.file_name().into_string().expect("UTF-8"),
                (fs::read(entry.path()).expect("a file"), written),
            )
        })
        .collect()
}

/// A sealed store `db` with the records of [`plain_store`], and its log not empty.
fn sealed_store(ldb: &Ldb, dir: &Path, key: &Arc<KeyFile>, count: u64) {
    plain_store(ldb, &dir.join("db"), count);
    run(&mut sealstone(
        dir,
        &["rest", "reseal", "db", "--key", "orders.key", "--from-plain", "--yes"],
    ))
    .done();
    let db = env(key).open_stored(&dir.join("db")).expect("it opens");
    db.put(b"only in the sealed log", b"18", false).expect("room");
    db.close().expect("a clean end");
}

/// Bytes of a record, and so of a table, that do not fit on the disk of [`unseal_on_full_disk`].
const LARGE: usize = 4 << 20;

/// Adds a table with one record of `bytes` bytes to the sealed store `db`.
fn add_table(dir: &Path, key: &Arc<KeyFile>, n: u32, bytes: usize) {
    let db = env(key).open_stored(&dir.join("db")).expect("it opens");
    let mut rng = SmallRng::seed_from_u64(u64::from(n));
    let value: Vec<u8> = (0..bytes).map(|_| rng.random()).collect();
    db.put(format!("table {n}").as_bytes(), &value, false).expect("room");
    db.flush().expect("room");
    db.close().expect("a clean end");
}

/// Unseals `db` into `copy` where no file may be larger than 3 MB, which looks like a disk that
/// fills up.
fn unseal_on_full_disk(dir: &Path) -> Transcript {
    let binary = sealstone_e2e::binary::sealstone().display();
    let script = format!(
        "trap '' XFSZ; ulimit -f 3000; exec '{binary}' rest unseal db --key orders.key --out copy"
    );
    run(&mut plain(Path::new("bash"), dir, &["-c", &script]))
}

/// Runs a command repeatedly and kills it after random times, until it ends on its own. Returns how
/// often it was killed. `after_kill` checks the leftovers.
fn killed_until_done(
    dir: &Path,
    arguments: &[&str],
    seed: u64,
    mut after_kill: impl FnMut(),
) -> (u64, Transcript) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let (begin, mut killed) = (Instant::now(), 0);
    // ever later, so that it gets done
    for round in 0.. {
        let mut command = sealstone(dir, arguments);
        if round >= kills() || begin.elapsed() > PATIENCE {
            return (killed, run(&mut command));
        }
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        thread::sleep(Duration::from_micros(rng.random_range(0..40_000 * (1 + round % 8))));
        if child.try_wait().expect("a child of ours").is_none() {
            child.kill().expect("SIGKILL");
            killed += 1;
        }
        child.wait().expect("a child of ours");
        after_kill();
    }
    unreachable!("rounds have no end")
}

#[test]
fn what_went_in_comes_out_with_kills_in_between() {
    let Some(ldb) = Ldb::find("what_went_in_comes_out_with_kills_in_between") else { return };
    let (dir, _key) = scene();
    let (db, copy) = (dir.path().join("db"), dir.path().join("copy"));
    plain_store(&ldb, &db, 3000);
    let before = content(&ldb, &db);
    assert_eq!(
        before.iter().map(Vec::len).sum::<usize>(),
        drawn(1, 3000).len() + drawn(2, 3000).len() + 1
    );

    // in
    let seal = ["rest", "reseal", "db", "--key", "orders.key", "--from-plain", "--yes"];
    let (in_kills, sealed) = killed_until_done(dir.path(), &seal, 31, || ());
    assert_eq!(sealed.code, Some(0), "{}", sealed.stderr);
    run(&mut sealstone(dir.path(), &["rest", "verify", "db", "--key", "orders.key"])).done();
    let refused = ldb.run(&db, &["scan"]);
    assert!(refused.code != Some(0) && refused.stdout.is_empty(), "{refused:?}");
    let sealed_files = files(&db);

    // out
    let arguments = ["rest", "unseal", "db", "--key", "orders.key", "--out", "copy"];
    let (mut unfinished, mut whole) = (0, 0);
    let (out_kills, done) = killed_until_done(dir.path(), &arguments, 37, || {
        // it is all of the store, or none that RocksDB opens, and never a store that it would begin
        // again
        if !copy.join("CURRENT").exists() {
            return;
        }
        let said = ldb.run(&copy, &["scan", "--hex"]);
        if said.code == Some(0) {
            whole += 1;
            assert_eq!(content(&ldb, &copy), before);
            fs::remove_dir_all(&copy).expect("ours");
        } else {
            assert!(said.stderr.contains(REFUSED) && said.stdout.is_empty(), "{said:?}");
            let new = ldb.run(&copy, &["put", "--create_if_missing", "key", "value"]);
            assert!(new.stderr.contains(REFUSED), "{new:?}");
            unfinished += 1;
        }
    });
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.contains("opens the store in copy: "), "{}", done.stdout);
    assert!(
        in_kills > 0 && unfinished > 0,
        "{in_kills} and {out_kills} kills, {unfinished} unfinished"
    );
    println!(
        "{in_kills} kills while sealing; {out_kills} while unsealing: {unfinished} unfinished, \
         {whole} whole"
    );
    assert!(files(&db) == sealed_files, "the sealed store is as it was");
    assert_eq!(ldb.families(&copy), FAMILIES);
    assert_eq!(content(&ldb, &copy), before);

    // and in and out once more, from what came out
    let again = [
        "rest",
        "reseal",
        "copy",
        "--key",
        "orders.key",
        "--from-plain",
        "--yes",
        "--cipher",
        "aria-256",
    ];
    run(&mut sealstone(dir.path(), &again)).done();
    run(&mut sealstone(
        dir.path(),
        &["rest", "unseal", "copy", "--key", "orders.key", "--out", "second"],
    ))
    .done();
    assert_eq!(content(&ldb, &dir.path().join("second")), before);
}

#[test]
fn a_conversion_killed_before_its_log_was_removed_resumes() {
    let Some(ldb) = Ldb::find("a_conversion_killed_before_its_log_was_removed_resumes") else {
        return;
    };
    let (dir, key) = scene();
    let db = dir.path().join("db");
    plain_store(&ldb, &db, 100);
    let before = content(&ldb, &db);
    ldb.run(&db, &["put", "only in the log", "17"]).done();
    let logs: BTreeMap<_, _> =
        files(&db).into_iter().filter(|(name, _)| name.ends_with(".log")).collect();
    assert!(logs.values().any(|(log, _)| !log.is_empty()));
    let sealing = Sealing::new(key.clone(), cipher("aes-256").expect("known"), Backend::auto());
    SealedEnv::converting(sealing).open_stored(&db).and_then(Db::close).expect("it opens");
    // the moment after the catalogue was begun, and before the logs went
    logs.iter().for_each(|(name, (log, _))| fs::write(db.join(name), log).expect("room"));
    run(&mut sealstone(
        dir.path(),
        &["rest", "reseal", "db", "--key", "orders.key", "--from-plain", "--yes"],
    ))
    .done();
    run(&mut sealstone(dir.path(), &["rest", "verify", "db", "--key", "orders.key"])).done();
    unseal(dir.path(), &[]).done();
    assert_eq!(content(&ldb, &dir.path().join("copy")), before);
}

#[test]
fn a_copy_says_what_it_is_and_is_private() {
    let Some(ldb) = Ldb::find("a_copy_says_what_it_is_and_is_private") else { return };
    let (dir, key) = scene();
    sealed_store(&ldb, dir.path(), &key, 400);
    let before = files(&dir.path().join("db"));
    // nothing in the clear goes where somebody else chose
    fs::create_dir(dir.path().join("other")).expect("room");
    symlink("other", dir.path().join("copy")).expect("a link");
    let said = unseal(dir.path(), &[]);
    assert!(
        said.code == Some(2) && said.stderr.contains("it is a symbolic link to other"),
        "{}",
        said.stderr
    );
    assert_eq!(files(&dir.path().join("other")).len(), 0);
    fs::remove_file(dir.path().join("copy")).expect("the link");
    fs::create_dir(dir.path().join("copy")).expect("room");
    if fs::metadata(dir.path().join("copy")).expect("it is there").uid() == 0 {
        chown(dir.path().join("copy"), Some(65534), None).expect("a root's right");
        let said = unseal(dir.path(), &[]);
        assert!(
            said.code == Some(2) && said.stderr.contains("it belongs to user 65534"),
            "{}",
            said.stderr
        );
        assert_eq!(files(&dir.path().join("copy")).len(), 0);
        chown(dir.path().join("copy"), Some(0), None).expect("a root's right");
    }
    fs::set_permissions(dir.path().join("copy"), fs::Permissions::from_mode(0o755)).expect("ours");
    let text = unseal(dir.path(), &[]).done();
    for part in [
        " s: all of them as they were under the seal\n",
        "\ncopy is in the clear and no longer protected: anyone who can read its files reads every \
         record\n",
        "\nits directory was made for this user alone (mode 0700); db is sealed as before\n",
        "not copied, since no store needs them:\n  LOG",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
    assert!(files(&dir.path().join("db")) == before);
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    let copy = dir.path().join("copy");
    assert_eq!(mode(&copy), 0o700);
    for name in files(&copy).into_keys() {
        assert!(
            mode(&copy.join(&name)) == 0o600 && !name.contains("SEALSTONE") && name != "LOCK",
            "{name}"
        );
    }
    // once more: it is there already, and is compared
    let again = unseal(dir.path(), &["--json"]);
    let again: Value = serde_json::from_str(&again.done()).expect("JSON");
    assert_eq!(
        (&again["schema"], &again["stopped"], &again["unopened"]),
        (&1.into(), &false.into(), &Value::Null)
    );
    assert_eq!(again["kept_files"], again["files"]);
    assert_eq!(again["families"], serde_json::json!(FAMILIES));
    let log = ldb.run(&copy, &["get", "only in the sealed log"]).done();
    assert_eq!(log, "18\n");
    ldb.run(&copy, &["put", "changed", "by its user"]).done();
    unseal(dir.path(), &[]).fails_with(
        "sealstone: copy is not empty: it holds another store, or a changed copy of this one\n  \
         give a new or an empty directory; only an unfinished copy of the same store is resumed\n",
    );
    assert_eq!(ldb.run(&copy, &["get", "changed"]).done(), "by its user\n");
}

#[test]
fn a_full_disk_and_a_changed_store_leave_no_mixture() {
    let Some(ldb) = Ldb::find("a_full_disk_and_a_changed_store_leave_no_mixture") else { return };
    let (dir, key) = scene();
    sealed_store(&ldb, dir.path(), &key, 1500);
    add_table(dir.path(), &key, 0, LARGE);
    let mut kept = Vec::new();
    for round in 1..4 {
        let full = unseal_on_full_disk(dir.path());
        assert_eq!((full.code, full.stdout.as_str()), (Some(2), ""), "{}", full.stderr);
        assert!(full.stderr.starts_with("sealstone: cannot write copy/0"), "{}", full.stderr);
        assert!(full.stderr.contains(
            ".sst: File too large (os error 27)\n  the copy is unfinished, and RocksDB "
        ));
        let refused = ldb.run(&dir.path().join("copy"), &["scan"]);
        assert!(refused.stderr.contains(REFUSED) && refused.stdout.is_empty(), "{refused:?}");
        kept.push(
            files(&dir.path().join("copy"))
                .into_keys()
                .filter(|name| name.ends_with(".sst"))
                .count(),
        );
        // other tables, other logs, records gone and records new
        add_table(dir.path(), &key, round, 1000);
        if round == 2 {
            let db = env(&key).open_stored(&dir.path().join("db")).expect("it opens");
            db.compact(sealstone_rocksdb::Bottommost::Rewrite).expect("room");
            db.delete(b"only in the log", false).expect("room");
            db.close().expect("a clean end");
        }
    }
    assert!(kept[0] > 0, "{kept:?}");
    let last: Value = serde_json::from_str(&unseal(dir.path(), &["--json"]).done()).expect("JSON");
    assert!(last["unopened"].is_null(), "{last}");
    // RocksDB finds the same under the seal as ldb in the clear
    let db = env(&key).open_stored(&dir.path().join("db")).expect("it opens");
    let found = ldb.records(&dir.path().join("copy"), "default");
    let mut want = db.iterator(sealstone_rocksdb::Range::default());
    want.first();
    for (key, value) in &found {
        assert!(want.entry() == Some((&key[..], &value[..])), "another record than {key:?}");
        want.advance();
    }
    assert!(want.entry().is_none() && found.len() > 1500, "{} records", found.len());
    assert!(!found.iter().any(|(key, _)| key == b"only in the log"));
}

#[test]
fn a_store_whose_writer_was_killed_comes_out_as_rocksdb_recovers_it() {
    let Some(ldb) = Ldb::find("a_store_whose_writer_was_killed_comes_out_as_rocksdb_recovers_it")
    else {
        return;
    };
    let mut rng = SmallRng::seed_from_u64(41);
    let mut records = 0;
    for round in 0..kills() / 3 {
        let (dir, key) = scene();
        let db = dir.path().join("db");
        for step in 0..2 {
            let mut writer = std::process::Command::new(env!("CARGO_BIN_EXE_crash_writer"));
            writer.args([db.as_os_str(), dir.path().join("orders.key").as_os_str()]);
            writer.args(["aes-256", &step.to_string(), if round % 2 == 0 { "sync" } else { "" }]);
            run_and_kill(&mut writer, Duration::from_micros(rng.random_range(50_000..400_000)));
        }
        if !db.join("CURRENT").exists() {
            continue;
        }
        let before = files(&db);
        let done = unseal(dir.path(), &[]);
        assert_eq!(done.code, Some(0), "round {round}: {}{}", done.stdout, done.stderr);
        assert!(files(&db) == before);
        let found = ldb.records(&dir.path().join("copy"), "default");
        let recovered = env(&key).open_stored(&db).expect("it recovers");
        let mut want = recovered.iterator(sealstone_rocksdb::Range::default());
        want.first();
        for (key, value) in &found {
            assert!(
                want.entry() == Some((&key[..], &value[..])),
                "round {round}: another record than {key:?}"
            );
            want.advance();
        }
        assert!(want.entry().is_none(), "round {round}: records are missing");
        records += found.len();
    }
    assert!(records > 100, "{records} records");
}

#[test]
fn logs_in_another_directory_come_into_the_copy() {
    let Some(ldb) = Ldb::find("logs_in_another_directory_come_into_the_copy") else { return };
    let (dir, key) = scene();
    let logs = dir.path().join("logs");
    let text = format!("create_if_missing=true;wal_dir={}", logs.display());
    let options = DbOptions { text, ..DbOptions::default() };
    let db = env(&key).open(&dir.path().join("db"), &options).expect("a new store");
    db.put(b"in a log", b"17", true).expect("room");
    db.close().expect("a clean end");
    let before = files(&logs);
    assert!(before.keys().any(|name| name.ends_with(".log")));
    unseal(dir.path(), &[]).done();
    let copy = dir.path().join("copy");
    let mut settings = files(&copy).into_iter().filter(|(name, _)| name.starts_with("OPTIONS-"));
    let named = |(_, (text, _)): (String, (Vec<u8>, SystemTime))| {
        String::from_utf8(text).expect("text").contains("wal_dir")
    };
    assert!(!settings.any(named));
    assert_eq!(ldb.records(&copy, "default"), [(b"in a log".to_vec(), b"17".to_vec())]);
    assert!(files(&logs) == before, "the program that opens the copy leaves the sealed logs alone");
    // and without them there is no store
    let log = before.into_keys().find(|name| name.ends_with(".log")).expect("a log");
    fs::remove_file(logs.join(&log)).expect("ours");
    fs::remove_dir_all(&copy).expect("ours");
    let gone = unseal(dir.path(), &[]);
    assert_eq!(gone.code, Some(2), "{}", gone.stdout);
    assert!(gone.stderr.contains(&format!("logs/{log}: missing: ")), "{}", gone.stderr);
}

/// Returns the files of a store by what they are, one of each.
fn one_of_each(db: &Path) -> Vec<PathBuf> {
    let names: Vec<String> = files(db)
        .into_iter()
        .filter(|(_, (it, _))| it.len() > 8192)
        .map(|(name, _)| name)
        .collect();
    let of =
        |is: &dyn Fn(&str) -> bool| names.iter().find(|name| is(name)).map(|name| db.join(name));
    let found = [
        of(&|name| name.ends_with(".sst")),
        of(&|name| name.ends_with(".blob")),
        of(&|name| name.ends_with(".log")),
        of(&|name| name.starts_with("MANIFEST-")),
        of(&|name| name.starts_with("OPTIONS-")),
        of(&|name| name == "CURRENT"),
        of(&|name| name == "IDENTITY"),
    ];
    found.into_iter().map(|path| path.expect("the store has a file of each kind")).collect()
}

#[test]
fn a_tampered_store_is_never_unsealed() {
    let Some(ldb) = Ldb::find("a_tampered_store_is_never_unsealed") else { return };
    let (dir, key) = scene();
    sealed_store(&ldb, dir.path(), &key, 400);
    let db = dir.path().join("db");
    let copy = dir.path().join("copy");
    let refused = |what: &str, name: &str| {
        let said = unseal(dir.path(), &[]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{what}: {}", said.stderr);
        assert!(
            said.stderr.starts_with("sealstone: cannot read the store in db: "),
            "{what}: {}",
            said.stderr
        );
        assert!(said.stderr.contains(name), "{what}: want {name} in {}", said.stderr);
        if copy.join("CURRENT").exists() {
            let opened = ldb.run(&copy, &["scan"]);
            assert!(
                opened.stderr.contains(REFUSED) && opened.stdout.is_empty(),
                "{what}: {opened:?}"
            );
        }
    };
    for path in one_of_each(&db) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let good = fs::read(&path).expect("a file");
        let attacked = |what: &str, bytes: &[u8]| {
            fs::write(&path, bytes).expect("room");
            refused(&format!("{name} {what}"), &name);
        };
        // the first byte of the content, one in the middle, the last
        for at in [8192 + 9, 8192 + (good.len() - 8192) / 2, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            attacked(&format!("with byte {at} changed"), &bad);
        }
        // both copies of the header
        let mut bad = good.clone();
        bad[150] ^= 1;
        bad[4096 + 150] ^= 1;
        attacked("with a changed header", &bad);
        attacked("cut", &good[..good.len() - 20]);
        fs::remove_file(&path).expect("it goes");
        if name == "CURRENT" {
            unseal(dir.path(), &[]).fails_with(
                "sealstone: no RocksDB store in db: it has no file CURRENT\n  give the directory \
                 of a store\n",
            );
        } else {
            refused(&format!("{name} removed"), &name);
        }
        fs::write(&path, &good).expect("room");
    }
    // two tables in the place of each other
    let tables: Vec<PathBuf> = files(&db)
        .into_keys()
        .filter(|name| name.ends_with(".sst"))
        .map(|name| db.join(name))
        .collect();
    let [one, other] = [&tables[0], &tables[1]].map(|path| fs::read(path).expect("a table"));
    fs::write(&tables[0], &other).expect("room");
    fs::write(&tables[1], &one).expect("room");
    refused("tables exchanged", ".sst");
    fs::write(&tables[0], &one).expect("room");
    fs::write(&tables[1], &other).expect("room");
    // the catalogue is there twice: one is enough, and without a whole one nothing is certain
    let catalogues = ["SEALSTONE-CATALOGUE-1", "SEALSTONE-CATALOGUE-2"].map(|name| db.join(name));
    let whole = catalogues.each_ref().map(|path| fs::read(path).expect("a catalogue"));
    for (path, good) in catalogues.iter().zip(&whole) {
        let mut bad = good.clone();
        bad[40_960 + 20] ^= 1;
        fs::write(path, bad).expect("room");
    }
    refused("both catalogues changed", "SEALSTONE-CATALOGUE-");
    fs::write(&catalogues[0], &whole[0]).expect("room");
    assert!(!copy.join("CURRENT").exists() || !ldb.run(&copy, &["scan"]).stdout.contains(" : "));
    let done = unseal(dir.path(), &[]).done();
    assert!(done.contains("opens the store in copy: "), "{done}");
    fs::write(&catalogues[1], &whole[1]).expect("room");
    let db = env(&key).open_stored(&db).expect("it opens");
    assert_eq!(db.get(b"only in the log").expect("it is there").as_deref(), Some(&b"17"[..]));
    db.close().expect("a clean end");
}

#[test]
fn a_copy_that_was_changed_while_it_was_made_is_found() {
    let Some(ldb) = Ldb::find("a_copy_that_was_changed_while_it_was_made_is_found") else { return };
    let (dir, key) = scene();
    sealed_store(&ldb, dir.path(), &key, 400);
    add_table(dir.path(), &key, 0, LARGE);
    let copy = dir.path().join("copy");
    unseal(dir.path(), &[]).done();
    // back to the moment before its end, with a table that the device did not keep as it was
    // written
    let manifest = fs::read_to_string(copy.join("CURRENT")).expect("a name");
    let table = files(&copy).into_keys().find(|name| name.ends_with(".sst")).expect("a table");
    fs::remove_dir_all(&copy).expect("ours");
    unseal_on_full_disk(dir.path());
    let whole = files(&copy)
        .into_keys()
        .find(|name| name.ends_with(".sst"))
        .expect("a table smaller than the disk");
    let mut bytes = fs::read(copy.join(&whole)).expect("a table");
    bytes[100] ^= 1;
    fs::write(copy.join(&whole), bytes).expect("room");
    unseal(dir.path(), &[]).fails_with(&format!(
        "sealstone: copy/{whole} is not what was written there\n  the copy is unfinished, and \
         RocksDB refuses to open it; check the device, then run this again\n"
    ));
    unseal(dir.path(), &[]).done();
    assert_eq!(fs::read_to_string(copy.join("CURRENT")).expect("a name"), manifest);
    assert!(copy.join(table).exists());
}

#[test]
fn wrong_directories_and_keys_are_refused() {
    let Some(ldb) = Ldb::find("wrong_directories_and_keys_are_refused") else { return };
    let (dir, key) = scene();
    sealed_store(&ldb, dir.path(), &key, 200);
    let before = files(&dir.path().join("db"));
    KeyFile::create(dir.path().join("other.key"), "other").expect("a key file");
    KeyFile::create(dir.path().join("namesake.key"), "orders").expect("a key file");
    let at = |store: &str, key: &str, out: &str| {
        run(&mut sealstone(dir.path(), &["rest", "unseal", store, "--key", key, "--out", out]))
    };
    at("db", "other.key", "copy").fails_with(
        "sealstone: key orders version 1 not found in key file other.key (it holds key other)\n  \
         give the key file or server that holds key orders\n",
    );
    let namesake = at("db", "namesake.key", "copy");
    assert_eq!((namesake.code, namesake.stdout.as_str()), (Some(2), ""));
    let words = "key orders version 1 from key file namesake.key does not open the header";
    assert!(namesake.stderr.contains(words), "{}", namesake.stderr);
    at("db", "missing.key", "copy").fails_with(
        "sealstone: no key file at missing.key\n  name the right one, or put it back from its \
         copy: what is sealed under a key opens with no other\n",
    );
    at("nowhere", "orders.key", "copy").fails_with(
        "sealstone: cannot read directory nowhere: No such file or directory (os error 2)\n  \
         give the directory of a store\n",
    );
    assert!(!dir.path().join("copy").exists(), "nothing is made without the key");
    at("db", "orders.key", "db/copy").fails_with(
        "sealstone: cannot unseal db into db/copy, which is inside it\n  give a \
         directory elsewhere\n",
    );
    at("db", "orders.key", "db").fails_with(
        "sealstone: cannot unseal db into db, which is inside it\n  give a directory elsewhere\n",
    );
    at("db", "orders.key", "no/such/copy").fails_with(
        "sealstone: cannot make directory no/such/copy: No such file or directory (os error 2)\n  \
         first make no/such\n",
    );
    fs::create_dir(dir.path().join("photos")).expect("room");
    fs::write(dir.path().join("photos/cat.txt"), "cat").expect("room");
    at("db", "orders.key", "photos").fails_with(
        "sealstone: photos is not empty: it holds cat.txt\n  \
         give a new or an empty directory; only an unfinished copy of the same store is resumed\n",
    );
    at("photos", "orders.key", "copy").fails_with(
        "sealstone: no RocksDB store in photos: it has no file CURRENT\n  give the \
         directory of a store\n",
    );
    assert_eq!(fs::read_dir(dir.path().join("photos")).expect("a directory").count(), 1);
    let plain_one = dir.path().join("plain");
    PlainEnv::new()
        .open(&plain_one, &Default::default())
        .and_then(Db::close)
        .expect("a plain store");
    at("plain", "orders.key", "copy").fails_with(
        "sealstone: the store in plain is not sealed\n  RocksDB's own tools read it as it is\n",
    );
    at("db", "orders.key", "plain").fails_with(
        "sealstone: plain is not empty: it holds another store, or a changed copy of this one\n  \
         give a new or an empty directory; only an unfinished copy of the same store is resumed\n",
    );
    assert!(files(&dir.path().join("db")) == before && !dir.path().join("copy").exists());
    let open = env(&key).open_stored(&dir.path().join("db")).expect("it opens");
    at("db", "orders.key", "copy").fails_with(
        "sealstone: the store in db is in use by another process\n  \
         end that process first, or choose another directory\n",
    );
    open.close().expect("a clean end");
    // an unfinished copy of another store, and one that is being made
    add_table(dir.path(), &key, 0, LARGE);
    unseal_on_full_disk(dir.path());
    let (elsewhere, other) = scene();
    sealed_store(&ldb, elsewhere.path(), &other, 10);
    let [store, key] =
        ["db", "orders.key"].map(|name| elsewhere.path().join(name).display().to_string());
    let own = fs::canonicalize(dir.path().join("db")).expect("a directory");
    at(&store, &key, "copy").fails_with(&format!(
        "sealstone: copy is an unfinished copy of another store, from {}\n  give another \
         directory\n",
        own.display()
    ));
    let lock = File::open(dir.path().join("copy")).expect("a directory");
    lock.try_lock().expect("nobody has it");
    at("db", "orders.key", "copy")
        .fails_with("sealstone: another process is unsealing into copy\n  wait for it to end\n");
}
