//! `sealstone volume status`: what is sealed how, and where it is in use.

use std::path::PathBuf;

use anyhow::Context;
use sealstone_bench::words::human_bytes;
use sealstone_seal::Layout;
use sealstone_volume::attachment::Attached;
use sealstone_volume::{AttachedStatus, misplaced};
use serde::Serialize;

use super::place;
use crate::age::human_age;
use crate::flags::VolumePlace;
use crate::message::{Answer, print, print_json, say};

/// The state of a volume.
#[derive(Serialize)]
struct Status {
    schema: u32,
    volume: String,
    cipher: &'static str,
    key_id: String,
    key_version: u32,
    block_bytes: u32,
    /// Name and version of the cryptographic module that made it.
    module: Option<String>,
    /// `no`, `served`, or `dead` if the process that served it is gone.
    attached: &'static str,
    served: Option<AttachedStatus>,
    devices: Vec<String>,
    mounts: Vec<PathBuf>,
}

/// Runs the command.
pub(super) fn run(place: &VolumePlace, json: bool) -> anyhow::Result<Answer> {
    let at = || place.dir.display().to_string();
    let info = place::header_of(&place.dir)?;
    let attachment = place::of(&place.dir, &place.runtime)?;
    let (attached, served) = match attachment.state().with_context(at)? {
        Attached::No => ("no", None),
        Attached::Served(status) => ("served", Some(status)),
        Attached::Dead => ("dead", None),
    };
    let is_there = attached != "no";
    let status = Status {
        schema: 1,
        volume: info.file_id.iter().map(|byte| format!("{byte:02x}")).collect(),
        cipher: info.cipher.name,
        key_id: info.key.id,
        key_version: info.key.version,
        module: info.module,
        block_bytes: match info.layout {
            Layout::Volume { block_bytes } => block_bytes,
            Layout::Paged { .. } | Layout::Frames => 0,
        },
        attached,
        served,
        devices: if is_there { attachment.devices()? } else { Vec::new() },
        mounts: if is_there { attachment.mounts()? } else { Vec::new() },
    };
    if json {
        print_json(&status)?;
    } else {
        print(&text(&status))?;
    }
    match misplaced(&place.dir) {
        Some(failure) => {
            say(&format!("{}: {failure}", at()));
            Ok(Answer::Negative)
        }
        None => Ok(Answer::Done),
    }
}

fn text(status: &Status) -> String {
    let mut text = format!(
        "sealed with {}, key {} version {}, blocks of {} bytes\n",
        status.cipher, status.key_id, status.key_version, status.block_bytes
    );
    if let Some(module) = &status.module {
        text.push_str(&format!("made by module {module}, as it calls itself\n"));
    }
    match (&status.served, status.attached) {
        (Some(served), _) => {
            let mounts: Vec<String> =
                status.mounts.iter().map(|at| at.display().to_string()).collect();
            text.push_str(&format!(
                "attached: {} on {}, process {}{}\nlog: {} not in place yet; generation {}\n",
                human_bytes(served.size_bytes),
                status.devices.join(", "),
                served.process,
                match mounts.is_empty() {
                    true => String::new(),
                    false => format!(", mounted at {}", mounts.join(", ")),
                },
                human_bytes(served.log_bytes),
                served.generation
            ));
            text.push_str(&format!(
                "blocks sealed since it was attached: {}, opened: {}; failures: {}\n",
                served.blocks_sealed, served.blocks_opened, served.failures
            ));
            if let Some(generation) = served.anchored_generation {
                text.push_str(&format!("the anchor remembers generation {generation}\n"));
            }
            if let Some(failure) = &served.last_failure {
                let ago = human_age(served.last_failure_s.unwrap_or(0));
                text.push_str(&format!("last failure, {ago} ago: {failure}\n"));
            }
        }
        (None, "dead") => text.push_str(
            "attached, but the process that served it is gone: unmount what is mounted from it, \
             then attach it again\n",
        ),
        (None, _) => text.push_str("not attached\n"),
    }
    text
}
