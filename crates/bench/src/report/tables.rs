//! The tables of one run: the ranking, and the figures behind every chart. Not here: the compared
//! items (`subjects`), several runs side by side (`cross_tables`).

use std::collections::BTreeMap;
use std::iter::once;

use sealstone_store::Layer;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::index::{Run, spread};
use super::{conditions, footnotes};
use crate::conclude::figures;
use crate::conclude::median_gap;
use crate::conclude::ratios;
use crate::conclude::saturation;
use crate::conclude::statistics;
use crate::conclude::sustained_rate::sustained;
use crate::results::{Between, Cell, Latency, Overhead, Ranked, Sample};
use crate::words::Bottleneck;
use crate::words::verdict::{Cell as Content, Mark, Verdict};
use crate::workload::Unit;

/// A table as the template writes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Table {
    /// Subject of the table, for its caption.
    pub(super) title: String,
    /// Note on how to read it.
    pub(super) note: String,
    /// Column heads.
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Datum>>,
    /// A row that stays last however the others are sorted.
    pub(super) last: Option<Vec<Datum>>,
    /// Remarks made once for many of the rows.
    pub(super) footnotes: Vec<String>,
}

/// A column's head.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Column {
    text: String,
    /// Set when the column contains figures, which are aligned to the right.
    figure: bool,
    /// Colour of the variant that it shows.
    ink: Option<&'static str>,
}

/// One entry.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Datum {
    pub(super) text: String,
    /// A second line of less weight.
    pub(super) note: String,
    /// Class for the style sheet: `figure`, `words`, `head`, `long`, `costs`, `same`, `open`.
    pub(super) class: &'static str,
    /// Value that it is sorted by, if not by its text.
    pub(super) sort: Option<f64>,
    /// The mark of its verdict, before it.
    pub(super) mark: &'static str,
    /// Colour of the variant that it names.
    pub(super) ink: Option<&'static str>,
    /// Set when the row above has the same content.
    pub(super) again: bool,
}

impl Datum {
    /// Puts `mark` before it.
    pub(super) fn marked(self, mark: &'static str) -> Self {
        Self { mark, ..self }
    }

    /// Adds `note` as its second line.
    pub(super) fn noted(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }
}

pub(super) fn words(text: impl Into<String>) -> Datum {
    Datum { text: text.into(), class: "words", ..Datum::default() }
}

/// Returns `text`, which stands for `value`.
pub(super) fn figure(text: impl Into<String>, value: f64) -> Datum {
    Datum { class: "figure", sort: value.is_finite().then_some(value), ..words(text) }
}

pub(super) fn head(text: impl Into<String>) -> Datum {
    let text: String = text.into();
    // a name stays on one line unless it is too long for that
    let class = if text.width() <= 24 { "head" } else { "head long" };
    Datum { class, ..words(text) }
}

/// Returns column heads; heads that begin with `#` are of figures.
pub(super) fn columns<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Column> {
    let column = |text: &str| match text.strip_prefix('#') {
        Some(text) => Column { text: text.into(), figure: true, ink: None },
        None => Column { text: text.into(), figure: false, ink: None },
    };
    texts.into_iter().map(column).collect()
}

pub(super) fn variant_head(run: &Run, variant: usize) -> Datum {
    Datum { ink: Some(run.ink(variant).name()), ..head(&run.results.variants[variant].label) }
}

/// Returns the content of a cell that the run did not reach.
pub(super) fn missing() -> Datum {
    figure("–", f64::NAN)
}

/// Returns whether the cell did not use the machine up, so that part of its cost may be hidden by
/// idle time.
pub(super) fn below_saturation(cell: &Cell) -> bool {
    // a rate that was set, or found, is below it on purpose
    cell.open_loop.is_none() && saturation::is_below(&cell.saturation)
}

/// Returns the meaning of the dagger in `verdict`, if it occurs.
pub(super) fn dagger(runs: &[&Run]) -> &'static str {
    let mut cells = runs.iter().flat_map(|run| &run.results.cells);
    match cells.any(|cell| cell.overhead.is_some() && below_saturation(cell)) {
        true => " † below saturation: idle time may hide a part of the cost.",
        false => "",
    }
}

/// Returns the mark of a verdict in text, as `charts::mark_of` draws it.
pub(super) fn sign_of(verdict: Verdict) -> &'static str {
    verdict.row().mark.map_or("", Mark::sign)
}

/// Returns `text`, which stands for `value`, with the mark of its verdict.
pub(super) fn judged(verdict: Verdict, text: String, value: f64) -> Datum {
    Datum { class: verdict.row().class, mark: sign_of(verdict), ..figure(text, value) }
}

/// Returns an overhead with its verdict beneath.
pub(super) fn verdict(overhead: &Overhead, unsaturated: bool) -> Datum {
    let row = overhead.verdict.row();
    let word = match row.cell {
        Content::Dash => return missing().noted(row.word),
        Content::Bound => figures::bound(overhead),
        _ if overhead.can_be_chance() => "can be chance".into(),
        Content::Word | Content::Change | Content::HalfWidth => row.word.to_owned(),
    };
    let note = if unsaturated { format!("{word} †") } else { word };
    Datum { note, ..judged(overhead.verdict, figures::overhead(overhead), overhead.ratio) }
}

/// Returns whether the cell met a cipher, so that its ratio is evidence of what a cipher costs.
fn is_met(overhead: &Overhead) -> bool {
    overhead.verdict != Verdict::NotMet
}

/// Returns the variants in the order of the recommendation, then the variants that it does not
/// mention; the baseline is left out.
pub(super) fn ranked<'a>(run: &Run<'a>) -> Vec<(usize, Option<&'a Ranked>)> {
    let variants = &run.results.variants;
    let number =
        |ranked: &Ranked| variants.iter().position(|variant| variant.label == ranked.label);
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

/// Returns the answer in figures: the cost of each variant under each workload, beside the
/// workload's demands on cipher and cache; in the order of the recommendation.
pub(super) fn cost(run: &Run) -> Table {
    let order = ranked(run);
    let mut columns = columns(["Workload", "#Through the cipher", "#Cache hits"]);
    let context = columns.split_off(1);
    columns.extend(run.baseline.into_iter().chain(order.iter().map(|(number, _)| *number)).map(
        |number| Column {
            text: run.results.variants[number].label.clone(),
            figure: true,
            ink: Some(run.ink(number).name()),
        },
    ));
    columns.extend(context);
    let row = |workload: &&str| {
        let sealed = order.iter().find_map(|(number, _)| run.cell(workload, *number));
        let mut row = vec![head(run.called(workload)).noted(conditions::unusual(run, workload))];
        row.extend(run.baseline.iter().map(|_| match run.baseline_cell(workload) {
            Some(cell) => {
                match sustained(cell) {
                    Some(found) => found.rate_per_s.map_or_else(missing, |per_s| {
                        figure(figures::rate(per_s, cell.unit), per_s)
                    }),
                    None => figure(figures::rate(cell.throughput, cell.unit), cell.throughput),
                }
            }
            None => missing(),
        }));
        row.extend(order.iter().map(|(number, _)| match run.cell(workload, *number) {
            Some(cell @ Cell { overhead: Some(overhead), .. }) => {
                verdict(overhead, below_saturation(cell))
            }
            _ => missing(),
        }));
        row.extend(match sealed.or(run.baseline_cell(workload)) {
            Some(cell) => [through_the_cipher(cell), cache_hits(cell)],
            None => [missing(), missing()],
        });
        row
    };
    let overall = |(_, ranked): &(usize, Option<&Ranked>)| match ranked {
        Some(ranked) => {
            let figure = match &ranked.overhead {
                Some(overhead) => verdict(overhead, false),
                None => figure(figures::change(ranked.ratio), ranked.ratio),
            };
            match ranked.allowed {
                true => figure,
                false => {
                    Datum { note: format!("{}; not to be recommended", figure.note), ..figure }
                }
            }
        }
        None => Datum { note: "not ranked".into(), ..missing() },
    };
    let empty = || figure("", f64::NAN);
    let start = once(head("all workloads")).chain(run.baseline.iter().map(|_| empty()));
    let left_out = match ratios::left_out(&run.results.cells).as_slice() {
        [] => String::new(),
        names => {
            let names: Vec<String> = names.iter().map(|name| run.called(name)).collect();
            format!(" without {}, where next to nothing met a cipher", names.join(", "))
        }
    };
    Table {
        title: "Cost by workload".into(),
        note: format!(
            "{} against no encryption with its 95 % confidence interval; minus is slower. All \
             workloads: their geometric mean{left_out}. Through the cipher: bytes for each \
             operation, or for each byte of records.{}",
            measure(run),
            dagger(&[run])
        ),
        columns,
        rows: run.workloads.iter().map(row).collect(),
        last: (!order.is_empty())
            .then(|| start.chain(order.iter().map(overall)).chain([empty(), empty()]).collect()),
        ..Table::default()
    }
}

/// Tabulates each cipher against each other cipher, from their own pairs.
pub(super) fn between(run: &Run) -> Option<Table> {
    let results = run.results;
    let row = |between: &Between| {
        vec![
            head(
                between.workload.as_deref().map_or("all workloads".into(), |name| run.called(name)),
            ),
            variant_head(run, between.variant),
            variant_head(run, between.other),
            figure(figures::change(between.ratio), between.ratio),
            figure(figures::interval(&between.as_overhead()), between.low),
            Datum { mark: sign_of(between.verdict), ..words(&between.words) },
        ]
    };
    let (overall, by_workload): (Vec<&Between>, Vec<&Between>) =
        results.between.iter().partition(|between| between.workload.is_none());
    (!results.between.is_empty()).then(|| Table {
        title: "Cipher against cipher".into(),
        note: format!(
            "{} of one against that of the other, from slices that ran in alternation; {}. This, \
             and not the intervals against no encryption, says whether two ciphers differ.",
            measure(run),
            if run.rate().is_some() { "plus is longer" } else { "minus is slower" }
        ),
        columns: columns([
            "Workload",
            "Variant",
            "Against",
            "#Change",
            "#95 % interval",
            "Verdict",
        ]),
        rows: overall.into_iter().chain(by_workload).map(row).collect(),
        ..Table::default()
    })
}

/// Returns the quantity that the ratios of a run compare.
fn measure(run: &Run) -> &'static str {
    match (run.rate(), run.limit()) {
        (Some(_), _) => "p99",
        (None, Some(_)) => "Rate sustained",
        (None, None) => "Throughput",
    }
}

/// Makes one row for each variant under each workload; `data` returns the cells after the variant's
/// name.
pub(super) fn by_workload(
    run: &Run,
    title: &str,
    note: &str,
    heads: &[&str],
    data: impl Fn(&str, &Cell) -> Vec<Datum>,
) -> Table {
    let mut rows = Vec::new();
    for workload in &run.workloads {
        for (position, (_, cell)) in run.cells(workload).iter().enumerate() {
            let mut row = vec![
                Datum { again: position > 0, ..head(run.called(workload)) },
                variant_head(run, cell.variant),
            ];
            row.extend(data(workload, cell));
            rows.push(row);
        }
    }
    let columns = columns(["Workload", "Variant"].into_iter().chain(heads.iter().copied()));
    Table { title: title.into(), note: note.into(), columns, rows, ..Table::default() }
}

/// Returns the throughput and overhead.
pub(super) fn throughput(run: &Run) -> Table {
    let heads = [
        "#Median",
        "#Slowest slice",
        "#Fastest slice",
        "#Change",
        "#95 % interval",
        "#Pairs",
        "#Loads",
        "#CPU per operation",
        "#Through the cipher",
        "#Cache hits",
        "Verdict",
    ];
    let note = "Change, interval and verdict: throughput against no encryption. CPU per operation: \
                likewise.";
    by_workload(run, "Throughput and overhead", note, &heads, |_, cell| {
        let rate = |value| figure(figures::rate(value, cell.unit), value);
        let ends = match spread(cell) {
            Some((low, high)) => [rate(low), rate(high)],
            None => [missing(), missing()],
        };
        let compared = match &cell.overhead {
            None => {
                let none = missing;
                [
                    none(),
                    none(),
                    none(),
                    none(),
                    none(),
                    none(),
                    cache_hits(cell),
                    words("baseline"),
                ]
            }
            Some(overhead) => [
                if is_met(overhead) {
                    figure(figures::change(overhead.ratio), overhead.ratio)
                } else {
                    missing()
                },
                if is_met(overhead) {
                    figure(figures::interval(overhead), figures::lower_end(overhead))
                } else {
                    missing()
                },
                figure(overhead.pairs.to_string(), overhead.pairs as f64),
                figure(overhead.loads.to_string(), overhead.loads as f64),
                if is_met(overhead) {
                    figure(figures::change(overhead.cpu_ratio), overhead.cpu_ratio)
                } else {
                    missing()
                },
                through_the_cipher(cell),
                cache_hits(cell),
                Datum {
                    note: if below_saturation(cell) {
                        "below saturation".into()
                    } else {
                        String::new()
                    },
                    mark: sign_of(overhead.verdict),
                    ..words(&overhead.words)
                },
            ],
        };
        once(rate(cell.throughput)).chain(ends).chain(compared).collect()
    })
}

fn cache_hits(cell: &Cell) -> Datum {
    optional_share(cell.cache_hit_rate)
}

fn share(value: f64) -> Datum {
    figure(figures::share(value), value)
}

fn optional_share(value: Option<f64>) -> Datum {
    value.map_or_else(missing, share)
}

fn seconds(value_s: f64) -> Datum {
    figure(figures::seconds(value_s), value_s)
}

/// Bytes through the cipher for each unit of work.
fn through_the_cipher(cell: &Cell) -> Datum {
    let bytes = sum(cell, |sample| (sample.encrypted_bytes + sample.decrypted_bytes) as f64);
    match cell.unit {
        Unit::Operations => {
            let each = bytes / sum(cell, |sample| sample.operations as f64).max(1.0);
            figure(figures::bytes(each.round() as u64), each)
        }
        Unit::Bytes => {
            let each = bytes / sum(cell, |sample| sample.bytes as f64).max(1.0);
            figure(format!("× {each:.2}"), each)
        }
    }
}

/// Returns the latency percentiles of every operation; with a target rate, once from when it was
/// due and once from its start.
pub(super) fn latency(run: &Run) -> Vec<Table> {
    let began = "Counted from the moment an operation began.";
    let due = "Counted from the moment an operation was due.";
    let intervals = "In brackets: 95 % confidence intervals of percentiles with a hundred \
                     operations beyond them.";
    let gaps = median_gaps(run);
    let note = |counted: &str| {
        format!("{counted} {intervals}{}{}", if gaps.is_empty() { "" } else { " " }, gaps.join(" "))
    };
    match run.results.cells.iter().any(|cell| !cell.service.is_empty()) {
        false => vec![percentiles(run, "Latency", &note(began), |cell| &cell.latency)],
        true => vec![
            percentiles(run, "Latency", &note(due), |cell| &cell.latency),
            percentiles(run, "Service time", began, |cell| &cell.service),
        ],
    }
}

/// Builds notes about medians that fall in a gap, one for each workload with such a median.
pub(super) fn median_gaps(run: &Run) -> Vec<String> {
    let results = run.results;
    median_gap::notes(&results.variants, &results.cells, results.machine.cores)
}

fn percentiles<'a>(
    run: &Run<'a>,
    title: &str,
    note: &str,
    timed_as: impl Fn(&'a Cell) -> &'a BTreeMap<String, Latency>,
) -> Table {
    let heads = [
        "Operation",
        "Variant",
        "#Operations",
        "#Mean",
        "#p50",
        "#p95",
        "#p99",
        "#p99.9",
        "#Largest",
    ];
    let mut rows = Vec::new();
    for workload in &run.workloads {
        for operation in run.operations(workload) {
            let timed = run.cells(workload).into_iter();
            let timed =
                timed.filter_map(|(_, cell)| Some((cell.variant, timed_as(cell).get(operation)?)));
            for (position, (variant, latency)) in timed.enumerate() {
                let name = Datum {
                    again: position > 0,
                    ..head(format!("{}, {operation}", run.called(workload)))
                };
                let mut row = vec![name, variant_head(run, variant)];
                row.push(figure(figures::count(latency.count), latency.count as f64));
                let time = |time_us: f64| figure(figures::micros(time_us), time_us);
                let percentile = |share: f64, us: f64| match latency.interval_us(share) {
                    Some((low_us, high_us)) => {
                        figure(figures::micros_interval(us, low_us, high_us), us)
                    }
                    None => time(us),
                };
                row.extend([
                    time(latency.mean_us),
                    percentile(0.5, latency.p50_us),
                    percentile(0.95, latency.p95_us),
                    percentile(0.99, latency.p99_us),
                    percentile(0.999, latency.p999_us),
                    time(latency.max_us),
                ]);
                rows.push(row);
            }
        }
    }
    Table {
        title: title.into(),
        note: note.into(),
        columns: columns(heads),
        rows,
        ..Table::default()
    }
}

fn sum(cell: &Cell, of: impl Fn(&Sample) -> f64) -> f64 {
    cell.samples.iter().map(of).sum()
}

fn sum_bytes(cell: &Cell, of: impl Fn(&Sample) -> u64) -> Datum {
    let bytes = cell.samples.iter().map(of).fold(0, u64::saturating_add);
    figure(figures::bytes(bytes), bytes as f64)
}

/// Returns the CPU use, cache and saturation.
pub(super) fn cpu(run: &Run) -> Table {
    let heads = [
        "#Clients",
        "#User",
        "#Kernel",
        "#Afterwards",
        "#Of all cores",
        "#Load generator",
        "Held back by",
    ];
    let note = "CPU seconds over all slices. Afterwards: background work until the store was quiet \
                again. Load generator: its own share of the CPU time.";
    let table = by_workload(run, "CPU use and saturation", note, &heads, |_, cell| {
        vec![
            figure(cell.clients.to_string(), cell.clients as f64),
            seconds(sum(cell, |sample| sample.cpu_user_s)),
            seconds(sum(cell, |sample| sample.cpu_system_s)),
            seconds(sum(cell, |sample| sample.settle_cpu_s)),
            share(cell.saturation.cpu_share),
            optional_share(cell.generator_share),
            words(cell.saturation.by.name()),
        ]
    });
    // by finding, each mentioned once
    let found = |by: Bottleneck| {
        let of_it = run.results.cells.iter().filter(|cell| cell.saturation.by == by);
        let reasons = footnotes::merged(of_it.map(|cell| cell.saturation.reason.as_str()));
        reasons.into_iter().map(|reason| format!("{}: {reason}", by.name())).collect::<Vec<_>>()
    };
    let mut kinds: Vec<Bottleneck> =
        run.results.cells.iter().map(|cell| cell.saturation.by).collect();
    kinds.sort_unstable();
    kinds.dedup();
    Table { footnotes: kinds.into_iter().flat_map(found).collect(), ..table }
}

/// Tabulates where CPU time went, and the bytes that went through files and cipher; none if the
/// store does not report it.
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
            seconds(time.cipher_s),
            seconds(time.io_s),
            seconds(time.other_s),
            share(if total > 0.0 { time.cipher_s / total } else { 0.0 }),
            seconds(time.io_wait_s),
            sum_bytes(cell, |sample| sample.read_bytes),
            sum_bytes(cell, |sample| sample.written_bytes),
            sum_bytes(cell, |sample| sample.encrypted_bytes),
            sum_bytes(cell, |sample| sample.decrypted_bytes),
        ]
    });
    vec![table]
}

/// Returns the size on disk.
pub(super) fn size(run: &Run) -> Table {
    let note = "Bytes on disk after the last slice.";
    by_workload(
        run,
        "Size on disk",
        note,
        &["#On disk", "#Bytes", "#Against the baseline"],
        |workload, cell| {
            let against = match run.baseline_cell(workload) {
                Some(baseline) if baseline.variant != cell.variant && baseline.disk_bytes > 0 => {
                    let ratio = cell.disk_bytes as f64 / baseline.disk_bytes as f64;
                    figure(figures::change(ratio), ratio)
                }
                _ => missing(),
            };
            let bytes = cell.disk_bytes as f64;
            let exact = figure(figures::count(cell.disk_bytes), bytes);
            vec![figure(figures::bytes(cell.disk_bytes), bytes), exact, against]
        },
    )
}

/// Tabulates the time and space that a row takes. For layers that work on the values of a row, in
/// the form used by studies of them.
pub(super) fn by_row(run: &Run) -> Option<Table> {
    if run.results.plan.has_layer(Layer::Rest) {
        return None;
    }
    let note = "Medians over all slices. The time of a row is that of one client, other rows of \
                the same operation included; the space is that of the store after the last slice.";
    let heads = ["#Rows a second", "#Time a row", "#Bytes a row on disk"];
    let table = by_workload(run, "By row", note, &heads, |_, cell| {
        let median = |of: fn(&Sample) -> f64| {
            let rates: Vec<f64> =
                cell.samples.iter().filter(|sample| sample.rows > 0).map(of).collect();
            (!rates.is_empty()).then(|| statistics::median(&rates))
        };
        let rows_per_s = median(|sample| sample.rows as f64 / sample.elapsed_s.max(1e-9));
        let each_s = median(|sample| sample.elapsed_s / sample.rows as f64)
            .map(|each_s| each_s * cell.clients as f64);
        let bytes = cell
            .stored_rows
            .filter(|rows| *rows > 0)
            .map(|rows| cell.disk_bytes as f64 / rows as f64);
        vec![
            rows_per_s.map_or_else(missing, |rate| figure(figures::per_s(rate), rate)),
            each_s.map_or_else(missing, |each_s| figure(figures::micros(1e6 * each_s), each_s)),
            bytes.map_or_else(missing, |bytes| figure(figures::digits(bytes), bytes)),
        ]
    });
    Some(table)
}
