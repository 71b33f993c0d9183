//! Layout of records in an SQL table: the names of its columns, and their possible values.

use std::sync::Arc;

use sealstone_store::{Kind, Record, StoreError, Table};

use super::bound::{Param, bind, text};
use super::function::SqlFunction;

/// The column of the key, as YCSB's JDBC binding calls it (which does not quote it).
pub(super) const KEY: &str = "ycsb_key";
/// The table whose values YCSB's binding keeps as text.
const YCSB_TABLE: &str = "usertable";
/// Most bytes of a name that every server takes whole.
const NAME_BYTES_MAX: usize = 60;
/// Most bytes of a key.
const KEY_BYTES_MAX: usize = 1_024;

/// A table in its form on a server.
#[derive(Debug)]
pub struct Layout {
    /// Table that is stored.
    pub table: Arc<Table>,
    /// Name of the table there.
    pub name: String,
    /// Names of the columns of its fields, in order.
    pub columns: Vec<String>,
    /// True if bytes without a meaning are stored in text columns, as in YCSB's binding.
    pub is_text: bool,
    /// The function of the server that values go through; its results are stored in columns of
    /// bytes.
    pub function: Option<&'static SqlFunction>,
}

impl Layout {
    /// Makes the layout of `table`.
    #[must_use]
    pub fn new(table: &Arc<Table>) -> Self {
        let mut columns: Vec<String> = Vec::with_capacity(table.fields.len());
        for field in &table.fields {
            let mut name = allowed(&field.name);
            // some servers ignore the case of letters
            let is_taken = |name: &str| {
                name.eq_ignore_ascii_case(KEY)
                    || columns.iter().any(|other| other.to_lowercase() == name.to_lowercase())
            };
            let mut number = 1;
            while is_taken(&name) {
                number += 1;
                name = format!("{}_{number}", allowed(&field.name));
            }
            columns.push(name);
        }
        let is_text = table.name == YCSB_TABLE;
        Self {
            table: Arc::clone(table),
            name: allowed(&table.name),
            columns,
            is_text,
            function: None,
        }
    }

    /// Returns the same in a table of its own, for `variant`: its name follows the table's.
    #[must_use]
    pub fn apart(self, variant: Option<&str>) -> Self {
        let Some(variant) = variant else { return self };
        let word = |letter: char| {
            if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' }
        };
        let ending: String = variant.chars().map(word).collect();
        let ending = format!("_{}", ending.trim_matches('_'));
        let most = NAME_BYTES_MAX.saturating_sub(ending.len());
        let most =
            (0..=most.min(self.name.len())).rev().find(|end| self.name.is_char_boundary(*end));
        let name = allowed(&format!("{}{ending}", &self.name[..most.unwrap_or_default()]));
        Self { name, ..self }
    }

    /// Returns the same, with values that go through `function`.
    #[must_use]
    pub fn through(self, function: Option<&'static SqlFunction>) -> Self {
        Self { function, ..self }
    }

    /// Kind of field number `field`; of bytes in columns of text, the kind of text.
    #[must_use]
    pub fn kind(&self, field: usize) -> Kind {
        match self.table.fields[field].kind {
            _ if self.function.is_some() => Kind::Bytes,
            Kind::Bytes if self.is_text => Kind::Text,
            kind => kind,
        }
    }

    /// Returns `key` as a statement takes it.
    ///
    /// # Errors
    /// [`StoreError::Shape`] for a key that no column can have.
    pub fn key<'a>(&self, key: &'a [u8]) -> Result<Param<'a>, StoreError> {
        let found = match text(key) {
            Ok(key) if key.len() <= KEY_BYTES_MAX => return Ok(Param::Bytes(key)),
            Ok(_) => format!("a key of {} bytes, where {KEY_BYTES_MAX} is the most", key.len()),
            Err(found) => format!("a key that {found}"),
        };
        Err(StoreError::Shape { table: self.table.name.clone(), found })
    }

    /// Returns `value` of field number `field` as a statement takes it.
    ///
    /// # Errors
    /// [`StoreError::Shape`] for a value that its column cannot have, or would not return
    /// unchanged.
    pub fn value<'a>(&self, field: usize, value: &'a [u8]) -> Result<Param<'a>, StoreError> {
        let is_text = self.is_text && self.function.is_none();
        let kind =
            if self.function.is_some() { Kind::Bytes } else { self.table.fields[field].kind };
        bind(value, kind, is_text).map_err(|found| {
            // not which value: it may be a person's
            let found = format!("a value of field {} {found}", self.table.fields[field].name);
            StoreError::Shape { table: self.table.name.clone(), found }
        })
    }

    /// Appends the key and values of a whole row to `into`.
    ///
    /// # Errors
    /// [`StoreError::Shape`] for another number of values than there are fields, too.
    pub fn row<'a>(
        &self,
        key: &'a [u8],
        record: &'a Record,
        into: &mut Vec<Param<'a>>,
    ) -> Result<(), StoreError> {
        if record.len() != self.table.fields.len() || record.is_empty() {
            let found = format!("{} values for {} fields", record.len(), self.table.fields.len());
            return Err(StoreError::Shape { table: self.table.name.clone(), found });
        }
        into.push(self.key(key)?);
        for (field, value) in record.iter().enumerate() {
            into.push(self.value(field, value)?);
        }
        Ok(())
    }
}

/// Returns `name` without what some server refuses in a name.
fn allowed(name: &str) -> String {
    let known = |letter: char| !letter.is_control() && u32::from(letter) <= 0xFFFF;
    let mut name: String =
        name.chars().map(|letter| if known(letter) { letter } else { '_' }).collect();
    let most = (0..=NAME_BYTES_MAX.min(name.len())).rev().find(|end| name.is_char_boundary(*end));
    name.truncate(most.unwrap_or_default());
    // blanks at the end are not allowed everywhere
    name.truncate(name.trim_end().len());
    if name.is_empty() { "_".into() } else { name }
}

#[cfg(test)]
mod tests {
    use sealstone_store::Field;

    use super::*;

    fn layout(name: &str, fields: &[(&str, Kind)]) -> Layout {
        let field = |(name, kind): &(&str, Kind)| Field { name: (*name).into(), kind: *kind };
        Layout::new(&Arc::new(Table {
            id: 1,
            name: name.into(),
            fields: fields.iter().map(field).collect(),
        }))
    }

    #[test]
    fn names_are_different_whatever_the_fields_are_called() {
        let long = "가".repeat(40);
        let names = [
            "field0",
            "FIELD0",
            "ycsb_key",
            "a.$b",
            "",
            " ",
            &long,
            &format!("{long}!"),
            "field0_2",
            "n\0",
        ];
        let layout = layout("t", &names.map(|name| (name, Kind::Text)));
        assert_eq!(layout.columns[..6], ["field0", "FIELD0_2", "ycsb_key_2", "a.$b", "_", "__2"]);
        assert!(
            layout.columns.iter().all(|name| name.len() < 64 && !name.contains('\0')),
            "{:?}",
            layout.columns
        );
        let mut small: Vec<String> =
            layout.columns.iter().map(|name| name.to_lowercase()).collect();
        small.sort();
        small.dedup();
        assert_eq!(small.len(), names.len());
    }

    #[test]
    fn a_variant_has_a_table_of_its_own() {
        let name = |table: &str, variant: Option<&str>| layout(table, &[]).apart(variant).name;
        assert_eq!(name("usertable", None), "usertable");
        assert_eq!(name("usertable", Some("aria-256 portable")), "usertable_aria_256_portable");
        assert_eq!(name("usertable", Some("SHA2 (one-way)")), "usertable_sha2__one_way");
        let long = name(&"가".repeat(40), Some("aes-256"));
        assert!(long.len() <= NAME_BYTES_MAX && long.ends_with("_aes_256"), "{long}");
        assert!(layout("usertable", &[]).apart(Some("aes-256")).is_text);
    }

    #[test]
    fn what_a_table_cannot_hold_is_named() {
        let layout = layout("t", &[("n", Kind::Integer), ("b", Kind::Bytes)]);
        let error = layout.value(0, b"007").unwrap_err().to_string();
        assert!(
            error.starts_with("cannot write to table t: a value of field n is no whole number"),
            "{error}"
        );
        assert!(layout.value(1, b"\xff").is_ok() && layout.key(b"\xff").is_err());
        assert!(
            layout.key(&[b'k'; KEY_BYTES_MAX]).is_ok()
                && layout.key(&[b'k'; KEY_BYTES_MAX + 1]).is_err()
        );
        let mut record = Record::new();
        record.push(b"7");
        assert!(layout.row(b"k", &record, &mut Vec::new()).is_err());
    }
}
