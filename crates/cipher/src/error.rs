//! Errors of a cipher call. Not here: a name in no table ([`crate::registry`], [`crate::backend`]).

/// Error of a cipher call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The tag does not fit the data: wrong key, changed data, or other associated data.
    #[error("authentication failed")]
    Authentication,
    /// The nonce has the wrong length.
    #[error("nonce of {found} bytes, want {want}")]
    NonceLength {
        /// Length given, in bytes.
        found: usize,
        /// The required length, in bytes.
        want: usize,
    },
    /// The key has the wrong length.
    #[error("key of {found} bytes, want {want}")]
    KeyLength {
        /// Length given, in bytes.
        found: usize,
        /// The required length, in bytes.
        want: usize,
    },
    /// The padding is malformed: wrong key, wrong initialisation vector or changed data.
    #[error("wrong padding")]
    Padding,
    /// The data is not a whole number of blocks.
    #[error("{found} bytes are not whole blocks of {block_bytes} bytes")]
    PartialBlock {
        /// Length given, in bytes.
        found: usize,
        /// Block length, in bytes.
        block_bytes: usize,
    },
    /// The message is shorter than the mode takes.
    #[error("message of {found} bytes, at least {least}")]
    MessageTooShort {
        /// Length given, in bytes.
        found: usize,
        /// Shortest allowed, in bytes.
        least: usize,
    },
    /// A piece after the end of its message: an earlier one was no whole blocks, or failed.
    #[error("the message has ended with a piece that was no whole blocks, or that failed")]
    AfterEnd,
    /// The mode has no such cipher: it takes blocks of another length.
    #[error("blocks of {found} bytes, want {want}")]
    BlockLength {
        /// Length of the cipher's blocks, in bytes.
        found: usize,
        /// The required length, in bytes.
        want: usize,
    },
    /// The module does not have the algorithm, and nothing takes its place.
    #[error(
        "module {module} has no {what}{}\n\
         take a cipher and a kind of sealing that it has, or another module: docs/guide/modules.md \
         lists them",
        with(cipher)
    )]
    Lacks {
        /// Name of the module.
        module: &'static str,
        /// The mode or algorithm, such as `gcm`.
        what: &'static str,
        /// Name of the cipher; empty for what needs none.
        cipher: &'static str,
    },
    /// The module failed, or is in an error state.
    #[error(
        "module {module} failed: {doing}; nothing takes its place\n\
         see what the module itself reports, and start again: it may refuse work until then"
    )]
    Module {
        /// Name of the module.
        module: &'static str,
        /// Work that it failed at, such as `encrypting`.
        doing: &'static str,
    },
    /// The message is longer than the mode allows.
    #[error("message of {found} bytes, at most {limit}")]
    MessageTooLong {
        /// Length given, in bytes.
        found: u64,
        /// Longest allowed, in bytes.
        limit: u64,
    },
}

fn with(cipher: &str) -> String {
    if cipher.is_empty() { String::new() } else { format!(" with {cipher}") }
}
