//! Key files with several holders: each opens the file with their own passphrase, none can be
//! added, exchanged, put back or left out unnoticed, and a removed holder opens no later file.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sealstone_keys::{
    Cost, HOLDERS_MAX, KeyError, KeyFile, KeyRef, KeySource, Passphrase, Protect,
};
use tempfile::TempDir;

/// So that tests are quick.
const LOW: Cost = Cost { memory_kib: 8, passes: 1, lanes: 1 };

fn passphrase(text: &str) -> Passphrase {
    Passphrase::new(text.into(), "the test").unwrap()
}

fn open(path: &Path, text: &str) -> Result<KeyFile, KeyError> {
    KeyFile::open_with(path, &|_| Ok(passphrase(text)))
}

fn open_as(path: &Path, text: &str, holder: &str) -> Result<KeyFile, KeyError> {
    KeyFile::open_with(path, &|_| Ok(passphrase(text).of(Some(holder.into()))))
}

fn orders(version: u32) -> KeyRef {
    KeyRef { id: "orders".into(), version }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Returns a file of alice and bob, with passphrases `alice's` and `bob's`.
fn shared() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let key = KeyFile::create_protected(&path, "orders", &passphrase("alice's"), LOW).unwrap();
    key.add_holder("bob", &passphrase("bob's"), LOW, "alice").unwrap();
    (dir, path)
}

fn names(path: &Path) -> Vec<String> {
    KeyFile::inspect(path).unwrap().holders.into_iter().map(|holder| holder.name.unwrap()).collect()
}

/// Returns the parts of a file: the text before the first `[[holders]]`, then each holder and each
/// version.
fn parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        if line.starts_with("[[") {
            parts.push(String::new());
        }
        *parts.last_mut().unwrap() += &format!("{line}\n");
    }
    parts
}

fn is_wrong(result: Result<KeyFile, KeyError>) -> bool {
    matches!(result, Err(KeyError::WrongPassphrase { .. }))
}

#[test]
fn each_holder_opens_the_same_key() {
    let (_dir, path) = shared();
    let secret = *open(&path, "alice's").unwrap().current().unwrap().1.as_bytes();
    for (text, name) in [("alice's", "alice"), ("bob's", "bob")] {
        assert_eq!(open(&path, text).unwrap().current().unwrap().1.as_bytes(), &secret);
        assert_eq!(open_as(&path, text, name).unwrap().current().unwrap().1.as_bytes(), &secret);
    }
    // the same error for every holder
    let message = |result: Result<KeyFile, KeyError>| result.unwrap_err().to_string();
    let wrong = message(open(&path, "carol's"));
    assert!(
        wrong.starts_with("the passphrase does not open key file ") && !wrong.contains("bob"),
        "{wrong}"
    );
    assert_eq!(message(open_as(&path, "alice's", "bob")), wrong);
    assert_eq!(
        message(open_as(&path, "bob's", "carol")),
        format!(
            "key file {0} has no holder carol (it has alice, bob)\n\
             take one of these names; sealstone keys show {0} lists them",
            path.display()
        )
    );
    let shown = format!("{:?}", open(&path, "bob's").unwrap());
    assert!(shown.contains("bob") && !shown.contains("bob's"), "{shown}");
    assert_eq!(names(&path), ["alice", "bob"]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
}

#[test]
fn what_changes_the_key_keeps_all_holders() {
    let (dir, path) = shared();
    let (alice, bob) = (open(&path, "alice's").unwrap(), open(&path, "bob's").unwrap());
    assert_eq!(bob.rotate().unwrap(), orders(2));
    assert_eq!(alice.rotate().unwrap(), orders(3));
    let copy = bob.export(Some(1), dir.path().join("one.key"), None).unwrap();
    alice.retire(1).unwrap();
    assert_eq!(bob.import(&copy, None).unwrap(), [1]);
    assert_eq!(names(&path), ["alice", "bob"]);
    // neither a process that has it open nor a new process needs the other
    for key in [alice, bob, open(&path, "alice's").unwrap(), open(&path, "bob's").unwrap()] {
        let versions: Vec<u32> = key.all().unwrap().iter().map(|(key, _)| key.version).collect();
        assert_eq!(versions, [1, 2, 3]);
    }
}

#[test]
fn no_byte_of_it_can_be_changed() {
    let (_dir, path) = shared();
    open(&path, "bob's").unwrap().rotate().unwrap();
    let good = fs::read(&path).unwrap();
    // remarks mean nothing
    let start = good.windows(6).position(|bytes| bytes == b"format").unwrap();
    for at in start..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        for text in ["alice's", "bob's"] {
            match open(&path, text) {
                // the last line's end may be missing
                Ok(_) => panic!(
                    "byte {at} can be changed: {:?}",
                    String::from_utf8_lossy(&bytes[at - 20..at + 5])
                ),
                Err(
                    KeyError::WrongPassphrase { .. }
                    | KeyError::Garbled { .. }
                    | KeyError::NewerFormat { .. },
                ) => {}
                Err(other) => panic!("byte {at}: {other}"),
            }
        }
    }
    // format 3 read as 2, and cut short anywhere
    for end in (0..good.len() - 1).step_by(7) {
        fs::write(&path, &good[..end]).unwrap();
        assert!(
            matches!(
                open(&path, "bob's"),
                Err(KeyError::WrongPassphrase { .. } | KeyError::Garbled { .. })
            ),
            "{end}"
        );
    }
    fs::write(&path, &good).unwrap();
    open(&path, "bob's").unwrap();
}

#[test]
fn no_holder_can_be_left_out_exchanged_or_put_back() {
    let (dir, path) = shared();
    let alice = open(&path, "alice's").unwrap();
    let old = fs::read_to_string(&path).unwrap();
    alice.add_holder("carol", &passphrase("carol's"), LOW, "nobody").unwrap();
    let good = fs::read_to_string(&path).unwrap();
    let [head, a, b, c, key] = parts(&good).try_into().unwrap();
    let refused = |list: &[&str]| {
        write(&path, &list.concat());
        ["alice's", "bob's", "carol's"].into_iter().all(|text| is_wrong(open(&path, text)))
    };
    assert!(refused(&[&head, &a, &b, &key]) && refused(&[&head, &b, &c, &key]), "left out");
    assert!(refused(&[&head, &b, &a, &c, &key]), "in another order");
    // an entry as it was before: the file key is another one
    let [_, old_a, old_b, old_key] = parts(&old).try_into().unwrap();
    assert!(
        refused(&[&head, &old_a, &b, &c, &key]) && refused(&[&head, &a, &b, &c, &old_key]),
        "put back"
    );
    // two holders under each other's name, with and without their passphrases
    let renamed = |part: &str, old: &str, new: &str| {
        part.replace(&format!("\"{old}\""), &format!("\"{new}\""))
    };
    assert!(
        refused(&[&head, &renamed(&a, "alice", "bob"), &renamed(&b, "bob", "alice"), &c, &key]),
        "renamed"
    );
    // the same holders, in a file of another key, and of another key of the same name
    for id in ["wages", "orders"] {
        let other = dir.path().join(format!("{id}.key"));
        let made = KeyFile::create_protected(&other, id, &passphrase("alice's"), LOW).unwrap();
        made.add_holder("bob", &passphrase("bob's"), LOW, "alice").unwrap();
        let [other_head, other_a, other_b, other_key] =
            parts(&fs::read_to_string(&other).unwrap()).try_into().unwrap();
        write(&other, &[&other_head[..], &old_a, &old_b, &other_key].concat());
        assert!(
            is_wrong(open(&other, "alice's")) && is_wrong(open(&other, "bob's")),
            "{id}: moved together"
        );
        write(&other, &[&other_head[..], &other_a, &old_b, &other_key].concat());
        assert!(
            is_wrong(open(&other, "alice's")) && is_wrong(open(&other, "bob's")),
            "{id}: moved"
        );
        write(&other, &[&head[..], &other_a, &other_b, &old_key].concat());
        assert!(
            is_wrong(open(&other, "alice's")) && is_wrong(open(&other, "bob's")),
            "{id}: the key moved"
        );
    }
    write(&path, &[&head[..], &a, &b, &c, &key].concat());
    open(&path, "carol's").unwrap();
}

#[test]
fn a_removed_holder_opens_no_later_file() {
    let (_dir, path) = shared();
    let (alice, bob) = (open(&path, "alice's").unwrap(), open(&path, "bob's").unwrap());
    let before = fs::read_to_string(&path).unwrap();
    assert!(matches!(alice.remove_holder("carol"), Err(KeyError::NoHolder { .. })));
    alice.remove_holder("bob").unwrap();
    assert!(is_wrong(open(&path, "bob's")));
    assert!(matches!(bob.current(), Err(KeyError::ProtectionChanged { .. })));
    assert!(matches!(bob.rotate(), Err(KeyError::ProtectionChanged { .. })));
    alice.rotate().unwrap();
    // with their old entry, and with everything wrapped to them
    let after = fs::read_to_string(&path).unwrap();
    let [head, a, first, second] = parts(&after).try_into().unwrap();
    let [_, _, old_b, _] = parts(&before).try_into().unwrap();
    write(&path, &[head, a, old_b, first, second].concat());
    assert!(is_wrong(open(&path, "bob's")) && is_wrong(open(&path, "alice's")));
    // data that stays open to them
    write(&path, &before);
    assert_eq!(open(&path, "bob's").unwrap().current().unwrap().0, orders(1));

    write(&path, &after);
    assert_eq!(
        alice.remove_holder("alice").unwrap_err().to_string(),
        format!(
            "alice is the only holder of key file {0} and stays: nobody could open it any more\n\
             add another holder first, with: sealstone keys holder add {0} --name NAME",
            path.display()
        )
    );
    open(&path, "alice's").unwrap();
}

#[test]
fn a_holder_changes_their_own_passphrase() {
    let (_dir, path) = shared();
    let (alice, bob) = (open(&path, "alice's").unwrap(), open(&path, "bob's").unwrap());
    let another_bob = open(&path, "bob's").unwrap();
    let before = fs::read_to_string(&path).unwrap();
    bob.set_protection(Protect::Passphrase(&passphrase("better"), LOW)).unwrap();
    assert!(is_wrong(open(&path, "bob's")) && is_wrong(open_as(&path, "better", "alice")));
    assert_eq!(open_as(&path, "better", "bob").unwrap().current().unwrap().0, orders(1));
    // the process that changed it goes on, and so do all others except those with the old
    // passphrase
    assert_eq!(bob.rotate().unwrap(), orders(2));
    assert_eq!(alice.current().unwrap().0, orders(2));
    assert!(matches!(another_bob.current(), Err(KeyError::ProtectionChanged { .. })));
    assert!(matches!(
        another_bob.set_protection(Protect::Nothing),
        Err(KeyError::ProtectionChanged { .. })
    ));
    // the private key is another one, too: the old entry opens nothing that was written since
    let [head, a, _, first, second] =
        parts(&fs::read_to_string(&path).unwrap()).try_into().unwrap();
    let after = fs::read_to_string(&path).unwrap();
    let [_, _, old_b, _] = parts(&before).try_into().unwrap();
    write(&path, &[head, a, old_b, first, second].concat());
    assert!(is_wrong(open(&path, "bob's")));
    write(&path, &after);

    assert_eq!(
        alice.set_protection(Protect::Nothing).unwrap_err().to_string(),
        format!(
            "key file {0} has several holders (alice, bob), and would be open without any \
             passphrase\n\
             remove the others first, with: sealstone keys holder remove {0} --name NAME",
            path.display()
        )
    );
    alice.remove_holder("bob").unwrap();
    alice.set_protection(Protect::Nothing).unwrap();
    assert_eq!(KeyFile::open(&path).unwrap().current().unwrap().0, orders(2));
}

#[test]
fn a_passphrase_is_changed_taken_off_and_given() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let key = KeyFile::create(&path, "orders").unwrap();
    let secret = *key.current().unwrap().1.as_bytes();
    let format = || {
        fs::read_to_string(&path)
            .unwrap()
            .lines()
            .find(|line| line.starts_with("format"))
            .unwrap()
            .to_owned()
    };
    let plain = fs::read_to_string(&path).unwrap();
    assert!(matches!(
        key.add_holder("bob", &passphrase("x"), LOW, "owner"),
        Err(KeyError::NothingToShare { .. })
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), plain);

    key.set_protection(Protect::Passphrase(&passphrase("one"), LOW)).unwrap();
    assert_eq!((format().as_str(), key.summary().is_protected()), ("format = 2", true));
    let old = fs::read_to_string(&path).unwrap();
    key.set_protection(Protect::Passphrase(&passphrase("two"), LOW)).unwrap();
    assert!(is_wrong(open(&path, "one")));
    // the salt is drawn again: the key of the old passphrase is useless now
    let salt = |text: &str| text.lines().find(|line| line.starts_with("salt")).unwrap().to_owned();
    assert_ne!(salt(&old), salt(&fs::read_to_string(&path).unwrap()));
    assert_eq!(open(&path, "two").unwrap().current().unwrap().1.as_bytes(), &secret);
    // a copy of the old file, forever
    let copy = dir.path().join("copy.key");
    write(&copy, &old);
    assert_eq!(open(&copy, "one").unwrap().current().unwrap().1.as_bytes(), &secret);
    key.set_protection(Protect::Nothing).unwrap();
    assert_eq!((format().as_str(), key.summary().is_protected()), ("format = 1", false));
    assert_eq!(KeyFile::open(&path).unwrap().current().unwrap().1.as_bytes(), &secret);
}

/// Files of format 2 stay unchanged until somebody shares them, and a process that has one open
/// goes on.
#[test]
fn a_file_becomes_one_of_format_3_when_it_is_first_shared() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let key = KeyFile::create_protected(&path, "orders", &passphrase("one"), LOW).unwrap();
    let (reader, other) = (open(&path, "one").unwrap(), open(&path, "one").unwrap());
    key.rotate().unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("\nformat = 2\n"));
    key.add_holder("bob", &passphrase("bob's"), LOW, "owner").unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("\nformat = 3\n"));
    assert_eq!(names(&path), ["owner", "bob"]);
    assert_eq!(reader.current().unwrap().0, orders(2));
    other.rotate().unwrap();
    assert_eq!(names(&path), ["owner", "bob"]);
    for text in ["one", "bob's"] {
        assert_eq!(open(&path, text).unwrap().current().unwrap().0, orders(3));
    }
    key.remove_holder("bob").unwrap();
    assert!(fs::read_to_string(&path).unwrap().contains("\nformat = 3\n"));
}

/// Everything from which another passphrase or holder could learn changes whenever the file is
/// written.
#[test]
fn the_file_key_is_drawn_anew_at_each_change() {
    let (_dir, path) = shared();
    let alice = open(&path, "alice's").unwrap();
    let fields = || -> Vec<String> {
        let text = fs::read_to_string(&path).unwrap();
        let mut key_fields = text.split("[[keys]]").nth(1).unwrap().lines();
        let wrapped = text
            .lines()
            .filter(|line| line.starts_with("encapsulated") || line.starts_with("file_key"));
        wrapped
            .chain(
                key_fields
                    .by_ref()
                    .filter(|line| line.contains('"') && !line.starts_with("created")),
            )
            .map(String::from)
            .collect()
    };
    let mut seen = fields();
    assert_eq!(seen.len(), 2 * 3 + 3);
    for _ in 0..3 {
        alice.rotate().unwrap();
        let now = fields();
        assert!(now.iter().all(|field| !seen.contains(field)), "{now:?}");
        seen.extend(now);
    }
}

#[test]
fn names_and_numbers_of_holders_are_limited() {
    let (_dir, path) = shared();
    let alice = open(&path, "alice's").unwrap();
    let before = fs::read_to_string(&path).unwrap();
    for bad in ["", "two words", "quo\"te", "line\nbreak", "\u{1b}[31m", &"x".repeat(65)] {
        assert!(
            matches!(
                alice.add_holder(bad, &passphrase("x"), LOW, "owner"),
                Err(KeyError::BadHolder { .. })
            ),
            "{bad:?}"
        );
    }
    assert_eq!(
        alice.add_holder("bob", &passphrase("x"), LOW, "owner").unwrap_err().to_string(),
        format!(
            "key file {0} has a holder bob already\n\
             choose another name, or change that passphrase with: sealstone keys passwd {0} \
             --holder bob",
            path.display()
        )
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    for at in 2..HOLDERS_MAX {
        alice
            .add_holder(
                &format!("holder-{at}@example.com"),
                &passphrase(&format!("{at}")),
                LOW,
                "owner",
            )
            .unwrap();
    }
    assert_eq!(
        alice.add_holder("one-more", &passphrase("x"), LOW, "owner").unwrap_err().to_string(),
        format!(
            "key file {} cannot have these holders: it has 33 holders, at most 32 are allowed\n\
             remove holders who no longer need it",
            path.display()
        )
    );
    open(&path, "31").unwrap();
    // with all of them there is room for more versions than anybody needs
    for _ in 0..80 {
        alice.rotate().unwrap();
    }
    open(&path, "bob's").unwrap();
}

#[test]
fn a_hostile_file_cannot_ask_for_more_work_than_one_passphrase_may() {
    let (_dir, path) = shared();
    let good = fs::read_to_string(&path).unwrap();
    let refused = |text: String| {
        assert_ne!(text, good);
        write(&path, &text);
        // not even the passphrase is requested
        let error = KeyFile::open_with(&path, &|_| panic!("asked")).unwrap_err().to_string();
        error
            .replace(&format!("{}/", path.parent().unwrap().display()), "")
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        refused(good.replace("memory_kib = 8\npasses = 1", "memory_kib = 2097152\npasses = 3")),
        "key file a.key: trying the passphrases of its holders would write 12582912 KiB, at most \
         8388608 are allowed"
    );
    assert_eq!(
        refused(good.replacen("memory_kib = 8", "memory_kib = 4294967295", 1)),
        "key file a.key: its passphrase asks for 4294967295 KiB of memory, at most 2097152 are \
         allowed"
    );
    let [head, a, b, key] = parts(&good).try_into().unwrap();
    assert_eq!(refused([&head[..], &key].concat()), "key file a.key: it has no holder");
    assert_eq!(
        refused([&head[..], &a, &b, &b, &key].concat()),
        "key file a.key: holder bob is listed twice"
    );
    let twin = a.replace("\"alice\"", "\"twin\"");
    assert_eq!(
        refused([&head[..], &a, &twin, &b, &key].concat()),
        "key file a.key: holder twin is listed twice"
    );
    let salt = |at: usize| {
        a.lines()
            .find(|line| line.starts_with("salt"))
            .map(|_| format!("salt = \"{at:032x}\""))
            .unwrap()
    };
    let many: String = (0..33)
        .map(|at| {
            let lines: Vec<String> = a
                .lines()
                .map(|line| match line {
                    line if line.starts_with("name") => format!("name = \"h{at}\""),
                    line if line.starts_with("salt") => salt(at),
                    line => line.to_owned(),
                })
                .collect();
            lines.join("\n") + "\n"
        })
        .collect();
    assert_eq!(
        refused([&head[..], &many, &key].concat()),
        "key file a.key: it has 33 holders, at most 32 are allowed"
    );
    assert!(refused(good.replace("\"bob\"", "\"b\\u001bb\"")).contains("not the name of a holder"));
}

/// Each reads the file under the lock and writes all of it: nobody's change is lost.
#[test]
fn changes_at_once_lose_nothing() {
    const EACH: u32 = 6;
    let (_dir, path) = shared();
    std::thread::scope(|scope| {
        let (rotating, changing, sharing) =
            (open(&path, "alice's"), open(&path, "bob's"), open(&path, "alice's"));
        scope.spawn(move || {
            (0..EACH).for_each(|_| drop(rotating.as_ref().unwrap().rotate().unwrap()))
        });
        scope.spawn(move || {
            for at in 1..=EACH {
                changing
                    .as_ref()
                    .unwrap()
                    .set_protection(Protect::Passphrase(&passphrase(&format!("bob's {at}")), LOW))
                    .unwrap();
            }
        });
        scope.spawn(move || {
            for at in 1..=EACH {
                let name = format!("holder-{at}");
                sharing
                    .as_ref()
                    .unwrap()
                    .add_holder(&name, &passphrase(&name), LOW, "owner")
                    .unwrap();
            }
        });
    });
    let bob = open_as(&path, &format!("bob's {EACH}"), "bob").unwrap();
    assert_eq!(bob.current().unwrap().0, orders(EACH + 1));
    assert_eq!(names(&path).len(), 2 + EACH as usize);
    for at in 1..=EACH {
        assert_eq!(
            open(&path, &format!("holder-{at}")).unwrap().versions().count(),
            EACH as usize + 1
        );
    }
}

/// Two processes that have the file open under one passphrase: the second to change it is refused.
#[test]
fn a_passphrase_is_not_changed_twice_unnoticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.key");
    let first = KeyFile::create_protected(&path, "orders", &passphrase("old"), LOW).unwrap();
    let second = open(&path, "old").unwrap();
    first.set_protection(Protect::Passphrase(&passphrase("first"), LOW)).unwrap();
    let refused = second.set_protection(Protect::Passphrase(&passphrase("second"), LOW));
    assert!(matches!(refused, Err(KeyError::ProtectionChanged { .. })));
    open(&path, "first").unwrap();
}

/// A file that a program in another language wrote, from `docs/formats.md`
/// (`vectors/formats/README.md`).
#[test]
fn files_of_format_3_open() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("golden.key");
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/formats/key-format-3.key");
    write(&path, &fs::read_to_string(golden).unwrap());
    for text in ["sealstone golden", "sealstone golden bob"] {
        let key = open(&path, text).unwrap();
        for (version, want) in [
            (1, "9ceeb2d1e94720259dc5f708f17c03a431dfe1cb6fce6eaa7cc88735819b6d6a"),
            (2, "c9d49c23015ba8c2eb9b0daa0e1e3f29cc6d8d67d394a058d8877989f3f3db7a"),
        ] {
            let secret = key.get(&KeyRef { id: "golden".into(), version }).unwrap();
            let found: String =
                secret.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(found, want, "version {version}");
        }
    }
}
