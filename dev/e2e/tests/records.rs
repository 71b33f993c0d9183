//! `rest get`, `scan` and `dump`: they show the same as `ldb` before the store was sealed, and
//! write nothing. Also stores with requirements that this RocksDB lacks: a newer version, a
//! comparator, a merge operator.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::SystemTime;

use sealstone_cipher::{Backend, cipher};
use sealstone_e2e::ldb::{Ldb, line, pair};
use sealstone_e2e::sealed_by_hand::seal;
use sealstone_e2e::transcript::{Transcript, finish, plain, run, sealstone};
use sealstone_keys::KeyFile;
use sealstone_rocksdb::{SealedEnv, library};
use tempfile::TempDir;

/// Makes a store with a comparator (`c`) or a merge operator (`m`) of its own, through RocksDB's C
/// interface, and flushes it to a table (`f`).
const PROGRAM: &str = r#"
#include <rocksdb/c.h>
#include <stdlib.h>
#include <string.h>

static void end(void* state) { (void)state; }
static int backwards(void* state, const char* a, size_t a_bytes, const char* b, size_t b_bytes) {
  (void)state;
  const int order = memcmp(b, a, a_bytes < b_bytes ? a_bytes : b_bytes);
  return order != 0 ? order : a_bytes < b_bytes ? 1 : a_bytes > b_bytes ? -1 : 0;
}
static const char* order_name(void* state) { (void)state; return "example.Backwards"; }
static char* full(void* state, const char* key, size_t key_bytes, const char* old, size_t old_bytes,
                  const char* const* more, const size_t* more_bytes, int count, unsigned char* ok, size_t* bytes) {
  (void)state; (void)key; (void)key_bytes;
  size_t all = old_bytes;
  for (int i = 0; i < count; i++) all += more_bytes[i];
  char* merged = malloc(all + 1);
  char* at = merged;
  if (old != NULL) { memcpy(at, old, old_bytes); at += old_bytes; }
  for (int i = 0; i < count; i++) { memcpy(at, more[i], more_bytes[i]); at += more_bytes[i]; }
  *ok = 1;
  *bytes = all;
  return merged;
}
static char* part(void* state, const char* key, size_t key_bytes, const char* const* more, const size_t* more_bytes,
                  int count, unsigned char* ok, size_t* bytes) {
  (void)state; (void)key; (void)key_bytes; (void)more; (void)more_bytes; (void)count; (void)bytes;
  *ok = 0;
  return NULL;
}
static const char* merge_name(void* state) { (void)state; return "example.Append"; }

int main(int count, char** arguments) {
  if (count != 3) return 2;
  char* error = NULL;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  if (strchr(arguments[2], 'c'))
    rocksdb_options_set_comparator(options, rocksdb_comparator_create(NULL, end, backwards, order_name));
  if (strchr(arguments[2], 'm'))
    rocksdb_options_set_merge_operator(options, rocksdb_mergeoperator_create(NULL, end, full, part, NULL, merge_name));
  rocksdb_t* db = rocksdb_open(options, arguments[1], &error);
  if (error != NULL) return 1;
  rocksdb_writeoptions_t* writing = rocksdb_writeoptions_create();
  rocksdb_put(db, writing, "a", 1, "1", 1, &error);
  rocksdb_put(db, writing, "b", 1, "2", 1, &error);
  // what is merged before it is in a table is merged there
  if (strchr(arguments[2], 'f')) rocksdb_flush(db, rocksdb_flushoptions_create(), &error);
  if (strchr(arguments[2], 'm')) rocksdb_merge(db, writing, "b", 1, "more", 4, &error);
  if (strchr(arguments[2], 'f')) rocksdb_flush(db, rocksdb_flushoptions_create(), &error);
  rocksdb_close(db);
  return error != NULL;
}
"#;

/// Returns a directory with a key file `orders.key`.
fn scene() -> (TempDir, Arc<KeyFile>) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let key = KeyFile::create(dir.path().join("orders.key"), "orders").expect("a key file");
    (dir, Arc::new(key))
}

fn rest(dir: &Path, command: &str, more: &[&str]) -> Transcript {
    run(&mut sealstone(dir, &[&["rest", command, "db"], more, &["--key", "orders.key"]].concat()))
}

/// Returns every file in `dir`, and when it was written.
fn files(dir: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let paths =
        fs::read_dir(dir).expect("a directory").map(|entry| entry.expect("an entry").path());
    let facts = |path: &PathBuf| {
        (
            fs::read(path).expect("a file"),
            fs::metadata(path).and_then(|found| found.modified()).expect("a time"),
        )
    };
    paths.map(|path| (path.clone(), facts(&path))).collect()
}

#[test]
fn records_are_those_that_ldb_shows_and_nothing_is_written() {
    let Some(ldb) = Ldb::find("records_are_those_that_ldb_shows_and_nothing_is_written") else {
        return;
    };
    let (dir, key) = scene();
    let db = dir.path().join("db");
    let mut text = String::new();
    for n in 0..500_u32 {
        text += &line(format!("order {n:03}").as_bytes(), format!("value {n} 주문").as_bytes());
        text += &line(&n.to_be_bytes(), &[n as u8, 0xff, 0]);
    }
    text += &line(b"two\nlines", b"0x12");
    ldb.load(&db, "default", &["--create_if_missing", "--disable_wal"], &text);
    ldb.run(&db, &["create_column_family", "items"]).done();
    ldb.load(&db, "items", &[], &line(b"item", b"17"));
    let before = ldb.records(&db, "default");
    rest(dir.path(), "reseal", &["--from-plain", "--yes"]).done();
    // some of it is only in the log
    let env = SealedEnv::new(key.clone(), cipher("aes-256").expect("known"), Backend::auto());
    let opened = env.open_stored(&db).expect("it opens");
    opened.put(b"zz in the log", b"new", false).expect("room");
    opened.close().expect("a clean end");
    let sealed = files(&db);

    let dumped = rest(dir.path(), "dump", &[]);
    assert_eq!(dumped.stderr, "this was column family default; others: items\n");
    let dumped = dumped.done();
    let records: Vec<_> =
        dumped.lines().map(|line| pair(line, " ==> ").expect("a record")).collect();
    assert_eq!(records[..before.len()], before);
    assert_eq!(records[before.len()..], [(b"zz in the log".to_vec(), b"new".to_vec())]);
    // ldb loads the dump
    ldb.load(&dir.path().join("loaded"), "default", &["--create_if_missing"], &dumped);
    assert_eq!(ldb.records(&dir.path().join("loaded"), "default"), records);

    let get = |record: &str, more: &[&str]| rest(dir.path(), "get", &[&[record], more].concat());
    assert_eq!(get("order 017", &[]).done(), "value 17 주문\n");
    assert_eq!(get("0x00000101", &[]).done(), "0x01FF00\n");
    assert_eq!(get("order 017", &["--hex"]).done(), "0x76616C756520313720ECA3BCEBACB8\n");
    assert_eq!(
        get("0x74776F0A6C696E6573", &[]).done(),
        "0x30783132\n",
        "text that looks like digits is shown in them"
    );
    assert_eq!(get("item", &["--family", "items"]).done(), "17\n");
    assert_eq!(get("zz in the log", &[]).done(), "new\n");
    let none = get("item", &[]);
    let said = (none.code, none.stdout.as_str(), none.stderr.as_str());
    assert_eq!(said, (Some(1), "", "no such record in column family default\n"));

    let scan = |more: &[&str]| rest(dir.path(), "scan", more).done();
    assert_eq!(
        scan(&["--prefix", "order 01", "--limit", "2"]),
        "order 010 ==> value 10 주문\norder 011 ==> value 11 주문\n"
    );
    assert_eq!(scan(&["--prefix", "order 49"]).lines().count(), 10);
    assert_eq!(scan(&["--from", "order 498", "--to", "order 9"]).lines().count(), 2);
    assert_eq!(scan(&["--from", "order 498", "--prefix", "order"]).lines().count(), 2);
    assert_eq!(scan(&["--prefix", "0x000001"]).lines().count(), 244);
    assert_eq!(scan(&["--prefix", "none"]), "");
    assert_eq!(scan(&["--limit", "0"]), "");
    assert_eq!(scan(&["--family", "items", "--hex"]), "0x6974656D ==> 0x3137\n");
    assert_eq!(scan(&[]).lines().count(), records.len());
    assert!(files(&db) == sealed, "nothing is written");

    get("x", &["--family", "parts"])
        .fails_with("sealstone: no column family parts in the store\n  it has: default, items\n");
    get("0x1", &[]).fails_with(
        "sealstone: invalid value '0x1' for '<RECORD>': expected text, or 0x and an even number of \
         hexadecimal digits\n  For more information, try '--help'.\n",
    );
    let opened = env.open_stored(&db).expect("it opens");
    get("order 017", &[]).fails_with(
        "sealstone: the store in db is in use by another process\n  \
         end that process first, or choose another directory\n",
    );
    opened.put(b"again", b"18", true).expect("room");
    opened.close().expect("a clean end");
    // a log that is gone would not be missed by RocksDB, which reads the rest
    let log =
        files(&db).into_keys().find(|path| path.extension().is_some_and(|ending| ending == "log"));
    fs::remove_file(log.expect("the store has a log")).expect("ours");
    let gone = get("order 017", &[]);
    assert_eq!((gone.code, gone.stdout.as_str()), (Some(2), ""));
    assert!(
        gone.stderr.contains(".log: missing: the catalogue of its directory lists it"),
        "{}",
        gone.stderr
    );
}

#[test]
fn a_plain_store_is_sealed_only_with_leave() {
    let Some(ldb) = Ldb::find("a_plain_store_is_sealed_only_with_leave") else { return };
    let (dir, _key) = scene();
    let db = dir.path().join("db");
    ldb.load(&db, "default", &["--create_if_missing", "--disable_wal"], &line(b"order 1", b"17"));
    let before = files(&db);
    let refused = rest(dir.path(), "reseal", &["--from-plain"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    for part in [
        "sealing the store in db (",
        " in the clear) under key orders, key file orders.key:\n",
        "anyone who has the key can read it",
        "the old blocks stay on the disk",
        "back up the plain store first",
        "\nsealstone: nothing was changed: this has to be confirmed, and there is no terminal to \
         ask on\n  add --yes\n",
    ] {
        assert!(refused.stderr.contains(part), "{part:?} is not in:\n{}", refused.stderr);
    }
    // on a terminal it requests confirmation
    let binary = sealstone_e2e::binary::sealstone().display().to_string();
    let on_terminal = |answer: &str| {
        let command = format!("'{binary}' rest reseal db --key orders.key --from-plain");
        let mut script = plain(Path::new("script"), dir.path(), &["-qec", &command, "/dev/null"]);
        let mut child = script
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        child.stdin.as_mut().expect("piped").write_all(answer.as_bytes()).expect("it reads");
        finish(child)
    };
    let said = on_terminal("n\n");
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert!(
        said.stdout.contains("seal it? [y/N] ") && said.stdout.contains("nothing was changed"),
        "{}",
        said.stdout
    );
    assert!(files(&db) == before);
    let said = on_terminal("y\n");
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert!(
        said.stdout.contains("a backup of the store, and of its key, is due: "),
        "{}",
        said.stdout
    );
    run(&mut sealstone(dir.path(), &["rest", "status", "db"])).done();
    // a sealed store needs no confirmation
    rest(dir.path(), "reseal", &["--from-plain"]).done();
}

/// Makes the plain store `plain` with parts of its own, and seals it as `db`.
fn store_with(dir: &Path, key: &KeyFile, parts: &str) {
    fs::write(dir.join("parts.c"), PROGRAM).expect("room");
    let compiled =
        Command::new("cc").args(["parts.c", "-o", "parts", "-lrocksdb"]).current_dir(dir).output();
    let compiled = compiled.expect("a compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    run(&mut plain(&dir.join("parts"), dir, &["plain", parts])).done();
    seal(&dir.join("plain"), &dir.join("db"), key);
}

/// Everything that needs neither RocksDB nor parts of the program that made the store.
fn works_without_parts(dir: &Path, key: &KeyFile) {
    run(&mut sealstone(dir, &["rest", "status", "db"])).done();
    rest(dir, "verify", &[]).done();
    key.rotate().expect("a new version");
    rest(dir, "rotate", &[]).done();
    let before = files(&dir.join("plain"));
    rest(dir, "unseal", &["--out", "copy"]).done();
    for (path, (content, _)) in files(&dir.join("copy")) {
        let name = path.file_name().expect("a name");
        assert!(before[&dir.join("plain").join(name)].0 == content, "{} differs", path.display());
    }
}

#[test]
fn a_comparator_of_another_program_is_named() {
    if Ldb::find("a_comparator_of_another_program_is_named").is_none() {
        return;
    }
    let (dir, key) = scene();
    store_with(dir.path(), &key, "c");
    let reading = "sealstone: cannot open the store in db: column family default needs the \
                   comparator example.Backwards, which is part of the program that made the \
                   store\n  `sealstone rest unseal` needs no such part: unseal the store, and read \
                   it with that program\n";
    rest(dir.path(), "get", &["a"]).fails_with(reading);
    rest(dir.path(), "scan", &[]).fails_with(reading);
    rest(dir.path(), "dump", &[]).fails_with(reading);
    rest(dir.path(), "reseal", &["--cipher", "aria-256"]).fails_with(
        "sealstone: cannot open the store in db: column family default needs the comparator \
         example.Backwards, which is part of the program that made the store\n  that program can \
         reseal it while it has it open: docs/guide/reseal.md; `sealstone rest unseal`, `verify` \
         and `rotate` need no such part\n",
    );
    works_without_parts(dir.path(), &key);
    let plain = run(&mut sealstone(
        dir.path(),
        &["rest", "reseal", "plain", "--key", "orders.key", "--from-plain", "--yes"],
    ));
    assert_eq!((plain.code, plain.stdout.as_str()), (Some(2), ""));
    assert!(
        plain.stderr.ends_with(
            "sealstone: cannot open the store in plain: column family default needs the comparator \
             example.Backwards, which is part of the program that made the store\n  that program \
             can seal it, through the library: docs/guide/reseal.md\n"
        ),
        "{}",
        plain.stderr
    );
    // the copy is a store for the program that has the comparator
    run(&mut parts_program(dir.path(), &["copy", "c"])).done();
    let copied = rest(dir.path(), "unseal", &["--out", "second"]).done();
    assert!(copied.contains(
        "does not open it here: cannot open the store in second: column family default needs "
    ));
}

/// Returns the program of [`PROGRAM`].
fn parts_program(dir: &Path, arguments: &[&str]) -> Command {
    plain(&dir.join("parts"), dir, arguments)
}

#[test]
fn a_merge_operator_of_another_program_is_named() {
    if Ldb::find("a_merge_operator_of_another_program_is_named").is_none() {
        return;
    }
    let (dir, key) = scene();
    // the operand to merge is in a table, where RocksDB meets it without an operator and, with
    // assertions, aborts
    store_with(dir.path(), &key, "mf");
    let reading = "sealstone: cannot open the store in db: column family default needs the merge \
                   operator example.Append, which is part of the program that made the store\n  \
                   `sealstone rest unseal` needs no such part: unseal the store, and read it with \
                   that program\n";
    rest(dir.path(), "get", &["a"]).fails_with(reading);
    rest(dir.path(), "get", &["b"]).fails_with(reading);
    rest(dir.path(), "scan", &[]).fails_with(reading);
    let reseal = rest(dir.path(), "reseal", &["--cipher", "aria-256"]);
    let words = "cannot open the store in db: column family default needs the merge operator \
                 example.Append, which ";
    assert!(reseal.stderr.contains(words) && reseal.code == Some(2), "{}", reseal.stderr);
    works_without_parts(dir.path(), &key);
}

#[test]
fn a_newer_rocksdb_is_named() {
    if Ldb::find("a_newer_rocksdb_is_named").is_none() {
        return;
    }
    let have = library::version();
    // a table in a format unknown to this version, and settings of a newer version
    let (dir, key) = scene();
    store_with(dir.path(), &key, "f");
    fs::remove_dir_all(dir.path().join("db")).expect("ours");
    for (path, (mut content, _)) in files(&dir.path().join("plain")) {
        let name = path.to_string_lossy();
        if name.contains("/OPTIONS-") {
            let text = String::from_utf8(content).expect("text");
            let newer = text.replace(&format!("rocksdb_version={have}"), "rocksdb_version=99.1.0");
            assert!(newer != text);
            fs::write(&path, newer).expect("room");
        } else if name.ends_with(".sst") {
            // a table ends with the version of its format and a magic number
            let version = content.len() - 12;
            content[version] = 99;
            fs::write(&path, content).expect("room");
        }
    }
    seal(&dir.path().join("plain"), &dir.path().join("db"), &*key);
    let said = rest(dir.path(), "get", &["a"]);
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""));
    let words = format!(
        "sealstone: cannot open the store in db: it was written by a newer RocksDB (RocksDB \
         99.1.0), and this program has RocksDB {have}: "
    );
    assert!(said.stderr.starts_with(&words), "{}", said.stderr);
    assert!(
        said.stderr.contains("\n  use a sealstone built with that RocksDB or a newer one; "),
        "{}",
        said.stderr
    );
    let reseal = rest(dir.path(), "reseal", &["--cipher", "aria-256"]);
    assert!(reseal.stderr.starts_with(&words), "{}", reseal.stderr);
    works_without_parts(dir.path(), &key);

    // a record in the MANIFEST unknown to this version
    let (dir, key) = scene();
    store_with(dir.path(), &key, "");
    fs::remove_dir_all(dir.path().join("db")).expect("ours");
    let manifest = files(&dir.path().join("plain")).into_keys();
    let manifest = manifest
        .into_iter()
        .find(|path| path.to_string_lossy().contains("/MANIFEST-"))
        .expect("there is one");
    let mut bytes = fs::read(&manifest).expect("a file");
    // type, a tag of 7000 as two bytes of seven bits each, and one for what it might mean
    let record = [1, 0xd8, 0x36, 1];
    let checksum = crc32c::crc32c(&record).rotate_right(15).wrapping_add(0xa282_ead8);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes.extend_from_slice(&[3, 0]);
    bytes.extend_from_slice(&record);
    fs::write(&manifest, bytes).expect("room");
    seal(&dir.path().join("plain"), &dir.path().join("db"), &*key);
    let name = manifest.file_name().expect("a name").to_string_lossy();
    let words = "written by a newer RocksDB: it holds a record field with tag 7000, which this \
                 program does not know";
    for command in [&["get", "a"][..], &["scan"], &["unseal", "--out", "copy"]] {
        let said = rest(dir.path(), command[0], &command[1..]);
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{command:?}");
        let want = format!(
            "sealstone: cannot read the store in db: db/{name}: {words}\n  use a newer sealstone\n"
        );
        assert_eq!(said.stderr, want);
    }
    let reseal = rest(dir.path(), "reseal", &["--cipher", "aria-256"]);
    let want = format!(
        "it was written by a newer RocksDB ({name} holds a record field with tag 7000), and this \
         program"
    );
    assert!(reseal.stderr.contains(&want), "{}", reseal.stderr);
    run(&mut sealstone(dir.path(), &["rest", "status", "db"])).done();
    rest(dir.path(), "rotate", &[]).done();
    // the pages are whole, but the list of required files is unknown
    let verified = rest(dir.path(), "verify", &[]);
    assert_eq!(verified.code, Some(1));
    assert!(verified.stdout.contains(words), "{}", verified.stdout);
}
