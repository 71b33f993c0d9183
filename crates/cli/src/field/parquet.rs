//! Parquet files under `sealstone field`, told by their content. Not here: how they are sealed (`sealstone_parquet`),
//! CSV files.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
#[cfg(not(feature = "parquet"))]
use anyhow::bail;
use sealstone_fields::csv::{Counts, Listener, OnMisfit, Plan};
use sealstone_fields::manifest::FileMac;
#[cfg(feature = "parquet")]
use sealstone_parquet::{ParquetError, Pass};

#[cfg(feature = "parquet")]
use super::failure::{LEAVE_OUT, cannot_write, stopped};

/// How much is read at once where a whole file is, in bytes.
const READ_BYTES: usize = 1 << 20;

/// Whether a file that begins with `beginning` is a Parquet file, one that is encrypted included.
pub(super) fn is_parquet(beginning: &[u8]) -> bool {
    beginning.starts_with(b"PAR1") || beginning.starts_with(b"PARE")
}

/// That this program knows Parquet files, as `path` is one.
#[cfg(feature = "parquet")]
pub(super) fn check_built_in(_: &Path) -> anyhow::Result<()> {
    Ok(())
}

#[cfg(not(feature = "parquet"))]
pub(super) fn check_built_in(path: &Path) -> anyhow::Result<()> {
    bail!(
        "parquet not built in: {} is a Parquet file\n\
         install sealstone with it (make install, feature parquet), or take a CSV file",
        path.display()
    )
}

/// Reads `path` to its end for `mac`.
pub(super) fn read_for(mac: &mut FileMac, path: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot read {}", path.display());
    let mut file = File::open(path).with_context(cannot)?;
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match file.read(&mut buffer).with_context(cannot)? {
            0 => return Ok(()),
            read => mac.update(&buffer[..read]),
        }
    }
}

/// What a pass writes to.
pub(super) struct Target<'a> {
    /// The file.
    pub(super) output: &'a mut dyn Write,
    /// Its name; none where nothing is written.
    pub(super) path: Option<&'a Path>,
    /// What gets each byte.
    pub(super) mac: Option<&'a mut FileMac>,
}

/// Does what `plan` says with `file`, which is called `path`.
#[cfg(feature = "parquet")]
pub(super) fn run(
    file: File,
    path: &Path,
    plan: &Plan,
    on_misfit: OnMisfit,
    stop: &AtomicBool,
    target: Target<'_>,
    listener: &mut Listener<'_>,
) -> anyhow::Result<Counts> {
    let pass = Pass { plan, on_misfit, threads: None, stop };
    let counts = pass.run(file, target.output, target.mac, listener);
    counts.map_err(|error| of_file(error, path, target.path))
}

#[cfg(not(feature = "parquet"))]
pub(super) fn run(
    _: File,
    path: &Path,
    _: &Plan,
    _: OnMisfit,
    _: &AtomicBool,
    target: Target<'_>,
    _: &mut Listener<'_>,
) -> anyhow::Result<Counts> {
    let Target { output: _, path: _, mac: _ } = target;
    check_built_in(path).map(|()| Counts::default())
}

/// `error` with the file that it is about.
#[cfg(feature = "parquet")]
fn of_file(error: ParquetError, input: &Path, out: Option<&Path>) -> anyhow::Error {
    let input = input.display();
    match (error, out) {
        (ParquetError::Write(error), Some(out)) => cannot_write(error, out),
        (error @ ParquetError::Misfit { .. }, Some(_)) => {
            anyhow::anyhow!("{input}, {error}\n{}", LEAVE_OUT)
        }
        (ParquetError::Stopped, _) => stopped(),
        (ParquetError::Fields(error), _) => error.into(),
        (error @ ParquetError::Read(_), _) => anyhow::anyhow!("{input} {error}"),
        (error, _) => anyhow::anyhow!("{input}, {error}"),
    }
}
