//! The conditions under which the figures of one run hold: what stands beside the answer, since other data, another
//! cache or synced writes would give another one.

use serde::Serialize;

use super::figures;
use super::index::Run;
use crate::target::Target;

/// A name and what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Fact {
    pub(super) name: String,
    pub(super) value: String,
}

/// A fact; nothing known is a dash.
pub(super) fn fact(name: &str, value: impl Into<String>) -> Fact {
    let value: String = value.into();
    Fact { name: name.into(), value: if value.is_empty() { "–".into() } else { value } }
}

/// Data, cache, durability of writes, load and number of measurements of `run`, from its plan and its engine's
/// settings.
pub(super) fn conditions(run: &Run) -> Vec<Fact> {
    let (plan, point) = (&run.results.plan, run.results.plan.point());
    let settings = &run.results.engine.settings;
    let set = |names: &[&str]| names.iter().find_map(|name| settings.get(*name).cloned());
    let mut facts = vec![fact(
        "Data",
        format!("{} records; {} for oltp and the batches", figures::count(point.records), figures::bytes(plan.bytes)),
    )];
    let sized = settings.iter().filter_map(|(name, value)| {
        let dataset = name.strip_prefix("cache (")?.strip_suffix(')')?;
        Some(format!("{dataset}: {value}"))
    });
    let caches: Vec<String> = sized.chain(set(&["cache bytes of the primary"])).collect();
    if !caches.is_empty() {
        facts.push(fact("Cache", caches.join("; ")));
    }
    if let Some(sync) = set(&["sync", "write concern"]) {
        facts.push(fact("Sync", sync));
    }
    let rate = match plan.target {
        None => "as fast as possible".into(),
        Some(Target::Rate(rate)) => {
            format!("{} operations a second, whether or not the store keeps up", figures::digits(rate))
        }
        Some(Target::Max) => "as many operations a second as keep the limit on latency".into(),
    };
    facts.push(fact("Load", format!("{}, {rate}", figures::counted(point.clients, "client"))));
    let slices = run.results.cells.iter().map(|cell| cell.samples.len()).max().unwrap_or(0);
    facts.push(fact(
        "Measured",
        format!("medians of {} in {}", figures::counted(slices, "slice"), figures::counted(plan.rounds, "round")),
    ));
    facts
}
