//! Values as the driver sends and receives them, for any type that the server reports for a column:
//! tables made by YCSB have other types than ours.

use std::error::Error;
use std::io::Write;

use bytes::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use sealstone_store::Record;

use super::numeric;
use crate::sql::Param;

type AnyError = Box<dyn Error + Sync + Send>;

/// A value in a statement.
#[derive(Debug)]
pub(super) struct Sent<'a>(pub(super) Param<'a>);

impl ToSql for Sent<'_> {
    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, AnyError> {
        let wrong = |value: &[u8]| {
            format!("{:?} is no value of type {column}", String::from_utf8_lossy(value))
        };
        match (self.0, column) {
            (Param::Null, _) => return Ok(IsNull::Yes),
            (Param::Number(number), &Type::INT8) => out.extend_from_slice(&number.to_be_bytes()),
            (Param::Number(number), &Type::INT4) => {
                out.extend_from_slice(&i32::try_from(number)?.to_be_bytes())
            }
            (Param::Number(number), &Type::INT2) => {
                out.extend_from_slice(&i16::try_from(number)?.to_be_bytes())
            }
            (Param::Number(number), &Type::NUMERIC) => {
                let digits = number.to_string();
                numeric::encode(digits.as_bytes(), |bytes| out.extend_from_slice(bytes))
                    .ok_or_else(|| wrong(b""))?;
            }
            // text and bytes are sent unchanged
            (Param::Number(number), _) => out.extend_from_slice(number.to_string().as_bytes()),
            (Param::Bytes(value), &Type::INT2 | &Type::INT4 | &Type::INT8) => {
                let number = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
                return Sent(Param::Number(number.ok_or_else(|| wrong(value))?))
                    .to_sql(column, out);
            }
            (Param::Bytes(value), &Type::NUMERIC) => {
                numeric::encode(value, |bytes| out.extend_from_slice(bytes))
                    .ok_or_else(|| wrong(value))?;
            }
            (Param::Bytes(value), _) => out.extend_from_slice(value),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value of a row.
pub(super) struct Received<'a> {
    column: &'a Type,
    bytes: &'a [u8],
}

/// A value as received.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, bytes: &'a [u8]) -> Result<Self, AnyError> {
        Ok(Raw(bytes))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl<'a> Received<'a> {
    /// Value number `at` of `row`; `None` if it is NULL.
    pub(super) fn of(row: &'a postgres::Row, at: usize) -> Result<Option<Self>, postgres::Error> {
        let found: Option<Raw<'a>> = row.try_get(at)?;
        Ok(found.map(|Raw(bytes)| Self { column: row.columns()[at].type_(), bytes }))
    }

    /// Returns the same as text or bytes, as it was written; `None` for a number that is none.
    pub(super) fn push(&self, scratch: &mut Vec<u8>, into: &mut Record) -> Option<()> {
        scratch.clear();
        let number = match *self.column {
            Type::INT8 => i64::from_be_bytes(self.bytes.try_into().ok()?),
            Type::INT4 => i32::from_be_bytes(self.bytes.try_into().ok()?).into(),
            Type::INT2 => i16::from_be_bytes(self.bytes.try_into().ok()?).into(),
            Type::NUMERIC => {
                numeric::decode(self.bytes, scratch)?;
                into.push(scratch);
                return Some(());
            }
            _ => {
                into.push(self.bytes);
                return Some(());
            }
        };
        write!(scratch, "{number}").ok()?;
        into.push(scratch);
        Some(())
    }

    /// Returns the bytes that were received.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Appends `param` to `line`, a line of COPY's text form.
pub(super) fn copy(param: Param<'_>, is_bytes: bool, line: &mut Vec<u8>) {
    match param {
        Param::Null => line.extend_from_slice(b"\\N"),
        // a buffer in memory takes everything
        Param::Number(number) => drop(write!(line, "{number}")),
        Param::Bytes(value) if is_bytes => {
            line.extend_from_slice(b"\\\\x");
            value.iter().for_each(|byte| drop(write!(line, "{byte:02x}")));
        }
        Param::Bytes(value) => {
            for byte in value {
                match byte {
                    b'\\' => line.extend_from_slice(b"\\\\"),
                    b'\n' => line.extend_from_slice(b"\\n"),
                    b'\r' => line.extend_from_slice(b"\\r"),
                    b'\t' => line.extend_from_slice(b"\\t"),
                    byte => line.push(*byte),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_copy_has_nothing_that_ends_it() {
        let mut line = Vec::new();
        copy(Param::Bytes(b"a\tb\\N\r\n"), false, &mut line);
        line.push(b'|');
        copy(Param::Null, false, &mut line);
        copy(Param::Bytes(b"\x00\xff"), true, &mut line);
        copy(Param::Number(-7), false, &mut line);
        assert_eq!(String::from_utf8(line).unwrap(), "a\\tb\\\\N\\r\\n|\\N\\\\x00ff-7");
    }

    #[test]
    fn a_number_fits_whatever_column_it_meets() {
        let sent = |param, column: &Type| {
            let mut out = BytesMut::new();
            Sent(param).to_sql(column, &mut out).map(|_| out.to_vec())
        };
        assert_eq!(sent(Param::Number(7), &Type::INT4).unwrap(), [0, 0, 0, 7]);
        assert_eq!(sent(Param::Number(7), &Type::VARCHAR).unwrap(), b"7");
        assert_eq!(sent(Param::Bytes(b"7"), &Type::INT2).unwrap(), [0, 7]);
        assert!(
            sent(Param::Bytes(b"x"), &Type::INT8).is_err()
                && sent(Param::Number(1 << 40), &Type::INT4).is_err()
        );
    }
}
