//! The tables of this build, by which a study resolves names, and the engine of one of its points.

use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::module::Module;
use sealstone_fields::policy::Policy;
use sealstone_fields::{FieldLayer, Keyed, SealedEngine};
use sealstone_keys::KeySource;
use sealstone_message::SettingName;
use sealstone_store::kind::{Opened, Request, StoreKind};
use sealstone_store::{
    Engine, EngineError, FieldPolicy, SealedColumns, StoreError, Table, Tables, Tunnel,
};

use crate::run_key::run_key;
use crate::table::{store, stores};

/// Tables of this build.
#[derive(Clone, Copy, Debug)]
pub struct Built;

impl Tables for Built {
    fn stores(&self) -> &'static [&'static StoreKind] {
        stores()
    }

    fn store(&self, name: &str) -> Result<&'static StoreKind, EngineError> {
        Ok(store(name)?)
    }

    fn tls(&self) -> Option<Tunnel> {
        #[cfg(any(
            feature = "mongodb",
            feature = "postgres",
            feature = "mysql",
            feature = "redis"
        ))]
        return Some(crate::lab_tls::tunnel());
        #[cfg(not(any(
            feature = "mongodb",
            feature = "postgres",
            feature = "mysql",
            feature = "redis"
        )))]
        None
    }

    fn tunnels(&self, suites: &[String], paths: &[String]) -> Result<Vec<Tunnel>, EngineError> {
        #[cfg(feature = "block")]
        return Ok(crate::block::tunnels(suites, paths)?);
        #[cfg(not(feature = "block"))]
        {
            let _ = (suites, paths);
            Ok(Vec::new())
        }
    }

    fn check_link(&self, name: &str) -> Result<(), EngineError> {
        #[cfg(feature = "block")]
        crate::block::link_called(name)?;
        let _ = name;
        Ok(())
    }

    fn module(&self, name: &str) -> Result<&'static dyn Module, EngineError> {
        Ok(sealstone_modules::load(name)?)
    }

    fn field_policy(&self, file: &Path) -> Result<Arc<dyn FieldPolicy>, EngineError> {
        Ok(Arc::new(PolicyFile(Policy::read(file)?)))
    }
}

/// Policy that was read from a file.
#[derive(Debug)]
struct PolicyFile(Policy);

impl FieldPolicy for PolicyFile {
    fn modes(&self) -> Vec<Option<&'static str>> {
        let mut found = Vec::new();
        for table in &self.0.tables {
            for mode in table.columns.iter().flat_map(|column| column.modes(table.cipher)) {
                let name = (mode != table.cipher.mode).then(|| mode.word());
                if !found.contains(&name) {
                    found.push(name);
                }
            }
        }
        found
    }

    fn seals_everything(&self, tables: &[Arc<Table>]) -> bool {
        FieldLayer::seals_everything(&self.0, tables).unwrap_or(false)
    }

    fn seal(
        &self,
        engine: Box<dyn Engine>,
        keys: Arc<dyn KeySource>,
    ) -> Result<Box<dyn Engine>, EngineError> {
        sealed(engine, Some(self.0.clone()), keys)
    }
}

/// Returns `engine` with the columns of `policy`, or all without one, sealed under `keys`.
fn sealed(
    engine: Box<dyn Engine>,
    policy: Option<Policy>,
    keys: Arc<dyn KeySource>,
) -> Result<Box<dyn Engine>, EngineError> {
    Ok(Box::new(SealedEngine::new(engine, FieldLayer::new(policy, Keyed::current(keys)?))))
}

/// Opens the engine of `kind` for `request`.
///
/// # Errors
/// Servers that cannot be found, a key that cannot be had.
pub fn engine(kind: &StoreKind, request: &Request) -> Result<Opened, StoreError> {
    let Opened { engine, mut notes } = on_volume(kind, request, (kind.engine)(request)?)?;
    let Some(columns) = &request.columns else { return Ok(Opened { engine, notes }) };
    if matches!(columns, SealedColumns::All) {
        let policy = SettingName("fields POLICY");
        notes.push(format!("all fields are sealed, as aead; {policy} names some, and how"));
    }
    let source = match &request.key {
        Some(key) => key.source.clone(),
        None => {
            let (source, note) = run_key(request)?;
            if let Some(note) = note.filter(|note| !notes.contains(note)) {
                notes.push(note);
            }
            source
        }
    };
    let engine = match columns {
        SealedColumns::All => sealed(engine, None, source),
        SealedColumns::Named(policy) => policy.seal(engine, source),
    };
    Ok(Opened { engine: engine.map_err(StoreError::engine)?, notes })
}

/// Returns the engine with the volumes of `request`.
#[cfg(feature = "volume")]
fn on_volume(kind: &StoreKind, request: &Request, opened: Opened) -> Result<Opened, StoreError> {
    if !request.on_volume {
        return Ok(opened);
    }
    let Opened { engine, mut notes } = opened;
    let (engine, note) = crate::volume::VolumeEngine::new(kind, engine, request)?;
    notes.extend(note.filter(|note| !notes.contains(note)));
    Ok(Opened { engine: Box::new(engine), notes })
}

/// Returns the engine: without volumes in this build no variant has one.
#[cfg(not(feature = "volume"))]
fn on_volume(_: &StoreKind, _: &Request, opened: Opened) -> Result<Opened, StoreError> {
    Ok(opened)
}
