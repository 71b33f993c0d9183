//! Addresses that packets within a tunnel may come from: addresses of the networks behind it. The
//! other end has the key, but no right to speak for others.

use std::net::IpAddr;

use crate::net::Net;

/// The addresses.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Absent: any.
    networks: Option<Vec<Net>>,
    /// The addresses of this end: nobody else has them.
    own: Vec<IpAddr>,
}

impl Sources {
    /// Permits any address, for measuring a path whose other end is this program.
    #[must_use]
    pub fn any() -> Self {
        Self { networks: None, own: Vec::new() }
    }

    /// Permits the addresses of `routes`, and addresses that share a prefix with one of
    /// `addresses`, but not these themselves.
    ///
    /// - `addresses`: this end's within the tunnel
    /// - `routes`: the networks behind the other end
    #[must_use]
    pub fn behind(addresses: &[Net], routes: &[Net]) -> Self {
        let networks = routes.iter().chain(addresses).copied().collect();
        Self { networks: Some(networks), own: addresses.iter().map(|net| net.address).collect() }
    }

    /// Returns whether `packet`, a whole IP packet, comes from one of them.
    pub(crate) fn admit(&self, packet: &[u8]) -> bool {
        let Some(networks) = &self.networks else { return true };
        let source = match packet.first().map(|byte| byte >> 4) {
            Some(4) => packet
                .get(12..16)
                .and_then(|bytes| <[u8; 4]>::try_from(bytes).ok())
                .map(IpAddr::from),
            Some(6) => packet
                .get(8..24)
                .and_then(|bytes| <[u8; 16]>::try_from(bytes).ok())
                .map(IpAddr::from),
            _ => None,
        };
        source.is_some_and(|source| {
            !self.own.contains(&source) && networks.iter().any(|net| net.contains(source))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(routes: &[&str]) -> Sources {
        let nets =
            |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Net>>();
        Sources::behind(&nets(&["10.9.0.1/24", "fd00:9::1/64"]), &nets(routes))
    }

    fn from(source: &str) -> Vec<u8> {
        match source.parse().unwrap() {
            IpAddr::V4(source) => [&[0x45; 12][..], &source.octets(), &[10, 9, 0, 1]].concat(),
            IpAddr::V6(source) => [&[0x60; 8][..], &source.octets(), &[0xfd; 16]].concat(),
        }
    }

    #[test]
    fn only_networks_behind_the_tunnel_are_admitted() {
        let sources = behind(&["10.20.0.0/15", "192.0.2.7/32", "fd00:20::/31"]);
        for source in [
            "10.9.0.2",
            "10.9.0.254",
            "10.20.0.1",
            "10.21.255.255",
            "192.0.2.7",
            "fd00:9::2",
            "fd00:21::1",
        ] {
            assert!(sources.admit(&from(source)), "{source}");
        }
        // this end's own addresses among them
        for source in [
            "10.9.0.1",
            "10.9.1.2",
            "10.22.0.1",
            "192.0.2.8",
            "127.0.0.1",
            "0.0.0.0",
            "fd00:9::1",
            "fd00:9:0:1::2",
            "fd00:22::1",
            "fe80::1",
            "::",
            "::ffff:10.9.0.2",
        ] {
            assert!(!sources.admit(&from(source)), "{source}");
            assert!(Sources::any().admit(&from(source)));
        }
        assert!(!sources.admit(&[]) && !sources.admit(&[0x45; 14]) && !sources.admit(&[0x15; 40]));
    }

    #[test]
    fn a_prefix_of_no_bits_is_every_address_of_its_family() {
        let sources = behind(&["0.0.0.0/0"]);
        assert!(sources.admit(&from("203.0.113.7")) && !sources.admit(&from("2001:db8::7")));
    }
}
