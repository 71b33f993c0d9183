//! Means of encrypting that are no ciphers of ours, or are computed by somebody else. Not here: the
//! variants with them (`variants`).

use sealstone_cipher::module::Module;
use sealstone_store::{ServerEncryption, ServerFunction, Tunnel};

/// Those of a store, tunnels and modules.
#[derive(Clone, Copy, Debug, Default)]
pub struct Others<'a> {
    /// Functions of the server, for the layer `server`.
    pub functions: &'a [&'static ServerFunction],
    /// Encryption of files that the server brings itself, for the layer `rest`.
    pub server_rest: &'a [&'static ServerEncryption],
    /// Tunnels of the plan's suites, for the layer `wire`.
    pub tunnels: &'a [Tunnel],
    /// Cryptographic modules of the plan, in its order.
    pub modules: &'a [&'static dyn Module],
}
