//! `sealstone lab`: servers on this machine that outlive the command that started them.

mod seal_account;
mod sealing;
mod settings_record;

use std::path::Path;

use anyhow::bail;
use sealstone_bench::compare::work_dir::{self, Left};
use sealstone_message::{may_hold_secret, shown_address};
use sealstone_servers::{
    Lab, LabError, LabStanding, Listed, MemberStatus, Server, Standing, VOLUME, list,
};
use sealstone_stores::sealed_server;
use serde_json::{Value, json};

use self::seal_account::Sealed;
use crate::flags::{LabCommand, LabUp};
use crate::listing::list as list_lines;
use crate::message::{Answer, print, print_json, say};
use crate::path::quoted;
use crate::table::Table;
use crate::{interrupt, terminal};

/// Schema of the JSON that these commands print.
const SCHEMA: u32 = 1;

/// Runs one of the commands.
pub(crate) fn run(command: &LabCommand) -> anyhow::Result<Answer> {
    match command {
        LabCommand::Up(flags) => up(flags),
        LabCommand::List { dir, json } => list_labs(dir, *json),
        LabCommand::Status { dir, json } => status(dir, *json),
        LabCommand::Down { dir, json } => down(dir, *json),
    }
}

fn up(flags: &LabUp) -> anyhow::Result<Answer> {
    refuse_addresses(flags)?;
    let left = format!("stopped; what was created remains in {}", flags.dir.display());
    let mut lab =
        interrupt::ending_servers(left, || match (Lab::open(&flags.dir), flags.server) {
            (Err(LabError::NoLab { .. }), Some(server)) => start(server, flags),
            // in addition to servers of another kind, which are left unchanged
            (Ok(lab), Some(server)) if !lab.holds(server) => {
                lab.leave_running();
                start(server, flags)
            }
            (Ok(lab), server) => match lab.start_again(server, takes_settings(flags)) {
                Err(LabError::Running { dir, .. }) => {
                    if takes_settings(flags) && !settings_record::is_as_before(&dir, flags) {
                        return Err(LabError::AsItWas { dir }.into());
                    }
                    say(&format!("runs already in {}", flags.dir.display()));
                    Ok(Lab::open(&flags.dir)?)
                }
                outcome => Ok(outcome?),
            },
            (Err(error), _) => Err(error.into()),
        })?;
    let standing = lab.standing();
    lab.leave_running();
    print_standing(&standing, flags.json)?;
    if !flags.json {
        say(&format!("to stop it: sealstone lab down {}", flags.dir.display()));
    }
    Ok(Answer::Done)
}

/// Returns whether any setting of the servers to start was given.
fn takes_settings(flags: &LabUp) -> bool {
    sealing::is_asked_for(&flags.sealing) || !flags.settings.is_empty()
}

/// Starts new servers. Obstacles are reported before anything is made.
fn start(server: &'static Server, flags: &LabUp) -> anyhow::Result<Lab> {
    let cipher = sealing::cipher(&flags.sealing)?;
    (server.check)(&flags.dir, &flags.settings)?;
    let mut lab = Lab::new(&flags.dir);
    let mut settings = flags.settings.clone();
    let of_seal = sealing::settings(&mut lab, &flags.dir, server, &flags.sealing, cipher)?;
    of_seal.into_iter().for_each(|(name, value)| settings.set(name, value));
    lab.start(server, &settings)?;
    settings_record::remember(&flags.dir, flags)?;
    Ok(lab)
}

/// Refuses addresses, which may have a password in them, as settings and as the directory: settings
/// appear in the printed address, in configurations and in the record of a lab, and no setting is
/// an address.
fn refuse_addresses(flags: &LabUp) -> anyhow::Result<()> {
    let dir = flags.dir.to_string_lossy();
    let given = std::iter::once(("dir", &*dir)).chain(flags.settings.all());
    match given.into_iter().find(|(_, value)| may_hold_secret(value)) {
        Some((name, value)) => {
            bail!(
                "{name} is {}: this may be the address of a server, and a lab has its own\nname \
                 another",
                shown_address(value)
            )
        }
        None => Ok(()),
    }
}

fn down(dir: &Path, json: bool) -> anyhow::Result<Answer> {
    let ended = Lab::open(dir)?.stop()?;
    if json {
        print_json(&json!({"schema": SCHEMA, "dir": dir.canonicalize()?, "ended": ended}))?;
    } else {
        print(&match ended {
            0 => "nothing ran\n".to_string(),
            1 => "1 server stopped\n".to_string(),
            servers => format!("{servers} servers stopped\n"),
        })?;
    }
    Ok(Answer::Done)
}

fn status(dir: &Path, json: bool) -> anyhow::Result<Answer> {
    let mut lab = Lab::open(dir)?;
    let standing = lab.standing();
    lab.leave_running();
    print_standing(&standing, json)?;
    Ok(if standing.serves() { Answer::Done } else { Answer::Negative })
}

fn list_labs(dir: &Path, json: bool) -> anyhow::Result<Answer> {
    let labs = list(dir)?;
    let left = work_dir::left_in(dir);
    if json {
        let labs: Vec<Value> = labs.iter().map(listed_json).collect();
        let left: Vec<Value> = left.iter().map(left_json).collect();
        print_json(&json!({"schema": SCHEMA, "labs": labs, "left": left}))?;
        return Ok(Answer::Done);
    }
    if labs.is_empty() {
        say(&format!("no lab in {}", dir.display()));
    } else {
        let mut table = Table::new(["LAB", "SERVERS"]);
        for lab in &labs {
            table.row([lab.dir.display().to_string(), servers(lab)]);
        }
        print(&table.render(terminal::stdout()))?;
    }
    if !left.is_empty() {
        let mut table = Table::new(["LEFT BY A COMPARISON THAT WAS KILLED", "STILL RUNNING"]);
        for Left { dir, users } in &left {
            let users: Vec<String> =
                users.iter().map(|(pid, name)| format!("{name} ({pid})")).collect();
            table.row([
                dir.display().to_string(),
                if users.is_empty() { "–".into() } else { users.join(", ") },
            ]);
        }
        let gap = if labs.is_empty() { "" } else { "\n" };
        print(&format!("{gap}{}", table.render(terminal::stdout())))?;
        say("the next sealstone compare with the same --out removes them");
    }
    Ok(Answer::Done)
}

fn left_json(left: &Left) -> Value {
    let users = left.users.iter().map(|(pid, name)| json!({"pid": pid, "name": name}));
    json!({"dir": left.dir, "processes": users.collect::<Vec<_>>()})
}

fn listed_json(lab: &Listed) -> Value {
    match &lab.standing {
        Ok(standing) => {
            json!({"dir": standing.dir, "servers": servers_json(standing), "error": null})
        }
        Err(error) => json!({"dir": lab.dir, "servers": null, "error": first_line(error)}),
    }
}

/// Returns how many servers of each kind are running, or why that cannot be seen.
fn servers(lab: &Listed) -> String {
    match &lab.standing {
        Ok(standing) => {
            let kinds = standing.servers.iter().map(|kind| {
                let serving = kind.members.iter().filter(|member| member.serves).count();
                format!("{}: {serving} of {} serve", kind.server, kind.members.len())
            });
            kinds.collect::<Vec<_>>().join(", ")
        }
        Err(error) => first_line(error),
    }
}

fn first_line(error: &LabError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn print_standing(standing: &LabStanding, json: bool) -> anyhow::Result<()> {
    if json {
        return print_json(
            &json!({"schema": SCHEMA, "dir": standing.dir, "servers": servers_json(standing)}),
        );
    }
    let uris = standing.servers.iter().filter(|kind| kind.server != VOLUME.name);
    let uris: String = uris.map(|kind| format!("{}\n", kind.uri)).collect();
    let mut table = Table::new(["SERVER", "ADDRESS", ">PROCESS", "STATE", "SEALED", "DATA"]);
    let mut open = String::new();
    for (kind, member) in standing
        .servers
        .iter()
        .flat_map(|kind| kind.members.iter().map(move |member| (kind, member)))
    {
        let sealed = sealed(standing, kind, member);
        table.row(cells(kind.server, member, &sealed));
        if !sealed.open_files().is_empty() {
            let dir = quoted(&member.data_dir);
            open.push_str(&format!("\nnot sealed in {dir}:\n"));
            list_lines(&mut open, sealed.open_files().iter().cloned());
            if let Some(way) = sealed_server(kind.server) {
                open.push_str(&format!("see: sealstone {} check {dir}\n", way.name()));
            }
        }
    }
    print(&format!("{uris}\n{}{open}", table.render(terminal::stdout())))
}

/// Returns the servers of a lab, and of each member what of its data is sealed.
fn servers_json(standing: &LabStanding) -> Vec<Value> {
    let of_kind = |kind: &Standing| {
        let of_member = |member| member_json(member, &sealed(standing, kind, member));
        let members: Vec<Value> = kind.members.iter().map(of_member).collect();
        json!({"server": kind.server, "uri": kind.uri, "members": members})
    };
    standing.servers.iter().map(of_kind).collect()
}

/// Returns the extent to which the files of `member`, one of `kind`, are sealed.
fn sealed(standing: &LabStanding, kind: &Standing, member: &MemberStatus) -> Sealed {
    if kind.server == VOLUME.name || standing.on_volume.iter().any(|name| name == kind.server) {
        return Sealed::Yes;
    }
    Sealed::of(kind.server, &member.data_dir)
}

fn member_json(member: &MemberStatus, sealed: &Sealed) -> Value {
    let MemberStatus { address, pid, state, serves, data_dir } = member;
    json!({
        "address": address, "pid": pid, "state": state, "serves": serves, "data_dir": data_dir,
        "sealed": sealed.flag(), "not_sealed": sealed.open_files(),
    })
}

fn cells(server: &str, member: &MemberStatus, sealed: &Sealed) -> [String; 6] {
    let pid = member.pid.map_or("–".into(), |pid| pid.to_string());
    let data = member.data_dir.display().to_string();
    [server.into(), member.address.clone(), pid, member.state.clone(), sealed.word().into(), data]
}
