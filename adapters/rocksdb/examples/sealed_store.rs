//! A RocksDB database with every file sealed, in a directory that is removed at the end.
//!
//! `cargo run --example sealed_store`

use std::sync::Arc;

use sealstone_cipher::{Backend, cipher};
use sealstone_keys::KeyFile;
use sealstone_rocksdb::{DbOptions, Range, SealedEnv, rest};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let (key_path, db_path) = (dir.path().join("orders.key"), dir.path().join("orders"));

    // once: make a key, and keep its file apart from the data
    KeyFile::create(&key_path, "orders")?;

    // each time: open the sealed environment, and the database in it
    let keys = Arc::new(KeyFile::open(&key_path)?);
    let env = SealedEnv::new(keys.clone(), cipher("aes-256")?, Backend::auto());
    let db = env.open(&db_path, &DbOptions::default())?;

    for n in 0..1000 {
        db.put(format!("order {n:04}").as_bytes(), format!("{} apples", n * n).as_bytes(), false)?;
    }
    db.flush()?;
    println!("order 0017: {}", String::from_utf8(db.get(b"order 0017")?.expect("just written"))?);
    let mut orders = db.iterator(Range::default());
    orders.last();
    println!("the last one: {}", String::from_utf8_lossy(orders.entry().expect("just written").0));
    drop(orders);
    db.close()?;

    // which files are on disk, and are all of them whole?
    let status = rest::status(&db_path)?;
    for total in &status.totals {
        println!(
            "{} files, {} bytes, sealed with {} under key {} version {}",
            total.files, total.stored_bytes, total.cipher.name, total.key_id, total.key_version
        );
    }
    let report = rest::verify(&db_path, &*keys, Backend::auto(), None, &mut |_| ())?;
    println!(
        "{} pages and {} frames checked, {} failures",
        report.pages,
        report.frames,
        report.failures.len()
    );
    assert!(report.is_whole() && status.not_sealed.is_empty());
    Ok(())
}
