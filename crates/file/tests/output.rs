//! Files are made whole, and nothing prepared by others is written into: existing files are
//! replaced by name or refused, and a killed process leaves the old content or the new.

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;
use nix::unistd::{geteuid, mkfifo};
use sealstone_file::output::{self, Access, ENDING, Output};
use sealstone_file::{own_directory, trust};
use tempfile::tempdir;

/// A user who is not root, and whom every system has.
const NOBODY: u32 = 65534;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

fn is_root(test: &str) -> bool {
    let root = geteuid().is_root();
    if !root {
        println!("SKIP: {test}: another user's files take root to make");
    }
    root
}

#[test]
fn a_file_appears_when_it_is_whole() {
    let dir = tempdir().unwrap();
    let target = dir.path().join("out");
    let mut half = Output::replace(&target, Access::Private).unwrap();
    half.write_all(b"half").unwrap();
    let [partial] = names(dir.path()).try_into().unwrap();
    assert!(partial.starts_with(".out.") && partial.ends_with(ENDING), "{partial}");
    assert_eq!(mode(&dir.path().join(&partial)), 0o600);
    drop(half);
    assert_eq!(names(dir.path()), [""; 0]);
    output::replace(&target, Access::Private, b"old").unwrap();
    let inode = fs::metadata(&target).unwrap().ino();
    output::replace(&target, Access::Usual, b"new").unwrap();
    assert_ne!(fs::metadata(&target).unwrap().ino(), inode);
    assert_eq!(fs::read(&target).unwrap(), b"new");
    assert_eq!(names(dir.path()), ["out"]);
    output::replace(&target, Access::Mode(0o640), b"newer").unwrap();
    assert_eq!(mode(&target), 0o640);
    // a bare name is in the current directory, a long name has room for the added part
    assert!(output::check_replaceable(Path::new("Cargo.toml"), Access::Usual).is_ok());
    output::replace(&dir.path().join("n".repeat(255)), Access::Usual, b"x").unwrap();
}

#[test]
fn what_is_there_already_stays_where_a_new_file_is_wanted() {
    let dir = tempdir().unwrap();
    let target = dir.path().join("out");
    output::create(&target, Access::Private, b"first").unwrap();
    assert_eq!(
        output::create(&target, Access::Private, b"second").unwrap_err().kind(),
        ErrorKind::AlreadyExists
    );
    symlink("nowhere", dir.path().join("dangling")).unwrap();
    let error = output::create(&dir.path().join("dangling"), Access::Private, b"x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    // made while the other one was being written
    let late = dir.path().join("late");
    let mut output = Output::new_file(&late, Access::Usual).unwrap();
    output.write_all(b"slow").unwrap();
    fs::write(&late, "quick").unwrap();
    assert_eq!(output.commit().unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&late).unwrap(), b"quick");
    assert_eq!(fs::read(&target).unwrap(), b"first");
    assert_eq!(names(dir.path()), ["dangling", "late", "out"]);
}

#[test]
fn only_a_file_is_replaced() {
    let dir = tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("dir")).unwrap();
    mkfifo(&at("fifo"), Mode::S_IRWXU).unwrap();
    let _socket = UnixListener::bind(at("socket")).unwrap();
    fs::write(at("victim"), "precious").unwrap();
    symlink("victim", at("link")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    symlink("/dev/stdout", at("stdout")).unwrap();
    let before = names(dir.path());
    for (name, words) in [
        ("dir", "it is a directory, and only a file can be replaced"),
        ("dir/", "it is the name of a directory"),
        ("new/", "it is the name of a directory"),
        ("dir/..", "it is the name of a directory"),
        ("fifo", "it is a FIFO (a pipe), and only a file can be replaced"),
        ("socket", "it is a socket, and only a file can be replaced"),
        ("link", "it is a symbolic link to victim, and links are not written through"),
        ("dangling", "it is a symbolic link to nowhere, and links are not written through"),
        ("stdout", "it is a symbolic link to /dev/stdout, and links are not written through"),
        (
            "/dev/stdout",
            "it is a symbolic link to /proc/self/fd/1, and links are not written through",
        ),
        ("/dev/null", "it is a character device, and only a file can be replaced"),
    ] {
        for access in [Access::Private, Access::Usual] {
            let error = output::replace(&at(name), access, b"x").unwrap_err().to_string();
            assert_eq!(error.lines().next(), Some(words), "{name}");
            assert!(error.lines().count() == 2, "{name}: {error}");
        }
    }
    assert_eq!(fs::read(at("victim")).unwrap(), b"precious");
    assert_eq!(names(dir.path()), before);
    // put there while the file was being written: the name is replaced, and what the link leads to
    // is not
    let mut output = Output::replace(&at("late"), Access::Private).unwrap();
    output.write_all(b"clear").unwrap();
    symlink("victim", at("late")).unwrap();
    assert!(output.commit().unwrap_err().to_string().contains("it is a symbolic link to victim"));
    assert_eq!(fs::read(at("victim")).unwrap(), b"precious");
}

#[test]
fn another_name_of_a_file_keeps_its_content() {
    let dir = tempdir().unwrap();
    let [target, other] = ["out", "other"].map(|name| dir.path().join(name));
    fs::write(&other, "precious").unwrap();
    fs::hard_link(&other, &target).unwrap();
    output::replace(&target, Access::Private, b"new").unwrap();
    assert_eq!(fs::read(&other).unwrap(), b"precious");
    assert_eq!((mode(&target), fs::metadata(&target).unwrap().nlink()), (0o600, 1));
}

#[test]
fn what_was_prepared_under_a_name_of_an_unfinished_file_is_not_written_into() {
    let dir = tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let prepared = format!(".out.{}{ENDING}", "0".repeat(16));
    // the name used by a run of an earlier version, and possible names of this version
    fs::write(at(&format!(".out{ENDING}")), "").unwrap();
    fs::set_permissions(at(&format!(".out{ENDING}")), Permissions::from_mode(0o666)).unwrap();
    let mut spy = File::open(at(&format!(".out{ENDING}"))).unwrap();
    mkfifo(&at(&prepared), Mode::S_IRWXU).unwrap();
    fs::write(at("victim"), "precious").unwrap();
    symlink("victim", at(&prepared.replace('0', "1"))).unwrap();
    fs::create_dir(at(&prepared.replace('0', "2"))).unwrap();
    output::replace(&at("out"), Access::Private, b"clear values").unwrap();
    assert_eq!((fs::read(at("out")).unwrap(), mode(&at("out"))), (b"clear values".to_vec(), 0o600));
    let mut seen = String::new();
    spy.read_to_string(&mut seen).unwrap();
    assert_eq!((seen.as_str(), fs::read(at("victim")).unwrap()), ("", b"precious".to_vec()));
}

#[test]
fn the_next_run_removes_what_a_killed_one_left_and_notices_a_running_one() {
    let dir = tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let left = format!(".out.{}{ENDING}", "a".repeat(16));
    let of_another = format!(".other.{}{ENDING}", "a".repeat(16));
    fs::write(at(&left), "half of it").unwrap();
    fs::write(at(&of_another), "half of it").unwrap();
    let first = Output::replace(&at("out"), Access::Private).unwrap();
    assert!(!first.is_contended());
    assert_eq!(names(dir.path()).len(), 2, "{:?}", names(dir.path()));
    let second = Output::replace(&at("out"), Access::Private).unwrap();
    assert!(second.is_contended());
    drop(second);
    first.commit().unwrap();
    assert!(!Output::replace(&at("out"), Access::Private).unwrap().is_contended());
    assert_eq!(names(dir.path()), [of_another, "out".into()]);
}

#[test]
fn an_unfinished_file_that_is_exchanged_is_not_put_in_place() {
    let dir = tempdir().unwrap();
    let target = dir.path().join("out");
    let mut output = Output::replace(&target, Access::Private).unwrap();
    output.write_all(b"clear").unwrap();
    let [partial] = names(dir.path()).try_into().unwrap();
    fs::remove_file(dir.path().join(&partial)).unwrap();
    fs::write(dir.path().join(&partial), "false").unwrap();
    let error = output.commit().unwrap_err().to_string();
    assert!(
        error.starts_with("somebody removed or replaced ") && error.contains(&partial),
        "{error}"
    );
    assert!(!target.exists());
}

/// As soon as a file is in its place, the next may take it: the writer of the first has written it.
#[test]
fn writers_of_one_private_file_do_not_take_each_other_for_attackers() {
    let dir = tempdir().unwrap();
    let target = dir.path().join("f");
    let replace = |bytes: &[u8]| output::replace(&target, Access::Private, bytes);
    std::thread::scope(|scope| {
        for byte in b'a'..b'e' {
            scope.spawn(move || (0..1000).for_each(|_| replace(&[byte; 8]).unwrap()));
        }
    });
    let found = fs::read(&target).unwrap();
    assert_eq!(found, [found[0]; 8]);
    assert_eq!(names(dir.path()), ["f"]);
}

#[test]
fn the_mode_is_as_it_was_asked_for_whatever_the_umask() {
    // in a separate process, since the umask is per process
    const CHILD: &str = "SEALSTONE_TEST_UMASK";
    let Some(dir) = std::env::var_os(CHILD).map(PathBuf::from) else {
        let dir = tempdir().unwrap();
        let name = "the_mode_is_as_it_was_asked_for_whatever_the_umask";
        let test = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(CHILD, dir.path())
            .stdout(Stdio::null())
            .status();
        assert!(test.unwrap().success());
        return;
    };
    for (umask, usual) in [(0o000, 0o666), (0o022, 0o644), (0o077, 0o600), (0o777, 0o000)] {
        nix::sys::stat::umask(Mode::from_bits_truncate(umask));
        let at = |name: &str| dir.join(format!("{name}-{umask:o}"));
        output::replace(&at("private"), Access::Private, b"x").unwrap();
        output::replace(&at("usual"), Access::Usual, b"x").unwrap();
        assert_eq!((mode(&at("private")), mode(&at("usual"))), (0o600, usual));
    }
}

#[test]
fn a_private_file_is_not_put_where_everybody_may_replace_it() {
    let dir = tempdir().unwrap();
    let target = dir.path().join("out");
    fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
    let error = output::replace(&target, Access::Private, b"x").unwrap_err().to_string();
    assert!(error.contains("everybody may put another file in its place"), "{error}");
    output::replace(&target, Access::Usual, b"x").unwrap();
    assert!(
        trust::check_place(&target).unwrap_err().to_string().contains("has mode 0777\nallow that")
    );
    fs::set_permissions(dir.path(), Permissions::from_mode(0o1777)).unwrap();
    output::replace(&target, Access::Private, b"x").unwrap();
    trust::check_place(&target).unwrap();
}

#[test]
fn a_file_in_another_users_directory_is_not_trusted() {
    if !is_root("a_file_in_another_users_directory_is_not_trusted") {
        return;
    }
    let dir = tempdir().unwrap();
    let (theirs, ours) = (dir.path().join("theirs"), dir.path().join("ours"));
    fs::create_dir(&theirs).unwrap();
    fs::create_dir(&ours).unwrap();
    fs::write(theirs.join("file"), "ours").unwrap();
    symlink("../theirs/file", ours.join("link")).unwrap();
    trust::check(&theirs.join("file")).unwrap();
    for mode in [0o700, 0o1777] {
        fs::set_permissions(&theirs, Permissions::from_mode(mode)).unwrap();
        chown(&theirs, Some(NOBODY), Some(NOBODY)).unwrap();
        for path in [theirs.join("file"), ours.join("link")] {
            let error = trust::check(&path).unwrap_err().to_string();
            assert!(error.starts_with("user 65534 may put another file in its place"), "{error}");
            assert!(error.ends_with("keep it in a directory of your own, or of root"), "{error}");
        }
    }
}

#[test]
fn another_users_file_is_not_replaced() {
    if !is_root("another_users_file_is_not_replaced") {
        return;
    }
    let dir = tempdir().unwrap();
    let target = dir.path().join("out");
    fs::write(&target, "theirs").unwrap();
    chown(&target, Some(NOBODY), Some(NOBODY)).unwrap();
    let error = output::replace(&target, Access::Private, b"ours").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(
        error
            .to_string()
            .starts_with("it belongs to user 65534, and the new one would be of user 0"),
        "{error}"
    );
    assert_eq!(fs::read(&target).unwrap(), b"theirs");
    // on purpose, and then it keeps its owner
    let mut output = Output::replace_for(&target, Access::Private, NOBODY, NOBODY).unwrap();
    output.write_all(b"ours").unwrap();
    output.commit().unwrap();
    let found = fs::metadata(&target).unwrap();
    assert_eq!(
        (found.uid(), found.gid(), fs::read(&target).unwrap()),
        (NOBODY, NOBODY, b"ours".to_vec())
    );
    // an unfinished file of another user is not one that a killed run of ours left
    let left = dir.path().join(format!(".new.{}{ENDING}", "a".repeat(16)));
    fs::write(&left, "theirs").unwrap();
    chown(&left, Some(NOBODY), None).unwrap();
    output::replace(&dir.path().join("new"), Access::Private, b"ours").unwrap();
    assert_eq!(fs::read(&left).unwrap(), b"theirs");
}

#[test]
fn only_an_own_directory_is_taken() {
    let dir = tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    assert!(own_directory(&at("new")).unwrap().1);
    assert_eq!(mode(&at("new")), 0o700);
    assert!(!own_directory(&at("new/")).unwrap().1);
    symlink("new", at("link")).unwrap();
    fs::write(at("file"), "").unwrap();
    mkfifo(&at("fifo"), Mode::S_IRWXU).unwrap();
    for (name, words) in [
        ("link", "it is a symbolic link to new"),
        ("link/", "it is a symbolic link to new"),
        ("file", "it is a file, not a directory"),
        ("fifo", "it is a FIFO (a pipe), not a directory"),
    ] {
        let error = own_directory(&at(name)).unwrap_err().to_string();
        assert!(error.starts_with(words), "{name}: {error}");
    }
    if is_root("only_an_own_directory_is_taken") {
        chown(at("new"), Some(NOBODY), None).unwrap();
        let error = own_directory(&at("new")).unwrap_err().to_string();
        assert!(error.starts_with("it belongs to user 65534"), "{error}");
    }
}

#[test]
fn a_file_that_others_may_change_is_not_trusted() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("plan.toml");
    fs::write(&path, "key = \"a.key\"").unwrap();
    for (mode, trusted) in
        [(0o600, true), (0o644, true), (0o664, true), (0o666, false), (0o602, false)]
    {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let read = trust::read_to_string(&path);
        assert_eq!(read.is_ok(), trusted, "{mode:o}");
        if let Err(error) = read {
            assert_eq!(
                error.to_string(),
                format!(
                    "everybody may write to it (mode {mode:04o})\nallow that to its owner alone, \
                     with: chmod o-w FILE"
                )
            );
        }
    }
    if is_root("a_file_that_others_may_change_is_not_trusted") {
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        lchown(&path, Some(NOBODY), None).unwrap();
        let error = trust::read_to_string(&path).unwrap_err().to_string();
        assert!(
            error.starts_with("it belongs to user 65534, who may change it (you are user 0)\n"),
            "{error}"
        );
    }
}

/// Length of what the child writes over and over: each time `bytes` of one letter.
const BYTES: usize = 3 << 20;
const WRITER: &str = "SEALSTONE_TEST_WRITER";

/// The child of the next test: writes until it is killed. Alone it does nothing.
#[test]
fn writer() {
    let Some(target) = std::env::var_os(WRITER).map(PathBuf::from) else { return };
    for letter in (b'a'..=b'z').cycle() {
        output::replace(&target, Access::Private, &vec![letter; BYTES]).unwrap();
    }
}

#[test]
fn a_killed_writer_leaves_the_old_or_the_new_content() {
    let dir = tempdir().unwrap();
    let target = dir.path().join("out");
    output::replace(&target, Access::Private, &vec![b'-'; BYTES]).unwrap();
    let mut left_behind = 0;
    for kill in 0..25_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writer"])
            .env(WRITER, &target)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // once it writes, at a moment that is another one each time
        let begun = Instant::now();
        while names(dir.path()).len() < 2 && begun.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros(kill * 1_700));
        child.kill().unwrap();
        child.wait().unwrap();
        let content = fs::read(&target).unwrap();
        assert_eq!(content.len(), BYTES);
        assert!(content.iter().all(|byte| *byte == content[0]), "a mixture after kill {kill}");
        assert_eq!(mode(&target), 0o600);
        left_behind += names(dir.path()).len() - 1;
    }
    assert!(left_behind > 0, "no kill came in the middle");
    output::replace(&target, Access::Private, b"last").unwrap();
    assert_eq!(names(dir.path()), ["out"]);
}
