//! The records of a sealed store that no process has open, read without writing a byte to it.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::{Backend, DEFAULT_CIPHER};
use sealstone_keys::KeySource;

use super::lack;
use super::source::{Source, SourceError};
use crate::directory::DirectoryError;
use crate::env::SealedEnv;
use crate::ffi::{Db, Error, Range};
use crate::sealing_options::Sealing;

/// The comparator under which keys with a common beginning are next to each other, and RocksDB's
/// default.
const BYTEWISE: &str = "leveldb.BytewiseComparator";
/// Bytes that a scan reads ahead.
const READAHEAD_BYTES: u64 = 2 << 20;
/// Advice for when a part of the program that made the store is missing.
const REMEDY: &str =
    "`sealstone rest unseal` needs no such part: unseal the store, and read it with that program";

/// Reason why records cannot be read. Nothing in the store was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The store cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// RocksDB refused, or lacks what the store needs.
    #[error(transparent)]
    Database(#[from] DirectoryError),
    /// The column family does not exist.
    #[error("no column family {name} in the store\nit has: {}", known.join(", "))]
    NoFamily {
        /// Its name.
        name: String,
        /// The existing families.
        known: Vec<String>,
    },
}

/// Selection of the records that a scan covers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection<'a> {
    /// First key, inclusive.
    pub from: Option<&'a [u8]>,
    /// Last key, exclusive.
    pub to: Option<&'a [u8]>,
    /// Prefix of the keys.
    pub prefix: &'a [u8],
    /// At most this many records.
    pub limit: Option<u64>,
}

/// One column family of a closed sealed store.
pub struct Records {
    db: Db,
    bytewise: bool,
    families: Vec<String>,
    source: Source,
}

impl Records {
    /// Opens column family `family` (every store has `default`) of the store in `dir`. While this
    /// lives, no process can open the store for writing.
    ///
    /// # Errors
    /// A directory that is no sealed store, a store in use, no key, another key, damage, an unknown
    /// column family; a store that needs a part that this program's RocksDB lacks.
    pub fn open(
        dir: &Path,
        keys: Arc<dyn KeySource>,
        backend: Backend,
        family: &str,
    ) -> Result<Self, ReadError> {
        let source = Source::open(dir, Arc::clone(&keys), backend)?;
        let (_, live) = source.live_set()?;
        let families: Vec<String> =
            live.families.values().map(|family| family.name.clone()).collect();
        let Some(found) = live.families.values().find(|known| known.name == family) else {
            return Err(ReadError::NoFamily { name: family.into(), known: families });
        };
        let bytewise = found.comparator.is_empty() || found.comparator == BYTEWISE;
        let opened = SealedEnv::reading(Sealing::new(keys, DEFAULT_CIPHER, backend))
            .open_for_reading(dir, &[family]);
        let db = opened
            .map_err(|error| lack::explain("open", dir, &error, source.contents(), REMEDY))?;
        Ok(Self { db, bytewise, families, source })
    }

    /// Returns the column families of the store, in order of their making.
    #[must_use]
    pub fn families(&self) -> &[String] {
        &self.families
    }

    /// Returns the value of `key`, if it is there.
    ///
    /// # Errors
    /// I/O, damage.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
        self.db.get(key).map_err(|error| self.explained(&error))
    }

    /// Hands the records that `selection` covers to `record`, key and value, in the order of the
    /// store's comparator, until it breaks off.
    ///
    /// # Errors
    /// As [`Records::get`]; the records before the failure were handed out.
    pub fn scan(
        &self,
        selection: Selection<'_>,
        mut record: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        let Selection { from, to, prefix, limit } = selection;
        // keys with a prefix are next to each other only where keys are ordered by their bytes
        let skips = self.bytewise && !prefix.is_empty();
        let lower = if skips { Some(from.map_or(prefix, |from| from.max(prefix))) } else { from };
        let range = Range { lower, upper: to, readahead_bytes: READAHEAD_BYTES, fill_cache: false };
        let mut iterator = self.db.iterator(range);
        iterator.first();
        let mut left = limit.unwrap_or(u64::MAX);
        while left > 0
            && let Some((key, value)) = iterator.entry()
        {
            if key.starts_with(prefix) {
                if record(key, value).is_break() {
                    return Ok(());
                }
                left -= 1;
            } else if skips {
                break;
            }
            iterator.advance();
        }
        iterator.status().map_err(|error| self.explained(&error))
    }

    fn explained(&self, error: &Error) -> ReadError {
        lack::explain("read from", &self.source.dir, error, self.source.contents(), REMEDY).into()
    }
}
