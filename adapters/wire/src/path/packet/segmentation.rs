//! Division of a TUN device's packets, up to 64 KiB of one flow, into packets that fit the link,
//! with every checksum complete. Pure.
//!
//! Source: RFC 9293 for TCP; each segment inherits the same fields as in Linux.

use std::ops::Range;

use super::checksum;
use super::ip::{self, CWR, FIN, PSH, TCP_CHECKSUM, TCP_FLAGS};
use super::vnet::{NEEDS_CHECKSUM, NO_SEGMENTS, TCP4, TCP6, VnetHeader, WINDOW_REDUCED};

/// Packets, one after the other in one buffer.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Packets {
    /// Forgets them, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Returns the number of packets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no packets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the length of all packets together, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns each of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.ends.len()).map(|at| &self.bytes[self.range(at)])
    }

    fn range(&self, at: usize) -> Range<usize> {
        at.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[at]
    }
}

/// Reasons why what a device handed over is no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// Its header has a wrong length, or it is neither IPv4 nor IPv6.
    #[error("no whole IP packet")]
    Ip,
    /// A checksum to complete is outside the packet.
    #[error("a checksum outside the packet")]
    Checksum,
    /// It requires a way of cutting that was not offered.
    #[error("segments of another kind")]
    Kind,
    /// It must be cut, and is no TCP, or has no data.
    #[error("no TCP to be cut")]
    Tcp,
}

/// Appends `packet` to `packets`: itself with its checksum complete, or its segments.
///
/// - `header`: the device's description of it
///
/// # Errors
/// [`Malformed`]; `packets` is then as before.
pub fn segment(header: &VnetHeader, packet: &[u8], packets: &mut Packets) -> Result<(), Malformed> {
    if header.kind & !WINDOW_REDUCED == NO_SEGMENTS {
        whole(header, packet, packets)
    } else {
        Cut::new(header, packet)?.all(packets);
        Ok(())
    }
}

fn whole(header: &VnetHeader, packet: &[u8], packets: &mut Packets) -> Result<(), Malformed> {
    let bytes = ip::extent(packet).ok_or(Malformed::Ip)?;
    let packet = &packet[..bytes];
    let begin = packets.bytes.len();
    packets.bytes.extend_from_slice(packet);
    if header.flags & NEEDS_CHECKSUM != 0 {
        let (start, offset) =
            (usize::from(header.checksum_start), usize::from(header.checksum_offset));
        let at = start + offset;
        let mut sum = match at + 2 <= packet.len() {
            true => checksum::stored(checksum::add(0, &packet[start..])),
            false => {
                packets.bytes.truncate(begin);
                return Err(Malformed::Checksum);
            }
        };
        // RFC 768: zero means that there is none; for TCP both mean the same
        if sum == [0, 0] {
            sum = [0xff, 0xff];
        }
        packets.bytes[begin + at..begin + at + 2].copy_from_slice(&sum);
    }
    packets.ends.push(packets.bytes.len());
    Ok(())
}

/// A packet to be cut, checked.
struct Cut<'a> {
    packet: &'a [u8],
    version: u8,
    ip_bytes: usize,
    /// Offset at which TCP begins.
    transport: usize,
    /// Offset at which the data begin.
    data: usize,
    segment_bytes: usize,
    /// True if only the first segment keeps CWR.
    window_reduced: bool,
}

impl<'a> Cut<'a> {
    fn new(header: &VnetHeader, packet: &'a [u8]) -> Result<Self, Malformed> {
        let (version, ip_bytes) = ip::header(packet).ok_or(Malformed::Ip)?;
        let want = if version == 4 { TCP4 } else { TCP6 };
        if header.kind & !WINDOW_REDUCED != want {
            return Err(Malformed::Kind);
        }
        let transport = usize::from(header.checksum_start);
        let is_tcp = match version {
            4 => packet[9] == ip::TCP && !ip::is_fragment(packet) && transport == ip_bytes,
            // extension headers are in between
            _ => transport >= ip_bytes,
        };
        let needs_checksum = header.flags & NEEDS_CHECKSUM != 0
            && usize::from(header.checksum_offset) == TCP_CHECKSUM;
        let tcp_bytes =
            packet.get(transport..).and_then(ip::tcp_header_bytes).ok_or(Malformed::Tcp)?;
        let data = transport + tcp_bytes;
        let segment_bytes = usize::from(header.segment_bytes);
        let fits = data + segment_bytes <= usize::from(u16::MAX)
            && packet.len() - transport <= usize::from(u16::MAX);
        if !is_tcp || !needs_checksum || segment_bytes == 0 || packet.len() == data || !fits {
            return Err(Malformed::Tcp);
        }
        let window_reduced = header.kind & WINDOW_REDUCED != 0;
        Ok(Self { packet, version, ip_bytes, transport, data, segment_bytes, window_reduced })
    }

    fn all(&self, packets: &mut Packets) {
        let data = &self.packet[self.data..];
        let count = data.len().div_ceil(self.segment_bytes);
        packets.bytes.reserve(data.len() + count * self.data);
        for (at, data) in data.chunks(self.segment_bytes).enumerate() {
            let begin = packets.bytes.len();
            packets.bytes.extend_from_slice(&self.packet[..self.data]);
            packets.bytes.extend_from_slice(data);
            self.finish(&mut packets.bytes[begin..], at, at + 1 == count);
            packets.ends.push(packets.bytes.len());
        }
    }

    /// Sets the headers of segment number `at`.
    fn finish(&self, segment: &mut [u8], at: usize, is_last: bool) {
        let bytes = segment.len();
        let transport = self.transport;
        if self.version == 4 {
            segment[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
            let id = ip::number(segment, 4).wrapping_add(at as u16);
            segment[4..6].copy_from_slice(&id.to_be_bytes());
            segment[10..12].fill(0);
            let sum = checksum::stored(checksum::add(0, &segment[..self.ip_bytes]));
            segment[10..12].copy_from_slice(&sum);
        } else {
            segment[4..6].copy_from_slice(&((bytes - ip::IPV6_BYTES) as u16).to_be_bytes());
        }
        let tcp = &mut segment[transport..];
        let number = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
        let number = number.wrapping_add((at * self.segment_bytes) as u32);
        tcp[4..8].copy_from_slice(&number.to_be_bytes());
        if !is_last {
            tcp[TCP_FLAGS] &= !(FIN | PSH);
        }
        if at > 0 && self.window_reduced {
            tcp[TCP_FLAGS] &= !CWR;
        }
        // the stored value is the sum of addresses, protocol and length of the whole: the length is
        // replaced
        let before = checksum::number(!((self.packet.len() - transport) as u16));
        let now = checksum::number((bytes - transport) as u16);
        let sum = checksum::stored(checksum::add(before + now, tcp));
        tcp[TCP_CHECKSUM..TCP_CHECKSUM + 2].copy_from_slice(&sum);
    }
}
