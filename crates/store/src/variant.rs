//! Protection of a store: a choice for each layer. Names are resolved once, where settings are
//! checked; after that ciphers and backends are passed as values.

use sealstone_cipher::module::Module;
use sealstone_cipher::{Backend, Cipher, Provider};

use crate::server_encryption::ServerEncryption;
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

/// Way in which the layer `rest` seals files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seal {
    /// By the store itself, or something that it loads.
    #[default]
    Own,
    /// By a sealed volume, on which the store keeps all of its files.
    Volume,
    /// By the server, with what it brings itself and no cipher of ours: a rival.
    Server,
}

impl Seal {
    /// All of them, the default first.
    pub const ALL: [Self; 3] = [Self::Own, Self::Volume, Self::Server];

    /// As on the command line and in results: `own`, `volume`, `server`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Volume => "volume",
            Self::Server => "server",
        }
    }
}

/// Cipher with which a layer encrypts, and who computes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The cipher.
    pub cipher: &'static Cipher,
    /// The backend it runs on, or the cryptographic module that computes it.
    pub provider: Provider,
    /// True if the backend was requested by name, so that no other may take its place; otherwise it
    /// is the fastest one of this CPU.
    pub forced: bool,
}

impl Choice {
    /// Returns `cipher` on the fastest backend of this CPU.
    #[must_use]
    pub fn auto(cipher: &'static Cipher) -> Self {
        Self { cipher, provider: Provider::own(), forced: false }
    }

    /// Returns the name of the backend, where one was requested by name.
    #[must_use]
    pub fn forced_backend(&self) -> Option<&'static str> {
        self.forced.then(|| self.provider.name())
    }

    /// Returns the backend to use, for what takes its module from its keys: the fastest with a
    /// module.
    #[must_use]
    pub fn backend(&self) -> Backend {
        match self.provider {
            Provider::Own(backend) => backend,
            Provider::Module(_) => Backend::auto(),
        }
    }

    /// Returns the text by which another program loads the module that computes, if one does.
    #[must_use]
    pub fn module(&self) -> Option<&'static str> {
        self.provider.module().map(|module| module.spec())
    }
}

/// Sealing of a store's files: the way, and what seals them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestSeal {
    /// The store itself, or something that it loads, with this cipher.
    Own(Choice),
    /// A sealed volume, on which the store keeps all of its files, with this cipher.
    Volume(Choice),
    /// The server, with what it brings itself and no cipher of ours.
    Server(&'static ServerEncryption),
}

impl RestSeal {
    /// Returns the way alone.
    #[must_use]
    pub const fn seal(&self) -> Seal {
        match self {
            Self::Own(_) => Seal::Own,
            Self::Volume(_) => Seal::Volume,
            Self::Server(_) => Seal::Server,
        }
    }

    /// Returns the cipher of ours, if it is one.
    #[must_use]
    pub const fn choice(&self) -> Option<Choice> {
        match self {
            Self::Own(choice) | Self::Volume(choice) => Some(*choice),
            Self::Server(_) => None,
        }
    }
}

/// One way of protecting a store: the choice of each layer. Without any layer it is a baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// Unique within a comparison, such as `aes-256`, `aes-256 portable`, `none`, `none (2)`.
    pub label: String,
    /// Cipher with which columns are sealed before a record reaches the store.
    pub field: Option<Choice>,
    /// Tunnel through which packets to the store go.
    pub wire: Option<Tunnel>,
    /// Function that the server applies to values.
    pub server: Option<&'static ServerFunction>,
    /// Sealing of files and pages below the engine.
    pub rest: Option<RestSeal>,
}

impl Variant {
    /// Returns the variant that encrypts nothing.
    #[must_use]
    pub fn plain(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    /// Returns the cipher with which the store itself seals its files, if it does.
    #[must_use]
    pub fn own_rest(&self) -> Option<Choice> {
        match self.rest {
            Some(RestSeal::Own(choice)) => Some(choice),
            _ => None,
        }
    }

    /// Returns the cryptographic module that computes the cipher of a layer, if one does.
    #[must_use]
    pub fn module(&self) -> Option<&'static dyn Module> {
        let rest = self.rest.as_ref().and_then(RestSeal::choice);
        self.field.into_iter().chain(rest).find_map(|choice| choice.provider.module())
    }

    /// Returns the layers that encrypt, from the caller down.
    pub fn layers(&self) -> impl Iterator<Item = Layer> {
        let encrypts =
            [self.field.is_some(), self.wire.is_some(), self.server.is_some(), self.rest.is_some()];
        Layer::ALL
            .into_iter()
            .zip(encrypts)
            .filter_map(|(layer, encrypts)| encrypts.then_some(layer))
    }

    /// Returns whether nothing is encrypted.
    #[must_use]
    pub fn is_baseline(&self) -> bool {
        self.layers().next().is_none()
    }
}
