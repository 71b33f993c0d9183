//! Kinds of stores: the abilities and settings of each, and its engine. Not here: the table of
//! kinds (`adapters/stores`), and the choice for a study (`sealstone-bench`).
//!
//! A kind is all that is needed to resolve settings: the command line makes flags and help from its
//! settings, and a plan has a table of them (`[stores.mongodb]`). Its `engine` turns a request
//! (members, clients, key, settings) into an engine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use sealstone_cipher::{Mode, Provider};
use sealstone_keys::KeySource;

use crate::{Engine, Layer, Seal, SealedColumns, ServerEncryption, ServerFunction, StoreError};

/// One kind of store.
#[derive(Debug)]
pub struct StoreKind {
    /// As on the command line and in results, such as `rocksdb`.
    pub name: &'static str,
    /// Description in a few words for help: `within this process`.
    pub about: &'static str,
    /// True if it has replica sets of several members.
    pub replicated: bool,
    /// The layers that can encrypt in it; `rest` if it seals its files itself.
    pub layers: &'static [Layer],
    /// The modes in which it seals its files itself, with every cipher, by who computes; absent:
    /// each cipher's own.
    pub rest_modes: Option<fn(Provider) -> Vec<Mode>>,
    /// Encryption of its files that a server started here brings itself.
    pub server_rest: &'static [&'static ServerEncryption],
    /// True if a store that is made here can keep its files on a sealed volume.
    pub on_volume: bool,
    /// Functions that it has for the layer `server`.
    pub functions: &'static [&'static ServerFunction],
    /// True if it is a block device, and keeps no records.
    pub device: bool,
    /// True if all records are in memory, so that there is no cache that could be too small for
    /// them.
    pub in_memory: bool,
    /// The least cache that each of its members takes, whatever is requested, in bytes.
    pub cache_bytes_min: u64,
    /// The setting with which its cache is decided elsewhere, if there is one.
    pub cache_decided_by: Option<&'static str>,
    /// The setting that names servers of the user's own, which clients on other machines reach,
    /// too; absent: none can.
    pub shared_by: Option<&'static str>,
    /// True if the user names servers of their own for each variant, so that those can encrypt
    /// their files; otherwise all variants share one server.
    pub shared_by_variant: bool,
    /// Settings of a comparison that suit it better than the general defaults, as lines of TOML.
    pub suited: &'static str,
    /// Its own settings.
    pub settings: &'static [Setting],
    /// Makes the engine of one comparison.
    pub engine: fn(&Request) -> Result<Opened, StoreError>,
}

/// One setting of a kind of store: a flag of the command line, and a name in its table of the plan.
#[derive(Debug)]
pub struct Setting {
    /// Its name, such as `write-concern`.
    pub name: &'static str,
    /// The placeholder of its value in help, such as `CONCERN`.
    pub value: &'static str,
    /// Effect of the setting, in one sentence for help.
    pub help: &'static str,
    /// Form of its value.
    pub form: Form,
    /// Names of settings that make no sense together with it.
    pub excludes: &'static [&'static str],
}

impl Setting {
    /// A setting that makes sense with every other one.
    #[must_use]
    pub const fn new(
        name: &'static str,
        value: &'static str,
        form: Form,
        help: &'static str,
    ) -> Self {
        Self { name, value, help, form, excludes: &[] }
    }
}

impl StoreKind {
    /// Returns the ways in which its files can be sealed, the usual one first.
    pub fn seals(&self) -> impl Iterator<Item = Seal> {
        let own = self.layers.contains(&Layer::Rest).then_some(Seal::Own);
        let server = (!self.server_rest.is_empty()).then_some(Seal::Server);
        own.into_iter().chain(self.on_volume.then_some(Seal::Volume)).chain(server)
    }

    /// Returns whether servers that are started for it speak TLS, which then is its layer `wire`;
    /// for a device, that layer is packets on a link.
    #[must_use]
    pub fn speaks_tls(&self) -> bool {
        self.layers.contains(&Layer::Wire) && !self.device
    }
}

/// Form of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A word or an address.
    Text,
    /// `true` or `false`.
    Bool,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A path.
    File,
    /// One for each time that it is given.
    Several,
}

/// The values of a store's own settings, by name.
pub type Settings = BTreeMap<String, Vec<String>>;

/// Requirements of one comparison for a store.
pub struct Request {
    /// Members of each replica set.
    pub members: usize,
    /// Client threads that use a store at once.
    pub clients: usize,
    /// Bytes of a block device that is made for the comparison.
    pub device_bytes: u64,
    /// The name of the link that it should be behind; absent: the existing network.
    pub link: Option<String>,
    /// True if any variant encrypts.
    pub sealed: bool,
    /// True if any variant has its files sealed by the store itself.
    pub own_seal: bool,
    /// True if any variant has its files on a sealed volume.
    pub on_volume: bool,
    /// True if any variant has its files encrypted by what the server brings itself.
    pub server_rest: bool,
    /// True if any variant reaches its server by TLS.
    pub tls: bool,
    /// Directory in which the stores stay; absent: they are removed.
    pub keep: Option<PathBuf>,
    /// The user's key; absent: one is made for the run.
    pub key: Option<UserKey>,
    /// Generator from which a key that is made for the run is drawn: that of the module that
    /// computes, if one does.
    pub generator: Provider,
    /// Columns that are sealed in front of the store, if any are.
    pub columns: Option<SealedColumns>,
    /// The store's own settings.
    pub settings: Settings,
    /// True if another client loads the store and removes the data: existing records are no reason
    /// to refuse it.
    pub joins: bool,
}

/// A key that the user named, and opened.
#[derive(Clone)]
pub struct UserKey {
    /// As it was named: a key file, or `kmip:…`.
    pub named: String,
    /// File with the passphrase of the key file, where one was named.
    pub passphrase_file: Option<PathBuf>,
    /// The key.
    pub source: Arc<dyn KeySource>,
}

/// An engine for one comparison.
pub struct Opened {
    /// The engine.
    pub engine: Box<dyn Engine>,
    /// Facts that the user must know, such as the place of a key.
    pub notes: Vec<String>,
}

impl Default for Request {
    /// Returns the request for a store of one member and one client, of which nothing is encrypted.
    fn default() -> Self {
        Self {
            members: 1,
            clients: 1,
            device_bytes: 0,
            link: None,
            sealed: false,
            own_seal: false,
            on_volume: false,
            server_rest: false,
            tls: false,
            keep: None,
            key: None,
            generator: Provider::own(),
            columns: None,
            settings: Settings::new(),
            joins: false,
        }
    }
}

impl Request {
    /// Returns whether any variant has its files sealed: then all must keep their records in files.
    #[must_use]
    pub fn at_rest(&self) -> bool {
        self.own_seal || self.on_volume || self.server_rest
    }

    /// Returns the value of the setting `name`; of several the last.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name)?.last().map(String::as_str)
    }

    /// Returns the value of the setting `name`, a path.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        self.setting(name).map(PathBuf::from)
    }

    /// Returns all values of the setting `name`.
    #[must_use]
    pub fn several(&self, name: &str) -> &[String] {
        self.settings.get(name).map_or(&[], Vec::as_slice)
    }
}

// an address may contain a password
impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { members, clients, sealed, keep, .. } = self;
        let mut shown = f.debug_struct("Request");
        shown
            .field("members", members)
            .field("clients", clients)
            .field("sealed", sealed)
            .field("keep", keep);
        shown.finish_non_exhaustive()
    }
}
