//! The tables of one run: the ranking, and the figures behind every chart.

use std::collections::BTreeMap;
use std::iter::once;

use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::charts::titled;
use super::figures;
use super::index::{Run, spread};
use crate::axes::varied;
use crate::results::{Against, Between, Cell, Latency, Overhead, Ranked, Sample, Variant};
use crate::saturation;
use crate::verdict::Verdict;
use crate::workload::{self, Unit};

/// A table as the template writes it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Table {
    /// What it holds, for its caption and for links to it.
    pub(super) title: String,
    /// What to know to read it.
    pub(super) note: String,
    /// Column heads.
    pub(super) columns: Vec<Column>,
    /// Rows; a datum that spans several rows is missing from those below it.
    pub(super) rows: Vec<Vec<Datum>>,
}

/// A column's head.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Column {
    text: String,
    /// Whether it contains figures, which are aligned to the right.
    figure: bool,
}

/// One entry.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Datum {
    text: String,
    /// A second line of less weight.
    note: String,
    /// Class for the style sheet: `figure`, `words`, `head`, `long`, `costs`, `gains`, `same`, `open`.
    class: &'static str,
    /// Rows it spans.
    span: usize,
    /// Name of the colour of the swatch before it, if it has one.
    swatch: Option<&'static str>,
}

fn words(text: impl Into<String>) -> Datum {
    Datum { text: text.into(), class: "words", span: 1, ..Datum::default() }
}

fn figure(text: impl Into<String>) -> Datum {
    Datum { class: "figure", ..words(text) }
}

fn head(text: impl Into<String>) -> Datum {
    let text: String = text.into();
    // a name stays on one line unless it is too long for that
    let class = if text.width() <= 24 { "head" } else { "head long" };
    Datum { class, ..words(text) }
}

/// Column heads; those that begin with `#` are of figures.
fn columns<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Column> {
    let column = |text: &str| match text.strip_prefix('#') {
        Some(text) => Column { text: text.into(), figure: true },
        None => Column { text: text.into(), figure: false },
    };
    texts.into_iter().map(column).collect()
}

fn variant_head(run: &Run, variant: usize) -> Datum {
    Datum { swatch: Some(run.ink(variant).name()), ..head(&run.results.variants[variant].label) }
}

/// Shown for a cell that the run did not reach.
fn missing() -> Datum {
    figure("–")
}

/// Whether the cell did not use the machine up, so that part of its cost may be hidden by idle time.
pub(super) fn below_saturation(cell: &Cell) -> bool {
    saturation::is_below(&cell.saturation)
}

/// What the dagger in `verdict` means, if it occurs.
fn dagger(runs: &[&Run]) -> &'static str {
    let mut cells = runs.iter().flat_map(|run| &run.results.cells);
    match cells.any(|cell| cell.overhead.is_some() && below_saturation(cell)) {
        true => " † below saturation: idle time may hide a part of the cost.",
        false => "",
    }
}

/// An overhead with its verdict beneath.
fn verdict(overhead: &Overhead, unsaturated: bool) -> Datum {
    let class = match overhead.verdict {
        Verdict::NoDifference => "figure same",
        Verdict::Costs => "figure costs",
        Verdict::Gains => "figure gains",
        Verdict::AtMost | Verdict::CannotConclude => "figure open",
    };
    let word = match overhead.verdict {
        Verdict::AtMost => figures::bound(overhead),
        verdict => verdict.word().to_owned(),
    };
    let note = if unsaturated { format!("{word} †") } else { word };
    Datum { class, note, ..figure(figures::overhead(overhead)) }
}

/// Variants in the order of the recommendation, then those it does not speak of; the baseline is left out.
pub(super) fn ranked<'a>(run: &Run<'a>) -> Vec<(usize, Option<&'a Ranked>)> {
    let variants = &run.results.variants;
    let number = |ranked: &Ranked| variants.iter().position(|variant| variant.label == ranked.label);
    let ranking = &run.results.recommendation.ranking;
    let mut order: Vec<(usize, Option<&Ranked>)> =
        ranking.iter().filter_map(|ranked| Some((number(ranked)?, Some(ranked)))).collect();
    for number in 0..variants.len() {
        if !order.iter().any(|(placed, _)| *placed == number) {
            order.push((number, None));
        }
    }
    order.retain(|(number, _)| Some(*number) != run.baseline);
    order
}

/// The ranking: every variant with its overhead on each workload.
pub(super) fn ranking(run: &Run) -> Table {
    let heads: Vec<String> = run.workloads.iter().map(|workload| format!("#{workload}")).collect();
    let columns = columns(["#Place", "Variant", "#All workloads"].into_iter().chain(heads.iter().map(String::as_str)));
    let mut rows = Vec::new();
    if let Some(baseline) = run.baseline {
        let throughput = |workload: &&str| match run.cell(workload, baseline) {
            Some(cell) => Datum { note: "median".into(), ..figure(figures::rate(cell.throughput, cell.unit)) },
            None => missing(),
        };
        let label = Datum { note: "no encryption".into(), ..variant_head(run, baseline) };
        let start = [figure(""), label, figure("baseline")];
        rows.push(start.into_iter().chain(run.workloads.iter().map(throughput)).collect());
    }
    let mut place = 0;
    for (number, ranked) in ranked(run) {
        let allowed = ranked.is_some_and(|ranked| ranked.allowed);
        place += usize::from(allowed);
        let label = match (ranked, allowed) {
            (_, true) => variant_head(run, number),
            (Some(_), false) => Datum { note: "not to be recommended".into(), ..variant_head(run, number) },
            (None, false) => Datum { note: "not ranked".into(), ..variant_head(run, number) },
        };
        let overhead = |workload: &&str| match run.cell(workload, number) {
            Some(Cell { overhead: Some(overhead), .. }) => {
                verdict(overhead, run.cell(workload, number).is_some_and(below_saturation))
            }
            _ => missing(),
        };
        let start = [
            figure(if allowed { place.to_string() } else { "–".into() }),
            label,
            figure(ranked.map_or("–".into(), |ranked| figures::change(ranked.ratio))),
        ];
        rows.push(start.into_iter().chain(run.workloads.iter().map(overhead)).collect());
    }
    Table {
        title: "Ranking".into(),
        note: format!(
            "Throughput against no encryption with its 95 % confidence interval; minus is slower. All workloads: the \
             geometric mean over those that met a cipher.{}",
            dagger(&[run])
        ),
        columns,
        rows,
    }
}

/// Each cipher against each other one, from their own pairs.
pub(super) fn between(run: &Run) -> Option<Table> {
    let results = run.results;
    let row = |between: &Between| {
        vec![
            head(between.workload.as_deref().unwrap_or("all workloads")),
            variant_head(run, between.variant),
            variant_head(run, between.other),
            figure(figures::change(between.ratio)),
            figure(figures::interval(&between.as_overhead())),
            words(&between.words),
        ]
    };
    let (overall, by_workload): (Vec<&Between>, Vec<&Between>) =
        results.between.iter().partition(|between| between.workload.is_none());
    (!results.between.is_empty()).then(|| Table {
        title: "Cipher against cipher".into(),
        note:
            "Throughput of one against that of the other, from slices that ran in alternation; minus is slower. This, \
               and not the intervals against no encryption, says whether two ciphers differ."
                .into(),
        columns: columns(["Workload", "Variant", "Against", "#Change", "#95 % interval", "Verdict"]),
        rows: overall.into_iter().chain(by_workload).map(row).collect(),
    })
}

/// One group of rows for each workload, one row for each variant; `data` returns what follows the variant's name.
fn by_workload(run: &Run, title: &str, note: &str, heads: &[&str], data: impl Fn(&str, &Cell) -> Vec<Datum>) -> Table {
    let mut rows = Vec::new();
    for workload in &run.workloads {
        let cells = run.cells(workload);
        for (position, (_, cell)) in cells.iter().enumerate() {
            let mut row = Vec::new();
            if position == 0 {
                row.push(Datum { span: cells.len(), ..head(*workload) });
            }
            row.push(variant_head(run, cell.variant));
            row.extend(data(workload, cell));
            rows.push(row);
        }
    }
    let columns = columns(["Workload", "Variant"].into_iter().chain(heads.iter().copied()));
    Table { title: title.into(), note: note.into(), columns, rows }
}

/// Throughput and overhead.
pub(super) fn throughput(run: &Run) -> Table {
    let heads = [
        "#Median",
        "#Slowest slice",
        "#Fastest slice",
        "#Change",
        "#95 % interval",
        "#Pairs",
        "#CPU per operation",
        "#Through the cipher",
        "#Cache hits",
        "Verdict",
    ];
    let note = "Change, interval and verdict: throughput against no encryption. CPU per operation: likewise. Through \
                the \
                cipher: bytes encrypted and decrypted for each operation, or for each byte of records.";
    by_workload(run, "Throughput and overhead", note, &heads, |_, cell| {
        let rate = |value| figure(figures::rate(value, cell.unit));
        let ends = match spread(cell) {
            Some((low, high)) => [rate(low), rate(high)],
            None => [missing(), missing()],
        };
        let compared = match &cell.overhead {
            None => [missing(), missing(), missing(), missing(), missing(), cache_hits(cell), words("baseline")],
            Some(overhead) => [
                figure(figures::change(overhead.ratio)),
                figure(figures::interval(overhead)),
                figure(overhead.pairs.to_string()),
                figure(figures::change(overhead.cpu_ratio)),
                through_the_cipher(cell),
                cache_hits(cell),
                Datum {
                    note: if below_saturation(cell) { "below saturation".into() } else { String::new() },
                    ..words(&overhead.words)
                },
            ],
        };
        once(rate(cell.throughput)).chain(ends).chain(compared).collect()
    })
}

fn cache_hits(cell: &Cell) -> Datum {
    figure(cell.cache_hit_rate.map_or("–".into(), figures::share))
}

/// Bytes through the cipher for each unit of work; a dash where nothing is known of any.
fn through_the_cipher(cell: &Cell) -> Datum {
    let bytes = sum(cell, |sample| (sample.encrypted_bytes + sample.decrypted_bytes) as f64);
    match cell.unit {
        Unit::Operations => {
            let operations = sum(cell, |sample| sample.operations as f64).max(1.0);
            figure(figures::bytes((bytes / operations).round() as u64))
        }
        Unit::Bytes => figure(format!("× {:.2}", bytes / sum(cell, |sample| sample.bytes as f64).max(1.0))),
    }
}

/// Latency percentiles of every operation; with a target rate, once from when it was due and once from its start.
pub(super) fn latency(run: &Run) -> Vec<Table> {
    let began = "Counted from the moment an operation began.";
    let due = "Counted from the moment an operation was due.";
    match run.results.cells.iter().any(|cell| !cell.service.is_empty()) {
        false => vec![percentiles(run, "Latency", began, |cell| &cell.latency)],
        true => vec![
            percentiles(run, "Latency", due, |cell| &cell.latency),
            percentiles(run, "Service time", began, |cell| &cell.service),
        ],
    }
}

fn percentiles<'a>(
    run: &Run<'a>,
    title: &str,
    note: &str,
    timed: impl Fn(&'a Cell) -> &'a BTreeMap<String, Latency>,
) -> Table {
    let heads =
        ["Workload", "Operation", "Variant", "#Operations", "#Mean", "#p50", "#p95", "#p99", "#p99.9", "#Largest"];
    let mut rows = Vec::new();
    for workload in &run.workloads {
        let cells = run.cells(workload);
        let of = |operation: &str| -> Vec<(usize, &Latency)> {
            cells.iter().filter_map(|(_, cell)| Some((cell.variant, timed(cell).get(operation)?))).collect()
        };
        let operations: Vec<_> =
            run.operations(workload).into_iter().map(|operation| (operation, of(operation))).collect();
        let mut of_workload: usize = operations.iter().map(|(_, latencies)| latencies.len()).sum();
        for (operation, latencies) in &operations {
            let mut of_operation = latencies.len();
            for (variant, latency) in latencies {
                let mut row = Vec::new();
                for (name, rows) in [(*workload, &mut of_workload), (*operation, &mut of_operation)] {
                    // only the first row of a group names it
                    match std::mem::take(rows) {
                        0 => {}
                        span => row.push(Datum { span, ..head(name) }),
                    }
                }
                row.extend([variant_head(run, *variant), figure(figures::count(latency.count))]);
                let times =
                    [latency.mean_us, latency.p50_us, latency.p95_us, latency.p99_us, latency.p999_us, latency.max_us];
                row.extend(times.map(|time_us| figure(figures::micros(time_us))));
                rows.push(row);
            }
        }
    }
    Table { title: title.into(), note: note.into(), columns: columns(heads), rows }
}

fn sum(cell: &Cell, of: impl Fn(&Sample) -> f64) -> f64 {
    cell.samples.iter().map(of).sum()
}

fn sum_bytes(cell: &Cell, of: impl Fn(&Sample) -> u64) -> Datum {
    figure(figures::bytes(cell.samples.iter().map(of).fold(0, u64::saturating_add)))
}

/// CPU use, cache and saturation.
pub(super) fn cpu(run: &Run) -> Table {
    let heads = [
        "#Clients",
        "#User",
        "#Kernel",
        "#Afterwards",
        "#Of all cores",
        "#Load generator",
        "#Cache hits",
        "Held back by",
    ];
    let note = "CPU seconds over all slices. Afterwards: background work until the store was quiet again. Load \
                generator: its own share of the CPU time.";
    by_workload(run, "CPU use and saturation", note, &heads, |_, cell| {
        vec![
            figure(cell.clients.to_string()),
            figure(figures::seconds(sum(cell, |sample| sample.cpu_user_s))),
            figure(figures::seconds(sum(cell, |sample| sample.cpu_system_s))),
            figure(figures::seconds(sum(cell, |sample| sample.settle_cpu_s))),
            figure(figures::share(cell.saturation.cpu_share)),
            figure(cell.generator_share.map_or("–".into(), figures::share)),
            cache_hits(cell),
            Datum { note: cell.saturation.reason.clone(), ..words(saturated_by(&cell.saturation.by)) },
        ]
    })
}

fn saturated_by(by: &str) -> &str {
    match by {
        "cpu" => "CPU",
        "io" => "I/O",
        "target" => "the rate that was set",
        "none" => "nothing found: not saturated",
        other => other,
    }
}

/// Where CPU time went, and the bytes that went through files and cipher; none if the store does not report it.
pub(super) fn time_split(run: &Run) -> Vec<Table> {
    if !run.tells_time() {
        return Vec::new();
    }
    let heads = [
        "#In the cipher",
        "#In file operations",
        "#Elsewhere",
        "#Cipher’s share",
        "#Waiting for files",
        "#Read",
        "#Written",
        "#Encrypted",
        "#Decrypted",
    ];
    let note = "CPU seconds over all slices; waiting is wall time, summed over threads.";
    let table = by_workload(run, "Time and bytes", note, &heads, |_, cell| {
        let time = &cell.time;
        let total = time.cipher_s + time.io_s + time.other_s;
        vec![
            figure(figures::seconds(time.cipher_s)),
            figure(figures::seconds(time.io_s)),
            figure(figures::seconds(time.other_s)),
            figure(figures::share(if total > 0.0 { time.cipher_s / total } else { 0.0 })),
            figure(figures::seconds(time.io_wait_s)),
            sum_bytes(cell, |sample| sample.read_bytes),
            sum_bytes(cell, |sample| sample.written_bytes),
            sum_bytes(cell, |sample| sample.encrypted_bytes),
            sum_bytes(cell, |sample| sample.decrypted_bytes),
        ]
    });
    vec![table]
}

/// Size on disk.
pub(super) fn size(run: &Run) -> Table {
    let note = "Bytes on disk after the last slice.";
    by_workload(run, "Size on disk", note, &["#On disk", "#Bytes", "#Against the baseline"], |workload, cell| {
        let against = match run.baseline_cell(workload) {
            Some(baseline) if baseline.variant != cell.variant && baseline.disk_bytes > 0 => {
                figures::change(cell.disk_bytes as f64 / baseline.disk_bytes as f64)
            }
            _ => "–".into(),
        };
        vec![figure(figures::bytes(cell.disk_bytes)), figure(figures::count(cell.disk_bytes)), figure(against)]
    })
}

/// What was compared: the ciphers with their sources, and the backends.
pub(super) fn variants(run: &Run) -> Table {
    let row = |(number, variant): (usize, &Variant)| {
        let accel = variant.choice().map_or("auto", |choice| choice.accel.as_str());
        let used = words(variant.backend().unwrap_or("–"));
        let facts = match variant.cipher().map(sealstone_cipher::registry::cipher) {
            None => vec![words("no encryption"), missing(), missing(), missing(), missing(), missing(), missing()],
            Some(Err(_)) => vec![
                words(variant.cipher().unwrap_or_default()),
                words("not known to this build"),
                missing(),
                missing(),
                missing(),
                words(accel),
                used,
            ],
            Some(Ok(cipher)) => vec![
                Datum { note: cipher.source.into(), ..words(cipher.name) },
                Datum { note: cipher.caveat.unwrap_or_default().into(), ..words(cipher.standing.word()) },
                figure(format!("{} bits", cipher.block_bytes * 8)),
                figure(format!("{} bits", cipher.key_bytes * 8)),
                words(approvals(cipher)),
                words(accel),
                used,
            ],
        };
        once(variant_head(run, number)).chain(facts).collect()
    };
    Table {
        title: "What was compared".into(),
        note: String::new(),
        columns: columns([
            "Variant",
            "Cipher",
            "Standing",
            "#Block",
            "#Key",
            "Approved",
            "Backend asked for",
            "Backend used",
        ]),
        rows: run.results.variants.iter().enumerate().map(row).collect(),
    }
}

/// The workloads and what they do.
pub(super) fn workloads(run: &Run) -> Table {
    let row = |name: &&str| {
        let cells = run.cells(name);
        let first = cells.first().map(|(_, cell)| cell);
        let unit = first.map_or("–", |cell| match cell.unit {
            Unit::Operations => "operations",
            Unit::Bytes => "bytes of records",
        });
        vec![
            head(*name),
            match workload::workload(name) {
                Ok(spec) => Datum { note: spec.remark.unwrap_or_default().into(), ..words(spec.description) },
                Err(_) => words("not known to this build"),
            },
            figure(first.map_or("–".into(), |cell| cell.clients.to_string())),
            words(unit),
        ]
    };
    Table {
        title: "Workloads".into(),
        note: String::new(),
        columns: columns(["Workload", "What it does", "#Clients", "Counted in"]),
        rows: run.workloads.iter().map(row).collect(),
    }
}

fn approvals(cipher: &sealstone_cipher::registry::Cipher) -> &'static str {
    match (cipher.meets_fips(), cipher.meets_kcmvp()) {
        (true, true) => "FIPS 140, KCMVP",
        (true, false) => "FIPS 140",
        (false, true) => "KCMVP",
        (false, false) => "–",
    }
}

/// Overheads of several runs side by side: a row for each workload and variant, a column for each run.
pub(super) fn across(runs: &[Run]) -> Table {
    let heads: Vec<String> = runs.iter().map(|run| format!("#{}", run.label)).collect();
    let mut rows = Vec::new();
    for (workload, labels) in pairs(runs) {
        for (position, label) in labels.iter().enumerate() {
            let mut row = Vec::new();
            if position == 0 {
                row.push(Datum { span: labels.len(), ..head(workload) });
            }
            row.push(head(*label));
            row.extend(runs.iter().map(|run| match measured(run, workload, label) {
                Some((cell, Some(overhead))) => verdict(overhead, below_saturation(cell)),
                Some((cell, None)) => {
                    Datum { note: "baseline".into(), ..figure(figures::rate(cell.throughput, cell.unit)) }
                }
                None => missing(),
            }));
            rows.push(row);
        }
    }
    Table {
        title: "Overhead of each run".into(),
        note: format!(
            "Each run against its own baseline, with 95 % confidence intervals; minus is slower.{}",
            dagger(&runs.iter().collect::<Vec<_>>())
        ),
        columns: columns(["Workload", "Variant"].into_iter().chain(heads.iter().map(String::as_str))),
        rows,
    }
}

/// Stores set against one of them: a row for each workload and variant.
pub(super) fn against(ratios: &[Against]) -> Table {
    let axes = varied(ratios.iter().flat_map(|one| [&one.point, &one.other]).collect::<Vec<_>>());
    let row = |one: &Against| {
        let percent = |ratio: f64| figures::digits(ratio);
        vec![
            head(one.workload.as_str()),
            head(one.variant.as_str()),
            words(one.point.words(&axes)),
            words(one.other.words(&axes)),
            figure(format!("× {}", percent(one.ratio))),
            figure(format!("{} to {}", percent(one.low), percent(one.high))),
        ]
    };
    Table {
        title: "Stores against each other".into(),
        note: "Throughput as a multiple of the other store's, with 95 % confidence intervals. The two were not \
               measured in alternation, so a change of the machine between them is in these figures."
            .into(),
        columns: columns(["Workload", "Variant", "Store", "Against", "#Throughput", "#Interval"]),
        rows: ratios.iter().map(row).collect(),
    }
}

/// Every workload of the runs with every label measured under it, in order of appearance.
pub(super) fn pairs<'a>(runs: &[Run<'a>]) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for run in runs {
        for workload in &run.workloads {
            let place = found.iter().position(|(name, _)| name == workload).unwrap_or_else(|| {
                found.push((workload, Vec::new()));
                found.len() - 1
            });
            for (variant, _) in run.cells(workload) {
                if !found[place].1.contains(&variant.label.as_str()) {
                    found[place].1.push(&variant.label);
                }
            }
        }
    }
    found
}

/// What a run measured for the variant called `label` under `workload`.
pub(super) fn measured<'a>(run: &Run<'a>, workload: &str, label: &str) -> Option<(&'a Cell, Option<&'a Overhead>)> {
    let variant = run.results.variants.iter().position(|variant| variant.label == label)?;
    let cell = run.cell(workload, variant)?;
    Some((cell, cell.overhead.as_ref()))
}

/// The name under which intervals of several runs are drawn together.
pub(super) fn pair_title(workload: &str, label: &str) -> String {
    format!("{}, {label}", titled(workload))
}
