//! The path: packets of a TUN device, sealed, to a peer, and the reverse; one thread for each
//! direction. Not here: how keys are agreed on (whose messages it only carries), and addresses or
//! routes of the device.
//!
//! A device hands over up to 64 KiB of a TCP flow at once: [`segment`] cuts that into packets that
//! fit the link, and [`coalesce`] joins opened packets again. Both are pure, and cutting joined
//! packets gives the same packets (`adapters/wire/tests/segments.rs`). Up to 64 packets leave in
//! one call (UDP_SEGMENT, `train`), and many arrive in one. The suite decides how many packets are
//! sealed at once, since a cipher computes different packets side by side. Packets that arrived in
//! one call in another order than they were sealed in are put in order once they are opened
//! (`order`).
//!
//! The path seals by the existing associations, changes automatically to a successor once a key is
//! used up, and drops packets without an association. Messages of a key exchange share the port and
//! go through a channel.
//!
//! Packets that would be too long for the link once sealed are not fragmented: the device gets an
//! MTU that prevents them ([`inner_mtu`]), and the host's own stack cuts TCP to it and notifies
//! others (ICMP "fragmentation needed", "packet too big"). Where the link turns out to carry less,
//! by its device or by a router, the path sets a smaller one until it carries more again. IPv6
//! needs 1,280 bytes (RFC 8200, section 5): a device with less has none.
//!
//! [`Associations`] come from the handshakes of a tunnel or by manual keying ([`charon`],
//! [`xfrm`]), with a record of how far their keys have gone ([`KeyUse`]). A [`Carrier`] carries
//! packets between two ends on this machine, to be measured: our path, strongSwan ([`strongswan`]),
//! or the kernel.

mod associations;
mod carrier;
mod counters;
mod inbound;
mod key_use;
mod manual_keying;
mod mtu;
mod order;
mod outbound;
mod packet;
mod private_dir;
mod sources;
mod state;
mod stop;
mod train;
mod tun;

use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use nix::sys::socket::{setsockopt, sockopt};
use sealstone_seal::esp::udp::{KEEPALIVE, KEY_EXCHANGE_MARKER};

pub use self::associations::{Associations, Heard, InboundStatus, OutboundStatus};
pub use self::carrier::{Carried, Carrier, strongswan};
use self::counters::Tally;
pub use self::counters::{Count, PathCounters};
pub use self::key_use::{End, KeyUse, KeyUseError, Known, StateDir};
pub use self::manual_keying::{
    AssociationPair, ManualAssociation, PairError, Unreadable, charon, xfrm,
};
pub use self::mtu::inner_mtu;
pub(crate) use self::mtu::route_mtu;
pub use self::packet::{Malformed, Packets, VnetHeader, coalesce, segment};
pub(crate) use self::private_dir::open as open_private_dir;
pub use self::sources::Sources;
use self::state::State;
use self::stop::Stop;
pub use self::tun::Tun;
pub(crate) use self::tun::tunnel_metric;
use crate::error::WireError;
use crate::ffi::option;

/// Room for datagrams that wait, in bytes: at 10 Gbit/s three milliseconds.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;

/// A running path. It ends, and its device with it, when it is stopped or dropped.
pub struct Path {
    state: Arc<State>,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Path").field("tun", &self.state.tun.name()).finish_non_exhaustive()
    }
}

impl Path {
    /// Starts it. Call it in the network namespace of the socket.
    ///
    /// - `socket`: bound to the port of ESP, or another that both ends agree on
    /// - `associations`: associations to seal and open by; they may come and go while it runs
    /// - `sources`: from where packets within the tunnel may come; others are dropped and counted
    /// - `exchange`: gets the messages of a key exchange, without their marker, and who sent them
    ///
    /// # Errors
    /// [`WireError::Socket`].
    pub fn start(
        tun: Tun,
        socket: UdpSocket,
        associations: Arc<Associations>,
        sources: Sources,
        exchange: Sender<(SocketAddr, Vec<u8>)>,
    ) -> Result<Self, WireError> {
        prepare(&socket)?;
        let stop = Stop::new().map_err(|found| WireError::Path { attempted: "start", found })?;
        let (tally, failure) = (Tally::default(), Mutex::new(None));
        let state = Arc::new(State { tun, socket, associations, sources, tally, stop, failure });
        let mut path = Self { state: state.clone(), threads: Vec::new() };
        let outgoing = state.clone();
        path.spawn("wire-out", move || outbound::run(&outgoing))?;
        path.spawn("wire-in", move || inbound::run(&state, &exchange))?;
        Ok(path)
    }

    fn spawn(
        &mut self,
        name: &str,
        run: impl FnOnce() -> Result<(), WireError> + Send + 'static,
    ) -> Result<(), WireError> {
        let state = self.state.clone();
        let thread = Builder::new().name(name.to_owned()).spawn(move || {
            if let Err(error) = run() {
                let mut failure = state.failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert(error.to_string());
                // the other direction alone is of no use
                state.stop.ask();
            }
        });
        self.threads.push(thread.map_err(|found| WireError::Path { attempted: "start", found })?);
        Ok(())
    }

    /// Returns the path's counters so far.
    #[must_use]
    pub fn counters(&self) -> PathCounters {
        self.state.tally.now()
    }

    /// Returns the name of its device.
    #[must_use]
    pub fn device(&self) -> &str {
        self.state.tun.name()
    }

    /// Returns the length of the longest packet that its device hands over now, in bytes.
    ///
    /// # Errors
    /// [`WireError::Device`].
    pub fn mtu(&self) -> Result<u32, WireError> {
        self.state.tun.mtu()
    }

    /// Returns the reason why the path ended unexpectedly, if it did, such as a deleted device.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.state.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends `message` of a key exchange to `peer` by the socket of the packets.
    ///
    /// # Errors
    /// [`WireError::Path`], with the network's error.
    pub fn send_exchange(&self, peer: SocketAddr, message: &[u8]) -> Result<(), WireError> {
        self.send(peer, &[&KEY_EXCHANGE_MARKER, message].concat())
    }

    /// Keeps address translators on the way to `peer` informed that this end is still there.
    ///
    /// # Errors
    /// As [`Self::send_exchange`].
    pub fn send_keepalive(&self, peer: SocketAddr) -> Result<(), WireError> {
        self.send(peer, &KEEPALIVE)
    }

    fn send(&self, peer: SocketAddr, datagram: &[u8]) -> Result<(), WireError> {
        let sent = self.state.socket.send_to(datagram, peer);
        sent.map(drop).map_err(|found| WireError::Path { attempted: "send a message", found })
    }

    /// Ends it, and returns what it counted. The device goes away.
    pub fn stop(mut self) -> PathCounters {
        self.end();
        self.counters()
    }

    fn end(&mut self) {
        self.state.stop.ask();
        for thread in self.threads.drain(..) {
            // a thread that panicked has reported it
            let _ = thread.join();
        }
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sets up room for many datagrams, several in a message, without fragmentation.
fn prepare(socket: &UdpSocket) -> Result<(), WireError> {
    let failed = |attempted| move |found| WireError::Socket { attempted, found };
    let bytes = SOCKET_BUFFER_BYTES;
    // beyond the system's limit where this process may, else as far as it goes
    if setsockopt(socket, sockopt::RcvBufForce, &bytes).is_err() {
        let _ = setsockopt(socket, sockopt::RcvBuf, &bytes);
    }
    if setsockopt(socket, sockopt::SndBufForce, &bytes).is_err() {
        let _ = setsockopt(socket, sockopt::SndBuf, &bytes);
    }
    let joined = setsockopt(socket, sockopt::UdpGroSegment, &true).map_err(std::io::Error::from);
    joined.map_err(failed("join the datagrams"))?;
    let is_ipv6 = socket.local_addr().map_err(failed("read the address"))?.is_ipv6();
    option::refuse_fragments(socket, is_ipv6).map_err(failed("forbid the fragments"))?;
    socket.set_nonblocking(true).map_err(failed("switch off the waiting"))
}
