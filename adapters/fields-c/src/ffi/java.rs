//! The native methods of the Java class `org.sealstone.Native`, by the Java Native Interface.
//!
//! Only numbers and arrays of bytes and integers cross: texts are UTF-8, which Java makes faster
//! than a call for each value would. A session is a number, looked up in a table of this library:
//! whatever number Java passes, and however many threads use a session while another one closes
//! it, nothing is used after it was freed. A closed session's keys are gone when the last call
//! with it ends.
//!
//! Not here: what users call (`adapters/java`), which turns texts into arrays.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use jni::errors::{Error, ErrorPolicy};
use jni::objects::{JByteArray, JClass, JIntArray, JThrowable, JValue};
use jni::sys::{jint, jlong};
use jni::{Env, EnvUnowned, jni_sig, jni_str};
use sealstone_fields::Values;

use crate::column::Column;
use crate::failure::{Code, Failure};
use crate::session::{Described, Session};
use crate::utf8_array::{LaidOut, One, lay_out};

/// Code of a session that was closed, which the header does not have.
const CLOSED: jint = 100;

/// A session with the columns that were opened.
struct Opened {
    session: Session,
    columns: RwLock<Vec<Arc<Column>>>,
}

/// All sessions that are open.
static SESSIONS: LazyLock<RwLock<HashMap<jlong, Arc<Opened>>>> = LazyLock::new(RwLock::default);

/// The next session's number.
static NEXT: AtomicI64 = AtomicI64::new(1);

/// Reason why a method throws.
enum Thrown {
    Failure(Failure),
    Closed,
    Java(Error),
}

impl From<Failure> for Thrown {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Error> for Thrown {
    fn from(error: Error) -> Self {
        Self::Java(error)
    }
}

/// Throws what a method failed with, as a `SealstoneException`.
struct Throw;

impl<T: Default> ErrorPolicy<T, Thrown> for Throw {
    type Captures<'unowned: 'method, 'method> = ();

    fn on_error<'unowned: 'method, 'method>(
        env: &mut Env<'unowned>,
        (): &mut (),
        thrown: Thrown,
    ) -> Result<T, Error> {
        if env.exception_check() {
            return Ok(T::default());
        }
        let (code, at, text) = match thrown {
            Thrown::Failure(Failure { code, text, at }) => (code as jint, at, text),
            Thrown::Closed => (CLOSED, None, "the session is closed\nopen a new one".to_owned()),
            Thrown::Java(error) => (Code::Failed as jint, None, error.to_string()),
        };
        let at = at.and_then(|at| jint::try_from(at).ok()).unwrap_or(-1);
        let text = env.byte_array_from_slice(text.as_bytes())?;
        let exception = env.new_object(
            jni_str!("org/sealstone/SealstoneException"),
            jni_sig!("(II[B)V"),
            &[JValue::Int(code), JValue::Int(at), JValue::Object(&text)],
        )?;
        let exception = env.cast_local::<JThrowable>(exception)?;
        // it reports the exception that is on its way as an error
        let _ = env.throw(exception);
        Ok(T::default())
    }

    fn on_panic<'unowned: 'method, 'method>(
        env: &mut Env<'unowned>,
        captures: &mut (),
        _: Box<dyn std::any::Any + Send>,
    ) -> Result<T, Error> {
        Self::on_error(env, captures, Thrown::Failure(Failure::panicked()))
    }
}

fn opened(session: jlong) -> Result<Arc<Opened>, Thrown> {
    let sessions = SESSIONS.read().unwrap_or_else(PoisonError::into_inner);
    sessions.get(&session).cloned().ok_or(Thrown::Closed)
}

fn column(session: jlong, number: jint) -> Result<Arc<Column>, Thrown> {
    let opened = opened(session)?;
    let columns = opened.columns.read().unwrap_or_else(PoisonError::into_inner);
    let column = usize::try_from(number).ok().and_then(|number| columns.get(number).cloned());
    Ok(column.ok_or_else(|| Failure::argument("no such column"))?)
}

/// Returns the bytes of `array`; none for null.
fn bytes(env: &Env<'_>, array: &JByteArray<'_>) -> Result<Option<Vec<u8>>, Thrown> {
    Ok(if array.is_null() { None } else { Some(env.convert_byte_array(array)?) })
}

/// Returns the numbers of `array`; none for null.
fn numbers(env: &Env<'_>, array: &JIntArray<'_>) -> Result<Option<Vec<i32>>, Thrown> {
    if array.is_null() {
        return Ok(None);
    }
    let mut numbers = vec![0; array.len(env)?];
    array.get_region(env, 0, &mut numbers)?;
    Ok(Some(numbers))
}

fn as_text<'a>(bytes: &'a [u8], name: &str) -> Result<&'a str, Failure> {
    std::str::from_utf8(bytes).map_err(|_| Failure::argument(format!("{name} is not UTF-8 text")))
}

/// Returns the setting `name`; none for null.
fn setting(env: &Env<'_>, array: &JByteArray<'_>, name: &str) -> Result<Option<String>, Thrown> {
    let Some(bytes) = bytes(env, array)? else { return Ok(None) };
    Ok(Some(as_text(&bytes, name)?.to_owned()))
}

fn missing(name: &str) -> Failure {
    Failure::argument(format!("{name} is null"))
}

/// Work on values, by its number in Java.
#[derive(Clone, Copy)]
enum Work {
    Seal,
    Open,
    Index,
}

impl Work {
    fn of(number: jint) -> Result<Self, Failure> {
        match number {
            0 => Ok(Self::Seal),
            1 => Ok(Self::Open),
            2 => Ok(Self::Index),
            _ => Err(Failure::argument("no such work")),
        }
    }

    fn done(
        self,
        column: &Column,
        marks: Option<&[i32]>,
        values: &dyn Values,
        rows: Option<&dyn Values>,
    ) -> Result<sealstone_fields::Texts, Failure> {
        match self {
            Self::Seal => column.seal(values, rows),
            Self::Open => column.open(marks, values, rows),
            Self::Index => column.index(values),
        }
    }
}

/// Returns the version of this library.
#[unsafe(no_mangle)]
pub(crate) extern "system" fn Java_org_sealstone_Native_version<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
) -> JByteArray<'local> {
    env.with_env(|env| -> Result<_, Thrown> {
        Ok(env.byte_array_from_slice(env!("CARGO_PKG_VERSION").as_bytes())?)
    })
    .resolve::<Throw>()
}

/// Opens a session, and returns its number.
#[unsafe(no_mangle)]
pub(crate) extern "system" fn Java_org_sealstone_Native_open<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    kind: jint,
    described: JByteArray<'local>,
    key: JByteArray<'local>,
    passphrase_file: JByteArray<'local>,
) -> jlong {
    env.with_env(|env| -> Result<_, Thrown> {
        let described =
            setting(env, &described, "the policy")?.ok_or_else(|| missing("the policy"))?;
        let passphrase_file = setting(env, &passphrase_file, "the passphrase file")?;
        let session = Session::new(
            Described::of(kind, &described)?,
            setting(env, &key, "the key")?.as_deref(),
            passphrase_file.as_deref().map(Path::new),
        )?;
        let opened = Arc::new(Opened { session, columns: RwLock::default() });
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        SESSIONS.write().unwrap_or_else(PoisonError::into_inner).insert(number, opened);
        Ok(number)
    })
    .resolve::<Throw>()
}

/// Closes a session. A session that is closed stays so.
#[unsafe(no_mangle)]
pub(crate) extern "system" fn Java_org_sealstone_Native_close<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    session: jlong,
) {
    env.with_env(|_| -> Result<(), Thrown> {
        let closed = SESSIONS.write().unwrap_or_else(PoisonError::into_inner).remove(&session);
        drop(closed);
        Ok(())
    })
    .resolve::<Throw>();
}

/// Opens a column, and returns its number within the session.
#[unsafe(no_mangle)]
pub(crate) extern "system" fn Java_org_sealstone_Native_column<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    session: jlong,
    table: JByteArray<'local>,
    name: JByteArray<'local>,
) -> jint {
    env.with_env(|env| -> Result<_, Thrown> {
        let opened = opened(session)?;
        let table = setting(env, &table, "the table")?;
        let name = setting(env, &name, "the column")?.ok_or_else(|| missing("the column"))?;
        let column = Arc::new(opened.session.column(table.as_deref(), &name)?);
        let mut columns = opened.columns.write().unwrap_or_else(PoisonError::into_inner);
        columns.push(column);
        Ok(jint::try_from(columns.len() - 1)
            .map_err(|_| Failure::argument("too many columns were opened"))?)
    })
    .resolve::<Throw>()
}

/// Returns the version of the key under which a column seals.
#[unsafe(no_mangle)]
pub(crate) extern "system" fn Java_org_sealstone_Native_keyVersion<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    session: jlong,
    number: jint,
) -> jint {
    env.with_env(|_| -> Result<_, Thrown> {
        let version = column(session, number)?.version();
        Ok(jint::try_from(version).map_err(|_| Failure::argument("no mark has such a version"))?)
    })
    .resolve::<Throw>()
}

/// Returns the column that values are bound to, or null.
#[unsafe(no_mangle)]
pub(crate) extern "system" fn Java_org_sealstone_Native_row<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    session: jlong,
    number: jint,
) -> JByteArray<'local> {
    env.with_env(|env| -> Result<_, Thrown> {
        match column(session, number)?.row() {
            Some(row) => Ok(env.byte_array_from_slice(row.as_bytes())?),
            None => Ok(JByteArray::null()),
        }
    })
    .resolve::<Throw>()
}

/// Returns the column with the index values, or null.
#[unsafe(no_mangle)]
pub(crate) extern "system" fn Java_org_sealstone_Native_indexName<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    session: jlong,
    number: jint,
) -> JByteArray<'local> {
    env.with_env(|env| -> Result<_, Thrown> {
        match column(session, number)?.index_name() {
            Some(index) => Ok(env.byte_array_from_slice(index.as_bytes())?),
            None => Ok(JByteArray::null()),
        }
    })
    .resolve::<Throw>()
}

/// Returns the name of a sealed column of a table by its number there, or null past the last one.
#[unsafe(no_mangle)]
pub(crate) extern "system" fn Java_org_sealstone_Native_columnName<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    session: jlong,
    table: JByteArray<'local>,
    number: jint,
) -> JByteArray<'local> {
    env.with_env(|env| -> Result<_, Thrown> {
        let (opened, table) = (opened(session)?, setting(env, &table, "the table")?);
        let number = usize::try_from(number).map_err(|_| missing("the number"))?;
        match opened.session.column_name(table.as_deref(), number)? {
            Some(name) => Ok(env.byte_array_from_slice(name.as_bytes())?),
            None => Ok(JByteArray::null()),
        }
    })
    .resolve::<Throw>()
}

/// Returns a manifest for what is sealed from now on.
#[unsafe(no_mangle)]
pub(crate) extern "system" fn Java_org_sealstone_Native_manifest<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    session: jlong,
    table: JByteArray<'local>,
) -> JByteArray<'local> {
    env.with_env(|env| -> Result<_, Thrown> {
        let (opened, table) = (opened(session)?, setting(env, &table, "the table")?);
        let manifest = opened.session.manifest(table.as_deref())?;
        Ok(env.byte_array_from_slice(manifest.as_bytes())?)
    })
    .resolve::<Throw>()
}

/// Does work on one value.
#[unsafe(no_mangle)]
pub(crate) extern "system" fn Java_org_sealstone_Native_one<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    session: jlong,
    number: jint,
    work: jint,
    mark: jint,
    value: JByteArray<'local>,
    row: JByteArray<'local>,
) -> JByteArray<'local> {
    env.with_env(|env| -> Result<_, Thrown> {
        let (work, column) = (Work::of(work)?, column(session, number)?);
        let value = bytes(env, &value)?.ok_or_else(|| missing("the value"))?;
        let value = One(as_text(&value, "the value")?);
        let row = bytes(env, &row)?;
        let row = row.as_deref().map(|row| as_text(row, "the row")).transpose()?.map(One);
        let row = row.as_ref().map(|row| row as &dyn Values);
        // it is none of many
        let none = |failure| Failure { at: None, ..failure };
        let made = work.done(&column, Some(&[mark]), &value, row).map_err(none)?;
        Ok(env.byte_array_from_slice(made.get(0).as_bytes())?)
    })
    .resolve::<Throw>()
}

/// Does work on many values; writes the offsets of the results to `out`, which has as many numbers
/// as `offsets`, and returns their bytes.
#[unsafe(no_mangle)]
pub(crate) extern "system" fn Java_org_sealstone_Native_many<'local>(
    mut env: EnvUnowned<'local>,
    _class: JClass<'local>,
    session: jlong,
    number: jint,
    work: jint,
    marks: JIntArray<'local>,
    values: JByteArray<'local>,
    offsets: JIntArray<'local>,
    rows: JByteArray<'local>,
    row_offsets: JIntArray<'local>,
    out: JIntArray<'local>,
) -> JByteArray<'local> {
    env.with_env(|env| -> Result<_, Thrown> {
        let (work, column) = (Work::of(work)?, column(session, number)?);
        let marks = numbers(env, &marks)?;
        let values = bytes(env, &values)?.ok_or_else(|| missing("values"))?;
        let offsets = numbers(env, &offsets)?.ok_or_else(|| missing("offsets"))?;
        let values = LaidOut::new(&offsets, &values)?;
        let (rows, row_offsets) = (bytes(env, &rows)?, numbers(env, &row_offsets)?);
        let rows = match (&row_offsets, &rows) {
            (Some(offsets), Some(rows)) => Some(LaidOut::new(offsets, rows)?),
            _ => None,
        };
        let rows = rows.as_ref().map(|rows| rows as &dyn Values);
        let (text, ends) = lay_out(work.done(&column, marks.as_deref(), &values, rows)?)?;
        if out.is_null() {
            return Err(missing("out").into());
        }
        if out.len(env)? < ends.len() {
            return Err(Failure::argument("out has no room for the offsets").into());
        }
        out.set_region(env, 0, &ends)?;
        Ok(env.byte_array_from_slice(text.as_bytes())?)
    })
    .resolve::<Throw>()
}
