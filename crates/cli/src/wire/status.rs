//! `sealstone wire status`: how the tunnels of this user are doing.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use sealstone_bench::size::human_bytes;
use sealstone_wire::runtime::{RuntimeDir, RuntimeError};
use sealstone_wire::status::{EventStatus, SCHEMA, Session, Status};
use serde_json::json;

use crate::message::{Answer, print, print_json};

/// Events that are shown to a person; JSON lists all that are kept.
const SHOWN: usize = 8;

/// Shows tunnel `name`, or all.
pub(crate) fn run(named: Option<&str>, runtime_dir: Option<&Path>, json: bool) -> anyhow::Result<Answer> {
    let runtime = RuntimeDir::open(runtime_dir)?;
    let names = match named {
        Some(name) => vec![name.to_owned()],
        None => runtime.running()?,
    };
    let mut all = Vec::new();
    for name in names {
        let answer = match runtime.ask(&name, "status") {
            // it ended meanwhile
            Err(RuntimeError::NotRunning { .. }) if named.is_none() => continue,
            answer => answer?,
        };
        let status: Status =
            serde_json::from_str(&answer).with_context(|| format!("tunnel {name} answers what is no status"))?;
        all.push(status);
    }
    if json {
        print_json(&json!({"schema": SCHEMA, "tunnels": all}))?;
    } else if all.is_empty() {
        print("no tunnel is up\n")?;
    } else {
        print(&all.iter().map(text).collect::<Vec<_>>().join("\n"))?;
    }
    let is_up = !all.is_empty() && all.iter().all(|status| status.state == "up");
    Ok(if is_up { Answer::Done } else { Answer::Negative })
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
        let heard = given.silence_s.map_or("nothing heard yet".into(), |s| format!("heard {} ago", human_seconds(s)));
        line("indexes", format!("SPI {} out, {} in; {heard}", given.spi_out, given.spi_in));
        line("numbers", format!("{} sealed, {} the newest that came", given.sealed_packets, given.newest_in));
    }
    let traffic = &status.traffic;
    line("sent", format!("{} packets, {}", traffic.packets_out, human_bytes(traffic.bytes_out)));
    let reordered = match traffic.reordered_in {
        0 => String::new(),
        late => format!("; {late} came late and were put in order"),
    };
    line("received", format!("{} packets, {}{reordered}", traffic.packets_in, human_bytes(traffic.bytes_in)));
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

fn since(session: &Session) -> String {
    let of = if session.series > 1 { format!(" of {} each", session.series) } else { String::new() };
    format!(
        "{} ago, SPI {} out, {} in{of}; heard {} ago",
        human_seconds(session.age_s),
        session.spi_out,
        session.spi_in,
        human_seconds(session.silence_s)
    )
}

fn event_text(event: &EventStatus) -> String {
    let times = if event.times > 1 { format!(" ({} times)", event.times) } else { String::new() };
    let mut lines = event.what.lines();
    let mut text = format!("    {:>9} ago  {}{times}\n", human_seconds(event.ago_s), lines.next().unwrap_or_default());
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

/// Seconds as a person says them.
fn human_seconds(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}
