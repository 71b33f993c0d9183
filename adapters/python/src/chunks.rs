//! Results, as other libraries take them.

use arrow_array::{Array, ArrayRef};
use arrow_schema::FieldRef;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::exception;
use crate::ffi::{array_capsule, schema_capsule, stream_capsule};

/// A column in one or more chunks, as many and as long as those that it was made of.
#[pyclass(frozen, module = "sealstone._sealstone")]
pub(crate) struct Chunks {
    pub(crate) field: FieldRef,
    pub(crate) arrays: Vec<ArrayRef>,
}

#[pymethods]
impl Chunks {
    /// Returns a capsule with a stream of the chunks; ``requested_schema`` is not taken up.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // a consumer that must have another type casts what it gets
        let _ = requested_schema;
        stream_capsule(py, self.field.clone(), self.arrays.clone())
    }

    /// Returns a capsule with the type.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.field)
    }

    /// Returns the number of values.
    fn __len__(&self) -> usize {
        self.arrays.iter().map(|array| array.len()).sum()
    }

    /// Returns the only chunk.
    fn chunk(&self) -> PyResult<Chunk> {
        match &self.arrays[..] {
            [array] => Ok(Chunk { field: self.field.clone(), array: array.clone() }),
            arrays => Err(exception(format!(
                "{} chunks where one was expected\ntake them as a stream",
                arrays.len()
            ))),
        }
    }
}

/// A column in one piece.
#[pyclass(frozen, module = "sealstone._sealstone")]
pub(crate) struct Chunk {
    field: FieldRef,
    array: ArrayRef,
}

#[pymethods]
impl Chunk {
    /// Two capsules: the type and the array; ``requested_schema`` is not taken up.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        Ok((schema_capsule(py, &self.field)?, array_capsule(py, &self.array)?))
    }

    /// Returns a capsule with the type.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.field)
    }

    /// Returns the number of values.
    fn __len__(&self) -> usize {
        self.array.len()
    }
}
