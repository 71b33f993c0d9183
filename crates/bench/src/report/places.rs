//! Place, person and cost: a drawing and tables of whom each variant protects from, and its
//! measured cost. Not here: the protection of places (`crate::words::places`).

use sealstone_store::Layer;

use super::canvas::{Anchor, Canvas, Ink, Texture, draw, half_px, shorten, text_px};
use super::charts::{
    Chart, WIDE_PX, across_the_page, axis_of, below_the_ticks, interval, labelled,
};
use super::index::Run;
use super::tables::{Datum, Table, columns, head, judged, variant_head, words};
use crate::conclude::figures;
use crate::results::Overhead;
use crate::study::coverage::{Cost, Coverage, CoverageRow};
use crate::words::places::{Place, Protection, entry};
use crate::words::threat::Threat;

/// Text in place of an unknown cost.
pub(super) const NOT_MEASURED: &str = "not measured";

/// Returns the record about places, if there is one.
pub(super) fn coverage<'a>(run: &Run<'a>) -> Option<&'a Coverage> {
    run.results.recommendation.coverage.as_ref()
}

/// Returns the requested threats.
pub(super) fn asked<'a>(run: &Run<'a>) -> impl Iterator<Item = &'a str> {
    coverage(run).into_iter().flat_map(|coverage| &coverage.protect_from).map(String::as_str)
}

/// Returns how far the variant called `label` protects from each of the requested threats, in
/// words; empty for a variant that does not encrypt.
pub(super) fn words_of<'a>(run: &Run<'a>, label: &str) -> impl Iterator<Item = &'static str> {
    let rows = coverage(run).map_or(&[][..], |coverage| &coverage.rows);
    let row = rows.iter().find(|row| row.variant.as_deref() == Some(label));
    asked(run).map(move |name| {
        let entry = row.and_then(|row| row.entries.iter().find(|entry| entry.threat == name));
        entry.map_or("", |entry| entry.protection.word())
    })
}

/// Returns the cost of a row in the form of the other charts.
pub(super) fn overhead(cost: &Cost) -> Overhead {
    Overhead::of_ratio(cost.ratio, (cost.low, cost.high), cost.verdict, &cost.words)
}

/// Returns the name of a row: its variant, or the place that was not measured.
pub(super) fn label(row: &CoverageRow) -> &str {
    row.variant.as_deref().unwrap_or(&row.place)
}

/// Returns the variant number of a row.
fn number(run: &Run, row: &CoverageRow) -> Option<usize> {
    run.results.variants.iter().position(|variant| Some(&variant.label) == row.variant.as_ref())
}

/// Returns the drawing, if any threat was requested.
pub(super) fn chart(run: &Run) -> Vec<Chart> {
    match coverage(run) {
        Some(coverage) if !coverage.rows.is_empty() => {
            across_the_page(|width| sheet(run, coverage, width))
        }
        _ => Vec::new(),
    }
}

/// Division of one width.
struct Layout {
    wide: bool,
    /// Position where the columns of people begin, and the distance between them.
    people: (f64, f64),
    /// Ends of the axis of costs.
    costs: (f64, f64),
    /// Position where the rows begin, and the height of each.
    rows: (f64, f64),
}

impl Layout {
    fn new(run: &Run, coverage: &Coverage, width: f64) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = String>| {
            texts.map(|text| text_px(&text)).fold(0.0, f64::max)
        };
        let values = widest(&mut coverage.rows.iter().map(|row| value(run, row)));
        if width < WIDE_PX {
            // names of people are stacked, and the label of a row is above its marks
            let top = 18.0 * Threat::ALL.len() as f64 + 10.0;
            let people = (4.0, 26.0);
            let costs = (people.0 + people.1 * Threat::ALL.len() as f64 + 14.0, width - 12.0);
            return Self { wide: false, people, costs, rows: (top, 46.0) };
        }
        let labels = widest(&mut coverage.rows.iter().map(|row| label(row).to_owned())).min(230.0);
        let people = (labels + 18.0, 107.0);
        let costs = (people.0 + people.1 * Threat::ALL.len() as f64 + 10.0, width - values - 12.0);
        Self { wide: true, people, costs, rows: (30.0, 27.0) }
    }

    fn column(&self, at: usize) -> f64 {
        self.people.0 + self.people.1 * at as f64
    }

    /// Returns the height of the marks of row `at`.
    fn middle(&self, at: usize) -> f64 {
        self.rows.0 + self.rows.1 * (at as f64 + 1.0) - 13.0
    }

    fn bottom(&self, rows: usize) -> f64 {
        self.rows.0 + self.rows.1 * rows as f64 + 4.0
    }
}

fn value(run: &Run, row: &CoverageRow) -> String {
    let cost = row.cost.as_ref().map(|cost| figures::overhead(&overhead(cost)));
    cost.unwrap_or_else(|| run.words.say(NOT_MEASURED))
}

fn sheet(run: &Run, coverage: &Coverage, width: f64) -> String {
    let layout = Layout::new(run, coverage, width);
    let costs: Vec<Option<Overhead>> =
        coverage.rows.iter().map(|row| row.cost.as_ref().map(overhead)).collect();
    let axis = axis_of(&costs.iter().flatten().collect::<Vec<_>>(), 4);
    let (left, right) = layout.costs;
    let x = |value: f64| left + axis.position(value) * (right - left);
    let bottom = layout.bottom(coverage.rows.len());
    draw(width, bottom + 36.0, &description(run, coverage), |canvas| {
        heads(canvas, run, coverage, (&layout, bottom));
        let has_text = labelled(&axis, right - left);
        for (at, (value, text)) in axis.ticks.iter().enumerate() {
            canvas.line(&[(x(*value), layout.rows.0 - 4.0), (x(*value), bottom)], Ink::Grid, 1.0);
            if has_text(at) {
                let half = half_px(text);
                canvas.text(
                    text,
                    (x(*value).min(width - half), bottom + 11.0),
                    Anchor::Middle,
                    Ink::Muted,
                );
            }
        }
        canvas.line(&[(x(0.0), layout.rows.0 - 4.0), (x(0.0), bottom)], Ink::Axis, 1.5);
        let unit = format!("% of {}", coverage.quantity);
        below_the_ticks(canvas, run.words, (&axis, &unit), (left, right, width), bottom + 27.0);
        for (at, row) in coverage.rows.iter().enumerate() {
            let y = layout.middle(at);
            named(canvas, run, row, &layout, (width, y));
            for (column, entry) in row.entries.iter().enumerate() {
                let from = layout.column(column);
                shown(canvas, entry.protection, (from, y));
                if layout.wide {
                    let word = run.words.say(entry.protection.word());
                    canvas.text(&word, (from + 19.0, y), Anchor::Left, Ink::Text);
                }
            }
            if let Some(overhead) = &costs[at] {
                let ink = number(run, row).map_or(Ink::Text, |number| run.ink(number));
                interval(canvas, x, &axis, y, overhead, ink);
            }
        }
    })
}

/// Writes the names of people above their columns, the requested names in bold.
fn heads(canvas: &mut Canvas, run: &Run, coverage: &Coverage, (layout, bottom): (&Layout, f64)) {
    for (at, threat) in Threat::ALL.into_iter().enumerate() {
        let from = layout.column(at);
        let y = if layout.wide { 14.0 } else { 9.0 + 18.0 * at as f64 };
        if !layout.wide {
            canvas.line(&[(from + 7.0, y + 6.0), (from + 7.0, bottom)], Ink::Grid, 1.0);
        }
        match coverage.protect_from.iter().any(|name| name == threat.name()) {
            true => canvas.bold(&run.words.say(threat.name()), (from, y)),
            false => {
                canvas.text(&run.words.say(threat.name()), (from, y), Anchor::Left, Ink::Muted);
            }
        }
    }
}

/// Writes the label of a row and the figure of its cost; the advised row is bold.
fn named(
    canvas: &mut Canvas,
    run: &Run,
    row: &CoverageRow,
    layout: &Layout,
    (width, y): (f64, f64),
) {
    let value = value(run, row);
    let room = if layout.wide { layout.people.0 - 12.0 } else { width - text_px(&value) - 14.0 };
    let name = shorten(label(row), (room / 7.0) as usize);
    let at = if layout.wide { y } else { y - 20.0 };
    let is_taken = row.variant.is_some() && row.variant == run.results.recommendation.take;
    if !layout.wide {
        // the lines of the columns do not run through the words
        canvas.bar((0.0, at - 9.0), (width, at + 8.0), Ink::Surface, Texture::Full);
    }
    match (is_taken, &row.variant) {
        (true, _) => canvas.bold(&name, (2.0, at)),
        (false, Some(_)) => canvas.text(&name, (2.0, at), Anchor::Left, Ink::Text),
        (false, None) => canvas.text(&name, (2.0, at), Anchor::Left, Ink::Muted),
    }
    let ink = if row.cost.is_some() { Ink::Text } else { Ink::Muted };
    canvas.text(&value, (width - 2.0, at), Anchor::Right, ink);
}

/// Draws a box that is as full as the protection.
fn shown(canvas: &mut Canvas, protection: Protection, (left, y): (f64, f64)) {
    let (right, top, bottom) = (left + 14.0, y - 6.0, y + 6.0);
    canvas.bar((left, top), (right, bottom), Ink::Surface, Texture::Full);
    match protection {
        Protection::Protects => canvas.bar((left, top), (right, bottom), Ink::Text, Texture::Full),
        Protection::Partly => canvas.bar((left, top), (right, bottom), Ink::Text, Texture::Striped),
        Protection::LeavesOpen => {
            let corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
            canvas.line(&corners, Ink::Axis, 1.0);
        }
        Protection::NobodyThere => canvas.text("–", (left + 7.0, y), Anchor::Middle, Ink::Muted),
    }
}

/// Returns the drawing in words, for readers who cannot see it.
fn description(run: &Run, coverage: &Coverage) -> String {
    let say = |text: &str| run.words.say(text);
    let row = |row: &CoverageRow| {
        let entries = row
            .entries
            .iter()
            .map(|entry| format!("{} {}", say(&entry.threat), say(entry.protection.word())));
        let (entries, cost) = (entries.collect::<Vec<_>>().join(", "), say("cost"));
        format!("{}: {entries}, {cost} {}", label(row), value(run, row))
    };
    let rows: Vec<String> = coverage.rows.iter().map(row).collect();
    format!("{}; {}", say("Which variant protects from whom, and its cost"), rows.join("; "))
}

/// Returns the marks of the drawing.
pub(super) fn legend() -> Vec<(&'static str, &'static str)> {
    vec![
        ("█", Protection::Protects.word()),
        ("▥", Protection::Partly.word()),
        ("□", Protection::LeavesOpen.word()),
        ("–", Protection::NobodyThere.word()),
    ]
}

/// Describes each person in one sentence.
pub(super) fn who() -> String {
    let each = Threat::ALL.map(|threat| format!("{} {}", threat.name(), threat.definition()));
    format!("{}.", each.join("; "))
}

/// Returns the figures of the drawing, and why each place protects from whom, with sources.
pub(super) fn tables(run: &Run) -> Vec<Table> {
    let Some(coverage) = coverage(run) else { return Vec::new() };
    let names = Threat::ALL.map(Threat::name);
    let row = |row: &CoverageRow| {
        let name = number(run, row)
            .map_or_else(|| head(row.place.as_str()), |number| variant_head(run, number));
        let entries = row.entries.iter().map(|entry| Datum::from(entry.protection));
        let cost = match &row.cost {
            Some(cost) => judged(cost.verdict, figures::overhead(&overhead(cost)), cost.ratio)
                .noted(&*cost.words),
            None => words(NOT_MEASURED),
        };
        std::iter::once(name.noted(if row.variant.is_some() { row.place.as_str() } else { "" }))
            .chain(entries)
            .chain([cost])
            .collect()
    };
    let covered = Table {
        title: "Who is kept out, at what cost".into(),
        note: format!(
            "{} Several places together protect as the best of them does; their costs are measured \
             together, never added up.",
            who()
        ),
        columns: columns(["Variant"].into_iter().chain(names).chain(["#Cost over all workloads"])),
        rows: coverage.rows.iter().map(row).collect(),
        ..Table::default()
    };
    vec![covered, why(run, coverage)]
}

/// Tabulates why each place of `coverage` protects from whom, with sources.
fn why(run: &Run, coverage: &Coverage) -> Table {
    let within = coverage.surroundings.within_process;
    let named = |layer: &Layer| {
        coverage.rows.iter().any(|row| row.place.split('+').any(|one| one == layer.name()))
    };
    let places = Layer::ALL
        .into_iter()
        .filter(named)
        .map(|layer| Place::of(layer, run.results.plan.fields.is_some()));
    let row = |place: Place, threat: Threat| {
        let entry = entry(place, threat);
        let (protection, reason) = entry.at(within);
        let sources: Vec<&str> = entry.sources.iter().map(|source| source.title).collect();
        vec![
            head(place.name()),
            head(threat.name()),
            Datum::from(protection),
            words(reason),
            words(sources.join("; ")),
        ]
    };
    Table {
        title: "Why".into(),
        columns: columns(["Place", "From", "", "Why", "Source"]),
        rows: places
            .flat_map(|place| Threat::ALL.into_iter().map(move |threat| row(place, threat)))
            .collect(),
        ..Table::default()
    }
}

impl From<Protection> for Datum {
    fn from(protection: Protection) -> Self {
        words(protection.word()).marked(protection.sign())
    }
}

/// As lines of Markdown: a table of every variant and place.
pub(super) fn markdown(coverage: &Coverage, escaped: impl Fn(&str) -> String) -> String {
    let names = Threat::ALL.map(Threat::name).join(" | ");
    let mut text = format!("\n| | {names} | cost |\n|{}\n", "---|".repeat(Threat::ALL.len() + 2));
    for row in &coverage.rows {
        let entries: Vec<&str> = row.entries.iter().map(|entry| entry.protection.word()).collect();
        let cost = row.cost.as_ref().map_or(NOT_MEASURED, |cost| &cost.words);
        text.push_str(&format!(
            "| {} | {} | {} |\n",
            escaped(label(row)),
            entries.join(" | "),
            escaped(cost)
        ));
    }
    text.push_str(&format!("\n{}\n", who()));
    text
}
