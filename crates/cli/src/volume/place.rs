//! The place of a volume that is attached, as the flags of a command name it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use sealstone_volume::attachment::{Attachment, RUNTIME_DIR};
use sealstone_volume::header;

use crate::flags::VolumeRuntime;

/// Returns the attachment of the volume in `dir`.
pub(super) fn of(dir: &Path, runtime: &VolumeRuntime) -> anyhow::Result<Attachment> {
    let info = header(dir).with_context(|| dir.display().to_string())?;
    Ok(Attachment::of(&runtime_dir(runtime)?, &info.file_id))
}

/// Returns the directory in which attached volumes are shown, as the kernel will name it.
pub(crate) fn runtime_dir(runtime: &VolumeRuntime) -> anyhow::Result<PathBuf> {
    let dir = runtime.runtime_dir.as_deref().unwrap_or(Path::new(RUNTIME_DIR));
    std::path::absolute(dir).with_context(|| dir.display().to_string())
}
