//! `sealstone mongo check`: what is sealed in a data directory, and the remedy for what is not.

use std::io::ErrorKind;
use std::path::Path;

use sealstone_bench::words::size::human_bytes;
use sealstone_wiredtiger::check::{self, CheckError, FileReport, Report, Standing};

use super::prometheus;
use crate::directory_kind::{Wanted, refuse_other};
use crate::listing::list;
use crate::message::{Answer, print, print_json, say};
use crate::table::{Table, wrap};
use crate::terminal;

/// Runs the command.
pub(crate) fn run(dir: &Path, json: bool, prometheus: bool) -> anyhow::Result<Answer> {
    let report = check::check(dir).or_else(|error| {
        if let CheckError::NoData { dir } = &error {
            refuse_other(dir, Wanted::MongoDb, &format!("no MongoDB data in {}", dir.display()))?;
        }
        Err(anyhow::Error::from(error))
    })?;
    if json {
        print_json(&report)?;
    } else if prometheus {
        print(&prometheus::text(&report))?;
    } else {
        print(&text(&report))?;
    }
    Ok(if report.is_sealed() { Answer::Done } else { Answer::Negative })
}

/// Returns whether there is something in the data directory `dir`, or may be.
pub(crate) fn is_there(dir: &Path) -> bool {
    std::fs::read_dir(dir).map_or_else(|error| error.kind() != ErrorKind::NotFound, |mut names| names.next().is_some())
}

/// Reports what in `dir` would stop a server that is about to get an encryptor.
pub(crate) fn remark(dir: &Path) {
    if let Ok(report) = check::check(dir)
        && !report.is_sealed()
    {
        say(&format!(
            "{} contains data in the clear: with these options mongod accepts only an empty directory\n\
             to convert a member of a replica set, empty its directory and resync it (docs/guide/mongodb.md)",
            dir.display()
        ));
    }
}

fn text(report: &Report) -> String {
    // the key as `keys show` has it
    let key = report.key_id.as_deref().map_or_else(|| "–".into(), printable);
    let none = || "–".to_owned();
    let mut table = Table::new(["CIPHER", ">BLOCKS", ">ON DISK", ">VERSION", "KEY", "FINGERPRINT"]);
    for share in &report.sealed {
        let (blocks, bytes) = (share.blocks.to_string(), human_bytes(share.bytes));
        let version = share.key_version.to_string();
        table.row([share.cipher.into(), blocks, bytes, version, key.clone(), share.fingerprint.clone()]);
    }
    if report.clear_blocks > 0 {
        let (blocks, bytes) = (report.clear_blocks.to_string(), human_bytes(report.clear_bytes));
        table.row(["in the clear".into(), blocks, bytes, none(), none(), none()]);
    }
    if report.other_blocks > 0 {
        table.row(["something else".into(), report.other_blocks.to_string(), none(), none(), none(), none()]);
    }
    let mut text = table.render(terminal::stdout());
    text.push('\n');
    text.push_str(verdict(report));
    let open = [with(report, Standing::Clear), with(report, Standing::Unread)].concat();
    let mut remedies: Vec<&str> = open.iter().filter_map(|file| file.remedy).collect();
    remedies.sort_unstable();
    remedies.dedup();
    for step in remedies {
        let files: Vec<&&FileReport> = open.iter().filter(|file| file.remedy == Some(step)).collect();
        list(&mut text, files.iter().map(|file| open_line(file)));
        text.push_str(&format!("{step}\n"));
    }
    let aside = [with(report, Standing::AlwaysClear), with(report, Standing::Unknown)].concat();
    text.push_str("\nnot passed to any encryptor, and so in the clear:\n");
    let mut listed: Vec<&str> = Vec::new();
    for file in aside {
        // one line for all files of a directory
        let name = file.name.split_inclusive('/').next().unwrap_or(&file.name);
        if !listed.contains(&name) {
            listed.push(name);
            let what = file.holds.map_or(name.to_string(), |holds| format!("{name} ({holds})"));
            remedy(&mut text, &what, file.remedy.unwrap_or_default());
        }
    }
    report.elsewhere.iter().for_each(|(what, step)| remedy(&mut text, what, step));
    text
}

fn verdict(report: &Report) -> &'static str {
    match () {
        () if report.is_sealed() => "every block of data and every record of the journal is sealed\n",
        () if report.sealed.is_empty() && report.clear_blocks == 0 && report.unread_files == 0 => {
            "nothing is sealed, nor is there any data\n"
        }
        () if report.sealed.is_empty() => "nothing is sealed:\n",
        () => "not all of it is sealed:\n",
    }
}

fn with(report: &Report, standing: Standing) -> Vec<&FileReport> {
    report.files.iter().filter(|file| file.standing == standing).collect()
}

/// Describes what is wrong with a file that is not sealed as a whole.
fn open_line(file: &FileReport) -> String {
    let FileReport { other_blocks, clear_blocks, .. } = file;
    let name = printable(&file.name);
    match (&file.unread, &file.other) {
        (Some(why), _) => format!("{name}: {}", printable(why)),
        (None, Some(other)) if *clear_blocks == 0 => format!("{name}: {other_blocks} blocks {other}"),
        _ => format!("{name}: {clear_blocks} blocks ({})", human_bytes(file.clear_bytes)),
    }
}

/// Replaces control characters: text from a file may contain anything, and a terminal must not obey
/// it.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn remedy(text: &mut String, what: &str, step: &str) {
    for (at, line) in wrap(&format!("{what}: {step}"), terminal::stdout().columns() - 4).into_iter().enumerate() {
        text.push_str(if at == 0 { "  " } else { "    " });
        text.push_str(&line);
        text.push('\n');
    }
}
