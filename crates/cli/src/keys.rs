//! `sealstone keys`: makes, shows, rotates and retires keys. Secrets never appear.

mod holders;
#[cfg(feature = "kmip")]
mod kmip;

mod key_answers;
mod usage_check;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use sealstone_cipher::Provider;
#[cfg(feature = "kmip")]
use sealstone_keys::kmip::enumeration::State;
#[cfg(feature = "kmip")]
use sealstone_keys::kmip::family::{Family, KeyVersion};
use sealstone_keys::{
    Cost, InModule, KeyError, KeyFile, KeyFileSummary, KeySource, Protect, key_files_in,
    new_key_id, source,
};
use sealstone_seal::{Probe, probe};
use sealstone_stores::at_rest::Wanted;
use serde_json::{Value, json};

use key_answers::{SCHEMA, facts, show};

use crate::audit_log;
use crate::flags::{HolderFlags, KeysCommand, OpeningFlags, SealedWith, TokenFlags};
use crate::key_source::{self, Opening};
use crate::message::{Answer, print, print_json, say};
use crate::table::Table;
use crate::{path, terminal};

/// Runs one of the commands.
pub(crate) fn run(command: &KeysCommand) -> anyhow::Result<Answer> {
    use KeysCommand::{Check, Export, Holder, Import, List, New, Passwd, Retire, Rotate, Show};
    if let Some(answer) = on_server(command)? {
        return Ok(answer);
    }
    match command {
        New { key, id, cipher, protect, token, opening, json } => {
            let path = key_file(key)?;
            if let Some(cipher) = cipher {
                bail!(
                    "a key file is not bound to {cipher}: its key serves every cipher\nleave \
                     --cipher out"
                );
            }
            let id = id.clone().unwrap_or_else(|| new_key_id(path));
            make(path, &id, *protect, token, opening, *json)
        }
        List { keys, json } => list(keys, *json),
        Show { key, json } => show(&KeyFile::inspect(key_file(key)?)?, *json),
        Rotate { key, passphrase, module, json } => {
            let provider = key_source::provider(module.module.as_deref())?;
            let path = key_file(key)?;
            check_unprotected(provider, path, || Ok(KeyFile::inspect(path)?.has_passphrase()))?;
            rotate(&key_source::open_file(path, passphrase)?, provider, *json)
        }
        Retire { key, version, sealed, unchecked: _, passphrase, module, json } => {
            let provider = key_source::provider(module.module.as_deref())?;
            let path = key_file(key)?;
            check_unprotected(provider, path, || Ok(KeyFile::inspect(path)?.has_passphrase()))?;
            let key = Arc::new(key_source::open_file(path, passphrase)?);
            retire(&key, provider, *version, sealed, *json)
        }
        Export {
            key,
            out,
            version,
            protect,
            out_passphrase_file,
            unprotected,
            passphrase,
            json,
        } => {
            path::check_parent(out)?;
            let key = key_source::open_file(key_file(key)?, passphrase)?;
            let new = match out_passphrase_file {
                None if !protect => {
                    if key.summary().is_protected() && !unprotected {
                        bail!(
                            "{} is protected, and {} would not be\n\
                             give it one with --protect or --out-passphrase-file, or say \
                             --unprotected",
                            key.describe(),
                            out.display()
                        );
                    }
                    None
                }
                named => key_source::new_passphrase(*protect, named.as_deref(), out)?,
            };
            let made = key.export(
                *version,
                out,
                new.as_ref().map(|passphrase| (passphrase, Cost::default())),
            )?;
            let (version, _) = made.versions().next().expect("one version");
            audit_log::key(made.id(), Some(version));
            say(&format!("wrote key {} version {version} into {}", made.id(), out.display()));
            show(&made.summary(), *json)
        }
        Import { key, from, version, from_passphrase_file, passphrase, json } => {
            let key = key_source::open_file(key_file(key)?, passphrase)?;
            let flags = HolderFlags { passphrase_file: from_passphrase_file.clone(), holder: None };
            let from = key_source::open_file(from, &flags)?;
            let added = key.import(&from, *version)?;
            audit_log::key(key.id(), added.last().copied());
            match added.as_slice() {
                [] => say(&format!("{} already has all of it", key.describe())),
                added => say(&format!("{} now has {} more", key.describe(), versions(added))),
            }
            show(&key.summary(), *json)
        }
        Check { key, passphrase, module, cipher, json } => {
            let HolderFlags { passphrase_file, holder } = passphrase;
            let (passphrase_file, holder) = (passphrase_file.as_deref(), holder.as_deref());
            let module = module.module.as_deref();
            check(key, Opening { passphrase_file, holder, module }, cipher, *json)
        }
        Passwd { key, new_passphrase_file, no_passphrase, token, passphrase, json } => {
            let new = holders::New {
                passphrase_file: new_passphrase_file.as_deref(),
                no_passphrase: *no_passphrase,
                token,
            };
            holders::passwd(key, new, passphrase, *json)
        }
        Holder(command) => holders::run(command),
    }
}

/// Makes a key file at `path`, with the protection that is asked for.
fn make(
    path: &Path,
    id: &str,
    asks: bool,
    token: &TokenFlags,
    opening: &OpeningFlags,
    json: bool,
) -> anyhow::Result<Answer> {
    path::check_parent(path)?;
    let provider = key_source::provider(opening.module.module.as_deref())?;
    let named = opening.passphrase_file.as_deref();
    let (key, needed) = if let Some(address) = &token.token {
        let pin = key_source::pin(named, address)?;
        let protect = Protect::Token { address, pin: &pin, makes_key: token.new_token_key };
        (KeyFile::create_as(provider, path, id, protect)?, "this file and the token's key")
    } else {
        let protected = asks || source::passphrase_file(named).is_some();
        check_unprotected(provider, path, || Ok(protected))?;
        match key_source::new_passphrase(asks, named, path)? {
            Some(passphrase) => {
                let protect = Protect::Passphrase(&passphrase, Cost::default());
                let key = KeyFile::create_as(provider, path, id, protect)?;
                (key, "this file and its passphrase")
            }
            None => (KeyFile::create_by(provider, path, id)?, "this file"),
        }
    };
    audit_log::key(id, key.versions().last().map(|(version, _)| version));
    say(&format!(
        "made key {id} in {}; without {needed} nothing sealed under it can be read: keep a copy \
         apart from the data",
        path.display()
    ));
    show(&key.summary(), json)
}

/// Refuses a passphrase of the key file `path`, if `provider` is a module, before one is asked for.
fn check_unprotected(
    provider: Provider,
    path: &Path,
    is_protected: impl FnOnce() -> Result<bool, KeyError>,
) -> Result<(), KeyError> {
    match provider.module() {
        Some(module) if is_protected()? => {
            Err(KeyError::ProtectedInModule { path: path.to_owned(), module: module.name() })
        }
        _ => Ok(()),
    }
}

/// Runs the command if it is about a key on a key server and differs there from other sources.
#[cfg(feature = "kmip")]
fn on_server(command: &KeysCommand) -> anyhow::Result<Option<Answer>> {
    use KeysCommand::{Export, Import, New, Retire, Rotate, Show};
    let (family, json) = match command {
        New { key, id, cipher, token, opening, json, .. } if source::is_kmip(key) => {
            refuse_module(opening.module.module.as_deref())?;
            if token.token.is_some() {
                bail!("a key server keeps its keys itself, in no token\nleave --token out here");
            }
            (kmip::new(key, id.as_deref(), cipher.as_deref())?, json)
        }
        Show { key, json } if source::is_kmip(key) => (kmip::show(key)?, json),
        Rotate { key, module, json, .. } if source::is_kmip(key) => {
            refuse_module(module.module.as_deref())?;
            (kmip::rotate(key)?, json)
        }
        Retire { key, version, sealed, module, json, .. } if source::is_kmip(key) => {
            (kmip::retire(key, module.module.as_deref(), *version, sealed)?, json)
        }
        Export { key, .. } | Import { key, .. } if source::is_kmip(key) => {
            bail!(
                "keys on a key server are not moved into or out of key files\n\
                 stores are sealed under keys derived from them; use the server's own tools for \
                 copies"
            )
        }
        _ => return Ok(None),
    };
    let newest = family.versions.iter().map(|version| version.version).max();
    let wanted = if let Retire { version, .. } = command { Some(*version) } else { newest };
    audit_log::key(&family.key, wanted);
    show_family(&family, *json).map(Some)
}

/// Refuses the module that a key on a key server is to be made with: the server makes it.
#[cfg(feature = "kmip")]
fn refuse_module(module: Option<&str>) -> anyhow::Result<()> {
    match module {
        None => Ok(()),
        Some(module) => bail!(
            "a key server draws its keys itself, and module {module} has no part in it\n\
             leave --module out here; name it where the key is used"
        ),
    }
}

#[cfg(not(feature = "kmip"))]
fn on_server(_: &KeysCommand) -> anyhow::Result<Option<Answer>> {
    Ok(None)
}

/// Returns the keys on the server `spec`.
#[cfg(feature = "kmip")]
fn server_keys(spec: &str) -> anyhow::Result<Vec<Value>> {
    kmip::list(spec)
}

#[cfg(not(feature = "kmip"))]
fn server_keys(spec: &str) -> anyhow::Result<Vec<Value>> {
    Err(KeyError::NoKmip { spec: spec.to_owned() }.into())
}

/// Returns the key file that `spec` names, for commands on key files; a key server is an error.
fn key_file(spec: &str) -> anyhow::Result<&Path> {
    if source::is_kmip(spec) {
        return Err(KeyError::NoKmip { spec: spec.to_owned() }.into());
    }
    source::check_path(spec)?;
    Ok(Path::new(spec))
}

#[cfg(feature = "kmip")]
fn show_family(family: &Family, json: bool) -> anyhow::Result<Answer> {
    let state = |version: &KeyVersion| {
        version.attributes.state.map_or("unknown".into(), |state: State| state.to_string())
    };
    let cipher = |version: &KeyVersion| version.attributes.cipher().map(|cipher| cipher.name);
    if json {
        let versions: Vec<Value> = family
            .versions
            .iter()
            .map(|version| {
                let (state, cipher) = (state(version), cipher(version));
                json!({"version": version.version, "id": version.id, "state": state,
                    "cipher": cipher})
            })
            .collect();
        print_json(&json!({"schema": SCHEMA, "key": family.key, "versions": versions}))?;
        return Ok(Answer::Done);
    }
    let mut table = Table::new(["KEY", ">VERSION", "STATE", "CIPHER", "ID ON THE SERVER"]);
    for version in &family.versions {
        table.row([
            family.key.clone(),
            version.version.to_string(),
            state(version),
            cipher(version).unwrap_or("-").to_owned(),
            version.id.clone(),
        ]);
    }
    print(&table.render(terminal::stdout()))?;
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

fn file_table(keys: &[KeyFileSummary]) -> String {
    let mut table = Table::new(["KEY", ">VERSIONS", ">NEWEST", "MADE", "PROTECTION", "FILE"]);
    for key in keys {
        let (newest, created) = key.versions.last().expect("a key has a version");
        table.row([
            key.id.clone(),
            key.versions.len().to_string(),
            newest.to_string(),
            created.to_string(),
            key_answers::protector(key).to_string(),
            key.path.display().to_string(),
        ]);
    }
    table.render(terminal::stdout())
}

fn server_table(keys: &[Value]) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut table = Table::new(["KEY", "CIPHER", "STATE", "ID ON THE SERVER"]);
    for key in keys {
        table.row([
            text(&key["names"][0]),
            text(&key["cipher"]),
            text(&key["state"]),
            text(&key["id"]),
        ]);
    }
    table.render(terminal::stdout())
}

fn rotate(key: &KeyFile, provider: Provider, json: bool) -> anyhow::Result<Answer> {
    let new = key.rotate_by(provider)?;
    audit_log::key_ref(&new);
    let file = key.path().display();
    say(&format!(
        "key {new} seals new files from now on; keep a new copy of {file}\n\
         rewrap existing files with: sealstone rest rotate DIR --key {file}"
    ));
    show(&key.summary(), json)
}

/// Retires a version that nothing of `sealed` needs, as `provider` finds; with nothing named there,
/// the user requested no check.
fn retire(
    key: &Arc<KeyFile>,
    provider: Provider,
    version: u32,
    sealed: &SealedWith,
    json: bool,
) -> anyhow::Result<Answer> {
    // an error in the version itself is reported before anything is read
    let retired = key.retirable(version)?;
    audit_log::key_ref(&retired);
    let names = [retired.id.clone()];
    let secret = || key.get(&retired);
    let keys = InModule::used_by(key.clone(), provider);
    let wanted = Wanted { key: &retired, secret: &secret, keys: &*keys };
    let checked = usage_check::check(&wanted, &names, sealed, &key.path().display().to_string())?;
    key.retire(version)?;
    say(&format!("key {retired} is retired; {checked}"));
    show(&key.summary(), json)
}

fn check(spec: &str, opening: Opening<'_>, cipher: &str, json: bool) -> anyhow::Result<Answer> {
    let cipher = sealstone_cipher::cipher(cipher)?;
    let begin = Instant::now();
    let keys = key_source::open(spec, opening)?;
    let open = begin.elapsed();
    let Probe { key, get, wrap, unwrap } = probe(&*keys, cipher)?;
    let [open_ms, get_ms, wrap_ms, unwrap_ms] = [open, get, wrap, unwrap].map(milliseconds);
    let place = keys.describe();
    if json {
        print_json(&json!({
            "schema": SCHEMA, "source": place, "id": key.id, "version": key.version,
            "open_ms": open_ms, "get_ms": get_ms, "wrap_ms": wrap_ms, "unwrap_ms": unwrap_ms,
        }))?;
    } else {
        print(&format!(
            "key {key} from {place} wraps and unwraps\n\
             opened in {open_ms:.1} ms, key fetched in {get_ms:.1} ms, wrapped in {wrap_ms:.1} ms, \
             unwrapped in {unwrap_ms:.1} ms\n"
        ))?;
    }
    Ok(Answer::Done)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn versions(list: &[u32]) -> String {
    match list {
        [one] => format!("version {one}"),
        many => {
            format!("versions {}", many.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
        }
    }
}
