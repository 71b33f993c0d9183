//! Carriers of the stream.

use std::error::Error;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use sealstone_cipher::Backend;
use sealstone_cipher::testing::bytes;
use sealstone_seal::esp::{Association, Inbound, Outbound, Refusal, Suite, udp};
use sealstone_wire::links::{LINK_MTU, Links};
use sealstone_wire::path::strongswan::{self, StrongSwan, proposal};
use sealstone_wire::path::{Associations, Count, Path, Sources, Tun, inner_mtu};

/// One way for the stream to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    None,
    StrongSwan,
    Sealstone,
}

/// Resources that a way of carrying the stream needs while it is used.
pub(crate) struct Carrier {
    pub(crate) addresses: [IpAddr; 2],
    /// Processes that work for it.
    pub(crate) processes: Vec<u32>,
    paths: Vec<Path>,
    _strongswan: Option<StrongSwan>,
    _rekeyer: Option<Rekeyer>,
}

const WINDOW_PACKETS: u32 = 4_096;

impl Arm {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "strongswan" => Some(Self::StrongSwan),
            "sealstone" => Some(Self::Sealstone),
            _ => None,
        }
    }

    pub(crate) fn carries(self, suite: &Suite) -> bool {
        self != Self::StrongSwan || proposal(suite).is_some()
    }

    pub(crate) fn start(
        self,
        links: &Links,
        suite: Option<&'static Suite>,
    ) -> Result<Carrier, Box<dyn Error>> {
        let inner = strongswan::INNER.map(|address| address.parse().expect("an address"));
        let mut carrier = Carrier {
            addresses: [0, 1].map(|end| links.address(end, false)),
            processes: Vec::new(),
            paths: Vec::new(),
            _strongswan: None,
            _rekeyer: None,
        };
        let Some(suite) = suite else { return Ok(carrier) };
        carrier.addresses = inner;
        match self {
            Self::None => {}
            Self::StrongSwan => {
                let tunnel =
                    StrongSwan::start(links, &proposal(suite).ok_or("no such suite there")?)?;
                carrier.processes = tunnel.processes();
                carrier._strongswan = Some(tunnel);
            }
            Self::Sealstone => {
                let associations = [0, 1].map(|_| Arc::new(Associations::new()));
                for end in [0, 1] {
                    carrier.paths.push(path(
                        links,
                        end,
                        suite,
                        inner[end],
                        associations[end].clone(),
                    )?);
                }
                carrier._rekeyer = Some(Rekeyer::start(links, suite, associations));
            }
        }
        Ok(carrier)
    }
}

impl Carrier {
    /// Returns a description of what went wrong on the way, if something did.
    pub(crate) fn trouble(&self) -> Option<String> {
        let lost = |path: &Path| {
            let counters = path.counters();
            let kinds = [
                Count::Exhausted,
                Count::Malformed,
                Count::TooBig,
                Count::UnknownSpi,
                Count::NotTaken,
            ];
            let dropped: u64 = kinds.iter().map(|kind| counters.get(*kind)).sum();
            let refused: u64 = Refusal::ALL.iter().map(|reason| counters.refused(*reason)).sum();
            (dropped + refused > 0 || std::env::var_os("WIRE_COUNTERS").is_some())
                .then(|| counters.to_string())
        };
        let lost: Vec<String> = self.paths.iter().filter_map(lost).collect();
        (!lost.is_empty()).then(|| lost.join("\n"))
    }
}

fn path(
    links: &Links,
    end: usize,
    suite: &'static Suite,
    inner: IpAddr,
    associations: Arc<Associations>,
) -> Result<Path, Box<dyn Error>> {
    let (own, peer) = (links.address(end, false), links.address(1 - end, false));
    Ok(links.ends[end].run(|| {
        let tun = Tun::create("sealed0")?;
        tun.set_mtu(inner_mtu(LINK_MTU, suite, peer))?;
        tun.add_address(inner, 24)?;
        tun.set_up()?;
        let socket = UdpSocket::bind((own, udp::PORT)).expect("nobody else is in the namespace");
        // nobody agrees on keys here, so nobody listens for messages about them
        let (sender, _) = mpsc::channel();
        Path::start(tun, socket, associations, Sources::any(), sender)
    })?)
}

/// Gives both ends new keys before the old keys are used up: under ciphers with blocks of 64 bits,
/// many a second.
struct Rekeyer {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Number of successors that are ready at any time.
const AHEAD: usize = 8;

impl Rekeyer {
    fn start(links: &Links, suite: &'static Suite, associations: [Arc<Associations>; 2]) -> Self {
        let shared = associations.clone();
        let agree = move |from: usize, number: u32, peer: Option<SocketAddr>| {
            let spi = 0x1000_0000 * (1 + from as u32) + number;
            let association = Association { spi, suite, extended: true, backend: Backend::auto() };
            let label = format!("{from} {number}");
            let (key, mac_key) =
                (bytes(&label, suite.key_bytes()), bytes(&label, suite.integrity_key_bytes()));
            let inbound = Inbound::new(&association, &key, &mac_key, WINDOW_PACKETS)
                .expect("keys of this suite");
            associations[1 - from].add_inbound(inbound);
            associations[1 - from].remove_inbound(spi.wrapping_sub(4 * AHEAD as u32));
            let outbound = Outbound::new(&association, &key, &mac_key).expect("keys of this suite");
            match peer {
                Some(peer) => associations[from].set_outbound(outbound, peer),
                None => associations[from].add_successor(outbound),
            }
        };
        for from in [0, 1] {
            agree(from, 0, Some(SocketAddr::new(links.address(1 - from, false), udp::PORT)));
        }
        let done = Arc::new(AtomicBool::new(false));
        let asked = done.clone();
        let thread = std::thread::spawn(move || {
            let mut numbers = [0, 0];
            while !asked.load(Ordering::Relaxed) {
                for (from, number) in numbers.iter_mut().enumerate() {
                    while shared[from]
                        .outbound_status()
                        .is_some_and(|status| status.successors < AHEAD)
                    {
                        *number += 1;
                        agree(from, *number, None);
                    }
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        Self { done, thread: Some(thread) }
    }
}

impl Drop for Rekeyer {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
