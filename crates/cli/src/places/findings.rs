//! Findings about a place that is looked at: a share, a place that could not be looked at, the
//! result of a check.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use sealstone_audit::facts::{Clear, Counted, Maker, NotVerified, Place, Share, Unit, Verified};
use sealstone_cipher::{Cipher, Mode};
use sealstone_file::counts;
use sealstone_keys::KeySource;

use super::keys::Given;
use crate::secret_words::hide;

/// Findings of a check that a page lists; more are only counted there.
const FINDINGS_MAX: usize = 20;

/// Returns a share of one file by `cipher` in `mode`, or its own.
pub(super) fn share(cipher: &Cipher, mode: Option<Mode>, key_version: u32) -> Share {
    let mode = mode.unwrap_or(cipher.mode);
    let approval = cipher.approval_in(mode);
    Share {
        cipher: cipher.name.to_owned(),
        mode: mode.word().to_owned(),
        key_id: None,
        key_version,
        maker: Maker::Sealstone,
        count: 1,
        unit: Unit::Files,
        bytes: None,
        column: None,
        leaks: None,
        fips: approval.fips,
        kcmvp: approval.kcmvp,
    }
}

/// Returns `time` to the second (RFC 3339).
pub(super) fn moment(time: Timestamp) -> String {
    time.round(jiff::Unit::Second).unwrap_or(time).to_string()
}

/// Returns the counts of the process that has the data in `dir` in use, or had it last, if it keeps
/// any.
pub(super) fn counted(dir: &Path) -> Option<Counted> {
    // a file of anybody's in its place is no finding about the data
    let found = counts::read(dir).ok()??;
    let at = i64::try_from(found.written_unix_s).ok().map(Timestamp::from_second);
    Some(Counted {
        process: found.process,
        at: moment(at?.ok()?),
        blocks_sealed: found.counts.blocks_sealed,
        blocks_opened: found.counts.blocks_opened,
        bytes_sealed: Some(found.counts.bytes_sealed),
        bytes_opened: Some(found.counts.bytes_opened),
        failures: found.counts.failures,
        log_bytes: None,
    })
}

/// Returns the words of `error` on one line, for a file: without a password from the command.
fn said(error: &anyhow::Error) -> String {
    hide(&format!("{error:#}").replace('\n', "; "))
}

/// Returns `place`, which could not be looked at because of `error`.
pub(super) fn unread(mut place: Place, error: &anyhow::Error) -> Place {
    let remark = Some(said(error));
    place.unread.push(Clear { name: place.name.clone(), bytes: None, remark, values: None });
    place
}

/// Checks `place` with the first of the keys `given` that something in it is under, if that was
/// asked for.
///
/// - `check`: returns the findings, or the first ones, and the number of all of them
pub(super) fn checked(
    place: &Place,
    given: &[Given],
    verify: bool,
    check: impl FnOnce(Arc<dyn KeySource>) -> anyhow::Result<(Vec<String>, u64)>,
) -> Verified {
    if !verify {
        return Verified::Not { why: NotVerified::NotAsked };
    }
    let ids: Vec<&String> = place.sealed.iter().filter_map(|share| share.key_id.as_ref()).collect();
    let Some(given) = given.iter().find(|given| ids.iter().any(|id| given.is_named(id))) else {
        return Verified::Not { why: NotVerified::NoKey };
    };
    match given.open().and_then(check) {
        Ok((mut findings, count)) => {
            findings.truncate(FINDINGS_MAX);
            Verified::Checked {
                at: moment(Timestamp::now()),
                is_whole: count == 0,
                findings,
                count,
                earlier: None,
            }
        }
        Err(error) => Verified::Not { why: NotVerified::Failed(said(&error)) },
    }
}
