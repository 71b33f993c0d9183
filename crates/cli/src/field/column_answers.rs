//! Answers of the commands on columns.

use std::path::{Path, PathBuf};

use sealstone_cipher::{Approval, NOT_A_MODULE};
use sealstone_fields::pass::{ColumnCount, Counts, Reject};
use sealstone_fields::policy::{Method, Table};
use sealstone_fields::{FileLayout, MANIFEST_ENDING};
use sealstone_files::beside;
use sealstone_keys::KeyRef;
use serde::Serialize;

use super::device_report::Computed;
use crate::listing::list;
use crate::message::{Answer, print, print_json};
use crate::path::quoted;
use crate::standing;
use crate::table;
use crate::terminal;

/// Action that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verb {
    Sealed,
    Opened,
    Resealed,
}

/// The answer of a command that wrote a file.
#[derive(Debug, Serialize)]
pub(super) struct Said {
    schema: u32,
    done: Verb,
    file: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<PathBuf>,
    table: String,
    cipher: &'static str,
    key_id: String,
    key_version: u32,
    columns: Vec<Column>,
    rows: u64,
    rejected_rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejects: Option<PathBuf>,
    /// By what the rows are listed there.
    #[serde(skip)]
    listed_by: &'static str,
    seconds: f64,
    /// Report of what ran where, if a device was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) device: Option<Computed>,
}

#[derive(Debug, Serialize)]
pub(super) struct Column {
    name: String,
    method: String,
    tweak: String,
    leaks: String,
    /// The lists that its cipher is on in its mode.
    approved: Lists,
    #[serde(skip)]
    standing: String,
}

/// Lists of approved algorithms; no implementation is on them.
#[derive(Debug, Serialize)]
struct Lists {
    fips: bool,
    kcmvp: bool,
    /// See [`NOT_A_MODULE`].
    validated_module: bool,
}

impl Column {
    pub(super) fn all(table: &Table) -> Vec<Self> {
        let of = |column: &sealstone_fields::policy::Column| Self {
            name: column.name.clone(),
            method: column.method_text(),
            tweak: column.tweak.to_string(),
            leaks: column.leaks(),
            approved: {
                let Approval { fips, kcmvp } = standing::approval(column, table.cipher);
                Lists { fips, kcmvp, validated_module: false }
            },
            standing: standing::words(column, table.cipher),
        };
        table.columns.iter().map(of).collect()
    }
}

impl Said {
    pub(super) fn new(
        done: Verb,
        file: &Path,
        table: &Table,
        key: &KeyRef,
        counts: &Counts,
        rejects: Option<(PathBuf, &'static str)>,
        seconds: f64,
    ) -> Self {
        let (rejects, listed_by) = rejects.map_or((None, ""), |(rejects, by)| (Some(rejects), by));
        Self {
            schema: 1,
            done,
            file: file.to_owned(),
            manifest: (done != Verb::Opened).then(|| beside(file, MANIFEST_ENDING)),
            table: table.name.clone(),
            cipher: table.cipher.name,
            key_id: key.id.clone(),
            key_version: key.version,
            columns: Column::all(table),
            rows: counts.rows,
            rejected_rows: counts.rejected,
            rejects,
            listed_by,
            seconds,
            device: None,
        }
    }

    pub(super) fn show(&self, json: bool) -> anyhow::Result<Answer> {
        if json {
            print_json(self)?
        } else {
            print(&self.text())?
        }
        Ok(if self.rejected_rows == 0 { Answer::Done } else { Answer::Negative })
    }

    fn text(&self) -> String {
        let verb = match self.done {
            Verb::Sealed => "sealed",
            Verb::Opened => "opened",
            Verb::Resealed => "sealed again",
        };
        let mut text = format!(
            "{} {verb} in {:.1} s: table {}, {}, key {} version {}\n",
            counted(self.rows, "row"),
            self.seconds,
            self.table,
            self.cipher,
            self.key_id,
            self.key_version
        );
        for Column { name, method, tweak, leaks, standing, .. } in &self.columns {
            text.push_str(&format!("  {name}: {method}, bound to {}\n", bound(tweak)));
            if self.done != Verb::Opened {
                text.push_str(&format!("    to be seen without the key: {leaks}\n"));
                text.push_str(&format!("    approved, by cipher and mode: {standing}\n"));
            }
        }
        if self.done != Verb::Opened {
            text.push_str(&format!("{NOT_A_MODULE}\n"));
        }
        if let Some(computed) = &self.device {
            text.push_str(&computed.text(self.rows + self.rejected_rows));
        }
        if let Some(rejects) = &self.rejects {
            let rows = counted(self.rejected_rows, "row");
            text.push_str(&format!(
                "{rows} left out, listed by {} in {}\n",
                self.listed_by,
                rejects.display()
            ));
        }
        match &self.manifest {
            Some(manifest) => text.push_str(&format!(
                "to open it, keep the key and {}: {}\n",
                manifest.display(),
                opening(&self.file)
            )),
            None => text.push_str(&format!(
                "{} is in the clear, for this user alone (mode 0600)\n",
                self.file.display()
            )),
        }
        text
    }
}

fn bound(tweak: &str) -> String {
    match tweak.split_once(':') {
        Some((_, column)) => format!("the row ({column})"),
        None if tweak == "none" => "nothing".into(),
        None => "table and column".into(),
    }
}

pub(super) fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The answer of `check`.
#[derive(Debug, Serialize)]
struct Checked {
    schema: u32,
    file: PathBuf,
    rows_that_fit: u64,
    rows_that_do_not: u64,
    columns: Vec<CheckedColumn>,
    /// The first misfits.
    misfits: Vec<Misfitting>,
}

/// A column of which every value was looked at.
#[derive(Debug, Serialize)]
pub(super) struct CheckedColumn {
    #[serde(flatten)]
    column: Column,
    values: u64,
    misfits: u64,
    /// Among how many values one hides, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    domain_least: Option<f64>,
}

impl CheckedColumn {
    /// Returns the columns of `table`, each with the counts `found`.
    pub(super) fn all(table: &Table, found: &[ColumnCount]) -> Vec<Self> {
        let column = |(column, found): (Column, &ColumnCount)| Self {
            column,
            values: found.values,
            misfits: found.misfits,
            domain_least: found.choices_least,
        };
        Column::all(table).into_iter().zip(found).map(column).collect()
    }
}

#[derive(Debug, Serialize)]
struct Misfitting {
    /// In a CSV file.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// In a Parquet file.
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<u64>,
    column: String,
    reason: String,
}

/// Shows what `check` found; the answer is negative if a row does not fit.
pub(super) fn checked(
    file: &Path,
    table: &Table,
    layout: FileLayout,
    counts: &Counts,
    listed: &[Reject],
    json: bool,
) -> anyhow::Result<Answer> {
    // a file of a header alone has no counts
    let mut found = counts.columns.clone();
    found.resize(table.columns.len(), ColumnCount::default());
    if json {
        let misfit = |reject: &Reject| Misfitting {
            line: matches!(layout, FileLayout::Csv(_)).then_some(reject.place),
            row: (layout == FileLayout::Parquet).then_some(reject.place),
            column: reject.column.clone(),
            reason: reject.misfit.to_string(),
        };
        print_json(&Checked {
            schema: 1,
            file: file.to_owned(),
            rows_that_fit: counts.rows,
            rows_that_do_not: counts.rejected,
            columns: CheckedColumn::all(table, &found),
            misfits: listed.iter().map(misfit).collect(),
        })?;
    } else {
        print(&checked_text(table, layout, counts, &found, listed))?;
    }
    Ok(if counts.rejected == 0 { Answer::Done } else { Answer::Negative })
}

/// Formats how many values of each column of `table` fit, as counted in `found`, and what can be
/// seen without the key.
pub(super) fn columns_text(table: &Table, found: &[ColumnCount]) -> String {
    let columns = table::Table::new(["COLUMN", ">FIT", ">DO NOT", ">HIDDEN AMONG", "METHOD"]);
    filled(columns, table, found, |row, _| row.to_vec())
}

/// Returns the same of a table of which values are `sealed` already, so many of each column.
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(super) fn sealed_columns_text(
    table: &Table,
    found: &[ColumnCount],
    sealed: impl Iterator<Item = u64>,
) -> String {
    let sealed: Vec<u64> = sealed.collect();
    let columns =
        table::Table::new(["COLUMN", ">SEALED", ">FIT", ">DO NOT", ">HIDDEN AMONG", "METHOD"]);
    filled(columns, table, found, |row, at| {
        [&row[..1], &[sealed[at].to_string()], &row[1..]].concat()
    })
}

fn filled(
    mut columns: table::Table,
    table: &Table,
    found: &[ColumnCount],
    cells: impl Fn([String; 5], usize) -> Vec<String>,
) -> String {
    for (at, (column, found)) in table.columns.iter().zip(found).enumerate() {
        let domain = match (&column.method, found.choices_least) {
            (Method::Aead, _) => "any".to_owned(),
            (_, Some(choices)) => choices_text(choices),
            (_, None) => "–".to_owned(),
        };
        let fit = found.values - found.misfits.min(found.values);
        let row = [
            column.name.clone(),
            fit.to_string(),
            found.misfits.to_string(),
            domain,
            column.method_text(),
        ];
        columns.row(cells(row, at));
    }
    let mut text = columns.render(terminal::stdout());
    text.push_str("\nto be seen without the key:\n");
    list(
        &mut text,
        table.columns.iter().map(|column| format!("{}: {}", column.name, column.leaks())),
    );
    text.push_str("\napproved, by cipher and mode:\n");
    let standing = |column| standing::words(column, table.cipher);
    list(
        &mut text,
        table.columns.iter().map(|column| format!("{}: {}", column.name, standing(column))),
    );
    text.push_str(&format!("{NOT_A_MODULE}\n"));
    text
}

fn checked_text(
    table: &Table,
    layout: FileLayout,
    counts: &Counts,
    found: &[ColumnCount],
    listed: &[Reject],
) -> String {
    let mut text = columns_text(table, found);
    if counts.rejected == 0 {
        text.push_str(&format!("\nall of {} fit\n", counted(counts.rows, "row")));
        return text;
    }
    text.push_str(&format!(
        "\n{} of {} do not fit:\n",
        counts.rejected,
        counted(counts.rows + counts.rejected, "row")
    ));
    let line = |reject: &Reject| {
        format!("{} {}, column {}: {}", layout.place(), reject.place, reject.column, reject.misfit)
    };
    for reject in listed {
        text.push_str(&format!("  {}\n", line(reject)));
    }
    let all: u64 = found.iter().map(|column| column.misfits).sum();
    if all > listed.len() as u64 {
        text.push_str(&format!("  and {} more values\n", all - listed.len() as u64));
    }
    text
}

/// Returns texts such as `1000000` and `1.0e16`: the number of values that a value hides among.
fn choices_text(choices: f64) -> String {
    if choices < 1e9 { format!("{choices:.0}") } else { format!("{choices:.1e}") }
}

/// Returns the command that opens `file`.
fn opening(file: &Path) -> String {
    format!("sealstone field open {} --key KEY --out FILE", quoted(file))
}
