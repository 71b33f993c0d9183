//! Errors as Python sees them: one exception, with the words of the library. Not here: values that
//! do not fit, which are returned, and become an exception in Python.

use std::fmt::Display;

use pyo3::prelude::*;
use pyo3::{create_exception, exceptions::PyException};

create_exception!(
    sealstone,
    Error,
    PyException,
    "Something cannot be sealed or opened. The second line says what to do next."
);

/// Returns `error` as an exception.
pub(crate) fn exception(error: impl Display) -> PyErr {
    Error::new_err(error.to_string())
}
