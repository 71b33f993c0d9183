//! Consecutive segments of one flow as one packet for a TUN device, which spares the host a walk
//! through its stack for each. Pure.
//!
//! Segments are joined like in Linux's own receive offload: same headers except length, number and
//! checksum, consecutive data, and a right checksum. So cutting the packet again gives the same
//! segments.

use std::io::IoSlice;

use super::checksum;
use super::ip::{self, ACK, FIN, IPV4_BYTES, IPV6_BYTES, PSH, TCP_CHECKSUM, TCP_FLAGS};
use super::vnet::{NEEDS_CHECKSUM, TCP4, TCP6, VnetHeader};

/// The longest head: IPv6 and TCP with all its options.
const HEAD_BYTES_MAX: usize = IPV6_BYTES + 60;
/// The longest packet: its length is a number of 16 bits.
const PACKET_BYTES_MAX: usize = u16::MAX as usize;

/// A segment that others may follow.
#[derive(Clone, Copy)]
struct Segment<'a> {
    packet: &'a [u8],
    /// Offset at which TCP begins.
    transport: usize,
    /// Offset at which the data begin.
    data: usize,
}

impl<'a> Segment<'a> {
    fn new(packet: &'a [u8]) -> Option<Self> {
        let (version, transport) = ip::header(packet)?;
        let is_tcp = match version {
            4 => transport == IPV4_BYTES && packet[9] == ip::TCP && !ip::is_fragment(packet),
            _ => packet[6] == ip::TCP,
        };
        let data = transport + packet.get(transport..).and_then(ip::tcp_header_bytes)?;
        let segment = Self { packet, transport, data };
        let flags = segment.flags();
        let plain = flags & ACK != 0 && flags & !(ACK | PSH | FIN) == 0;
        (is_tcp && plain && data < packet.len() && ip::extent(packet) == Some(packet.len()))
            .then_some(segment)
    }

    fn flags(&self) -> u8 {
        self.packet[self.transport + TCP_FLAGS]
    }

    fn number(&self) -> u32 {
        let at = self.transport + 4;
        u32::from_be_bytes([
            self.packet[at],
            self.packet[at + 1],
            self.packet[at + 2],
            self.packet[at + 3],
        ])
    }

    fn data_bytes(&self) -> usize {
        self.packet.len() - self.data
    }

    fn is_version_4(&self) -> bool {
        self.transport == IPV4_BYTES
    }

    /// Returns the sum of addresses, protocol and `bytes`, the length of TCP.
    fn pseudo_header(&self, bytes: usize) -> u64 {
        let addresses =
            if self.is_version_4() { &self.packet[12..20] } else { &self.packet[8..40] };
        checksum::add(
            checksum::number(u16::from(ip::TCP)) + checksum::number(bytes as u16),
            addresses,
        )
    }

    fn is_intact(&self) -> bool {
        let tcp = &self.packet[self.transport..];
        let header_sum = checksum::add(0, &self.packet[..self.transport]);
        let header_intact = !self.is_version_4() || checksum::fold(header_sum) == 0xffff;
        header_intact && checksum::fold(checksum::add(self.pseudo_header(tcp.len()), tcp)) == 0xffff
    }

    /// Returns whether the headers agree in everything that the segments of one packet share.
    fn is_like(&self, first: &Self) -> bool {
        let (own, other) = (self.packet, first.packet);
        if self.transport != first.transport || self.data != first.data {
            return false;
        }
        let ip_alike = match self.is_version_4() {
            // all but length, identification and checksum
            true => {
                own[..2] == other[..2] && own[6..10] == other[6..10] && own[12..20] == other[12..20]
            }
            false => own[..4] == other[..4] && own[6..40] == other[6..40],
        };
        let (own, other) = (&own[self.transport..self.data], &other[self.transport..self.data]);
        // all but number, flags and checksum
        let tcp_alike =
            own[..4] == other[..4] && own[8..13] == other[8..13] && own[14..16] == other[14..16];
        ip_alike && tcp_alike && own[18..] == other[18..]
    }
}

/// Segments that follow each other.
struct Run<'a> {
    first: Segment<'a>,
    /// The data of all of them.
    data: Vec<&'a [u8]>,
    data_bytes: usize,
    /// Flags that only the last may have.
    last_flags: u8,
    /// Set once the first segment was checked.
    intact: bool,
}

impl<'a> Run<'a> {
    fn new(first: Segment<'a>) -> Self {
        let data = &first.packet[first.data..];
        Self {
            first,
            data: vec![data],
            data_bytes: data.len(),
            last_flags: first.flags() & (FIN | PSH),
            intact: false,
        }
    }

    /// Takes `next` if it follows.
    fn take(&mut self, next: &Segment<'a>) -> bool {
        let first = self.first;
        let follows = self.last_flags == 0
            && self.data_bytes == self.data.len() * first.data_bytes()
            && next.data_bytes() <= first.data_bytes()
            && first.data + self.data_bytes + next.data_bytes() <= PACKET_BYTES_MAX
            && next.number() == first.number().wrapping_add(self.data_bytes as u32)
            && next.is_like(&first)
            && self.identification_follows(next);
        if !follows || !(self.intact || first.is_intact()) {
            return false;
        }
        self.intact = true;
        if !next.is_intact() {
            return false;
        }
        self.data.push(&next.packet[next.data..]);
        self.data_bytes += next.data_bytes();
        self.last_flags = next.flags() & (FIN | PSH);
        true
    }

    /// Returns whether identifications continue: cutting the packet counts them up, and must
    /// restore them. In packets that must not be fragmented they mean nothing (RFC 6864, section
    /// 4.1).
    fn identification_follows(&self, next: &Segment<'a>) -> bool {
        let first = self.first.packet;
        let counted = ip::number(first, 4).wrapping_add(self.data.len() as u16);
        !next.is_version_4() || first[6] & 0x40 != 0 || ip::number(next.packet, 4) == counted
    }

    /// Returns the header for the device, and the headers of the whole.
    fn head(&self) -> (VnetHeader, [u8; HEAD_BYTES_MAX]) {
        let Segment { packet, transport, data } = self.first;
        let mut head = [0; HEAD_BYTES_MAX];
        head[..data].copy_from_slice(&packet[..data]);
        if self.data.len() == 1 {
            return (VnetHeader::default(), head);
        }
        let bytes = data + self.data_bytes;
        let kind = if self.first.is_version_4() {
            head[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
            head[10..12].fill(0);
            let sum = checksum::stored(checksum::add(0, &head[..IPV4_BYTES]));
            head[10..12].copy_from_slice(&sum);
            TCP4
        } else {
            head[4..6].copy_from_slice(&((bytes - IPV6_BYTES) as u16).to_be_bytes());
            TCP6
        };
        head[transport + TCP_FLAGS] |= self.last_flags;
        let sum = checksum::fold(self.first.pseudo_header(bytes - transport)).to_ne_bytes();
        head[transport + TCP_CHECKSUM..transport + TCP_CHECKSUM + 2].copy_from_slice(&sum);
        let header = VnetHeader {
            flags: NEEDS_CHECKSUM,
            kind,
            head_bytes: data as u16,
            segment_bytes: self.first.data_bytes() as u16,
            checksum_start: transport as u16,
            checksum_offset: TCP_CHECKSUM as u16,
        };
        (header, head)
    }

    /// Hands the whole to `write`, in pieces.
    fn write(&self, write: &mut impl FnMut(&[IoSlice<'_>])) {
        let (header, head) = self.head();
        let header = header.bytes();
        let mut pieces = Vec::with_capacity(2 + self.data.len());
        pieces.extend([IoSlice::new(&header), IoSlice::new(&head[..self.first.data])]);
        pieces.extend(self.data.iter().map(|data| IoSlice::new(data)));
        write(&pieces);
    }
}

/// Hands `packets` to `write` in their order, each with the header that the device requires before
/// it: consecutive segments of one flow as one, everything else unchanged. Each call of `write`
/// gets the pieces of one packet.
pub fn coalesce(packets: &[&[u8]], mut write: impl FnMut(&[IoSlice<'_>])) {
    let mut run: Option<Run<'_>> = None;
    for packet in packets {
        let segment = Segment::new(packet);
        if let (Some(run), Some(segment)) = (&mut run, &segment)
            && run.take(segment)
        {
            continue;
        }
        if let Some(ended) = run.take() {
            ended.write(&mut write);
        }
        match segment {
            Some(segment) => run = Some(Run::new(segment)),
            None => write(&[IoSlice::new(&[0; VnetHeader::BYTES]), IoSlice::new(packet)]),
        }
    }
    if let Some(ended) = run {
        ended.write(&mut write);
    }
}
