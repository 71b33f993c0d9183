//! `sealstone audit`: one page for an auditor about what is sealed, what is not, under which keys,
//! and whether a text that must not be in the clear is anywhere.

mod leaks;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use jiff::Timestamp;
use sealstone_audit::{Report, Verdict, page};
use sealstone_file::check_own_directory;
use sealstone_file::output::{self, Access};

use crate::flags::AuditFlags;
use crate::free_name::numbered;
use crate::message::{Answer, print, print_json, say};
use crate::places::{self, AUDIT_JSON, Looking, keys};
use crate::secret_words::{hide, hide_json};

/// Name of the page of an audit.
const PAGE: &str = "audit.html";
/// Directory for them, if none is named.
const OUT: &str = "sealstone-audit";

/// Runs the command.
pub(crate) fn run(flags: &AuditFlags) -> anyhow::Result<Answer> {
    // what is wrong with a flag is said before hours of work
    let search = leaks::wanted(flags)?;
    let out = directory(flags.out.as_deref())?;
    let mut audit = places::audit_now(flags.title.clone());
    let looked = places::look(
        (&flags.places, &flags.tables),
        &Looking { verify: flags.verify, goes_on: false, say: &say },
    )?;
    audit.places = looked.places;
    audit.keys = keys::of(&audit.places, &looked.given, flags.rotate_after, Timestamp::now());
    audit.search =
        search.map(|search| leaks::search(&search, &looked.found, &flags.search)).transpose()?;
    let verdict = Verdict::of(&audit);
    let page = page(&audit, &verdict, flags.lang.into()).context("cannot make the page")?;
    let report = Report { audit, verdict };
    let mut json = serde_json::to_string_pretty(&report)?;
    json.push('\n');
    // a title or a name may have an address with a password in it
    for (name, text) in [(AUDIT_JSON, hide_json(&json)), (PAGE, hide(&page))] {
        let path = out.join(name);
        output::create(&path, Access::Private, text.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if flags.json {
        print_json(&report)?;
        say(&out.join(PAGE).display().to_string());
    } else {
        print(&answer(&report, &out.join(PAGE)))?;
    }
    Ok(if report.verdict.is_sealed { Answer::Done } else { Answer::Negative })
}

/// Returns the answer in a few lines, the place of the page last.
fn answer(report: &Report, page: &Path) -> String {
    let mut text = sealstone_audit::summary(&report.verdict);
    text.push_str(&format!("{}\n", page.display()));
    text
}

/// Makes the directory for the page: the one that is named, which has no audit yet, or the next
/// free one.
fn directory(named: Option<&Path>) -> anyhow::Result<PathBuf> {
    let taken = |dir: &Path| [PAGE, AUDIT_JSON].iter().any(|name| dir.join(name).exists());
    let dir = match named {
        Some(dir) if taken(dir) => bail!(
            "{} has an earlier audit, which stays\nname another directory with --out",
            dir.display()
        ),
        Some(dir) => dir.to_owned(),
        None => numbered(Path::new(OUT)).find(|dir| !taken(dir)).expect("numbers do not end"),
    };
    let cannot = || format!("cannot write into {}\nname another directory", dir.display());
    fs::create_dir_all(&dir).with_context(cannot)?;
    check_own_directory(&dir).with_context(cannot)?;
    output::check_replaceable(&dir.join(PAGE), Access::Private).with_context(cannot)?;
    Ok(dir)
}
