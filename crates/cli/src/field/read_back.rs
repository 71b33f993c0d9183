//! `sealstone field get` and `scan`: rows of a table with sealed columns, in the clear, as CSV.

use std::io::{IsTerminal, Write};

use anyhow::{Context, bail};
use sealstone_fields::migration::{
    MigrationError, OpenedRow, Options, ReadRow, Reader, TableServer,
};
use sealstone_fields::pass::OnMisfit;
use sealstone_file::output::{Access, Output};
use sealstone_files::check_target;
use sealstone_message::printable_lines;

use crate::confirm::confirm;
use crate::flags::{FieldGetFlags, FieldScanFlags, SealedTable};
use crate::message::{Answer, print_exactly, say};
use crate::path::check_parent;
use crate::table_server::connect;
use crate::{audit_log, interrupt, key_source};

/// Shows the row with a primary key; the answer is negative if there is none.
pub(super) fn get(flags: &FieldGetFlags) -> anyhow::Result<Answer> {
    let Some(mut table) = Opened::begin(&flags.table)? else { return Ok(Answer::Negative) };
    let mut reader = table.reader()?;
    let Some(row) = reader.get(&flags.values)? else {
        say(&format!("no such row in table {}", flags.table.table));
        return Ok(Answer::Negative);
    };
    let mut written = Written::begin(&flags.table, &reader)?;
    written.add(vec![row])?;
    written.end(&flags.table)
}

/// Shows all rows, or the first ones.
pub(super) fn scan(flags: &FieldScanFlags) -> anyhow::Result<Answer> {
    let Some(mut table) = Opened::begin(&flags.table)? else { return Ok(Answer::Negative) };
    let stop =
        interrupt::install_saying("stopping after these rows", "stopped at once".to_owned())?;
    let options = Options {
        batch: flags.batch,
        rows_per_second: None,
        on_misfit: OnMisfit::Report,
        stop: &stop,
    };
    let mut reader = table.reader()?;
    let mut written = Written::begin(&flags.table, &reader)?;
    let scanned: anyhow::Result<()> =
        reader.scan(flags.limit, &options, &mut |rows| written.add(rows));
    match scanned {
        Err(error) if matches!(error.downcast_ref(), Some(MigrationError::Stopped { .. })) => {
            let rows = written.rows;
            match written.output {
                To::Stdout => bail!("stopped after {rows} rows"),
                To::File(_) => bail!("stopped after {rows} rows; no file was written"),
            }
        }
        scanned => scanned?,
    }
    written.end(&flags.table)
}

/// A table, and what opens it.
struct Opened {
    server: Box<dyn TableServer>,
    name: String,
    keys: std::sync::Arc<dyn sealstone_keys::KeySource>,
}

impl Opened {
    /// Connects and opens the key; none if the user does not want a file replaced.
    fn begin(flags: &SealedTable) -> anyhow::Result<Option<Self>> {
        if let Some(out) = &flags.out {
            check_parent(out)?;
            check_target(out, true)?;
            let about = format!("{} is there already", out.display());
            if out.exists() && !confirm(&about, "replace it?", flags.yes)? {
                return Ok(None);
            }
        }
        let server = connect(&flags.address, &flags.table, &flags.tls)?;
        let keys = key_source::open(&flags.key, &flags.opening)?;
        Ok(Some(Self { server, name: flags.table.clone(), keys }))
    }

    fn reader(&mut self) -> Result<Reader<'_>, MigrationError> {
        Reader::new(&mut *self.server, &self.name, self.keys.clone())
    }
}

/// Place that rows are written to.
enum To {
    Stdout,
    File(Output),
}

/// Rows that were written.
struct Written {
    output: To,
    rows: u64,
    failed: u64,
    clear: u64,
}

impl Written {
    /// Begins with the names of the columns.
    fn begin(flags: &SealedTable, reader: &Reader<'_>) -> anyhow::Result<Self> {
        let output = match &flags.out {
            None => To::Stdout,
            Some(out) => To::File(
                Output::replace(out, Access::Private)
                    .with_context(|| format!("cannot write {}", out.display()))?,
            ),
        };
        let mut written = Self { output, rows: 0, failed: 0, clear: 0 };
        written.write(&record(reader.columns().map(Some)))?;
        Ok(written)
    }

    /// Writes rows; those that did not open are named instead.
    fn add(&mut self, rows: Vec<ReadRow>) -> anyhow::Result<()> {
        let mut text = String::new();
        for row in rows {
            self.rows += 1;
            match row {
                ReadRow::Opened(OpenedRow { key, values, clear }) => {
                    let key = key.iter().map(|text| Some(text.as_str()));
                    text.push_str(&record(key.chain(values.iter().map(Option::as_deref))));
                    self.clear += clear as u64;
                }
                ReadRow::Failed(misfits) => {
                    self.failed += 1;
                    misfits.iter().for_each(|misfit| say(&misfit.to_string()));
                }
            }
        }
        audit_log::rows(self.rows - self.failed);
        self.write(&text)
    }

    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        match &mut self.output {
            // a terminal must not obey what a value contains
            To::Stdout if std::io::stdout().is_terminal() => print_exactly(&printable_lines(text)),
            To::Stdout => print_exactly(text),
            To::File(output) => output.write_all(text.as_bytes()).context("cannot write the rows"),
        }
    }

    fn end(self, flags: &SealedTable) -> anyhow::Result<Answer> {
        if let To::File(output) = self.output {
            let out = flags.out.as_deref().unwrap_or(std::path::Path::new("")).display();
            output.commit().with_context(|| format!("cannot write {out}"))?;
            say(&format!("{} rows in {out}, in the clear", self.rows - self.failed));
        }
        if self.clear > 0 {
            say(&format!("{} of the values were in the clear in the table", self.clear));
        }
        if self.failed > 0 {
            bail!(
                "{} of {} rows of table {} do not open, and were left out\nrestore them from a \
                 backup, or name a key file with the versions that they are under",
                self.failed,
                self.rows,
                flags.table
            );
        }
        Ok(Answer::Done)
    }
}

/// Returns a line of CSV (RFC 4180): no value is an empty field, and an empty text is in quotes.
fn record<'a>(fields: impl Iterator<Item = Option<&'a str>>) -> String {
    let field = |text: Option<&str>| match text {
        None => String::new(),
        Some(text) if text.is_empty() || text.contains([',', '"', '\r', '\n']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Some(text) => text.to_owned(),
    };
    let mut line = fields.map(field).collect::<Vec<_>>().join(",");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_and_an_empty_text_differ_and_quotes_are_doubled() {
        let line = record([Some("5"), None, Some(""), Some("a \"b\", c"), Some("가")].into_iter());
        assert_eq!(line, "5,,\"\",\"a \"\"b\"\", c\",가\n");
    }
}
