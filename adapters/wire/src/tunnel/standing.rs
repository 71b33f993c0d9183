//! How a tunnel is doing, as data. Not here: how it is shown (`status`).

use std::net::SocketAddr;
use std::time::Duration;

use sealstone_keys::KeyRef;

/// How a tunnel is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for the other end to begin.
    Waiting,
    /// It is asking the other end.
    Connecting,
    /// Both ends have keys, and something authentic came lately.
    Up,
    /// Both ends had keys, and nothing authentic came for a while.
    Gone,
}

/// How a tunnel is doing, with its session.
#[derive(Clone, Debug)]
pub struct Standing {
    /// In a word.
    pub state: State,
    /// Where the other end is, as far as that is known.
    pub peer: Option<SocketAddr>,
    /// What there is with the other end.
    pub session: Option<SessionStanding>,
}

/// What one handshake gave.
#[derive(Clone, Debug)]
pub struct SessionStanding {
    /// Under which key.
    pub key: KeyRef,
    /// Number of the handshake.
    pub id: u64,
    /// How long ago it succeeded.
    pub age: Duration,
    /// How long ago the last authentic message came.
    pub silence: Duration,
    /// The indexes on which this end receives: the first, and how many.
    pub spis_in: (u32, u16),
    /// The indexes on which this end sends.
    pub spis_out: (u32, u16),
}
