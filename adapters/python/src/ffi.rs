//! Arrow data from and to other libraries in this process: the structures of the C data interface,
//! in Python's capsules.
//!
//! The maker of a capsule must be trusted to describe memory that it owns: the interface has no
//! lengths of buffers. Every other fault of the input is an error: a capsule of another kind, one
//! that was used up, impossible numbers of values and buffers, offsets that go back, text that is
//! not UTF-8.

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::{DataType, Field, FieldRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyTuple};

use crate::error::exception;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// Error code that a stream returns if it cannot describe its content (EINVAL).
const INVALID: c_int = 22;
/// More values than any memory has, few enough that no size of them overflows.
const VALUES_MAX: usize = 1 << 48;

/// Arrays of one type, as another library gave them.
#[derive(Debug)]
pub(crate) struct Imported {
    pub(crate) field: FieldRef,
    pub(crate) arrays: Vec<ArrayRef>,
}

/// Returns the arrays of `object`, which has `__arrow_c_stream__` or `__arrow_c_array__`: texts,
/// dictionaries of texts, integers, or nulls alone.
///
/// - `refusal`: the words for arrays of another type, which are not looked at
pub(crate) fn import(
    object: &Bound<'_, PyAny>,
    refusal: impl Fn(DataType) -> String,
) -> PyResult<Imported> {
    let outcome = if object.hasattr("__arrow_c_stream__")? {
        let capsule = object.call_method0("__arrow_c_stream__")?;
        let stream: NonNull<FFI_ArrowArrayStream> = content(&capsule, STREAM)?;
        // SAFETY: a capsule of this name holds a valid structure until it is destroyed, which
        // `capsule` prevents. It is moved out, and the rest in the capsule is marked as released.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
        catch_unwind(AssertUnwindSafe(|| read_stream(stream)))
    } else if object.hasattr("__arrow_c_array__")? {
        let pair = object.call_method0("__arrow_c_array__")?;
        let (schema_capsule, array_capsule): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            pair.cast::<PyTuple>()?.extract()?;
        let schema: NonNull<FFI_ArrowSchema> = content(&schema_capsule, SCHEMA)?;
        let array: NonNull<FFI_ArrowArray> = content(&array_capsule, ARRAY)?;
        // SAFETY: as for a stream, twice.
        let (schema, array) = unsafe {
            (FFI_ArrowSchema::from_raw(schema.as_ptr()), FFI_ArrowArray::from_raw(array.as_ptr()))
        };
        catch_unwind(AssertUnwindSafe(|| {
            let field = read_field(&schema)?;
            Ok(Imported { arrays: vec![read_array(array, &schema, &field)?], field })
        }))
    } else {
        let kind = object.get_type().name()?;
        return Err(exception(format!(
            "no Arrow data: {kind} has neither __arrow_c_stream__ nor __arrow_c_array__\n\
             give an array or a column of pyarrow, pandas, Polars or DuckDB"
        )));
    };
    // the library for Arrow panics at some structures
    let outcome =
        outcome.unwrap_or_else(|_| Err(Flaw::Malformed("a structure that makes no sense".into())));
    outcome.map_err(|flaw| match flaw {
        Flaw::Type(kind) => exception(refusal(kind)),
        Flaw::Malformed(found) => exception(format!(
            "malformed Arrow data: {found}\nthis is an error of the library that made it"
        )),
    })
}

/// Returns the pointer that `capsule` holds, if it is a capsule called `name`.
fn content<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<T>> {
    let found =
        || exception(format!("no Arrow data: not a capsule called {}", name.to_string_lossy()));
    let pointer = capsule.cast::<PyCapsule>().map_err(|_| found())?.pointer_checked(Some(name));
    let pointer: NonNull<T> = pointer.map_err(|_| found())?.cast();
    if !pointer.is_aligned() {
        return Err(found());
    }
    Ok(pointer)
}

/// Defect of data that came in.
enum Flaw {
    /// They are of a type that nobody here reads.
    Type(DataType),
    /// They cannot be what they claim to be.
    Malformed(String),
}

fn malformed(found: impl ToString) -> Flaw {
    Flaw::Malformed(found.to_string())
}

/// Returns all arrays of `stream`.
fn read_stream(mut stream: FFI_ArrowArrayStream) -> Result<Imported, Flaw> {
    let (Some(_), Some(get_schema), Some(get_next)) =
        (stream.release(), stream.get_schema(), stream.get_next())
    else {
        return Err(malformed("a stream that was used up already"));
    };
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream's own function, on the stream, which is not released; `schema` is ours and
    // empty.
    let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
    if code != 0 {
        return Err(failure(&mut stream, code));
    }
    let field = read_field(&schema)?;
    let mut arrays = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        let code = unsafe { get_next(&raw mut stream, &raw mut array) };
        if code != 0 {
            return Err(failure(&mut stream, code));
        }
        // a released array is the end
        if array.is_released() {
            return Ok(Imported { field, arrays });
        }
        arrays.push(read_array(array, &schema, &field)?);
    }
}

/// Returns the error that `stream` reports for a call that returned `code`, an error.
fn failure(stream: &mut FFI_ArrowArrayStream, code: c_int) -> Flaw {
    let words = stream.get_last_error().and_then(|get_last_error| {
        // SAFETY: the stream's own function, on the stream, right after a call that failed.
        let words = unsafe { get_last_error(stream) };
        // SAFETY: the text is the stream's and ends with a zero; it is copied before the next call.
        (!words.is_null()).then(|| unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned())
    });
    Flaw::Malformed(words.unwrap_or_else(|| format!("the stream failed with code {code}")))
}

/// Returns the type that `schema` describes, if anybody here reads it.
fn read_field(schema: &FFI_ArrowSchema) -> Result<FieldRef, Flaw> {
    let field = Field::try_from(schema).map_err(malformed)?;
    let kind = field.data_type();
    if buffers_of(kind).is_none() {
        return Err(Flaw::Type(kind.clone()));
    }
    Ok(Arc::new(field))
}

/// Returns the least and the greatest number of buffers that an array of the type `kind` has; none
/// for types that are not read here.
fn buffers_of(kind: &DataType) -> Option<(usize, usize)> {
    match kind {
        DataType::Null => Some((0, 0)),
        DataType::Utf8 | DataType::LargeUtf8 => Some((3, 3)),
        // nulls, views, any number of buffers of text, the lengths of these
        DataType::Utf8View => Some((3, usize::from(u16::MAX))),
        kind if kind.is_integer() => Some((2, 2)),
        // the numbers of the entries; the entries are a separate array
        DataType::Dictionary(_, entries) => match **entries {
            DataType::Null | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Some((2, 2))
            }
            _ => None,
        },
        _ => None,
    }
}

fn read_array(
    array: FFI_ArrowArray,
    schema: &FFI_ArrowSchema,
    field: &Field,
) -> Result<ArrayRef, Flaw> {
    check_numbers(&array, field.data_type())?;
    // SAFETY: the array was moved out of a capsule or a stream that claims to follow the interface,
    // and its numbers are possible.
    let data = unsafe { from_ffi(array, schema) }.map_err(malformed)?;
    data.validate_full().map_err(malformed)?;
    Ok(make_array(data))
}

/// Checks that the numbers in `array`, an array of the type `kind`, and in its dictionary, are
/// possible.
fn check_numbers(array: &FFI_ArrowArray, kind: &DataType) -> Result<(), Flaw> {
    if array.is_released() {
        return Err(malformed("an array that was used up already"));
    }
    let values = array.len().checked_add(array.offset()).filter(|values| *values <= VALUES_MAX);
    if values.is_none() {
        return Err(malformed("an impossible number of values"));
    }
    let (least, most) = buffers_of(kind).unwrap_or_default();
    if !(least..=most).contains(&array.num_buffers()) {
        return Err(malformed(format!(
            "{} buffers in an array of type {kind}",
            array.num_buffers()
        )));
    }
    match (kind, array.dictionary()) {
        (DataType::Dictionary(_, entries), Some(dictionary)) => check_numbers(dictionary, entries),
        (DataType::Dictionary(..), None) => {
            Err(malformed("no dictionary in an array that needs one"))
        }
        _ => Ok(()),
    }
}

/// Returns a capsule with the type of `field`.
pub(crate) fn schema_capsule<'py>(
    py: Python<'py>,
    field: &Field,
) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(field).map_err(exception)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

/// Returns a capsule with `array`.
pub(crate) fn array_capsule<'py>(
    py: Python<'py>,
    array: &ArrayRef,
) -> PyResult<Bound<'py, PyCapsule>> {
    let (array, _) = to_ffi(&array.to_data()).map_err(exception)?;
    PyCapsule::new_with_value(py, array, ARRAY)
}

/// Returns a capsule with a stream of `arrays`, which are of the type of `field`.
pub(crate) fn stream_capsule(
    py: Python<'_>,
    field: FieldRef,
    arrays: Vec<ArrayRef>,
) -> PyResult<Bound<'_, PyCapsule>> {
    let outgoing = Box::new(Outgoing { field, arrays: arrays.into_iter() });
    // SAFETY: each function may be called with a pointer to this structure and follows the
    // interface; `private_data` has everything they need, and is freed by `release` alone.
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

/// Remaining content of a stream that we export.
struct Outgoing {
    field: FieldRef,
    arrays: std::vec::IntoIter<ArrayRef>,
}

/// Returns the data that belongs to `stream`.
///
/// # Safety
/// `stream` points to a stream that [`stream_capsule`] made and nobody has released, and nobody
/// else uses it at the same time.
unsafe fn outgoing<'a>(stream: *mut FFI_ArrowArrayStream) -> &'a mut Outgoing {
    // SAFETY: the pointer comes from `Box::into_raw` of an `Outgoing`, which `release` has not yet
    // freed.
    unsafe { &mut *(*stream).private_data().cast::<Outgoing>() }
}

unsafe extern "C" fn get_schema(
    stream: *mut FFI_ArrowArrayStream,
    out: *mut FFI_ArrowSchema,
) -> c_int {
    // SAFETY: who calls this follows the interface: an unreleased stream, one call at a time.
    let outgoing = unsafe { outgoing(stream) };
    match FFI_ArrowSchema::try_from(outgoing.field.as_ref()) {
        Ok(schema) => {
            // SAFETY: `out` is the caller's, valid for a write, and holds nothing that would have
            // to be dropped.
            unsafe { ptr::write(out, schema) };
            0
        }
        Err(_) => INVALID,
    }
}

unsafe extern "C" fn get_next(
    stream: *mut FFI_ArrowArrayStream,
    out: *mut FFI_ArrowArray,
) -> c_int {
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
    // SAFETY: called once for a stream, since it marks it as released; `private_data` comes from
    // `Box::into_raw`.
    unsafe {
        drop(Box::from_raw((*stream).private_data().cast::<Outgoing>()));
        (*stream).set_release(None);
    }
}
