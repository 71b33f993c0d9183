//! Ways of sealing packets between a client and its store.

use sealstone_cipher::suites::Suite;

/// Name of the suite of the layer `wire` that is TLS.
pub const TLS: &str = "tls";

/// Protocol and algorithms that seal packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireSuite {
    /// TLS between a store and its server.
    Tls,
    /// A suite of ESP between the two ends of a link.
    Esp(&'static Suite),
}

impl WireSuite {
    /// Returns its name in flags, tables and reports, such as `tls` or `aes-256-gcm`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tls => TLS,
            Self::Esp(suite) => suite.name,
        }
    }
}

/// A choice for the layer `wire`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Seal of its packets.
    pub suite: WireSuite,
    /// The program that carries the packets: `sealstone`, `strongswan`, `kernel`.
    pub path: &'static str,
    /// Remarks that a reader of its figures needs, such as that its cipher is a legacy one.
    pub caveats: Vec<&'static str>,
}
