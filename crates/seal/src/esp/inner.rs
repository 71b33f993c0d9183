//! The packets inside: the length in an IP packet's header.

/// Numbers of protocols (next header): IPv4, IPv6, and a packet to be thrown away.
const IPV4: u8 = 4;
const IPV6: u8 = 41;
pub(super) const DUMMY: u8 = 59;

const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;

/// Returns the number of the protocol of `packet` and its length in bytes, from its header; `None`
/// if it is no IP packet or is incomplete. Bytes may follow it.
pub(super) fn extent(packet: &[u8]) -> Option<(u8, usize)> {
    let length_at =
        |at: usize| Some(usize::from(u16::from_be_bytes([*packet.get(at)?, *packet.get(at + 1)?])));
    let (protocol, header_bytes, bytes) = match packet.first()? >> 4 {
        4 => (IPV4, usize::from(packet[0] & 15) * 4, length_at(2)?),
        6 => (IPV6, IPV6_HEADER_BYTES, IPV6_HEADER_BYTES + length_at(4)?),
        _ => return None,
    };
    let is_whole =
        header_bytes >= IPV4_HEADER_BYTES && bytes >= header_bytes && bytes <= packet.len();
    is_whole.then_some((protocol, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ip_packet_says_how_long_it_is() {
        let mut four = vec![0; 40];
        (four[0], four[3]) = (0x45, 30);
        assert_eq!(extent(&four), Some((4, 30)));
        assert_eq!(extent(&four[..29]), None);
        four[0] = 0x44;
        assert_eq!(extent(&four), None, "a header of 16 bytes");
        (four[0], four[3]) = (0x46, 20);
        assert_eq!(extent(&four), None, "shorter than its header");
        let mut six = vec![0; 64];
        (six[0], six[5]) = (0x60, 24);
        assert_eq!(extent(&six), Some((41, 64)));
        assert_eq!(extent(&six[..63]), None);
        six[0] = 0x50;
        assert_eq!(
            (extent(&six), extent(&[]), extent(&[0x45]), extent(&[0x60, 0])),
            (None, None, None, None)
        );
    }
}
