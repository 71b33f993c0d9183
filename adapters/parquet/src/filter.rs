//! A column without the rows that are left out: any type, including nested ones, encoded again.

use parquet::basic::{LogicalType, Type as Physical};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type, Int96Type,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::schema::types::TypePtr;

use crate::column_values::Typed;
use crate::error::ParquetError;
use crate::single_column;
use crate::source::Source;

/// Number of rows that are read at once.
const BATCH_ROWS: usize = 4096;

/// Returns the column `leaf` of `group` as a separate file, with the rows that `keep` selects.
///
/// - `root`: the schema of the file
pub(crate) fn filtered(
    source: &Source,
    root: &TypePtr,
    group: &RowGroupMetaData,
    leaf: usize,
    keep: &[bool],
) -> Result<Vec<u8>, ParquetError> {
    let filter = Filter { source, root, group, leaf, keep };
    match group.column(leaf).column_type() {
        Physical::BOOLEAN => filter.typed::<BoolType>(),
        Physical::INT32 => filter.typed::<Int32Type>(),
        Physical::INT64 => filter.typed::<Int64Type>(),
        Physical::INT96 => filter.typed::<Int96Type>(),
        Physical::FLOAT => filter.typed::<FloatType>(),
        Physical::DOUBLE => filter.typed::<DoubleType>(),
        Physical::BYTE_ARRAY => filter.typed::<ByteArrayType>(),
        Physical::FIXED_LEN_BYTE_ARRAY => filter.typed::<FixedLenByteArrayType>(),
    }
}

struct Filter<'a> {
    source: &'a Source,
    root: &'a TypePtr,
    group: &'a RowGroupMetaData,
    leaf: usize,
    keep: &'a [bool],
}

impl Filter<'_> {
    fn typed<T: DataType>(&self) -> Result<Vec<u8>, ParquetError> {
        let column = self.group.column(self.leaf);
        let name = column.column_path().string();
        let root = single_column::schema(self.root, self.leaf)
            .ok_or_else(|| ParquetError::damaged("its schema"))?;
        // the crate's order differs from the file's, see ColumnOrder in parquet.thrift
        let is_ordered =
            !matches!(column.column_type(), Physical::INT96 | Physical::FLOAT | Physical::DOUBLE)
                && column.column_descr().logical_type_ref() != Some(&LogicalType::Float16);
        let kept = self.keep.iter().filter(|keep| **keep).count() as u64;
        let properties = single_column::properties(column, kept, is_ordered);
        let mut reader = Typed::<T>::open(self.source, self.group, self.leaf)?;
        single_column::encode::<T>(root, &name, properties, |writer| {
            for keep in self.keep.chunks(BATCH_ROWS) {
                reader.read(keep.len())?;
                self.write(&reader, keep, writer)
                    .map_err(|error| single_column::failed(&name, &error))?;
            }
            reader.end()
        })
    }

    fn write<T: DataType>(
        &self,
        read: &Typed<T>,
        keep: &[bool],
        writer: &mut ColumnWriterImpl<'_, T>,
    ) -> Result<(), parquet::errors::ParquetError> {
        let description = self.group.column(self.leaf).column_descr();
        let (max_definition, max_repetition) =
            (description.max_def_level(), description.max_rep_level());
        let levels = if max_definition > 0 { read.definitions.len() } else { read.values.len() };
        let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
        // the row after the last that began, and the value after the last that was seen
        let (mut row, mut value) = (0, 0);
        for level in 0..levels {
            if max_repetition == 0 || read.repetitions[level] == 0 {
                row += 1;
            }
            let is_kept = row > 0 && keep.get(row - 1) == Some(&true);
            let has_value = max_definition == 0 || read.definitions[level] == max_definition;
            if is_kept {
                definitions.extend(read.definitions.get(level));
                repetitions.extend(read.repetitions.get(level));
                if has_value {
                    values.push(read.values[value].clone());
                }
            }
            value += usize::from(has_value);
        }
        let definitions = (max_definition > 0).then_some(&definitions[..]);
        let repetitions = (max_repetition > 0).then_some(&repetitions[..]);
        writer.write_batch(&values, definitions, repetitions)?;
        Ok(())
    }
}
