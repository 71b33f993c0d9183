//! `sealstone mongo lab`: a replica set on this machine that outlives the command which started it.

use std::path::{Path, PathBuf};

use anyhow::bail;
use sealstone_cipher::registry;
use sealstone_keys::file::KeyFile;
use sealstone_stores::mongodb::lab::{
    KeyServer, KeyServerStatus, LabError, MemberStatus, MongodOptions, ReplicaSet, find_mongod,
};
use sealstone_wiredtiger::engine_options::find_extension;
use serde::Serialize;
use serde_json::json;

use super::key_server;
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
    let left = format!("ended; what was made is left in {}", flags.dir.display());
    let (mut set, mut kms) = interrupt::ending_servers(left, || match ReplicaSet::open(&flags.dir) {
        Ok(set) => again(set, flags),
        Err(LabError::NoLab { .. }) => start(flags),
        Err(error) => Err(error.into()),
    })?;
    let standing = Standing::of(&mut set, kms.as_mut().map(KeyServer::status));
    set.leave_running();
    if let Some(kms) = kms {
        kms.leave_running();
    }
    standing.print(flags.json)?;
    if !flags.json {
        say(&format!("to end it: sealstone mongo lab down {}", flags.dir.display()));
    }
    Ok(Answer::Done)
}

/// Starts a new lab, its key server first.
fn start(flags: &LabUpFlags) -> anyhow::Result<(ReplicaSet, Option<KeyServer>)> {
    let (members, kms) = members(flags)?;
    Ok((ReplicaSet::start(&flags.dir, &members)?, kms))
}

/// Starts a lab that was there before, as it was, its key server first.
fn again(mut set: ReplicaSet, flags: &LabUpFlags) -> anyhow::Result<(ReplicaSet, Option<KeyServer>)> {
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
        || flags.kmip
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
    let mut kms = KeyServer::open(&dir)?;
    kms.as_mut().map_or(Ok(()), KeyServer::start_again)?;
    set.start_again()?;
    Ok((set, kms))
}

/// How the members of a new lab are started, and the key server that they need. What keeps one from starting is told
/// before any has.
fn members(flags: &LabUpFlags) -> anyhow::Result<(Vec<MongodOptions>, Option<KeyServer>)> {
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
    let (key, kms) = key(flags)?;
    let engine_config = match key {
        Some(key) => Some(super::engine_options(&key, &flags.sealing)?.engine_config()?),
        None => None,
    };
    let options = MongodOptions { program: Some(program), cache_gb, engine_config, ..Default::default() };
    Ok((vec![options; nodes], kms))
}

/// The key source of a new lab, if it is to be sealed, and the key server if that is to be its own.
fn key(flags: &LabUpFlags) -> anyhow::Result<(Option<String>, Option<KeyServer>)> {
    let sealing = &flags.sealing;
    if let Some(key) = &flags.key {
        return Ok((Some(key.clone()), None));
    }
    if flags.kmip || sealing.cipher.is_some() {
        // told before the key is made
        find_extension(sealing.extension.as_deref())?;
        refuse_occupied(&flags.dir)?;
    }
    if flags.kmip {
        let cipher = sealing.cipher.as_deref().unwrap_or(super::FIRST_CIPHER);
        let (kms, key) = key_server::start(&flags.dir, cipher)?;
        return Ok((Some(key), Some(kms)));
    }
    if sealing.cipher.is_some() {
        return Ok((Some(new_key(&flags.dir)?), None));
    }
    if sealing.extension.is_some() || sealing.accel.is_some() {
        bail!("nothing says what to seal with\nname a cipher with --cipher, or a key with --key or --kmip");
    }
    Ok((None, None))
}

/// Refuses a directory that holds more than what an attempt before may have left: the key, the key server.
fn refuse_occupied(dir: &Path) -> anyhow::Result<()> {
    let occupied = std::fs::read_dir(dir).into_iter().flatten().flatten();
    if occupied.map(|entry| entry.file_name()).any(|name| !name.to_string_lossy().starts_with("lab.")) {
        return Err(LabError::NotEmpty { dir: dir.to_owned() }.into());
    }
    Ok(())
}

/// Makes the key file of a lab, or finds the one of an attempt before.
fn new_key(dir: &Path) -> anyhow::Result<String> {
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
    let mut ended = 0;
    let found = match ReplicaSet::open(dir) {
        Ok(mut set) => {
            ended = set.pids().len();
            set.stop()?;
            None
        }
        // one whose start was broken off may have a key server and no member yet
        Err(error @ LabError::NoLab { .. }) => Some(error),
        Err(error) => return Err(error.into()),
    };
    // last: until then a member may be started and need its key
    match (KeyServer::open(dir)?, found) {
        (Some(mut kms), _) => {
            ended += usize::from(kms.pid().is_some());
            kms.stop()?;
        }
        (None, Some(error)) => return Err(error.into()),
        (None, None) => {}
    }
    if json {
        print_json(&json!({"schema": SCHEMA, "dir": dir.canonicalize()?, "ended": ended}))?;
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
    // each is let go of before the next is taken: what fails meanwhile ends no server
    let mut kms = KeyServer::open(dir)?;
    let kms_status = kms.as_mut().map(KeyServer::status);
    if let Some(kms) = kms {
        kms.leave_running();
    }
    let mut set = ReplicaSet::open(dir)?;
    let standing = Standing::of(&mut set, kms_status);
    set.leave_running();
    standing.print(json)?;
    Ok(if standing.serves() { Answer::Done } else { Answer::Negative })
}

/// How a lab stands.
#[derive(Serialize)]
struct Standing {
    schema: u32,
    dir: PathBuf,
    uri: String,
    members: Vec<MemberStatus>,
    key_server: Option<KeyServerStatus>,
}

impl Standing {
    fn of(set: &mut ReplicaSet, key_server: Option<KeyServerStatus>) -> Self {
        Self { schema: SCHEMA, dir: set.dir().to_owned(), uri: set.uri(), members: set.status(), key_server }
    }

    /// Whether all servers do what they are there for.
    fn serves(&self) -> bool {
        let serves = |member: &MemberStatus| matches!(member.state.as_str(), "PRIMARY" | "SECONDARY");
        self.members.iter().all(serves) && self.key_server.as_ref().is_none_or(|kms| kms.pid.is_some())
    }

    fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return print_json(self);
        }
        let kms = self.key_server.as_ref().map(|kms| format!("\n{}", key_server::line(kms))).unwrap_or_default();
        print(&format!("{}\n\n{}{kms}", self.uri, table(&self.members)))
    }
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
