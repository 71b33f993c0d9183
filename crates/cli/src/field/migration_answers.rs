//! Answers of the commands on tables of databases.

use sealstone_cipher::NOT_A_MODULE;
use sealstone_fields::migration::{
    Checked, MARK_ENDING, Misfits, Narrow, Outcome, RowMisfit, SealedAs,
};
use sealstone_fields::policy::Table;
use serde::Serialize;

use super::column_answers::{CheckedColumn, Column, columns_text, counted, sealed_columns_text};
use crate::message::{Answer, print, print_json};
use crate::standing;

/// Action that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Did {
    Sealed,
    Resealed,
    Opened,
}

/// Report of a migration, for its user.
pub(super) struct Migrated<'a> {
    pub(super) did: Did,
    pub(super) name: &'a str,
    pub(super) place: String,
    pub(super) outcome: &'a Outcome,
    pub(super) seconds: f64,
}

#[derive(Debug, Serialize)]
struct MigratedJson<'a> {
    schema: u32,
    done: Did,
    whole: bool,
    table: &'a str,
    server: &'a str,
    cipher: &'static str,
    key_id: &'a str,
    key_version: u32,
    columns: Vec<Column>,
    changed_rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    clear_rows: u64,
    older_rows: u64,
    misfitting_values: u64,
    misfits: Vec<Misfitting>,
    values_that_do_not_open: u64,
    unopened: Vec<Misfitting>,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct Misfitting {
    row: String,
    column: String,
    reason: String,
}

impl Misfitting {
    fn all(misfits: &Misfits) -> Vec<Self> {
        let of = |RowMisfit { row, column, misfit }: &RowMisfit| Self {
            row: row.clone(),
            column: column.clone(),
            reason: misfit.to_string(),
        };
        misfits.listed.iter().map(of).collect()
    }
}

impl Migrated<'_> {
    pub(super) fn show(&self, json: bool) -> anyhow::Result<Answer> {
        if json {
            print_json(&self.json())?;
        } else {
            print(&self.text())?;
        }
        Ok(if self.outcome.is_whole { Answer::Done } else { Answer::Negative })
    }

    fn json(&self) -> MigratedJson<'_> {
        let outcome = self.outcome;
        MigratedJson {
            schema: 1,
            done: self.did,
            whole: outcome.is_whole,
            table: self.name,
            server: &self.place,
            cipher: outcome.table.cipher.name,
            key_id: &outcome.key.id,
            key_version: outcome.key.version,
            columns: Column::all(&outcome.table),
            changed_rows: outcome.changed_rows,
            rows: outcome.rows,
            clear_rows: outcome.clear_rows,
            older_rows: outcome.older_rows,
            misfitting_values: outcome.misfits.values,
            misfits: Misfitting::all(&outcome.misfits),
            values_that_do_not_open: outcome.unopened.values,
            unopened: Misfitting::all(&outcome.unopened),
            seconds: self.seconds,
        }
    }

    fn text(&self) -> String {
        let Outcome { table, key, changed_rows, .. } = self.outcome;
        let verb = match self.did {
            Did::Sealed => "sealed",
            Did::Resealed => "sealed again",
            Did::Opened => "opened",
        };
        let mut text = format!(
            "{} of table {} on {} {verb} in {:.1} s: {}, key {} version {}\n",
            counted(*changed_rows, "row"),
            self.name,
            self.place,
            self.seconds,
            table.cipher.name,
            key.id,
            key.version
        );
        for column in &table.columns {
            if self.did == Did::Opened {
                text.push_str(&format!("  {}: {}\n", column.name, column.method_text()));
                continue;
            }
            let (name, method) = (&column.name, column.method_text());
            text.push_str(&format!("  {name}: {method}, marked in {name}{MARK_ENDING}\n"));
            text.push_str(&format!("    to be seen without the key: {}\n", column.leaks()));
            text.push_str(&format!(
                "    approved, by cipher and mode: {}\n",
                standing::words(column, table.cipher)
            ));
        }
        if self.did != Did::Opened {
            text.push_str(&format!("{NOT_A_MODULE}\n"));
        }
        if self.did == Did::Opened {
            self.add_opened(&mut text)
        } else {
            self.add_sealed(&mut text)
        }
        text
    }

    fn add_opened(&self, text: &mut String) {
        if self.outcome.is_whole {
            text.push_str("all values are in the clear; marks, triggers and state are removed\n");
            return;
        }
        add_misfits(
            text,
            &self.outcome.misfits,
            "values that do not open and stay sealed, with the marks",
        );
        if self.outcome.misfits.values == 0 {
            text.push_str(
                "rows were changed all the while, and some are still sealed: run the \
                 same command again\n",
            );
        }
    }

    fn add_sealed(&self, text: &mut String) {
        let Outcome { rows, clear_rows, older_rows, misfits, unopened, is_whole, .. } =
            self.outcome;
        let rows = counted(rows.unwrap_or_default(), "row");
        if *is_whole {
            text.push_str(&format!(
                "{rows} read again: every value that is not NULL is sealed, and opens\n"
            ));
        } else {
            text.push_str(&format!("{rows} read again\n"));
        }
        add_misfits(text, unopened, "values that do not open");
        add_misfits(text, misfits, "values that do not fit and stay as they are");
        if *clear_rows > 0 {
            text.push_str(&format!("{} with a value in the clear\n", counted(*clear_rows, "row")));
            if misfits.values == 0 {
                text.push_str(
                    "they were written while it ran: run the same command again when \
                     applications write sealed values\n",
                );
            }
        }
        if *older_rows > 0 {
            text.push_str(&format!(
                "{} with a value under another version of the key, which it needs: --reseal brings \
                 them to the newest\n",
                counted(*older_rows, "row")
            ));
        }
        if *is_whole && self.outcome.changed_rows > 0 {
            text.push_str(
                "what the rows were before is still in logs of the server, in free space of its \
                 files, and in backups\n",
            );
        }
    }
}

fn add_misfits(text: &mut String, misfits: &Misfits, what: &str) {
    if misfits.values == 0 {
        return;
    }
    text.push_str(&format!("{what}: {}\n", misfits.values));
    for misfit in &misfits.listed {
        text.push_str(&format!("  {misfit}\n"));
    }
    let more = misfits.values - misfits.listed.len() as u64;
    if more > 0 {
        text.push_str(&format!("  and {more} more\n"));
    }
}

/// The answer of `check`.
#[derive(Debug, Serialize)]
struct CheckedJson<'a> {
    schema: u32,
    table: &'a str,
    server: &'a str,
    rows_that_fit: u64,
    rows_that_do_not: u64,
    /// Rows in which nothing is left to seal.
    rows_sealed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed_as: Option<SealedAsJson<'a>>,
    columns: Vec<CheckedTableColumn<'a>>,
    misfits: Vec<Misfitting>,
}

#[derive(Debug, Serialize)]
struct SealedAsJson<'a> {
    cipher: &'static str,
    key_id: &'a str,
    key_version: u32,
}

impl<'a> From<&'a SealedAs> for SealedAsJson<'a> {
    fn from(sealed: &'a SealedAs) -> Self {
        Self { cipher: sealed.cipher, key_id: &sealed.key.id, key_version: sealed.key.version }
    }
}

#[derive(Debug, Serialize)]
struct CheckedTableColumn<'a> {
    #[serde(flatten)]
    column: CheckedColumn,
    /// Values that are sealed, which are none of the others.
    sealed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    narrow: Option<NarrowJson<'a>>,
}

#[derive(Debug, Serialize)]
struct NarrowJson<'a> {
    room: u64,
    needed: u64,
    widening: &'a str,
}

/// Shows what `check` found; the answer is negative if a row does not fit.
pub(super) fn checked(
    name: &str,
    place: &str,
    table: &Table,
    checked: &Checked,
    json: bool,
) -> anyhow::Result<Answer> {
    if json {
        let clear: Vec<_> = checked.columns.iter().map(|column| column.clear.clone()).collect();
        let columns = CheckedColumn::all(table, &clear).into_iter().zip(&checked.columns);
        let columns = columns.map(|(column, found)| CheckedTableColumn {
            column,
            sealed: found.sealed,
            narrow: found.narrow.as_ref().map(|narrow| NarrowJson {
                room: narrow.room,
                needed: narrow.needed,
                widening: &narrow.widening,
            }),
        });
        print_json(&CheckedJson {
            schema: 1,
            table: name,
            server: place,
            rows_that_fit: checked.rows,
            rows_that_do_not: checked.rejected,
            rows_sealed: checked.sealed,
            sealed_as: checked.sealed_as.as_ref().map(SealedAsJson::from),
            columns: columns.collect(),
            misfits: Misfitting::all(&checked.misfits),
        })?;
    } else {
        print(&checked_text(name, table, checked))?;
    }
    Ok(if checked.rejected == 0 { Answer::Done } else { Answer::Negative })
}

fn checked_text(name: &str, table: &Table, checked: &Checked) -> String {
    let clear: Vec<_> = checked.columns.iter().map(|column| column.clear.clone()).collect();
    let mut text = match &checked.sealed_as {
        Some(_) => {
            sealed_columns_text(table, &clear, checked.columns.iter().map(|column| column.sealed))
        }
        None => columns_text(table, &clear),
    };
    let all = checked.rows + checked.rejected + checked.sealed;
    text.push('\n');
    if let Some(SealedAs { key, cipher }) = &checked.sealed_as {
        let what = match checked.rows + checked.rejected {
            0 => "is sealed",
            _ => "is sealed in part",
        };
        text.push_str(&format!(
            "table {name} {what}: {cipher}, key {} version {}; {} of {} have no value in the clear \
             (marks {})\n",
            key.id,
            key.version,
            checked.sealed,
            counted(all, "row"),
            marks(table)
        ));
    }
    let clear = checked.rows + checked.rejected;
    let looked_at = match checked.sealed_as {
        Some(_) => counted(clear, "row") + " not sealed",
        None => counted(clear, "row"),
    };
    match checked.rejected {
        0 if clear == 0 && checked.sealed_as.is_some() => {}
        0 => text.push_str(&format!("all of {looked_at} fit; NULL stays NULL\n")),
        rejected => {
            text.push_str(&format!("{rejected} of {looked_at} do not fit\n"));
            add_misfits(&mut text, &checked.misfits, "values that do not");
        }
    }
    for (column, found) in table.columns.iter().zip(&checked.columns) {
        let Some(Narrow { room, needed, widening }) = &found.narrow else { continue };
        text.push_str(&format!(
            "column {} has room for {room} characters, and its values need {needed} once they are \
             sealed\n  widen it first, for every value that it takes now: {widening}\n",
            column.name
        ));
    }
    text
}

fn marks(table: &Table) -> String {
    let marks: Vec<String> =
        table.columns.iter().map(|column| format!("{}{MARK_ENDING}", column.name)).collect();
    marks.join(", ")
}

#[derive(Debug, Serialize)]
struct ForgottenJson<'a> {
    schema: u32,
    done: &'static str,
    table: &'a str,
    server: &'a str,
    sealed_as: SealedAsJson<'a>,
}

/// Shows which record was removed.
pub(super) fn forgotten(
    name: &str,
    place: &str,
    sealed: &SealedAs,
    json: bool,
) -> anyhow::Result<Answer> {
    if json {
        print_json(&ForgottenJson {
            schema: 1,
            done: "forgotten",
            table: name,
            server: place,
            sealed_as: sealed.into(),
        })?;
    } else {
        print(&format!(
            "the record of table {name} on {place} is removed: {}, key {} version {}\n",
            sealed.cipher, sealed.key.id, sealed.key.version
        ))?;
    }
    Ok(Answer::Done)
}
