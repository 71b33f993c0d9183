//! Passphrases that change, and several holders of one key file, as a DBA meets them: the output,
//! the text of errors, and that no kill, full disk or read-only directory loses the key. Not here:
//! forgeries (the tests of `sealstone-keys`), passphrases typed on a terminal (`keys.rs`).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::unistd::geteuid;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_e2e::binary;
use sealstone_e2e::transcript::{Transcript, run, sealstone};
use sealstone_keys::{KeyError, KeyFile, KeySource, Passphrase};
use serde_json::Value;
use tempfile::TempDir;

/// Number of times that a change is killed.
const KILLS: u64 = 24;

/// Returns a directory with the passphrases `old`, `new` and `bobs` in files of these names.
fn scratch() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for name in ["old", "new", "bobs"] {
        let path = dir.path().join(name);
        fs::write(&path, format!("{name} horse\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    dir
}

fn keys(dir: &Path, arguments: &[&str]) -> Transcript {
    run(&mut sealstone(dir, &[&["keys"], arguments].concat()))
}

fn fails(dir: &Path, arguments: &[&str], want: &str) {
    println!("sealstone keys {}", arguments.join(" "));
    keys(dir, arguments).fails_with(want);
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in:\n{text}"))
}

/// Opens `path` with the passphrase in the file `name` beside it.
fn open(path: &Path, name: &str) -> Result<KeyFile, KeyError> {
    let file = path.with_file_name(name);
    KeyFile::open_with(path, &|_| Passphrase::from_file(&file))
}

#[test]
fn a_passphrase_is_changed_and_what_remains_is_said() {
    let dir = scratch();
    let dir = dir.path();
    keys(dir, &["new", "a.key", "--id", "orders"]).done();
    let rotating =
        "rotate the key: sealstone keys rotate a.key, then sealstone rest rotate DIR --key a.key\n";
    let first = keys(dir, &["passwd", "a.key", "--new-passphrase-file", "old"]);
    assert_eq!(
        first.stderr,
        format!(
            "key file a.key has a new passphrase; processes that have it open need that at their \
             next start\n\
             copies of the old file open without a passphrase, forever: destroy them, make new \
             ones and, if others may know the key, {rotating}"
        )
    );
    assert!(
        first
            .done()
            .ends_with("\na passphrase protects it (Argon2id, 64 MiB, 3 passes, 4 lanes)\n")
    );
    fs::copy(dir.join("a.key"), dir.join("copy.key")).unwrap();

    let without = "sealstone: key file a.key is protected by a passphrase, and none was given\n  \
                   name a file that holds it with --passphrase-file or in \
                   SEALSTONE_PASSPHRASE_FILE\n";
    fails(dir, &["passwd", "a.key", "--new-passphrase-file", "new"], without);
    fails(
        dir,
        &["passwd", "a.key", "--passphrase-file", "old"],
        "sealstone: no new passphrase for a.key: there is no terminal to ask on\n  \
         name a file that holds one with --new-passphrase-file\n",
    );
    let wrong = "sealstone: the passphrase does not open key file a.key: it is the wrong one, or \
                 the file was changed\n  give the passphrase that it has now; if it is the right \
                 one, restore the file from a copy\n";
    fails(dir, &["passwd", "a.key", "--passphrase-file", "new", "--no-passphrase"], wrong);
    let changed = keys(
        dir,
        &["passwd", "a.key", "--passphrase-file", "old", "--new-passphrase-file", "new", "--json"],
    );
    assert_eq!(
        changed.stderr,
        format!(
            "key file a.key has a new passphrase; processes that have it open need that at their \
             next start\n\
             copies of the old file open with the old passphrase, forever: destroy them, make new \
             ones and, if others may know that passphrase, {rotating}"
        )
    );
    let changed = json(&changed.done());
    assert_eq!(changed["holders"][0]["memory_kib"], 65536);
    fails(dir, &["rotate", "a.key", "--passphrase-file", "old"], wrong);
    keys(dir, &["rotate", "a.key", "--passphrase-file", "new"]).done();
    // as reported
    keys(dir, &["check", "copy.key", "--passphrase-file", "old"]).done();

    // the variable names the old one, never the new one
    let off = run(sealstone(dir, &["keys", "passwd", "a.key", "--no-passphrase", "--json"])
        .env("SEALSTONE_PASSPHRASE_FILE", "new"));
    assert_eq!(
        off.stderr,
        "warning: key file a.key no longer has a passphrase: anyone who reads it has the key\n"
    );
    assert_eq!(json(&off.done())["protected"], false);
    keys(dir, &["check", "a.key"]).done();
    let again = keys(dir, &["passwd", "a.key", "--no-passphrase"]);
    assert_eq!(again.stderr, "key file a.key has no passphrase; nothing was changed\n");
    assert!(again.done().ends_with("\nno passphrase protects it\n"));
    fails(
        dir,
        &["passwd", "kmip:kms.toml", "--no-passphrase"],
        "sealstone: kmip:kms.toml names a key server, and only key files have passphrases\n  give \
         a key file\n",
    );
}

#[test]
fn holders_come_and_go() {
    let dir = scratch();
    let dir = dir.path();
    keys(dir, &["new", "a.key", "--id", "orders"]).done();
    let add = ["holder", "add", "a.key", "--name", "bob", "--new-passphrase-file", "bobs"];
    fails(
        dir,
        &add,
        "sealstone: key file a.key has no passphrase: anyone who reads it has the key, whatever \
         holders it names\n  give it one first, with: sealstone keys passwd a.key\n",
    );
    keys(dir, &["passwd", "a.key", "--new-passphrase-file", "old"]).done();
    let added = keys(dir, &[&add[..], &["--passphrase-file", "old", "--first", "alice"]].concat());
    assert_eq!(
        added.stderr,
        "the passphrase that a.key had is now that of holder alice; earlier versions of sealstone \
         do not open the file any more\nbob opens key file a.key from now on, with a separate \
         passphrase\n"
    );
    added.done();
    let shown = keys(dir, &["show", "a.key"]).done();
    let table = "HOLDER  PASSPHRASE\n\
                 alice   Argon2id, 64 MiB, 3 passes, 4 lanes\n\
                 bob     Argon2id, 64 MiB, 3 passes, 4 lanes\n";
    assert!(shown.ends_with(&format!("\n\n{table}")), "{shown}");
    let shown = json(&keys(dir, &["show", "a.key", "--json"]).done());
    assert_eq!(
        (&shown["holders"][0]["name"], &shown["holders"][1]["name"]),
        (&"alice".into(), &"bob".into())
    );

    // for every holder
    keys(dir, &["rotate", "a.key", "--passphrase-file", "bobs"]).done();
    keys(dir, &["check", "a.key", "--passphrase-file", "old"]).done();
    keys(dir, &["check", "a.key", "--passphrase-file", "bobs", "--holder", "bob"]).done();
    fails(
        dir,
        &["check", "a.key", "--passphrase-file", "bobs", "--holder", "carol"],
        "sealstone: key file a.key has no holder carol (it has alice, bob)\n  \
         take one of these names; sealstone keys show a.key lists them\n",
    );
    let wrong = "sealstone: the passphrase does not open key file a.key: it is the wrong one, or \
                 the file was changed\n  give the passphrase that it has now; if it is the right \
                 one, restore the file from a copy\n";
    fails(dir, &["check", "a.key", "--passphrase-file", "new"], wrong);
    fails(dir, &["check", "a.key", "--passphrase-file", "old", "--holder", "bob"], wrong);
    fails(
        dir,
        &[&add[..], &["--passphrase-file", "old"]].concat(),
        "sealstone: key file a.key has a holder bob already\n  choose another name, or change that \
         passphrase with: sealstone keys passwd a.key --holder bob\n",
    );
    let change = [
        "passwd",
        "a.key",
        "--holder",
        "bob",
        "--new-passphrase-file",
        "new",
        "--passphrase-file",
        "bobs",
    ];
    keys(dir, &change).done();
    fails(dir, &change, wrong);
    fails(
        dir,
        &["passwd", "a.key", "--no-passphrase", "--passphrase-file", "old"],
        "sealstone: key file a.key has several holders (alice, bob), and would be open without any \
         passphrase\n  remove the others first, with: sealstone keys holder remove a.key --name \
         NAME\n",
    );

    // a store under it
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
    let key = ["--key", "a.key", "--passphrase-file", "new"];
    run(&mut sealstone(dir, &[&arguments.concat()[..], &key].concat())).done();
    run(&mut sealstone(dir, &[&["rest", "verify", "kept/ycsb/aes-256"], &key[..]].concat())).done();

    let removed =
        keys(dir, &["holder", "remove", "a.key", "--name", "bob", "--passphrase-file", "old"]);
    assert_eq!(
        removed.stderr,
        "bob is no holder of key file a.key any more; copies of the old file, and the versions in \
         it, remain open to bob: destroy the copies, make new ones, and rotate the key: sealstone \
         keys rotate a.key, then sealstone rest rotate DIR --key a.key\n"
    );
    removed.done();
    fails(dir, &["check", "a.key", "--passphrase-file", "new"], wrong);
    fails(
        dir,
        &["holder", "remove", "a.key", "--name", "alice", "--passphrase-file", "old"],
        "sealstone: alice is the only holder of key file a.key and stays: nobody could open it any \
         more\n  add another holder first, with: sealstone keys holder add a.key --name NAME\n",
    );
    keys(dir, &["check", "a.key", "--passphrase-file", "old"]).done();
}

#[test]
fn a_missing_directory_is_reported_before_any_work() {
    let dir = scratch();
    let dir = dir.path();
    keys(dir, &["new", "a.key"]).done();
    let hint = |path: &str| {
        let parent = Path::new(path).parent().unwrap().display().to_string();
        format!(
            "sealstone: cannot make {path}: there is no directory {parent}\n  make it first, with: \
             mkdir -p {parent}\n"
        )
    };
    // no passphrase is requested
    fails(dir, &["new", "a/b/c.key", "--protect"], &hint("a/b/c.key"));
    fails(dir, &["export", "a.key", "--out", "archive/1.key"], &hint("archive/1.key"));
    fs::create_dir(dir.join("db")).unwrap();
    run(&mut sealstone(dir, &["rest", "verify", "db", "--key", "a.key", "--anchor", "usb/anchor"]))
        .fails_with(&hint("usb/anchor"));
    fails(
        dir,
        &["new", "old/c.key"],
        "sealstone: cannot make old/c.key: old is not a directory\n  choose another path\n",
    );
    assert!(!dir.join("a").exists() && !dir.join("archive").exists());
}

/// Half of the kills come at any moment, half once the new file is being written.
#[test]
fn a_killed_change_leaves_the_old_file_or_the_new_one() {
    let scratch = scratch();
    let dir = scratch.path();
    let path = dir.join("a.key");
    keys(dir, &["new", "a.key", "--id", "orders", "--passphrase-file", "old"]).done();
    let secret = *open(&path, "old").unwrap().current().unwrap().1.as_bytes();
    let change = |old: &str, new: &str| {
        let arguments =
            ["keys", "passwd", "a.key", "--passphrase-file", old, "--new-passphrase-file", new];
        sealstone(dir, &arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let begin = Instant::now();
    assert!(change("old", "new").wait().unwrap().success());
    let whole = begin.elapsed();
    let (mut now, mut next) = ("new", "old");
    let (mut rng, mut changed) = (SmallRng::seed_from_u64(14), 0);
    for round in 0..KILLS {
        let mut child = change(now, next);
        if round % 2 == 0 {
            thread::sleep(whole.mul_f64(rng.random_range(0.0..1.2)));
        } else {
            let begin = Instant::now();
            while !dir.join(".a.key.new").exists() && begin.elapsed() < 3 * whole {}
            thread::sleep(Duration::from_micros(rng.random_range(0..4000)));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let key = match open(&path, now) {
            Ok(key) => key,
            Err(KeyError::WrongPassphrase { .. }) => {
                changed += 1;
                (now, next) = (next, now);
                open(&path, now).unwrap_or_else(|error| panic!("round {round}: {error}"))
            }
            Err(other) => panic!("round {round}: {other}"),
        };
        assert_eq!(key.current().unwrap().1.as_bytes(), &secret, "round {round}");
    }
    // and what a kill left behind is in nobody's way
    assert!(change(now, next).wait().unwrap().success());
    open(&path, next).unwrap();
    assert!(!dir.join(".a.key.new").exists());
    println!("{KILLS} kills, {changed} after the change");
}

/// On a file system of 16 KiB, which takes a mount namespace of the test's own.
#[test]
fn a_full_disk_and_a_read_only_one_change_nothing() {
    const NAME: &str = "a_full_disk_and_a_read_only_one_change_nothing";
    let scratch = scratch();
    let dir = scratch.path();
    keys(dir, &["new", "a.key", "--id", "orders", "--passphrase-file", "old"]).done();
    fs::create_dir(dir.join("small")).unwrap();
    let in_own_mounts = |text: &str| {
        let mut command = Command::new("unshare");
        // the superuser needs no namespace of users, which some systems refuse
        let users: &[&str] = if geteuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
        command.args(users).args(["--mount", "sh", "-c", text]).current_dir(dir);
        run(command.env("PROGRAM", binary::sealstone()).stdin(Stdio::null()))
    };
    let mount = "mount -t tmpfs -o size=16k,mode=700 none small";
    if in_own_mounts(mount).code != Some(0) {
        println!("SKIP: {NAME}: no mount namespaces here");
        return;
    }
    let passwd = "$PROGRAM keys passwd small/a.key --passphrase-file old --new-passphrase-file new";
    let add = "$PROGRAM keys holder add small/a.key --name bob --passphrase-file old \
               --new-passphrase-file bobs";
    let check = "$PROGRAM keys check small/a.key --passphrase-file";
    let text = format!(
        "{mount} && cp -p a.key small && before=$(cat small/a.key)
         head -c 16000 /dev/zero > small/filler 2> /dev/null
         {passwd} > /dev/null; echo full $?
         mount -o remount,ro small; {passwd} > /dev/null; echo readonly $?
         {add}; echo holder $?
         test \"$before\" = \"$(cat small/a.key)\" && {check} old > /dev/null && ls -A small
         mount -o remount,rw small; rm small/filler
         {passwd} > /dev/null 2>&1; echo room $?; {check} new > /dev/null && ls -A small"
    );
    let done = in_own_mounts(&text);
    assert_eq!(
        done.stdout, "full 2\nreadonly 2\nholder 2\na.key\nfiller\nroom 0\na.key\n",
        "{}",
        done.stderr
    );
    let full =
        "sealstone: cannot replace key file small/a.key: No space left on device (os error 28)\n";
    assert!(done.stderr.starts_with(full), "{}", done.stderr);
    assert_eq!(
        done.stderr.matches("Read-only file system (os error 30)\n").count(),
        2,
        "{}",
        done.stderr
    );
}
