//! Key files under a passphrase: nothing of them can be read or changed without it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sealstone_keys::{Cost, KeyError, KeyFile, KeyRef, KeySource, Passphrase};

/// So that tests are quick.
const LOW: Cost = Cost { memory_kib: 64, passes: 1, lanes: 1 };

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text.into(), "the test").unwrap()
}

fn open(path: &Path, text: &str) -> Result<KeyFile, KeyError> {
    KeyFile::open_with(path, &|_| Ok(passphrase(text)))
}

fn orders(version: u32) -> KeyRef {
    KeyRef { id: "orders".into(), version }
}

#[test]
fn it_opens_with_its_passphrase_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let made =
        KeyFile::create_protected(&path, "orders", &passphrase("correct horse"), LOW).unwrap();
    let read = open(&path, "correct horse").unwrap();
    assert_eq!(read.current().unwrap().1.as_bytes(), made.current().unwrap().1.as_bytes());
    for wrong in ["correct hors", "correct horse ", "x"] {
        assert_eq!(
            open(&path, wrong).unwrap_err().to_string(),
            format!(
                "the passphrase does not open key file {}: it is the wrong one, or the file was \
                 changed\n\
                 give the passphrase that it has now; if it is the right one, restore the file \
                 from a copy",
                path.display()
            )
        );
    }
    assert_eq!(
        KeyFile::open(&path).unwrap_err().to_string(),
        format!(
            "key file {} is protected by a passphrase, and none was given\n\
             name a file that holds it with passphrase-file or in SEALSTONE_PASSPHRASE_FILE",
            path.display()
        )
    );
    let shown = format!("{read:?}");
    assert!(shown.contains("Secret(32 bytes)") && !shown.contains("correct"), "{shown}");
}

#[test]
fn no_part_of_the_secret_is_in_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let key =
        KeyFile::create_protected(&path, "orders", &passphrase("correct horse"), Cost::default())
            .unwrap();
    let secret: String =
        key.current().unwrap().1.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("format = 2\n")
            && text.contains("memory_kib = 65536\npasses = 3\nlanes = 4\n"),
        "{text}"
    );
    assert!(!text.contains(&secret) && !text.contains("horse"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    // the part it shows without the passphrase
    let summary = KeyFile::inspect(&path).unwrap();
    assert_eq!((summary.id.as_str(), summary.holders[0].cost), ("orders", Cost::default()));
    assert_eq!(summary.versions.len(), 1);
    open(&path, "correct horse").unwrap();
}

#[test]
fn it_changes_under_the_same_passphrase_with_fresh_nonces() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let key =
        KeyFile::create_protected(&path, "orders", &passphrase("correct horse"), LOW).unwrap();
    let (_, first) = key.current().unwrap();
    let reader = open(&path, "correct horse").unwrap();
    let fields = || -> Vec<String> {
        let text = fs::read_to_string(&path).unwrap();
        let fields = text
            .lines()
            .filter(|line| ["nonce", "secret", "tag"].iter().any(|name| line.starts_with(name)));
        fields.map(String::from).collect()
    };
    let before = fields();
    assert_eq!(key.rotate().unwrap(), orders(2));
    let after = fields();
    assert_eq!((before.len(), after.len()), (3, 6));
    assert!(
        before.iter().all(|field| !after.contains(field)),
        "a sealed secret was written twice alike"
    );
    // a process that had it open reads it again without the passphrase
    assert_eq!(reader.current().unwrap().0, orders(2));
    assert_eq!(reader.get(&orders(1)).unwrap().as_bytes(), first.as_bytes());
    key.retire(1).unwrap();
    assert_eq!(open(&path, "correct horse").unwrap().current().unwrap().0, orders(2));
}

#[test]
fn another_passphrase_or_none_is_noticed_by_a_process_that_had_it_open() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let plain = KeyFile::create(dir.path().join("plain.key"), "orders").unwrap();
    let key = plain.export(None, &path, Some((&passphrase("one"), LOW))).unwrap();
    for next in [Some(("two", LOW)), None] {
        fs::remove_file(&path).unwrap();
        let given = next.map(|(text, cost)| (passphrase(text), cost));
        plain.export(None, &path, given.as_ref().map(|(text, cost)| (text, *cost))).unwrap();
        assert_eq!(
            key.current().unwrap_err().to_string(),
            format!(
                "key file {} is protected differently than when this process read it\n\
                 restart with its current passphrase",
                path.display()
            )
        );
        assert!(matches!(key.rotate(), Err(KeyError::ProtectionChanged { .. })));
    }
}

#[test]
fn no_part_of_it_can_be_changed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let key = KeyFile::create_protected(&path, "orders", &passphrase("one"), LOW).unwrap();
    key.rotate().unwrap();
    key.rotate().unwrap();
    let good = fs::read_to_string(&path).unwrap();
    let refused = |text: String| {
        assert_ne!(text, good, "nothing was changed");
        fs::write(&path, text).unwrap();
        open(&path, "one").expect_err("a refusal")
    };
    let wrong = |text: String| assert!(matches!(refused(text), KeyError::WrongPassphrase { .. }));
    wrong(good.replace("id = \"orders\"", "id = \"order\""));
    wrong(good.replace("version = 2", "version = 4"));
    wrong(good.replacen("created = \"2", "created = \"3", 1));
    wrong(good.replace("memory_kib = 64", "memory_kib = 65"));
    wrong(good.replace("passes = 1", "passes = 2"));
    for field in ["salt = \"", "nonce = \"", "secret = \"", "tag = \""] {
        let at = good.find(field).unwrap() + field.len();
        let digit = if &good[at..=at] == "0" { "1" } else { "0" };
        wrong(format!("{}{digit}{}", &good[..at], &good[at + 1..]));
        assert!(matches!(
            refused(good.replacen(field, &format!("{field}0"), 1)),
            KeyError::Garbled { .. }
        ));
    }
    // a version taken out, and two exchanged
    let parts: Vec<&str> = good.split("\n[[keys]]\n").collect();
    assert_eq!(parts.len(), 4);
    wrong([parts[0], parts[1], parts[2]].join("\n[[keys]]\n"));
    wrong([parts[0], parts[2], parts[3]].join("\n[[keys]]\n"));
    wrong(good.replace("version = 1", "version = 9").replace("version = 2", "version = 1"));
    // order alone means nothing
    fs::write(&path, [parts[0], parts[3], parts[1], parts[2]].join("\n[[keys]]\n")).unwrap();
    open(&path, "one").unwrap();
}

#[test]
fn a_hostile_file_cannot_ask_for_memory_or_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    KeyFile::create_protected(&path, "orders", &passphrase("one"), LOW).unwrap();
    let good = fs::read_to_string(&path).unwrap();
    let refused = |old: &str, new: &str| {
        fs::write(&path, good.replace(old, new)).unwrap();
        // not even the passphrase is requested
        let error = KeyFile::open_with(&path, &|_| panic!("asked")).unwrap_err().to_string();
        error.replace(&format!("{}/", dir.path().display()), "").lines().next().unwrap().to_owned()
    };
    assert_eq!(
        refused("memory_kib = 64", "memory_kib = 4294967295"),
        "key file a.key: its passphrase asks for 4294967295 KiB of memory, at most 2097152 are \
         allowed"
    );
    assert_eq!(
        refused("memory_kib = 64\npasses = 1", "memory_kib = 65536\npasses = 1000000"),
        "key file a.key: its passphrase asks for 1000000 passes over 65536 KiB, at most 8388608 \
         KiB in all are allowed"
    );
    assert_eq!(
        refused("memory_kib = 64", "memory_kib = 0"),
        "key file a.key: Argon2id with 0 KiB, 1 passes and 1 lanes is not possible"
    );
    assert_eq!(
        refused("argon2id", "argon2i"),
        "key file a.key, line 7: not the contents of a key file"
    );
    assert_eq!(
        refused("lanes = 1", "lanes = -1"),
        "key file a.key, line 10: not the contents of a key file"
    );
}

#[test]
fn a_passphrase_file_is_one_private_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("passphrase");
    let write = |bytes: &[u8], mode| {
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        Passphrase::from_file(&path)
    };
    let want = passphrase("correct horse");
    for bytes in [&b"correct horse"[..], b"correct horse\n", b"correct horse\r\n"] {
        assert!(write(bytes, 0o600).unwrap().is(&want));
    }
    assert!(!write(b" correct horse", 0o600).unwrap().is(&want));
    let message = |bytes: &[u8], mode| {
        let message = write(bytes, mode).unwrap_err().to_string();
        message.replace(&format!("{}/", dir.path().display()), "")
    };
    let line = "a passphrase is one line of 1 to 1024 bytes";
    assert_eq!(
        message(b"\n", 0o600),
        format!("no passphrase in passphrase file passphrase: it is empty\n{line}")
    );
    assert_eq!(
        message(b"one\ntwo\n", 0o600),
        format!("no passphrase in passphrase file passphrase: more than one line of text\n{line}")
    );
    assert_eq!(
        message(&[b'x'; 1025], 0o600),
        format!("no passphrase in passphrase file passphrase: more than 1024 bytes\n{line}")
    );
    assert!(write(&[b'x'; 1024], 0o600).is_ok());
    assert_eq!(
        message(b"open", 0o640),
        "passphrase file passphrase is open to users other than its owner (mode 0640)\n\
         restrict it with: chmod 600 passphrase; if others may have read it, choose another \
         passphrase"
    );
    fs::remove_file(&path).unwrap();
    let missing = Passphrase::from_file(&path).unwrap_err().to_string();
    assert!(
        missing.starts_with("cannot read passphrase file ") && missing.contains("No such file"),
        "{missing}"
    );
}

/// A file of an earlier build, also read by a program in another language
/// (`vectors/formats/README.md`).
#[test]
fn protected_files_of_format_2_open() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("golden.key");
    fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/formats/key-format-2.key"),
        &path,
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let key = open(&path, "sealstone golden").unwrap();
    for (version, want) in [
        (1, "9ceeb2d1e94720259dc5f708f17c03a431dfe1cb6fce6eaa7cc88735819b6d6a"),
        (2, "c9d49c23015ba8c2eb9b0daa0e1e3f29cc6d8d67d394a058d8877989f3f3db7a"),
    ] {
        let secret = key.get(&KeyRef { id: "golden".into(), version }).unwrap();
        let found: String = secret.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, want, "version {version}");
    }
}
