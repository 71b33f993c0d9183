//! MongoDB for a comparison: which servers, which extension, which key. Not here: what they do (`adapters/stores`).

use std::path::{Path, PathBuf};

use anyhow::Context;
use sealstone_bench::plan::{Plan, check_memory};
use sealstone_servers::mongod;
use sealstone_store::{Engine, Store, StoreError, StoreOptions};
use sealstone_store::{EngineFacts, Variant};
use sealstone_stores::mongodb::engine_options::{EngineOptions, find_extension};
use sealstone_stores::mongodb::{CACHE_BYTES_MIN, ClusterEngine, LabEngine, LabOptions, MongoDbOptions};
use tempfile::TempDir;

use super::{beside, kept_key};
use crate::flags::{CompareFlags, MongoDbFlags};
use crate::key_source;

/// A server takes a tenth of a millisecond for what an embedded store does in a microsecond, and lets go of its background
/// work more slowly: fewer records, longer slices.
pub(super) fn suit(plan: &mut Plan) {
    plan.nodes = vec![3];
    plan.workloads = ["a", "b", "c", "e"].map(String::from).to_vec();
    plan.records = 50_000;
    plan.operations = 20_000;
    plan.threads = 32;
    plan.pairs = 6;
    plan.slice_ms = 500;
}

/// Servers started on this machine, or the user's own.
pub(super) fn engine(flags: &CompareFlags, plan: &Plan) -> anyhow::Result<Box<dyn Engine>> {
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
    // each server of every set takes that much, whatever the plan says
    let cache_bytes = plan.cache.unwrap_or(0).max(CACHE_BYTES_MIN);
    check_memory(cache_bytes, plan.variants()?.0.len() * plan.members())?;
    let sealed = plan.ciphers.iter().any(|cipher| !cipher.eq_ignore_ascii_case("none"));
    let (seal, key) = if sealed { server_seal(flags, plan)? } else { (None, None) };
    let options = LabOptions {
        program: Some(mongod::PROGRAM.find(flags.mongodb.mongod.as_deref())?),
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
