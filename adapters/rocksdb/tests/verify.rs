//! Tests of the reports of `rest verify` on destroyed stores: files removed, emptied or swapped,
//! one by one and in every combination of two, in databases, backups and directories of loose
//! tables. Not here: changed bytes within a file (`sealed`).

mod site;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sealstone_rocksdb::rest::{self, ComparedWith, Comparison, Verification};
use sealstone_rocksdb::{Bottommost, Db, DbOptions};
use site::Site;

/// Options without automatic work, and values of 500 bytes are in blob files.
const STILL: &str = ";disable_auto_compactions=true;compression=kNoCompression;\
                     enable_blob_files=true;min_blob_size=500";

impl Site {
    fn open(&self, name: &str, options: &str) -> Db {
        let mut wanted = DbOptions::default();
        wanted.text.push_str(STILL);
        wanted.text.push_str(options);
        self.env().open(&self.path(name), &wanted).unwrap()
    }

    /// Returns a closed database with tables on two levels, a blob file, and a log with synced
    /// writes.
    fn store(&self, name: &str) -> PathBuf {
        let db = self.open(name, "");
        write(&db, 0..400, 100);
        db.flush().unwrap();
        db.compact(Bottommost::Leave).unwrap();
        write(&db, 400..500, 1000);
        db.flush().unwrap();
        write(&db, 500..700, 100);
        db.flush().unwrap();
        db.put(b"last", b"synced", true).unwrap();
        db.close().unwrap();
        self.path(name)
    }
}

fn write(db: &Db, range: std::ops::Range<u32>, bytes: usize) {
    for n in range {
        db.put(format!("key{n:08}").as_bytes(), &vec![n as u8; bytes], false).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Returns the files in `dir` whose names begin and end like this, in order.
fn named(dir: &Path, begin: &str, end: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            path.is_file() && name.starts_with(begin) && name.ends_with(end)
        })
        .collect();
    found.sort();
    found
}

fn only(dir: &Path, begin: &str, end: &str) -> PathBuf {
    let mut found = named(dir, begin, end);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// Returns everything below `dir`.
fn all(dir: &Path) -> Vec<PathBuf> {
    let mut files = named(dir, "", "");
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(all(&path));
        }
    }
    files
}

fn remove(path: &Path) {
    // the other of the two attacks may have been there first
    let _ = fs::remove_file(path);
}

fn empty(path: &Path) {
    if path.exists() {
        fs::write(path, b"").unwrap();
    }
}

/// A way of destroying the store in a directory, and the first words of verify's report.
type Attack = (&'static str, fn(&Path), &'static str);

const ATTACKS: [Attack; 21] = [
    ("a table removed", |dir| remove(&named(dir, "", ".sst")[0]), "missing: MANIFEST-"),
    (
        "the last table removed",
        |dir| named(dir, "", ".sst").last().into_iter().for_each(|path| remove(path)),
        "missing: MANIFEST-",
    ),
    (
        "all tables removed",
        |dir| named(dir, "", ".sst").iter().for_each(|path| remove(path)),
        "missing: MANIFEST-",
    ),
    (
        "a table emptied",
        |dir| named(dir, "", ".sst").first().into_iter().for_each(|path| empty(path)),
        "empty, but MANIFEST-",
    ),
    (
        "all tables emptied",
        |dir| named(dir, "", ".sst").iter().for_each(|path| empty(path)),
        "empty, but MANIFEST-",
    ),
    (
        "a blob file removed",
        |dir| named(dir, "", ".blob").iter().for_each(|path| remove(path)),
        "missing: MANIFEST-",
    ),
    (
        "a blob file emptied",
        |dir| named(dir, "", ".blob").iter().for_each(|path| empty(path)),
        "empty, but MANIFEST-",
    ),
    (
        "a table in another's place",
        |dir| {
            if let [first, .., last] = &named(dir, "", ".sst")[..] {
                fs::copy(first, last).unwrap();
            }
        },
        "another file than the catalogue",
    ),
    (
        "a log in a table's place",
        |dir| {
            if let (Some(log), Some(table)) =
                (named(dir, "", ".log").first(), named(dir, "", ".sst").first())
            {
                fs::copy(log, table).unwrap();
            }
        },
        "another file than the catalogue",
    ),
    (
        "the synced log emptied",
        |dir| named(dir, "", ".log").iter().for_each(|path| empty(path)),
        "cut short: it ends at byte 0",
    ),
    (
        "MANIFEST removed",
        |dir| named(dir, "MANIFEST-", "").iter().for_each(|path| remove(path)),
        "missing: CURRENT names it",
    ),
    (
        "MANIFEST emptied",
        |dir| named(dir, "MANIFEST-", "").iter().for_each(|path| empty(path)),
        "empty: CURRENT names it",
    ),
    ("CURRENT removed", |dir| remove(&dir.join("CURRENT")), "missing: "),
    ("CURRENT emptied", |dir| empty(&dir.join("CURRENT")), "empty: it should name the MANIFEST"),
    (
        "IDENTITY in CURRENT's place",
        |dir| {
            if dir.join("IDENTITY").exists() {
                fs::copy(dir.join("IDENTITY"), dir.join("CURRENT")).unwrap();
            }
        },
        "another file than the catalogue",
    ),
    (
        "OPTIONS emptied",
        |dir| named(dir, "OPTIONS-", "").iter().for_each(|path| empty(path)),
        "empty: RocksDB never leaves it like that",
    ),
    (
        "IDENTITY emptied",
        |dir| empty(&dir.join("IDENTITY")),
        "empty: RocksDB never leaves it like that",
    ),
    (
        "every file emptied",
        |dir| named(dir, "", "").iter().for_each(|path| empty(path)),
        "empty: it should name the MANIFEST",
    ),
    (
        "everything removed but CURRENT",
        |dir| {
            named(dir, "", "")
                .iter()
                .filter(|path| !path.ends_with("CURRENT"))
                .for_each(|path| remove(path));
        },
        "missing: CURRENT names it",
    ),
    (
        "everything removed but logs",
        |dir| {
            let others = named(dir, "", "")
                .into_iter()
                .filter(|path| path.extension().is_none_or(|ending| ending != "log"));
            others.for_each(|path| remove(&path));
        },
        "missing: ",
    ),
    (
        "everything removed but LOCK",
        |dir| {
            named(dir, "", "")
                .iter()
                .filter(|path| !path.ends_with("LOCK"))
                .for_each(|path| remove(path));
        },
        "missing: LOCK show that",
    ),
];

#[test]
fn a_destroyed_store_is_never_called_whole() {
    let site = Site::new();
    let store = site.store("db");
    let whole = site.verify(&store);
    assert_eq!((whole.failures.as_slice(), whole.notes.as_slice()), (&[][..], &[][..]));
    let [Comparison { directory, with }] = &whole.compared[..] else {
        panic!("{:?}", whole.compared)
    };
    let ComparedWith::LiveSet { manifest, tables: 3, blob_files: 1, logs: 1, leftovers } = with
    else {
        panic!("{with:?}")
    };
    assert!(
        directory.is_empty() && manifest.starts_with("MANIFEST-") && leftovers.is_empty(),
        "{with:?}"
    );

    for (first, (name, attack, want)) in ATTACKS.iter().enumerate() {
        let victim = site.path("victim");
        copy(&store, &victim);
        attack(&victim);
        let found = site.verify(&victim);
        let said = found.failures.iter().any(|failure| failure.what.contains(want));
        assert!(said, "{name}: want {want:?} in {:?}", found.failures);
        fs::remove_dir_all(&victim).unwrap();
        // and with every other one
        for (other, also, _) in &ATTACKS[first + 1..] {
            copy(&store, &victim);
            attack(&victim);
            also(&victim);
            // an empty directory has no findings; the command line refuses a directory without
            // sealed files
            let nothing = fs::read_dir(&victim).unwrap().next().is_none();
            assert!(nothing || !site.verify(&victim).is_whole(), "{name}, {other}");
            fs::remove_dir_all(&victim).unwrap();
        }
    }
}

#[test]
fn an_older_manifest_and_a_foreign_table_are_found() {
    let site = Site::new();
    let db = site.open("db", "");
    write(&db, 0..300, 100);
    db.flush().unwrap();
    let store = site.path("db");
    let manifest = only(&store, "MANIFEST-", "");
    let older = fs::read(&manifest).unwrap();
    write(&db, 300..600, 100);
    db.flush().unwrap();
    db.compact(Bottommost::Rewrite).unwrap();
    db.close().unwrap();
    let newest = fs::read(&manifest).unwrap();
    assert!(site.verify(&store).is_whole());
    // it names a table that has since been merged into another
    fs::write(&manifest, &older).unwrap();
    let found = site.verify(&store);
    let [short, missing] = &found.failures[..] else { panic!("{:?}", found.failures) };
    assert!(
        short.file.starts_with("MANIFEST-") && short.what.starts_with("cut short: "),
        "{short:?}"
    );
    assert!(
        missing.file.ends_with(".sst") && missing.what.starts_with("missing: MANIFEST-"),
        "{missing:?}"
    );
    let ComparedWith::LiveSet { leftovers, .. } = &found.compared[0].with else {
        panic!("{:?}", found.compared)
    };
    assert_eq!(leftovers.len(), 1, "the table that it does not know: {leftovers:?}");
    fs::write(&manifest, &newest).unwrap();

    // a table of another store under the same key, with the same number
    let other = site.open("other", "");
    write(&other, 0..200, 150);
    other.flush().unwrap();
    write(&other, 0..200, 150);
    other.flush().unwrap();
    other.compact(Bottommost::Rewrite).unwrap();
    other.close().unwrap();
    let table = only(&store, "", ".sst");
    let foreign = site.path("other").join(table.file_name().unwrap());
    assert!(foreign.exists(), "the two stores number their files alike");
    fs::copy(foreign, &table).unwrap();
    let found = site.verify(&store);
    let [failure] = &found.failures[..] else { panic!("{:?}", found.failures) };
    assert!(failure.what.starts_with("another file than the catalogue"), "{failure:?}");
}

#[test]
fn what_a_crash_leaves_is_not_damage() {
    let site = Site::new();
    let db = site.open("db", "");
    write(&db, 0..300, 100);
    let ended = only(&site.path("db"), "", ".log");
    let content = fs::read(&ended).unwrap();
    db.flush().unwrap();
    write(&db, 300..400, 100);
    // RocksDB removes the log after the flush, on a thread of its own
    let mut waits = (0..500).map(|_| std::thread::sleep(Duration::from_millis(10)));
    assert!(waits.any(|()| !ended.exists()));
    // as a power cut leaves it: the log not synced and none of it written, the previous one not
    // removed after all, a table that the catalogue was to list, and one of which only the
    // beginning was written, a file under its first name
    let killed = site.path("killed");
    copy(&site.path("db"), &killed);
    let current = &only(&killed, "", ".log");
    empty(current);
    let ended = &killed.join(ended.file_name().unwrap());
    fs::write(ended, content).unwrap();
    let table = only(&killed, "", ".sst");
    fs::copy(&table, killed.join("000007.dbtmp")).unwrap();
    db.flush().unwrap();
    write(&db, 400..500, 100);
    db.flush().unwrap();
    drop(db);
    let [_, whole, begun] = &named(&site.path("db"), "", ".sst")[..] else {
        panic!("three tables")
    };
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    fs::copy(whole, killed.join(name(whole))).unwrap();
    fs::write(killed.join(name(begun)), &fs::read(begun).unwrap()[..8_600]).unwrap();
    fs::write(killed.join("000998.sst"), b"").unwrap();
    let found = site.verify(&killed);
    assert_eq!(found.failures, []);
    let ComparedWith::LiveSet { leftovers, tables: 1, logs: 1, .. } = &found.compared[0].with
    else {
        panic!("{:?}", found.compared)
    };
    let expected =
        [name(ended), "000007.dbtmp".into(), name(whole), name(begun), "000998.sst".into()];
    assert_eq!(BTreeSet::from_iter(leftovers), BTreeSet::from_iter(&expected));
    let log = name(current);
    let noted: BTreeSet<&str> = found.notes.iter().map(|note| note.file.as_str()).collect();
    assert_eq!(noted, BTreeSet::from([log.as_str(), &name(whole), &name(begun)]));
    // unlisted files that no crash explains are damage: a log, and an older file
    fs::write(killed.join("000997.log"), b"").unwrap();
    fs::copy(&table, killed.join("000001.sst")).unwrap();
    let found = site.verify(&killed);
    let failed: Vec<&str> = found.failures.iter().map(|failure| failure.file.as_str()).collect();
    assert_eq!(failed, ["000997.log", "000001.sst"]);
}

#[test]
fn backups_checkpoints_and_loose_tables_are_verified() {
    let site = Site::new();
    let db = site.open("db", "");
    write(&db, 0..300, 100);
    write(&db, 300..350, 1000);
    db.flush().unwrap();
    let mut backups = site.env().backups(&site.path("backups")).unwrap();
    backups.create(&db).unwrap();
    write(&db, 350..500, 100);
    db.flush().unwrap();
    db.put(b"in", b"the log", true).unwrap();
    backups.create(&db).unwrap();
    db.checkpoint(&site.path("checkpoint")).unwrap();
    let loose = site.path("loose");
    fs::create_dir(&loose).unwrap();
    let mut writer = db.table_writer(&loose.join("made.sst")).unwrap();
    writer.put(b"a", b"b").unwrap();
    writer.finish().unwrap();
    drop(db);

    let checkpoint = site.verify("checkpoint");
    assert!(checkpoint.is_whole(), "{:?}", checkpoint.failures);
    // it wrote the content of the log into a table
    let ComparedWith::LiveSet { tables: 3, blob_files: 1, .. } = checkpoint.compared[0].with else {
        panic!("{:?}", checkpoint.compared)
    };

    let found = site.verify(&loose);
    let nothing = Comparison { directory: String::new(), with: ComparedWith::Nothing };
    assert_eq!((found.failures.as_slice(), found.compared.as_slice()), (&[][..], &[nothing][..]));
    empty(&loose.join("made.sst"));
    assert_eq!(
        site.verify(&loose).failures[0].what.lines().next(),
        Some("empty: a sealed file has a header at least")
    );

    let found = site.verify("backups");
    assert_eq!(found.failures, []);
    let live: Vec<(&str, u64, u64)> = found
        .compared
        .iter()
        .filter_map(|Comparison { directory, with }| match with {
            ComparedWith::LiveSet { tables, blob_files, .. } => {
                Some((directory.as_str(), *tables, *blob_files))
            }
            _ => None,
        })
        .collect();
    assert_eq!(live, [("private/1", 1, 1), ("private/2", 2, 1)]);
    let files = all(&site.path("backups"));
    for path in &files {
        for (what, attack) in [("removed", remove as fn(&Path)), ("emptied", empty)] {
            // an older backup of which nothing is left is one that was deleted; a catalogue has two
            // copies
            let name = path.strip_prefix(site.path("backups")).unwrap().to_path_buf();
            let is_copy = name.to_string_lossy().contains("SEALSTONE-CATALOGUE");
            if is_copy || what == "removed" && (name.starts_with("meta") || name.ends_with("LOCK"))
            {
                continue;
            }
            let victim = site.path("victim");
            copy(&site.path("backups"), &victim);
            attack(&victim.join(&name));
            assert!(!site.verify(&victim).is_whole(), "{} {what}", name.display());
            fs::remove_dir_all(&victim).unwrap();
        }
    }
}

#[test]
fn logs_in_another_directory_are_verified_too() {
    let site = Site::new();
    let logs = site.path("logs");
    let db = site.open("db", &format!(";wal_dir={}", logs.display()));
    write(&db, 0..100, 100);
    db.flush().unwrap();
    db.put(b"in", b"the log", true).unwrap();
    db.close().unwrap();
    // the database names them, and when they are verified together nothing is damage
    for dir in [site.path("db"), site.dir.path().to_path_buf()] {
        let found = site.verify(&dir);
        assert_eq!(found.failures, [], "{}", dir.display());
        let live = found.compared.iter().find_map(|comparison| match &comparison.with {
            ComparedWith::LiveSet { logs, .. } => Some(*logs),
            _ => None,
        });
        assert_eq!(live, Some(1), "{:?}", found.compared);
    }
    // by themselves they are a database without its CURRENT
    let alone = site.verify(&logs);
    assert_eq!(alone.failures[0].file, "CURRENT");
    let log = only(&logs, "", ".log");
    empty(&log);
    let found = site.verify("db");
    assert!(
        found.failures[0].what.starts_with("cut short: it ends at byte 0"),
        "{:?}",
        found.failures
    );
    assert_eq!(found.failures[0].file, log.to_str().unwrap());
}

/// Sets the flag when it is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_store_in_use_is_whole_whatever_it_does() {
    let site = Site::new();
    let options = ";disable_auto_compactions=false;write_buffer_size=65536;\
                   level0_file_num_compaction_trigger=2;max_manifest_file_size=4000;\
                   target_file_size_base=65536";
    let db = site.open("db", options);
    write(&db, 0..500, 100);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // a failed check ends the writer, too
        let _ends = End(&ended);
        scope.spawn(|| {
            let mut n = 0;
            while !ended.load(Ordering::Relaxed) {
                write(&db, n..n + 100, 300);
                n = (n + 100) % 5000;
                if n % 1000 == 0 {
                    db.compact(Bottommost::Rewrite).unwrap();
                }
            }
        });
        let begun = Instant::now();
        let mut manifests = BTreeSet::new();
        let mut looks = 0;
        while (looks < 30 || manifests.len() < 3) && begun.elapsed() < Duration::from_secs(60) {
            let Verification { failures, compared, .. } = site.verify("db");
            assert_eq!(failures, []);
            let [Comparison { with: ComparedWith::LiveSet { manifest, .. }, .. }] = &compared[..]
            else {
                panic!("{compared:?}")
            };
            manifests.insert(manifest.clone());
            looks += 1;
        }
        assert!(manifests.len() > 1, "it went on to another MANIFEST: {manifests:?}");
    });
}

/// RocksDB moves files that a repair takes out of a database into `lost`. A database there is
/// judged like any other.
#[test]
fn a_directory_called_lost_hides_nothing() {
    let site = Site::new();
    let store = site.store("db");
    let lost = site.store("db/lost");
    assert!(site.verify(&store).is_whole());
    fs::remove_file(lost.join("CURRENT")).unwrap();
    let found = site.verify(&store).failures;
    assert!(found.iter().any(|failure| failure.file == "lost/CURRENT"), "{found:?}");
    // and without a catalogue, nothing there is taken for a file of a store
    for catalogue in named(&lost, "SEALSTONE-CATALOGUE-", "") {
        fs::remove_file(catalogue).unwrap();
    }
    assert!(!site.verify(&store).is_whole());
}

#[test]
fn links_are_followed_and_those_in_circles_end() {
    let site = Site::new();
    let (store, other, aside) = (site.store("db"), site.store("other"), site.path("aside"));
    fs::create_dir(&aside).unwrap();
    for path in
        [named(&store, "", ".sst"), named(&store, "", ".log"), named(&store, "OPTIONS-", "")]
            .concat()
    {
        let kept = aside.join(path.file_name().unwrap());
        fs::rename(&path, &kept).unwrap();
        symlink(&kept, &path).unwrap();
    }
    symlink(".", store.join("again")).unwrap();
    symlink(&other, store.join("inside")).unwrap();
    symlink(&store, other.join("back")).unwrap();
    let found = site.verify(&store);
    assert_eq!(found.failures, []);
    let compared: Vec<&str> =
        found.compared.iter().map(|comparison| comparison.directory.as_str()).collect();
    assert_eq!(compared, ["", "inside"]);
    let status = rest::status(&store).unwrap();
    assert!(status.is_sealed(), "{:?}", status.unreadable);
    let has = |name: &str| status.files.iter().any(|file| file.name == name);
    assert!(
        has("CURRENT")
            && has("inside/CURRENT")
            && !has("again/CURRENT")
            && !has("inside/back/CURRENT")
    );
    // one that lost its file is as good as none
    fs::remove_file(aside.join(named(&aside, "", ".log")[0].file_name().unwrap())).unwrap();
    let failures = site.verify(&store).failures;
    assert!(
        matches!(&failures[..], [one] if one.what.starts_with("a link that leads nowhere")),
        "{failures:?}"
    );
}
