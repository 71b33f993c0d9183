//! The sealed environment under a database of the crate `rocksdb`: three more lines than without.
//!
//! `cargo run --features rust-rocksdb --example sealed_rocksdb`

use std::sync::Arc;

use rocksdb::{DB, IteratorMode, Options};
use sealstone_cipher::{Backend, cipher};
use sealstone_keys::KeyFile;
use sealstone_rocksdb::SealedEnv;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    KeyFile::create(dir.path().join("key"), "example")?;

    let mut options = Options::default();
    options.create_if_missing(true);
    // the three lines
    let keys = Arc::new(KeyFile::open(dir.path().join("key"))?);
    let env = SealedEnv::new(keys, cipher("aes-256")?, Backend::auto());
    options.set_env(&env.into_rust_rocksdb());

    let path = dir.path().join("db");
    let db = DB::open(&options, &path)?;
    for n in 0..1000u32 {
        db.put(n.to_be_bytes(), format!("value {n}"))?;
    }
    db.flush()?;
    drop(db);

    let db = DB::open(&options, &path)?;
    assert_eq!(db.get(17u32.to_be_bytes())?.as_deref(), Some(&b"value 17"[..]));
    println!("{} entries came back", db.iterator(IteratorMode::Start).count());
    drop(db);

    // without the environment there is nothing to read
    let mut plain = Options::default();
    plain.create_if_missing(false);
    println!("without the key: {}", DB::open(&plain, &path).err().expect("it is sealed"));
    Ok(())
}
