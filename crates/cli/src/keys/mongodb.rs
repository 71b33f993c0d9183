//! Whether anything in a data directory of MongoDB is under a version of a key that is to be retired. Not here: RocksDB
//! stores, whose headers name the version (`sealstone_rocksdb`).

use std::path::Path;

use anyhow::bail;
use sealstone_keys::{KeyRef, Secret};
use sealstone_seal::engine_page::Fingerprint;
use sealstone_wiredtiger::check::{FileReport, check};

/// Whether `dir` is a data directory of MongoDB.
pub(super) fn is_data_directory(dir: &Path) -> bool {
    dir.join("WiredTiger").is_file()
}

/// Refuses if a block or a journal record in `dir` is under `key`, whose secret is `secret`; otherwise returns how many
/// sealed files were looked at.
pub(super) fn still_protected(dir: &Path, key: &KeyRef, secret: &Secret) -> anyhow::Result<u64> {
    let report = check(dir)?;
    let shown = dir.display();
    // a block names its key by the fingerprint; another key may have the same version
    let fingerprint = Fingerprint::of(key, secret).to_string();
    let under = |file: &FileReport| -> u64 {
        file.sealed.iter().filter(|share| share.fingerprint == fingerprint).map(|share| share.blocks).sum()
    };
    let blocks: u64 = report.files.iter().map(under).sum();
    if let Some(example) = report.files.iter().find(|file| under(file) > 0) {
        let are = if blocks == 1 { "1 block is".to_string() } else { format!("{blocks} blocks are") };
        bail!(
            "key {key} was not retired: {are} still under it in {shown}, such as in {}\n\
             resync that member with the newest version first, which rewrites all of it (docs/guide/mongodb.md)",
            example.name
        );
    }
    if let Some(file) = report.files.iter().find(|file| file.other_blocks > 0) {
        bail!(
            "key {key} was not retired: cannot tell which key {} blocks in {shown} are under, such as in {}: {}\n\
             see sealstone mongo check {shown}",
            report.other_blocks,
            file.name,
            file.other.as_deref().unwrap_or_default()
        );
    }
    let sealed = report.files.iter().filter(|file| !file.sealed.is_empty()).count() as u64;
    if sealed == 0 {
        bail!("key {key} was not retired: no sealed block in {shown}\ngive the data directory of a sealed server");
    }
    Ok(sealed)
}
