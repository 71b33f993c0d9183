//! Output of a run: the file, its manifest, and the list of rows that were left out; each appears
//! when all are whole.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use sealstone_fields::pass::{Counts, Listener, OnMisfit, Plan, Progress, Reject};
use sealstone_fields::{FileMac, Keyed, MANIFEST_ENDING, Manifest};

use crate::error::FileError;
use crate::input::{AtOnce, Reading, Target};
use crate::output::{Output, beside};
use crate::sealed_file::SealedFile;

/// Ending that the list of rows that were left out adds to the name of the file.
pub const REJECTS_ENDING: &str = ".rejects.csv";

/// Work to be done on a file, and its settings.
pub struct Job<'a> {
    /// Plan of what to do with which columns.
    pub plan: &'a Plan,
    /// Action for a row that does not fit.
    pub on_misfit: OnMisfit,
    /// Amount that is worked on at once.
    pub at_once: AtOnce,
    /// Turns true when the work is to end early, with [`FileError::Stopped`].
    pub stop: &'a AtomicBool,
    /// Callback that receives the progress after each piece.
    pub on_progress: &'a mut dyn FnMut(Progress),
}

/// A file that is being written. Dropped unfinished, it leaves nothing.
#[derive(Debug)]
pub struct Writing {
    out: PathBuf,
    /// None before the first byte, and when it was finished.
    output: Option<Output>,
    rejects: PathBuf,
    rejected: Option<Output>,
    private: bool,
}

impl Writing {
    /// Begins the output that will become the file `out`; an existing file is replaced.
    ///
    /// - `private`: whether nobody but this user may read it
    #[must_use]
    pub fn new(out: &Path, private: bool) -> Self {
        Self {
            out: out.to_owned(),
            output: None,
            rejects: beside(out, REJECTS_ENDING),
            rejected: None,
            private,
        }
    }

    /// Returns the path of the list of rows that were left out. A list of an earlier run is
    /// replaced, or removed.
    #[must_use]
    pub fn rejects(&self) -> &Path {
        &self.rejects
    }

    /// Seals `input`, and writes the manifest beside it.
    ///
    /// - `keyed`: the key that the ciphers of the plan are under
    /// - `from`: what `input` was sealed as before, if it was
    ///
    /// # Errors
    /// Each [`FileError`] about files; nothing is left in that case.
    pub fn seal(
        &mut self,
        input: &Path,
        mut reading: Reading,
        keyed: &Keyed,
        from: Option<&SealedFile>,
        job: Job<'_>,
    ) -> Result<Counts, FileError> {
        let manifest = Manifest::new(&job.plan.table, keyed, reading.layout())?;
        let mut mac = manifest.file_mac(keyed)?;
        let counts = self.pass(input, &mut reading, Some(&mut mac), job)?;
        if let Some(from) = from {
            from.check_read(reading, &counts)?;
        }
        self.finish(Some(&manifest.finish(mac, counts.rows, keyed)?))?;
        Ok(counts)
    }

    /// Opens `sealed`, which is called `input`; `reading` is of [`SealedFile::open`].
    ///
    /// # Errors
    /// As [`Writing::seal`].
    pub fn open(
        &mut self,
        input: &Path,
        mut reading: Reading,
        sealed: &SealedFile,
        job: Job<'_>,
    ) -> Result<Counts, FileError> {
        let counts = self.pass(input, &mut reading, None, job)?;
        sealed.check_read(reading, &counts)?;
        self.finish(None)?;
        Ok(counts)
    }

    /// Reads `input` and writes what the job makes of it.
    fn pass(
        &mut self,
        input: &Path,
        reading: &mut Reading,
        mac: Option<&mut FileMac>,
        job: Job<'_>,
    ) -> Result<Counts, FileError> {
        let Job { plan, on_misfit, at_once, stop, on_progress } = job;
        let output = self.output.insert(Output::create(&self.out, self.private)?);
        let (rejects, rejected, private) = (&self.rejects, &mut self.rejected, self.private);
        let place = reading.layout().place();
        let mut on_reject = |reject: &Reject| {
            if rejected.is_none() {
                let mut list = Output::create(rejects, private).map_err(io::Error::other)?;
                writeln!(list, "{place},column,reason")?;
                *rejected = Some(list);
            }
            let Some(list) = rejected else { return Ok(()) };
            let Reject { place, column, misfit } = reject;
            writeln!(list, "{place},{},{}", cell(column), cell(&misfit.to_string()))
        };
        let mut listener = Listener { on_reject: &mut on_reject, on_progress };
        let target = Target { output, path: Some(&self.out), mac, at_once };
        reading.pass(input, plan, on_misfit, stop, target, &mut listener)
    }

    /// Puts everything in its place: first what the file cannot be opened without.
    fn finish(&mut self, manifest: Option<&str>) -> Result<(), FileError> {
        if let Some(text) = manifest {
            let path = beside(&self.out, MANIFEST_ENDING);
            let mut output = Output::create(&path, false)?;
            output.write_all(text.as_bytes()).map_err(|error| FileError::Write { path, error })?;
            output.finish()?;
        }
        match self.rejected.take() {
            Some(rejected) => rejected.finish()?,
            // one of an earlier run, of which nothing is left now
            None if self.rejects.exists() => std::fs::remove_file(&self.rejects)
                .map_err(|error| FileError::Write { path: self.rejects.clone(), error })?,
            None => {}
        }
        self.output.take().map_or(Ok(()), Output::finish)
    }
}

/// Returns `text` as a field of CSV.
fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
