//! Plan for the fields of a record, once the header is read.

use sealstone_csv::{Layout, Span};
use sealstone_message::not_among_header_names;

use super::error::CsvError;
use crate::column_name::places;
use crate::pass::{Plan, Work};

/// The columns of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    names: Vec<String>,
}

impl Header {
    /// Reads the names in `fields` of `line`.
    pub(super) fn read(line: &[u8], fields: &[Span], layout: Layout) -> Result<Self, CsvError> {
        let name = |span: &Span| {
            let text = layout.encoding.decode(&line[span.start..span.end])?;
            let inner = if span.quoted { &text[1..text.len() - 1] } else { &text[..] };
            Some(inner.replace("\"\"", "\"").trim().to_owned())
        };
        let names = fields.iter().map(name).collect::<Option<Vec<_>>>();
        Ok(Self { names: names.ok_or(CsvError::HeaderEncoding(layout.encoding.name()))? })
    }

    /// Returns the names in order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the index of the column called `name`, from 0; `wanted`: all names that are
    /// requested.
    fn find(&self, name: &str, wanted: &[&str]) -> Result<usize, CsvError> {
        let mut found = places(&self.names, name).into_iter();
        match (found.next(), found.next()) {
            (Some(at), None) => Ok(at),
            (Some(first), Some(second)) => {
                Err(CsvError::Twice { name: name.to_owned(), first: first + 1, second: second + 1 })
            }
            (None, _) => Err(CsvError::NoColumn {
                name: name.to_owned(),
                told: not_among_header_names(
                    name,
                    wanted.iter().copied(),
                    &self.names.iter().map(String::as_str).collect::<Vec<_>>(),
                ),
            }),
        }
    }
}

/// Treatment of one field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is replaced by the value of this column of the table.
    Replaced(usize),
    /// It is left out.
    Dropped,
}

/// The fields of a record that something is done with.
#[derive(Debug)]
pub(super) struct Fields {
    pub(super) layout: Layout,
    /// Number of fields in a record.
    pub(super) width: usize,
    /// For each column of the table, its field.
    pub(super) columns: Vec<usize>,
    /// For each column of the table, the field that names the row, if it is bound to one.
    pub(super) rows: Vec<Option<usize>>,
    /// Treatment of each field, in the order of the fields.
    pub(super) fates: Vec<(usize, Fate)>,
    /// Columns of the table whose index values are appended.
    pub(super) indexed: Vec<usize>,
}

impl Fields {
    pub(super) fn of(plan: &Plan, header: &Header, layout: Layout) -> Result<Self, CsvError> {
        let table = &plan.table;
        let named = table
            .columns
            .iter()
            .flat_map(|column| std::iter::once(column.name.as_str()).chain(column.row()));
        let wanted: Vec<&str> = named.collect();
        let find = |name: &str| header.find(name, &wanted);
        let columns =
            table.columns.iter().map(|column| find(&column.name)).collect::<Result<Vec<_>, _>>()?;
        let rows = table.columns.iter().map(|column| column.row().map(find).transpose());
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let mut fates: Vec<_> =
            columns.iter().enumerate().map(|(at, &field)| (field, Fate::Replaced(at))).collect();
        let mut indexed = Vec::new();
        for (at, column) in table.columns.iter().enumerate() {
            let Some(index) = &column.index else { continue };
            match plan.work {
                Work::Check | Work::Find(_) => {}
                Work::Seal(_) if !places(&header.names, &index.name).is_empty() => {
                    return Err(CsvError::IndexThere { name: index.name.clone() });
                }
                Work::Seal(_) => indexed.push(at),
                Work::Open(_) => fates.push((find(&index.name)?, Fate::Dropped)),
                Work::Reseal(..) => {
                    fates.push((find(&index.name)?, Fate::Dropped));
                    indexed.push(at);
                }
            }
        }
        fates.sort_by_key(|(field, _)| *field);
        Ok(Self { layout, width: header.names.len(), columns, rows, fates, indexed })
    }
}
