//! Layout of records in Redis: a hash for each, and an index to scan by. It is the same as in
//! YCSB's Redis binding, so that each reads the other's data.

use redis::Value;
use sealstone_store::{Record, StoreError, Table};

/// The index of YCSB's table.
const INDEX: &str = "_indices";
/// The table whose keys YCSB's binding writes without the table's name.
const YCSB_TABLE: &str = "usertable";

/// Scheme by which keys are made from the keys of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keys {
    /// As YCSB's Redis binding: in `usertable` the record's key itself, in other tables after the
    /// table's name.
    #[default]
    Ycsb,
    /// As go-ycsb: always after the table's name, `usertable/user1`.
    GoYcsb,
}

impl Keys {
    /// All of them, by name.
    pub const NAMES: [(&str, Self); 2] = [("ycsb", Self::Ycsb), ("go-ycsb", Self::GoYcsb)];
}

/// Location of a table's records and its index.
#[derive(Debug)]
pub(super) struct Layout {
    /// Prefix of the key of a record.
    prefix: Vec<u8>,
    /// Key of the sorted set of the keys.
    pub(super) index: Vec<u8>,
    pub(super) order: Order,
}

/// By what the index of a table is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// A hash of the keys, as YCSB's binding does it.
    Hash,
    /// The keys themselves.
    Key,
    /// Nothing: the server cannot sort by keys.
    None,
}

impl Layout {
    /// Makes the layout of `table`.
    pub(super) fn new(table: &Table, keys: Keys, has_order_by_key: bool) -> Self {
        let is_ycsb = table.name == YCSB_TABLE;
        let is_bare = is_ycsb && keys == Keys::Ycsb;
        let prefix = if is_bare { Vec::new() } else { format!("{}/", table.name).into_bytes() };
        let index =
            if is_ycsb { INDEX.into() } else { format!("{INDEX}/{}", table.name).into_bytes() };
        let order = match (is_ycsb, has_order_by_key) {
            (true, _) => Order::Hash,
            (false, true) => Order::Key,
            (false, false) => Order::None,
        };
        Self { prefix, index, order }
    }

    /// Returns the key in Redis of the record `key`.
    pub(super) fn key(&self, key: &[u8]) -> Vec<u8> {
        [&self.prefix, key].concat()
    }

    /// Returns the key of the record whose key in Redis is `key`.
    pub(super) fn record_key<'a>(&self, key: &'a [u8]) -> &'a [u8] {
        key.strip_prefix(self.prefix.as_slice()).unwrap_or(key)
    }

    /// Returns the score by which the index sorts the record `key`, before sorting by its key.
    pub(super) fn score(&self, key: &[u8]) -> i32 {
        if self.order == Order::Hash { hash(key) } else { 0 }
    }
}

/// Computes Java's `String.hashCode`, by which YCSB's binding sorts its index.
fn hash(key: &[u8]) -> i32 {
    let add = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    match std::str::from_utf8(key) {
        Ok(text) => text.encode_utf16().fold(0, add),
        Err(_) => key.iter().fold(0, |hash, byte| add(hash, u16::from(*byte))),
    }
}

/// Puts the fields of a hash, `pairs` of alternating names and values as HGETALL returns them, into
/// `into`: the fields of `table` in order, absent ones as empty values. Returns whether there is a
/// hash.
pub(super) fn decode_all<'a>(
    table: &Table,
    pairs: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
    into: &mut Record,
) -> bool {
    into.clear();
    let found = pairs.len();
    let mut next = pairs.clone();
    // the server returns a small hash in the order in which it was written
    let in_order = found == 2 * table.fields.len()
        && table.fields.iter().all(|field| {
            let is_next = next.next() == Some(field.name.as_bytes());
            is_next
                && next.next().is_some_and(|value| {
                    into.push(value);
                    true
                })
        });
    if !in_order && found > 0 {
        into.clear();
        for field in &table.fields {
            let mut all = pairs.clone();
            let mut value = None;
            while let (None, Some(name)) = (value, all.next()) {
                let its = all.next();
                value = its.filter(|_| name == field.name.as_bytes());
            }
            into.push(value.unwrap_or_default());
        }
    }
    found > 0
}

/// Puts the values of single fields, as HMGET answers, into `into`. Returns whether any is there.
///
/// # Errors
/// [`StoreError::Stored`] for another answer.
pub(super) fn decode_some(
    table: &Table,
    answer: &Value,
    into: &mut Record,
) -> Result<bool, StoreError> {
    into.clear();
    let Value::Array(values) = answer else { return Err(no_hash(table)) };
    values.iter().for_each(|value| into.push(bytes(value)));
    Ok(values.iter().any(|value| *value != Value::Nil))
}

/// Returns the bytes of a text, or nothing if the value is not a text.
pub(super) fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::BulkString(bytes) => bytes,
        Value::SimpleString(text) => text.as_bytes(),
        _ => &[],
    }
}

/// Returns the error for a key under which something other than a hash is stored.
pub(super) fn no_hash(table: &Table) -> StoreError {
    StoreError::Stored { table: table.name.clone(), found: "is no hash".into() }
}

#[cfg(test)]
mod tests {
    use sealstone_store::{Field, Kind};

    use super::*;

    fn table(name: &str) -> Table {
        let field = |name: &str| Field { name: name.into(), kind: Kind::Text };
        Table { id: 1, name: name.into(), fields: vec![field("field0"), field("field1")] }
    }

    fn decoded(table: &Table, texts: &[&str], into: &mut Record) -> bool {
        decode_all(table, texts.iter().map(|text| text.as_bytes()), into)
    }

    #[test]
    fn hashes_are_those_of_java() {
        // java: "user6284781860667377211".hashCode() and others
        assert_eq!(hash(b""), 0);
        assert_eq!(hash(b"a"), 97);
        assert_eq!(hash(b"hello"), 99_162_322);
        assert_eq!(hash("\u{ac00}".as_bytes()), 0xac00);
        assert_eq!(hash(b"polygenelubricants"), i32::MIN);
    }

    #[test]
    fn keys_are_those_of_ycsb_or_go_ycsb() {
        let key =
            |table_name: &str, keys| Layout::new(&table(table_name), keys, true).key(b"user1");
        assert_eq!(key("usertable", Keys::Ycsb), b"user1");
        assert_eq!(key("usertable", Keys::GoYcsb), b"usertable/user1");
        assert_eq!(key("account", Keys::Ycsb), b"account/user1");
        let layout = Layout::new(&table("usertable"), Keys::GoYcsb, true);
        assert_eq!((layout.index.as_slice(), layout.order), (b"_indices".as_slice(), Order::Hash));
        assert_eq!(layout.record_key(b"usertable/user1"), b"user1");
        let layout = Layout::new(&table("account"), Keys::Ycsb, true);
        assert_eq!(
            (layout.index.as_slice(), layout.score(b"x")),
            (b"_indices/account".as_slice(), 0)
        );
    }

    #[test]
    fn fields_come_in_the_order_of_the_table() {
        let mut record = Record::new();
        let of = |record: &Record| {
            record
                .iter()
                .map(|value| String::from_utf8_lossy(value).into_owned())
                .collect::<Vec<_>>()
        };
        let table = table("usertable");
        assert!(decoded(&table, &["field0", "a", "field1", "b"], &mut record));
        assert_eq!(of(&record), ["a", "b"]);
        assert!(decoded(&table, &["field1", "b", "other", "x", "field0", "a"], &mut record));
        assert_eq!(of(&record), ["a", "b"]);
        assert!(decoded(&table, &["field1", "b"], &mut record));
        // a value that is the name of a field is none
        assert!(decoded(&table, &["x", "field0", "field0", "a"], &mut record));
        assert_eq!(of(&record), ["a", ""]);
        assert!(decoded(&table, &["field1", "b"], &mut record));
        assert_eq!(of(&record), ["", "b"]);
        assert!(!decoded(&table, &[], &mut record) && record.is_empty());
        assert!(decode_some(&table, &Value::Okay, &mut record).is_err());
        assert!(!decode_some(&table, &Value::Array(vec![Value::Nil]), &mut record).unwrap());
    }
}
