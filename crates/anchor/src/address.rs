//! Opens the anchor that a user names: a file, or a note on a key server.

use std::path::Path;

use sealstone_keys::source;

#[cfg(feature = "kmip")]
use super::KmipAnchor;
use super::{Anchor, AnchorError, FileAnchor};

/// Opens the anchor `spec`: an address that begins with `kmip:`, or the path of a file, which
/// nobody who can change the store may be able to change.
///
/// # Errors
/// A mistake in an address; any address, if this program was built without the feature `kmip`.
pub fn open(spec: &Path) -> Result<Box<dyn Anchor>, AnchorError> {
    match spec.to_str().filter(|spec| source::is_kmip(spec)) {
        Some(address) => on_server(address),
        None => Ok(Box::new(FileAnchor::new(spec))),
    }
}

#[cfg(feature = "kmip")]
fn on_server(address: &str) -> Result<Box<dyn Anchor>, AnchorError> {
    Ok(Box::new(KmipAnchor::open(address)?))
}

#[cfg(not(feature = "kmip"))]
fn on_server(address: &str) -> Result<Box<dyn Anchor>, AnchorError> {
    Err(AnchorError(format!(
        "kmip not built in: {address} names a key server\n\
         install sealstone with it (make install, feature kmip), or give a file on other storage"
    )))
}
