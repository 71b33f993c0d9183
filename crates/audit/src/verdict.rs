//! Conclusions of an audit: whether anything is in the clear, and what needs attention.

use serde::Serialize;

use crate::facts::{Audit, NotVerified, Place, Protection, Share, Verified, Version};
use crate::leak::{self, Hit};

/// First words of the label of a form.
const FORM: &str = "form ";

/// Conclusion about all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// True if nothing that was looked at is in the clear, damaged or unread.
    pub is_sealed: bool,
    /// Reasons why it is not: each makes the answer no.
    pub open: Vec<Open>,
    /// Facts that ask for attention and do not change the answer.
    pub attention: Vec<Attention>,
}

/// A reason why the answer is no.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Open {
    /// Data of a place is in the clear.
    Clear {
        /// The place.
        place: String,
        /// Number of files, or of other parts.
        count: u64,
    },
    /// Parts of a place could not be read, so they may be anything.
    Unread {
        /// The place.
        place: String,
        /// Number of them.
        count: u64,
    },
    /// A place or a key could not be looked at.
    NotLookedAt {
        /// The place, or the address of the key.
        place: String,
        /// Reason.
        why: String,
    },
    /// A check that was asked for did not come to its end.
    NotChecked {
        /// The place.
        place: String,
        /// Reason, in words.
        why: String,
    },
    /// A place is not as it was sealed.
    Damaged {
        /// The place.
        place: String,
        /// Number of findings.
        count: u64,
    },
    /// A text that must not be in the clear is in a file.
    Leak {
        /// The file.
        file: String,
        /// Number of findings.
        count: u64,
    },
    /// A file could not be searched.
    NotSearched {
        /// The file.
        file: String,
    },
}

/// A fact that needs attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Attention {
    /// The day on which a key was to be rotated is over.
    Overdue {
        /// The key.
        key: String,
        /// The day that is over.
        since: String,
    },
    /// No place that was given holds a key that something is under.
    NotHeld {
        /// The key.
        key: String,
        /// Versions that none holds.
        versions: Vec<u32>,
    },
    /// Anyone who reads the key file has the key.
    Unprotected {
        /// The key.
        key: String,
    },
    /// A place was never checked.
    NotVerified {
        /// The place.
        place: String,
    },
    /// Something is beside what can be sealed, and in the clear.
    Beside {
        /// The place.
        place: String,
        /// Number of such parts.
        count: u64,
    },
    /// Cipher or mode are on neither list.
    OnNoList {
        /// The place.
        place: String,
        /// The cipher and the mode.
        algorithm: String,
    },
    /// Values of a form are in a file of which a column is sealed in that form, and look alike.
    LooksAlike {
        /// The file.
        file: String,
        /// The form.
        form: String,
        /// Number of them.
        count: u64,
    },
    /// Compressed data was not searched to its end.
    Cut {
        /// Number of places.
        count: u64,
    },
    /// Nothing was searched for.
    NoSearch,
}

impl Verdict {
    /// Draws the conclusions from `audit`.
    #[must_use]
    pub fn of(audit: &Audit) -> Self {
        let mut open: Vec<Open> = audit.places.iter().flat_map(open_in).collect();
        if let Some(search) = &audit.search {
            for (file, hits) in &search.hits {
                let leaks = hits.iter().filter(|hit| !is_of_column(audit, file, hit));
                let count = leaks.map(|hit| hit.count).sum();
                if count > 0 {
                    open.push(Open::Leak { file: file.clone(), count });
                }
            }
            let unread = search.unread.iter();
            open.extend(unread.map(|file| Open::NotSearched { file: file.name.clone() }));
        }
        Self { is_sealed: open.is_empty(), open, attention: attention(audit) }
    }
}

fn open_in(place: &Place) -> Vec<Open> {
    let name = || place.name.clone();
    let mut open = Vec::new();
    if !place.is_known() {
        let why = place.unread.first().and_then(|unread| unread.remark.clone());
        open.push(Open::NotLookedAt { place: name(), why: why.unwrap_or_default() });
        return open;
    }
    if !place.clear.is_empty() {
        open.push(Open::Clear { place: name(), count: place.clear.len() as u64 });
    }
    if !place.unread.is_empty() {
        open.push(Open::Unread { place: name(), count: place.unread.len() as u64 });
    }
    if let Verified::Checked { is_whole: false, count, .. } = place.verified {
        open.push(Open::Damaged { place: name(), count });
    }
    // what is damaged enough ends the check before it has findings
    if let Verified::Not { why: NotVerified::Failed(why) } = &place.verified {
        open.push(Open::NotChecked { place: name(), why: why.clone() });
    }
    open
}

/// Returns whether `hit` in `file` may be the values of a column that was sealed in that very form:
/// nobody can tell without the key.
fn is_of_column(audit: &Audit, file: &str, hit: &Hit) -> bool {
    let Some(form) = hit.what.strip_prefix(FORM).filter(|_| hit.kind == leak::Kind::Form) else {
        return false;
    };
    let is_column = |share: &Share| {
        let mode = share.mode.strip_prefix("ff1:").and_then(|text| text.split(':').next());
        share.column.is_some() && mode == Some(form)
    };
    let place = audit.places.iter().find(|place| place.name == file);
    place.is_some_and(|place| place.sealed.iter().any(is_column))
}

fn attention(audit: &Audit) -> Vec<Attention> {
    let mut found = Vec::new();
    let lacks_a_key = audit.lacks_a_key();
    for key in &audit.keys {
        let name = || key.id.clone();
        if let Some(since) = key.rotate_by.clone().filter(|_| key.is_overdue) {
            found.push(Attention::Overdue { key: name(), since });
        }
        let is_missing = |version: &&Version| !version.is_held && version.places > 0;
        let missing = key.versions.iter().filter(is_missing).filter(|_| !lacks_a_key);
        let versions: Vec<u32> = missing.map(|version| version.version).collect();
        if !versions.is_empty() {
            found.push(Attention::NotHeld { key: name(), versions });
        }
        if key.held.as_ref().is_some_and(|held| held.protection == Protection::Nothing) {
            found.push(Attention::Unprotected { key: name() });
        }
    }
    for place in &audit.places {
        let name = || place.name.clone();
        let is_checkable = match &place.verified {
            Verified::Checked { .. }
            | Verified::Not {
                why: NotVerified::WhenRead | NotVerified::Never | NotVerified::Failed(_),
            } => false,
            Verified::Not { .. } => place.on_volume.is_none() && !place.sealed.is_empty(),
        };
        if is_checkable {
            found.push(Attention::NotVerified { place: name() });
        }
        if !place.beside.is_empty() && place.on_volume.is_none() {
            found.push(Attention::Beside { place: name(), count: place.beside.len() as u64 });
        }
        let mut unlisted: Vec<String> = place
            .sealed
            .iter()
            .filter(|share| !share.fips && !share.kcmvp)
            .map(|share| format!("{} {}", share.cipher, share.mode))
            .collect();
        unlisted.sort();
        unlisted.dedup();
        found.extend(
            unlisted.into_iter().map(|algorithm| Attention::OnNoList { place: name(), algorithm }),
        );
    }
    let Some(search) = &audit.search else {
        found.push(Attention::NoSearch);
        return found;
    };
    if search.cut > 0 {
        found.push(Attention::Cut { count: search.cut });
    }
    for (file, hits) in &search.hits {
        for hit in hits.iter().filter(|hit| is_of_column(audit, file, hit)) {
            let (form, count) = (hit.what.clone(), hit.count);
            found.push(Attention::LooksAlike { file: file.clone(), form, count });
        }
    }
    found
}
