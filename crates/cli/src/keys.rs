//! `sealstone keys`: makes, shows, rotates and retires keys. Secrets never appear.

#[cfg(feature = "kmip")]
mod kmip;
#[cfg(feature = "mongodb")]
mod mongodb;

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::bail;
use sealstone_cipher::backend::Backend;
use sealstone_cipher::registry;
use sealstone_keys::file::{KeyFile, Summary};
use sealstone_keys::{Cost, KeyError, KeyRef, KeySource, Secret, check_key_id, source};
use sealstone_rocksdb::rest;
use sealstone_seal::{Layout, SealedFile};
use serde_json::{Value, json};

use crate::flags::KeysCommand;
use crate::message::{Answer, print, print_json, say};
use crate::table::Table;
use crate::{key_source, terminal};

/// Schema of the JSON that these commands print.
const SCHEMA: u32 = 1;

/// Runs one of the commands.
pub(crate) fn run(command: &KeysCommand) -> anyhow::Result<Answer> {
    use KeysCommand::{Check, Export, Import, List, New, Retire, Rotate, Show};
    if let Some(answer) = on_server(command)? {
        return Ok(answer);
    }
    match command {
        New { key, id, cipher, protect, passphrase, json } => {
            let file = key_file(key)?;
            if let Some(cipher) = cipher {
                bail!("a key file is not bound to {cipher}: its key serves every cipher\nleave --cipher out");
            }
            let passphrase = key_source::new_passphrase(*protect, passphrase.passphrase_file.as_deref(), file)?;
            let id = id.clone().unwrap_or_else(|| some_id(file));
            let key = match &passphrase {
                Some(passphrase) => KeyFile::create_protected(file, &id, passphrase, Cost::default())?,
                None => KeyFile::create(file, &id)?,
            };
            let needed = if passphrase.is_some() { "this file and its passphrase" } else { "this file" };
            say(&format!(
                "made key {id} in {}; without {needed} nothing sealed under it can be read: keep a copy apart from the data",
                file.display()
            ));
            show(&key.summary(), *json)
        }
        List { keys, json } => list(keys, *json),
        Show { key, json } => show(&KeyFile::inspect(key_file(key)?)?, *json),
        Rotate { key, passphrase, json } => {
            let key = key_source::open_file(key_file(key)?, passphrase.passphrase_file.as_deref())?;
            rotate(&key, *json)
        }
        Retire { key, version, store, unchecked: _, passphrase, json } => {
            let key = key_source::open_file(key_file(key)?, passphrase.passphrase_file.as_deref())?;
            retire(&key, *version, store, *json)
        }
        Export { key, out, version, protect, out_passphrase_file, unprotected, passphrase, json } => {
            let key = key_source::open_file(key_file(key)?, passphrase.passphrase_file.as_deref())?;
            let new = match out_passphrase_file {
                None if !protect => {
                    if key.summary().protection.is_some() && !unprotected {
                        bail!(
                            "{} has a passphrase, and {} would have none\n\
                             give it one with --protect or --out-passphrase-file, or say --unprotected",
                            key.describe(),
                            out.display()
                        );
                    }
                    None
                }
                named => key_source::new_passphrase(*protect, named.as_deref(), out)?,
            };
            let made = key.export(*version, out, new.as_ref().map(|passphrase| (passphrase, Cost::default())))?;
            let (version, _) = made.versions().next().expect("one version");
            say(&format!("wrote key {} version {version} into {}", made.id(), out.display()));
            show(&made.summary(), *json)
        }
        Import { key, from, version, from_passphrase_file, passphrase, json } => {
            let key = key_source::open_file(key_file(key)?, passphrase.passphrase_file.as_deref())?;
            let from = key_source::open_file(from, from_passphrase_file.as_deref())?;
            match key.import(&from, *version)?.as_slice() {
                [] => say(&format!("{} already has all of it", key.describe())),
                added => say(&format!("{} now has {} more", key.describe(), versions(added))),
            }
            show(&key.summary(), *json)
        }
        Check { key, passphrase, json } => check(key, passphrase.passphrase_file.as_deref(), *json),
    }
}

/// Runs the command if it is about a key on a key server and differs there from other sources.
#[cfg(feature = "kmip")]
fn on_server(command: &KeysCommand) -> anyhow::Result<Option<Answer>> {
    use KeysCommand::{Export, Import, New, Retire, Rotate, Show};
    let answer = match command {
        New { key, id, cipher, json, .. } if source::is_kmip(key) => {
            kmip::new(key, id.as_deref(), cipher.as_deref(), *json)?
        }
        Show { key, json } if source::is_kmip(key) => kmip::show(key, *json)?,
        Rotate { key, json, .. } if source::is_kmip(key) => kmip::rotate(key, *json)?,
        Retire { key, version, store, json, .. } if source::is_kmip(key) => kmip::retire(key, *version, store, *json)?,
        Export { key, .. } | Import { key, .. } if source::is_kmip(key) => {
            bail!(
                "keys on a key server are not moved into or out of key files\n\
                 stores are sealed under keys derived from them; use the server's own tools for copies"
            )
        }
        _ => return Ok(None),
    };
    Ok(Some(answer))
}

#[cfg(not(feature = "kmip"))]
fn on_server(_: &KeysCommand) -> anyhow::Result<Option<Answer>> {
    Ok(None)
}

/// The keys on the server `spec`.
#[cfg(feature = "kmip")]
fn server_keys(spec: &str) -> anyhow::Result<Vec<Value>> {
    kmip::list(spec)
}

#[cfg(not(feature = "kmip"))]
fn server_keys(spec: &str) -> anyhow::Result<Vec<Value>> {
    Err(KeyError::NoKmip { spec: spec.to_owned() }.into())
}

/// The key file that `spec` names, for what is done to key files; a key server is not one.
fn key_file(spec: &str) -> anyhow::Result<&Path> {
    if source::is_kmip(spec) {
        return Err(KeyError::NoKmip { spec: spec.to_owned() }.into());
    }
    Ok(Path::new(spec))
}

/// A name for a key: the file's own, and four random bytes so that two keys are not called the same by accident.
fn some_id(file: &Path) -> String {
    let stem = file.file_stem().and_then(|stem| stem.to_str()).filter(|stem| stem.len() <= 40);
    let stem = stem.filter(|stem| check_key_id(stem).is_ok()).unwrap_or("key");
    format!("{stem}-{:08x}", RandomState::new().hash_one(file) as u32)
}

fn facts(key: &Summary) -> Value {
    let versions: Vec<Value> =
        key.versions.iter().map(|(version, created)| json!({"version": version, "created": created})).collect();
    json!({"file": key.path, "id": key.id, "protected": key.protection.is_some(), "versions": versions})
}

fn show(key: &Summary, json: bool) -> anyhow::Result<Answer> {
    if json {
        let mut shown = facts(key);
        shown["schema"] = SCHEMA.into();
        print_json(&shown)?;
    } else {
        let mut table = Table::new(["KEY", ">VERSION", "MADE"]);
        for (version, created) in &key.versions {
            table.row([&key.id, &version.to_string(), &printable(created)]);
        }
        print(&table.render(terminal::stdout()))?;
    }
    Ok(Answer::Done)
}

fn list(specs: &[String], json: bool) -> anyhow::Result<Answer> {
    let mut keys = Vec::new();
    let mut on_servers = Vec::new();
    for spec in specs {
        let path = Path::new(spec);
        if source::is_kmip(spec) {
            on_servers.extend(server_keys(spec)?);
        } else if path.is_dir() {
            keys.extend(key_files_in(path)?);
        } else {
            keys.push(KeyFile::inspect(path)?);
        }
    }
    if json {
        let all: Vec<Value> = keys.iter().map(facts).chain(on_servers).collect();
        print_json(&json!({"schema": SCHEMA, "keys": all}))?;
        return Ok(Answer::Done);
    }
    let mut text = String::new();
    if !keys.is_empty() {
        text.push_str(&file_table(&keys));
    }
    if !on_servers.is_empty() {
        text.push_str(&server_table(&on_servers));
    }
    print(&text)?;
    Ok(Answer::Done)
}

fn file_table(keys: &[Summary]) -> String {
    let mut table = Table::new(["KEY", ">VERSIONS", ">NEWEST", "MADE", "PASSPHRASE", "FILE"]);
    for key in keys {
        let (newest, created) = key.versions.last().expect("a key has a version");
        table.row([
            key.id.clone(),
            key.versions.len().to_string(),
            newest.to_string(),
            printable(created),
            if key.protection.is_some() { "yes" } else { "no" }.to_string(),
            key.path.display().to_string(),
        ]);
    }
    table.render(terminal::stdout())
}

fn server_table(keys: &[Value]) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| "-".to_string(), printable);
    let mut table = Table::new(["KEY", "CIPHER", "STATE", "ID ON THE SERVER"]);
    for key in keys {
        table.row([text(&key["names"][0]), text(&key["cipher"]), text(&key["state"]), text(&key["id"])]);
    }
    table.render(terminal::stdout())
}

/// The key files directly in `dir`, by name; other files are passed over.
fn key_files_in(dir: &Path) -> anyhow::Result<Vec<Summary>> {
    let cannot = |error: std::io::Error| anyhow::anyhow!("cannot read directory {}: {error}", dir.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(cannot)? {
        paths.push(entry.map_err(cannot)?.path());
    }
    paths.sort();
    let mut keys = Vec::new();
    for path in paths {
        match KeyFile::inspect(&path) {
            Ok(key) => keys.push(key),
            // something else, or one that went away meanwhile
            Err(KeyError::Garbled { .. } | KeyError::NoFile { .. }) => {}
            // open to others or theirs: a key file that is must not be passed over in silence, and other files often are
            Err(KeyError::Permissions { .. } | KeyError::Owner { .. })
                if path.extension().is_none_or(|ending| ending != "key") => {}
            Err(error) => return Err(error.into()),
        }
    }
    if keys.is_empty() {
        bail!("no key file in {}\nmake one with: sealstone keys new FILE", dir.display());
    }
    Ok(keys)
}

fn rotate(key: &KeyFile, json: bool) -> anyhow::Result<Answer> {
    let new = key.rotate()?;
    let file = key.path().display();
    say(&format!(
        "key {new} seals new files from now on; keep a new copy of {file}\n\
         rewrap existing files with: sealstone rest rotate DIR --key {file}"
    ));
    show(&key.summary(), json)
}

/// Retires a version that protects nothing in `stores`; with none given, the user asked for no check.
fn retire(key: &KeyFile, version: u32, stores: &[PathBuf], json: bool) -> anyhow::Result<Answer> {
    let wanted = KeyRef { id: key.id().to_owned(), version };
    // an error in the version itself is reported before stores are read
    key.get(&wanted)?;
    if key.current()?.0 == wanted {
        return Err(KeyError::Newest { key: wanted, place: key.describe() }.into());
    }
    let checked = still_protected(&wanted, &|| key.get(&wanted), stores, &key.path().display().to_string())?;
    key.retire(version)?;
    say(&match stores {
        [] => format!("key {wanted} is retired; no store was checked"),
        _ => format!("key {wanted} is retired; none of {checked} sealed files is under it"),
    });
    show(&key.summary(), json)
}

/// As [`still_protected`] for a data directory of MongoDB; `None` if `dir` is something else.
#[cfg(feature = "mongodb")]
fn sealed_by_server(
    dir: &Path,
    key: &KeyRef,
    secret: &dyn Fn() -> Result<Secret, KeyError>,
) -> anyhow::Result<Option<u64>> {
    if !mongodb::is_data_directory(dir) {
        return Ok(None);
    }
    mongodb::still_protected(dir, key, &secret()?).map(Some)
}

#[cfg(not(feature = "mongodb"))]
fn sealed_by_server(_: &Path, _: &KeyRef, _: &dyn Fn() -> Result<Secret, KeyError>) -> anyhow::Result<Option<u64>> {
    Ok(None)
}

/// Refuses if anything in `stores` is under `key` of the source `spec`; otherwise returns how many sealed files were
/// checked. `secret` returns the key's secret, which is needed where the files name it only by its fingerprint.
fn still_protected(
    key: &KeyRef,
    secret: &dyn Fn() -> Result<Secret, KeyError>,
    stores: &[PathBuf],
    spec: &str,
) -> anyhow::Result<u64> {
    let mut checked = 0;
    for store in stores {
        if let Some(sealed_files) = sealed_by_server(store, key, secret)? {
            checked += sealed_files;
            continue;
        }
        let found =
            rest::protected(store, key).map_err(|error| anyhow::anyhow!("key {key} was not retired: {error}"))?;
        let shown = store.display();
        if let Some(example) = found.example {
            let are = if found.files == 1 { "1 file is".to_string() } else { format!("{} files are", found.files) };
            bail!(
                "key {key} was not retired: {are} still under it in {shown}, such as {example}\n\
                 rewrap them under the newest version first, with: sealstone rest rotate {shown} --key {spec}"
            );
        }
        if found.sealed_files == 0 {
            bail!("key {key} was not retired: no sealed file in {shown}\ngive the directory of a sealed store");
        }
        checked += found.sealed_files;
    }
    Ok(checked)
}

/// What `check` measured, in milliseconds.
struct Checked {
    key: KeyRef,
    open_ms: f64,
    get_ms: f64,
    wrap_ms: f64,
    unwrap_ms: f64,
}

fn check(spec: &str, passphrase_file: Option<&Path>, json: bool) -> anyhow::Result<Answer> {
    let begin = Instant::now();
    let keys = key_source::open(spec, passphrase_file)?;
    let checked = probe(&*keys, milliseconds(begin))?;
    let Checked { key, open_ms, get_ms, wrap_ms, unwrap_ms } = checked;
    let place = keys.describe();
    if json {
        print_json(&json!({
            "schema": SCHEMA, "source": place, "id": key.id, "version": key.version,
            "open_ms": open_ms, "get_ms": get_ms, "wrap_ms": wrap_ms, "unwrap_ms": unwrap_ms,
        }))?;
    } else {
        print(&format!(
            "key {key} from {place} wraps and unwraps\n\
             opened in {open_ms:.1} ms, key fetched in {get_ms:.1} ms, wrapped in {wrap_ms:.1} ms, unwrapped in \
             {unwrap_ms:.1} ms\n"
        ))?;
    }
    Ok(Answer::Done)
}

/// Does with `keys` what sealing a file and opening it again do.
fn probe(keys: &dyn KeySource, open_ms: f64) -> anyhow::Result<Checked> {
    let begin = Instant::now();
    let (key, _) = keys.current()?;
    let get_ms = milliseconds(begin);
    let begin = Instant::now();
    let (made, header) = SealedFile::create(keys, registry::cipher("aes-256")?, Backend::auto(), Layout::Frames)?;
    let wrap_ms = milliseconds(begin);
    let begin = Instant::now();
    let opened = SealedFile::open(keys, Backend::auto(), &header)?;
    let unwrap_ms = milliseconds(begin);
    // a source that gave another secret the second time would have failed above
    debug_assert_eq!(made.info().file_id, opened.info().file_id);
    Ok(Checked { key, open_ms, get_ms, wrap_ms, unwrap_ms })
}

fn milliseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1000.0
}

fn versions(list: &[u32]) -> String {
    match list {
        [one] => format!("version {one}"),
        many => format!("versions {}", many.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// A key file may contain anything as its time; a terminal must not obey it.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
