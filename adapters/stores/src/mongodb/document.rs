//! Layout of a record as a document: `_id` is the key, each field has its name, numbers are
//! numbers, and every value is returned unchanged, byte for byte.

use std::collections::HashMap;
use std::fmt::Write;

use mongodb::bson::raw::CString;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Decimal128, RawBinaryRef, RawBsonRef, RawDocument, RawDocumentBuf};
use sealstone_store::{Kind, Record, StoreError, Table};

/// Name of the key.
pub(super) const ID: &str = "_id";

/// Returns the key as a string: each byte is the character of that number. ASCII stays unchanged,
/// no byte is lost, and strings sort like the keys, which binary values would not (MongoDB sorts
/// them by length first).
pub(super) fn id(key: &[u8]) -> String {
    key.iter().map(|byte| char::from(*byte)).collect()
}

/// Writes the key that [`id`] made a string of.
fn key_of(document: &RawDocument, table: &Table, into: &mut Vec<u8>) -> Result<(), StoreError> {
    into.clear();
    let id = match document.get(ID) {
        Ok(Some(RawBsonRef::String(id))) => id,
        _ => return Err(foreign(table, ID, "is not a string")),
    };
    for character in id.chars() {
        into.push(
            u8::try_from(u32::from(character))
                .map_err(|_| foreign(table, ID, "is not one of our keys"))?,
        );
    }
    Ok(())
}

/// A document that was not written here.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot read a document of collection {collection}: field {field} {found}\n\
     the collection contains documents of another program: name another database"
)]
struct Foreign {
    collection: String,
    field: String,
    found: String,
}

fn foreign(table: &Table, field: &str, found: &str) -> StoreError {
    StoreError::engine(Foreign {
        collection: table.name.clone(),
        field: field.into(),
        found: found.into(),
    })
}

/// The fields of a table as documents name them.
#[derive(Debug)]
pub(super) struct Layout {
    names: Vec<CString>,
    kinds: Vec<Kind>,
    places: HashMap<String, usize>,
}

impl Layout {
    pub(super) fn new(table: &Table) -> Self {
        let mut places = HashMap::new();
        let mut names = Vec::new();
        for (place, field) in table.fields.iter().enumerate() {
            let mut name = allowed(&field.name);
            while name == ID || places.contains_key(&name) {
                name.push('_');
            }
            places.insert(name.clone(), place);
            names.push(CString::try_from(name).expect("NUL was replaced"));
        }
        Self { names, kinds: table.fields.iter().map(|field| field.kind).collect(), places }
    }

    /// Returns the name of field number `field`, as documents have it.
    pub(super) fn name(&self, field: usize) -> &str {
        self.names[field].as_str()
    }

    /// Returns the document of `record` under `key`.
    pub(super) fn encode(&self, key: &[u8], record: &Record) -> RawDocumentBuf {
        let mut document = RawDocumentBuf::new();
        document.append(mongodb::bson::raw::cstr!("_id"), id(key));
        for (place, value) in record.iter().enumerate().take(self.names.len()) {
            self.append(place, value, &mut document);
        }
        document
    }

    /// Returns the document `{ $set: …, $unset: … }` of `changes`, the last one of a field.
    pub(super) fn encode_changes(&self, changes: &[(usize, &[u8])]) -> RawDocumentBuf {
        let (mut set, mut unset) = (RawDocumentBuf::new(), RawDocumentBuf::new());
        for (at, (place, value)) in changes.iter().enumerate() {
            if changes[at + 1..].iter().any(|(later, _)| later == place) {
                continue;
            }
            if value.is_empty() {
                unset.append(&self.names[*place], "");
            } else {
                self.append(*place, value, &mut set);
            }
        }
        let mut document = RawDocumentBuf::new();
        if !set.is_empty() {
            document.append(mongodb::bson::raw::cstr!("$set"), set);
        }
        if !unset.is_empty() {
            document.append(mongodb::bson::raw::cstr!("$unset"), unset);
        }
        document
    }

    /// Appends `value`: a number if its digits are returned unchanged, otherwise text, otherwise
    /// bytes; nothing if it is empty. Values that mean nothing are bytes, as in YCSB's own binding,
    /// which reads nothing else.
    fn append(&self, place: usize, value: &[u8], document: &mut RawDocumentBuf) {
        let name = &self.names[place];
        let text =
            if self.kinds[place] == Kind::Bytes { None } else { std::str::from_utf8(value).ok() };
        let Some(text) = text else {
            if !value.is_empty() {
                let binary = RawBinaryRef { subtype: BinarySubtype::Generic, bytes: value };
                document.append(name, RawBsonRef::Binary(binary));
            }
            return;
        };
        match self.kinds[place] {
            _ if value.is_empty() => {}
            Kind::Integer if let Some(number) = same::<i64>(text) => document.append(name, number),
            Kind::Decimal if let Some(number) = same::<f64>(text) => document.append(name, number),
            Kind::Decimal if let Some(number) = same::<Decimal128>(text) => {
                document.append(name, number)
            }
            _ => document.append(name, text),
        }
    }

    /// Puts the values of `document` into `into`, cleared first: all, or only the values of
    /// `fields`.
    pub(super) fn decode(
        &self,
        table: &Table,
        document: &RawDocument,
        fields: Option<&[usize]>,
        into: &mut Record,
    ) -> Result<(), StoreError> {
        into.clear();
        let mut values: Vec<Option<RawBsonRef<'_>>> = vec![None; self.names.len()];
        let mut expected = 0;
        for element in document {
            let (name, value) =
                element.map_err(|error| foreign(table, "?", &format!("is damaged: {error}")))?;
            // documents written here have their fields in order
            let in_order = self.names.get(expected).filter(|next| next.as_str() == name.as_str());
            let place = if in_order.is_some() {
                Some(expected)
            } else {
                self.places.get(name.as_str()).copied()
            };
            if let Some(place) = place {
                values[place] = Some(value);
                expected = place + 1;
            }
        }
        let mut digits = String::new();
        let mut push = |place: usize| {
            let value = values.get(place).copied().flatten();
            self.push(table, place, value, &mut digits, into)
        };
        let outcome = match fields {
            None => (0..self.names.len()).try_for_each(&mut push),
            Some(fields) => fields.iter().try_for_each(|&place| push(place)),
        };
        outcome.inspect_err(|_| into.clear())
    }

    /// As [`Layout::decode`], of all fields and the key.
    pub(super) fn decode_row(
        &self,
        table: &Table,
        document: &RawDocument,
        key: &mut Vec<u8>,
        into: &mut Record,
    ) -> Result<(), StoreError> {
        key_of(document, table, key)?;
        self.decode(table, document, None, into)
    }

    fn push(
        &self,
        table: &Table,
        place: usize,
        value: Option<RawBsonRef<'_>>,
        digits: &mut String,
        into: &mut Record,
    ) -> Result<(), StoreError> {
        digits.clear();
        match value {
            None | Some(RawBsonRef::Null) => into.push(b""),
            Some(RawBsonRef::String(text)) => into.push(text.as_bytes()),
            Some(RawBsonRef::Binary(binary)) => into.push(binary.bytes),
            Some(number) => {
                let written = match number {
                    RawBsonRef::Int64(number) => write!(digits, "{number}"),
                    RawBsonRef::Int32(number) => write!(digits, "{number}"),
                    RawBsonRef::Double(number) => write!(digits, "{number}"),
                    RawBsonRef::Decimal128(number) => write!(digits, "{number}"),
                    _ => {
                        return Err(foreign(
                            table,
                            self.name(place),
                            "contains neither text nor a number",
                        ));
                    }
                };
                written.expect("a string takes everything");
                into.push(digits.as_bytes());
            }
        }
        Ok(())
    }
}

/// Returns `text` as a number, if the number is written with the very same characters.
fn same<T: std::str::FromStr + std::fmt::Display>(text: &str) -> Option<T> {
    let number: T = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Returns `name` without characters that are special in MongoDB: dots, a dollar sign, NUL; never
/// empty.
fn allowed(name: &str) -> String {
    if name.is_empty() {
        return "_".into();
    }
    name.chars()
        .map(|c| match c {
            '.' => '\u{FF0E}',
            '$' => '\u{FF04}',
            '\0' => '\u{2400}',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use sealstone_store::Field;

    use super::*;

    fn table(fields: &[(&str, Kind)]) -> Table {
        let field = |(name, kind): &(&str, Kind)| Field { name: (*name).into(), kind: *kind };
        Table { id: 1, name: "t".into(), fields: fields.iter().map(field).collect() }
    }

    fn record(values: &[&[u8]]) -> Record {
        let mut record = Record::new();
        values.iter().for_each(|value| record.push(value));
        record
    }

    #[test]
    fn every_value_is_returned_byte_for_byte() {
        let samples: [&[u8]; 22] = [
            b"",
            b"0",
            b"-0",
            b"007",
            b"+1",
            b"42",
            b"-9223372036854775808",
            b"9223372036854775808",
            b"1.5",
            b"1.50",
            b"1e5",
            b"1E+5",
            b"NaN",
            b"inf",
            b"-0.0",
            b"0.1",
            b"12345678901234567890.123456789012345678901234567890",
            b" 1",
            "\u{c774}\u{b984}".as_bytes(),
            b"\xff\xfe",
            b"a\0b",
            b"\0",
        ];
        for kind in [Kind::Integer, Kind::Decimal, Kind::Text, Kind::Bytes] {
            let table = table(&[("before", Kind::Text), ("value", kind), ("after", Kind::Text)]);
            let layout = Layout::new(&table);
            for sample in samples {
                let written = record(&[b"x", sample, b"y"]);
                let document = layout.encode(b"key", &written);
                let (mut key, mut read) = (Vec::new(), Record::new());
                layout.decode_row(&table, &document, &mut key, &mut read).unwrap();
                assert_eq!((key.as_slice(), &read), (&b"key"[..], &written), "{kind:?} {sample:?}");
            }
        }
    }

    #[test]
    fn numbers_are_numbers_to_the_server() {
        let layout = Layout::new(&table(&[
            ("i", Kind::Integer),
            ("d", Kind::Decimal),
            ("e", Kind::Decimal),
        ]));
        let document = layout.encode(b"k", &record(&[b"17", b"2.5", b"2.50"]));
        assert_eq!(document.get("i").unwrap(), Some(RawBsonRef::Int64(17)));
        assert_eq!(document.get("d").unwrap(), Some(RawBsonRef::Double(2.5)));
        assert!(matches!(document.get("e").unwrap(), Some(RawBsonRef::Decimal128(_))));
    }

    #[test]
    fn values_that_mean_nothing_are_bytes_as_in_ycsb() {
        let layout = Layout::new(&table(&[("field0", Kind::Bytes), ("field1", Kind::Bytes)]));
        let document = layout.encode(b"user1", &record(&[b"text", b"17"]));
        let changes = layout.encode_changes(&[(0, b"2.5")]);
        let set = changes.get_document("$set").unwrap();
        for (values, name, want) in [
            (&*document, "field0", &b"text"[..]),
            (&document, "field1", b"17"),
            (set, "field0", b"2.5"),
        ] {
            let found = values.get_binary(name).unwrap();
            assert_eq!((found.subtype, found.bytes), (BinarySubtype::Generic, want), "{name}");
        }
    }

    #[test]
    fn keys_of_any_bytes_are_returned_and_sort_the_same() {
        let mut keys: Vec<Vec<u8>> = vec![
            b"".into(),
            b"a".into(),
            b"a\0".into(),
            b"a\x7f".into(),
            b"a\x80".into(),
            b"a\xff\xff".into(),
            b"b".into(),
        ];
        let (table, layout) = (table(&[]), Layout::new(&table(&[])));
        keys.sort();
        let ids: Vec<String> = keys.iter().map(|key| id(key)).collect();
        assert!(ids.is_sorted());
        for key in keys {
            let mut back = Vec::new();
            layout
                .decode_row(
                    &table,
                    &layout.encode(&key, &Record::new()),
                    &mut back,
                    &mut Record::new(),
                )
                .unwrap();
            assert_eq!(back, key);
        }
    }

    #[test]
    fn names_that_mean_something_to_mongodb_are_replaced() {
        let names = [
            ("_id", Kind::Text),
            ("a.b", Kind::Text),
            ("$c", Kind::Text),
            ("", Kind::Text),
            ("_", Kind::Text),
        ];
        let table = table(&names);
        let layout = Layout::new(&table);
        let stored: Vec<&str> = (0..5).map(|place| layout.name(place)).collect();
        assert_eq!(stored, ["_id_", "a\u{FF0E}b", "\u{FF04}c", "_", "__"]);
        let written = record(&[b"1", b"2", b"3", b"4", b"5"]);
        let mut read = Record::new();
        layout.decode(&table, &layout.encode(b"k", &written), Some(&[4, 0]), &mut read).unwrap();
        assert_eq!(read, record(&[b"5", b"1"]));
    }

    #[test]
    fn changes_set_unset_and_the_last_one_counts() {
        let layout = Layout::new(&table(&[("a", Kind::Text), ("b", Kind::Integer)]));
        let changes = layout.encode_changes(&[(0, b"x"), (1, b""), (0, b"y")]);
        assert_eq!(changes.get_document("$set").unwrap().get_str("a").unwrap(), "y");
        assert!(changes.get_document("$unset").unwrap().get("b").unwrap().is_some());
        assert!(layout.encode_changes(&[]).is_empty());
    }

    #[test]
    fn documents_of_others_are_errors() {
        let table = table(&[("a", Kind::Text)]);
        let layout = Layout::new(&table);
        let mut document = RawDocumentBuf::new();
        document.append(mongodb::bson::raw::cstr!("_id"), 7);
        let mut read = record(&[b"left over"]);
        assert!(layout.decode_row(&table, &document, &mut Vec::new(), &mut read).is_err());
        document.append(mongodb::bson::raw::cstr!("a"), RawDocumentBuf::new());
        let error = layout.decode(&table, &document, None, &mut read).unwrap_err().to_string();
        assert!(error.contains("field a contains neither text nor a number"), "{error}");
        assert!(read.is_empty());
    }
}
