//! The flags of every command that opens a key.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// The passphrase of the key that a command opens, and the module that uses it.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct OpeningFlags {
    /// File with the passphrase of the key file [default: SEALSTONE_PASSPHRASE_FILE, or a prompt]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) passphrase_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) module: ModuleFlag,
}

/// The cryptographic module that computes.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ModuleFlag {
    /// Cryptographic module that computes everything instead of Sealstone: openssl:PROVIDER, or the
    /// path of a library
    #[arg(long, value_name = "MODULE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub(crate) module: Option<String>,
}

/// The passphrase of a key file, and whose it is.
#[derive(Args, Debug, Default)]
pub(crate) struct HolderFlags {
    /// File with the passphrase of the key file [default: SEALSTONE_PASSPHRASE_FILE, or a prompt]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) passphrase_file: Option<PathBuf>,
    /// Whose passphrase it is, of a key file with several holders [default: each is tried]
    #[arg(long, value_name = "NAME")]
    pub(crate) holder: Option<String>,
}
