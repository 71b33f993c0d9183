//! Ways of sealing packets between a client and its store.

/// The suite of the layer `wire` that is TLS between a store and its server.
pub const TLS: &str = "tls";

/// A choice for the layer `wire`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// Name of the suite, such as `aes-256-gcm`.
    pub suite: &'static str,
    /// The program that carries the packets: `sealstone`, `strongswan`, `kernel`.
    pub path: &'static str,
    /// Remarks that a reader of its figures needs, such as that its cipher is a legacy one.
    pub caveats: Vec<&'static str>,
}
