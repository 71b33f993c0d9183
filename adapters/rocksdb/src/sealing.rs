//! Choices for sealing the files of an environment, made when it is opened. Not here: sealing
//! (`file_system`).

use std::sync::Arc;

use sealstone_cipher::{Backend, Cipher};
use sealstone_keys::KeySource;

use crate::anchor::Anchor;

/// Bytes of data in a page of a table file when there is no reason for another length: 4096. A
/// block of a table begins and ends anywhere, so reading one opens its own length and about a page
/// more; short pages keep that small. Scans gain next to nothing from longer pages, since they read
/// many pages at once.
pub const PAGE_BYTES: u32 = 4096;

/// Settings for sealing new files. Existing files are read according to their own headers.
#[derive(Clone)]
pub struct Sealing {
    /// Source of keys.
    pub keys: Arc<dyn KeySource>,
    /// Cipher of new files.
    pub cipher: &'static Cipher,
    /// Instruction set to use.
    pub backend: Backend,
    /// Bytes of data in a page of a table file: a power of two from 4096 to 65536.
    pub page_bytes: u32,
    /// Anchor that remembers outside the store how new the store was, so that an older copy of all
    /// its files is an error. An environment with an anchor is for one store.
    pub anchor: Option<Arc<dyn Anchor>>,
}

impl Sealing {
    /// Uses pages of [`PAGE_BYTES`], and no anchor.
    pub fn new(keys: Arc<dyn KeySource>, cipher: &'static Cipher, backend: Backend) -> Self {
        Self { keys, cipher, backend, page_bytes: PAGE_BYTES, anchor: None }
    }
}
