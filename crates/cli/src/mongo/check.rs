//! `sealstone mongo check`: what is sealed in a data directory, and the remedy for what is not.

use std::path::Path;

use sealstone_bench::size::human_bytes;
use sealstone_wiredtiger::check::{self, FileReport, Report, Standing};

use crate::listing::list;
use crate::message::{Answer, print, print_json, say};
use crate::table::{Table, wrap};
use crate::terminal;

/// Runs the command.
pub(crate) fn run(dir: &Path, json: bool) -> anyhow::Result<Answer> {
    let report = check::check(dir)?;
    if json {
        print_json(&report)?;
    } else {
        print(&text(&report))?;
    }
    Ok(if report.is_sealed() { Answer::Done } else { Answer::Negative })
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
    let mut table = Table::new(["CIPHER", ">BLOCKS", ">ON DISK", ">KEY VERSION", "KEY"]);
    for share in &report.sealed {
        let (blocks, bytes) = (share.blocks.to_string(), human_bytes(share.bytes));
        table.row([share.cipher.into(), blocks, bytes, share.key_version.to_string(), share.fingerprint.clone()]);
    }
    if report.clear_blocks > 0 {
        let (blocks, bytes) = (report.clear_blocks.to_string(), human_bytes(report.clear_bytes));
        table.row(["in the clear".into(), blocks, bytes, "–".into(), "–".into()]);
    }
    if report.other_blocks > 0 {
        table.row(["something else".into(), report.other_blocks.to_string(), "–".into(), "–".into(), "–".into()]);
    }
    let mut text = table.render(terminal::stdout());
    text.push('\n');
    text.push_str(verdict(report));
    let clear: Vec<&FileReport> = with(report, Standing::Clear);
    if !clear.is_empty() {
        list(&mut text, clear.iter().map(|file| clear_line(file)));
        if let Some(remedy) = clear[0].remedy {
            text.push_str(&format!("{remedy}\n"));
        }
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
        () if report.sealed.is_empty() && report.clear_blocks == 0 => "nothing is sealed, nor is there any data\n",
        () if report.sealed.is_empty() => "nothing is sealed:\n",
        () => "not all of it is sealed:\n",
    }
}

fn with(report: &Report, standing: Standing) -> Vec<&FileReport> {
    report.files.iter().filter(|file| file.standing == standing).collect()
}

fn clear_line(file: &FileReport) -> String {
    match &file.other {
        Some(other) if file.clear_blocks == 0 => format!("{}: {} blocks {other}", file.name, file.other_blocks),
        _ => format!("{}: {} blocks ({})", file.name, file.clear_blocks, human_bytes(file.clear_bytes)),
    }
}

fn remedy(text: &mut String, what: &str, step: &str) {
    for (at, line) in wrap(&format!("{what}: {step}"), terminal::stdout().columns() - 4).into_iter().enumerate() {
        text.push_str(if at == 0 { "  " } else { "    " });
        text.push_str(&line);
        text.push('\n');
    }
}
