//! The engine: opens RocksDB stores, sealed or not, all with the same settings, and reports them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use sealstone_keys::{InModule, KeySource};
use sealstone_rocksdb::{
    DbOptions, DirectoryError, PAGE_BYTES, PlainEnv, SealedEnv, Sealing, TABLE_PAGE_BYTES,
    check_directory, explain_failure, library,
};
use sealstone_store::{Engine, EngineFacts, OpenStore, StoreError, StoreOptions, Variant};

use super::store::{READAHEAD_BYTES, RocksStore};

/// Length of a data block of a table where none is chosen, in bytes: RocksDB's own, with which YCSB
/// measures.
pub(super) const BLOCK_BYTES: u32 = 4 << 10;
/// Size of a memory table, in bytes.
const WRITE_BUFFER_BYTES: u64 = 64 << 20;

/// RocksDB as an engine for comparisons.
pub struct RocksDb {
    keys: Arc<dyn KeySource>,
    page_bytes: Option<u32>,
    block_bytes: u32,
    block_checksums: bool,
}

impl RocksDb {
    /// Returns an engine whose sealed stores take their keys from `keys`.
    pub fn new(keys: Arc<dyn KeySource>) -> Self {
        Self { keys, page_bytes: None, block_bytes: BLOCK_BYTES, block_checksums: true }
    }

    /// Returns the same with sealed pages of `page_bytes` bytes of data: a power of two from 1024
    /// to 65536.
    #[must_use]
    pub fn with_page_bytes(self, page_bytes: u32) -> Self {
        Self { page_bytes: Some(page_bytes), ..self }
    }

    /// Returns the same with blocks of `block_bytes` bytes in its tables, whose own checksums reads
    /// compare or not.
    #[must_use]
    pub(crate) fn with_blocks(self, block_bytes: u32, block_checksums: bool) -> Self {
        Self { block_bytes, block_checksums, ..self }
    }

    /// As [`Engine::open`], with the store's own type: its database is for tests and tools.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn open_store(
        &self,
        variant: &Variant,
        dir: &Path,
        options: &StoreOptions,
    ) -> Result<RocksStore, StoreError> {
        self.open_in(variant, dir, options).map_err(StoreError::engine)
    }

    fn open_in(
        &self,
        variant: &Variant,
        dir: &Path,
        options: &StoreOptions,
    ) -> Result<RocksStore, DirectoryError> {
        let choice = variant.own_rest();
        check_directory(dir, choice.map(|choice| choice.cipher))?;
        let cannot =
            |source| DirectoryError::Io { attempt: "make directory", path: dir.to_owned(), source };
        fs::create_dir_all(dir).map_err(cannot)?;
        let db_options = DbOptions {
            text: settings(self.block_bytes)
                .iter()
                .map(|(name, value)| format!("{name}={value};"))
                .collect(),
            cache_bytes: Some(options.cache_bytes),
            transactions: true,
            block_checksums: self.block_checksums,
        };
        let opened = match choice {
            None => PlainEnv::new().open(dir, &db_options),
            Some(choice) => {
                let keys = InModule::used_by(Arc::clone(&self.keys), choice.provider);
                let sealing = Sealing::new(keys, choice.cipher, choice.backend());
                SealedEnv::with(Sealing { page_bytes: self.page_bytes, ..sealing })
                    .open(dir, &db_options)
            }
        };
        Ok(RocksStore::new(
            opened.map_err(|error| explain_failure("open", dir, &error))?,
            dir,
            options.sync_writes,
        ))
    }
}

impl Engine for RocksDb {
    fn facts(&self) -> EngineFacts {
        let mut facts: BTreeMap<String, String> = settings(self.block_bytes)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        facts.insert(
            "sync".into(),
            "false, as YCSB's RocksDB binding: a write is durable when the system writes it; true \
             for workloads named -sync"
                .into(),
        );
        facts.insert(
            "database".into(),
            "a TransactionDB for every workload; single writes go past its locks until the first \
             transaction"
                .into(),
        );
        let pages = self.page_bytes.map_or_else(
            || format!("{TABLE_PAGE_BYTES}; {PAGE_BYTES} under ciphers with blocks of 64 bits"),
            |page_bytes| page_bytes.to_string(),
        );
        facts.insert("sealed page bytes".into(), pages);
        let checksums = match self.block_checksums {
            true => "compared at each read, as by default",
            false => "not compared, in no variant: sealed pages are authenticated already",
        };
        facts.insert("RocksDB's own checksums of blocks".into(), checksums.into());
        facts.insert("block cache".into(), "LRU, plain blocks; sized by the comparison".into());
        facts.insert(
            "record format".into(),
            "field name and value, each after its length, as YCSB's RocksDB binding".into(),
        );
        EngineFacts {
            name: "rocksdb".into(),
            version: library::version(),
            build: library::build().into(),
            assertions: library::has_assertions(),
            settings: facts,
        }
    }

    fn open(
        &self,
        variant: &Variant,
        dir: &Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        self.open_store(variant, dir, options).map(OpenStore::records)
    }
}

/// Returns RocksDB's options that differ from its defaults, by RocksDB's own names; the same for
/// every variant.
fn settings(block_bytes: u32) -> Vec<(&'static str, String)> {
    let table = format!("{{block_size={block_bytes};filter_policy=bloomfilter:10:false;}}");
    vec![
        ("create_if_missing", "true".into()),
        ("block_based_table_factory", table),
        // compression would hide most of the cost of encryption
        ("compression", "kNoCompression".into()),
        ("write_buffer_size", WRITE_BUFFER_BYTES.to_string()),
        ("max_write_buffer_number", "3".into()),
        ("max_background_jobs", "2".into()),
        ("compaction_readahead_size", READAHEAD_BYTES.to_string()),
        // RocksDB's default takes damage in the middle of a log for its end, and drops what follows
        // without a word
        ("wal_recovery_mode", "kTolerateCorruptedTailRecords".into()),
        ("track_and_verify_wals_in_manifest", "true".into()),
        ("max_open_files", "-1".into()),
        ("stats_dump_period_sec", "0".into()),
        ("stats_persist_period_sec", "0".into()),
    ]
}
