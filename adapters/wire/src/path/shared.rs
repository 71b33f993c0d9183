//! State that both directions of a path share. Not here: what they do.

use std::net::UdpSocket;
use std::sync::{Arc, Mutex};

use super::stop::Stop;
use crate::associations::Associations;
use crate::counters::Tally;
use crate::sources::Sources;
use crate::tun::Tun;

pub(super) struct Shared {
    pub(super) tun: Tun,
    pub(super) socket: UdpSocket,
    pub(super) associations: Arc<Associations>,
    pub(super) sources: Sources,
    pub(super) tally: Tally,
    pub(super) stop: Stop,
    /// Reason why a direction came to an end by itself, in words.
    pub(super) failure: Mutex<Option<String>>,
}
