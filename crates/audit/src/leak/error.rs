//! Reasons why a search cannot begin. They name places and lengths, never a text to look for.
//!
//! Not here: files that cannot be read, which are `std::io::Error`.

/// Fault of what is to be looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeakError {
    /// A text so short that files contain it by chance.
    #[error(
        "{label} has {bytes} bytes\nname texts of at least {min} bytes, which no file contains by \
         chance"
    )]
    TooShort {
        /// Place of the text.
        label: String,
        /// Its length in bytes of UTF-8.
        bytes: usize,
        /// Fewest bytes.
        min: usize,
    },
    /// A text that is longer than is looked for.
    #[error("{label} has {bytes} bytes\nname texts of at most {max} bytes; a part of it will do")]
    TooLong {
        /// Place of the text.
        label: String,
        /// Its length in bytes of UTF-8.
        bytes: usize,
        /// Most bytes.
        max: usize,
    },
    /// A file without any text.
    #[error(
        "{place} names no text to look for\nwrite one a line; lines that begin with # are left out"
    )]
    None {
        /// Name of the file.
        place: String,
    },
    /// A file with more texts than are looked for at once.
    #[error(
        "{place} names {count} texts to look for\nname at most {max}; they are samples, and a few \
         of each column will do"
    )]
    TooMany {
        /// Name of the file.
        place: String,
        /// Number of texts.
        count: usize,
        /// Most texts.
        max: usize,
    },
    /// Neither texts nor forms.
    #[error(
        "there is nothing to look for\nname texts, or a policy with columns of the formats card, \
         rrn, phone or email"
    )]
    Nothing,
}
