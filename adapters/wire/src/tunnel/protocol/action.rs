//! Input of a tunnel and the actions that it requests.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use sealstone_cipher::Backend;
use sealstone_seal::esp::{Inbound, Lifetime, Outbound, Suite};

use super::event::Event;

/// Settings that a tunnel is made with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The suite that seals packets; both ends must have the same one.
    pub suite: &'static Suite,
    /// On what ciphers run.
    pub backend: Backend,
    /// Address of the other end; without it this end waits for the other end.
    pub peer: Option<SocketAddr>,
    /// Time for which keys are used before others are agreed on.
    pub rekey_after: Duration,
    /// Amount that a key may seal, if less than its cipher allows.
    pub lifetime: Option<Lifetime>,
}

/// Report of a path on the associations that it has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    /// Report on the association that seals, if there is one.
    pub outbound: Option<ObservedOutbound>,
    /// Index of each association that opens, with the number of authentic packets that came.
    pub inbound: Vec<(u32, u64)>,
    /// Address that the last authentic packet came from.
    pub from: Option<SocketAddr>,
}

/// Report on the association that seals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObservedOutbound {
    /// Its index.
    pub spi: u32,
    /// True if it is time to agree on others.
    pub is_due: bool,
    /// Number of successors that are waiting.
    pub successors: usize,
}

/// Action that a tunnel requests; actions are carried out in order.
pub(crate) enum Action {
    /// Send a message of the key exchange.
    Send {
        /// To whom.
        to: SocketAddr,
        /// The message, without the marker of RFC 3948.
        message: Vec<u8>,
    },
    /// Open packets by this one, too.
    InstallInbound(Box<Inbound>),
    /// Open no more packets of this association.
    RemoveInbound {
        /// Its index.
        spi: u32,
    },
    /// Seal packets by the first of these, and by each of the others once the previous one is used
    /// up.
    InstallOutbound {
        /// At least one.
        outbounds: Vec<Outbound>,
        /// Destination of packets.
        peer: SocketAddr,
    },
    /// Seal nothing any more.
    RemoveOutbound,
    /// Send packets to another address.
    SetPeer(SocketAddr),
    /// Something happened; it is in the log already.
    Event(Event),
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { to, message } => write!(f, "Send {} bytes to {to}", message.len()),
            Self::InstallInbound(inbound) => write!(f, "InstallInbound({inbound:?})"),
            Self::RemoveInbound { spi } => write!(f, "RemoveInbound({spi:#010x})"),
            Self::InstallOutbound { outbounds, peer } => {
                write!(f, "InstallOutbound({outbounds:?} to {peer})")
            }
            Self::RemoveOutbound => f.write_str("RemoveOutbound"),
            Self::SetPeer(peer) => write!(f, "SetPeer({peer})"),
            Self::Event(event) => write!(f, "Event({event:?})"),
        }
    }
}
