//! The field layer of a data store: the columns of its tables that a policy seals, and the key. Not
//! here: the store around another one ([`crate::Sealed`]), engines (`sealed_engine`).

use std::sync::Arc;

use sealstone_message::{nearest, not_among_header_names};
use sealstone_store::{Choice, StoreError, Table};

use crate::error::FieldsError;
use crate::policy::{self, Column, ColumnOptions, Method, Policy, PolicyError};
use crate::sealed_store::SealedTable;
use crate::table_key::Keyed;

/// Choice of the columns that are sealed, and of the key they are sealed under.
///
/// Without a policy all columns of all tables are sealed as `aead`; a value that is absent stays
/// absent, which shows.
#[derive(Debug)]
pub struct FieldLayer {
    policy: Option<Policy>,
    keyed: Keyed,
}

/// Reason why a policy does not fit the tables of a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LayerError {
    /// None of its tables is there.
    #[error(
        "the policy has {found}, and the data set has {known}\n\
         call the table so in the policy: [tables.{nearest}.columns.NAME]"
    )]
    NoTable {
        /// The tables of the policy.
        found: String,
        /// The tables that are there.
        known: String,
        /// The name nearest to the first of the policy's.
        nearest: String,
    },
    /// A column that the table lacks.
    #[error(
        "the policy seals {column}, which is no column of table {table}{told}; the key of a record \
         is none of them and stays in the clear, as records are found and scanned by it"
    )]
    NoColumn {
        /// The table.
        table: String,
        /// The column of the policy.
        column: String,
        /// Remark about the columns that exist.
        told: String,
    },
    /// A column to which another is bound, and that the table lacks.
    #[error("the policy binds {column} to {row}, which is no column of table {table}{told}")]
    NoRow {
        /// The table.
        table: String,
        /// The column that is sealed.
        column: String,
        /// The column that it is bound to.
        row: String,
        /// Remark about the columns that exist.
        told: String,
    },
    /// An index column whose name is taken.
    #[error(
        "the policy calls the index of {column} {index}, and table {table} has a column of that \
         name\n\
         give the index another one: index = {{ name = \"…\" }}"
    )]
    IndexTaken {
        /// The table.
        table: String,
        /// The column that is sealed.
        column: String,
        /// Its index column.
        index: String,
    },
    /// The columns do not make a policy with this cipher.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A column cannot be sealed with this cipher, or the key is not to be had.
    #[error(transparent)]
    Fields(#[from] FieldsError),
}

impl From<LayerError> for StoreError {
    fn from(error: LayerError) -> Self {
        Self::engine(error)
    }
}

/// The sealed columns of one table of a store.
struct Planned<'a> {
    table: &'a Arc<Table>,
    /// The name to which its values are bound: that of the policy.
    name: String,
    columns: Vec<Column>,
}

impl FieldLayer {
    /// Returns the layer that seals what `policy` names, or everything without one, under `keyed`.
    /// Ciphers and keys that the policy names are not used.
    #[must_use]
    pub fn new(policy: Option<Policy>, keyed: Keyed) -> Self {
        Self { policy, keyed }
    }

    /// Checks that its policy fits `tables`; returns the sealed columns in words, such as
    /// `usertable: rrn (ff1:rrn), memo (aead)`.
    ///
    /// # Errors
    /// Each [`LayerError`] about tables and columns.
    pub fn check(&self, tables: &[Arc<Table>]) -> Result<String, LayerError> {
        let words = |planned: &Planned<'_>| {
            let column = |column: &Column| format!("{} ({})", column.name, column.method_text());
            let columns: Vec<String> = planned.columns.iter().map(column).collect();
            format!("{}: {}", planned.table.name, columns.join(", "))
        };
        Ok(self.planned(tables)?.iter().map(words).collect::<Vec<_>>().join("; "))
    }

    /// Returns whether it seals every column of `tables` with authentication and adds nothing that
    /// shows which values are equal: as it does without a policy.
    ///
    /// # Errors
    /// Each [`LayerError`] about tables and columns.
    pub fn seals_everything(policy: &Policy, tables: &[Arc<Table>]) -> Result<bool, LayerError> {
        let planned = planned_by(policy, tables)?;
        let is_sealed = |planned: &Planned<'_>, name: &str| {
            let found = planned.columns.iter().find(|column| column.name == name);
            found.is_some_and(|column| {
                matches!(column.method, Method::Aead) && column.index.is_none()
            })
        };
        Ok(tables.iter().filter(|table| !table.fields.is_empty()).all(|table| {
            let planned = planned.iter().find(|planned| planned.table.id == table.id);
            planned.is_some_and(|planned| {
                table.fields.iter().all(|field| is_sealed(planned, &field.name))
            })
        }))
    }

    /// Returns the tables among `tables` with sealed columns, as `choice` requires.
    ///
    /// # Errors
    /// Each [`LayerError`].
    pub fn tables(
        &self,
        tables: &[Arc<Table>],
        choice: &Choice,
    ) -> Result<Vec<SealedTable>, LayerError> {
        let (cipher, backend) = (choice.cipher, choice.backend());
        let keyed = self.keyed.used_by(choice.provider).map_err(FieldsError::from)?;
        let sealed = |planned: Planned<'_>| -> Result<SealedTable, LayerError> {
            let policy = policy::Table::new(&planned.name, cipher, planned.columns)?;
            Ok(SealedTable::new(planned.table, &policy, &keyed, backend)?)
        };
        self.planned(tables)?.into_iter().map(sealed).collect()
    }

    fn planned<'a>(&self, tables: &'a [Arc<Table>]) -> Result<Vec<Planned<'a>>, LayerError> {
        let Some(policy) = &self.policy else {
            return tables
                .iter()
                .filter(|table| !table.fields.is_empty())
                .map(everything)
                .collect();
        };
        planned_by(policy, tables)
    }
}

/// Returns what `policy` seals in `tables`.
fn planned_by<'a>(
    policy: &Policy,
    tables: &'a [Arc<Table>],
) -> Result<Vec<Planned<'a>>, LayerError> {
    let of = |table: &'a Arc<Table>, policy: &policy::Table| Planned {
        table,
        name: policy.name.clone(),
        columns: policy.columns.clone(),
    };
    let named = |table: &&'a Arc<Table>| policy.tables.iter().any(|known| known.name == table.name);
    let mut planned: Vec<Planned<'a>> = tables
        .iter()
        .filter(named)
        .filter_map(|table| {
            Some(of(table, policy.tables.iter().find(|known| known.name == table.name)?))
        })
        .collect();
    if planned.is_empty() {
        // a file of people becomes the records of whatever table a workload has
        match (tables, &policy.tables[..]) {
            ([table], [only]) => planned.push(of(table, only)),
            _ => return Err(no_table(policy, tables)),
        }
    }
    planned.iter().try_for_each(check_columns)?;
    Ok(planned)
}

/// Returns all columns of `table`, as authenticated values.
fn everything(table: &Arc<Table>) -> Result<Planned<'_>, LayerError> {
    let options = ColumnOptions { keeps_empty: true, ..ColumnOptions::default() };
    let column = |field: &sealstone_store::Field| Column::new(&field.name, "aead", &options);
    let columns = table.fields.iter().map(column).collect::<Result<_, _>>()?;
    Ok(Planned { table, name: table.name.clone(), columns })
}

fn no_table(policy: &Policy, tables: &[Arc<Table>]) -> LayerError {
    let listed = |names: Vec<&str>| match names[..] {
        [one] => format!("table {one}"),
        _ => format!("tables {}", names.join(", ")),
    };
    let found: Vec<&str> = policy.tables.iter().map(|table| table.name.as_str()).collect();
    let known: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    let nearest =
        nearest(found.first().copied().unwrap_or_default(), known.iter().copied()).to_owned();
    LayerError::NoTable { found: listed(found), known: listed(known), nearest }
}

fn check_columns(planned: &Planned<'_>) -> Result<(), LayerError> {
    let names = || planned.table.fields.iter().map(|field| field.name.as_str());
    let table = planned.table.name.clone();
    // they may come from the first line of a file
    let told = |missing: &str| {
        let wanted = planned.columns.iter().map(|column| column.name.as_str());
        let told = not_among_header_names(missing, wanted, &names().collect::<Vec<_>>());
        told.replace("\ncolumns: ", "\nits columns: ")
    };
    for column in &planned.columns {
        let name = column.name.clone();
        if !names().any(|known| known == name) {
            let told = told(&name);
            return Err(LayerError::NoColumn { table, column: name, told });
        }
        if let Some(row) = column.row().filter(|row| !names().any(|known| known == *row)) {
            return Err(LayerError::NoRow {
                table,
                column: name,
                row: row.to_owned(),
                told: told(row),
            });
        }
        if let Some(index) =
            column.index.as_ref().filter(|index| names().any(|known| known == index.name))
        {
            return Err(LayerError::IndexTaken { table, column: name, index: index.name.clone() });
        }
    }
    Ok(())
}
