//! `sealstone volume create --from` and `unseal`: a directory of files onto a new volume, and back.
//!
//! A file shows that the copy is not finished (`partial_copy`): within the volume, or within the
//! directory that is written. The same command goes on there.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_bench::words::human_bytes;
use sealstone_volume::attachment;
use sealstone_volume::tree::{Difference, Tree, TreeError};
use sealstone_volume::{Failure, Serving, ServingProcess, header};

use super::partial_copy::{self, UNFINISHED};
use super::{attach, mount, place};
use crate::flags::{FileSystem, SealedStore, VolumeCreateFlags, VolumeRuntime, VolumeUnsealFlags};
use crate::interrupt;
use crate::listing::list;
use crate::message::{Answer, print, say};
use crate::path::quoted;

/// Part of a device that a file system may need for itself: a tenth, and on a small one its
/// journal.
const FILE_SYSTEM_SHARE: u64 = 10;
const FILE_SYSTEM_BYTES: u64 = 64 << 20;

/// Name of the directory that a new file system has.
const LOST_AND_FOUND: &str = "lost+found";

/// Copies the directory `from` onto the volume of `flags`, which `make` makes if there is none.
pub(super) fn seal(
    flags: &VolumeCreateFlags,
    from: &Path,
    make: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Answer> {
    attach::check_root()?;
    let dir = &flags.store.dir;
    let from = directory(from)?;
    check_apart(dir, &from)?;
    check_unused(&from)?;
    let tree = Tree::read(&from, &[])?;
    match header(dir) {
        Ok(_) => {}
        Err(Failure::NoVolume { .. }) => {
            check_size(flags.size, &tree)?;
            make()?;
        }
        Err(failure) => return Err(failure).with_context(|| dir.display().to_string()),
    }
    let asked = interrupt::install_for_later()?;
    let place = Place::attach(&flags.store, &flags.runtime)?;
    let unfinished = place.files.join(UNFINISHED);
    let device = place.process.device();
    if place.is_new()? {
        let kind = mount::name(flags.mkfs.unwrap_or(FileSystem::Ext4));
        place.process.attachment().make_file_system(kind, device)?;
        place.mount(&[])?;
    } else if let Err(failure) = place.mount(&[]) {
        bail!(
            "{0} has no file system that can be mounted: {failure:#}\n\
             if the copying ended while it was made, remove {0} and begin again",
            dir.display()
        );
    }
    if partial_copy::is_bare(&place.files, &[LOST_AND_FOUND])? {
        partial_copy::mark(&place.files, from.as_os_str().as_encoded_bytes())?;
        // a database may take it for a part of its own; a check of the file system makes it again
        let _ = fs::remove_dir(place.files.join(LOST_AND_FOUND));
    } else {
        if !unfinished.exists() && is_there(&tree, &place.files, &asked)? {
            return sealed(place, flags, &from, &tree);
        }
        check_unfinished(&unfinished, from.as_os_str().as_encoded_bytes()).with_context(|| {
            format!("cannot go on with copying {} to {}", from.display(), dir.display())
        })?;
    }
    let failed = || {
        format!(
            "cannot copy {} to {}; the same command goes on where it stopped",
            from.display(),
            dir.display()
        )
    };
    copy(&tree, &place.files, &asked).with_context(failed)?;
    // what is compared is read through the seal again
    attachment::unmount(&place.files)?;
    place.mount(&[])?;
    let from_again = Tree::read(&from, &[])?;
    let copied = Tree::read(&place.files, &[UNFINISHED])?;
    let differences = compare(&from_again, &copied, &asked).with_context(failed)?;
    check_same(&differences, &place.files)
        .with_context(|| format!("{} and the copy in {} differ", from.display(), dir.display()))?;
    fs::remove_file(&unfinished)?;
    sealed(place, flags, &from, &tree)
}

/// Ends `place`, which has all of `tree`, and prints what is to be done with it.
fn sealed(
    place: Place,
    flags: &VolumeCreateFlags,
    from: &Path,
    tree: &Tree,
) -> anyhow::Result<Answer> {
    place.end()?;
    let links = tree.links_out();
    if !links.is_empty() {
        let mut text = format!(
            "{} links lead out of {}; what they name is not on the volume:\n",
            links.len(),
            from.display()
        );
        list(&mut text, links.iter().map(|link| link.display().to_string()));
        say(text.trim_end());
    }
    print(&sealed_text(flags, from, tree))?;
    Ok(Answer::Done)
}

fn sealed_text(flags: &VolumeCreateFlags, from: &Path, tree: &Tree) -> String {
    let clear = PathBuf::from(format!("{}.clear", from.display()));
    let [volume, from_q, clear] = [&flags.store.dir, from, &clear].map(quoted);
    let key = quoted(Path::new(&flags.store.key));
    format!(
        "{} has all of {}: {} files, {}, compared byte by byte\n\
         everything in {} is still in the clear; to use the volume in its place:\n  \
         mv {from_q} {clear} && mkdir {from_q}\n  \
         sealstone volume mount {volume} {from_q} --key {key}\n\
         once the server has started on it: rm -r {clear}\n",
        flags.store.dir.display(),
        from.display(),
        tree.files(),
        human_bytes(tree.bytes()),
        from.display(),
    )
}

/// Copies all files of a volume to a directory, in the clear.
pub(super) fn unseal(flags: &VolumeUnsealFlags) -> anyhow::Result<Answer> {
    attach::check_root()?;
    let dir = &flags.store.dir;
    let attachment = place::of(dir, &flags.runtime)?;
    // its name is the volume's id
    let id = attachment.dir().file_name().unwrap_or_default().as_encoded_bytes();
    sealstone_file::own_directory(&flags.out)
        .with_context(|| format!("cannot use the directory {}", flags.out.display()))?;
    let out = directory(&flags.out)?;
    check_apart(dir, &out)?;
    let unfinished = out.join(UNFINISHED);
    let is_bare = partial_copy::is_bare(&out, &[])?;
    let asked = interrupt::install_for_later()?;
    let place = Place::attach(&flags.store, &flags.runtime)?;
    place.mount(&["-o", "ro"])?;
    if place.files.join(UNFINISHED).exists() {
        bail!(partial_copy::text(dir));
    }
    let tree = Tree::read(&place.files, &[])?;
    if !is_bare && !unfinished.exists() && is_there(&tree, &out, &asked)? {
        return unsealed(place, dir, &out, &tree);
    }
    if is_bare {
        partial_copy::mark(&out, id)?;
    } else {
        check_unfinished(&unfinished, id)
            .with_context(|| format!("cannot use the directory {}", out.display()))?;
    }
    let failed = || {
        format!(
            "cannot copy {} to {}; the same command goes on where it stopped",
            dir.display(),
            out.display()
        )
    };
    copy(&tree, &out, &asked).with_context(failed)?;
    let clear = Tree::read(&out, &[UNFINISHED])?;
    let differences = compare(&tree, &clear, &asked).with_context(failed)?;
    check_same(&differences, &out)
        .with_context(|| format!("{} and the copy in {} differ", dir.display(), out.display()))?;
    fs::remove_file(&unfinished)?;
    unsealed(place, dir, &out, &tree)
}

/// Ends `place`, all of whose `tree` is in `out`, and reports that.
fn unsealed(place: Place, dir: &Path, out: &Path, tree: &Tree) -> anyhow::Result<Answer> {
    place.end()?;
    print(&format!(
        "{} has all of {}, in the clear: {} files, {}, compared byte by byte\n",
        out.display(),
        dir.display(),
        tree.files(),
        human_bytes(tree.bytes()),
    ))?;
    Ok(Answer::Done)
}

/// Returns whether `copy` has all of `tree` and nothing else: an earlier run was ended when it had
/// done everything but say so.
fn is_there(tree: &Tree, copy: &Path, asked: &AtomicBool) -> Result<bool, TreeError> {
    let found = Tree::read(copy, &[])?;
    Ok(tree.is_alike(&found) && compare(tree, &found, asked)?.is_empty())
}

/// A volume that is served for the time of the copying.
struct Place {
    process: ServingProcess,
    /// Directory at which it is mounted.
    files: PathBuf,
}

impl Place {
    fn attach(store: &SealedStore, runtime: &VolumeRuntime) -> anyhow::Result<Self> {
        let dir = &store.dir;
        let cannot = || format!("cannot attach {}", dir.display());
        let attachment = place::of(dir, runtime)?;
        attach::prepare(dir, &attachment)?;
        let runtime_dir = place::runtime_dir(runtime)?;
        let name = attachment.dir().file_name().unwrap_or_default().to_owned();
        let files = runtime_dir.join("files").join(&name);
        make_private(&files)?;
        let log = runtime_dir.join("files").join(&name).with_extension("log");
        let _ = fs::remove_file(&log);
        let program = std::env::current_exe().context("cannot find this program")?;
        let serving = Serving {
            program: &program,
            dir,
            key: OsStr::new(&store.key),
            passphrase_file: store.opening.passphrase_file.as_deref(),
            module: store.opening.module.module.as_deref(),
            accel: "auto",
            runtime_dir: &runtime_dir,
            log: &log,
        };
        Ok(Self { process: serving.start().with_context(cannot)?, files })
    }

    fn is_new(&self) -> anyhow::Result<bool> {
        let state = self.process.attachment().state()?;
        Ok(matches!(state, attachment::Attached::Served(status) if status.frames == 0))
    }

    /// Mounts it, and leaves its device: it may be mounted once more.
    fn mount(&self, options: &[&str]) -> anyhow::Result<()> {
        let mounted = attachment::mount_with(self.process.device(), &self.files, options);
        mounted.context("cannot mount the file system on the volume")
    }

    fn end(self) -> anyhow::Result<()> {
        self.process.end()?;
        let _ = fs::remove_dir(self.files);
        Ok(())
    }
}

fn make_private(dir: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.with_context(|| format!("cannot make {}", dir.display()))
}

/// Copies `tree` to `to`, with a bar.
fn copy(tree: &Tree, to: &Path, asked: &AtomicBool) -> Result<(), TreeError> {
    let bar = bar("copying", tree.disk_bytes());
    let begin = used_bytes(to);
    let copied = tree.copy(to, &[UNFINISHED], &mut || {
        bar.set_position(used_bytes(to).saturating_sub(begin));
        !asked.load(Ordering::Relaxed)
    });
    bar.finish_and_clear();
    // cp was interrupted by the same key
    match copied {
        Err(TreeError::Copy { .. }) if asked.load(Ordering::Relaxed) => Err(TreeError::Stopped),
        Ok(()) => sync(to),
        failed => failed,
    }
}

/// Brings what was copied to the disk.
fn sync(dir: &Path) -> Result<(), TreeError> {
    let synced = fs::File::open(dir).and_then(|dir| Ok(nix::unistd::syncfs(dir)?));
    synced.map_err(|source| TreeError::File { attempt: "sync", path: dir.to_owned(), source })
}

fn compare(one: &Tree, two: &Tree, asked: &AtomicBool) -> Result<Vec<Difference>, TreeError> {
    let bar = bar("comparing", one.bytes());
    let differences = one.differences(two, &mut |done| {
        bar.set_position(done);
        !asked.load(Ordering::Relaxed)
    });
    bar.finish_and_clear();
    differences
}

/// Refuses copies that are not the same, and removes what is in them, so that the next run copies
/// it again.
fn check_same(differences: &[Difference], copy: &Path) -> anyhow::Result<()> {
    if differences.is_empty() {
        return Ok(());
    }
    for difference in differences {
        // a directory with another time is gone through again anyway
        let _ = fs::remove_file(copy.join(&difference.path));
    }
    let mut text = format!("{} differ\n", differences.len());
    let words = |one: &Difference| format!("{}: the copy {}", one.path.display(), one.how);
    list(&mut text, differences.iter().map(words));
    bail!("{text}the same command copies them again; nobody may write there while it runs")
}

fn bar(what: &'static str, bytes: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(bytes.max(1)), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(
        "{msg} {bar:24} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
    );
    bar.set_style(style.expect("a valid template"));
    bar.set_message(what);
    bar
}

fn used_bytes(dir: &Path) -> u64 {
    nix::sys::statvfs::statvfs(dir)
        .map_or(0, |stat| (stat.blocks() - stat.blocks_free()) * stat.fragment_size())
}

/// Returns the directory `path` without links.
fn directory(path: &Path) -> anyhow::Result<PathBuf> {
    let found = path.canonicalize().with_context(|| format!("cannot use {}", path.display()))?;
    if !found.is_dir() {
        bail!("{} is no directory", path.display());
    }
    Ok(found)
}

/// Refuses a volume in the directory of the files, and the other way round.
fn check_apart(volume: &Path, files: &Path) -> anyhow::Result<()> {
    let volume = std::path::absolute(volume)?;
    let parent = volume.parent().and_then(|parent| parent.canonicalize().ok());
    let found = volume.canonicalize().ok();
    let is_within = |one: &PathBuf| one.starts_with(files);
    let is_around = found.as_ref().is_some_and(|found| files.starts_with(found));
    if found.as_ref().is_some_and(is_within) || parent.as_ref().is_some_and(is_within) || is_around
    {
        bail!("one of {} and {} is within the other", volume.display(), files.display());
    }
    Ok(())
}

/// Refuses a device on which the files and a file system cannot have room.
fn check_size(size: u64, tree: &Tree) -> anyhow::Result<()> {
    let needed = tree.disk_bytes() / (FILE_SYSTEM_SHARE - 1) * FILE_SYSTEM_SHARE;
    let needed = needed + FILE_SYSTEM_BYTES;
    if size < needed {
        bail!(
            "a device of {} has no room for {} of files\ngive it at least --size {}MiB; space is \
             taken as it is written to",
            human_bytes(size),
            human_bytes(tree.disk_bytes()),
            needed.div_ceil(1 << 20)
        );
    }
    Ok(())
}

/// Refuses a directory that was not left unfinished by this same copying, which `of` identifies.
fn check_unfinished(file: &Path, of: &[u8]) -> anyhow::Result<()> {
    match sealstone_file::input::read(file) {
        Ok(found) if found == of => Ok(()),
        Ok(found) => bail!(
            "it was begun from elsewhere: {}\nname that, or an empty place",
            String::from_utf8_lossy(&found)
        ),
        Err(_) => bail!("it has files already\nname an empty place"),
    }
}

/// Refuses files that another process has open: a server that runs.
fn check_unused(dir: &Path) -> anyhow::Result<()> {
    if let Some((process, name)) = user(dir) {
        bail!(
            "{} is in use by process {process} ({name})\nend the server first: files that change \
             while they are copied are worth nothing",
            dir.display()
        );
    }
    Ok(())
}

/// Returns a process, with its name, that has a file below `dir` open or works there. The shell
/// that this process was started from may.
fn user(dir: &Path) -> Option<(u32, String)> {
    let mut ours = vec![std::process::id()];
    while let Some(parent) = ours.last().and_then(|one| parent(*one)).filter(|one| *one > 1) {
        ours.push(parent);
    }
    let is_below = |link: &Path| fs::read_link(link).is_ok_and(|at| at.starts_with(dir));
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let id = ids.filter(|id| !ours.contains(id)).find(|id| {
        let at = PathBuf::from(format!("/proc/{id}"));
        let files = fs::read_dir(at.join("fd")).into_iter().flatten().flatten();
        is_below(&at.join("cwd")) || files.map(|file| file.path()).any(|file| is_below(&file))
    })?;
    let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    Some((id, name.trim().to_owned()))
}

fn parent(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok()
}
