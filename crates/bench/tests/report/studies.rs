//! Made-up results of studies other than a plain comparison: requests at a fixed rate, the highest
//! rate under a limit, several stores, clients and links, block devices, tunnels, columns, and all
//! that can hold a run back. Every conclusion is drawn by the program from the slices.

use std::collections::BTreeMap;

use sealstone_bench::conclude::saturation::{self, Evidence};
use sealstone_bench::measure::SliceLatency;
use sealstone_bench::results::{
    Cell, Choice, Conditions, Means, Results, SERVER_BACKEND, Sample, Variant,
};
use sealstone_bench::results::{OpenLoop, Search, Sustained};
use sealstone_bench::study::plan::{Plan, Policy};
use sealstone_bench::words::{Limit, Target};
use sealstone_bench::workload::Setting;
use sealstone_store::Layer;

use crate::fixtures::{self, results, subject};
use crate::{at, judged};

/// Returns every study by name, concluded.
pub(crate) fn studies() -> Vec<(String, Vec<Results>)> {
    let one = |name: &str, results: Results| (name.to_owned(), vec![judged(results)]);
    let each = |name: &str, all: Vec<Results>| {
        (name.to_owned(), all.into_iter().map(judged).collect::<Vec<_>>())
    };
    let mut studies = vec![
        each("stores", vec![ordinary(), at(ordinary(), "mongodb", 8)]),
        each("clients", [1, 8, 32].map(|clients| at(ordinary(), "rocksdb", clients)).into()),
        each("clients looked for", vec![with(ordinary(), |plan| plan.threads.clear())]),
        each(
            "members",
            [1, 3].map(|members| with(ordinary(), |plan| plan.nodes = vec![members])).into(),
        ),
        each(
            "records",
            [1_000, 100_000]
                .map(|count| with(ordinary(), |plan| plan.records = vec![count]))
                .into(),
        ),
        each("two machines", fixtures::two_machines()),
        each("two that differ", two_that_differ()),
        one("causes", causes()),
        one("gaps", gaps()),
        each("gaps of several", vec![gaps(), at_a_rate(gaps(), &USUAL), searched(gaps(), &FOUND)]),
        one("ended by an error", ended_by_an_error()),
        one("ended early", Results { interrupted: true, ..slices(ordinary(), 3) }),
        one("before the first slice", crate::nothing_measured()),
        one("warnings", warnings()),
        one("facts", facts()),
        one("own workloads", own_workloads()),
        one("few slices", slices(ordinary(), 3)),
        one("one load", noisy(slices(three(&["a", "oltp"]), 9), 0.2)),
        one("several loads", noisy(loads(three(&["a", "oltp"]), 8), 0.1)),
        one("too noisy", noisy(loads(three(&["a", "oltp"]), 8), 1.5)),
        one("faster", results(&[subject("none", 0.0, 0.0), subject("aes-256", -0.3, 0.0)], &["a"])),
        one(
            "much slower",
            results(&[subject("none", 0.0, 0.0), subject("lea-256", 0.9, 0.0)], &["a"]),
        ),
        one("nothing to do", nothing_to_do(&["c"])),
        one("nothing to do in some", nothing_to_do(&["c", "oltp"])),
        one("settings", settings()),
        one("legacy", results(&LEGACY.map(|name| subject(name, 0.05, 0.0)), &["a"])),
        one(
            "alone twice",
            results(&[subject("none", 0.0, 0.0), subject("none (2)", 0.2, 0.0)], &["a"]),
        ),
        one("columns", columns(&["aead"])),
        one("columns of a format", columns(&["ff1"])),
        one("functions", functions()),
        one("tunnels", tunnels(&["aes-256-gcm strongswan", "aria-256-gcm sealstone", "3des-md5"])),
        one("a legacy tunnel", tunnels(&["3des-md5", "null"])),
        one("tls", tunnels(&["tls"])),
        one("a volume", on_a_volume()),
        one("a module", in_a_module()),
        each("links", links()),
        one("a device", device()),
    ];
    for (at, policy) in [Policy::Fips, Policy::Kcmvp, Policy::FipsModule, Policy::KcmvpModule]
        .into_iter()
        .enumerate()
    {
        let under = |results: Results| with(results, |plan| plan.policy = policy);
        studies.push(one(&format!("policy {at}"), under(ordinary())));
        studies.push(one(&format!("policy {at}, columns"), under(columns(&["ff1"]))));
        studies.push(one(&format!("policy {at}, tunnels"), under(tunnels(&["aes-256-gcm"]))));
        studies.push(one(&format!("policy {at}, a module"), under(in_a_module())));
        studies.push(one(&format!("policy {at}, rate"), at_a_rate(under(three(&RATED)), &USUAL)));
    }
    for who in [
        &["disk-thief"][..],
        &["backup-reader", "network"],
        &["dba"],
        &["server-admin"],
        &["disk-thief", "network", "server-admin"],
    ] {
        let asked = |results: Results| {
            with(results, |plan| plan.protect_from = who.iter().map(|one| (*one).into()).collect())
        };
        let name = who.join(" and ");
        studies.push(one(&name, asked(fixtures::places())));
        studies.push(one(&format!("{name}, files alone"), asked(ordinary())));
        studies.push(one(&format!("{name}, columns"), asked(columns(&["ff1"]))));
        studies.push(one(&format!("{name}, tunnels"), asked(tunnels(&["aes-256-gcm"]))));
        studies.push(one(&format!("{name}, rate"), {
            let mut places = asked(fixtures::places());
            places.plan.workloads = vec!["a".into()];
            places.cells.retain(|cell| cell.workload == "a");
            at_a_rate(places, &Rated { longer: &[1.0, 1.05, 1.2, 1.3, 1.4], ..USUAL })
        }));
    }
    studies.extend(rates().into_iter().map(|(name, results)| one(name, results)));
    studies.extend(searches().into_iter().map(|(name, results)| one(name, results)));
    studies.push(each(
        "clients at a rate",
        [1, 8].map(|clients| at(at_a_rate(three(&RATED), &USUAL), "rocksdb", clients)).into(),
    ));
    studies.push(each(
        "clients under a limit",
        [1, 8].map(|clients| at(searched(three(&RATED), &FOUND), "rocksdb", clients)).into(),
    ));
    studies
}

/// Ciphers that no advice names.
const LEGACY: [&str; 7] = ["none", "3des", "blowfish", "hight", "pipo-128", "seed-128", "lea-256"];

/// Workloads that can be held at a rate.
const RATED: [&str; 3] = ["a", "c-cold", "oltp-sync"];

fn ordinary() -> Results {
    fixtures::ordinary()
}

/// Returns results of two ciphers beside none.
fn three(workloads: &[&str]) -> Results {
    let subjects = [("none", 0.0), ("aes-256", 0.012), ("aria-256", 0.058)]
        .map(|(name, cost)| subject(name, cost, 0.0));
    results(&subjects, workloads)
}

/// Returns `results` of another plan.
fn with(mut results: Results, change: impl FnOnce(&mut Plan)) -> Results {
    change(&mut results.plan);
    results
}

/// Returns `results` with the first `count` slices of each cell.
fn slices(mut results: Results, count: usize) -> Results {
    results.cells.iter_mut().for_each(|cell| cell.samples.truncate(count));
    results
}

/// Returns `results` as if every round had loaded the stores again, in `count` rounds of three
/// slices.
fn loads(mut results: Results, count: usize) -> Results {
    for cell in &mut results.cells {
        let known = std::mem::take(&mut cell.samples);
        let sample = |at: usize| Sample {
            round: at / 3,
            slice: at % 3,
            load: at / 3,
            ..known[at % known.len()].clone()
        };
        cell.samples = (0..3 * count).map(sample).collect();
    }
    results
}

/// Returns `results` in which every variant is now slower, now faster by about the share `by`.
fn noisy(mut results: Results, by: f64) -> Results {
    for cell in results.cells.iter_mut().filter(|cell| cell.variant > 0) {
        for (at, sample) in cell.samples.iter_mut().enumerate() {
            let wave = (at as f64 * 2.3 + cell.variant as f64).sin();
            sample.elapsed_s *= (by * wave).exp();
        }
    }
    results
}

/// Outcome of requests at a rate.
struct Rated<'a> {
    /// For each variant, their latency as a multiple of that without encryption.
    longer: &'a [f64],
    /// Requests of a slice.
    requests: u64,
    /// Logarithm of the factor by which slices of the variants scatter.
    scatter: f64,
    /// For each variant, the share of the rate that it keeps up with.
    kept: &'a [f64],
    /// For each variant, its CPU time as a multiple.
    cpu: &'a [f64],
}

const USUAL: Rated =
    Rated { longer: &[1.0, 1.01, 1.6], requests: 2_000, scatter: 0.0, kept: &[], cpu: &[] };

/// Returns `results` as if they had been held at 2000 operations a second, as `rated` has it.
fn at_a_rate(mut results: Results, rated: &Rated) -> Results {
    results.plan.target = Some(Target::Rate(2_000.0));
    let of = |list: &[f64], number: usize| list.get(number).copied().unwrap_or(1.0);
    for cell in &mut results.cells {
        let number = cell.variant;
        let slice = |at: usize| {
            let machine = 1.0 + (at % 4) as f64 / 20.0;
            let scatter = if number == 0 { 0.0 } else { rated.scatter * (at as f64 * 2.3).sin() };
            latencies(100.0 * of(rated.longer, number) * machine * scatter.exp(), rated.requests)
        };
        let slices = (0..cell.samples.len()).map(slice).collect();
        cell.open_loop = Some(OpenLoop { slices, ..OpenLoop::default() });
        for sample in &mut cell.samples {
            sample.operations = rated.requests;
            sample.kept_per_s = 2_000.0 * of(rated.kept, number);
            sample.elapsed_s = rated.requests as f64 / sample.kept_per_s;
            sample.cpu_user_s *= of(rated.cpu, number);
            sample.cpu_system_s *= of(rated.cpu, number);
        }
        cell.service = cell.latency.clone();
        cell.overhead = None;
        cell.saturation = judge(cell, Some(2_000.0), false);
    }
    results
}

/// Returns the latencies of `requests` that follow an exponential law of `mean_us`.
fn latencies(mean_us: f64, requests: u64) -> SliceLatency {
    SliceLatency::new((1..=requests).map(|at| {
        let share = at as f64 / (requests + 1) as f64;
        (-mean_us * (1.0 - share).ln(), 1)
    }))
}

/// Returns what held `cell` back.
fn judge(cell: &Cell, target: Option<f64>, peak: bool) -> sealstone_bench::results::Saturation {
    saturation::judge(&Evidence {
        samples: &cell.samples,
        clients: cell.clients,
        cores: 8,
        target,
        generator_share: cell.generator_share,
        machine_share: 0.0,
        has_servers: false,
        peak,
    })
}

/// Returns results at a fixed rate, in every way in which they can end.
fn rates() -> Vec<(&'static str, Results)> {
    let rated = |rated: &Rated| at_a_rate(three(&RATED), rated);
    let of_loads = |rated: &Rated| at_a_rate(loads(three(&RATED), 8), rated);
    let mut base_behind = rated(&USUAL);
    for cell in base_behind.cells.iter_mut().filter(|cell| cell.workload == "c-cold") {
        cell.samples.iter_mut().for_each(|sample| sample.kept_per_s = 1_500.0);
    }
    let mut one_behind = rated(&USUAL);
    let last = one_behind.cells.last_mut().unwrap();
    last.samples.iter_mut().for_each(|sample| sample.kept_per_s = 1_500.0);
    let mut cpu_open = rated(&Rated { requests: 300, ..USUAL });
    for cell in cpu_open.cells.iter_mut().filter(|cell| cell.variant > 0) {
        for (at, sample) in cell.samples.iter_mut().enumerate() {
            sample.cpu_user_s *= (0.5 * (at as f64 * 2.3).sin()).exp();
        }
    }
    let mut alone = at_a_rate(fixtures::alone(), &USUAL);
    alone.plan.protect_from = vec!["dba".into()];
    vec![
        ("rate", rated(&USUAL)),
        ("rate, several loads", of_loads(&USUAL)),
        ("rate, one workload", at_a_rate(three(&["a"]), &USUAL)),
        ("rate, no difference", rated(&Rated { longer: &[1.0, 1.001, 1.002], ..USUAL })),
        ("rate, longer", rated(&Rated { longer: &[1.0, 1.4, 1.5], ..USUAL })),
        ("rate, much longer", rated(&Rated { longer: &[1.0, 3.0, 4.0], ..USUAL })),
        ("rate, shorter", rated(&Rated { longer: &[1.0, 0.6, 0.7], ..USUAL })),
        ("rate, at most", of_loads(&Rated { scatter: 0.2, ..USUAL })),
        (
            "rate, at most, not longer",
            of_loads(&Rated { longer: &[1.0, 0.9, 0.9], scatter: 0.1, ..USUAL }),
        ),
        ("rate, open", of_loads(&Rated { scatter: 1.0, ..USUAL })),
        ("rate, little open", rated(&Rated { scatter: 0.4, ..USUAL })),
        ("rate, more CPU", rated(&Rated { longer: &[], cpu: &[1.0, 1.2, 1.5], ..USUAL })),
        ("rate, less CPU", rated(&Rated { longer: &[], cpu: &[1.0, 0.8, 0.7], ..USUAL })),
        ("rate, few requests", rated(&Rated { requests: 300, ..USUAL })),
        ("rate, few requests and slices", slices(rated(&Rated { requests: 300, ..USUAL }), 3)),
        ("rate, CPU time open", cpu_open),
        ("rate, few slices", slices(rated(&Rated { requests: 9_000, ..USUAL }), 3)),
        ("rate, one falls behind", rated(&Rated { kept: &[1.0, 1.0, 0.8], ..USUAL })),
        ("rate, one falls behind once", one_behind),
        ("rate, all fall behind", rated(&Rated { kept: &[1.0, 0.9, 0.8], ..USUAL })),
        ("rate, none keeps up", rated(&Rated { kept: &[0.7, 0.6, 0.5], ..USUAL })),
        ("rate, baseline behind once", base_behind),
        ("rate, alone", alone),
        (
            "rate, alone twice",
            at_a_rate(
                results(&[subject("none", 0.0, 0.0), subject("none (2)", 0.0, 0.0)], &["a"]),
                &Rated { longer: &[1.0, 1.01], ..USUAL },
            ),
        ),
        ("rate, a tunnel", at_a_rate(tunnels(&["aes-256-gcm"]), &Rated { longer: &[], ..USUAL })),
        ("rate, nothing to do", at_a_rate(nothing_to_do(&["a", "c"]), &USUAL)),
        ("rate, ended early", Results { interrupted: true, ..slices(rated(&USUAL), 4) }),
    ]
}

/// Outcome of searches for the highest rate.
struct Found<'a> {
    /// For each variant, operations a second; 0 if the limit was never met.
    rates: &'a [f64],
    /// Set if a variant was as fast as it can be.
    is_full_speed: bool,
    /// Searches of each.
    count: usize,
    /// The 99th percentile while the rate was held, in microseconds.
    p99_us: f64,
    /// Logarithm of the factor by which searches scatter.
    scatter: f64,
}

const FOUND: Found = Found {
    rates: &[40_000.0, 39_000.0, 33_000.0],
    is_full_speed: false,
    count: 12,
    p99_us: 8_000.0,
    scatter: 0.0,
};

/// Returns `results` as if the highest rate with a p99 of at most 10 ms had been searched for.
fn searched(mut results: Results, found: &Found) -> Results {
    results.plan.target = Some(Target::Max);
    results.plan.p99 = Some(Limit { limit_us: 10_000.0 });
    for cell in &mut results.cells {
        let number = cell.variant;
        let rate = found.rates.get(number).copied().unwrap_or(0.0);
        let search = |at: usize| {
            let scatter = found.scatter * (at as f64 * 2.3 + number as f64).sin();
            let rate = rate * (1.0 + 0.01 * (at % 3) as f64) * scatter.exp();
            match rate > 0.0 {
                true => Search {
                    met_per_s: Some(rate * 0.99),
                    missed_per_s: rate * 1.01,
                    fell_behind: found.is_full_speed,
                    load: 0,
                },
                false => {
                    Search { met_per_s: None, missed_per_s: 50.0, fell_behind: false, load: 0 }
                }
            }
        };
        let slices =
            (0..cell.samples.len()).map(|_| latencies(found.p99_us / 4.6, 2_000)).collect();
        cell.open_loop = Some(OpenLoop {
            slices,
            searches: (0..found.count).map(search).collect(),
            sustained: Some(Sustained {
                held_per_s: (rate > 0.0).then_some(rate * 0.97),
                ..Sustained::default()
            }),
            ..OpenLoop::default()
        });
        cell.service = cell.latency.clone();
        cell.overhead = None;
    }
    results
}

/// Returns searches for the highest rate, in every way in which they can end.
fn searches() -> Vec<(&'static str, Results)> {
    let found = |found: &Found| searched(three(&RATED), found);
    let mut lost = found(&FOUND);
    let last = lost.cells.last_mut().unwrap();
    let open_loop = last.open_loop.as_mut().unwrap();
    for search in &mut open_loop.searches {
        (search.met_per_s, search.missed_per_s) = (None, 50.0);
    }
    let mut few_requests = found(&FOUND);
    for open_loop in few_requests.cells.iter_mut().filter_map(|cell| cell.open_loop.as_mut()) {
        open_loop.slices = vec![latencies(1_000.0, 100); open_loop.slices.len()];
    }
    vec![
        ("limit", found(&FOUND)),
        ("limit, one workload", searched(three(&["a"]), &FOUND)),
        ("limit, full speed", found(&Found { is_full_speed: true, ..FOUND })),
        ("limit, not confirmed", found(&Found { p99_us: 20_000.0, ..FOUND })),
        ("limit, few requests", few_requests),
        ("limit, few searches", found(&Found { count: 3, ..FOUND })),
        ("limit, open", found(&Found { scatter: 0.6, ..FOUND })),
        ("limit, some open", found(&Found { scatter: 0.08, ..FOUND })),
        ("limit, never met by one", found(&Found { rates: &[40_000.0, 39_000.0, 0.0], ..FOUND })),
        ("limit, never met once", lost),
        ("limit, never met with encryption", found(&Found { rates: &[40_000.0], ..FOUND })),
        ("limit, never met", found(&Found { rates: &[], ..FOUND })),
        ("limit, alone", searched(fixtures::alone(), &FOUND)),
        ("limit, no difference", found(&Found { rates: &[40_000.0; 3], ..FOUND })),
        ("limit, places", {
            searched(
                fixtures::places(),
                &Found { rates: &[4e4, 3.9e4, 3.8e4, 3e4, 2.9e4], ..FOUND },
            )
        }),
        ("limit, ended early", Results { interrupted: true, ..found(&FOUND) }),
    ]
}

/// Returns results in which each workload was held back by something else.
fn causes() -> Results {
    let names = ["a", "b", "c", "d", "e", "f", "oltp", "c-cold", "oltp-sync", "a-cold"];
    let mut results = three(&names);
    for cell in &mut results.cells {
        let at = names.iter().position(|name| cell.workload == *name).unwrap();
        cell.clients = 8;
        for sample in &mut cell.samples {
            let idle = Sample {
                cpu_user_s: 0.5,
                cpu_system_s: 0.1,
                io_wall_s: 0.0,
                io_cpu_s: 0.0,
                ..sample.clone()
            };
            let wall_s = 8.0 * idle.elapsed_s;
            *sample = match at {
                0 => Sample { cpu_user_s: wall_s, ..idle },
                1 => Sample { sync_wall_s: 0.9 * idle.elapsed_s, syncs: 900, ..idle },
                2 => Sample { io_wall_s: 0.8 * wall_s, ..idle },
                3..5 => Sample { client_wall_s: wall_s, client_sleeps: 40_000, ..idle },
                5 => Sample { client_wall_s: wall_s, client_cpu_s: 0.8 * wall_s, ..idle },
                _ => idle,
            };
        }
        cell.clients = if at == 8 { 1 } else { 8 };
        if at == 8 {
            cell.samples.iter_mut().for_each(|sample| sample.cpu_user_s = sample.elapsed_s);
        }
        cell.generator_share = [Some(0.03), Some(0.6)][usize::from(at == 6)];
        if at == 6 {
            cell.samples.iter_mut().for_each(|sample| sample.cpu_user_s = 8.0 * sample.elapsed_s);
        }
        let machine_share = if at == 7 { 0.97 } else { 0.0 };
        cell.saturation = saturation::judge(&Evidence {
            samples: if at == 9 { &[] } else { &cell.samples },
            clients: cell.clients,
            cores: 8,
            target: (at == 5).then_some(1e9),
            generator_share: cell.generator_share,
            machine_share,
            has_servers: at == 4,
            peak: at == 3,
        });
    }
    results.warnings = vec![
        "CPUs were idle under a, b (bottleneck: none found): a cost may be hidden there; other \
         numbers of clients (--threads) may show it"
            .into(),
        "CPUs were idle under c (bottleneck: a lock or queue of the engine): a cost may be hidden \
         there"
            .into(),
    ];
    results
}

/// Returns results whose medians are between quick operations and those that wait.
fn gaps() -> Results {
    let mut results = three(&["a", "b", "oltp"]);
    for cell in &mut results.cells {
        for latency in cell.latency.values_mut() {
            latency.distribution.insert(1, (0.4, 10.0));
            latency.distribution.insert(3, (0.6, 90.0));
        }
        for sample in &mut cell.samples {
            let all_s = sample.elapsed_s * cell.clients as f64;
            match cell.workload.as_str() {
                "a" => sample.queued_s = 0.6 * all_s,
                "b" => sample.io_wall_s = 0.6 * all_s,
                _ => sample.io_wall_s = 0.0,
            }
        }
    }
    results
}

fn ended_by_an_error() -> Results {
    Results {
        interrupted: true,
        failure: Some("cannot read from /dev/sdb: Input/output error".into()),
        ..slices(ordinary(), 4)
    }
}

/// Returns results with every warning of a run.
fn warnings() -> Results {
    let mut results = slices(ordinary(), 9);
    results.engine.assertions = true;
    results.interrupted = true;
    results.warnings = [
        "operations failed, and are in no throughput and no latency: 3 (insert 1, read 2) of \
         aes-256 under a",
        "the run was ended early: what is shown is whole, but rests on fewer slices than planned",
        "rocksdb 7.8.3 (system library) was built with assertions on: its baseline is slower than \
         necessary, and overheads are understated: where it was measured, AES-256 took 11.4 % more \
         CPU time with assertions (RocksDB 7.8.3) and 13.7 % more without (11.8.1)",
        "this is a debug build of Sealstone; its figures mean nothing, build it with --release",
        "the load generator takes more than a fifth of the CPU time in a, b: overheads there are \
         understated",
        "c: fewer than 95 % of the look-ups were answered by the cache; raise the cache or lower \
         the records",
        "batch-scan: fewer than 90 % of the look-ups were answered by the cache; raise the cache \
         or lower the bytes",
        "other programs used 12 % of the CPU during the run: intervals are wider than on a quiet \
         machine",
        "the host took 3.1 % of the CPU time from this virtual machine: intervals are wider than \
         necessary",
        "the cache of 64.0 MiB is smaller than the 100 MB of data set ycsb: its workloads also \
         measure the disk",
        "a: slices of 12 ms are shorter than the 50 ms wanted; more records or bytes would narrow \
         its intervals",
        "3 of 40 slices began late by more than 5 % of their length; a higher slice-ms leaves \
         more time",
        "client 2: the run was ended early: what is shown is whole, but rests on fewer slices \
         than planned",
        "added `none`, the baseline that every cost is measured against",
        "accel lists avx2 twice: the two are one backend (avx2), measured twice",
        "accel auto and avx512 are the same backend on this CPU: avx512",
        "all fields are sealed, as aead; --fields POLICY names some, and how",
        "the stores kept in /srv/kept are sealed with the key in /srv/kept.key",
        "SHA2 (one-way): the server's SHA-256 without a key: what is written is a digest, reads \
         return that digest and never the value, and whoever can guess a value can check the \
         guess",
        "AES_CTR: MariaDB's own encryption (file_key_management), AES with keys of 256 bits, \
         which leaves a change unnoticed",
    ]
    .map(String::from)
    .into();
    results
}

/// Returns results with what engines say of themselves.
fn facts() -> Results {
    let mut results = three(&["a"]);
    let settings = [
        ("servers", "on this machine, a separate one for each variant, all at once"),
        ("servers (2)", "on this machine, separate ones for each variant, all at once"),
        ("servers (3)", "on this machine, a replica set for each variant, all at once"),
        ("servers (4)", "on this machine, a target with a file for each variant, all at once"),
        ("servers (5)", "the user's own, with tables for each variant"),
        ("servers (6)", "the user's own clusters, one for each variant"),
        ("device", "the user's own"),
        ("cache", "every record in the server's memory"),
        ("cache (ycsb)", "64.0 MiB for 100 MB of data"),
        ("page cache", "in use: this file system has no O_DIRECT"),
        ("initiator", "libiscsi in this process"),
        (
            "link",
            "5.28 (what 802.11b carries), by tbf in each direction by itself: a radio link would \
             be half duplex",
        ),
        ("before a slice", "2 s of the same requests, which are not counted"),
        (
            "ends",
            "network namespaces of this machine, MTU 1500, no offloads on the link; both ends \
             share its CPUs",
        ),
        ("records", "a hash for each, as YCSB's Redis binding"),
        ("records (2)", "a row for each, with the columns of YCSB's JDBC binding"),
        (
            "scans",
            "by the index _indices, in the order of the keys' hashes, as YCSB's Redis binding",
        ),
        ("size on disk", "that of the data set in memory, where all of it is"),
        ("synchronous_commit", "off, but on under workloads named -sync"),
        ("write concern", "server's default"),
        (
            "sealed volume",
            "ext4 on a loop device with direct I/O on a file that sealstone serves (FUSE), blocks \
             of 4 KiB; a store without one is on the file system below; sizes are those of the \
             files on it",
        ),
        (
            "sync",
            "false, as YCSB's RocksDB binding: a write is durable when the system writes it; true \
             for workloads named -sync",
        ),
        (
            "database",
            "a TransactionDB for every workload; single writes go past its locks until the first \
             transaction",
        ),
        ("sealed page bytes", "16384; 4096 under ciphers with blocks of 64 bits"),
        ("RocksDB's own checksums of blocks", "compared at each read, as by default"),
        (
            "RocksDB's own checksums of blocks (2)",
            "not compared, in no variant: sealed pages are authenticated already",
        ),
        ("block cache", "LRU, plain blocks; sized by the comparison"),
        ("record format", "field name and value, each after its length, as YCSB's RocksDB binding"),
        (
            "clients (a)",
            "4, found by search (2: 61000 a second at 60 % CPU; 4: 90200 a second at 97 % CPU)",
        ),
        ("client 1 of 2", "db-1: 40 % of its 8 CPUs in use, 1000 operations"),
        (
            "tls",
            "TLSv1.3, TLS_AES_256_GCM_SHA384; port 0: it takes nothing else, from other nodes \
             either; clients by the crate redis",
        ),
        (
            "tls (2)",
            "TLSv1.3, TLS_AES_256_GCM_SHA384; tlsMode requireTLS: it takes nothing else, from \
             members either",
        ),
        (
            "AES_ENCRYPT",
            "the server's AES-128 in ECB mode with one key for all values, no tag: equal values \
             and equal blocks of 16 bytes are seen, changes are not; values and key go to the \
             server in the clear",
        ),
        (
            "pgp_sym_encrypt",
            "pgcrypto's OpenPGP messages as it makes them by default: AES-128, a fresh salt for \
             each value, with which the password is hashed some 100,000 times, and a SHA-1 \
             against changes; values and key go to the server in the clear",
        ),
    ];
    results.engine.settings =
        settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    results.engine.build = "server".into();
    results.engine.version = "unknown".into();
    for cell in &mut results.cells {
        cell.conditions = Some(Conditions::default());
    }
    results
}

/// Returns results of workloads of the user.
fn own_workloads() -> Results {
    let text = "[[own-workloads]]\n\
                name = \"my-mix\"\n\
                mix = { read = 50, update = 20, insert = 10, scan = 10, delete = 10 }\n\
                requests = { distribution = \"zipfian\", records = 500 }\n\
                [[own-workloads]]\n\
                name = \"my-rest\"\n\
                mix = { read-modify-write = 50, transaction = 50 }\n\
                requests = { distribution = \"uniform\" }\n\
                [[own-workloads]]\n\
                name = \"mine\"\n\
                description = \"둘러보기\"\n\
                mix = { read = 1 }\n";
    let own: Plan = toml::from_str(text).unwrap();
    with(three(&["my-mix", "my-rest", "mine"]), |plan| plan.own_workloads = own.own_workloads)
}

/// Returns results under `workloads`, of which those called `c` were answered by the cache.
fn nothing_to_do(workloads: &[&str]) -> Results {
    let mut results = three(workloads);
    for cell in results.cells.iter_mut().filter(|cell| cell.workload == "c") {
        for sample in &mut cell.samples {
            (sample.encrypted_bytes, sample.decrypted_bytes) = (0, 0);
        }
    }
    results
}

/// Returns results under every setting of cache and durability, with the conditions of each.
fn settings() -> Results {
    let mut results = nothing_to_do(&["a", "c", "c-cold", "oltp-sync", "batch-load", "batch-scan"]);
    for cell in &mut results.cells {
        let (setting, cache_bytes) = match cell.workload.as_str() {
            "c-cold" => (Setting::Cold, 6 << 20),
            "oltp-sync" => (Setting::Sync, 1 << 30),
            "a" => (Setting::Warm, 64 << 20),
            _ => (Setting::Warm, 1 << 30),
        };
        cell.conditions = Some(Conditions {
            setting,
            cache_bytes,
            data_bytes: 100_000_000,
            synced: setting == Setting::Sync,
        });
    }
    results
}

/// Returns results of columns sealed in `modes`, on a server.
fn columns(modes: &[&str]) -> Results {
    let mut results = moved(three(&["a", "oltp"]), Layer::Field);
    results.plan.fields = Some("fields.toml".into());
    for choice in results.variants.iter_mut().flat_map(|variant| variant.layers.values_mut()) {
        choice.modes = modes.iter().map(|mode| (*mode).into()).collect();
    }
    results.engine.name = "mysql".into();
    results.plan.store = vec!["mysql".into()];
    results
}

/// Returns `results` in which `layer` encrypts, and not the files.
fn moved(mut results: Results, layer: Layer) -> Results {
    results.plan.layer = vec![layer.name().into()];
    for variant in &mut results.variants {
        variant.layers =
            std::mem::take(&mut variant.layers).into_values().map(|one| (layer, one)).collect();
    }
    results
}

/// Returns results of functions of a server, beside its own files and ours.
fn functions() -> Results {
    let mut results = three(&["a"]);
    let by_server = |name: &str| Choice {
        means: Means::Other(name.into()),
        accel: "auto".into(),
        backend: SERVER_BACKEND.into(),
        modes: Vec::new(),
        module: String::new(),
        seal: String::new(),
    };
    let variant = |label: &str, layer: Layer, choice: Choice| Variant {
        label: label.into(),
        layers: BTreeMap::from([(layer, choice)]),
    };
    results.variants[1] = variant("AES_ENCRYPT", Layer::Server, by_server("AES_ENCRYPT"));
    results.variants[2] = variant(
        "mariadb rest",
        Layer::Rest,
        Choice { seal: "server".into(), ..by_server("file_key_management") },
    );
    results.plan.layer = vec!["server".into(), "rest".into()];
    results.plan.protect_from = vec!["dba".into()];
    results
}

/// Returns results of suites on the wire, each called as its label begins.
fn tunnels(labels: &[&str]) -> Results {
    let subjects: Vec<_> = std::iter::once(subject("none", 0.0, 0.0))
        .chain(
            labels
                .iter()
                .enumerate()
                .map(|(at, label)| subject(label, 0.05 * (1.0 + at as f64), 0.0)),
        )
        .collect();
    let mut results = results(&subjects, &["a"]);
    for (variant, label) in results.variants[1..].iter_mut().zip(labels) {
        let mut words = label.split(' ');
        let choice = Choice {
            means: Means::of(Layer::Wire, words.next().unwrap()),
            accel: "auto".into(),
            backend: words.next().unwrap_or("strongswan").into(),
            modes: Vec::new(),
            module: String::new(),
            seal: String::new(),
        };
        variant.layers = BTreeMap::from([(Layer::Wire, choice)]);
    }
    results.plan.layer = vec!["wire".into()];
    results
}

fn on_a_volume() -> Results {
    let mut results = ordinary();
    results.plan.seal = vec!["own".into(), "volume".into()];
    results.variants[2].label = "aria-256 volume".into();
    results.variants[2].layers.values_mut().for_each(|choice| choice.seal = "volume".into());
    results.plan.store = vec!["postgres".into()];
    results.engine.name = "postgres".into();
    results
}

fn in_a_module() -> Results {
    let mut results = ordinary();
    results.variants[2].label = "aria-256 openssl:fips".into();
    for choice in results.variants[2].layers.values_mut() {
        choice.module = "OpenSSL FIPS Provider 3.0.9, no certificate stated".into();
        choice.backend = "openssl:fips".into();
    }
    results
}

/// Returns results over three links, one of which is whatever is there.
fn links() -> Vec<Results> {
    [Some("5.28"), Some("100"), Some("unlimited"), None]
        .map(|link| {
            let mut results = tunnels(&["aes-256-gcm", "aria-256-gcm"]);
            results.plan.links = link.map(String::from).into_iter().collect();
            results
                .engine
                .settings
                .insert("congestion control".into(), "cubic, as asked for".into());
            results
        })
        .into()
}

/// Returns results of a block device, at the other end of a link.
fn device() -> Results {
    let mut results = moved(three(&["seq-read", "rand-write", "rand-mix", "stream"]), Layer::Rest);
    results.plan.bytes = 64_000_000;
    for cell in &mut results.cells {
        cell.samples.iter_mut().for_each(|sample| sample.servers_cpu_s = 1.0);
        cell.conditions = Some(Conditions { data_bytes: 64_000_000, ..Conditions::default() });
    }
    let settings = [
        ("page cache", "passed by (O_DIRECT)"),
        ("congestion control", "bbr, as this machine has it"),
    ];
    results.engine.settings.extend(settings.map(|(name, value)| (name.into(), value.into())));
    results
}

/// Returns two runs of one machine that differ in settings, engine and version.
fn two_that_differ() -> Vec<Results> {
    let mut second = ordinary();
    second.version = "0.2.0".into();
    second.engine.version = "9.0.1".into();
    second.engine.assertions = true;
    second.engine.settings.insert("compression".into(), "lz4".into());
    second.engine.settings.remove("sync");
    second.plan.slice_ms = 100;
    second.plan.cold_share = 0.3;
    second.plan.policy = Policy::Fips;
    second.machine.kernel = "6.12.0".into();
    vec![ordinary(), second]
}
