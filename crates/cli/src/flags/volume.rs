//! The flags of `sealstone volume`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use sealstone_bench::words::parse_bytes;

use super::names::{Suggest, accel_names, cipher_names_only};
use super::rest::SealedStore;

const VOLUME_EXAMPLES: &str = "\
Examples:
  sealstone keys new pg.key
  sealstone volume create /srv/pg.volume --size 100GiB --key pg.key --cipher aria-256
  sealstone volume mount /srv/pg.volume /var/lib/postgresql --key pg.key --mkfs ext4
      attaches it, makes a file system on it and mounts that
  sealstone volume status /srv/pg.volume
  sealstone volume unmount /var/lib/postgresql
  sealstone volume mount /srv/pg.volume /var/lib/postgresql --key pg.key
      from now on without --mkfs

  sealstone volume create /srv/my.volume --size 80GiB --key my.key --from /var/lib/mysql
      copies what is there, while its server is not running

create without --from, status, verify, rotate and reseal need no root; losetup
and mount do, and so attach, mount, unseal and what undoes them.";

/// Commands on a volume.
#[derive(Debug, Subcommand)]
pub(crate) enum VolumeCommand {
    /// Make a volume in a new or empty directory: a block device, sparse, all zeros
    #[command(after_help = VOLUME_EXAMPLES)]
    Create(VolumeCreateFlags),
    /// Show a volume as a block device and print its name; a process of its own serves it. After a
    /// crash this is all that it takes
    Attach(VolumeAttachFlags),
    /// Put everything in place and take the block device away
    Detach {
        #[command(flatten)]
        place: VolumePlace,
    },
    /// Attach a volume and mount the file system on it
    #[command(after_help = VOLUME_EXAMPLES)]
    Mount(VolumeMountFlags),
    /// Unmount a file system and detach its volume
    Unmount {
        /// The directory at which it is mounted
        #[arg(value_name = "PATH", value_hint = ValueHint::DirPath)]
        path: PathBuf,
        #[command(flatten)]
        runtime: VolumeRuntime,
    },
    /// Show cipher, key id and version, and whether it is attached and mounted; needs no key
    Status {
        #[command(flatten)]
        place: VolumePlace,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check every block and page of a volume that is not attached; exit code 1 if damage is found
    Verify {
        #[command(flatten)]
        store: SealedStore,
        /// The anchor that it is attached with; gets the state that was found, if that is whole
        #[arg(long, value_name = "ANCHOR", value_hint = ValueHint::FilePath)]
        anchor: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop writes and put everything in place, so that the directory can be copied; --thaw goes on
    Freeze {
        #[command(flatten)]
        place: VolumePlace,
        /// Let the file systems write again
        #[arg(long)]
        thaw: bool,
    },
    /// Make an attached volume larger; grow the file system on it afterwards (resize2fs,
    /// xfs_growfs)
    Grow {
        #[command(flatten)]
        place: VolumePlace,
        /// The new size, such as 200GiB
        #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
        size: u64,
    },
    /// Rewrap the volume's key under the newest version of its key; it may be in use
    Rotate {
        #[command(flatten)]
        store: SealedStore,
    },
    /// Copy a volume that is not attached to a new one under another cipher, another key, or new
    /// keys throughout, and compare both. Takes no root. If interrupted, the same command goes on
    Reseal(VolumeResealFlags),
    /// Copy all files of a volume that is not attached to a directory, in the clear, and compare
    /// the copy byte by byte. If interrupted, the same command goes on
    Unseal(VolumeUnsealFlags),
    /// Print a unit for systemd that mounts a volume
    Unit {
        #[command(flatten)]
        store: SealedStore,
        /// The anchor to attach it with
        #[arg(long, value_name = "ANCHOR", value_hint = ValueHint::FilePath)]
        anchor: Option<PathBuf>,
        /// The directory to mount it at
        #[arg(value_name = "PATH", value_hint = ValueHint::DirPath)]
        path: PathBuf,
    },
}

/// Place of attached volumes.
#[derive(Args, Debug)]
pub(crate) struct VolumeRuntime {
    /// Directory in which attached volumes are shown
    #[arg(long, hide = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) runtime_dir: Option<PathBuf>,
}

/// A volume that may be attached.
#[derive(Args, Debug)]
pub(crate) struct VolumePlace {
    /// The directory of the volume
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) runtime: VolumeRuntime,
}

#[derive(Args, Debug)]
pub(crate) struct VolumeCreateFlags {
    #[command(flatten)]
    pub(crate) store: SealedStore,
    /// Size of the device, such as 100GiB; space is taken as it is written to
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) size: u64,
    /// Cipher [default: the key's, if a key server knows it; otherwise aes-256]
    #[arg(long, value_name = "CIPHER", value_parser = Suggest(cipher_names_only))]
    pub(crate) cipher: Option<String>,
    /// Length of a block
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = parse_bytes)]
    pub(crate) block: u64,
    /// Copy this directory of files onto it, such as the data directory of a server that is not
    /// running, and compare the copy byte by byte; it stays as it is. If interrupted, the same
    /// command goes on
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) from: Option<PathBuf>,
    /// The file system that the files are copied to [default: ext4]
    #[arg(long, value_name = "KIND", value_enum, requires = "from")]
    pub(crate) mkfs: Option<FileSystem>,
    #[command(flatten)]
    pub(crate) runtime: VolumeRuntime,
}

#[derive(Args, Debug)]
pub(crate) struct VolumeResealFlags {
    #[command(flatten)]
    pub(crate) store: SealedStore,
    /// The directory for the new volume: new, empty, or left unfinished by an earlier run
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    /// Cipher of the new volume [default: the key's, if a key server knows it; otherwise as before]
    #[arg(long, value_name = "CIPHER", value_parser = Suggest(cipher_names_only))]
    pub(crate) cipher: Option<String>,
    /// Key of the new volume [default: the same]
    #[arg(long, value_name = "KEY", value_hint = ValueHint::FilePath)]
    pub(crate) new_key: Option<String>,
    /// File with the passphrase of that key
    #[arg(long, value_name = "FILE", requires = "new_key", value_hint = ValueHint::FilePath)]
    pub(crate) new_passphrase_file: Option<PathBuf>,
    /// Cryptographic module of the new volume, or none [default: the same]
    #[arg(long, value_name = "MODULE", value_hint = ValueHint::FilePath)]
    pub(crate) new_module: Option<String>,
    /// The anchor that the old volume is attached with
    #[arg(long, value_name = "ANCHOR", value_hint = ValueHint::FilePath)]
    pub(crate) anchor: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct VolumeUnsealFlags {
    #[command(flatten)]
    pub(crate) store: SealedStore,
    /// The directory for the files in the clear: new, empty, or left unfinished by an earlier run
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) runtime: VolumeRuntime,
}

#[derive(Args, Debug)]
pub(crate) struct VolumeAttachFlags {
    #[command(flatten)]
    pub(crate) store: SealedStore,
    #[command(flatten)]
    pub(crate) runtime: VolumeRuntime,
    /// Record outside the volume how new it is: a file on other storage, or a separate object on a
    /// key server (kmip://HOST/NAME?cert=...&key=...&ca=...). Once it is there, an older copy of
    /// the whole volume does not open
    #[arg(long, value_name = "ANCHOR", value_hint = ValueHint::FilePath)]
    pub(crate) anchor: Option<PathBuf>,
    /// Append what fails to this file, a line each with its time; status shows the last
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) log: Option<PathBuf>,
    /// Serve it in this process, and print what fails
    #[arg(long)]
    pub(crate) foreground: bool,
    /// CPU instructions to use: auto, or a backend by name
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = Suggest(accel_names))]
    pub(crate) accel: String,
    /// The process that is started in the background
    #[arg(long, hide = true, requires = "foreground")]
    pub(crate) detached: bool,
    /// Serve it until standard input ends, then take away what is mounted from it, too
    #[arg(long, hide = true, requires = "foreground")]
    pub(crate) until_input_ends: bool,
}

/// File systems that can be made on a new volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileSystem {
    /// ext4
    Ext4,
    /// XFS
    Xfs,
}

#[derive(Args, Debug)]
pub(crate) struct VolumeMountFlags {
    #[command(flatten)]
    pub(crate) attach: VolumeAttachFlags,
    /// The directory to mount it at
    #[arg(value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub(crate) path: PathBuf,
    /// Make this file system first, on a volume that has none
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) mkfs: Option<FileSystem>,
}
