//! Engine and key of a point of a study.

use sealstone_bench::study::StudyPoint;
use sealstone_bench::study::plan::Plan;
use sealstone_keys::source;
use sealstone_store::Engine;
use sealstone_store::kind::{Opened, UserKey};
use sealstone_stores::open_engine;

use crate::key_source::{self, Opening};
use crate::message::say;

/// Returns the named key, if any; a passphrase is requested once for all groups.
///
/// # Errors
/// A key that is not available.
pub(crate) fn user_key(plan: &Plan) -> anyhow::Result<Option<UserKey>> {
    let Some(named) = &plan.key else { return Ok(None) };
    Ok(Some(UserKey {
        named: named.clone(),
        passphrase_file: source::passphrase_file(plan.passphrase_file.as_deref()),
        source: key_source::open(
            named,
            Opening { passphrase_file: plan.passphrase_file.as_deref(), ..Opening::default() },
        )?,
    }))
}

/// Returns the engine of `point`, with the user's `key`; `joins`: another client loads it.
///
/// # Errors
/// Servers that cannot be found, too little memory for what each of them takes at least.
pub(crate) fn engine(
    point: &StudyPoint,
    key: Option<&UserKey>,
    joins: bool,
) -> anyhow::Result<Box<dyn Engine>> {
    let Opened { engine, notes } = open_engine(point.store, &point.request(key, joins)?)?;
    notes.iter().for_each(|note| say(note));
    Ok(engine)
}
