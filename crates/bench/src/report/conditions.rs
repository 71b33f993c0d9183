//! The conditions under which the figures of one run apply, shown beside the answer, since other
//! data, another cache or synced writes would give another answer. For the report as facts, for
//! screen and Markdown in sentences.

use std::collections::BTreeSet;

use serde::Serialize;

use super::index::Run;
use crate::compare::forecast;
use crate::conclude::figures;
use crate::conclude::sustained_rate;
use crate::results::{Cell, Conditions, Results};
use crate::words::target::Target;
use crate::workload::{Setting, cold_share_words};

/// A name and what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Fact {
    pub(super) name: String,
    pub(super) value: String,
}

/// Returns a fact; an unknown value is a dash.
pub(super) fn fact(name: &str, value: impl Into<String>) -> Fact {
    let value: String = value.into();
    Fact { name: name.into(), value: if value.is_empty() { "–".into() } else { value } }
}

/// Returns data, cache, durability of writes, load, bottleneck of the baseline, and number of
/// measurements of `run`: from its cells, or else from its plan and its engine's settings.
pub(super) fn conditions(run: &Run) -> Vec<Fact> {
    let (plan, point) = (&run.results.plan, run.results.plan.point());
    let data = match device_bytes(run.results) {
        Some(_) => amount(run.results),
        None => format!(
            "{}; {} for the batches, an eighth for oltp",
            amount(run.results),
            figures::bytes(plan.bytes)
        ),
    };
    let mut facts = vec![fact("Data", data)];
    facts.extend(cache_of_all(run).map(|caches| fact("Cache", caches)));
    facts.extend(sync_of_all(run).map(|sync| fact("Sync", sync)));
    facts
        .extend(setting_of(run, &[CONGESTION]).map(|name| fact("Congestion control of TCP", name)));
    let clients = match point.clients {
        0 => grouped(run, |cell| Some(figures::counted(cell.clients, "client")))
            .map(|groups| listed(&groups)),
        clients => Some(figures::counted(clients, "client")),
    };
    let rate = match plan.target {
        None => "as fast as possible".into(),
        Some(Target::Rate(rate)) => {
            format!(
                "{} operations a second, whether or not the store keeps up",
                figures::digits(rate)
            )
        }
        Some(Target::Max) => "as many operations a second as keep the limit on latency".into(),
    };
    facts.push(fact("Load", clients.into_iter().chain([rate]).collect::<Vec<_>>().join(", ")));
    facts.extend(
        bottlenecks(run).map(|causes| fact("Bottleneck", format!("without encryption: {causes}"))),
    );
    let slices = run.results.cells.iter().map(|cell| cell.samples.len()).max().unwrap_or(0);
    facts.push(fact(
        "Measured",
        format!(
            "medians of {} in {}; {}",
            figures::counted(slices, "slice"),
            figures::counted(forecast::rounds(run.results), "round"),
            repetition(run).unwrap_or_default()
        ),
    ));
    facts
}

/// Bytes of the block device, where its workloads run on one and not on records.
fn device_bytes(results: &Results) -> Option<u64> {
    let is_of_device = |name: &String| results.plan.workload(name).is_ok_and(|spec| spec.device);
    results.plan.workloads.iter().any(is_of_device).then(|| results.plan.data().bytes)
}

/// Returns the amount of data that is worked on: `100 000 records`, or `64.0 MB of a block device`.
pub(super) fn amount(results: &Results) -> String {
    match device_bytes(results) {
        Some(bytes) => format!("{} of a block device", figures::bytes(bytes)),
        None => format!("{} records", figures::count(results.plan.point().records)),
    }
}

/// Returns the caches of the workloads, or of the servers.
fn cache_of_all(run: &Run) -> Option<String> {
    let of = |cell: &Cell| cache(run, cell);
    let of_servers = || setting_of(run, &["cache bytes of the primary", "page cache"]);
    grouped(run, of).map(|groups| listed(&groups)).or_else(of_servers)
}

/// Describes the engine's settings for the durability of writes, and the workloads whose writes are
/// synced.
fn sync_of_all(run: &Run) -> Option<String> {
    let synced = |cell: &Cell| {
        cell.conditions.as_ref().filter(|found| found.synced).map(|found| writes(found).into())
    };
    let synced = grouped(run, synced).map(|groups| listed(&groups));
    let words: Vec<String> =
        setting_of(run, &["sync", "write concern"]).into_iter().chain(synced).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// Returns the first of the engine's settings called `names` that is there.
fn setting_of(run: &Run, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| run.results.engine.settings.get(*name).cloned())
}

/// The engine's setting for how TCP shares the link, where a link is measured.
const CONGESTION: &str = "congestion control";

/// Returns the settings of the workloads, TCP's behaviour on the link, and the bottleneck of each
/// workload without encryption; nothing that is not in the results.
pub(super) fn sentences(run: &Run) -> Vec<String> {
    let limits = bottlenecks(run).map(|causes| format!("bottleneck without encryption: {causes}"));
    let congestion =
        setting_of(run, &[CONGESTION]).map(|name| format!("congestion control of TCP: {name}"));
    settings(run).into_iter().chain(congestion).chain(limits).chain(repetition(run)).collect()
}

/// Remark on a run whose stores were loaded once.
const LOADED_ONCE: &str = "the stores were loaded once: intervals are of this one load, and \
                           another one may differ by a percent or two";

/// Describes what the intervals are over: separately loaded stores, or the slices of a single load.
fn repetition(run: &Run) -> Option<String> {
    let loads = |cell: &Cell| {
        let of_searches =
            cell.open_loop.iter().flat_map(|found| found.searches.iter().map(|search| search.load));
        let of_samples = cell.samples.iter().map(|sample| sample.load);
        let own: BTreeSet<usize> = if sustained_rate::is_searched(cell) {
            of_searches.collect()
        } else {
            of_samples.collect()
        };
        own.len()
    };
    let most = run.results.cells.iter().map(loads).max()?;
    if most == 1 {
        return Some(LOADED_ONCE.into());
    }
    let groups = grouped(run, |cell| match loads(cell) {
        1 => Some("a single load".into()),
        loads => Some(format!("{loads} loads of each store")),
    })?;
    let words = match groups.as_slice() {
        [(what, _)] => what.clone(),
        several => {
            let each = several.iter().map(|(what, names)| format!("{what} ({})", names.join(", ")));
            each.collect::<Vec<_>>().join("; ")
        }
    };
    Some(format!("intervals are over {words}"))
}

/// `c-cold, e-cold: a cache of 6.3 MiB, 1/16 of the records, writes not synced; oltp-sync: …`.
fn settings(run: &Run) -> Option<String> {
    let described =
        |cell: &Cell| Some(format!("{}, {}", cache(run, cell)?, writes(cell.conditions.as_ref()?)));
    grouped(run, described).map(|groups| listed(&groups))
}

/// Describes how cache and durability differ from the usual under `workload`; empty if they do not,
/// or if the results do not include them.
pub(super) fn unusual(run: &Run, workload: &str) -> String {
    let Some((_, cell)) = run.cells(workload).first().copied() else { return String::new() };
    let Some(found) = cell.conditions else { return String::new() };
    let holds_all = found.setting != Setting::Cold && holds(&found, member_disk_bytes(run, cell));
    let cache = cache(run, cell).filter(|_| !holds_all && !has_cache_of_its_own(run));
    cache
        .into_iter()
        .chain(found.synced.then(|| writes(&found).into()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns whether a cache of that size holds everything.
fn holds(conditions: &Conditions, disk_bytes: u64) -> bool {
    conditions.cache_bytes >= conditions.data_bytes.max(disk_bytes)
}

/// Returns the bytes that a member has on the disk, for a cache that the user sized: values alone
/// are far less than what a store with named fields keeps. Where the program sized the cache,
/// returns 0: it then has room for the data, and the rest is old versions.
fn member_disk_bytes(run: &Run, cell: &Cell) -> u64 {
    let plan = &run.results.plan;
    if plan.cache.is_some() { cell.disk_bytes / plan.point().members.max(1) as u64 } else { 0 }
}

/// The engine's setting that names the cache of records, where a comparison does not set its size.
const CACHE: &str = "cache";

fn has_cache_of_its_own(run: &Run) -> bool {
    run.results.engine.settings.contains_key(CACHE)
}

/// Returns the cache of a cell in words; none on a block device, which has none of ours, and where
/// results do not record it.
pub(super) fn cache(run: &Run, cell: &Cell) -> Option<String> {
    let conditions = cell.conditions.as_ref()?;
    if run.results.plan.workload(&cell.workload).is_ok_and(|spec| spec.device) {
        return None;
    }
    if let Some(own) = run.results.engine.settings.get(CACHE) {
        return Some(own.clone());
    }
    let (size, data_bytes) = (figures::memory(conditions.cache_bytes), conditions.data_bytes);
    Some(match conditions.setting {
        Setting::Cold => {
            let share = cold_share_words(run.results.plan.cold_share);
            format!("a cache of {size}, {share} of the records")
        }
        _ if holds(conditions, member_disk_bytes(run, cell)) => {
            "a cache that holds the records".into()
        }
        _ => {
            let records = match data_bytes {
                0 => String::new(),
                _ => format!(" for {} of records", figures::bytes(data_bytes)),
            };
            let files = ", less than the files, which hold indexes and logs too";
            let files = if conditions.cache_bytes < data_bytes { "" } else { files };
            format!("a cache of {size}{records}{files}")
        }
    })
}

/// Returns the durability of a cell in words.
pub(super) fn writes(conditions: &Conditions) -> &'static str {
    if conditions.synced {
        "every write synced"
    } else {
        "writes as durable as the engine's default"
    }
}

/// Lists the bottlenecks of the baseline: `the CPU (a, c), syncs of the disk (oltp-sync)`.
fn bottlenecks(run: &Run) -> Option<String> {
    let groups = grouped(run, |cell| Some(cell.saturation.by.name().to_owned()))?;
    let words = groups
        .iter()
        .map(|(what, names)| format!("{what} ({})", names.join(", ")))
        .collect::<Vec<_>>();
    Some(words.join(", "))
}

/// `a, c: a cache that holds the records; c-cold: …`.
fn listed(groups: &[(String, Vec<&str>)]) -> String {
    groups
        .iter()
        .map(|(what, names)| format!("{}: {what}", names.join(", ")))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Names of the workloads by what `of` finds in the baseline's cell, in order of appearance.
fn grouped<'a>(
    run: &'a Run,
    of: impl Fn(&Cell) -> Option<String>,
) -> Option<Vec<(String, Vec<&'a str>)>> {
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
    use crate::conclude::testing::{cells_of, comparison};

    #[test]
    fn a_block_device_has_bytes_and_no_cache() {
        let mut cells = cells_of("seq-read", &[vec![1.0; 8], vec![0.9; 8]]);
        let (setting, cache_bytes, data_bytes) = (Setting::Warm, 192 << 20, 64_000_000);
        cells.iter_mut().for_each(|cell| {
            cell.conditions = Some(Conditions { setting, cache_bytes, data_bytes, synced: false });
        });
        let mut results = comparison(&["none", "aes-256"], cells).runs().remove(0);
        results.plan.workloads = vec!["seq-read".into()];
        results.plan.bytes = 64_000_000;
        results.engine.settings.insert("page cache".into(), "passed by (O_DIRECT)".into());
        let run = Run::new(&results, String::new());
        assert_eq!(amount(&results), "64.0 MB of a block device");
        assert_eq!(
            sentences(&run),
            ["bottleneck without encryption: the CPU (seq-read)", LOADED_ONCE]
        );
        let facts = conditions(&run);
        let value = |name: &str| {
            facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
        };
        assert_eq!(
            (value("Data"), value("Cache")),
            (Some("64.0 MB of a block device"), Some("passed by (O_DIRECT)"))
        );
        assert_eq!(unusual(&run, "seq-read"), "");
    }

    /// The amount that a link carries depends on how TCP shares it, so this setting is shown with
    /// the figures.
    #[test]
    fn how_tcp_shares_a_link_is_a_condition() {
        let cells = cells_of("seq-read", &[vec![1.0; 8], vec![0.9; 8]]);
        let mut results = comparison(&["none", "aes-256"], cells).runs().remove(0);
        results.engine.settings.insert(CONGESTION.into(), "cubic, as asked for".into());
        let run = Run::new(&results, String::new());
        assert_eq!(sentences(&run)[0], "congestion control of TCP: cubic, as asked for");
        assert!(
            conditions(&run).contains(&fact("Congestion control of TCP", "cubic, as asked for"))
        );
        assert!(
            crate::report::summary::screen(&results, 80, false)
                .contains("control of TCP: cubic, as asked for")
        );
    }

    #[test]
    fn what_caches_records_by_itself_says_how() {
        let mut cells = cells_of("a", &[vec![1.0; 8], vec![0.9; 8]]);
        let (setting, cache_bytes, data_bytes) = (Setting::Warm, 64 << 20, 100_000_000);
        cells.iter_mut().for_each(|cell| {
            cell.conditions = Some(Conditions { setting, cache_bytes, data_bytes, synced: false });
        });
        let mut results = comparison(&["none", "aes-256"], cells).runs().remove(0);
        results.engine.settings.insert("cache".into(), "none: all records are in memory".into());
        let run = Run::new(&results, String::new());
        let found = sentences(&run).remove(0);
        assert_eq!(
            found,
            "a: none: all records are in memory, writes as durable as the engine's default"
        );
        assert_eq!(unusual(&run, "a"), "");
    }

    #[test]
    fn workloads_of_one_setting_and_of_one_cause_are_named_together() {
        let slices = [vec![1.0; 8], vec![0.9; 8]];
        let mut cells: Vec<Cell> =
            ["a", "c", "c-cold", "oltp-sync"].map(|name| cells_of(name, &slices)).concat();
        for cell in &mut cells {
            let (setting, cache_bytes) = match cell.workload.as_str() {
                "c-cold" => (Setting::Cold, 6 << 20),
                "oltp-sync" => (Setting::Sync, 1 << 30),
                _ => (Setting::Warm, 1 << 30),
            };
            let synced = setting == Setting::Sync;
            cell.conditions =
                Some(Conditions { setting, cache_bytes, data_bytes: 100_000_000, synced });
            if synced {
                cell.saturation.by = crate::words::Bottleneck::Disk;
            }
        }
        let runs = comparison(&["none", "aes-256"], cells).runs();
        let found = sentences(&Run::new(&runs[0], String::new()));
        let default = "writes as durable as the engine's default";
        let want = format!(
            "a, c: a cache that holds the records, {default}; c-cold: a cache of 6.00 MiB, 1/16 of \
             the records, {default}; oltp-sync: a cache that holds the records, every write synced"
        );
        assert_eq!(
            found,
            [
                want.as_str(),
                "bottleneck without encryption: the CPU (a, c, c-cold), syncs of the disk \
                 (oltp-sync)",
                LOADED_ONCE
            ]
        );
        let run = Run::new(&runs[0], String::new());
        let facts = conditions(&run);
        let value = |name: &str| {
            facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
        };
        let caches = "a, c, oltp-sync: a cache that holds the records; c-cold: a cache of 6.00 \
                      MiB, 1/16 of the records";
        assert_eq!(value("Cache"), Some(caches));
        assert_eq!(value("Sync"), Some("oltp-sync: every write synced"));
        let wanted = "without encryption: the CPU (a, c, c-cold), syncs of the disk (oltp-sync)";
        assert_eq!(value("Bottleneck"), Some(wanted));
        // a cache that the user sized is judged by the files, too
        let mut sized = runs[0].clone();
        sized.plan.cache = Some(64 << 20);
        for cell in &mut sized.cells {
            let found = cell.conditions.as_mut().unwrap();
            (found.setting, found.cache_bytes, found.data_bytes) =
                (Setting::Warm, 64 << 20, 10_000_000);
        }
        let small = sentences(&Run::new(&sized, String::new())).remove(0);
        let wanted = "a, c, c-cold: a cache of 64.0 MiB for 10.0 MB of records, less than the \
                      files, which hold indexes and logs too, ";
        assert!(small.starts_with(wanted), "{small}");
        assert_eq!(unusual(&run, "a"), "");
        assert_eq!(unusual(&run, "c-cold"), "a cache of 6.00 MiB, 1/16 of the records");
        assert_eq!(unusual(&run, "oltp-sync"), "every write synced");
    }
}
