//! RocksDB as an engine whose files are sealed: by its host program, through `adapters/rocksdb`.

use std::path::Path;

use sealstone_keys::{KeyError, KeyRef, Secret};
use sealstone_rocksdb::rest;

use crate::at_rest::{AtRest, AtRestError, Found, Need, Renewal, SealedServer};

/// RocksDB in the table of engines.
pub static AT_REST: RocksDbAtRest = RocksDbAtRest;

/// RocksDB's files.
#[derive(Debug)]
pub struct RocksDbAtRest;

impl AtRest for RocksDbAtRest {
    fn name(&self) -> &'static str {
        "rocksdb"
    }

    fn product(&self) -> &'static str {
        "RocksDB"
    }

    fn owns(&self, dir: &Path) -> bool {
        let is_manifest = |name: &str| name.starts_with("MANIFEST-");
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        dir.join("CURRENT").exists()
            && entries.into_iter().any(|entry| is_manifest(&entry.file_name().to_string_lossy()))
    }

    /// Every sealed file has a header that names its key.
    fn need(
        &self,
        dir: &Path,
        key: &KeyRef,
        _: &dyn Fn() -> Result<Secret, KeyError>,
    ) -> Result<Need, AtRestError> {
        let found = rest::protected(dir, key).map_err(|error| AtRestError::Unread(error.into()))?;
        let under = |example| Found::Under { count: found.files, unit: "file", example };
        Ok(Need {
            sealed_files: found.sealed_files,
            found: found.example.map_or(Found::Nothing, under),
        })
    }

    fn renewal(&self) -> Renewal {
        Renewal::Rewrap("rest rotate")
    }

    fn server(&self) -> Option<&dyn SealedServer> {
        None
    }
}
