//! Key files that change: rotated, retired, copied version by version, by several processes at
//! once, while others read them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sealstone_keys::{KeyError, KeyFile, KeyRef, KeySource};

fn orders(version: u32) -> KeyRef {
    KeyRef { id: "orders".into(), version }
}

fn versions(key: &KeyFile) -> Vec<u32> {
    key.versions().map(|(version, _)| version).collect()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn rotating_adds_a_version_and_keeps_the_older_ones() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let key = KeyFile::create(&path, "orders").unwrap();
    let (_, first) = key.current().unwrap();
    assert_eq!(key.rotate().unwrap(), orders(2));
    assert_eq!(key.rotate().unwrap(), orders(3));
    let (current, newest) = key.current().unwrap();
    assert_eq!(current, orders(3));
    assert_ne!(first.as_bytes(), newest.as_bytes());

    let read = KeyFile::open(&path).unwrap();
    assert_eq!(versions(&read), [1, 2, 3]);
    assert_eq!(read.get(&orders(1)).unwrap().as_bytes(), first.as_bytes());
    assert_eq!(read.get(&orders(3)).unwrap().as_bytes(), newest.as_bytes());
    let all: Vec<_> = read.all().unwrap();
    assert_eq!(
        all.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>(),
        [orders(1), orders(2), orders(3)]
    );
    assert_eq!((all[0].1.as_bytes(), all[2].1.as_bytes()), (first.as_bytes(), newest.as_bytes()));
    assert_eq!(read.name().unwrap(), "orders");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(names(dir.path()), ["a.key"]);
}

#[test]
fn a_long_lived_reader_sees_what_others_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    KeyFile::create(&path, "orders").unwrap();
    let reader = KeyFile::open(&path).unwrap();
    let other = KeyFile::open(&path).unwrap();
    assert_eq!(reader.current().unwrap().0, orders(1));
    other.rotate().unwrap();
    // a version that it has not read yet: a file sealed by the other process
    let third = other.rotate().unwrap();
    assert_eq!(reader.get(&third).unwrap().as_bytes(), other.get(&third).unwrap().as_bytes());
    assert_eq!(reader.current().unwrap().0, third);
    other.retire(1).unwrap();
    assert_eq!(reader.current().unwrap().0, third);
    assert!(matches!(reader.get(&orders(1)), Err(KeyError::MissingVersion { .. })));
}

/// Two copies that were rotated apart have different secrets under one number. A process that has
/// sealed under the first keeps it, and reports that.
#[test]
fn another_secret_under_a_version_in_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let [path, copy] = ["a.key", "b.key"].map(|name| dir.path().join(name));
    let reader = KeyFile::create(&path, "orders").unwrap();
    fs::copy(&path, &copy).unwrap();
    let second = reader.rotate().unwrap();
    let secret = reader.get(&second).unwrap();
    KeyFile::open(&copy).unwrap().rotate().unwrap();
    fs::rename(&copy, &path).unwrap();
    let refused = reader.current().unwrap_err();
    assert!(matches!(&refused, KeyError::Conflict { key, .. } if *key == second), "{refused}");
    assert_eq!(reader.get(&second).unwrap().as_bytes(), secret.as_bytes());
}

#[test]
fn a_reader_says_when_its_file_cannot_be_read_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let reader = KeyFile::create(&path, "orders").unwrap();
    let good = fs::read(&path).unwrap();
    let write = |bytes: &[u8], mode| {
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let refused = || reader.current().unwrap_err();

    write(b"format = 1\n", 0o600);
    assert!(matches!(refused(), KeyError::Garbled { .. }));
    // data it sealed before can still be read, and a version it never had is reported with the
    // reason
    reader.get(&orders(1)).unwrap();
    assert!(matches!(reader.get(&orders(2)), Err(KeyError::Garbled { .. })));
    assert!(matches!(reader.rotate(), Err(KeyError::Garbled { .. })));

    write(&good, 0o644);
    assert!(matches!(refused(), KeyError::Permissions { .. }));

    let text = String::from_utf8(good.clone()).unwrap();
    write(text.replace("orders", "wages").as_bytes(), 0o600);
    assert_eq!(
        refused().to_string(),
        format!(
            "key file {0} now holds key wages, and held key orders when this process read it\n\
             put the file of key orders back, or restart with the new one",
            path.display()
        )
    );

    fs::remove_file(&path).unwrap();
    let gone = format!(
        "key file {} was removed after this process read it\nput it back from a copy; nothing new \
         is sealed without it",
        path.display()
    );
    assert_eq!(refused().to_string(), gone);
    assert_eq!(reader.rotate().unwrap_err().to_string(), gone);
    assert_eq!(names(dir.path()), Vec::<String>::new());

    write(&good, 0o600);
    assert_eq!(reader.current().unwrap().0, orders(1));
}

#[test]
fn rotations_at_once_lose_no_version() {
    const THREADS: usize = 8;
    const EACH: usize = 5;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    KeyFile::create(&path, "orders").unwrap();
    let mut made: Vec<(u32, [u8; 32])> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    // each with its own file, as processes have
                    let key = KeyFile::open(&path).unwrap();
                    let rotate = |_| {
                        let made = key.rotate().unwrap();
                        (made.version, *key.get(&made).unwrap().as_bytes())
                    };
                    (0..EACH).map(rotate).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    made.sort();
    let read = KeyFile::open(&path).unwrap();
    assert_eq!(versions(&read), (1..=(THREADS * EACH) as u32 + 1).collect::<Vec<_>>());
    for (version, secret) in made {
        assert_eq!(
            read.get(&orders(version)).unwrap().as_bytes(),
            &secret,
            "version {version} is another one"
        );
    }
    assert_eq!(names(dir.path()), ["a.key"]);
}

#[test]
fn leftovers_of_a_killed_process_do_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let key = KeyFile::create(&path, "orders").unwrap();
    fs::write(dir.path().join(".a.key.0123456789abcdef.sealstone-partial"), "half a key fi")
        .unwrap();
    assert_eq!(key.current().unwrap().0, orders(1));
    assert_eq!(key.rotate().unwrap(), orders(2));
    assert_eq!(names(dir.path()), ["a.key"]);
}

#[test]
fn a_link_to_a_key_file_stays_a_link() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("real")).unwrap();
    let (real, link) = (dir.path().join("real/a.key"), dir.path().join("link.key"));
    KeyFile::create(&real, "orders").unwrap();
    symlink(&real, &link).unwrap();
    KeyFile::open(&link).unwrap().rotate().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(KeyFile::open(&real).unwrap().current().unwrap().0, orders(2));
}

#[test]
fn the_newest_version_and_absent_ones_are_not_retired() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let key = KeyFile::create(&path, "orders").unwrap();
    let before = fs::read(&path).unwrap();
    assert_eq!(
        key.retire(1).unwrap_err().to_string(),
        format!(
            "key orders version 1 is the newest in key file {}: it seals new files and cannot be \
             retired\n\
             rotate the key, bring every store to the new version with: sealstone rest rotate, \
             then retire this one",
            path.display()
        )
    );
    assert!(matches!(key.retire(2), Err(KeyError::MissingVersion { .. })));
    assert_eq!(fs::read(&path).unwrap(), before);
    key.rotate().unwrap();
    key.retire(1).unwrap();
    assert_eq!(versions(&key), [2]);
    // numbers are never used twice
    assert_eq!(key.rotate().unwrap(), orders(3));
}

#[test]
fn a_version_goes_from_file_to_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let key = KeyFile::create(path("a.key"), "orders").unwrap();
    key.rotate().unwrap();
    let copy = key.export(Some(1), path("one.key"), None).unwrap();
    assert_eq!(versions(&copy), [1]);
    assert_eq!(versions(&key.export(None, path("newest.key"), None).unwrap()), [2]);
    assert!(matches!(key.export(None, path("one.key"), None), Err(KeyError::Exists { .. })));
    assert!(matches!(
        key.export(Some(7), path("x.key"), None),
        Err(KeyError::MissingVersion { .. })
    ));

    let secret = *key.get(&orders(1)).unwrap().as_bytes();
    key.retire(1).unwrap();
    assert_eq!(key.import(&copy, None).unwrap(), [1]);
    assert_eq!(key.import(&copy, Some(1)).unwrap(), [0; 0]);
    assert_eq!(key.get(&orders(1)).unwrap().as_bytes(), &secret);
    assert_eq!(key.current().unwrap().0, orders(2));
    assert!(matches!(key.import(&copy, Some(2)), Err(KeyError::MissingVersion { .. })));

    let wages = KeyFile::create(path("wages.key"), "wages").unwrap();
    assert!(matches!(key.import(&wages, None), Err(KeyError::OtherKey { .. })));
    let namesake = KeyFile::create(path("namesake.key"), "orders").unwrap();
    let before = fs::read(path("a.key")).unwrap();
    assert_eq!(
        key.import(&namesake, None).unwrap_err().to_string(),
        format!(
            "key orders version 1 is in key file {} already, with another secret\n\
             two keys have this name; nothing was changed, keep them in separate files",
            path("a.key").display()
        )
    );
    assert_eq!(fs::read(path("a.key")).unwrap(), before);
}

#[test]
fn a_file_that_would_be_too_long_to_read_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let mut text = String::from("format = 1\nid = \"orders\"\n");
    for version in 1..=480 {
        let secret = "0f".repeat(32);
        text += &format!(
            "[[keys]]\nversion = {version}\ncreated = \"2026-01-31T09:00:00Z\"\nsecret = \
             \"{secret}\"\n"
        );
    }
    fs::write(&path, &text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let key = KeyFile::open(&path).unwrap();
    let full = (0..20).find_map(|_| key.rotate().err()).expect("a limit");
    assert!(matches!(full, KeyError::Full { .. }), "{full}");
    KeyFile::open(&path).unwrap();
    assert_eq!(names(dir.path()), ["a.key"]);
}

#[test]
fn odd_times_survive() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let created = "a \\\"time\\\" \\n of \\u001b its own";
    let secret = "0f".repeat(32);
    let text = format!(
        "format = 1\nid = \"orders\"\n[[keys]]\nversion = 1\ncreated = \"{created}\"\nsecret = \
         \"{secret}\"\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let key = KeyFile::open(&path).unwrap();
    let before = key.versions().next().unwrap();
    key.rotate().unwrap();
    assert_eq!(KeyFile::open(&path).unwrap().versions().next().unwrap(), before);
    assert_eq!(before.1, "a \"time\" \n of \u{1b} its own");
}

/// As soon as a process has put its file in place, another may put the next one there, and the
/// first must not take that for its own. So the first is stopped in between, as often as a watcher
/// is quick enough.
#[test]
fn who_rotates_sees_what_is_put_in_place_a_moment_later() {
    const ROLE: &str = "SEALSTONE_TEST_ROTATES_WHEN_TOLD";
    if let Some(path) = std::env::var_os(ROLE) {
        let key = KeyFile::open(path).unwrap();
        for line in std::io::stdin().lines() {
            match line.unwrap().as_str() {
                "rotate" => println!("\n@{}", key.rotate().unwrap().version),
                _ => println!("\n@{}", key.current().unwrap().0.version),
            }
        }
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let other = KeyFile::create(&path, "orders").unwrap();
    let mut first = Command::new(std::env::current_exe().unwrap())
        .args([
            "who_rotates_sees_what_is_put_in_place_a_moment_later",
            "--exact",
            "--test-threads=1",
            "--nocapture",
        ])
        .env(ROLE, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let process = Pid::from_raw(first.id().try_into().unwrap());
    let (mut commands, answers) =
        (first.stdin.take().unwrap(), BufReader::new(first.stdout.take().unwrap()));
    let mut answers =
        answers.lines().filter_map(|line| line.unwrap().strip_prefix('@')?.parse::<u32>().ok());
    // it has opened the file
    writeln!(commands, "current").unwrap();
    assert_eq!(answers.next(), Some(1));
    for round in 1..=20 {
        let before = fs::metadata(&path).unwrap().ino();
        writeln!(commands, "rotate").unwrap();
        while fs::metadata(&path).unwrap().ino() == before {}
        kill(process, Signal::SIGSTOP).unwrap();
        assert_eq!(other.rotate().unwrap(), orders(2 * round + 1));
        kill(process, Signal::SIGCONT).unwrap();
        assert_eq!(answers.next(), Some(2 * round));
        writeln!(commands, "current").unwrap();
        assert_eq!(answers.next(), Some(2 * round + 1), "round {round}");
    }
    drop(commands);
    assert!(first.wait().unwrap().success());
}
