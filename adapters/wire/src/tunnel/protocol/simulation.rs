//! Two tunnels over a network that loses, repeats, delays, changes and replays packets, on machines
//! that are killed, move and have clocks that jump. A seed decides everything but keys. After the
//! bad time comes a quiet one, in which the tunnel must be back within five seconds and then lose
//! nothing.
//!
//! Packets are sealed and opened by the associations that the tunnels install, so the arriving
//! packets decide.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use sealstone_cipher::Backend;
use sealstone_keys::{KeyRef, Secret};
use sealstone_seal::esp::udp::{Datagram, KEY_EXCHANGE_MARKER, classify};
use sealstone_seal::esp::{Inbound, Lifetime, Outbound, Sealed, suite};

use super::*;

/// Number of seeds; a variable sets another number.
const SEEDS: u64 = 400;
const STEP: Duration = Duration::from_millis(25);
const BAD: Duration = Duration::from_secs(15);
const BACK_WITHIN: Duration = Duration::from_secs(5);
const QUIET: Duration = Duration::from_secs(9);
/// IPv4 header, and the number of the packet.
const PACKET_BYTES: usize = 36;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    fn happens(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }
}

/// One machine, with what its path would have.
struct End {
    tunnel: Option<Tunnel>,
    settings: Settings,
    address: SocketAddr,
    /// By how much its clock is ahead.
    ahead: Duration,
    /// The time at which it starts again.
    down_until: Duration,
    inbounds: HashMap<u32, Inbound>,
    outbounds: VecDeque<Outbound>,
    peer: Option<SocketAddr>,
    from: Option<SocketAddr>,
    events: u64,
}

/// Faults of the network, in thousandths.
struct Weather {
    loss: u64,
    twice: u64,
    flip: u64,
    delay_ms_max: u64,
}

#[derive(Clone)]
struct OnTheWay {
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
    delivered: bool,
}

struct World {
    dice: Dice,
    now: Duration,
    ends: [End; 2],
    network: BTreeMap<(Duration, u64), OnTheWay>,
    recorded: Vec<OnTheWay>,
    weather: Weather,
    /// Nothing passes until then.
    parted_until: Duration,
    sent: HashMap<u64, (usize, Duration)>,
    arrived: HashSet<u64>,
    /// Beginnings of encrypted packets: two equal ones would mean a reused key and nonce.
    seen: HashSet<[u8; 16]>,
    packets: u64,
    carried: u64,
    roams: bool,
}

fn psk() -> Psk {
    Psk::new(KeyRef { id: "wire".into(), version: 1 }, &Secret::from_bytes(&[7; 32]))
}

fn tunnel(settings: &Settings, seed: u64) -> Tunnel {
    let mut dice = Dice(seed);
    let draw = move |buffer: &mut [u8]| {
        buffer.iter_mut().for_each(|byte| *byte = dice.roll() as u8);
        Ok(())
    };
    Tunnel::new(settings.clone(), vec![psk()], Box::new(draw)).unwrap()
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let addresses: [SocketAddr; 2] =
            ["10.0.0.1:4500".parse().unwrap(), "10.0.0.2:4500".parse().unwrap()];
        let rekey_after = Duration::from_secs([3, 5, 3600][dice.below(3) as usize]);
        let lifetime = match dice.below(4) {
            0 => Some(Lifetime { packets: 160, blocks: u64::MAX }),
            // two megabytes a key: a series of them
            1 => Some(Lifetime { packets: 3, blocks: 1 << 17 }),
            _ => None,
        };
        let (waits, roams) = (dice.happens(300), dice.happens(300));
        let ends = [0, 1].map(|at: usize| {
            let peer = if at == 0 && waits { None } else { Some(addresses[1 - at]) };
            let settings = Settings {
                suite: suite("aes-128-gcm").unwrap(),
                backend: Backend::auto(),
                peer,
                rekey_after,
                lifetime,
            };
            let tunnel = Some(tunnel(&settings, dice.roll()));
            let (inbounds, outbounds) = (HashMap::new(), VecDeque::new());
            let ahead = Duration::from_millis(dice.below(1 << 40));
            let address = addresses[at];
            let (peer, from, events, down_until) = (None, None, 0, Duration::ZERO);
            End {
                tunnel,
                settings,
                address,
                ahead,
                down_until,
                inbounds,
                outbounds,
                peer,
                from,
                events,
            }
        });
        let weather = Weather {
            loss: dice.below(400),
            twice: dice.below(200),
            flip: dice.below(100),
            delay_ms_max: 1 + dice.below(600),
        };
        Self {
            dice,
            now: Duration::ZERO,
            ends,
            network: BTreeMap::new(),
            recorded: Vec::new(),
            weather,
            parted_until: Duration::ZERO,
            sent: HashMap::new(),
            arrived: HashSet::new(),
            seen: HashSet::new(),
            packets: 0,
            carried: 0,
            roams,
        }
    }

    fn act(&mut self, at: usize, actions: Vec<Action>) {
        for action in actions {
            let end = &mut self.ends[at];
            match action {
                Action::Send { to, message } => {
                    let bytes = [&KEY_EXCHANGE_MARKER[..], &message].concat();
                    let from = end.address;
                    self.carry(OnTheWay { from, to, bytes, delivered: false });
                }
                Action::InstallInbound(inbound) => {
                    assert!(
                        end.inbounds.insert(inbound.association().spi, *inbound).is_none(),
                        "one index twice"
                    );
                }
                Action::RemoveInbound { spi } => {
                    assert!(end.inbounds.remove(&spi).is_some(), "{spi} is not there")
                }
                Action::InstallOutbound { outbounds, peer } => {
                    end.outbounds = outbounds.into();
                    end.peer = Some(peer);
                }
                Action::RemoveOutbound => end.outbounds.clear(),
                Action::SetPeer(peer) => end.peer = Some(peer),
                Action::Event(event) => {
                    end.events += 1;
                    let log = end.tunnel.as_ref().unwrap().log();
                    assert!(
                        log.entries().any(|entry| entry.event == event),
                        "{event} is not in the status"
                    );
                }
            }
        }
    }

    /// Hands a datagram to the network.
    fn carry(&mut self, datagram: OnTheWay) {
        self.recorded.push(datagram.clone());
        if self.dice.happens(self.weather.loss) || self.now < self.parted_until {
            return;
        }
        let copies = if self.dice.happens(self.weather.twice) { 2 } else { 1 };
        for _ in 0..copies {
            let mut copy = datagram.clone();
            if self.dice.happens(self.weather.flip) {
                let at = self.dice.below(copy.bytes.len() as u64) as usize;
                copy.bytes[at] ^= 1 << self.dice.below(8);
            }
            let delay = Duration::from_millis(1 + self.dice.below(self.weather.delay_ms_max));
            self.carried += 1;
            self.network.insert((self.now + delay, self.carried), copy);
        }
    }

    fn deliver(&mut self) {
        while self.network.first_key_value().is_some_and(|((at, _), _)| *at <= self.now) {
            let Some((_, datagram)) = self.network.pop_first() else { return };
            let Some(at) = self.ends.iter().position(|end| end.address == datagram.to) else {
                continue;
            };
            let end = &mut self.ends[at];
            let Some(tunnel) = &mut end.tunnel else { continue };
            for recorded in
                self.recorded.iter_mut().filter(|recorded| recorded.bytes == datagram.bytes)
            {
                recorded.delivered = true;
            }
            match classify(&datagram.bytes) {
                Datagram::KeyExchange(message) => {
                    let actions = tunnel.handle(self.now + end.ahead, datagram.from, message);
                    self.act(at, actions);
                }
                Datagram::Packet(spi) => {
                    let mut packet = datagram.bytes.clone();
                    let Some(inbound) = end.inbounds.get_mut(&spi) else { continue };
                    if let Ok(Some(inner)) = inbound.open(&mut packet) {
                        end.from = Some(datagram.from);
                        let number: [u8; 8] = packet[inner][20..28].try_into().unwrap();
                        let number = u64::from_be_bytes(number);
                        let (sender, _) = self.sent.get(&number).expect("nobody sent this packet");
                        assert_eq!(*sender, 1 - at, "it came back to who sent it");
                        assert!(self.arrived.insert(number), "packet {number} arrived twice");
                    }
                }
                Datagram::Keepalive | Datagram::Nothing => {}
            }
        }
    }

    /// Sends a packet of data; it is lost if there is no key.
    fn send(&mut self, at: usize) {
        let end = &mut self.ends[at];
        if end.tunnel.is_none() {
            return;
        }
        let mut packet = [0; PACKET_BYTES];
        (packet[0], packet[3]) = (0x45, PACKET_BYTES as u8);
        packet[20..28].copy_from_slice(&self.packets.to_be_bytes());
        let mut sealed = Sealed::default();
        while let Some(outbound) = end.outbounds.front_mut() {
            // as the path does: the last one stays, used up
            if outbound.seal(&[&packet], &mut sealed).is_ok() || end.outbounds.len() == 1 {
                break;
            }
            end.outbounds.pop_front();
        }
        let number = self.packets;
        self.packets += 1;
        self.sent.insert(number, (at, self.now));
        let (Some(to), Some(bytes)) = (end.peer, sealed.packets().next().map(<[u8]>::to_vec))
        else {
            return;
        };
        let beginning: [u8; 16] = bytes[16..32].try_into().unwrap();
        assert!(self.seen.insert(beginning), "a key sealed twice with one nonce");
        let from = end.address;
        self.carry(OnTheWay { from, to, bytes, delivered: false });
    }

    fn tick(&mut self, at: usize) {
        let end = &mut self.ends[at];
        if end.tunnel.is_none() && self.now >= end.down_until {
            end.tunnel = Some(tunnel(&end.settings, self.dice.roll()));
        }
        let Some(tunnel) = &mut end.tunnel else { return };
        let outbound = end.outbounds.front().map(|outbound| ObservedOutbound {
            spi: outbound.association().spi,
            is_due: outbound.is_due(),
            successors: end.outbounds.len() - 1,
        });
        let inbound =
            end.inbounds.iter().map(|(spi, inbound)| (*spi, inbound.counters().packets)).collect();
        let actions =
            tunnel.tick(self.now + end.ahead, &Observed { outbound, inbound, from: end.from });
        self.act(at, actions);
    }

    /// Causes a fault, now and then.
    fn befall(&mut self) {
        let at = self.dice.below(2) as usize;
        if self.dice.happens(6) {
            let down_until = self.now + Duration::from_millis(self.dice.below(2000));
            self.check_status(at);
            let end = &mut self.ends[at];
            (end.tunnel, end.down_until, end.events) = (None, down_until, 0);
            (end.peer, end.from) = (None, None);
            end.inbounds.clear();
            end.outbounds.clear();
        }
        if self.dice.happens(4) {
            self.ends[at].ahead += Duration::from_secs(self.dice.below(10_000));
        }
        if self.dice.happens(4) {
            self.parted_until = self.now + Duration::from_millis(self.dice.below(4000));
        }
        if self.roams && self.dice.happens(5) {
            self.ends[1].address.set_port(1024 + self.dice.below(60_000) as u16);
        }
        if self.dice.happens(100) {
            self.replay(false);
        }
    }

    /// Replays an earlier message; from another address, if it was delivered then.
    fn replay(&mut self, only_delivered: bool) {
        if self.recorded.is_empty() {
            return;
        }
        let at = self.dice.below(self.recorded.len() as u64) as usize;
        let mut again = self.recorded[at].clone();
        if again.delivered {
            again.from = "192.0.2.66:666".parse().unwrap();
        } else if only_delivered {
            return;
        }
        self.carried += 1;
        self.network.insert((self.now + Duration::from_millis(1), self.carried), again);
    }

    fn check_status(&self, at: usize) {
        let end = &self.ends[at];
        if let Some(tunnel) = &end.tunnel {
            assert_eq!(tunnel.log().events(), end.events, "the status misses events");
        }
    }

    /// Returns the events that both ends report.
    fn told(&self) -> String {
        let told = self.ends.iter().filter_map(|end| {
            let tunnel = end.tunnel.as_ref()?;
            let lines = tunnel.log().entries().map(|entry| {
                let at = entry.at.saturating_sub(end.ahead).as_secs_f64();
                format!("{at:.3} s, {} times: {}\n", entry.times, entry.event)
            });
            Some(format!("at {:?}, {:?}\n{}", self.now, end.settings, lines.collect::<String>()))
        });
        told.collect()
    }

    fn step(&mut self, sends: bool) {
        self.now += STEP;
        self.deliver();
        for at in [0, 1] {
            if sends {
                self.send(at);
            }
            self.tick(at);
        }
    }

    fn run(&mut self) {
        let mut step = 0;
        while self.now < BAD {
            self.befall();
            self.step(step % 3 == 0);
            step += 1;
        }
        self.weather = Weather { loss: 0, twice: 0, flip: 0, delay_ms_max: 40 };
        self.parted_until = Duration::ZERO;
        for end in &mut self.ends {
            end.down_until = self.now;
        }
        let quiet = self.now;
        while self.now < quiet + QUIET {
            if self.dice.happens(200) {
                self.replay(true);
            }
            self.step(step % 3 == 0);
            step += 1;
        }
        // packets still on their way arrive
        (0..4).for_each(|_| self.step(false));
        let mut lost: Vec<_> =
            self.sent.iter().filter(|(number, _)| !self.arrived.contains(number)).collect();
        lost.retain(|(_, (_, when))| *when >= quiet + BACK_WITHIN);
        lost.sort();
        if let Some((number, (at, when))) = lost.first() {
            let when = when.saturating_sub(quiet);
            panic!(
                "packet {number} of end {at}, {when:?} after the quiet began, and {} more\n{}",
                lost.len(),
                self.told()
            );
        }
        for at in [0, 1] {
            self.check_status(at);
            let tunnel = self.ends[at].tunnel.as_ref().unwrap();
            assert_eq!(tunnel.standing(self.now + self.ends[at].ahead).state, State::Up);
        }
    }
}

#[test]
fn the_tunnel_comes_back_after_whatever_happens() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let seeds: Vec<u64> = match number("SEALSTONE_WIRE_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("SEALSTONE_WIRE_SEEDS").unwrap_or(SEEDS)).collect(),
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let arrived = std::thread::scope(|scope| {
        let shares = (0..threads).map(|share| {
            let mine = seeds.iter().skip(share).step_by(threads);
            scope.spawn(move || mine.map(|seed| one(*seed)).sum::<usize>())
        });
        let shares: Vec<_> = shares.collect();
        shares.into_iter().map(|share| share.join().expect("a seed failed")).sum::<usize>()
    });
    assert!(arrived > 100 * seeds.len(), "{arrived} packets arrived");
}

/// Returns the number of packets that arrived.
fn one(seed: u64) -> usize {
    let outcome = std::panic::catch_unwind(|| {
        let mut world = World::new(seed);
        world.run();
        world.arrived.len()
    });
    outcome.unwrap_or_else(|_| {
        panic!("SEALSTONE_WIRE_SEED={seed} cargo test -p sealstone-wire simulation")
    })
}
