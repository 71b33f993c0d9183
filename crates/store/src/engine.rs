//! Engines: they open stores, and provide the facts that a report states about them. Not here: open
//! stores (`open_store`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{OpenStore, StoreError, Table, Variant};

/// Facts about the engine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EngineFacts {
    /// `rocksdb`.
    pub name: String,
    /// Version, such as `7.8.3`; empty where there is none.
    pub version: String,
    /// `system library` or `bundled source`.
    pub build: String,
    /// Built with assertions on: its baseline is slower, overheads are understated.
    pub assertions: bool,
    /// Settings that matter: block size, page size, compression, sync.
    pub settings: BTreeMap<String, String>,
}

impl EngineFacts {
    /// Returns the name and version, or the name alone where no version is known.
    #[must_use]
    pub fn name_and_version(&self) -> String {
        match self.version.as_str() {
            "" | "unknown" => self.name.clone(),
            version => format!("{} {version}", self.name),
        }
    }
}

/// Options with which a store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Size of the store's own cache, in bytes.
    pub cache_bytes: u64,
    /// Every table that will be used.
    pub tables: Vec<Arc<Table>>,
    /// True if a write returns only when it is on the disk; otherwise it is as durable as the
    /// engine's default. Writes that load a data set ([`insert_many`](crate::Store::insert_many),
    /// bulk loads) need not wait.
    pub sync_writes: bool,
}

/// A data store engine: opens stores in directories, sealed or not.
pub trait Engine: Send + Sync {
    /// Returns the name, version and build of the engine, with warnings for the reader of a report.
    fn facts(&self) -> EngineFacts;

    /// Opens (or creates) the store of `variant` in `dir`.
    ///
    /// # Errors
    /// A directory that is not this engine's, sealed with another key, in use by another process,
    /// or not writable.
    fn open(
        &self,
        variant: &Variant,
        dir: &Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError>;
}
