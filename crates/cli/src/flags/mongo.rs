//! The flags of `sealstone mongo`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::names::{Suggest, accel_names, cipher_names_only};
use super::passphrase::PassphraseFlag;

/// Format in which the options of a server are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OptionsFormat {
    /// For the command line
    Options,
    /// For mongod.conf
    Yaml,
}

/// Key, cipher and extension of a server.
#[derive(Args, Debug, Default)]
pub(crate) struct SealingFlags {
    /// Cipher [default: the key's, if a key server knows it; else aes-256]
    #[arg(long, value_name = "CIPHER", value_parser = Suggest(cipher_names_only))]
    pub(crate) cipher: Option<String>,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseFlag,
    /// CPU instructions to use [default: the fastest]
    #[arg(long, value_name = "NAME", value_parser = Suggest(accel_names))]
    pub(crate) accel: Option<String>,
    /// The extension [default: SEALSTONE_WT_EXTENSION, or next to this program]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) extension: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MongoCommand {
    /// Print the options that make mongod seal its files
    Config {
        /// The data directory; an encryptor accepts only an empty one
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dbpath: PathBuf,
        /// The key file, or kmip:...
        #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
        key: String,
        #[command(flatten)]
        sealing: SealingFlags,
        /// Format to write them in
        #[arg(long, value_enum, default_value_t = OptionsFormat::Options)]
        format: OptionsFormat,
    },
    /// Show what is sealed in a data directory and what is not; exit code 1 if there is data in the clear
    Check {
        /// The data directory; mongod may be running
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Print metrics for Prometheus, as node_exporter's textfile collector reads them
        #[arg(long, conflicts_with = "json")]
        prometheus: bool,
    },
}
