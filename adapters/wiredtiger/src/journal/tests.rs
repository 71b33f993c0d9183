//! The journal through the file system that WiredTiger gets, without WiredTiger: files are made,
//! written, synced and opened again as WiredTiger does.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sealstone_cipher::Provider;
use sealstone_keys::KeyFile;
use sealstone_modules::testing::compiled;
use sealstone_seal::engine_page::HEADER_BYTES;

use super::Journal;
use super::account::{self, Account, Entry, Sync};
use super::record::{self, FileKey};
use crate::encryptor::Encryptor;
use crate::engine_calls::{LOG, Opening, clear, finish};
use crate::error::ExtensionError;
use crate::error::JournalError;
use crate::files::{Files, How};
use crate::settings::Settings;

struct Store {
    dir: tempfile::TempDir,
}

impl Store {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        KeyFile::create(dir.path().join("orders.key"), "orders").unwrap();
        fs::create_dir(dir.path().join("db")).unwrap();
        Self { dir }
    }

    fn db(&self) -> PathBuf {
        self.dir.path().join("db")
    }

    fn log(&self, number: u32) -> PathBuf {
        super::path_of(&self.db(), number)
    }

    fn open_with(&self, more: &str) -> Opening {
        let key = self.dir.path().join("orders.key");
        let settings =
            Settings::parse(&format!("key=\"{}\",cipher=aes-256{more}", key.display())).unwrap();
        Opening::new(&self.db(), &settings).unwrap()
    }

    fn open(&self) -> Opening {
        self.open_with("")
    }

    /// Returns the result of the first look at the journal.
    fn look(&self) -> Result<Vec<Vec<u8>>, String> {
        self.look_with("")
    }

    fn look_with(&self, more: &str) -> Result<Vec<Vec<u8>>, String> {
        let said = self.open_with(more).look();
        said.map_err(|error| error.to_string().replace(&format!("{}/", self.db().display()), ""))
    }
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// Returns a store with three synced records of 128, 256 and 128 bytes in journal file 1, from byte
/// 256 on.
fn written() -> Store {
    let store = Store::new();
    let opening = store.open();
    let file = opening.file(1).unwrap();
    file.write(256, &[opening.record(10).unwrap(), opening.record(100).unwrap()].concat()).unwrap();
    file.write(640, &opening.record(10).unwrap()).unwrap();
    file.sync().unwrap();
    store
}

#[test]
fn what_was_synced_is_found_again() {
    let store = written();
    assert_eq!(store.look().unwrap(), [b"WiredTigerLog.0000000001".to_vec()]);
    let opening = store.open();
    let file = opening.files.open(&store.log(1), LOG).unwrap();
    // the following bytes do not exist for WiredTiger
    assert_eq!(file.bytes().unwrap(), 768);
    for (at, bytes) in [(0, 128), (128, 128), (256, 128), (384, 128), (384, 256), (640, 128)] {
        let mut read = vec![0; bytes];
        file.read(at, &mut read).unwrap();
        assert_eq!(read, fs::read(store.log(1)).unwrap()[at as usize..][..bytes]);
    }
    assert!(opening.is_kept());
    // no room for what another opening would write
    assert!(matches!(
        file.write(768, &opening.record(10).unwrap()),
        Err(ExtensionError::Journal(JournalError::NotARecord { .. }))
    ));
    let cut = file.cut(640).unwrap_err();
    assert!(
        matches!(
            cut,
            ExtensionError::Journal(JournalError::WouldCut { bytes: 640, synced: 768, .. })
        ),
        "{cut}"
    );
    file.cut(768).unwrap();
}

#[test]
fn what_was_synced_must_be_there() {
    for (at, behind) in
        [(640, "the end of the file"), (700, "half a record"), (256, "the end of the file")]
    {
        let store = written();
        change(&store.log(1), |bytes| bytes.truncate(at));
        let end = if at == 700 { 640 } else { at };
        assert_eq!(
            store.look().unwrap_err(),
            format!(
                "journal file WiredTigerLog.0000000001 ends at byte {end}, with {behind}, and was \
                 synced up to byte 768: records are missing\n\
                 restore the database from a backup, or resync this member"
            )
        );
    }
    let store = written();
    fs::remove_file(store.log(1)).unwrap();
    assert_eq!(
        store.look().unwrap_err(),
        "journal file WiredTigerLog.0000000001 is missing, and was synced up to byte 768\n\
         bring it back, restore the database from a backup, or resync this member"
    );
    let store = written();
    fs::remove_file(store.db().join(account::NAME)).unwrap();
    let error = store.look().unwrap_err();
    assert!(
        error.starts_with("the account of the journal, SEALSTONE-JOURNAL, is missing\n"),
        "{error}"
    );
    store.look_with(",missing_account=accept").unwrap();
}

/// Each stored bit: an error, or a part that nothing depends on. Checksums are repaired.
#[test]
fn no_changed_record_is_accepted() {
    let store = written();
    let good = fs::read(store.log(1)).unwrap();
    for at in (0..768).filter(|at| !(4..8).contains(&(at % 128))) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        let start = [640, 384, 256, 128, 0].into_iter().find(|start| at >= *start).unwrap();
        let length = u32::from_le_bytes(good[start..start + 4].try_into().unwrap()) as usize;
        if let Some(place) = bytes.get_mut(start..start + length) {
            let whole = finish(place.to_vec());
            place[4..8].copy_from_slice(&whole[4..8]);
        }
        fs::write(store.log(1), &bytes).unwrap();
        // a block apart from its tag is checked when it is opened, and what fills a record up does
        // not matter
        let encrypted_end =
            u32::from_le_bytes(good[start + 16..start + 20].try_into().unwrap()) as usize;
        let (header, rest) = (
            start + 20..start + 20 + HEADER_BYTES,
            start + 20 + HEADER_BYTES..start + encrypted_end - 32,
        );
        if start >= 256 && header.contains(&at) {
            continue;
        }
        let left = start >= 256
            && (rest.contains(&at) || (start + encrypted_end..start + length).contains(&at));
        assert_eq!(store.look().is_ok(), left, "byte {at}");
    }
}

#[test]
fn records_stay_in_their_places() {
    let store = written();
    let good = fs::read(store.log(1)).unwrap();
    let edits: [fn(&mut Vec<u8>); 5] = [
        |bytes| bytes.copy_within(256..384, 640),
        |bytes| bytes.copy_within(640..768, 256),
        |bytes| bytes.copy_within(640..768, 768),
        |bytes| drop(bytes.drain(256..384)),
        |bytes| bytes[768..896].copy_from_slice(&clear([1, 2, 3, 4])),
    ];
    for edit in edits {
        fs::write(store.log(1), &good).unwrap();
        change(&store.log(1), edit);
        let error = store.look().unwrap_err();
        assert!(
            error.contains("a record that was not written there")
                || error.contains("a record in the clear"),
            "{error}"
        );
    }
    // and in their files
    fs::write(store.log(1), &good).unwrap();
    fs::write(store.log(2), &good).unwrap();
    assert!(
        store
            .look()
            .unwrap_err()
            .starts_with("journal file WiredTigerLog.0000000002 was not written by this database")
    );
    fs::remove_file(store.log(2)).unwrap();
    let other = written();
    fs::copy(other.dir.path().join("orders.key"), store.dir.path().join("orders.key")).unwrap();
    fs::copy(other.db().join(account::NAME), store.db().join(account::NAME)).unwrap();
    assert!(store.look().is_err());
    fs::copy(other.log(1), store.log(1)).unwrap();
    store.look().unwrap();
}

/// Damage that a crash leaves after the synced part is not an attack.
#[test]
fn a_torn_end_is_an_end() {
    let store = written();
    let opening = store.open();
    let file = opening.file(2).unwrap();
    file.write(256, &opening.record(10).unwrap()).unwrap();
    file.sync().unwrap();
    file.write(384, &[opening.record(200).unwrap(), opening.record(10).unwrap()].concat()).unwrap();
    drop((file, opening));
    let good = fs::read(store.log(2)).unwrap();
    for (from, to) in [(384, 1024), (500, 1024), (384, 512), (640, 700), (700, 800), (385, 386)] {
        fs::write(store.log(2), &good).unwrap();
        change(&store.log(2), |bytes| bytes[from..to].fill(0));
        store.look().unwrap_or_else(|error| panic!("{from} to {to}: {error}"));
        change(&store.log(2), |bytes| bytes.truncate(from));
        store.look().unwrap_or_else(|error| panic!("{from}: {error}"));
    }
    change(&store.log(2), |bytes| bytes.truncate(300));
    store.look().unwrap_err();
}

/// Threads write records in any order: only records without a gap before them count as synced.
#[test]
fn a_gap_is_not_synced() {
    let store = Store::new();
    let opening = store.open();
    let file = opening.file(1).unwrap();
    file.write(256, &opening.record(10).unwrap()).unwrap();
    file.write(512, &opening.record(10).unwrap()).unwrap();
    file.sync().unwrap();
    let synced = || {
        Account::read(&store.db(), opening.encryptor.pages()).unwrap().unwrap().entries[&1].synced
    };
    assert_eq!(synced(), 384);
    store.look().unwrap();
    file.write(384, &opening.record(10).unwrap()).unwrap();
    file.sync().unwrap();
    assert_eq!(synced(), 640);
}

/// The account is written before a file is made or removed; a crash may come in between.
#[test]
fn a_crash_between_account_and_file_is_harmless() {
    let store = written();
    let opening = store.open();
    drop(opening.file(2).unwrap());
    let both = fs::read(store.db().join(account::NAME)).unwrap();
    fs::remove_file(store.log(2)).unwrap();
    store.look().unwrap();
    drop(opening);
    let opening = store.open();
    let first = fs::read(store.log(1)).unwrap();
    drop(opening.file(2).unwrap());
    opening.files.remove(&store.log(1), false).unwrap();
    drop(opening);
    fs::write(store.log(1), first).unwrap();
    assert_eq!(store.look().unwrap(), [b"WiredTigerLog.0000000002".to_vec()]);
    assert!(!store.log(1).exists());
    // an older account lists files that have been replaced
    fs::write(store.db().join(account::NAME), both).unwrap();
    store.look().unwrap_err();
}

/// A file that changes after it was checked.
#[test]
fn what_is_read_is_checked_again() {
    let store = written();
    let opening = store.open();
    opening.look().unwrap();
    let file = opening.files.open(&store.log(1), LOG).unwrap();
    let good = fs::read(store.log(1)).unwrap();
    let edits: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes[256..384].fill(0),
        |bytes| bytes.copy_within(640..768, 256),
        |bytes| bytes[256..384].copy_from_slice(&clear([1, 2, 3, 4])),
        |bytes| bytes[260] ^= 1,
    ];
    for edit in edits {
        fs::write(store.log(1), &good).unwrap();
        change(&store.log(1), edit);
        file.read(256, &mut [0; 128]).unwrap_err();
        file.read(640, &mut [0; 128]).unwrap();
    }
}

/// A file without a key, whose records no tag binds to their places.
#[test]
fn a_journal_file_without_a_key_is_refused() {
    for more in ["", ",missing_account=accept"] {
        let store = written();
        if more.is_empty() {
            change(&store.log(1), |bytes| {
                bytes[32..128].fill(0);
                let first = finish(bytes[..128].to_vec());
                bytes[..128].copy_from_slice(&first);
            });
        } else {
            fs::remove_file(store.db().join(account::NAME)).unwrap();
            fs::write(store.log(1), clear([0x64, 0x10, 0x10, 0])).unwrap();
        }
        let error = store.look_with(more).unwrap_err();
        let first = "WiredTigerLog.0000000001: a block of 96 bytes is not sealed by sealstone\n";
        assert!(error.starts_with(first), "{error}");
    }
}

/// Any bytes in the place of a journal file or an account: an error, and no panic.
#[test]
fn hostile_bytes_are_refused() {
    let mut state = 1_u64;
    let mut random = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    let store = written();
    let (log, book) =
        (fs::read(store.log(1)).unwrap(), fs::read(store.db().join(account::NAME)).unwrap());
    for round in 0..300 {
        // lengths are what matters most
        let (path, good) = if round % 2 == 0 {
            (store.log(1), &log)
        } else {
            (store.db().join(account::NAME), &book)
        };
        let mut bytes = good.clone();
        let value = match random() % 4 {
            0 => random() % 2048,
            1 => u32::MAX - random() % 256,
            2 => 1 << (random() % 32),
            _ => random(),
        };
        let places: &[usize] =
            if round % 2 == 0 { &[0, 16, 128, 144, 256, 272, 400, 640, 656] } else { &[0] };
        let at = places[random() as usize % places.len()];
        let value = if round % 2 == 0 { value.to_le_bytes() } else { value.to_be_bytes() };
        bytes[at..at + 4].copy_from_slice(&value);
        if round % 2 == 1 {
            bytes.copy_within(0..4, 64 << 10);
        } else {
            let start = [640, 384, 256, 128, 0].into_iter().find(|start| at >= *start).unwrap();
            let end = (start
                + u32::from_le_bytes(bytes[start..start + 4].try_into().unwrap()) as usize)
                .min(bytes.len());
            if end >= start + 16 {
                bytes[start + 4..start + 8].fill(0);
                let sum = crc32c::crc32c(&bytes[start..end]);
                bytes[start + 4..start + 8].copy_from_slice(&sum.to_le_bytes());
            }
        }
        if bytes != *good {
            fs::write(&path, &bytes).unwrap();
            store.look().unwrap_err();
        }
        fs::write(path, good).unwrap();
    }
    store.look().unwrap();
}

#[test]
fn an_account_is_stored_twice() {
    let store = written();
    let path = store.db().join(account::NAME);
    let good = fs::read(&path).unwrap();
    let pages = &store.open().encryptor;
    let first = Entry {
        synced: 768,
        id: Account::read(&store.db(), pages.pages()).unwrap().unwrap().entries[&1].id,
    };
    for copies in [vec![0], vec![64 << 10], vec![0, 64 << 10]] {
        let mut bytes = good.clone();
        copies.iter().for_each(|at| bytes[at + 100] ^= 1);
        fs::write(&path, &bytes).unwrap();
        match Account::read(&store.db(), pages.pages()) {
            Ok(account) => assert_eq!((copies.len(), account.unwrap().entries[&1]), (1, first)),
            Err(error) => assert!(
                copies.len() == 2 && matches!(error, JournalError::Account { .. }),
                "{error}"
            ),
        }
    }
    fs::write(&path, &good).unwrap();
    let mut account = Account::read(&store.db(), pages.pages()).unwrap().unwrap();
    for number in 2..2000 {
        account.entries.insert(number, first);
    }
    for sync in [Sync::Now, Sync::Soon, Sync::Soon] {
        account.write(pages.pages(), sync).unwrap();
        let read = Account::read(&store.db(), pages.pages()).unwrap().unwrap();
        assert_eq!(read.entries, account.entries);
    }
    account.entries.extend((2000..3000).map(|number| (number, first)));
    assert!(matches!(
        account.write(pages.pages(), Sync::Soon),
        Err(JournalError::TooMany { files: 2999, .. })
    ));
}

/// Without encryption in the configuration WiredTiger writes in the clear, and nothing is bound.
#[test]
fn without_encryption_files_are_plain() {
    let store = Store::new();
    let settings = Settings::parse(&format!(
        "key=\"{}\",cipher=aes-256",
        store.dir.path().join("orders.key").display()
    ))
    .unwrap();
    let encryptor = Arc::new(Encryptor::open(&settings).unwrap());
    let files = Files::new(Arc::new(Journal::new(encryptor, &settings)));
    let file = files.open(&store.log(1), How { create: true, ..LOG }).unwrap();
    file.write(0, b"anything").unwrap();
    file.sync().unwrap();
    assert_eq!(fs::read(store.log(1)).unwrap(), b"anything");
    assert_eq!(files.list(&store.db(), "", false).unwrap().len(), 1);
}

/// WiredTiger checks that the file exists before it reads it.
#[test]
fn settings_in_the_data_directory_are_refused() {
    let store = Store::new();
    let path = store.db().join("WiredTiger.config");
    let files = store.open().files;
    assert!(!files.exists(&path).unwrap());
    fs::write(&path, "extensions=[/tmp/any.so]").unwrap();
    assert!(matches!(files.exists(&path), Err(ExtensionError::ConfigFile { .. })));
}

/// A module reads what our own code bound to its place, and one that dies at any record is named:
/// nobody is sent to a backup for it.
#[test]
fn a_module_that_dies_is_not_taken_for_a_change() {
    let store = written();
    let libraries = tempfile::tempdir().unwrap();
    let look = |fault: &str, calls: usize| {
        let defines = ["NAME=\"mortal\"", fault, &format!("CALLS={calls}")];
        let library = compiled(libraries.path(), "failing.c", &defines);
        store.look_with(&format!(",module=\"{}\"", library.display()))
    };
    // of the file's own name, and of four records
    for calls in 0..5 {
        let error = look("FAILS_HMAC", calls).unwrap_err();
        assert!(error.contains("mortal"), "{calls}: {error}");
        assert!(!error.contains("somebody changed") && !error.contains("backup"), "{error}");
    }
    assert_eq!(look("FAILS_HMAC", 5).unwrap(), [b"WiredTigerLog.0000000001".to_vec()]);
    // two copies of the account, and the key of the file
    for calls in 0..3 {
        let error = look("FAILS_OPEN", calls).unwrap_err();
        assert!(error.contains("mortal") && !error.contains("genuine"), "{calls}: {error}");
    }
    assert!(look("FAILS_OPEN", 3).is_ok());
}

/// Records that a module would have bound, had it not died, are not stored.
#[test]
fn a_module_that_dies_binds_nothing() {
    let store = Store::new();
    let libraries = tempfile::tempdir().unwrap();
    // of the file's own name, of the record that names the file before, and of one more
    let defines = ["NAME=\"mortal\"", "FAILS_HMAC", "CALLS=3"];
    let library = compiled(libraries.path(), "failing.c", &defines);
    let opening = store.open_with(&format!(",module=\"{}\"", library.display()));
    let file = opening.file(1).unwrap();
    let before = fs::read(store.log(1)).unwrap();
    let mut said = Vec::new();
    for at in [256, 384, 512, 640] {
        let record = opening.record(10).unwrap();
        match file.write(at, &record) {
            Ok(()) => assert!(said.is_empty(), "it works again"),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains("mortal") && !error.contains("not a record"), "{error}");
                said.push(error);
                let now = fs::read(store.log(1)).unwrap();
                let stored = now.iter().rposition(|byte| *byte != 0).unwrap();
                assert!(stored < at as usize, "{stored}");
            }
        }
    }
    assert!(!said.is_empty() && before.len() >= 256);
}

#[test]
fn a_tag_is_of_one_place() {
    let store = Store::new();
    let opening = store.open();
    let draw = || FileKey::draw(Provider::own()).unwrap();
    let (key, other) = (draw(), draw());
    assert_ne!(key.id(), other.id());
    let mut record = opening.record(50).unwrap();
    assert_eq!(key.bind(3, 256, &mut record).unwrap(), record.len());
    assert!(record::is_whole(&record));
    key.check(3, 256, &record).unwrap();
    for (key, number, at) in [(&other, 3, 256), (&key, 4, 256), (&key, 3, 384)] {
        key.check(number, at, &record).unwrap_err();
    }
    // it has its tag, and gets no second one
    key.bind(3, 256, &mut record).unwrap_err();
    let block = &record[20..][..HEADER_BYTES];
    assert!(sealstone_seal::engine_page::inspect(block).unwrap().place_tag);
    let mut zeros = vec![0; 4096];
    assert_eq!(key.bind(3, 256, &mut zeros).unwrap(), 0);
    assert!(key.bind(3, 256, &mut clear([1, 2, 3, 4])).is_err());
}
