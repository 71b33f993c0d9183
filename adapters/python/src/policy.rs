//! Policies as Python sees them.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use sealstone_fields::policy::{self, PolicyError, Table};

use crate::error::exception;

/// Policy on which columns of which tables are sealed, how, and under which key.
#[pyclass(frozen, module = "sealstone")]
pub(crate) struct Policy(policy::Policy);

impl Policy {
    /// Returns the table `name`; without a name, the only one.
    pub(crate) fn find(&self, name: Option<&str>) -> PyResult<&Table> {
        self.0.table(name).map_err(|error| match error {
            PolicyError::WhichTable(known) => exception(format!(
                "the policy has several tables: {known}\nsay which: table=\"NAME\""
            )),
            error => exception(error),
        })
    }
}

#[pymethods]
impl Policy {
    /// Reads the policy in a TOML file, such as ``sealstone field seal --policy`` takes it.
    #[staticmethod]
    fn from_file(path: PathBuf) -> PyResult<Self> {
        policy::Policy::read(&path).map(Self).map_err(exception)
    }

    /// Reads a policy from TOML text.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Self> {
        policy::Policy::from_toml(text, Path::new("(text)")).map(Self).map_err(exception)
    }

    /// Returns the names of its tables.
    #[getter]
    fn tables(&self) -> Vec<String> {
        self.0.tables.iter().map(|table| table.name.clone()).collect()
    }

    /// Returns the key source that it names for a table; None if it names none.
    #[pyo3(signature = (table=None))]
    fn key(&self, table: Option<&str>) -> PyResult<Option<String>> {
        Ok(self.find(table)?.key.clone())
    }

    fn __repr__(&self) -> String {
        format!("<sealstone.Policy: tables {}>", self.tables().join(", "))
    }
}
