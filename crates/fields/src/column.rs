//! One column with its key: seals and opens values, many at a time.

use sealstone_cipher::Backend;
use sealstone_keys::KeyRef;
use sealstone_seal::{FieldError, FieldOpener, FieldPlace, FieldSealer, inspect_field};

use crate::error::FieldsError;
use crate::ff1_column::{Direction, Ff1Column};
use crate::index::IndexCipher;
use crate::misfit::Misfit;
use crate::permute::Permuter;
use crate::policy::{Column, Method, Table};
use crate::record_text;
use crate::table_key::Keyed;
use crate::texts::{Texts, Values};

/// Seals and opens the values of one column. One object serves many threads at once.
///
/// ```
/// use std::sync::Arc;
/// use sealstone_cipher::{Backend, cipher};
/// use sealstone_fields::{ColumnCipher, Keyed, Texts, policy::{Column, ColumnOptions, Table}};
/// use sealstone_keys::EphemeralKey;
///
/// let column = Column::parse("phone=ff1:phone", &ColumnOptions::default())?;
/// let table = Table::new("people", cipher("aes-256")?, vec![column])?;
/// let key = Keyed::current(Arc::new(EphemeralKey::new()?))?;
/// let phone = ColumnCipher::new(&table, &table.columns[0], &key, Backend::auto())?;
///
/// let values: Texts = ["010-1234-5678", "+82 2 312 5678", "none"].into_iter().collect();
/// let (mut sealed, mut misfits) = (Texts::new(), Vec::new());
/// phone.seal(&values, None, &mut sealed, &mut misfits)?;
/// assert_eq!(sealed.get(0).len(), 13);
/// assert_eq!(misfits[0].0, 2);
///
/// let mut opened = Texts::new();
/// misfits.clear();
/// phone.open(&sealed, None, &mut opened, &mut misfits)?;
/// assert_eq!(opened.get(0), "010-1234-5678");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ColumnCipher {
    cipher: MethodCipher,
    index: Option<IndexCipher>,
    keeps_empty: bool,
    row: Option<String>,
}

#[derive(Debug)]
enum MethodCipher {
    Ff1(Ff1Column),
    Aead { sealer: Box<FieldSealer>, opener: Box<FieldOpener> },
}

impl ColumnCipher {
    /// Returns the cipher of `column`, a column of `table`, under `keyed`. All choices are made
    /// here, once.
    ///
    /// # Errors
    /// [`FieldsError::NoFf1`], [`FieldsError::NoIndex`], [`FieldsError::Key`],
    /// [`FieldsError::Field`].
    pub fn new(
        table: &Table,
        column: &Column,
        keyed: &Keyed,
        backend: Backend,
    ) -> Result<Self, FieldsError> {
        Self::with(table, column, keyed, backend, &keyed.provider(backend))
    }

    /// Returns the same, where `permuter` computes FF1 and `backend` all else. The sealed values
    /// are the same.
    ///
    /// # Errors
    /// As [`ColumnCipher::new`], and [`FieldsError::Permuter`].
    pub fn with(
        table: &Table,
        column: &Column,
        keyed: &Keyed,
        backend: Backend,
        permuter: &dyn Permuter,
    ) -> Result<Self, FieldsError> {
        let cipher = match &column.method {
            Method::Ff1(format) => {
                MethodCipher::Ff1(Ff1Column::new(table, column, format, keyed, permuter)?)
            }
            Method::Aead => {
                let place = FieldPlace { table: table.name.clone(), column: column.name.clone() };
                let (key, secret) = (keyed.key().clone(), keyed.secret()?);
                let sealer = FieldSealer::new(
                    place.clone(),
                    table.cipher,
                    key,
                    secret,
                    keyed.provider(backend),
                )?;
                let opener = FieldOpener::new(place, keyed.source(), backend);
                MethodCipher::Aead { sealer: Box::new(sealer), opener: Box::new(opener) }
            }
        };
        let index = column.index.as_ref().map(|index| {
            IndexCipher::new(&table.name, &column.name, table.cipher, index.bits, keyed, backend)
        });
        let row = column.row().map(str::to_owned);
        Ok(Self { cipher, index: index.transpose()?, keeps_empty: column.keeps_empty, row })
    }

    /// Returns the column that names the row, if the values are bound to it.
    #[must_use]
    pub fn row(&self) -> Option<&str> {
        self.row.as_deref()
    }

    /// Returns whether equal values are sealed to equal results, in whatever row they are.
    #[must_use]
    pub fn is_deterministic(&self) -> bool {
        matches!(self.cipher, MethodCipher::Ff1(_)) && self.row.is_none()
    }

    /// Appends to `out` each of `values`, sealed. Where a value does not fit, `out` gets an empty
    /// text, and `misfits` the number of the value and the reason, in ascending order.
    ///
    /// - `rows`: for a column that is bound to the row, the name of each value's row, as many as
    ///   `values`
    ///
    /// # Errors
    /// [`FieldsError::Field`] where no randomness is available, [`FieldsError::Permuter`]; `out` is
    /// then unusable.
    ///
    /// # Panics
    /// If `rows` are needed and not given, or not as many.
    pub fn seal<V: Values + ?Sized>(
        &self,
        values: &V,
        rows: Option<&Texts>,
        out: &mut Texts,
        misfits: &mut Vec<(usize, Misfit)>,
    ) -> Result<(), FieldsError> {
        self.crypt(Direction::Seal, values, rows, out, misfits)
    }

    /// Appends to `out` each of `values`, which were sealed, as it was before; else as
    /// [`ColumnCipher::seal`].
    ///
    /// # Errors
    /// [`FieldsError::Field`] where the key of a value is not to be had, [`FieldsError::Permuter`].
    ///
    /// # Panics
    /// As [`ColumnCipher::seal`].
    pub fn open<V: Values + ?Sized>(
        &self,
        values: &V,
        rows: Option<&Texts>,
        out: &mut Texts,
        misfits: &mut Vec<(usize, Misfit)>,
    ) -> Result<(), FieldsError> {
        self.crypt(Direction::Open, values, rows, out, misfits)
    }

    /// Returns the key that the sealed `value` itself names, which is not authenticated; none of a
    /// method whose values name none, and where it is no sealed value.
    #[must_use]
    pub fn named_key(&self, value: &str) -> Option<KeyRef> {
        match &self.cipher {
            MethodCipher::Ff1(_) => None,
            MethodCipher::Aead { .. } => named_key(value, &mut Vec::new()).ok().flatten(),
        }
    }

    /// Appends the index value of `value`, which is in the clear, to `out`; nothing for a column
    /// without an index, and for an empty value that stays empty.
    ///
    /// # Errors
    /// [`FieldsError::Cipher`] if a cryptographic module fails; nothing is appended then.
    pub fn index(&self, value: &str, out: &mut String) -> Result<(), FieldsError> {
        match self.index.as_ref().filter(|_| !(value.is_empty() && self.keeps_empty)) {
            Some(index) => index.write(value, out),
            None => Ok(()),
        }
    }

    fn crypt<V: Values + ?Sized>(
        &self,
        direction: Direction,
        values: &V,
        rows: Option<&Texts>,
        out: &mut Texts,
        misfits: &mut Vec<(usize, Misfit)>,
    ) -> Result<(), FieldsError> {
        let rows =
            self.row.as_ref().map(|column| (column, rows.expect("the column is bound to a row")));
        assert!(rows.is_none_or(|(_, rows)| rows.len() == values.len()), "a row for each value");
        let first = misfits.len();
        match &self.cipher {
            MethodCipher::Ff1(ff1) => {
                ff1.crypt(
                    direction,
                    values,
                    rows.map(|(_, rows)| rows),
                    self.keeps_empty,
                    out,
                    misfits,
                )?;
            }
            MethodCipher::Aead { sealer, opener } => {
                let mut record = Vec::new();
                for index in 0..values.len() {
                    let value = values.get(index);
                    let row = rows.map(|(_, rows)| rows.get(index).as_bytes());
                    let done = out.push_with(|text| match direction {
                        _ if value.is_empty() && self.keeps_empty => Ok(Ok(())),
                        Direction::Seal => sealed(sealer, row, value, &mut record, text),
                        Direction::Open => opened(opener, row, value, &mut record, text),
                    })?;
                    if let Err(misfit) = done {
                        misfits.push((index, misfit));
                    }
                }
            }
        }
        if let Some((column, rows)) = rows {
            let unnamed = |index: &usize| {
                rows.get(*index).is_empty() && !(values.get(*index).is_empty() && self.keeps_empty)
            };
            let known: Vec<usize> = misfits[first..].iter().map(|(index, _)| *index).collect();
            let unnamed = (0..values.len())
                .filter(unnamed)
                .filter(|index| known.binary_search(index).is_err());
            misfits.extend(unnamed.map(|index| (index, Misfit::NoRow { column: column.clone() })));
            misfits[first..].sort_by_key(|(index, _)| *index);
        }
        Ok(())
    }
}

/// Returns the key that a value sealed by `aead` names, which is not authenticated; none where it
/// is no sealed value. `record` is room for it.
///
/// # Errors
/// [`FieldError::UnsupportedVersion`], [`FieldError::UnknownCipher`]: it is one of another version
/// of Sealstone, whose key is unknown.
pub(crate) fn named_key(value: &str, record: &mut Vec<u8>) -> Result<Option<KeyRef>, FieldError> {
    if record_text::read(value, record).is_err() {
        return Ok(None);
    }
    match inspect_field(record) {
        Ok((_, key)) => Ok(Some(key)),
        Err(FieldError::NotARecord(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

type Outcome = Result<Result<(), Misfit>, FieldsError>;

fn sealed(
    sealer: &FieldSealer,
    row: Option<&[u8]>,
    value: &str,
    record: &mut Vec<u8>,
    text: &mut String,
) -> Outcome {
    record.clear();
    match sealer.seal(row, value.as_bytes(), record) {
        Ok(()) => record_text::write(record, text),
        Err(error @ FieldError::TooLong { .. }) => {
            return Ok(Err(Misfit::Record(error.to_string().into())));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(Ok(()))
}

fn opened(
    opener: &FieldOpener,
    row: Option<&[u8]>,
    value: &str,
    record: &mut Vec<u8>,
    text: &mut String,
) -> Outcome {
    if let Err(misfit) = record_text::read(value, record) {
        return Ok(Err(misfit));
    }
    match opener.open(row, record) {
        Ok(()) => match std::str::from_utf8(record) {
            Ok(value) => text.push_str(value),
            Err(_) => {
                return Ok(Err(Misfit::Record("the value that was sealed is not text".into())));
            }
        },
        Err(FieldError::Seal(error)) => return Err(FieldError::Seal(error).into()),
        Err(error) => return Ok(Err(Misfit::Record(error.to_string().into()))),
    }
    Ok(Ok(()))
}
