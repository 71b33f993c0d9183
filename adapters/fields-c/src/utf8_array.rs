//! Many texts in one piece of memory with their offsets, as Arrow's type utf8 lays them out, and as
//! programs in other languages pass them: checked once, read in place.

use sealstone_fields::{Texts, Values};

use crate::failure::Failure;

/// Texts of somebody else, in place.
#[derive(Debug)]
pub(crate) struct LaidOut<'a> {
    offsets: &'a [i32],
    text: &'a str,
    /// Offset at which `text` begins.
    begin: usize,
}

impl<'a> LaidOut<'a> {
    /// Checks texts that come from outside.
    ///
    /// - `offsets`: where each begins, and where the last ends: one more than there are texts, or
    ///   none at all
    /// - `bytes`: all texts, and what else there may be
    pub(crate) fn new(offsets: &'a [i32], bytes: &'a [u8]) -> Result<Self, Failure> {
        let [first, .., last] = offsets else {
            return Ok(Self { offsets: &[], text: "", begin: 0 });
        };
        let wrong = |what: &str| {
            Failure::argument(format!(
                "the offsets {what}\npass as many as there are values and one more, ascending"
            ))
        };
        let begin = usize::try_from(*first).map_err(|_| wrong("begin below zero"))?;
        if let Some(at) = offsets.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(wrong("go back").of_value(at));
        }
        // ascending, so it is not negative
        let end = *last as usize;
        let bytes = bytes.get(begin..end).ok_or_else(|| wrong("go beyond the bytes"))?;
        let not_text = |value: usize| {
            Failure::argument("a value is not UTF-8 text\npass text as UTF-8").of_value(value)
        };
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let valid = error.valid_up_to();
            let beginning = offsets.partition_point(|offset| *offset as usize - begin <= valid);
            not_text(beginning.saturating_sub(1))
        })?;
        let within =
            offsets.iter().position(|offset| !text.is_char_boundary(*offset as usize - begin));
        match within {
            // the first that has a part of a character is the one that ends there
            Some(at) => Err(not_text(at.saturating_sub(1))),
            None => Ok(Self { offsets, text, begin }),
        }
    }
}

impl Values for LaidOut<'_> {
    fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    fn get(&self, index: usize) -> &str {
        let at = |index: usize| self.offsets[index] as usize - self.begin;
        &self.text[at(index)..at(index + 1)]
    }
}

/// One text.
#[derive(Debug)]
pub(crate) struct One<'a>(pub(crate) &'a str);

impl Values for One<'_> {
    fn len(&self) -> usize {
        1
    }

    fn get(&self, _: usize) -> &str {
        self.0
    }
}

/// Returns all texts of `texts` in one, and their offsets.
///
/// # Errors
/// More text than such offsets can have.
pub(crate) fn lay_out(texts: Texts) -> Result<(String, Vec<i32>), Failure> {
    let (text, ends) = texts.into_parts();
    if i32::try_from(text.len()).is_err() {
        return Err(Failure::argument(format!(
            "the results take {} bytes, and 2 GiB is the most\npass fewer values at a time",
            text.len()
        )));
    }
    // checked above: no end is greater than the length
    let offsets = std::iter::once(0).chain(ends.into_iter().map(|end| end as i32)).collect();
    Ok((text, offsets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Code;

    #[test]
    fn texts_are_read_in_place() {
        let laid_out = LaidOut::new(&[2, 3, 3, 9], "--a홍길--".as_bytes()).unwrap();
        let texts: Vec<&str> = (0..laid_out.len()).map(|at| laid_out.get(at)).collect();
        assert_eq!(texts, ["a", "", "홍길"]);
        assert_eq!(LaidOut::new(&[], b"").unwrap().len(), 0);
        assert_eq!(LaidOut::new(&[7], b"").unwrap().len(), 0);
    }

    #[test]
    fn impossible_offsets_and_bytes_are_refused() {
        let bytes = "a홍b".as_bytes();
        for (offsets, at) in [
            (&[-1, 2][..], None),
            (&[i32::MIN, i32::MAX], None),
            (&[0, 6], None),
            (&[i32::MAX, i32::MAX], None),
            (&[0, 4, 1, 5], Some(1)),
            (&[0, 1, 2, 5], Some(1)),
            (&[2, 5], Some(0)),
        ] {
            let failure = LaidOut::new(offsets, bytes).unwrap_err();
            assert_eq!((failure.code, failure.at), (Code::Argument, at), "{offsets:?}");
        }
        let failure = LaidOut::new(&[0, 1, 3], b"a\xff\xfe").unwrap_err();
        assert_eq!((failure.code, failure.at), (Code::Argument, Some(1)));
    }
}
