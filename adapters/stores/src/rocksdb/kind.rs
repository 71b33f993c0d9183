//! RocksDB's row in the table of stores.

use sealstone_store::kind::{Form, Opened, Request, Setting, StoreKind};
use sealstone_store::{Layer, StoreError};

use super::RocksDb;
use super::engine::BLOCK_BYTES;
use crate::run_key::run_key;

/// The row.
pub(crate) static KIND: StoreKind = StoreKind {
    name: "rocksdb",
    about: "within this process",
    replicated: false,
    layers: &[Layer::Field, Layer::Rest],
    rest_mode: None,
    server_rest: &[],
    on_volume: cfg!(feature = "volume"),
    functions: &[],
    device: false,
    in_memory: false,
    cache_bytes_min: 0,
    cache_decided_by: None,
    shared_by: None,
    shared_by_variant: false,
    suited: "",
    settings: &[
        Setting::new(
            "rocksdb-block",
            "SIZE",
            Form::Text,
            "Data in a block of a table, which a read of one record fetches: 4KiB, 8KiB, 16KiB or \
             32KiB [default: 4KiB, as RocksDB and YCSB have it]",
        ),
        Setting::new(
            "rocksdb-block-checksums",
            "BOOL",
            Form::Bool,
            "false: no variant compares RocksDB's own checksum of a block that it reads; sealed \
             pages are authenticated already [default: true]",
        ),
    ],
    engine,
};

fn engine(request: &Request) -> Result<Opened, StoreError> {
    let (key, note) = match &request.key {
        Some(key) => (key.source.clone(), None),
        None => run_key(request.keep.as_deref())?,
    };
    let block_bytes = match request.setting("rocksdb-block") {
        None => BLOCK_BYTES,
        Some(text) => block_bytes(text)?,
    };
    let checksums = request.setting("rocksdb-block-checksums") != Some("false");
    let engine = RocksDb::new(key).with_blocks(block_bytes, checksums);
    Ok(Opened { engine: Box::new(engine), notes: note.into_iter().collect() })
}

/// Returns the length of a block called `text`.
fn block_bytes(text: &str) -> Result<u32, StoreError> {
    let named = [4, 8, 16, 32].into_iter().find(|kib| text == format!("{kib}KiB"));
    let found = || StoreError::engine(NoBlock { found: text.to_owned() });
    named.map(|kib: u32| kib << 10).ok_or_else(found)
}

/// A length that blocks cannot have.
#[derive(Debug, thiserror::Error)]
#[error("rocksdb-block is {found:?}\nwrite 4KiB, 8KiB, 16KiB or 32KiB")]
struct NoBlock {
    found: String,
}
