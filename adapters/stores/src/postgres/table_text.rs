//! Statements to PostgreSQL that seal a table in place.

use sealstone_fields::migration::{ColumnLayout, Layout, Wanted};

use crate::sql::{DIGEST_CHARS, REFUSED_TEXT, STATE, added_texts, bound_text, is_wanted};

/// The trigger. PostgreSQL fires triggers in the order of their names, and this one must see what
/// others make of a value.
pub(super) const TRIGGER: &str = "zzz_sealstone";
/// Prefix of the name of its function.
const FUNCTION: &str = "sealstone_";
/// The longest name, in bytes; longer names are cut silently.
pub(super) const NAME_BYTES_MAX: usize = 63;

/// A table and its key.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    /// Its schema.
    pub(super) schema: String,
    /// Its name.
    pub(super) table: String,
    /// Name and type of each column of its key.
    pub(super) key: Vec<(String, String)>,
}

/// Returns `name` as SQL quotes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns `text` as a value.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns a column as text that equals another only if the texts do.
fn exact(column: &str) -> String {
    format!("{column}::text COLLATE \"C\"")
}

impl Named {
    /// Its name with that of its schema.
    pub(super) fn full(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.table))
    }

    /// Returns the table of states.
    pub(super) fn states(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(STATE))
    }

    /// Returns the name of the trigger's function.
    pub(super) fn function_name(&self) -> String {
        format!("{FUNCTION}{}", self.table)
    }

    fn function(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.function_name()))
    }

    /// Returns the beginning of a statement that reads rows: the key, and value, mark and row of
    /// each column.
    fn select(&self, layout: &Layout, wanted: Wanted) -> String {
        let key: Vec<String> = self.key.iter().map(|(name, _)| quoted(name)).collect();
        let cells = layout.columns.iter().map(|column| {
            let (mark, kept) = match wanted {
                Wanted::Every { marked: false } => ("NULL".into(), "NULL".into()),
                _ => (quoted(&column.mark), is_kept(column)),
            };
            let row =
                column.row.as_ref().map_or("NULL".into(), |row| format!("{}::text", quoted(row)));
            format!("{}::text, {mark}, {kept}, {row}", quoted(&column.name))
        });
        let columns: Vec<String> = key.into_iter().chain(cells).collect();
        format!("SELECT {} FROM {} AS t", columns.join(", "), self.full())
    }

    /// Returns the statement that reads the row with the key `key`, as [`Named::read`] does.
    pub(super) fn find(&self, layout: &Layout, key: &[String]) -> String {
        let part = |((name, kind), value): (&(String, String), &String)| {
            format!("t.{} = {}::{}", quoted(name), literal(value), kind)
        };
        let parts: Vec<String> = self.key.iter().zip(key).map(part).collect();
        let begin = self.select(layout, Wanted::Every { marked: true });
        format!("{begin} WHERE {}", parts.join(" AND "))
    }

    /// Returns the statement that counts the values of the column `at` by mark.
    pub(super) fn count(&self, layout: &Layout, at: usize, marked: bool) -> String {
        let column = &layout.columns[at];
        let (mark, kept) = match marked {
            true => (quoted(&column.mark), is_kept(column)),
            false => ("NULL::int".into(), "NULL::int".into()),
        };
        format!(
            "SELECT {mark}, {kept}, count(*) FROM {} AS t WHERE {} IS NOT NULL GROUP BY 1, 2",
            self.full(),
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
        let key: Vec<String> = self.key.iter().map(|(name, _)| quoted(name)).collect();
        let mut text = self.select(layout, wanted);
        let part = |column: &ColumnLayout| {
            let (name, mark) = (quoted(&column.name), quoted(&column.mark));
            let is_other = |version| format!("{mark} IS DISTINCT FROM {version}");
            is_wanted((&name, &mark), wanted, is_other)
        };
        let wanted: Vec<String> = layout.columns.iter().filter_map(part).collect();
        let wanted = (!wanted.is_empty()).then(|| format!("({})", wanted.join(" OR ")));
        let after = after.map(|values| {
            let values = self
                .key
                .iter()
                .zip(values)
                .map(|((_, kind), value)| format!("{}::{kind}", literal(value)));
            format!("({}) > ({})", key.join(", "), values.collect::<Vec<_>>().join(", "))
        });
        let conditions: Vec<String> = wanted.into_iter().chain(after).collect();
        if !conditions.is_empty() {
            text.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
        }
        // a bare name would mean the output column, where a column is read twice
        let order: Vec<String> = key.iter().map(|name| format!("t.{name}")).collect();
        text.push_str(&format!(" ORDER BY {} LIMIT {limit}", order.join(", ")));
        text
    }

    /// Returns the statement that changes rows that are still as they were read. Its parameters: a
    /// list for each column of the key, then seven for each sealed column: the old value and mark,
    /// its row, whether it changes, and the new value, mark and index value. It returns the number
    /// of each row that it changed, and value and mark of each column.
    pub(super) fn update(&self, layout: &Layout) -> String {
        let (mut lists, mut names, mut sets, mut conditions, mut stored) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut list = |name: String, kind: &str| {
            lists.push(format!("${}::{kind}[]", lists.len() + 1));
            names.push(name);
        };
        for (at, (name, kind)) in self.key.iter().enumerate() {
            list(format!("k{at}"), "text");
            conditions.push(format!("t.{} = v.k{at}::{kind}", quoted(name)));
        }
        for (at, column) in layout.columns.iter().enumerate() {
            for (name, kind) in [
                ("o", "text"),
                ("m", "int4"),
                ("r", "text"),
                ("c", "bool"),
                ("n", "text"),
                ("s", "int4"),
                ("i", "text"),
            ] {
                list(format!("{name}{at}"), kind);
            }
            let (name, mark) = (quoted(&column.name), quoted(&column.mark));
            sets.push(format!("{name} = v.n{at}, {mark} = v.s{at}"));
            if let Some((index, _)) = &column.index {
                let index = quoted(index);
                sets.push(format!("{index} = CASE WHEN v.c{at} THEN v.i{at} ELSE t.{index} END"));
            }
            conditions.push(format!(
                "{} IS NOT DISTINCT FROM v.o{at} COLLATE \"C\"",
                exact(&format!("t.{name}"))
            ));
            conditions.push(format!("t.{mark} IS NOT DISTINCT FROM v.m{at}"));
            if let Some(row) = &column.row {
                let row = exact(&format!("t.{}", quoted(row)));
                conditions.push(format!("{row} IS NOT DISTINCT FROM v.r{at} COLLATE \"C\""));
            }
            stored.push(format!("t.{name}::text, t.{mark}"));
        }
        format!(
            "UPDATE {} AS t SET {} FROM unnest({}) WITH ORDINALITY AS v({}, number) WHERE {} \
             RETURNING v.number, {}",
            self.full(),
            sets.join(", "),
            lists.join(", "),
            names.join(", "),
            conditions.join(" AND "),
            stored.join(", ")
        )
    }

    /// Returns the statement that adds marks, index columns and the trigger, all or nothing.
    pub(super) fn preparing(&self, layout: &Layout) -> String {
        let mut parts = Vec::new();
        for column in &layout.columns {
            parts.push(format!("ADD COLUMN IF NOT EXISTS {} integer", quoted(&column.mark)));
            for (name, chars) in added_texts(column) {
                parts.push(format!(
                    "ADD COLUMN IF NOT EXISTS {} varchar({chars}) COLLATE \"C\"",
                    quoted(name)
                ));
            }
        }
        let (table, trigger) = (self.full(), quoted(TRIGGER));
        format!(
            "BEGIN; ALTER TABLE {table} {}; {}; DROP TRIGGER IF EXISTS {trigger} ON {table}; \
             CREATE TRIGGER {trigger} BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW EXECUTE \
             FUNCTION {}(); COMMIT",
            parts.join(", "),
            self.keeping(layout, false),
            self.function()
        )
    }

    /// Returns the statement that makes the trigger refuse sealed values, once no transaction is
    /// writing one.
    pub(super) fn refusing(&self, layout: &Layout) -> String {
        let table = self.full();
        format!(
            "BEGIN; LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE; {}; COMMIT",
            self.keeping(layout, true)
        )
    }

    /// Returns the statement that removes all that [`Named::preparing`] added, and the state.
    pub(super) fn removing(&self, layout: &Layout) -> String {
        let names = layout.columns.iter().flat_map(ColumnLayout::added);
        let parts: Vec<String> =
            names.map(|name| format!("DROP COLUMN IF EXISTS {}", quoted(name))).collect();
        let table = self.full();
        format!(
            "BEGIN; DROP TRIGGER IF EXISTS {} ON {table}; DROP FUNCTION IF EXISTS {}(); ALTER \
             TABLE {table} {}; DELETE FROM {} WHERE table_name = {}; COMMIT",
            quoted(TRIGGER),
            self.function(),
            parts.join(", "),
            self.states(),
            literal(&self.table)
        )
    }

    /// Returns the statement that removes the state, and the function of a trigger that went with
    /// its table.
    pub(super) fn forgetting(&self) -> String {
        let states = self.states();
        let table = literal(&self.table);
        format!(
            "BEGIN; DROP FUNCTION IF EXISTS {}(); DELETE FROM {states} WHERE table_name = {table}; \
             COMMIT",
            self.function()
        )
    }

    /// Returns the trigger's function, which keeps marks true: a negative mark, the claim of a
    /// client that writes a sealed value, is turned positive, and the digest set from the value; a
    /// value that changes without a claim is in the clear. The row that a sealed value is bound to
    /// must not change. `opening`: whether sealed values are refused.
    fn keeping(&self, layout: &Layout, opening: bool) -> String {
        let mut body = String::from("BEGIN ");
        for column in &layout.columns {
            let mark = quoted(&column.mark);
            let changes = |name: &str| {
                let name = quoted(name);
                format!(
                    "({}) IS DISTINCT FROM ({})",
                    exact(&format!("NEW.{name}")),
                    exact(&format!("OLD.{name}"))
                )
            };
            let (kept, value) =
                (quoted(&column.digest), digest(&format!("NEW.{}", quoted(&column.name))));
            body.push_str(&format!(
                "IF NEW.{mark} < 0 THEN NEW.{mark} := -NEW.{mark}; NEW.{kept} := {value}; "
            ));
            body.push_str(&format!(
                "ELSIF TG_OP = 'UPDATE' THEN NEW.{kept} := OLD.{kept}; IF {} THEN NEW.{mark} := \
                 NULL; NEW.{kept} := NULL; ",
                changes(&column.name)
            ));
            if let Some((index, _)) = &column.index {
                body.push_str(&format!("NEW.{} := NULL; ", quoted(index)));
            }
            if let Some(row) = &column.row {
                let condition = format!("NEW.{mark} IS NOT NULL AND {}", changes(row));
                body.push_str(&format!(
                    "ELSIF {condition} THEN {} ",
                    refusal(&bound_text(column, row))
                ));
            }
            body.push_str("END IF; END IF; ");
            if opening {
                let about = refusal(REFUSED_TEXT);
                let is_other =
                    format!("NEW.{mark} IS DISTINCT FROM OLD.{mark} OR {}", changes(&column.name));
                body.push_str(&format!(
                    "IF NEW.{mark} IS NOT NULL THEN IF TG_OP = 'INSERT' THEN {about} ELSIF \
                     {is_other} THEN {about} END IF; END IF; "
                ));
            }
        }
        body.push_str("RETURN NEW; END");
        format!(
            "CREATE OR REPLACE FUNCTION {}() RETURNS trigger LANGUAGE plpgsql AS \
             $sealstone${body}$sealstone$",
            self.function()
        )
    }

    /// Returns the statement that makes the table of states.
    pub(super) fn state_table(&self) -> String {
        format!(
            "CREATE TABLE IF NOT EXISTS {} (table_name text PRIMARY KEY, phase text NOT NULL, \
             manifest text NOT NULL)",
            self.states()
        )
    }

    /// Returns the statement that saves a state.
    pub(super) fn saving(&self, phase: &str, manifest: &str) -> String {
        format!(
            "INSERT INTO {} (table_name, phase, manifest) VALUES ({}, {}, {}) ON CONFLICT \
             (table_name) DO UPDATE SET phase = EXCLUDED.phase, manifest = EXCLUDED.manifest",
            self.states(),
            literal(&self.table),
            literal(phase),
            literal(manifest)
        )
    }
}

/// Returns whether the digest beside the value of `column` matches the value: 1 or 0, and NULL of a
/// value in the clear, which may be none that has a digest.
fn is_kept(column: &ColumnLayout) -> String {
    format!(
        "CASE WHEN {} IS NOT NULL THEN ({} IS NOT DISTINCT FROM {})::int END",
        quoted(&column.mark),
        quoted(&column.digest),
        digest(&quoted(&column.name))
    )
}

/// Returns the digest of `value`, which is an expression: of its text, whatever the database's
/// encoding is.
fn digest(value: &str) -> String {
    let bytes = format!("pg_catalog.sha256(pg_catalog.convert_to(({value})::text, 'UTF8'))");
    format!("pg_catalog.left(pg_catalog.encode({bytes}, 'hex'), {DIGEST_CHARS})")
}

fn refusal(about: &str) -> String {
    // a percent sign stands for a parameter there
    format!("RAISE EXCEPTION {};", literal(&about.replace('%', "%%")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::sample_layout as layout;

    fn named() -> Named {
        let key = vec![("a".into(), "bigint".into()), ("b".into(), "character varying".into())];
        Named { schema: "public".into(), table: "t\"x".into(), key }
    }

    #[test]
    fn rows_are_read_after_a_key_of_two_columns() {
        let key = ["7".to_owned(), "é'".to_owned()];
        assert_eq!(
            named().read(&layout(), Wanted::Clear, Some(&key), 9),
            "SELECT \"a\", \"b\", \"memo\"::text, \"memo_sealed\", CASE WHEN \"memo_sealed\" IS \
             NOT NULL THEN (\"memo_sealed_digest\" IS NOT DISTINCT FROM \
             pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(\
             (\"memo\")::text, 'UTF8')), 'hex'), 16))::int END, \"id\"::text FROM \
             \"public\".\"t\"\"x\" AS t WHERE ((\"memo\" IS NOT NULL AND \"memo_sealed\" \
             IS NULL)) AND (\"a\", \"b\") > ('7'::bigint, 'é'''::character varying) \
             ORDER BY t.\"a\", t.\"b\" LIMIT 9"
        );
    }

    #[test]
    fn rows_are_changed_only_as_they_were_read() {
        let text = named().update(&layout());
        for part in [
            "FROM unnest($1::text[], $2::text[], $3::text[], $4::int4[], $5::text[], $6::bool[], \
             $7::text[], $8::int4[], $9::text[]) WITH ORDINALITY AS v(k0, k1, o0, m0, r0, c0, n0, \
             s0, i0, number)",
            "t.\"a\" = v.k0::bigint AND t.\"b\" = v.k1::character varying",
            "t.\"memo\"::text COLLATE \"C\" IS NOT DISTINCT FROM v.o0 COLLATE \"C\"",
            "t.\"memo_sealed\" IS NOT DISTINCT FROM v.m0",
            "RETURNING v.number, t.\"memo\"::text, t.\"memo_sealed\"",
        ] {
            assert!(text.contains(part), "{text}\nwant: {part}");
        }
    }
}
