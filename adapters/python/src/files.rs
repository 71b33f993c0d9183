//! Whole files sealed and opened, for the workers of Spark, each of which has a file to itself. Not
//! here: the work (`sealstone-files`), and which worker gets which file (`_spark_files.py`).

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use sealstone_cipher::Backend;
use sealstone_fields::csv::{Encoding, Layout};
use sealstone_fields::pass::{Counts, OnMisfit, Plan, Work};
use sealstone_fields::policy::Table;
use sealstone_fields::{ColumnCipher, FieldsError, Keyed};
use sealstone_files::{AtOnce, FileError, Job, Reading, SealedFile, Writing, file_layout};
use sealstone_keys::KeySource;

use crate::error::exception;
use crate::table::{keys, parse};

/// Advice for a row that does not fit.
const LEAVE_OUT: &str =
    "nothing was written; to leave such rows out and list them: on_error=\"report\"";

/// Seals and opens whole files, under keys of one source.
#[pyclass(frozen, module = "sealstone._sealstone")]
pub(crate) struct FileCipher {
    keys: Arc<dyn KeySource>,
    /// The process that the keys are in: they are gone in a forked one.
    process: u32,
}

#[pymethods]
impl FileCipher {
    /// With the keys of the source ``key``.
    #[new]
    #[pyo3(signature = (key, passphrase_file=None))]
    fn new(py: Python<'_>, key: &str, passphrase_file: Option<PathBuf>) -> PyResult<Self> {
        let keys = py.detach(|| keys(key, passphrase_file.as_deref()))?;
        Ok(Self { keys, process: std::process::id() })
    }

    /// Seals the file ``input`` as ``out``, with its manifest beside it, and returns how many rows
    /// were written and how many were left out.
    ///
    /// - ``manifest``: of the table: how it is sealed, and under which version of the key
    /// - ``delimiter``, ``encoding``: how ``input`` is written, if it is no Parquet file
    #[pyo3(signature = (input, out, manifest, *, delimiter=',', encoding="UTF-8", on_error="fail",
        threads=1))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn seal(
        &self,
        py: Python<'_>,
        input: PathBuf,
        out: PathBuf,
        manifest: &str,
        delimiter: char,
        encoding: &str,
        on_error: &str,
        threads: usize,
    ) -> PyResult<(u64, u64)> {
        let layout = layout(delimiter, encoding)?;
        let how = How::of(on_error, threads)?;
        let parsed = parse(manifest)?;
        self.check_process()?;
        let seal = || -> Result<Counts, FileError> {
            let keyed =
                Keyed::of(self.keys.clone(), parsed.key.clone()).map_err(FieldsError::from)?;
            parsed
                .check(manifest, &keyed)
                .map_err(|error| FileError::Manifest { path: "(manifest)".into(), error })?;
            let plan =
                Plan { work: Work::Seal(ciphers(&parsed.table, &keyed)?), table: parsed.table };
            let reading = Reading::open(&input, file_layout(&input, layout)?)?;
            how.job(&plan, |job| Writing::new(&out, false).seal(&input, reading, &keyed, None, job))
        };
        py.detach(seal).map_err(in_words).map(|counts| (counts.rows, counts.rejected))
    }

    /// Opens the sealed file ``input`` as ``out``, which nobody but this user may read, and returns
    /// how many rows were written and how many were left out. Its manifest is beside it.
    ///
    /// - ``changed``: whether it may be another file than the one that was sealed
    #[pyo3(signature = (input, out, *, changed=false, on_error="fail", threads=1))]
    fn open(
        &self,
        py: Python<'_>,
        input: PathBuf,
        out: PathBuf,
        changed: bool,
        on_error: &str,
        threads: usize,
    ) -> PyResult<(u64, u64)> {
        let how = How::of(on_error, threads)?;
        self.check_process()?;
        let open = || -> Result<Counts, FileError> {
            let on_changed: Option<Box<dyn Fn()>> =
                if changed { Some(Box::new(|| {})) } else { None };
            let sealed = SealedFile::read(&input, None, on_changed)?;
            let keyed = sealed.keyed(self.keys.clone())?;
            let table = sealed.manifest.table.clone();
            let plan = Plan { work: Work::Open(ciphers(&table, &keyed)?), table };
            let reading = sealed.open(&keyed)?;
            how.job(&plan, |job| Writing::new(&out, true).open(&input, reading, &sealed, job))
        };
        py.detach(open).map_err(in_words).map(|counts| (counts.rows, counts.rejected))
    }

    fn __repr__(&self) -> String {
        format!("<sealstone.FileCipher: keys from {}>", self.keys.describe())
    }
}

impl FileCipher {
    fn check_process(&self) -> PyResult<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        Err(exception(
            "this process was forked from the one that opened the key, and does not have it\n\
             open the key in the new process, or start it by spawn",
        ))
    }
}

/// Settings for the work on a file.
struct How {
    on_misfit: OnMisfit,
    threads: Option<NonZeroUsize>,
}

impl How {
    fn of(on_error: &str, threads: usize) -> PyResult<Self> {
        let on_misfit = match on_error {
            "fail" => OnMisfit::Fail,
            "report" => OnMisfit::Report,
            other => {
                return Err(exception(format!(
                    "on_error is {other:?}\ngive \"fail\" or \"report\""
                )));
            }
        };
        let threads =
            NonZeroUsize::new(threads).ok_or_else(|| exception("threads is 0\ngive 1 or more"))?;
        Ok(Self { on_misfit, threads: Some(threads) })
    }

    fn job(
        &self,
        plan: &Plan,
        work: impl FnOnce(Job<'_>) -> Result<Counts, FileError>,
    ) -> Result<Counts, FileError> {
        // a worker that is to end is killed
        let stop = AtomicBool::new(false);
        let at_once = AtOnce { threads: self.threads, ..AtOnce::default() };
        work(Job {
            plan,
            on_misfit: self.on_misfit,
            at_once,
            stop: &stop,
            on_progress: &mut |_| {},
        })
    }
}

/// Checks the layout of a CSV file.
#[pyfunction]
pub(crate) fn check_layout(delimiter: char, encoding: &str) -> PyResult<()> {
    layout(delimiter, encoding).map(|_| ())
}

fn layout(delimiter: char, encoding: &str) -> PyResult<Layout> {
    let encoding = Encoding::by_name(encoding).map_err(exception)?;
    match u8::try_from(delimiter) {
        Ok(delimiter @ (b',' | b';' | b'\t' | b'|')) => Ok(Layout { delimiter, encoding }),
        _ => Err(exception(format!(
            "unknown delimiter {delimiter:?}\ndelimiters: \",\", \";\", \"\\t\", \"|\""
        ))),
    }
}

fn ciphers(table: &Table, keyed: &Keyed) -> Result<Vec<ColumnCipher>, FileError> {
    let cipher = |column| ColumnCipher::new(table, column, keyed, Backend::auto());
    Ok(table.columns.iter().map(cipher).collect::<Result<_, _>>()?)
}

/// Returns `error` as an exception, with what the arguments are called in Python.
fn in_words(error: FileError) -> PyErr {
    match error {
        error @ FileError::Misfit { .. } => exception(format!("{error}\n{LEAVE_OUT}")),
        FileError::NotTheFile { file, manifest } => exception(format!(
            "{} is not the file that {} was written for: changed, cut short, or another one\n\
             restore it from a backup; if it was changed on purpose, open it with changed=True",
            file.display(),
            manifest.display()
        )),
        FileError::NoManifest { manifest, file } => exception(format!(
            "no manifest {}: it says how {} is sealed, and under which version of which key\n\
             it was written beside the file; restore it from a backup",
            manifest.display(),
            file.display()
        )),
        error => exception(error),
    }
}
