//! Error that RocksDB reports for a call that failed.

/// Error that RocksDB reported for a failed call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    /// The kind of failure.
    pub code: Code,
    /// RocksDB's own words, with file names.
    pub text: String,
}

/// Kinds of failure, as far as callers act differently on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Data that does not authenticate, does not fit its checksum or is missing.
    Corruption,
    /// A combination that this build of RocksDB cannot do.
    NotSupported,
    /// A wrong argument, also a key that is missing or wrong.
    InvalidArgument,
    /// The operating system refused.
    Io,
    /// No room left on the device.
    NoSpace,
    /// A lock of another transaction was in the way: roll back and try again.
    Conflict,
    /// Anything else.
    Other,
}

impl Code {
    /// Makes it from `Status::Code` and `Status::SubCode`.
    pub(super) fn new(code: i32, subcode: i32) -> Self {
        const NO_SPACE: i32 = 4;
        match code {
            2 => Self::Corruption,
            3 => Self::NotSupported,
            4 => Self::InvalidArgument,
            5 if subcode == NO_SPACE => Self::NoSpace,
            5 => Self::Io,
            9 | 11 | 12 | 13 => Self::Conflict,
            _ => Self::Other,
        }
    }
}
