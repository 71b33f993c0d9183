//! RocksDB's row in the table of stores.

use sealstone_store::kind::{Opened, Request, StoreKind};
use sealstone_store::{Layer, StoreError};

use super::RocksDb;
use crate::run_key::run_key;

/// The row.
pub(crate) static KIND: StoreKind = StoreKind {
    name: "rocksdb",
    about: "within this process",
    replicated: false,
    layers: &[Layer::Field, Layer::Rest],
    functions: &[],
    device: false,
    in_memory: false,
    cache_bytes_min: 0,
    cache_decided_by: None,
    shared_by: None,
    suited: "",
    settings: &[],
    engine,
};

fn engine(request: &Request) -> Result<Opened, StoreError> {
    let (key, note) = match &request.key {
        Some(key) => (key.source.clone(), None),
        None => run_key(request.keep.as_deref())?,
    };
    Ok(Opened { engine: Box::new(RocksDb::new(key)), notes: note.into_iter().collect() })
}
