//! Choices for sealing the files of an environment, made when it is opened. Not here: sealing
//! (`file_system`).

use std::path::PathBuf;
use std::sync::Arc;

use sealstone_anchor::Anchor;
use sealstone_cipher::{Backend, Cipher};
use sealstone_keys::KeySource;
use sealstone_seal::FileKind;

/// Bytes of data in a page of a table under a cipher with blocks of 128 bits. A block of a table
/// begins and ends anywhere, so reading one verifies its own length and about a page more; short
/// pages keep that small (`results/page-reads.md`).
pub const TABLE_PAGE_BYTES: u32 = 1024;

/// Bytes of data in a page of other files, and under ciphers with blocks of 64 bits, which work on
/// more than 1,024 bytes at once. A value of a blob file is longer than a record of a table.
pub const PAGE_BYTES: u32 = 4096;

/// Returns the bytes of data in a page of a new file of `kind` under `cipher`, where no other
/// length is set.
pub(crate) fn page_bytes(kind: FileKind, cipher: &Cipher) -> u32 {
    match kind {
        FileKind::Table if cipher.block_bytes == 16 => TABLE_PAGE_BYTES,
        _ => PAGE_BYTES,
    }
}

/// Settings for sealing new files. Existing files are read according to their own headers.
#[derive(Clone)]
pub struct Sealing {
    /// Source of keys.
    pub keys: Arc<dyn KeySource>,
    /// Cipher of new files.
    pub cipher: &'static Cipher,
    /// Instruction set to use.
    pub backend: Backend,
    /// Bytes of data in a page of a table or blob file, a power of two from 1024 to 65536; None for
    /// [`TABLE_PAGE_BYTES`] in tables and [`PAGE_BYTES`] elsewhere.
    pub page_bytes: Option<u32>,
    /// Anchor that remembers outside the store how new the store was, so that an older copy of all
    /// its files is an error. An environment with an anchor is for one store.
    pub anchor: Option<Arc<dyn Anchor>>,
    /// Directory of a store in which a file counts what is sealed and opened
    /// ([`sealstone_file::counts`]); None for no such file.
    pub counts_dir: Option<PathBuf>,
}

impl Sealing {
    /// Uses pages of the usual length, no anchor, and no file of counts.
    pub fn new(keys: Arc<dyn KeySource>, cipher: &'static Cipher, backend: Backend) -> Self {
        Self { keys, cipher, backend, page_bytes: None, anchor: None, counts_dir: None }
    }
}
