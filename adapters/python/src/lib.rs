#![deny(unsafe_code)]
//! The part of the Python package `sealstone` that is written in Rust: columns of Arrow data sealed and opened, without
//! a copy of each value, and without the interpreter's lock while it computes; and whole files, for Spark's workers.
//!
//! Data comes and goes by the Arrow PyCapsule interface, so pyarrow, pandas, Polars, DuckDB and whatever else has it
//! work, and none of them is needed to build this. Not here: what users call (`python/sealstone`), which turns their
//! tables into columns, and how a column is sealed (`sealstone-arrow`).

mod chunks;
mod error;
#[allow(unsafe_code)]
mod ffi;
mod files;
mod parallel;
mod policy;
mod table;

use pyo3::prelude::*;

/// Adds to `module` everything that `sealstone` imports.
#[pymodule(name = "_sealstone")]
fn sealstone(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<chunks::Chunks>()?;
    module.add_class::<chunks::Chunk>()?;
    module.add_class::<files::FileCipher>()?;
    module.add_class::<policy::Policy>()?;
    module.add_class::<table::TableCipher>()?;
    module.add_function(wrap_pyfunction!(files::check_layout, module)?)?;
    module.add_function(wrap_pyfunction!(table::manifest_columns, module)?)
}
