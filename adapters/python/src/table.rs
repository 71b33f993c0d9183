//! A table with its key, which seals and opens its columns.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, FieldRef};
use pyo3::prelude::*;
use sealstone_arrow::{ArrayError, Crypted, index_array, open_array, plain_type, seal_array};
use sealstone_cipher::{Backend, DEFAULT_CIPHER};
use sealstone_fields::policy::{Column, ColumnOptions, PolicyError, Table};
use sealstone_fields::{ColumnCipher, Keyed, Manifest};
use sealstone_keys::{KeyError, KeyRef, KeySource, Passphrase, source};

use crate::chunks::Chunks;
use crate::error::exception;
use crate::ffi::{Imported, import};
use crate::parallel::run;
use crate::policy::Policy;

/// Limit on the number of misfit values that are named; all are counted.
const NAMED_MAX: usize = 100;

/// A column as Python sees it: name, column that names its rows, name of its index column.
type Described = (String, Option<String>, Option<String>);

/// Chunks after the work, how many values do not fit, and the first of them with the reasons.
type Crypt = (Chunks, usize, Vec<(usize, String)>);

/// Returns the columns that the manifest `text` names, which is not checked: that takes the key.
#[pyfunction]
pub(crate) fn manifest_columns(text: &str) -> PyResult<(String, Vec<Described>)> {
    let manifest = parse(text)?;
    Ok((manifest.table.name.clone(), described(&manifest.table)))
}

/// Seals and opens the columns of one table under one version of a key.
#[pyclass(frozen, module = "sealstone._sealstone")]
pub(crate) struct TableCipher {
    table: Table,
    key: KeyRef,
    manifest: String,
    columns: Vec<ColumnCipher>,
    /// The process that the keys are in: they are gone in a forked one.
    process: u32,
}

#[pymethods]
impl TableCipher {
    /// For sealing under the newest version of the key that the policy names, or of ``key``.
    #[staticmethod]
    #[pyo3(signature = (policy, table=None, key=None, passphrase_file=None))]
    fn of_policy(
        py: Python<'_>,
        policy: &Policy,
        table: Option<&str>,
        key: Option<String>,
        passphrase_file: Option<PathBuf>,
    ) -> PyResult<Self> {
        let table = policy.find(table)?.clone();
        let no_key = "no key: name one with key=…, or in the policy\nmake one with: sealstone keys \
                      new NAME.key";
        let key = key.or_else(|| table.key.clone()).ok_or_else(|| exception(no_key))?;
        py.detach(|| Self::sealing(table, keys(&key, passphrase_file.as_deref())?))
    }

    /// For one column, ``NAME=METHOD``, of the table ``table``.
    #[staticmethod]
    #[pyo3(signature = (spec, table, key, *, passphrase_file=None, cipher=None, tweak="column",
        index=None, keep_empty=false, small_domain=false))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn of_column(
        py: Python<'_>,
        spec: &str,
        table: &str,
        key: &str,
        passphrase_file: Option<PathBuf>,
        cipher: Option<&str>,
        tweak: &str,
        index: Option<u32>,
        keep_empty: bool,
        small_domain: bool,
    ) -> PyResult<Self> {
        let name = || spec.split('=').next().unwrap_or_default().to_owned();
        let tweak = tweak.parse().map_err(|unknown| {
            exception(PolicyError::Tweak { column: name(), unknown: Box::new(unknown) })
        })?;
        let options = ColumnOptions {
            tweak,
            index: index.map(|bits| (None, Some(bits))),
            keeps_empty: keep_empty,
            small_domain,
        };
        let column = Column::parse(spec, &options).map_err(exception)?;
        py.detach(|| {
            let keys = keys(key, passphrase_file.as_deref())?;
            let named = cipher.map(sealstone_cipher::cipher).transpose().map_err(exception)?;
            let cipher = named.or_else(|| keys.cipher()).unwrap_or(DEFAULT_CIPHER);
            Self::sealing(Table::new(table, cipher, vec![column]).map_err(exception)?, keys)
        })
    }

    /// For what was sealed as
    /// ``manifest`` says, and for sealing more of it in the same way; ``key`` has the version of
    /// the key that the manifest names.
    #[staticmethod]
    #[pyo3(signature = (manifest, key, passphrase_file=None))]
    fn of_manifest(
        py: Python<'_>,
        manifest: &str,
        key: &str,
        passphrase_file: Option<PathBuf>,
    ) -> PyResult<Self> {
        let parsed = parse(manifest)?;
        py.detach(|| {
            let keyed = Keyed::of(keys(key, passphrase_file.as_deref())?, parsed.key.clone())
                .map_err(exception)?;
            parsed.check(manifest, &keyed).map_err(exception)?;
            Self::build(parsed.table, &keyed, manifest.to_owned())
        })
    }

    /// Returns the name of the table.
    #[getter]
    fn table(&self) -> &str {
        &self.table.name
    }

    /// Returns the name of the cipher.
    #[getter]
    fn cipher(&self) -> &'static str {
        self.table.cipher.name
    }

    /// Returns what a user of the cipher must know; None if there is nothing.
    #[getter]
    fn caveat(&self) -> Option<&'static str> {
        self.table.cipher.caveat
    }

    /// Returns the id of the key.
    #[getter]
    fn key_id(&self) -> &str {
        &self.key.id
    }

    /// Returns the version of the key.
    #[getter]
    fn key_version(&self) -> u32 {
        self.key.version
    }

    /// Returns what is needed, besides the key, to open again what is sealed; no secret.
    #[getter]
    fn manifest(&self) -> &str {
        &self.manifest
    }

    /// Each column: its name, the column that names its rows or None, the name of its index column
    /// or None.
    #[getter]
    fn columns(&self) -> Vec<Described> {
        described(&self.table)
    }

    /// Seals ``values``, the column with the number ``column``.
    #[pyo3(signature = (column, values, rows=None, threads=None))]
    fn seal(
        &self,
        py: Python<'_>,
        column: usize,
        values: &Bound<'_, PyAny>,
        rows: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Crypt> {
        self.crypt(py, column, values, rows, threads, true)
    }

    /// Opens ``values``, the column with the number ``column``.
    #[pyo3(signature = (column, values, rows=None, threads=None))]
    fn open(
        &self,
        py: Python<'_>,
        column: usize,
        values: &Bound<'_, PyAny>,
        rows: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Crypt> {
        self.crypt(py, column, values, rows, threads, false)
    }

    /// Returns the index values of ``values``, the column with the number ``column`` in the clear.
    #[pyo3(signature = (column, values, threads=None))]
    fn index(
        &self,
        py: Python<'_>,
        column: usize,
        values: &Bound<'_, PyAny>,
        threads: Option<usize>,
    ) -> PyResult<Chunks> {
        let cipher = self.column(column)?;
        let Imported { field, arrays } = import(values, |kind| self.refusal(column, kind))?;
        let work = |part: &ArrayRef, _: Option<&ArrayRef>| {
            let values = index_array(cipher, part).map_err(|error| error.to_string())?;
            Ok(Crypted { values, misfits: Vec::new() })
        };
        let done = py.detach(|| run(&arrays, None, of(threads), work)).map_err(exception)?;
        Ok(Chunks { field: made_of(&field), arrays: done.arrays })
    }

    fn __repr__(&self) -> String {
        format!("<sealed table {}: {}, key {}>", self.table.name, self.table.cipher.name, self.key)
    }
}

impl TableCipher {
    /// Under the newest version of the key of `keys`.
    fn sealing(table: Table, keys: Arc<dyn KeySource>) -> PyResult<Self> {
        let keyed = Keyed::current(keys).map_err(exception)?;
        let text = Manifest::without_rows(&table, &keyed).map_err(exception)?;
        Self::build(table, &keyed, text)
    }

    fn build(table: Table, keyed: &Keyed, manifest: String) -> PyResult<Self> {
        let cipher =
            |column| ColumnCipher::new(&table, column, keyed, Backend::auto()).map_err(exception);
        let columns = table.columns.iter().map(cipher).collect::<PyResult<_>>()?;
        Ok(Self { key: keyed.key().clone(), table, manifest, columns, process: std::process::id() })
    }

    fn column(&self, column: usize) -> PyResult<&ColumnCipher> {
        if self.process != std::process::id() {
            return Err(exception(
                "this process was forked from the one that opened the key, and does not have it\n\
                 open the key here: call seal or open in the new process, or start it by spawn",
            ));
        }
        self.columns.get(column).ok_or_else(|| exception(format!("no column number {column}")))
    }

    /// Returns the words for values of the type `kind`.
    fn refusal(&self, column: usize, kind: DataType) -> String {
        format!("column {}: {}", self.table.columns[column].name, ArrayError::Type(kind))
    }

    fn crypt(
        &self,
        py: Python<'_>,
        column: usize,
        values: &Bound<'_, PyAny>,
        rows: Option<&Bound<'_, PyAny>>,
        threads: Option<usize>,
        seals: bool,
    ) -> PyResult<Crypt> {
        let cipher = self.column(column)?;
        let Imported { field, arrays } = import(values, |kind| self.refusal(column, kind))?;
        let wrong_rows = |found| {
            let row = cipher.row().unwrap_or_default().to_owned();
            ArrayError::RowType { column: row, found }.to_string()
        };
        let rows = rows.map(|rows| import(rows, wrong_rows)).transpose()?.map(|rows| rows.arrays);
        let work = |part: &ArrayRef, rows: Option<&ArrayRef>| {
            let crypted =
                if seals { seal_array(cipher, part, rows) } else { open_array(cipher, part, rows) };
            crypted.map_err(|error| error.to_string())
        };
        let done = py.detach(|| run(&arrays, rows.as_deref(), of(threads), work));
        let name = &self.table.columns[column].name;
        let done = done.map_err(|error| exception(format!("column {name}: {error}")))?;
        let count = done.misfits.len();
        let named = done
            .misfits
            .into_iter()
            .take(NAMED_MAX)
            .map(|(number, misfit)| (number, misfit.to_string()));
        Ok((Chunks { field: made_of(&field), arrays: done.arrays }, count, named.collect()))
    }
}

/// Returns the field that is made of a column `field`: it may hold nulls even if `field` may not.
fn made_of(field: &FieldRef) -> FieldRef {
    let plain = plain_type(field.data_type());
    Arc::new(match plain == field.data_type() {
        true => field.as_ref().clone().with_nullable(true),
        // metadata of a dictionary can have its entries, in the clear (Polars keeps those of an
        // enum there)
        false => Field::new(field.name(), plain.clone(), true),
    })
}

/// Returns the number of threads that work: as many as there are processors, unless `threads` sets
/// another number.
fn of(threads: Option<usize>) -> usize {
    threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into))
}

fn described(table: &Table) -> Vec<Described> {
    let of = |column: &Column| {
        let index = column.index.as_ref().map(|index| index.name.clone());
        (column.name.clone(), column.row().map(str::to_owned), index)
    };
    table.columns.iter().map(of).collect()
}

pub(crate) fn parse(manifest: &str) -> PyResult<Manifest> {
    Manifest::parse(manifest, Path::new("(manifest)"))
        .map_err(|error| exception(format!("manifest: {error}")))
}

/// Opens the key source `spec`; a passphrase comes from the file that is named, or that the
/// environment names.
pub(crate) fn keys(spec: &str, passphrase_file: Option<&Path>) -> PyResult<Arc<dyn KeySource>> {
    let named = source::passphrase_file(passphrase_file);
    let passphrase = |key_file: &Path| match &named {
        Some(file) => Passphrase::from_file(file),
        None => Err(KeyError::NoPassphrase { path: key_file.to_owned() }),
    };
    source::open(spec, &passphrase, None).map_err(exception)
}
