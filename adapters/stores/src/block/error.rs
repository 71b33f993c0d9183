//! Reasons why a block device is missing, or failed a request.

use std::path::PathBuf;

use sealstone_message::SettingName;
use sealstone_store::StoreError;

/// Reason why a block device is missing, or failed a request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// A path that is no file and no block device, or cannot be opened.
    #[error("cannot open {}: {found}\n{step}", path.display())]
    Open {
        /// The path.
        path: PathBuf,
        /// Problem that was found.
        found: String,
        /// Advice on what to do next.
        step: &'static str,
    },
    /// There is something on it.
    #[error(
        "{place} is not empty: its first {looked_bytes} bytes are not all zeros, and workloads \
         would overwrite it\n\
         choose an empty one, or give up what is on it with {}",
        SettingName("erase true")
    )]
    NotEmpty {
        /// The device.
        place: String,
        /// Bytes that were looked at.
        looked_bytes: u64,
    },
    /// A second variant would write over the first.
    #[error(
        "{place} is one device, and cannot be that of {variant} as well\nleave {} out, and each \
         variant gets a file of its own",
        SettingName("device")
    )]
    OneDevice {
        /// The device.
        place: String,
        /// Label of the variant.
        variant: String,
    },
    /// A request failed.
    #[error("cannot {word} {length} bytes at offset {offset} of {place}: {found}\n{step}")]
    Request {
        /// `read` or `write`.
        word: &'static str,
        /// Its length in bytes.
        length: usize,
        /// Its offset in bytes.
        offset: u64,
        /// The device.
        place: String,
        /// Error from the operating system.
        found: std::io::Error,
        /// Advice on what to do next.
        step: &'static str,
    },
}

impl From<BlockError> for StoreError {
    fn from(error: BlockError) -> Self {
        Self::engine(error)
    }
}
