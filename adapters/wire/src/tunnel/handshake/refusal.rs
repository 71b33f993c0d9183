//! Reasons why a message of the key exchange was not taken. Not here: refused packets
//! (`sealstone_seal::esp::Refusal`).

use sealstone_keys::KeyRef;
use sealstone_message::SettingName;

/// Reasons why a message of the key exchange was not taken. Apart from being counted and shown, a
/// refusal has no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It is none of ours.
    #[error("a message that is no message of this exchange: {found}")]
    Malformed {
        /// Description of the fault of the message.
        found: &'static str,
    },
    /// It is of another version of this exchange.
    #[error(
        "the other end speaks version {found} of the exchange, this end {known}\nupdate the older \
         sealstone of the two"
    )]
    OtherProtocol {
        /// Its version.
        found: u8,
        /// This end's.
        known: u8,
    },
    /// Both ends were given different suites.
    #[error(
        "the other end has suite {theirs}, this end {ours}\ngive both ends the same {}",
        SettingName("suite")
    )]
    OtherSuite {
        /// The other end's.
        theirs: String,
        /// This end's.
        ours: String,
    },
    /// Both ends were given different keys.
    #[error("the other end has key {theirs}, this end key {ours}\ngive both ends the same key")]
    OtherKey {
        /// The other end's.
        theirs: KeyRef,
        /// Id of this end's.
        ours: String,
    },
    /// One of both ends has a version of the key that the other lacks.
    #[error(
        "the other end has key {theirs}, this end only version {}\ngive it that version, with: \
         sealstone keys import",
        listed(ours)
    )]
    UnknownVersion {
        /// The other end's.
        theirs: KeyRef,
        /// The versions of this end, ascending.
        ours: Vec<u32>,
    },
    /// It names this end's key, and was not made with it.
    #[error(
        "a first message that names key {key} and was not made with it\n\
         if it came from your other end, its key file holds another key of the same name: give \
         both ends the same"
    )]
    WrongKey {
        /// The key that it names.
        key: KeyRef,
    },
    /// A first message that came before.
    #[error("a first message that came before")]
    Replayed,
    /// More first messages than this end looks at.
    #[error("more first messages than this end looks at in a second")]
    TooMany,
    /// An answer without a pending request, or of a session that has ended.
    #[error("an answer to nothing that this end asked")]
    Unasked,
    /// It does not authenticate.
    #[error("a message that does not authenticate")]
    Forged,
}

/// [`Refused`] without what it found, to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Reason {
    /// [`Refused::Malformed`].
    Malformed,
    /// [`Refused::OtherProtocol`].
    OtherProtocol,
    /// [`Refused::OtherSuite`].
    OtherSuite,
    /// [`Refused::OtherKey`].
    OtherKey,
    /// [`Refused::UnknownVersion`].
    UnknownVersion,
    /// [`Refused::WrongKey`].
    WrongKey,
    /// [`Refused::Replayed`].
    Replayed,
    /// [`Refused::TooMany`].
    TooMany,
    /// [`Refused::Unasked`].
    Unasked,
    /// [`Refused::Forged`].
    Forged,
}

impl Reason {
    /// All of them, in the order in which to show them.
    pub const ALL: [Self; 10] = [
        Self::Malformed,
        Self::OtherProtocol,
        Self::OtherSuite,
        Self::OtherKey,
        Self::UnknownVersion,
        Self::WrongKey,
        Self::Replayed,
        Self::TooMany,
        Self::Unasked,
        Self::Forged,
    ];

    /// Returns the word for it in a table.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::OtherProtocol => "other protocol",
            Self::OtherSuite => "other suite",
            Self::OtherKey => "other key",
            Self::UnknownVersion => "unknown key version",
            Self::WrongKey => "wrong key",
            Self::Replayed => "replayed",
            Self::TooMany => "too many",
            Self::Unasked => "unasked",
            Self::Forged => "forged",
        }
    }
}

impl Refused {
    /// Returns the reason under which to count the message.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Malformed { .. } => Reason::Malformed,
            Self::OtherProtocol { .. } => Reason::OtherProtocol,
            Self::OtherSuite { .. } => Reason::OtherSuite,
            Self::OtherKey { .. } => Reason::OtherKey,
            Self::UnknownVersion { .. } => Reason::UnknownVersion,
            Self::WrongKey { .. } => Reason::WrongKey,
            Self::Replayed => Reason::Replayed,
            Self::TooMany => Reason::TooMany,
            Self::Unasked => Reason::Unasked,
            Self::Forged => Reason::Forged,
        }
    }
}

fn listed(versions: &[u32]) -> String {
    versions.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
