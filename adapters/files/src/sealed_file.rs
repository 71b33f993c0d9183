//! A sealed file with its manifest, and the check that it is still the same file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sealstone_cipher::Backend;
use sealstone_fields::pass::{Counts, Listener, OnMisfit, Plan, Reject, Work};
use sealstone_fields::{
    ColumnCipher, FieldsError, FileLayout, FileMac, Keyed, MANIFEST_ENDING, Manifest,
};
use sealstone_file::input;
use sealstone_keys::KeySource;

use crate::error::FileError;
use crate::input::{AtOnce, Reading, Target, check_parquet};
use crate::output::beside;

/// A sealed file, and the content of its manifest.
pub struct SealedFile {
    file: PathBuf,
    path: PathBuf,
    text: String,
    /// Content of the manifest; genuine once [`SealedFile::keyed`] has succeeded.
    pub manifest: Manifest,
    on_changed: Option<Box<dyn Fn()>>,
}

impl SealedFile {
    /// Reads the manifest of `file`.
    ///
    /// - `manifest`: where it is, if not beside the file
    /// - `on_changed`: called where the file is not as it was sealed, and opened all the same;
    ///   without it that is an error
    ///
    /// # Errors
    /// [`FileError::NoManifest`], [`FileError::Read`], [`FileError::Manifest`],
    /// [`FileError::NoParquet`].
    pub fn read(
        file: &Path,
        manifest: Option<&Path>,
        on_changed: Option<Box<dyn Fn()>>,
    ) -> Result<Self, FileError> {
        let path = manifest.map_or_else(|| beside(file, MANIFEST_ENDING), Path::to_owned);
        let text = input::read_to_string(&path).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound && file.exists() {
                return FileError::NoManifest { manifest: path.clone(), file: file.to_owned() };
            }
            let what = if file.exists() { &path } else { file };
            FileError::Read { path: what.to_owned(), error }
        })?;
        let manifest =
            Manifest::parse(&text, &path).map_err(|error| FileError::of_manifest(error, &path))?;
        if manifest.layout == FileLayout::Parquet {
            check_parquet(file)?;
        }
        Ok(Self { file: file.to_owned(), path, text, manifest, on_changed })
    }

    /// Returns the version of the key of `keys` that the manifest names, by which it is genuine.
    ///
    /// # Errors
    /// [`FileError::Fields`] for the key, [`FileError::Manifest`] where another one bears its name.
    pub fn keyed(&self, keys: Arc<dyn KeySource>) -> Result<Keyed, FileError> {
        let keyed = Keyed::of(keys, self.manifest.key.clone())
            .map_err(sealstone_fields::FieldsError::from)?;
        self.manifest
            .check(&self.text, &keyed)
            .map_err(|error| FileError::of_manifest(error, &self.path))?;
        Ok(keyed)
    }

    /// Opens the file for a pass. One that is not read from its beginning to its end is checked
    /// here.
    ///
    /// # Errors
    /// [`FileError::Read`], [`FileError::NotTheFile`].
    pub fn open(&self, keyed: &Keyed) -> Result<Reading, FileError> {
        let mut reading = Reading::open(&self.file, self.manifest.layout)?;
        if let Some(mac) = reading.take(self.manifest.file_mac(keyed)?, &self.file)? {
            self.check(mac, self.manifest.rows)?;
        }
        Ok(reading)
    }

    /// Opens every value of the file, to nowhere, and returns what does not open.
    ///
    /// # Errors
    /// [`FileError::NotTheFile`], and as [`Reading::pass`].
    pub fn verify(&self, keyed: &Keyed) -> Result<Vec<Reject>, FileError> {
        let table = self.manifest.table.clone();
        let cipher = |column| ColumnCipher::new(&table, column, keyed, Backend::auto());
        let ciphers = table.columns.iter().map(cipher).collect::<Result<_, FieldsError>>()?;
        let plan = Plan { work: Work::Open(ciphers), table: table.clone() };
        let mut found = Vec::new();
        let mut on_reject = |reject: &Reject| {
            found.push(reject.clone());
            Ok(())
        };
        let stop = AtomicBool::new(false);
        let mut listener = Listener { on_reject: &mut on_reject, on_progress: &mut |_| {} };
        let mut nowhere = io::sink();
        let target =
            Target { output: &mut nowhere, path: None, mac: None, at_once: AtOnce::default() };
        let mut reading = self.open(keyed)?;
        let counts =
            reading.pass(&self.file, &plan, OnMisfit::Report, &stop, target, &mut listener)?;
        self.check_read(reading, &counts)?;
        Ok(found)
    }

    /// Checks that the file read is the sealed file, unless that is known.
    pub(crate) fn check_read(&self, read: Reading, counts: &Counts) -> Result<(), FileError> {
        read.taken().map_or(Ok(()), |mac| self.check(mac, counts.rows + counts.rejected))
    }

    fn check(&self, mac: FileMac, rows: u64) -> Result<(), FileError> {
        if self.manifest.is_of(mac, rows)? {
            return Ok(());
        }
        match &self.on_changed {
            Some(on_changed) => {
                on_changed();
                Ok(())
            }
            None => {
                Err(FileError::NotTheFile { file: self.file.clone(), manifest: self.path.clone() })
            }
        }
    }
}
