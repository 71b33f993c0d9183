//! The flags of `sealstone mongo`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{PassphraseFlag, Suggest, accel_names, cipher_names_only};
use crate::count;

/// Where a lab is, where nobody says.
const LAB_DIR: &str = "sealstone-lab";

const LAB_EXAMPLES: &str = "\
Examples:
  sealstone mongo lab up
      three servers in the clear, as a replica set, in ./sealstone-lab
  sealstone mongo lab up --nodes 3 --cipher aria-256
      the same sealed, under a key file made for it: sealstone-lab/lab.key
  sealstone mongo lab up --nodes 3 --cipher aria-256 --kmip
      the same under a key of a key server (PyKMIP), which is started beside it
  sealstone mongo lab up --cipher aria-256 --key kmip:kms.toml
      the same under a key of a key server of your own
  sealstone mongo lab down
      ends them; lab up starts them again with their data

All listen on 127.0.0.1 alone. Ctrl-C while they start leaves those that did: end
them with lab down. Remove the directory to be rid of the data.";

/// How the options of a server are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OptionsFormat {
    /// For the command line
    Options,
    /// For mongod.conf
    Yaml,
}

/// Key, cipher and extension of a server.
#[derive(Args, Debug)]
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
    /// Run a replica set on this machine, for an experiment
    #[command(subcommand)]
    Lab(LabCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Start the servers of a lab, or start them again
    #[command(after_help = LAB_EXAMPLES)]
    Up(Box<LabUpFlags>),
    /// End the servers of a lab; their data stay
    Down {
        /// The directory of the lab
        #[arg(value_name = "DIR", default_value = LAB_DIR, value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show how the servers of a lab stand; exit code 1 when not all of them serve
    Status {
        /// The directory of the lab
        #[arg(value_name = "DIR", default_value = LAB_DIR, value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args, Debug)]
pub(crate) struct LabUpFlags {
    /// The directory of the lab: new or empty, or that of a lab which has ended
    #[arg(long, value_name = "DIR", default_value = LAB_DIR, value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// Members, 1 to 7 [default: 3]
    #[arg(long, value_name = "N", value_parser = count::parse_small)]
    pub(crate) nodes: Option<usize>,
    /// Seal with this key: a key file, or kmip:... [default: a new key file in the lab, if a cipher is named]
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) key: Option<String>,
    /// Start a key server (PyKMIP) beside the members, and seal with a key made in it
    #[arg(long, conflicts_with = "key")]
    pub(crate) kmip: bool,
    #[command(flatten)]
    pub(crate) sealing: SealingFlags,
    /// Cache of each member, in gigabytes [default: 0.25, the least]
    #[arg(long, value_name = "GB")]
    pub(crate) cache_gb: Option<f64>,
    /// The program [default: as SEALSTONE_MONGOD says, the one that dev/setup.sh installed, or mongod]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) mongod: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
