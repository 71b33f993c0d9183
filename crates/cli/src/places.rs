//! Places that commands look at: what each path is, and how it is looked at. An audit and the
//! status for a monitor are made of it.

mod columns;
mod findings;
pub(crate) mod keys;
mod previous_checks;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) mod tables;
#[cfg(feature = "volume")]
mod volumes;

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use jiff::Timestamp;
use sealstone_audit::facts::{Audit, Clear, Kind, Maker, NotVerified, Place, Unit, Verified};
use sealstone_cipher::Backend;
use sealstone_fields::MANIFEST_ENDING;
use sealstone_file::input::NotAFile;
use sealstone_file::walk;
use sealstone_files::beside;
use sealstone_message::without_secrets;
use sealstone_rocksdb::rest;
use sealstone_seal::account::{Account, FileAccount, Standing};
use sealstone_stores::at_rest::SealedServer;
use sealstone_stores::engine_of;

#[cfg(feature = "volume")]
use crate::directory_kind::is_volume;
use crate::directory_kind::{PlainServer, plain_server};
use crate::flags::{OpeningFlags, PlacesFlags, TablesFlags};
#[cfg(feature = "volume")]
use crate::volume::place::runtime_dir;
use findings::{checked, counted, share, unread};
use keys::Given;
pub(crate) use previous_checks::AUDIT_JSON;

/// A path, and what it is.
pub(crate) struct Found {
    /// The absolute path.
    pub(crate) path: PathBuf,
    what: What,
    /// Directory of the sealed volume that it is on, if that was named, too.
    pub(crate) on_volume: Option<PathBuf>,
}

/// Kind of what is at a path.
enum What {
    /// A RocksDB store.
    Store,
    /// Data of a server whose files can be sealed.
    Server(&'static dyn SealedServer),
    /// Data of a server of which nothing is sealed here.
    Plain(PlainServer),
    #[cfg(feature = "volume")]
    /// A sealed volume.
    Volume {
        /// Directory in which attached volumes are shown.
        runtime_dir: PathBuf,
    },
    /// A file with sealed columns.
    Columns,
    /// A directory with such files, of which these could not be looked at.
    Lost {
        /// Entries that could not be looked at.
        unread: Vec<Clear>,
    },
}

/// Places that were looked at.
pub(crate) struct Looked {
    /// The paths that were named.
    pub(crate) found: Vec<Found>,
    /// The facts about each, then about each table.
    pub(crate) places: Vec<Place>,
    /// The keys that were named.
    pub(crate) given: Vec<Given>,
}

/// Way of looking at places.
pub(crate) struct Looking<'a> {
    /// True if the keys check that all of it is whole.
    pub(crate) verify: bool,
    /// True if a place or a key that cannot be looked at is a fact among the others; a key that a
    /// server does not give always is.
    pub(crate) goes_on: bool,
    /// Told what is looked at next.
    pub(crate) say: &'a dyn Fn(&str),
}

/// Looks at every place that the flags name, and at the keys.
///
/// # Errors
/// A path that is nothing that can be sealed, a key file that cannot be looked at, an address that
/// is none; none of these where it goes on. What keeps a place from being looked at, and a key
/// server from showing a key, is part of the facts.
pub(crate) fn look(
    (flags, tables): (&PlacesFlags, &TablesFlags),
    looking: &Looking<'_>,
) -> anyhow::Result<Looked> {
    let TablesFlags { .. } = tables;
    let &Looking { verify, goes_on, say } = looking;
    let (given, mut lost) = keys_named(&flags.key, &flags.opening, goes_on)?;
    let previous = match flags.previous.as_deref().map(|path| (path, previous_checks::read(path))) {
        Some((path, Err(error))) if goes_on => {
            let place = Place::new(path.display().to_string(), Kind::Unknown, "audit");
            lost.push(unread(place, &error));
            None
        }
        read => read.map(|(_, previous)| previous).transpose()?,
    };
    let mut found = Vec::new();
    for path in &flags.places {
        match found_at(path, flags) {
            Ok(here) => found.extend(here),
            Err(error) if goes_on => {
                let place = Place::new(path.display().to_string(), Kind::Unknown, "unknown");
                lost.push(unread(place, &error));
            }
            Err(error) => return Err(error),
        }
    }
    #[cfg(feature = "volume")]
    put_on_volumes(&mut found);
    let one = |place: &Found| {
        say(&format!("looking at {}", place.path.display()));
        place.look(&given, verify)
    };
    let mut places: Vec<Place> = found.iter().map(one).collect();
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    places.extend(tables::looked_at(&tables.table, &tables.tls)?);
    if let Some(previous) = &previous {
        previous.fill(&mut places);
    }
    places.extend(lost);
    Ok(Looked { found, places, given })
}

/// Looks at the keys `specs`. Returns what was found, and a place for each that nothing is known of
/// since its server gave no key.
///
/// - `goes_on`: any other error is such a place, too
///
/// # Errors
/// As [`keys::one`], but for those of a key server.
pub(crate) fn keys_named(
    specs: &[String],
    opening: &OpeningFlags,
    goes_on: bool,
) -> anyhow::Result<(Vec<Given>, Vec<Place>)> {
    let (mut given, mut lost) = (Vec::new(), Vec::new());
    for spec in specs {
        match keys::one(spec, opening) {
            Ok(key) => given.push(key),
            Err(error) if goes_on || keys::is_of_server(&error) => {
                let place = Place::new(without_secrets(spec), Kind::Key, "key");
                lost.push(unread(place, &error));
            }
            Err(error) => return Err(error),
        }
    }
    Ok((given, lost))
}

/// Returns an audit of nothing by this program on this machine, made now.
pub(crate) fn audit_now(title: Option<String>) -> Audit {
    let program = format!("sealstone {}", env!("CARGO_PKG_VERSION"));
    Audit::new(title, program, crate::host::name(), Timestamp::now())
}

/// Recognises what is at `path`; a directory with files that have sealed columns stands for these
/// files.
///
/// # Errors
/// A path that is not there, or that is nothing that can be sealed.
fn found_at(path: &Path, flags: &PlacesFlags) -> anyhow::Result<Vec<Found>> {
    let absolute = std::path::absolute(path)
        .and_then(|path| path.metadata().map(|_| path))
        .with_context(|| format!("cannot look at {}", path.display()))?;
    let found = if absolute.is_dir() {
        match kind(&absolute, flags)? {
            Some(what) => vec![Found { path: absolute.clone(), what, on_volume: None }],
            None => files_below(&absolute)?,
        }
    } else if beside(&absolute, MANIFEST_ENDING).exists() {
        vec![Found { path: absolute.clone(), what: What::Columns, on_volume: None }]
    } else {
        Vec::new()
    };
    if found.is_empty() {
        bail!(
            "{} is no store, no data of a server, no sealed volume, and has no sealed columns\n\
             name such places; logs and other directories are searched with --search",
            path.display()
        );
    }
    Ok(found)
}

#[cfg_attr(not(feature = "volume"), expect(clippy::unnecessary_wraps))]
fn kind(dir: &Path, flags: &PlacesFlags) -> anyhow::Result<Option<What>> {
    #[cfg(feature = "volume")]
    if is_volume(dir) {
        return Ok(Some(What::Volume { runtime_dir: runtime_dir(&flags.runtime)? }));
    }
    let PlacesFlags { .. } = flags;
    Ok(match engine_of(dir) {
        Some(engine) => Some(engine.server().map_or(What::Store, What::Server)),
        None => plain_server(dir).map(What::Plain),
    })
}

/// Returns whether `error` is about something that holds no data: a socket, a pipe, a terminal.
pub(crate) fn holds_nothing(error: &std::io::Error) -> bool {
    use sealstone_file::Kind::{CharacterDevice, Fifo, Socket};
    matches!(NotAFile::of(error), Some(Socket | Fifo | CharacterDevice))
}

/// Returns the files below `dir` that have a manifest beside them, and the directory itself if
/// something in it cannot be looked at, or a manifest has lost its file.
fn files_below(dir: &Path) -> anyhow::Result<Vec<Found>> {
    let below = walk::below(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let names: BTreeSet<PathBuf> = below.iter().map(|found| dir.join(&found.name)).collect();
    let (mut found, mut lost) = (Vec::new(), Vec::new());
    let mut lose = |path: &Path, why: String| {
        let name = path.strip_prefix(dir).unwrap_or(path).display().to_string();
        lost.push(Clear { name, bytes: None, remark: Some(why), values: None });
    };
    for walk::Found { name, bytes } in below {
        let path = dir.join(name);
        let text = path.to_string_lossy();
        match bytes {
            Err(error) if holds_nothing(&error) => {}
            Err(error) => lose(&path, error.to_string()),
            Ok(_) if names.contains(&beside(&path, MANIFEST_ENDING)) => {
                found.push(Found { path, what: What::Columns, on_volume: None });
            }
            Ok(_) => match text.strip_suffix(MANIFEST_ENDING) {
                Some(file) if !names.contains(Path::new(file)) => {
                    lose(&path, "the file that it belongs to is not there".into());
                }
                _ => {}
            },
        }
    }
    if !found.is_empty() && !lost.is_empty() {
        let what = What::Lost { unread: lost };
        found.push(Found { path: dir.to_owned(), what, on_volume: None });
    }
    Ok(found)
}

impl Found {
    /// Looks at the place; what keeps it from being looked at is part of the answer.
    fn look(&self, given: &[Given], verify: bool) -> Place {
        let mut place = match &self.what {
            What::Store => self.store(given, verify),
            What::Server(server) => self.server(*server),
            What::Plain(server) => self.plain(server),
            #[cfg(feature = "volume")]
            What::Volume { runtime_dir } => volumes::look(&self.path, runtime_dir, given, verify),
            What::Columns => columns::look(&self.path, given, verify),
            What::Lost { unread } => {
                let name = self.path.display().to_string();
                let mut place = Place::new(name, Kind::Columns, "files with sealed columns");
                place.unread.clone_from(unread);
                place
            }
        };
        if let Some(volume) = &self.on_volume {
            place.on_volume = Some(volume.display().to_string());
            // on its file system everything is sealed; a link may lead to another one
            place.clear.retain(|clear| leads_elsewhere(&self.path, &clear.name));
            place.beside.retain(|beside| leads_elsewhere(&self.path, &beside.name));
        }
        place
    }

    fn store(&self, given: &[Given], verify: bool) -> Place {
        let mut place = Place::new(self.path.display().to_string(), Kind::Store, "RocksDB");
        let status = match rest::status(&self.path) {
            Ok(status) => status,
            Err(error) => return unread(place, &error.into()),
        };
        place.sealed = status
            .totals
            .iter()
            .map(|total| {
                let mut share = share(total.cipher, None, total.key_version);
                share.key_id = Some(total.key_id.clone());
                share.maker = Maker::of(total.module.clone());
                (share.count, share.bytes) = (total.files, Some(total.stored_bytes));
                share
            })
            .collect();
        let bytes_of = |name: &String| {
            status.files.iter().find(|file| file.name == *name).map(|file| file.stored_bytes)
        };
        let clear = |name: &String| Clear {
            name: name.clone(),
            bytes: bytes_of(name),
            remark: None,
            values: None,
        };
        place.clear = status.not_sealed.iter().map(clear).collect();
        place.unread = status.unreadable.iter().map(clear).collect();
        place.counted = counted(&self.path);
        place.verified = checked(&place, given, verify, |keys| {
            let report = rest::verify(&self.path, &*keys, Backend::auto(), None, &mut |_| {})?;
            let said = report.failures.iter().map(|one| format!("{}: {}", one.file, one.what));
            let first = |line: String| line.lines().next().unwrap_or_default().to_owned();
            Ok((said.map(first).collect(), report.failures.len() as u64))
        });
        place
    }

    fn server(&self, server: &dyn SealedServer) -> Place {
        let name = self.path.display().to_string();
        let mut place = Place::new(name, Kind::Server, server.product());
        let why = if server.notices_changes() { NotVerified::WhenRead } else { NotVerified::Never };
        place.verified = Verified::Not { why };
        let account = match server.account(&self.path) {
            Ok(account) => account,
            Err(error) => return unread(place, &anyhow::Error::from_boxed(error)),
        };
        place.sealed = account
            .sealed
            .iter()
            .map(|sealed| {
                let mut share = share(sealed.cipher, Some(sealed.mode), sealed.key_version);
                share.key_id.clone_from(&account.key_id);
                // pages have no room for it
                share.maker = Maker::NotRecorded;
                share.unit = Unit::Blocks;
                (share.count, share.bytes) = (sealed.blocks, Some(sealed.bytes));
                share
            })
            .collect();
        let with = |standing: Standing| {
            let files = account.files.iter().filter(move |file| file.standing == standing);
            files.map(clear_file)
        };
        // what nobody knows is no file of the server, and may be anything
        let unknown = with(Standing::Unknown).filter(|file| file.bytes != Some(0));
        place.clear = with(Standing::Clear).chain(unknown).collect();
        place.unread = with(Standing::Unread).collect();
        place.beside = beside_it(&account);
        place.counted = counted(&self.path);
        place
    }

    fn plain(&self, server: &PlainServer) -> Place {
        let name = self.path.display().to_string();
        let mut place = Place::new(name, Kind::Server, server.name);
        place.verified = Verified::Not { why: NotVerified::NotAsked };
        match walk::below(&self.path) {
            Ok(files) => {
                for walk::Found { name, bytes } in files {
                    let name = name.to_string_lossy().into_owned();
                    let remark = Some(server.remedy().to_owned());
                    let clear = Clear { name, bytes: bytes.ok(), remark, values: None };
                    add(&mut place.clear, clear);
                }
                place
            }
            Err(error) => unread(place, &error.into()),
        }
    }
}

/// Returns whether `name` in the directory `dir`, or anything below it, is on another file system
/// than `dir`, or is not there.
fn leads_elsewhere(dir: &Path, name: &str) -> bool {
    let device = |path: &Path| path.metadata().map(|found| found.dev());
    let Ok(own) = device(dir) else { return true };
    let is_own = |path: &Path| device(path).is_ok_and(|device| device == own);
    let top = dir.join(name);
    let below = if top.is_dir() { walk::below(&top) } else { Ok(Vec::new()) };
    !is_own(&top)
        || below.map_or(true, |files| files.iter().any(|file| !is_own(&top.join(&file.name))))
}

/// Adds `clear` to `list`, in which the files of one directory at the top are one entry.
fn add(list: &mut Vec<Clear>, clear: Clear) {
    let name = clear.name.split_inclusive('/').next().unwrap_or(&clear.name).to_owned();
    match list.iter_mut().find(|one| one.name == name) {
        Some(one) => one.bytes = Some(one.bytes.unwrap_or(0) + clear.bytes.unwrap_or(0)),
        None => list.push(Clear { name, ..clear }),
    }
}

/// Returns the files that no encryptor gets to see, a line for each directory, and what the server
/// keeps elsewhere.
fn beside_it(account: &Account) -> Vec<Clear> {
    let mut found: Vec<Clear> = Vec::new();
    for file in account.files.iter().filter(|file| file.standing == Standing::AlwaysClear) {
        add(&mut found, clear_file(file));
    }
    found.extend(account.elsewhere.iter().map(|(what, step)| Clear {
        name: (*what).to_owned(),
        bytes: None,
        remark: Some((*step).to_owned()),
        values: None,
    }));
    found
}

fn clear_file(file: &FileAccount) -> Clear {
    let why = file.unread.clone().or_else(|| file.other.clone());
    Clear {
        name: file.name.clone(),
        bytes: Some(file.bytes),
        remark: why.or_else(|| file.remedy.map(str::to_owned)),
        values: None,
    }
}

/// Records of each place that is no volume which of the volumes among them it is on.
#[cfg(feature = "volume")]
fn put_on_volumes(found: &mut [Found]) {
    let mut mounts = Vec::new();
    for one in found.iter() {
        if let What::Volume { runtime_dir } = &one.what {
            let mounted = volumes::mounts(&one.path, runtime_dir).into_iter();
            mounts.extend(mounted.map(|at| (at, one.path.clone())));
        }
    }
    for one in found.iter_mut().filter(|found| !matches!(found.what, What::Volume { .. })) {
        let path = one.path.canonicalize().unwrap_or_else(|_| one.path.clone());
        // what is mounted below the mount, or over it, is not on the volume
        let device = |path: &Path| path.metadata().map(|found| found.dev()).ok();
        let is_on = |at: &Path| path.starts_with(at) && device(&path) == device(at);
        let on = mounts.iter().filter(|(at, _)| is_on(at));
        // the innermost
        let on = on.max_by_key(|(at, _)| at.components().count());
        one.on_volume = on.map(|(_, volume)| volume.clone());
    }
}
