//! The flags of every command that opens a key file.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// The passphrase of the key file that a command opens.
#[derive(Args, Debug, Default)]
pub(crate) struct PassphraseFlag {
    /// File with the passphrase of the key file [default: SEALSTONE_PASSPHRASE_FILE, or a prompt]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) passphrase_file: Option<PathBuf>,
}

/// The same, and whose passphrase it is.
#[derive(Args, Debug, Default)]
pub(crate) struct HolderFlags {
    /// File with the passphrase of the key file [default: SEALSTONE_PASSPHRASE_FILE, or a prompt]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Whose passphrase it is, of a key file with several holders [default: each is tried]
    #[arg(long, value_name = "NAME")]
    pub(crate) holder: Option<String>,
}
