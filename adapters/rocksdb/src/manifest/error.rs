//! Errors in a MANIFEST or CURRENT.

/// Reason why a MANIFEST or CURRENT cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ManifestError {
    /// Not a record that RocksDB writes.
    #[error("damaged at byte {offset}: {found}\nrestore the store from a backup")]
    Damaged {
        /// Byte of the content, from the beginning of the file.
        offset: u64,
        /// Description of the finding.
        found: String,
    },
    /// It holds what only a newer RocksDB writes.
    #[error(
        "written by a newer RocksDB: it holds {what}, which this program does not know\nuse a \
         newer sealstone"
    )]
    Newer {
        /// Feature that only a newer RocksDB writes.
        what: String,
    },
    /// `CURRENT` does not name a MANIFEST.
    #[error("names no MANIFEST: it holds {found:?}\nrestore the store from a backup")]
    NotCurrent {
        /// The beginning of the data found.
        found: String,
    },
}
