//! Schemas of other programs in a file's key-value metadata, where columns are added, left out, or
//! no longer fit their type: Arrow's (pyarrow, pandas, Polars) and Spark's. All else there stays
//! unchanged. Not here: Parquet's own schema (`schema`).

use std::sync::Arc;

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::root_as_message;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions};
use arrow_schema::{DataType, Field, Schema};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use crate::error::ParquetError;
use crate::footer::FILE_KEY_VALUES;
use crate::schema::Added;
use crate::thrift::{Struct, Value};

const ARROW: &str = "ARROW:schema";
const SPARK: &str = "org.apache.spark.sql.parquet.row.metadata";
/// Bytes that Arrow's encapsulated messages begin with, before their length.
const CONTINUATION: [u8; 4] = [0xff; 4];
// fields of a KeyValue
const KEY: i16 = 1;
const VALUE: i16 = 2;

/// Change to the columns.
#[derive(Debug)]
pub(crate) struct Change<'a> {
    /// Names of columns that are left out.
    pub(crate) dropped: Vec<&'a str>,
    /// Columns that are added at the end.
    pub(crate) added: &'a [Added],
    /// Names of columns whose values are all different from now on: too many for numbers of 8 or 16
    /// bits.
    pub(crate) distinct: Vec<&'a str>,
}

/// Function that changes a single entry: it returns the new text, or nothing if the entry stays.
type Edit = fn(&[u8], &Change<'_>) -> Result<Option<String>, String>;

/// Makes the change in the key-value metadata of `file`.
pub(crate) fn change(file: &mut Struct, change: &Change<'_>) -> Result<(), ParquetError> {
    let needed = !change.dropped.is_empty() || !change.added.is_empty();
    for entry in file.list_mut(FILE_KEY_VALUES).into_iter().flatten() {
        let Value::Struct(entry) = entry else { continue };
        let Some(Value::Binary(key)) = entry.get(KEY) else { continue };
        let (key, edit): (_, Edit) = match &key[..] {
            key if key == ARROW.as_bytes() => (ARROW, arrow),
            key if key == SPARK.as_bytes() => (SPARK, spark),
            _ => continue,
        };
        let Some(Value::Binary(value)) = entry.get(VALUE) else { continue };
        match edit(value, change) {
            Ok(Some(text)) => entry.set(VALUE, Value::text(&text)),
            Ok(None) => {}
            Err(found) if needed => return Err(ParquetError::Metadata { key, found }),
            // it does not name any column that comes or goes
            Err(_) => {}
        }
    }
    Ok(())
}

/// Returns Arrow's schema as a new text; none if it stays.
fn arrow(text: &[u8], change: &Change<'_>) -> Result<Option<String>, String> {
    let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
    let message =
        if bytes.starts_with(&CONTINUATION) { bytes.get(8..).unwrap_or_default() } else { &bytes };
    let message = root_as_message(message).map_err(|error| error.to_string())?;
    let schema = message.header_as_schema().ok_or("no schema in it")?;
    let schema = try_fb_to_schema(schema).map_err(|error| error.to_string())?;
    let kept =
        schema.fields().iter().filter(|field| !change.dropped.contains(&field.name().as_str()));
    let mut fields: Vec<Arc<Field>> = kept.map(|field| widened(field, change)).collect();
    let added = change.added.iter();
    fields.extend(
        added.map(|column| Arc::new(Field::new(&column.name, DataType::Utf8, column.optional))),
    );
    if fields == schema.fields().to_vec() {
        return Ok(None);
    }
    let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
    let (mut tracker, options) = (DictionaryTracker::new(true), IpcWriteOptions::default());
    let encoded = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
        &schema,
        &mut tracker,
        &options,
    );
    let length = (encoded.ipc_message.len() as u32).to_le_bytes();
    Ok(Some(STANDARD.encode([&CONTINUATION[..], &length, &encoded.ipc_message].concat())))
}

/// Returns the field, with numbers of 32 bits for a dictionary that would overflow.
fn widened(field: &Arc<Field>, change: &Change<'_>) -> Arc<Field> {
    let DataType::Dictionary(numbers, values) = field.data_type() else { return field.clone() };
    let is_narrow =
        matches!(**numbers, DataType::Int8 | DataType::UInt8 | DataType::Int16 | DataType::UInt16);
    if !is_narrow || !change.distinct.contains(&field.name().as_str()) {
        return field.clone();
    }
    let wide = DataType::Dictionary(Box::new(DataType::Int32), values.clone());
    Arc::new(field.as_ref().clone().with_data_type(wide))
}

/// Returns Spark's schema as a new text; none if it stays.
fn spark(text: &[u8], change: &Change<'_>) -> Result<Option<String>, String> {
    if change.dropped.is_empty() && change.added.is_empty() {
        return Ok(None);
    }
    let mut schema: Json = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let fields = schema.get_mut("fields").and_then(Json::as_array_mut).ok_or("no fields in it")?;
    fields
        .retain(|field| !field["name"].as_str().is_some_and(|name| change.dropped.contains(&name)));
    let field = |column: &Added| {
        let name = &column.name;
        json!({"name": name, "type": "string", "nullable": true, "metadata": {}})
    };
    fields.extend(change.added.iter().map(field));
    Ok(Some(schema.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(key: &str, value: &str) -> Struct {
        let mut entry = Struct::default();
        entry.set(KEY, Value::text(key));
        entry.set(VALUE, Value::text(value));
        entry
    }

    fn values(file: &Struct) -> Vec<String> {
        let value = |entry: &Value| match entry.as_struct().and_then(|entry| entry.get(VALUE)) {
            Some(Value::Binary(bytes)) => String::from_utf8(bytes.clone()).unwrap(),
            other => panic!("{other:?}"),
        };
        file.list(FILE_KEY_VALUES).iter().map(value).collect()
    }

    #[test]
    fn spark_and_arrow_know_the_columns() {
        let spark_text = r#"{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}"#;
        let schema = Schema::new(vec![
            Field::new("id", DataType::Int64, true),
            Field::new(
                "kind",
                DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::LargeUtf8)),
                true,
            ),
        ]);
        let unchanged = Change { dropped: Vec::new(), added: &[], distinct: Vec::new() };
        let widen = Change { distinct: vec!["kind"], ..unchanged };
        let first = arrow(encoded(&schema).as_bytes(), &widen).unwrap().unwrap();
        let added = [Added { name: "kind_index".into(), optional: true }];
        let mut file = Struct::default();
        let entries = [entry("other", "{}"), entry(SPARK, spark_text), entry(ARROW, &first)];
        file.set(FILE_KEY_VALUES, Value::structs(entries.to_vec()));
        let before = values(&file);
        change(
            &mut file,
            &Change { dropped: Vec::new(), added: &[], distinct: vec!["kind", "id"] },
        )
        .unwrap();
        assert_eq!(values(&file), before);
        change(&mut file, &Change { dropped: Vec::new(), added: &added, distinct: Vec::new() })
            .unwrap();
        let sealed = values(&file);
        assert!(sealed[0] == "{}" && sealed[1].contains("kind_index") && sealed[2] != before[2]);
        change(
            &mut file,
            &Change { dropped: vec!["kind_index"], added: &[], distinct: Vec::new() },
        )
        .unwrap();
        let opened = values(&file);
        assert_eq!(opened[2], before[2]);
        let json = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        assert_eq!(json(&opened[1]), json(spark_text));
    }

    #[test]
    fn what_cannot_be_read_is_refused_only_where_it_matters() {
        for (key, value) in [(ARROW, "no base64!"), (ARROW, "/////wAAAAA="), (SPARK, "[]")] {
            let mut file = Struct::default();
            file.set(FILE_KEY_VALUES, Value::structs(vec![entry(key, value)]));
            change(&mut file, &Change { dropped: Vec::new(), added: &[], distinct: vec!["a"] })
                .unwrap();
            let added = [Added { name: "a_index".into(), optional: false }];
            let error = change(
                &mut file,
                &Change { dropped: Vec::new(), added: &added, distinct: Vec::new() },
            );
            assert!(
                error
                    .unwrap_err()
                    .to_string()
                    .starts_with(&format!("{key} in its metadata cannot be read: "))
            );
        }
    }

    fn encoded(schema: &Schema) -> String {
        let (mut tracker, options) = (DictionaryTracker::new(true), IpcWriteOptions::default());
        let encoded = IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(
            schema,
            &mut tracker,
            &options,
        );
        STANDARD.encode(encoded.ipc_message)
    }
}
