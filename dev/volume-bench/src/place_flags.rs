//! Flags of everything that uses places.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use tempfile::TempDir;

use crate::place;

/// Flags of everything that uses places.
#[derive(Args)]
pub(crate) struct PlaceFlags {
    /// The program `sealstone`, which serves volumes
    #[arg(long, value_name = "FILE")]
    pub(crate) sealstone: Option<PathBuf>,
    /// Ciphers of the volumes
    #[arg(long, value_delimiter = ',', default_values_t = ["aes-256".to_owned(),
        "aria-256".to_owned()])]
    pub(crate) ciphers: Vec<String>,
    /// Directory on whose disk all places are [default: that of temporary files]
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
}

impl PlaceFlags {
    /// Returns the whole path of the program, if the ciphers exist too.
    pub(crate) fn program(&self) -> Result<PathBuf> {
        for name in &self.ciphers {
            sealstone_cipher::cipher(name)?;
        }
        let program = self.sealstone.as_deref().context("--sealstone names the program")?;
        fs::canonicalize(program).with_context(|| program.display().to_string())
    }

    /// Makes a directory for places, into which servers that run as users of their own can go.
    pub(crate) fn scratch(&self) -> Result<TempDir> {
        let scratch = match &self.dir {
            Some(dir) => tempfile::tempdir_in(dir),
            None => tempfile::tempdir(),
        };
        let scratch = scratch.context("make a directory")?;
        place::open_to_all(scratch.path())?;
        Ok(scratch)
    }
}
