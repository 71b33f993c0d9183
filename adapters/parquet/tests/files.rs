//! Files sealed and opened: changed and unchanged parts, byte by byte.

mod scene;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::bloom_filter::Sbbf;
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::EnabledStatistics;
use parquet::file::reader::FileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use scene::{Layout, Person, Scene, column, contains, file, people, reader, rows};
use sealstone_fields::csv;
use sealstone_fields::pass::{Listener, OnMisfit, Work};
use sealstone_fields::policy::{ColumnOptions, Tweak};
use sealstone_parquet::BATCH_ROWS;

fn indexed(bits: u32) -> ColumnOptions {
    ColumnOptions { index: Some((None, Some(bits))), ..ColumnOptions::default() }
}

fn bound() -> ColumnOptions {
    ColumnOptions { tweak: Tweak::Row("id".into()), ..ColumnOptions::default() }
}

fn usual() -> Scene {
    let keeps = ColumnOptions { keeps_empty: true, ..ColumnOptions::default() };
    Scene::new(&[
        ("name=ff1:alphanumerics", bound()),
        ("phone=ff1:phone", ColumnOptions::default()),
        ("memo=aead", keeps),
    ])
}

const SEALED: [&str; 3] = ["name", "phone", "memo"];

/// Returns the pages of each column that is not sealed, by its path.
fn clear_pages(file: &[u8]) -> Vec<(String, Vec<u8>)> {
    let reader = reader(file);
    let columns = reader.metadata().row_groups().iter().flat_map(|group| group.columns());
    let pages = columns.map(|column| {
        let (start, length) = column.byte_range();
        (column.column_path().string(), file[start as usize..(start + length) as usize].to_vec())
    });
    pages.filter(|(name, _)| !SEALED.contains(&name.as_str())).collect()
}

/// Other writers' files of a table without rows, or with a column in which they saw no value, are
/// sealed and opened.
#[test]
fn files_without_rows_or_values_are_sealed_and_opened() {
    for (name, file, count) in [
        ("fastparquet", include_str!("scene/parquet-fastparquet-0-rows.parquet.hex"), 0),
        ("pyarrow", include_str!("scene/parquet-pyarrow-0-rows.parquet.hex"), 0),
        ("null", include_str!("scene/parquet-null-type-column.parquet.hex"), 2),
    ] {
        let digits: Vec<u8> =
            file.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
        let file =
            &digits.chunks_exact(2).map(|pair| pair[0] * 16 + pair[1]).collect::<Vec<u8>>()[..];
        for options in [ColumnOptions::default(), indexed(16)] {
            let is_indexed = options.index.is_some();
            let scene = Scene::new(&[("memo=aead", options)]);
            let sealed = scene.seal(file);
            let opened = scene.open(&sealed);
            // the crate by which the test reads refuses an empty list of row groups without a type,
            // as fastparquet's is
            let mut typed = file.to_vec();
            if let Some(at) =
                file.windows(6).position(|bytes| bytes == [0x16, 0, 0x19, 0, 0x19, 0x1c])
            {
                typed[at + 3] = 0x0c;
            }
            let file = &typed[..];
            let schema = |file: &[u8]| reader(file).metadata().file_metadata().schema().clone();
            assert_eq!(schema(&opened), schema(file), "{name}");
            let groups = |file: &[u8]| reader(file).metadata().num_row_groups();
            assert_eq!((groups(&sealed), groups(&opened)), (groups(file), groups(file)), "{name}");
            assert_eq!(rows(&opened), rows(file), "{name}");
            let sealed = rows(&sealed);
            assert_eq!(sealed.len(), count, "{name}");
            assert!(
                sealed
                    .iter()
                    .all(|row| row["memo"] == "null" && row.len() == 2 + usize::from(is_indexed)),
                "{name}"
            );
        }
    }
}

#[test]
fn text_that_is_marked_as_json_keeps_its_mark() {
    for schema in [
        "optional binary memo (JSON)",
        "required binary memo (JSON)",
        "optional binary memo (ENUM)",
    ] {
        let root = parse_message_type(&format!("message rows {{ {schema}; }}")).unwrap();
        let mut file =
            SerializedFileWriter::new(Vec::new(), Arc::new(root), Arc::default()).unwrap();
        let mut group = file.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let values = ["{\"a\": 1}", "[]"].map(ByteArray::from);
        let levels = schema.starts_with("optional").then_some(&[1, 1][..]);
        column.typed::<ByteArrayType>().write_batch(&values, levels, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        let file = file.into_inner().unwrap();
        let scene = Scene::new(&[("memo=aead", ColumnOptions::default())]);
        let sealed = scene.seal(&file);
        assert!(!contains(&sealed, "{\"a\": 1}"));
        let schema = |file: &[u8]| reader(file).metadata().file_metadata().schema().clone();
        assert_eq!(schema(&sealed), schema(&file));
        let opened = scene.open(&sealed);
        assert_eq!((schema(&opened), rows(&opened)), (schema(&file), rows(&file)));
    }
}

#[test]
fn only_sealed_columns_change_and_open_to_the_same_under_every_compression() {
    let gzip = Compression::GZIP(GzipLevel::default());
    let all = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        gzip,
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
    ];
    let scene = usual();
    for compression in all {
        let layout = Layout { compression, ..Layout::default() };
        let plain = file(&people(2500), &layout);
        let sealed = scene.seal(&plain);
        let opened = scene.open(&sealed);
        assert_eq!(rows(&opened), rows(&plain), "{compression:?}");
        assert_eq!(clear_pages(&sealed), clear_pages(&plain), "{compression:?}");
        let (before, after) = (reader(&plain), reader(&sealed));
        let (before, after) = (before.metadata(), after.metadata());
        let of_file = |metadata: &parquet::file::metadata::ParquetMetaData| {
            let file = metadata.file_metadata();
            let schema = file.schema().clone();
            (
                file.version(),
                file.num_rows(),
                file.created_by().map(str::to_owned),
                file.key_value_metadata().cloned(),
                schema,
            )
        };
        assert_eq!(of_file(after), of_file(before));
        assert_eq!(after.num_row_groups(), 3);
        for (before, after) in before.row_groups().iter().zip(after.row_groups()) {
            assert_eq!(after.num_rows(), before.num_rows());
            // the second was sealed, so the order after the first is unknown
            assert_eq!(
                (before.sorting_columns().unwrap().len(), after.sorting_columns().unwrap().len()),
                (3, 1)
            );
            for (before, after) in before.columns().iter().zip(after.columns()) {
                let name = before.column_path().string();
                assert_eq!(after.compression_codec(), before.compression_codec(), "{name}");
                assert_eq!(after.num_values(), before.num_values(), "{name}");
                let is_there = |column: &parquet::file::metadata::ColumnChunkMetaData| {
                    (
                        column.bloom_filter_offset().is_some(),
                        column.column_index_offset().is_some(),
                        column.offset_index_offset().is_some(),
                    )
                };
                assert_eq!(is_there(after), is_there(before), "{name}");
                assert_eq!(after.statistics().is_some(), before.statistics().is_some(), "{name}");
                if !SEALED.contains(&name.as_str()) {
                    assert_eq!(after.statistics(), before.statistics(), "{name}");
                }
            }
        }
        for (before, after) in rows(&plain).iter().zip(rows(&sealed)) {
            for (name, value) in before {
                let is_sealed =
                    SEALED.contains(&name.as_str()) && value != "null" && value != "\"\"";
                assert_eq!(*value != after[name], is_sealed, "{name}");
            }
        }
    }
}

#[test]
fn the_indexes_of_columns_in_the_clear_still_lead_to_their_pages() {
    use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
    let scene = usual();
    let plain = file(&people(2500), &Layout::default());
    let sealed = scene.seal(&plain);
    let read = |file: &[u8]| {
        let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
        reader.parse_and_finish(&bytes::Bytes::copy_from_slice(file)).unwrap()
    };
    let (before, after) = (read(&plain), read(&sealed));
    let (before, after) = (before.page_index().unwrap(), after.page_index().unwrap());
    for (group, leaf) in [(0, 0), (1, 4), (2, 8), (1, 2)] {
        let pages = |file: &[u8],
                     index: &dyn parquet::file::metadata::page_index::PageIndexProvider|
         -> Vec<Vec<u8>> {
            let pages = index.page_locations(group, leaf).unwrap().iter();
            pages
                .map(|page| {
                    file[page.offset as usize..][..page.compressed_page_size as usize].to_vec()
                })
                .collect()
        };
        let (before_pages, after_pages) = (pages(&plain, &**before), pages(&sealed, &**after));
        assert!(before_pages.len() > 1);
        assert_eq!(before_pages == after_pages, leaf != 2, "group {group}, leaf {leaf}");
        let column_index = |index: &dyn parquet::file::metadata::page_index::PageIndexProvider| {
            format!("{:?}", index.column_index(group, leaf).unwrap())
        };
        assert_eq!(
            column_index(&**before) == column_index(&**after),
            leaf != 2,
            "group {group}, leaf {leaf}"
        );
    }
}

#[test]
fn no_clear_value_is_left_anywhere() {
    let scene = Scene::new(&[
        ("name=ff1:alphanumerics", indexed(32)),
        ("phone=ff1:phone", bound()),
        ("memo=aead", bound()),
    ]);
    let people = people(1200);
    // Of a hundred million numbers a sealed one is now and then that of somebody else: in one run
    // of 70.
    let mut phones = 0;
    for dictionary in [true, false] {
        for statistics in
            [EnabledStatistics::Page, EnabledStatistics::Chunk, EnabledStatistics::None]
        {
            let layout = Layout { dictionary, statistics, ..Layout::default() };
            let plain = file(&people, &layout);
            let sealed = scene.seal(&plain);
            for Person { name, phone, memo, .. } in people.iter().step_by(7) {
                let memo = memo.as_deref().filter(|memo| !memo.is_empty());
                for value in name.as_deref().into_iter().chain(memo) {
                    assert!(contains(&plain, value), "{value} was there");
                    assert!(!contains(&sealed, value), "{value} is still there");
                }
                assert!(contains(&plain, phone), "{phone} was there");
                phones += usize::from(contains(&sealed, phone));
            }
            // their common beginning, as in cut statistics
            assert!(contains(&plain, "Clearname") && !contains(&sealed, "Clearname"));
            assert!(contains(&plain, "a clear memo") && !contains(&sealed, "a clear memo"));
        }
    }
    assert!(phones < 3, "{phones} phone numbers are still there");
    // Bloom filters contain sealed values, and no others
    let (plain, before) =
        (file(&people, &Layout::default()), column(&file(&people, &Layout::default()), "name"));
    let sealed = scene.seal(&plain);
    let after = column(&sealed, "name");
    let filter = |file: &[u8]| {
        let reader = reader(file);
        let chunk = reader.metadata().row_group(0).column(1);
        Sbbf::read_from_column_chunk(chunk, &bytes::Bytes::copy_from_slice(file)).unwrap().unwrap()
    };
    let (plain_filter, sealed_filter) = (filter(&plain), filter(&sealed));
    let of = |filter: &Sbbf, values: &[Option<String>]| {
        values[..1000].iter().flatten().filter(|value| filter.check(&value.as_str())).count()
    };
    let names = before[..1000].iter().flatten().count();
    assert_eq!((of(&plain_filter, &before), of(&sealed_filter, &after)), (names, names));
    assert!(of(&sealed_filter, &before) < names / 5, "clear values are in the filter");
}

#[test]
fn csv_and_parquet_have_the_same_sealed_values() {
    let mut options = bound();
    options.index = Some((None, Some(48)));
    let scene =
        Scene::new(&[("name=ff1:alphanumerics", options), ("phone=ff1:phone", indexed(16))]);
    let people: Vec<Person> =
        people(3000).into_iter().filter(|person| person.name.is_some()).collect();
    let sealed = scene.seal(&file(&people, &Layout::default()));
    let line = |person: &Person| {
        format!("{},{},{}\n", person.id, person.name.as_deref().unwrap(), person.phone)
    };
    let text: String =
        std::iter::once("id,name,phone\n".to_owned()).chain(people.iter().map(line)).collect();
    let plan = scene.plan(Work::Seal(scene.ciphers()));
    let (stop, threads) = (AtomicBool::new(false), NonZeroUsize::new(2));
    let layout = csv::Layout { delimiter: b',', encoding: csv::Encoding::Utf8 };
    let pass = csv::Pass {
        plan: &plan,
        layout,
        on_misfit: OnMisfit::Fail,
        threads,
        chunk_bytes: csv::CHUNK_BYTES,
        stop: &stop,
    };
    let mut listener = Listener { on_reject: &mut |_| Ok(()), on_progress: &mut |_| {} };
    let mut out = Vec::new();
    pass.run(text.as_bytes(), &mut out, None, None, &mut listener).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out.lines().next(), Some("id,name,phone,name_index,phone_index"));
    let rows = rows(&sealed);
    assert_eq!(rows.len(), people.len());
    for (row, line) in rows.iter().zip(out.lines().skip(1)) {
        let of = |name: &str| row[name].trim_matches('"').to_owned();
        let row = ["id", "name", "phone", "name_index", "phone_index"].map(of);
        assert_eq!(row.join(","), line);
    }
}

#[test]
fn nulls_stay_null_and_index_columns_come_and_go() {
    let scene = Scene::new(&[
        ("name=aead", indexed(32)),
        ("phone=ff1:phone", indexed(16)),
        ("memo=aead", indexed(64)),
    ]);
    let plain = file(&people(1500), &Layout::default());
    let (sealed, counts, _) = scene.pass(Work::Seal(scene.ciphers()), &plain).unwrap();
    assert_eq!(
        (counts.rows, counts.columns[0].values, counts.columns[1].values),
        (1500, 1286, 1500)
    );
    let names: Vec<String> = reader(&sealed)
        .metadata()
        .file_metadata()
        .schema()
        .get_fields()
        .iter()
        .map(|field| field.name().to_owned())
        .collect();
    assert_eq!(names[names.len() - 3..], ["name_index", "phone_index", "memo_index"]);
    let [name, indexes, before] =
        [column(&sealed, "name"), column(&sealed, "name_index"), column(&plain, "name")];
    for ((name, index), before) in name.iter().zip(&indexes).zip(&before) {
        assert_eq!((name.is_some(), index.is_some()), (before.is_some(), before.is_some()));
        assert!(index.as_ref().is_none_or(|index| index.len() == 8));
    }
    assert!(
        column(&sealed, "phone_index")
            .iter()
            .all(|index| index.as_ref().is_some_and(|index| index.len() == 4))
    );
    // sealed again under another key, and opened
    let mut other = usual();
    other.table = scene.table.clone();
    let (again, ..) = scene.pass(Work::Reseal(scene.ciphers(), other.ciphers()), &sealed).unwrap();
    assert_ne!(column(&again, "name_index"), column(&sealed, "name_index"));
    for opened in [scene.open(&sealed), other.open(&again)] {
        assert_eq!(rows(&opened), rows(&plain));
        assert_eq!(clear_pages(&opened), clear_pages(&plain));
        let schema = |file: &[u8]| reader(file).metadata().file_metadata().schema().clone();
        assert_eq!(schema(&opened), schema(&plain));
    }
}

#[test]
fn rows_that_do_not_fit_are_left_out_of_all_columns() {
    let mut scene = usual();
    let mut people = people(2500);
    people[10].name = Some("no-letters-only".into());
    people[10].phone = "none".into();
    people[1999].phone = String::new();
    // a whole row group of them
    people[1000..1999].iter_mut().for_each(|person| person.phone = "?".into());
    let plain = file(&people, &Layout::default());
    let error = scene.pass(Work::Seal(scene.ciphers()), &plain).unwrap_err().to_string();
    assert!(error.starts_with("row 11, column name: character 3 is '-', expected "), "{error}");
    scene.on_misfit = OnMisfit::Report;
    let (sealed, counts, reasons) = scene.pass(Work::Seal(scene.ciphers()), &plain).unwrap();
    assert_eq!((counts.rows, counts.rejected, reasons.len()), (1499, 1001, 1002));
    assert!(
        reasons[0].starts_with("11 name: ") && reasons[1].starts_with("11 phone: "),
        "{reasons:?}"
    );
    assert_eq!(reasons[1001], "2000 phone: it is empty");
    assert_eq!(reader(&sealed).metadata().num_row_groups(), 2);
    scene.on_misfit = OnMisfit::Fail;
    let opened = scene.open(&sealed);
    let kept: Vec<Person> =
        people.iter().filter(|person| person.phone.len() > 4).cloned().collect();
    assert_eq!(rows(&opened), rows(&file(&kept, &Layout { group_rows: 999, ..Layout::default() })));
    // the row group without these rows is moved unchanged
    let (before, after) = (clear_pages(&plain), clear_pages(&sealed));
    assert_eq!(before[12..], after[6..]);
    // a check reports the same
    scene.on_misfit = OnMisfit::Report;
    let (nothing, checked, same) = scene.pass(Work::Check, &plain).unwrap();
    assert!(nothing.is_empty());
    assert_eq!((checked.rows, checked.rejected, same), (counts.rows, counts.rejected, reasons));
    assert_eq!(checked.columns[1].choices_least, Some(1e8));
}

#[test]
fn files_without_rows_and_columns_of_numbers_that_name_rows_are_sealed() {
    let scene = usual();
    let empty = file(&[], &Layout::default());
    let sealed = scene.seal(&empty);
    assert!(rows(&sealed).is_empty());
    assert_eq!(reader(&scene.open(&sealed)).metadata().num_row_groups(), 0);
    // the number that names a row is its decimal digits, negative ones with a sign: 0 rows share
    // one
    let plain = file(&people(20), &Layout::default());
    let names = column(&scene.seal(&plain), "name");
    let mut one = people(20);
    one.iter_mut().for_each(|person| person.name = Some("thesameforall".into()));
    let same = column(&scene.seal(&file(&one, &Layout::default())), "name");
    let distinct: std::collections::HashSet<_> = same.iter().flatten().collect();
    assert_eq!((names.len(), distinct.len()), (20, 20));
}

#[test]
fn the_file_is_the_same_however_many_rows_are_sealed_at_once() {
    let mut scene =
        Scene::new(&[("name=ff1:alphanumerics", indexed(32)), ("phone=ff1:phone", bound())]);
    scene.on_misfit = OnMisfit::Report;
    // pages of 20,000 rows and of a megabyte, and rows left out, so that pages end anywhere
    let mut people = people(50_000);
    people.iter_mut().skip(11).step_by(501).for_each(|person| person.phone.clear());
    let plain = file(&people, &Layout { group_rows: 45_000, ..Layout::default() });
    let (usual, counts, _) = scene.pass(Work::Seal(scene.ciphers()), &plain).unwrap();
    assert_eq!((counts.rows, counts.rejected), (49_900, 100));
    for batch_rows in [3 * BATCH_ROWS, 32 * BATCH_ROWS] {
        scene.batch_rows = batch_rows;
        assert!(
            scene.pass(Work::Seal(scene.ciphers()), &plain).unwrap().0 == usual,
            "{batch_rows} rows at once"
        );
    }
}
