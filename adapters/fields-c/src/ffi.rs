//! The functions of `include/sealstone_fields.h`. The only file of this crate with `unsafe`, but
//! for those of Java (`ffi/java.rs`).
//!
//! Rules kept here, on which every `SAFETY` line relies. They are the header's, and the caller
//! keeps them; whatever of them can be checked is checked first.
//! - *Settings.* A text from the caller is null, or ends with a zero byte and lives through the
//!   call.
//! - *Memory.* A pointer from the caller with a length is null, or leads to as many bytes, which
//!   nobody changes during the call. A null pointer is an error unless the length is 0.
//! - *Handles.* A session or column is null, or comes from here and was not freed.
//! - *Results.* A pointer to a result is null, or may be written.
//! - *Panics.* None leaves a function: each becomes an error.

mod java;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::{ptr, slice};

use sealstone_fields::{Texts, Values};

use crate::column::Column;
use crate::failure::{Code, Failure};
use crate::session::{Described, Session};
use crate::utf8_array::{LaidOut, One, lay_out};

/// A column, with the name of the column of its rows as C reads it.
pub(crate) struct Handle {
    column: Column,
    row: Option<CString>,
}

/// The header's `sealstone_values`.
#[repr(C)]
pub(crate) struct CValues {
    offsets: *const i32,
    bytes: *const c_char,
    bytes_length: usize,
    count: usize,
    owner: *mut c_void,
}

impl CValues {
    const EMPTY: Self = Self {
        offsets: ptr::null(),
        bytes: ptr::null(),
        bytes_length: 0,
        count: 0,
        owner: ptr::null_mut(),
    };

    /// Returns `texts` as a result, whose memory the owner leads to.
    fn of(texts: Texts) -> Result<Self, Failure> {
        let (text, offsets) = lay_out(texts)?;
        let owned = Box::new(Owned { text, offsets });
        Ok(Self {
            offsets: owned.offsets.as_ptr(),
            bytes: owned.text.as_ptr().cast(),
            bytes_length: owned.text.len(),
            count: owned.offsets.len() - 1,
            owner: Box::into_raw(owned).cast(),
        })
    }
}

/// Memory of a result.
struct Owned {
    text: String,
    offsets: Vec<i32>,
}

/// Does `work`; returns its code, and puts its text into `error`.
///
/// # Safety
/// `error` as in rule *Results*.
unsafe fn report(error: *mut *mut c_char, work: impl FnOnce() -> Result<(), Failure>) -> c_int {
    // what `work` writes to is the caller's, and written last
    let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Failure::panicked()));
    let (code, reason) = match outcome {
        Ok(()) => (0, None),
        Err(failure) => (failure.code as c_int, Some(failure.text)),
    };
    if !error.is_null() {
        // SAFETY: rule *Results*. The copy ends with a zero byte, and is null where there is no
        // memory.
        unsafe {
            *error = reason.map_or(ptr::null_mut(), |text| libc::strdup(c_text(&text).as_ptr()));
        }
    }
    code
}

/// Returns `text` for C, up to the first zero byte, which is in no message.
fn c_text(text: &str) -> CString {
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

/// Returns the setting `name`; none for null.
///
/// # Safety
/// `text` as in rule *Settings*.
unsafe fn setting<'a>(text: *const c_char, name: &str) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: rule *Settings*.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map(Some).map_err(|_| Failure::argument(format!("{name} is not UTF-8 text")))
}

/// Returns what `pointer` leads to.
///
/// # Safety
/// As in rule *Handles* or *Memory*, for one object.
unsafe fn object<'a, T>(pointer: *const T, name: &str) -> Result<&'a T, Failure> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Err(Failure::argument(format!("{name} is null, or no such pointer")));
    }
    // SAFETY: rule *Handles* or *Memory*; it is not null and aligned.
    Ok(unsafe { &*pointer })
}

/// Returns the `length` elements at `pointer`.
///
/// # Safety
/// As in rule *Memory*.
unsafe fn elements<'a, T>(
    pointer: *const T,
    length: usize,
    name: &str,
) -> Result<&'a [T], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    let bytes = length.checked_mul(size_of::<T>()).filter(|bytes| *bytes <= isize::MAX as usize);
    if pointer.is_null() || !pointer.is_aligned() || bytes.is_none() {
        return Err(Failure::argument(format!("{name} is null, or of an impossible length")));
    }
    // SAFETY: rule *Memory*; it is not null, aligned, and its length is possible.
    Ok(unsafe { slice::from_raw_parts(pointer, length) })
}

/// Returns one text.
///
/// # Safety
/// As in rule *Memory*.
unsafe fn text<'a>(pointer: *const c_char, length: usize, name: &str) -> Result<&'a str, Failure> {
    // SAFETY: rule *Memory*.
    let bytes = unsafe { elements(pointer.cast::<u8>(), length, name) }?;
    std::str::from_utf8(bytes)
        .map_err(|_| Failure::argument(format!("{name} is not UTF-8 text\npass text as UTF-8")))
}

/// Returns many texts.
///
/// # Safety
/// `values` and its pointers as in rule *Memory*.
unsafe fn many<'a>(values: *const CValues, name: &str) -> Result<LaidOut<'a>, Failure> {
    // SAFETY: rule *Memory*, three times.
    unsafe {
        let values = object(values, name)?;
        if values.count == 0 {
            return LaidOut::new(&[], &[]);
        }
        let offsets = elements(values.offsets, values.count.saturating_add(1), name)?;
        LaidOut::new(offsets, elements(values.bytes.cast(), values.bytes_length, name)?)
    }
}

/// Returns the row that one value is bound to; none for null.
///
/// # Safety
/// As in rule *Memory*.
unsafe fn row_of<'a>(row: *const c_char, length: usize) -> Result<Option<One<'a>>, Failure> {
    if row.is_null() && length == 0 {
        return Ok(None);
    }
    // SAFETY: rule *Memory*.
    Ok(Some(One(unsafe { text(row, length, "row") }?)))
}

/// Returns the rows that values are bound to; none for null.
///
/// # Safety
/// As in rule *Memory*.
unsafe fn rows_of<'a>(rows: *const CValues) -> Result<Option<LaidOut<'a>>, Failure> {
    // SAFETY: rule *Memory*.
    (!rows.is_null()).then(|| unsafe { many(rows, "rows") }).transpose()
}

/// Puts what `make` returns into `slot`.
///
/// # Safety
/// `slot` as in rule *Results*.
unsafe fn put<T>(
    slot: *mut T,
    name: &str,
    make: impl FnOnce() -> Result<T, Failure>,
) -> Result<(), Failure> {
    if slot.is_null() || !slot.is_aligned() {
        return Err(Failure::argument(format!("{name}, for the result, is null")));
    }
    let made = make()?;
    // SAFETY: rule *Results*.
    unsafe { slot.write(made) };
    Ok(())
}

/// Room of the caller for one text.
struct Room {
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
}

impl Room {
    /// Puts the only text that `work` makes there.
    ///
    /// # Safety
    /// Both pointers as in rule *Results*, `out` for `capacity` bytes.
    unsafe fn fill(&self, work: impl FnOnce() -> Result<Texts, Failure>) -> Result<(), Failure> {
        if self.length.is_null() || (self.out.is_null() && self.capacity > 0) {
            return Err(Failure::argument("out or out_length, for the result, is null"));
        }
        let made = work()?;
        let made = made.get(0);
        // SAFETY: rule *Results*.
        unsafe { *self.length = made.len() };
        if made.len() > self.capacity {
            return Err(Failure::new(
                Code::TooSmall,
                format!(
                    "the result has {} bytes, and there is room for {}\npass a buffer of that size",
                    made.len(),
                    self.capacity
                ),
            ));
        }
        // SAFETY: rule *Results*; the text is no longer than that. It is in memory of ours, so that
        // the caller's input and output may overlap.
        unsafe { ptr::copy_nonoverlapping(made.as_ptr().cast(), self.out, made.len()) };
        Ok(())
    }
}

/// Puts the texts that `work` makes into `out`, or the number of the value at fault into `fault`.
///
/// # Safety
/// All pointers as in rule *Results*.
unsafe fn give_many(
    out: *mut CValues,
    fault: *mut usize,
    error: *mut *mut c_char,
    work: impl FnOnce() -> Result<Texts, Failure>,
) -> c_int {
    let (mut made, mut at) = (CValues::EMPTY, None);
    let give = || {
        if out.is_null() || !out.is_aligned() {
            return Err(Failure::argument("out, for the result, is null"));
        }
        let texts = work().inspect_err(|failure| at = failure.at)?;
        made = CValues::of(texts)?;
        Ok(())
    };
    // SAFETY: rule *Results*.
    let code = unsafe { report(error, give) };
    // SAFETY: rule *Results*.
    unsafe {
        if !out.is_null() && out.is_aligned() {
            out.write(made);
        }
        if !fault.is_null() {
            fault.write(at.unwrap_or(usize::MAX));
        }
    }
    code
}

/// Implements the header's declaration.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sealstone_fields_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Implements the header's declaration.
///
/// # Safety
/// Texts as in rule *Settings*, the others as in rule *Results*.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_session_new(
    kind: c_int,
    described: *const c_char,
    key: *const c_char,
    passphrase_file: *const c_char,
    session: *mut *mut Session,
    error: *mut *mut c_char,
) -> c_int {
    // SAFETY: the rules, which the caller keeps.
    unsafe {
        report(error, || {
            put(session, "session", || {
                let described = setting(described, "described")?
                    .ok_or_else(|| Failure::argument("described is null\npass a policy"))?;
                let passphrase_file = setting(passphrase_file, "passphrase_file")?;
                let made = Session::new(
                    Described::of(kind, described)?,
                    setting(key, "key")?,
                    passphrase_file.map(Path::new),
                )?;
                Ok(Box::into_raw(Box::new(made)))
            })
        })
    }
}

/// Implements the header's declaration.
///
/// # Safety
/// `session` as in rule *Handles*; no call with it is under way.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_session_free(session: *mut Session) {
    if !session.is_null() {
        // SAFETY: it comes from `Box::into_raw` and is freed once.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(session) })));
    }
}

/// Implements the header's declaration.
///
/// # Safety
/// `session` as in rule *Handles*, texts as in rule *Settings*, the others as in rule *Results*.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_column_new(
    session: *const Session,
    table: *const c_char,
    column: *const c_char,
    made: *mut *mut Handle,
    error: *mut *mut c_char,
) -> c_int {
    // SAFETY: the rules, which the caller keeps.
    unsafe {
        report(error, || {
            put(made, "made", || {
                let name = setting(column, "column")?
                    .ok_or_else(|| Failure::argument("column is null\npass its name"))?;
                let column = object(session, "session")?.column(setting(table, "table")?, name)?;
                let row = column.row().map(c_text);
                Ok(Box::into_raw(Box::new(Handle { column, row })))
            })
        })
    }
}

/// Implements the header's declaration.
///
/// # Safety
/// `column` as in rule *Handles*; no call with it is under way.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_column_free(column: *mut Handle) {
    if !column.is_null() {
        // SAFETY: it comes from `Box::into_raw` and is freed once.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(unsafe { Box::from_raw(column) })));
    }
}

/// Implements the header's declaration.
///
/// # Safety
/// `column` as in rule *Handles*.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_column_version(column: *const Handle) -> u32 {
    // SAFETY: rule *Handles*.
    unsafe { object(column, "column") }.map_or(0, |handle| handle.column.version())
}

/// Implements the header's declaration.
///
/// # Safety
/// `column` as in rule *Handles*.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_column_row(column: *const Handle) -> *const c_char {
    // SAFETY: rule *Handles*.
    let handle = unsafe { object(column, "column") };
    let row = handle.ok().and_then(|handle| handle.row.as_ref());
    row.map_or(ptr::null(), |row| row.as_ptr())
}

/// Implements the header's declaration.
///
/// # Safety
/// `column` as in rule *Handles*, `value` and `row` as in rule *Memory*, the others as in rule
/// *Results*.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_column_seal(
    column: *const Handle,
    value: *const c_char,
    value_length: usize,
    row: *const c_char,
    row_length: usize,
    out: *mut c_char,
    capacity: usize,
    out_length: *mut usize,
    error: *mut *mut c_char,
) -> c_int {
    let room = Room { out, capacity, length: out_length };
    // SAFETY: the rules, which the caller keeps.
    unsafe {
        report(error, || {
            room.fill(|| {
                let column = &object(column, "column")?.column;
                let value = One(text(value, value_length, "value")?);
                let row = row_of(row, row_length)?;
                column.seal(&value, row.as_ref().map(|row| row as &dyn Values))
            })
        })
    }
}

/// Implements the header's declaration.
///
/// # Safety
/// `column` as in rule *Handles*, `value` and `row` as in rule *Memory*, the others as in rule
/// *Results*.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_column_open(
    column: *const Handle,
    mark: i32,
    value: *const c_char,
    value_length: usize,
    row: *const c_char,
    row_length: usize,
    out: *mut c_char,
    capacity: usize,
    out_length: *mut usize,
    error: *mut *mut c_char,
) -> c_int {
    let room = Room { out, capacity, length: out_length };
    // SAFETY: the rules, which the caller keeps.
    unsafe {
        report(error, || {
            room.fill(|| {
                let column = &object(column, "column")?.column;
                let value = One(text(value, value_length, "value")?);
                let row = row_of(row, row_length)?;
                column.open(Some(&[mark]), &value, row.as_ref().map(|row| row as &dyn Values))
            })
        })
    }
}

/// Implements the header's declaration.
///
/// # Safety
/// `column` as in rule *Handles*, `value` as in rule *Memory*, the others as in rule
/// *Results*.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_column_index(
    column: *const Handle,
    value: *const c_char,
    value_length: usize,
    out: *mut c_char,
    capacity: usize,
    out_length: *mut usize,
    error: *mut *mut c_char,
) -> c_int {
    let room = Room { out, capacity, length: out_length };
    // SAFETY: the rules, which the caller keeps.
    unsafe {
        report(error, || {
            room.fill(|| {
                let column = &object(column, "column")?.column;
                let value = One(text(value, value_length, "value")?);
                column.index(&value)
            })
        })
    }
}

/// Implements the header's declaration.
///
/// # Safety
/// `column` as in rule *Handles*, what has values as in rule *Memory*, the others as in rule
/// *Results*.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_column_seal_many(
    column: *const Handle,
    values: *const CValues,
    rows: *const CValues,
    out: *mut CValues,
    fault: *mut usize,
    error: *mut *mut c_char,
) -> c_int {
    // SAFETY: the rules, which the caller keeps.
    unsafe {
        give_many(out, fault, error, || {
            let column = &object(column, "column")?.column;
            let values = many(values, "values")?;
            let rows = rows_of(rows)?;
            column.seal(&values, rows.as_ref().map(|rows| rows as &dyn Values))
        })
    }
}

/// Implements the header's declaration.
///
/// # Safety
/// `column` as in rule *Handles*, what has values as in rule *Memory*, the others as in rule
/// *Results*.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_column_open_many(
    column: *const Handle,
    marks: *const i32,
    values: *const CValues,
    rows: *const CValues,
    out: *mut CValues,
    fault: *mut usize,
    error: *mut *mut c_char,
) -> c_int {
    // SAFETY: the rules, which the caller keeps.
    unsafe {
        give_many(out, fault, error, || {
            let column = &object(column, "column")?.column;
            let values = many(values, "values")?;
            let rows = rows_of(rows)?;
            let marks = match marks.is_null() {
                true => None,
                false => Some(elements(marks, values.len(), "marks")?),
            };
            column.open(marks, &values, rows.as_ref().map(|rows| rows as &dyn Values))
        })
    }
}

/// Implements the header's declaration.
///
/// # Safety
/// `column` as in rule *Handles*, what has values as in rule *Memory*, the others as in rule
/// *Results*.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_column_index_many(
    column: *const Handle,
    values: *const CValues,
    out: *mut CValues,
    fault: *mut usize,
    error: *mut *mut c_char,
) -> c_int {
    // SAFETY: the rules, which the caller keeps.
    unsafe {
        give_many(out, fault, error, || {
            let column = &object(column, "column")?.column;
            let values = many(values, "values")?;
            column.index(&values)
        })
    }
}

/// Implements the header's declaration.
///
/// # Safety
/// `values` as in rule *Results*; its owner is null or comes from here.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sealstone_values_free(values: *mut CValues) {
    if values.is_null() || !values.is_aligned() {
        return;
    }
    // SAFETY: rule *Results*.
    let CValues { owner, .. } = unsafe { values.replace(CValues::EMPTY) };
    if !owner.is_null() {
        // SAFETY: it comes from `Box::into_raw`, and is freed once since nothing leads to it now.
        drop(unsafe { Box::from_raw(owner.cast::<Owned>()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reason and the code of a call.
    fn failed(call: impl FnOnce(*mut *mut c_char) -> c_int) -> (c_int, String) {
        let mut error = ptr::null_mut();
        let code = call(&mut error);
        assert!(!error.is_null());
        // SAFETY: a text from `strdup`, freed once.
        unsafe {
            let said = CStr::from_ptr(error).to_str().unwrap().to_owned();
            libc::free(error.cast());
            (code, said)
        }
    }

    const POLICY: &CStr = c"[tables.people.columns.phone]\nmethod = \"ff1\"\nformat = \"phone\"\n";

    #[test]
    fn null_pointers_and_impossible_lengths_are_errors() {
        let null = ptr::null();
        let mut session = ptr::null_mut();
        // SAFETY: null is allowed by the checks under test; all other pointers are ours.
        unsafe {
            let (code, said) =
                failed(|error| sealstone_session_new(2, null, null, null, &mut session, error));
            assert_eq!((code, said.as_str()), (1, "described is null\npass a policy"));
            let (code, _) = failed(|error| {
                sealstone_session_new(2, POLICY.as_ptr(), null, null, ptr::null_mut(), error)
            });
            assert_eq!(code, 1);
            let (code, said) = failed(|error| {
                sealstone_session_new(9, POLICY.as_ptr(), null, null, &mut session, error)
            });
            assert_eq!(code, 1, "{said}");
            let (code, said) = failed(|error| {
                sealstone_session_new(2, c"\xff".as_ptr(), null, null, &mut session, error)
            });
            assert_eq!((code, said.as_str()), (1, "described is not UTF-8 text"));
            assert!(session.is_null());
            assert_eq!(
                sealstone_session_new(
                    2,
                    POLICY.as_ptr(),
                    null,
                    null,
                    &mut session,
                    ptr::null_mut()
                ),
                0
            );
            let mut column = ptr::null_mut();
            let (code, said) = failed(|error| {
                sealstone_column_new(session, null, c"phone".as_ptr(), &mut column, error)
            });
            assert!(code == 3 && said.starts_with("no key: pass one"), "{said}");
            let (code, said) = failed(|error| {
                sealstone_column_new(ptr::null(), null, c"phone".as_ptr(), &mut column, error)
            });
            assert!(code == 1 && said.starts_with("session is null"), "{said}");
            sealstone_session_free(session);
            sealstone_session_free(ptr::null_mut());
            sealstone_column_free(ptr::null_mut());
            sealstone_values_free(ptr::null_mut());
            assert_eq!(sealstone_column_version(ptr::null()), 0);
            assert!(sealstone_column_row(ptr::null()).is_null());
        }
    }

    /// A column under a key file of its own.
    fn column(dir: &Path) -> *mut Handle {
        let key = dir.join("people.key");
        sealstone_keys::KeyFile::create(&key, "people").unwrap();
        let key = CString::new(key.to_str().unwrap()).unwrap();
        let (mut session, mut column) = (ptr::null_mut(), ptr::null_mut());
        let null = ptr::null();
        // SAFETY: all pointers are ours or null.
        unsafe {
            let made = sealstone_session_new(
                2,
                POLICY.as_ptr(),
                key.as_ptr(),
                null,
                &mut session,
                ptr::null_mut(),
            );
            assert_eq!(made, 0);
            let made = sealstone_column_new(
                session,
                null,
                c"phone".as_ptr(),
                &mut column,
                ptr::null_mut(),
            );
            assert_eq!(made, 0);
            // the column outlives it
            sealstone_session_free(session);
        }
        column
    }

    #[test]
    fn a_buffer_that_is_too_small_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let column = column(dir.path());
        let value = b"010-1234-5678".map(|byte| byte as c_char);
        let (mut out, mut length) = ([7; 13], 0);
        let seal = |value: *const c_char, count, capacity, out: *mut c_char, length| {
            // SAFETY: all pointers are ours or null, and refused lengths are never read.
            unsafe {
                sealstone_column_seal(
                    column,
                    value,
                    count,
                    ptr::null(),
                    0,
                    out,
                    capacity,
                    length,
                    ptr::null_mut(),
                )
            }
        };
        assert_eq!(seal(value.as_ptr(), 13, 12, out.as_mut_ptr(), &mut length), 6);
        assert_eq!((out, length), ([7; 13], 13));
        assert_eq!(seal(value.as_ptr(), 13, 0, ptr::null_mut(), &mut length), 6);
        assert_eq!(seal(value.as_ptr(), usize::MAX, 13, out.as_mut_ptr(), &mut length), 1);
        assert_eq!(seal(ptr::null(), 13, 13, out.as_mut_ptr(), &mut length), 1);
        assert_eq!(seal(value.as_ptr(), 13, 13, ptr::null_mut(), &mut length), 1);
        assert_eq!(seal(value.as_ptr(), 13, 13, out.as_mut_ptr(), ptr::null_mut()), 1);
        assert_eq!(seal(value.as_ptr(), 12, 13, out.as_mut_ptr(), &mut length), 0);
        assert_eq!(seal(value.as_ptr(), 2, 13, out.as_mut_ptr(), &mut length), 4);
        assert_eq!(seal(ptr::null(), 0, 13, out.as_mut_ptr(), &mut length), 4);
        // in place
        let mut place = value;
        let begin = place.as_mut_ptr();
        assert_eq!(seal(begin, 13, 13, begin, &mut length), 0);
        assert!(length == 13 && place != value && place[3] == value[3]);
        // SAFETY: it is freed once.
        unsafe { sealstone_column_free(column) };
    }

    #[test]
    fn a_row_that_nothing_is_bound_to_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let column = column(dir.path());
        let (value, row) = (c"010-1234-5678".as_ptr(), c"17".as_ptr());
        let (mut out, mut length) = ([7; 13], 0);
        let offsets = [0, 2];
        let values = |bytes, offsets: &[i32; 2], bytes_length| CValues {
            offsets: offsets.as_ptr(),
            bytes,
            bytes_length,
            count: 1,
            owner: ptr::null_mut(),
        };
        let rows = values(row, &offsets, 2);
        let phones = values(value, &[0, 13], 13);
        // SAFETY: all pointers are ours; the column is freed once.
        unsafe {
            assert!(sealstone_column_row(column).is_null());
            let mut many = CValues::EMPTY;
            let refused = [
                failed(|error| {
                    let (out, length) = (out.as_mut_ptr(), &mut length);
                    sealstone_column_seal(column, value, 13, row, 2, out, 13, length, error)
                }),
                failed(|error| {
                    let (out, length) = (out.as_mut_ptr(), &mut length);
                    sealstone_column_open(column, 1, value, 13, row, 2, out, 13, length, error)
                }),
                failed(|error| {
                    let none = ptr::null_mut();
                    sealstone_column_seal_many(column, &phones, &rows, &mut many, none, error)
                }),
                failed(|error| {
                    let (marks, none) = (ptr::null(), ptr::null_mut());
                    sealstone_column_open_many(
                        column, marks, &phones, &rows, &mut many, none, error,
                    )
                }),
            ];
            for (code, said) in refused {
                let want = "column phone is not bound to rows, and a row was given\npass none";
                assert!(code == 1 && said.starts_with(want), "{code}: {said}");
            }
            assert!(many.owner.is_null());
            sealstone_column_free(column);
        }
        assert_eq!(out, [7; 13]);
    }

    #[test]
    fn many_hostile_values_are_refused_and_leave_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let column = column(dir.path());
        let bytes = b"010-1234-567800".as_ptr().cast();
        let offsets = [0, 13, 15, i32::MAX, -1];
        let values = |offsets, bytes, bytes_length, count| CValues {
            offsets,
            bytes,
            bytes_length,
            count,
            owner: ptr::null_mut(),
        };
        let good = offsets.as_ptr();
        let unaligned = good.cast::<u8>().wrapping_add(1).cast::<i32>();
        for (input, code, at) in [
            (values(good, bytes, 15, 1), 0, usize::MAX),
            (values(good, bytes, 15, 2), 4, 1),
            (values(good, bytes, 15, 3), 1, usize::MAX),
            (values(good, bytes, 15, 4), 1, 3),
            (values(good, bytes, 12, 1), 1, usize::MAX),
            (values(good, bytes, usize::MAX, 1), 1, usize::MAX),
            (values(good, bytes, 15, usize::MAX), 1, usize::MAX),
            (values(good, ptr::null(), 15, 1), 1, usize::MAX),
            (values(ptr::null(), bytes, 15, 1), 1, usize::MAX),
            (values(unaligned, bytes, 15, 1), 1, usize::MAX),
            (values(ptr::null(), ptr::null(), 0, 0), 0, usize::MAX),
        ] {
            let (mut out, mut fault) = (CValues::EMPTY, 0);
            out.count = 99;
            // SAFETY: all pointers are ours or null, and refused lengths are never read.
            unsafe {
                let found = sealstone_column_seal_many(
                    column,
                    &input,
                    ptr::null(),
                    &mut out,
                    &mut fault,
                    ptr::null_mut(),
                );
                assert_eq!((found, fault), (code, at), "{} {}", input.count, input.bytes_length);
                assert_eq!(out.owner.is_null(), code != 0);
                assert_eq!(out.count, if code == 0 { input.count } else { 0 });
                sealstone_values_free(&mut out);
                assert!(out.owner.is_null() && out.offsets.is_null());
                sealstone_values_free(&mut out);
            }
        }
        // SAFETY: it is freed once; null is refused.
        unsafe {
            let refused = sealstone_column_seal_many(
                column,
                ptr::null(),
                ptr::null(),
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
            );
            assert_eq!(refused, 1);
            sealstone_column_free(column);
        }
    }

    #[test]
    fn a_panic_is_an_error() {
        let (code, said) = failed(|error| {
            // SAFETY: the pointer is ours.
            unsafe { report(error, || panic!("a value")) }
        });
        assert_eq!((code, said.as_str()), (7, crate::failure::PANICKED));
    }
}
