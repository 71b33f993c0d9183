//! Computation of the longest packet that still fits the link once it is sealed.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use sealstone_seal::esp::Suite;

use super::packet::{IPV4_BYTES, IPV6_BYTES};
use crate::ffi::option;

/// Length of a UDP header, in bytes.
const UDP_BYTES: usize = 8;
/// Index and sequence number, which begin a sealed packet, in bytes.
const ESP_BYTES: usize = 8;
/// Pad length and next header, which end the encrypted part, in bytes.
const TRAILER_BYTES: usize = 2;

/// Returns the length of the longest packet that fits a link once `suite` has sealed it, in bytes.
///
/// - `link_mtu`: the longest packet of the link, in bytes
/// - `peer`: where sealed packets go: IPv6 has longer headers
#[must_use]
pub fn inner_mtu(link_mtu: u32, suite: &Suite, peer: IpAddr) -> u32 {
    let outer = if peer.is_ipv6() { IPV6_BYTES } else { IPV4_BYTES } + UDP_BYTES;
    let around = outer + ESP_BYTES + suite.iv_bytes() + suite.tag_bytes();
    let encrypted =
        (link_mtu as usize).saturating_sub(around) / suite.block_bytes() * suite.block_bytes();
    encrypted.saturating_sub(TRAILER_BYTES) as u32
}

/// Returns the length of the longest packet on the way to `peer` as far as the system has recorded
/// it, in bytes: the device's limit, or a router's. Call it in the namespace of the route.
///
/// # Errors
/// The system's, among them that there is no way.
pub(crate) fn route_mtu(peer: SocketAddr) -> std::io::Result<u32> {
    let any: SocketAddr =
        if peer.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" }.parse().expect("an address");
    let probe = UdpSocket::bind(any)?;
    // sends nothing, and looks up the route
    probe.connect(peer)?;
    option::route_mtu(&probe, peer.is_ipv6())
}

#[cfg(test)]
mod tests {
    use sealstone_cipher::Backend;
    use sealstone_seal::esp::{Association, Outbound, suites};

    use super::*;

    #[test]
    fn the_longest_packet_fits_and_one_more_byte_does_not() {
        for suite in suites() {
            let association =
                Association { spi: 256, suite, extended: true, backend: Backend::auto() };
            let (key, mac_key) = (vec![1; suite.key_bytes()], vec![2; suite.integrity_key_bytes()]);
            let outbound = Outbound::new(&association, &key, &mac_key).unwrap();
            for (peer, outer) in [("10.0.0.1", 28), ("fd00::1", 48)] {
                for link in [576, 1_280, 1_500, 9_000] {
                    let inner = inner_mtu(link, suite, peer.parse().unwrap()) as usize;
                    let on_link = |bytes: usize| bytes + outbound.overhead_bytes(bytes) + outer;
                    assert!(on_link(inner) <= link as usize, "{} {link}", suite.name);
                    assert!(on_link(inner + 1) > link as usize, "{} {link}", suite.name);
                }
            }
        }
        assert_eq!(inner_mtu(20, &suites()[0], "10.0.0.1".parse().unwrap()), 0);
    }
}
