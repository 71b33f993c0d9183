//! What the template shows, in its order: the answer, charts, tables, then what is needed to trust and to repeat it.

use sealstone_store::EngineFacts;
use serde::Serialize;

use super::canvas::{self, Ink};
use super::charts::{self, Chart, Interval};
use super::error::ReportError;
use super::index::Run;
use super::options::Options;
use super::tables::{self, Table};
use super::{figures, percentiles, sweep};
use crate::merge;
use crate::plan::{Plan, Policy};
use crate::results::{Cell, Machine, Results};

/// The whole page.
#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    style: String,
    /// More than one run: their comparison.
    across: Option<Across>,
    runs: Vec<Section>,
}

/// Several runs side by side.
#[derive(Serialize)]
struct Across {
    table: Table,
    /// Stores set against each other.
    against: Option<Table>,
    charts: Vec<Charts>,
    differences: Vec<String>,
}

/// One run.
#[derive(Serialize)]
struct Section {
    /// Prefix of the anchors within it.
    id: String,
    label: String,
    /// What was measured, when and for how long, in one line.
    summary: String,
    /// Set if it was ended early: what to know.
    interrupted: Option<String>,
    policy: &'static str,
    answer: String,
    /// What it means to the reader.
    meaning: Vec<String>,
    reasons: Vec<Reasons>,
    open_questions: Vec<String>,
    limits: Vec<String>,
    warnings: Vec<String>,
    ranking: Table,
    charts: Vec<Charts>,
    tables: Vec<Table>,
    subjects: Vec<Table>,
    machine: Vec<Fact>,
    engine: Vec<Fact>,
    settings: String,
    command: String,
    raw_data: Vec<String>,
}

/// Why a variant has its rank.
#[derive(Serialize)]
struct Reasons {
    label: String,
    taken: bool,
    reasons: Vec<String>,
}

/// Charts of one kind.
#[derive(Serialize)]
struct Charts {
    id: String,
    title: String,
    /// How to read them.
    note: String,
    legend: Vec<Key>,
    /// Shown only when asked for.
    folded: bool,
    panels: Vec<Chart>,
}

/// One entry of a legend: a colour or a mark, and its meaning.
#[derive(Serialize)]
struct Key {
    swatch: Option<&'static str>,
    mark: &'static str,
    text: &'static str,
}

/// A name and what it is.
#[derive(Serialize)]
struct Fact {
    name: String,
    value: String,
}

impl Page {
    pub(super) fn new(results: &[Results], options: &Options) -> Result<Self, ReportError> {
        let labels = merge::labels(results);
        let runs: Vec<Run> = results.iter().zip(labels).map(|(results, label)| Run::new(results, label)).collect();
        let sections = runs.iter().enumerate().map(|(number, run)| section(number, run, runs.len() == 1, options));
        Ok(Self {
            title: options.title.clone().unwrap_or_else(|| title(results)),
            style: format!("{}{}", canvas::style_sheet(), include_str!("../../templates/report.css")),
            across: if runs.len() > 1 { Some(across(&runs, results, options)?) } else { None },
            runs: sections.collect::<Result<_, _>>()?,
        })
    }
}

fn title(results: &[Results]) -> String {
    let mut engines: Vec<&str> = results.iter().map(|run| run.engine.name.as_str()).collect();
    engines.sort_unstable();
    engines.dedup();
    format!("What encryption costs: {}", engines.join(", "))
}

fn across(runs: &[Run], results: &[Results], options: &Options) -> Result<Across, ReportError> {
    let mut groups = Vec::new();
    for (workload, labels) in tables::pairs(runs) {
        for label in labels {
            let interval = |(number, run): (usize, &Run)| match tables::measured(run, workload, label) {
                Some((cell, Some(overhead))) if Some(cell.variant) != run.baseline => {
                    Some(Interval { label: run.label.clone(), ink: Ink::Series(number), overhead: overhead.clone() })
                }
                _ => None,
            };
            let intervals: Vec<Interval> = runs.iter().enumerate().filter_map(interval).collect();
            if !intervals.is_empty() {
                groups.push((tables::pair_title(workload, label), intervals));
            }
        }
    }
    let mut charts = Vec::new();
    for sweep in sweep::sweeps(runs)? {
        let name = sweep.axis.name;
        charts.push(Charts {
            id: format!("cost-{name}"),
            title: format!("Cost by {name}"),
            note: "Throughput against no encryption, measured in alternation with it: below 0 is slower. The line \
                   through a point spans the 95 % confidence interval."
                .into(),
            panels: sweep.cost,
            ..overhead_charts()
        });
        charts.push(plain(
            &format!("throughput-{name}"),
            &format!("Throughput by {name}"),
            "Median of all measured slices; the line through a point spans the slowest to the fastest slice.",
            sweep.throughput,
        ));
    }
    charts.push(Charts { panels: charts::forest(&groups, charts::OVERHEAD)?, ..overhead_charts() });
    charts.retain(|charts| !charts.panels.is_empty());
    let against = (!options.against.is_empty()).then(|| tables::against(&options.against));
    Ok(Across { table: tables::across(runs), against, charts, differences: merge::differences(results) })
}

fn section(number: usize, run: &Run, alone: bool, options: &Options) -> Result<Section, ReportError> {
    let results = run.results;
    let recommendation = &results.recommendation;
    let raw_data = match &options.raw_data {
        Some(names) if alone => names.clone(),
        Some(names) => names.get(number).cloned().into_iter().collect(),
        None if alone => vec!["results.json".into(), "results.csv".into()],
        None => Vec::new(),
    };
    let reasons = recommendation.ranking.iter().filter(|ranked| !ranked.reasons.is_empty()).map(|ranked| Reasons {
        label: ranked.label.clone(),
        taken: recommendation.take.as_ref() == Some(&ranked.label),
        reasons: ranked.reasons.clone(),
    });
    Ok(Section {
        id: format!("run-{}", number + 1),
        label: run.label.clone(),
        summary: summary(results),
        interrupted: results.interrupted.then(|| interrupted(run)),
        policy: policy(results.plan.policy),
        answer: recommendation.answer.clone(),
        meaning: recommendation.meaning.clone(),
        reasons: reasons.collect(),
        open_questions: recommendation.open_questions.clone(),
        limits: recommendation.warnings.clone(),
        warnings: warnings(results),
        ranking: tables::ranking(run),
        charts: all_charts(run)?,
        tables: [
            vec![tables::throughput(run)],
            tables::between(run).into_iter().collect(),
            tables::latency(run),
            vec![tables::cpu(run)],
            tables::time_split(run),
            vec![tables::size(run)],
        ]
        .concat(),
        subjects: vec![tables::variants(run), tables::workloads(run)],
        machine: machine(&results.machine),
        engine: engine(&results.engine),
        settings: settings(&results.plan),
        command: command(&results.command),
        raw_data,
    })
}

fn summary(results: &Results) -> String {
    let plan = &results.plan;
    format!(
        "{} {} on {}; {}; begun {}, {} in all; Sealstone {}",
        results.engine.name,
        results.engine.version,
        results.machine.label,
        figures::counted(plan.rounds, "round"),
        figures::moment(&results.started_at),
        figures::seconds(results.elapsed_s),
        results.version
    )
}

/// What an early end left unmeasured.
pub(super) fn interrupted(run: &Run) -> String {
    let results = run.results;
    let rounds = |cell: &Cell| cell.samples.iter().map(|sample| sample.round + 1).max().unwrap_or(0);
    let fewest = results.cells.iter().map(rounds).min().unwrap_or(0);
    let missing: Vec<&str> =
        (results.plan.workloads.iter().map(String::as_str)).filter(|name| !run.workloads.contains(name)).collect();
    let mut text = format!(
        "This comparison was ended early, after {}. What is shown is whole",
        figures::seconds(results.elapsed_s)
    );
    match results.plan.rounds {
        planned if fewest < planned => text += &format!(", but rests on as few as {fewest} of {planned} rounds."),
        _ => text += ".",
    }
    if !missing.is_empty() {
        text += &format!(" Not measured: {}.", missing.join(", "));
    }
    text
}

/// The warnings of the run; an engine with assertions is always among them.
pub(super) fn warnings(results: &Results) -> Vec<String> {
    let mut warnings = results.warnings.clone();
    if results.engine.assertions && !warnings.iter().any(|warning| warning.contains("assertion")) {
        let engine = &results.engine;
        warnings.insert(
            0,
            format!(
                "{} {} ({}) was built with assertions: its baseline is slower, so overheads are understated",
                engine.name, engine.version, engine.build
            ),
        );
    }
    warnings
}

fn policy(policy: Policy) -> &'static str {
    match policy {
        Policy::Any => "any cipher in good standing",
        Policy::Fips => "cipher and mode approved under FIPS 140",
        Policy::Kcmvp => "cipher and mode on the Korean validation list (KCMVP)",
    }
}

fn plain(id: &str, title: &str, note: &str, panels: Vec<Chart>) -> Charts {
    let (id, title, note) = (id.into(), title.into(), note.into());
    Charts { id, title, note, legend: Vec::new(), folded: false, panels }
}

fn overhead_charts() -> Charts {
    Charts {
        id: "overhead".into(),
        title: "Overhead".into(),
        note: "Throughput against no encryption, measured in alternation with it: left of 0 is slower. Lines span the \
               95 % confidence interval; an arrow marks one cut off at the edge."
            .into(),
        legend: vec![
            Key { swatch: None, mark: "●", text: "differs" },
            Key { swatch: None, mark: "○", text: "no difference" },
            Key { swatch: None, mark: "■", text: "costs at most what the interval reaches" },
            Key { swatch: None, mark: "◆", text: "cannot conclude" },
        ],
        folded: false,
        panels: Vec::new(),
    }
}

fn all_charts(run: &Run) -> Result<Vec<Charts>, ReportError> {
    let latency_note = match run.results.plan.target {
        None => "Figure at the right: 99th percentile.".into(),
        Some(rate) => format!(
            "Figure at the right: 99th percentile. Counted from the moment an operation was due, at {} operations a \
             second.",
            figures::digits(rate)
        ),
    };
    let all = vec![
        Charts { panels: charts::overhead(run)?, ..overhead_charts() },
        Charts {
            id: "between".into(),
            title: "Cipher against cipher".into(),
            note:
                "Throughput of one cipher against another, measured in alternation with it: left of 0 is slower. Lines \
                   span the 95 % confidence interval."
                    .into(),
            panels: charts::between(run)?,
            ..overhead_charts()
        },
        plain(
            "throughput",
            "Throughput",
            "Median of all measured slices; the line across a bar spans the slowest to the fastest slice. Longer is \
             better.",
            charts::throughput(run)?,
        ),
        Charts {
            legend: vec![
                Key { swatch: None, mark: "●", text: "median" },
                Key { swatch: None, mark: "◆", text: "95 %" },
                Key { swatch: None, mark: "■", text: "99 %" },
                Key { swatch: None, mark: "▲", text: "99.9 % of operations were as fast" },
            ],
            ..plain("latency", "Latency", &latency_note, charts::latency(run)?)
        },
        Charts {
            folded: true,
            ..plain(
                "percentiles",
                "Latency by percentile",
                "The whole distribution: to the right, ever rarer operations. Both scales are logarithmic.",
                percentiles::curves(run)?,
            )
        },
        Charts {
            legend: vec![
                Key { swatch: Some(Ink::Cipher.name()), mark: "", text: "in the cipher" },
                Key { swatch: Some(Ink::Io.name()), mark: "", text: "in file operations" },
                Key { swatch: Some(Ink::Elsewhere.name()), mark: "", text: "elsewhere: engine, kernel, load" },
            ],
            ..plain(
                "time",
                "Where CPU time goes",
                "Figure at the right: the cipher’s share. Shorter is better.",
                charts::time_split(run)?,
            )
        },
        plain(
            "cpu",
            "CPU use over time",
            "Cores in use, second by second: pale in user code, full colour in the kernel. Figure at the right: mean \
             share of \
             all cores.",
            charts::cpu(run)?,
        ),
        plain("size", "Size on disk", "After the last slice.", charts::size(run)?),
    ];
    Ok(all.into_iter().filter(|charts| !charts.panels.is_empty()).collect())
}

fn fact(name: &str, value: impl Into<String>) -> Fact {
    let value: String = value.into();
    Fact { name: name.into(), value: if value.is_empty() { "–".into() } else { value } }
}

fn machine(machine: &Machine) -> Vec<Fact> {
    vec![
        fact("CPU", &machine.cpu),
        fact("Logical CPUs", machine.cores.to_string()),
        fact("Memory", figures::memory(machine.memory_bytes)),
        fact("CPU features", machine.cpu_features.join(", ")),
        fact("Cipher backends", machine.backends.join(", ")),
        fact("Operating system", &machine.os),
        fact("Kernel", &machine.kernel),
        fact("File system", &machine.file_system),
        fact("Hypervisor", if machine.virtualised { "reported: a virtual machine" } else { "none reported" }),
    ]
}

fn engine(engine: &EngineFacts) -> Vec<Fact> {
    let assertions = if engine.assertions { "on: overheads are understated" } else { "off" };
    let mut facts = vec![
        fact("Engine", &engine.name),
        fact("Version", &engine.version),
        fact("Build", &engine.build),
        fact("Assertions", assertions),
    ];
    facts.extend(engine.settings.iter().map(|(name, value)| fact(name, value)));
    facts
}

/// All settings as the TOML that a comparison reads.
fn settings(plan: &Plan) -> String {
    // TOML has no integers above 2^63 - 1; such a seed is rare, and JSON says the same
    toml::to_string(plan)
        .or_else(|_| serde_json::to_string_pretty(plan))
        .unwrap_or_else(|error| format!("cannot be written down: {error}"))
}

/// The command line as a shell would read it.
fn command(words: &[String]) -> String {
    // only a NUL byte cannot be quoted, and no command line can hold one
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}
