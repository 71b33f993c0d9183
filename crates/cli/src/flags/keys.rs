//! The flags of `sealstone keys`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use sealstone_cipher::DEFAULT_CIPHER;
use sealstone_keys::TokenAddress;

#[cfg(any(feature = "mysql", feature = "postgres"))]
use super::columns::ServerTls;
use super::key_access::{HolderFlags, ModuleFlag, OpeningFlags};
use super::names::{Suggest, cipher_names_only};

const PASSWD_EXAMPLES: &str = "\
Examples:
  sealstone keys passwd orders.key
      asks for the old passphrase, and twice for the new one
  sealstone keys passwd orders.key --passphrase-file old --new-passphrase-file new
      the same without a terminal
  sealstone keys passwd orders.key --holder bob
      the passphrase of one of several holders
  sealstone keys passwd orders.key --token \
      'pkcs11:token=prod;object=orders?module-path=/usr/lib/softhsm/libsofthsm2.so' --new-token-key
      a key in that token protects the file from now on

Copies of the old file open as they did, forever.";

const HOLDER_EXAMPLES: &str = "\
Examples:
  sealstone keys holder add orders.key --name bob
      asks for a passphrase that opens the file, then twice for that of bob
  sealstone keys holder remove orders.key --name bob
      bob's passphrase opens no later version of the file

A removed holder keeps what was open to them: rotate the key next.";

const RETIRE_EXAMPLES: &str = "\
Examples:
  sealstone keys retire orders.key --version 1 --store /data/orders /data/users
      two stores, looked at first; nothing else is
  sealstone keys retire people.key --version 1 --field archive people.csv \\
      --table @address#people
      files with sealed columns: those below a directory, and one by name;
      and a table of a database, whose address is in a file

Name everything that was ever sealed with the key: it cannot know of the rest,
and says what it did not look at. Backups are never looked at; keep the version
for them with: sealstone keys export.

Exit codes: 0 retired, 1 something still needs it, 2 error";

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a fresh random key
    New {
        /// The key file to make, which must not exist; or kmip:...
        #[arg(value_name = "KEY", value_hint = ValueHint::FilePath)]
        key: String,
        /// Name of the key, stored with everything it seals [default: random]
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        /// On a key server: the cipher that the key is for [default: aes-256]
        #[arg(long, value_name = "NAME", value_parser = Suggest(cipher_names_only))]
        cipher: Option<String>,
        /// Protect the key file with a passphrase, prompted for unless a file with it is named
        #[arg(long, conflicts_with = "token")]
        protect: bool,
        #[command(flatten)]
        token: TokenFlags,
        #[command(flatten)]
        opening: OpeningFlags,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List keys: one line for each key file, or key on a server
    List {
        /// Key files, directories of key files, or kmip:...
        #[arg(required = true, value_name = "KEY", value_hint = ValueHint::AnyPath)]
        keys: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show id, versions and holders of a key, never its secrets; needs no passphrase
    Show {
        /// The key file, or kmip:...
        #[arg(value_name = "KEY", value_hint = ValueHint::FilePath)]
        key: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Change the protection of a key file: give it a first or another passphrase, take it off, or
    /// put the file under a token
    #[command(after_help = PASSWD_EXAMPLES)]
    Passwd {
        /// The key file
        #[arg(value_name = "KEY", value_hint = ValueHint::FilePath)]
        key: PathBuf,
        /// File with the new passphrase [default: a prompt]
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        new_passphrase_file: Option<PathBuf>,
        /// Take the passphrase off: anyone who reads the file then has the key
        #[arg(long, conflicts_with_all = ["new_passphrase_file", "token"])]
        no_passphrase: bool,
        #[command(flatten)]
        token: TokenFlags,
        #[command(flatten)]
        passphrase: HolderFlags,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add or remove holders of a key file, each with a passphrase of their own
    #[command(subcommand)]
    Holder(HolderCommand),
    /// Add a fresh version, which seals new files from now on
    Rotate {
        /// The key file, or kmip:...
        #[arg(value_name = "KEY", value_hint = ValueHint::FilePath)]
        key: String,
        #[command(flatten)]
        passphrase: HolderFlags,
        #[command(flatten)]
        module: ModuleFlag,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove an old version; exit code 1 if something is still under it, and it stays
    #[command(after_help = RETIRE_EXAMPLES)]
    Retire {
        /// The key file, or kmip:...
        #[arg(value_name = "KEY", value_hint = ValueHint::FilePath)]
        key: String,
        /// The version to remove
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        version: u32,
        #[command(flatten)]
        sealed: SealedWith,
        /// Check nothing: what is under that version is lost
        #[arg(long, conflicts_with = "SealedWith")]
        unchecked: bool,
        #[command(flatten)]
        passphrase: HolderFlags,
        #[command(flatten)]
        module: ModuleFlag,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write one version to a separate key file
    Export {
        /// The key file
        #[arg(value_name = "KEY", value_hint = ValueHint::FilePath)]
        key: String,
        /// The key file to make; it must not exist
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        out: PathBuf,
        /// The version [default: the newest]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        version: Option<u32>,
        /// Protect the new key file with a passphrase, prompted for unless a file with it is named
        #[arg(long)]
        protect: bool,
        /// File with the passphrase of the new key file
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        out_passphrase_file: Option<PathBuf>,
        /// Give the new key file no passphrase, although KEY has one
        #[arg(long, conflicts_with_all = ["protect", "out_passphrase_file"])]
        unprotected: bool,
        #[command(flatten)]
        passphrase: HolderFlags,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add the versions of another key file of the same id
    Import {
        /// The key file to add them to
        #[arg(value_name = "KEY", value_hint = ValueHint::FilePath)]
        key: String,
        /// The key file that has them
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        from: PathBuf,
        /// Only this version [default: all that KEY lacks]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        version: Option<u32>,
        /// File with the passphrase of the other key file
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        from_passphrase_file: Option<PathBuf>,
        #[command(flatten)]
        passphrase: HolderFlags,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check that a key is available and usable: wraps and unwraps a probe, and reports how long
    /// that took
    Check {
        /// The key file, or kmip:...
        #[arg(value_name = "KEY", value_hint = ValueHint::FilePath)]
        key: String,
        #[command(flatten)]
        passphrase: HolderFlags,
        #[command(flatten)]
        module: ModuleFlag,
        /// Cipher to wrap the probe with
        #[arg(long, value_name = "NAME", default_value = DEFAULT_CIPHER.name,
            value_parser = Suggest(cipher_names_only))]
        cipher: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// The token that protects a key file.
#[derive(Args, Debug)]
pub(crate) struct TokenFlags {
    /// Seal the key file by a key of a PKCS #11 token, named by its URI (RFC 7512); its PIN takes
    /// the place of the passphrase
    #[arg(long, value_name = "URI")]
    pub(crate) token: Option<TokenAddress>,
    /// Make that key in the token first
    #[arg(long, requires = "token")]
    pub(crate) new_token_key: bool,
}

/// Stores and files that were sealed with a key.
#[derive(Args, Debug)]
pub(crate) struct SealedWith {
    /// Every store that was ever sealed with this key: directories of RocksDB, data directories of
    /// MongoDB and MariaDB, sealed volumes
    #[arg(long, value_name = "DIR", num_args = 1.., required_unless_present_any = OTHERS)]
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) store: Vec<PathBuf>,
    /// Every file with columns sealed with this key, or its manifest, or a directory with such
    /// files below it
    #[arg(long, value_name = "FILE", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub(crate) field: Vec<PathBuf>,
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    /// Every table with columns sealed with this key: the address of its database (or @FILE) and
    /// its name
    #[arg(long, value_name = "ADDRESS#TABLE", num_args = 1..)]
    pub(crate) table: Vec<String>,
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    #[command(flatten)]
    pub(crate) tls: ServerTls,
}

/// One of these may stand in place of stores.
#[cfg(any(feature = "mysql", feature = "postgres"))]
const OTHERS: [&str; 3] = ["field", "table", "unchecked"];
#[cfg(not(any(feature = "mysql", feature = "postgres")))]
const OTHERS: [&str; 2] = ["field", "unchecked"];

/// Who can open a key file with a passphrase of their own.
#[derive(Debug, Subcommand)]
#[command(after_help = HOLDER_EXAMPLES)]
pub(crate) enum HolderCommand {
    /// Add a holder with a passphrase of their own
    Add {
        /// The key file, which has a passphrase
        #[arg(value_name = "KEY", value_hint = ValueHint::FilePath)]
        key: PathBuf,
        /// Name of the new holder
        #[arg(long, value_name = "NAME")]
        name: String,
        /// File with the passphrase of the new holder [default: a prompt]
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        new_passphrase_file: Option<PathBuf>,
        /// Name for the holder of the passphrase in a file without names
        #[arg(long, value_name = "NAME", default_value = "owner")]
        first: String,
        #[command(flatten)]
        passphrase: HolderFlags,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a holder: their passphrase opens no later version of the file
    Remove {
        /// The key file
        #[arg(value_name = "KEY", value_hint = ValueHint::FilePath)]
        key: PathBuf,
        /// Name of the holder
        #[arg(long, value_name = "NAME")]
        name: String,
        #[command(flatten)]
        passphrase: HolderFlags,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
