//! Arrays from a user's view: every type of text, nulls, slices, rows that are numbers, values that
//! do not fit, dictionaries, and the same results as without Arrow.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int16Array, Int32Array,
    Int64Array, LargeStringArray, NullArray, StringArray, StringViewArray, UInt8Array, UInt64Array,
};
use arrow_schema::DataType;
use sealstone_arrow::{ArrayError, index_array, open_array, seal_array};
use sealstone_cipher::{Backend, cipher};
use sealstone_fields::policy::{Column, ColumnOptions, Table, Tweak};
use sealstone_fields::{ColumnCipher, Keyed, Misfit, Texts};
use sealstone_keys::{EphemeralKey, KeySource};

fn key() -> Arc<dyn KeySource> {
    Arc::new(EphemeralKey::new().unwrap())
}

fn column(spec: &str, options: &ColumnOptions, key: &Arc<dyn KeySource>) -> ColumnCipher {
    let column = Column::parse(spec, options).unwrap();
    let table = Table::new("people", cipher("aria-256").unwrap(), vec![column]).unwrap();
    let keyed = Keyed::current(key.clone()).unwrap();
    ColumnCipher::new(&table, &table.columns[0], &keyed, Backend::auto()).unwrap()
}

fn phone() -> ColumnCipher {
    column("phone=ff1:phone", &ColumnOptions::default(), &key())
}

fn by_row() -> ColumnOptions {
    ColumnOptions { tweak: Tweak::Row("id".into()), ..ColumnOptions::default() }
}

const PHONES: [Option<&str>; 5] =
    [Some("010-1234-5678"), None, Some("010-8765-4321"), Some("02-312-5678-99"), None];

/// Returns the texts of `array`, whatever its type.
fn texts(array: &ArrayRef) -> Vec<Option<String>> {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(owned).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(owned).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(owned).collect(),
        other => panic!("{other}"),
    }
}

fn every_type(values: &[Option<&str>]) -> [ArrayRef; 3] {
    [
        Arc::new(StringArray::from(values.to_vec())),
        Arc::new(LargeStringArray::from(values.to_vec())),
        Arc::new(StringViewArray::from(values.to_vec())),
    ]
}

#[test]
fn nulls_and_types_stay() {
    for spec in ["phone=ff1:phone", "phone=aead"] {
        let cipher = column(spec, &ColumnOptions::default(), &key());
        for values in every_type(&PHONES) {
            let sealed = seal_array(&cipher, &values, None).unwrap();
            assert_eq!((sealed.values.data_type(), sealed.misfits.len()), (values.data_type(), 0));
            let clear = texts(&values);
            for (sealed, clear) in texts(&sealed.values).iter().zip(&clear) {
                assert_eq!(sealed.is_none(), clear.is_none());
                assert!(sealed.is_none() || sealed != clear, "{sealed:?}");
            }
            let opened = open_array(&cipher, &sealed.values, None).unwrap();
            assert_eq!(opened.values.to_data(), values.to_data());
        }
    }
}

#[test]
fn arrays_seal_to_what_texts_do() {
    let cipher = phone();
    let present: Texts = PHONES.iter().flatten().collect();
    let (mut out, mut misfits) = (Texts::new(), Vec::new());
    cipher.seal(&present, None, &mut out, &mut misfits).unwrap();
    for values in every_type(&PHONES) {
        let sealed = seal_array(&cipher, &values, None).unwrap();
        let found: Vec<String> = texts(&sealed.values).into_iter().flatten().collect();
        assert_eq!(found, out.iter().collect::<Vec<_>>());
    }
}

#[test]
fn long_and_sliced_arrays() {
    let cipher = phone();
    let values: Vec<Option<String>> = (0..20_000)
        .map(|n| (n % 7 != 3).then(|| format!("010-{:04}-{n:05}", n * 17 % 9973)))
        .collect();
    let values: Vec<Option<&str>> = values.iter().map(Option::as_deref).collect();
    for array in every_type(&values) {
        let whole = seal_array(&cipher, &array, None).unwrap();
        for (start, length) in
            [(0, 20_000), (1, 4096), (4095, 4097), (19_999, 1), (5, 0), (20_000, 0)]
        {
            let slice = array.slice(start, length);
            let sealed = seal_array(&cipher, &slice, None).unwrap();
            assert_eq!(texts(&sealed.values), texts(&whole.values)[start..start + length]);
            let opened = open_array(&cipher, &whole.values.slice(start, length), None).unwrap();
            assert_eq!(texts(&opened.values), texts(&slice));
        }
    }
}

#[test]
fn rows_are_text_or_integers() {
    let key = key();
    for spec in ["phone=ff1:phone", "phone=aead"] {
        let cipher = column(spec, &by_row(), &key);
        let [values, ..] = every_type(&PHONES);
        let text: ArrayRef = Arc::new(StringArray::from(vec!["1", "2", "-3", "40", "5"]));
        let sealed = seal_array(&cipher, &values, Some(&text)).unwrap();
        let rows: [ArrayRef; 4] = [
            Arc::new(Int64Array::from(vec![1, 2, -3, 40, 5])),
            Arc::new(Int16Array::from(vec![1, 2, -3, 40, 5])),
            Arc::new(StringViewArray::from(vec!["1", "2", "-3", "40", "5"])),
            Arc::new(Int64Array::from(vec![0, 1, 2, -3, 40, 5]).slice(1, 5)),
        ];
        for rows in rows {
            let opened = open_array(&cipher, &sealed.values, Some(&rows)).unwrap();
            assert_eq!(
                (texts(&opened.values), opened.misfits.len()),
                (texts(&values), 0),
                "{spec}"
            );
        }
        let swapped: ArrayRef = Arc::new(UInt64Array::from(vec![40, 2, 3, 1, 5]));
        let opened = open_array(&cipher, &sealed.values, Some(&swapped)).unwrap();
        assert_ne!(texts(&opened.values), texts(&values), "{spec}");
    }
}

#[test]
fn what_does_not_fit_is_null_and_named() {
    let cipher = phone();
    let values: ArrayRef =
        Arc::new(StringArray::from(vec![None, Some("none"), Some("010-1234-5678"), Some("")]));
    let sealed = seal_array(&cipher, &values, None).unwrap();
    let numbers: Vec<usize> = sealed.misfits.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, [1, 3]);
    assert_eq!(sealed.misfits[1].1, Misfit::Empty);
    assert_eq!(
        texts(&sealed.values).iter().map(Option::is_some).collect::<Vec<_>>(),
        [false, false, true, false]
    );
    assert!(!format!("{:?}", sealed.misfits).contains("none"));

    // beyond the first part that goes to the cipher
    let mut many = vec![Some("010-1234-5678"); 10_000];
    (many[0], many[9_000]) = (None, Some("x"));
    let [many, ..] = every_type(&many);
    assert_eq!(seal_array(&cipher, &many, None).unwrap().misfits[0].0, 9_000);

    let memo = column("memo=aead", &by_row(), &key());
    let values: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("b"), None]));
    let rows: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, None]));
    let sealed = seal_array(&memo, &values, Some(&rows)).unwrap();
    assert_eq!(sealed.misfits, [(1, Misfit::NoRow { column: "id".into() })]);
    assert!(sealed.values.is_valid(0) && sealed.values.is_null(1) && sealed.values.is_null(2));
}

#[test]
fn other_types_are_refused_with_a_remedy() {
    let cipher = phone();
    let words = |result: Result<_, ArrayError>| {
        result.map(|_: sealstone_arrow::Crypted| ()).unwrap_err().to_string()
    };
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let error = words(seal_array(&cipher, &numbers, None));
    assert!(error.contains("Int64") && error.ends_with("cast them to text first"), "{error}");
    let category: ArrayRef =
        Arc::new(DictionaryArray::<Int32Type>::new(vec![0].into(), numbers.clone()));
    let error = words(seal_array(&cipher, &category, None));
    assert!(
        error.contains("Dictionary(Int32, Int64)") && error.ends_with("cast them to text first"),
        "{error}"
    );
    assert!(index_array(&cipher, &category).is_err());

    let bound = column("phone=ff1:phone", &by_row(), &key());
    let values: ArrayRef = Arc::new(StringArray::from(vec!["010-1234-5678"; 2]));
    assert!(words(seal_array(&bound, &values, None)).contains("column id, which was not given"));
    assert!(words(seal_array(&bound, &values, Some(&numbers))).starts_with("1 rows for 2 values"));
    let others: [ArrayRef; 2] =
        [Arc::new(Float64Array::from(vec![1.0; 2])), Arc::new(BooleanArray::from(vec![true; 2]))];
    for rows in others {
        assert!(words(seal_array(&bound, &values, Some(&rows))).contains("cannot name rows"));
    }
}

/// Arrays of numbers into `entries`, in the types that libraries use.
fn dictionaries(entries: &[Option<&str>], numbers: &[Option<i32>]) -> Vec<ArrayRef> {
    let short =
        || UInt8Array::from_iter(numbers.iter().map(|number| number.map(|number| number as u8)));
    let of = |entries: ArrayRef| -> [ArrayRef; 2] {
        [
            Arc::new(DictionaryArray::<Int32Type>::new(
                Int32Array::from(numbers.to_vec()),
                entries.clone(),
            )),
            Arc::new(DictionaryArray::<UInt8Type>::new(short(), entries)),
        ]
    };
    every_type(entries).into_iter().flat_map(of).collect()
}

#[test]
fn dictionaries_become_what_their_texts_do() {
    let entries =
        [Some("no phone"), Some("010-1234-5678"), None, Some("010-8765-4321"), Some("unused")];
    let numbers = [Some(3), None, Some(1), Some(2), Some(3), Some(3), Some(1)];
    let plain: Vec<_> =
        numbers.iter().map(|number| number.and_then(|number| entries[number as usize])).collect();
    let index = ColumnOptions { index: Some((None, Some(24))), ..ColumnOptions::default() };
    let key = key();
    for (spec, options) in
        [("phone=ff1:phone", index.clone()), ("phone=aead", index), ("phone=aead", by_row())]
    {
        let cipher = column(spec, &options, &key);
        let rows: Option<ArrayRef> =
            cipher.row().map(|_| Arc::new(Int64Array::from_iter_values(0..7)) as ArrayRef);
        for values in dictionaries(&entries, &numbers) {
            let sealed = seal_array(&cipher, &values, rows.as_ref()).unwrap();
            assert_eq!(sealed.misfits, []);
            let DataType::Dictionary(_, kind) = values.data_type() else {
                panic!("{}", values.data_type())
            };
            assert_eq!(sealed.values.data_type(), &**kind);
            // authenticated values all differ, whatever they are made of
            let seen: Vec<String> = texts(&sealed.values).into_iter().flatten().collect();
            let distinct: std::collections::BTreeSet<&String> = seen.iter().collect();
            assert_eq!(
                (seen.len(), distinct.len()),
                (5, if cipher.is_deterministic() { 2 } else { 5 }),
                "{spec}"
            );
            let [utf8, ..] = every_type(&plain);
            if cipher.is_deterministic() {
                assert_eq!(
                    texts(&sealed.values),
                    texts(&seal_array(&cipher, &utf8, None).unwrap().values)
                );
            }
            assert_eq!(
                texts(&index_array(&cipher, &values).unwrap()),
                texts(&index_array(&cipher, &utf8).unwrap())
            );
            let opened = open_array(&cipher, &sealed.values, rows.as_ref()).unwrap();
            assert_eq!(texts(&opened.values), texts(&utf8));
            // texts that a file or a server has put into a dictionary again
            let sealed_entries: Vec<Option<String>> = texts(&sealed.values);
            let sealed_entries: Vec<Option<&str>> =
                sealed_entries.iter().map(Option::as_deref).collect();
            let places: Vec<Option<i32>> = (0..7).map(Some).collect();
            for again in dictionaries(&sealed_entries, &places) {
                let opened = open_array(&cipher, &again, rows.as_ref()).unwrap();
                assert_eq!((texts(&opened.values), opened.misfits.len()), (texts(&utf8), 0));
            }
            let part_rows = rows.as_ref().map(|rows| rows.slice(2, 3));
            let part = seal_array(&cipher, &values.slice(2, 3), part_rows.as_ref()).unwrap();
            assert_eq!(
                texts(&part.values).iter().map(Option::is_some).collect::<Vec<_>>(),
                [true, false, true]
            );
        }
    }
}

#[test]
fn entries_of_a_dictionary_that_do_not_fit_are_named_at_every_place() {
    let cipher = phone();
    let entries = [Some("none"), Some("010-1234-5678"), Some("never used")];
    for values in dictionaries(&entries, &[Some(0), Some(1), None, Some(0)]) {
        let sealed = seal_array(&cipher, &values, None).unwrap();
        assert_eq!(sealed.misfits.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(
            texts(&sealed.values).iter().map(Option::is_some).collect::<Vec<_>>(),
            [false, true, false, false]
        );
    }
    // more entries than go to the cipher at once
    let many: Vec<String> = (0..10_000).map(|n| format!("010-{n:04}-{n:05}")).collect();
    let many: Vec<Option<&str>> = many.iter().map(|text| Some(text.as_str())).collect();
    let places: Vec<i32> = (0..20_000).map(|n| n * 7 % 10_000).collect();
    let [entries, ..] = every_type(&many);
    let values: ArrayRef =
        Arc::new(DictionaryArray::<Int32Type>::new(places.clone().into(), entries));
    let plain: Vec<Option<&str>> = places.iter().map(|place| many[*place as usize]).collect();
    let [plain, ..] = every_type(&plain);
    let sealed = seal_array(&cipher, &values, None).unwrap();
    assert_eq!(texts(&sealed.values), texts(&seal_array(&cipher, &plain, None).unwrap().values));
}

#[test]
fn dictionaries_without_entries_and_dictionaries_that_name_rows() {
    for spec in ["phone=ff1:phone", "phone=aead"] {
        let cipher = column(spec, &ColumnOptions::default(), &key());
        for values in dictionaries(&[], &[None, None]) {
            let sealed = seal_array(&cipher, &values, None).unwrap();
            assert_eq!((sealed.values.null_count(), sealed.misfits.len()), (2, 0));
        }
        let nulls: ArrayRef = Arc::new(NullArray::new(0));
        let values: ArrayRef =
            Arc::new(DictionaryArray::<Int32Type>::new(vec![None, None].into(), nulls));
        let sealed = seal_array(&cipher, &values, None).unwrap();
        assert_eq!((sealed.values.len(), sealed.values.data_type()), (2, &DataType::Null));
    }
    let cipher = column("phone=ff1:phone", &by_row(), &key());
    let [values, ..] = every_type(&PHONES[2..4]);
    let [names, ..] = every_type(&[Some("b"), Some("a")]);
    let sealed = seal_array(&cipher, &values, Some(&names)).unwrap();
    for rows in dictionaries(&[Some("a"), Some("b")], &[Some(1), Some(0)]) {
        let opened = open_array(&cipher, &sealed.values, Some(&rows)).unwrap();
        assert_eq!(texts(&opened.values), texts(&values));
    }
}

#[test]
fn index_values_are_those_of_the_texts() {
    let options = ColumnOptions { index: Some((None, Some(24))), ..ColumnOptions::default() };
    let cipher = column("phone=aead", &options, &key());
    for values in every_type(&PHONES) {
        let index = index_array(&cipher, &values).unwrap();
        assert_eq!(index.data_type(), values.data_type());
        for (found, value) in texts(&index).iter().zip(PHONES) {
            let wanted = value.map(|value| {
                let mut text = String::new();
                cipher.index(value, &mut text).unwrap();
                text
            });
            assert_eq!(*found, wanted);
            assert!(found.as_ref().is_none_or(|text| text.len() == 6));
        }
    }
}

/// Arrays without a type, since they have no values: a column that is empty throughout.
#[test]
fn arrays_of_nulls_alone() {
    let nulls: ArrayRef = Arc::new(NullArray::new(3));
    let cipher = phone();
    for result in [seal_array(&cipher, &nulls, None), open_array(&cipher, &nulls, None)] {
        let result = result.unwrap();
        assert_eq!(
            (result.values.len(), result.values.data_type(), result.misfits.len()),
            (3, &DataType::Null, 0)
        );
    }
    assert_eq!(index_array(&cipher, &nulls).unwrap().len(), 3);
    let bound = column("memo=aead", &by_row(), &key());
    let values: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("b")]));
    let sealed = seal_array(&bound, &values, Some(&nulls)).unwrap();
    assert_eq!(sealed.misfits.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn empty_arrays() {
    let cipher = phone();
    for values in every_type(&[]) {
        let sealed = seal_array(&cipher, &values, None).unwrap();
        assert_eq!((sealed.values.len(), sealed.misfits.len()), (0, 0));
        assert_eq!(open_array(&cipher, &sealed.values, None).unwrap().values.len(), 0);
    }
}
