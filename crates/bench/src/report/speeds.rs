//! Speeds by the size of the input: a panel for each algorithm, a line for each way to compute it,
//! on one page.

use super::axis::Axis;
use super::canvas::{Ink, Mark, style_sheet};
use super::curves::{Below, Curve, Point, panel};
use super::language::words_in;
use crate::conclude::figures;
use sealstone_message::Language;

/// One panel, whose lines share their sizes.
#[derive(Clone, Debug)]
pub struct SpeedPanel {
    /// Subject of the panel.
    pub title: String,
    /// Each size with its text, rising.
    pub sizes: Vec<(usize, String)>,
    /// Units of the sizes and the speeds: `bytes; GB/s`.
    pub words: String,
    /// The lines.
    pub lines: Vec<SpeedLine>,
}

/// One way to compute.
#[derive(Clone, Debug)]
pub struct SpeedLine {
    /// Name of the line.
    pub label: String,
    /// Its median at each size, with the slowest and the fastest round.
    pub points: Vec<[f64; 3]>,
}

/// Returns a page of `panels` under `title`, with `notes` above them; it needs nothing else.
#[must_use]
pub fn speeds(title: &str, notes: &[String], panels: &[SpeedPanel]) -> String {
    let paragraphs: String =
        notes.iter().map(|note| format!("<p>{}</p>\n", escaped(note))).collect();
    let figure = |panel: &SpeedPanel| {
        let (title, chart, table) = (escaped(&panel.title), drawn(panel), figures_of(panel));
        format!("<figure><figcaption>{title}</figcaption>\n{chart}\n{table}</figure>\n")
    };
    let (title, style, figures) =
        (escaped(title), style_sheet(), panels.iter().map(figure).collect::<String>());
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta \
         name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{style}\n{RULES}</style>\n\
         </head>\n<body><h1>{title}</h1>\n{paragraphs}<div class=\"panels\">\n\
         {figures}</div></body></html>\n"
    )
}

/// The rules of the page, beside the rules of charts.
const RULES: &str = "\
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; background: var(--surface); color: var(--text);
  margin: 1.5rem; }
p { max-width: 60rem; margin: .4rem 0; }
.panels { display: flex; flex-wrap: wrap; gap: 1.5rem 2rem; margin-top: 1.5rem; }
figure { margin: 0; max-width: 100%; }
figcaption { font-weight: 600; margin-bottom: .5rem; }
.chart { overflow: visible; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 12px; font-variant-numeric: tabular-nums; }
th, td { padding: .15rem .5rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--grid); }
summary { color: var(--muted); font-size: 12px; cursor: pointer; }
";

fn escaped(text: &str) -> String {
    minijinja::HtmlEscape(text).to_string()
}

/// Returns the medians that a panel shows, to be unfolded.
fn figures_of(given: &SpeedPanel) -> String {
    let heads: String =
        given.lines.iter().map(|line| format!("<th>{}</th>", escaped(&line.label))).collect();
    let row = |(at, (_, size)): (usize, &(usize, String))| {
        let medians =
            given.lines.iter().map(|line| line.points.get(at).map_or(0.0, |point| point[0]));
        let cells: String =
            medians.map(|median| format!("<td>{}</td>", figures::digits(median))).collect();
        format!("<tr><th>{}</th>{cells}</tr>\n", escaped(size))
    };
    let rows: String = given.sizes.iter().enumerate().map(row).collect();
    format!(
        "<details><summary>figures: {}</summary><div class=\"scroll\"><table>\n\
         <tr><th></th>{heads}</tr>\n{rows}</table></div></details>\n",
        escaped(&given.words)
    )
}

fn drawn(given: &SpeedPanel) -> String {
    // sizes grow by factors: they are spaced evenly by their logarithms
    let logarithm = |size: usize| (size.max(1) as f64).ln();
    let ends = (given.sizes.first(), given.sizes.last());
    let (first, last) = (
        ends.0.map_or(0.0, |size| logarithm(size.0)),
        ends.1.map_or(1.0, |size| logarithm(size.0)),
    );
    let place = |size: usize| (logarithm(size) - first) / (last - first).max(1e-9);
    let ticks = given.sizes.iter().map(|(size, text)| (place(*size), text.clone())).collect();
    let all = || {
        given
            .lines
            .iter()
            .flat_map(|line| &line.points)
            .flatten()
            .copied()
            .filter(|value| *value > 0.0)
    };
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let scale = Axis::logarithmic(low, high, 7, figures::digits);
    let curve = |(number, line): (usize, &SpeedLine)| Curve {
        label: line.label.clone(),
        ink: Ink::Series(number),
        points: std::iter::zip(&given.sizes, &line.points)
            .map(|((size, _), [value, low, high])| Point {
                at: place(*size),
                value: *value,
                mark: Some((Mark::Disc, *low, *high)),
            })
            .collect(),
    };
    let curves: Vec<Curve> = given.lines.iter().enumerate().map(curve).collect();
    let below = Below { ticks, words: given.words.clone() };
    let words = words_in(Language::English);
    panel(words, &given.title, &format!("{} by size", given.title), &below, &scale, &curves).svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_line_for_each_way_and_escapes_what_it_is_given() {
        let line = |label: &str, speed: f64| SpeedLine {
            label: label.into(),
            points: [1.0, 2.0, 4.0]
                .map(|factor| [speed * factor, speed * factor * 0.9, speed * factor * 1.1])
                .to_vec(),
        };
        let panel = SpeedPanel {
            title: "aes-256 <ff1>".into(),
            sizes: [(1, "1"), (100, "100"), (10_000, "10k")]
                .map(|(size, text)| (size, text.to_owned()))
                .to_vec(),
            words: "values; million values/s".into(),
            lines: vec![line("cpu all", 10.0), line("kernel", 1200.0)],
        };
        let page = speeds("opencl:0 & a CPU", &["a note".to_owned()], &[panel.clone(), panel]);
        assert_eq!(page.matches("<svg class=\"chart\"").count(), 2);
        assert_eq!(page.matches("stroke-dasharray").count(), 4);
        for text in [
            "opencl:0 &amp; a CPU",
            "<p>a note</p>",
            "aes-256 &lt;ff1&gt;",
            ">cpu all<",
            ">10k<",
            ">1000<",
            "<td>4800</td>",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert!(!page.contains("NaN") && !page.contains("<ff1>"));
    }

    #[test]
    fn one_size_and_no_speed_still_make_a_page() {
        let line = SpeedLine { label: "none".into(), points: vec![[0.0; 3]] };
        let panel = SpeedPanel {
            title: "t".into(),
            sizes: vec![(7, "7".into())],
            words: "w".into(),
            lines: vec![line],
        };
        let page = speeds("t", &[], &[panel]);
        assert!(page.contains("<svg") && !page.contains("NaN") && !page.contains("inf"), "{page}");
    }
}
