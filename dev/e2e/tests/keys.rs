//! `sealstone keys` and `sealstone rest rotate` as a DBA meets them: their output, their files, and
//! the exact text of every error.
//!
//! Not here: kills (`rotate.rs`), key servers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::{Backend, cipher};
use sealstone_e2e::terminal::{maker, on_terminal};
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_keys::KeyFile;
use sealstone_rocksdb::{DbOptions, SealedEnv};
use serde_json::Value;
use tempfile::TempDir;

fn empty() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn keys(dir: &Path, arguments: &[&str]) -> Transcript {
    run(&mut sealstone(dir, arguments))
}

/// Asserts that `arguments` in `dir` fail with exit code 2, nothing on stdout, and the text `want`
/// on stderr.
fn fails(dir: &Path, arguments: &[&str], want: &str) {
    println!("sealstone {}", arguments.join(" "));
    keys(dir, arguments).fails_with(want);
}

/// Parses what a command printed as JSON, and asserts its schema version.
fn json(text: &str) -> Value {
    let value: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in:\n{text}"));
    assert_eq!(value["schema"], 1, "{text}");
    value
}

fn write_private(path: &Path, content: &str) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn versions_of(value: &Value) -> Vec<u64> {
    value["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| version["version"].as_u64().unwrap())
        .collect()
}

/// Makes a small sealed store in `dir/db` under the key in `dir/a.key`, which has no passphrase.
fn store(dir: &Path) {
    let key = KeyFile::open(dir.join("a.key")).unwrap();
    let env = SealedEnv::new(Arc::new(key), cipher("aria-256").unwrap(), Backend::auto());
    let db = env.open(&dir.join("db"), &DbOptions::default()).unwrap();
    db.put(b"17", b"seventeen", true).unwrap();
    db.flush().unwrap();
    db.close().unwrap();
}

#[test]
fn a_key_is_made_rotated_and_retired_with_its_store() {
    let dir = empty();
    let dir = dir.path();
    keys(dir, &["keys", "new", "a.key", "--id", "orders"]).done();
    store(dir);
    let rotated = keys(dir, &["keys", "rotate", "a.key"]);
    assert_eq!(
        rotated.stderr,
        "key orders version 2 seals new files from now on; keep a new copy of a.key\n\
         rewrap existing files with: sealstone rest rotate DIR --key a.key\n"
    );
    assert!(rotated.done().starts_with("KEY     VERSION  MADE\norders        1  20"));

    let status = json(&keys(dir, &["rest", "status", "db", "--json"]).done());
    let files = status["totals"][0]["files"].as_u64().unwrap();
    let refused = keys(dir, &["keys", "retire", "a.key", "--version", "1", "--store", "db"]);
    let (first, second) = refused.stderr.split_once('\n').unwrap();
    let start = format!(
        "sealstone: key orders version 1 was not retired: {files} files are still under it in db, \
         such as "
    );
    assert!(
        first.starts_with(&start) && dir.join("db").join(&first[start.len()..]).is_file(),
        "{first}"
    );
    assert_eq!(
        second,
        "  rewrap them under the newest version first, with: sealstone rest rotate db --key a.key\n"
    );
    // an answer that a monitor can use, where an error is 2
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));

    let done = keys(dir, &["rest", "rotate", "db", "--key", "a.key"]).done();
    let start =
        format!("{files} files are under key orders version 2, {files} of them rewrapped in ");
    assert!(done.starts_with(&start) && done.ends_with(" ms\n"), "{done}");
    let again = json(&keys(dir, &["rest", "rotate", "db", "--key", "a.key", "--json"]).done());
    assert_eq!((&again["rewrapped"], &again["key_version"]), (&0.into(), &2.into()));

    let retired = keys(dir, &["keys", "retire", "a.key", "--version", "1", "--store", "db"]);
    let rest = "not looked at: files with sealed columns (--field), tables (--table), backups\n";
    let said = format!(
        "key orders version 1 is retired; none of {files} sealed files is under it\n{rest}"
    );
    assert_eq!(retired.stderr, said);
    retired.done();
    let shown = json(&keys(dir, &["keys", "show", "a.key", "--json"]).done());
    assert_eq!((versions_of(&shown), &shown["protected"]), (vec![2], &false.into()));
    let whole = keys(dir, &["rest", "verify", "db", "--key", "a.key"]).done();
    assert!(whole.ends_with(": all of it is sealed and whole\n"), "{whole}");
}

/// A table that was moved out of its store is under the version that it names, and comes back.
#[test]
fn a_listed_file_that_is_away_keeps_every_version() {
    let dir = empty();
    let dir = dir.path();
    keys(dir, &["keys", "new", "a.key", "--id", "orders"]).done();
    store(dir);
    keys(dir, &["keys", "rotate", "a.key"]).done();
    let names = fs::read_dir(dir.join("db")).unwrap().map(|entry| entry.unwrap().file_name());
    let table =
        names.map(|name| name.into_string().unwrap()).find(|name| name.ends_with(".sst")).unwrap();
    fs::rename(dir.join("db").join(&table), dir.join(&table)).unwrap();

    let rotate = || keys(dir, &["rest", "rotate", "db", "--key", "a.key"]);
    let retire = || keys(dir, &["keys", "retire", "a.key", "--version", "1", "--store", "db"]);
    let rotated = rotate();
    assert_eq!(rotated.code, Some(1), "{}", rotated.stderr);
    let both = format!("{}{}", rotated.stdout, rotated.stderr);
    assert!(both.contains(&format!("{table}: missing: MANIFEST-")), "{both}");
    let refused = retire();
    assert_eq!(
        (refused.code, refused.stderr),
        (
            Some(2),
            format!(
                "sealstone: key orders version 1 was not retired: {table} is missing from db, and \
                 may be elsewhere under it\n  put it back, or restore the store from a backup, and \
                 retire the version then\n"
            )
        )
    );

    fs::rename(dir.join(&table), dir.join("db").join(&table)).unwrap();
    rotate().done();
    retire().done();
    keys(dir, &["rest", "verify", "db", "--key", "a.key"]).done();
}

#[test]
fn retiring_asks_for_stores_and_spares_the_newest() {
    let dir = empty();
    let dir = dir.path();
    keys(dir, &["keys", "new", "a.key", "--id", "orders"]).done();
    fs::create_dir(dir.join("photos")).unwrap();
    let newest = "sealstone: key orders version 1 is the newest in key file a.key: it seals new \
                  files and cannot be retired\n  rotate the key, bring every store to the new \
                  version with: sealstone rest rotate, then retire this one\n";
    fails(dir, &["keys", "retire", "a.key", "--version", "1", "--store", "nowhere"], newest);
    fails(dir, &["keys", "retire", "a.key", "--version", "1", "--unchecked"], newest);
    fails(
        dir,
        &["keys", "retire", "a.key", "--version", "7", "--unchecked"],
        "sealstone: key orders version 7 not found in key file a.key (it has version 1)\n  \
         this key file is older than the data; take the one made by the latest rotation\n",
    );
    keys(dir, &["keys", "rotate", "a.key"]).done();
    fails(
        dir,
        &["keys", "retire", "a.key", "--version", "1"],
        "sealstone: the following required arguments were not provided:\n  --store <DIR>...\n  \
         Usage: sealstone keys retire --version <N> --store <DIR>... <KEY>\n  For more \
         information, try '--help'.\n",
    );
    fails(
        dir,
        &["keys", "retire", "a.key", "--version", "1", "--store", "photos"],
        "sealstone: key orders version 1 was not retired: no sealed file in photos\n  \
         give the directory of a sealed store\n",
    );
    fails(
        dir,
        &["keys", "retire", "a.key", "--version", "1", "--store", "nowhere"],
        "sealstone: key orders version 1 was not retired: cannot read directory nowhere: No such \
         file or directory (os error 2)\n  give the directory of a store\n",
    );
    // begins as a sealed file, and no program of today wrote it
    fs::write(dir.join("photos/000004.log"), [&b"\x89SEALST\n\x7f"[..], &[7; 600]].concat())
        .unwrap();
    let refused = keys(dir, &["keys", "retire", "a.key", "--version", "1", "--store", "photos"]);
    let start = "sealstone: key orders version 1 was not retired: cannot tell which key \
                 photos/000004.log is under: ";
    assert!(refused.stderr.starts_with(start), "{}", refused.stderr);
    assert_eq!(
        (refused.code, versions_of(&json(&keys(dir, &["keys", "show", "a.key", "--json"]).done()))),
        (Some(2), vec![1, 2])
    );
    let retired =
        keys(dir, &["keys", "retire", "a.key", "--version", "1", "--unchecked", "--json"]);
    assert_eq!(
        retired.stderr,
        "key orders version 1 is retired; nothing was checked\nnot looked at: stores (--store), \
         files with sealed columns (--field), tables (--table), backups\n"
    );
    assert_eq!(versions_of(&json(&retired.done())), [2]);
}

#[test]
fn a_passphrase_protects_a_key_file() {
    let dir = empty();
    let dir = dir.path();
    write_private(&dir.join("pass"), "correct horse\n");
    write_private(&dir.join("wrong"), "battery staple\n");
    let new = keys(dir, &["keys", "new", "a.key", "--id", "orders", "--passphrase-file", "pass"]);
    assert_eq!(
        new.stderr,
        "made key orders in a.key; without this file and its passphrase nothing sealed under it \
         can be read: keep a copy apart from the data\n"
    );
    new.done();
    // id and versions can be seen without it
    let shown = json(&keys(dir, &["keys", "show", "a.key", "--json"]).done());
    assert_eq!((versions_of(&shown), &shown["protected"]), (vec![1], &true.into()));

    let without = "sealstone: key file a.key is protected by a passphrase, and none was given\n  \
                   name a file that holds it with --passphrase-file or in \
                   SEALSTONE_PASSPHRASE_FILE\n";
    for command in [
        &["keys", "rotate", "a.key"][..],
        &["keys", "check", "a.key"],
        &["keys", "export", "a.key", "--out", "b.key"],
        &["compare", "--key", "a.key"],
    ] {
        fails(dir, command, without);
    }
    let wrong = "sealstone: the passphrase does not open key file a.key: it is the wrong one, or \
                 the file was changed\n  give the passphrase that it has now; if it is the right \
                 one, restore the file from a copy\n";
    fails(dir, &["keys", "rotate", "a.key", "--passphrase-file", "wrong"], wrong);
    fails(dir, &["compare", "--key", "a.key", "--passphrase-file", "wrong"], wrong);
    fails(
        dir,
        &["keys", "rotate", "a.key", "--passphrase-file", "nowhere"],
        "sealstone: cannot read passphrase file nowhere: No such file or directory (os error 2)\n",
    );
    fs::write(dir.join("open"), "correct horse\n").unwrap();
    fs::set_permissions(dir.join("open"), fs::Permissions::from_mode(0o644)).unwrap();
    fails(
        dir,
        &["keys", "rotate", "a.key", "--passphrase-file", "open"],
        "sealstone: passphrase file open is open to users other than its owner (mode 0644)\n  \
         restrict it with: chmod 600 open; if others may have read it, choose another passphrase\n",
    );
    write_private(&dir.join("empty"), "\n");
    fails(
        dir,
        &["keys", "new", "b.key", "--passphrase-file", "empty"],
        "sealstone: no passphrase in passphrase file empty: it is empty\n  \
         a passphrase is one line of 1 to 1024 bytes\n",
    );
    fails(
        dir,
        &["keys", "new", "b.key", "--protect"],
        "sealstone: no new passphrase for b.key: there is no terminal to ask on\n  \
         name a file that holds one with --passphrase-file or in SEALSTONE_PASSPHRASE_FILE\n",
    );
    assert!(!dir.join("b.key").exists());

    keys(dir, &["keys", "rotate", "a.key", "--passphrase-file", "pass"]).done();
    let from_variable =
        run(sealstone(dir, &["keys", "check", "a.key"]).env("SEALSTONE_PASSPHRASE_FILE", "pass"));
    let answer = from_variable.done();
    assert!(
        answer
            .starts_with("key orders version 2 from key file a.key wraps and unwraps\nopened in "),
        "{answer}"
    );
    // the flag comes before the variable
    run(sealstone(dir, &["keys", "check", "a.key", "--passphrase-file", "wrong"])
        .env("SEALSTONE_PASSPHRASE_FILE", "pass"))
    .fails_with(wrong);
    // a store under it, from the first file to the check
    let arguments = [
        [
            "compare",
            "--ciphers",
            "none,aes-256",
            "--workloads",
            "c",
            "--records",
            "1k",
            "--operations",
            "200",
        ],
        ["--rounds", "1", "--set", "pairs=6", "--set", "slice-ms=1", "--keep", "kept", "--quiet"],
    ];
    let key = ["--key", "a.key", "--passphrase-file", "pass"];
    keys(dir, &[&arguments.concat()[..], &key].concat()).done();
    keys(dir, &["keys", "rotate", "a.key", "--passphrase-file", "pass"]).done();
    let rotate = ["rest", "rotate", "kept/ycsb/aes-256"];
    fails(dir, &[&rotate[..], &["--key", "a.key"]].concat(), without);
    keys(dir, &[&rotate[..], &key].concat()).done();
    let whole = keys(dir, &[&["rest", "verify", "kept/ycsb/aes-256"], &key[..]].concat()).done();
    assert!(whole.ends_with(": all of it is sealed and whole\n"), "{whole}");
}

/// On a separate terminal, which `script` (of util-linux) makes.
#[test]
fn a_passphrase_is_asked_for_on_the_terminal_and_not_shown() {
    let Some(maker) = maker() else {
        println!(
            "SKIP: a_passphrase_is_asked_for_on_the_terminal_and_not_shown: no program `script` \
             here"
        );
        return;
    };
    let dir = empty();
    let program = sealstone_e2e::binary::sealstone().display().to_string();
    let typing = |arguments: &str, lines: &[&str], code: i32| {
        let typed =
            on_terminal(maker, dir.path(), &format!("'{program}' {arguments}"), lines, |_| {});
        let shown = typed.transcript.stdout;
        assert_eq!(
            (typed.transcript.code, typed.lines),
            (Some(code), lines.len()),
            "{arguments}: {shown}"
        );
        assert!(lines.iter().all(|line| !shown.contains(line)), "{shown}");
        shown
    };
    let differing =
        typing("keys new a.key --id orders --protect", &["correct horse", "correct hors"], 2);
    assert!(differing.contains("the two passphrases differ"), "{differing}");
    assert!(!dir.path().join("a.key").exists());
    let made =
        typing("keys new a.key --id orders --protect", &["correct horse", "correct horse"], 0);
    assert!(made.contains("new passphrase for a.key: ") && made.contains("once more: "), "{made}");
    let checked = typing("keys check a.key", &["correct horse"], 0);
    assert!(
        checked.contains("passphrase for a.key: ") && checked.contains("wraps and unwraps"),
        "{checked}"
    );

    let differing =
        typing("keys passwd a.key", &["correct horse", "other horse", "otter horse"], 2);
    assert!(
        differing.contains("the two passphrases differ")
            && differing.contains("nothing was changed"),
        "{differing}"
    );
    typing("keys passwd a.key", &["correct horse", "other horse", "other horse"], 0);
    let added = typing(
        "keys holder add a.key --name bob --first alice",
        &["other horse", "bobs horse", "bobs horse"],
        0,
    );
    assert!(added.contains("new passphrase of bob for a.key: "), "{added}");
    let changed = typing("keys passwd a.key --holder bob", &["bobs horse", "a nag", "a nag"], 0);
    assert!(
        changed.contains("passphrase of bob for a.key: ")
            && changed.contains("new passphrase of bob for a.key: ")
    );
    typing("keys check a.key --holder bob", &["a nag"], 0);
}

#[test]
fn versions_go_from_file_to_file() {
    let dir = empty();
    let dir = dir.path();
    write_private(&dir.join("pass"), "correct horse");
    keys(dir, &["keys", "new", "a.key", "--id", "orders"]).done();
    keys(dir, &["keys", "rotate", "a.key"]).done();
    // an unprotected key goes into a file with a passphrase, version by version
    let exported = keys(
        dir,
        &[
            "keys",
            "export",
            "a.key",
            "--version",
            "1",
            "--out",
            "safe.key",
            "--out-passphrase-file",
            "pass",
            "--json",
        ],
    );
    assert_eq!(exported.stderr, "wrote key orders version 1 into safe.key\n");
    let exported = json(&exported.done());
    assert_eq!((versions_of(&exported), &exported["protected"]), (vec![1], &true.into()));
    let imported = keys(
        dir,
        &["keys", "import", "safe.key", "--from", "a.key", "--passphrase-file", "pass", "--json"],
    );
    assert_eq!(imported.stderr, "key file safe.key now has version 2 more\n");
    assert_eq!(versions_of(&json(&imported.done())), [1, 2]);
    let again = keys(
        dir,
        &["keys", "import", "a.key", "--from", "safe.key", "--from-passphrase-file", "pass"],
    );
    assert_eq!(again.stderr, "key file a.key already has all of it\n");
    again.done();

    // and does not leave it unnoticed
    let out = [
        "keys",
        "export",
        "safe.key",
        "--passphrase-file",
        "pass",
        "--version",
        "1",
        "--out",
        "plain.key",
    ];
    fails(
        dir,
        &out,
        "sealstone: key file safe.key is protected, and plain.key would not be\n  \
         give it one with --protect or --out-passphrase-file, or say --unprotected\n",
    );
    let plain = keys(dir, &[&out[..], &["--unprotected", "--json"]].concat());
    assert_eq!(json(&plain.done())["protected"], false);

    fails(
        dir,
        &["keys", "export", "a.key", "--out", "safe.key"],
        "sealstone: safe.key exists already and was left as it is: overwriting a key file would \
         lose every file sealed under it\n  choose another path, or move the old key file to \
         safety first\n",
    );
    fails(
        dir,
        &["keys", "export", "a.key", "--version", "9", "--out", "x.key"],
        "sealstone: key orders version 9 not found in key file a.key (it has versions 1, 2)\n  \
         this key file is older than the data; take the one made by the latest rotation\n",
    );
    keys(dir, &["keys", "new", "wages.key", "--id", "wages"]).done();
    fails(
        dir,
        &["keys", "import", "a.key", "--from", "wages.key"],
        "sealstone: key orders version 1 not found in key file wages.key (it holds key wages)\n  \
         give the key file or server that holds key orders\n",
    );
    keys(dir, &["keys", "new", "namesake.key", "--id", "orders"]).done();
    fails(
        dir,
        &["keys", "import", "a.key", "--from", "namesake.key"],
        "sealstone: key orders version 1 is in key file a.key already, with another secret\n  \
         two keys have this name; nothing was changed, keep them in separate files\n",
    );
}

#[test]
fn keys_are_listed_with_what_protects_them() {
    let dir = empty();
    let dir = dir.path();
    fs::create_dir(dir.join("keys")).unwrap();
    write_private(&dir.join("pass"), "correct horse");
    keys(dir, &["keys", "new", "keys/a.key", "--id", "orders"]).done();
    keys(dir, &["keys", "rotate", "keys/a.key"]).done();
    keys(dir, &["keys", "new", "keys/b.key", "--id", "wages", "--passphrase-file", "pass"]).done();
    fs::write(dir.join("keys/README"), "what is here").unwrap();
    let listed = keys(dir, &["keys", "list", "keys"]).done();
    let lines: Vec<Vec<&str>> =
        listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["KEY", "VERSIONS", "NEWEST", "MADE", "PROTECTION", "FILE"]);
    assert_eq!([&lines[1][..3], &lines[1][4..]].concat(), ["orders", "2", "2", "-", "keys/a.key"]);
    assert_eq!(
        [&lines[2][..3], &lines[2][4..]].concat(),
        ["wages", "1", "1", "passphrase", "keys/b.key"]
    );
    assert_eq!(lines.len(), 3);
    let listed = json(&keys(dir, &["keys", "list", "keys/a.key", "keys/b.key", "--json"]).done());
    assert_eq!(listed["keys"].as_array().unwrap().len(), 2);
    assert_eq!(listed["keys"][1]["protected"], true);
    fs::create_dir(dir.join("none")).unwrap();
    fails(
        dir,
        &["keys", "list", "none"],
        "sealstone: no key file in none\n  name the directory that they are in; one that is lost \
         comes back only from its copy\n",
    );
    fs::set_permissions(dir.join("keys/a.key"), fs::Permissions::from_mode(0o640)).unwrap();
    fails(
        dir,
        &["keys", "list", "keys"],
        "sealstone: key file keys/a.key is open to users other than its owner (mode 0640)\n  \
         restrict it with: chmod 600 keys/a.key; if others may have read it, rotate the key\n",
    );
}

#[test]
fn a_check_says_what_it_measured() {
    let dir = empty();
    let dir = dir.path();
    keys(dir, &["keys", "new", "a.key", "--id", "orders"]).done();
    let checked = json(&keys(dir, &["keys", "check", "a.key", "--json"]).done());
    assert_eq!(
        (&checked["id"], &checked["version"], &checked["source"]),
        (&"orders".into(), &1.into(), &"key file a.key".into())
    );
    for figure in ["open_ms", "get_ms", "wrap_ms", "unwrap_ms"] {
        assert!(checked[figure].as_f64().unwrap() > 0.0, "{figure}");
    }
    fails(
        dir,
        &["keys", "check", "missing.key"],
        "sealstone: no key file at missing.key\n  name the right one, or put it back from its \
         copy: what is sealed under a key opens with no other\n",
    );
}

#[test]
fn a_store_is_not_rotated_with_a_key_it_does_not_know() {
    let dir = empty();
    let dir = dir.path();
    keys(dir, &["keys", "new", "a.key", "--id", "orders"]).done();
    keys(dir, &["keys", "new", "wages.key", "--id", "wages"]).done();
    store(dir);
    let before = fs::read(dir.join("db/CURRENT")).unwrap();
    fails(
        dir,
        &["rest", "rotate", "db", "--key", "wages.key"],
        "sealstone: key orders version 1 not found in key file wages.key (it holds key wages)\n  \
         give the key file or server that holds key orders\n",
    );
    assert_eq!(fs::read(dir.join("db/CURRENT")).unwrap(), before);
    fs::create_dir(dir.join("photos")).unwrap();
    fails(
        dir,
        &["rest", "rotate", "photos", "--key", "a.key"],
        "sealstone: no sealed RocksDB store in photos (0 files)\n  give the directory of a sealed \
         store\n",
    );
    // one file of another key that has the same name
    keys(dir, &["keys", "new", "namesake.key", "--id", "orders"]).done();
    let key = KeyFile::open(dir.join("namesake.key")).unwrap();
    let env = SealedEnv::new(Arc::new(key), cipher("aria-256").unwrap(), Backend::auto());
    env.open(&dir.join("other"), &DbOptions::default()).unwrap().close().unwrap();
    fs::copy(dir.join("other/CURRENT"), dir.join("db/STRANGER")).unwrap();
    keys(dir, &["keys", "rotate", "a.key"]).done();
    let partly = keys(dir, &["rest", "rotate", "db", "--key", "a.key"]);
    assert_eq!(partly.code, Some(1), "{}", partly.stderr);
    assert!(
        partly
            .stdout
            .contains(" could not be and are unchanged:\n  STRANGER: key orders version 1 from ")
    );
    // and its version is not retired
    let refused = keys(dir, &["keys", "retire", "a.key", "--version", "1", "--store", "db"]);
    assert!(
        refused.stderr.contains("1 file is still under it in db, such as STRANGER\n"),
        "{}",
        refused.stderr
    );
}

#[test]
fn secrets_are_never_shown() {
    let dir = empty();
    let dir = dir.path();
    let mut texts = Vec::new();
    for command in [
        &["keys", "new", "a.key"][..],
        &["keys", "rotate", "a.key"],
        &["keys", "list", "a.key"],
        &["keys", "show", "a.key", "--json"],
        &["keys", "check", "a.key"],
        &["keys", "export", "a.key", "--out", "b.key"],
        &["keys", "import", "a.key", "--from", "b.key"],
        &["keys", "retire", "a.key", "--version", "1", "--unchecked"],
    ] {
        let file = fs::read_to_string(dir.join("a.key")).unwrap_or_default();
        let transcript = keys(dir, command);
        assert_eq!(transcript.code, Some(0), "{command:?}: {}", transcript.stderr);
        texts.push((file, transcript));
    }
    texts.push((
        fs::read_to_string(dir.join("a.key")).unwrap(),
        keys(dir, &["keys", "show", "a.key"]),
    ));
    let secrets: Vec<&str> = texts
        .iter()
        .flat_map(|(file, _)| file.split('"'))
        .filter(|part| part.len() == 64)
        .collect();
    assert!(secrets.len() > 8);
    for (_, transcript) in &texts {
        for secret in &secrets {
            assert!(
                !transcript.stdout.contains(&secret[..8])
                    && !transcript.stderr.contains(&secret[..8])
            );
        }
    }
}

/// A search for the name that was probably meant looks at other names, and no link sends it round.
#[test]
fn links_that_lead_nowhere_are_no_key_files() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for (name, to) in [("lk.key", "nowhere"), ("one.key", "two.key"), ("two.key", "one.key")] {
        std::os::unix::fs::symlink(to, at(name)).unwrap();
    }
    fs::write(at("a.csv"), "id\n1\n").unwrap();
    let seal = ["field", "seal", "a.csv", "--column", "id=aead", "--out", "b.csv", "--key"];
    for named in ["lk.key", "lkk.key", "one.key", "two.key", "on.key"] {
        for arguments in [&["keys", "show", named][..], &[&seal[..], &[named]].concat()] {
            let said = run(&mut sealstone(dir.path(), arguments));
            assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.stderr);
            assert!(!said.stderr.contains("did you mean"), "{arguments:?}: {}", said.stderr);
        }
    }
    let listed = run(&mut sealstone(dir.path(), &["keys", "list", "."]));
    assert!(listed.code.is_some_and(|code| code < 3), "{}", listed.stderr);
}

/// A directory of another user is one in which a key file can be put in place of another.
#[test]
fn a_key_file_in_another_users_directory_is_refused() {
    let dir = empty();
    let theirs = dir.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    keys(dir.path(), &["keys", "new", "theirs/a.key"]).done();
    if std::os::unix::fs::chown(&theirs, Some(65_534), None).is_err() {
        println!("SKIP: a_key_file_in_another_users_directory_is_refused: it takes root");
        return;
    }
    for arguments in [
        &["keys", "show", "theirs/a.key"][..],
        &["keys", "rotate", "theirs/a.key"],
        &["keys", "check", "theirs/a.key"],
        &["rest", "verify", "db", "--key", "theirs/a.key"],
    ] {
        let refused = keys(dir.path(), arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(
            refused.stderr.contains("user 65534 may put another file in its place"),
            "{arguments:?}: {}",
            refused.stderr
        );
    }
}
