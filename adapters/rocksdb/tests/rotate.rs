//! Rotation of a store's key: everything under the new version, none of the data touched, whatever
//! the store does at the same time. Not here: kills (`dev/e2e`), the bytes of a header
//! (`sealstone-seal`).

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sealstone_cipher::Backend;
use sealstone_keys::{KeyFile, KeyRef};
use sealstone_rocksdb::{Db, DbOptions, SealedEnv, rest};
use sealstone_seal::paged::PageWriter;
use sealstone_seal::{Layout, SealedFile};

struct Site {
    dir: tempfile::TempDir,
    key: Arc<KeyFile>,
}

impl Site {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let key = Arc::new(KeyFile::create(dir.path().join("key"), "orders").unwrap());
        Self { dir, key }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn env(&self) -> SealedEnv {
        SealedEnv::new(
            self.key.clone(),
            sealstone_cipher::cipher("aes-256").unwrap(),
            Backend::auto(),
        )
    }

    fn open(&self, name: &str) -> Db {
        self.env().open(&self.path(name), &options()).unwrap()
    }

    fn rotate(&self, name: &str) -> rest::Rotation {
        rest::rotate(&self.path(name), &*self.key, &mut |_| ()).unwrap()
    }

    /// Counts the files under each version.
    fn versions(&self, name: &str) -> BTreeMap<u32, u64> {
        let totals = rest::status(&self.path(name)).unwrap().totals;
        totals.into_iter().map(|total| (total.key_version, total.files)).collect()
    }

    fn is_whole(&self, name: &str) -> bool {
        rest::verify(&self.path(name), &*self.key, Backend::auto(), None, &mut |_| ())
            .unwrap()
            .is_whole()
    }

    /// Puts a sealed file of `content` at `name`, under the current version.
    fn seal(&self, name: &str, content: &[u8]) {
        let layout = Layout::Paged { page_bytes: 4096 };
        let aes = sealstone_cipher::cipher("aes-256").unwrap();
        let (file, header) = SealedFile::create(&*self.key, aes, Backend::auto(), layout).unwrap();
        let mut stored = header.to_vec();
        let mut writer = PageWriter::new(&file).unwrap();
        writer.append(content, &mut stored).unwrap();
        writer.finish(&mut stored).unwrap();
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), stored).unwrap();
    }
}

/// Returns options for many small files, made and removed all the time.
fn options() -> DbOptions {
    let defaults = DbOptions::default();
    let text = format!(
        "{};write_buffer_size=65536;target_file_size_base=65536;max_bytes_for_level_base=262144;\
         level0_file_num_compaction_trigger=2;max_background_jobs=2",
        defaults.text
    );
    DbOptions { text, ..defaults }
}

fn fill(db: &Db, range: std::ops::Range<u32>) {
    for n in range {
        db.put(
            format!("key{n:06}").as_bytes(),
            format!("value {n} {}", "x".repeat(90)).as_bytes(),
            false,
        )
        .unwrap();
    }
}

fn holds(db: &Db, range: std::ops::Range<u32>) {
    for n in range {
        let want = format!("value {n} {}", "x".repeat(90)).into_bytes();
        assert_eq!(db.get(format!("key{n:06}").as_bytes()).unwrap(), Some(want), "key {n}");
    }
}

#[test]
fn a_closed_store_goes_under_the_new_version_and_keeps_its_data() {
    let site = Site::new();
    let db = site.open("db");
    fill(&db, 0..5000);
    db.close().unwrap();
    let data_of = |path: &Path| fs::read(path).unwrap().get(8192..).map(<[u8]>::to_vec);
    let names: Vec<PathBuf> =
        fs::read_dir(site.path("db")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let before: Vec<_> = names.iter().map(|path| data_of(path)).collect();

    site.key.rotate().unwrap();
    let done = site.rotate("db");
    assert!(done.is_complete() && done.files > 5, "{done:?}");
    assert_eq!((done.rewrapped, done.key_version, done.passes), (done.files, 2, 2));
    assert_eq!(site.versions("db"), BTreeMap::from([(2, done.files)]));
    assert_eq!(names.iter().map(|path| data_of(path)).collect::<Vec<_>>(), before);

    // a second run has nothing to do
    let again = site.rotate("db");
    assert_eq!((again.rewrapped, again.files, again.passes), (0, done.files, 1));

    site.key.retire(1).unwrap();
    assert!(site.is_whole("db"));
    holds(&site.open("db"), 0..5000);
}

#[test]
fn a_store_in_use_is_rotated_again_and_again() {
    let site = Site::new();
    let db = site.open("db");
    let stop = AtomicBool::new(false);
    let written = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut end = 0;
            while !stop.load(Ordering::Relaxed) {
                fill(&db, end..end + 200);
                end += 200;
            }
            end
        });
        // opens files all the time, at times while their headers are being rewritten
        let reader = scope.spawn(|| {
            let mut opened = 0;
            while !stop.load(Ordering::Relaxed) {
                for entry in fs::read_dir(site.path("db")).unwrap() {
                    let path = entry.unwrap().path();
                    if path.extension().is_some_and(|ending| ending == "sst") && path.exists() {
                        let found = rest::verify(
                            &site.path("db"),
                            &*site.key,
                            Backend::auto(),
                            None,
                            &mut |_| (),
                        )
                        .unwrap();
                        // a table that is still being written is not whole; no header may seem
                        // wrong
                        for finding in &found.failures {
                            assert!(
                                !finding.what.contains("does not open the header"),
                                "{finding:?}"
                            );
                            assert!(!finding.what.contains("damaged header"), "{finding:?}");
                        }
                        opened += found.files;
                    }
                }
            }
            opened
        });
        for version in 2..12 {
            site.key.rotate().unwrap();
            let done = site.rotate("db");
            assert!(done.is_complete(), "{done:?}");
            assert_eq!(done.key_version, version);
            // newer files are under the new version too, so the older versions can go
            assert_eq!(site.versions("db").into_keys().collect::<Vec<_>>(), [version]);
            site.key.retire(version - 1).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
        writer.join().unwrap()
    });
    assert!(written > 0);
    holds(&db, 0..written);
    db.close().unwrap();
    assert!(site.is_whole("db"));
    holds(&site.open("db"), 0..written);
}

#[test]
fn links_folders_and_other_files_are_dealt_with() {
    let site = Site::new();
    for n in 0..20 {
        site.seal(&format!("db/{n}.sst"), b"table");
        site.seal(&format!("db/below/{n}.blob"), b"blob");
    }
    fs::hard_link(site.path("db/3.sst"), site.path("db/below/link.sst")).unwrap();
    fs::create_dir(site.path("elsewhere")).unwrap();
    fs::hard_link(site.path("db/4.sst"), site.path("elsewhere/copy.sst")).unwrap();
    fs::write(site.path("db/LOCK"), b"").unwrap();
    fs::write(site.path("db/notes.txt"), b"plain").unwrap();
    // a crash left the beginning of a header
    let half = fs::read(site.path("db/1.sst")).unwrap()[..100].to_vec();
    fs::write(site.path("db/000099.sst"), &half).unwrap();

    site.key.rotate().unwrap();
    let done = site.rotate("db");
    assert!(done.is_complete(), "{done:?}");
    assert_eq!((done.files, done.rewrapped), (41, 40));
    assert_eq!(site.versions("db"), BTreeMap::from([(2, 41)]));
    assert_eq!(site.versions("elsewhere"), BTreeMap::from([(2, 1)]));
    assert_eq!(fs::read(site.path("db/notes.txt")).unwrap(), b"plain");
    assert_eq!(fs::read(site.path("db/000099.sst")).unwrap(), half);
    site.key.retire(1).unwrap();
    assert!(site.is_whole("db/below"));
}

#[test]
fn a_thousand_files_take_one_run() {
    let site = Site::new();
    for n in 0..1000 {
        site.seal(&format!("db/{n:06}.sst"), b"table");
    }
    site.key.rotate().unwrap();
    let mut reports = 0;
    let done = rest::rotate(&site.path("db"), &*site.key, &mut |progress| {
        assert!(progress.done_files < progress.total_files && progress.total_files == 1000);
        reports += 1;
    });
    let done = done.unwrap();
    assert_eq!((done.rewrapped, reports), (1000, 2000));
    eprintln!("rotated 1000 files in {:.3} s", done.seconds);
    site.key.retire(1).unwrap();
    assert!(site.is_whole("db"));
}

#[test]
fn what_a_killed_run_left_is_finished_by_the_next() {
    let site = Site::new();
    for n in 0..100 {
        site.seal(&format!("db/{n:06}.sst"), b"table");
    }
    site.key.rotate().unwrap();
    // stopped from within, at some file
    let stopped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        rest::rotate(&site.path("db"), &*site.key, &mut |progress| {
            assert!(progress.done_files < 40, "stop here")
        })
    }));
    assert!(stopped.is_err());
    assert_eq!(site.versions("db"), BTreeMap::from([(1, 60), (2, 40)]));
    assert!(site.is_whole("db"));
    // and the key was rotated once more in between
    site.key.rotate().unwrap();
    assert_eq!(site.rotate("db").rewrapped, 100);
    assert_eq!(site.versions("db"), BTreeMap::from([(3, 100)]));
}

#[test]
fn what_cannot_be_rotated_is_named_and_left_as_it_is() {
    let site = Site::new();
    for name in ["good", "damaged", "namesake"] {
        site.seal(&format!("db/{name}.sst"), b"table");
    }
    // sealed under another key of the same name
    let other = Site::new();
    other.seal("namesake.sst", b"table");
    fs::copy(other.path("namesake.sst"), site.path("db/namesake.sst")).unwrap();
    let mut damaged = fs::read(site.path("db/damaged.sst")).unwrap();
    for copy in [150, 4096 + 150] {
        damaged[copy] ^= 0xEE;
    }
    fs::write(site.path("db/damaged.sst"), damaged).unwrap();
    let before =
        ["damaged", "namesake"].map(|name| fs::read(site.path(&format!("db/{name}.sst"))).unwrap());
    site.key.rotate().unwrap();
    let done = site.rotate("db");
    assert!(!done.is_complete());
    assert_eq!((done.files, done.rewrapped), (3, 1));
    let named: Vec<&str> = done.failures.iter().map(|finding| finding.file.as_str()).collect();
    assert_eq!(named, ["damaged.sst", "namesake.sst"]);
    for finding in &done.failures {
        assert!(
            finding.what.starts_with("key orders version 1 from key file ")
                && finding.what.contains("does not open")
        );
    }
    let after =
        ["damaged", "namesake"].map(|name| fs::read(site.path(&format!("db/{name}.sst"))).unwrap());
    assert!(before == after);
}

#[test]
fn without_the_keys_nothing_is_changed() {
    let site = Site::new();
    let other = KeyFile::create(site.path("other"), "wages").unwrap();
    site.seal("db/a.sst", b"table");
    let before = fs::read(site.path("db/a.sst")).unwrap();
    let refused =
        |keys: &KeyFile| rest::rotate(&site.path("db"), keys, &mut |_| ()).unwrap_err().to_string();
    assert!(
        refused(&other).starts_with("key orders version 1 not found in key file "),
        "{}",
        refused(&other)
    );
    // a version that is newer than all in the key file: an older copy of it was given
    let older = site.key.export(None, site.path("older"), None).unwrap();
    site.key.rotate().unwrap();
    site.rotate("db");
    assert!(
        refused(&older).contains("this key file is older than the data"),
        "{}",
        refused(&older)
    );
    assert_ne!(fs::read(site.path("db/a.sst")).unwrap(), before);
    assert_eq!(site.versions("db"), BTreeMap::from([(2, 1)]));
    // a key file that cannot be read any more
    fs::set_permissions(site.path("key"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refused(&site.key).contains("is open to users other than its owner"));
}

#[test]
fn two_rotations_of_one_store_do_not_meet() {
    let site = Site::new();
    site.seal("db/a.sst", b"table");
    site.key.rotate().unwrap();
    let mut second = None;
    let first = rest::rotate(&site.path("db"), &*site.key, &mut |_| {
        second.get_or_insert_with(|| {
            rest::rotate(&site.path("db"), &*site.key, &mut |_| ()).unwrap_err().to_string()
        });
    });
    assert_eq!(first.unwrap().rewrapped, 1);
    assert_eq!(
        second.unwrap(),
        format!("another rotation is running in {}\nwait for it to end", site.path("db").display())
    );
}

#[test]
fn what_a_version_protects_is_known() {
    let site = Site::new();
    for n in 0..3 {
        site.seal(&format!("db/old{n}.sst"), b"table");
    }
    site.key.rotate().unwrap();
    site.seal("db/new.sst", b"table");
    fs::write(site.path("db/notes.txt"), b"plain").unwrap();
    let protected = |version| {
        let found =
            rest::protected(&site.path("db"), &KeyRef { id: "orders".into(), version }).unwrap();
        (found.sealed_files, found.files, found.example)
    };
    assert_eq!(protected(1), (4, 3, Some("old0.sst".into())));
    assert_eq!(protected(2), (4, 1, Some("new.sst".into())));
    assert_eq!(protected(3), (4, 0, None));
    site.rotate("db");
    assert_eq!(protected(1), (4, 0, None));
    let key = KeyRef { id: "orders".into(), version: 1 };
    assert!(
        rest::protected(&site.path("nowhere"), &key)
            .unwrap_err()
            .to_string()
            .contains("cannot read directory")
    );
}

/// So a rotation that has read a header never writes into the header of another file.
#[test]
fn a_file_in_the_way_of_a_new_one_is_removed_and_not_emptied() {
    let site = Site::new();
    let db = site.open("db");
    let table = site.path("made.sst");
    let make = || {
        let mut writer = db.table_writer(&table).unwrap();
        writer.put(b"key", b"value").unwrap();
        writer.finish().unwrap();
    };
    make();
    let kept = site.path("kept.sst");
    fs::hard_link(&table, &kept).unwrap();
    let before = fs::read(&kept).unwrap();
    make();
    assert_eq!(fs::read(&kept).unwrap(), before);
    assert_ne!(fs::read(&table).unwrap(), before);
}

/// A file that has our magic and cannot be read may need any version.
#[test]
fn a_header_that_cannot_be_read_keeps_every_version() {
    let site = Site::new();
    site.seal("db/000007.sst", b"data under version 1");
    let header = fs::read(site.path("db/000007.sst")).unwrap();
    let first = KeyRef { id: "orders".into(), version: 1 };
    site.key.rotate().unwrap();
    site.seal("db/000008.sst", b"data under version 2");
    site.rotate("db");
    let protected = || rest::protected(&site.path("db"), &first).map_err(|error| error.to_string());
    assert_eq!(protected().map(|found| (found.sealed_files, found.files)), Ok((2, 0)));

    // in both copies of the header
    let changed = |at: usize, value: u8| {
        let mut bytes = header.clone();
        [bytes[at], bytes[4096 + at]] = [value; 2];
        bytes
    };
    let zeroed = {
        let mut bytes = header.clone();
        bytes[..512].fill(0);
        bytes[4096..4096 + 512].fill(0);
        bytes
    };
    let wrote_it =
        "retire the version with the version of sealstone that wrote this file, or a newer one";
    let restore = "restore it from a backup, or move it elsewhere if the store opens without it, \
                   and retire the version then";
    // format version 257, cipher 0xff.., an impossible layout, and ends of files
    for (what, bytes, advice) in [
        ("a newer format", changed(8, 1), wrote_it),
        ("a cipher of a newer program", changed(12, 0x7f), wrote_it),
        ("an impossible layout", changed(10, 0x55), restore),
        ("zeros in place of the header", zeroed, restore),
        ("a header cut short", header[..100].to_vec(), restore),
        ("a header without its last byte", header[..511].to_vec(), restore),
        ("half a magic", header[..4].to_vec(), restore),
    ] {
        let path = site.path("db/000009.sst");
        fs::write(&path, bytes).unwrap();
        let refused = protected().expect_err(what);
        let start = format!("cannot tell which key {} is under: ", path.display());
        assert!(
            refused.starts_with(&start) && refused.ends_with(&format!("\n{advice}")),
            "{what}: {refused}"
        );
    }
    // where the other copy can be read, it names the version that the file needs
    let mut bytes = header.clone();
    bytes[..512].fill(0x55);
    fs::write(site.path("db/000009.sst"), bytes).unwrap();
    assert_eq!(protected().map(|found| (found.sealed_files, found.files)), Ok((3, 1)));

    // files that need no key
    for bytes in [&b""[..], &[0; 5000], b"plain text", b"\x88SEALST\n"] {
        fs::write(site.path("db/000009.sst"), bytes).unwrap();
        assert_eq!(protected().map(|found| (found.sealed_files, found.files)), Ok((2, 0)));
    }
    // zeros before other bytes are a header that was lost, but under names that no store gives
    let begun = [&[0; 4096 + 1000][..], b"of another program"].concat();
    fs::write(site.path("db/column_stats.MAD"), &begun).unwrap();
    assert_eq!(protected().map(|found| (found.sealed_files, found.files)), Ok((2, 0)));
    for name in ["db/made.sst", "db/MANIFEST-000001", "db/shared_s17.blob"] {
        fs::write(site.path(name), &begun).unwrap();
        let refused = protected().expect_err(name);
        assert!(refused.contains(name), "{refused}");
        fs::remove_file(site.path(name)).unwrap();
    }
    // where a server listens there is nothing, unless it has the name of a store's file
    let _server = UnixListener::bind(site.path("db/server.sock")).unwrap();
    assert_eq!(protected().map(|found| (found.sealed_files, found.files)), Ok((2, 0)));
    fs::remove_file(site.path("db/000009.sst")).unwrap();
    let _other = UnixListener::bind(site.path("db/000009.sst")).unwrap();
    let refused = protected().expect_err("a socket in the place of a table");
    assert!(refused.contains("000009.sst is under: a socket"), "{refused}");
}
