//! State of a tunnel, as data. Not here: its display (`status`).

use std::net::SocketAddr;
use std::time::Duration;

use sealstone_keys::KeyRef;

/// State of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It waits for the other end to begin.
    Waiting,
    /// It is asking the other end.
    Connecting,
    /// Both ends have keys, and something authentic came lately.
    Up,
    /// Both ends had keys, and nothing authentic came for a while.
    Gone,
}

/// State of a tunnel, with its session.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    /// In a word.
    pub state: State,
    /// Address of the other end, as far as known.
    pub peer: Option<SocketAddr>,
    /// Current session with the other end.
    pub session: Option<SessionStanding>,
}

/// State of the session that one handshake gave.
#[derive(Clone, Debug)]
pub(crate) struct SessionStanding {
    /// Under which key.
    pub key: KeyRef,
    /// Time since the handshake succeeded.
    pub age: Duration,
    /// Time since the last authentic message came.
    pub silence: Duration,
    /// The indexes on which this end receives: the first, and how many.
    pub spis_in: (u32, u16),
    /// The indexes on which this end sends.
    pub spis_out: (u32, u16),
}
