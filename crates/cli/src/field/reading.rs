//! The file that is read, of either kind, and what is done with it. Not here: what is written (`output`).

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use sealstone_fields::csv::{Counts, CsvError, Layout, Listener, OnMisfit, Pass, Plan};
use sealstone_fields::manifest::{FileLayout, FileMac};

use super::computing::AtOnce;
#[cfg(feature = "parquet")]
use sealstone_parquet::{Input, ParquetError};

/// What to do about a row that does not fit.
const LEAVE_OUT: &str = "nothing was written; to leave such rows out and list them: --on-error report";

/// A file that is read.
pub(super) enum Reading {
    /// A CSV file, and what takes its bytes as they are read.
    Csv(File, Layout, Option<FileMac>),
    /// A Parquet file.
    #[cfg(feature = "parquet")]
    Parquet(Input),
}

/// What a pass writes to, and how much at once.
pub(super) struct Target<'a> {
    /// The file.
    pub(super) output: &'a mut dyn Write,
    /// Its name; none where nothing is written.
    pub(super) path: Option<&'a Path>,
    /// What gets each byte.
    pub(super) mac: Option<&'a mut FileMac>,
    pub(super) at_once: AtOnce,
}

impl Reading {
    /// Opens `path`, a file that is written as `layout` says.
    pub(super) fn open(path: &Path, layout: FileLayout) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(match layout {
            FileLayout::Csv(layout) => Self::Csv(file, layout, None),
            #[cfg(feature = "parquet")]
            FileLayout::Parquet => Self::Parquet(Input::new(file).map_err(|error| of_parquet(error, path, None))?),
            #[cfg(not(feature = "parquet"))]
            FileLayout::Parquet => return Err(not_built_in(path)),
        })
    }

    /// Has `mac` take the bytes of the file, which is called `path`. A Parquet file is read here and there, so it is
    /// read once more, and what took its bytes comes back at once.
    #[cfg_attr(not(feature = "parquet"), expect(unused, reason = "for a file that is read in advance"))]
    pub(super) fn take(&mut self, mut mac: FileMac, path: &Path) -> anyhow::Result<Option<FileMac>> {
        match self {
            Self::Csv(_, _, taking) => {
                *taking = Some(mac);
                Ok(None)
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(input) => {
                input.read_for(&mut mac).map_err(|error| of_parquet(error, path, None))?;
                Ok(Some(mac))
            }
        }
    }

    /// What took the bytes of a CSV file.
    pub(super) fn taken(self) -> Option<FileMac> {
        match self {
            Self::Csv(_, _, mac) => mac,
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => None,
        }
    }

    pub(super) fn layout(&self) -> FileLayout {
        match self {
            Self::Csv(_, layout, _) => FileLayout::Csv(*layout),
            #[cfg(feature = "parquet")]
            Self::Parquet(_) => FileLayout::Parquet,
        }
    }

    /// How many bytes it has.
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Csv(file, ..) => file.metadata().map_or(0, |found| found.len()),
            #[cfg(feature = "parquet")]
            Self::Parquet(input) => input.length(),
        }
    }

    /// Does what `plan` says with the file, which is called `path`.
    pub(super) fn pass(
        &mut self,
        path: &Path,
        plan: &Plan,
        on_misfit: OnMisfit,
        stop: &AtomicBool,
        target: Target<'_>,
        listener: &mut Listener<'_>,
    ) -> anyhow::Result<Counts> {
        let Target { output, path: out, mac, at_once } = target;
        match self {
            Self::Csv(file, layout, read_mac) => {
                let (layout, chunk_bytes) = (*layout, at_once.csv_bytes);
                let pass = Pass { plan, layout, on_misfit, threads: None, chunk_bytes, stop };
                let counts = pass.run(&*file, output, read_mac.as_mut(), mac, listener);
                counts.map_err(|error| of_file(error, path, out))
            }
            #[cfg(feature = "parquet")]
            Self::Parquet(input) => {
                let batch_rows = at_once.parquet_rows;
                let pass = sealstone_parquet::Pass { plan, on_misfit, threads: None, batch_rows, stop };
                let counts = pass.run(input, output, mac, listener);
                counts.map_err(|error| of_parquet(error, path, out))
            }
        }
    }
}

/// `error` with the file that it is about.
fn of_file(error: CsvError, input: &Path, out: Option<&Path>) -> anyhow::Error {
    match (error, out) {
        (CsvError::Write(error), Some(out)) => cannot_write(error, out),
        (error @ CsvError::Misfit { .. }, Some(_)) => anyhow::anyhow!("{}, {error}\n{LEAVE_OUT}", input.display()),
        (CsvError::Stopped, _) => stopped(),
        (CsvError::Fields(error), _) => error.into(),
        (error @ CsvError::Read(_), _) => anyhow::anyhow!("{} {error}", input.display()),
        (error, _) => anyhow::anyhow!("{}, {error}", input.display()),
    }
}

#[cfg(feature = "parquet")]
fn of_parquet(error: ParquetError, input: &Path, out: Option<&Path>) -> anyhow::Error {
    match (error, out) {
        (ParquetError::Write(error), Some(out)) => cannot_write(error, out),
        (error @ ParquetError::Misfit { .. }, Some(_)) => anyhow::anyhow!("{}, {error}\n{LEAVE_OUT}", input.display()),
        (ParquetError::Stopped, _) => stopped(),
        (ParquetError::Fields(error), _) => error.into(),
        (error @ ParquetError::Read(_), _) => anyhow::anyhow!("{} {error}", input.display()),
        (error, _) => anyhow::anyhow!("{}, {error}", input.display()),
    }
}

fn cannot_write(error: io::Error, out: &Path) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("cannot write {}\nnothing of it was left", out.display()))
}

fn stopped() -> anyhow::Error {
    anyhow::anyhow!("stopped; nothing was written\nrun the same command again")
}

/// Whether a file that begins with `beginning` is a Parquet file, one that is encrypted included.
pub(super) fn is_parquet(beginning: &[u8]) -> bool {
    beginning.starts_with(b"PAR1") || beginning.starts_with(b"PARE")
}

/// That this program knows Parquet files, as `path` is one.
pub(super) fn check_parquet(path: &Path) -> anyhow::Result<()> {
    if cfg!(feature = "parquet") { Ok(()) } else { Err(not_built_in(path)) }
}

fn not_built_in(path: &Path) -> anyhow::Error {
    anyhow::anyhow!(
        "parquet not built in: {} is a Parquet file\n\
         install sealstone with it (make install, feature parquet), or take a CSV file",
        path.display()
    )
}
