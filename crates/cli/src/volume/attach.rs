//! `sealstone volume attach`: serves a volume, in the foreground or as a process of its own.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use sealstone_cipher::Backend;
use sealstone_volume::attachment::{self, Attached, Attachment};
use sealstone_volume::front::fuse;
use sealstone_volume::{
    Directory, Failure, Report, Served, Sizes, Upkeep, Volume, become_io_flusher, header,
    lock_memory,
};

use super::place;
use crate::flags::VolumeAttachFlags;
use crate::message::{Answer, print, say};
use crate::path::quoted;
use crate::{anchor, audit_log, background, interrupt, key_source};

/// Threads that serve requests.
const THREADS: usize = 4;

/// Time that the process of a volume may take to end after it was detached.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time that a process may have a volume before anything is attached, or after.
const BETWEEN_LIMIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);

/// Runs the command.
pub(super) fn run(flags: &VolumeAttachFlags) -> anyhow::Result<Answer> {
    if flags.foreground {
        return foreground(flags);
    }
    check_root()?;
    let device = in_background(flags)?;
    print(&format!("{device}\n"))?;
    Ok(Answer::Done)
}

/// Refuses what takes root, with the way there.
pub(super) fn check_root() -> anyhow::Result<()> {
    if nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    bail!(
        "two steps need root: losetup makes a block device of the volume, and mount mounts it\n\
         run it with sudo, or let systemd do it: sealstone volume unit DIR PATH --key KEY"
    );
}

/// Serves the volume in a process of its own, and returns its device.
pub(super) fn in_background(flags: &VolumeAttachFlags) -> anyhow::Result<String> {
    let dir = &flags.store.dir;
    background::start(&["--foreground", "--detached"], "the volume")?;
    // that process opened the key
    audit_log::key_ref(&header(dir).with_context(|| dir.display().to_string())?.key);
    let devices = place::of(dir, &flags.runtime)?.devices()?;
    devices.into_iter().next().with_context(|| format!("{} has no device", dir.display()))
}

/// Refuses what is attached, and takes away what a process left that is gone.
pub(super) fn prepare(dir: &Path, attachment: &Attachment) -> anyhow::Result<()> {
    let at = || dir.display().to_string();
    // a process that begins or ends has the volume while nothing is attached
    let begin = Instant::now();
    let is_between = || sealstone_volume::in_use(dir).is_some() && begin.elapsed() < BETWEEN_LIMIT;
    while attachment.state().with_context(at)? == Attached::No && is_between() {
        std::thread::sleep(LOOK);
    }
    match attachment.state().with_context(at)? {
        Attached::No => Ok(()),
        Attached::Served(status) => {
            bail!(
                "{} is attached: process {}, {}",
                dir.display(),
                status.process,
                attachment.devices().with_context(at)?.join(", ")
            )
        }
        Attached::Dead => {
            attachment.detach().with_context(|| {
                let dir = dir.display();
                format!("the process that served {dir} is gone, and its device is in use")
            })?;
            // a process that was killed lets go of its files after its device
            wait_for_end(dir)
        }
    }
}

fn foreground(flags: &VolumeAttachFlags) -> anyhow::Result<Answer> {
    check_root()?;
    let dir = &flags.store.dir;
    let cannot = || format!("cannot attach {}", dir.display());
    let attachment = place::of(dir, &flags.runtime)?;
    prepare(dir, &attachment)?;
    // before keys are there, so that no other process ever has them
    let _ = become_io_flusher();
    // without it everything works, and keys are locked on their own
    let _ = lock_memory();
    let keys = key_source::of_store(&flags.store)?;
    let anchor = flags.anchor.as_deref().map(|spec| anchor::open(dir, spec)).transpose()?;
    let disk = Arc::new(Directory::new(dir));
    let how = (Backend::by_name(&flags.accel)?, Sizes::default());
    let volume = Volume::attach(disk, &*keys, anchor.map(Arc::from), how);
    let volume = Arc::new(volume.with_context(cannot)?);
    drop(keys);
    let served = Served::new(Arc::clone(&volume), dir, reporting(dir, flags)?);
    let served = Arc::new(served);
    let told = Arc::clone(&served);
    let upkeep = Upkeep::of(Arc::clone(&volume), Box::new(move |failure| told.note(failure)))?;
    attachment.make().with_context(cannot)?;
    let mounted = fuse::mount(served, attachment.dir(), THREADS)
        .with_context(|| format!("{}: FUSE refused", cannot()))?;
    let device = match attachment.add_device() {
        Ok(device) => device,
        Err(failure) => {
            mounted.unmount().with_context(cannot)?;
            return Err(failure).with_context(cannot);
        }
    };
    if flags.detached {
        background::ready()?;
    } else {
        say(&format!("{} is attached: {device}", dir.display()));
        say(&format!("to end it: sealstone volume detach {}", quoted(dir)));
    }
    detach_on_a_signal(attachment.clone(), flags.detached)?;
    if flags.until_input_ends {
        detach_at_the_end_of_input(attachment.clone())?;
    }
    mounted.wait().context("the file in user space ended")?;
    drop(upkeep);
    match volume.flush().and_then(|()| volume.checkpoint()) {
        Err(failure @ Failure::Anchor(_)) => Err(failure).with_context(|| {
            format!(
                "everything is in place in {}, but its anchor does not know; the next attach tells \
                 it",
                dir.display()
            )
        })?,
        done => done.with_context(|| {
            format!("cannot put everything in place in {}; nothing is lost", dir.display())
        })?,
    }
    Ok(Answer::Done)
}

/// Returns what reports that something failed, where somebody reads it.
fn reporting(dir: &Path, flags: &VolumeAttachFlags) -> anyhow::Result<Box<Report>> {
    let log = flags.log.as_deref().map(open_log).transpose()?;
    let (dir, is_detached) = (dir.display().to_string(), flags.detached);
    Ok(Box::new(move |failure: &Failure| {
        if !is_detached {
            say(&format!("{dir}: {failure}"));
        }
        if let Some(mut log) = log.as_ref() {
            let one_line = failure.to_string().replace('\n', "; ");
            let line = format!("{:.3} {dir}: {one_line}\n", jiff::Timestamp::now());
            // a log that cannot be written is no reason to stop a volume
            let _ = log.write_all(line.as_bytes());
        }
    }))
}

/// Opens the file that failures are appended to, which only its owner can read if it is new.
fn open_log(path: &Path) -> anyhow::Result<File> {
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    let mut options = File::options();
    options.append(true).create(true).mode(0o600).custom_flags(flags);
    let file = options.open(path).with_context(|| format!("cannot open {}", path.display()))?;
    if !file.metadata().is_ok_and(|found| found.is_file()) {
        bail!("cannot use {}: it is no regular file", path.display());
    }
    Ok(file)
}

/// Takes the device away when this process is asked to end, unless something is mounted from it.
fn detach_on_a_signal(attachment: Attachment, detached: bool) -> anyhow::Result<()> {
    let asked = interrupt::install_saying("detaching the volume", "ended at once".into())?;
    std::thread::Builder::new().name("end".into()).spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(200));
            if asked.swap(false, std::sync::atomic::Ordering::Relaxed)
                && let Err(failure) = attachment.detach()
                && !detached
            {
                say(&failure.to_string());
            }
        }
    })?;
    Ok(())
}

/// Takes everything away when the process that started this one ends, in whatever way.
fn detach_at_the_end_of_input(attachment: Attachment) -> anyhow::Result<()> {
    std::thread::Builder::new().name("end of input".into()).spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let take_away = || {
            attachment.mounts()?.iter().try_for_each(|at| attachment::unmount_lazily(at))?;
            attachment.detach()
        };
        loop {
            match take_away() {
                // a `mount` of the process that was killed was about to end
                Err(Failure::Mounted { .. }) => std::thread::sleep(Duration::from_millis(20)),
                Err(failure) => break say(&failure.to_string()),
                Ok(()) => break,
            }
        }
    })?;
    Ok(())
}

/// Waits until the process of the volume in `dir` has ended, so that everything is in place.
pub(super) fn wait_for_end(dir: &Path) -> anyhow::Result<()> {
    let begin = Instant::now();
    while let Some(failure) = sealstone_volume::in_use(dir) {
        if begin.elapsed() > PATIENCE {
            return Err(failure).with_context(|| dir.display().to_string());
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
