//! Redis as an engine for comparisons: separate servers for every variant, started on this machine
//! ([`LabEngine`]), or the user's own server ([`UserEngine`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sealstone_servers::{Persistence, RedisServers};
use sealstone_store::{Engine, EngineFacts, OpenStore, StoreError, StoreOptions, Table, Variant};

use super::connection::{Dialect, Redis, RedisOptions};
use super::error::Error;
use super::store::RedisStore;
use crate::lab_server::LabServer;
use crate::lab_tls::{certificates, unsealed};
use crate::lent::Lent;
use crate::server_error::ServerError;
use crate::server_facts::ServerFacts;

/// Settings that the servers of a comparison have in common.
#[derive(Clone, Debug)]
pub(crate) struct LabOptions {
    /// The program; without it as [`REDIS_PROGRAM`](sealstone_servers::REDIS_PROGRAM) is found.
    pub program: Option<PathBuf>,
    /// Servers for each variant: 1 for one alone, 3 or more for a cluster.
    pub nodes: usize,
    /// Settings of the client of the store; the address in them is replaced.
    pub client: RedisOptions,
    /// Part of its data that each keeps on the disk; absent: as the stores need it.
    pub persistence: Option<Persistence>,
    /// True if files are sealed in a variant, so that there must be some.
    pub at_rest: bool,
    /// True if the data of the servers are kept.
    pub keep: bool,
}

impl LabOptions {
    /// Returns what its servers keep on the disk, for a store with `options`.
    fn persistence(&self, options: &StoreOptions) -> Result<Persistence, Error> {
        match self.persistence {
            Some(Persistence::SyncedLog) => Ok(Persistence::SyncedLog),
            Some(_) if options.sync_writes => Err(Error::LogNotSynced),
            Some(persistence) => Ok(persistence),
            None if options.sync_writes => Ok(Persistence::SyncedLog),
            None if self.at_rest => Ok(Persistence::Log),
            None if self.keep => Ok(Persistence::Snapshot),
            None => Ok(Persistence::None),
        }
    }
}

/// Starts servers for every store that is opened, and ends them with the store.
#[derive(Debug)]
pub(crate) struct LabEngine {
    options: LabOptions,
    facts: ServerFacts,
}

impl LabEngine {
    /// Returns an engine that starts its servers according to `options`.
    #[must_use]
    pub(crate) fn new(options: LabOptions) -> Self {
        Self { facts: ServerFacts::new(options.client.dialect.names().0), options }
    }
}

impl Engine for LabEngine {
    fn facts(&self) -> EngineFacts {
        let mut facts = facts(&self.facts, self.options.client.dialect);
        facts.settings.insert("members".into(), self.options.nodes.to_string());
        facts.settings.insert(
            "servers".into(),
            "on this machine, separate ones for each variant, all at once".into(),
        );
        facts
    }

    fn open(
        &self,
        variant: &Variant,
        dir: &Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        let LabOptions { program, nodes, client, keep, .. } = &self.options;
        let persistence = self.options.persistence(options)?;
        let certificates = certificates(variant, dir)?;
        let tls_ca_file = certificates.as_ref().map(|dir| dir.join("ca.pem"));
        let has_tls = certificates.is_some();
        let started = sealstone_servers::RedisOptions {
            program: program.clone(),
            persistence,
            certificates,
            ..sealstone_servers::RedisOptions::default()
        };
        let mut servers = RedisServers::start(dir, *nodes, &started).map_err(StoreError::engine)?;
        let tls_ca_file = tls_ca_file.or_else(|| client.tls_ca_file.clone());
        let reached = RedisOptions { uri: servers.uri(), tls_ca_file, ..client.clone() };
        let server = Redis::connect(&reached)?;
        self.facts.learn(|| server.facts());
        if has_tls {
            self.facts.set_tls(tls(&servers, &reached)?);
        }
        let pids = servers.pids().into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect();
        let own = OwnServers { pids, _servers: LabServer::new(servers, *keep) };
        Ok(OpenStore::records(server.open_store(options).with(Box::new(own))))
    }
}

/// The servers of one store, which have no cache that could be emptied.
struct OwnServers {
    pids: Vec<u32>,
    _servers: LabServer<RedisServers>,
}

impl Lent for OwnServers {
    fn pids(&self) -> Vec<u32> {
        self.pids.clone()
    }
}

/// A server, or a cluster, that the user runs.
#[derive(Debug)]
pub(crate) struct UserEngine {
    client: RedisOptions,
    facts: ServerFacts,
    /// Set while a store is open on the server.
    used: Arc<AtomicBool>,
    joins: bool,
}

impl UserEngine {
    /// Returns an engine on the servers that `client` reaches. They must be empty, and loaded data
    /// is removed with the store.
    #[must_use]
    pub(crate) fn new(client: RedisOptions) -> Self {
        Self {
            facts: ServerFacts::new(client.dialect.names().0),
            client,
            used: Arc::default(),
            joins: false,
        }
    }

    /// Returns the same for a client that uses what another one loads, and removes: whatever the
    /// server holds is used, and stays.
    #[must_use]
    pub(crate) fn joining(self) -> Self {
        Self { joins: true, ..self }
    }
}

impl Engine for UserEngine {
    fn facts(&self) -> EngineFacts {
        let mut facts = facts(&self.facts, self.client.dialect);
        facts.settings.insert("servers".into(), "the user's own".into());
        facts
    }

    fn open(
        &self,
        variant: &Variant,
        _dir: &Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        let dialect = self.client.dialect;
        if self.used.load(Ordering::Relaxed) {
            let flag = dialect.url_setting();
            return Err(ServerError::OneServer { variant: variant.label.clone(), flag }.into());
        }
        let server = Redis::connect(&self.client)?;
        if !self.joins && server.holds_keys()? {
            let shown = server.inner.route.place.shown.clone();
            return Err(Error::NotEmpty { server: dialect.names().1, shown }.into());
        }
        if options.sync_writes {
            match dialect {
                Dialect::Redis => check_synced(&server)?,
                Dialect::Ssdb => return Err(Error::SsdbNotSynced.into()),
            }
        }
        self.facts.learn(|| server.facts());
        if self.joins {
            return Ok(OpenStore::records(server.open_store(options)));
        }
        self.used.store(true, Ordering::Relaxed);
        let (used, tables) = (Arc::clone(&self.used), options.tables.clone());
        let loaded = Loaded { store: server.open_store(options), tables, used };
        Ok(OpenStore::records(server.open_store(options).with(Box::new(loaded))))
    }
}

/// Checks that the server has a write on its disk before it acknowledges it.
fn check_synced(server: &Redis) -> Result<(), Error> {
    let setting = |name: &str| server.setting(name).unwrap_or_else(|| "unknown".into());
    let (log, sync) = (setting("appendonly"), setting("appendfsync"));
    if log == "yes" && sync == "always" {
        return Ok(());
    }
    let found = format!("appendonly is {log}, appendfsync is {sync}");
    Err(Error::NotSynced { shown: server.inner.route.place.shown.clone(), found })
}

/// The records of one store, which are removed with it.
struct Loaded {
    store: RedisStore,
    tables: Vec<Arc<Table>>,
    used: Arc<AtomicBool>,
}

impl Lent for Loaded {}

impl Drop for Loaded {
    fn drop(&mut self) {
        // a server that is gone keeps them, and the next comparison there reports that
        let _ = self.store.remove(&self.tables);
        self.used.store(false, Ordering::Relaxed);
    }
}

/// Returns the description of TLS, after all of `servers` reported that they accept nothing else:
/// they have no command for the cipher of a connection, and accept only one.
fn tls(servers: &RedisServers, reached: &RedisOptions) -> Result<Option<String>, StoreError> {
    let mut told = None;
    for node in servers.nodes() {
        let server = Redis::connect(&RedisOptions { uri: node.uri(), ..reached.clone() })?;
        let setting = |name: &str| server.setting(name).unwrap_or_default();
        let (plain, tls) = (setting("port"), setting("tls-port"));
        let among_nodes =
            ["tls-cluster", "tls-replication"].iter().all(|name| setting(name) == "yes");
        if plain != "0" || matches!(tls.as_str(), "" | "0") || servers.is_cluster() && !among_nodes
        {
            return Err(unsealed(reached.dialect.names().1));
        }
        let others = if servers.is_cluster() { ", from other nodes either" } else { "" };
        let (version, suites) = (setting("tls-protocols"), setting("tls-ciphersuites"));
        told = Some(format!(
            "{version}, {suites}; port {plain}: it takes nothing else{others}; clients by the \
             crate redis"
        ));
    }
    Ok(told)
}

/// Returns the facts of servers of `dialect`, with what holds of all of them.
fn facts(known: &ServerFacts, dialect: Dialect) -> EngineFacts {
    let mut facts = known.get();
    let cache = match dialect {
        Dialect::Redis => "every record in the server's memory",
        Dialect::Ssdb => "a cache that the server sizes",
    };
    facts.settings.insert("cache".into(), cache.into());
    facts
}
