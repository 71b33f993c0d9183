//! The stores that a comparison can measure: the one table of them. Not here: what a store does (`adapters`).

#[cfg(feature = "mongodb")]
mod mongodb;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sealstone_bench::plan::Plan;
use sealstone_cipher::nearest::nearest;
use sealstone_keys::KeySource;
use sealstone_keys::ephemeral::EphemeralKey;
use sealstone_keys::file::KeyFile;
use sealstone_store::Engine;
use sealstone_stores::rocksdb::RocksDb;

use crate::flags::CompareFlags;
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
    #[cfg(feature = "mongodb")]
    StoreKind { name: "mongodb", replicated: true, adjust: mongodb::suit, engine: mongodb::engine },
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
    if cfg!(not(feature = "mongodb")) && name == "mongodb" {
        anyhow::bail!("mongodb is not built in\nbuild sealstone with the feature mongodb, which is on by default");
    }
    let names = || STORES.iter().map(|store| store.name);
    STORES.iter().find(|store| store.name == name).ok_or_else(|| {
        let all: Vec<_> = names().collect();
        anyhow::anyhow!("unknown store {name:?}; did you mean {}?\nstores: {}", nearest(name, names()), all.join(", "))
    })
}

fn rocksdb(flags: &CompareFlags, plan: &Plan) -> anyhow::Result<Box<dyn Engine>> {
    Ok(Box::new(RocksDb::new(keys(flags.key.as_deref(), flags.passphrase_file.as_deref(), plan.keep.as_deref())?)))
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
