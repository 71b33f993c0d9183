//! The checks of an earlier audit, for places that are not checked now.

use std::path::Path;

use anyhow::Context;
use jiff::Timestamp;
use sealstone_audit::facts::{NotVerified, Place, SCHEMA, Verified};
use sealstone_file::input;
use serde::Deserialize;

/// Name of the file for programs in the directory of an audit.
pub(crate) const AUDIT_JSON: &str = "audit.json";

/// The part of an earlier audit that counts.
#[derive(Deserialize)]
pub(super) struct Previous {
    schema: u32,
    made_at: String,
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

/// Reads the JSON of an earlier audit, or of the newest of those in a directory, each in a
/// directory of its own. An older one there may be of another version.
///
/// # Errors
/// A file that cannot be read, or is none; a directory without one, or whose newest is such a file.
pub(super) fn read(path: &Path) -> anyhow::Result<Previous> {
    if !path.is_dir() {
        return read_file(path);
    }
    let cannot = || format!("cannot read {}", path.display());
    let mut newest: Option<(Option<Timestamp>, anyhow::Result<Previous>)> = None;
    for entry in std::fs::read_dir(path).with_context(cannot)? {
        let file = entry.with_context(cannot)?.path().join(AUDIT_JSON);
        if !file.exists() {
            continue;
        }
        let found = read_file(&file);
        // one that cannot be read does not say when it was made; its file does
        let time = found.as_ref().map_or_else(|_| modified(&file), Previous::time);
        if newest.as_ref().is_none_or(|(latest, _)| time > *latest) {
            newest = Some((time, found));
        }
    }
    let (_, newest) = newest.with_context(|| {
        format!(
            "{} has no audit in any of its directories\nname the audit.json of an earlier audit, \
             or the directory in which audits were made",
            path.display()
        )
    })?;
    newest
}

/// Returns when `file` was last written to, if the file system says.
fn modified(file: &Path) -> Option<Timestamp> {
    std::fs::metadata(file).ok()?.modified().ok()?.try_into().ok()
}

fn read_file(path: &Path) -> anyhow::Result<Previous> {
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
    /// Returns when it was made; none, which is before any time, if it does not say.
    fn time(&self) -> Option<Timestamp> {
        self.made_at.parse().ok()
    }

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
