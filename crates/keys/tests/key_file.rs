//! The key file as its users meet it: made once, private, and with clear errors.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use sealstone_keys::{KeyError, KeyFile, KeyRef, KeySource, Passphrase};

const HEX: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn write(dir: &Path, text: &str) -> PathBuf {
    write_mode(dir, text.as_bytes(), 0o600)
}

fn write_mode(dir: &Path, bytes: &[u8], mode: u32) -> PathBuf {
    let path = dir.join("test.key");
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

/// Returns a key file of the key `orders` in the given versions, with identical secrets.
fn key_file(versions: &[u32]) -> String {
    let mut text = String::from("format = 1\nid = \"orders\"\n");
    for version in versions {
        text += &format!(
            "\n[[keys]]\nversion = {version}\ncreated = \"2026-01-31T09:00:00Z\"\nsecret = \
             \"{HEX}\"\n"
        );
    }
    text
}

/// Returns the message of the error that opening `text` returns, without the directory, which
/// differs from run to run.
fn refusal(text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let error = KeyFile::open(write(dir.path(), text)).unwrap_err();
    error.to_string().replace(&format!("{}/", dir.path().display()), "")
}

#[test]
fn a_new_key_file_is_private_and_reads_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new.key");
    let made = KeyFile::create(&path, "orders").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);

    let read = KeyFile::open(&path).unwrap();
    let (key, secret) = read.current().unwrap();
    assert_eq!(key, KeyRef { id: "orders".into(), version: 1 });
    assert_eq!(secret.as_bytes(), made.current().unwrap().1.as_bytes());
    assert_eq!(secret.as_bytes(), read.get(&key).unwrap().as_bytes());
    assert_ne!(secret.as_bytes(), &[0; 32]);
    assert_eq!(read.describe(), format!("key file {}", path.display()));

    let (version, created) = read.versions().next().unwrap();
    assert_eq!(version, 1);
    assert!(created.ends_with('Z') && created.len() == "2026-01-31T09:00:00Z".len(), "{created}");
}

#[test]
fn debug_output_shows_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let key = KeyFile::open(write(dir.path(), &key_file(&[1]))).unwrap();
    let shown = format!("{key:?} {:?}", key.current().unwrap());
    assert!(shown.contains("Secret(32 bytes)"));
    // Long enough that no inode number, time or name of a directory holds it by chance.
    assert!(!shown.contains(&HEX[..16]) && !shown.contains("0, 1, 2, 3"), "{shown}");
}

#[test]
fn nothing_is_ever_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), "precious");
    let error = KeyFile::create(&path, "orders").unwrap_err();
    assert!(matches!(error, KeyError::Exists { .. }));
    assert!(error.to_string().contains("exists already and was left as it is"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"precious");

    let link = dir.path().join("link.key");
    symlink(dir.path().join("nowhere"), &link).unwrap();
    assert!(matches!(KeyFile::create(&link, "orders").unwrap_err(), KeyError::Exists { .. }));
    assert!(!dir.path().join("nowhere").exists());
}

#[test]
fn a_key_file_that_cannot_be_made_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("missing/new.key");
    let error = KeyFile::create(&path, "orders").unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot create key file {}: ", path.display())), "{error}");
    assert!(matches!(
        KeyFile::create(dir.path().join("x.key"), "two words"),
        Err(KeyError::BadId { .. })
    ));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_key_file_that_everybody_may_replace_is_neither_made_nor_taken() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("orders.key");
    KeyFile::create(&path, "orders").unwrap();
    fs::create_dir(dir.path().join("own")).unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let link = dir.path().join("own/link.key");
    symlink(&path, &link).unwrap();
    let words = format!(
        "everybody may put another file in its place: the directory {0} has mode 0777\n\
         allow that to its owner alone, with: chmod o-w {0}",
        dir.path().display()
    );
    for named in [&path, &link] {
        let error = KeyFile::open(named).unwrap_err().to_string();
        assert_eq!(error, format!("key file {}: {words}", named.display()));
    }
    let new = dir.path().join("new.key");
    let error = KeyFile::create(&new, "orders").unwrap_err().to_string();
    assert_eq!(error, format!("cannot create key file {}: {words}", new.display()));
    assert!(!new.exists());
    // as /tmp is: only the owner of a file may replace it
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    KeyFile::open(&link).unwrap().rotate().unwrap();
}

#[test]
fn a_file_open_to_others_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for mode in [0o640, 0o604, 0o620, 0o644, 0o660, 0o601, 0o777] {
        let path = write_mode(dir.path(), key_file(&[1]).as_bytes(), mode);
        let error = KeyFile::open(&path).unwrap_err();
        assert!(
            matches!(error, KeyError::Permissions { mode: found, .. } if found == mode),
            "{mode:o}: {error}"
        );
        let want = format!(
            "is open to users other than its owner (mode {mode:04o})\nrestrict it with: chmod 600 "
        );
        assert!(error.to_string().contains(&want), "{error}");
    }
    for mode in [0o600, 0o400] {
        KeyFile::open(write_mode(dir.path(), key_file(&[1]).as_bytes(), mode)).unwrap();
        fs::set_permissions(dir.path().join("test.key"), fs::Permissions::from_mode(0o600))
            .unwrap();
    }
}

/// The owner of the file can read it whatever the mode, and can put another key into it.
#[test]
fn a_file_of_another_user_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), &key_file(&[1]));
    let user = fs::metadata(&path).unwrap().uid();
    KeyFile::open(&path).unwrap();
    if chown(&path, Some(65534), None).is_err() {
        println!("SKIP: a_file_of_another_user_is_refused: only the superuser may give files away");
        return;
    }
    let shown = path.display();
    let want = format!(
        "key file {shown} belongs to user 65534, and this process runs as user {user}\n\
         run this as user 65534, or give the file to its reader with: chown {user} {shown}; if \
         user 65534 should not have it, rotate the key"
    );
    assert_eq!(KeyFile::open(&path).unwrap_err().to_string(), want);
    // an audit by the superuser shows whose it is
    assert_eq!(KeyFile::inspect(&path).unwrap().versions.len(), 1);
    chown(&path, Some(user), None).unwrap();
    KeyFile::open(&path).unwrap();
}

#[test]
fn a_missing_file_says_how_to_make_one() {
    let error = KeyFile::open("/nonexistent/x.key").unwrap_err().to_string();
    assert_eq!(
        error,
        "no key file at /nonexistent/x.key\n\
         name the right one, or put it back from its copy: what is sealed under a key opens with \
         no other"
    );
}

#[test]
fn the_newest_version_is_current_and_older_ones_stay() {
    let dir = tempfile::tempdir().unwrap();
    let other = HEX.replace("00", "ff");
    let text = key_file(&[3, 1]).replacen(HEX, &other, 1);
    let key = KeyFile::open(write(dir.path(), &text)).unwrap();
    let (current, secret) = key.current().unwrap();
    assert_eq!((current.version, secret.as_bytes()[0]), (3, 0xff));
    let older = key.get(&KeyRef { id: "orders".into(), version: 1 }).unwrap();
    assert_eq!(older.as_bytes()[..4], [0, 1, 2, 3]);
    assert_eq!(key.versions().map(|(version, _)| version).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn an_absent_key_is_reported_with_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), &key_file(&[1, 2]));
    let key = KeyFile::open(&path).unwrap();
    let place = path.display();
    let message =
        |id: &str, version| key.get(&KeyRef { id: id.into(), version }).unwrap_err().to_string();
    assert_eq!(
        message("orders", 4),
        format!(
            "key orders version 4 not found in key file {place} (it has versions 1, 2)\n\
             this key file is older than the data; take the one made by the latest rotation"
        )
    );
    assert_eq!(
        message("wages", 1),
        format!(
            "key wages version 1 not found in key file {place} (it holds key orders)\n\
             give the key file or server that holds key wages"
        )
    );
    let path = write(dir.path(), &key_file(&[7]));
    let error =
        KeyFile::open(&path).unwrap().get(&KeyRef { id: "orders".into(), version: 6 }).unwrap_err();
    assert!(error.to_string().ends_with(
        "(it has version 7)\nthis version was removed; restore the key file that still holds it"
    ));
}

#[test]
fn garbled_files_are_refused_with_the_line_and_without_the_secret() {
    let good = key_file(&[1]);
    let bad_line = |line: usize| {
        format!(
            "key file test.key, line {line}: not the contents of a key file\n\
             restore it from a copy; a key file cannot be repaired by hand"
        )
    };
    assert_eq!(refusal(&good.replace(HEX, &HEX[1..])), bad_line(7));
    assert_eq!(refusal(&good.replace(HEX, &HEX.replace("0f", "0g"))), bad_line(7));
    assert_eq!(refusal(&good.replace(&format!("\"{HEX}\""), "17")), bad_line(7));
    assert_eq!(refusal(&good.replace("version = 1", &format!("version = \"{HEX}\""))), bad_line(5));
    assert_eq!(refusal(&good.replace("version = 1", "version = -1")), bad_line(5));
    assert_eq!(refusal(&good.replace("version = 1", "version = 4294967296")), bad_line(5));
    assert_eq!(refusal(&good.replace("created", HEX)), bad_line(6));
    assert_eq!(refusal(&good.replace(&format!("\"{HEX}\""), &format!("\"{HEX}"))), bad_line(7));
    assert!(refusal(&good.replace("format = 1", "")).starts_with("key file test.key, line 1"));

    for text in [
        good.replace(HEX, &HEX[1..]),
        good.replace("version = 1", &format!("version = \"{HEX}\"")),
        good.replace("secret =", &format!("secret{HEX} =")),
        good.replace("created =", &format!("{HEX} =")),
        format!("{good}{HEX}"),
        format!("{good}\n[{HEX}]\n"),
        format!("{good}secret = \"{HEX}\"\n"),
        good.replace("id = \"orders\"", &format!("id = \"{HEX}{HEX}\"")),
    ] {
        let message = refusal(&text);
        assert!(!message.contains("08090a0b"), "the message shows the key: {message}");
    }
}

#[test]
fn contradictions_are_refused() {
    let good = key_file(&[1]);
    let starts = |text: &str, want: &str| {
        let message = refusal(text);
        assert!(message.starts_with(&format!("key file test.key: {want}")), "{message}");
    };
    starts("format = 1\nid = \"orders\"\n", "it holds no key");
    starts(&key_file(&[0]), "a key has version 0");
    starts(&key_file(&[2, 1, 2]), "version 2 is listed twice");
    starts(&good.replace("orders", "two words"), "not a key id: it holds ' '");
    starts(&good.replace("format = 1", "format = 0"), "format 0 was never used");
    assert_eq!(
        refusal("format = 5\nwhatever = true\n"),
        "key file test.key has format 5, this program knows format 4\n\
         use the version of sealstone that wrote it, or a newer one"
    );
}

#[test]
fn what_is_no_file_or_no_text_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(
        KeyFile::open(dir.path())
            .unwrap_err()
            .to_string()
            .contains("it is a directory, not a file\nname a file")
    );
    let fifo = dir.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(
        KeyFile::open(&fifo).unwrap_err().to_string().contains("it is a FIFO (a pipe), not a file")
    );
    let error = Passphrase::from_file(&fifo).unwrap_err().to_string();
    assert!(error.contains("it is a FIFO (a pipe), not a file"), "{error}");
    let path = write_mode(dir.path(), &[0xff, 0xfe, 0x80], 0o600);
    assert!(KeyFile::open(&path).unwrap_err().to_string().contains("not a text file"));
    let path = write_mode(dir.path(), &vec![b'#'; 70_000], 0o600);
    assert!(
        KeyFile::open(&path)
            .unwrap_err()
            .to_string()
            .contains("70000 bytes, a key file has at most 65536")
    );
    assert!(KeyFile::open(write(dir.path(), "")).is_err());
}
