//! The texts of an array, in any of Arrow's representations, and arrays made of texts.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayAccessor, ArrayRef, GenericStringArray, LargeStringArray, OffsetSizeTrait,
    StringArray, StringViewArray,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use sealstone_fields::Texts;

use crate::dictionary::Places;
use crate::error::ArrayError;

/// Returns the type of the result for an array of the type `kind`: the same, or the type of a
/// dictionary's entries. A dictionary would show the order of the clear values, and values that no
/// row has any more.
#[must_use]
pub fn plain_type(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, entries) => entries,
        kind => kind,
    }
}

/// An array of texts.
#[derive(Clone, Debug)]
pub(crate) enum TextArray<'a> {
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    Dictionary { places: Places, entries: Box<TextArray<'a>> },
}

impl<'a> TextArray<'a> {
    /// # Errors
    /// [`ArrayError::Type`].
    pub(crate) fn of(array: &'a ArrayRef) -> Result<Self, ArrayError> {
        let refused = || ArrayError::Type(array.data_type().clone());
        Ok(match array.data_type() {
            DataType::Utf8 => Self::Utf8(array.as_string()),
            DataType::LargeUtf8 => Self::LargeUtf8(array.as_string()),
            DataType::Utf8View => Self::Utf8View(array.as_string_view()),
            DataType::Dictionary(_, kind) if !matches!(**kind, DataType::Dictionary(..)) => {
                let array = array.as_any_dictionary();
                let entries = Box::new(Self::of(array.values()).map_err(|_| refused())?);
                Self::Dictionary { places: Places::of(array), entries }
            }
            _ => return Err(refused()),
        })
    }

    /// Replaces `texts` by the texts of `range` that are not null, and `numbers` by the number of
    /// each in the array.
    pub(crate) fn present(
        &self,
        range: Range<usize>,
        texts: &mut Vec<&'a str>,
        numbers: &mut Vec<usize>,
    ) {
        match self {
            Self::Utf8(array) => present(*array, range, texts, numbers),
            Self::LargeUtf8(array) => present(*array, range, texts, numbers),
            Self::Utf8View(array) => present(*array, range, texts, numbers),
            Self::Dictionary { .. } => {
                texts.clear();
                numbers.clear();
                for index in range {
                    if let Some(text) = self.get(index) {
                        texts.push(text);
                        numbers.push(index);
                    }
                }
            }
        }
    }

    /// Returns the text at `index`; none if it is null.
    pub(crate) fn get(&self, index: usize) -> Option<&'a str> {
        match self {
            Self::Utf8(array) => array.is_valid(index).then(|| array.value(index)),
            Self::LargeUtf8(array) => array.is_valid(index).then(|| array.value(index)),
            Self::Utf8View(array) => array.is_valid(index).then(|| array.value(index)),
            Self::Dictionary { places, entries } => entries.get(places.get(index)?),
        }
    }
}

fn present<'a>(
    array: impl ArrayAccessor<Item = &'a str>,
    range: Range<usize>,
    texts: &mut Vec<&'a str>,
    numbers: &mut Vec<usize>,
) {
    texts.clear();
    numbers.clear();
    match array.nulls() {
        None => {
            texts.extend(range.clone().map(|index| array.value(index)));
            numbers.extend(range);
        }
        Some(nulls) => {
            numbers.extend(range.filter(|index| nulls.is_valid(*index)));
            texts.extend(numbers.iter().map(|index| array.value(*index)));
        }
    }
}

/// Outcome for one value of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is null.
    Null,
    /// It is null, although it has a text.
    Dropped,
    /// It has the next text.
    Kept,
}

/// Returns an array of `texts` of the type `like`, one of [`TextArray`]'s plain ones.
///
/// - `fates`: the fate of each value of the array
///
/// # Errors
/// [`ArrayError::TooLong`].
pub(crate) fn array(texts: Texts, fates: &[Fate], like: &DataType) -> Result<ArrayRef, ArrayError> {
    let (text, ends) = texts.into_parts();
    let bytes = text.len();
    let too_long = || ArrayError::TooLong { bytes, found: like.clone() };
    let valid: Vec<bool> = fates.iter().map(|fate| *fate == Fate::Kept).collect();
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    Ok(match like {
        DataType::LargeUtf8 => {
            let offsets = offsets::<i64>(&ends, fates).ok_or_else(too_long)?;
            Arc::new(strings(text, offsets, nulls))
        }
        DataType::Utf8View => {
            let offsets = offsets::<i32>(&ends, fates).ok_or_else(too_long)?;
            Arc::new(StringViewArray::from(&strings(text, offsets, nulls)))
        }
        _ => {
            let offsets = offsets::<i32>(&ends, fates).ok_or_else(too_long)?;
            Arc::new(strings(text, offsets, nulls))
        }
    })
}

fn strings<O: OffsetSizeTrait>(
    text: String,
    offsets: Vec<O>,
    nulls: Option<NullBuffer>,
) -> GenericStringArray<O> {
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    GenericStringArray::new(offsets, Buffer::from_vec(text.into_bytes()), nulls)
}

/// Computes the offsets at which each value begins, and the end of the last one; none if the end
/// does not fit an offset.
fn offsets<O: OffsetSizeTrait>(ends: &[usize], fates: &[Fate]) -> Option<Vec<O>> {
    O::from_usize(ends.last().copied().unwrap_or_default())?;
    let (mut ends, mut end) = (ends.iter(), 0);
    let mut offsets = Vec::with_capacity(fates.len() + 1);
    offsets.push(O::usize_as(0));
    for fate in fates {
        if *fate != Fate::Null
            && let Some(next) = ends.next()
        {
            end = *next;
        }
        offsets.push(O::usize_as(end));
    }
    Some(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_take_no_text() {
        let fates = [Fate::Null, Fate::Kept, Fate::Null, Fate::Dropped, Fate::Kept];
        assert_eq!(offsets::<i32>(&[2, 3, 5], &fates), Some(vec![0, 0, 2, 2, 3, 5]));
        assert_eq!(offsets::<i64>(&[], &[]), Some(vec![0]));
    }

    #[test]
    fn offsets_that_would_overflow_are_none() {
        let limit = i32::MAX as usize;
        assert!(offsets::<i32>(&[limit], &[Fate::Kept]).is_some());
        assert!(offsets::<i32>(&[limit, limit + 1], &[Fate::Kept; 2]).is_none());
        assert!(offsets::<i64>(&[limit, limit + 1], &[Fate::Kept; 2]).is_some());
    }
}
