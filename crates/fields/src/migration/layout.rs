//! Requirements that a table must meet so that its columns can be sealed in place.

use sealstone_message::Unknown;

use super::error::MigrationError;
use super::shape::{ColumnLayout, ColumnShape, Hindrance, Layout, RowShape, Shape, TextRoom};
use crate::policy::{Column, Method, Table};

/// Suffix that turns the name of a column into that of its mark.
pub const MARK_ENDING: &str = "_sealed";
/// Suffix that turns the name of a column into that of the digest that its mark is for.
const DIGEST_ENDING: &str = "_sealed_digest";

/// Returns the columns that a migration of `shape` works with, where the columns of `table` are
/// sealed.
///
/// - `is_begun`: whether marks may be there already
pub(super) fn layout(
    shape: &Shape,
    table: &Table,
    is_begun: bool,
) -> Result<Layout, MigrationError> {
    if let Some(hindrance) = &shape.hindrance {
        return Err(MigrationError::Table {
            table: shape.table.clone(),
            hindrance: hindrance.clone(),
        });
    }
    let columns = table.columns.iter().map(|column| column_layout(shape, column, is_begun));
    let columns: Vec<ColumnLayout> = columns.collect::<Result<_, _>>()?;
    Ok(Layout { key: shape.key.clone(), columns })
}

fn column_layout(
    shape: &Shape,
    column: &Column,
    is_begun: bool,
) -> Result<ColumnLayout, MigrationError> {
    let of = |name: &str, found: String, step: &str| MigrationError::Column {
        table: shape.table.clone(),
        column: name.to_owned(),
        hindrance: Hindrance { found, step: step.to_owned() },
    };
    let found = find(shape, &column.name)?;
    if let Some(hindrance) = &found.hindrance {
        return Err(of(&column.name, hindrance.found.clone(), &hindrance.step));
    }
    let Some(room) = &found.room else {
        let found = format!("its type is {}, and sealed values are text", found.type_text);
        return Err(of(
            &column.name,
            found,
            "change its type to VARCHAR or TEXT, or seal another column",
        ));
    };
    if !room.unicode && is_beyond_ascii(&column.method) {
        let found = format!(
            "its type is {}, which lacks characters that sealed values may have",
            found.type_text
        );
        return Err(of(
            &column.name,
            found,
            "give it a character set with all of Unicode: utf8mb4, UTF8",
        ));
    }
    let row = column.row().map(|row| find(shape, row)).transpose()?;
    if let Some(ColumnShape { name, names_rows: RowShape::Cannot(hindrance), .. }) = row {
        return Err(of(name, hindrance.found.clone(), &hindrance.step));
    }
    let Added { mark, digest, index } = added(column);
    let added = [Some(&mark), Some(&digest), index.as_ref().map(|(name, _)| name)];
    let taken = added
        .into_iter()
        .flatten()
        .find(|name| shape.columns.iter().any(|column| column.name == **name));
    if let Some(taken) = taken.filter(|_| !is_begun) {
        let found = "it is there already, and would have to be added".to_owned();
        let step = "rename it; if it is left of a table that was sealed before, its row of \
                    sealstone_fields is missing: restore both from the same backup";
        return Err(of(taken, found, step));
    }
    Ok(ColumnLayout {
        name: column.name.clone(),
        mark,
        digest,
        index,
        row: row.map(|row| row.name.clone()),
    })
}

/// Returns room for text in each column of `layout`; none where it is unknown.
pub(super) fn rooms(shape: &Shape, layout: &Layout) -> Vec<Option<TextRoom>> {
    let room = |name: &str| {
        shape.columns.iter().find(|column| column.name == name).and_then(|column| column.room)
    };
    layout.columns.iter().map(|column| room(&column.name)).collect()
}

/// The names of the columns beside a sealed column, and the length of its index values.
struct Added {
    mark: String,
    digest: String,
    index: Option<(String, u32)>,
}

fn added(column: &Column) -> Added {
    Added {
        mark: format!("{}{MARK_ENDING}", column.name),
        digest: format!("{}{DIGEST_ENDING}", column.name),
        index: column.index.as_ref().map(|index| (index.name.clone(), index.bits / 4)),
    }
}

/// Returns `table` with its columns in the order of the table on the server; a manifest has them by
/// their names.
pub(super) fn in_order(table: &Table, shape: &Shape) -> Table {
    let mut table = table.clone();
    let place = |column: &Column| shape.columns.iter().position(|one| one.name == column.name);
    table.columns.sort_by_key(place);
    table
}

/// Returns the columns that a migration of `table` worked with, whether or not they are still
/// there.
pub(super) fn former(table: &Table) -> Layout {
    let column = |column: &Column| {
        let Added { mark, digest, index } = added(column);
        ColumnLayout {
            name: column.name.clone(),
            mark,
            digest,
            index,
            row: column.row().map(str::to_owned),
        }
    };
    Layout { key: Vec::new(), columns: table.columns.iter().map(column).collect() }
}

fn find<'a>(shape: &'a Shape, name: &str) -> Result<&'a ColumnShape, MigrationError> {
    let names = || shape.columns.iter().map(|column| column.name.as_str());
    let found = shape.columns.iter().find(|column| column.name == name);
    found.ok_or_else(|| MigrationError::NoColumn {
        table: shape.table.clone(),
        unknown: Unknown::new("column", name, names()),
    })
}

/// Returns whether sealed values may contain characters outside ASCII.
fn is_beyond_ascii(method: &Method) -> bool {
    let Method::Ff1(format) = method else { return false };
    format.text().contains("hangul") || !format.text().is_ascii()
}

#[cfg(test)]
mod tests {
    use sealstone_cipher::cipher;

    use super::*;
    use crate::policy::{ColumnOptions, Tweak};

    fn column(name: &str, room: Option<TextRoom>) -> ColumnShape {
        let names_rows = RowShape::Names;
        ColumnShape {
            name: name.into(),
            type_text: "some".into(),
            room,
            hindrance: None,
            names_rows,
        }
    }

    fn shape() -> Shape {
        let text = TextRoom { chars: Some(13), bytes: None, longest: Some(13), unicode: false };
        let columns =
            vec![column("id", None), column("phone", Some(text)), column("memo", Some(text))];
        Shape { table: "people".into(), columns, key: vec!["id".into()], hindrance: None, rows: 1 }
    }

    fn of(shape: &Shape, specs: &[&str]) -> Result<Layout, String> {
        let options = ColumnOptions { tweak: Tweak::Row("id".into()), ..ColumnOptions::default() };
        let columns = specs.iter().map(|spec| Column::parse(spec, &options).unwrap()).collect();
        let table = Table::new("people", cipher("aes-256").unwrap(), columns).unwrap();
        layout(shape, &table, false).map_err(|error| error.to_string())
    }

    #[test]
    fn marks_are_named_after_their_columns() {
        let layout = of(&shape(), &["phone=ff1:phone"]).unwrap();
        let column = &layout.columns[0];
        assert_eq!((column.mark.as_str(), column.row.as_deref()), ("phone_sealed", Some("id")));
    }

    #[test]
    fn what_is_in_the_way_is_named_with_a_remedy() {
        let fails = |shape: &Shape, spec: &str, want: &str| {
            let error = of(shape, &[spec]).unwrap_err();
            assert!(error.contains(want) && error.lines().count() == 2, "{error}");
        };
        fails(
            &shape(),
            "phnoe=ff1:phone",
            "table people: unknown column \"phnoe\"; did you mean phone?",
        );
        fails(&shape(), "memo=ff1:hangul", "its type is some, which lacks characters");
        let mut other = shape();
        other.columns[1].room = None;
        fails(
            &other,
            "phone=ff1:phone",
            "column phone of table people: its type is some, and sealed values are text",
        );
        let mut other = shape();
        other.hindrance =
            Some(Hindrance { found: "it is a view".into(), step: "name a table".into() });
        fails(&other, "phone=ff1:phone", "table people: it is a view");
        let mut other = shape();
        other.columns.push(column("phone_sealed", None));
        fails(
            &other,
            "phone=ff1:phone",
            "column phone_sealed of table people: it is there already",
        );
        let mut other = shape();
        let hindrance = Hindrance { found: "it floats".into(), step: "name another".into() };
        other.columns[0].names_rows = RowShape::Cannot(hindrance);
        fails(&other, "phone=ff1:phone", "column id of table people: it floats");
    }
}
