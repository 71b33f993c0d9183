//! Names of the rows that values are bound to: text, or whole numbers as decimal digits, as in a
//! CSV file.

use std::fmt::Write;

use parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::metadata::RowGroupMetaData;
use sealstone_fields::Texts;

use crate::column_values::Typed;
use crate::columns::{RowColumn, RowKind};
use crate::error::ParquetError;
use crate::source::Source;

/// The column that names rows.
pub(crate) enum RowNames {
    Text(Typed<ByteArrayType>),
    Short(Typed<Int32Type>, bool),
    Long(Typed<Int64Type>, bool),
}

impl RowNames {
    pub(crate) fn open(
        source: &Source,
        group: &RowGroupMetaData,
        column: RowColumn,
    ) -> Result<Self, ParquetError> {
        Ok(match column.kind {
            RowKind::Text => Self::Text(Typed::open(source, group, column.leaf)?),
            RowKind::Number { bits: 32, signed } => {
                Self::Short(Typed::open(source, group, column.leaf)?, signed)
            }
            RowKind::Number { signed, .. } => {
                Self::Long(Typed::open(source, group, column.leaf)?, signed)
            }
        })
    }

    /// Reads the next `rows` rows, and replaces `into` by the names of the rows with these
    /// `numbers`, in ascending order; empty where there is none.
    pub(crate) fn read(
        &mut self,
        rows: usize,
        numbers: &[usize],
        into: &mut Texts,
    ) -> Result<(), ParquetError> {
        match self {
            Self::Text(column) => {
                // a value that is no text names nothing
                read(column, rows, numbers, into, |value, text| {
                    text.push_str(std::str::from_utf8(value.data()).unwrap_or_default());
                })
            }
            Self::Short(column, signed) => {
                let signed = *signed;
                read(column, rows, numbers, into, |value, text| {
                    let value = if signed { i64::from(*value) } else { i64::from(*value as u32) };
                    write!(text, "{value}").expect("text takes what is written");
                })
            }
            Self::Long(column, signed) => {
                let signed = *signed;
                read(column, rows, numbers, into, |value, text| {
                    let written = if signed {
                        write!(text, "{value}")
                    } else {
                        write!(text, "{}", *value as u64)
                    };
                    written.expect("text takes what is written");
                })
            }
        }
    }
}

fn read<T: DataType>(
    column: &mut Typed<T>,
    rows: usize,
    numbers: &[usize],
    into: &mut Texts,
    write: impl Fn(&T::T, &mut String),
) -> Result<(), ParquetError> {
    column.read(rows)?;
    let mut present = Vec::new();
    column.present(&mut present);
    into.clear();
    let (mut at, mut text) = (0, String::new());
    for number in numbers {
        while present.get(at).is_some_and(|found| found < number) {
            at += 1;
        }
        text.clear();
        if present.get(at) == Some(number) {
            write(&column.values[at], &mut text);
        }
        into.push(&text);
    }
    Ok(())
}
