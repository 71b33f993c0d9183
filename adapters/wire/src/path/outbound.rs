//! Packets on their way from the device to the peer.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::PollFlags;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};
use sealstone_seal::esp::Sealed;

use super::associations::NotSealed;
use super::counters::Count;
use super::mtu;
use super::packet::{Packets, VnetHeader, segment};
use super::state::State;
use super::train::{Train, trains};
use crate::error::WireError;

/// Room for what the device hands over at once, in bytes.
const READ_BYTES: usize = VnetHeader::BYTES + (1 << 16);

/// Carries packets until the path is to end.
pub(super) fn run(state: &State) -> Result<(), WireError> {
    let mut outbound_loop = OutboundLoop {
        state,
        packets: Packets::default(),
        sealed: Sealed::default(),
        buffer: vec![0; READ_BYTES],
        in_trains: true,
        lowered_from: None,
        checked: Instant::now(),
    };
    while !state.stop.is_asked() {
        if outbound_loop.take()? {
            outbound_loop.seal_and_send()?;
        } else if !wait(state)? {
            break;
        }
    }
    Ok(())
}

fn wait(state: &State) -> Result<bool, WireError> {
    let failed = |found| WireError::Path { attempted: "wait for packets of the device", found };
    state.stop.wait(&state.tun, PollFlags::POLLIN).map_err(failed)
}

struct OutboundLoop<'a> {
    state: &'a State,
    packets: Packets,
    sealed: Sealed,
    buffer: Vec<u8>,
    /// True if the kernel cuts messages into datagrams for the device of the route.
    in_trains: bool,
    /// The MTU that the device had before the path set a smaller one, in bytes.
    lowered_from: Option<u32>,
    /// The time of the last check whether the route carries more again.
    checked: Instant,
}

/// Time for which a smaller MTU stays before the route is queried again.
const LOWERED_FOR: Duration = Duration::from_secs(1);

/// Bytes of packets taken at once while there is nothing to seal them with.
const DROPPED_BYTES: usize = 3 << 14;

impl OutboundLoop<'_> {
    /// Takes what waits at the device, up to a batch. Returns whether there is something.
    fn take(&mut self) -> Result<bool, WireError> {
        self.packets.clear();
        let suite = self.state.associations.outbound_suite();
        let enough = suite.map_or(DROPPED_BYTES, |suite| suite.batch_bytes);
        while self.packets.bytes() < enough {
            let read = match self.state.tun.read(&mut self.buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(found) => {
                    return Err(WireError::Path { attempted: "read packets of the device", found });
                }
            };
            let taken = match self.buffer[..read].split_first_chunk() {
                Some((header, packet)) => {
                    segment(&VnetHeader::read(header), packet, &mut self.packets).is_ok()
                }
                None => false,
            };
            self.state.tally.add(Count::Malformed, u64::from(!taken));
        }
        Ok(!self.packets.is_empty())
    }

    fn seal_and_send(&mut self) -> Result<(), WireError> {
        let tally = &self.state.tally;
        let packets: Vec<&[u8]> = self.packets.iter().collect();
        self.sealed.clear();
        match self.state.associations.seal(&packets, &mut self.sealed) {
            Ok(peer) => {
                tally.add(Count::PacketsOut, packets.len() as u64);
                tally.add(Count::BytesOut, self.packets.bytes() as u64);
                self.send(peer)
            }
            Err(why) => {
                let what = match why {
                    NotSealed::NoAssociation => Count::NoAssociation,
                    NotSealed::Exhausted => Count::Exhausted,
                    NotSealed::Unrecorded => Count::Unrecorded,
                    NotSealed::Failed => Count::Malformed,
                };
                tally.add(what, packets.len() as u64);
                Ok(())
            }
        }
    }

    fn send(&mut self, peer: SocketAddr) -> Result<(), WireError> {
        let lengths: Vec<usize> = self.sealed.packets().map(<[u8]>::len).collect();
        let address = SockaddrStorage::from(peer);
        let mut was_too_big = false;
        for train in trains(lengths) {
            let sent = self.send_train(&train, &address)?;
            was_too_big |= sent == Sent::TooBig;
        }
        if was_too_big || self.lowered_from.is_some() && self.checked.elapsed() > LOWERED_FOR {
            self.fit_link(peer);
        }
        Ok(())
    }

    /// Sends the packets of a train in one call, or one by one where that cannot be done.
    fn send_train(&mut self, train: &Train, address: &SockaddrStorage) -> Result<Sent, WireError> {
        let bytes = &self.sealed.bytes()[train.bytes.clone()];
        if self.in_trains || train.count == 1 {
            let each = (train.count > 1).then_some(train.each as u16);
            let sent = send_one(self.state, bytes, each, address)?;
            if sent != Sent::NotInTrains {
                return Ok(sent);
            }
        }
        let mut worst = Sent::Taken;
        for datagram in bytes.chunks(train.each) {
            let sent = send_one(self.state, datagram, None, address)?;
            if sent != Sent::Taken {
                worst = sent;
            }
        }
        // older kernels report the same for datagrams that are too long
        self.in_trains &= worst == Sent::TooBig;
        Ok(worst)
    }

    /// Gives the device the MTU of which sealed packets fit the route to `peer`, but no larger one
    /// than it had.
    fn fit_link(&mut self, peer: SocketAddr) {
        self.checked = Instant::now();
        let (tun, suite) = (&self.state.tun, self.state.associations.outbound_suite());
        let (Ok(link), Some(suite), Ok(now)) = (mtu::route_mtu(peer), suite, tun.mtu()) else {
            return;
        };
        let before = self.lowered_from.unwrap_or(now);
        let fitting = mtu::inner_mtu(link, suite, peer.ip()).min(before);
        // where it cannot be set, packets continue to be counted as too long
        if fitting != now && tun.set_mtu(fitting).is_ok() {
            self.lowered_from = Some(before).filter(|before| fitting < *before);
        }
    }
}

/// Outcome of sending a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Taken,
    /// It was dropped: too long for the link.
    TooBig,
    /// It was dropped: no way to the peer at the moment.
    Unsent,
    /// The kernel does not cut messages for this device.
    NotInTrains,
}

fn send_one(
    state: &State,
    bytes: &[u8],
    each: Option<u16>,
    address: &SockaddrStorage,
) -> Result<Sent, WireError> {
    let pieces = [IoSlice::new(bytes)];
    let control = each.as_ref().map(ControlMessage::UdpGsoSegments);
    state.tally.add(Count::Sends, 1);
    let count = each.map_or(1, |each| bytes.len().div_ceil(usize::from(each))) as u64;
    loop {
        match sendmsg(
            state.socket.as_raw_fd(),
            &pieces,
            control.as_slice(),
            MsgFlags::empty(),
            Some(address),
        ) {
            Ok(_) => return Ok(Sent::Taken),
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => {
                let failed = |found| WireError::Path { attempted: "wait for the network", found };
                if !state.stop.wait(&state.socket, PollFlags::POLLOUT).map_err(failed)? {
                    return Ok(Sent::Unsent);
                }
            }
            // before Linux 6.15 one error means both a datagram that is too long and no support for
            // this sending
            Err(Errno::EINVAL | Errno::EIO) if each.is_some() => return Ok(Sent::NotInTrains),
            Err(Errno::EMSGSIZE) => {
                state.tally.add(Count::TooBig, count);
                return Ok(Sent::TooBig);
            }
            Err(errno @ (Errno::EBADF | Errno::ENOTSOCK)) => {
                return Err(WireError::Path {
                    attempted: "send sealed packets",
                    found: errno.into(),
                });
            }
            // no route, a firewall, no memory: it may be another way a moment later
            Err(_) => {
                state.tally.add(Count::Unsent, count);
                return Ok(Sent::Unsent);
            }
        }
    }
}
