//! Beginning of every engine page: the magic bytes and the version of its format.

/// Bytes that every block begins with; the first byte is not text.
pub const MAGIC: [u8; 3] = *b"\x89SP";

/// The format version written, and the newest that is read.
pub const FORMAT_VERSION: u8 = 1;
