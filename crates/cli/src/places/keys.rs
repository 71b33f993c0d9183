//! Keys of places: those that were named, and those that something is under.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use jiff::{Timestamp, ToSpan};
use nix::unistd::{Uid, User};
use sealstone_audit::facts::{Held, Key, Kind, Place, Protection, Version};
use sealstone_keys::kmip::KmipError;
use sealstone_keys::{KeyError, KeyFile, KeyFileSummary, KeyRef, KeySource, source};
use sealstone_message::without_secrets;

use crate::flags::OpeningFlags;
use crate::key_source;

/// A key that was named.
pub(crate) struct Given {
    /// Its name.
    pub(super) id: String,
    held: Held,
    versions: Vec<HeldVersion>,
    spec: String,
    opening: OpeningFlags,
    opened: OnceCell<Arc<dyn KeySource>>,
}

/// A version of a key that was named.
struct HeldVersion {
    number: u32,
    /// The server's identifier, which sealed data names in place of the key; none of a key file.
    id: Option<String>,
    /// Time at which it was made, where that is known.
    made_at: Option<String>,
}

impl Given {
    /// Returns whether sealed data that names the key `id` is under it.
    pub(super) fn is_named(&self, id: &str) -> bool {
        self.id == id || self.own(id).is_some()
    }

    /// Returns the name of the key and the number of the version that the server calls `id`.
    fn own(&self, id: &str) -> Option<(&str, u32)> {
        let own = self.versions.iter().find(|version| version.id.as_deref() == Some(id))?;
        Some((&self.id, own.number))
    }

    /// Opens it, once for all places: its passphrase is asked for once.
    ///
    /// # Errors
    /// As [`key_source::open`].
    pub(super) fn open(&self) -> anyhow::Result<Arc<dyn KeySource>> {
        if let Some(keys) = self.opened.get() {
            return Ok(keys.clone());
        }
        let keys = key_source::open(&self.spec, &self.opening)?;
        Ok(self.opened.get_or_init(|| keys).clone())
    }
}

/// Returns whether `error` came of a key server, or of its silence, rather than of its address: a
/// typing error ends a command, a server that is gone is a fact about it.
pub(super) fn is_of_server(error: &anyhow::Error) -> bool {
    let ours = |error: &KmipError| {
        use KmipError::{Address, File, Read};
        matches!(error, Address { .. } | File { .. } | Read { .. })
    };
    matches!(error.downcast_ref(), Some(KeyError::Kmip(error)) if !ours(error))
}

/// Looks at the key `spec`. A key file needs no passphrase for that; a key server is asked.
///
/// # Errors
/// A key file that is none, or that others may read; a server that does not answer.
pub(crate) fn one(spec: &str, opening: &OpeningFlags) -> anyhow::Result<Given> {
    let given = |id, held, versions| Given {
        id,
        held,
        versions,
        spec: spec.to_owned(),
        opening: opening.clone(),
        opened: OnceCell::new(),
    };
    if source::is_kmip(spec) {
        let keys = key_source::open(spec, opening)?;
        let version = |key: KeyRef| HeldVersion {
            number: key.version,
            made_at: keys.made_at(&key),
            id: Some(key.id),
        };
        let versions = keys.all()?.into_iter().map(|(key, _)| version(key)).collect();
        let place = without_secrets(spec);
        let held = Held { place, owner: None, mode: None, protection: Protection::Server };
        return Ok(given(keys.name()?, held, versions));
    }
    source::check_path(spec)?;
    let summary = KeyFile::inspect(spec)?;
    let version = |(number, at): &(u32, String)| HeldVersion {
        number: *number,
        id: None,
        made_at: Some(at.clone()),
    };
    let versions = summary.versions.iter().map(version).collect();
    Ok(given(summary.id.clone(), held(&summary)?, versions))
}

fn held(summary: &KeyFileSummary) -> anyhow::Result<Held> {
    let facts = fs::metadata(&summary.path)?;
    let owner = User::from_uid(Uid::from_raw(facts.uid())).ok().flatten();
    let names: Vec<String> =
        summary.holders.iter().filter_map(|holder| holder.name.clone()).collect();
    let protection = match &summary.token {
        Some(token) => Protection::Token { token: token.token_name() },
        None if !names.is_empty() => Protection::Holders { names },
        None if summary.has_passphrase() => Protection::Passphrase,
        None => Protection::Nothing,
    };
    let path = std::path::absolute(&summary.path)?;
    Ok(Held {
        place: path.display().to_string(),
        owner: Some(owner.map_or_else(|| facts.uid().to_string(), |owner| owner.name)),
        mode: Some(format!("{:04o}", facts.mode() & 0o7777)),
        protection,
    })
}

/// Returns every key that something in `places` is under, and every one that was named.
///
/// - `rotate_after`: days between rotations
pub(crate) fn of(places: &[Place], given: &[Given], rotate_after: u32, now: Timestamp) -> Vec<Key> {
    let mut used: BTreeMap<&str, BTreeMap<u32, u64>> = BTreeMap::new();
    for key in given {
        used.entry(&key.id).or_default();
    }
    for place in places {
        let mut here: Vec<(&str, u32)> = place
            .sealed
            .iter()
            .filter_map(|share| {
                let id = share.key_id.as_deref()?;
                let (name, number) =
                    given.iter().find_map(|key| key.own(id)).unwrap_or((id, share.key_version));
                // a table names one version, and has the numbers of all
                let is_table = place.kind == Kind::Table;
                Some((name, if is_table { share.key_version } else { number }))
            })
            .collect();
        here.sort_unstable();
        here.dedup();
        for (id, version) in here {
            *used.entry(id).or_default().entry(version).or_default() += 1;
        }
    }
    let key = |(id, used): (&str, BTreeMap<u32, u64>)| {
        let given = given.iter().find(|given| given.id == id);
        let held: BTreeMap<u32, &HeldVersion> = given
            .map(|given| given.versions.iter().map(|version| (version.number, version)).collect())
            .unwrap_or_default();
        let numbers: BTreeSet<u32> = used.keys().chain(held.keys()).copied().collect();
        let version = |number: u32| {
            let made_at = held.get(&number).and_then(|held| held.made_at.clone());
            Version {
                version: number,
                id: held.get(&number).and_then(|held| held.id.clone()),
                age_days: made_at.as_deref().and_then(|at| age_days(at, now)),
                made_at,
                places: used.get(&number).copied().unwrap_or_default(),
                is_held: held.contains_key(&number),
            }
        };
        let versions: Vec<Version> = numbers.into_iter().map(version).collect();
        let newest = versions.iter().rfind(|version| version.is_held);
        let due = newest.and_then(|newest| day_after(newest.made_at.as_deref()?, rotate_after));
        Key {
            id: id.to_owned(),
            held: given.map(|given| given.held.clone()),
            versions,
            is_overdue: due.is_some_and(|due| due < now),
            rotate_by: due.map(|due| due.strftime("%Y-%m-%d").to_string()),
        }
    };
    used.into_iter().map(key).collect()
}

fn age_days(made_at: &str, now: Timestamp) -> Option<i64> {
    let made_at: Timestamp = made_at.parse().ok()?;
    Some((now - made_at).get_seconds().max(0) / 86_400)
}

/// Returns the time `days` days after `made_at`.
fn day_after(made_at: &str, days: u32) -> Option<Timestamp> {
    let made_at: Timestamp = made_at.parse().ok()?;
    made_at.checked_add((i64::from(days) * 24).hours()).ok()
}

/// Returns whether `path` is a key file: these are left out of a search.
pub(crate) fn is_key_file(path: &Path) -> bool {
    KeyFile::inspect(path).is_ok()
}
