//! The small files alongside tables and logs: files that RocksDB writes once are copied and renamed
//! into place, leftovers of a kill are removed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use sealstone_seal::CATALOGUE_NAMES;

use super::error::ResealError;
use super::kind::{Kind, kind, options_number};
use super::work::{Work, facts, names};
use crate::catalogue::Refusal;
use crate::file_system::Failure;
use crate::place;
use crate::rest::StoredFile;

/// The name of a copy before it gets its own. RocksDB removes leftovers with such names when a
/// database is opened, and uses this number itself only when it makes one.
const TEMPORARY: &str = "000001.dbtmp";
/// The name under which RocksDB writes `IDENTITY` while it opens a database. It never sweeps this
/// one up.
const TEMPORARY_IDENTITY: &str = "000000.dbtmp";
/// Bytes of a control file that are copied at once.
const COPY_BYTES: usize = 64 << 10;

impl Work<'_> {
    /// Rewrites the files that RocksDB writes once and then only reads, if at all. Its text log,
    /// which it keeps in the clear next to a plain database, is one of them.
    pub(super) fn control_files(&mut self) -> Result<(), ResealError> {
        let dir = self.db.dir().to_owned();
        self.finish_removals()?;
        let names = names(&dir)?;
        let newest = names.iter().filter_map(|name| options_number(name, "")).max();
        for name in names {
            let path = dir.join(&name);
            if options_number(&name, ".dbtmp").is_some_and(|number| Some(number) < newest)
                || name == TEMPORARY_IDENTITY
            {
                // left by a kill; RocksDB has written a newer one since, and never comes back to
                // this
                let _ = fs::remove_file(&path);
                continue;
            }
            if kind(&name) != Kind::Written {
                continue;
            }
            // RocksDB removes old files at any time
            let Ok((bytes, under)) = facts(&path) else { continue };
            let readable = under.is_some() || self.files.reads_plain();
            if bytes == 0 || !readable || self.is_wanted(under.as_ref()) {
                continue;
            }
            match self.control_file(&path, bytes) {
                Ok(()) => {
                    self.rewritten.0 += 1;
                    self.rewritten.1 += bytes;
                }
                Err(_) if !path.exists() || self.is_leaving(&path) => {}
                Err(error) => return Err(error),
            }
        }
        self.files.catalogues().renew().map_err(|refusal| self.catalogue_failed(refusal))
    }

    /// Returns whether RocksDB has removed the file at `path`, which only waits for the catalogue
    /// to be on stable storage.
    pub(super) fn is_leaving(&self, path: &Path) -> bool {
        self.files.catalogues().hides(&path.to_string_lossy())
    }

    /// Removes the files that wait for that.
    pub(super) fn finish_removals(&self) -> Result<(), ResealError> {
        self.files.catalogues().make_durable().map_err(|refusal| self.catalogue_failed(refusal))
    }

    fn catalogue_failed(&self, refusal: Refusal) -> ResealError {
        ResealError::Control {
            file: self.db.dir().join(CATALOGUE_NAMES[0]),
            text: Failure::from(refusal).text(),
        }
    }

    /// Copies one control file and puts the copy in its place.
    fn control_file(&self, path: &Path, bytes: u64) -> Result<(), ResealError> {
        let temporary = path.with_file_name(TEMPORARY);
        let copied = self.copy(path, bytes, &temporary).and_then(|()| {
            let (from, to) = (temporary.to_string_lossy(), path.to_string_lossy());
            self.files.catalogues().rename(&from, &to).map_err(Failure::from)?;
            let renamed = fs::rename(&temporary, path);
            self.files.catalogues().renamed(&from, &to, renamed.is_ok()).map_err(Failure::from)?;
            renamed?;
            File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
            Ok(())
        });
        copied.map_err(|error| {
            let _ = fs::remove_file(&temporary);
            let text = match error {
                CopyError::Io(error) => {
                    format!("{error}\nit is unchanged; fix the cause and reseal again")
                }
                CopyError::Seal(failure) => failure.text(),
            };
            ResealError::Control { file: path.to_owned(), text }
        })
    }

    fn copy(&self, path: &Path, bytes: u64, temporary: &Path) -> Result<(), CopyError> {
        let name = path.to_string_lossy();
        let stored = StoredFile(place::open(path)?);
        let reader = self.files.open(&name, bytes, &stored)?;
        let mut writer = self.files.create(&temporary.to_string_lossy())?;
        let mode = stored.0.metadata()?.permissions().mode();
        // the previous file of that name is gone, so that no other file is written to
        let mut copy = File::options().write(true).create_new(true).mode(mode).open(temporary)?;
        copy.write_all(writer.stored())?;
        let mut piece = vec![0; COPY_BYTES];
        let mut offset = 0;
        loop {
            let got = reader.read(&stored, offset, &mut piece)?;
            if got == 0 {
                break;
            }
            copy.write_all(writer.append(&piece[..got])?)?;
            offset += got as u64;
        }
        copy.write_all(writer.finish()?)?;
        copy.sync_all()?;
        Ok(())
    }
}

/// Reason why a control file could not be copied.
enum CopyError {
    Io(io::Error),
    Seal(Failure),
}

impl From<io::Error> for CopyError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Failure> for CopyError {
    fn from(failure: Failure) -> Self {
        Self::Seal(failure)
    }
}
