//! Content of reports on stored files.

use std::path::PathBuf;

use sealstone_anchor::AnchorCheck;
use serde::Serialize;

/// Version of the reports.
pub(crate) const SCHEMA: u32 = 1;

/// Progress of [`verify`](super::verify).
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The file being checked.
    pub file: &'a str,
    /// Stored bytes checked so far, over all files.
    pub done_bytes: u64,
    /// Stored bytes to check, over all files.
    pub total_bytes: u64,
}

/// Findings of [`verify`](super::verify).
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Verification {
    /// Version of this report: 1.
    pub schema: u32,
    /// The directory.
    pub dir: PathBuf,
    /// Files checked.
    pub files: u64,
    /// Pages that are whole.
    pub pages: u64,
    /// Frames that are whole.
    pub frames: u64,
    /// Stored bytes read.
    pub stored_bytes: u64,
    /// Sources that the files of each directory were compared with.
    pub compared: Vec<Comparison>,
    /// Result of the check against an anchor, if one was consulted and the store is not older.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<AnchorCheck>,
    /// Everything that is not as it was sealed.
    pub failures: Vec<Finding>,
    /// Traces that a crash leaves behind and recovery puts right.
    pub notes: Vec<Finding>,
}

impl Verification {
    /// Returns whether everything is sealed and whole.
    pub fn is_whole(&self) -> bool {
        self.failures.is_empty()
    }
}

/// One thing found in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Name, from the directory on.
    pub file: String,
    /// Page it is about, from 0, if it is about one.
    pub page: Option<u64>,
    /// Frame it is about, from 0, if it is about one.
    pub frame: Option<u64>,
    /// Description of the finding.
    pub what: String,
}

/// Record of what the files of a directory were compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The directory, relative to the verified directory; empty for the verified directory itself.
    pub directory: String,
    /// Source that its files were compared with.
    #[serde(flatten)]
    pub with: ComparedWith,
}

/// Source that files can be compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "compared_with", rename_all = "snake_case")]
pub enum ComparedWith {
    /// The live set of the database here.
    LiveSet {
        /// Name of the MANIFEST that names the live set.
        manifest: String,
        /// Tables that it names.
        tables: u64,
        /// Blob files that it names.
        blob_files: u64,
        /// Logs that opening the database would read. A MANIFEST states only for some whether they
        /// must be there.
        logs: u64,
        /// Files in the directory that are not part of the database: left by a crash, or being
        /// written.
        leftovers: Vec<String>,
    },
    /// Nothing: there is no database here, and each file was checked separately.
    Nothing,
    /// Nothing: there is a database here, but its contents cannot be read. A failure reports why.
    Unknown,
}
