//! `sealstone volume reseal`: a volume under another cipher, or under new keys throughout.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_bench::study::plan::NONE;
use sealstone_bench::words::human_bytes;
use sealstone_cipher::Backend;
use sealstone_keys::KeySource;
use sealstone_seal::Layout;
use sealstone_volume::reseal::{self, Pass, Resealed};
use sealstone_volume::{Directory, Failure, Sizes, Upkeep, Volume, header};

use crate::flags::{SealedStore, VolumeResealFlags};
use crate::key_source::{self, Opening};
use crate::message::{Answer, print, say};
use crate::path::quoted;
use crate::{anchor, interrupt};

/// Runs the command.
pub(super) fn run(flags: &VolumeResealFlags) -> anyhow::Result<Answer> {
    let (dir, out) = (&flags.store.dir, &flags.out);
    let old_keys = key_source::of_store(&flags.store)?;
    let new_keys = match &flags.new_key {
        Some(key) => key_source::open_to_seal(key, new_opening(flags, true))?,
        None if flags.new_module.is_some() => {
            key_source::open_to_seal(&flags.store.key, new_opening(flags, false))?
        }
        None => Arc::clone(&old_keys),
    };
    let from = attach(dir, &*old_keys, flags.anchor.as_deref())?;
    make(flags, &*new_keys, from.size_bytes())?;
    let to = Arc::new(attach(out, &*new_keys, None)?);
    if !reseal::is_unfinished(&to).with_context(|| out.display().to_string())? {
        bail!("{} has files already\nname an empty place for --out", out.display());
    }
    let asked = interrupt::install_for_later()?;
    let upkeep = Upkeep::of(Arc::clone(&to), Box::new(|failure| say(&failure.to_string())))?;
    let bar = bar(from.size_bytes());
    let resealed = reseal::reseal(&from, &to, &mut |pass, offset| {
        bar.set_message(match pass {
            Pass::Copy => "copying",
            Pass::Compare => "comparing",
        });
        bar.set_position(offset);
        !asked.load(Ordering::Relaxed)
    });
    bar.finish_and_clear();
    drop(upkeep);
    let failed = || {
        format!(
            "cannot reseal {} to {}; the same command goes on where it stopped",
            dir.display(),
            out.display()
        )
    };
    match resealed.with_context(failed)? {
        Resealed::Stopped => bail!("interrupted: {}", failed()),
        Resealed::Done { .. } => print(&text(flags, &to)?)?,
    }
    Ok(Answer::Done)
}

/// Returns how the key of the new volume is opened: in the module that is named for it, or the
/// same.
///
/// - `own`: whether it is another key, with a passphrase of its own
fn new_opening(flags: &VolumeResealFlags, own: bool) -> Opening<'_> {
    let old = Opening::from(&flags.store.opening);
    let module = match flags.new_module.as_deref() {
        Some(NONE) => None,
        named => named.or(old.module),
    };
    let passphrase_file =
        if own { flags.new_passphrase_file.as_deref() } else { old.passphrase_file };
    Opening { passphrase_file, holder: None, module }
}

fn text(flags: &VolumeResealFlags, to: &Volume) -> anyhow::Result<String> {
    let (dir, out) = (&flags.store.dir, &flags.out);
    let info = header(out).with_context(|| out.display().to_string())?;
    let old = PathBuf::from(format!("{}.old", dir.display()));
    let [dir_q, out_q, old] = [dir, out, &old].map(|path| quoted(path));
    Ok(format!(
        "{} has all of {} ({}), under {} and {}, compared byte by byte\n\
         to use it in the place of the old one:\n  mv {dir_q} {old} && mv {out_q} {dir_q}\n\
         once it is in use: rm -r {old}\n",
        out.display(),
        dir.display(),
        human_bytes(to.size_bytes()),
        info.cipher.name,
        info.key,
    ))
}

fn attach(dir: &Path, keys: &dyn KeySource, anchor: Option<&Path>) -> anyhow::Result<Volume> {
    let anchor = anchor.map(|spec| anchor::open(dir, spec)).transpose()?.map(Arc::from);
    let how = (Backend::auto(), Sizes::default());
    Volume::attach(Arc::new(Directory::new(dir)), keys, anchor, how)
        .with_context(|| format!("cannot open {}", dir.display()))
}

/// Makes the new volume of `bytes`, or accepts the one that an earlier run made.
fn make(flags: &VolumeResealFlags, keys: &dyn KeySource, bytes: u64) -> anyhow::Result<()> {
    let VolumeResealFlags { store: SealedStore { dir, .. }, out, cipher, .. } = flags;
    let old = header(dir).with_context(|| dir.display().to_string())?;
    let Layout::Volume { block_bytes } = old.layout else {
        bail!("{} is no volume", dir.display())
    };
    let named = cipher.as_deref().map(sealstone_cipher::cipher).transpose()?;
    let cipher = named.or_else(|| keys.cipher()).unwrap_or(old.cipher);
    match header(out) {
        Ok(found) if found.cipher.name == cipher.name => Ok(()),
        Ok(found) => bail!(
            "{} is under {}, not {}\nname an empty place for --out",
            out.display(),
            found.cipher.name,
            cipher.name
        ),
        Err(Failure::NoVolume { .. }) => {
            sealstone_file::own_directory(out)
                .with_context(|| format!("cannot use the directory {}", out.display()))?;
            Volume::create(&Directory::new(out), keys, cipher, (block_bytes, bytes))
                .with_context(|| format!("cannot make a volume in {}", out.display()))
        }
        Err(failure) => Err(failure).with_context(|| out.display().to_string()),
    }
}

fn bar(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(bytes.max(1)), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{msg} {bar:24} {percent} % of the device");
    bar.set_style(style.expect("a valid template"));
    bar
}
