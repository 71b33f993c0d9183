//! Encoding of a record as a RocksDB value: the same as in YCSB's RocksDB binding, so that sizes
//! match the studies made with it. For each field: length of its name, name, length of its value,
//! value; lengths are 4 bytes, big-endian.

use sealstone_store::{Record, StoreError, Table};

/// Writes the key of `key` in `table`: the table's number before it. Cleared first.
pub(crate) fn put_key(table: &Table, key: &[u8], into: &mut Vec<u8>) {
    into.clear();
    into.push(table.id);
    into.extend_from_slice(key);
}

/// Appends `record`, whose values are in the order of the fields of `table`.
pub(crate) fn encode(table: &Table, record: &Record, into: &mut Vec<u8>) -> Result<(), StoreError> {
    if record.len() != table.fields.len() {
        let found = format!(
            "a record has {} values, and the table {} fields",
            record.len(),
            table.fields.len()
        );
        return Err(StoreError::Shape { table: table.name.clone(), found });
    }
    into.reserve(
        record.bytes() + table.fields.iter().map(|field| field.name.len() + 8).sum::<usize>(),
    );
    for (field, value) in table.fields.iter().zip(record.iter()) {
        put(field.name.as_bytes(), into);
        put(value, into);
    }
    Ok(())
}

/// Reads a stored record: all fields of `table`, or only `fields`, in the requested order. `into`
/// is cleared first, and empty after an error.
pub(crate) fn decode(
    table: &Table,
    stored: &[u8],
    fields: Option<&[usize]>,
    into: &mut Record,
) -> Result<(), StoreError> {
    into.clear();
    let decoded = match fields {
        None => all(table, stored, into),
        Some(fields) => fields.iter().try_for_each(|field| {
            let name = table.fields.get(*field)?.name.as_bytes();
            let (_, value) =
                Pairs(stored).map_while(Result::ok).find(|(found, _)| *found == name)?;
            into.push(value);
            Some(())
        }),
    };
    decoded.ok_or_else(|| {
        into.clear();
        stored_as(table, "does not have the table's fields")
    })
}

/// Appends `stored` with some values replaced.
pub(crate) fn merge(
    table: &Table,
    stored: &[u8],
    changes: &[(usize, &[u8])],
    into: &mut Vec<u8>,
) -> Result<(), StoreError> {
    into.reserve(stored.len());
    let mut changed = 0;
    for pair in Pairs(stored) {
        let (name, value) = pair.map_err(|Cut| stored_as(table, "ends early"))?;
        let mut new = value;
        for (field, value) in changes {
            if table.fields.get(*field).is_some_and(|field| field.name.as_bytes() == name) {
                // the last one counts, where several name one field
                new = value;
                changed += 1;
            }
        }
        put(name, into);
        put(new, into);
    }
    if changed != changes.len() {
        let found = "an update names a field that the record lacks".into();
        return Err(StoreError::Shape { table: table.name.clone(), found });
    }
    Ok(())
}

/// Decodes a record stored in the order of the table, like `encode`'s.
fn all(table: &Table, stored: &[u8], into: &mut Record) -> Option<()> {
    let mut pairs = Pairs(stored);
    for field in &table.fields {
        let (name, value) = pairs.next()?.ok()?;
        if name != field.name.as_bytes() {
            return None;
        }
        into.push(value);
    }
    pairs.0.is_empty().then_some(())
}

fn stored_as(table: &Table, found: &str) -> StoreError {
    StoreError::Stored { table: table.name.clone(), found: found.into() }
}

fn put(bytes: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    into.extend_from_slice(bytes);
}

/// A record that ends within a field.
struct Cut;

/// The (name, value) pairs of a stored record.
struct Pairs<'a>(&'a [u8]);

impl<'a> Pairs<'a> {
    fn take(&mut self) -> Result<&'a [u8], Cut> {
        let (length, rest) = self.0.split_first_chunk::<4>().ok_or(Cut)?;
        let (part, rest) =
            rest.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or(Cut)?;
        self.0 = rest;
        Ok(part)
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Result<(&'a [u8], &'a [u8]), Cut>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        Some(self.take().and_then(|name| Ok((name, self.take()?))))
    }
}

#[cfg(test)]
mod tests {
    use sealstone_store::{Field, Kind};

    use super::*;

    fn table() -> Table {
        let fields =
            ["a", "bb", "c"].map(|name| Field { name: name.into(), kind: Kind::Text }).into();
        Table { id: 7, name: "t".into(), fields }
    }

    fn record(values: &[&str]) -> Record {
        let mut record = Record::new();
        values.iter().for_each(|value| record.push(value.as_bytes()));
        record
    }

    #[test]
    fn encodes_as_ycsb_does() {
        let mut stored = Vec::new();
        encode(&table(), &record(&["x", "", "zz"]), &mut stored).unwrap();
        assert_eq!(stored, b"\0\0\0\x01a\0\0\0\x01x\0\0\0\x02bb\0\0\0\0\0\0\0\x01c\0\0\0\x02zz");
    }

    #[test]
    fn decodes_all_fields_or_some_in_the_order_asked() {
        let mut stored = Vec::new();
        encode(&table(), &record(&["x", "", "zz"]), &mut stored).unwrap();
        let mut found = Record::new();
        decode(&table(), &stored, None, &mut found).unwrap();
        assert_eq!(found, record(&["x", "", "zz"]));
        decode(&table(), &stored, Some(&[2, 0]), &mut found).unwrap();
        assert_eq!(found, record(&["zz", "x"]));
        for bytes in 0..stored.len() {
            assert!(decode(&table(), &stored[..bytes], None, &mut found).is_err());
            assert!(found.is_empty());
        }
    }

    #[test]
    fn merges_changes_and_refuses_unknown_fields() {
        let mut stored = Vec::new();
        encode(&table(), &record(&["x", "y", "z"]), &mut stored).unwrap();
        let mut merged = Vec::new();
        merge(&table(), &stored, &[(1, b"longer")], &mut merged).unwrap();
        let mut found = Record::new();
        decode(&table(), &merged, None, &mut found).unwrap();
        assert_eq!(found, record(&["x", "longer", "z"]));
        assert!(merge(&table(), &stored, &[(3, b"")], &mut Vec::new()).is_err());
    }

    #[test]
    fn a_record_must_have_the_tables_fields() {
        assert!(encode(&table(), &record(&["x"]), &mut Vec::new()).is_err());
    }
}
