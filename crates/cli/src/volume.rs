//! `sealstone volume`: sealed block devices, for the files of any database.

mod attach;
mod convert;
mod mount;
mod partial_copy;
pub(crate) mod place;
mod reseal;
mod status;
mod unit;

use std::path::Path;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_anchor::AnchorCheck;
use sealstone_bench::words::human_bytes;
use sealstone_cipher::DEFAULT_CIPHER;
use sealstone_volume::attachment::Attached;
use sealstone_volume::{Directory, Order, Verification, Volume, header, rotate};
use serde::Serialize;

use crate::flags::{SealedStore, VolumeCommand, VolumeCreateFlags, VolumePlace};
use crate::listing::list;
use crate::message::{Answer, print, print_json, say};
use crate::path::quoted;
use crate::{anchor, audit_log, key_source};

/// Runs one of the commands.
pub(crate) fn run(command: &VolumeCommand) -> anyhow::Result<Answer> {
    match command {
        VolumeCommand::Create(flags) => match &flags.from {
            Some(from) => convert::seal(flags, from, || create(flags)),
            None => created(flags),
        },
        VolumeCommand::Reseal(flags) => reseal::run(flags),
        VolumeCommand::Unseal(flags) => convert::unseal(flags),
        VolumeCommand::Attach(flags) => attach::run(flags),
        VolumeCommand::Detach { place } => detach(place),
        VolumeCommand::Mount(flags) => mount::run(flags),
        VolumeCommand::Unmount { path, runtime } => mount::undo(path, runtime),
        VolumeCommand::Status { place, json } => status::run(place, *json),
        VolumeCommand::Verify { store, anchor, json } => verify(store, anchor.as_deref(), *json),
        VolumeCommand::Freeze { place, thaw } => mount::freeze(place, *thaw),
        VolumeCommand::Grow { place, size } => grow(place, *size),
        VolumeCommand::Rotate { store } => rotated(store),
        VolumeCommand::Unit { store, anchor, path } => unit::run(store, anchor.as_deref(), path),
    }
}

/// Makes a volume.
fn create(flags: &VolumeCreateFlags) -> anyhow::Result<()> {
    let SealedStore { dir, key, opening } = &flags.store;
    // a wrong name is reported before a passphrase is asked for
    let named = flags.cipher.as_deref().map(sealstone_cipher::cipher).transpose()?;
    let keys = key_source::open_to_seal(key, opening)?;
    let cipher = named.or_else(|| keys.cipher()).unwrap_or(DEFAULT_CIPHER);
    let block_bytes = u32::try_from(flags.block).unwrap_or(u32::MAX);
    let was_there = dir.exists();
    sealstone_file::own_directory(dir)
        .with_context(|| format!("cannot use the directory {}", dir.display()))?;
    Volume::create(&Directory::new(dir), &*keys, cipher, (block_bytes, flags.size))
        .inspect_err(|_| {
            if !was_there {
                // if it is empty: nothing but a volume is made in it
                let _ = std::fs::remove_dir(dir);
            }
        })
        .with_context(|| format!("cannot make a volume in {}", dir.display()))
}

fn created(flags: &VolumeCreateFlags) -> anyhow::Result<Answer> {
    create(flags)?;
    let SealedStore { dir, key, opening } = &flags.store;
    let module = opening.module.module.as_deref();
    let module = module.map(|module| format!(" --module {}", quoted(Path::new(module))));
    print(&format!(
        "volume in {}: {}, {}\nnext: sealstone volume mount {} PATH --key {}{} --mkfs ext4\n",
        dir.display(),
        human_bytes(flags.size),
        header(dir).with_context(|| dir.display().to_string())?.cipher.name,
        quoted(dir),
        quoted(Path::new(key)),
        module.unwrap_or_default(),
    ))?;
    Ok(Answer::Done)
}

fn detach(place: &VolumePlace) -> anyhow::Result<Answer> {
    let attachment = place::of(&place.dir, &place.runtime)?;
    let at = || place.dir.display().to_string();
    match attachment.state().with_context(at)? {
        Attached::No => bail!("{} is not attached", place.dir.display()),
        Attached::Dead => {
            attachment.detach().with_context(at)?;
            say("the process that served it was gone; what it left is removed");
        }
        Attached::Served(_) => {
            attachment.detach().with_context(at)?;
            attach::wait_for_end(&place.dir)?;
            say(&format!("{} is detached", place.dir.display()));
        }
    }
    Ok(Answer::Done)
}

fn grow(place: &VolumePlace, bytes: u64) -> anyhow::Result<Answer> {
    let attachment = place::of(&place.dir, &place.runtime)?;
    let at = || format!("cannot grow {}", place.dir.display());
    if !matches!(attachment.state().with_context(at)?, Attached::Served(_)) {
        bail!(
            "{} is not attached\nattach it first: sealstone volume attach {} --key KEY",
            place.dir.display(),
            quoted(&place.dir)
        );
    }
    attachment.order(Order::Grow { bytes }).with_context(at)?;
    attachment.resize_devices().with_context(at)?;
    let devices = attachment.devices().with_context(at)?.join(", ");
    say(&format!(
        "{} has {}; the file system on it does not know yet: resize2fs {devices}, or xfs_growfs \
         PATH",
        place.dir.display(),
        human_bytes(bytes)
    ));
    Ok(Answer::Done)
}

fn rotated(store: &SealedStore) -> anyhow::Result<Answer> {
    let keys = key_source::of_store(store)?;
    let rotated = rotate(&store.dir, &*keys)
        .with_context(|| format!("cannot rotate the key of {}", store.dir.display()))?;
    if let Some(key) = &rotated {
        audit_log::key_ref(key);
    }
    match rotated {
        Some(key) => say(&format!("{} is under {key} now", store.dir.display())),
        None => say(&format!("{} is under the newest version already", store.dir.display())),
    }
    Ok(Answer::Done)
}

/// Outcome of a check, for programs.
#[derive(Serialize)]
struct Checked<'a> {
    schema: u32,
    whole: bool,
    generation: u64,
    size_bytes: u64,
    blocks: u64,
    data_bytes: u64,
    pages: u64,
    frames: u64,
    pending: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    anchor: Option<&'a AnchorCheck>,
    failures: u64,
    findings: &'a [String],
}

fn verify(store: &SealedStore, anchor: Option<&Path>, json: bool) -> anyhow::Result<Answer> {
    let anchor = anchor.map(|spec| anchor::open(&store.dir, spec)).transpose()?;
    let keys = key_source::of_store(store)?;
    let at = || format!("cannot verify {}", store.dir.display());
    let disk = Directory::read_only(&store.dir);
    let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
    bar.set_style(
        ProgressStyle::with_template("{bar:24} {percent} %, {eta} left").expect("a valid template"),
    );
    let report = sealstone_volume::verify(&disk, &*keys, anchor.as_deref(), &mut |done, all| {
        bar.set_length(all);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    let report = report.with_context(at)?;
    if json {
        print_json(&checked(&report))?;
    } else {
        print(&verified(&store.dir, &report))?;
    }
    Ok(if report.is_whole() { Answer::Done } else { Answer::Negative })
}

fn checked(report: &Verification) -> Checked<'_> {
    Checked {
        schema: 1,
        whole: report.is_whole(),
        generation: report.generation,
        size_bytes: report.size_bytes,
        blocks: report.blocks,
        data_bytes: report.data_bytes,
        pages: report.pages,
        frames: report.frames,
        pending: report.pending,
        anchor: report.anchor.as_ref(),
        failures: report.failures,
        findings: &report.findings,
    }
}

fn verified(dir: &Path, report: &Verification) -> String {
    let checked = format!(
        "{} of data in {} blocks, {} pages of entries; generation {}",
        human_bytes(report.data_bytes),
        report.blocks,
        report.pages,
        report.generation
    );
    let mut text = match report.failures {
        0 => format!("{} is whole: {checked}\n", dir.display()),
        1 => format!("{} is not as it was sealed: 1 failure\n", dir.display()),
        failures => format!("{} is not as it was sealed: {failures} failures\n", dir.display()),
    };
    if !report.is_whole() {
        list(&mut text, report.findings.iter().cloned());
        text.push_str(&format!("opened: {checked}\n"));
    }
    if let Some(check) = &report.anchor {
        text.push_str(&format!("{}\n", check.text(report.is_whole())));
    }
    text
}
