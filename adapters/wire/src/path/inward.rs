//! From the peer to the device. Not here: how packets are opened (`sealstone_seal::esp`) and put together (`coalesce`).

use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::Sender;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;
use sealstone_seal::esp::udp::{Datagram, classify};

use super::shared::Shared;
use crate::associations::Receiving;
use crate::coalesce::coalesce;
use crate::counters::Count;
use crate::error::WireError;
use crate::ffi::datagrams::Datagrams;

/// Messages taken at once.
const MESSAGES: usize = 128;
/// Messages of a key exchange that are passed on within [`EXCHANGE_TIME`]: each costs whoever answers it much more than
/// whoever sends it.
const EXCHANGE_MAX: u32 = 64;
const EXCHANGE_TIME: Duration = Duration::from_secs(1);
/// Where at least so many messages came at once, more come at once: who sends would otherwise have to wake this thread
/// for each, which takes longer than sending it.
const MANY: usize = 16;
/// How long they are left to gather.
const GATHER: Duration = Duration::from_micros(40);

/// Carries packets until the path is to end.
pub(super) fn run(shared: &Shared, exchange: &Sender<(SocketAddr, Vec<u8>)>) -> Result<(), WireError> {
    let mut datagrams = Datagrams::new(MESSAGES);
    let mut inward = Inward { shared, exchange, passed_on: 0, since: Instant::now(), heard: None };
    // how exactly it keeps to GATHER; it is no more than the default if it cannot be set
    let _ = nix::sys::prctl::set_timerslack(1);
    let mut gathers = false;
    while !shared.stop.is_asked() {
        match datagrams.receive(&shared.socket) {
            Ok(count) => {
                inward.open_and_write(&mut datagrams, count)?;
                gathers = count >= MANY;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && gathers => {
                gathers = false;
                sleep(GATHER);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let failed = |found| WireError::Path { attempted: "wait for sealed packets", found };
                if !shared.stop.wait(&shared.socket, PollFlags::POLLIN).map_err(failed)? {
                    break;
                }
            }
            Err(error) if matches!(error.raw_os_error(), Some(nix::libc::EBADF | nix::libc::ENOTSOCK)) => {
                return Err(WireError::Path { attempted: "receive sealed packets", found: error });
            }
            // what a router said of a datagram that was sent before; the next call takes what waits
            Err(_) => {}
        }
    }
    Ok(())
}

struct Inward<'a> {
    shared: &'a Shared,
    exchange: &'a Sender<(SocketAddr, Vec<u8>)>,
    /// Messages of a key exchange passed on since then.
    passed_on: u32,
    since: Instant,
    /// Who sent the last authentic packet of this batch.
    heard: Option<SocketAddr>,
}

impl Inward<'_> {
    fn open_and_write(&mut self, datagrams: &mut Datagrams, count: usize) -> Result<(), WireError> {
        let associations = &self.shared.associations;
        let mut opened = Vec::with_capacity(count);
        {
            let mut receiving = associations.receiving();
            for message in datagrams.messages(count) {
                self.shared.tally.add(Count::Nothing, u64::from(message.bytes.is_empty()));
                for datagram in message.bytes.chunks_mut(message.each) {
                    self.take(datagram, message.from, &mut receiving, &mut opened);
                }
            }
            if let Some(from) = self.heard.take() {
                receiving.note(from);
            }
        }
        self.write(&opened)
    }

    /// Opens `datagram` if it is a sealed packet, and appends what was in it to `opened`.
    fn take<'d>(
        &mut self,
        datagram: &'d mut [u8],
        from: SocketAddr,
        receiving: &mut Receiving,
        opened: &mut Vec<&'d [u8]>,
    ) {
        let tally = &self.shared.tally;
        let spi = match classify(datagram) {
            Datagram::Packet(spi) => spi,
            Datagram::KeyExchange(message) => return self.pass_on(message, from),
            Datagram::Keepalive => return tally.add(Count::Keepalives, 1),
            Datagram::Nothing => return tally.add(Count::Nothing, 1),
        };
        let Some(inbound) = receiving.inbound(spi) else { return tally.add(Count::UnknownSpi, 1) };
        match inbound.open(datagram) {
            Ok(inner) => {
                self.heard = Some(from);
                match inner {
                    Some(inner) => opened.push(&datagram[inner]),
                    None => tally.add(Count::Dummies, 1),
                }
            }
            Err(reason) => tally.refuse(reason),
        }
    }

    fn pass_on(&mut self, message: &[u8], from: SocketAddr) {
        let tally = &self.shared.tally;
        tally.add(Count::Exchange, 1);
        if self.since.elapsed() >= EXCHANGE_TIME {
            (self.since, self.passed_on) = (Instant::now(), 0);
        }
        self.passed_on += 1;
        let is_wanted = self.passed_on <= EXCHANGE_MAX && self.exchange.send((from, message.to_vec())).is_ok();
        tally.add(Count::ExchangeDropped, u64::from(!is_wanted));
    }

    fn write(&self, opened: &[&[u8]]) -> Result<(), WireError> {
        let tally = &self.shared.tally;
        tally.add(Count::PacketsIn, opened.len() as u64);
        tally.add(Count::BytesIn, opened.iter().map(|packet| packet.len() as u64).sum());
        let (mut failed, mut writes) = (None, 0);
        coalesce(opened, |pieces| {
            writes += 1;
            if let Err(error) = self.shared.tun.write(pieces) {
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
