//! Properties of a table of PostgreSQL, from its catalogue.

use sealstone_fields::migration::{ColumnShape, Hindrance, RowShape, TextRoom};

use super::table_text::{Named, literal, quoted};
use crate::sql::STATE;

/// Values of a row of an answer, as text.
pub(super) type Values = Vec<Option<String>>;

/// Returns the question for the table `name`, which may have that of its schema before it: number,
/// schema, name, kind, whether it is a partition, has rules, has children, rows, and whether the
/// database is in UTF-8.
pub(super) fn table(name: &str) -> String {
    let name = literal(name);
    format!(
        "SELECT c.oid, n.nspname, c.relname, c.relkind, c.relispartition, EXISTS (SELECT FROM \
         pg_rewrite WHERE ev_class = c.oid), EXISTS (SELECT FROM pg_inherits WHERE inhparent = \
         c.oid), greatest(c.reltuples, 0)::int8, current_setting('server_encoding') = 'UTF8' FROM \
         pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', \
         'v', 'm', 'f') AND (c.relname = {name} AND pg_table_is_visible(c.oid) OR n.nspname || '.' \
         || c.relname = {name}) ORDER BY c.relname = {name} DESC LIMIT 1"
    )
}

/// Returns the question for all tables.
pub(super) fn tables() -> String {
    format!(
        "SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || \
         c.relname END AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE \
         c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> '{STATE}' AND n.nspname \
         !~ '^(pg_|information_schema$)' ORDER BY name"
    )
}

/// Returns why nothing of the table that `found` is about can be sealed, if so.
pub(super) fn table_hindrance(found: &[Option<String>]) -> Option<Hindrance> {
    let of = |found: &str, step: &str| Some(Hindrance { found: found.into(), step: step.into() });
    let is = |at: usize| found[at].as_deref() == Some("t");
    match found[3].as_deref().unwrap_or_default() {
        "v" | "m" => return of("it is a view", "name the table that holds the rows"),
        "f" => return of("its rows are on another server", "name the table there"),
        _ => {}
    }
    if is(4) {
        return of("it is a partition", "name the table that it is a partition of");
    }
    if found[3].as_deref() == Some("r") && is(6) {
        return of(
            "other tables inherit from it, and its triggers do not hold for their rows",
            "name those, one by one",
        );
    }
    if is(5) {
        return of("rules rewrite what is said to it", "remove them first: DROP RULE");
    }
    None
}

/// Returns the question for the columns of the table with this number, in the order in which
/// [`Column::new`] takes the answers.
pub(super) fn columns(oid: &str) -> String {
    format!(
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typname, a.atttypmod, \
         a.attgenerated <> '', ({FOREIGN}), ({UNIQUE}), ({CHECKS}), ({COMPUTED}), ({PARTITIONS}) \
         FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = {oid} AND \
         a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
    )
}

/// A foreign key from column `a`, or to it.
const FOREIGN: &str = "SELECT min(conname::text) FROM pg_constraint WHERE contype = 'f' AND \
                       (conrelid = a.attrelid AND a.attnum = ANY (conkey) OR confrelid = \
                       a.attrelid AND a.attnum = ANY (confkey))";
/// A unique index over it, or over something computed from it.
const UNIQUE: &str = "SELECT min(i.indexrelid::regclass::text) FROM pg_index i WHERE i.indrelid = \
                      a.attrelid AND i.indisunique AND (a.attnum = ANY (i.indkey) OR EXISTS \
                      (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid \
                      = i.indexrelid AND d.refclassid = 'pg_class'::regclass AND d.refobjid = \
                      a.attrelid AND d.refobjsubid = a.attnum))";
/// A check or exclusion constraint.
const CHECKS: &str = "SELECT min(conname::text) FROM pg_constraint WHERE contype IN ('c', 'x') AND \
                      conrelid = a.attrelid AND a.attnum = ANY (conkey)";
/// A column that is computed from it.
const COMPUTED: &str = "SELECT min(g.attname::text) FROM pg_attrdef e JOIN pg_attribute g ON \
                        g.attrelid = e.adrelid AND g.attnum = e.adnum AND g.attgenerated <> '' AND \
                        g.attnum <> a.attnum JOIN pg_depend d ON d.classid = \
                        'pg_attrdef'::regclass AND d.objid = e.oid AND d.refclassid = \
                        'pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid = \
                        a.attnum";
/// Query that returns true if the table is partitioned by it.
const PARTITIONS: &str = "SELECT count(*) > 0 FROM pg_partitioned_table p \
                          WHERE p.partrelid = a.attrelid AND a.attnum = ANY (p.partattrs)";

/// Returns the question for the columns of unique indexes, the primary key first: index, number of
/// its columns, name, type, and whether the column is never NULL.
pub(super) fn keys(oid: &str) -> String {
    format!(
        "SELECT i.indexrelid, i.indnkeyatts, a.attname, format_type(a.atttypid, -1), a.attnotnull \
         FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, \
         place) JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum WHERE \
         i.indrelid = {oid} AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS \
         NULL AND k.place <= i.indnkeyatts ORDER BY i.indisprimary DESC, i.indexrelid, k.place"
    )
}

/// Returns the key among the answers to [`keys`]: the first that each row has exactly once.
///
/// # Errors
/// There is none.
pub(super) fn key(answers: &[Values], table: &str) -> Result<Vec<(String, String)>, Hindrance> {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let mut at = 0;
    while at < answers.len() {
        let parts = answers[at..].iter().take_while(|part| part[0] == answers[at][0]).count();
        let index = &answers[at..at + parts];
        // a part that is computed has no column
        let is_whole = index[0][1].as_deref() == Some(parts.to_string().as_str());
        if is_whole && index.iter().all(|part| part[4].as_deref() == Some("t")) {
            return Ok(index.iter().map(|part| (text(&part[2]), text(&part[3]))).collect());
        }
        at += parts;
    }
    Err(Hindrance {
        found: "it has no primary key, and no other key that each row has exactly once".into(),
        step: format!(
            "add one, such as: ALTER TABLE {} ADD COLUMN row_id BIGINT GENERATED ALWAYS AS \
             IDENTITY PRIMARY KEY",
            quoted(table)
        ),
    })
}

/// Facts about a column.
#[derive(Clone, Debug)]
pub(super) struct Column {
    name: String,
    type_text: String,
    type_name: String,
    chars: Option<u64>,
    is_generated: bool,
    foreign: Option<String>,
    unique: Option<String>,
    check: Option<String>,
    computed: Option<String>,
    partitions: bool,
}

impl Column {
    pub(super) fn new(row: &[Option<String>]) -> Self {
        let text = |at: usize| row[at].clone().unwrap_or_default();
        let is = |at: usize| row[at].as_deref() == Some("t");
        // the length, with four bytes that come before it
        let length =
            row[3].as_ref().and_then(|text| text.parse::<i64>().ok()).filter(|length| *length > 4);
        Self {
            name: text(0),
            type_text: text(1),
            type_name: text(2),
            chars: length.and_then(|length| u64::try_from(length - 4).ok()),
            is_generated: is(4),
            foreign: row[5].clone(),
            unique: row[6].clone(),
            check: row[7].clone(),
            computed: row[8].clone(),
            partitions: is(9),
        }
    }

    /// Returns its properties, as far as they matter here.
    pub(super) fn shape(&self, named: &Named, unicode: bool) -> ColumnShape {
        ColumnShape {
            name: self.name.clone(),
            type_text: self.type_text.clone(),
            room: self.room(unicode),
            hindrance: self.hindrance(named),
            names_rows: self.names_rows(),
        }
    }

    fn room(&self, unicode: bool) -> Option<TextRoom> {
        match self.type_name.as_str() {
            // a character of UTF-8 has four bytes at most
            "varchar" | "bpchar" => {
                let longest = self.chars.map(|chars| 4 * chars);
                Some(TextRoom { chars: self.chars, bytes: None, longest, unicode })
            }
            "text" | "citext" => {
                Some(TextRoom { chars: None, bytes: None, longest: None, unicode })
            }
            _ => None,
        }
    }

    fn hindrance(&self, named: &Named) -> Option<Hindrance> {
        let of = |found: String, step: String| Some(Hindrance { found, step });
        let table = named.full();
        let in_key = named.key.iter().any(|(key, _)| *key == self.name);
        let hindrance = Hindrance::of_column(in_key, self.is_generated, self.foreign.as_deref());
        if hindrance.is_some() {
            return hindrance;
        }
        if let Some(index) = &self.unique {
            let found = format!(
                "unique index {index} covers it, and a value that is sealed already can equal one \
                 that is still in the clear"
            );
            let step = "remove it for now (DROP INDEX, or ALTER TABLE ... DROP CONSTRAINT); add \
                        it again when all is sealed";
            return of(found, step.into());
        }
        if let Some(check) = &self.check {
            let found = format!("constraint {check} decides which values it takes");
            return of(
                found,
                format!("remove it first: ALTER TABLE {table} DROP CONSTRAINT {}", quoted(check)),
            );
        }
        if let Some(column) = &self.computed {
            let found = format!("column {column} is computed from it");
            return of(
                found,
                format!(
                    "remove that column first: ALTER TABLE {table} DROP COLUMN {}",
                    quoted(column)
                ),
            );
        }
        if self.partitions {
            return of(
                "the table is partitioned by it".into(),
                "partition it by a column that stays in the clear".into(),
            );
        }
        None
    }

    fn names_rows(&self) -> RowShape {
        let cannot = |found: String| {
            let step = "bind the values to another column, such as the primary key".into();
            RowShape::Cannot(Hindrance { found, step })
        };
        match self.type_name.as_str() {
            _ if self.is_generated => {
                cannot("the server computes it, and so cannot be kept from changing it".into())
            }
            "int2" | "int4" | "int8" | "numeric" | "text" | "varchar" | "bpchar" | "uuid"
            | "date" => RowShape::Names,
            _ => cannot(format!(
                "values of type {} are written in several ways, and cannot name rows",
                self.type_text
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(index: &str, count: &str, column: &str, is_never_null: &str) -> Values {
        [index, count, column, "bigint", is_never_null].map(|text| Some(text.to_owned())).to_vec()
    }

    #[test]
    fn the_first_whole_key_is_taken() {
        let answers = [
            part("1", "2", "a", "t"),
            part("2", "1", "b", "f"),
            part("3", "2", "c", "t"),
            part("3", "2", "d", "t"),
        ];
        let key = key(&answers, "t").unwrap();
        assert_eq!(key.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["c", "d"]);
    }

    #[test]
    fn a_table_without_a_key_is_refused() {
        let refused = key(&[part("1", "2", "a", "t")], "t").unwrap_err();
        assert!(refused.step.contains("ALTER TABLE \"t\" ADD COLUMN row_id"), "{}", refused.step);
    }
}
