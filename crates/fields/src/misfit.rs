//! Reasons why a value does not fit its column's format, without the value: the position, the kind
//! of character found there, and the expectation.

use std::borrow::Cow;

use sealstone_keys::KeyRef;

/// Reason why a value could not be sealed or opened. No variant holds the value, or a letter or
/// digit of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// Nothing is there.
    #[error("it is empty")]
    Empty,
    /// A character that has no place there.
    #[error("character {position} is {found}, expected {expected}")]
    Character {
        /// Position of the character, from 1.
        position: usize,
        /// Kind of character that was found.
        found: Cow<'static, str>,
        /// Description of the expected character.
        expected: Cow<'static, str>,
    },
    /// It is over too soon, or not over where it should be.
    #[error("it has {found} {what}, expected {expected}")]
    Length {
        /// Number found.
        found: usize,
        /// Unit of both numbers: `characters`, `digits`.
        what: &'static str,
        /// Number expected.
        expected: Cow<'static, str>,
    },
    /// So few characters are encrypted that all values can be tried (SP 800-38G Rev. 1: at least a
    /// million).
    #[error(
        "{found} encrypted characters are too few: {needed} at least, for a million possible values"
    )]
    SmallDomain {
        /// Number found.
        found: usize,
        /// Number needed.
        needed: usize,
    },
    /// The day does not exist.
    #[error("characters {from} to {to} are not the date of a day")]
    NoDate {
        /// Position where the date begins, from 1.
        from: usize,
        /// Position where the date ends.
        to: usize,
    },
    /// A day outside of what the format allows.
    #[error("the date is not from {first} to {last}")]
    OtherDate {
        /// The first day that is allowed.
        first: String,
        /// The last one.
        last: String,
    },
    /// A check digit that does not check.
    #[error("character {position}, the check digit, does not fit the digits before it")]
    CheckDigit {
        /// Position of the character, from 1.
        position: usize,
    },
    /// Bytes that are not text in the encoding of the file.
    #[error("it is not {encoding} text")]
    Encoding {
        /// The encoding.
        encoding: &'static str,
    },
    /// A sealed value that does not open.
    #[error("{0}")]
    Record(Cow<'static, str>),
    /// A value that needs a key which is looked for.
    #[error("it is sealed under key {0}")]
    Under(KeyRef),
    /// A sealed value that is too long for its column of a database.
    #[error("sealed it has {found} characters, and the column has room for {room}")]
    Width {
        /// Number found.
        found: u64,
        /// For how many there is room.
        room: u64,
    },
    /// A value that is marked as sealed, but is not the value that the mark was set for.
    #[error(
        "something wrote over it after it was sealed, past the trigger that keeps its mark; if it \
         is in the clear, set its mark to NULL"
    )]
    WrittenOver,
    /// Lack of what the value is bound to.
    #[error("column {column}, which it is bound to, is empty")]
    NoRow {
        /// The column that names the row.
        column: String,
    },
}

/// Returns the kind of character that `c` is, but never the exact letter or digit.
pub(crate) fn kind(c: char) -> Cow<'static, str> {
    match c {
        '0'..='9' => "a digit".into(),
        'a'..='z' => "a lower-case letter".into(),
        'A'..='Z' => "an upper-case letter".into(),
        '가'..='힣' => "a Hangul syllable".into(),
        ' ' => "a space".into(),
        c if c.is_ascii_punctuation() => format!("{c:?}").into(),
        c if c.is_control() => "a control character".into(),
        c if c.is_alphabetic() => "a letter of another alphabet".into(),
        _ => "another character".into(),
    }
}

/// Returns the reason that the character `c` at `position`, from 1, should be `expected`.
pub(crate) fn character(
    position: usize,
    c: char,
    expected: impl Into<Cow<'static, str>>,
) -> Misfit {
    Misfit::Character { position, found: kind(c), expected: expected.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_and_no_digit_is_named() {
        for c in "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ가힣éß漢".chars()
        {
            assert!(!kind(c).contains('\''), "{}", kind(c));
        }
        assert_eq!(kind('-'), "'-'");
        assert_eq!(
            character(3, 'x', "a digit").to_string(),
            "character 3 is a lower-case letter, expected a digit"
        );
    }
}
