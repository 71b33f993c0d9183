//! State of a single stored file, judged by its header alone. Not here: the check of the rest
//! (`check`).

use std::io;
use std::path::Path;

use sealstone_cipher::Cipher;
use sealstone_cipher::module::name_in;
use sealstone_seal::account::cipher_name;
use sealstone_seal::{HeaderInfo, Layout, SealError, inspect, paged};
use serde::Serialize;

use super::files_on_disk::read_header;
use crate::place;

/// State of a file, judged by its header alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Sealed.
    Sealed(Sealed),
    /// It holds nothing, like a lock file.
    Empty,
    /// It holds something in the clear.
    NotSealed,
    /// It cannot be read, or begins as a sealed file and does not continue as one.
    Unreadable {
        /// Reason why it cannot be read.
        why: String,
    },
}

/// Description of how a file is sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sealed {
    /// `pages` or `frames`.
    pub format: &'static str,
    /// Bytes of data in a page, where there are pages.
    pub page_bytes: Option<u32>,
    /// Cipher.
    #[serde(serialize_with = "cipher_name")]
    pub cipher: &'static Cipher,
    /// Name of the key that wraps the file's own.
    pub key_id: String,
    /// Version of that key.
    pub key_version: u32,
    /// Name and version of the cryptographic module that made it; absent if this project did.
    pub module: Option<String>,
    /// Bytes of data in it; absent for frames, whose lengths can be read only with the key.
    pub logical_bytes: Option<u64>,
}

impl Sealed {
    /// Returns the name of the module that made it, without its version, if one did.
    #[must_use]
    pub fn module_name(&self) -> Option<&str> {
        self.module.as_deref().map(name_in)
    }
}

/// Reads the state of a file from its header.
pub(super) fn state(path: &Path, stored_bytes: u64) -> io::Result<State> {
    if stored_bytes == 0 {
        return Ok(State::Empty);
    }
    let header = read_header(&place::open(path)?)?;
    Ok(match inspect(&header) {
        Ok(info) => sealed(info, stored_bytes),
        Err(SealError::NotSealed) => State::NotSealed,
        Err(error) => State::Unreadable { why: error.to_string() },
    })
}

fn sealed(info: HeaderInfo, stored_bytes: u64) -> State {
    let page_bytes = match info.layout {
        Layout::Paged { page_bytes } => Some(page_bytes),
        Layout::Frames | Layout::Volume { .. } => None,
    };
    let logical_bytes = page_bytes.and_then(|_| paged::logical_bytes(&info, stored_bytes).ok());
    State::Sealed(Sealed {
        format: info.layout.name(),
        page_bytes,
        cipher: info.cipher,
        key_id: info.key.id,
        key_version: info.key.version,
        module: info.module,
        logical_bytes,
    })
}
