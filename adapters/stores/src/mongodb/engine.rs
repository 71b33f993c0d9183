//! MongoDB as an engine for comparisons: a separate replica set for every variant, started on this
//! machine ([`LabEngine`]), or clusters that others run, one for each variant ([`ClusterEngine`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sealstone_servers::{MongodOptions, ReplicaSet};
use sealstone_store::{Engine, EngineFacts, OpenStore, StoreError, StoreOptions, Table, Variant};

use super::at_rest::MongoDbAtRest;
use super::{Error, MongoDb, MongoDbOptions};
use crate::at_rest::Sealing;
use crate::lab_server::LabServer;
use crate::lab_tls::{certificates, unsealed};
use crate::server_facts::ServerFacts;

/// Name of the store in the table of stores.
pub(super) const NAME: &str = "mongodb";
/// The least cache that mongod takes, in bytes.
pub(crate) const CACHE_BYTES_MIN: u64 = 256 << 20;

/// Options that the replica sets of a comparison have in common.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// The server; without it as [`MONGOD_PROGRAM`](sealstone_servers::MONGOD_PROGRAM) is found.
    pub program: Option<PathBuf>,
    /// Members of each set, 1 to 7.
    pub members: usize,
    /// Settings with which the servers of a sealed variant seal; cipher and backend in them are
    /// replaced by the variant's. Without them there is no sealed variant.
    pub seal: Option<Sealing>,
    /// Options for requests to the store; address, data directories and files for TLS in them are
    /// replaced by the set's.
    pub client: MongoDbOptions,
    /// True if the data directories are kept, so that the servers must end in good order.
    pub keep: bool,
}

/// Starts a replica set for every store that is opened, and ends it with the store.
#[derive(Debug)]
pub struct LabEngine {
    options: LabOptions,
    facts: ServerFacts,
}

impl LabEngine {
    /// Returns an engine that starts its sets according to `options`.
    #[must_use]
    pub fn new(options: LabOptions) -> Self {
        Self { options, facts: ServerFacts::new(NAME) }
    }

    /// Returns the options with which each member of the set of `variant` is started, with TLS if
    /// there is a directory of `certificates`.
    fn member(
        &self,
        variant: &Variant,
        store: &StoreOptions,
        certificates: Option<PathBuf>,
    ) -> Result<MongodOptions, StoreError> {
        let mut engine_config = None;
        if let Some(choice) = variant.own_rest() {
            let Some(seal) = &self.options.seal else {
                return Err(Error::NoSeal { variant: variant.label.clone() }.into());
            };
            let seal = seal.with(&choice);
            engine_config = Some(MongoDbAtRest::engine_config(&seal).map_err(StoreError::engine)?);
        }
        let cache_gb = store.cache_bytes.max(CACHE_BYTES_MIN) as f64 / f64::from(1 << 30);
        let program = self.options.program.clone();
        Ok(MongodOptions {
            program,
            cache_gb,
            certificates,
            engine_config,
            ..MongodOptions::default()
        })
    }
}

impl Engine for LabEngine {
    fn facts(&self) -> EngineFacts {
        let mut facts = self.facts.get();
        facts.settings.insert("members".into(), self.options.members.to_string());
        facts.settings.insert(
            "servers".into(),
            "on this machine, a replica set for each variant, all at once".into(),
        );
        facts
    }

    fn open(
        &self,
        variant: &Variant,
        dir: &Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        let certificates = certificates(variant, dir)?;
        let tls_ca_file = certificates.as_ref().map(|dir| dir.join("ca.pem"));
        let members = vec![self.member(variant, options, certificates)?; self.options.members];
        let mut set = ReplicaSet::start(dir, &members).map_err(StoreError::engine)?;
        let client = MongoDbOptions {
            uri: set.uri(),
            data_dirs: set.data_dirs(),
            tls_ca_file,
            tls_certificate_key_file: None,
            ..durable(&self.options.client, options)?
        };
        let server = MongoDb::connect(&client).map_err(StoreError::engine)?;
        let store = server.open_store(options).map_err(StoreError::engine)?;
        self.facts.learn(|| server.facts());
        if client.tls_ca_file.is_some() {
            self.facts.set_tls(tls(&set, &client)?);
        }
        let pids = set.pids().into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect();
        Ok(OpenStore::records(
            store.with_servers(pids, Box::new(LabServer::new(set, self.options.keep))),
        ))
    }
}

/// Returns `client`, with writes that wait for the journal if the store is to sync them.
fn durable(client: &MongoDbOptions, options: &StoreOptions) -> Result<MongoDbOptions, Error> {
    match (options.sync_writes, client.journal) {
        (true, Some(false)) => Err(Error::NotSynced),
        (true, _) => Ok(MongoDbOptions { journal: Some(true), ..client.clone() }),
        (false, _) => Ok(client.clone()),
    }
}

/// A cluster of servers that others run, for each variant.
#[derive(Debug)]
pub(crate) struct ClusterEngine {
    /// Label of a variant, and how its cluster is reached.
    clusters: Vec<(String, MongoDbOptions)>,
    facts: ServerFacts,
    joins: bool,
    /// True if some variants have TLS and others do not.
    compares_tls: bool,
}

impl ClusterEngine {
    /// Returns an engine on `clusters`: the label of each variant, such as `none` or `aria-256`,
    /// and how its cluster is reached. Only collections that are empty or not there are used, and
    /// they are removed with the store.
    #[must_use]
    pub(crate) fn new(clusters: Vec<(String, MongoDbOptions)>) -> Self {
        Self { clusters, facts: ServerFacts::new(NAME), joins: false, compares_tls: false }
    }

    /// Returns the same for a client that uses what another one loads, and removes: whatever the
    /// collections hold, they are used, and they stay.
    #[must_use]
    pub(crate) fn joining(self) -> Self {
        Self { joins: true, ..self }
    }

    /// Returns the same for a comparison of what TLS costs: a cluster must be reached with TLS if
    /// its variant has it, and without it otherwise.
    #[must_use]
    pub(crate) fn comparing_tls(self) -> Self {
        Self { compares_tls: true, ..self }
    }
}

impl Engine for ClusterEngine {
    fn facts(&self) -> EngineFacts {
        let mut facts = self.facts.get();
        facts
            .settings
            .insert("servers".into(), "the user's own clusters, one for each variant".into());
        facts.settings.insert("cache".into(), "a cache that the servers size".into());
        facts
    }

    fn open(
        &self,
        variant: &Variant,
        _dir: &Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        let label = &variant.label;
        let (_, client) =
            self.clusters.iter().find(|(name, _)| name == label).ok_or_else(|| {
                let names: Vec<_> = self.clusters.iter().map(|(name, _)| name.as_str()).collect();
                Error::NoCluster { variant: label.clone(), named: names.join(", ") }
            })?;
        let (shown, has_tls) = client.way()?;
        if self.compares_tls && has_tls != variant.wire.is_some() {
            return Err(Error::OtherTls { variant: label.clone(), shown, has_tls }.into());
        }
        let server = MongoDb::connect(&durable(client, options)?).map_err(StoreError::engine)?;
        if !self.joins
            && let Some(table) = server.holding(&options.tables).map_err(StoreError::engine)?
        {
            return Err(Error::NotEmpty {
                collection: table.name.clone(),
                shown: server.place().into(),
            }
            .into());
        }
        let store = server.open_store(options).map_err(StoreError::engine)?;
        self.facts.learn(|| server.facts());
        if self.joins {
            return Ok(OpenStore::records(store));
        }
        let tables = options.tables.clone();
        Ok(OpenStore::records(store.with_servers(Vec::new(), Box::new(Loaded { server, tables }))))
    }
}

/// The collections of one store, which are removed with it.
struct Loaded {
    server: MongoDb,
    tables: Vec<Arc<Table>>,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // a server that is gone keeps them, and the next comparison there reports that
        let _ = self.server.remove(&self.tables);
    }
}

/// Returns the details of TLS, after every member of `set` reported that it accepts nothing else.
fn tls(set: &ReplicaSet, client: &MongoDbOptions) -> Result<Option<String>, StoreError> {
    let mut told = None;
    for member in set.members() {
        let server = MongoDb::connect(&MongoDbOptions { uri: member.uri(), ..client.clone() })?;
        told = Some(server.tls()?.ok_or_else(|| unsealed("mongod"))?);
    }
    Ok(told)
}
