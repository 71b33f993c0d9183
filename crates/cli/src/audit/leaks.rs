//! The search of an audit for what must not be in the clear: where it searches, and for what.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sealstone_audit::facts;
use sealstone_audit::leak::{Findings, Form, Marker, Search, markers};
use sealstone_fields::policy::{Method, Policy};
use sealstone_file::{input, walk};

use crate::flags::AuditFlags;
use crate::message::safe;
use crate::places::keys::is_key_file;
use crate::places::{Found, holds_nothing};

/// Texts and forms to look for.
pub(super) struct Wanted {
    search: Search,
    markers: u64,
    forms: Vec<String>,
    /// The file with the texts themselves, which is not searched.
    itself: Option<PathBuf>,
}

/// Returns what the flags ask to look for; none if they ask for nothing.
///
/// # Errors
/// Files that cannot be read, texts too short to be looked for, a policy without such a form.
pub(super) fn wanted(flags: &AuditFlags) -> anyhow::Result<Option<Wanted>> {
    let found = match &flags.leak_markers {
        Some(path) => read(path)?,
        None => Vec::new(),
    };
    let forms = flags.leak_policy.as_deref().map(of_policy).transpose()?.unwrap_or_default();
    if found.is_empty() && forms.is_empty() {
        if !flags.search.is_empty() {
            bail!(
                "--search without anything to look for\nname texts with --leak-markers, or a \
                 policy with --leak-policy"
            );
        }
        return Ok(None);
    }
    let names = forms.iter().map(|form| form.label().to_owned()).collect();
    let markers = found.len() as u64;
    let itself = flags.leak_markers.as_deref().and_then(|path| path.canonicalize().ok());
    Ok(Some(Wanted { search: Search::new(&found, forms)?, markers, forms: names, itself }))
}

fn read(path: &Path) -> anyhow::Result<Vec<Marker>> {
    let text = zeroize::Zeroizing::new(
        input::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?,
    );
    Ok(markers(&text, &path.display().to_string())?)
}

/// Returns the forms of the columns of a policy that can be told from other text.
fn of_policy(path: &Path) -> anyhow::Result<Vec<Form>> {
    let policy = Policy::read(path)?;
    let mut forms: Vec<Form> = Vec::new();
    for column in policy.tables.iter().flat_map(|table| &table.columns) {
        if let Method::Ff1(format) = &column.method
            && let Some(form) = Form::of(format)
            && forms.iter().all(|known| known.label() != form.label())
        {
            forms.push(form);
        }
    }
    if forms.is_empty() {
        bail!(
            "no column of {} has a form that can be told from other text\nthose are card, rrn, \
             phone and email; name texts of the other columns with --leak-markers",
            path.display()
        );
    }
    Ok(forms)
}

/// Searches the files of `places`, but for those on a sealed volume, whose own files are searched
/// instead, and the files below `more`.
///
/// # Errors
/// A path of `more` that is not there.
pub(super) fn search(
    wanted: &Wanted,
    places: &[Found],
    more: &[PathBuf],
) -> anyhow::Result<facts::Search> {
    let mut found = facts::Search {
        markers: wanted.markers,
        forms: wanted.forms.clone(),
        ..facts::Search::default()
    };
    let mut files = BTreeSet::new();
    let here = places.iter().filter(|place| place.on_volume.is_none());
    for path in here.map(|place| &place.path).chain(more) {
        let path = std::path::absolute(path)
            .and_then(|path| path.metadata().map(|_| path))
            .with_context(|| format!("cannot look at {}", path.display()))?;
        found.places.push(path.display().to_string());
        if !path.is_dir() {
            files.insert(path);
            continue;
        }
        let below =
            walk::below(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for walk::Found { name, bytes } in below {
            let file = path.join(name);
            match bytes {
                Ok(_) => drop(files.insert(file)),
                Err(error) if holds_nothing(&error) => {}
                Err(error) => found.unread.push(unread(&file, &error)),
            }
        }
    }
    let all = files.iter().filter_map(|file| file.metadata().ok()).map(|facts| facts.len()).sum();
    let bar = bar(all);
    for file in files {
        if is_left_out(&file, wanted) {
            continue;
        }
        bar.set_message(safe(&file.display().to_string()));
        let mut on_bytes = |bytes| {
            found.bytes += bytes;
            bar.inc(bytes);
        };
        match wanted.search.file(&file, &mut on_bytes) {
            Ok(Findings { hits, cut }) => {
                found.files += 1;
                found.cut += cut;
                if !hits.is_empty() {
                    found.hits.insert(file.display().to_string(), hits);
                }
            }
            // temporary files come and go
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => found.unread.push(unread(&file, &error)),
        }
    }
    bar.finish_and_clear();
    Ok(found)
}

fn bar(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr());
    bar.set_style(
        ProgressStyle::with_template("searching {bar:24} {bytes}, {eta} left  {msg}")
            .expect("a valid template"),
    );
    bar
}

/// Returns whether `file` is the list of texts itself, or a key file.
fn is_left_out(file: &Path, wanted: &Wanted) -> bool {
    let real = file.canonicalize().ok();
    (real.is_some() && real == wanted.itself) || is_key_file(file)
}

fn unread(file: &Path, error: &std::io::Error) -> facts::Clear {
    facts::Clear {
        name: file.display().to_string(),
        bytes: None,
        remark: Some(error.to_string().replace('\n', "; ")),
        values: None,
    }
}
