//! Errors of a tunnel as a whole.

use std::io;
use std::net::SocketAddr;

use sealstone_keys::KeyError;
use sealstone_message::SettingName;

use crate::error::WireError;
use crate::path::{KeyUseError, PairError};

/// Reasons why a tunnel could not be set up, or came to an end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The name of the other end leads nowhere.
    #[error(
        "cannot find the other end {host}: {found}\ncheck the name, or give its address with {}",
        SettingName("peer")
    )]
    Peer {
        /// Name that was given.
        host: String,
        /// Error message from the system.
        found: String,
    },
    /// Somebody else has the port.
    #[error(
        "UDP port {} is in use\n\
         see who has it: ss -lupn; choose another with {}, and {} at the other end",
        listen.port(), SettingName("listen :PORT"), SettingName("peer HOST:PORT")
    )]
    PortInUse {
        /// Address at which this end was to receive.
        listen: SocketAddr,
    },
    /// This machine does not have the address.
    #[error(
        "cannot receive at {listen}: {found}\ngive an address of this machine with {}, or none",
        SettingName("listen")
    )]
    Listen {
        /// Address at which this end was to receive.
        listen: SocketAddr,
        /// Error of the system.
        found: io::Error,
    },
    /// One end is of IPv4, and the other of IPv6.
    #[error(
        "{peer} cannot be reached from {listen}: one is IPv4, the other IPv6\ngive {} for IPv6",
        SettingName("listen [::]")
    )]
    Families {
        /// The other end.
        peer: SocketAddr,
        /// This one.
        listen: SocketAddr,
    },
    /// Device, path or addresses.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Keys.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The file with associations.
    #[error(transparent)]
    Pair(#[from] PairError),
    /// Error in the record of how far their keys have gone.
    #[error(transparent)]
    KeyUse(#[from] KeyUseError),
    /// The tunnel ended unexpectedly.
    #[error("{0}")]
    Ended(String),
}
