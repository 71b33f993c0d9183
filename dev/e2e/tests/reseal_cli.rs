//! `sealstone rest reseal`: its output and files, and the exact text of its errors.
//!
//! Not here: resealing a database in use (`adapters/rocksdb/tests/reseal.rs`), kills
//! (`reseal_crash.rs`).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use sealstone_cipher::Backend;
use sealstone_e2e::transcript::{Transcript, finish, plain, run, sealstone};
use sealstone_keys::KeyFile;
use sealstone_rocksdb::{Bottommost, Db, DbOptions, PlainEnv, SealedEnv};
use serde_json::Value;
use tempfile::TempDir;

const MARKER: &str = "PLANTED-MARKER-q7Zx2";
const ENTRIES: u32 = 20_000;

/// Returns a directory with a key file `orders.key`.
fn scene() -> (TempDir, Arc<KeyFile>) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let key = KeyFile::create(dir.path().join("orders.key"), "orders").expect("a key file");
    (dir, Arc::new(key))
}

fn env(key: &Arc<KeyFile>, cipher: &str) -> SealedEnv {
    SealedEnv::new(key.clone(), sealstone_cipher::cipher(cipher).expect("known"), Backend::auto())
}

fn value(n: u32) -> String {
    format!("{MARKER} {n} {}", "x".repeat(250))
}

fn fill(db: &Db) {
    for n in 0..ENTRIES {
        db.put(format!("order{n:08}").as_bytes(), value(n).as_bytes(), false).expect("room");
    }
    db.flush().expect("room");
}

fn check(db: &Db) {
    for n in 0..ENTRIES {
        let found = db.get(format!("order{n:08}").as_bytes()).expect("a readable store");
        assert_eq!(found.as_deref(), Some(value(n).as_bytes()), "order {n}");
    }
}

/// Makes a store of about 6 MB under AES in several tables, or with `table_bytes` as large as that
/// in one, closed.
fn sealed_store(dir: &Path, key: &Arc<KeyFile>, table_bytes: u64) {
    let defaults = DbOptions::default();
    let text =
        format!("{};compression=kNoCompression;target_file_size_base={table_bytes}", defaults.text);
    let db = env(key, "aes-256").open(dir, &DbOptions { text, ..defaults }).expect("a new store");
    fill(&db);
    db.compact(Bottommost::Rewrite).expect("room");
    db.close().expect("a clean end");
}

/// Makes a store of the same content in the clear.
fn plain_store(dir: &Path) {
    let options = DbOptions {
        text: "create_if_missing=true;compression=kNoCompression".into(),
        ..DbOptions::default()
    };
    let db = PlainEnv::new().open(dir, &options).expect("a plain store");
    fill(&db);
    db.close().expect("a clean end");
    // as RocksDB leaves it by default
    fs::write(dir.join("LOG"), format!("opened {MARKER}")).expect("room");
}

fn reseal(dir: &Path, more: &[&str]) -> Transcript {
    run(&mut sealstone(dir, &[&["rest", "reseal", "db", "--key", "orders.key"], more].concat()))
}

fn json(text: &str) -> Value {
    let value: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in:\n{text}"));
    assert_eq!(value["schema"], 1, "{text}");
    value
}

fn shows_marker(dir: &Path) -> bool {
    let files =
        fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    let mut files = files.filter(|path| path.is_file());
    files.any(|path| {
        memchr::memmem::find(&fs::read(path).expect("a file"), MARKER.as_bytes()).is_some()
    })
}

#[test]
fn a_sealed_store_changes_its_cipher() {
    let (dir, key) = scene();
    sealed_store(&dir.path().join("db"), &key, 1 << 20);
    let before = json(&run(&mut sealstone(dir.path(), &["rest", "status", "db", "--json"])).done());
    assert_eq!(before["totals"][0]["share_percent"], 100.0);
    assert_eq!(before["not_sealed_percent"], 0.0);

    let text = reseal(dir.path(), &["--cipher", "aria-256"]).done();
    assert!(
        text.contains(" rewritten in ")
            && text.contains(" s under aria-256 and key orders version 1\n"),
        "{text}"
    );
    assert!(text.ends_with("no file of the store remains under anything else\n"), "{text}");
    let status = run(&mut sealstone(dir.path(), &["rest", "status", "db"])).done();
    let rows: Vec<&str> = status.lines().collect();
    assert!(rows[0].starts_with("CIPHER    FILES  ON DISK    SHARE  VERSION  KEY"), "{status}");
    assert!(
        rows[1].starts_with("aria-256  ") && rows[1].contains("  100.0 %  ") && rows[2].is_empty(),
        "{status}"
    );
    run(&mut sealstone(dir.path(), &["rest", "verify", "db", "--key", "orders.key"])).done();

    // once more, with nothing to do and no cipher named: the cipher stays
    let again = json(&reseal(dir.path(), &["--json"]).done());
    assert_eq!(
        (&again["cipher"], &again["files"], &again["stopped"]),
        (&"aria-256".into(), &0.into(), &false.into())
    );
    assert_eq!((&again["key_id"], &again["key_version"]), (&"orders".into(), &1.into()));
    assert!(again["left"].as_array().expect("a list").is_empty(), "{again}");
    let db = env(&key, "aria-256").open_stored(&dir.path().join("db")).expect("it opens");
    check(&db);
}

/// Returns the beginning of a sealed file.
fn sealed_start() -> Vec<u8> {
    let (dir, key) = scene();
    sealed_store(&dir.path().join("db"), &key, 1 << 16);
    fs::read(dir.path().join("db/CURRENT")).expect("a control file")
}

#[test]
fn a_plain_store_is_sealed() {
    let (dir, key) = scene();
    let store = dir.path().join("db");
    plain_store(&store);
    fs::write(store.join("notes.txt"), "by hand").expect("room");
    assert!(shows_marker(&store));
    let status = run(&mut sealstone(dir.path(), &["rest", "status", "db"]));
    assert!(
        status.stdout.contains("files are not sealed:\n") && status.stdout.contains("  100.0 %  "),
        "{}",
        status.stdout
    );
    assert_eq!(status.code, Some(1));
    let nothing = run(&mut sealstone(dir.path(), &["rest", "rotate", "db", "--key", "orders.key"]));
    assert_eq!(
        (nothing.code, nothing.stdout.as_str()),
        (Some(1), "nothing was rewrapped: no file is sealed\n")
    );
    // damage is not plain text
    fs::write(store.join("torn.sst"), &sealed_start()[..40]).expect("room");
    let torn = json(&run(&mut sealstone(dir.path(), &["rest", "status", "db", "--json"])).stdout);
    assert_eq!(torn["unreadable"], serde_json::json!(["torn.sst"]), "{torn}");
    assert!(!torn["not_sealed"].as_array().expect("a list").contains(&"torn.sst".into()), "{torn}");
    fs::remove_file(store.join("torn.sst")).expect("it goes");
    reseal(dir.path(), &[])
        .fails_with("sealstone: the store in db is not sealed\n  to seal it, add --from-plain\n");
    assert!(env(&key, "aes-256").open_stored(&store).is_err(), "nothing was sealed by that");

    let text = reseal(dir.path(), &["--from-plain", "--yes"]).done();
    assert!(
        text.contains(
            " s under aes-256 and key orders version 1\nno file of the store remains under \
             anything else\n\
             a backup of the store, and of its key, is due: "
        ),
        "{text}"
    );
    assert!(text.ends_with(
        "\nnot part of the store:\n  notes.txt: in the clear, not part of the store, left as it \
         is\n"
    ));
    assert!(!shows_marker(&store));
    fs::remove_file(store.join("notes.txt")).expect("ours");
    run(&mut sealstone(dir.path(), &["rest", "verify", "db", "--key", "orders.key"])).done();
    let db = env(&key, "aes-256").open_stored(&store).expect("it opens");
    check(&db);
}

#[test]
fn ctrl_c_stops_it_and_says_how_to_resume() {
    let (dir, key) = scene();
    sealed_store(&dir.path().join("db"), &key, 256 << 10);
    let arguments =
        ["rest", "reseal", "db", "--key", "orders.key", "--cipher", "aria-256", "--rate", "200kB"];
    let child = sealstone(dir.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let id = child.id();
    let waiting = thread::spawn(move || finish(child));
    thread::sleep(Duration::from_secs(4));
    assert!(!waiting.is_finished(), "six megabytes take longer than that");
    assert!(Command::new("kill").args(["-INT", &id.to_string()]).status().expect("kill").success());
    let transcript = waiting.join().expect("it ends");
    assert_eq!(
        transcript.stderr,
        "\nstopping after the current file; Ctrl-C again stops at once, and nothing is lost either \
         way\n"
    );
    assert_eq!(transcript.code, Some(130), "{}", transcript.stdout);
    assert!(transcript.stdout.contains(".sst: not resealed yet\n"), "{}", transcript.stdout);
    let last = transcript.stdout.lines().last().expect("a line");
    assert_eq!(last, "to resume: sealstone rest reseal db --key orders.key --cipher aria-256");
    let status = json(&run(&mut sealstone(dir.path(), &["rest", "status", "db", "--json"])).done());
    let shares: Vec<f64> = status["totals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|total| total["share_percent"].as_f64().unwrap())
        .collect();
    assert!(shares.len() == 2 && shares.iter().all(|share| *share > 0.0), "{status}");
    assert!((shares.iter().sum::<f64>() - 100.0).abs() < 0.01, "{status}");

    let words: Vec<&str> = last.split(' ').skip(3).collect();
    let text = run(&mut sealstone(dir.path(), &words)).done();
    assert!(text.ends_with("no file of the store remains under anything else\n"), "{text}");
    check(&env(&key, "aria-256").open_stored(&dir.path().join("db")).expect("it opens"));
}

#[test]
fn wrong_words_and_wrong_directories_are_refused() {
    let (dir, key) = scene();
    sealed_store(&dir.path().join("db"), &key, 64 << 20);
    let transcript = reseal(dir.path(), &["--cipher", "aria256"]);
    assert!(
        transcript.stderr.starts_with(
            "sealstone: unknown cipher \"aria256\"; did you mean aria-256?\n  known ciphers: "
        ),
        "{}",
        transcript.stderr
    );
    assert_eq!((transcript.code, transcript.stdout.as_str()), (Some(2), ""));
    reseal(dir.path(), &["--rate", "0"]).fails_with(
        "sealstone: resealing at 0 bytes a second never ends\n  leave --rate out to reseal as fast \
         as possible\n",
    );
    reseal(dir.path(), &["--rate", "fast"]).fails_with(
        "sealstone: invalid value 'fast' for '--rate <SIZE>': \"fast\" is not a size; write bytes, \
         or a number with kB, MB, GB, KiB, MiB, GiB\n  For more information, try '--help'.\n",
    );
    let at = |directory: &str, key: &str| {
        run(&mut sealstone(
            dir.path(),
            &["rest", "reseal", directory, "--key", key, "--cipher", "aria-256"],
        ))
    };
    at("db", "missing.key").fails_with(
        "sealstone: no key file at missing.key\n  name the right one, or put it back from its \
         copy: what is sealed under a key opens with no other\n",
    );
    at("nowhere", "orders.key").fails_with(
        "sealstone: cannot read directory nowhere: No such file or directory (os error 2)\n  \
         give the directory of a store\n",
    );
    fs::create_dir(dir.path().join("photos")).expect("room");
    fs::write(dir.path().join("photos/cat.txt"), "cat").expect("room");
    at("photos", "orders.key").fails_with(
        "sealstone: no RocksDB store in photos: it has no file CURRENT\n  give the \
         directory of a store\n",
    );
    assert_eq!(fs::read_dir(dir.path().join("photos")).expect("a directory").count(), 1);
}

#[test]
fn a_wrong_key_changes_nothing() {
    let (dir, key) = scene();
    let store = dir.path().join("db");
    sealed_store(&store, &key, 64 << 20);
    let content = || {
        let paths =
            fs::read_dir(&store).expect("a directory").map(|entry| entry.expect("an entry").path());
        let mut files: Vec<_> =
            paths.map(|path| (path.clone(), fs::read(path).expect("a file"))).collect();
        files.sort();
        files
    };
    let before = content();
    KeyFile::create(dir.path().join("other.key"), "other").expect("a key file");
    KeyFile::create(dir.path().join("namesake.key"), "orders").expect("a key file");
    let with = |key: &str| {
        run(&mut sealstone(
            dir.path(),
            &["rest", "reseal", "db", "--key", key, "--cipher", "aria-256"],
        ))
    };
    with("other.key").fails_with(
        "sealstone: key orders version 1 not found in key file other.key (it holds key other)\n  \
         give the key file or server that holds key orders\n",
    );
    let namesake = with("namesake.key");
    assert!(
        namesake.stderr.starts_with("sealstone: cannot open the store in db: "),
        "{}",
        namesake.stderr
    );
    assert!(
        namesake
            .stderr
            .contains("key orders version 1 from key file namesake.key does not open the header"),
        "{}",
        namesake.stderr
    );
    assert_eq!((namesake.code, namesake.stdout.as_str()), (Some(2), ""));
    assert!(before == content(), "nothing is written without the key");
}

#[test]
fn a_store_in_use_and_a_plain_file_among_sealed_ones_are_refused() {
    let (dir, key) = scene();
    let store = dir.path().join("db");
    sealed_store(&store, &key, 1 << 20);
    let db = env(&key, "aes-256").open_stored(&store).expect("it opens");
    reseal(dir.path(), &["--cipher", "aria-256"]).fails_with(
        "sealstone: the store in db is in use by another process\n  \
         end that process first, or choose another directory\n",
    );
    check(&db);
    db.close().expect("a clean end");
    let mut tables: Vec<_> = fs::read_dir(&store)
        .expect("a directory")
        .map(|entry| entry.expect("one").path())
        .collect();
    tables.retain(|path| path.extension().is_some_and(|ending| ending == "sst"));
    tables.sort();
    let good = fs::read(&tables[0]).expect("a table");
    fs::write(&tables[0], "planted").expect("room");
    let name = tables[0].file_name().expect("a name").to_string_lossy().into_owned();
    reseal(dir.path(), &["--cipher", "aria-256"]).fails_with(&format!(
        "sealstone: 1 file of the store in db is not sealed: {name}\n  if sealing it was \
         interrupted, add --from-plain; if not, somebody put it there: restore a backup\n"
    ));
    fs::write(&tables[0], good).expect("room");
    reseal(dir.path(), &["--cipher", "aria-256"]).done();
}

#[test]
fn a_full_disk_loses_nothing() {
    let (dir, key) = scene();
    sealed_store(&dir.path().join("db"), &key, 64 << 20);
    // a limit on the size of files simulates a disk that fills up
    let binary = sealstone_e2e::binary::sealstone().display();
    let script = format!(
        "trap '' XFSZ; ulimit -f 2000; exec '{binary}' rest reseal db --key orders.key --cipher \
         aria-256"
    );
    let transcript = run(&mut plain(Path::new("bash"), dir.path(), &["-c", &script]));
    assert_eq!(
        (transcript.code, transcript.stdout.as_str()),
        (Some(2), ""),
        "{}",
        transcript.stderr
    );
    assert!(
        transcript.stderr.starts_with("sealstone: cannot reseal the store in db: "),
        "{}",
        transcript.stderr
    );
    assert!(transcript.stderr.contains("File too large"), "{}", transcript.stderr);
    let text = reseal(dir.path(), &["--cipher", "aria-256"]).done();
    assert!(text.ends_with("no file of the store remains under anything else\n"), "{text}");
    check(&env(&key, "aria-256").open_stored(&dir.path().join("db")).expect("it opens"));
}
