//! The tables of this build, by which a study resolves names, and the engine of one of its points.

use std::path::Path;
use std::sync::Arc;

use sealstone_cipher::module::Module;
use sealstone_fields::policy::Policy;
use sealstone_fields::{FieldLayer, Keyed, SealedEngine};
use sealstone_message::SettingName;
use sealstone_store::kind::{Opened, Request, StoreKind};
use sealstone_store::{EngineError, FieldPolicy, StoreError, Table, Tables, Tunnel};

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

    fn field_policy(&self, file: &Path) -> Result<FieldPolicy, EngineError> {
        let policy = Policy::read(file)?;
        let mut found: Vec<Option<&'static str>> = Vec::new();
        for table in &policy.tables {
            for mode in table.columns.iter().flat_map(|column| column.modes(table.cipher)) {
                let name = (mode != table.cipher.mode).then(|| mode.word());
                if !found.contains(&name) {
                    found.push(name);
                }
            }
        }
        let seals_everything = Box::new(move |tables: &[Arc<Table>]| {
            FieldLayer::seals_everything(&policy, tables).unwrap_or(false)
        });
        Ok(FieldPolicy { modes: found, seals_everything })
    }
}

/// Opens the engine of `kind` for `request`.
///
/// - `fields`: set if columns are sealed in front of its stores, by the policy in the file or,
///   without one, all of them
///
/// # Errors
/// Servers that cannot be found, a key or a policy that cannot be had.
pub fn engine(
    kind: &StoreKind,
    request: &Request,
    fields: Option<Option<&Path>>,
) -> Result<Opened, StoreError> {
    let Opened { engine, mut notes } = on_volume(kind, request, (kind.engine)(request)?)?;
    let Some(policy) = fields else { return Ok(Opened { engine, notes }) };
    let policy = policy.map(Policy::read).transpose().map_err(StoreError::engine)?;
    if policy.is_none() {
        let policy = SettingName("fields POLICY");
        notes.push(format!("all fields are sealed, as aead; {policy} names some, and how"));
    }
    let source = match &request.key {
        Some(key) => key.source.clone(),
        None => {
            let (source, note) = run_key(request.keep.as_deref())?;
            if let Some(note) = note.filter(|note| !notes.contains(note)) {
                notes.push(note);
            }
            source
        }
    };
    let keyed = Keyed::current(source).map_err(StoreError::engine)?;
    Ok(Opened {
        engine: Box::new(SealedEngine::new(engine, FieldLayer::new(policy, keyed))),
        notes,
    })
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
