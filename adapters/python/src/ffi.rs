//! Arrow data from and to other libraries in this process: the structures of the C data interface, in Python's
//! capsules. Not here: what is done with the data.
//!
//! Whoever makes a capsule must be trusted to describe memory that it owns: the interface has no lengths of buffers.
//! Everything else that is wrong with what comes in is an error: a capsule of another kind, one that was used up,
//! offsets that go back, text that is not UTF-8.

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, ArrayReader, ArrayRef, make_array};
use arrow_schema::{ArrowError, Field, FieldRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyTuple};

use crate::error::exception;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// What a stream answers where it cannot say what it has (EINVAL).
const INVALID: c_int = 22;

/// Arrays of one type, as another library gave them.
#[derive(Debug)]
pub(crate) struct Imported {
    pub(crate) field: FieldRef,
    pub(crate) arrays: Vec<ArrayRef>,
}

/// The arrays of `object`, which has `__arrow_c_stream__` or `__arrow_c_array__`.
pub(crate) fn import(object: &Bound<'_, PyAny>) -> PyResult<Imported> {
    let imported = if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        let stream: NonNull<FFI_ArrowArrayStream> = content(&capsule, STREAM)?;
        // SAFETY: a capsule of this name holds a valid structure until it is destroyed, which `capsule` prevents. It is
        // moved out, and what is left in the capsule is marked as released.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
        guarded(|| read_stream(stream))?
    } else if object.hasattr("__arrow_c_array__")? {
        let pair = object.call_method0("__arrow_c_array__")?;
        let (schema_capsule, array_capsule): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.cast::<PyTuple>()?.extract()?;
        let schema: NonNull<FFI_ArrowSchema> = content(&schema_capsule, SCHEMA)?;
        let array: NonNull<FFI_ArrowArray> = content(&array_capsule, ARRAY)?;
        // SAFETY: as for a stream, twice.
        let (schema, array) =
            unsafe { (FFI_ArrowSchema::from_raw(schema.as_ptr()), FFI_ArrowArray::from_raw(array.as_ptr())) };
        guarded(|| read_array(array, &schema))?
    } else {
        let kind = object.get_type().name()?;
        return Err(exception(format!(
            "no Arrow data: {kind} has neither __arrow_c_stream__ nor __arrow_c_array__\n\
             give an array or a column of pyarrow, pandas, Polars or DuckDB"
        )));
    };
    for array in &imported.arrays {
        array.to_data().validate_full().map_err(malformed)?;
    }
    Ok(imported)
}

/// What `capsule` points to, if it is a capsule called `name`.
fn content<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<T>> {
    let found = || exception(format!("no Arrow data: not a capsule called {}", name.to_string_lossy()));
    let pointer = capsule.cast::<PyCapsule>().map_err(|_| found())?.pointer_checked(Some(name));
    let pointer: NonNull<T> = pointer.map_err(|_| found())?.cast();
    if !pointer.is_aligned() {
        return Err(found());
    }
    Ok(pointer)
}

/// What `read` returns; its panics, with which the library for Arrow answers some malformed structures, as errors.
fn guarded(read: impl FnOnce() -> Result<Imported, ArrowError>) -> PyResult<Imported> {
    let outcome = catch_unwind(AssertUnwindSafe(read));
    outcome.map_err(|_| malformed("a structure that makes no sense"))?.map_err(malformed)
}

fn malformed(found: impl std::fmt::Display) -> PyErr {
    exception(format!("malformed Arrow data: {found}\nthis is an error of the library that made it"))
}

fn read_stream(stream: FFI_ArrowArrayStream) -> Result<Imported, ArrowError> {
    let mut reader = ArrayStreamReader::try_new(stream)?;
    let arrays = reader.by_ref().collect::<Result<_, _>>()?;
    Ok(Imported { field: reader.field().clone(), arrays })
}

fn read_array(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> Result<Imported, ArrowError> {
    if array.is_released() {
        return Err(ArrowError::CDataInterface("it was used up already".into()));
    }
    let field = Arc::new(Field::try_from(schema)?);
    // SAFETY: both were moved out of capsules whose names say that they follow the interface.
    let data = unsafe { from_ffi(array, schema) }?;
    Ok(Imported { field, arrays: vec![make_array(data)] })
}

/// A capsule with the type of `field`.
pub(crate) fn schema_capsule<'py>(py: Python<'py>, field: &Field) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(field).map_err(exception)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// A capsule with `array`.
pub(crate) fn array_capsule<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyCapsule>> {
    let (array, _) = to_ffi(&array.to_data()).map_err(exception)?;
    PyCapsule::new_with_value(py, array, ARRAY)
}

/// A capsule with a stream of `arrays`, which are of the type of `field`.
pub(crate) fn stream_capsule(py: Python<'_>, field: FieldRef, arrays: Vec<ArrayRef>) -> PyResult<Bound<'_, PyCapsule>> {
    let outgoing = Box::new(Outgoing { field, arrays: arrays.into_iter() });
    // SAFETY: each function may be called with a pointer to this structure and does what the interface says;
    // `private_data` has all that they need, and is freed by `release` alone.
    let stream = unsafe {
        FFI_ArrowArrayStream::new_unchecked(
            Some(get_schema),
            Some(get_next),
            Some(get_last_error),
            Some(release),
            Box::into_raw(outgoing).cast(),
        )
    };
    PyCapsule::new_with_value(py, stream, STREAM)
}

/// What a stream of ours has still to give.
struct Outgoing {
    field: FieldRef,
    arrays: std::vec::IntoIter<ArrayRef>,
}

/// What belongs to `stream`.
///
/// # Safety
/// `stream` points to a stream that [`stream_capsule`] made and nobody has released, and nobody else uses it meanwhile.
unsafe fn outgoing<'a>(stream: *mut FFI_ArrowArrayStream) -> &'a mut Outgoing {
    // SAFETY: the pointer comes from `Box::into_raw` of an `Outgoing`, which `release` has not yet freed.
    unsafe { &mut *(*stream).private_data().cast::<Outgoing>() }
}

unsafe extern "C" fn get_schema(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowSchema) -> c_int {
    // SAFETY: who calls this follows the interface: an unreleased stream, one call at a time.
    let outgoing = unsafe { outgoing(stream) };
    match FFI_ArrowSchema::try_from(outgoing.field.as_ref()) {
        Ok(schema) => {
            // SAFETY: `out` is the caller's, valid for a write, and holds nothing that would have to be dropped.
            unsafe { ptr::write(out, schema) };
            0
        }
        Err(_) => INVALID,
    }
}

unsafe extern "C" fn get_next(stream: *mut FFI_ArrowArrayStream, out: *mut FFI_ArrowArray) -> c_int {
    // SAFETY: as in `get_schema`.
    let outgoing = unsafe { outgoing(stream) };
    let array = match outgoing.arrays.next().map(|array| to_ffi(&array.to_data())) {
        // a released array is the end
        None => FFI_ArrowArray::empty(),
        Some(Ok((array, _))) => array,
        Some(Err(_)) => return INVALID,
    };
    // SAFETY: as in `get_schema`.
    unsafe { ptr::write(out, array) };
    0
}

unsafe extern "C" fn get_last_error(_: *mut FFI_ArrowArrayStream) -> *const c_char {
    c"the type has no description in the C data interface".as_ptr()
}

unsafe extern "C" fn release(stream: *mut FFI_ArrowArrayStream) {
    // SAFETY: called once for a stream, since it marks it as released; `private_data` comes from `Box::into_raw`.
    unsafe {
        drop(Box::from_raw((*stream).private_data().cast::<Outgoing>()));
        (*stream).set_release(None);
    }
}
