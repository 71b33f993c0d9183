//! Findings: what was found in a file, in which encoding, where first, and how often. Never the
//! text that was found.
//!
//! Not here: counting (`tally`).

use std::fmt;

use serde::Serialize;

/// Kind of thing that was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A text that must not be in the clear.
    Marker,
    /// Any value of a form, such as a payment card.
    Form,
}

/// Encoding of a text that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// UTF-8.
    Plain,
    /// UTF-16, the low byte first.
    Utf16Le,
    /// UTF-16, the high byte first.
    Utf16Be,
    /// Hexadecimal digits of the UTF-8.
    Hex,
    /// Base64 of the UTF-8 (RFC 4648, sections 4 and 5).
    Base64,
}

impl Encoding {
    /// Returns its name, such as `utf16le`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Utf16Le => "utf16le",
            Self::Utf16Be => "utf16be",
            Self::Hex => "hex",
            Self::Base64 => "base64",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Compression of the data that a text was found in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 1950; in RocksDB, RFC 1951 alone.
    Zlib,
    /// RFC 8878.
    Zstd,
    /// The frame format of lz4; in RocksDB, its block format.
    Lz4,
    /// A block of WiredTiger, RocksDB or LevelDB.
    Snappy,
}

impl Compression {
    /// Returns its name, such as `zlib`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
            Self::Snappy => "snappy",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A text or a form that a file contains, in one encoding and one compression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// Label of the marker or of the form.
    pub what: String,
    /// Kind of thing that was looked for.
    pub kind: Kind,
    /// Encoding that it is in.
    pub encoding: Encoding,
    /// Compression of the data that it is in; None for the bytes of the file themselves.
    pub within: Option<Compression>,
    /// Offset of the first one in the file, in bytes. In base64, of the first character that
    /// belongs to the text alone; in compressed data, or in a key that a table stores in part, of
    /// where that data or its block begins.
    pub first_offset: u64,
    /// Number of them.
    pub count: u64,
}

/// Result of the search of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Hits, one for each text or form, encoding and compression.
    pub hits: Vec<Hit>,
    /// Number of places at which compressed data begins, or seems to, that was not searched to its
    /// end because of a limit; and of blocks of tables that could not be read, or of tables whose
    /// blocks could not be found.
    pub cut: u64,
}
