//! The stores that a comparison can measure: the one table of them. Not here: what a store does (`adapters`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use sealstone_bench::plan::{Plan, nearest};
use sealstone_bench::results::{EngineFacts, Variant};
use sealstone_bench::store::{Engine, Store, StoreError, StoreOptions};
use sealstone_keys::KeySource;
use sealstone_keys::ephemeral::EphemeralKey;
use sealstone_keys::file::KeyFile;
use sealstone_rocksdb::RocksDb;
use sealstone_stores::mongodb::engine_options::{EngineOptions, find_extension};
use sealstone_stores::mongodb::lab::find_mongod;
use sealstone_stores::mongodb::{ClusterEngine, LabEngine, LabOptions, MongoDbOptions};
use tempfile::TempDir;

use crate::flags::{CompareFlags, MongoDbFlags};
use crate::key_source;
use crate::message::say;

/// One kind of store.
pub(crate) struct StoreKind {
    /// As in `--store`.
    pub(crate) name: &'static str,
    /// Whether it has replica sets of several members.
    pub(crate) replicated: bool,
    /// Settings that suit it better than the defaults do, where the user sets nothing.
    pub(crate) adjust: fn(&mut Plan),
    /// The engine of one comparison.
    pub(crate) engine: fn(&CompareFlags, &Plan) -> anyhow::Result<Box<dyn Engine>>,
}

impl StoreKind {
    /// Whether the store can do what `plan` asks of it.
    ///
    /// # Errors
    /// Members of a store that has none; stores to keep of several comparisons.
    pub(crate) fn check(&self, plan: &Plan) -> anyhow::Result<()> {
        if !self.replicated && plan.nodes != [1] {
            let replicated: Vec<_> = STORES.iter().filter(|store| store.replicated).map(|store| store.name).collect();
            anyhow::bail!(
                "nodes is {}: a {} store is one\nleave it out, or choose a store that has members: {}",
                list(&plan.nodes),
                self.name,
                replicated.join(", ")
            );
        }
        if plan.keep.is_some() && plan.nodes.len() > 1 {
            anyhow::bail!(
                "nodes is {}: stores are kept of one comparison only\nname one number of members, or leave keep out",
                list(&plan.nodes)
            );
        }
        Ok(())
    }
}

fn list(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

const STORES: &[StoreKind] = &[
    StoreKind { name: "rocksdb", replicated: false, adjust: |_| (), engine: rocksdb },
    StoreKind { name: "mongodb", replicated: true, adjust: suit_mongodb, engine: mongodb },
];

/// All of them, the default first.
pub(crate) fn stores() -> &'static [StoreKind] {
    STORES
}

/// The store called `name`.
///
/// # Errors
/// No such store; names the nearest and all of them.
pub(crate) fn store(name: &str) -> anyhow::Result<&'static StoreKind> {
    let names = || STORES.iter().map(|store| store.name);
    STORES.iter().find(|store| store.name == name).ok_or_else(|| {
        let all: Vec<_> = names().collect();
        anyhow::anyhow!("unknown store {name:?}; did you mean {}?\nstores: {}", nearest(name, names()), all.join(", "))
    })
}

fn rocksdb(flags: &CompareFlags, plan: &Plan) -> anyhow::Result<Box<dyn Engine>> {
    Ok(Box::new(RocksDb::new(keys(flags.key.as_deref(), flags.passphrase_file.as_deref(), plan.keep.as_deref())?)))
}

/// A server takes a tenth of a millisecond for what an embedded store does in a microsecond, and lets go of its background
/// work more slowly: fewer records, longer slices.
fn suit_mongodb(plan: &mut Plan) {
    plan.nodes = vec![3];
    plan.workloads = ["a", "b", "c", "e"].map(String::from).to_vec();
    plan.records = 50_000;
    plan.operations = 20_000;
    plan.threads = 32;
    plan.pairs = 6;
    plan.slice_ms = 500;
}

fn mongodb(flags: &CompareFlags, plan: &Plan) -> anyhow::Result<Box<dyn Engine>> {
    let MongoDbFlags { write_concern, journal, read_preference, read_concern, .. } = &flags.mongodb;
    let client = MongoDbOptions {
        threads: plan.threads,
        write_concern: write_concern.clone(),
        journal: *journal,
        read_preference: read_preference.clone(),
        read_concern: read_concern.clone(),
        tls_ca_file: flags.mongodb.tls_ca_file.clone(),
        tls_certificate_key_file: flags.mongodb.tls_certificate_key_file.clone(),
        ..MongoDbOptions::default()
    };
    if !flags.mongodb.cluster.is_empty() {
        let clusters = flags.mongodb.cluster.iter().map(|text| cluster(text, &client));
        return Ok(Box::new(ClusterEngine::new(clusters.collect::<anyhow::Result<_>>()?)));
    }
    let sealed = plan.ciphers.iter().any(|cipher| !cipher.eq_ignore_ascii_case("none"));
    let (seal, key) = if sealed { server_seal(flags, plan)? } else { (None, None) };
    let options = LabOptions {
        program: Some(find_mongod(flags.mongodb.mongod.as_deref())?),
        members: plan.members(),
        seal,
        client,
        keep: plan.keep.is_some(),
    };
    Ok(Box::new(OneRun { engine: LabEngine::new(options), _key: key }))
}

/// An engine whose servers read a key that is removed with it.
struct OneRun {
    engine: LabEngine,
    _key: Option<TempDir>,
}

impl Engine for OneRun {
    fn facts(&self) -> EngineFacts {
        self.engine.facts()
    }

    fn open(&self, variant: &Variant, dir: &Path, options: &StoreOptions) -> Result<Box<dyn Store>, StoreError> {
        self.engine.open(variant, dir, options)
    }
}

/// A cluster as a flag names it: `CIPHER=URL`, or `CIPHER=@FILE` with the address in the file.
fn cluster(text: &str, client: &MongoDbOptions) -> anyhow::Result<(String, MongoDbOptions)> {
    let Some((label, place)) = text.split_once('=').filter(|(label, _)| !label.is_empty() && !label.contains("://"))
    else {
        anyhow::bail!("a cluster without a cipher\nname it as CIPHER=URL, such as none=mongodb://db1.example/test");
    };
    let uri = match place.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file)
            .with_context(|| format!("cannot read the address of cluster {label} from {file}"))?
            .trim()
            .to_owned(),
        None => place.to_owned(),
    };
    Ok((label.to_owned(), MongoDbOptions { uri, ..client.clone() }))
}

/// What the servers of sealed variants load: the extension, with the user's key, or one that is made for this run, in a
/// directory of its own that nobody else can read.
fn server_seal(flags: &CompareFlags, plan: &Plan) -> anyhow::Result<(Option<EngineOptions>, Option<TempDir>)> {
    let mut own = None;
    let extension = find_extension(flags.mongodb.extension.as_deref())?;
    let (key, key_id) = match &flags.key {
        Some(spec) => {
            let id = key_source::open(spec, flags.passphrase_file.as_deref())?.current()?.0.id;
            // a server does not know where this program was started
            let spec = match spec.strip_prefix("kmip:") {
                Some(address) if address.starts_with("//") => spec.clone(),
                Some(file) => format!("kmip:{}", absolute(Path::new(file))?),
                None => absolute(Path::new(spec))?,
            };
            (spec, id)
        }
        None => {
            let file = match &plan.keep {
                Some(keep) => beside(keep),
                None => {
                    own.insert(tempfile::tempdir().context("cannot make a directory for the key")?).path().join("key")
                }
            };
            kept_key(&file, plan.keep.as_deref())?;
            (absolute(&file)?, "compare".into())
        }
    };
    let passphrase_file = key_source::named(flags.passphrase_file.as_deref());
    let passphrase_file = passphrase_file.map(|file| absolute(&file).map(PathBuf::from)).transpose()?;
    Ok((Some(EngineOptions { extension, key, key_id, cipher: None, passphrase_file, accel: None }), own))
}

fn absolute(path: &Path) -> anyhow::Result<String> {
    let path = std::path::absolute(path)?;
    let text = path.to_str().map(str::to_owned);
    text.with_context(|| format!("{} is no UTF-8 and cannot be told to a server", path.display()))
}

/// The key of the run: the user's, or a fresh one. Stores that stay get a key that stays, in a file beside them.
fn keys(spec: Option<&str>, passphrase_file: Option<&Path>, keep: Option<&Path>) -> anyhow::Result<Arc<dyn KeySource>> {
    if let Some(spec) = spec {
        return key_source::open(spec, passphrase_file);
    }
    let Some(keep) = keep else { return Ok(Arc::new(EphemeralKey::new()?)) };
    // a directory that is in use already will be refused, and needs no key
    if std::fs::read_dir(keep).is_ok_and(|mut entries| entries.next().is_some()) {
        return Ok(Arc::new(EphemeralKey::new()?));
    }
    Ok(Arc::new(kept_key(&beside(keep), Some(keep))?))
}

/// The key in `file`, which is made if it is not there. Says where the key of stores that stay in `keep` is.
fn kept_key(file: &Path, keep: Option<&Path>) -> anyhow::Result<KeyFile> {
    let key = if file.exists() { KeyFile::open(file)? } else { KeyFile::create(file, "compare")? };
    if let Some(keep) = keep {
        say(&format!("the stores kept in {} are sealed with the key in {}", keep.display(), file.display()));
    }
    Ok(key)
}

/// The key file of the directory `keep`: beside it, so that the key does not lie among what it seals.
fn beside(keep: &Path) -> PathBuf {
    let mut name = keep.file_name().unwrap_or_default().to_os_string();
    name.push(".key");
    keep.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_lies_beside_what_it_seals() {
        assert_eq!(beside(Path::new("kept")), Path::new("kept.key"));
        assert_eq!(beside(Path::new("/data/kept/")), Path::new("/data/kept.key"));
    }

    #[test]
    fn kept_stores_get_a_key_that_stays() {
        let dir = tempfile::tempdir().unwrap();
        let keep = dir.path().join("kept");
        let (first, _) = keys(None, None, Some(&keep)).unwrap().current().unwrap();
        assert_eq!(first.id, "compare");
        let again = keys(None, None, Some(&keep)).unwrap();
        again.get(&first).unwrap();
        assert!(dir.path().join("kept.key").is_file());
    }

    #[test]
    fn a_store_has_members_only_if_it_is_replicated() {
        let rocksdb = store("rocksdb").unwrap();
        rocksdb.check(&Plan::default()).unwrap();
        let error = rocksdb.check(&Plan { nodes: vec![3], ..Plan::default() }).unwrap_err().to_string();
        assert!(error.starts_with("nodes is 3: a rocksdb store is one\nleave it out"), "{error}");
        assert!(
            store("rockdb").err().unwrap().to_string().starts_with("unknown store \"rockdb\"; did you mean rocksdb?")
        );
    }
}
