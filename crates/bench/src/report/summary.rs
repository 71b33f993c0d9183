//! The answer on one terminal screen. The complete report is HTML.

use anstyle::{AnsiColor, Style};
use sealstone_message::printable;
use unicode_width::UnicodeWidthStr;

use super::canvas::shorten;
use super::index::Run;
use super::{conditions, open_loop, page, places, tables};
use crate::compare::forecast;
use crate::compare::merge;
use crate::conclude::figures;
use crate::conclude::sustained_rate::{is_searched_in_vain, sustained};
use crate::results::{Against, Cell, Overhead, Ranked, Results};
use crate::words::axes::{AXES, varied};
use crate::words::verdict::{Cell as Content, TABLE, Tone, Verdict};

/// Lines that the table may take before it is written more tersely.
const TABLE_LINES: usize = 22;

/// Columns of a label before it is cut, if two of them fit next to each other.
const LABEL_COLUMNS: usize = 20;

/// Columns after which prose is wrapped however wide the terminal is: longer lines are hard to
/// read.
const PROSE_COLUMNS: usize = 100;

/// Entries shown of a list before the rest is left to the report.
const LIST_ENTRIES: usize = 3;

/// Returns the recommendation, a table of every variant and workload, and the warnings, in lines of
/// at most `width` columns (never fewer than 40) and on one screen of about 40 lines.
///
/// `colour` puts ANSI colours around verdicts; without them the text is the same. Ends with a
/// newline. The caller adds the path of the report.
pub fn screen(results: &Results, width: usize, colour: bool) -> String {
    screen_beside(results, &[], width, colour)
}

/// Returns [`screen`] without the warnings that are `shared` with others, which are shown once at
/// the end.
fn screen_beside(
    results: &Results,
    shared: &[(&str, String)],
    width: usize,
    colour: bool,
) -> String {
    let paper = Paper { width: width.max(40), colour };
    let run = Run::new(results, results.machine.label.clone());
    let mut lines = Vec::new();
    if results.interrupted {
        lines.extend(paper.wrapped(
            "",
            &page::interrupted(&run),
            AnsiColor::Yellow.on_default().bold(),
        ));
        lines.push(String::new());
    }
    let recommendation = &results.recommendation;
    lines.extend(paper.wrapped("", &recommendation.answer, Style::new().bold()));
    // a handful, and the program's own
    for line in recommendation.consequences() {
        lines.extend(paper.wrapped("- ", &line, Style::new()));
    }
    let taken = recommendation
        .ranking
        .iter()
        .find(|ranked| Some(&ranked.label) == recommendation.take.as_ref());
    lines.extend(paper.list(
        "",
        taken.map_or(&[], |ranked| ranked.reasons.as_slice()),
        Style::new(),
    ));
    lines.push(String::new());
    lines.extend(paper.table(&run));
    lines.push(String::new());
    for sentence in conditions::sentences(&run) {
        lines.extend(paper.wrapped("", &sentence, Style::new()));
    }
    lines.extend(paper.wrapped("", &setting(results), Style::new().dimmed()));
    // no other table of the screen has medians of latencies
    let gaps = if run.rate().is_some() { tables::median_gaps(&run) } else { Vec::new() };
    for (title, entries) in [("note: ", gaps), ("open: ", recommendation.open_questions.clone())] {
        lines.extend(paper.list(title, &entries, AnsiColor::Yellow.on_default()));
    }
    lines.extend(
        forecast::sentence(results).iter().flat_map(|more| paper.wrapped("", more, Style::new())),
    );
    let own: Vec<(&str, String)> =
        warned(results).into_iter().filter(|warning| !shared.contains(warning)).collect();
    lines.extend(paper.warnings(&own));
    lines.join("\n") + "\n"
}

/// Lists the warnings about the ciphers and about the run, each after its title.
fn warned(results: &Results) -> Vec<(&'static str, String)> {
    let limits = results.recommendation.warnings.iter().cloned().map(|limit| ("limit: ", limit));
    limits
        .chain(page::warnings(results).into_iter().map(|warning| ("warning: ", warning)))
        .collect()
}

/// The most groups of which each has its own screen; of more, the answers alone are shown.
const SCREENS_MAX: usize = 6;

/// Builds the terminal output for several groups: the output of [`screen`] for each, or only the
/// answers if there are more than a handful; then the stores set against each other. Ends with an
/// empty line.
#[must_use]
pub fn screens(runs: &[Results], against: &[Against], width: usize, colour: bool) -> String {
    let paper = Paper { width: width.max(40), colour };
    let labels = merge::labels(runs);
    let mut text = String::new();
    if runs.len() > SCREENS_MAX {
        for (run, label) in runs.iter().zip(&labels) {
            let answer = format!("{label}: {}", run.recommendation.answer);
            for line in paper.wrapped("- ", &answer, Style::new()) {
                text += &format!("{line}\n");
            }
        }
        text += "workloads, intervals and what to take care of at each point are in the report\n\n";
    } else {
        let shared = match runs {
            [first, others @ ..] if !others.is_empty() => {
                let others: Vec<_> = others.iter().map(warned).collect();
                warned(first)
                    .into_iter()
                    .filter(|warning| others.iter().all(|run| run.contains(warning)))
                    .collect()
            }
            _ => Vec::new(),
        };
        for (run, label) in runs.iter().zip(&labels) {
            let label = if runs.len() > 1 { format!("{label}\n") } else { String::new() };
            text += &format!("{label}{}\n", screen_beside(run, &shared, width, colour));
        }
        if !shared.is_empty() {
            text += &(paper.warnings(&shared).join("\n") + "\n\n");
        }
    }
    if !against.is_empty() {
        text += &(paper.against(against).join("\n") + "\n\n");
    }
    text
}

/// Returns the measured items, and how often they were measured.
fn setting(results: &Results) -> String {
    let slices = results.cells.iter().map(|cell| cell.samples.len()).max().unwrap_or(0);
    format!(
        "{} on {}; {}{} in {}; {}",
        results.engine.name_and_version(),
        results.machine.label,
        if results.plan.target.is_some() { "" } else { "medians of " },
        figures::counted(slices, "slice"),
        figures::counted(forecast::rounds(results), "round"),
        conditions::amount(results)
    )
}

/// A text with the style it is shown in.
struct Styled {
    text: String,
    style: Style,
}

/// Returns `text` on one line, without the characters by which a hostile name could take over the
/// terminal.
fn clean(text: &str) -> String {
    printable(&text.replace(['\n', '\r', '\t'], " ")).into_owned()
}

/// Returns a name as a table shows it.
fn name(text: &str, columns: usize) -> String {
    shorten(&clean(text), columns)
}

fn plain(text: impl Into<String>) -> Styled {
    Styled { text: text.into(), style: Style::new() }
}

/// Maximum width of a line, and whether it may be coloured.
struct Paper {
    width: usize,
    colour: bool,
}

/// One column of the table: a variant, with a text for each workload.
type Column = Vec<Styled>;

impl Paper {
    fn styled(&self, text: &str, style: Style) -> String {
        match self.colour && !style.is_plain() && !text.is_empty() {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }

    /// Returns `text` after `title`, in lines that fit.
    fn wrapped(&self, title: &str, text: &str, style: Style) -> Vec<String> {
        let options = textwrap::Options::new(self.width.min(PROSE_COLUMNS))
            .initial_indent(title)
            .subsequent_indent(match title {
                "" => "",
                _ => "  ",
            });
        textwrap::wrap(&clean(text), options)
            .into_iter()
            .map(|line| self.styled(&line, style))
            .collect()
    }

    /// Returns the first `LIST_ENTRIES` of `entries`, each after `title`, and how many more there
    /// are.
    fn list(&self, title: &str, entries: &[String], style: Style) -> Vec<String> {
        let start = if title.is_empty() { "- " } else { title };
        let shown =
            entries.iter().take(LIST_ENTRIES).flat_map(|entry| self.wrapped(start, entry, style));
        let mut lines: Vec<String> = shown.collect();
        if entries.len() > LIST_ENTRIES {
            lines.push(self.styled(
                &format!("{start}{} more in the report", entries.len() - LIST_ENTRIES),
                style,
            ));
        }
        lines
    }

    /// Returns the first few of each title.
    fn warnings(&self, warnings: &[(&str, String)]) -> Vec<String> {
        let of = |title: &str| -> Vec<String> {
            let entries =
                warnings.iter().filter(|(known, _)| *known == title).map(|(_, text)| text.clone());
            self.list(title, &entries.collect::<Vec<_>>(), AnsiColor::Yellow.on_default())
        };
        ["limit: ", "warning: "].into_iter().flat_map(of).collect()
    }

    /// Returns a row for each workload, a column for each variant; in several blocks if the columns
    /// do not fit, and tersely if the blocks do not fit.
    fn table(&self, run: &Run) -> Vec<String> {
        let order: Vec<usize> = tables::ranked(run).into_iter().map(|(number, _)| number).collect();
        let label_columns = LABEL_COLUMNS.min((self.width - 2) / 2);
        let rate = run.rate();
        let names: Column = row_names(run, label_columns, rate.is_some());
        let rows = names.len();
        let layout = |terse: bool| {
            let columns: Vec<Column> = run
                .baseline
                .iter()
                .chain(&order)
                .map(|number| column(run, *number, label_columns, terse))
                .collect();
            self.blocks(&names, columns)
        };
        let lines = |blocks: &[Vec<Column>]| blocks.len() * (rows + 1);
        let mut terse = false;
        let mut blocks = layout(terse);
        if lines(&blocks) > TABLE_LINES {
            terse = true;
            blocks = layout(terse);
        }
        let mut left_out = 0;
        while lines(&blocks) > TABLE_LINES + rows && blocks.len() > 1 {
            left_out += blocks.pop().map_or(0, |block| block.len());
        }
        let mut text = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            if number > 0 {
                text.push(String::new());
            }
            text.extend(self.block(&names, block));
        }
        if left_out > 0 {
            text.push(format!("{left_out} more variants in the report"));
        }
        let key = rate.map_or_else(|| key(run, terse), |rate| open_loop::key(run.results, rate));
        text.extend(self.wrapped("", &key, Style::new().dimmed()));
        text
    }

    /// Stores set against one of them: a line for each point and variant, with a column for each
    /// workload.
    fn against(&self, ratios: &[Against]) -> Vec<String> {
        let axes =
            varied(ratios.iter().flat_map(|one| [&one.point, &one.other]).collect::<Vec<_>>());
        // both stores are named in the heading; a point that differs in nothing else is named by
        // its store
        let axes: Vec<_> = axes.into_iter().filter(|axis| axis.name != "store").collect();
        let axes = if axes.is_empty() { vec![&AXES[0]] } else { axes };
        let mut lines = Vec::new();
        let mut workloads: Vec<&str> = Vec::new();
        for one in ratios.iter().map(|one| one.workload.as_str()) {
            if !workloads.contains(&one) {
                workloads.push(one);
            }
        }
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for one in ratios.iter().map(|one| (one.point.store.as_str(), one.other.store.as_str())) {
            if !pairs.contains(&one) {
                pairs.push(one);
            }
        }
        for pair in pairs {
            let of_pair: Vec<&Against> = ratios
                .iter()
                .filter(|one| (one.point.store.as_str(), one.other.store.as_str()) == pair)
                .collect();
            let mut rows: Vec<(&Against, Vec<&Against>)> = Vec::new();
            for one in of_pair {
                let alike = |row: &(&Against, Vec<&Against>)| {
                    row.0.point == one.point
                        && row.0.other == one.other
                        && row.0.variant == one.variant
                };
                match rows.iter().position(alike) {
                    Some(at) => rows[at].1.push(one),
                    None => rows.push((one, vec![one])),
                }
            }
            let label = |row: &Against| {
                let beside = match row.other_variant.as_str() {
                    same if same == row.variant => String::new(),
                    other => format!(" to {other}"),
                };
                plain(format!("{}: {}{beside}", row.point.words(&axes), clean(&row.variant)))
            };
            let names: Column =
                std::iter::once(plain("")).chain(rows.iter().map(|row| label(row.0))).collect();
            let column = |workload: &&str| -> Column {
                let of = |row: &(&Against, Vec<&Against>)| {
                    let ratio = row.1.iter().find(|one| one.workload == *workload);
                    plain(ratio.map_or("–".into(), |one| {
                        let mark = if one.low <= 1.0 && one.high >= 1.0 { "~" } else { "" };
                        format!("{mark}{}", figures::digits(one.ratio))
                    }))
                };
                std::iter::once(plain(*workload)).chain(rows.iter().map(of)).collect()
            };
            let title =
                format!("{} as a multiple of {}, in throughput", clean(pair.0), clean(pair.1));
            lines.extend(self.wrapped("", &title, Style::new().bold()));
            for block in self.blocks(&names, workloads.iter().map(column).collect()) {
                lines.extend(self.block(&names, &block));
            }
        }
        let note = "the two stores were not measured in alternation; ~ one interval reaches from \
                    below 1 to above; the intervals are in the report";
        lines.extend(self.wrapped("", note, Style::new().dimmed()));
        lines
    }

    /// Columns in groups that fit the width next to the names of the rows.
    fn blocks(&self, names: &Column, columns: Vec<Column>) -> Vec<Vec<Column>> {
        let mut blocks: Vec<Vec<Column>> = Vec::new();
        let mut used = self.width + 1;
        for column in columns {
            let needed = 2 + column_width(&column);
            if used + needed > self.width {
                used = column_width(names);
                blocks.push(Vec::new());
            }
            used += needed;
            if let Some(block) = blocks.last_mut() {
                block.push(column);
            }
        }
        blocks
    }

    fn block(&self, names: &Column, columns: &[Column]) -> Vec<String> {
        let name_width = column_width(names);
        let line = |row: usize| {
            let mut line = self.padded(&names[row], name_width, false);
            for column in columns {
                line += "  ";
                line += &self.padded(&column[row], column_width(column), true);
            }
            line.trim_end().to_owned()
        };
        (0..names.len()).map(line).collect()
    }

    fn padded(&self, entry: &Styled, width: usize, right: bool) -> String {
        let gap = " ".repeat(width.saturating_sub(entry.text.width()));
        let text = self.styled(&entry.text, entry.style);
        if right { gap + &text } else { text + &gap }
    }
}

fn column_width(column: &Column) -> usize {
    column.iter().map(|entry| entry.text.width()).max().unwrap_or(0)
}

/// Returns the first column: the names of the rows.
fn row_names(run: &Run, label_columns: usize, is_rate: bool) -> Column {
    let head = Style::new().bold();
    let mut names = vec![Styled { text: "workload".into(), style: head }, plain("backend")];
    if is_rate {
        let of = |workload: &&str| open_loop::row_names(&name(workload, label_columns)).map(plain);
        names.extend(run.workloads.iter().flat_map(of));
        names.extend(places::asked(run).map(plain));
        return names;
    }
    names.extend(run.workloads.iter().map(|workload| plain(name(workload, label_columns))));
    if !run.results.recommendation.ranking.is_empty() {
        names.push(plain("all workloads"));
        names.extend(places::asked(run).map(plain));
    }
    names
}

/// Returns a variant's column: its name, its backend, a figure for each workload, and the figure
/// for all.
fn column(run: &Run, number: usize, label_columns: usize, terse: bool) -> Column {
    let variant = &run.results.variants[number];
    let mut column = vec![
        Styled { text: name(&variant.label, label_columns), style: Style::new().bold() },
        plain(name(variant.backend().unwrap_or("–"), label_columns)),
    ];
    if run.rate().is_some() {
        let missing = || std::array::from_fn(|_| ("–".to_owned(), None));
        for workload in &run.workloads {
            let entries = run.cell(workload, number).map_or_else(missing, open_loop::entries);
            column.extend(entries.map(|(text, verdict)| Styled {
                text,
                style: verdict.map_or_else(Style::new, style),
            }));
        }
        column.extend(places::words_of(run, &variant.label).map(plain));
        return column;
    }
    column.extend(run.workloads.iter().map(|workload| {
        run.cell(workload, number).map_or(plain("–"), |cell| entry(cell, terse))
    }));
    let ranked =
        run.results.recommendation.ranking.iter().find(|ranked| ranked.label == variant.label);
    column.push(match ranked {
        Some(Ranked { overhead: Some(overhead), .. }) if Some(number) != run.baseline => {
            Styled { text: in_short(overhead, terse), style: style(overhead.verdict) }
        }
        _ => plain(""),
    });
    column.extend(places::words_of(run, &variant.label).map(plain));
    column
}

/// Returns the style of a verdict.
fn style(verdict: Verdict) -> Style {
    match verdict.row().tone {
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Cost => AnsiColor::Yellow.on_default(),
        Tone::Plain => Style::new(),
        Tone::Open => Style::new().italic(),
        Tone::Aside => Style::new().dimmed(),
    }
}

/// Returns a cell's overhead, or if it is the baseline its throughput, or the rate that it
/// sustains.
fn entry(cell: &Cell, terse: bool) -> Styled {
    let Some(overhead) = &cell.overhead else {
        let rate = sustained(cell).map_or(Some(cell.throughput), |found| found.rate_per_s);
        let none = if is_searched_in_vain(cell) { "never met" } else { "too few" };
        return plain(rate.map_or(none.into(), |per_s| figures::rate(per_s, cell.unit)));
    };
    let text = match overhead.verdict {
        Verdict::CannotConclude
            if sustained(cell).is_some_and(|found| found.rate_per_s.is_none()) =>
        {
            if is_searched_in_vain(cell) { "never met" } else { "too few" }.into()
        }
        _ => in_short(overhead, terse),
    };
    let style = style(overhead.verdict);
    let is_marked = tables::below_saturation(cell) && overhead.verdict != Verdict::NotMet;
    Styled { text: if is_marked { text + "*" } else { text }, style }
}

/// Returns an overhead as the table shows it.
fn in_short(overhead: &Overhead, terse: bool) -> String {
    let row = overhead.verdict.row();
    let sign = row.sign.unwrap_or_default();
    match (row.cell, terse) {
        (Content::Dash, _) | (Content::Word | Content::HalfWidth, true) => sign.into(),
        (Content::Word, false) => row.word.into(),
        (Content::Change, true) => figures::terse(overhead),
        (Content::Change, false) => figures::overhead(overhead),
        (Content::Bound, true) => format!("{sign}{}", figures::bound_percent(overhead)),
        (Content::Bound, false) => figures::bound(overhead),
        (Content::HalfWidth, false) if overhead.can_be_chance() => {
            format!("{} chance?", figures::overhead(overhead))
        }
        (Content::HalfWidth, false) => format!("{sign} {}", figures::half_width(overhead)),
    }
}

/// Explains the signs that occur in the table.
fn key(run: &Run, terse: bool) -> String {
    let compared = || run.results.cells.iter().filter(|cell| cell.overhead.is_some());
    let has = |verdict: Verdict| {
        compared()
            .any(|cell| cell.overhead.as_ref().is_some_and(|overhead| overhead.verdict == verdict))
    };
    if compared().next().is_none() {
        return "throughput; nothing was measured against it".into();
    }
    let mut text = match run.limit() {
        Some(limit) => format!("rate sustained with a p99 of at most {limit}, in %"),
        None => "throughput in %".into(),
    };
    text += ", ± 95 % confidence interval, against no encryption; minus is slower";
    let can_be_chance = |cell: &Cell| cell.overhead.as_ref().is_some_and(Overhead::can_be_chance);
    // a difference that can be chance has another sign where there is room
    let is_open = compared().any(|cell| {
        let verdict = cell.overhead.as_ref().map(|overhead| overhead.verdict);
        verdict == Some(Verdict::CannotConclude) && !can_be_chance(cell)
    });
    for row in TABLE.iter().filter(|row| has(row.verdict)) {
        let is_shown = terse || row.cell == Content::HalfWidth && is_open;
        if let Some(sign) = row.sign.filter(|_| is_shown && row.cell != Content::Dash) {
            text += &format!("; {sign} {}", row.word);
        }
    }
    if !terse && compared().any(can_be_chance) {
        text += "; chance? alone it would be claimed, one such among so many ratios can be chance";
    }
    if has(Verdict::NotMet) {
        text += "; – met no cipher, and is in no figure over all workloads";
    }
    if compared().any(tables::below_saturation) {
        text += "; * below saturation, so idle time may hide the cost";
    }
    text
}
