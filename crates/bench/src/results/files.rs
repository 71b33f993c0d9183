//! Writing of results to files, each of which appears whole or not at all.

use std::io::{BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

use sealstone_file::output::{Access, Output};
use sealstone_file::parent;
use serde::Serialize;

use crate::results::Comparison;

/// Results could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", path.display())]
#[non_exhaustive]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// Cause of the failure.
    pub source: std::io::Error,
}

impl Comparison {
    /// Writes the results to the file `path` as JSON, indented, fields in the order of the schema.
    /// The file appears whole or not at all.
    ///
    /// # Errors
    /// `WriteError`; an existing file is unchanged.
    pub fn write_json(&self, path: &Path) -> Result<(), WriteError> {
        write_whole(path, |file| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            file.write_all(b"\n")
        })
    }

    /// Writes every sample to the file `path` as CSV, one row a sample, numbers with units in the
    /// column names.
    ///
    /// # Errors
    /// As [`Comparison::write_json`].
    pub fn write_csv(&self, path: &Path) -> Result<(), WriteError> {
        /// Contents of a row besides its sample.
        #[derive(Serialize)]
        struct Row<'a> {
            workload: &'a str,
            variant: &'a str,
            cipher: &'a str,
            backend: &'a str,
            clients: usize,
            store: &'a str,
            members: usize,
            records: u64,
            link: &'a str,
        }
        write_whole(path, |file| {
            let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(file);
            csv.write_record(columns())?;
            for (group, cell) in self
                .groups
                .iter()
                .flat_map(|group| group.cells.iter().map(move |cell| (group, cell)))
            {
                let variant = &self.variants[cell.variant];
                for sample in &cell.samples {
                    let row = Row {
                        store: &group.point.store,
                        members: group.point.members,
                        records: group.point.records,
                        link: group.point.link.as_deref().unwrap_or_default(),
                        workload: &cell.workload,
                        variant: &variant.label,
                        cipher: variant.cipher().unwrap_or("none"),
                        backend: variant.backend().unwrap_or(""),
                        clients: cell.clients,
                    };
                    csv.serialize((row, sample))?;
                }
            }
            csv.flush()
        })
    }
}

/// The columns that say whose sample a row is, in order.
const ROW_COLUMNS: [&str; 9] =
    ["workload", "variant", "cipher", "backend", "clients", "store", "members", "records", "link"];

/// The beginning of every table of findings, which a report writes.
pub(crate) const FINDINGS_HEAD: &str = "machine,host,sealstone,started_at";

/// The beginning of every CSV of samples.
pub(crate) const SAMPLE_HEAD: &str = "workload,variant,cipher,backend,clients,store";

/// Returns the names of the columns of the CSV, in their order.
pub fn columns() -> impl Iterator<Item = &'static str> {
    ROW_COLUMNS.into_iter().chain(SAMPLE_COLUMNS)
}

/// The fields of `Sample`, in order.
const SAMPLE_COLUMNS: [&str; 27] = [
    "round",
    "slice",
    "load",
    "operations",
    "rows",
    "bytes",
    "elapsed_s",
    "cpu_user_s",
    "cpu_system_s",
    "cipher_cpu_s",
    "io_cpu_s",
    "io_wall_s",
    "settle_cpu_s",
    "syncs",
    "sync_wall_s",
    "client_wall_s",
    "client_cpu_s",
    "client_sleeps",
    "read_bytes",
    "written_bytes",
    "encrypted_bytes",
    "decrypted_bytes",
    "cache_hits",
    "cache_misses",
    "kept_per_s",
    "queued_s",
    "servers_cpu_s",
];

/// Writes `text` to the file `path`, which appears whole or not at all.
///
/// # Errors
/// As [`Comparison::write_json`].
pub fn write_text(path: &Path, text: &str) -> Result<(), WriteError> {
    write_whole(path, |file| file.write_all(text.as_bytes()))
}

/// Writes the file `path`, in a directory that is made if it is missing. Results are meant to be
/// shown, so everybody may read them.
fn write_whole(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), WriteError> {
    let write = || {
        std::fs::create_dir_all(parent(path))?;
        let mut buffered = BufWriter::new(Output::replace(path, Access::Mode(0o644))?);
        fill(&mut buffered)?;
        buffered.into_inner().map_err(IntoInnerError::into_error)?.commit().map(drop)
    };
    write().map_err(|source| WriteError { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_begins_as_it_is_recognised() {
        assert!(columns().collect::<Vec<_>>().join(",").starts_with(SAMPLE_HEAD));
    }
}
