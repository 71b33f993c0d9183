//! Errors concerning sealed packets. Not here: errors in keys or names of suites (`suite`).

/// Reason why packets could not be sealed, or an association could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EspError {
    /// A security parameters index that means something else.
    #[error(
        "the security parameters index {spi:#010x} is reserved\nchoose one from 0x00000100 on (RFC \
         4303, 2.1)"
    )]
    ReservedSpi {
        /// The index.
        spi: u32,
    },
    /// A key of another length than the suite's.
    #[error(
        "{what} of {found} bytes for suite {suite}, which takes {want}\ngive the keys that this \
         suite was agreed with"
    )]
    KeyLength {
        /// Kind of key.
        what: &'static str,
        /// Name of the suite.
        suite: &'static str,
        /// Its length, in bytes.
        found: usize,
        /// The suite's, in bytes.
        want: usize,
    },
    /// The key has sealed as much as it may.
    #[error(
        "association {spi:#010x} has sealed as much as one key may: {packets} packets, {blocks} \
         blocks of {suite}\n\
         agree on a successor"
    )]
    Exhausted {
        /// Its index.
        spi: u32,
        /// Name of its suite.
        suite: &'static str,
        /// Packets sealed.
        packets: u64,
        /// Blocks of the cipher sealed.
        blocks: u64,
    },
    /// So much of the key's lifetime has not been reserved.
    #[error(
        "association {spi:#010x} may not go as far as {packets} packets and {blocks} blocks\n\
         reserve as much first"
    )]
    Unreserved {
        /// Its index.
        spi: u32,
        /// Packets that its keys would have sealed.
        packets: u64,
        /// Blocks of the cipher that they would have sealed.
        blocks: u64,
    },
    /// Something else than a whole IP packet.
    #[error(
        "packet {index} to be sealed is no whole IPv4 or IPv6 packet\nthe device must hand over \
         whole packets"
    )]
    NotIp {
        /// Index among the packets handed over, from 0.
        index: usize,
    },
    /// The system gives no randomness.
    #[error("no randomness from the operating system: {found}\nwithout it no packet can be sealed")]
    Random {
        /// Error from the system.
        found: String,
    },
    /// A call to the cipher failed.
    #[error("cannot seal packets of association {spi:#010x}: {source}")]
    Cipher {
        /// The association's index.
        spi: u32,
        /// Error from the cipher.
        source: sealstone_cipher::Error,
    },
}

/// Reason why a received packet was not opened. Its only effect is to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[repr(usize)]
#[non_exhaustive]
pub enum Refusal {
    /// It is shorter than any sealed packet, or no whole number of blocks.
    #[error("no sealed packet has this length")]
    Length,
    /// It is of another association.
    #[error("another association's index")]
    OtherSpi,
    /// It came before.
    #[error("it came before")]
    Replayed,
    /// It is older than the window reaches.
    #[error("older than the window")]
    TooOld,
    /// It was changed, or sealed with other keys.
    #[error("authentication failed")]
    Authentication,
    /// The sender padded it wrongly.
    #[error("wrong padding")]
    Padding,
    /// Sealed content that is not a whole IP packet.
    #[error("no IP packet inside")]
    Inner,
}

impl Refusal {
    /// All of them, in the order in which to show them.
    pub const ALL: [Self; 7] = [
        Self::Length,
        Self::OtherSpi,
        Self::Replayed,
        Self::TooOld,
        Self::Authentication,
        Self::Padding,
        Self::Inner,
    ];
}
