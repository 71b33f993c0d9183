//! RocksDB as an engine whose files are sealed: by its host program, through `adapters/rocksdb`.

use std::path::Path;

use sealstone_rocksdb::rest;

use crate::at_rest::{AtRest, AtRestError, Found, Need, Renewal, SealedServer, Wanted};

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

    /// Every sealed file has a header that names its key, and is in a list, so that a file which is
    /// away for a while is missed.
    fn need(&self, dir: &Path, wanted: &Wanted<'_>) -> Result<Need, AtRestError> {
        let unread = |error: rest::RestError| AtRestError::Unread(error.into());
        let protected = rest::protected(dir, wanted.key).map_err(unread)?;
        let found = match protected.example {
            Some(example) => Found::Under { count: protected.files, unit: "file", example },
            None => {
                let missing = rest::missing(dir, wanted.keys).map_err(unread)?;
                let first = missing.into_iter().next();
                first.map_or(Found::Nothing, |one| Found::Missing { file: one.file })
            }
        };
        Ok(Need { sealed_files: protected.sealed_files, found })
    }

    fn renewal(&self) -> Renewal {
        Renewal::Rewrap("rest rotate")
    }

    fn server(&self) -> Option<&dyn SealedServer> {
        None
    }
}
