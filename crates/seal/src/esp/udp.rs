//! Meaning of a datagram on the port of ESP, which packets share with the messages of a key
//! exchange.
//!
//! Source: RFC 3948, section 2.

/// The port.
pub const PORT: u16 = 4500;
/// Beginning of a message of a key exchange, where a packet has its index.
pub const KEY_EXCHANGE_MARKER: [u8; 4] = [0; 4];
/// The datagram that keeps a translated address alive.
pub const KEEPALIVE: [u8; 1] = [0xff];

/// Content of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram<'a> {
    /// A sealed packet, of the association with this index.
    Packet(u32),
    /// A message of a key exchange, without its marker.
    KeyExchange(&'a [u8]),
    /// It keeps a translated address alive, and means nothing else.
    Keepalive,
    /// Too short for any of them.
    Nothing,
}

/// Classifies the datagram that holds `payload`.
#[must_use]
pub fn classify(payload: &[u8]) -> Datagram<'_> {
    if payload == KEEPALIVE {
        return Datagram::Keepalive;
    }
    match payload.split_first_chunk() {
        None => Datagram::Nothing,
        Some((&KEY_EXCHANGE_MARKER, message)) => Datagram::KeyExchange(message),
        Some((&spi, _)) => Datagram::Packet(u32::from_be_bytes(spi)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_told_apart() {
        assert_eq!(classify(&[0xff]), Datagram::Keepalive);
        assert_eq!(classify(&[0, 0, 0, 0, 7]), Datagram::KeyExchange(&[7]));
        assert_eq!(classify(&[0, 0, 0, 0]), Datagram::KeyExchange(&[]));
        assert_eq!(classify(&[0, 0, 1, 0, 7]), Datagram::Packet(256));
        assert_eq!(classify(&[]), Datagram::Nothing);
        assert_eq!(classify(&[0xff, 0xff, 0xff]), Datagram::Nothing);
    }
}
