//! A sheet to draw one chart on, as inline SVG whose colours follow the page's theme.
//!
//! Drawn with the light theme's colours; the style sheet maps each of them to a variable that the dark theme
//! redefines. Knows of lines, marks and text, not of results.

use std::fmt::Write as _;

use plotters::coord::Shift;
use plotters::prelude::{
    Circle, DrawingArea, DrawingAreaErrorKind, IntoDrawingArea, IntoFont, PathElement, Polygon, RGBColor, Rectangle,
    SVGBackend, ShapeStyle, Text, TextStyle,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle};
use unicode_width::UnicodeWidthStr;

use super::error::ReportError;

/// Units of the drawing in one pixel at its natural size; coordinates of the backend are whole numbers.
const FINENESS: f64 = 8.0;

/// Font size of all text in a chart, in pixels at natural size.
const FONT_PX: f64 = 12.0;

/// Number of colours for variants; the ninth variant starts again with the first.
pub(super) const SERIES: usize = 8;

/// A colour by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// Variant number, counted without the baseline.
    Series(usize),
    /// The baseline.
    Baseline,
    /// CPU time in the cipher.
    Cipher,
    /// CPU time in file operations.
    Io,
    /// CPU time elsewhere.
    Elsewhere,
    /// Ordinary text.
    Text,
    /// Text of less weight.
    Muted,
    /// The line of "no difference", and axes.
    Axis,
    /// Grid lines.
    Grid,
    /// What is behind the chart.
    Surface,
}

/// Name of the style sheet's variable, colour in the light theme, colour in the dark theme.
type Shade = (&'static str, u32, u32);

/// All colours. Light ones differ from each other, for they are also the keys of the mapping.
const SHADES: [Shade; SERIES + 9] = [
    ("series-1", 0x00_68_A8, 0x62_B5_F0),
    ("series-2", 0xB8_50_0A, 0xFF_9A_5C),
    ("series-3", 0x0A_7F_5A, 0x45_CC_9C),
    ("series-4", 0x9B_3F_86, 0xE6_93_CF),
    ("series-5", 0x76_6B_00, 0xD6_C7_4A),
    ("series-6", 0x4B_45_B5, 0xA9_A4_F8),
    ("series-7", 0x9E_1F_44, 0xF2_87_A1),
    ("series-8", 0x0F_78_82, 0x5C_CF_DA),
    ("baseline", 0x6B_73_80, 0x9A_A3_B2),
    ("cipher", 0xB8_4A_00, 0xFF_9A_57),
    ("io", 0x3F_80_B9, 0x5A_9B_D6),
    ("elsewhere", 0xC9_CE_D6, 0x4A_52_60),
    ("text", 0x1B_1F_27, 0xE8_EA_EE),
    ("muted", 0x59_60_6D, 0xA6_AE_BC),
    ("axis", 0x80_88_96, 0x7E_87_97),
    ("grid", 0xE3_E6_EB, 0x30_36_41),
    ("surface", 0xFF_FF_FF, 0x16_19_20),
];

impl Ink {
    fn shade(self) -> Shade {
        let index = match self {
            Self::Series(number) => number % SERIES,
            Self::Baseline => SERIES,
            Self::Cipher => SERIES + 1,
            Self::Io => SERIES + 2,
            Self::Elsewhere => SERIES + 3,
            Self::Text => SERIES + 4,
            Self::Muted => SERIES + 5,
            Self::Axis => SERIES + 6,
            Self::Grid => SERIES + 7,
            Self::Surface => SERIES + 8,
        };
        SHADES[index]
    }

    /// The class and variable that set this colour on HTML elements, such as `series-1`.
    pub(super) fn name(self) -> &'static str {
        self.shade().0
    }

    fn colour(self) -> RGBColor {
        let [_, red, green, blue] = self.shade().1.to_be_bytes();
        RGBColor(red, green, blue)
    }

    fn line(self, width_px: f64) -> ShapeStyle {
        self.colour().stroke_width((width_px * FINENESS).round() as u32)
    }
}

/// The style sheet's variables for both themes, and the mapping of drawn colours to them.
pub(super) fn style_sheet() -> String {
    let mut light = String::new();
    let mut dark = String::new();
    let mut mapping = String::new();
    for (name, in_light, in_dark) in SHADES {
        let _ = write!(light, "--{name}:#{in_light:06X};");
        let _ = write!(dark, "--{name}:#{in_dark:06X};");
        let _ = writeln!(mapping, ".chart [fill=\"#{in_light:06X}\"]{{fill:var(--{name})}}");
        let _ = writeln!(mapping, ".chart [stroke=\"#{in_light:06X}\"]{{stroke:var(--{name})}}");
        let _ = writeln!(mapping, ".ink-{name}{{color:var(--{name})}}");
    }
    format!(":root{{{light}}}\n@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{mapping}")
}

/// The position of text relative to its point.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    /// The point is its left end, at half height.
    Left,
    /// The point is its right end, at half height.
    Right,
    /// The point is its middle.
    Middle,
}

/// A mark that can be recognised by its shape alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A filled circle.
    Disc,
    /// A circle, empty within.
    Ring,
    /// A filled diamond.
    Diamond,
    /// A filled square.
    Square,
    /// A filled triangle, tip up.
    Triangle,
    /// An arrow head to the left.
    ArrowLeft,
    /// An arrow head to the right.
    ArrowRight,
}

/// Pixels that `text` takes at the chart's font size, wide characters counting twice; generous.
pub(super) fn text_px(text: &str) -> f64 {
    text.width() as f64 * 6.9
}

/// `text` cut to `columns` with an ellipsis, if it is longer.
pub(super) fn shorten(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    for character in text.chars() {
        if cut.width() + unicode_width::UnicodeWidthChar::width(character).unwrap_or(0) + 1 > columns {
            break;
        }
        cut.push(character);
    }
    cut + "…"
}

/// A sheet being drawn on. Coordinates are pixels at natural size, from the upper left corner.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// Draws a chart of `width_px` by `height_px`, described to screen readers by `description`; the result is an
/// `svg` element of those proportions with the class `chart`.
///
/// # Errors
/// `ReportError::Drawing`, or what `paint` returned.
pub(super) fn draw(
    width_px: f64,
    height_px: f64,
    description: &str,
    paint: impl FnOnce(&Canvas) -> Result<(), ReportError>,
) -> Result<String, ReportError> {
    let mut svg = String::new();
    let size = ((width_px * FINENESS).round() as u32, (height_px * FINENESS).round() as u32);
    {
        let canvas = Canvas { area: SVGBackend::with_string(&mut svg, size).into_drawing_area() };
        paint(&canvas)?;
        canvas.area.present().map_err(fault)?;
    }
    // the backend's own opening tag has a fixed size in pixels and no description
    let body = svg.split_once('>').map(|(_, body)| body).ok_or_else(|| ReportError::Drawing("empty SVG".into()))?;
    let description = minijinja::HtmlEscape(description);
    Ok(format!(
        "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{description}\">{}",
        size.0,
        size.1,
        body.trim()
    ))
}

fn fault<E: std::error::Error + Send + Sync>(error: DrawingAreaErrorKind<E>) -> ReportError {
    ReportError::Drawing(error.to_string())
}

fn at((x, y): (f64, f64)) -> (i32, i32) {
    ((x * FINENESS).round() as i32, (y * FINENESS).round() as i32)
}

impl Canvas<'_> {
    /// A line through `points`.
    pub(super) fn line(&self, points: &[(f64, f64)], ink: Ink, width_px: f64) -> Result<(), ReportError> {
        let points: Vec<_> = points.iter().copied().map(at).collect();
        self.area.draw(&PathElement::new(points, ink.line(width_px))).map_err(fault)
    }

    /// A filled rectangle between two corners.
    pub(super) fn bar(&self, from: (f64, f64), to: (f64, f64), ink: Ink) -> Result<(), ReportError> {
        self.area.draw(&Rectangle::new([at(from), at(to)], ink.colour().filled())).map_err(fault)
    }

    /// A filled shape; `share` of its colour covers what is behind it.
    pub(super) fn area(&self, corners: &[(f64, f64)], ink: Ink, share: f64) -> Result<(), ReportError> {
        let corners: Vec<_> = corners.iter().copied().map(at).collect();
        self.area.draw(&Polygon::new(corners, ink.colour().mix(share))).map_err(fault)
    }

    /// A mark about `size_px` wide around a point.
    pub(super) fn mark(&self, centre: (f64, f64), mark: Mark, size_px: f64, ink: Ink) -> Result<(), ReportError> {
        let (x, y) = centre;
        let half = size_px / 2.0;
        let around = |corners: &[(f64, f64)]| {
            let corners: Vec<_> = corners.iter().map(|(dx, dy)| (x + dx * half, y + dy * half)).collect();
            self.area(&corners, ink, 1.0)
        };
        let circle = |radius_px: f64, ink: Ink| {
            let radius = (radius_px * FINENESS).round() as i32;
            self.area.draw(&Circle::new(at(centre), radius, ink.colour().filled())).map_err(fault)
        };
        match mark {
            Mark::Disc => circle(half, ink),
            Mark::Ring => {
                circle(half, ink)?;
                circle(half - 1.75, Ink::Surface)
            }
            Mark::Diamond => around(&[(-1.15, 0.0), (0.0, -1.15), (1.15, 0.0), (0.0, 1.15)]),
            Mark::Square => around(&[(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)]),
            Mark::Triangle => around(&[(-1.0, 0.85), (0.0, -1.0), (1.0, 0.85)]),
            Mark::ArrowLeft => around(&[(1.0, -1.0), (-1.0, 0.0), (1.0, 1.0)]),
            Mark::ArrowRight => around(&[(-1.0, -1.0), (1.0, 0.0), (-1.0, 1.0)]),
        }
    }

    /// One line of text.
    pub(super) fn text(&self, text: &str, point: (f64, f64), anchor: Anchor, ink: Ink) -> Result<(), ReportError> {
        self.write(text, point, anchor, ink, FontStyle::Normal)
    }

    /// One line of bold text.
    pub(super) fn bold(&self, text: &str, point: (f64, f64), anchor: Anchor, ink: Ink) -> Result<(), ReportError> {
        self.write(text, point, anchor, ink, FontStyle::Bold)
    }

    fn write(
        &self,
        text: &str,
        point: (f64, f64),
        anchor: Anchor,
        ink: Ink,
        style: FontStyle,
    ) -> Result<(), ReportError> {
        let horizontal = match anchor {
            Anchor::Left => HPos::Left,
            Anchor::Right => HPos::Right,
            Anchor::Middle => HPos::Center,
        };
        let colour = ink.colour();
        // the backend divides the size it is given by this
        let size = FONT_PX * FINENESS * 1.24;
        let style = TextStyle::from(("sans-serif", size).into_font().style(style))
            .pos(Pos::new(horizontal, VPos::Center))
            .color(&colour);
        self.area.draw(&Text::new(text.to_owned(), at(point), style)).map_err(fault)
    }
}

/// Height that a label takes.
const LABEL_PX: f64 = 14.0;

/// Heights near `wanted`, between `top` and `bottom`, at which labels do not cover each other, in the same order.
pub(super) fn apart(wanted: &[f64], (top, bottom): (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut heights = vec![0.0; wanted.len()];
    let mut least = top;
    for number in &order {
        heights[*number] = wanted[*number].max(least);
        least = heights[*number] + LABEL_PX;
    }
    let mut most = bottom - LABEL_PX / 2.0;
    for number in order.iter().rev() {
        heights[*number] = heights[*number].min(most);
        most = heights[*number] - LABEL_PX;
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance and contrast after WCAG 2.2.
    fn contrast(a: u32, b: u32) -> f64 {
        let luminance = |colour: u32| {
            let [_, red, green, blue] = colour.to_be_bytes();
            let linear = |byte: u8| match f64::from(byte) / 255.0 {
                value if value <= 0.040_45 => value / 12.92,
                value => ((value + 0.055) / 1.055).powf(2.4),
            };
            0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn colours_stand_out_in_both_themes() {
        let surface = Ink::Surface.shade();
        for shade in SHADES {
            // what carries meaning needs 3, text 4.5 (WCAG 1.4.11 and 1.4.3)
            let wanted = match shade.0 {
                "text" | "muted" => 4.5,
                "grid" | "surface" | "elsewhere" => 1.0,
                _ => 3.0,
            };
            for (theme, colour, behind) in [("light", shade.1, surface.1), ("dark", shade.2, surface.2)] {
                let found = contrast(colour, behind);
                assert!(found >= wanted, "{} has a contrast of {found:.2} in the {theme} theme", shade.0);
            }
        }
    }

    /// The parts of a stacked bar touch, so they must differ in lightness, which every eye sees.
    #[test]
    fn touching_parts_differ_in_lightness() {
        for (a, b) in [(Ink::Cipher, Ink::Elsewhere), (Ink::Io, Ink::Elsewhere)] {
            let (a, b) = (a.shade(), b.shade());
            assert!(contrast(a.1, b.1) >= 2.0 && contrast(a.2, b.2) >= 2.0, "{} and {}", a.0, b.0);
        }
    }

    #[test]
    fn drawn_colours_are_distinct() {
        for (index, shade) in SHADES.iter().enumerate() {
            assert!(SHADES[..index].iter().all(|other| other.1 != shade.1), "{} is used twice", shade.0);
        }
    }

    #[test]
    fn text_is_escaped_and_cut() {
        let svg = draw(100.0, 20.0, "a \"quoted\" <b>", |canvas| {
            canvas.text("<script>&\"", (0.0, 0.0), Anchor::Left, Ink::Text)
        });
        let svg = svg.unwrap();
        assert!(!svg.contains("<script>") && !svg.contains("<b>"), "{svg}");
        roxmltree::Document::parse(&svg).unwrap();
        assert_eq!(shorten("암호화하지 않음", 9), "암호화하…");
        assert_eq!(shorten("none", 4), "none");
    }

    #[test]
    fn labels_keep_their_distance_and_their_order() {
        let heights = apart(&[100.0, 20.0, 101.0, 230.0, 231.0, 99.0], (8.0, 236.0));
        let mut sorted = heights.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= LABEL_PX - 1e-9), "{sorted:?}");
        assert!(sorted[0] >= 8.0 && sorted[5] <= 236.0);
        assert!(heights[5] < heights[0] && heights[0] < heights[2]);
    }
}
