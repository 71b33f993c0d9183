//! Arrays sealed and opened by a column's cipher.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, NullArray};
use arrow_schema::DataType;
use sealstone_fields::{ColumnCipher, FieldsError, Misfit, Texts};

use crate::dictionary::Places;
use crate::error::ArrayError;
use crate::rows::{Named, named};
use crate::texts::{Fate, TextArray, array, plain_type};

/// Number of values that go to the cipher at once: enough for its batches, few enough to stay in
/// the cache.
const AT_ONCE: usize = 4096;

/// An array that was sealed or opened.
#[derive(Clone, Debug)]
pub struct Crypted {
    /// As many values as before, of the type that [`plain_type`] returns; null where the value was
    /// null, and where it does not fit.
    pub values: ArrayRef,
    /// The numbers of the values that do not fit, ascending, with the reason.
    pub misfits: Vec<(usize, Misfit)>,
}

/// Seals the texts of `values`, an array of type Utf8, LargeUtf8 or Utf8View, a dictionary of
/// these, or Null, which has none. Nulls stay null. Where equal values have equal results, each
/// entry of a dictionary is sealed once.
///
/// - `rows`: for a column that is bound to rows, the column that names them, as many as `values`:
///   texts, or integers, which are taken as their decimal digits, so that values sealed in a CSV
///   file open here, and the other way round
///
/// # Errors
/// Each [`ArrayError`]; none of them is about a single value.
pub fn seal_array(
    cipher: &ColumnCipher,
    values: &ArrayRef,
    rows: Option<&ArrayRef>,
) -> Result<Crypted, ArrayError> {
    let once = cipher.is_deterministic();
    crypt(cipher, values, rows, once, |texts, rows, out, misfits| {
        cipher.seal(texts, rows, out, misfits)
    })
}

/// Opens the texts of `values`, which were sealed; else as [`seal_array`].
///
/// # Errors
/// Each [`ArrayError`].
pub fn open_array(
    cipher: &ColumnCipher,
    values: &ArrayRef,
    rows: Option<&ArrayRef>,
) -> Result<Crypted, ArrayError> {
    let once = cipher.row().is_none();
    crypt(cipher, values, rows, once, |texts, rows, out, misfits| {
        cipher.open(texts, rows, out, misfits)
    })
}

/// Returns the index values of `values`, which are in the clear, in an array of the type that
/// [`plain_type`] returns; null where they are null. Empty texts for a column without an index.
///
/// # Errors
/// [`ArrayError::Type`], [`ArrayError::TooLong`], [`ArrayError::Fields`].
pub fn index_array(cipher: &ColumnCipher, values: &ArrayRef) -> Result<ArrayRef, ArrayError> {
    let index =
        |texts: &[&str], _: Option<&Texts>, out: &mut Texts, _: &mut Vec<(usize, Misfit)>| {
            let mut text = String::new();
            for value in texts {
                text.clear();
                cipher.index(value, &mut text)?;
                out.push(&text);
            }
            Ok(())
        };
    Ok(crypt_texts(values, None, true, index)?.values)
}

/// Does `work` with the values of a column that is bound to rows or not.
fn crypt(
    cipher: &ColumnCipher,
    values: &ArrayRef,
    rows: Option<&ArrayRef>,
    once: bool,
    work: impl Fn(&[&str], Option<&Texts>, &mut Texts, &mut Found) -> Result<(), FieldsError>,
) -> Result<Crypted, ArrayError> {
    let named = match (cipher.row(), rows) {
        (None, _) => None,
        (Some(_), _) if plain_type(values.data_type()) == &DataType::Null => None,
        (Some(column), None) => return Err(ArrayError::NoRows(column.to_owned())),
        (Some(_), Some(rows)) if rows.len() != values.len() => {
            return Err(ArrayError::RowsLength { values: values.len(), rows: rows.len() });
        }
        (Some(column), Some(rows)) => Some(named(column, rows)?),
    };
    crypt_texts(values, named.as_ref(), once, work)
}

/// Values that do not fit, by number, each with the reason.
type Found = Vec<(usize, Misfit)>;

/// Does `work` with the values that are not null, some at a time.
///
/// - `once`: whether it makes the same of equal values, so that each entry of a dictionary needs it
///   once
fn crypt_texts(
    values: &ArrayRef,
    named: Option<&Named<'_>>,
    once: bool,
    work: impl Fn(&[&str], Option<&Texts>, &mut Texts, &mut Found) -> Result<(), FieldsError>,
) -> Result<Crypted, ArrayError> {
    let like = plain_type(values.data_type());
    if like == &DataType::Null {
        return Ok(Crypted { values: Arc::new(NullArray::new(values.len())), misfits: Vec::new() });
    }
    let texts = TextArray::of(values)?;
    if let (TextArray::Dictionary { places, entries }, true) = (&texts, once) {
        return crypt_entries(places, entries, like, |texts, out, found| {
            work(texts, None, out, found)
        });
    }
    let mut out = Texts::new();
    let (mut misfits, mut fates) = (Vec::new(), vec![Fate::Null; values.len()]);
    let (mut part, mut numbers, mut part_rows) = (Vec::new(), Vec::new(), Texts::new());
    let mut found = Vec::new();
    for start in (0..values.len()).step_by(AT_ONCE) {
        texts.present(start..values.len().min(start + AT_ONCE), &mut part, &mut numbers);
        if let Some(named) = named {
            named(&numbers, &mut part_rows);
        }
        work(&part, named.map(|_| &part_rows), &mut out, &mut found)?;
        numbers.iter().for_each(|number| fates[*number] = Fate::Kept);
        for (at, misfit) in found.drain(..) {
            fates[numbers[at]] = Fate::Dropped;
            misfits.push((numbers[at], misfit));
        }
    }
    Ok(Crypted { values: array(out, &fates, like)?, misfits })
}

/// Does `work` with each entry of a dictionary that some place has, and puts what it makes of them
/// in these places.
fn crypt_entries(
    places: &Places,
    entries: &TextArray<'_>,
    like: &DataType,
    work: impl Fn(&[&str], &mut Texts, &mut Found) -> Result<(), FieldsError>,
) -> Result<Crypted, ArrayError> {
    let (used, numbers) = places.used();
    let used: Vec<&str> =
        used.into_iter().map(|entry| entries.get(entry).unwrap_or_default()).collect();
    let (mut made, mut reasons, mut found) = (Texts::new(), vec![None; used.len()], Vec::new());
    for (part, start) in used.chunks(AT_ONCE).zip((0..).step_by(AT_ONCE)) {
        work(part, &mut made, &mut found)?;
        found.drain(..).for_each(|(at, misfit)| reasons[start + at] = Some(misfit));
    }
    let (mut out, mut fates, mut misfits) =
        (Texts::new(), vec![Fate::Null; numbers.len()], Vec::new());
    for (place, number) in numbers.into_iter().enumerate() {
        let Some(number) = number else { continue };
        out.push(made.get(number));
        fates[place] = match &reasons[number] {
            None => Fate::Kept,
            Some(misfit) => {
                misfits.push((place, misfit.clone()));
                Fate::Dropped
            }
        };
    }
    Ok(Crypted { values: array(out, &fates, like)?, misfits })
}
