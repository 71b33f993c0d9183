//! Volumes as an engine whose files are sealed.

use std::path::Path;

use sealstone_volume::{Failure, keys_of};

use crate::at_rest::{AtRest, AtRestError, Found, Need, Renewal, SealedServer, Wanted};

/// Volumes in the table of engines.
pub(crate) static AT_REST: VolumeAtRest = VolumeAtRest;

/// File that every volume has.
const HEADER: &str = "sealstone.volume";

/// The files of a volume.
#[derive(Debug)]
pub(crate) struct VolumeAtRest;

impl AtRest for VolumeAtRest {
    fn name(&self) -> &'static str {
        "volume"
    }

    fn product(&self) -> &'static str {
        "sealed volume"
    }

    fn owns(&self, dir: &Path) -> bool {
        dir.join(HEADER).exists()
    }

    /// The header names the key, which wraps that of all the rest.
    fn need(&self, dir: &Path, wanted: &Wanted<'_>) -> Result<Need, AtRestError> {
        match keys_of(dir) {
            Ok(keys) if keys.contains(wanted.key) => {
                let found = Found::Under { count: 1, unit: "volume", example: HEADER.into() };
                Ok(Need { sealed_files: 1, found })
            }
            Ok(_) => Ok(Need { sealed_files: 1, found: Found::Nothing }),
            Err(Failure::NoVolume { .. }) => Ok(Need { sealed_files: 0, found: Found::Nothing }),
            Err(failure) => Err(AtRestError::Unread(failure.into())),
        }
    }

    fn renewal(&self) -> Renewal {
        Renewal::Rewrap("volume rotate")
    }

    fn server(&self) -> Option<&dyn SealedServer> {
        None
    }
}
