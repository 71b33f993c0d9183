//! Volumes onto which not everything is copied yet. Not here: the copying (`convert`).

use std::path::Path;

use crate::path::quoted;

/// Name of the file that is there until everything is copied and compared; it has the directory
/// from which it is copied, or the volume's id.
pub(super) const UNFINISHED: &str = ".sealstone-unfinished";

/// Returns the message about a volume onto which not everything is copied yet, if the file system
/// mounted at `path` is one.
pub(super) fn found(dir: &Path, path: &Path) -> Option<String> {
    path.join(UNFINISHED).exists().then(|| text(dir))
}

/// Returns the message about it.
pub(super) fn text(dir: &Path) -> String {
    format!(
        "the files on {0} are not all there: copying them was not finished\n\
         go on with it: sealstone volume create {1} --from DIR, as it was begun",
        dir.display(),
        quoted(dir)
    )
}
