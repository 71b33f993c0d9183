//! Errors of stores on volumes.

use std::io;
use std::path::PathBuf;

use sealstone_message::SettingName;
use sealstone_store::StoreError;

/// Reason why a store cannot be on a volume.
#[derive(Debug, thiserror::Error)]
pub(super) enum VolumeError {
    #[error(
        "no store can be put on a sealed volume here: {lack}\n\
         run it as root on a machine with FUSE and loop devices, or measure another layer, such as \
         {}",
        SettingName("layer field")
    )]
    Unable { lack: String },
    #[error(
        "{flag} names servers of your own, and the volumes of a comparison are for servers that \
         are started here\nput their data directories on a volume there (sealstone volume mount), \
         or leave {} out",
        SettingName(flag)
    )]
    OwnServers { flag: &'static str },
    #[error(
        "cannot find the program sealstone, which serves volumes\n\
         name it in SEALSTONE_PROGRAM"
    )]
    NoProgram,
    #[error("cannot make {}: {source}", dir.display())]
    Directory { dir: PathBuf, source: io::Error },
    #[error("the volume in {}: {source}", dir.display())]
    Volume { dir: PathBuf, source: sealstone_volume::Failure },
}

impl From<VolumeError> for StoreError {
    fn from(error: VolumeError) -> Self {
        Self::engine(error)
    }
}
