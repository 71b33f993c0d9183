//! Arrays sealed and opened by a column's cipher. Not here: how Arrow keeps texts (`texts`), what names rows (`rows`).

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use sealstone_fields::{ColumnCipher, FieldsError, Misfit, Texts};

use crate::error::ArrayError;
use crate::rows::named;
use crate::texts::{Fate, TextArray, array};

/// How many values go to the cipher at once: enough for its batches, few enough to stay in the cache.
const AT_ONCE: usize = 4096;

/// An array that was sealed or opened.
#[derive(Clone, Debug)]
pub struct Crypted {
    /// As many values as before, of the same type; null where the value was null, and where it does not fit.
    pub values: ArrayRef,
    /// The numbers of the values that do not fit, ascending, with the reason.
    pub misfits: Vec<(usize, Misfit)>,
}

/// Seals the texts of `values`, an array of type Utf8, LargeUtf8 or Utf8View, or Null, which has none. Nulls stay
/// null.
///
/// - `rows`: for a column that is bound to rows, the column that names them, as many as `values`: texts, or integers,
///   which are taken as their decimal digits, so that values sealed in a CSV file open here, and the other way round
///
/// # Errors
/// Each [`ArrayError`]; none of them is about a single value.
pub fn seal_array(cipher: &ColumnCipher, values: &ArrayRef, rows: Option<&ArrayRef>) -> Result<Crypted, ArrayError> {
    crypt(cipher, values, rows, |texts, rows, out, misfits| cipher.seal(texts, rows, out, misfits))
}

/// Opens the texts of `values`, which were sealed; else as [`seal_array`].
///
/// # Errors
/// Each [`ArrayError`].
pub fn open_array(cipher: &ColumnCipher, values: &ArrayRef, rows: Option<&ArrayRef>) -> Result<Crypted, ArrayError> {
    crypt(cipher, values, rows, |texts, rows, out, misfits| cipher.open(texts, rows, out, misfits))
}

/// The index values of `values`, which are in the clear, in an array of the same type; null where they are. Empty texts
/// for a column without an index.
///
/// # Errors
/// [`ArrayError::Type`], [`ArrayError::Dictionary`], [`ArrayError::TooLong`].
pub fn index_array(cipher: &ColumnCipher, values: &ArrayRef) -> Result<ArrayRef, ArrayError> {
    if values.data_type() == &DataType::Null {
        return Ok(values.clone());
    }
    let texts = TextArray::of(values)?;
    let (mut out, mut fates, mut text) = (Texts::new(), vec![Fate::Null; values.len()], String::new());
    for (number, fate) in fates.iter_mut().enumerate() {
        if let Some(value) = texts.get(number) {
            text.clear();
            cipher.index(value, &mut text);
            out.push(&text);
            *fate = Fate::Kept;
        }
    }
    array(out, &fates, values.data_type())
}

/// Does `work` with the values that are not null, some at a time.
fn crypt(
    cipher: &ColumnCipher,
    values: &ArrayRef,
    rows: Option<&ArrayRef>,
    work: impl Fn(&[&str], Option<&Texts>, &mut Texts, &mut Vec<(usize, Misfit)>) -> Result<(), FieldsError>,
) -> Result<Crypted, ArrayError> {
    if values.data_type() == &DataType::Null {
        return Ok(Crypted { values: values.clone(), misfits: Vec::new() });
    }
    let texts = TextArray::of(values)?;
    let named = match (cipher.row(), rows) {
        (None, _) => None,
        (Some(column), None) => return Err(ArrayError::NoRows(column.to_owned())),
        (Some(_), Some(rows)) if rows.len() != values.len() => {
            return Err(ArrayError::RowsLength { values: values.len(), rows: rows.len() });
        }
        (Some(column), Some(rows)) => Some(named(column, rows)?),
    };
    let mut out = Texts::new();
    let (mut misfits, mut fates) = (Vec::new(), vec![Fate::Null; values.len()]);
    let (mut part, mut numbers, mut part_rows) = (Vec::new(), Vec::new(), Texts::new());
    let mut found = Vec::new();
    for start in (0..values.len()).step_by(AT_ONCE) {
        texts.present(start..values.len().min(start + AT_ONCE), &mut part, &mut numbers);
        if let Some(named) = &named {
            named(&numbers, &mut part_rows);
        }
        work(&part, named.as_ref().map(|_| &part_rows), &mut out, &mut found)?;
        numbers.iter().for_each(|number| fates[*number] = Fate::Kept);
        for (at, misfit) in found.drain(..) {
            fates[numbers[at]] = Fate::Dropped;
            misfits.push((numbers[at], misfit));
        }
    }
    Ok(Crypted { values: array(out, &fates, values.data_type())?, misfits })
}
