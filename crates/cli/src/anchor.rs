//! The anchor that a command was given: a file, or an attribute on a key server.

use std::path::Path;

use anyhow::{Context, bail};
use sealstone_anchor::Anchor;
use sealstone_keys::source;

use crate::path;

/// Opens the anchor `spec` of the store in `dir`: an address that begins with `kmip:`, otherwise
/// the path of a file.
pub(crate) fn open(dir: &Path, spec: &Path) -> anyhow::Result<Box<dyn Anchor>> {
    if !spec.to_str().is_some_and(source::is_kmip) {
        check_outside(dir, spec)?;
    }
    Ok(sealstone_anchor::open(spec)?)
}

/// Refuses an anchor in the file `path` that anyone who can change the store in `dir` can change,
/// too.
fn check_outside(dir: &Path, path: &Path) -> anyhow::Result<()> {
    path::check_parent(path)?;
    let directory =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = directory.canonicalize().with_context(|| {
        format!("cannot read {}\ngive the anchor an existing directory", directory.display())
    })?;
    if dir.canonicalize().is_ok_and(|dir| directory.starts_with(dir)) {
        bail!(
            "the anchor {} is in the store itself, and would be rolled back with it\ngive a file \
             on other storage",
            path.display()
        );
    }
    Ok(())
}

#[cfg(all(test, not(feature = "kmip")))]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_on_a_key_server_needs_the_feature() {
        let address = "kmip://kms.example/orders-anchor?cert=c&key=k&ca=a";
        let error =
            open(Path::new("."), Path::new(address)).err().expect("no such anchor").to_string();
        assert_eq!(
            error,
            format!(
                "kmip not built in: {address} names a key server\n\
                 install sealstone with it (make install, feature kmip), or give a file on other \
                 storage"
            )
        );
    }
}
