//! The header that a TUN device puts before a packet, `virtio_net_hdr`: the unfinished work on a
//! packet.
//!
//! Source: VIRTIO 1.2, section 5.1.6; numbers are in the machine's own byte order.

/// The checksum is yet to be completed.
pub(crate) const NEEDS_CHECKSUM: u8 = 1;
/// It is one packet.
pub(crate) const NO_SEGMENTS: u8 = 0;
/// Segments of TCP over IPv4.
pub(crate) const TCP4: u8 = 1;
/// Segments of TCP over IPv6.
pub(crate) const TCP6: u8 = 4;
/// A bit beside these: only the first segment announces that the window was reduced.
pub(crate) const WINDOW_REDUCED: u8 = 0x80;

/// The header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VnetHeader {
    /// Flags: 1 if the checksum is yet to be completed.
    pub flags: u8,
    /// Kind of pieces to cut it into: 0 nothing, 1 TCP over IPv4, 4 TCP over IPv6.
    pub kind: u8,
    /// Length of what comes before the data, in bytes; a hint.
    pub head_bytes: u16,
    /// Length of the data of a segment, in bytes.
    pub segment_bytes: u16,
    /// Position at which the range of the checksum begins, in bytes from the beginning of the
    /// packet.
    pub checksum_start: u16,
    /// Position at which it is stored, in bytes from there.
    pub checksum_offset: u16,
}

impl VnetHeader {
    /// Its length, in bytes.
    pub const BYTES: usize = 10;

    /// Reads it.
    #[must_use]
    pub fn read(bytes: &[u8; Self::BYTES]) -> Self {
        let number = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Self {
            flags: bytes[0],
            kind: bytes[1],
            head_bytes: number(2),
            segment_bytes: number(4),
            checksum_start: number(6),
            checksum_offset: number(8),
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [self.flags, self.kind, 0, 0, 0, 0, 0, 0, 0, 0];
        let numbers =
            [self.head_bytes, self.segment_bytes, self.checksum_start, self.checksum_offset];
        for (place, number) in bytes[2..].chunks_exact_mut(2).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let header = VnetHeader {
            flags: NEEDS_CHECKSUM,
            kind: TCP6 | WINDOW_REDUCED,
            head_bytes: 72,
            segment_bytes: 1_428,
            checksum_start: 40,
            checksum_offset: 16,
        };
        assert_eq!(VnetHeader::read(&header.bytes()), header);
        assert_eq!(VnetHeader::default().bytes(), [0; VnetHeader::BYTES]);
    }
}
