//! The flags of `sealstone mongo`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::names::{Suggest, accel_names, cipher_names_only};
use super::passphrase::PassphraseFlag;

/// How the options of a server are written.
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
    /// Cipher [default: the key's, where a key server knows it; else aes-256]
    #[arg(long, value_name = "CIPHER", value_parser = Suggest(cipher_names_only))]
    pub(crate) cipher: Option<String>,
    #[command(flatten)]
    pub(crate) passphrase: PassphraseFlag,
    /// CPU instructions to use [default: the fastest]
    #[arg(long, value_name = "NAME", value_parser = Suggest(accel_names))]
    pub(crate) accel: Option<String>,
    /// The extension [default: as SEALSTONE_WT_EXTENSION says, or beside this program]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) extension: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MongoCommand {
    /// Print the options under which mongod seals its files
    Config {
        /// The data directory; an encryptor takes an empty one only
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dbpath: PathBuf,
        /// The key file, or kmip:...
        #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
        key: String,
        #[command(flatten)]
        sealing: SealingFlags,
        /// How to write them
        #[arg(long, value_enum, default_value_t = OptionsFormat::Options)]
        format: OptionsFormat,
    },
    /// Show what is sealed in a data directory and what is not; exit code 1 when data lie in the clear
    Check {
        /// The data directory; mongod may run
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
