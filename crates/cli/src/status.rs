//! `sealstone status`: places of every kind in a few lines, for people and for a monitor. Not here:
//! looking at places (`places`), the metrics (`sealstone_audit::metrics`), a page with all that was
//! found (`audit`).

use std::io::Read;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use jiff::Timestamp;
use sealstone_audit::facts::{Audit, Key, NotVerified, Place, ROTATE_AFTER_DAYS, Verified};
use sealstone_audit::{Verdict, metrics, sealed_ratio};
use sealstone_file::input;
use sealstone_file::output::{self, Access};
use serde::Serialize;

use crate::flags::StatusFlags;
use crate::message::{Answer, json_text, print, safe, say};
use crate::places::{self, Looking, keys};
use crate::table::Table;
use crate::terminal;

/// Mode of a file that a collector of another user reads.
const MODE: u32 = 0o644;

/// The status, for programs.
#[derive(Serialize)]
struct Status<'a> {
    schema: u32,
    made_at: &'a str,
    program: &'a str,
    is_sealed: bool,
    places: Vec<PlaceStatus<'a>>,
    keys: &'a [Key],
}

#[derive(Serialize)]
struct PlaceStatus<'a> {
    #[serde(flatten)]
    place: &'a Place,
    sealed_ratio: Option<f64>,
}

/// Beginnings of what this command writes.
const BEGINNINGS: [&[u8]; 3] =
    [b"PLACE ", b"# HELP sealstone_", b"{\n  \"schema\": 1,\n  \"made_at\": "];

/// Checks that what is at `out`, if anything is, is an earlier status: a monitor writes over it
/// again and again.
fn check_is_status(out: &Path) -> anyhow::Result<()> {
    let mut beginning = Vec::new();
    match input::open(out) {
        Ok(file) => file.take(64).read_to_end(&mut beginning)?,
        // whatever else is there is refused when it is about to be replaced
        Err(_) => return Ok(()),
    };
    if !beginning.is_empty() && !BEGINNINGS.iter().any(|known| beginning.starts_with(known)) {
        bail!("it is there, and no status of an earlier run\nname another file with --out");
    }
    Ok(())
}

/// Runs the command.
pub(crate) fn run(flags: &StatusFlags) -> anyhow::Result<Answer> {
    let begin = Instant::now();
    if let Some(out) = &flags.out {
        let cannot = || format!("cannot write {}", out.display());
        check_is_status(out).with_context(cannot)?;
        output::check_replaceable(out, Access::Mode(MODE)).with_context(cannot)?;
    }
    let mut audit = places::audit_now(None);
    let looking = Looking { verify: flags.verify, goes_on: true, say: &|_| {} };
    let looked = places::look((&flags.places, &flags.tables), &looking)?;
    audit.places = looked.places;
    let now = Timestamp::now();
    audit.keys = keys::of(&audit.places, &looked.given, ROTATE_AFTER_DAYS, now);
    let verdict = Verdict::of(&audit);
    let text = if flags.prometheus {
        metrics(&audit, now, begin.elapsed())
    } else if flags.json {
        json_text(&json(&audit, verdict.is_sealed))?
    } else {
        table(&audit, flags.out.is_none())
    };
    match &flags.out {
        Some(out) => output::replace(out, Access::Mode(MODE), safe(&text).as_bytes())
            .with_context(|| format!("cannot write {}", out.display()))?,
        None => print(&text)?,
    }
    for place in &audit.places {
        if let Verified::Not { why: NotVerified::Failed(why) } = &place.verified {
            say(&format!("{}: could not be checked: {why}", place.name));
        }
        for unread in &place.unread {
            let remark = unread.remark.as_deref().unwrap_or("it cannot be read");
            say(&format!("{}: {remark}", unread.name));
        }
    }
    Ok(if verdict.is_sealed { Answer::Done } else { Answer::Negative })
}

fn json(audit: &Audit, is_sealed: bool) -> Status<'_> {
    let place = |place| PlaceStatus { place, sealed_ratio: sealed_ratio(place) };
    Status {
        schema: 1,
        made_at: &audit.made_at,
        program: &audit.program,
        is_sealed,
        places: audit.places.iter().map(place).collect(),
        keys: &audit.keys,
    }
}

/// Returns a line for each place.
///
/// - `shown`: whether it is for the terminal
fn table(audit: &Audit, shown: bool) -> String {
    let mut table = Table::new(["PLACE", ">SEALED", "CIPHER", "KEY", ">AGE", "WHOLE"]);
    for place in &audit.places {
        let of = |text: &dyn Fn(&sealstone_audit::facts::Share) -> Option<String>| {
            let mut all: Vec<String> = Vec::new();
            for one in place.sealed.iter().filter_map(text) {
                // shares of one version in other modes may be between
                if !all.contains(&one) {
                    all.push(one);
                }
            }
            if all.is_empty() { "–".to_owned() } else { all.join(", ") }
        };
        let key = |share: &sealstone_audit::facts::Share| {
            let id = share.key_id.as_deref()?;
            Some(format!("{id} {}", share.key_version))
        };
        let age = |share: &sealstone_audit::facts::Share| {
            let key = audit.keys.iter().find(|key| Some(&key.id) == share.key_id.as_ref())?;
            let version =
                key.versions.iter().find(|version| version.version == share.key_version)?;
            Some(format!("{} d", version.age_days?))
        };
        table.row([
            place.name.clone(),
            sealed(place),
            of(&|share| Some(share.cipher.clone())),
            of(&key),
            of(&age),
            checked(place),
        ]);
    }
    table.render(if shown { terminal::stdout() } else { terminal::file() })
}

/// Returns the sealed share in words, rounded down: all is all.
fn sealed(place: &Place) -> String {
    match sealed_ratio(place) {
        _ if !place.unread.is_empty() => "unread".into(),
        None => "–".into(),
        Some(ratio) if ratio >= 1.0 && place.clear.is_empty() => "100 %".into(),
        Some(ratio) => format!("{:.1} %", ((ratio * 1000.0).floor() / 10.0).min(99.9)),
    }
}

fn checked(place: &Place) -> String {
    match &place.verified {
        Verified::Checked { at, is_whole: true, .. } => format!("yes, {at}"),
        Verified::Checked { at, is_whole: false, count, .. } => format!("NO, {count}: {at}"),
        Verified::Not { why: NotVerified::Failed(_) } => "check failed".into(),
        Verified::Not { .. } => "not checked".into(),
    }
}
