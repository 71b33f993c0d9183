//! A running tunnel: device, socket and path, and the state machine that controls them.
//!
//! The device, its addresses and its routes go with the process. Its guard stays (`guard`): routes
//! and rules in the kernel's tables that keep its packets off other routes; `guards` lists them in
//! the directory of running tunnels (`runtime`), which, like them, ends with the machine.

mod error;
mod manual_keying;
mod question;
mod setup;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use sealstone_cipher::Backend;
use sealstone_keys::KeySource;

pub use self::error::ServiceError;
pub use self::manual_keying::ManualService;
use self::question::{Question, listen as listen_to};
use self::setup::{bind, device, find};
use super::config::{AgreedKeys, Plan};
use super::handshake::Psk;
use super::protocol::{Action, Event, Observed, ObservedOutbound, Settings, Tunnel};
use super::runtime::Claim;
use super::status::{Fixed, Status};
use crate::path::{Associations, Path, Sources};

/// Interval at which the machine is polled for due actions.
const TICK: Duration = Duration::from_millis(50);
/// Interval at which the source of keys is checked for a newer version.
const KEYS_EVERY: Duration = Duration::from_secs(60);

/// A tunnel that is set up and does not run yet.
pub struct Service {
    fixed: Fixed,
    tunnel: Tunnel,
    path: Path,
    associations: Arc<Associations>,
    exchange: Receiver<(SocketAddr, Vec<u8>)>,
    asked: Receiver<Question>,
    newer_keys: Receiver<Vec<Psk>>,
    since: Instant,
    /// Callback that reports events as they happen.
    say: Box<dyn FnMut(&Event) + Send>,
    _claim: Claim,
}

impl Service {
    /// Sets everything up: faults in the settings are found here.
    ///
    /// - `agreed`: the keys of `plan`, used to agree on keys
    /// - `claim`: of the tunnel's name
    /// - `say`: is called with every event
    ///
    /// # Errors
    /// Any of [`ServiceError`] but the last. Nothing remains then.
    pub fn set_up(
        plan: &Plan,
        agreed: &AgreedKeys,
        keys: Arc<dyn KeySource>,
        mut claim: Claim,
        say: Box<dyn FnMut(&Event) + Send>,
    ) -> Result<Self, ServiceError> {
        let psks = Psk::all(&*keys)?;
        let listen = plan.listen.unwrap_or(Plan::LISTEN);
        let peer = plan.peer.as_ref().map(|(host, port)| find(host, *port, listen)).transpose()?;
        let socket = bind(listen)?;
        let tun = device(plan, agreed.suite, peer, listen)?;
        let peer_given = plan.peer.as_ref().map(|(host, port)| format!("{host}, port {port}"));
        let fixed = Fixed::new(plan, peer_given, listen, agreed.suite);
        let (suite, rekey_after) = (agreed.suite, agreed.rekey_after);
        let settings =
            Settings { suite, backend: Backend::auto(), peer, rekey_after, lifetime: None };
        let draw = |buffer: &mut [u8]| getrandom::fill(buffer).map_err(|error| error.to_string());
        let tunnel = Tunnel::new(settings, psks, Box::new(draw)).map_err(ServiceError::Ended)?;
        let associations = Arc::new(Associations::new());
        let (sender, exchange) = mpsc::channel();
        let sources = Sources::behind(&plan.addresses, &plan.routes);
        let path = Path::start(tun, socket, Arc::clone(&associations), sources, sender)?;
        let asked = listen_to(&mut claim)?;
        let newer_keys = read_keys(keys)?;
        let since = Instant::now();
        Ok(Self {
            fixed,
            tunnel,
            path,
            associations,
            exchange,
            asked,
            newer_keys,
            since,
            say,
            _claim: claim,
        })
    }

    /// Runs until `stop` turns true or a request to stop comes; device and files are gone when it
    /// returns.
    ///
    /// # Errors
    /// [`ServiceError::Ended`], if the path ended unexpectedly.
    pub fn run(mut self, stop: &AtomicBool) -> Result<(), ServiceError> {
        let mut next_tick = Duration::ZERO;
        loop {
            if stop.load(Ordering::SeqCst) || self.answer_questions() {
                let actions = self.tunnel.end(self.since.elapsed());
                self.act(actions);
                self.path.stop();
                return Ok(());
            }
            if let Some(found) = self.path.failure() {
                return Err(ServiceError::Ended(found));
            }
            match self.exchange.recv_timeout(next_tick.saturating_sub(self.since.elapsed())) {
                Ok((from, message)) => {
                    let actions = self.tunnel.handle(self.since.elapsed(), from, &message);
                    self.act(actions);
                }
                Err(RecvTimeoutError::Timeout) => {}
                // the path reports why
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
            }
            let now = self.since.elapsed();
            if now >= next_tick {
                next_tick = now + TICK;
                let observed = self.observe();
                let actions = self.tunnel.tick(now, &observed);
                self.act(actions);
            }
            if let Ok(psks) = self.newer_keys.try_recv() {
                let actions = self.tunnel.set_keys(psks);
                self.act(actions);
            }
        }
    }

    fn observe(&self) -> Observed {
        let outbound = self.associations.outbound_status().map(|status| ObservedOutbound {
            spi: status.spi,
            is_due: status.is_due,
            successors: status.successors,
        });
        let inbound = self.associations.inbound_status();
        let opened = |counters: sealstone_seal::esp::Counters| counters.packets + counters.dummies;
        let inbound =
            inbound.into_iter().map(|status| (status.spi, opened(status.counters))).collect();
        Observed { outbound, inbound, from: self.associations.heard().map(|heard| heard.from) }
    }

    /// Runs the tunnel's actions.
    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                // a message that the network does not take is sent again
                Action::Send { to, message } => drop(self.path.send_exchange(to, &message)),
                Action::InstallInbound(inbound) => self.associations.add_inbound(*inbound),
                Action::RemoveInbound { spi } => {
                    self.associations.remove_inbound(spi);
                }
                Action::InstallOutbound { outbounds, peer } => {
                    let mut outbounds = outbounds.into_iter();
                    if let Some(first) = outbounds.next() {
                        self.associations.set_outbound(first, peer);
                    }
                    outbounds.for_each(|successor| self.associations.add_successor(successor));
                }
                Action::RemoveOutbound => self.associations.remove_outbound(),
                Action::SetPeer(peer) => self.associations.set_peer(peer),
                Action::Event(event) => (self.say)(&event),
            }
        }
    }

    /// Answers queries; returns whether the tunnel should end.
    fn answer_questions(&mut self) -> bool {
        while let Ok(question) = self.asked.try_recv() {
            match question {
                Question::Down => return true,
                Question::Status(reply) => {
                    let now = self.since.elapsed();
                    let standing = self.tunnel.standing(now);
                    let spi_out = self.associations.outbound_status().map(|status| status.spi);
                    let of_tunnel = (&standing, self.tunnel.log());
                    let (counters, mtu) = (self.path.counters(), self.path.mtu().ok());
                    let status = Status::new(&self.fixed, now, of_tunnel, &counters, mtu, spi_out);
                    // the client may have left
                    let _ = reply.send(serde_json::to_string(&status).unwrap_or_default());
                }
            }
        }
        false
    }
}

/// Reads the key repeatedly, in a separate thread, since a key server may be slow: a newer version
/// is for the next handshakes. If the source does not answer, the known keys stay.
fn read_keys(keys: Arc<dyn KeySource>) -> Result<Receiver<Vec<Psk>>, ServiceError> {
    let (newer, received) = mpsc::channel();
    let read = move || loop {
        std::thread::sleep(KEYS_EVERY);
        if let Ok(psks) = Psk::all(&*keys)
            && newer.send(psks).is_err()
        {
            return;
        }
    };
    let thread = std::thread::Builder::new().name("wire-keys".into()).spawn(read);
    thread.map_err(|error| ServiceError::Ended(format!("cannot look for newer keys: {error}")))?;
    Ok(received)
}
