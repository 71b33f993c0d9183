//! The flag of every command that opens a key file.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// The passphrase of the key file that a command opens.
#[derive(Args, Debug, Default)]
pub(crate) struct PassphraseFlag {
    /// File with the passphrase of the key file [default: SEALSTONE_PASSPHRASE_FILE, or a prompt]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) passphrase_file: Option<PathBuf>,
}
