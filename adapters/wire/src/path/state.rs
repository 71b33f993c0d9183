//! State that both directions of a path share.

use std::net::UdpSocket;
use std::sync::{Arc, Mutex};

use super::associations::Associations;
use super::counters::Tally;
use super::sources::Sources;
use super::stop::Stop;
use super::tun::Tun;

pub(super) struct State {
    pub(super) tun: Tun,
    pub(super) socket: UdpSocket,
    pub(super) associations: Arc<Associations>,
    pub(super) sources: Sources,
    pub(super) tally: Tally,
    pub(super) stop: Stop,
    /// Reason why a direction ended unexpectedly, in words.
    pub(super) failure: Mutex<Option<String>>,
}
