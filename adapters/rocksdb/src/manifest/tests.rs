//! The live set as this crate reads it compared with the engine's own, over stores of every shape,
//! and the effects of damage to a MANIFEST.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sealstone_cipher::{Backend, cipher};
use sealstone_keys::EphemeralKey;

use super::log_record::tests::written;
use super::version_edit::VersionEdit;
use super::*;
use crate::env::{DbOptions, PlainEnv, SealedEnv};
use crate::ffi::{Db, LiveKind};
use crate::rest::{self, ComparedWith};

/// Options without automatic work, and values of 100 bytes are in blob files.
const STILL: &str = ";disable_auto_compactions=true;enable_blob_files=true;min_blob_size=100;\
                     enable_blob_garbage_collection=true;blob_garbage_collection_age_cutoff=1.0;\
                     blob_garbage_collection_force_threshold=1.0;\
                     level0_file_num_compaction_trigger=100";

/// An unsealed database in which things are done at random.
struct Store {
    dir: tempfile::TempDir,
    env: PlainEnv,
    db: Option<Db>,
    families: u32,
    made: u32,
}

impl Store {
    fn new(options: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let env = PlainEnv::new();
        let mut text = DbOptions::default();
        text.text.push_str(STILL);
        text.text.push_str(options);
        let db = env.open(&dir.path().join("db"), &text).unwrap();
        Self { dir, env, db: Some(db), families: 1, made: 0 }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("db")
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("it is open")
    }

    /// Writes 40 values, some short and some in blob files.
    fn write(&mut self, rng: &mut SmallRng) {
        let family = rng.random_range(0..self.families);
        for _ in 0..40 {
            let key = format!("key{:03}", rng.random_range(0..150));
            let value = vec![b'x'; rng.random_range(1..200)];
            self.db().put_in(family, key.as_bytes(), &value).unwrap();
        }
    }

    /// Takes over two tables made outside.
    fn ingest(&mut self) {
        let paths = [0, 1].map(|i| self.dir.path().join(format!("made-{}-{i}.sst", self.made)));
        for (i, path) in paths.iter().enumerate() {
            let mut writer = self.db().table_writer(path).unwrap();
            for n in 0..20 {
                writer
                    .put(format!("made{}-{i}-{n:03}", self.made).as_bytes(), b"from outside")
                    .unwrap();
            }
            writer.finish().unwrap();
        }
        self.db().ingest(&[&paths[0], &paths[1]], self.made.is_multiple_of(2)).unwrap();
        self.made += 1;
    }

    fn reopen(&mut self) {
        self.db.take().unwrap().close().unwrap();
        self.db = Some(self.env.open_stored(&self.path()).unwrap());
    }

    /// Makes one of the changes to the set of files.
    fn step(&mut self, rng: &mut SmallRng) -> &'static str {
        match rng.random_range(0..12) {
            0..4 => {
                self.write(rng);
                self.write(rng);
                self.db().flush_all().unwrap();
                "flush"
            }
            4..6 => {
                self.write(rng);
                "write"
            }
            6..8 => {
                let family = rng.random_range(0..self.families);
                self.db().compact_family(family).unwrap();
                "compact"
            }
            8 if self.families < 4 => {
                self.made += 1;
                self.db().create_family(&format!("family{}", self.made)).unwrap();
                self.families += 1;
                "create a family"
            }
            9 if self.families > 1 => {
                self.db().drop_family().unwrap();
                self.families -= 1;
                "drop a family"
            }
            10 => {
                self.ingest();
                "ingest"
            }
            _ => {
                self.reopen();
                "reopen"
            }
        }
    }

    /// Returns the MANIFEST in force.
    fn manifest(&self) -> Vec<u8> {
        let number = named_by_current(&fs::read(self.path().join("CURRENT")).unwrap()).unwrap();
        fs::read(self.path().join(format!("MANIFEST-{number:06}"))).unwrap()
    }

    /// Compares the live set with the engine's.
    fn check(&self, about: &str) -> LiveSet {
        let live = replayed(&self.manifest()).unwrap();
        // number, length and level (-1: a blob file)
        let mut ours: Vec<(u64, u64, i32)> =
            live.tables().map(|table| (table.number, table.bytes, table.level as i32)).collect();
        ours.extend(live.blob_files().map(|(number, bytes)| (number, bytes, -1)));
        ours.sort_unstable();
        let level = |kind: LiveKind| match kind {
            LiveKind::Table { level, .. } => level,
            LiveKind::Blob => -1,
        };
        let engine = self.db().live_files().unwrap().into_iter();
        let mut engine: Vec<(u64, u64, i32)> =
            engine.map(|file| (file.number, file.bytes, level(file.kind))).collect();
        engine.sort_unstable();
        assert_eq!(ours, engine, "{about}");
        assert_eq!(live.families.len() as u32, self.families, "{about}");
        for (number, bytes, level) in ours {
            let name = format!("{number:06}.{}", if level < 0 { "blob" } else { "sst" });
            assert_eq!(
                fs::metadata(self.path().join(&name)).unwrap().len(),
                bytes,
                "{about}: {name}"
            );
            assert!(number < live.next_file_number, "{about}: {name}");
        }
        let logs = fs::read_dir(self.path()).unwrap().filter_map(|entry| {
            entry.unwrap().file_name().to_str()?.strip_suffix(".log")?.parse::<u64>().ok()
        });
        let newest = logs.max().expect("a log is being written");
        assert!(live.first_log_needed() <= newest, "{about}");
        live
    }
}

fn replayed(content: &[u8]) -> Result<LiveSet, ManifestError> {
    let mut replay = Replay::new();
    for piece in content.chunks(1000) {
        replay.push(piece)?;
    }
    replay.finish()
}

/// Returns the records of a MANIFEST.
fn records(content: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut take = |_: u64, record: &[u8]| {
        found.push(record.to_vec());
        Ok(())
    };
    Records::new(0).push(content, &mut take).unwrap();
    found
}

#[test]
fn the_live_set_is_the_engine_s() {
    let mut kinds = BTreeSet::new();
    for (seed, options) in
        ["", ";atomic_flush=true", ";max_manifest_file_size=1500", ";write_dbid_to_manifest=true"]
            .into_iter()
            .enumerate()
    {
        let mut store = Store::new(options);
        let mut rng = SmallRng::seed_from_u64(seed as u64);
        store.check("new");
        for number in 0..60 {
            let what = store.step(&mut rng);
            kinds.insert(what);
            let about = format!("{options} step {number}: {what}");
            let live = store.check(&about);
            if live.tables().any(|table| table.level > 0) {
                kinds.insert("below the first level");
            }
            if live.families.values().any(|family| family.blob_files().count() < family.blobs.len())
            {
                kinds.insert("a dead blob file");
            }
            let edits = records(&store.manifest());
            let mut edits = edits.iter().map(|record| VersionEdit::decode(0, record).unwrap());
            if edits.any(|edit| edit.remaining_in_group.is_some()) {
                kinds.insert("an atomic group");
            }
        }
    }
    let want = [
        "a dead blob file",
        "an atomic group",
        "below the first level",
        "compact",
        "create a family",
        "drop a family",
        "flush",
        "ingest",
        "reopen",
        "write",
    ];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), want, "all of it was met");
}

#[test]
fn logs_that_the_database_knows_of_must_be_there() {
    let dir = tempfile::tempdir().unwrap();
    let keys = Arc::new(EphemeralKey::new().unwrap());
    let path = dir.path().join("db");
    let env = SealedEnv::new(keys.clone(), cipher("aes-256").unwrap(), Backend::auto());
    let mut options = DbOptions::default();
    options.text.push_str(";track_and_verify_wals_in_manifest=true");
    let db = env.open(&path, &options).unwrap();
    db.create_family("other").unwrap();
    db.put_in(1, b"kept", b"in the first log").unwrap();
    db.put(b"flushed", b"as well", false).unwrap();
    // the default family needs the first log no longer, the other one does
    db.flush().unwrap();
    db.put(b"later", b"in the second log", false).unwrap();
    db.sync_wal().unwrap();
    db.close().unwrap();
    let verify = || rest::verify(&path, &*keys, Backend::auto(), None, &mut |_| ()).unwrap();
    let whole = verify();
    assert_eq!(whole.failures, []);
    let ComparedWith::LiveSet { logs: 2, .. } = &whole.compared[0].with else {
        panic!("{:?}", whole.compared)
    };
    let logs: Vec<PathBuf> = fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "log"))
        .collect();
    let first = logs.into_iter().min().unwrap();
    let name = first.file_name().unwrap().to_str().unwrap().to_owned();
    let stored = fs::read(&first).unwrap();

    fs::remove_file(&first).unwrap();
    let found = verify();
    assert_eq!(found.failures.len(), 1, "{:?}", found.failures);
    assert!(
        found.failures[0].file == name && found.failures[0].what.starts_with("missing: MANIFEST-"),
        "{found:?}"
    );
    // emptied, and an older state of it
    fs::write(&first, b"").unwrap();
    let found = verify();
    assert!(
        found.failures[0].file == name && found.failures[0].what.starts_with("cut short: "),
        "{found:?}"
    );
    fs::write(&first, &stored).unwrap();
    assert!(verify().is_whole());
}

#[test]
fn a_damaged_manifest_is_an_error_and_never_more() {
    let mut store = Store::new(";atomic_flush=true");
    let mut rng = SmallRng::seed_from_u64(7);
    for _ in 0..40 {
        store.step(&mut rng);
    }
    store.check("before");
    let content = store.manifest();
    let edits = records(&content);
    assert_eq!(
        replayed(&written(&edits.iter().map(Vec::as_slice).collect::<Vec<_>>(), None)),
        replayed(&content)
    );
    // cut anywhere: earlier records count, and is not an error once there is a database
    let whole_from = (1..content.len()).find(|cut| replayed(&content[..*cut]).is_ok()).unwrap();
    for cut in (whole_from..content.len()).step_by(7) {
        replayed(&content[..cut]).unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
    }
    // changed anywhere: the checksum finds it
    for at in (0..content.len()).step_by(11) {
        let mut content = content.clone();
        content[at] ^= 1 << (at % 8);
        // a length that reaches beyond the end makes it a torn one
        let read = replayed(&content);
        assert!(
            read.is_err() || read.is_ok_and(|live| live.unfinished_bytes > 0),
            "bit of byte {at}"
        );
    }
    // changed under a checksum that fits: any outcome, but no panic and no more memory than there
    // are bytes
    let (mut refused, mut taken) = (0, 0);
    for _ in 0..4000 {
        let mut edits = edits.clone();
        for _ in 0..rng.random_range(1..4) {
            let record = rng.random_range(0..edits.len());
            if edits[record].is_empty() {
                continue;
            }
            let at = rng.random_range(0..edits[record].len());
            match rng.random_range(0..4) {
                0 => edits[record][at] ^= 1 << rng.random_range(0..8),
                1 => edits[record].truncate(at),
                2 => edits[record][at] = 0xff,
                _ => drop(edits.remove(record)),
            }
            if edits.is_empty() {
                break;
            }
        }
        match replayed(&written(&edits.iter().map(Vec::as_slice).collect::<Vec<_>>(), None)) {
            Ok(_) => taken += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 100 && taken > 100, "{refused} refused, {taken} taken");
}

/// Returns a field of a record: its tag and the bytes that follow.
fn field(tag: u32, rest: &[u8]) -> Vec<u8> {
    let mut field = varint(u64::from(tag));
    field.extend_from_slice(rest);
    field
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn slice(bytes: &[u8]) -> Vec<u8> {
    [varint(bytes.len() as u64), bytes.to_vec()].concat()
}

#[test]
fn every_way_of_writing_a_record_is_read() {
    let decode = |parts: &[Vec<u8>]| VersionEdit::decode(9, &parts.concat());
    let v = varint;
    // tables, as they were written over time
    let plain = [v(2), v(11), v(4000), slice(b"a"), slice(b"z")].concat();
    let numbered = [plain.clone(), v(5), v(6)].concat();
    let with_path = [v(2), v(11), v(3), v(4000), slice(b"a"), slice(b"z"), v(5), v(6)].concat();
    let fields = [
        numbered.clone(),
        field(3, &slice(&77_u64.to_le_bytes())),
        field(4, &slice(&v(8))),
        field(65, &slice(&[1])),
        field(12, &slice(&[9; 24])),
        field(60, &slice(b"of later versions")),
        v(1),
    ];
    let edit = decode(&[
        field(7, &plain),
        field(100, &numbered),
        field(102, &with_path),
        field(103, &fields.concat()),
    ]);
    let edit = edit.unwrap();
    let table = Table { number: 11, bytes: 4000, level: 2, path_id: 0, oldest_blob: None };
    let last = Table { path_id: 1, oldest_blob: Some(8), ..table.clone() };
    assert_eq!(edit.tables, [table.clone(), table.clone(), Table { path_id: 3, ..table }, last]);
    assert_eq!(edit.min_log_number_to_keep, Some(77));
    // blob files and logs, under both of their tags
    let blob = [
        v(5),
        v(10),
        v(1 << 40),
        slice(b"crc32c"),
        slice(b"1234"),
        field(2, &slice(b"later")),
        v(0),
    ]
    .concat();
    let garbage = [v(5), v(3), v(100), v(0)].concat();
    let wal = [v(12), v(2), v(999), v(1)].concat();
    for (addition, less) in [(400, 401), (8194, 8195)] {
        let edit = decode(&[field(addition, &blob), field(less, &garbage)]).unwrap();
        assert_eq!(edit.blobs, [Blob { number: 5, count: 10, value_bytes: 1 << 40 }]);
        assert_eq!(edit.garbage, [Garbage { number: 5, count: 3 }]);
    }
    let edit = decode(&[field(8196, &wal), field(8199, &slice(&wal)), field(8197, &v(4))]).unwrap();
    assert_eq!((edit.wals, edit.wals_before), (vec![(12, Some(999)); 2], Some(4)));
    assert_eq!(decode(&[field(8200, &slice(&v(5)))]).unwrap().wals_before, Some(5));
    // families, groups, and skipped records
    let rest = [
        field(1, &slice(b"leveldb.BytewiseComparator")),
        field(2, &v(4)),
        field(3, &v(9)),
        field(4, &v(1000)),
        field(5, &[v(1), slice(b"cursor")].concat()),
        field(6, &[v(3), v(7)].concat()),
        field(9, &v(0)),
        field(10, &v(6)),
        field(200, &v(2)),
        field(201, &slice(b"orders")),
        field(202, &[]),
        field(203, &v(5)),
        field(300, &v(1)),
        field(8193, &slice(b"id")),
        field(8198, &slice(b"ts")),
        field(8201, &slice(&[1])),
        field(8202, &slice(b"progress")),
        field(8192 | 900, &slice(b"of later versions")),
    ];
    let want = VersionEdit {
        family: 2,
        comparator: Some("leveldb.BytewiseComparator".into()),
        add: Some("orders".into()),
        drop: true,
        log_number: Some(4),
        next_file_number: Some(9),
        min_log_number_to_keep: Some(6),
        deleted: vec![(3, 7)],
        remaining_in_group: Some(1),
        ..VersionEdit::default()
    };
    assert_eq!(decode(&rest).unwrap(), want);
    // an unknown mandatory tag shows that a newer RocksDB wrote it
    let newer = [
        field(500, &[]),
        field(103, &[numbered, field(66, &slice(b"")), v(1)].concat()),
        field(
            400,
            &[v(5), v(1), v(1), slice(b""), slice(b""), field(64, &slice(b"")), v(0)].concat(),
        ),
        field(8196, &[v(12), v(3), v(1)].concat()),
    ];
    for record in newer {
        let error = decode(&[record]).unwrap_err();
        assert!(error.to_string().starts_with("written by a newer RocksDB: it holds "), "{error}");
    }
    // lengths that are not there, numbers that are too great
    let hostile = [
        field(201, &v(u64::from(u32::MAX))),
        field(1, &v(10)),
        field(2, &[0xff; 10]),
        field(200, &v(1 << 32)),
        field(2, &[0x80]),
        field(103, &[v(1), v(1), v(1), v(1 << 31)].concat()),
        field(8199, &slice(&[])),
        vec![0xff; 20],
    ];
    for record in hostile {
        let error = decode(std::slice::from_ref(&record)).unwrap_err();
        assert!(matches!(error, ManifestError::Damaged { offset: 9, .. }), "{record:?}: {error}");
    }
}

#[test]
fn records_must_fit_each_other() {
    let replay = |edits: &[Vec<u8>]| {
        replayed(&written(&edits.iter().map(Vec::as_slice).collect::<Vec<_>>(), None))
    };
    let v = varint;
    let next = field(3, &v(100));
    let table =
        |number: u64| field(7, &[v(0), v(number), v(10), slice(b"a"), slice(b"b")].concat());
    let group = |left: u64, number: u64| [table(number), field(300, &v(left))].concat();
    let numbers = |live: LiveSet| live.tables().map(|table| table.number).collect::<Vec<_>>();
    // a group counts once it is complete
    let both = [next.clone(), group(1, 5), group(0, 6)];
    assert_eq!(numbers(replay(&both).unwrap()), [5, 6]);
    assert!(numbers(replay(&both[..2]).unwrap()).is_empty());
    // a move to another level is one record
    let moved = [field(6, &[v(0), v(5)].concat()), table(5)].concat();
    assert_eq!(numbers(replay(&[next.clone(), table(5), moved]).unwrap()), [5]);
    let dropped = [field(200, &v(3)), field(202, &[])].concat();
    let added = [field(200, &v(3)), field(201, &slice(b"orders"))].concat();
    let in_it = [field(200, &v(3)), table(8)].concat();
    assert_eq!(numbers(replay(&[next.clone(), added.clone(), in_it.clone()]).unwrap()), [8]);
    assert!(
        numbers(replay(&[next.clone(), added.clone(), in_it.clone(), dropped.clone()]).unwrap())
            .is_empty()
    );
    let wrong: [&[Vec<u8>]; 9] = [
        &[],
        &[table(5)],
        &[next.clone(), table(5), table(5)],
        &[next.clone(), field(6, &[v(0), v(5)].concat())],
        &[next.clone(), in_it],
        &[next.clone(), added.clone(), added],
        &[next.clone(), dropped],
        &[next.clone(), group(1, 5), table(6)],
        &[next, group(2, 5), group(0, 6)],
    ];
    for edits in wrong {
        let error = replay(edits).unwrap_err();
        assert!(matches!(error, ManifestError::Damaged { .. }), "{edits:?}: {error}");
    }
}

#[test]
fn current_names_a_manifest_or_nothing() {
    assert_eq!(named_by_current(b"MANIFEST-000012\n"), Ok(12));
    assert_eq!(named_by_current(b"MANIFEST-1234567\n"), Ok(1_234_567));
    let wrong: [&[u8]; 8] = [
        b"",
        b"\n",
        b"MANIFEST-\n",
        b"MANIFEST-000012",
        b"MANIFEST-../../x\n",
        b"MANIFEST-+12\n",
        b"MANIFEST-99999999999999999999999\n",
        b"000012.log\n",
    ];
    for content in wrong {
        let error = named_by_current(content).unwrap_err();
        assert!(error.to_string().starts_with("names no MANIFEST: it holds "), "{error}");
    }
}
