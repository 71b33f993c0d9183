//! Contents of the copy of a store: the live set that its MANIFEST names, its logs and settings,
//! each with the id under which it was sealed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use sealstone_seal::catalogue::FileId;
use sealstone_seal::{CATALOGUE_NAMES, FileKind, STORE_ID_BYTES, inspect, rocksdb_name};

use super::error::UnsealError;
use crate::catalogue::View;
use crate::place;
use crate::rest::files_on_disk::numbered;
use crate::rest::files_on_disk::{lengths, list, read_header};
use crate::rest::live_set::{log_directory, newest_options, other_logs};
use crate::rest::source::Source;

/// One file to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// Its name in the copy.
    pub(super) name: String,
    /// Path at which it is stored.
    pub(super) path: PathBuf,
    pub(super) kind: FileKind,
    /// Id under which it is sealed; zeros for a log that lost its header. A file of one id never
    /// changes its content, apart from appends to logs and manifests.
    pub(super) file_id: FileId,
    pub(super) stored_bytes: u64,
    /// Length of its content, where the MANIFEST has it.
    pub(super) bytes: Option<u64>,
}

impl Item {
    /// Returns whether it is as large as the data, and never changes once it is there.
    pub(super) fn is_data(&self) -> bool {
        matches!(self.kind, FileKind::Table | FileKind::Blob)
    }
}

/// Everything to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The store's id.
    pub(super) store: [u8; STORE_ID_BYTES],
    /// The name that `CURRENT` is to hold.
    pub(super) manifest: String,
    /// Every file but `CURRENT`.
    pub(super) items: Vec<Item>,
    /// Names of its column families.
    pub(super) families: Vec<String>,
    /// Files in its directory that are not needed.
    pub(super) left_out: Vec<String>,
}

impl Plan {
    /// Lists everything to copy from `source` in its current state.
    pub(super) fn new(source: &Source) -> Result<Self, UnsealError> {
        let (manifest, live) = source.live_set()?;
        let cannot = |error| source.unreadable(format!("cannot read the directory: {error}"));
        let present = lengths(&source.dir).map_err(cannot)?;
        let mut found =
            Finder { source, view: View::new(&*source.keys, source.backend), items: Vec::new() };
        let elsewhere = live.tables().filter(|table| table.path_id > 0).count();
        if elsewhere > 0 {
            let found = format!(
                "{elsewhere} of its tables are in further directories (db_paths, cf_paths)"
            );
            return Err(UnsealError::Spread { dir: source.dir.clone(), found });
        }
        let current = found.id("CURRENT", &source.dir.join("CURRENT"), FileKind::Control)?;
        for table in live.tables() {
            let names = [format!("{:06}.sst", table.number), format!("{:06}.ldb", table.number)];
            found.live(&names, Some(table.bytes), &present, &manifest)?;
        }
        for (number, bytes) in live.blob_files() {
            found.live(&[format!("{number:06}.blob")], Some(bytes), &present, &manifest)?;
        }
        for (name, path, stored_bytes) in logs(source, &present, live.first_log_needed())? {
            found.add(name, path, stored_bytes, None)?;
        }
        for (name, stored_bytes) in &present {
            let is_settings =
                name == "IDENTITY" || (name.starts_with("OPTIONS-") && !name.ends_with(".dbtmp"));
            if *name == manifest || (is_settings && rocksdb_name(name).0 == FileKind::Control) {
                found.add(name.clone(), source.dir.join(name), *stored_bytes, None)?;
            }
        }
        let items = found.items;
        let copied: BTreeSet<&str> = items.iter().map(|item| item.name.as_str()).collect();
        let is_known = |name: &str| {
            copied.contains(name)
                || ["CURRENT", "LOCK"].contains(&name)
                || CATALOGUE_NAMES.contains(&name)
        };
        let all = list(&source.dir).map_err(crate::rest::source::SourceError::from)?;
        let left_out =
            all.files.into_iter().map(|(name, _)| name).filter(|name| !is_known(name)).collect();
        let families = live.families.values().map(|family| family.name.clone()).collect();
        Ok(Self { store: current.1, manifest, items, families, left_out })
    }

    /// Returns whether both make the same copy.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.store == other.store && self.manifest == other.manifest && self.items == other.items
    }

    /// Returns the stored bytes of everything.
    pub(super) fn stored_bytes(&self) -> u64 {
        self.items.iter().map(|item| item.stored_bytes).sum()
    }
}

/// Adds files to a plan, each checked against the catalogue.
struct Finder<'a> {
    source: &'a Source,
    view: View<'a>,
    items: Vec<Item>,
}

impl Finder<'_> {
    /// Adds a file of the live set, under the first of `names` that it has.
    fn live(
        &mut self,
        names: &[String],
        bytes: Option<u64>,
        present: &BTreeMap<String, u64>,
        manifest: &str,
    ) -> Result<(), UnsealError> {
        let Some((name, stored_bytes)) =
            names.iter().find_map(|name| Some((name, *present.get(name)?)))
        else {
            let path = self.source.dir.join(&names[0]);
            let text = format!(
                "{}: missing: {manifest} names it\nrestore the store from a backup",
                path.display()
            );
            return Err(self.source.unreadable(text).into());
        };
        self.add(name.clone(), self.source.dir.join(name), stored_bytes, bytes)
    }

    fn add(
        &mut self,
        name: String,
        path: PathBuf,
        stored_bytes: u64,
        bytes: Option<u64>,
    ) -> Result<(), UnsealError> {
        // files that wait to be removed, or were left by a crash, are not part of the store
        if self.view.is_leaving(&path.to_string_lossy()) {
            return Ok(());
        }
        let kind = rocksdb_name(&name).0;
        let (file_id, _) = self.id(&name, &path, kind)?;
        self.items.push(Item { name, path, kind, file_id, stored_bytes, bytes });
        Ok(())
    }

    /// Returns the id under which a file is sealed, which the catalogue must list, and that of its
    /// store.
    fn id(
        &mut self,
        name: &str,
        path: &std::path::Path,
        kind: FileKind,
    ) -> Result<(FileId, [u8; STORE_ID_BYTES]), UnsealError> {
        let header = place::open(path).and_then(|file| read_header(&file));
        let header = header.map_err(|error| {
            self.source.unreadable(format!("{name}: cannot be read: {error}\ncheck the device"))
        })?;
        match inspect(&header) {
            Ok(info) => {
                let checked = self.view.check(&path.to_string_lossy(), &info);
                checked.map_err(|refusal| self.source.refused(refusal))?;
                Ok((info.file_id, info.identity.store))
            }
            // one that a crash caught at its creation: opening it shows whether that can be
            Err(_) if kind == FileKind::Log => Ok(Default::default()),
            Err(error) => {
                Err(self.source.unreadable(format!("{}: {error}", path.display())).into())
            }
        }
    }
}

/// Returns the name, place and stored length of every log from number `first` on, wherever the
/// store keeps its logs.
fn logs(
    source: &Source,
    present: &BTreeMap<String, u64>,
    first: u64,
) -> Result<Vec<(String, PathBuf, u64)>, UnsealError> {
    let options = newest_options(&source.dir, source.contents()).ok().flatten().unwrap_or_default();
    let named = options.lines().find_map(|line| line.trim().strip_prefix("wal_dir="));
    // if it cannot be read, copying the file reports the fault
    let elsewhere = log_directory(&source.dir, source.contents()).unwrap_or_default();
    if let Some(relative) = named.filter(|named| !named.is_empty() && !named.starts_with('/')) {
        let found = format!("its logs are in {relative}, from wherever its program was started");
        return Err(UnsealError::Spread { dir: source.dir.clone(), found });
    }
    let mut logs = BTreeMap::new();
    let mut add = |dir: &std::path::Path, lengths: &BTreeMap<String, u64>| {
        for (name, bytes) in lengths {
            if let Some(number) = numbered(name, "log").filter(|number| *number >= first) {
                logs.entry(number).or_insert((name.clone(), dir.join(name), *bytes));
            }
        }
    };
    add(&source.dir, present);
    if let Some((path, what)) = other_logs(&source.dir, source.contents()) {
        return Err(source.unreadable(format!("{path}: {what}")).into());
    }
    if let Some(dir) = elsewhere {
        let there = lengths(&dir).map_err(|error| {
            source.unreadable(format!(
                "the directory of its logs, {}, cannot be read: {error}",
                dir.display()
            ))
        })?;
        add(&dir, &there);
    }
    Ok(logs.into_values().collect())
}
