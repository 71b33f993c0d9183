//! A tunnel that runs: device, socket and path, and the machine that tells them what to do. Not here: the machine
//! (`tunnel`), and being a process (the command line).

use std::io;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use sealstone_cipher::backend::Backend;
use sealstone_keys::{KeyError, KeySource};

use crate::associations::Associations;
use crate::config::{Net, Plan};
use crate::error::WireError;
use crate::handshake::Psk;
use crate::mtu::{inner_mtu, route_mtu};
use crate::path::Path;
use crate::program;
use crate::runtime::Claim;
use crate::status::{Fixed, Status};
use crate::tun::Tun;
use crate::tunnel::{Action, Event, Observed, ObservedOutbound, Settings, Tunnel};

/// How often the machine is asked what is due.
const TICK: Duration = Duration::from_millis(50);
/// How often the source of keys is asked for a newer version.
const KEYS_EVERY: Duration = Duration::from_secs(60);
/// What a link carries if nobody knows, in bytes.
const LINK_MTU: u32 = 1_500;

/// Why a tunnel could not be set up, or came to an end.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The name of the other end leads nowhere.
    #[error("cannot find the other end {host}: {found}\ncheck the name, or give its address with --peer")]
    Peer {
        /// What was given.
        host: String,
        /// What the system said.
        found: String,
    },
    /// Somebody else has the port.
    #[error(
        "UDP port {} is in use\n\
         see who has it: ss -lupn; choose another with --listen :PORT, and --peer HOST:PORT at the other end",
        listen.port()
    )]
    PortInUse {
        /// Where this end was to receive.
        listen: SocketAddr,
    },
    /// This machine does not have the address.
    #[error("cannot receive at {listen}: {found}\ngive an address of this machine with --listen, or none")]
    Listen {
        /// Where this end was to receive.
        listen: SocketAddr,
        /// What the system said.
        found: io::Error,
    },
    /// One end is of IPv4, and the other of IPv6.
    #[error("{peer} cannot be reached from {listen}: one is IPv4, the other IPv6\ngive --listen [::] for IPv6")]
    Families {
        /// The other end.
        peer: SocketAddr,
        /// This one.
        listen: SocketAddr,
    },
    /// This machine has the address already.
    #[error("address {address} is on this machine already: {found}\nremove it there, or choose another --address")]
    AddressTaken {
        /// The address.
        address: Net,
        /// Where.
        found: String,
    },
    /// Device, path or addresses.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Keys.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// The tunnel ended by itself.
    #[error("{0}")]
    Ended(String),
}

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
    /// Where events are said as they happen.
    say: Box<dyn FnMut(&Event) + Send>,
    _claim: Claim,
}

/// Somebody asked.
enum Question {
    /// How it is doing.
    Status(Sender<String>),
    /// It is to end.
    Down,
}

impl Service {
    /// Sets everything up: what is wrong with it is found here.
    ///
    /// - `claim`: of the tunnel's name
    /// - `say`: is called with every event
    ///
    /// # Errors
    /// Any of [`ServiceError`] but the last. Nothing remains then.
    pub fn set_up(
        plan: &Plan,
        keys: Arc<dyn KeySource>,
        mut claim: Claim,
        say: Box<dyn FnMut(&Event) + Send>,
    ) -> Result<Self, ServiceError> {
        let psks = Psk::all(&*keys)?;
        let peer = plan.peer.as_ref().map(|(host, port)| find(host, *port, plan.listen)).transpose()?;
        let socket = bind(plan.listen)?;
        plan.addresses.iter().try_for_each(check_address)?;
        let tun = Tun::create(&plan.name)?;
        let on_link = peer.and_then(|peer| route_mtu(peer).ok()).unwrap_or(LINK_MTU);
        tun.set_mtu(inner_mtu(on_link, plan.suite, peer.unwrap_or(plan.listen).ip()))?;
        for Net { address, prefix_bits } in &plan.addresses {
            tun.add_address(*address, *prefix_bits)?;
        }
        tun.set_up()?;
        for route in &plan.routes {
            program::run("ip", &["route", "add", &route.to_string(), "dev", tun.name()])?;
        }
        let fixed = Fixed {
            name: plan.name.clone(),
            peer_given: plan.peer.as_ref().map(|(host, port)| format!("{host}, port {port}")),
            listen: plan.listen.to_string(),
            addresses: plan.addresses.iter().map(Net::to_string).collect(),
            routes: plan.routes.iter().map(Net::to_string).collect(),
            suite: plan.suite,
        };
        let (suite, rekey_after) = (plan.suite, plan.rekey_after);
        let settings = Settings { suite, backend: Backend::auto(), peer, rekey_after, lifetime: None };
        let draw = |buffer: &mut [u8]| getrandom::fill(buffer).map_err(|error| error.to_string());
        let tunnel = Tunnel::new(settings, psks, Box::new(draw)).map_err(ServiceError::Ended)?;
        let associations = Arc::new(Associations::new());
        let (sender, exchange) = mpsc::channel();
        let path = Path::start(tun, socket, Arc::clone(&associations), sender)?;
        let (asks, asked) = mpsc::channel();
        let serve = move |word: &str| answer(&asks, word);
        claim.serve(serve).map_err(|error| ServiceError::Ended(format!("cannot answer for status: {error}")))?;
        let newer_keys = read_keys(keys)?;
        let since = Instant::now();
        Ok(Self { fixed, tunnel, path, associations, exchange, asked, newer_keys, since, say, _claim: claim })
    }

    /// Runs until `stop` turns true or somebody says so; device and files are gone when it returns.
    ///
    /// # Errors
    /// [`ServiceError::Ended`], if the path ended by itself.
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
                // the path says why
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
        let inbound = inbound.into_iter().map(|status| (status.spi, opened(status.counters))).collect();
        Observed { outbound, inbound, from: self.associations.heard().map(|heard| heard.from) }
    }

    /// Does what the tunnel wants done.
    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                // what the network does not take is sent again
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

    /// Answers who asked; whether the tunnel is to end.
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
                    // who asked may have left
                    let _ = reply.send(serde_json::to_string(&status).unwrap_or_default());
                }
            }
        }
        false
    }
}

/// Reads the key again and again, in a thread of its own, since a key server may take its time: a newer version is for
/// the next handshakes. If the source does not answer, what is known stays.
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

/// Answers `word`, in the thread of who asks.
fn answer(asks: &Sender<Question>, word: &str) -> String {
    match word {
        "status" => {
            let (reply, answer) = mpsc::channel();
            let asked = asks.send(Question::Status(reply));
            asked.ok().and_then(|()| answer.recv_timeout(Duration::from_secs(5)).ok()).unwrap_or_default()
        }
        "down" => asks.send(Question::Down).map(|()| "ending".to_owned()).unwrap_or_default(),
        _ => String::new(),
    }
}

/// The address of `host`, of the family of `listen` if it has several.
fn find(host: &str, port: u16, listen: SocketAddr) -> Result<SocketAddr, ServiceError> {
    let failed = |found: String| ServiceError::Peer { host: host.to_owned(), found };
    let all: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(|error| failed(error.to_string()))?.collect();
    let first = *all.first().ok_or_else(|| failed("it has no address".into()))?;
    let alike = all.into_iter().find(|address| address.is_ipv4() == listen.is_ipv4());
    alike.ok_or(ServiceError::Families { peer: first, listen })
}

fn bind(listen: SocketAddr) -> Result<UdpSocket, ServiceError> {
    UdpSocket::bind(listen).map_err(|found| match found.kind() {
        io::ErrorKind::AddrInUse => ServiceError::PortInUse { listen },
        _ => ServiceError::Listen { listen, found },
    })
}

/// That this machine does not have the address yet, on whatever device.
fn check_address(address: &Net) -> Result<(), ServiceError> {
    let found = program::output("ip", &["-oneline", "address", "show", "to", &address.address.to_string()])?;
    match found.split_whitespace().nth(1) {
        None => Ok(()),
        Some(device) => Err(ServiceError::AddressTaken { address: *address, found: format!("device {device} has it") }),
    }
}
