//! Parts of the statements that seal a table in place which all servers of SQL have in common.

use sealstone_fields::migration::{ColumnLayout, Wanted};

/// The table that keeps the state of sealed tables, in their database or schema.
pub(crate) const STATE: &str = "sealstone_fields";
/// Length of the digest of a mark, in characters: 64 bits, which distinguish a sealed value from a
/// value written over it.
pub(crate) const DIGEST_CHARS: u32 = 16;
/// Message of the trigger that refuses sealed values.
pub(crate) const REFUSED_TEXT: &str =
    "sealstone: the table is being opened; write values in the clear";

/// Returns the message of the trigger that keeps `row`, the column that the values of `column` are
/// bound to.
pub(crate) fn bound_text(column: &ColumnLayout, row: &str) -> String {
    format!("sealstone: {} is sealed and bound to {row}; change both at once", column.name)
}

/// Returns the condition that a row has a `wanted` value in a column; `None` if every row is
/// wanted.
///
/// - `name`, `mark`: the column and its mark, quoted
/// - `is_other`: returns the condition that the mark is not that of a version
pub(crate) fn is_wanted(
    (name, mark): (&str, &str),
    wanted: Wanted,
    is_other: impl Fn(i32) -> String,
) -> Option<String> {
    match wanted {
        Wanted::Every { .. } => None,
        Wanted::Clear => Some(format!("({name} IS NOT NULL AND {mark} IS NULL)")),
        Wanted::NotMarked(version) => {
            Some(format!("({name} IS NOT NULL AND {})", is_other(version)))
        }
        Wanted::Marked => Some(format!("{mark} IS NOT NULL")),
        Wanted::MarkedAs(version) => Some(format!("{mark} IN ({version}, -{version})")),
    }
}

/// Returns the columns of text beside `column`, each with its length in characters.
pub(crate) fn added_texts(column: &ColumnLayout) -> impl Iterator<Item = (&String, u32)> {
    let index = column.index.as_ref().map(|(index, chars)| (index, *chars));
    [Some((&column.digest, DIGEST_CHARS)), index].into_iter().flatten()
}

/// Returns a layout for tests: a column with everything beside it, and a key of two columns.
#[cfg(test)]
pub(crate) fn sample_layout() -> sealstone_fields::migration::Layout {
    let column = ColumnLayout {
        name: "memo".into(),
        mark: "memo_sealed".into(),
        digest: "memo_sealed_digest".into(),
        index: Some(("memo_index".into(), 8)),
        row: Some("id".into()),
    };
    let key = vec!["a".into(), "b".into()];
    sealstone_fields::migration::Layout { key, columns: vec![column] }
}
