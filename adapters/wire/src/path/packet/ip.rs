//! Facts that the path needs about an IP packet: its length and the begin of TCP.
//!
//! Source: RFC 791, RFC 8200, RFC 9293.

/// Length of an IPv4 header without options, in bytes.
pub(crate) const IPV4_BYTES: usize = 20;
/// Length of an IPv6 header, in bytes.
pub(crate) const IPV6_BYTES: usize = 40;
/// The number of TCP among protocols.
pub(crate) const TCP: u8 = 6;
/// Length of a TCP header without options, in bytes.
pub(crate) const TCP_BYTES: usize = 20;
/// Offset of the checksum in a TCP header.
pub(crate) const TCP_CHECKSUM: usize = 16;
/// Offset of the flags in a TCP header, followed by the flags.
pub(crate) const TCP_FLAGS: usize = 13;
pub(crate) const FIN: u8 = 1;
pub(crate) const PSH: u8 = 8;
pub(crate) const ACK: u8 = 16;
pub(crate) const CWR: u8 = 128;

/// Returns the number at `at`, which must be there.
pub(crate) fn number(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([packet[at], packet[at + 1]])
}

/// Returns the version of IP, 4 or 6, and the length of the header in bytes, options included,
/// where all of it is there; for IPv6 without extension headers.
pub(crate) fn header(packet: &[u8]) -> Option<(u8, usize)> {
    let (version, bytes) = match packet.first()? >> 4 {
        4 => (4, usize::from(packet[0] & 15) * 4),
        6 => (6, IPV6_BYTES),
        _ => return None,
    };
    (bytes >= IPV4_BYTES && packet.len() >= bytes).then_some((version, bytes))
}

/// Returns the length of `packet` in bytes, as given in its header; `None` if it is no IP packet or
/// not all of it is there.
pub(crate) fn extent(packet: &[u8]) -> Option<usize> {
    let (version, header_bytes) = header(packet)?;
    let bytes = match version {
        4 => usize::from(number(packet, 2)),
        _ => IPV6_BYTES + usize::from(number(packet, 4)),
    };
    (bytes >= header_bytes && bytes <= packet.len()).then_some(bytes)
}

/// Returns whether an IPv4 header marks the packet as a fragment of another.
pub(crate) fn is_fragment(header: &[u8]) -> bool {
    number(header, 6) & 0x3fff != 0
}

/// Returns the length of the TCP header that begins `transport`, options included, where all of it
/// is there.
pub(crate) fn tcp_header_bytes(transport: &[u8]) -> Option<usize> {
    let bytes = usize::from(transport.get(12)? >> 4) * 4;
    (bytes >= TCP_BYTES && transport.len() >= bytes).then_some(bytes)
}
