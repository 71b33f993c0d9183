//! `sealstone mongo check` and its like: the sealed data in a data directory, and the remedy for
//! the rest.

use std::io::ErrorKind;
use std::path::Path;

use sealstone_bench::words::human_bytes;
use sealstone_seal::account::{Account, FileAccount, Standing};
use sealstone_stores::at_rest::SealedServer;

use crate::directory_kind::refuse_other;
use crate::listing::list;
use crate::message::{Answer, print, print_json, say};
use crate::table::{Table, wrap};
use crate::terminal;

/// Runs the command.
pub(super) fn run(server: &dyn SealedServer, dir: &Path, json: bool) -> anyhow::Result<Answer> {
    if !server.owns(dir) {
        refuse_other(
            dir,
            server.name(),
            &format!("no {} data in {}", server.product(), dir.display()),
        )?;
    }
    let account = server.account(dir).map_err(anyhow::Error::from_boxed)?;
    if json {
        print_json(&account)?;
    } else {
        print(&text(&account))?;
    }
    Ok(if account.is_sealed() { Answer::Done } else { Answer::Negative })
}

/// Returns whether there is something in the data directory `dir`, or may be.
pub(super) fn is_there(dir: &Path) -> bool {
    std::fs::read_dir(dir).map_or_else(
        |error| error.kind() != ErrorKind::NotFound,
        |mut names| names.next().is_some(),
    )
}

/// Reports what in `dir` would stop a server that is about to seal its files.
pub(super) fn remark(server: &dyn SealedServer, dir: &Path) {
    if let Ok(account) = server.account(dir)
        && !account.is_sealed()
    {
        say(&format!("{} contains data in the clear: {}", dir.display(), server.conversion()));
    }
}

fn text(account: &Account) -> String {
    // the key as `keys show` has it
    let key = account.key_id.as_deref().map_or_else(|| "–".into(), printable);
    let none = || "–".to_owned();
    let columns = ["CIPHER", "MODE", ">BLOCKS", ">ON DISK", ">VERSION", "KEY", "FINGERPRINT"];
    let mut table = Table::new(columns);
    for share in &account.sealed {
        let (blocks, bytes) = (share.blocks.to_string(), human_bytes(share.bytes));
        let version = share.key_version.to_string();
        table.row([
            share.cipher.name.into(),
            share.mode.word().into(),
            blocks,
            bytes,
            version,
            key.clone(),
            share.fingerprint.clone(),
        ]);
    }
    if account.clear_blocks > 0 {
        let (blocks, bytes) = (account.clear_blocks.to_string(), human_bytes(account.clear_bytes));
        table.row(["in the clear".into(), none(), blocks, bytes, none(), none(), none()]);
    }
    if account.other_blocks > 0 {
        table.row([
            "something else".into(),
            none(),
            account.other_blocks.to_string(),
            none(),
            none(),
            none(),
            none(),
        ]);
    }
    let mut text = table.render(terminal::stdout());
    text.push('\n');
    text.push_str(verdict(account));
    let open = [with(account, Standing::Clear), with(account, Standing::Unread)].concat();
    let mut remedies: Vec<&str> = open.iter().filter_map(|file| file.remedy).collect();
    remedies.sort_unstable();
    remedies.dedup();
    for step in remedies {
        let files: Vec<&&FileAccount> =
            open.iter().filter(|file| file.remedy == Some(step)).collect();
        list(&mut text, files.iter().map(|file| open_line(file)));
        text.push_str(&format!("{step}\n"));
    }
    let aside = [with(account, Standing::AlwaysClear), with(account, Standing::Unknown)].concat();
    text.push_str("\nnot passed to any encryptor, and so in the clear:\n");
    let mut listed: Vec<String> = Vec::new();
    for file in aside {
        // one line for all files of a directory that hold the same
        let name = file.name.split_inclusive('/').next().unwrap_or(&file.name);
        let what = file.holds.map_or(name.to_string(), |holds| format!("{name} ({holds})"));
        if !listed.contains(&what) {
            listed.push(what.clone());
            remedy(&mut text, &what, file.remedy.unwrap_or_default());
        }
    }
    account.elsewhere.iter().for_each(|(what, step)| remedy(&mut text, what, step));
    text
}

fn verdict(account: &Account) -> &'static str {
    match () {
        () if account.is_sealed() => {
            "every block of data and every record of the journal is sealed\n"
        }
        () if account.sealed.is_empty()
            && account.clear_blocks == 0
            && account.unread_files == 0 =>
        {
            "nothing is sealed, nor is there any data\n"
        }
        () if account.sealed.is_empty() => "nothing is sealed:\n",
        () => "not all of it is sealed:\n",
    }
}

fn with(account: &Account, standing: Standing) -> Vec<&FileAccount> {
    account.files.iter().filter(|file| file.standing == standing).collect()
}

/// Describes the problem of a file that is not sealed as a whole.
fn open_line(file: &FileAccount) -> String {
    let FileAccount { other_blocks, clear_blocks, .. } = file;
    let name = printable(&file.name);
    match (&file.unread, &file.other) {
        (Some(why), _) => format!("{name}: {}", printable(why)),
        (None, Some(other)) if *clear_blocks == 0 => {
            format!("{name}: {other_blocks} blocks {other}")
        }
        _ => format!("{name}: {clear_blocks} blocks ({})", human_bytes(file.clear_bytes)),
    }
}

/// Replaces control characters: text from a file may contain anything, and a terminal must not obey
/// it.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn remedy(text: &mut String, what: &str, step: &str) {
    for (at, line) in
        wrap(&format!("{what}: {step}"), terminal::stdout().columns() - 4).into_iter().enumerate()
    {
        text.push_str(if at == 0 { "  " } else { "    " });
        text.push_str(&line);
        text.push('\n');
    }
}
