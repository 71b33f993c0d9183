//! Selection of the columns of a file to work on, and checks that they can hold the result. Not
//! here: the work itself (`column_work`).

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type};
use sealstone_fields::columns_named;
use sealstone_fields::pass::{Plan, Work};
use sealstone_message::Unknown;

use crate::error::ParquetError;

/// Kind of column that names rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    Text,
    Number { bits: u8, signed: bool },
}

/// A column that names rows: its leaf, and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowColumn {
    pub(crate) leaf: usize,
    pub(crate) kind: RowKind,
}

/// The columns of a file. A leaf is a column that holds values, counted from 0 including nested
/// columns; a root is one of the schema's own fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Columns {
    /// For each column of the table, its leaf.
    pub(crate) leaves: Vec<usize>,
    /// For each column of the table, whether it holds only nulls, which writers make of a column
    /// without values: there is nothing to seal, and it stays unchanged.
    pub(crate) nulls: Vec<bool>,
    /// For each column of the table, the names of its rows, if it is bound to them.
    pub(crate) rows: Vec<Option<RowColumn>>,
    /// Roots that are left out, in ascending order.
    pub(crate) dropped_roots: Vec<usize>,
    /// Their leaves.
    pub(crate) dropped_leaves: Vec<usize>,
    /// Columns of the table whose index values are appended.
    pub(crate) indexed: Vec<usize>,
}

impl Columns {
    pub(crate) fn of(plan: &Plan, schema: &SchemaDescriptor) -> Result<Self, ParquetError> {
        let mut columns = Self {
            leaves: Vec::new(),
            nulls: Vec::new(),
            rows: Vec::new(),
            dropped_roots: Vec::new(),
            dropped_leaves: Vec::new(),
            indexed: Vec::new(),
        };
        for (at, column) in plan.table.columns.iter().enumerate() {
            let leaf = text(schema, &column.name)?;
            columns.leaves.push(leaf);
            columns.nulls.push(is_null(&schema.column(leaf)));
            columns.rows.push(column.row().map(|row| row_column(schema, row)).transpose()?);
            let Some(index) = &column.index else { continue };
            let names: Vec<&str> =
                schema.root_schema().get_fields().iter().map(|field| field.name()).collect();
            let there = !columns_named(&names, &index.name).is_empty();
            match plan.work {
                Work::Check | Work::Find(_) => {}
                Work::Seal(_) if there => {
                    return Err(ParquetError::IndexThere { name: index.name.clone() });
                }
                Work::Seal(_) => columns.indexed.push(at),
                Work::Open(_) => columns.dropped_roots.push(root(schema, &index.name)?),
                Work::Reseal(..) => {
                    columns.dropped_roots.push(root(schema, &index.name)?);
                    columns.indexed.push(at);
                }
            }
        }
        columns.dropped_roots.sort_unstable();
        let is_dropped =
            |leaf: &usize| columns.dropped_roots.contains(&schema.get_column_root_idx(*leaf));
        columns.dropped_leaves = (0..schema.num_columns()).filter(is_dropped).collect();
        Ok(columns)
    }
}

/// Returns the index of the root called `name`.
fn root(schema: &SchemaDescriptor, name: &str) -> Result<usize, ParquetError> {
    let names: Vec<&str> =
        schema.root_schema().get_fields().iter().map(|field| field.name()).collect();
    let mut found = columns_named(&names, name).into_iter();
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (Some(first), Some(second)) => {
            Err(ParquetError::Twice { name: name.to_owned(), first: first + 1, second: second + 1 })
        }
        (None, _) => {
            Err(ParquetError::NoColumn(Unknown::new("column", name, names.iter().copied())))
        }
    }
}

/// Returns the leaf of the column `name`, and what it is in words if something is nested in it.
fn leaf(
    schema: &SchemaDescriptor,
    name: &str,
) -> Result<Result<usize, &'static str>, ParquetError> {
    let at = root(schema, name)?;
    let field: &Type = &schema.root_schema().get_fields()[at];
    if field.is_group() {
        return Ok(Err("nested"));
    }
    let leaf = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == at);
    let leaf = leaf.ok_or_else(|| ParquetError::damaged("its schema"))?;
    Ok(if schema.column(leaf).max_rep_level() > 0 { Err("a list") } else { Ok(leaf) })
}

/// Returns the leaf of the column `name`, which holds text.
fn text(schema: &SchemaDescriptor, name: &str) -> Result<usize, ParquetError> {
    let wrong =
        |found: &str| ParquetError::NoText { column: name.to_owned(), found: found.to_owned() };
    let leaf = leaf(schema, name)?.map_err(wrong)?;
    let column = schema.column(leaf);
    if is_text(&column) || is_null(&column) { Ok(leaf) } else { Err(wrong(&describe(&column))) }
}

fn row_column(schema: &SchemaDescriptor, name: &str) -> Result<RowColumn, ParquetError> {
    let wrong =
        |found: &str| ParquetError::NoRowName { column: name.to_owned(), found: found.to_owned() };
    let leaf = leaf(schema, name)?.map_err(wrong)?;
    let column = schema.column(leaf);
    match row_kind(&column) {
        Some(kind) => Ok(RowColumn { leaf, kind }),
        None => Err(wrong(&describe(&column))),
    }
}

fn is_text(column: &ColumnDescriptor) -> bool {
    let annotated = match column.logical_type_ref() {
        // all three are UTF-8; the mark's information on the clear text stays in the file, for its
        // opening
        Some(logical) => {
            matches!(logical, LogicalType::String | LogicalType::Json | LogicalType::Enum)
        }
        None => matches!(
            column.converted_type(),
            ConvertedType::UTF8 | ConvertedType::JSON | ConvertedType::ENUM
        ),
    };
    column.physical_type() == Physical::BYTE_ARRAY && annotated
}

/// Returns whether a column is declared to hold nothing but nulls.
fn is_null(column: &ColumnDescriptor) -> bool {
    matches!(column.logical_type_ref(), Some(LogicalType::Unknown)) && column.max_def_level() > 0
}

fn row_kind(column: &ColumnDescriptor) -> Option<RowKind> {
    let bits = match column.physical_type() {
        _ if is_text(column) => return Some(RowKind::Text),
        Physical::INT32 => 32,
        Physical::INT64 => 64,
        _ => return None,
    };
    let signed = match (column.logical_type_ref(), column.converted_type()) {
        (None, ConvertedType::NONE) => true,
        (Some(LogicalType::Integer(of)), _) => of.is_signed,
        (
            None,
            ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64,
        ) => true,
        (
            None,
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64,
        ) => false,
        _ => return None,
    };
    Some(RowKind::Number { bits, signed })
}

/// Describes in words what a column holds.
fn describe(column: &ColumnDescriptor) -> String {
    let physical = column.physical_type();
    let logical = column.logical_type_ref().map(|logical| format!("{logical:?}"));
    let logical =
        logical.map(|text| text.split(['(', '{', ' ']).next().unwrap_or_default().to_uppercase());
    match (logical, column.converted_type(), physical) {
        (Some(logical), _, _) => format!("of type {logical} ({physical})"),
        (None, ConvertedType::NONE, Physical::BYTE_ARRAY) => {
            "binary data that is not marked as text".to_owned()
        }
        (None, ConvertedType::NONE, physical) => format!("of type {physical}"),
        (None, converted, physical) => format!("of type {converted} ({physical})"),
    }
}
