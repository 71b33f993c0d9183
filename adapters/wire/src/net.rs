//! A network of IP addresses, as `10.9.0.1/24`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A network, or an address with the network that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Net {
    /// The address.
    pub address: IpAddr,
    /// Length of the network's prefix.
    pub prefix_bits: u8,
}

impl Net {
    /// Returns the network that it is in: the same without the bits behind the prefix.
    #[must_use]
    pub fn network(self) -> Self {
        let behind = |all: u32| all.saturating_sub(u32::from(self.prefix_bits));
        let address: IpAddr = match self.address {
            IpAddr::V4(own) => {
                Ipv4Addr::from(own.to_bits() & u32::MAX.checked_shl(behind(32)).unwrap_or(0)).into()
            }
            IpAddr::V6(own) => {
                Ipv6Addr::from(own.to_bits() & u128::MAX.checked_shl(behind(128)).unwrap_or(0))
                    .into()
            }
        };
        Self { address, ..self }
    }

    /// Returns whether `address` is in its network.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && Self { address, ..self }.network() == self.network()
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

impl Serialize for Net {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Net {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl FromStr for Net {
    /// Description in words of the text found instead.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, bits) = text.split_once('/').ok_or("it lacks the length of its prefix")?;
        let address: IpAddr = address.parse().map_err(|_| format!("{address} is no IP address"))?;
        let most = if address.is_ipv6() { 128 } else { 32 };
        let bits = bits.parse().ok().filter(|bits: &u8| *bits <= most);
        let prefix_bits =
            bits.ok_or_else(|| format!("the length of its prefix is not between 0 and {most}"))?;
        Ok(Self { address, prefix_bits })
    }
}
