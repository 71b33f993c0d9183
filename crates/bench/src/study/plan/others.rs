//! Means of encrypting that are no ciphers of ours. Not here: the variants with them (`variants`).

use sealstone_store::{ServerEncryption, ServerFunction, Tunnel};

/// Those of a store, and tunnels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Others<'a> {
    /// Functions of the server, for the layer `server`.
    pub functions: &'a [&'static ServerFunction],
    /// Encryption of files that the server brings itself, for the layer `rest`.
    pub server_rest: &'a [&'static ServerEncryption],
    /// Tunnels of the plan's suites, for the layer `wire`.
    pub tunnels: &'a [Tunnel],
}
