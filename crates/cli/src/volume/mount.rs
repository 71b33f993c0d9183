//! `sealstone volume mount`, `unmount` and `freeze`: the file system on a volume.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use sealstone_volume::Order;
use sealstone_volume::attachment::{self, Attached, Attachment};

use super::attach::{check_root, in_background, wait_for_end};
use super::{partial_copy, place};
use crate::flags::{FileSystem, VolumeMountFlags, VolumePlace, VolumeRuntime};
use crate::message::{Answer, say};

/// Attaches a volume and mounts the file system on it.
pub(super) fn run(flags: &VolumeMountFlags) -> anyhow::Result<Answer> {
    if flags.attach.foreground {
        return super::attach::run(&flags.attach);
    }
    check_root()?;
    let (dir, path) = (&flags.attach.store.dir, &flags.path);
    if !path.is_dir() {
        bail!("cannot mount at {}: it is no directory\nmake it first", path.display());
    }
    let device = in_background(&flags.attach)?;
    let attachment = place::of(dir, &flags.attach.runtime)?;
    let mounted = flags
        .mkfs
        .map_or(Ok(()), |kind| attachment.make_file_system(name(kind), &device))
        .and_then(|()| attachment::mount(&device, path));
    if let Err(failure) = mounted {
        attachment.detach().with_context(|| dir.display().to_string())?;
        wait_for_end(dir)?;
        let hint = match flags.mkfs {
            Some(_) => "a volume that has a file system is mounted without --mkfs",
            None => "a new volume has no file system: --mkfs ext4",
        };
        bail!("cannot mount {} at {}: {failure}\n{hint}", dir.display(), path.display());
    }
    if let Some(unfinished) = partial_copy::found(dir, path) {
        attachment::unmount(path)?;
        attachment.detach().with_context(|| dir.display().to_string())?;
        wait_for_end(dir)?;
        bail!(unfinished);
    }
    say(&format!("{} is mounted at {} from {device}", dir.display(), path.display()));
    Ok(Answer::Done)
}

/// Returns the name of `kind`, as `mkfs` takes it.
pub(super) fn name(kind: FileSystem) -> &'static str {
    match kind {
        FileSystem::Ext4 => "ext4",
        FileSystem::Xfs => "xfs",
    }
}

/// Unmounts a file system and detaches its volume.
pub(super) fn undo(path: &Path, runtime: &VolumeRuntime) -> anyhow::Result<Answer> {
    check_root()?;
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Some(attachment) = mounted_at(&place::runtime_dir(runtime)?, &path)? else {
        bail!("no volume is mounted at {}", path.display());
    };
    let dir = match attachment.state()? {
        Attached::Served(status) => Some(PathBuf::from(status.dir)),
        _ => None,
    };
    attachment::unmount(&path).with_context(|| {
        format!("cannot unmount {}\nend what uses it: fuser -vm {0}", path.display())
    })?;
    attachment.detach().with_context(|| path.display().to_string())?;
    if let Some(dir) = dir {
        wait_for_end(&dir)?;
    }
    say(&format!("{} is unmounted, and its volume detached", path.display()));
    Ok(Answer::Done)
}

/// Returns the attachment whose file system is mounted at `path`.
fn mounted_at(runtime: &Path, path: &Path) -> anyhow::Result<Option<Attachment>> {
    for attachment in Attachment::all(runtime)? {
        if attachment.mounts()?.iter().any(|at| at == path) {
            return Ok(Some(attachment));
        }
    }
    Ok(None)
}

/// Stops writes and puts everything in place, or lets them go on.
pub(super) fn freeze(place: &VolumePlace, thaw: bool) -> anyhow::Result<Answer> {
    check_root()?;
    let attachment = place::of(&place.dir, &place.runtime)?;
    if !matches!(attachment.state()?, Attached::Served(_)) {
        bail!("{} is not attached: it can be copied as it is", place.dir.display());
    }
    let mounts = attachment.mounts()?;
    let switch = if thaw { "--unfreeze" } else { "--freeze" };
    for at in &mounts {
        fsfreeze(switch, at)?;
    }
    if thaw {
        say(&format!("{} is written to again", place.dir.display()));
        return Ok(Answer::Done);
    }
    if let Err(failure) = attachment.order(Order::Checkpoint) {
        for at in &mounts {
            fsfreeze("--unfreeze", at)?;
        }
        return Err(failure).with_context(|| format!("cannot freeze {}", place.dir.display()));
    }
    say(&format!(
        "{0} can be copied now; afterwards: sealstone volume freeze {0} --thaw",
        place.dir.display()
    ));
    Ok(Answer::Done)
}

fn fsfreeze(switch: &str, at: &Path) -> anyhow::Result<()> {
    let output = Command::new("fsfreeze").arg(switch).arg(at).output().context("fsfreeze")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
