//! The place of a volume that is attached, as the flags of a command name it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use sealstone_seal::HeaderInfo;
use sealstone_volume::attachment::{Attachment, RUNTIME_DIR};
use sealstone_volume::{Failure, header};

use crate::directory_kind::{VOLUME, refuse_other};
use crate::flags::VolumeRuntime;

/// Returns the attachment of the volume in `dir`.
pub(super) fn of(dir: &Path, runtime: &VolumeRuntime) -> anyhow::Result<Attachment> {
    let info = header_of(dir)?;
    Ok(Attachment::of(&runtime_dir(runtime)?, &info.file_id))
}

/// Reads the header of the volume in `dir`; of what is something else, the error names the command
/// for it.
pub(super) fn header_of(dir: &Path) -> anyhow::Result<HeaderInfo> {
    match header(dir) {
        Ok(info) => Ok(info),
        Err(failure @ Failure::NoVolume { .. }) => {
            refuse_other(dir, VOLUME, &format!("no sealed volume in {}", dir.display()))?;
            Err(failure).with_context(|| dir.display().to_string())
        }
        Err(failure) => Err(failure).with_context(|| dir.display().to_string()),
    }
}

/// Returns the directory in which attached volumes are shown, as the kernel will name it.
pub(crate) fn runtime_dir(runtime: &VolumeRuntime) -> anyhow::Result<PathBuf> {
    let dir = runtime.runtime_dir.as_deref().unwrap_or(Path::new(RUNTIME_DIR));
    std::path::absolute(dir).with_context(|| dir.display().to_string())
}
