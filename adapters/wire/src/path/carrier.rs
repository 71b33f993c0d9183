//! Carriers of packets between the ends of a link that was made on this machine, to measure it:
//! nothing, our path with fresh keys at both ends, strongSwan, or the kernel. Not here: a tunnel
//! between two machines, which agree on keys (`tunnel`).

mod kernel;
pub mod strongswan;

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sealstone_cipher::{Backend, Provider};
use sealstone_keys::Secret;
use sealstone_seal::esp::{Association, Inbound, Outbound, Suite, udp};
use zeroize::Zeroizing;

use self::strongswan::{INNER, StrongSwan};
use super::Path;
use super::associations::Associations;
use super::counters::PathCounters;
use super::mtu::inner_mtu;
use super::sources::Sources;
use super::tun::Tun;
use crate::error::WireError;
use crate::links::{LINK_MTU, Links};

/// The carrier of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A path of ours, in this process.
    Sealstone,
    /// strongSwan with its ESP in user space.
    StrongSwan,
    /// The kernel's own ESP, where it has one.
    Kernel,
}

impl Carrier {
    /// All of them, in the order in which to show them.
    pub const ALL: [Self; 3] = [Self::Sealstone, Self::StrongSwan, Self::Kernel];

    /// Returns the name in flags, tables and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sealstone => "sealstone",
            Self::StrongSwan => "strongswan",
            Self::Kernel => "kernel",
        }
    }

    /// Returns whether the carrier supports `suite`.
    #[must_use]
    pub fn has(self, suite: &Suite) -> bool {
        match self {
            Self::Sealstone => true,
            Self::StrongSwan => strongswan::proposal(suite).is_some(),
            Self::Kernel => kernel::has(suite),
        }
    }
}

/// A tunnel between the ends of a link. It ends with the value.
#[derive(Debug)]
pub struct Carried {
    /// The addresses of the two ends inside it.
    pub addresses: [IpAddr; 2],
    /// Ids of other processes that work for it.
    pub processes: Vec<u32>,
    _rekeyer: Option<Rekeyer>,
    paths: Vec<Path>,
    _strongswan: Option<StrongSwan>,
}

impl Carried {
    /// Returns the link itself, with nothing in between.
    #[must_use]
    pub fn plain(links: &Links) -> Self {
        let addresses = [0, 1].map(|end| links.address(end, false));
        Self {
            addresses,
            processes: Vec::new(),
            _rekeyer: None,
            paths: Vec::new(),
            _strongswan: None,
        }
    }

    /// Returns a tunnel over `links` sealed by `suite`, carried by `carrier`. Our packets leave
    /// with keys that are drawn here, and drawn again before they are used up.
    ///
    /// # Errors
    /// [`WireError`]: no devices for packets, no strongSwan, a suite that it lacks.
    pub fn start(
        links: &Links,
        carrier: Carrier,
        suite: &'static Suite,
    ) -> Result<Self, WireError> {
        let inner = INNER.map(|address| address.parse::<IpAddr>().expect("an address"));
        let mut carried = Self { addresses: inner, ..Self::plain(links) };
        match carrier {
            Carrier::StrongSwan => {
                let proposal = strongswan::proposal(suite).ok_or_else(|| WireError::Command {
                    command: "charon".into(),
                    found: format!("strongSwan has no {}", suite.name),
                    next: "choose another suite for it, or another path",
                })?;
                let tunnel = StrongSwan::start(links, &proposal)?;
                carried.processes = tunnel.processes();
                carried._strongswan = Some(tunnel);
            }
            Carrier::Kernel => kernel::start(links, suite, INNER, &[keys(suite)?, keys(suite)?])?,
            Carrier::Sealstone => {
                let associations = [0, 1].map(|_| Arc::new(Associations::new()));
                for end in [0, 1] {
                    carried.paths.push(path(
                        links,
                        end,
                        suite,
                        inner[end],
                        associations[end].clone(),
                    )?);
                }
                carried._rekeyer = Some(Rekeyer::start(links, suite, associations)?);
            }
        }
        Ok(carried)
    }

    /// Returns the counters of our path at each end so far; none for another carrier.
    #[must_use]
    pub fn counters(&self) -> Vec<PathCounters> {
        self.paths.iter().map(Path::counters).collect()
    }
}

/// Returns a key and an integrity key for `suite`, freshly drawn.
fn keys(suite: &Suite) -> Result<kernel::Keys, WireError> {
    let draw = |bytes: usize| {
        let mut drawn = Zeroizing::new(Vec::with_capacity(bytes + Secret::BYTES));
        while drawn.len() < bytes {
            let secret = Secret::random(Provider::own());
            let failed = |error| WireError::Path {
                attempted: "draw keys",
                found: std::io::Error::other(error),
            };
            drawn.extend_from_slice(secret.map_err(failed)?.as_bytes());
        }
        drawn.truncate(bytes);
        Ok(drawn)
    };
    Ok((draw(suite.key_bytes())?, draw(suite.integrity_key_bytes())?))
}

fn path(
    links: &Links,
    end: usize,
    suite: &'static Suite,
    inner: IpAddr,
    associations: Arc<Associations>,
) -> Result<Path, WireError> {
    let (own, peer) = (links.address(end, false), links.address(1 - end, false));
    links.ends[end].run(|| {
        let tun = Tun::create("sealed0")?;
        tun.set_mtu(inner_mtu(LINK_MTU, suite, peer))?;
        tun.add_address(inner, 24)?;
        tun.set_up()?;
        let socket = UdpSocket::bind((own, udp::PORT));
        let socket =
            socket.map_err(|found| WireError::Socket { attempted: "choose the port", found })?;
        // nobody agrees on keys here, so nobody listens for messages about them
        let (sender, _) = mpsc::channel();
        Path::start(tun, socket, associations, Sources::any(), sender)
    })
}

/// Packets of which it is remembered whether they came.
const WINDOW_PACKETS: u32 = 4_096;
/// Number of successors that are ready at any time: keys for blocks of 64 bits end many times a
/// second.
const AHEAD: usize = 8;
/// Interval at which it is checked whether that many are ready.
const POLL: Duration = Duration::from_millis(5);

/// The thread that gives both ends new keys before the old keys are used up.
#[derive(Debug)]
struct Rekeyer {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Both ends of a tunnel.
struct Ends {
    suite: &'static Suite,
    associations: [Arc<Associations>; 2],
    /// Numbers of the last keys of each direction.
    numbers: [AtomicU32; 2],
}

impl Ends {
    /// Draws the next keys with which end `from` seals, for both ends.
    fn next(&self, from: usize) -> Result<(Inbound, Outbound, u32), WireError> {
        let number = self.numbers[from].fetch_add(1, Ordering::Relaxed);
        let spi = (0x1000_0000 * (1 + from as u32)).wrapping_add(number);
        let association =
            Association { spi, suite: self.suite, extended: true, backend: Backend::auto() };
        let (key, mac_key) = keys(self.suite)?;
        let inbound = Inbound::new(&association, &key, &mac_key, WINDOW_PACKETS);
        let outbound = Outbound::new(&association, &key, &mac_key);
        match (inbound, outbound) {
            (Ok(inbound), Ok(outbound)) => Ok((inbound, outbound, spi)),
            (Err(error), _) | (_, Err(error)) => {
                Err(WireError::Path { attempted: "set keys", found: std::io::Error::other(error) })
            }
        }
    }

    /// Gives end `from` keys to seal with: the first for `peer`, others as successors.
    fn agree(&self, from: usize, peer: Option<SocketAddr>) -> Result<(), WireError> {
        let (inbound, outbound, spi) = self.next(from)?;
        let other = &self.associations[1 - from];
        other.add_inbound(inbound);
        // packets under long replaced keys are not on the link any more
        other.remove_inbound(spi.wrapping_sub(4 * AHEAD as u32));
        match peer {
            Some(peer) => self.associations[from].set_outbound(outbound, peer),
            None => self.associations[from].add_successor(outbound),
        }
        Ok(())
    }
}

impl Rekeyer {
    fn start(
        links: &Links,
        suite: &'static Suite,
        associations: [Arc<Associations>; 2],
    ) -> Result<Self, WireError> {
        let ends = Ends { suite, associations, numbers: [AtomicU32::new(0), AtomicU32::new(0)] };
        for from in [0, 1] {
            ends.agree(from, Some(SocketAddr::new(links.address(1 - from, false), udp::PORT)))?;
        }
        let done = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&done);
        let renew = move || {
            while !asked.load(Ordering::Relaxed) {
                for from in [0, 1] {
                    let is_short = || {
                        let status = ends.associations[from].outbound_status();
                        status.is_some_and(|status| status.successors < AHEAD)
                    };
                    // without new keys the tunnel ends with the old keys, and its user reports it
                    while is_short() && ends.agree(from, None).is_ok() {}
                }
                thread::sleep(POLL);
            }
        };
        let thread = thread::Builder::new().name("wire-keys".into()).spawn(renew);
        let thread = thread.map_err(|found| WireError::Path { attempted: "start", found })?;
        Ok(Self { done, thread: Some(thread) })
    }
}

impl Drop for Rekeyer {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // a thread that panicked has reported it
            let _ = thread.join();
        }
    }
}
