//! Engines for comparisons: separate servers for every variant, started on this machine
//! ([`LabEngine`]), or the user's own server ([`UserEngine`]).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sealstone_keys::KeySource;
use sealstone_store::{
    Engine, EngineFacts, OpenStore, ServerFunction, StoreError, StoreOptions, Variant,
};

use super::columns::Layout;
use super::error::Error;
use super::function_key::Keyed;
use super::server::{Link, Server};
use super::statements::Statements;
use super::store::SqlStore;
use crate::lab_tls::{certificates, unsealed};
use crate::lent::Lent;
use crate::server_error::ServerError;
use crate::server_facts::ServerFacts;

/// A server that was started for a store, and what ends it.
pub(crate) type Started<S> = Result<(S, Box<dyn Lent>), StoreError>;

/// Server that an engine requests.
pub(crate) struct Wanted<'a> {
    /// Its directory.
    pub(crate) dir: &'a Path,
    /// The protection of its store.
    #[cfg_attr(not(feature = "mysql"), expect(dead_code, reason = "PostgreSQL loads nothing"))]
    pub(crate) variant: &'a Variant,
    pub(crate) options: &'a StoreOptions,
    /// Directory of its certificates, where it has TLS.
    pub(crate) certificates: Option<PathBuf>,
}

/// Starts a server.
type Start<S> = Box<dyn Fn(Wanted<'_>) -> Started<S> + Send + Sync>;

/// Starts servers for every store that is opened, and ends them with the store.
pub(crate) struct LabEngine<S: Server> {
    start: Start<S>,
    facts: Facts,
    keys: Keys,
}

/// Source from which the functions of a server get their keys; absent if none is used.
type Keys = Option<Arc<dyn KeySource>>;

/// Returns the function that `variant` has values go through, with its key.
fn function<S: Server>(variant: &Variant, keys: &Keys) -> Result<Option<Keyed>, StoreError> {
    let Some(function) = variant.server else { return Ok(None) };
    let row = S::DIALECT.functions.iter().find(|row| row.function == *function);
    let (Some(row), Some(keys)) = (row, keys) else {
        let caller = "the layer server";
        return Err(StoreError::Lacks { caller, ability: "a function of that name" });
    };
    Keyed::new(row, &**keys).map(Some).map_err(StoreError::engine)
}

impl<S: Server> LabEngine<S> {
    /// An engine for stores called `name`, whose servers `start` starts.
    pub(crate) fn new(
        name: &'static str,
        start: impl Fn(Wanted<'_>) -> Started<S> + Send + Sync + 'static,
    ) -> Self {
        Self { start: Box::new(start), facts: Facts::new(name), keys: None }
    }

    /// Returns the same, with functions of the server that get their keys from `keys`.
    #[must_use]
    pub(crate) fn with_keys(self, keys: Keys) -> Self {
        Self { keys, ..self }
    }
}

impl<S: Server> Engine for LabEngine<S> {
    fn facts(&self) -> EngineFacts {
        let mut facts = self.facts.get();
        facts.settings.insert(
            "servers".into(),
            "on this machine, a separate one for each variant, all at once".into(),
        );
        facts
    }

    fn open(
        &self,
        variant: &Variant,
        dir: &Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        let function = function::<S>(variant, &self.keys)?;
        let certificates = certificates(variant, dir)?;
        let has_tls = certificates.is_some();
        let (server, lent) = (self.start)(Wanted { dir, variant, options, certificates })?;
        self.facts.learn(&server, variant);
        if has_tls {
            let mut link = server.link(options.sync_writes)?;
            let unasked = |failure| {
                server.place().failure("ask for the cipher of the connection to", failure)
            };
            let words = server.tls(&mut link).map_err(unasked)?;
            let words = words.ok_or_else(|| unsealed(server.place().server))?;
            self.facts.servers.set_tls(Some(words));
        }
        Ok(OpenStore::records(SqlStore::open_through(&server, options, function, None)?.with(lent)))
    }
}

/// A server that the user runs.
pub(crate) struct UserEngine<S: Server> {
    connect: Box<dyn Fn() -> Result<S, Error> + Send + Sync>,
    facts: Facts,
    /// Set while a store is open on the server, not counting the stores of variants with their own
    /// tables.
    used: Arc<AtomicBool>,
    /// Set when there was a variant with its own tables.
    is_shared: AtomicBool,
    joins: bool,
    keys: Keys,
}

impl<S: Server> UserEngine<S> {
    /// An engine for stores called `name`, on the server that `connect` reaches. Its tables must
    /// not be there, or be empty, and what is loaded is removed with the store. `joins`: for a
    /// client that uses what another one loads, and removes.
    pub(crate) fn new(
        name: &'static str,
        joins: bool,
        connect: impl Fn() -> Result<S, Error> + Send + Sync + 'static,
    ) -> Self {
        Self {
            connect: Box::new(connect),
            facts: Facts::new(name),
            used: Arc::default(),
            is_shared: AtomicBool::default(),
            joins,
            keys: None,
        }
    }

    /// Returns the same, with functions of the server that get their keys from `keys`.
    #[must_use]
    pub(crate) fn with_keys(self, keys: Keys) -> Self {
        Self { keys, ..self }
    }
}

impl<S: Server> Engine for UserEngine<S> {
    fn facts(&self) -> EngineFacts {
        let mut facts = self.facts.get();
        let shared = if self.is_shared.load(Ordering::Relaxed) {
            ", with tables for each variant"
        } else {
            ""
        };
        facts.settings.insert("servers".into(), format!("the user's own{shared}"));
        facts.settings.insert("cache".into(), "a cache that the server sizes".into());
        facts
    }

    fn open(
        &self,
        variant: &Variant,
        _dir: &Path,
        options: &StoreOptions,
    ) -> Result<OpenStore, StoreError> {
        let apart = apart(variant);
        if apart.is_none() && self.used.load(Ordering::Relaxed) {
            return Err(
                ServerError::OneServer { variant: variant.label.clone(), flag: S::FLAG }.into()
            );
        }
        let server = (self.connect)()?;
        let mut link = server.link(options.sync_writes)?;
        let unasked = |failure| server.place().failure("ask for the settings of", failure);
        if options.sync_writes
            && let Some(found) = server.unsynced(&mut link).map_err(unasked)?
        {
            let (server, shown) = (server.place().server, server.place().shown.clone());
            return Err(Error::NotSynced { server, shown, found }.into());
        }
        self.facts.learn(&server, variant);
        let function = function::<S>(variant, &self.keys)?;
        if self.joins {
            return Ok(OpenStore::records(SqlStore::open_through(
                &server, options, function, apart,
            )?));
        }
        let mut was_there = false;
        for table in &options.tables {
            let layout = Layout::new(table).apart(apart);
            let any = Statements::new(&layout, S::DIALECT).any;
            let mut is_empty = true;
            // an unreadable table does not exist; otherwise making it reports why
            let is_there = link.run(&any, &[], &mut |_, _| is_empty = false).is_ok();
            let (server, shown) = (server.place().server, server.place().shown.clone());
            match apart {
                Some(variant) if is_there => {
                    let (table, variant) = (layout.name, variant.to_owned());
                    return Err(Error::TableThere { server, shown, table, variant }.into());
                }
                _ if !is_empty => {
                    return Err(Error::NotEmpty { server, shown, table: layout.name }.into());
                }
                _ => was_there |= is_there,
            }
        }
        // the first one makes the tables, with columns for what the function returns
        let store = SqlStore::open_through(&server, options, function, apart)?;
        let loaded = SqlStore::open_through(&server, options, None, apart)?;
        let used = match apart {
            Some(_) => {
                self.is_shared.store(true, Ordering::Relaxed);
                None
            }
            None => {
                self.used.store(true, Ordering::Relaxed);
                Some(Arc::clone(&self.used))
            }
        };
        Ok(OpenStore::records(store.with(Box::new(Loaded { store: loaded, was_there, used }))))
    }
}

/// Returns the variant whose tables have its name: one whose values are sealed before they reach
/// the server, or go through one of its functions, so that one server can hold several. The
/// baseline has the tables that other programs use.
fn apart(variant: &Variant) -> Option<&str> {
    let of_server = variant.wire.is_some() || variant.rest.is_some();
    let has_own = variant.field.is_some() || variant.server.is_some();
    (has_own && !of_server).then_some(variant.label.as_str())
}

/// The records of one store, which are removed with it, and so are its tables if none was there
/// before.
struct Loaded<S: Server> {
    store: SqlStore<S>,
    was_there: bool,
    used: Option<Arc<AtomicBool>>,
}

impl<S: Server> Lent for Loaded<S> {}

impl<S: Server> Drop for Loaded<S> {
    fn drop(&mut self) {
        // a server that is gone keeps them, and the next comparison there reports that
        let _ = if self.was_there { self.store.remove() } else { self.store.drop_tables() };
        if let Some(used) = &self.used {
            used.store(false, Ordering::Relaxed);
        }
    }
}

/// Facts about the servers, and the functions of theirs that were used so far.
struct Facts {
    servers: ServerFacts,
    functions: Mutex<Vec<&'static ServerFunction>>,
}

impl Facts {
    fn new(name: &'static str) -> Self {
        Self { servers: ServerFacts::new(name), functions: Mutex::default() }
    }

    fn learn<S: Server>(&self, server: &S, variant: &Variant) {
        self.servers.learn(|| server.facts());
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = variant.server.filter(|function| !functions.contains(function)) {
            functions.push(function);
        }
    }

    fn get(&self) -> EngineFacts {
        let mut facts = self.servers.get();
        let functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        facts.settings.extend(
            functions.iter().map(|function| (function.name.to_owned(), function.about.to_owned())),
        );
        facts
    }
}
