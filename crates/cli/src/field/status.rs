//! `sealstone field status`: how many values of the sealed tables of a database are sealed, in the
//! clear or under older versions of the key, and who holds the key. Not here: counting
//! (`sealstone_fields::migration::status`), the facts and the page (`places`, `sealstone_audit`).

use anyhow::{Context, anyhow};
use jiff::Timestamp;
use sealstone_audit::facts::{Clear, Held, Key, Protection, ROTATE_AFTER_DAYS};
use sealstone_audit::{Verdict, page};
use sealstone_fields::migration::{ColumnStatus, MigrationError, SealedTables, Status, status};
use sealstone_file::output::{self, Access};
use serde::Serialize;

use crate::flags::FieldStatusFlags;
use crate::message::{Answer, print, print_json, say};
use crate::places::tables::{REMAINS, place, unlooked};
use crate::places::{self, keys};
use crate::secret_words::hide;
use crate::table::{Table, wrap};
use crate::table_server::connect;
use crate::terminal;

/// The answer, for programs.
#[derive(Serialize)]
struct StatusJson<'a> {
    schema: u32,
    made_at: &'a str,
    server: &'a str,
    tables: Vec<TableJson<'a>>,
    /// Tables that could not be looked at.
    unread: &'a [Clear],
    keys: &'a [Key],
    /// Places where values may be as they were before they were sealed.
    remains: Vec<&'static str>,
}

#[derive(Serialize)]
struct TableJson<'a> {
    table: &'a str,
    phase: &'static str,
    cipher: &'static str,
    key_id: &'a str,
    key_version: u32,
    module: Option<&'a str>,
    since: Option<&'a str>,
    program: Option<&'a str>,
    columns: Vec<ColumnJson<'a>>,
}

#[derive(Serialize)]
struct ColumnJson<'a> {
    column: &'a str,
    method: String,
    sealed: u64,
    older: u64,
    clear: u64,
    written_over: u64,
}

/// Runs the command.
pub(super) fn run(flags: &FieldStatusFlags) -> anyhow::Result<Answer> {
    let mut server =
        connect(&flags.address, flags.table.as_deref().unwrap_or_default(), &flags.tls)?;
    let at = server.place();
    let found = match &flags.table {
        Some(name) => SealedTables { names: vec![name.clone()], ..SealedTables::default() },
        None => server.sealed_tables().map_err(MigrationError::from)?,
    };
    let is_empty = found.names.is_empty();
    if is_empty {
        say(&format!("no table of {at} whose record this user may read has sealed columns"));
    }
    let (mut tables, mut lost) = (Vec::new(), Vec::new());
    for schema in found.unread_schemas {
        let error = anyhow!(
            "this user may not read the records of its sealed tables\ngrant USAGE on the schema, \
             and SELECT on its table sealstone_fields, or look as its owner"
        );
        say(&format!("schema {schema}: {error:#}"));
        lost.push(unlooked(&at, &format!("{schema}.*"), &error));
    }
    for name in found.names {
        let mut server = connect(&flags.address, &name, &flags.tls)?;
        match status(&mut *server, &name) {
            Ok(found) => tables.push((name, found)),
            // a table that was dropped leaves its record behind, and hides no other
            Err(error) if flags.table.is_none() => {
                let error = error.into();
                say(&format!("table {name}: {error:#}"));
                lost.push(unlooked(&at, &name, &error));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let (given, no_key) = places::keys_named(&flags.key, &flags.opening, false)?;
    // the tables are answered all the same, by what their records say
    for key in &no_key {
        let why = key.unread.iter().filter_map(|unread| unread.remark.as_deref());
        say(&format!("key {}: {}", key.name, why.collect::<String>()));
    }
    let mut audit = places::audit_now(None);
    audit.places = tables.iter().map(|(name, found)| place(&at, name, found)).collect();
    let unread: Vec<Clear> = lost.iter().flat_map(|place| place.unread.clone()).collect();
    audit.places.extend(lost.into_iter().chain(no_key));
    audit.keys = keys::of(&audit.places, &given, ROTATE_AFTER_DAYS, Timestamp::now());
    let verdict = Verdict::of(&audit);
    if flags.json {
        print_json(&StatusJson {
            schema: 1,
            made_at: &audit.made_at,
            server: &at,
            tables: tables.iter().map(|(name, found)| table_json(name, found)).collect(),
            unread: &unread,
            keys: &audit.keys,
            remains: REMAINS.map(|(name, _)| name).to_vec(),
        })?;
    } else {
        print(&text(&at, &tables, &audit.keys))?;
    }
    if let Some(path) = &flags.html {
        let page = page(&audit, &verdict, flags.lang.into()).context("cannot make the page")?;
        output::replace(path, Access::Private, hide(&page).as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
        say(&path.display().to_string());
    }
    Ok(if verdict.is_sealed && !is_empty { Answer::Done } else { Answer::Negative })
}

fn table_json<'a>(name: &'a str, found: &'a Status) -> TableJson<'a> {
    let Status { record, phase, columns } = found;
    let column = |column: &'a ColumnStatus| ColumnJson {
        column: &column.column.name,
        method: column.column.method_text(),
        sealed: column.sealed_values(),
        older: column.older_values(record.key.version),
        clear: column.clear,
        written_over: column.written_over,
    };
    TableJson {
        table: name,
        phase: phase.name(),
        cipher: record.table.cipher.name,
        key_id: &record.key.id,
        key_version: record.key.version,
        module: record.module.as_deref(),
        since: record.since.as_deref(),
        program: record.program.as_deref(),
        columns: columns.iter().map(column).collect(),
    }
}

fn text(at: &str, tables: &[(String, Status)], keys: &[Key]) -> String {
    let mut text = String::new();
    for (name, Status { record, phase, columns }) in tables {
        text.push_str(&format!(
            "table {name} on {at} ({}): {}, key {} version {}\n",
            phase.name(),
            record.table.cipher.name,
            record.key.id,
            record.key.version
        ));
        match (&record.since, &record.program) {
            (Some(since), Some(program)) => {
                text.push_str(&format!("since {since}, by {program}\n"));
            }
            _ => text.push_str("since when and by which program is not recorded\n"),
        }
        if let Some(module) = &record.module {
            text.push_str(&format!("made by module {module}, as it calls itself\n"));
        }
        let headings = ["COLUMN", ">SEALED", ">OLDER", ">CLEAR", ">WRITTEN OVER", "METHOD"];
        let mut table = Table::new(headings);
        for column in columns {
            table.row([
                column.column.name.clone(),
                column.sealed_values().to_string(),
                column.older_values(record.key.version).to_string(),
                column.clear.to_string(),
                column.written_over.to_string(),
                column.column.method_text(),
            ]);
        }
        text.push_str(&table.render(terminal::stdout()));
        text.push('\n');
    }
    keys.iter().for_each(|key| text.push_str(&key_text(key)));
    if !tables.is_empty() {
        text.push_str("what rows were before they were sealed may still be in:\n");
        for (name, remark) in REMAINS {
            let line = format!("{name}: {remark}");
            for line in wrap(&line, terminal::stdout().columns() - 2) {
                text.push_str(&format!("  {line}\n"));
            }
        }
    }
    text
}

/// Describes who holds a key, and how old its versions are.
fn key_text(key: &Key) -> String {
    let held = match &key.held {
        None => "no key that was named holds it".to_owned(),
        Some(Held { place, protection, .. }) => match protection {
            Protection::Nothing => format!("in {place}, which has no passphrase"),
            Protection::Passphrase => format!("in {place}, with a passphrase"),
            Protection::Holders { names } => format!("in {place}, held by {}", names.join(", ")),
            Protection::Token { token } => format!("in {place}, under token {token}"),
            Protection::Server => format!("on {place}"),
        },
    };
    let mut text = format!("key {}: {held}\n", key.id);
    for version in &key.versions {
        let age = version.age_days.map(|days| format!(", {days} days old")).unwrap_or_default();
        let lost = if key.held.is_some() && !version.is_held { ", which it lacks" } else { "" };
        let id = version.id.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
        text.push_str(&format!("  version {}{id}{age}{lost}\n", version.version));
    }
    text
}
