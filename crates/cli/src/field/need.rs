//! Check of whether files with sealed columns, and tables of databases, still need a version of a
//! key before it is retired.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};
#[cfg(any(feature = "mysql", feature = "postgres"))]
use sealstone_fields::migration::{Need, need};
use sealstone_fields::pass::Reject;
use sealstone_fields::pass::{Listener, OnMisfit, Plan, Work};
use sealstone_fields::policy::{Column, Method, Table, Tweak};
use sealstone_fields::{FileLayout, MANIFEST_ENDING, Manifest, Misfit};
use sealstone_file::{input, walk};
use sealstone_files::{AtOnce, Reading, Target, beside, check_parquet};
use sealstone_keys::KeyRef;

#[cfg(any(feature = "mysql", feature = "postgres"))]
use crate::flags::ServerTls;
use crate::retirement::RetireError;
#[cfg(any(feature = "mysql", feature = "postgres"))]
use crate::table_server::{address_and_table, connect};

/// Looks at files with sealed columns, and returns how many there are, none of which needs `key`.
///
/// - `named`: sealed files, their manifests, or directories, of which everything below is looked at
/// - `source_name`: the key source as the user named it, for the command in an error
pub(crate) fn check_files_unneeding(
    key: &KeyRef,
    named: &[PathBuf],
    source_name: &str,
) -> anyhow::Result<u64> {
    let unread = || format!("key {key} was not retired");
    let mut found = Vec::new();
    for path in named {
        let before = found.len();
        if path.is_dir() {
            found.extend(below(path).with_context(unread)?);
        } else {
            found.push(manifest_of(path).with_context(unread)?);
        }
        if found.len() == before {
            let (key, dir) = (key.clone(), path.clone());
            let want = "directory of files with sealed columns, each with its manifest beside it";
            return Err(RetireError::NothingSealed { key, dir, what: "column", want }.into());
        }
    }
    let mut under = Vec::new();
    for path in &found {
        let manifest = read(path).with_context(unread)?;
        let files = sealed_by_any(path);
        if manifest.key == *key {
            under.push(files.into_iter().next().unwrap_or_else(|| path.clone()));
            continue;
        }
        for file in files {
            // a missing file needs nothing; an unreadable file might
            let cannot = || format!("cannot look at {}", file.display());
            let is_there = walk::open(&file).with_context(cannot).with_context(unread)?.is_some();
            if is_there
                && let Some(Under { place, column }) =
                    first_under(key, &manifest, &file).with_context(unread)?
            {
                let (key, source_name) = (key.clone(), source_name.into());
                let (place, column) = (place.into(), column.into());
                return Err(RetireError::Values { key, source_name, file, place, column }.into());
            }
        }
    }
    match under.first() {
        None => Ok(found.len() as u64),
        Some(example) => Err(RetireError::Columns {
            key: key.clone(),
            source_name: source_name.to_owned(),
            files: under.len() as u64,
            example: example.clone(),
        }
        .into()),
    }
}

fn read(path: &Path) -> anyhow::Result<Manifest> {
    let text =
        input::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Manifest::parse(&text, path).with_context(|| format!("manifest {}", path.display()))
}

/// Returns the manifests below `dir`, and the manifests of files that links there lead to.
fn below(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = BTreeSet::new();
    let cannot = || format!("cannot read directory {}", dir.display());
    for walk::Found { name, bytes } in walk::below(dir).with_context(cannot)? {
        let path = dir.join(name);
        bytes.with_context(|| format!("cannot look at {}", path.display()))?;
        if sealed_by(&path).is_some() {
            found.insert(path);
        } else if path.is_symlink() && !beside(&path, MANIFEST_ENDING).exists() {
            found.extend(of_linked(&path));
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns the manifest beside the file that the link `path` leads to, if there is one.
fn of_linked(path: &Path) -> Option<PathBuf> {
    let manifest = beside(&path.canonicalize().ok()?, MANIFEST_ENDING);
    manifest.exists().then_some(manifest)
}

/// Returns the files that the manifest `path` may belong to: the file beside it, and if it is a
/// link, the file beside its target.
fn sealed_by_any(path: &Path) -> Vec<PathBuf> {
    let linked = path.canonicalize().ok().filter(|_| path.is_symlink());
    [Some(path.to_owned()), linked]
        .into_iter()
        .flatten()
        .filter_map(|path| sealed_by(&path))
        .collect()
}

/// Returns the file that the manifest `path` is beside, if it is named like one.
fn sealed_by(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.as_bytes().strip_suffix(MANIFEST_ENDING.as_bytes())?;
    Some(path.with_file_name(OsStr::from_bytes(name)))
}

/// Returns the manifest of the file `path`, or itself where it is one.
fn manifest_of(path: &Path) -> anyhow::Result<PathBuf> {
    let beside = beside(path, MANIFEST_ENDING);
    if beside.exists() {
        return Ok(beside);
    }
    if let Some(manifest) = of_linked(path) {
        return Ok(manifest);
    }
    if path.extension().is_some_and(|ending| ending == "toml") {
        return Ok(path.to_owned());
    }
    if !path.exists() {
        bail!(
            "cannot read {}: there is no such file\ngive files with sealed columns, or directories \
             of such",
            path.display()
        );
    }
    bail!(
        "no manifest {}: it says under which version of which key {} is sealed\n\
         it was written beside the file; name it instead, or restore it from a backup",
        beside.display(),
        path.display()
    )
}

/// Location of a value that is under the key.
struct Under {
    /// Such as `line 7`.
    place: String,
    column: String,
}

/// Returns the first authenticated value of `file` that is under `key`. Each value names its own
/// key: rows that were added since may be under another key than the manifest's.
fn first_under(key: &KeyRef, manifest: &Manifest, file: &Path) -> anyhow::Result<Option<Under>> {
    let Table { name, cipher, columns, .. } = &manifest.table;
    let alone = |column: &Column| Column { tweak: Tweak::Column, index: None, ..column.clone() };
    let columns: Vec<Column> =
        columns.iter().filter(|column| matches!(column.method, Method::Aead)).map(alone).collect();
    if columns.is_empty() {
        return Ok(None);
    }
    if manifest.layout == FileLayout::Parquet {
        check_parquet(file)?;
    }
    let plan = Plan { table: Table::new(name, cipher, columns)?, work: Work::Find(key.clone()) };
    let mut first = None;
    let mut on_reject = |reject: &Reject| {
        first.get_or_insert_with(|| reject.clone());
        Ok(())
    };
    let stop = AtomicBool::new(false);
    let mut listener = Listener { on_reject: &mut on_reject, on_progress: &mut |_| {} };
    let target =
        Target { output: &mut io::sink(), path: None, mac: None, at_once: AtOnce::default() };
    let mut reading = Reading::open(file, manifest.layout)?;
    let place = reading.layout().place();
    reading.pass(file, &plan, OnMisfit::Report, &stop, target, &mut listener)?;
    let Some(Reject { place: number, column, misfit }) = first else { return Ok(None) };
    let place = format!("{place} {number}");
    match misfit {
        Misfit::Under(_) => Ok(Some(Under { place, column })),
        other => bail!(
            "cannot tell which key {}, {place}, column {column} is under: {other}\n\
             use the version of sealstone that wrote it, or a newer one",
            file.display()
        ),
    }
}

/// Looks at sealed tables, each `ADDRESS#TABLE`, and returns how many there are, none of which
/// needs `key`.
///
/// - `names`: every name that a version of the key has
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) fn check_tables_unneeding(
    key: &KeyRef,
    names: &[String],
    named: &[String],
    tls: &ServerTls,
    source_name: &str,
) -> anyhow::Result<u64> {
    for text in named {
        let (address, table) = address_and_table(text)?;
        let unread = || format!("key {key} was not retired");
        let mut server = connect(address, table, tls).with_context(unread)?;
        let found = match need(&mut *server, table, key, names).with_context(unread)? {
            Need::Nothing => continue,
            Need::Values(row) => format!("has values under it, such as in row {row}"),
            Need::Unknown(row) => format!(
                "has values of another version of sealstone, such as in row {row}, which may be \
                 under it"
            ),
            Need::Manifest => "is sealed under it, as its row of sealstone_fields says".to_owned(),
        };
        return Err(RetireError::Table {
            key: key.clone(),
            source_name: source_name.into(),
            table: table.into(),
            server: server.place().into(),
            address: if address.starts_with('@') { address } else { "ADDRESS" }.into(),
            found: found.into(),
        }
        .into());
    }
    Ok(named.len() as u64)
}
