//! The work on one sealed column of a row group: its values are read, sealed or opened together,
//! and encoded.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType,
    Int32Type, Int64Type, Int96Type,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::schema::types::{Type, TypePtr};
use sealstone_fields::pass::{ColumnCount, Plan, Worked};
use sealstone_fields::{Misfit, Texts};

use crate::column_values::Typed;
use crate::columns::Columns;
use crate::error::ParquetError;
use crate::row_names::RowNames;
use crate::single_column;
use crate::source::Source;

/// Number of rows that are sealed at once by default: enough for the ciphers' batches, few enough
/// to stay in the cache.
pub const BATCH_ROWS: usize = 4096;
/// Number of rows that are handed to the encoder at once, however many are sealed at once: pages
/// end where the encoder checks.
const ENCODED_ROWS: usize = 4096;

/// A row group, and the work on it.
#[derive(Clone, Copy)]
pub(crate) struct GroupWork<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) columns: &'a Columns,
    pub(crate) source: &'a Source,
    /// The schema of the file.
    pub(crate) root: &'a TypePtr,
    pub(crate) group: &'a RowGroupMetaData,
    /// Number of rows that are sealed at once.
    pub(crate) batch_rows: usize,
    /// Each turns true when the work is to end early.
    pub(crate) stops: [&'a AtomicBool; 2],
}

/// Findings in a column of a row group.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Values that do not fit, by the number of the row in its group, in ascending order.
    pub(crate) misfits: Vec<(usize, Misfit)>,
    pub(crate) count: ColumnCount,
}

/// A column as a separate file, and its index column.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    pub(crate) values: Vec<u8>,
    pub(crate) index: Option<Vec<u8>>,
}

/// Some rows of a column.
struct Batch<'a> {
    /// The first row, counted from 0 in the group.
    first: usize,
    rows: usize,
    /// The numbers of the rows that have a value, from `first`.
    numbers: &'a [usize],
    /// Definition levels, of a column that is optional.
    definitions: &'a [i16],
}

impl Batch<'_> {
    /// Returns the numbers of the `rows` that have a value.
    fn values_in(&self, rows: &Range<usize>) -> &[usize] {
        let at = |row: usize| self.numbers.partition_point(|number| *number < row);
        &self.numbers[at(rows.start)..at(rows.end)]
    }
}

type Writer<'a> = ColumnWriterImpl<'a, ByteArrayType>;

impl GroupWork<'_> {
    /// Looks which values of the column `at` of the table do not fit.
    pub(crate) fn examine(&self, at: usize) -> Result<Found, ParquetError> {
        if self.columns.nulls[at] {
            return self.check_nulls(at).map(|()| Found::default());
        }
        self.walk(at, false, |_, _| Ok(()))
    }

    /// Encodes the column `at` of the table. Without `keep` the work ends after the first values
    /// that do not fit, and the encoded column is then incomplete.
    ///
    /// - `keep`: for each row of the group, whether it stays
    pub(crate) fn encode(
        &self,
        at: usize,
        keep: Option<&[bool]>,
    ) -> Result<(Encoded, Found), ParquetError> {
        if self.columns.nulls[at] {
            return self.encode_nulls(at, keep);
        }
        let leaf = self.columns.leaves[at];
        let stored = self.group.column(leaf);
        let column = &self.plan.table.columns[at];
        let rows = keep.map_or(self.group.num_rows() as usize, |keep| {
            keep.iter().filter(|keep| **keep).count()
        });
        let properties = single_column::properties(stored, rows as u64, true);
        let root = single_column::schema(self.root, leaf)
            .ok_or_else(|| ParquetError::damaged("its schema"))?;
        let index = column.index.as_ref().filter(|_| self.columns.indexed.contains(&at));
        let (mut found, mut index_file) = (Found::default(), None);
        let values = single_column::encode::<ByteArrayType>(
            root,
            &column.name,
            properties.clone(),
            |values| {
                let Some(index) = index else {
                    found = self.write(at, keep, values, None)?;
                    return Ok(());
                };
                let optional = stored.column_descr().max_def_level() > 0;
                let index_root = index_schema(&index.name, optional)
                    .map_err(|error| single_column::failed(&index.name, &error))?;
                index_file = Some(single_column::encode::<ByteArrayType>(
                    index_root,
                    &index.name,
                    properties,
                    |indexes| {
                        found = self.write(at, keep, values, Some(indexes))?;
                        Ok(())
                    },
                )?);
                Ok(())
            },
        )?;
        Ok((Encoded { values, index: index_file }, found))
    }

    /// Checks that the column `at` of the table, which is declared to hold only nulls, holds no
    /// value: a value would stay in the clear.
    fn check_nulls(&self, at: usize) -> Result<(), ParquetError> {
        match self.group.column(self.columns.leaves[at]).column_type() {
            Physical::BOOLEAN => self.no_values::<BoolType>(at),
            Physical::INT32 => self.no_values::<Int32Type>(at),
            Physical::INT64 => self.no_values::<Int64Type>(at),
            Physical::INT96 => self.no_values::<Int96Type>(at),
            Physical::FLOAT => self.no_values::<FloatType>(at),
            Physical::DOUBLE => self.no_values::<DoubleType>(at),
            Physical::BYTE_ARRAY => self.no_values::<ByteArrayType>(at),
            Physical::FIXED_LEN_BYTE_ARRAY => self.no_values::<FixedLenByteArrayType>(at),
        }
    }

    fn no_values<T: DataType>(&self, at: usize) -> Result<(), ParquetError> {
        let (mut first, all) = (0, self.group.num_rows() as usize);
        if all == 0 {
            return Ok(());
        }
        let mut column = Typed::<T>::open(self.source, self.group, self.columns.leaves[at])?;
        while first < all {
            if self.stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
                return Err(ParquetError::Stopped);
            }
            let rows = self.batch_rows.clamp(1, all - first);
            column.read(rows)?;
            if !column.values.is_empty() {
                let found = "said to hold nulls only, and holds values".to_owned();
                return Err(ParquetError::NoText {
                    column: self.plan.table.columns[at].name.clone(),
                    found,
                });
            }
            first += rows;
        }
        column.end()
    }

    /// Returns the index column of the column `at` of the table, which holds nulls only, where it
    /// gets one.
    fn encode_nulls(
        &self,
        at: usize,
        keep: Option<&[bool]>,
    ) -> Result<(Encoded, Found), ParquetError> {
        self.check_nulls(at)?;
        let rows = keep.map_or(self.group.num_rows() as usize, |keep| {
            keep.iter().filter(|keep| **keep).count()
        });
        let mut encoded = Encoded::default();
        let index = self.plan.table.columns[at].index.as_ref();
        if let Some(index) = index.filter(|_| self.columns.indexed.contains(&at)) {
            let properties = single_column::properties(
                self.group.column(self.columns.leaves[at]),
                rows as u64,
                true,
            );
            let failed = |error| single_column::failed(&index.name, &error);
            let root = index_schema(&index.name, true).map_err(failed)?;
            encoded.index = Some(single_column::encode::<ByteArrayType>(
                root,
                &index.name,
                properties,
                |indexes| {
                    indexes.write_batch(&[], Some(&vec![0; rows]), None).map(drop).map_err(failed)
                },
            )?);
        }
        Ok((encoded, Found::default()))
    }

    fn write(
        &self,
        at: usize,
        keep: Option<&[bool]>,
        values: &mut Writer<'_>,
        mut indexes: Option<&mut Writer<'_>>,
    ) -> Result<Found, ParquetError> {
        let name = &self.plan.table.columns[at].name;
        self.walk(at, keep.is_none(), |batch, worked| {
            let kept = |number: &usize| keep.is_none_or(|keep| keep[batch.first + number]);
            let failed = |error| single_column::failed(name, &error);
            let texts = worked.values.map(|texts| arrays(texts, batch.numbers, &kept));
            let index = indexes
                .as_ref()
                .map(|_| arrays(worked.index, batch.numbers, &kept))
                .unwrap_or_default();
            let mut written = 0;
            for begin in (0..batch.rows).step_by(ENCODED_ROWS) {
                let rows = begin..batch.rows.min(begin + ENCODED_ROWS);
                let part = written
                    ..written + batch.values_in(&rows).iter().filter(|number| kept(number)).count();
                written = part.end;
                if !rows.clone().any(|number| kept(&number)) {
                    continue;
                }
                let levels =
                    rows.filter(kept).filter_map(|number| batch.definitions.get(number).copied());
                let levels: Vec<i16> = levels.collect();
                let definitions = (!batch.definitions.is_empty()).then_some(&levels[..]);
                if let Some(texts) = &texts {
                    values.write_batch(&texts[part.clone()], definitions, None).map_err(failed)?;
                }
                if let Some(indexes) = &mut indexes {
                    indexes.write_batch(&index[part], definitions, None).map_err(failed)?;
                }
            }
            Ok(())
        })
    }

    /// Does the work of the plan on the column `at` of the table, and hands the results to `each`.
    ///
    /// - `ends`: whether to end after the first values that do not fit
    fn walk(
        &self,
        at: usize,
        ends: bool,
        mut each: impl FnMut(&Batch<'_>, Worked) -> Result<(), ParquetError>,
    ) -> Result<Found, ParquetError> {
        if self.group.num_rows() == 0 {
            return Ok(Found::default());
        }
        let mut texts =
            Typed::<ByteArrayType>::open(self.source, self.group, self.columns.leaves[at])?;
        let names = self.columns.rows[at].map(|row| RowNames::open(self.source, self.group, row));
        let (mut names, mut named, mut numbers) = (names.transpose()?, Texts::new(), Vec::new());
        let (mut found, mut first, all) = (Found::default(), 0, self.group.num_rows() as usize);
        while first < all {
            if self.stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
                return Err(ParquetError::Stopped);
            }
            let rows = self.batch_rows.clamp(1, all - first);
            texts.read(rows)?;
            texts.present(&mut numbers);
            if let Some(names) = &mut names {
                names.read(rows, &numbers, &mut named)?;
            }
            let mut misfits = Vec::new();
            let values: Vec<&str> = texts
                .values
                .iter()
                .enumerate()
                .map(|(number, value)| {
                    std::str::from_utf8(value.data()).unwrap_or_else(|_| {
                        misfits.push((number, Misfit::Encoding { encoding: "UTF-8" }));
                        ""
                    })
                })
                .collect();
            let named = names.as_ref().map(|_| &named);
            let worked =
                self.plan.work_on(at, &values[..], named, &mut found.count, &mut misfits)?;
            // a value that is no text may not fit as an empty value, either: the first reason
            // counts
            misfits.sort_by_key(|(number, _)| *number);
            misfits.dedup_by_key(|(number, _)| *number);
            found.count.misfits += misfits.len() as u64;
            found.misfits.extend(
                misfits.into_iter().map(|(number, misfit)| (first + numbers[number], misfit)),
            );
            if ends && !found.misfits.is_empty() {
                return Ok(found);
            }
            each(
                &Batch { first, rows, numbers: &numbers, definitions: &texts.definitions },
                worked,
            )?;
            first += rows;
        }
        texts.end()?;
        Ok(found)
    }
}

/// Returns the values of the rows that are kept; all share their memory.
fn arrays(texts: Texts, numbers: &[usize], kept: &impl Fn(&usize) -> bool) -> Vec<ByteArray> {
    let (text, ends) = texts.into_parts();
    let text = Bytes::from(text.into_bytes());
    let mut start = 0;
    let mut arrays = Vec::with_capacity(numbers.len());
    for (number, end) in numbers.iter().zip(ends) {
        if kept(number) {
            arrays.push(ByteArray::from(text.slice(start..end)));
        }
        start = end;
    }
    arrays
}

/// Returns a schema of one column of text.
fn index_schema(name: &str, optional: bool) -> Result<TypePtr, parquet::errors::ParquetError> {
    let repetition = if optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let column = Type::primitive_type_builder(name, Physical::BYTE_ARRAY)
        .with_repetition(repetition)
        .with_logical_type(Some(LogicalType::String))
        .build()?;
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(vec![Arc::new(column)]).build()?))
}
