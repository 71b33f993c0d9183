//! RocksDB's row in the table of stores.

use sealstone_store::kind::{Form, Opened, Request, Setting, StoreKind};
use sealstone_store::{Layer, StoreError};

use super::RocksDb;
use super::engine::BLOCK_BYTES;
use crate::run_key::run_key;

/// Lengths of a block, each twice as long as the one before it, from 4,096 bytes on.
const BLOCKS: [&str; 4] = ["4KiB", "8KiB", "16KiB", "32KiB"];

/// The row.
pub(crate) static KIND: StoreKind = StoreKind {
    name: "rocksdb",
    about: "within this process",
    replicated: false,
    layers: &[Layer::Field, Layer::Rest],
    rest_modes: None,
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
            Form::OneOf(&BLOCKS),
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
        None => run_key(request)?,
    };
    let block_bytes = match request.setting("rocksdb-block") {
        None => BLOCK_BYTES,
        Some(text) => block_bytes(text),
    };
    let checksums = request.setting("rocksdb-block-checksums") != Some("false");
    let engine = RocksDb::new(key).with_blocks(block_bytes, checksums);
    Ok(Opened { engine: Box::new(engine), notes: note.into_iter().collect() })
}

/// Returns the length of a block called `text`, one of [`BLOCKS`].
fn block_bytes(text: &str) -> u32 {
    let at = BLOCKS.iter().position(|block| *block == text);
    at.map_or(BLOCK_BYTES, |at| 4096 << at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_lengths_that_their_names_say() {
        for block in BLOCKS {
            assert_eq!(format!("{}KiB", block_bytes(block) >> 10), block);
        }
    }
}
