//! `sealstone field migrate`, and `check` of a table: columns of a table of a database sealed in
//! place, opened, looked at.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_fields::migration::{self, Options, Progress, Step, TableServer};
use sealstone_fields::pass::OnMisfit;
use sealstone_fields::policy::Table;
use sealstone_keys::{KeyFile, KeySource, source};
use sealstone_stores::is_table_address;

use super::migration_answers::{self, Did, Migrated};
use super::selection;
use crate::audit_log;
use crate::confirm::confirm;
use crate::flags::{FieldCheckFlags, FieldMigrateFlags};
use crate::interrupt;
use crate::key_source;
use crate::message::{Answer, say};
use crate::table_server::connect;

/// Rows that a look at a table reads at a time.
const LOOK_ROWS: usize = 1000;
/// Interval at which a bar is drawn.
const DRAWN: Duration = Duration::from_millis(200);

/// Returns whether the file that a command names is a table of a server, or a file with the address
/// of one.
pub(super) fn is_table(file: &Path) -> bool {
    file.to_str()
        .is_some_and(|text| is_table_address(text) || (text.starts_with('@') && !file.exists()))
}

/// Returns the error of a command on files that got a database, with the command to run instead:
/// `migrate` with the flag `flag`.
pub(super) fn refuse(command: &str, flag: &str) -> anyhow::Result<Answer> {
    bail!(
        "field {command} writes a file, and a table of a database stays where it is\n\
         run: sealstone field migrate ADDRESS --table NAME --key KEY {flag}"
    )
}

/// Runs the command.
pub(super) fn migrate(flags: &FieldMigrateFlags) -> anyhow::Result<Answer> {
    let name = &flags.table;
    if flags.forget {
        return forget(flags);
    }
    let did = match (flags.open, flags.reseal) {
        (true, _) => Did::Opened,
        (false, true) => Did::Resealed,
        (false, false) => Did::Sealed,
    };
    let described = |keys: Option<&dyn KeySource>| {
        selection::table(&flags.columns, Some(bound_name(name)), keys)
    };
    // where it is sealed already, the server records the columns
    let wanted = |keys: Option<&dyn KeySource>| {
        if did == Did::Sealed { described(keys).map(Some) } else { Ok(None) }
    };
    // errors in the columns are reported before any passphrase is requested
    let table = wanted(None)?;
    let policy_key = match &table {
        Some(table) => table.key.clone(),
        None if flags.columns.policy.is_some() => described(None)?.key,
        None => None,
    };
    let spec = flags.key.clone().or(policy_key);
    let spec = spec.with_context(|| match did {
        Did::Sealed => {
            "no key: name one with --key, or in the policy\nmake one with: sealstone \
             keys new NAME.key"
        }
        _ => {
            "no key: name one with --key, or in the policy\nname the one that the table was \
             sealed with"
        }
    })?;
    let mut server = connect(&flags.address, name, &flags.tls)?;
    let about = about(did, &*server, name, table.as_ref());
    if !confirm(&about, "begin?", flags.yes)? {
        return Ok(Answer::Negative);
    }
    // a migration that goes on from where it stopped has sealed rows, so no new key is suggested
    let keys = key_source::open(&spec, &flags.opening)?;
    let table = wanted(Some(&*keys))?;
    if let Some(caveat) = table.as_ref().and_then(|table| table.cipher.caveat) {
        say(caveat);
    }
    let stop = interrupt::install_saying(
        "stopping after these rows; the same command goes on from there",
        "stopped at once; the same command goes on from there".into(),
    )?;
    let options = Options {
        batch: flags.pace.batch,
        rows_per_second: flags.pace.rows_per_second.map(|rows| rows as f64),
        on_misfit: flags.on_error.into(),
        stop: &stop,
    };
    let begin = Instant::now();
    let bar = bar(flags.quiet);
    let outcome = run(did, &mut *server, name, table.as_ref(), keys, &options, &bar);
    bar.finish_and_clear();
    let outcome = outcome?;
    audit_log::key_ref(&outcome.key);
    audit_log::rows(outcome.changed_rows);
    let seconds = begin.elapsed().as_secs_f64();
    Migrated { did, name, place: server.place(), outcome: &outcome, seconds }.show(flags.json)
}

fn run(
    did: Did,
    server: &mut dyn TableServer,
    name: &str,
    table: Option<&Table>,
    keys: Arc<dyn KeySource>,
    options: &Options<'_>,
    bar: &ProgressBar,
) -> anyhow::Result<migration::Outcome> {
    let mut listener = |progress: Progress| show(bar, progress);
    Ok(match (did, table) {
        (Did::Sealed, Some(table)) => {
            migration::seal(server, name, table, keys, options, &mut listener)?
        }
        (Did::Resealed, _) => migration::reseal(server, name, keys, options, &mut listener)?,
        _ => migration::open(server, name, keys, options, &mut listener)?,
    })
}

/// Removes the record of a table that is no longer the sealed table.
fn forget(flags: &FieldMigrateFlags) -> anyhow::Result<Answer> {
    let name = &flags.table;
    let mut server = connect(&flags.address, name, &flags.tls)?;
    let place = server.place();
    let about = format!(
        "table {name} on {place}: its record in sealstone_fields will be removed; what was sealed \
         by it, in a backup for one, nobody can open without it"
    );
    if !confirm(&about, "remove it?", flags.yes)? {
        return Ok(Answer::Negative);
    }
    let forgotten = migration::forget(&mut *server, name)?;
    audit_log::key_ref(&forgotten.key);
    migration_answers::forgotten(name, &place, &forgotten, flags.json)
}

/// Returns the name that values of the table `table` are bound to: its own, without that of its
/// schema.
fn bound_name(table: &str) -> &str {
    table.rsplit_once('.').map_or(table, |(_, name)| name)
}

/// Describes the next step, for the confirmation prompt.
fn about(did: Did, server: &dyn TableServer, name: &str, table: Option<&Table>) -> String {
    let place = server.place();
    let columns: Vec<&str> =
        table.iter().flat_map(|table| &table.columns).map(|column| column.name.as_str()).collect();
    match did {
        Did::Sealed => format!(
            "table {name} on {place}: {} will be sealed in place; applications must know of it \
             before (\"Tables in use\" in docs/guide/fields.md), and a backup should be there",
            columns.join(", ")
        ),
        Did::Resealed => format!(
            "table {name} on {place} will be sealed again, under the newest version of its key"
        ),
        Did::Opened => {
            format!("table {name} on {place} will be opened: its values will be in the clear")
        }
    }
}

/// Runs `check` on a table.
pub(super) fn check(flags: &FieldCheckFlags) -> anyhow::Result<Answer> {
    let address = flags.file.to_str().unwrap_or_default();
    if flags.layout.delimiter.is_some() || flags.layout.encoding.is_some() {
        bail!("--delimiter and --encoding are for files\nleave them out");
    }
    let Some(name) = flags.columns.table.as_deref() else {
        bail!("which table?\nname it: --table NAME")
    };
    let table = selection::table(&flags.columns.flags, Some(bound_name(name)), None)?;
    let mut server = connect(address, name, &flags.tls)?;
    let stop = AtomicBool::new(false);
    let options = Options {
        batch: LOOK_ROWS,
        rows_per_second: None,
        on_misfit: OnMisfit::Report,
        stop: &stop,
    };
    let key_id =
        flags.key.as_ref().or(table.key.as_ref()).map(|spec| key_id(spec)).transpose()?.flatten();
    let checked =
        migration::check(&mut *server, name, &table, key_id.as_deref(), &options, &mut |_| {})?;
    migration_answers::checked(name, &server.place(), &table, &checked, flags.json)
}

/// Returns the name of the key that `spec` stands for, if that shows without asking anybody.
fn key_id(spec: &str) -> anyhow::Result<Option<String>> {
    if source::is_kmip(spec) {
        return Ok(None);
    }
    Ok(Some(KeyFile::inspect(spec)?.id))
}

fn bar(quiet: bool) -> ProgressBar {
    let bar = match quiet {
        true => ProgressBar::hidden(),
        false => ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr()),
    };
    let style = "{bar:24} {pos} of about {len} rows, {eta} left  {msg}";
    bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
    bar.enable_steady_tick(DRAWN);
    bar
}

fn show(bar: &ProgressBar, progress: Progress) {
    let Progress { step, rows, expected } = progress;
    let message = match step {
        Step::Looking => "looking at the values".into(),
        Step::Changing(1) => "changing rows".into(),
        Step::Changing(pass) => format!("changing what was written since, pass {pass}"),
        Step::Checking => "reading every row again".to_owned(),
    };
    if bar.message() != message {
        bar.reset();
        bar.set_message(message);
    }
    bar.set_length(expected);
    bar.set_position(rows);
}
