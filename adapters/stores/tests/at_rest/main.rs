//! Checks that every engine whose files can be sealed must pass, with a toy one beside those in the
//! table.
//! Not here: data of real engines (the tests of their adapters, and `dev/e2e`).

mod toy;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::{EphemeralKey, KeyError, KeyFile, KeyRef, KeySource, Secret};
use sealstone_seal::account::Standing;
use sealstone_seal::paged::PageWriter;
use sealstone_seal::{Layout, SealedFile};
use sealstone_stores::at_rest::{AtRest, Found, Need, Renewal, SealedServer, Sealing, Wanted};
use sealstone_stores::{engines, sealed_server, sealed_servers};

use toy::TOY;

/// Checks what holds of any engine: its names, and its answers about a directory in which it has
/// nothing.
fn conforms(engine: &dyn AtRest) {
    let name = engine.name();
    assert!(!name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase()), "{name}");
    assert!(!engine.product().is_empty(), "{name}");
    let (Renewal::Rewrap(step) | Renewal::Rewrite(step)) = engine.renewal();
    assert!(!step.is_empty(), "{name}");

    let empty = tempfile::tempdir().unwrap();
    assert!(!engine.owns(empty.path()), "{name}");
    let key = KeyRef { id: "orders".into(), version: 1 };
    let secret = || -> Result<Secret, KeyError> { panic!("nothing is sealed") };
    let keys = EphemeralKey::new().unwrap();
    let need = engine.need(empty.path(), &Wanted { key: &key, secret: &secret, keys: &keys });
    assert_eq!(need.unwrap(), Need { sealed_files: 0, found: Found::Nothing }, "{name}");
    let nowhere = empty.path().join("nowhere");
    assert!(!engine.owns(&nowhere), "{name}");
}

/// Returns settings under which a server could be started sealed, with the library at `library`.
fn sealing(library: &Path) -> Sealing {
    Sealing {
        library: library.to_owned(),
        key: "/etc/sealstone/orders.key".into(),
        key_id: "orders".into(),
        cipher: Some(cipher("aria-256").unwrap()),
        accel: None,
        module: None,
        passphrase_file: None,
    }
}

/// Checks what holds of any server besides: its answers about a directory that is none of its, and
/// its options, which name all that it needs to be started sealed.
fn conforms_as_server(server: &dyn SealedServer) {
    let name = server.name();
    let dir = tempfile::tempdir().unwrap();
    assert!(server.account(dir.path()).is_err(), "{name}: an empty directory is none of its");
    let library = dir.path().join("none.so");
    fs::create_dir(&library).unwrap();
    assert!(server.find_library(Some(&library)).is_err(), "{name}: a directory is no library");
    assert!(!server.formats().is_empty(), "{name}");
    let (option, example) = server.data_dir_option();
    assert!(!option.starts_with('-') && Path::new(example).is_absolute(), "{name}");
    assert!(!server.conversion().is_empty() && !server.data_dir_help().is_empty(), "{name}");
    assert!(server.library_variable().starts_with("SEALSTONE_"), "{name}");

    let library = dir.path().join("seal.so");
    fs::write(&library, "x").unwrap();
    assert_eq!(server.find_library(Some(&library)).unwrap(), library, "{name}");
    let sealing = sealing(&library);
    for (format, _) in server.formats() {
        let options = server.options(&sealing, Path::new("/data/of-it"), format).unwrap();
        // some write its directory apart
        for part in ["seal.so", "/etc/sealstone/orders.key", "aria-256", "/data/of-it"] {
            assert!(options.contains(part), "{name}, {format}: no {part} in {options}");
        }
        assert!(options.ends_with('\n'), "{name}, {format}");
    }
    let settings = server.settings(&sealing).unwrap();
    let all: String = settings.iter().map(|(_, value)| value.as_str()).collect();
    assert!(all.contains("/etc/sealstone/orders.key") && all.contains("aria-256"), "{name}: {all}");
    // a value that ends a line would begin a setting of somebody else's
    let hostile = Sealing { key: "/etc/orders.key\nfurther=setting".into(), ..sealing };
    for (format, _) in server.formats() {
        if let Ok(options) = server.options(&hostile, Path::new("/data"), format) {
            assert!(!options.lines().any(|line| line.starts_with("further")), "{name}: {options}");
        }
    }
}

#[test]
fn every_engine_and_server_conforms() {
    let mut names = BTreeSet::new();
    for engine in engines() {
        conforms(engine);
        assert!(names.insert(engine.name()), "{} is there twice", engine.name());
    }
    for server in sealed_servers() {
        conforms_as_server(server);
        let found = sealed_server(server.server_name());
        assert!(found.is_some_and(|found| found.name() == server.name()), "{}", server.name());
    }
}

/// Seals `content` as the file at `path` under the current version of `keys`.
fn seal(path: &Path, content: &[u8], keys: &dyn KeySource) {
    let layout = Layout::Paged { page_bytes: 4096 };
    let aria = cipher("aria-256").unwrap();
    let (file, header) = SealedFile::create(keys, aria, Backend::auto(), layout).unwrap();
    let mut stored = header.to_vec();
    let mut pages = PageWriter::new(&file).unwrap();
    pages.append(content, &mut stored).unwrap();
    pages.finish(&mut stored).unwrap();
    fs::write(path, stored).unwrap();
}

/// A new engine is a folder, a row, and these answers: whether a directory is its own, what is
/// under a key, and what cannot be told.
#[test]
fn a_toy_engine_is_a_row_of_the_seam() {
    conforms(&TOY);
    conforms_as_server(TOY.server().expect("the toy is a server"));
    let place = tempfile::tempdir().unwrap();
    let key = KeyFile::create(place.path().join("key"), "orders").unwrap();
    let dir = place.path().join("data");
    fs::create_dir(&dir).unwrap();
    seal(&dir.join("a.toy"), b"a record", &key);
    key.rotate().unwrap();
    seal(&dir.join("b.toy"), b"another", &key);
    fs::write(dir.join("notes.txt"), "of a person").unwrap();
    assert!(TOY.owns(&dir));

    let need = |version: u32| {
        let wanted = KeyRef { id: "orders".into(), version };
        let secret = || key.get(&wanted);
        TOY.need(&dir, &Wanted { key: &wanted, secret: &secret, keys: &key }).unwrap()
    };
    let under = |example: &str| Found::Under { count: 1, unit: "file", example: example.into() };
    assert_eq!(need(1), Need { sealed_files: 2, found: under("a.toy") });
    assert_eq!(need(2), Need { sealed_files: 2, found: under("b.toy") });
    assert_eq!(need(3), Need { sealed_files: 2, found: Found::Nothing });

    let account = TOY.account(&dir).unwrap();
    assert!(account.is_sealed() && account.sealed_files() == 2, "{account:?}");
    let versions: Vec<u32> = account.sealed.iter().map(|share| share.key_version).collect();
    assert_eq!(versions, [1, 2]);
    fs::write(dir.join("clear.toy"), "in the clear").unwrap();
    let clear = TOY.account(&dir).unwrap();
    assert!(!clear.is_sealed() && (clear.clear_blocks, clear.clear_bytes) == (1, 12), "{clear:?}");
    fs::remove_file(dir.join("clear.toy")).unwrap();

    // an attacker: a file cut within its header may be under any version
    fs::write(dir.join("c.toy"), &fs::read(dir.join("a.toy")).unwrap()[..100]).unwrap();
    fs::remove_file(dir.join("a.toy")).unwrap();
    let damaged = TOY.account(&dir).unwrap();
    assert!(!damaged.is_sealed() && damaged.other_blocks == 1, "{damaged:?}");
    let cut = damaged.files.iter().find(|file| file.name == "c.toy").unwrap();
    assert_eq!(cut.standing, Standing::Clear);
    assert!(matches!(need(1).found, Found::Unread { file, .. } if file == "c.toy"));
}
