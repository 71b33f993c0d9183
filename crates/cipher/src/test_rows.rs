//! Rows that a test adds to the table of ciphers. Not in a release build.

use std::sync::OnceLock;

use crate::facts::Cipher;

/// Rows that a test added.
static ADDED: OnceLock<&'static [Cipher]> = OnceLock::new();

/// Adds `rows`, once; whether that was the first time.
pub(crate) fn add(rows: &'static [Cipher]) -> bool {
    ADDED.set(rows).is_ok()
}

/// Returns the ciphers that were added.
pub(crate) fn added_ciphers() -> &'static [Cipher] {
    ADDED.get().copied().unwrap_or_default()
}
