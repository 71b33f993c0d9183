//! The input file, of either kind, and the pass over it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use sealstone_fields::csv::{CHUNK_BYTES, CsvError, Layout, Pass};
use sealstone_fields::pass::{Counts, Listener, OnMisfit, Plan};
use sealstone_fields::{FileLayout, FileMac};
use sealstone_file::input;
#[cfg(feature = "parquet")]
use sealstone_parquet::{BATCH_ROWS, Input, ParquetError};

use crate::error::FileError;

#[cfg(not(feature = "parquet"))]
const BATCH_ROWS: usize = 0;

/// Amount of a file that is worked on at once.
#[derive(Clone, Copy, Debug)]
pub struct AtOnce {
    /// Threads that work; one for each core by default.
    pub threads: Option<NonZeroUsize>,
    /// Bytes of a CSV file that a thread works on.
    pub csv_bytes: usize,
    /// Rows of a column of a Parquet file that a thread works on.
    pub parquet_rows: usize,
}

impl Default for AtOnce {
    /// Returns the settings that suit a CPU.
    fn default() -> Self {
        Self { threads: None, csv_bytes: CHUNK_BYTES, parquet_rows: BATCH_ROWS }
    }
}

/// A file that is read.
#[derive(Debug)]
pub struct Reading(Kind);

#[derive(Debug)]
enum Kind {
    /// A CSV file, and the MAC over its bytes as they are read.
    Csv(File, Layout, Option<FileMac>),
    /// A Parquet file.
    #[cfg(feature = "parquet")]
    Parquet(Input),
}

/// Output of a pass, and the amount that is written at once.
pub struct Target<'a> {
    /// The file.
    pub output: &'a mut dyn Write,
    /// Its name; none where nothing is written.
    pub path: Option<&'a Path>,
    /// MAC that gets each byte.
    pub mac: Option<&'a mut FileMac>,
    /// Amount that is worked on at once.
    pub at_once: AtOnce,
}

impl Reading {
    /// Opens `path`, a file with the layout `layout`.
    ///
    /// # Errors
    /// [`FileError::Read`]; [`FileError::NoParquet`], in a program without it.
    pub fn open(path: &Path, layout: FileLayout) -> Result<Self, FileError> {
        let file = input::open(path).map_err(|error| cannot_read(path, error))?;
        Ok(Self(match layout {
            FileLayout::Csv(layout) => Kind::Csv(file, layout, None),
            #[cfg(feature = "parquet")]
            FileLayout::Parquet => {
                Kind::Parquet(Input::new(file).map_err(|error| of_parquet(error, path, None))?)
            }
            #[cfg(not(feature = "parquet"))]
            FileLayout::Parquet => return Err(FileError::NoParquet(path.to_owned())),
        }))
    }

    /// Has `mac` take the bytes of the file, which is called `path`. A Parquet file is read here
    /// and there, so it is read once more, and what took its bytes comes back at once.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(unused, reason = "for a file that is read in advance")
    )]
    pub(crate) fn take(
        &mut self,
        mut mac: FileMac,
        path: &Path,
    ) -> Result<Option<FileMac>, FileError> {
        match &mut self.0 {
            Kind::Csv(_, _, taking) => {
                *taking = Some(mac);
                Ok(None)
            }
            #[cfg(feature = "parquet")]
            Kind::Parquet(input) => {
                input.read_for(&mut mac).map_err(|error| of_parquet(error, path, None))?;
                Ok(Some(mac))
            }
        }
    }

    /// Returns the MAC that took the bytes of a CSV file.
    pub(crate) fn taken(self) -> Option<FileMac> {
        match self.0 {
            Kind::Csv(_, _, mac) => mac,
            #[cfg(feature = "parquet")]
            Kind::Parquet(_) => None,
        }
    }

    /// Returns the layout of the file.
    #[must_use]
    pub fn layout(&self) -> FileLayout {
        match &self.0 {
            Kind::Csv(_, layout, _) => FileLayout::Csv(*layout),
            #[cfg(feature = "parquet")]
            Kind::Parquet(_) => FileLayout::Parquet,
        }
    }

    /// Returns the length of the file in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        match &self.0 {
            Kind::Csv(file, ..) => file.metadata().map_or(0, |found| found.len()),
            #[cfg(feature = "parquet")]
            Kind::Parquet(input) => input.length(),
        }
    }

    /// Carries out `plan` on the file, which is called `path`.
    ///
    /// # Errors
    /// Each [`FileError`] about reading, writing, and the content of the file.
    pub fn pass(
        &mut self,
        path: &Path,
        plan: &Plan,
        on_misfit: OnMisfit,
        stop: &AtomicBool,
        target: Target<'_>,
        listener: &mut Listener<'_>,
    ) -> Result<Counts, FileError> {
        let Target { output, path: out, mac, at_once } = target;
        match &mut self.0 {
            Kind::Csv(file, layout, read_mac) => {
                let (layout, chunk_bytes) = (*layout, at_once.csv_bytes);
                let pass =
                    Pass { plan, layout, on_misfit, threads: at_once.threads, chunk_bytes, stop };
                let counts = pass.run(&*file, output, read_mac.as_mut(), mac, listener);
                counts.map_err(|error| of_file(error, path, out))
            }
            #[cfg(feature = "parquet")]
            Kind::Parquet(input) => {
                let batch_rows = at_once.parquet_rows;
                let pass = sealstone_parquet::Pass {
                    plan,
                    on_misfit,
                    threads: at_once.threads,
                    batch_rows,
                    stop,
                };
                let counts = pass.run(input, output, mac, listener);
                counts.map_err(|error| of_parquet(error, path, out))
            }
        }
    }
}

/// Returns `error` with the file that it is about; `out` is the output, if any.
fn of_file(error: CsvError, input: &Path, out: Option<&Path>) -> FileError {
    match (error, out) {
        (CsvError::Write(error), Some(out)) => cannot_write(error, out),
        (CsvError::Stopped, _) => FileError::Stopped,
        (CsvError::Fields(error), _) => error.into(),
        (error @ CsvError::Read(_), _) => {
            FileError::ReadOn { path: input.to_owned(), what: error.to_string() }
        }
        (error @ CsvError::Misfit { .. }, _) => {
            FileError::Misfit { path: input.to_owned(), what: error.to_string() }
        }
        (error, _) => FileError::Content { path: input.to_owned(), what: error.to_string() },
    }
}

#[cfg(feature = "parquet")]
fn of_parquet(error: ParquetError, input: &Path, out: Option<&Path>) -> FileError {
    match (error, out) {
        (ParquetError::Write(error), Some(out)) => cannot_write(error, out),
        (ParquetError::Stopped, _) => FileError::Stopped,
        (ParquetError::Fields(error), _) => error.into(),
        (error @ ParquetError::Read(_), _) => {
            FileError::ReadOn { path: input.to_owned(), what: error.to_string() }
        }
        (error @ ParquetError::Misfit { .. }, _) => {
            FileError::Misfit { path: input.to_owned(), what: error.to_string() }
        }
        (error, _) => FileError::Content { path: input.to_owned(), what: error.to_string() },
    }
}

fn cannot_read(path: &Path, error: io::Error) -> FileError {
    FileError::Read { path: path.to_owned(), error }
}

fn cannot_write(error: io::Error, out: &Path) -> FileError {
    FileError::Unwritten { path: out.to_owned(), error }
}

/// Returns the layout of the file at `path`: a Parquet file is recognized by its content, and
/// everything else is CSV with the layout `csv`.
///
/// # Errors
/// [`FileError::Read`], [`FileError::NoParquet`].
pub fn file_layout(path: &Path, csv: Layout) -> Result<FileLayout, FileError> {
    let mut beginning = Vec::new();
    let read = |file: File| file.take(4).read_to_end(&mut beginning);
    input::open(path).and_then(read).map_err(|error| cannot_read(path, error))?;
    if !is_parquet(&beginning) {
        return Ok(FileLayout::Csv(csv));
    }
    check_parquet(path).map(|()| FileLayout::Parquet)
}

/// Returns whether a file that begins with `beginning` is a Parquet file, including an encrypted
/// one.
#[must_use]
pub fn is_parquet(beginning: &[u8]) -> bool {
    beginning.starts_with(b"PAR1") || beginning.starts_with(b"PARE")
}

/// Checks that this build supports Parquet files, as `path` is one.
///
/// # Errors
/// [`FileError::NoParquet`].
pub fn check_parquet(path: &Path) -> Result<(), FileError> {
    if cfg!(feature = "parquet") { Ok(()) } else { Err(FileError::NoParquet(path.to_owned())) }
}
