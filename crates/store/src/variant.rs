//! Protection of a store: a choice for each layer. Names are resolved once, where settings are
//! checked; from there on ciphers and backends travel as values.

use std::collections::BTreeMap;

use sealstone_cipher::backend::Backend;
use sealstone_cipher::registry::Cipher;

use crate::server_function::ServerFunction;
use crate::tunnel::Tunnel;

/// A place where data can be encrypted, from the caller down to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Single columns, before a record reaches the store.
    Field,
    /// The connection to a server, or to a disk behind a network.
    Wire,
    /// By the server itself, with what it was built with.
    Server,
    /// Files and pages below the engine.
    Rest,
}

impl Layer {
    /// All of them, from the caller down.
    pub const ALL: [Self; 4] = [Self::Field, Self::Wire, Self::Server, Self::Rest];

    /// As on the command line and in results: `field`, `wire`, `server`, `rest`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Field => "field",
            Self::Wire => "wire",
            Self::Server => "server",
            Self::Rest => "rest",
        }
    }
}

/// Cipher and backend with which a layer encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The cipher.
    pub cipher: &'static Cipher,
    /// The backend it runs on.
    pub backend: Backend,
    /// True if the backend was requested by name, so that no other may take its place; otherwise it
    /// is the fastest one of this CPU.
    pub forced: bool,
}

impl Choice {
    /// `cipher` on the fastest backend of this CPU.
    #[must_use]
    pub fn auto(cipher: &'static Cipher) -> Self {
        Self { cipher, backend: Backend::auto(), forced: false }
    }
}

/// One way of protecting a store. Without any layer it is a baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Unique within a comparison, such as `aes-256`, `aes-256 portable`, `none`, `none (2)`.
    pub label: String,
    /// Choice with which each layer encrypts; a layer that is absent does not encrypt.
    pub layers: BTreeMap<Layer, Choice>,
    /// Function that the layer `server` applies, if any: not with a cipher of ours.
    pub function: Option<&'static ServerFunction>,
    /// Tunnel that the layer `wire` uses for packets, if any: not with a cipher alone.
    pub tunnel: Option<Tunnel>,
}

impl Variant {
    /// Nothing encrypted.
    #[must_use]
    pub fn plain(label: impl Into<String>) -> Self {
        Self { label: label.into(), layers: BTreeMap::new(), function: None, tunnel: None }
    }

    /// One layer encrypted.
    #[must_use]
    pub fn of(label: impl Into<String>, layer: Layer, choice: Choice) -> Self {
        Self { layers: BTreeMap::from([(layer, choice)]), ..Self::plain(label) }
    }

    /// Values go through a function of the server.
    #[must_use]
    pub fn of_server(label: impl Into<String>, function: &'static ServerFunction) -> Self {
        Self { function: Some(function), ..Self::plain(label) }
    }

    /// Packets to the store go through a tunnel.
    #[must_use]
    pub fn of_tunnel(label: impl Into<String>, tunnel: Tunnel) -> Self {
        Self { tunnel: Some(tunnel), ..Self::plain(label) }
    }

    /// Returns whether nothing is encrypted.
    #[must_use]
    pub fn is_baseline(&self) -> bool {
        self.layers.is_empty() && self.function.is_none() && self.tunnel.is_none()
    }

    /// Returns the choice with which `layer` encrypts, if it does.
    #[must_use]
    pub fn choice(&self, layer: Layer) -> Option<Choice> {
        self.layers.get(&layer).copied()
    }
}
