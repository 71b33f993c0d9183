#![deny(unsafe_code)]
//! The part of the Python package `sealstone` that is written in Rust: columns of Arrow data sealed
//! and opened, without a copy of each value, and without the interpreter's lock while it computes;
//! and whole files, for Spark's workers.
//!
//! Data comes and goes by the Arrow PyCapsule interface, so pyarrow, pandas, Polars, DuckDB and
//! whatever else has it work, and none of them is needed to build this. Not here: what users call
//! (`python/sealstone`), which turns their tables into columns, and how a column is sealed
//! (`sealstone-arrow`).
//!
//! Columns are capsules of the C data interface (`ffi`), checked as they come in, and long ones are
//! divided among threads. All code that is specific to a library is Python (`_columns.py`) and
//! moves columns, never values. A worker of Spark gets texts (the manifest, the place of the key)
//! and opens the key itself, once for each process. The extension is built for the stable interface
//! of Python 3.10, without any Python on the machine; `dev/e2e/tests/python.rs` runs its tests.
//!
//! Files need not pass through Spark: `sealstone.spark.seal_files` has Spark schedule a task for
//! each file, and the task calls what `sealstone field seal` calls (`sealstone-files`). Spark may
//! run a task twice or kill its worker, so an attempt writes to a directory of its own, and the
//! driver renames the files of the attempts that succeeded, each after its manifest: a manifest and
//! a file of different attempts never meet, which under `aead` would not fit each other. A file is
//! never divided, since only a reader of all that comes before can determine if a line end is
//! within quotes.

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
