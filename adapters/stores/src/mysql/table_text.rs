//! Statements to MySQL and MariaDB that seal a table in place.

use sealstone_fields::migration::{Cell, ColumnLayout, Layout, RowChange, Wanted};

use crate::sql::{DIGEST_CHARS, REFUSED_TEXT, STATE, added_texts, bound_text, is_wanted};

/// Way in which a column of the key is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    /// As a number, which needs no quotes.
    Number,
    /// As text.
    Text,
    /// As bytes, in hexadecimal digits.
    Bytes,
}

/// A table and its key.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// Its name.
    pub(super) table: String,
    /// Name and kind of each column of its key.
    pub(super) key: Vec<(String, KeyKind)>,
}

/// Returns `name` as SQL quotes it.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Returns `text` as a value, whatever is in it and whatever the server's settings are.
pub(super) fn literal(text: &str) -> String {
    format!("_utf8mb4 {}", bytes_literal(text))
}

fn bytes_literal(text: &str) -> String {
    let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("X'{digits}'")
}

fn optional(text: Option<&str>) -> String {
    text.map_or_else(|| "NULL".into(), literal)
}

/// Returns the bytes of a column as UTF-8, which are equal only if the texts are: collations take
/// more for equal.
fn exact(column: &str) -> String {
    format!("CAST(CONVERT({} USING utf8mb4) AS BINARY)", quoted(column))
}

fn is_exactly(column: &str, value: Option<&str>) -> String {
    format!("{} <=> {}", exact(column), value.map_or_else(|| "NULL".into(), bytes_literal))
}

fn number(mark: Option<i32>) -> String {
    mark.map_or_else(|| "NULL".into(), |mark| mark.to_string())
}

impl Named {
    fn key_literal(&self, at: usize, value: &str) -> String {
        match self.key[at].1 {
            KeyKind::Number => value.to_owned(),
            KeyKind::Text => literal(value),
            KeyKind::Bytes => format!("X'{value}'"),
        }
    }

    fn is_row(&self, key: &[String]) -> String {
        let part = |(at, (name, _)): (usize, &(String, KeyKind))| {
            format!("{} = {}", quoted(name), self.key_literal(at, &key[at]))
        };
        self.key.iter().enumerate().map(part).collect::<Vec<_>>().join(" AND ")
    }

    /// Returns the condition that a row comes after `key`, in a form for which the server uses its
    /// index.
    fn is_after(&self, key: &[String]) -> String {
        let part = |at: usize| {
            let same = (0..at).map(|at| {
                format!("{} = {}", quoted(&self.key[at].0), self.key_literal(at, &key[at]))
            });
            let more = format!("{} > {}", quoted(&self.key[at].0), self.key_literal(at, &key[at]));
            format!("({})", same.chain([more]).collect::<Vec<_>>().join(" AND "))
        };
        format!("({})", (0..self.key.len()).map(part).collect::<Vec<_>>().join(" OR "))
    }

    /// Returns the beginning of a statement that reads rows: the key, and value, mark and row of
    /// each column.
    fn select(&self, layout: &Layout, wanted: Wanted) -> String {
        let key = self.key.iter().map(|(name, kind)| match kind {
            KeyKind::Bytes => format!("HEX({})", quoted(name)),
            KeyKind::Number | KeyKind::Text => quoted(name),
        });
        let cells = layout.columns.iter().map(|column| {
            let mark = match wanted {
                Wanted::Every { marked: false } => "NULL".into(),
                _ => quoted(&column.mark),
            };
            let kept = match wanted {
                Wanted::Every { marked: false } => "NULL".into(),
                _ => is_kept(column),
            };
            let row = column
                .row
                .as_ref()
                .map_or("NULL".into(), |row| format!("CAST({} AS CHAR)", quoted(row)));
            format!("{}, {mark}, {kept}, {row}", quoted(&column.name))
        });
        let columns: Vec<String> = key.chain(cells).collect();
        format!("SELECT {} FROM {}", columns.join(", "), quoted(&self.table))
    }

    /// Returns the statement that reads the row with the key `key`, as [`Named::read`] does.
    ///
    /// # Errors
    /// The column of which a text is no value: it would be read as a part of the statement.
    pub(super) fn find(&self, layout: &Layout, key: &[String]) -> Result<String, &str> {
        for ((name, kind), value) in self.key.iter().zip(key) {
            let is_value = match kind {
                KeyKind::Number => is_number(value),
                KeyKind::Text => true,
                KeyKind::Bytes => {
                    value.len().is_multiple_of(2) && value.bytes().all(|b| b.is_ascii_hexdigit())
                }
            };
            if !is_value {
                return Err(name);
            }
        }
        let begin = self.select(layout, Wanted::Every { marked: true });
        Ok(format!("{begin} WHERE {}", self.is_row(key)))
    }

    /// Returns the statement that counts the values of the column `at` by mark.
    pub(super) fn count(&self, layout: &Layout, at: usize, marked: bool) -> String {
        let column = &layout.columns[at];
        let (mark, kept) = match marked {
            true => (quoted(&column.mark), is_kept(column)),
            false => ("NULL".into(), "NULL".into()),
        };
        format!(
            "SELECT {mark}, {kept}, COUNT(*) FROM {} WHERE {} IS NOT NULL GROUP BY 1, 2",
            quoted(&self.table),
            quoted(&column.name)
        )
    }

    /// Returns the statement that reads the next rows: the key, and value, mark and row of each
    /// column.
    pub(super) fn read(
        &self,
        layout: &Layout,
        wanted: Wanted,
        after: Option<&[String]>,
        limit: usize,
    ) -> String {
        let mut text = self.select(layout, wanted);
        let part = |column: &ColumnLayout| {
            let (name, mark) = (quoted(&column.name), quoted(&column.mark));
            is_wanted((&name, &mark), wanted, |version| format!("NOT ({mark} <=> {version})"))
        };
        let wanted: Vec<String> = layout.columns.iter().filter_map(part).collect();
        let wanted = (!wanted.is_empty()).then(|| format!("({})", wanted.join(" OR ")));
        let conditions: Vec<String> =
            wanted.into_iter().chain(after.map(|key| self.is_after(key))).collect();
        if !conditions.is_empty() {
            text.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
        }
        let order: Vec<String> = self.key.iter().map(|(name, _)| quoted(name)).collect();
        text.push_str(&format!(" ORDER BY {} LIMIT {limit}", order.join(", ")));
        text
    }

    /// Returns the statement that changes a row if it is still as it was read.
    pub(super) fn update(&self, layout: &Layout, change: &RowChange) -> String {
        let mut sets = Vec::new();
        for (column, new) in layout.columns.iter().zip(&change.new) {
            let Some(new) = new else { continue };
            sets.push(format!("{} = {}", quoted(&column.name), optional(new.value.as_deref())));
            // a negative mark is a claim that the value is sealed, which the trigger turns
            sets.push(format!("{} = {}", quoted(&column.mark), number(new.mark.map(|mark| -mark))));
            if let Some((index, _)) = &column.index {
                sets.push(format!("{} = {}", quoted(index), optional(new.index.as_deref())));
            }
        }
        let mut conditions = vec![self.is_row(&change.old.key)];
        for (column, Cell { value, mark, row, .. }) in layout.columns.iter().zip(&change.old.cells)
        {
            conditions.push(is_exactly(&column.name, value.as_deref()));
            conditions.push(format!("{} <=> {}", quoted(&column.mark), number(*mark)));
            if let Some(name) = &column.row {
                let row = row.as_deref().map_or_else(|| "NULL".into(), bytes_literal);
                conditions
                    .push(format!("CAST(CAST({} AS CHAR) AS BINARY) <=> {row}", quoted(name)));
            }
        }
        format!(
            "UPDATE {} SET {} WHERE {}",
            quoted(&self.table),
            sets.join(", "),
            conditions.join(" AND ")
        )
    }

    /// Returns the statement that reads value and mark of each column of a row.
    pub(super) fn read_back(&self, layout: &Layout, key: &[String]) -> String {
        let cells = layout
            .columns
            .iter()
            .map(|column| format!("{}, {}", quoted(&column.name), quoted(&column.mark)));
        let cells: Vec<String> = cells.collect();
        format!(
            "SELECT {} FROM {} WHERE {}",
            cells.join(", "),
            quoted(&self.table),
            self.is_row(key)
        )
    }
}

/// Returns whether `text` is a number as SQL writes it, and nothing else.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_digits(whole) && is_digits(part)
}

/// Returns the digest of `value`, which is an expression: of its text, in whatever character set it
/// is stored.
fn digest(value: &str) -> String {
    format!("LEFT(SHA2(CONVERT({value} USING utf8mb4), 256), {DIGEST_CHARS})")
}

/// Returns the condition that the digest beside the value of `column` matches the value, by their
/// bytes: the two have collations that MariaDB does not compare.
fn is_kept(column: &ColumnLayout) -> String {
    let value = digest(&quoted(&column.name));
    format!("CAST({} AS BINARY) <=> CAST({value} AS BINARY)", quoted(&column.digest))
}

/// A trigger: its name, and what makes it.
#[derive(Debug)]
pub(super) struct Trigger {
    pub(super) name: String,
    pub(super) text: String,
}

/// The longest name of a trigger, in characters.
pub(super) const NAME_MAX: usize = 64;

fn trigger(table: &str, kind: &str, event: &str, each: impl Iterator<Item = String>) -> Trigger {
    let name = format!("sealstone_{kind}_{table}");
    let (quoted_name, table) = (quoted(&name), quoted(table));
    let body: String = each.collect();
    Trigger {
        name,
        text: format!(
            "CREATE TRIGGER {quoted_name} BEFORE {event} ON {table} FOR EACH ROW BEGIN {body}END"
        ),
    }
}

/// Returns the triggers that keep marks true: a negative mark, the claim of a client that writes a
/// sealed value, is turned positive, and the digest set from the value; a value that changes
/// without a claim is in the clear. The row that a sealed value is bound to must not change.
pub(super) fn keeping(table: &str, layout: &Layout) -> [Trigger; 2] {
    let turn = |column: &ColumnLayout| {
        let (mark, kept) = (quoted(&column.mark), quoted(&column.digest));
        let value = digest(&format!("NEW.{}", quoted(&column.name)));
        format!("IF NEW.{mark} < 0 THEN SET NEW.{mark} = -NEW.{mark}; SET NEW.{kept} = {value}; ")
    };
    let insert = layout.columns.iter().map(|column| format!("{}END IF; ", turn(column)));
    let update = layout.columns.iter().map(|column| {
        let (mark, kept) = (quoted(&column.mark), quoted(&column.digest));
        let mut text = format!("SET NEW.{kept} = OLD.{kept}; {}", turn(column));
        text.push_str(&format!("ELSEIF {} THEN SET NEW.{mark} = NULL; ", changes(&column.name)));
        text.push_str(&format!("SET NEW.{kept} = NULL; "));
        if let Some((index, _)) = &column.index {
            text.push_str(&format!("SET NEW.{} = NULL; ", quoted(index)));
        }
        if let Some(row) = &column.row {
            let condition = format!("NEW.{mark} IS NOT NULL AND {}", changes(row));
            text.push_str(&format!(
                "ELSEIF {condition} THEN {} ",
                refusal(&bound_text(column, row))
            ));
        }
        text.push_str("END IF; ");
        text
    });
    [trigger(table, "insert", "INSERT", insert), trigger(table, "update", "UPDATE", update)]
}

/// Returns the triggers that refuse sealed values, while a table is being opened.
pub(super) fn refusing(table: &str, layout: &Layout) -> [Trigger; 2] {
    let each = |condition: &dyn Fn(&ColumnLayout, &str) -> String| -> Vec<String> {
        let text = |column: &ColumnLayout| {
            let mark = quoted(&column.mark);
            format!("IF {} THEN {} END IF; ", condition(column, &mark), refusal(REFUSED_TEXT))
        };
        layout.columns.iter().map(text).collect()
    };
    let insert = each(&|_, mark| format!("NEW.{mark} IS NOT NULL"));
    let update = each(&|column, mark| {
        format!(
            "NEW.{mark} IS NOT NULL AND (NOT (NEW.{mark} <=> OLD.{mark}) OR {})",
            changes(&column.name)
        )
    });
    [
        trigger(table, "opening_insert", "INSERT", insert.into_iter()),
        trigger(table, "opening_update", "UPDATE", update.into_iter()),
    ]
}

/// Returns the condition that the bytes of a column change.
fn changes(column: &str) -> String {
    let column = quoted(column);
    format!("NOT (CAST(NEW.{column} AS BINARY) <=> CAST(OLD.{column} AS BINARY))")
}

fn refusal(about: &str) -> String {
    // the server takes 128 characters
    let about: String = about.chars().take(128).collect();
    format!(
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{}';",
        about.replace('\\', "\\\\").replace('\'', "''")
    )
}

/// Returns the statement that adds the columns of `layout` that are not among `known`; none if all
/// are. With `visible`, statements that name no columns see them, too.
pub(super) fn additions(
    table: &str,
    layout: &Layout,
    known: &[String],
    visible: bool,
) -> Option<String> {
    let hidden = if visible { "" } else { " INVISIBLE" };
    let missing = |name: &String| !known.contains(name);
    let mut parts = Vec::new();
    for column in &layout.columns {
        if missing(&column.mark) {
            parts
                .push(format!("ADD COLUMN {} INT NULL DEFAULT NULL{hidden}", quoted(&column.mark)));
        }
        for (name, chars) in added_texts(column).filter(|(name, _)| missing(name)) {
            let of = format!(
                "VARCHAR({chars}) CHARACTER SET ascii COLLATE ascii_bin NULL DEFAULT NULL{hidden}"
            );
            parts.push(format!("ADD COLUMN {} {of}", quoted(name)));
        }
    }
    (!parts.is_empty()).then(|| format!("ALTER TABLE {} {}", quoted(table), parts.join(", ")))
}

/// Returns the statement that removes the columns of `layout` that are among `known`; none if none
/// are.
pub(super) fn removals(table: &str, layout: &Layout, known: &[String]) -> Option<String> {
    let names = layout.columns.iter().flat_map(ColumnLayout::added);
    let parts: Vec<String> = names
        .filter(|name| known.contains(name))
        .map(|name| format!("DROP COLUMN {}", quoted(name)))
        .collect();
    (!parts.is_empty()).then(|| format!("ALTER TABLE {} {}", quoted(table), parts.join(", ")))
}

/// Returns the statement that makes the table of states.
pub(super) fn state_table() -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {STATE} (table_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE \
         utf8mb4_bin NOT NULL PRIMARY KEY, phase VARCHAR(16) CHARACTER SET ascii NOT NULL, \
         manifest MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL) ENGINE=InnoDB COMMENT='how sealstone \
         sealed columns of tables: keep it with them'"
    )
}

#[cfg(test)]
mod tests {
    use sealstone_fields::migration::{NewCell, Row};

    use super::*;
    use crate::sql::sample_layout as layout;

    fn named() -> Named {
        Named {
            table: "t`x".into(),
            key: vec![("a".into(), KeyKind::Number), ("b".into(), KeyKind::Text)],
        }
    }

    #[test]
    fn rows_are_read_after_a_key_of_two_columns() {
        let key = ["7".to_owned(), "é'".to_owned()];
        assert_eq!(
            named().read(&layout(), Wanted::Clear, Some(&key), 9),
            "SELECT `a`, `b`, `memo`, `memo_sealed`, CAST(`memo_sealed_digest` AS BINARY) <=> \
             CAST(LEFT(SHA2(CONVERT(`memo` USING utf8mb4), 256), 16) AS BINARY), CAST(`id` AS \
             CHAR) FROM `t``x` WHERE ((`memo` IS NOT NULL AND `memo_sealed` IS NULL)) AND ((`a` > \
             7) OR (`a` = 7 AND `b` > _utf8mb4 X'c3a927')) ORDER BY `a`, `b` LIMIT 9"
        );
        let marked = named().read(&layout(), Wanted::MarkedAs(3), None, 1);
        assert!(marked.contains(" WHERE (`memo_sealed` IN (3, -3)) ORDER BY "), "{marked}");
        let every = named().read(&layout(), Wanted::Every { marked: false }, None, 1);
        assert_eq!(
            every,
            "SELECT `a`, `b`, `memo`, NULL, NULL, CAST(`id` AS CHAR) FROM `t``x` ORDER BY `a`, `b` \
             LIMIT 1"
        );
    }

    #[test]
    fn a_row_is_changed_only_as_it_was_read() {
        let cell =
            Cell { value: Some("x".into()), mark: None, is_kept: false, row: Some("5".into()) };
        let old = Row { key: vec!["7".into(), "k".into()], cells: vec![cell] };
        let new = NewCell { value: Some("y".into()), mark: Some(2), index: Some("0f".into()) };
        assert_eq!(
            named().update(&layout(), &RowChange { old, new: vec![Some(new)] }),
            "UPDATE `t``x` SET `memo` = _utf8mb4 X'79', `memo_sealed` = -2, `memo_index` = \
             _utf8mb4 X'3066' WHERE `a` = 7 AND `b` = _utf8mb4 X'6b' AND CAST(CONVERT(`memo` USING \
             utf8mb4) AS BINARY) <=> X'78' AND `memo_sealed` <=> NULL AND CAST(CAST(`id` AS CHAR) \
             AS BINARY) <=> X'35'"
        );
    }

    #[test]
    fn what_is_there_already_is_not_added() {
        let known =
            vec!["memo".to_owned(), "memo_sealed".to_owned(), "memo_sealed_digest".to_owned()];
        let text = additions("t", &layout(), &known, false).unwrap();
        assert!(
            text.contains("`memo_index` VARCHAR(8)") && !text.contains("memo_sealed"),
            "{text}"
        );
        assert_eq!(
            removals("t", &layout(), &known).unwrap(),
            "ALTER TABLE `t` DROP COLUMN `memo_sealed`, DROP COLUMN `memo_sealed_digest`"
        );
        assert!(removals("t", &layout(), &[]).is_none());
    }
}
