//! Events of a tunnel, in words.

use std::net::SocketAddr;

use sealstone_keys::KeyRef;

use crate::tunnel::handshake::Refused;

/// Something that happened to a tunnel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Event {
    /// The first handshake succeeded, or one after the other end was gone.
    #[error("up: handshake with {peer} under key {key}")]
    Up {
        /// The other end.
        peer: SocketAddr,
        /// The key that both ends have.
        key: KeyRef,
    },
    /// Another handshake gave fresh keys.
    #[error("fresh keys, under key {key}")]
    Rekeyed {
        /// The key that both ends have.
        key: KeyRef,
    },
    /// The other end started again; its earlier state is forgotten.
    #[error("the other end started again: new handshake with {peer} under key {key}")]
    PeerRestarted {
        /// The other end.
        peer: SocketAddr,
        /// The key that both ends have.
        key: KeyRef,
    },
    /// Authentic messages come from another address now.
    #[error("the other end moved from {from} to {to}")]
    PeerMoved {
        /// Its previous address.
        from: SocketAddr,
        /// Its current address.
        to: SocketAddr,
    },
    /// Nothing authentic came for a while.
    #[error("the other end is gone: nothing came for 10 s")]
    PeerGone,
    /// Something authentic came again, under the same keys.
    #[error("the other end is back")]
    PeerBack,
    /// No handshake succeeded for so long that the keys are not used any more.
    #[error("the keys are too old and no handshake succeeded: nothing is sent any more")]
    KeysTooOld,
    /// The other end was requested to stop.
    #[error("the other end was taken down")]
    PeerEnded,
    /// A handshake that this end began was not answered.
    #[error(
        "no answer from {peer}\nit is down, something in between drops UDP to that port, or its \
         log says more"
    )]
    NoAnswer {
        /// The peer of the request.
        peer: SocketAddr,
    },
    /// A message was not taken.
    #[error("refused from {from}: {why}")]
    Refused {
        /// Address that the message came from.
        from: SocketAddr,
        /// Reason for the refusal.
        why: Refused,
    },
    /// The other end reports that it refuses this end's messages. The sender of the report is
    /// unverified.
    #[error("refused by {from}: {why}")]
    RefusedByPeer {
        /// Address that this message came from.
        from: SocketAddr,
        /// Reason, in the words of the other end.
        why: String,
    },
    /// This end has other keys than before.
    #[error("the key was rotated: new handshakes are under key {key}")]
    KeyRotated {
        /// The newest version.
        key: KeyRef,
    },
    /// This end could not do what it should.
    #[error("{what}")]
    Failed {
        /// The failure and its reason.
        what: String,
    },
    /// Associations that others agreed on are in use.
    #[error("associations {spi_out:#010x} out and {spi_in:#010x} in, with {peer}")]
    Manual {
        /// The other end.
        peer: SocketAddr,
        /// Index of the sealing association.
        spi_out: u32,
        /// Index of the opening association.
        spi_in: u32,
    },
    /// This end was requested to stop.
    #[error("taken down")]
    Ended,
}
