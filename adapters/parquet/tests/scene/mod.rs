//! Parquet files for the tests, written by the crate `parquet` column by column, and passes over
//! them.

#![allow(dead_code, reason = "each test program uses a part")]

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use sealstone_cipher::{Backend, cipher};
use sealstone_fields::pass::{Counts, Listener, OnMisfit, Plan, Work};
use sealstone_fields::policy::{Column, ColumnOptions, Table};
use sealstone_fields::{ColumnCipher, Keyed};
use sealstone_keys::{EphemeralKey, KeySource};
use sealstone_parquet::{BATCH_ROWS, Input, ParquetError, Pass};

/// Names, some of them null; telephone numbers; a number, a list and a struct that stay in the
/// clear.
pub(crate) const SCHEMA: &str = "message people {
    required int64 id;
    optional binary name (STRING);
    required binary phone (UTF8);
    optional double score;
    optional group tags (LIST) { repeated group list { optional binary element (STRING); } }
    optional group place { required int32 x (UINT_8); optional int96 y; }
    optional binary memo (STRING);
    required boolean flag;
}";

/// One row of [`SCHEMA`].
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) id: i64,
    pub(crate) name: Option<String>,
    pub(crate) phone: String,
    pub(crate) memo: Option<String>,
}

/// Returns `count` people, each with other values, every seventh without a name.
pub(crate) fn people(count: usize) -> Vec<Person> {
    let person = |n: usize| Person {
        id: n as i64 * 3 - 30,
        name: (n % 7 != 3).then(|| format!("Clearname{n:06}")),
        phone: format!("010-{:04}-{:04}", 1000 + n / 10_000, n % 10_000),
        memo: (n % 5 != 1).then(|| {
            if n % 5 == 2 { String::new() } else { format!("a clear memo, number {n:06}") }
        }),
    };
    (0..count).map(person).collect()
}

/// Layout in which a file is written.
#[derive(Clone)]
pub(crate) struct Layout {
    pub(crate) compression: Compression,
    pub(crate) group_rows: usize,
    pub(crate) statistics: EnabledStatistics,
    pub(crate) bloom: bool,
    pub(crate) dictionary: bool,
}

impl Default for Layout {
    fn default() -> Self {
        let statistics = EnabledStatistics::Page;
        Self {
            compression: Compression::UNCOMPRESSED,
            group_rows: 1000,
            statistics,
            bloom: true,
            dictionary: true,
        }
    }
}

/// Returns a file of `people`.
pub(crate) fn file(people: &[Person], layout: &Layout) -> Vec<u8> {
    let key_values = vec![
        KeyValue { key: "note".into(), value: Some("kept as it is".into()) },
        KeyValue { key: "nothing".into(), value: None },
    ];
    let sorting = |column_idx| SortingColumn { column_idx, descending: false, nulls_first: true };
    let properties = WriterProperties::builder()
        .set_created_by("a writer of the test".into())
        .set_compression(layout.compression)
        .set_statistics_enabled(layout.statistics)
        .set_offset_index_disabled(layout.statistics != EnabledStatistics::Page)
        .set_bloom_filter_enabled(layout.bloom)
        .set_bloom_filter_max_ndv(layout.group_rows as u64)
        .set_dictionary_enabled(layout.dictionary)
        .set_data_page_row_count_limit(300)
        .set_write_batch_size(100)
        .set_key_value_metadata(Some(key_values))
        .set_sorting_columns(Some(vec![sorting(0), sorting(1), sorting(2)]))
        .build();
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    for group in people.chunks(layout.group_rows) {
        let mut columns = writer.next_row_group().unwrap();
        let mut leaf = 0;
        while let Some(mut column) = columns.next_column().unwrap() {
            write(leaf, group, column.untyped());
            column.close().unwrap();
            leaf += 1;
        }
        columns.close().unwrap();
    }
    writer.into_inner().unwrap()
}

fn texts<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> (Vec<ByteArray>, Vec<i16>) {
    let texts: Vec<_> = texts.collect();
    let values = texts.iter().flatten().map(|text| ByteArray::from(*text));
    (values.collect(), texts.iter().map(|text| i16::from(text.is_some())).collect())
}

fn write(leaf: usize, group: &[Person], column: &mut ColumnWriter<'_>) {
    let numbers = group.iter().map(|person| person.id);
    match (leaf, column) {
        (0, ColumnWriter::Int64ColumnWriter(column)) => {
            column.write_batch(&numbers.collect::<Vec<_>>(), None, None).unwrap();
        }
        (1, ColumnWriter::ByteArrayColumnWriter(column)) => {
            let (values, levels) = texts(group.iter().map(|person| person.name.as_deref()));
            column.write_batch(&values, Some(&levels), None).unwrap();
        }
        (2, ColumnWriter::ByteArrayColumnWriter(column)) => {
            let (values, _) = texts(group.iter().map(|person| Some(person.phone.as_str())));
            column.write_batch(&values, None, None).unwrap();
        }
        (3, ColumnWriter::DoubleColumnWriter(column)) => {
            let levels: Vec<i16> = numbers.clone().map(|id| i16::from(id % 2 == 0)).collect();
            let values: Vec<f64> =
                numbers.filter(|id| id % 2 == 0).map(|id| id as f64 / 4.0).collect();
            column.write_batch(&values, Some(&levels), None).unwrap();
        }
        (4, ColumnWriter::ByteArrayColumnWriter(column)) => {
            // none, empty, one null, two
            let (mut values, mut definitions, mut repetitions) =
                (Vec::new(), Vec::new(), Vec::new());
            for id in numbers {
                let entries: &[i16] = [&[0][..], &[1], &[2], &[3, 3]][id.rem_euclid(4) as usize];
                for (at, definition) in entries.iter().enumerate() {
                    definitions.push(*definition);
                    repetitions.push(i16::from(at > 0));
                    if *definition == 3 {
                        values.push(ByteArray::from(format!("tag {id} {at}").as_str()));
                    }
                }
            }
            column.write_batch(&values, Some(&definitions), Some(&repetitions)).unwrap();
        }
        (5, ColumnWriter::Int32ColumnWriter(column)) => {
            let levels: Vec<i16> = numbers.clone().map(|id| i16::from(id % 3 == 0)).collect();
            let values: Vec<i32> =
                numbers.filter(|id| id % 3 == 0).map(|id| (id & 0xff) as i32).collect();
            column.write_batch(&values, Some(&levels), None).unwrap();
        }
        (6, ColumnWriter::Int96ColumnWriter(column)) => {
            let levels: Vec<i16> = numbers.map(|id| i16::from(id % 3 == 0)).collect();
            column.write_batch(&[], Some(&levels), None).unwrap();
        }
        (7, ColumnWriter::ByteArrayColumnWriter(column)) => {
            let (values, levels) = texts(group.iter().map(|person| person.memo.as_deref()));
            column.write_batch(&values, Some(&levels), None).unwrap();
        }
        (8, ColumnWriter::BoolColumnWriter(column)) => {
            column
                .write_batch(&numbers.map(|id| id % 2 == 0).collect::<Vec<_>>(), None, None)
                .unwrap();
        }
        (leaf, _) => panic!("leaf {leaf}"),
    }
}

/// Result of a pass: the file, the counts, and the reasons with their rows.
pub(crate) type Outcome = Result<(Vec<u8>, Counts, Vec<String>), ParquetError>;

/// A table and its key.
pub(crate) struct Scene {
    pub(crate) table: Table,
    pub(crate) keyed: Keyed,
    pub(crate) on_misfit: OnMisfit,
    pub(crate) batch_rows: usize,
}

impl Scene {
    pub(crate) fn new(columns: &[(&str, ColumnOptions)]) -> Self {
        let columns =
            columns.iter().map(|(spec, options)| Column::parse(spec, options).unwrap()).collect();
        let source: Arc<dyn KeySource> = Arc::new(EphemeralKey::new().unwrap());
        Self {
            table: Table::new("people", cipher("aes-256").unwrap(), columns).unwrap(),
            keyed: Keyed::current(source).unwrap(),
            on_misfit: OnMisfit::Fail,
            batch_rows: BATCH_ROWS,
        }
    }

    pub(crate) fn ciphers(&self) -> Vec<ColumnCipher> {
        let cipher =
            |column| ColumnCipher::new(&self.table, column, &self.keyed, Backend::auto()).unwrap();
        self.table.columns.iter().map(cipher).collect()
    }

    pub(crate) fn plan(&self, work: Work) -> Plan {
        Plan { table: self.table.clone(), work }
    }

    pub(crate) fn pass(&self, work: Work, input: &[u8]) -> Outcome {
        let plan = self.plan(work);
        let stop = AtomicBool::new(false);
        let (on_misfit, batch_rows, threads) =
            (self.on_misfit, self.batch_rows, NonZeroUsize::new(3));
        let pass = Pass { plan: &plan, on_misfit, threads, batch_rows, stop: &stop };
        let (mut out, mut reasons, mut rows) = (Vec::new(), Vec::new(), 0);
        let mut on_reject = |reject: &sealstone_fields::pass::Reject| {
            reasons.push(format!("{} {}: {}", reject.place, reject.column, reject.misfit));
            Ok(())
        };
        let mut on_progress = |progress: sealstone_fields::pass::Progress| rows = progress.rows;
        let mut listener = Listener { on_reject: &mut on_reject, on_progress: &mut on_progress };
        let counts =
            pass.run(&Input::new(stored(input)).unwrap(), &mut out, None, &mut listener)?;
        assert_eq!(rows, counts.rows + counts.rejected);
        Ok((out, counts, reasons))
    }

    pub(crate) fn seal(&self, input: &[u8]) -> Vec<u8> {
        self.pass(Work::Seal(self.ciphers()), input).unwrap().0
    }

    pub(crate) fn open(&self, input: &[u8]) -> Vec<u8> {
        self.pass(Work::Open(self.ciphers()), input).unwrap().0
    }
}

/// Returns a file on the disk.
pub(crate) fn stored(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    file
}

pub(crate) fn reader(file: &[u8]) -> SerializedFileReader<Bytes> {
    SerializedFileReader::new(Bytes::copy_from_slice(file)).unwrap()
}

/// Returns each row, with its columns by name.
pub(crate) fn rows(file: &[u8]) -> Vec<HashMap<String, String>> {
    let columns = |row: parquet::record::Row| {
        row.get_column_iter().map(|(name, value)| (name.clone(), value.to_string())).collect()
    };
    reader(file).get_row_iter(None).unwrap().map(|row| columns(row.unwrap())).collect()
}

/// Returns a column of text, without the quotes that the reader shows; none where it is null.
pub(crate) fn column(file: &[u8], name: &str) -> Vec<Option<String>> {
    let text = |value: &String| (value != "null").then(|| value.trim_matches('"').to_owned());
    rows(file).iter().map(|row| text(&row[name])).collect()
}

pub(crate) fn contains(file: &[u8], text: &str) -> bool {
    file.windows(text.len()).any(|window| window == text.as_bytes())
}
