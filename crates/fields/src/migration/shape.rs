//! Shape of a table, and the columns that a migration works with. Not here: the requirements
//! (`layout`).

use sealstone_message::SettingName;

/// Reason why something cannot be sealed, as the server sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hindrance {
    /// Description of the finding, such as `it is part of the primary key`.
    pub found: String,
    /// Advice on what to do about it.
    pub step: String,
}

impl Hindrance {
    /// Returns what keeps a column from being sealed on any server, if something does.
    ///
    /// - `in_key`: whether the column is part of the key by which rows are found
    /// - `generated`: whether the server computes its values
    /// - `foreign`: name of a foreign key that it is part of
    #[must_use]
    pub fn of_column(in_key: bool, generated: bool, foreign: Option<&str>) -> Option<Self> {
        let of = |found: String, step: String| Some(Self { found, step });
        if in_key {
            let found = "rows are found by it: it is part of their key".into();
            return of(found, "give the table another primary key, or seal another column".into());
        }
        if generated {
            return of(
                "the server computes it from other columns".into(),
                "seal those instead".into(),
            );
        }
        let key = foreign?;
        of(
            format!("foreign key {key} needs it to equal a column of another table"),
            format!(
                "remove that key first, and seal both columns with {}",
                SettingName("tweak COLUMN=none")
            ),
        )
    }
}

/// Amount of text that a column takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextRoom {
    /// The most characters, if they are counted.
    pub chars: Option<u64>,
    /// The most bytes, if they are counted.
    pub bytes: Option<u64>,
    /// The most bytes of UTF-8 that a value of it can have; none where that has no limit, or is
    /// unknown.
    pub longest: Option<u64>,
    /// True if it takes every character of Unicode.
    pub unicode: bool,
}

impl TextRoom {
    /// Returns the number of characters with room, if that is too few for a text of so many `chars`
    /// and `bytes`.
    pub(crate) fn lacks(&self, (chars, bytes): (u64, u64)) -> Option<u64> {
        self.chars.filter(|room| chars > *room).or(self.bytes.filter(|room| bytes > *room))
    }
}

/// Ability of a column to name rows, for values that are bound to the row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowShape {
    /// It can.
    Names,
    /// It cannot, for this reason.
    Cannot(Hindrance),
}

/// Shape of a column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnShape {
    /// Its name.
    pub name: String,
    /// Its type as the server writes it.
    pub type_text: String,
    /// Room for text; none where it holds something else.
    pub room: Option<TextRoom>,
    /// Reason why its values cannot be exchanged for sealed values, if there is one.
    pub hindrance: Option<Hindrance>,
    /// Ability of the column to name rows.
    pub names_rows: RowShape,
}

/// Shape of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its name as the server writes it.
    pub table: String,
    /// Its columns.
    pub columns: Vec<ColumnShape>,
    /// The columns of its primary key, or of another key that each row has exactly once.
    pub key: Vec<String>,
    /// Reason why nothing in it can be sealed, if there is one: no suitable key, for example.
    pub hindrance: Option<Hindrance>,
    /// About how many rows it has.
    pub rows: u64,
}

/// A sealed column, and the columns beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnLayout {
    /// Its name.
    pub name: String,
    /// The name of its mark.
    pub mark: String,
    /// The name of the column with the digest of the value that the mark was set for.
    pub digest: String,
    /// The name of the column with its index values and their length in characters, if it has any.
    pub index: Option<(String, u32)>,
    /// The column that its values are bound to, if any.
    pub row: Option<String>,
}

impl ColumnLayout {
    /// Returns the names of the columns that are beside it.
    pub fn added(&self) -> impl Iterator<Item = &String> {
        let index = self.index.as_ref().map(|(index, _)| index);
        [Some(&self.mark), Some(&self.digest), index].into_iter().flatten()
    }
}

/// The columns that a migration works with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The columns of the key.
    pub key: Vec<String>,
    /// The sealed columns.
    pub columns: Vec<ColumnLayout>,
}
