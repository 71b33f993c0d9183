//! A database with several column families, made by another program with the crate `rocksdb`, becomes a sealed one, gets
//! another cipher, and is read again by that program. Needs the feature `rust-rocksdb`: the interface of this crate reads
//! and writes the default family alone. Not here: resealing in use (`reseal`).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rocksdb::{ColumnFamilyDescriptor, DB, IteratorMode, Options};
use sealstone_cipher::backend::Backend;
use sealstone_cipher::registry;
use sealstone_keys::file::KeyFile;
use sealstone_rocksdb::reseal::Reseal;
use sealstone_rocksdb::{SealedEnv, Sealing, rest};

const FAMILIES: [&str; 3] = ["default", "orders", "people"];
const ROWS: u32 = 5_000;
/// Stands in every value, so that it would be found if anything were stored in the clear.
const MARKER: &str = "PLAINTEXT-MARKER";

fn options() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options
}

fn open(path: &Path, options: &Options) -> DB {
    // one family has options of its own
    let family = |name: &str| {
        let mut own = Options::default();
        if name == "people" {
            own.set_write_buffer_size(1 << 20);
            own.set_compression_type(rocksdb::DBCompressionType::None);
        }
        ColumnFamilyDescriptor::new(name, own)
    };
    DB::open_cf_descriptors(options, path, FAMILIES.map(family)).unwrap()
}

fn value(family: &str, row: u32) -> String {
    format!("{MARKER} row {row} of {family}")
}

fn check(db: &DB) {
    for name in FAMILIES {
        let family = db.cf_handle(name).unwrap();
        let mut rows = 0;
        for (row, entry) in db.iterator_cf(family, IteratorMode::Start).enumerate() {
            let (key, found) = entry.unwrap();
            assert_eq!((&*key, &*found), (&(row as u32).to_be_bytes()[..], value(name, row as u32).as_bytes()));
            rows += 1;
        }
        assert_eq!(rows, ROWS, "{name}");
    }
}

fn holds_marker(dir: &Path) -> bool {
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.is_file()).any(|path| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(MARKER.len()).any(|window| window == MARKER.as_bytes())
    })
}

#[test]
fn every_column_family_is_resealed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    {
        let db = open(&path, &options());
        for name in FAMILIES {
            let family = db.cf_handle(name).unwrap();
            for row in 0..ROWS {
                db.put_cf(family, row.to_be_bytes(), value(name, row)).unwrap();
                if row == ROWS / 2 {
                    db.flush_cf(family).unwrap();
                }
            }
        }
    }
    assert!(holds_marker(&path), "the search finds what is there in the clear");

    let keys = Arc::new(KeyFile::create(dir.path().join("key"), "orders").unwrap());
    for cipher in ["aes-256", "aria-256"] {
        let cipher = registry::cipher(cipher).unwrap();
        let env = SealedEnv::converting(Sealing::new(keys.clone(), cipher, Backend::auto()));
        let db = env.open_stored(&path).unwrap();
        Reseal::new(&db, cipher).run(&AtomicBool::new(false), &mut |_| ()).unwrap();
        db.close().unwrap();
        // what was open until the end, such as the manifest, comes along when the store is opened again
        let db = env.open_stored(&path).unwrap();
        let report = Reseal::new(&db, cipher).run(&AtomicBool::new(false), &mut |_| ()).unwrap();
        assert!(report.left.is_empty(), "{:?}", report.left);
        db.close().unwrap();

        let status = rest::status(&path).unwrap();
        assert!(status.not_sealed.is_empty(), "{:?}", status.not_sealed);
        assert!(status.totals.iter().all(|total| total.cipher == cipher.name), "{:?}", status.totals);
        assert!(!holds_marker(&path));

        let mut sealed = options();
        sealed.set_env(&SealedEnv::new(keys.clone(), cipher, Backend::auto()).into_rust_rocksdb());
        check(&open(&path, &sealed));
    }
}
