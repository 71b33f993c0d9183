//! Changes to the footer when columns are added or left out: the schema, the orders of columns,
//! sorting columns. Not here: other programs' schemas in its metadata (`key_values`).

use std::ops::Range;

use crate::columns::Columns;
use crate::error::ParquetError;
use crate::footer::{FILE_ORDERS, FILE_SCHEMA, GROUP_SORTING};
use crate::thrift::{Struct, Value};

// fields of a SchemaElement, of a LogicalType and of a ColumnOrder
const ELEMENT_TYPE: i16 = 1;
const ELEMENT_REPETITION: i16 = 3;
const ELEMENT_NAME: i16 = 4;
const ELEMENT_CHILDREN: i16 = 5;
const ELEMENT_CONVERTED: i16 = 6;
const ELEMENT_LOGICAL: i16 = 10;
const LOGICAL_STRING: i16 = 1;
const ORDER_OF_TYPE: i16 = 1;
// values of enums
const BYTE_ARRAY: i32 = 6;
const UTF8: i32 = 0;
// field of a SortingColumn
const SORTING_COLUMN: i16 = 1;

/// A column of text that is added at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Added {
    pub(crate) name: String,
    pub(crate) optional: bool,
}

/// Removes the columns that are left out from the schema of `file`, and adds others at its end.
pub(crate) fn change(
    file: &mut Struct,
    columns: &Columns,
    added: &[Added],
) -> Result<(), ParquetError> {
    let damaged = || ParquetError::damaged("its schema");
    let elements = file.list_mut(FILE_SCHEMA).ok_or_else(damaged)?;
    let roots = roots(elements).ok_or_else(damaged)?;
    for &root in columns.dropped_roots.iter().rev() {
        elements.drain(roots.get(root).ok_or_else(damaged)?.clone());
    }
    elements.extend(added.iter().map(|column| Value::Struct(element(column))));
    let count = roots.len() - columns.dropped_roots.len() + added.len();
    let Some(Value::Struct(top)) = elements.first_mut() else { return Err(damaged()) };
    top.set(ELEMENT_CHILDREN, Value::i32(count as i32));
    if let Some(orders) = file.list_mut(FILE_ORDERS) {
        for &leaf in columns.dropped_leaves.iter().rev() {
            if leaf < orders.len() {
                orders.remove(leaf);
            }
        }
        orders.extend(added.iter().map(|_| holding(ORDER_OF_TYPE)));
    }
    Ok(())
}

/// Changes the declared order of the rows of `group`: it ends before the first column that is
/// sealed, opened or left out.
pub(crate) fn change_sorting(group: &mut Struct, columns: &Columns) {
    let Some(sorting) = group.list_mut(GROUP_SORTING) else { return };
    let changes =
        |leaf: usize| columns.leaves.contains(&leaf) || columns.dropped_leaves.contains(&leaf);
    let leaf_of = |entry: &Value| {
        let leaf = entry.as_struct().and_then(|entry| entry.number(SORTING_COLUMN));
        leaf.and_then(|leaf| usize::try_from(leaf).ok())
    };
    let kept = sorting
        .iter()
        .position(|entry| leaf_of(entry).is_none_or(changes))
        .unwrap_or(sorting.len());
    sorting.truncate(kept);
    for entry in sorting.iter_mut() {
        let Some(leaf) = leaf_of(entry) else { continue };
        let before = columns.dropped_leaves.iter().filter(|dropped| **dropped < leaf).count();
        if let Value::Struct(entry) = entry {
            entry.set(SORTING_COLUMN, Value::i32((leaf - before) as i32));
        }
    }
    if sorting.is_empty() {
        group.remove(GROUP_SORTING);
    }
}

/// Returns the range of elements of each of the schema's own fields, including nested elements.
fn roots(elements: &[Value]) -> Option<Vec<Range<usize>>> {
    let children = |at: usize| {
        let children = elements.get(at)?.as_struct()?.number(ELEMENT_CHILDREN).unwrap_or(0);
        usize::try_from(children).ok()
    };
    let (mut roots, mut at) = (Vec::new(), 1);
    for _ in 0..children(0)? {
        let (start, mut left) = (at, 1_usize);
        while left > 0 {
            left = (left - 1).checked_add(children(at)?)?;
            at += 1;
        }
        roots.push(start..at);
    }
    (at == elements.len()).then_some(roots)
}

fn element(column: &Added) -> Struct {
    let mut element = Struct::default();
    element.set(ELEMENT_TYPE, Value::i32(BYTE_ARRAY));
    element.set(ELEMENT_REPETITION, Value::i32(column.optional.into()));
    element.set(ELEMENT_NAME, Value::text(&column.name));
    element.set(ELEMENT_CONVERTED, Value::i32(UTF8));
    element.set(ELEMENT_LOGICAL, holding(LOGICAL_STRING));
    element
}

/// Returns a union that holds an empty struct in the field `id`.
fn holding(id: i16) -> Value {
    let mut union = Struct::default();
    union.set(id, Value::Struct(Struct::default()));
    Value::Struct(union)
}
