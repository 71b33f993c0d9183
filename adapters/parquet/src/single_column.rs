//! One column, encoded as a separate Parquet file in memory, from which its pages are moved to the
//! output file.

use std::sync::Arc;

use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::DataType;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::error::ParquetError;

/// Encodes a column as `fill` writes it.
///
/// - `root`: a schema of this column alone
pub(crate) fn encode<T: DataType>(
    root: TypePtr,
    name: &str,
    properties: WriterPropertiesPtr,
    fill: impl FnOnce(&mut ColumnWriterImpl<'_, T>) -> Result<(), ParquetError>,
) -> Result<Vec<u8>, ParquetError> {
    let failed = |error| failed(name, &error);
    let mut file = SerializedFileWriter::new(Vec::new(), root, properties).map_err(failed)?;
    let mut group = file.next_row_group().map_err(failed)?;
    let column = group.next_column().map_err(failed)?;
    let mut column = column.ok_or_else(|| ParquetError::damaged("its schema"))?;
    fill(column.typed::<T>())?;
    column.close().map_err(failed)?;
    group.close().map_err(failed)?;
    file.into_inner().map_err(failed)
}

/// Returns the error that the writer of the column `name` failed.
pub(crate) fn failed(name: &str, error: &parquet::errors::ParquetError) -> ParquetError {
    ParquetError::Encode { column: name.to_owned(), found: error.to_string() }
}

/// Returns the encoding settings for a column that was `stored` before: the same compression, with
/// a dictionary, statistics, page indexes and a Bloom filter if it had them. Data pages are of
/// version 1, which all readers support.
///
/// - `is_ordered`: whether statistics of its type mean the same to every reader
pub(crate) fn properties(
    stored: &ColumnChunkMetaData,
    rows: u64,
    is_ordered: bool,
) -> WriterPropertiesPtr {
    let statistics = if !is_ordered {
        EnabledStatistics::None
    } else if stored.column_index_offset().is_some() {
        EnabledStatistics::Page
    } else if stored.statistics().is_some() {
        EnabledStatistics::Chunk
    } else {
        EnabledStatistics::None
    };
    let has_bloom = stored.bloom_filter_offset().is_some();
    let builder = WriterProperties::builder()
        .set_compression(stored.compression())
        .set_dictionary_enabled(stored.dictionary_page_offset().is_some_and(|offset| offset > 0))
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(stored.offset_index_offset().is_none())
        .set_bloom_filter_enabled(has_bloom);
    // setting the number of values enables it, too
    Arc::new(
        if has_bloom { builder.set_bloom_filter_max_ndv(rows.max(1)) } else { builder }.build(),
    )
}

/// Returns the schema `root` with one leaf alone.
pub(crate) fn schema(root: &TypePtr, leaf: usize) -> Option<TypePtr> {
    pruned(root, leaf, &mut 0)
}

fn pruned(node: &TypePtr, wanted: usize, next: &mut usize) -> Option<TypePtr> {
    if node.is_primitive() {
        *next += 1;
        return (*next - 1 == wanted).then(|| node.clone());
    }
    let kept = node.get_fields().iter().find_map(|field| pruned(field, wanted, next))?;
    let info = node.get_basic_info();
    let builder = Type::group_type_builder(node.name())
        .with_fields(vec![kept])
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_id(info.has_id().then(|| info.id()));
    let builder =
        if info.has_repetition() { builder.with_repetition(info.repetition()) } else { builder };
    builder.build().ok().map(Arc::new)
}
