//! Identification of a key among all the keys and their versions.

use std::fmt;

/// Longest key id, in bytes of UTF-8. Every sealed file has room for exactly this many in its
/// header.
pub const KEY_ID_BYTES_MAX: usize = 64;

/// Reference to a key: the name of the key and its version. Versions count up from 1, one for each
/// rotation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyRef {
    /// Name of the key, 1 to [`KEY_ID_BYTES_MAX`] bytes, as [`check_key_id`](crate::check_key_id)
    /// allows it.
    pub id: String,
    /// Version of the key, from 1.
    pub version: u32,
}

impl fmt::Display for KeyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} version {}", self.id, self.version)
    }
}
