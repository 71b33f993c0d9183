//! Packets on their way from the peer to the device.

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;
use sealstone_seal::esp::udp::{Datagram, classify};

use super::associations::Receiving;
use super::counters::Count;
use super::order::{Opened, put_in_order};
use super::packet::coalesce;
use super::state::State;
use crate::error::WireError;
use crate::ffi::datagrams::Datagrams;

/// Messages taken at once.
const MESSAGES: usize = 128;
/// Messages of a key exchange that are passed on within [`EXCHANGE_TIME`], from the peer and from
/// all others: each costs the responder much more than the sender.
const EXCHANGE_MAX: u32 = 64;
const EXCHANGE_TIME: Duration = Duration::from_secs(1);
/// Smallest number of messages received at once after which more are left to gather: the sender
/// would otherwise have to wake this thread for each, which takes longer than sending it.
const MANY: usize = 16;
/// Time for which messages are left to gather.
const GATHER: Duration = Duration::from_micros(40);

/// Carries packets until the path is to end.
pub(super) fn run(
    state: &State,
    exchange: &Sender<(SocketAddr, Vec<u8>)>,
) -> Result<(), WireError> {
    let mut datagrams = Datagrams::new(MESSAGES);
    let mut inbound_loop =
        InboundLoop { state, exchange, passed_on: [0; 2], since: Instant::now() };
    // how exactly it keeps to GATHER; it is no more than the default if it cannot be set
    let _ = nix::sys::prctl::set_timerslack(1);
    let mut gathers = false;
    while !state.stop.is_asked() {
        match datagrams.receive(&state.socket) {
            Ok(count) => {
                inbound_loop.open_and_write(&mut datagrams, count)?;
                gathers = count >= MANY;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && gathers => {
                gathers = false;
                sleep(GATHER);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let failed =
                    |found| WireError::Path { attempted: "wait for sealed packets", found };
                if !state.stop.wait(&state.socket, PollFlags::POLLIN).map_err(failed)? {
                    break;
                }
            }
            Err(error)
                if matches!(error.raw_os_error(), Some(nix::libc::EBADF | nix::libc::ENOTSOCK)) =>
            {
                return Err(WireError::Path { attempted: "receive sealed packets", found: error });
            }
            // a router's error about an earlier datagram, or no memory; the next call takes waiting
            // datagrams
            Err(_) => sleep(GATHER),
        }
    }
    Ok(())
}

/// Returns the number of a sealed packet, or the lower half of it.
fn number(packet: &[u8]) -> u32 {
    packet.get(4..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
}

struct InboundLoop<'a> {
    state: &'a State,
    exchange: &'a Sender<(SocketAddr, Vec<u8>)>,
    /// Messages of a key exchange passed on since then: of strangers, and of the peer.
    passed_on: [u32; 2],
    since: Instant,
}

/// Packets of one association, which came one after the other.
struct Run<'d> {
    spi: u32,
    packets: Vec<&'d mut [u8]>,
    /// The sender of each.
    from: Vec<SocketAddr>,
}

impl Run<'_> {
    fn new(packets: usize) -> Self {
        Self { spi: 0, packets: Vec::with_capacity(packets), from: Vec::with_capacity(packets) }
    }
}

impl InboundLoop<'_> {
    fn open_and_write(&mut self, datagrams: &mut Datagrams, count: usize) -> Result<(), WireError> {
        let associations = &self.state.associations;
        let mut inner = Vec::with_capacity(count);
        {
            let mut receiving = associations.receiving();
            let mut run = Run::new(count);
            let mut heard = None;
            for message in datagrams.messages(count) {
                self.state.tally.add(Count::Nothing, u64::from(message.bytes.is_empty()));
                for datagram in message.bytes.chunks_mut(message.each) {
                    let Some(spi) = self.sealed(datagram, message.from) else { continue };
                    if spi != run.spi {
                        heard = self.open(&mut run, &mut receiving, &mut inner).or(heard);
                        run.spi = spi;
                    }
                    run.packets.push(datagram);
                    run.from.push(message.from);
                }
            }
            heard = self.open(&mut run, &mut receiving, &mut inner).or(heard);
            if let Some(from) = heard {
                receiving.note(from);
            }
        }
        self.write(&inner)
    }

    /// Returns the index of `datagram` if it is a sealed packet; anything else is dealt with.
    fn sealed(&mut self, datagram: &[u8], from: SocketAddr) -> Option<u32> {
        let tally = &self.state.tally;
        match classify(datagram) {
            Datagram::Packet(spi) => return Some(spi),
            Datagram::KeyExchange(message) => self.pass_on(message, from),
            Datagram::Keepalive => tally.add(Count::Keepalives, 1),
            Datagram::Nothing => tally.add(Count::Nothing, 1),
        }
        None
    }

    /// Opens the packets of `run`, and appends their content to `inner`. Returns the sender of the
    /// last authentic packet.
    fn open<'d>(
        &self,
        run: &mut Run<'d>,
        receiving: &mut Receiving,
        inner: &mut Vec<&'d [u8]>,
    ) -> Option<SocketAddr> {
        let tally = &self.state.tally;
        let Some(inbound) = receiving.inbound(run.spi) else {
            tally.add(Count::UnknownSpi, run.packets.drain(..).len() as u64);
            run.from.clear();
            return None;
        };
        let mut opened = Vec::with_capacity(run.packets.len());
        inbound.open_many(&mut run.packets, &mut opened);
        let mut genuine = Vec::with_capacity(run.packets.len());
        let mut heard = None;
        for ((packet, from), opened) in run.packets.drain(..).zip(run.from.drain(..)).zip(opened) {
            match opened {
                Ok(range) => {
                    heard = Some(from);
                    match range {
                        Some(range) if !self.state.sources.admit(&packet[range.clone()]) => {
                            tally.add(Count::ForeignSource, 1);
                        }
                        Some(range) => {
                            genuine.push(Opened { number: number(packet), inner: &packet[range] })
                        }
                        None => tally.add(Count::Dummies, 1),
                    }
                }
                Err(reason) => tally.refuse(reason),
            }
        }
        tally.add(Count::Reordered, put_in_order(&mut genuine));
        inner.extend(genuine.iter().map(|packet| packet.inner));
        heard
    }

    fn pass_on(&mut self, message: &[u8], from: SocketAddr) {
        let tally = &self.state.tally;
        tally.add(Count::Exchange, 1);
        if self.since.elapsed() >= EXCHANGE_TIME {
            (self.since, self.passed_on) = (Instant::now(), [0; 2]);
        }
        // strangers must not keep the peer's messages away
        let is_peer =
            self.state.associations.outbound_status().is_some_and(|status| status.peer == from);
        let passed_on = &mut self.passed_on[usize::from(is_peer)];
        *passed_on += 1;
        let is_wanted =
            *passed_on <= EXCHANGE_MAX && self.exchange.send((from, message.to_vec())).is_ok();
        tally.add(Count::ExchangeDropped, u64::from(!is_wanted));
    }

    fn write(&self, opened: &[&[u8]]) -> Result<(), WireError> {
        let tally = &self.state.tally;
        tally.add(Count::PacketsIn, opened.len() as u64);
        tally.add(Count::BytesIn, opened.iter().map(|packet| packet.len() as u64).sum());
        let (mut failed, mut writes) = (None, 0);
        coalesce(opened, |pieces| {
            writes += 1;
            if let Err(error) = self.state.tun.write(pieces) {
                tally.add(Count::NotTaken, 1);
                failed = Some(error);
            }
        });
        tally.add(Count::Receives, 1);
        tally.add(Count::Writes, writes);
        match failed {
            // the device is gone; anything else concerns one packet
            Some(found) if found.raw_os_error() == Some(nix::libc::EBADFD) => {
                Err(WireError::Path { attempted: "write packets to the device", found })
            }
            _ => Ok(()),
        }
    }
}
