//! The checks of an earlier audit, for places that are not checked now.

use std::path::Path;

use anyhow::Context;
use sealstone_audit::facts::{NotVerified, Place, SCHEMA, Verified};
use sealstone_file::input;
use serde::Deserialize;

/// The part of an earlier audit that counts.
#[derive(Deserialize)]
pub(super) struct Previous {
    schema: u32,
    places: Vec<Checked>,
    /// Its file.
    #[serde(skip)]
    file: String,
}

#[derive(Deserialize)]
struct Checked {
    name: String,
    verified: Verified,
}

/// Reads the JSON of an earlier audit.
///
/// # Errors
/// A file that cannot be read, or is none.
pub(super) fn read(path: &Path) -> anyhow::Result<Previous> {
    let text =
        input::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let no_audit = || {
        format!(
            "{} is no audit of this version\nname the audit.json of an earlier audit",
            path.display()
        )
    };
    let mut previous: Previous = serde_json::from_str(&text).with_context(no_audit)?;
    anyhow::ensure!(previous.schema == SCHEMA, no_audit());
    previous.file = path.display().to_string();
    Ok(previous)
}

impl Previous {
    /// Puts the earlier checks where nothing was checked now for want of a key or of the wish.
    pub(super) fn fill(&self, places: &mut [Place]) {
        for place in places {
            let Verified::Not {
                why: NotVerified::NotAsked | NotVerified::NoKey | NotVerified::InUse,
            } = &place.verified
            else {
                continue;
            };
            let known = self.places.iter().find(|known| known.name == place.name);
            if let Some(Checked {
                verified: Verified::Checked { at, is_whole, findings, count, earlier },
                ..
            }) = known
            {
                place.verified = Verified::Checked {
                    at: at.clone(),
                    is_whole: *is_whole,
                    findings: findings.clone(),
                    count: *count,
                    earlier: Some(earlier.clone().unwrap_or_else(|| self.file.clone())),
                };
            }
        }
    }
}
