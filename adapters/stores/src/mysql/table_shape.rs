//! Properties of a table of MySQL or MariaDB, from its catalogue.

use sealstone_fields::migration::{ColumnShape, Hindrance, RowShape, TextRoom};

use super::table_text::{KeyKind, Named, literal, quoted};

/// Values of a row of an answer, as text.
pub(super) type Values = Vec<Option<String>>;

/// Characters that a MEDIUMTEXT holds in any character set: its bytes, four for each.
const MEDIUM_CHARS_MAX: u64 = ((1 << 24) - 1) / 4;

/// Facts about a column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    data_type: String,
    column_type: String,
    chars: Option<u64>,
    bytes: Option<u64>,
    charset: Option<String>,
    collation: Option<String>,
    is_nullable: bool,
    generation: Option<String>,
}

/// A part of an index.
#[derive(Clone, Debug)]
struct IndexPart {
    index: String,
    is_unique: bool,
    column: Option<String>,
    is_prefix: bool,
}

/// Facts about a table from the catalogue.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalogue {
    pub(super) columns: Vec<Column>,
    parts: Vec<IndexPart>,
    /// Name, column and what happens to it when the other one is changed.
    foreign: Vec<(String, String, String)>,
    /// Name and text.
    checks: Vec<(String, String)>,
    partitions: Vec<String>,
}

/// Returns the query for tables: name, kind, engine, rows. Only tables called `table`, or all.
pub(super) fn tables(table: Option<&str>) -> String {
    let named =
        table.map(|table| format!(" AND table_name = {}", literal(table))).unwrap_or_default();
    format!(
        "SELECT table_name, table_type, engine, table_rows FROM information_schema.tables WHERE \
         table_schema = DATABASE(){named} ORDER BY table_name"
    )
}

/// Returns why nothing of a table of this kind and engine can be sealed, if so.
pub(super) fn table_hindrance(kind: &str, engine: Option<&str>) -> Option<Hindrance> {
    let of = |found: &str, step: &str| Some(Hindrance { found: found.into(), step: step.into() });
    match (kind, engine) {
        ("BASE TABLE", Some("InnoDB")) => None,
        ("BASE TABLE", engine) => {
            let found =
                format!("its engine is {}, which has no transactions", engine.unwrap_or("unknown"));
            of(&found, "change it first: ALTER TABLE ... ENGINE=InnoDB")
        }
        ("SYSTEM VERSIONED", _) => of(
            "it keeps every older row (WITH SYSTEM VERSIONING), which would stay in the clear",
            "end that first: ALTER TABLE ... DROP SYSTEM VERSIONING",
        ),
        (kind, _) => {
            of(&format!("it is a {}", kind.to_lowercase()), "name the table that holds the rows")
        }
    }
}

/// Way in which a server lists its check constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checks {
    /// With the table of each (MariaDB).
    OfTable,
    /// With their schema alone (MySQL from 8.0.16 on).
    OfSchema,
    /// It reads them and does nothing with them (MySQL before).
    Ignored,
}

/// Returns the questions for the rest, in the order in which [`Catalogue::new`] takes the answers.
pub(super) fn questions(table: &str, checks: Checks) -> [String; 6] {
    let at = format!("table_schema = DATABASE() AND table_name = {}", literal(table));
    let checks = match checks {
        Checks::OfTable => format!(
            "SELECT constraint_name, check_clause FROM information_schema.check_constraints WHERE \
             constraint_schema = DATABASE() AND table_name = {}",
            literal(table)
        ),
        Checks::OfSchema => format!(
            "SELECT constraint_name, check_clause FROM information_schema.check_constraints JOIN \
             information_schema.table_constraints USING (constraint_schema, constraint_name) WHERE \
             {at}"
        ),
        Checks::Ignored => {
            "SELECT table_name, table_name FROM information_schema.tables WHERE 1 = 0".into()
        }
    };
    [
        format!(
            "SELECT column_name, data_type, column_type, character_maximum_length, \
             character_octet_length, character_set_name, collation_name, is_nullable, \
             generation_expression FROM information_schema.columns WHERE {at} ORDER BY \
             ordinal_position"
        ),
        format!(
            "SELECT index_name, non_unique, column_name, sub_part FROM \
             information_schema.statistics WHERE {at} ORDER BY index_name <> 'PRIMARY', \
             index_name, seq_in_index"
        ),
        format!(
            "SELECT k.constraint_name, k.column_name, r.update_rule FROM \
             information_schema.key_column_usage k JOIN information_schema.referential_constraints \
             r ON r.constraint_schema = k.constraint_schema AND r.constraint_name = \
             k.constraint_name AND r.table_name = k.table_name WHERE k.table_schema = DATABASE() \
             AND k.table_name = {} AND k.referenced_table_name IS NOT NULL",
            literal(table)
        ),
        format!(
            "SELECT constraint_name, referenced_column_name, 'REFERENCED' FROM \
             information_schema.key_column_usage WHERE referenced_table_schema = DATABASE() AND \
             referenced_table_name = {}",
            literal(table)
        ),
        checks,
        format!(
            "SELECT DISTINCT concat_ws(', ', partition_expression, subpartition_expression) FROM \
             information_schema.partitions WHERE {at} AND partition_name IS NOT NULL"
        ),
    ]
}

impl Catalogue {
    /// Reads the answers to [`questions`].
    pub(super) fn new(answers: [Vec<Values>; 6]) -> Self {
        let [columns, parts, foreign, referenced, checks, partitions] = answers;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let pair = |row: &Values| (text(&row[0]), text(&row[1]));
        let triple = |row: &Values| (text(&row[0]), text(&row[1]), text(&row[2]));
        Self {
            columns: columns.iter().map(|row| Column::new(row)).collect(),
            parts: parts
                .iter()
                .map(|row| IndexPart {
                    index: text(&row[0]),
                    is_unique: row[1].as_deref() == Some("0"),
                    column: row[2].clone(),
                    is_prefix: row[3].is_some(),
                })
                .collect(),
            foreign: foreign.iter().chain(&referenced).map(triple).collect(),
            checks: checks.iter().map(pair).collect(),
            partitions: partitions.iter().map(|row| text(&row[0])).collect(),
        }
    }

    /// Returns the key: the first that each row has exactly once.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn key(&self, table: &str) -> Result<Vec<(String, KeyKind)>, Hindrance> {
        let mut names: Vec<&str> = Vec::new();
        for part in self.parts.iter().filter(|part| part.is_unique) {
            if !names.contains(&part.index.as_str()) {
                names.push(&part.index);
            }
        }
        let key = names.iter().find_map(|name| {
            self.parts
                .iter()
                .filter(|part| part.index == *name)
                .map(|part| self.key_part(part))
                .collect()
        });
        key.ok_or_else(|| Hindrance {
            found: "it has no primary key, and no other key that each row has exactly once, of \
                    numbers, texts, bytes or days"
                .into(),
            step: format!(
                "add one, such as: ALTER TABLE {} ADD COLUMN row_id BIGINT NOT NULL AUTO_INCREMENT \
                 PRIMARY KEY INVISIBLE",
                quoted(table)
            ),
        })
    }

    fn key_part(&self, part: &IndexPart) -> Option<(String, KeyKind)> {
        let column = self
            .column(part.column.as_deref()?)
            .filter(|column| !column.is_nullable && !part.is_prefix)?;
        let kind = match column.data_type.as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" => KeyKind::Number,
            "char" | "varchar" | "date" | "datetime" | "uuid" => KeyKind::Text,
            "binary" | "varbinary" => KeyKind::Bytes,
            _ => return None,
        };
        Some((column.name.clone(), kind))
    }

    pub(super) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns the properties of the table's columns, as far as they matter here.
    pub(super) fn shapes(&self, named: &Named) -> Vec<ColumnShape> {
        let shape = |column: &Column| ColumnShape {
            name: column.name.clone(),
            type_text: column.type_text(),
            room: column.room(),
            hindrance: self.hindrance(column, named),
            names_rows: self.names_rows(column),
        };
        self.columns.iter().map(shape).collect()
    }

    fn hindrance(&self, column: &Column, named: &Named) -> Option<Hindrance> {
        let of = |found: String, step: String| Some(Hindrance { found, step });
        let (name, table) = (&column.name, quoted(&named.table));
        let mentions = |text: &str| text.contains(&quoted(name));
        let in_key = named.key.iter().any(|(key, _)| key == name);
        let foreign = self.foreign.iter().find(|(_, foreign, _)| foreign == name);
        let foreign = foreign.map(|(key, ..)| key.as_str());
        let hindrance = Hindrance::of_column(in_key, column.generation.is_some(), foreign);
        if hindrance.is_some() {
            return hindrance;
        }
        let unique =
            self.parts.iter().find(|part| part.is_unique && part.column.as_ref() == Some(name));
        if let Some(part) = unique {
            let found = format!(
                "unique index {} covers it, and a value that is sealed already can equal one that \
                 is still in the clear",
                part.index
            );
            let step = format!(
                "remove it for now: ALTER TABLE {table} DROP INDEX {}; add it again when all is \
                 sealed",
                quoted(&part.index)
            );
            return of(found, step);
        }
        if let Some((check, _)) = self.checks.iter().find(|(_, text)| mentions(text)) {
            let found = format!("check constraint {check} decides which values it takes");
            let step =
                format!("remove it first: ALTER TABLE {table} DROP CONSTRAINT {}", quoted(check));
            return of(found, step);
        }
        let computed =
            self.columns.iter().find(|other| other.generation.as_deref().is_some_and(mentions));
        if let Some(other) = computed {
            let found = format!("column {} is computed from it", other.name);
            return of(
                found,
                format!(
                    "remove that column first: ALTER TABLE {table} DROP COLUMN {}",
                    quoted(&other.name)
                ),
            );
        }
        if self.partitions.iter().any(|text| mentions(text)) {
            return of(
                "the table is partitioned by it".into(),
                "partition it by a column that stays in the clear".into(),
            );
        }
        None
    }

    fn names_rows(&self, column: &Column) -> RowShape {
        let cannot = |found: &str, step: &str| {
            RowShape::Cannot(Hindrance { found: found.into(), step: step.into() })
        };
        let other = "bind the values to another column, such as the primary key";
        let is_cascading = |(_, foreign, rule): &(String, String, String)| {
            *foreign == column.name
                && !["RESTRICT", "NO ACTION", "REFERENCED"].contains(&rule.as_str())
        };
        match column.data_type.as_str() {
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "char"
            | "varchar" | "date" | "datetime" | "uuid" => {}
            kind => {
                return cannot(
                    &format!(
                        "values of type {kind} are written in several ways, and cannot name rows"
                    ),
                    other,
                );
            }
        }
        if column.generation.is_some() {
            return cannot("the server computes it, and so cannot be kept from changing it", other);
        }
        if self.foreign.iter().any(is_cascading) {
            return cannot(
                "a foreign key changes it together with another table, past every trigger",
                other,
            );
        }
        RowShape::Names
    }
}

impl Column {
    fn new(row: &[Option<String>]) -> Self {
        let text = |at: usize| row[at].clone().unwrap_or_default();
        let number = |at: usize| row[at].as_ref().and_then(|text| text.parse().ok());
        Self {
            name: text(0),
            data_type: text(1).to_lowercase(),
            column_type: text(2),
            chars: number(3),
            bytes: number(4),
            charset: row[5].clone(),
            collation: row[6].clone(),
            is_nullable: text(7) == "YES",
            generation: row[8].clone().filter(|text| !text.is_empty()),
        }
    }

    fn type_text(&self) -> String {
        match &self.charset {
            Some(charset) => format!("{} in {charset}", self.column_type),
            None => self.column_type.clone(),
        }
    }

    fn room(&self) -> Option<TextRoom> {
        let counts_chars = match self.data_type.as_str() {
            "char" | "varchar" => true,
            "tinytext" | "text" | "mediumtext" | "longtext" => false,
            _ => return None,
        };
        let charset = self.charset.as_deref().unwrap_or_default();
        // how many bytes a character has in UTF-8, at most, and how many bytes of UTF-8 one of the
        // column's stands for
        let (of_char, of_byte, unicode) = match charset {
            "utf8mb4" => (4, 1, true),
            "utf8mb3" | "utf8" => (3, 1, true),
            "ucs2" => (3, 2, true),
            "utf16" | "utf16le" => (4, 2, true),
            "utf32" => (4, 1, true),
            "ascii" => (1, 1, false),
            "gb18030" => (4, 2, false),
            _ => (3, 3, false),
        };
        let longest = match counts_chars {
            true => self.chars.map(|chars| of_char * chars),
            false => self.bytes.map(|bytes| bytes.saturating_mul(of_byte)),
        };
        Some(TextRoom {
            chars: self.chars.filter(|_| counts_chars),
            bytes: self.bytes.filter(|_| !counts_chars),
            longest,
            unicode,
        })
    }

    /// Returns the statement that gives it room for `chars` characters in `table`.
    pub(super) fn widening(&self, table: &str, chars: u64) -> String {
        // longer columns would take too much of a row's limit
        let kind = match chars {
            0..=4_000 => format!("VARCHAR({chars})"),
            4_001..=MEDIUM_CHARS_MAX => "MEDIUMTEXT".into(),
            _ => "LONGTEXT".into(),
        };
        let charset = self
            .charset
            .as_ref()
            .map(|charset| format!(" CHARACTER SET {charset}"))
            .unwrap_or_default();
        let collation = self
            .collation
            .as_ref()
            .map(|collation| format!(" COLLATE {collation}"))
            .unwrap_or_default();
        let null = if self.is_nullable { "NULL" } else { "NOT NULL" };
        format!(
            "ALTER TABLE {} MODIFY {} {kind}{charset}{collation} {null}",
            quoted(table),
            quoted(&self.name)
        )
    }
}
