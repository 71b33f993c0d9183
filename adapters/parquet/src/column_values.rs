//! The values of one column of a row group, some rows at a time.

use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::reader::{ColumnReaderImpl, get_column_reader, get_typed_column_reader};
use parquet::data_type::DataType;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::SerializedPageReader;

use crate::error::ParquetError;
use crate::source::Source;

/// A column of type `T`.
pub(crate) struct Typed<T: DataType> {
    reader: ColumnReaderImpl<T>,
    name: String,
    max_definition: i16,
    max_repetition: i16,
    /// The values of the rows that were read last, without nulls.
    pub(crate) values: Vec<T::T>,
    /// Their definition levels; none for a column that is required.
    pub(crate) definitions: Vec<i16>,
    /// Their repetition levels; none for a column without lists.
    pub(crate) repetitions: Vec<i16>,
}

impl<T: DataType> Typed<T> {
    /// Returns the column `leaf` of `group`, which is of type `T`.
    pub(crate) fn open(
        source: &Source,
        group: &RowGroupMetaData,
        leaf: usize,
    ) -> Result<Self, ParquetError> {
        let (column, description) = (group.column(leaf), group.column(leaf).column_descr_ptr());
        let name = description.path().string();
        if column.compression() == Compression::LZO {
            return Err(ParquetError::Codec { column: name, codec: "LZO" });
        }
        let wrong = |error| ParquetError::of(format!("column {name}"), error);
        let builder = column.clone().into_builder();
        // some writers store a zero where the page is missing
        let dictionary = column.dictionary_page_offset().filter(|offset| *offset > 0);
        let column = builder.set_dictionary_page_offset(dictionary).build().map_err(wrong)?;
        let rows = group.num_rows() as usize;
        let pages = SerializedPageReader::new(Arc::new(source.clone()), &column, rows, None)
            .map_err(wrong)?;
        let (max_definition, max_repetition) =
            (description.max_def_level(), description.max_rep_level());
        let reader = get_typed_column_reader::<T>(get_column_reader(description, Box::new(pages)));
        let (values, definitions, repetitions) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { reader, name, max_definition, max_repetition, values, definitions, repetitions })
    }

    /// Reads the next `rows` rows, which must be there.
    pub(crate) fn read(&mut self, rows: usize) -> Result<(), ParquetError> {
        let read = self.some(rows)?;
        if read != rows {
            return Err(ParquetError::damaged(format!(
                "column {}, which ends before its row group,",
                self.name
            )));
        }
        Ok(())
    }

    /// Checks that all was read.
    pub(crate) fn end(&mut self) -> Result<(), ParquetError> {
        if self.some(1)? != 0 {
            return Err(ParquetError::damaged(format!(
                "column {}, which has more rows than its row group,",
                self.name
            )));
        }
        Ok(())
    }

    fn some(&mut self, rows: usize) -> Result<usize, ParquetError> {
        self.values.clear();
        self.definitions.clear();
        self.repetitions.clear();
        let definitions = (self.max_definition > 0).then_some(&mut self.definitions);
        let repetitions = (self.max_repetition > 0).then_some(&mut self.repetitions);
        let read = self.reader.read_records(rows, definitions, repetitions, &mut self.values);
        let (read, ..) =
            read.map_err(|error| ParquetError::of(format!("column {}", self.name), error))?;
        Ok(read)
    }

    /// Replaces `numbers` by the numbers of the rows that have a value, in a column without lists.
    pub(crate) fn present(&self, numbers: &mut Vec<usize>) {
        numbers.clear();
        if self.max_definition == 0 {
            numbers.extend(0..self.values.len());
        } else {
            let is_there = |number: &usize| self.definitions[*number] == self.max_definition;
            numbers.extend((0..self.definitions.len()).filter(is_there));
        }
    }
}
