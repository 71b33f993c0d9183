//! `sealstone compare`: the main job, from flags to the answer on the screen and the report on the disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use sealstone_bench::compare;
use sealstone_bench::report::{self, summary};
use sealstone_bench::results::Results;
use sealstone_keys::KeySource;
use sealstone_keys::ephemeral::EphemeralKey;
use sealstone_keys::file::KeyFile;
use sealstone_rocksdb::RocksDb;

use crate::flags::CompareFlags;
use crate::message::{Answer, print, print_json, say};
use crate::progress::Display;
use crate::table::SCREEN;
use crate::{interrupt, key_source, settings, terminal};

/// Measures, prints the answer, and last the path of the report. An interrupted run has a report too, and a negative
/// answer: its question is not fully answered.
pub(crate) fn run(flags: &CompareFlags) -> anyhow::Result<Answer> {
    let plan = settings::plan(flags)?;
    plan.check()?;
    if flags.print_config {
        print(&plan.to_toml())?;
        return Ok(Answer::Done);
    }
    prepare(&plan.out)?;
    let keys = keys(flags.key.as_deref(), flags.passphrase_file.as_deref(), plan.keep.as_deref())?;
    let stop = interrupt::install(plan.stores_dir())?;
    let display = Display::new(flags.quiet);
    let measured = compare::run(&plan, &RocksDb::new(keys), &display, &stop);
    display.end();
    let results = measured?;

    // the figures took minutes or hours: they are shown even where they cannot be written
    let written = write(&results, &plan.out);
    if flags.json {
        print_json(&results)?;
        say(&written?.display().to_string());
    } else {
        print(&summary::screen(&results, SCREEN, terminal::stdout().colour()))?;
        print(&format!("\n{}\n", written?.display()))?;
    }
    Ok(if results.interrupted { Answer::Negative } else { Answer::Done })
}

/// Makes the directory for the results and finds out before the run, not after it, whether they can be written.
fn prepare(out: &Path) -> anyhow::Result<()> {
    let probe = out.join(".sealstone-writable");
    std::fs::create_dir_all(out)
        .and_then(|()| std::fs::write(&probe, b"x"))
        .and_then(|()| std::fs::remove_file(&probe))
        .with_context(|| format!("cannot write results into {}", out.display()))
        .map_err(|error| anyhow::anyhow!("{error:#}\nname another directory with --out"))
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
    let file = beside(keep);
    let key = if file.exists() { KeyFile::open(&file)? } else { KeyFile::create(&file, "compare")? };
    say(&format!("the stores kept in {} are sealed with the key in {}", keep.display(), file.display()));
    Ok(Arc::new(key))
}

/// The key file of the directory `keep`: beside it, so that the key does not lie among what it seals.
fn beside(keep: &Path) -> PathBuf {
    let mut name = keep.file_name().unwrap_or_default().to_os_string();
    name.push(".key");
    keep.with_file_name(name)
}

/// Writes data and report into `out`; returns the report's path.
fn write(results: &Results, out: &Path) -> anyhow::Result<PathBuf> {
    results.write_json(&out.join("results.json"))?;
    results.write_csv(&out.join("results.csv"))?;
    let page = report::html(std::slice::from_ref(results))?;
    let path = out.join("report.html");
    std::fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
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
}
