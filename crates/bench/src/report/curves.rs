//! Curves in small panels: a line for each variant, each named at its end.

use super::axis::Axis;
use super::canvas::{Anchor, Ink, Mark, apart, draw, half_px, shorten, text_px};
use super::charts::{Chart, NARROW_PX};
use super::language::Words;

const HEIGHT_PX: f64 = 236.0;

/// Upper and lower edge of the curves.
const TOP_PX: f64 = 8.0;
const BOTTOM_PX: f64 = 196.0;

/// Columns of a label before it is cut.
const LABEL_COLUMNS: usize = 21;

/// One point of a curve; points without a mark only bend it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// Position to the right, 0 to 1.
    pub(super) at: f64,
    pub(super) value: f64,
    /// Mark of the point, and the ends of its interval.
    pub(super) mark: Option<(Mark, f64, f64)>,
}

/// One variant.
pub(super) struct Curve {
    pub(super) label: String,
    pub(super) ink: Ink,
    pub(super) points: Vec<Point>,
}

/// The scale below: its ticks, from 0 to 1, with their text, and what they count.
pub(super) struct Below {
    pub(super) ticks: Vec<(f64, String)>,
    pub(super) words: String,
}

/// Returns a panel of `curves` over `below`, with `scale` at its left, in the language of `words`;
/// `about` describes it to readers who cannot see it.
pub(super) fn panel(
    words: &Words,
    title: &str,
    about: &str,
    below: &Below,
    scale: &Axis,
    curves: &[Curve],
) -> Chart {
    let widest = |texts: &mut dyn Iterator<Item = String>| {
        texts.map(|text| text_px(&text)).fold(0.0, f64::max)
    };
    // with room for a font that is wider than ours
    let left = widest(&mut scale.ticks.iter().map(|(_, text)| text.clone())) + 18.0;
    let label = |curve: &Curve| shorten(&curve.label, LABEL_COLUMNS);
    let right = NARROW_PX - widest(&mut curves.iter().map(label)) - 22.0;
    let place = |point: &Point, value: f64| {
        (left + point.at * (right - left), BOTTOM_PX - scale.position(value) * (BOTTOM_PX - TOP_PX))
    };
    let drawn: Vec<Vec<(f64, f64)>> = curves
        .iter()
        .map(|curve| curve.points.iter().map(|point| place(point, point.value)).collect())
        .collect();
    let ends: Vec<(f64, f64)> =
        drawn.iter().map(|curve| curve.last().copied().unwrap_or((left, BOTTOM_PX))).collect();
    let heights = apart(&ends.iter().map(|end| end.1).collect::<Vec<_>>(), (TOP_PX, HEIGHT_PX));
    let names = curves.iter().map(|curve| curve.label.as_str()).collect::<Vec<_>>().join(", ");
    let description =
        words.say(&format!("{about}: curves of {names}; the tables have the figures"));
    let svg = draw(NARROW_PX, HEIGHT_PX, &description, |canvas| {
        for (value, text) in &scale.ticks {
            let y = BOTTOM_PX - scale.position(*value) * (BOTTOM_PX - TOP_PX);
            let ink = if scale.reference == Some(*value) { Ink::Axis } else { Ink::Grid };
            canvas.line(&[(left - 6.0, y), (right, y)], ink, 1.0);
            canvas.text(text, (left - 12.0, y), Anchor::Right, Ink::Muted);
        }
        let mut free = f64::MIN;
        for (at, text) in &below.ticks {
            let (x, half) = (left + at * (right - left), half_px(text));
            canvas.line(&[(x, BOTTOM_PX), (x, BOTTOM_PX + 4.0)], Ink::Axis, 1.0);
            // within the sheet, and not below the names of the curves
            let middle = x.min(right + 16.0 - half).max(half);
            // the first, and then all labels that have room
            if middle - half > free {
                canvas.text(text, (middle, BOTTOM_PX + 12.0), Anchor::Middle, Ink::Muted);
                free = middle + half + 4.0;
            }
        }
        canvas.text(
            &words.say(&below.words),
            ((left + right) / 2.0, BOTTOM_PX + 28.0),
            Anchor::Middle,
            Ink::Muted,
        );
        for (number, curve) in curves.iter().enumerate() {
            canvas.curve(&drawn[number], curve.ink);
            for (point, centre) in curve.points.iter().zip(&drawn[number]) {
                let Some((mark, low, high)) = point.mark else { continue };
                canvas.line(&[place(point, low), place(point, high)], curve.ink, 0.75);
                canvas.mark(*centre, mark, 8.0, curve.ink);
            }
            // the label may be higher or lower than the end of the curve: a line leads to it
            let (end, height) = (ends[number], heights[number]);
            canvas.line(
                &[(end.0 + 4.0, end.1), (right.max(end.0 + 4.0), end.1), (right + 14.0, height)],
                curve.ink,
                0.75,
            );
            canvas.text(&label(curve), (right + 18.0, height), Anchor::Left, Ink::Text);
        }
    });
    Chart { title: words.say(title), note: String::new(), svg, narrow: None }
}
