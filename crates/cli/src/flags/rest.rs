//! The flags of the commands that take data out of a sealed store: as a whole, or record by record.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use sealstone_bench::words::parse_count;

use super::key_access::OpeningFlags;
use crate::bytes::{self, Bytes};
use crate::path::quoted;

const UNSEAL_EXAMPLES: &str = "\
Examples:
  sealstone rest unseal orders --key orders.key --out orders-plain
      a plain store in the new directory orders-plain
  ldb --db=orders-plain scan
      RocksDB's own tool reads it

Every file is read back before the copy becomes a store. After Ctrl-C, a kill or
a full disk, the same command resumes; until then RocksDB refuses to open the
copy. The copy is in the clear: its directory belongs to you alone (mode 0700),
and what you do with it is up to you.

Exit codes: 0 done, 1 no store that RocksDB opens, 2 error, 130 stopped by Ctrl-C";

const RECORDS_EXAMPLES: &str = "\
Examples:
  sealstone rest get orders 'order 17' --key orders.key
  sealstone rest scan orders --key orders.key --prefix 'order 1' --limit 10
  sealstone rest dump orders --key orders.key > records
  ldb --db=copy --create_if_missing load --hex < records

Keys and values are shown as text where they are text, and otherwise as 0x and
hexadecimal digits, which is also how to give them. Nothing is written to the
store, and no other process can open it for writing while the command runs.";

/// A sealed store, and what opens it.
#[derive(Args, Debug)]
pub(crate) struct SealedStore {
    /// The directory of the store
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    /// The key file, or kmip:...
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) opening: OpeningFlags,
}

impl SealedStore {
    /// Returns the same flags for another run, as a shell takes them.
    pub(crate) fn again(&self) -> String {
        let mut words = vec![quoted(&self.dir), "--key".into(), quoted(Path::new(&self.key))];
        if let Some(file) = &self.opening.passphrase_file {
            words.extend(["--passphrase-file".to_string(), quoted(file)]);
        }
        if let Some(module) = &self.opening.module.module {
            words.extend(["--module".to_string(), quoted(Path::new(module))]);
        }
        words.join(" ")
    }
}

#[derive(Args, Debug)]
#[command(after_help = UNSEAL_EXAMPLES)]
pub(crate) struct UnsealFlags {
    #[command(flatten)]
    pub(crate) store: SealedStore,
    /// The directory for the plain store: new, empty, or left unfinished by an earlier run
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReadFlags {
    #[command(flatten)]
    pub(crate) store: SealedStore,
    /// The column family
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) family: String,
}

#[derive(Args, Debug)]
#[command(after_help = RECORDS_EXAMPLES)]
pub(crate) struct GetFlags {
    #[command(flatten)]
    pub(crate) read: ReadFlags,
    /// Key of the record: text, or bytes as 0x and hexadecimal digits
    #[arg(value_name = "RECORD", value_parser = bytes::parse)]
    pub(crate) record: Bytes,
    /// Show hexadecimal digits, whether it is text or not
    #[arg(long)]
    pub(crate) hex: bool,
}

#[derive(Args, Debug)]
#[command(after_help = RECORDS_EXAMPLES)]
pub(crate) struct ScanFlags {
    #[command(flatten)]
    pub(crate) read: ReadFlags,
    /// First key, inclusive: text, or bytes as 0x and hexadecimal digits
    #[arg(long, value_name = "RECORD", value_parser = bytes::parse)]
    pub(crate) from: Option<Bytes>,
    /// Last key, exclusive
    #[arg(long, value_name = "RECORD", value_parser = bytes::parse)]
    pub(crate) to: Option<Bytes>,
    /// Only keys that begin with this
    #[arg(long, value_name = "BEGINNING", value_parser = bytes::parse)]
    pub(crate) prefix: Option<Bytes>,
    /// At most this many records
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub(crate) limit: Option<u64>,
    /// Show hexadecimal digits, whether it is text or not
    #[arg(long)]
    pub(crate) hex: bool,
}

#[derive(Args, Debug)]
#[command(after_help = RECORDS_EXAMPLES)]
pub(crate) struct DumpFlags {
    #[command(flatten)]
    pub(crate) read: ReadFlags,
}
