//! `sealstone wire status`: the state of this user's tunnels.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use sealstone_bench::words::human_bytes;
use sealstone_wire::tunnel::{
    EventStatus, Guard, GuardStatus, Guards, RuntimeDir, RuntimeError, STATUS_SCHEMA,
    SessionStatus, Status,
};
use serde_json::json;

use crate::age::human_age;
use crate::message::{Answer, print, print_json};

/// Events that are shown to a person; JSON lists all that are kept.
const SHOWN: usize = 8;

/// Shows tunnel `name`, or all.
pub(crate) fn run(
    named: Option<&str>,
    runtime_dir: Option<&Path>,
    json: bool,
) -> anyhow::Result<Answer> {
    let runtime = RuntimeDir::open(runtime_dir)?;
    let names = match named {
        Some(name) => vec![name.to_owned()],
        None => runtime.running()?,
    };
    let mut all = Vec::new();
    for name in names {
        let answer = match runtime.ask(&name, "status") {
            // it ended in the meantime
            Err(RuntimeError::NotRunning { .. }) if named.is_none() => continue,
            answer => answer?,
        };
        let status: Status = serde_json::from_str(&answer)
            .with_context(|| format!("tunnel {name} answers what is no status"))?;
        all.push(status);
    }
    let is_without = |(name, _): &(String, Guard)| all.iter().all(|status| status.name != *name);
    let mut guards = Guards(&runtime).all()?;
    guards.retain(|guard| is_without(guard) && named.is_none());
    if json {
        let guards: Vec<_> = guards.iter().map(|(name, guard)| guard_json(name, guard)).collect();
        print_json(
            &json!({"schema": STATUS_SCHEMA, "tunnels": all, "guards_without_tunnel": guards}),
        )?;
    } else {
        let mut texts: Vec<String> = all.iter().map(text).collect();
        if texts.is_empty() {
            texts.push("no tunnel is up\n".into());
        }
        texts.extend(guards.iter().map(|(name, guard)| guard_text(name, guard)));
        print(&texts.join("\n"))?;
    }
    let is_up = !all.is_empty() && all.iter().all(|status| status.state == "up");
    Ok(if is_up { Answer::Done } else { Answer::Negative })
}

/// Returns the guard of a tunnel that is not up.
fn guard_json(name: &str, guard: &Guard) -> serde_json::Value {
    json!({"name": name, "guard": GuardStatus::new(guard)})
}

fn guard_text(name: &str, guard: &Guard) -> String {
    let said = guarded(&GuardStatus::new(guard), name);
    format!(
        "{name}: not up\n  guard       {said}\n  to remove it: sealstone wire down {name} \
         --remove-guard\n"
    )
}

/// Describes the state of a guard.
fn guarded(guard: &GuardStatus, name: &str) -> String {
    let networks = guard.networks.join(", ");
    match guard.missing.is_empty() {
        true => format!("nothing goes to {networks} without the tunnel"),
        false => {
            let missing = guard.missing.join(", ").replace('\n', " ");
            format!(
                "INCOMPLETE, {missing}; set it up again: sealstone wire guard --name {name}, with \
                 its settings"
            )
        }
    }
}

fn text(status: &Status) -> String {
    let mut text = format!("{}: {}\n", status.name, state(status));
    let mut line = |what: &str, value: String| text.push_str(&format!("  {what:<11} {value}\n"));
    let peer = status.peer.clone().or(status.peer_given.clone()).unwrap_or("not seen yet".into());
    line("peer", peer);
    line("receives at", format!("{}, process {}", status.listen, status.pid));
    line("addresses", listed(&status.addresses));
    if !status.routes.is_empty() {
        line("routes", listed(&status.routes));
    }
    line(
        "guard",
        match &status.guard {
            Some(guard) => guarded(guard, &status.name),
            None => "none: without the tunnel, what its routes cover goes elsewhere, in the clear"
                .into(),
        },
    );
    line("suite", status.suite.clone());
    for caveat in &status.caveats {
        line("warning", caveat.clone());
    }
    if let Some(session) = &status.session {
        line("key", format!("{} version {}", session.key, session.key_version));
        line("keys since", since(session));
    }
    if let Some(given) = &status.given {
        line("keys from", given.file.clone());
        let heard = given
            .silence_s
            .map_or("nothing heard yet".into(), |s| format!("heard {} ago", human_age(s)));
        line("indexes", format!("SPI {} out, {} in; {heard}", given.spi_out, given.spi_in));
        line(
            "numbers",
            format!("{} sealed, {} the newest that came", given.sealed_packets, given.newest_in),
        );
    }
    let traffic = &status.traffic;
    line("sent", format!("{} packets, {}", traffic.packets_out, human_bytes(traffic.bytes_out)));
    let reordered = match traffic.reordered_in {
        0 => String::new(),
        late => format!("; {late} came late and were put in order"),
    };
    line(
        "received",
        format!("{} packets, {}{reordered}", traffic.packets_in, human_bytes(traffic.bytes_in)),
    );
    if status.given.is_none() {
        line("handshakes", status.handshakes.to_string());
    }
    if let Some(counted) = counted(&status.packets_refused) {
        line("packets", counted);
    }
    if let Some(counted) = counted(&status.messages_refused) {
        line("messages", format!("refused: {counted}"));
    }
    text.push_str("  what happened, the latest last\n");
    let from = status.events.len().saturating_sub(SHOWN);
    status.events[from..].iter().for_each(|event| text.push_str(&event_text(event)));
    text
}

fn state(status: &Status) -> String {
    match status.state.as_str() {
        "up" => "up".into(),
        "ended" => "the key is used up: nothing is sent any more".into(),
        "gone" => "the other end is gone; asking for it".into(),
        "connecting" => "asking the other end".into(),
        _ => "waiting for the other end".into(),
    }
}

fn since(session: &SessionStatus) -> String {
    let of =
        if session.series > 1 { format!(" of {} each", session.series) } else { String::new() };
    format!(
        "{} ago, SPI {} out, {} in{of}; heard {} ago",
        human_age(session.age_s),
        session.spi_out,
        session.spi_in,
        human_age(session.silence_s)
    )
}

fn event_text(event: &EventStatus) -> String {
    let times = if event.times > 1 { format!(" ({} times)", event.times) } else { String::new() };
    let mut lines = event.what.lines();
    let mut text = format!(
        "    {:>9} ago  {}{times}\n",
        human_age(event.ago_s),
        lines.next().unwrap_or_default()
    );
    lines.for_each(|line| text.push_str(&format!("                   {line}\n")));
    text
}

fn listed(values: &[String]) -> String {
    values.join(", ")
}

fn counted(counts: &BTreeMap<String, u64>) -> Option<String> {
    let counted: Vec<_> = counts.iter().map(|(what, times)| format!("{what} {times}")).collect();
    (!counted.is_empty()).then(|| counted.join("; "))
}
