//! The conditions under which the figures of one run hold: what stands beside the answer, since other data, another
//! cache or synced writes would give another one. For the report as facts, for screen and Markdown in sentences. Not
//! here: what a setting means (`workload::setting`), how a cause is found (`saturation`).

use serde::Serialize;

use super::figures;
use super::index::Run;
use crate::results::{Cell, Conditions};
use crate::saturation;
use crate::target::Target;
use crate::workload::{COLD_SHARE, Setting};

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

/// Data, cache, durability of writes, load, what held the baseline back, and number of measurements of `run`: what its
/// cells say, or else its plan and its engine's settings.
pub(super) fn conditions(run: &Run) -> Vec<Fact> {
    let (plan, point) = (&run.results.plan, run.results.plan.point());
    let mut facts = vec![fact(
        "Data",
        format!("{} records; {} for oltp and the batches", figures::count(point.records), figures::bytes(plan.bytes)),
    )];
    facts.extend(cache_of_all(run).map(|caches| fact("Cache", caches)));
    facts.extend(sync_of_all(run).map(|sync| fact("Sync", sync)));
    let clients = match point.clients {
        0 => grouped(run, |cell| Some(figures::counted(cell.clients, "client"))).map(|groups| listed(&groups)),
        clients => Some(figures::counted(clients, "client")),
    };
    let rate = match plan.target {
        None => "as fast as possible".into(),
        Some(Target::Rate(rate)) => {
            format!("{} operations a second, whether or not the store keeps up", figures::digits(rate))
        }
        Some(Target::Max) => "as many operations a second as keep the limit on latency".into(),
    };
    facts.push(fact("Load", clients.into_iter().chain([rate]).collect::<Vec<_>>().join(", ")));
    facts.extend(held_back(run).map(|causes| fact("Held back", format!("unencrypted, {causes}"))));
    let slices = run.results.cells.iter().map(|cell| cell.samples.len()).max().unwrap_or(0);
    facts.push(fact(
        "Measured",
        format!("medians of {} in {}", figures::counted(slices, "slice"), figures::counted(plan.rounds, "round")),
    ));
    facts
}

/// The caches of the workloads; those of the data sets in results of earlier versions, or of the servers.
fn cache_of_all(run: &Run) -> Option<String> {
    let of = |cell: &Cell| Some(cache(cell.conditions.as_ref()?, member_disk_bytes(run, cell)));
    grouped(run, of).map(|groups| listed(&groups)).or_else(|| {
        let sized = run.results.engine.settings.iter().filter_map(|(name, value)| {
            let dataset = name.strip_prefix("cache (")?.strip_suffix(')')?;
            Some(format!("{dataset}: {value}"))
        });
        let caches: Vec<String> = sized.chain(setting_of(run, &["cache bytes of the primary"])).collect();
        (!caches.is_empty()).then(|| caches.join("; "))
    })
}

/// What the engine says of the durability of writes, and the workloads whose writes are synced.
fn sync_of_all(run: &Run) -> Option<String> {
    let synced = |cell: &Cell| cell.conditions.as_ref().filter(|found| found.synced).map(|found| writes(found).into());
    let synced = grouped(run, synced).map(|groups| listed(&groups));
    let words: Vec<String> = setting_of(run, &["sync", "write concern"]).into_iter().chain(synced).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// The first of the engine's settings called `names` that is there.
fn setting_of(run: &Run, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| run.results.engine.settings.get(*name).cloned())
}

/// The settings of the workloads, and what held each back without encryption; nothing that results do not say.
pub(super) fn sentences(run: &Run) -> Vec<String> {
    let held_back = held_back(run).map(|causes| format!("unencrypted, held back {causes}"));
    settings(run).into_iter().chain(held_back).collect()
}

/// `c-cold, e-cold: a cache of 6.3 MiB, 1/16 of the records, writes not synced; oltp-sync: …`.
fn settings(run: &Run) -> Option<String> {
    let described = |cell: &Cell| Some(described(cell.conditions.as_ref()?, member_disk_bytes(run, cell)));
    grouped(run, described).map(|groups| listed(&groups))
}

/// Cache and durability of a cell in words.
fn described(conditions: &Conditions, disk_bytes: u64) -> String {
    format!("{}, {}", cache(conditions, disk_bytes), writes(conditions))
}

/// What of cache and durability is not as usual under `workload`; empty if nothing is, or if results do not say.
pub(super) fn unusual(run: &Run, workload: &str) -> String {
    let Some(found) = run.cells(workload).first().and_then(|(_, cell)| cell.conditions) else { return String::new() };
    let disk_bytes = member_disk_bytes(run, run.cells(workload)[0].1);
    let holds_all = found.setting != Setting::Cold && found.cache_bytes >= found.data_bytes.max(disk_bytes);
    let cache = (!holds_all).then(|| cache(&found, disk_bytes));
    cache.into_iter().chain(found.synced.then(|| writes(&found).into())).collect::<Vec<_>>().join(", ")
}

/// What a member has on the disk, for a cache that the user sized: values alone are far less than what a store with
/// named fields keeps. Where the program sized it, 0: then it has room for that, and the rest is old versions.
pub(super) fn member_disk_bytes(run: &Run, cell: &Cell) -> u64 {
    let plan = &run.results.plan;
    if plan.cache.is_some() { cell.disk_bytes / plan.point().members.max(1) as u64 } else { 0 }
}

/// The cache of a cell in words; `disk_bytes` as [`member_disk_bytes`] has it.
pub(super) fn cache(conditions: &Conditions, disk_bytes: u64) -> String {
    let Conditions { setting, cache_bytes, data_bytes, .. } = *conditions;
    match setting {
        Setting::Cold => format!("a cache of {}, 1/{COLD_SHARE} of the records", figures::memory(cache_bytes)),
        _ if data_bytes > 0 && cache_bytes < data_bytes => {
            format!("a cache of {} for {} of records", figures::memory(cache_bytes), figures::bytes(data_bytes))
        }
        _ if cache_bytes < disk_bytes => {
            format!("a cache of {}, less than what is on the disk", figures::memory(cache_bytes))
        }
        _ => "a cache that holds the records".into(),
    }
}

/// The durability of a cell in words.
pub(super) fn writes(conditions: &Conditions) -> &'static str {
    if conditions.synced { "every write synced" } else { "writes as durable as the engine's default" }
}

/// What held the baseline back: `by the CPU: a, c; by the disk (syncs): oltp-sync`.
fn held_back(run: &Run) -> Option<String> {
    let groups = grouped(run, |cell| Some(saturation::name(&cell.saturation.by).to_owned()))?;
    let words = groups.iter().map(|(what, names)| format!("by {what}: {}", names.join(", "))).collect::<Vec<_>>();
    Some(words.join("; "))
}

/// `a, c: a cache that holds the records; c-cold: …`.
fn listed(groups: &[(String, Vec<&str>)]) -> String {
    groups.iter().map(|(what, names)| format!("{}: {what}", names.join(", "))).collect::<Vec<_>>().join("; ")
}

/// Names of the workloads by what `of` finds in the baseline's cell, in order of appearance.
fn grouped<'a>(run: &'a Run, of: impl Fn(&Cell) -> Option<String>) -> Option<Vec<(String, Vec<&'a str>)>> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for workload in &run.workloads {
        let Some(found) = run.baseline_cell(workload).and_then(&of) else { continue };
        match groups.iter_mut().find(|(what, _)| *what == found) {
            Some((_, names)) => names.push(workload),
            None => groups.push((found, vec![workload])),
        }
    }
    (!groups.is_empty()).then_some(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::testing::{cells_of, comparison};

    #[test]
    fn workloads_of_one_setting_and_of_one_cause_are_named_together() {
        let slices = [vec![1.0; 8], vec![0.9; 8]];
        let mut cells: Vec<Cell> = ["a", "c", "c-cold", "oltp-sync"].map(|name| cells_of(name, &slices)).concat();
        for cell in &mut cells {
            let (setting, cache_bytes) = match cell.workload.as_str() {
                "c-cold" => (Setting::Cold, 6 << 20),
                "oltp-sync" => (Setting::Sync, 1 << 30),
                _ => (Setting::Warm, 1 << 30),
            };
            let synced = setting == Setting::Sync;
            cell.conditions = Some(Conditions { setting, cache_bytes, data_bytes: 100_000_000, synced });
            if synced {
                cell.saturation.by = "disk".into();
            }
        }
        let runs = comparison(&["none", "aes-256"], cells).runs();
        let found = sentences(&Run::new(&runs[0], String::new()));
        let default = "writes as durable as the engine's default";
        let want = format!(
            "a, c: a cache that holds the records, {default}; c-cold: a cache of 6.00 MiB, 1/16 of the records, \
             {default}; oltp-sync: a cache that holds the records, every write synced"
        );
        assert_eq!(
            found,
            [want, "unencrypted, held back by the CPU: a, c, c-cold; by the disk (syncs): oltp-sync".into()]
        );
        let run = Run::new(&runs[0], String::new());
        let facts = conditions(&run);
        let value = |name: &str| facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str());
        let caches =
            "a, c, oltp-sync: a cache that holds the records; c-cold: a cache of 6.00 MiB, 1/16 of the records";
        assert_eq!(value("Cache"), Some(caches));
        assert_eq!(value("Sync"), Some("oltp-sync: every write synced"));
        assert_eq!(value("Held back"), Some("unencrypted, by the CPU: a, c, c-cold; by the disk (syncs): oltp-sync"));
        // a cache that the user sized is judged by the files, too
        let mut sized = runs[0].clone();
        sized.plan.cache = Some(64 << 20);
        for cell in &mut sized.cells {
            let found = cell.conditions.as_mut().unwrap();
            (found.setting, found.cache_bytes, found.data_bytes) = (Setting::Warm, 64 << 20, 10_000_000);
        }
        let small = sentences(&Run::new(&sized, String::new())).remove(0);
        assert!(small.starts_with("a, c, c-cold: a cache of 64.0 MiB, less than what is on the disk, "), "{small}");
        assert_eq!(unusual(&run, "a"), "");
        assert_eq!(unusual(&run, "c-cold"), "a cache of 6.00 MiB, 1/16 of the records");
        assert_eq!(unusual(&run, "oltp-sync"), "every write synced");
    }
}
