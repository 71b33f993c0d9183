//! `sealstone mongo lab`: a replica set on this machine that outlives the command which started it.

use std::path::Path;

use anyhow::bail;
use sealstone_cipher::registry;
use sealstone_keys::file::KeyFile;
use sealstone_stores::mongodb::engine_options::find_extension;
use sealstone_stores::mongodb::lab::{LabError, MemberStatus, MongodOptions, ReplicaSet, find_mongod};
use serde_json::json;

use crate::flags::{LabCommand, LabUpFlags};
use crate::message::{Answer, print, print_json, say};
use crate::table::Table;
use crate::{interrupt, terminal};

/// Schema of the JSON that these commands print.
const SCHEMA: u32 = 1;
/// Members, where nobody says how many.
const NODES: usize = 3;
/// The least and the most that mongod takes, in gigabytes.
const CACHE_GB: std::ops::RangeInclusive<f64> = 0.25..=10_000.0;

/// Runs one of the commands.
pub(crate) fn run(command: &LabCommand) -> anyhow::Result<Answer> {
    match command {
        LabCommand::Up(flags) => up(flags),
        LabCommand::Down { dir, json } => down(dir, *json),
        LabCommand::Status { dir, json } => status(dir, *json),
    }
}

fn up(flags: &LabUpFlags) -> anyhow::Result<Answer> {
    interrupt::install_ending_servers(format!("ended; what was made is left in {}", flags.dir.display()))?;
    let mut set = match ReplicaSet::open(&flags.dir) {
        Ok(set) => again(set, flags)?,
        Err(LabError::NoLab { .. }) => ReplicaSet::start(&flags.dir, &members(flags)?)?,
        Err(error) => return Err(error.into()),
    };
    let (members, uri, dir) = (set.status(), set.uri(), set.dir().display().to_string());
    set.leave_running();
    if flags.json {
        print_json(&json!({"schema": SCHEMA, "dir": dir, "uri": uri, "members": members}))?;
    } else {
        print(&format!("{uri}\n\n{}", table(&members)))?;
        say(&format!("to end it: sealstone mongo lab down {}", flags.dir.display()));
    }
    Ok(Answer::Done)
}

/// Starts a lab that was there before, as it was.
fn again(mut set: ReplicaSet, flags: &LabUpFlags) -> anyhow::Result<ReplicaSet> {
    let dir = set.dir().to_owned();
    let pids = set.pids();
    if !pids.is_empty() {
        let pids = pids.iter().map(|pid| format!("process {pid}")).collect::<Vec<_>>().join(", ");
        set.leave_running();
        return Err(LabError::Running { dir, pids }.into());
    }
    if !set.is_complete() {
        return Err(LabError::NotEmpty { dir }.into());
    }
    let sealing = &flags.sealing;
    let anew = flags.nodes.is_some()
        || flags.key.is_some()
        || flags.cache_gb.is_some()
        || flags.mongod.is_some()
        || sealing.cipher.is_some()
        || sealing.accel.is_some()
        || sealing.extension.is_some()
        || sealing.passphrase.passphrase_file.is_some();
    if anew {
        bail!(
            "the lab in {} is started again as it was, and takes no settings\n\
             leave the flags out, or take another directory",
            dir.display()
        );
    }
    set.start_again()?;
    Ok(set)
}

/// How the members of a new lab are started. What keeps one from starting is told before any has.
fn members(flags: &LabUpFlags) -> anyhow::Result<Vec<MongodOptions>> {
    let nodes = flags.nodes.unwrap_or(NODES);
    if !(1..=7).contains(&nodes) {
        return Err(LabError::Members { nodes }.into());
    }
    let cache_gb = flags.cache_gb.unwrap_or(*CACHE_GB.start());
    if !CACHE_GB.contains(&cache_gb) {
        bail!("a cache of {cache_gb} GB is not possible\ntake {} to {}", CACHE_GB.start(), CACHE_GB.end());
    }
    if let Some(cipher) = &flags.sealing.cipher {
        registry::cipher(cipher)?;
    }
    let program = find_mongod(flags.mongod.as_deref())?;
    let options =
        MongodOptions { program: Some(program), cache_gb, engine_config: engine_config(flags)?, ..Default::default() };
    Ok(vec![options; nodes])
}

fn engine_config(flags: &LabUpFlags) -> anyhow::Result<Option<String>> {
    let sealing = &flags.sealing;
    let key = match &flags.key {
        Some(key) => key.clone(),
        None if sealing.cipher.is_some() => {
            // told before the key is made
            find_extension(sealing.extension.as_deref())?;
            new_key(&flags.dir)?
        }
        None if sealing.extension.is_some() || sealing.accel.is_some() => {
            bail!("nothing says what to seal with\nname a cipher with --cipher, or a key with --key")
        }
        None => return Ok(None),
    };
    Ok(Some(super::engine_options(&key, sealing)?.engine_config()?))
}

/// Makes the key of a lab, or finds the one of an attempt before.
fn new_key(dir: &Path) -> anyhow::Result<String> {
    let occupied = std::fs::read_dir(dir).into_iter().flatten().flatten();
    if occupied.map(|entry| entry.file_name()).any(|name| !name.to_string_lossy().starts_with("lab.")) {
        return Err(LabError::NotEmpty { dir: dir.to_owned() }.into());
    }
    let file = dir.join("lab.key");
    if !file.exists() {
        if let Err(error) = std::fs::create_dir_all(dir) {
            bail!("cannot create directory {}: {error}\ntake a directory that can be written", dir.display());
        }
        KeyFile::create(&file, "lab")?;
        say(&format!("made key lab in {}", file.display()));
    }
    super::in_text(file)
}

fn down(dir: &Path, json: bool) -> anyhow::Result<Answer> {
    let mut set = ReplicaSet::open(dir)?;
    let ended = set.pids().len();
    set.stop()?;
    if json {
        print_json(&json!({"schema": SCHEMA, "dir": set.dir(), "ended": ended}))?;
    } else {
        print(&match ended {
            0 => "nothing ran\n".to_string(),
            1 => "1 server ended\n".to_string(),
            servers => format!("{servers} servers ended\n"),
        })?;
    }
    Ok(Answer::Done)
}

fn status(dir: &Path, json: bool) -> anyhow::Result<Answer> {
    let mut set = ReplicaSet::open(dir)?;
    let (members, uri, dir) = (set.status(), set.uri(), set.dir().to_owned());
    set.leave_running();
    if json {
        print_json(&json!({"schema": SCHEMA, "dir": dir, "uri": uri, "members": members}))?;
    } else {
        print(&format!("{uri}\n\n{}", table(&members)))?;
    }
    let serves = |member: &MemberStatus| matches!(member.state.as_str(), "PRIMARY" | "SECONDARY");
    Ok(if members.iter().all(serves) { Answer::Done } else { Answer::Negative })
}

fn table(members: &[MemberStatus]) -> String {
    let mut table = Table::new(["MEMBER", ">PROCESS", "STATE", "SEALED", "DATA"]);
    for member in members {
        let pid = member.pid.map_or("–".to_string(), |pid| pid.to_string());
        let sealed = if member.sealed { "yes" } else { "no" };
        table.row([&member.address, &pid, &member.state, sealed, &member.data_dir.display().to_string()]);
    }
    table.render(terminal::stdout())
}
