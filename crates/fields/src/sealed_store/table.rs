//! One table whose records have sealed columns: its form in the store below, and whole records or
//! single values sealed and opened, many at a time.

use std::sync::Arc;

use sealstone_cipher::Backend;
use sealstone_store::{Field, Kind, Record, StoreError, Table};

use crate::column::ColumnCipher;
use crate::error::FieldsError;
use crate::misfit::Misfit;
use crate::policy;
use crate::table_key::Keyed;
use crate::texts::Texts;

/// A table with its sealed columns.
#[derive(Debug)]
pub struct SealedTable {
    /// The table as users of the store see it.
    pub(super) clear: Arc<Table>,
    /// As the store below has it: sealed columns hold text, and columns of index values come after
    /// all others.
    stored: Arc<Table>,
    columns: Vec<SealedColumn>,
    /// Index in `columns` of each field, if it is sealed.
    places: Vec<Option<usize>>,
}

#[derive(Debug)]
struct SealedColumn {
    name: String,
    field: usize,
    cipher: ColumnCipher,
    /// The field that names the row, for values that are bound to it.
    row: Option<usize>,
    /// The field below that has their index values.
    index: Option<usize>,
}

/// A key and its record.
pub(super) type KeyedRecord<'a> = (&'a [u8], &'a Record);

/// Fields of the records below, in their order: the requested fields, and the fields that these are
/// bound to.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) fields: Vec<usize>,
    /// The requested number of first values.
    wanted: usize,
}

impl SealedTable {
    /// Returns `table`, with the columns of `policy`, each of which it has.
    ///
    /// # Errors
    /// As [`ColumnCipher::new`].
    pub(crate) fn new(
        table: &Arc<Table>,
        policy: &policy::Table,
        keyed: &Keyed,
        backend: Backend,
    ) -> Result<Self, FieldsError> {
        let mut fields = table.fields.clone();
        let place = |name: &str| {
            table.fields.iter().position(|field| field.name == name).expect("it was checked")
        };
        let mut columns = Vec::with_capacity(policy.columns.len());
        for column in &policy.columns {
            let field = place(&column.name);
            fields[field].kind = Kind::Text;
            let index = column.index.as_ref().map(|index| {
                fields.push(Field { name: index.name.clone(), kind: Kind::Text });
                fields.len() - 1
            });
            let cipher = ColumnCipher::new(policy, column, keyed, backend)?;
            columns.push(SealedColumn {
                name: column.name.clone(),
                field,
                cipher,
                row: column.row().map(place),
                index,
            });
        }
        let place =
            |field: usize| columns.iter().position(|column: &SealedColumn| column.field == field);
        let places = (0..table.fields.len()).map(place).collect();
        let stored = Arc::new(Table { id: table.id, name: table.name.clone(), fields });
        Ok(Self { clear: Arc::clone(table), stored, columns, places })
    }

    /// Returns the table as the store below has it.
    #[must_use]
    pub fn stored(&self) -> &Arc<Table> {
        &self.stored
    }

    /// Returns the part of `fields`, or of all fields, that must be read below.
    pub(super) fn asked(&self, fields: Option<&[usize]>) -> Asked {
        let Some(fields) = fields else {
            return Asked {
                fields: (0..self.stored.fields.len()).collect(),
                wanted: self.clear.fields.len(),
            };
        };
        let mut asked = fields.to_vec();
        for row in fields.iter().filter_map(|field| self.columns[self.places[*field]?].row) {
            if !asked.contains(&row) {
                asked.push(row);
            }
        }
        Asked { fields: asked, wanted: fields.len() }
    }

    /// Returns each of `rows` as it is stored.
    pub(super) fn seal(&self, rows: &[KeyedRecord<'_>]) -> Result<Vec<Record>, StoreError> {
        for (_, record) in rows {
            if record.len() != self.clear.fields.len() {
                let found =
                    format!("{} values for {} fields", record.len(), self.clear.fields.len());
                return Err(StoreError::Shape { table: self.clear.name.clone(), found });
            }
        }
        let sealed: Vec<Texts> = self
            .columns
            .iter()
            .map(|column| self.seal_column(column, rows))
            .collect::<Result<_, _>>()?;
        let mut indexes = Vec::with_capacity(self.columns.len());
        for column in self.columns.iter().filter(|column| column.index.is_some()) {
            indexes.push(column.indexes(rows).map_err(StoreError::engine)?);
        }
        let assemble = |(at, (_, record)): (usize, &KeyedRecord<'_>)| {
            let mut whole = Record::with_capacity(self.stored.fields.len(), 2 * record.bytes());
            for (value, place) in record.iter().zip(&self.places) {
                whole.push(place.map_or(value, |place| sealed[place].get(at).as_bytes()));
            }
            indexes.iter().for_each(|index| whole.push(index.get(at).as_bytes()));
            whole
        };
        Ok(rows.iter().enumerate().map(assemble).collect())
    }

    fn seal_column(
        &self,
        column: &SealedColumn,
        rows: &[KeyedRecord<'_>],
    ) -> Result<Texts, StoreError> {
        let failed = |(at, misfit): (usize, Misfit)| self.cannot_seal(column, rows[at].0, &misfit);
        let value = |field: usize| {
            rows.iter().map(move |(_, record)| record.get(field).unwrap_or_default())
        };
        let values = texts(value(column.field)).map_err(failed)?;
        let bound = column
            .row
            .map(|row| texts(value(row)))
            .transpose()
            .map_err(failed)?
            .map(Texts::from_iter);
        let (mut sealed, mut misfits) = (Texts::new(), Vec::new());
        column
            .cipher
            .seal(&*values, bound.as_ref(), &mut sealed, &mut misfits)
            .map_err(StoreError::engine)?;
        misfits.into_iter().next().map_or(Ok(sealed), |misfit| Err(failed(misfit)))
    }

    /// Returns each of `rows`, which have the fields in `asked`, in its form before sealing.
    pub(super) fn open(
        &self,
        rows: &[KeyedRecord<'_>],
        asked: &Asked,
    ) -> Result<Vec<Record>, StoreError> {
        if let Some((key, record)) =
            rows.iter().find(|(_, record)| record.len() != asked.fields.len())
        {
            let (found, wanted) = (record.len(), asked.fields.len());
            let found = format!(
                "has {found} values under key {}, where {wanted} were asked for",
                shown(key)
            );
            return Err(StoreError::Stored { table: self.clear.name.clone(), found });
        }
        let open = |position: usize| -> Result<Option<Texts>, StoreError> {
            let Some(place) = self.places[asked.fields[position]] else { return Ok(None) };
            self.open_column(&self.columns[place], position, rows, asked).map(Some)
        };
        let opened: Vec<Option<Texts>> = (0..asked.wanted).map(open).collect::<Result<_, _>>()?;
        let assemble = |(at, (_, record)): (usize, &KeyedRecord<'_>)| {
            let mut whole = Record::with_capacity(asked.wanted, record.bytes());
            for (value, opened) in record.iter().zip(&opened) {
                whole.push(opened.as_ref().map_or(value, |texts| texts.get(at).as_bytes()));
            }
            whole
        };
        Ok(rows.iter().enumerate().map(assemble).collect())
    }

    fn open_column(
        &self,
        column: &SealedColumn,
        position: usize,
        rows: &[KeyedRecord<'_>],
        asked: &Asked,
    ) -> Result<Texts, StoreError> {
        let failed = |(at, misfit): (usize, Misfit)| self.cannot_open(column, rows[at].0, &misfit);
        let value = |position: usize| {
            rows.iter().map(move |(_, record)| record.get(position).unwrap_or_default())
        };
        let values = texts(value(position)).map_err(failed)?;
        let row = column.row.map(|row| {
            asked.fields.iter().position(|field| *field == row).expect("it was asked for")
        });
        let bound =
            row.map(|row| texts(value(row))).transpose().map_err(failed)?.map(Texts::from_iter);
        let (mut opened, mut misfits) = (Texts::new(), Vec::new());
        column
            .cipher
            .open(&*values, bound.as_ref(), &mut opened, &mut misfits)
            .map_err(StoreError::engine)?;
        misfits.into_iter().next().map_or(Ok(opened), |misfit| Err(failed(misfit)))
    }

    /// Returns whether changing only the fields of `changes` would separate a value from what it is
    /// bound to.
    pub(super) fn needs_record(&self, changes: &[(usize, &[u8])]) -> bool {
        let changed = |field: usize| changes.iter().any(|(changed, _)| *changed == field);
        self.columns
            .iter()
            .any(|column| column.row.is_some_and(|row| changed(row) != changed(column.field)))
    }

    /// Returns `changes` of record `key` as they are stored; of several changes of a field the last
    /// counts.
    pub(super) fn seal_changes(
        &self,
        key: &[u8],
        changes: &[(usize, &[u8])],
    ) -> Result<Vec<(usize, Vec<u8>)>, StoreError> {
        let mut record = Record::new();
        let last = |field: usize| {
            changes.iter().rev().find(|(changed, _)| *changed == field).map(|(_, value)| *value)
        };
        (0..self.clear.fields.len()).for_each(|field| record.push(last(field).unwrap_or_default()));
        let row = [(key, &record)];
        let mut stored = Vec::with_capacity(changes.len());
        for field in (0..self.clear.fields.len()).filter(|field| last(*field).is_some()) {
            let Some(place) = self.places[field] else {
                stored.push((field, last(field).unwrap_or_default().to_vec()));
                continue;
            };
            let column = &self.columns[place];
            stored.push((field, self.seal_column(column, &row)?.get(0).as_bytes().to_vec()));
            if let Some(index) = column.index {
                let indexes = column.indexes(&row).map_err(StoreError::engine)?;
                stored.push((index, indexes.get(0).as_bytes().to_vec()));
            }
        }
        Ok(stored)
    }

    fn cannot_seal(&self, column: &SealedColumn, key: &[u8], misfit: &Misfit) -> StoreError {
        let found = format!(
            "{} of record {} cannot be sealed: {misfit}\nname a format that all its values have, \
             or aead",
            column.name,
            shown(key)
        );
        StoreError::Shape { table: self.clear.name.clone(), found }
    }

    fn cannot_open(&self, column: &SealedColumn, key: &[u8], misfit: &Misfit) -> StoreError {
        let found = format!(
            "has a value of {} under key {} that does not open: {misfit}\n\
             it was changed, or written past the field layer, or sealed under another key or \
             policy",
            column.name,
            shown(key)
        );
        StoreError::Stored { table: self.clear.name.clone(), found }
    }
}

impl SealedColumn {
    /// Returns the index values of `rows`, which are in the clear, and text.
    ///
    /// # Errors
    /// As [`ColumnCipher::index`].
    fn indexes(&self, rows: &[KeyedRecord<'_>]) -> Result<Texts, FieldsError> {
        let mut indexes = Texts::new();
        for (_, record) in rows {
            let value = record
                .get(self.field)
                .and_then(|value| std::str::from_utf8(value).ok())
                .unwrap_or_default();
            let mut done = Ok(());
            indexes.push_with(|text| done = self.cipher.index(value, text));
            done?;
        }
        Ok(indexes)
    }
}

/// Returns `values` as text; or which is none.
fn texts<'a>(values: impl Iterator<Item = &'a [u8]>) -> Result<Vec<&'a str>, (usize, Misfit)> {
    let text = |(at, value)| {
        std::str::from_utf8(value).map_err(|_| (at, Misfit::Encoding { encoding: "UTF-8" }))
    };
    values.enumerate().map(text).collect()
}

/// Returns `key` for messages.
fn shown(key: &[u8]) -> String {
    String::from_utf8_lossy(key).chars().take(60).collect()
}
