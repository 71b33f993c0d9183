//! Contents of the template, in its order: the answer, charts, tables, then everything needed to
//! trust and to repeat the measurement.

use std::collections::BTreeMap;

use serde::Serialize;

use super::canvas;
use super::charts::{self, Chart, Interval, Intervals};
use super::conditions::{Fact, conditions, fact};
use super::headline::{Headline, headline};
use super::index::{self, Run};
use super::options::Options;
use super::tables::{self, Table};
use super::{cross_tables, open_loop, overview, percentiles, places, requests, subjects, sweep};
use crate::compare::forecast;
use crate::compare::merge;
use crate::conclude::figures;
use crate::results::warnings::{assertions, is_about_assertions};
use crate::results::{Cell, Results};
use crate::study::plan::{Plan, Policy};
use crate::words::target::Target;
use crate::words::verdict::{Mark, TABLE, Verdict};

/// The whole page.
#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    /// Title of the user's choice, in place of ours.
    title_given: Option<String>,
    style: String,
    script: &'static str,
    /// Colours of the first chart.
    drawn: Vec<Colour>,
    /// All others.
    key: Vec<Colour>,
    /// Meaning of the mark of each verdict.
    marks: Vec<Key>,
    /// More than one run: their comparison.
    across: Option<Across>,
    runs: Vec<Section>,
    /// Notes on how to read what several runs have in common.
    reading: Vec<Reading>,
    subjects: Vec<Table>,
    setting: Vec<Setting>,
    reruns: Vec<Rerun>,
    raw_data: Vec<String>,
    /// Planned measurements that were not made.
    missing: Vec<String>,
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
    /// Summary in one line: the measured items, the time and the duration.
    summary: String,
    /// Set if it was ended early: a note about that.
    interrupted: Option<String>,
    policy: &'static str,
    answer: Headline,
    /// The first chart.
    overview: Option<Charts>,
    /// Meaning of the answer for the reader.
    meaning: Vec<String>,
    /// Under which conditions the figures hold.
    conditions: Vec<Fact>,
    cost: Table,
    reasons: Vec<Reasons>,
    open_questions: Vec<String>,
    limits: Vec<String>,
    warnings: Vec<String>,
    charts: Vec<Charts>,
    tables: Vec<Table>,
}

/// Reasons for the rank of a variant.
#[derive(Serialize)]
struct Reasons {
    label: String,
    taken: bool,
    reasons: Vec<String>,
}

/// Charts of one kind.
#[derive(Default, Serialize)]
pub(super) struct Charts {
    id: String,
    title: String,
    /// Note on how to read the charts.
    note: String,
    legend: Vec<Key>,
    /// Shown only on request.
    folded: bool,
    panels: Vec<Chart>,
    /// Numbers of the variants in it; none: all.
    #[serde(skip)]
    variants: Option<Vec<usize>>,
    /// Set if its marks are those of verdicts.
    #[serde(skip)]
    has_verdicts: bool,
}

/// A colour and the variant that it stands for.
#[derive(Serialize)]
struct Colour {
    ink: &'static str,
    dashes: &'static str,
    text: String,
}

/// One entry of a legend: a mark or texture, and its meaning.
#[derive(Clone, Serialize)]
struct Key {
    mark: &'static str,
    text: &'static str,
}

/// Note on how to read charts or tables of one title.
#[derive(Serialize)]
struct Reading {
    title: String,
    note: String,
}

/// Facts of machine or engine.
#[derive(Serialize)]
struct Setting {
    title: &'static str,
    facts: Vec<Fact>,
    /// The facts that differ between runs.
    differing: Option<Table>,
}

/// Instructions for measuring again.
#[derive(Serialize)]
struct Rerun {
    command: String,
    settings: Vec<Fact>,
}

impl Page {
    pub(super) fn new(results: &[Results], options: &Options) -> Self {
        let runs = index::runs(results, options.language);
        let mut sections: Vec<Section> =
            runs.iter().enumerate().map(|(number, run)| section(number, run)).collect();
        let across = (runs.len() > 1).then(|| across(&runs, results, options));
        let reading = if runs.len() > 1 { said_once(&mut sections) } else { Vec::new() };
        let [drawn, key] = key(&runs);
        Self {
            title: title(results),
            title_given: options.title.clone(),
            style: format!(
                "{}{}",
                canvas::style_sheet(),
                include_str!("../../templates/report.css")
            ),
            script: include_str!("../../templates/report.js"),
            drawn,
            key,
            marks: marks(&runs),
            across,
            runs: sections,
            reading,
            subjects: subjects::subjects(&runs),
            setting: vec![setting("Machine", &runs, machine), setting("Engine", &runs, engine)],
            reruns: reruns(&runs),
            missing: options.missing.clone(),
            raw_data: match &options.raw_data {
                Some(names) => names.iter().fold(Vec::new(), |mut once, name| {
                    if !once.contains(name) {
                        once.push(name.clone());
                    }
                    once
                }),
                None if runs.len() == 1 => vec!["results.json".into(), "results.csv".into()],
                None => Vec::new(),
            },
        }
    }
}

/// Returns every variant of `runs` with its colour: first those that the chart above everything
/// shows, where there is one run, then all others.
fn key(runs: &[Run]) -> [Vec<Colour>; 2] {
    let drawn = match runs {
        [run] => Some(overview::overview(run)).filter(|overview| !overview.charts.is_empty()),
        _ => None,
    };
    let drawn = drawn.map_or(Vec::new(), |overview| overview.variants);
    let (mut first, mut others): (Vec<Colour>, Vec<Colour>) = (Vec::new(), Vec::new());
    for run in runs {
        for (number, variant) in run.results.variants.iter().enumerate() {
            if first.iter().chain(&others).any(|known| known.text == variant.label) {
                continue;
            }
            let ink = run.ink(number);
            let colour =
                Colour { ink: ink.name(), dashes: ink.dashes(), text: variant.label.clone() };
            if drawn.contains(&number) { first.push(colour) } else { others.push(colour) }
        }
    }
    [first, others]
}

/// Returns the meanings of the verdict marks that occur in `runs`.
fn marks(runs: &[Run]) -> Vec<Key> {
    let cells =
        runs.iter().flat_map(|run| &run.results.cells).filter_map(|cell| cell.overhead.as_ref());
    let between = runs.iter().flat_map(|run| &run.results.between);
    let occurring: Vec<Verdict> =
        cells.map(|one| one.verdict).chain(between.map(|one| one.verdict)).collect();
    let mut keys: Vec<Key> = Vec::new();
    for row in TABLE.iter().filter(|row| occurring.contains(&row.verdict)) {
        let Some(mark) = row.mark.map(Mark::sign) else { continue };
        if keys.iter().all(|key| key.mark != mark) {
            keys.push(Key { mark, text: row.legend });
        }
    }
    keys
}

/// Takes the notes of charts and tables, which are the same for every run, out of `sections`.
fn said_once(sections: &mut [Section]) -> Vec<Reading> {
    let mut readings: Vec<Reading> = Vec::new();
    let mut keep =
        |title: &str, note: String| match readings.iter_mut().find(|known| known.title == title) {
            _ if note.is_empty() => {}
            Some(known) if known.note.contains(&note) => {}
            Some(known) => known.note = format!("{} {note}", known.note),
            None => readings.push(Reading { title: title.into(), note }),
        };
    for section in sections {
        if let Some(overview) = &mut section.overview {
            keep(&overview.title, std::mem::take(&mut overview.note));
        }
        keep(&section.cost.title, std::mem::take(&mut section.cost.note));
        for charts in &mut section.charts {
            let legend = std::mem::take(&mut charts.legend);
            let legend =
                legend.iter().map(|key| format!(" {} {}.", key.mark, key.text)).collect::<String>();
            keep(&charts.title, std::mem::take(&mut charts.note) + &legend);
        }
        for table in &mut section.tables {
            keep(&table.title, std::mem::take(&mut table.note));
        }
    }
    readings
}

/// Returns the facts that all runs share, and a table of the others.
fn setting(title: &'static str, runs: &[Run], facts_of: fn(&Results) -> Vec<Fact>) -> Setting {
    let each: Vec<Vec<Fact>> = runs.iter().map(|run| facts_of(run.results)).collect();
    let mut names: Vec<&str> = Vec::new();
    for fact in each.iter().flatten() {
        if !names.contains(&fact.name.as_str()) {
            names.push(&fact.name);
        }
    }
    let value = |facts: &[Fact], name: &str| facts.iter().find(|fact| fact.name == name).cloned();
    let (same, differing): (Vec<&str>, Vec<&str>) = names
        .into_iter()
        .partition(|name| each.iter().all(|facts| value(facts, name) == value(&each[0], name)));
    let row = |(run, facts): (&Run, &Vec<Fact>)| {
        let values =
            differing.iter().map(|name| value(facts, name).map_or("–".into(), |fact| fact.value));
        (run.label.clone(), values.collect())
    };
    Setting {
        title,
        facts: same.iter().filter_map(|name| value(&each[0], name)).collect(),
        differing: (!differing.is_empty()).then(|| {
            cross_tables::of_words(
                &format!("{title}: what differs"),
                &differing,
                runs.iter().zip(&each).map(row),
            )
        }),
    }
}

fn reruns(runs: &[Run]) -> Vec<Rerun> {
    let mut reruns: Vec<Rerun> = Vec::new();
    for run in runs {
        let command = command(&run.results.command, &run.results.threads_found());
        let settings = fact(&run.label, settings(&run.results.plan));
        match reruns.iter_mut().find(|known| known.command == command) {
            Some(known) => known.settings.push(settings),
            None => reruns.push(Rerun { command, settings: vec![settings] }),
        }
    }
    reruns
}

fn title(results: &[Results]) -> String {
    let mut engines: Vec<&str> = results.iter().map(|run| run.engine.name.as_str()).collect();
    engines.sort_unstable();
    engines.dedup();
    format!("What encryption costs: {}", engines.join(", "))
}

/// Returns every chart of one run, the first of the page first.
pub(super) fn charts_of(run: &Run) -> Vec<Charts> {
    let overview = overview::overview(run);
    overview_of(run, &overview).into_iter().chain(all_charts(run, &overview)).collect()
}

/// Returns the charts of several runs together.
pub(super) fn charts_across(runs: &[Run]) -> Vec<Charts> {
    let mut charts = Vec::new();
    for sweep in sweep::sweeps(runs) {
        let name = sweep.axis.name;
        charts.push(Charts::new(
            &format!("cost-{name}"),
            &format!("Cost by {name}"),
            "Throughput against no encryption, measured in alternation with it: below 0 is slower. \
             The line through a point spans the 95 % confidence interval.",
            sweep.cost,
        ));
        charts.push(Charts::new(
            &format!("throughput-{name}"),
            &format!("Throughput by {name}"),
            "Median of all measured slices; the line through a point spans the slowest to the \
             fastest slice.",
            sweep.throughput,
        ));
    }
    // the curves show the same, and more
    if charts.is_empty() {
        charts.push(Charts::new(
            "cost",
            "Cost",
            COST_NOTE,
            charts::intervals(runs[0].words, cost_of_each(runs), charts::COST),
        ));
    }
    charts.retain(|charts| !charts.panels.is_empty());
    charts
}

fn across(runs: &[Run], results: &[Results], options: &Options) -> Across {
    let against = (!options.against.is_empty()).then(|| cross_tables::against(&options.against));
    Across {
        table: cross_tables::across(runs),
        against,
        charts: charts_across(runs),
        differences: merge::differences(results),
    }
}

/// Returns the cost of each variant under each workload, with an interval for each run.
fn cost_of_each(runs: &[Run]) -> Vec<Intervals> {
    let mut groups = Vec::new();
    for (workload, labels) in cross_tables::pairs(runs) {
        for label in labels {
            let interval = |run: &Run| {
                let (cell, overhead) = cross_tables::measured(run, workload, label)?;
                let (overhead, ink) = (overhead?.clone(), run.ink(cell.variant));
                (Some(cell.variant) != run.baseline).then(|| Interval {
                    label: run.label.clone(),
                    ink,
                    overhead,
                })
            };
            groups.push(Intervals {
                heading: format!("{}, {label}", runs[0].called(workload)),
                members: runs.iter().filter_map(interval).collect(),
            });
        }
    }
    groups
}

fn section(number: usize, run: &Run) -> Section {
    let results = run.results;
    let recommendation = &results.recommendation;
    // the throughput is the fixed rate, or the rate that the search ended with
    let is_open = results.plan.target.is_some();
    let overview = overview::overview(run);
    Section {
        id: format!("run-{}", number + 1),
        label: run.label.clone(),
        summary: summary(results, &figures::counted(forecast::rounds(results), "round")),
        interrupted: results.interrupted.then(|| interrupted(run)),
        policy: policy(results.plan.policy),
        answer: headline(run),
        overview: overview_of(run, &overview),
        // under a heading that names it
        meaning: recommendation.cpu.iter().chain(&recommendation.meaning).cloned().collect(),
        conditions: conditions(run),
        cost: open_loop::at_rate_table(run).unwrap_or_else(|| tables::cost(run)),
        reasons: reasons(run),
        open_questions: recommendation
            .open_questions
            .iter()
            .cloned()
            .chain(forecast::sentence(results))
            .collect(),
        limits: recommendation.warnings.clone(),
        warnings: warnings(results),
        charts: all_charts(run, &overview),
        tables: [
            places::tables(run),
            open_loop::sustained_table(run).into_iter().collect(),
            requests::requests(run).into_iter().collect(),
            if is_open { Vec::new() } else { vec![tables::throughput(run)] },
            tables::between(run).into_iter().collect(),
            tables::latency(run),
            vec![tables::cpu(run)],
            tables::time_split(run),
            vec![tables::size(run)],
            tables::by_row(run).into_iter().collect(),
        ]
        .concat(),
    }
}

/// Returns the first chart with its title; none where nothing was compared.
fn overview_of(run: &Run, overview: &overview::Overview) -> Option<Charts> {
    if overview.charts.is_empty() {
        return None;
    }
    let (title, note) = match (run.rate().is_some(), run.limit().is_some()) {
        (true, _) => ("How much longer the p99 is with encryption", P99_NOTE),
        (false, true) => ("How much lower the rate is that is sustained", RATE_NOTE),
        (false, false) => ("How much slower each workload is with encryption", OVERVIEW_NOTE),
    };
    Some(Charts {
        variants: Some(overview.variants.clone()),
        has_verdicts: true,
        ..Charts::new("cost", title, note, overview.charts.clone())
    })
}

/// Explains why each variant has its rank; a reason that several have is given once.
fn reasons(run: &Run) -> Vec<Reasons> {
    let recommendation = &run.results.recommendation;
    let ranking: Vec<_> =
        recommendation.ranking.iter().filter(|ranked| !ranked.reasons.is_empty()).collect();
    let owners = |reason: &String| -> Vec<&str> {
        let those = ranking.iter().filter(|ranked| ranked.reasons.contains(reason));
        those.map(|ranked| ranked.label.as_str()).collect()
    };
    let entry =
        |label: String, is_taken: bool| Reasons { label, taken: is_taken, reasons: Vec::new() };
    let mut reasons: Vec<Reasons> = ranking
        .iter()
        .map(|ranked| {
            entry(ranked.label.clone(), recommendation.take.as_ref() == Some(&ranked.label))
        })
        .collect();
    for reason in ranking.iter().flat_map(|ranked| &ranked.reasons) {
        let label = match owners(reason).as_slice() {
            all if all.len() > 1 && all.len() == ranking.len() => "all of them".to_owned(),
            some => some.join(", "),
        };
        let at = reasons.iter().position(|known| known.label == label).unwrap_or_else(|| {
            reasons.push(entry(label, false));
            reasons.len() - 1
        });
        if !reasons[at].reasons.contains(reason) {
            reasons[at].reasons.push(reason.clone());
        }
    }
    reasons.retain(|one| !one.reasons.is_empty() || one.taken);
    reasons
}

/// Returns in one line how much was measured, where and when. `amount`: of rounds or of records.
pub(super) fn summary(results: &Results, amount: &str) -> String {
    format!(
        "{} on {}; {amount}; begun {}, {} in all; Sealstone {}",
        results.engine.name_and_version(),
        results.machine.label,
        figures::moment(&results.started_at),
        figures::seconds(results.elapsed_s),
        results.version
    )
}

/// Describes what an early end left unmeasured.
pub(super) fn interrupted(run: &Run) -> String {
    let results = run.results;
    let rounds =
        |cell: &Cell| cell.samples.iter().map(|sample| sample.round + 1).max().unwrap_or(0);
    let fewest = results.cells.iter().map(rounds).min().unwrap_or(0);
    let missing: Vec<String> = (results.plan.workloads.iter().map(String::as_str))
        .filter(|name| !run.workloads.contains(name))
        .map(|name| results.plan.called(name))
        .collect();
    let after = figures::seconds(results.elapsed_s);
    let mut text = match &results.failure {
        Some(error) => {
            format!("This comparison was ended early, after {after}, by an error: {error}.")
        }
        None => format!("This comparison was ended early, after {after}."),
    };
    text += " What is shown is whole";
    match results.plan.rounds {
        planned if fewest < planned && results.plan.target != Some(Target::Max) => {
            text += &format!(", but rests on as few as {fewest} of {planned} rounds.")
        }
        _ => text += ".",
    }
    if !missing.is_empty() {
        text += &format!(" Not measured: {}.", missing.join(", "));
    }
    text
}

/// Returns the warnings of the run; an engine with assertions is always among them, and nothing
/// that the advice already contains.
pub(super) fn warnings(results: &Results) -> Vec<String> {
    let is_said = |warning: &String| results.recommendation.warnings.contains(warning);
    let mut warnings: Vec<String> =
        results.warnings.iter().filter(|warning| !is_said(warning)).cloned().collect();
    let is_known = |warning: &String| is_about_assertions(warning, &results.engine);
    if results.engine.assertions && !warnings.iter().any(is_known) {
        warnings.insert(0, assertions(&results.engine));
    }
    warnings
}

fn policy(policy: Policy) -> &'static str {
    match policy {
        Policy::Any => "any cipher in good standing",
        Policy::Fips => {
            "cipher and mode, in every place, approved under FIPS 140; no validated module"
        }
        Policy::Kcmvp => {
            "cipher and mode, in every place, on the Korean validation list (KCMVP); no validated \
             module"
        }
        Policy::FipsModule => {
            "cipher and mode, in every place, approved under FIPS 140, and computed in a \
             cryptographic module; whether that is validated is for its user to say"
        }
        Policy::KcmvpModule => {
            "cipher and mode, in every place, on the Korean validation list (KCMVP), and computed \
             in a cryptographic module; whether that is validated is for its user to say"
        }
    }
}

const COST_NOTE: &str = "Throughput against no encryption, measured in alternation with it. Lines \
                         span the 95 % confidence interval; an arrow marks one cut off at the \
                         edge.";

const OVERVIEW_NOTE: &str = "Throughput against no encryption. Lines: 95 % confidence intervals.";
const RATE_NOTE: &str = "Rate within the limit, against no encryption. Lines: 95 % confidence \
                         intervals.";
const P99_NOTE: &str = "The p99 against no encryption. Lines: 95 % confidence intervals.";

/// Cells from which on the chart of latencies is too long to be in the way.
const MANY_CELLS: usize = 40;

impl Charts {
    /// Returns the name of the kind.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn panels(&self) -> &[Chart] {
        &self.panels
    }

    /// Returns the numbers of the variants that are in it without their names.
    pub(super) fn variants(&self) -> Option<&[usize]> {
        self.variants.as_deref()
    }

    /// Returns its marks and what they mean.
    pub(super) fn keys(&self, runs: &[Run]) -> Vec<(&'static str, &'static str)> {
        let own = self.legend.iter().map(|key| (key.mark, key.text));
        let verdicts = if self.has_verdicts { marks(runs) } else { Vec::new() };
        own.chain(verdicts.into_iter().map(|key| (key.mark, key.text))).collect()
    }

    fn new(id: &str, title: &str, note: &str, panels: Vec<Chart>) -> Self {
        let (id, title, note) = (id.into(), title.into(), note.into());
        Self { id, title, note, panels, ..Self::default() }
    }
}

/// Explains how to read the drawing of places.
fn places_note() -> String {
    format!(
        "{} Bold: what was asked about, and what is advised. To the right: the cost over all \
         workloads against no encryption.",
        places::who()
    )
}

fn all_charts(run: &Run, overview: &overview::Overview) -> Vec<Charts> {
    let mut latency_note = String::from("Figure at the right: 99th percentile.");
    if let Some(Target::Rate(rate)) = run.results.plan.target {
        latency_note.push_str(&format!(
            " Counted from the moment an operation was due, at {} operations a second.",
            figures::digits(rate)
        ));
    } else if let Some(limit) = run.limit() {
        latency_note.push_str(&format!(
            " Counted from the moment an operation was due, each variant held at a rate with a p99 \
             of at most {limit}."
        ));
    }
    for gap in tables::median_gaps(run) {
        latency_note.push_str(&format!(" {gap}"));
    }
    // at a fixed rate the throughput is not a result
    let is_rate = run.rate().is_some();
    let mut all = vec![
        Charts {
            legend: places::legend().into_iter().map(|(mark, text)| Key { mark, text }).collect(),
            ..Charts::new("places", "Place, person and cost", &places_note(), places::chart(run))
        },
        Charts {
            has_verdicts: true,
            // the first chart shows the same where it shows all
            ..Charts::new(
                "cost-of-each",
                "Cost of every variant",
                COST_NOTE,
                if is_rate || overview.is_all { Vec::new() } else { charts::cost(run) },
            )
        },
        Charts {
            has_verdicts: true,
            ..Charts::new(
                "between",
                "Cipher against cipher",
                "Throughput of one cipher against another, measured in alternation with it.",
                if is_rate { Vec::new() } else { charts::between(run) },
            )
        },
        Charts {
            legend: [
                ("●", "median"),
                ("◆", "95 %"),
                ("■", "99 %"),
                ("▲", "99.9 % of operations were as fast"),
            ]
            .map(|(mark, text)| Key { mark, text })
            .to_vec(),
            folded: run.results.cells.len() > MANY_CELLS,
            ..Charts::new("latency", "Latency", &latency_note, charts::latency(run))
        },
        Charts {
            folded: true,
            ..Charts::new(
                "percentiles",
                "Latency by percentile",
                "The whole distribution: to the right, ever rarer operations. Both scales are \
                 logarithmic.",
                percentiles::curves(run),
            )
        },
        Charts {
            legend: [
                ("█", "in the cipher"),
                ("▥", "in file operations"),
                ("░", "elsewhere: engine, kernel, load"),
            ]
            .map(|(mark, text)| Key { mark, text })
            .to_vec(),
            ..Charts::new(
                "time",
                "CPU time for the same work",
                "Against no encryption, background work included. Shorter is better.",
                charts::time_split(run),
            )
        },
        Charts::new(
            "size",
            "Size on disk",
            "Against no encryption, after the last slice.",
            charts::size(run),
        ),
        Charts {
            folded: true,
            ..Charts::new(
                "cpu",
                "CPU use over time",
                "Cores in use, second by second: pale in user code, full colour in the kernel. \
                 Figure at the right: mean share of all cores.",
                charts::cpu(run),
            )
        },
    ];
    all.retain(|charts| !charts.panels.is_empty());
    all
}

fn machine(results: &Results) -> Vec<Fact> {
    let machine = &results.machine;
    vec![
        fact("Host", &machine.host),
        fact("CPU", &machine.cpu),
        fact("Logical CPUs", machine.cores.to_string()),
        fact("Memory", figures::memory(machine.memory_bytes)),
        fact("CPU features", machine.cpu_features.join(", ")),
        fact("Cipher backends", machine.backends.join(", ")),
        fact("Operating system", &machine.os),
        fact("Kernel", &machine.kernel),
        fact("File system", &machine.file_system),
        fact(
            "Hypervisor",
            if machine.virtualised { "reported: a virtual machine" } else { "none reported" },
        ),
    ]
}

fn engine(results: &Results) -> Vec<Fact> {
    let engine = &results.engine;
    let assertions = if engine.assertions { "on: overheads are understated" } else { "off" };
    let mut facts = vec![
        fact("Engine", &engine.name),
        fact("Version", if engine.version == "unknown" { "" } else { &engine.version }),
        fact("Build", &engine.build),
        fact("Assertions", assertions),
    ];
    facts.extend(engine.settings.iter().map(|(name, value)| fact(name, value)));
    facts
}

/// Returns all settings as the TOML that a comparison reads.
fn settings(plan: &Plan) -> String {
    // TOML has no integers above 2^63 - 1; such a seed is rare, and JSON has the same content
    toml::to_string(plan)
        .or_else(|_| serde_json::to_string_pretty(plan))
        .unwrap_or_else(|error| format!("cannot be written down: {error}"))
}

/// Returns the command line as a shell would read it. `found`: the clients found by search; named,
/// so that the same number runs again.
fn command(words: &[String], found: &BTreeMap<String, usize>) -> String {
    let mut words = words.to_vec();
    if !words.is_empty() && !found.is_empty() {
        let list: Vec<String> =
            found.iter().map(|(name, clients)| format!("{name}={clients}")).collect();
        words.extend(["--set".into(), format!("threads-of={}", list.join(","))]);
    }
    // only a NUL byte cannot be quoted, and no command line can hold one
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}
