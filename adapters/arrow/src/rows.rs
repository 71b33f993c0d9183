//! Names of the rows that values are bound to: texts, or integers in decimal, as in CSV.

use std::fmt::{Display, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use sealstone_fields::Texts;

use crate::error::ArrayError;
use crate::texts::TextArray;

/// A function that replaces its second argument by the names of the rows with these numbers, empty
/// where null.
pub(crate) type Named<'a> = Box<dyn Fn(&[usize], &mut Texts) + 'a>;

/// Returns the names of the rows of a table, from the array `rows` of its column `column`.
///
/// # Errors
/// [`ArrayError::RowType`].
pub(crate) fn named<'a>(column: &str, rows: &'a ArrayRef) -> Result<Named<'a>, ArrayError> {
    if let Ok(texts) = TextArray::of(rows) {
        return Ok(Box::new(move |numbers: &[usize], into: &mut Texts| {
            into.clear();
            numbers.iter().for_each(|number| into.push(texts.get(*number).unwrap_or_default()));
        }));
    }
    Ok(match rows.data_type() {
        DataType::Null => Box::new(|numbers: &[usize], into: &mut Texts| {
            into.clear();
            numbers.iter().for_each(|_| into.push(""));
        }),
        DataType::Int8 => integers::<Int8Type>(rows),
        DataType::Int16 => integers::<Int16Type>(rows),
        DataType::Int32 => integers::<Int32Type>(rows),
        DataType::Int64 => integers::<Int64Type>(rows),
        DataType::UInt8 => integers::<UInt8Type>(rows),
        DataType::UInt16 => integers::<UInt16Type>(rows),
        DataType::UInt32 => integers::<UInt32Type>(rows),
        DataType::UInt64 => integers::<UInt64Type>(rows),
        other => {
            return Err(ArrayError::RowType { column: column.to_owned(), found: other.clone() });
        }
    })
}

fn integers<T>(rows: &ArrayRef) -> Named<'_>
where
    T: ArrowPrimitiveType,
    T::Native: Display,
{
    let rows = rows.as_primitive::<T>();
    Box::new(move |numbers: &[usize], into: &mut Texts| {
        into.clear();
        let mut text = String::new();
        for &number in numbers {
            text.clear();
            if rows.is_valid(number) {
                write!(text, "{}", rows.value(number)).expect("text takes what is written");
            }
            into.push(&text);
        }
    })
}
