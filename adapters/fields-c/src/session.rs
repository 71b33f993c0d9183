//! A session: which columns of which tables are sealed, and the keys.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sealstone_cipher::memory::Generation;
use sealstone_fields::policy::{Policy, Table};
use sealstone_fields::{AnyManifest, Keyed, Manifest};
use sealstone_keys::{KeyRef, KeySource, source};

use crate::column::Column;
use crate::failure::{Code, Failure};

/// Place of a manifest in messages.
const MANIFEST: &str = "(manifest)";

/// Description of the columns of tables.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Described<'a> {
    PolicyFile(&'a Path),
    PolicyText(&'a str),
    /// Manifest of a file, or of a table of a database.
    Manifest(&'a str),
}

impl<'a> Described<'a> {
    /// Returns the description of this kind, by its number in the header.
    pub(crate) fn of(kind: i32, text: &'a str) -> Result<Self, Failure> {
        match kind {
            1 => Ok(Self::PolicyFile(Path::new(text))),
            2 => Ok(Self::PolicyText(text)),
            3 => Ok(Self::Manifest(text)),
            other => Err(Failure::argument(format!(
                "{other} is no kind of description\npass SEALSTONE_POLICY_FILE, \
                 SEALSTONE_POLICY_TEXT or SEALSTONE_MANIFEST"
            ))),
        }
    }
}

/// Tables with their columns, and where their keys are. One object serves many threads at once.
pub(crate) struct Session {
    policy: Policy,
    /// The key under which values are sealed, where a manifest names one.
    sealed_under: Option<KeyRef>,
    /// The key source for every table; none where the policy names them.
    key: Option<String>,
    passphrase_file: Option<PathBuf>,
    /// Sources that are open, by their names.
    open: Mutex<BTreeMap<String, Arc<dyn KeySource>>>,
    opened_in: Generation,
}

impl Session {
    /// Opens a session. With a key or a manifest the key is opened at once, so that a wrong one is
    /// an error here; keys that only the policy names are opened with the first column of a table.
    ///
    /// - `key`: a key source as the command line takes it; none for those that the policy names
    /// - `passphrase_file`: a file with the passphrase of a key file that has one
    pub(crate) fn new(
        described: Described<'_>,
        key: Option<&str>,
        passphrase_file: Option<&Path>,
    ) -> Result<Self, Failure> {
        let mut manifest = None;
        let policy = match described {
            Described::PolicyFile(path) => Policy::read(path)?,
            Described::PolicyText(text) => Policy::from_toml(text, Path::new("(text)"))?,
            Described::Manifest(text) => {
                let read = AnyManifest::parse(text, MANIFEST)?;
                let tables = vec![read.table().clone()];
                manifest = Some((read, text));
                Policy { tables }
            }
        };
        let session = Self {
            policy,
            sealed_under: manifest.as_ref().map(|(read, _)| read.key().clone()),
            key: key.map(str::to_owned),
            passphrase_file: passphrase_file.map(Path::to_owned),
            open: Mutex::default(),
            opened_in: Generation::current(),
        };
        if let Some((read, text)) = manifest {
            let keyed = Keyed::of(session.source(read.table())?, read.key().clone())?;
            read.check(text, &keyed)?;
        } else if let Some(key) = key {
            session.source_at(key)?.current()?;
        }
        Ok(session)
    }

    /// Opens a column.
    ///
    /// - `table`: its name; none if there is only one
    pub(crate) fn column(&self, table: Option<&str>, column: &str) -> Result<Column, Failure> {
        self.opened_in.check()?;
        let table = self.policy.table(table)?;
        let source = self.source(table)?;
        let keyed = self.keyed(source.clone())?;
        Column::new(table, column, source, &keyed)
    }

    /// Returns the version of the key that is sealed under: the manifest's, or the newest.
    fn keyed(&self, source: Arc<dyn KeySource>) -> Result<Keyed, Failure> {
        Ok(match &self.sealed_under {
            Some(key) => Keyed::of(source, key.clone())?,
            None => Keyed::current(source)?,
        })
    }

    /// Returns the name of a table's sealed column by its number; none past the last one.
    ///
    /// - `table`: its name; none if there is only one
    pub(crate) fn column_name(
        &self,
        table: Option<&str>,
        number: usize,
    ) -> Result<Option<&str>, Failure> {
        let columns = &self.policy.table(table)?.columns;
        Ok(columns.get(number).map(|column| column.name.as_str()))
    }

    /// Returns a manifest by which what is sealed from now on opens again, wherever it is kept: how
    /// the columns of a table are sealed, and under the newest version of which key.
    ///
    /// - `table`: its name; none if there is only one
    pub(crate) fn manifest(&self, table: Option<&str>) -> Result<String, Failure> {
        self.opened_in.check()?;
        let table = self.policy.table(table)?;
        Ok(Manifest::without_rows(table, &self.keyed(self.source(table)?)?)?)
    }

    fn source(&self, table: &Table) -> Result<Arc<dyn KeySource>, Failure> {
        let named = self.key.as_deref().or(table.key.as_deref());
        let no_key = || {
            Failure::new(
                Code::Key,
                "no key: pass one, or name it in the policy\nmake one with: sealstone keys new \
                 NAME.key",
            )
        };
        self.source_at(named.ok_or_else(no_key)?)
    }

    fn source_at(&self, spec: &str) -> Result<Arc<dyn KeySource>, Failure> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = open.get(spec) {
            return Ok(source.clone());
        }
        let source = source::open_unattended(spec, self.passphrase_file.as_deref(), None)?;
        open.insert(spec.to_owned(), source.clone());
        Ok(source)
    }
}
