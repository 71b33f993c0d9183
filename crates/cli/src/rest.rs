//! `sealstone rest`: the sealed files in a directory, and a check that all are intact. Not here:
//! resealing (`reseal`), unsealing (`unseal`), records (`records`).

use std::path::Path;

use anyhow::bail;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_bench::words::human_bytes;
use sealstone_cipher::Backend;
use sealstone_keys::{KeyRef, KeySource};
use sealstone_rocksdb::rest::{
    self, ComparedWith, Comparison, Finding, Rotation, Status, Verification,
};
use sealstone_stores::ROCKSDB_AT_REST as ROCKSDB;
use sealstone_stores::at_rest::AtRest as _;

use crate::directory_kind::{is_volume, refuse_other};
use crate::flags::RestCommand;
use crate::listing::{LISTED_MAX, list};
use crate::message::{Answer, print, print_json, safe};
use crate::table::Table;
use crate::{anchor, audit_log, key_source, records, reseal, terminal, unseal};

/// Runs one of the commands.
pub(crate) fn run(command: &RestCommand) -> anyhow::Result<Answer> {
    // commands that open a store; the others examine everything below a directory
    let opened = match command {
        // these show loose files, too, but a volume is no collection of them
        RestCommand::Status { dir, .. } => Some(dir).filter(|dir| is_volume(dir)),
        RestCommand::Verify { store, .. } | RestCommand::Rotate { store, .. } => {
            Some(&store.dir).filter(|dir| is_volume(dir))
        }
        RestCommand::Reseal(flags) => Some(&flags.store.dir),
        RestCommand::Unseal(flags) => Some(&flags.store.dir),
        RestCommand::Get(flags) => Some(&flags.read.store.dir),
        RestCommand::Scan(flags) => Some(&flags.read.store.dir),
        RestCommand::Dump(flags) => Some(&flags.read.store.dir),
    };
    if let Some(dir) = opened {
        refuse_other(dir, ROCKSDB.name(), &format!("no RocksDB store in {}", dir.display()))?;
    }
    match command {
        RestCommand::Status { dir, json } => show_status(dir, *json),
        RestCommand::Verify { store, anchor, json } => {
            verify(&store.dir, &*key_source::of_store(store)?, anchor.as_deref(), *json)
        }
        RestCommand::Rotate { store, json } => {
            rotate(&store.dir, &*key_source::of_store(store)?, *json)
        }
        RestCommand::Reseal(flags) => reseal::run(flags),
        RestCommand::Unseal(flags) => unseal::run(flags),
        RestCommand::Get(flags) => records::get(flags),
        RestCommand::Scan(flags) => records::scan(flags),
        RestCommand::Dump(flags) => records::dump(flags),
    }
}

/// Returns the sealed files in `dir`; a directory without sealed files that is not a store is an
/// error, since the user hardly meant it.
fn status(dir: &Path) -> anyhow::Result<Status> {
    let status = rest::status(dir)?;
    let is_store = status.files.iter().any(|file| file.name == "CURRENT");
    if status.totals.is_empty() && !is_store {
        let files = match status.files.len() {
            1 => "1 file".to_string(),
            files => format!("{files} files"),
        };
        let found = format!("no sealed RocksDB store in {} ({files})", dir.display());
        refuse_other(dir, ROCKSDB.name(), &found)?;
        bail!("{found}\ngive the directory of a sealed store");
    }
    Ok(status)
}

/// Shows the sealed files; the answer is negative if a file is not sealed, for monitors.
fn show_status(dir: &Path, json: bool) -> anyhow::Result<Answer> {
    let status = status(dir)?;
    if json {
        print_json(&status)?
    } else {
        print(&status_text(&status))?
    }
    Ok(if status.is_sealed() { Answer::Done } else { Answer::Negative })
}

fn status_text(status: &Status) -> String {
    // most stores have none
    let modules = status.totals.iter().any(|total| total.module.is_some());
    let columns = ["CIPHER", ">FILES", ">ON DISK", ">SHARE", ">VERSION", "KEY", "MODULE"];
    let columns = if modules { &columns[..] } else { &columns[..6] };
    let mut table = Table::new(columns.iter().copied());
    let mut row = |cells: [String; 7]| table.row(cells.into_iter().take(columns.len()));
    for total in &status.totals {
        row([
            total.cipher.name.to_owned(),
            total.files.to_string(),
            human_bytes(total.stored_bytes),
            share(total.share_percent),
            total.key_version.to_string(),
            total.key_id.clone(),
            total.module.clone().unwrap_or_else(|| "–".into()),
        ]);
    }
    for (what, names, bytes) in [
        ("not sealed", &status.not_sealed, status.not_sealed_bytes),
        ("unreadable", &status.unreadable, status.unreadable_bytes),
    ] {
        if !names.is_empty() {
            let percent = 100.0 * bytes as f64 / (status.stored_bytes as f64).max(1.0);
            let files = names.len().to_string();
            let bytes = human_bytes(bytes);
            let none = || "–".to_owned();
            row([what.into(), files, bytes, share(percent), none(), none(), none()]);
        }
    }
    let mut text = table.render(terminal::stdout());
    if status.is_sealed() {
        text.push_str("\nevery file that is not empty is sealed\n");
    }
    if !status.not_sealed.is_empty() {
        text.push_str(&format!("\n{} not sealed:\n", files_are(status.not_sealed.len())));
        list(&mut text, status.not_sealed.iter().cloned());
    }
    if !status.unreadable.is_empty() {
        text.push_str(&format!(
            "\n{} unreadable; restore from a backup:\n",
            files_are(status.unreadable.len())
        ));
        list(&mut text, status.unreadable.iter().cloned());
    }
    text
}

fn files_are(count: usize) -> String {
    if count == 1 { "1 file is".into() } else { format!("{count} files are") }
}

/// Formats a share in percent; a tiny one is never shown as nothing, and nearly all never as all.
fn share(percent: f64) -> String {
    match percent {
        percent if percent > 0.0 && percent < 0.1 => "< 0.1 %".into(),
        percent if percent < 100.0 && percent > 99.9 => "> 99.9 %".into(),
        percent => format!("{percent:.1} %"),
    }
}

fn verify(
    dir: &Path,
    keys: &dyn KeySource,
    anchor: Option<&Path>,
    json: bool,
) -> anyhow::Result<Answer> {
    let anchor = anchor.map(|spec| anchor::open(dir, spec)).transpose()?;
    // a key that is not there is an error of the caller, not damage of the store
    for total in status(dir)?.totals {
        keys.get(&KeyRef { id: total.key_id, version: total.key_version })?;
    }
    if let Some(anchor) = &anchor {
        // one that cannot be read is reported before hours of checking, not after
        anchor.read()?;
    }
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
    bar.set_style(
        ProgressStyle::with_template("{bar:24} {bytes}, {eta} left  {msg}")
            .expect("a valid template"),
    );
    let found = rest::verify(dir, keys, Backend::auto(), anchor.as_deref(), &mut |progress| {
        bar.set_length(progress.total_bytes);
        bar.set_position(progress.done_bytes);
        bar.set_message(safe(progress.file));
    });
    bar.finish_and_clear();
    let found = found?;
    if json {
        print_json(&found)?
    } else {
        print(&verification_text(&found))?
    }
    Ok(if found.is_whole() { Answer::Done } else { Answer::Negative })
}

fn verification_text(found: &Verification) -> String {
    let checked = human_bytes(found.stored_bytes);
    let verdict = match found.failures.len() {
        0 => "all of it is sealed and whole".to_string(),
        1 => "1 failure".to_string(),
        failures => format!("{failures} failures"),
    };
    let mut text = String::new();
    for line in comparisons(found) {
        text.push_str(&format!("{line}\n"));
    }
    let leftovers: Vec<String> = found.compared.iter().flat_map(leftovers).cloned().collect();
    if !leftovers.is_empty() {
        text.push_str("not part of it, left by a crash or being written:\n");
        list(&mut text, leftovers.into_iter());
    }
    text.push_str(&format!(
        "{} files, {} pages and {} frames checked ({checked}): {verdict}\n",
        found.files, found.pages, found.frames
    ));
    if let Some(check) = &found.anchor {
        text.push_str(&format!("{}\n", check.text(found.is_whole())));
    }
    for (title, findings) in [
        ("not as it was sealed:", &found.failures),
        ("left by a crash, repaired by recovery:", &found.notes),
    ] {
        if !findings.is_empty() {
            text.push_str(&format!("\n{title}\n"));
            list(&mut text, findings.iter().map(finding_text));
        }
    }
    text
}

/// Lists what the files of each directory were compared with, limited to what a reader can take in.
fn comparisons(found: &Verification) -> Vec<String> {
    let mut lines: Vec<String> =
        found.compared.iter().take(LISTED_MAX).map(comparison_text).collect();
    if found.compared.len() > LISTED_MAX {
        lines.push(format!(
            "and {} more directories; --json lists all",
            found.compared.len() - LISTED_MAX
        ));
    }
    lines
}

fn comparison_text(comparison: &Comparison) -> String {
    let place = match comparison.directory.as_str() {
        "" => String::new(),
        directory => format!("{directory}: "),
    };
    let counted = |count: u64, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    match &comparison.with {
        ComparedWith::LiveSet { manifest, tables, blob_files, logs, .. } => format!(
            "{place}compared with the live set of {manifest}: {}, {}, {}",
            counted(*tables, "table"),
            counted(*blob_files, "blob file"),
            counted(*logs, "log")
        ),
        ComparedWith::Nothing => {
            format!("{place}no CURRENT and no trace of a database: each file checked by itself")
        }
        ComparedWith::Unknown => {
            format!("{place}compared with nothing: what belongs to the database is not known")
        }
    }
}

fn leftovers(comparison: &Comparison) -> &[String] {
    match &comparison.with {
        ComparedWith::LiveSet { leftovers, .. } => leftovers,
        ComparedWith::Nothing | ComparedWith::Unknown => &[],
    }
}

fn rotate(dir: &Path, keys: &dyn KeySource, json: bool) -> anyhow::Result<Answer> {
    status(dir)?;
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
    bar.set_style(
        ProgressStyle::with_template("{bar:24} {pos} of {len} files  {msg}")
            .expect("a valid template"),
    );
    let done = rest::rotate(dir, keys, &mut |progress| {
        bar.set_length(progress.total_files);
        bar.set_position(progress.done_files);
        bar.set_message(safe(progress.file));
    });
    bar.finish_and_clear();
    let done = done?;
    audit_log::key(&done.key_id, Some(done.key_version));
    audit_log::files(done.rewrapped, None);
    if json {
        print_json(&done)?
    } else {
        print(&rotation_text(&done))?
    }
    // nothing was sealed, so nothing was rotated: hardly what a monitor waits for
    Ok(if done.is_complete() && done.files > 0 { Answer::Done } else { Answer::Negative })
}

fn rotation_text(done: &Rotation) -> String {
    let Rotation { key_id, key_version, files, rewrapped, failures, seconds, .. } = done;
    let milliseconds = (seconds * 1000.0).ceil();
    if *files == 0 {
        return "nothing was rewrapped: no file is sealed\n".into();
    }
    if failures.is_empty() {
        return format!(
            "{files} files are under key {key_id} version {key_version}, {rewrapped} of them \
             rewrapped in {milliseconds} ms\n"
        );
    }
    let mut text = format!(
        "{rewrapped} files rewrapped under key {key_id} version {key_version} in {milliseconds} \
         ms, {} could not be and are unchanged:\n",
        failures.len()
    );
    list(&mut text, failures.iter().map(finding_text));
    text
}

fn finding_text(finding: &Finding) -> String {
    let place = match (finding.page, finding.frame) {
        (Some(page), _) => format!(", page {page}"),
        (_, Some(frame)) => format!(", frame {frame}"),
        (None, None) => String::new(),
    };
    format!("{}{place}: {}", finding.file, finding.what.lines().next().unwrap_or_default())
}
