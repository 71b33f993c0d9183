//! A sheet to draw one chart on, as SVG that the style sheet colours. Colour has one meaning: the
//! variant shown. Shape and texture carry all other meaning, and also survive a black-and-white
//! print.
//!
//! It draws lines, marks and text, and is independent of results.

use std::fmt::Write as _;

use minijinja::HtmlEscape;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Number of colours for variants; the ninth variant starts again with the first, dashed otherwise.
const SERIES: usize = 8;

/// Dashes of curves: two neighbouring series differ in these, too.
const DASHES: [&str; 4] = ["none", "7 3", "2 3", "9 3 2 3"];

/// A colour by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// Variant number, counted without the baseline.
    Series(usize),
    /// The baseline.
    Baseline,
    /// Ordinary text, and what belongs to no variant.
    Text,
    /// Text of less weight.
    Muted,
    /// The line of "no difference", and axes.
    Axis,
    /// Grid lines.
    Grid,
    /// Background of the chart.
    Surface,
}

/// Class and variable of the style sheet, colour in the light theme, colour in the dark theme.
type Shade = (&'static str, u32, u32);

const SHADES: [Shade; SERIES + 6] = [
    ("series-1", 0x00_5F_B0, 0x62_B5_F0),
    ("series-2", 0xC4_51_00, 0xFF_A2_66),
    ("series-3", 0x00_56_3F, 0x8F_F0_C8),
    ("series-4", 0x9B_3F_86, 0xE6_93_CF),
    ("series-5", 0x76_6B_00, 0xD6_C7_4A),
    ("series-6", 0x4B_45_B5, 0xA9_A4_F8),
    ("series-7", 0x9E_1F_44, 0xF2_87_A1),
    ("series-8", 0x0F_78_82, 0x5C_CF_DA),
    ("baseline", 0x6B_73_80, 0x9A_A3_B2),
    ("text", 0x1B_1F_27, 0xE8_EA_EE),
    ("muted", 0x59_60_6D, 0xA6_AE_BC),
    ("axis", 0x80_88_96, 0x7E_87_97),
    ("grid", 0xE3_E6_EB, 0x30_36_41),
    ("surface", 0xFF_FF_FF, 0x16_19_20),
];

impl Ink {
    fn shade(self) -> Shade {
        SHADES[match self {
            Self::Series(number) => number % SERIES,
            Self::Baseline => SERIES,
            Self::Text => SERIES + 1,
            Self::Muted => SERIES + 2,
            Self::Axis => SERIES + 3,
            Self::Grid => SERIES + 4,
            Self::Surface => SERIES + 5,
        }]
    }

    /// Returns the class that sets this colour, such as `series-1`.
    pub(super) fn name(self) -> &'static str {
        self.shade().0
    }

    /// Returns the dashes of a curve in this colour.
    pub(super) fn dashes(self) -> &'static str {
        match self {
            Self::Series(number) => DASHES[(number + number / SERIES) % DASHES.len()],
            _ => DASHES[0],
        }
    }
}

/// Builds the style sheet that colours drawings: variables for both themes, a class for each ink,
/// and the rules of charts.
pub(super) fn style_sheet() -> String {
    let [mut light, mut dark, mut classes] = [const { String::new() }; 3];
    for (name, in_light, in_dark) in SHADES {
        let _ = write!(light, "--{name}:#{in_light:06x};");
        let _ = write!(dark, "--{name}:#{in_dark:06x};");
        let _ = writeln!(classes, ".{name}{{color:var(--{name})}}");
    }
    let rules = include_str!("../../templates/chart.css");
    format!(
        ":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n\
         {classes}{rules}"
    )
}

/// The position of text relative to its point, always at half height.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    /// The point is its left end.
    Left,
    /// The point is its right end.
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

/// Fill of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texture {
    /// All of it.
    Full,
    /// Stripes.
    Striped,
    /// Pale.
    Pale,
}

/// Pixels that `text` takes at the chart's font size, wide characters counting twice; generous.
pub(super) fn text_px(text: &str) -> f64 {
    text.width() as f64 * 6.9
}

/// Returns half of the pixels that `text`, a label of an axis, takes: signs and the percent sign
/// are wider than other characters.
pub(super) fn half_px(text: &str) -> f64 {
    text_px(text) / 2.0 + 3.0
}

/// Returns `text` cut to `columns` with an ellipsis, if it is longer.
pub(super) fn shorten(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    for character in text.chars() {
        if cut.width() + character.width().unwrap_or(0) + 1 > columns {
            break;
        }
        cut.push(character);
    }
    cut + "…"
}

/// A sheet being drawn on. Coordinates are pixels, from the upper left corner.
pub(super) struct Canvas {
    svg: String,
}

/// Returns a chart of `width_px` by `height_px`, described to screen readers by `description`: an
/// `svg` element with the class `chart`.
pub(super) fn draw(
    width_px: f64,
    height_px: f64,
    description: &str,
    paint: impl FnOnce(&mut Canvas),
) -> String {
    let (width, height) = (tenth(width_px), tenth(height_px));
    let mut canvas = Canvas {
        svg: format!(
            "<svg class=\"chart\" width=\"{width}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-label=\"{}\">",
            HtmlEscape(description)
        ),
    };
    paint(&mut canvas);
    canvas.svg + "</svg>"
}

/// Colours of a standalone drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Those of its reader: light, or dark where a reader wants that.
    OfReader,
    /// Light, for programs that know one set of colours.
    Light,
}

/// Fonts of a standalone drawing: the first that is there. The last is any without serifs.
const FONTS: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Noto Sans CJK \
                     KR', 'Noto Sans KR', 'Malgun Gothic', 'DejaVu Sans', sans-serif";

/// Returns the style sheet of a standalone drawing, without variables: many programs that show
/// drawings know none.
fn style_alone(theme: Theme) -> String {
    let rule = |(name, colour): (&str, u32)| format!(".{name}{{color:#{colour:06x}}}\n");
    let light: String = SHADES.iter().map(|(name, light, _)| rule((name, *light))).collect();
    let dark: String = SHADES.iter().map(|(name, _, dark)| rule((name, *dark))).collect();
    let (_, surface, behind) = Ink::Surface.shade();
    let rules = include_str!("../../templates/chart.css")
        .replace("var(--surface)", &format!("#{surface:06x}"));
    let text = format!(".chart text{{font-family:{FONTS}}}\n");
    match theme {
        Theme::Light => format!("{light}{rules}{text}"),
        Theme::OfReader => format!(
            "{light}{rules}{text}@media (prefers-color-scheme: dark){{\n{dark}.chart \
             .ring{{fill:#{behind:06x}}}\n}}\n"
        ),
    }
}

/// One entry of the legend of a standalone drawing.
#[derive(Clone, Debug)]
pub(super) enum LegendEntry {
    /// A line in the colour of a variant.
    Line(Ink),
    /// A sign as it is written.
    Sign(&'static str),
}

/// Height of the title of a standalone drawing, and of a line of its legend.
const TITLE_PX: f64 = 30.0;
const LEGEND_PX: f64 = 20.0;

/// Width beyond which a title is cut.
const WIDEST_TITLE_PX: f64 = 760.0;

/// Distance of a standalone drawing from the edges of its sheet.
const MARGIN_PX: f64 = 10.0;

/// Returns `svg`, drawn by [`draw`], as a standalone file: with `title`, a legend and its colours.
pub(super) fn alone(
    svg: &str,
    title: &str,
    legend: &[(LegendEntry, String)],
    theme: Theme,
) -> String {
    let (open, inner) = svg.split_once('>').unwrap_or((svg, ""));
    let value = |name: &str| {
        let (_, rest) = open.split_once(&format!("{name}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let sizes = value("viewBox").unwrap_or_default();
    let mut sizes = sizes.split(' ').skip(2).map(|size| size.parse::<f64>().unwrap_or(0.0));
    let (width, height) = (sizes.next().unwrap_or(0.0), sizes.next().unwrap_or(0.0));
    let description = value("aria-label").unwrap_or_default();
    let mut above = Canvas { svg: String::new() };
    // a title longer than the chart is wide makes the sheet wider
    let wide = |text: &str| text_px(text) * 1.15;
    let width = f64::max(width, wide(title).min(WIDEST_TITLE_PX));
    let title = shorten(title, (width / 7.9) as usize);
    above.bold(&title, (0.0, 12.0));
    let (mut x, mut y) = (0.0, TITLE_PX + 6.0);
    for (entry, text) in legend {
        let needed = 24.0 + text_px(text) + 14.0;
        if x > 0.0 && x + needed > width {
            (x, y) = (0.0, y + LEGEND_PX);
        }
        match entry {
            LegendEntry::Line(ink) => above.line(&[(x, y), (x + 18.0, y)], *ink, 4.0),
            LegendEntry::Sign(sign) => {
                above.text(sign, (x + 9.0, y), Anchor::Middle, Ink::Text);
            }
        }
        above.text(text, (x + 24.0, y), Anchor::Left, Ink::Text);
        x += needed;
    }
    let top = if legend.is_empty() { TITLE_PX } else { y + LEGEND_PX };
    let (sheet_width, sheet_height) =
        (tenth(width + 2.0 * MARGIN_PX), tenth(top + height + 2.0 * MARGIN_PX));
    let (left, below) = (MARGIN_PX, tenth(top + MARGIN_PX));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"{sheet_width}\" \
         height=\"{sheet_height}\" viewBox=\"0 0 {sheet_width} {sheet_height}\" role=\"img\" \
         aria-label=\"{description}\">\n<style>\n{}</style>\n<rect class=\"fill surface\" \
         width=\"{sheet_width}\" height=\"{sheet_height}\"/>\n<g transform=\"translate({left} \
         {left})\">{}</g>\n<g transform=\"translate({left} {below})\">{}</g>\n</svg>\n",
        style_alone(theme),
        above.svg,
        inner.trim_end_matches("</svg>")
    )
    .replace("/><", "/>\n<")
}

/// Returns a coordinate to a tenth of a pixel.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Returns the path through `points`.
fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (number, (x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{} {}", if number == 0 { "M" } else { "L" }, tenth(*x), tenth(*y));
    }
    path
}

impl Canvas {
    /// Draws a line through `points`.
    pub(super) fn line(&mut self, points: &[(f64, f64)], ink: Ink, width_px: f64) {
        let (path, ink) = (path(points), ink.name());
        let _ = write!(
            self.svg,
            "<path class=\"line {ink}\" stroke-width=\"{width_px}\" d=\"{path}\"/>"
        );
    }

    /// Draws a line through `points`, with the dashes of its ink.
    pub(super) fn curve(&mut self, points: &[(f64, f64)], ink: Ink) {
        let (path, dashes, ink) = (path(points), ink.dashes(), ink.name());
        let _ = write!(
            self.svg,
            "<path class=\"line {ink}\" stroke-width=\"1.75\" stroke-dasharray=\"{dashes}\" \
             d=\"{path}\"/>"
        );
    }

    /// Draws a bar between two corners.
    pub(super) fn bar(
        &mut self,
        (left, top): (f64, f64),
        (right, bottom): (f64, f64),
        ink: Ink,
        texture: Texture,
    ) {
        let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
        match texture {
            Texture::Full => self.area(&corners, ink),
            Texture::Pale => self.pale(&corners, ink),
            Texture::Striped => {
                let mut stripes = String::new();
                let mut x = left + 1.0;
                while x < right {
                    stripes += &path(&[(x, top), (x, bottom)]);
                    x += 3.0;
                }
                let ink = ink.name();
                let _ = write!(
                    self.svg,
                    "<path class=\"line {ink}\" stroke-width=\"1.3\" d=\"{stripes}\"/>"
                );
            }
        }
    }

    /// Draws a filled shape.
    pub(super) fn area(&mut self, corners: &[(f64, f64)], ink: Ink) {
        let _ = write!(self.svg, "<path class=\"fill {}\" d=\"{}Z\"/>", ink.name(), path(corners));
    }

    /// Draws a shape filled with a pale tone of its ink, through which the grid can be seen.
    pub(super) fn pale(&mut self, corners: &[(f64, f64)], ink: Ink) {
        let _ = write!(self.svg, "<path class=\"pale {}\" d=\"{}Z\"/>", ink.name(), path(corners));
    }

    /// Draws a mark about `size_px` wide around a point.
    pub(super) fn mark(&mut self, (x, y): (f64, f64), mark: Mark, size_px: f64, ink: Ink) {
        let half = size_px / 2.0;
        let mut circle = |class: &str, radius: f64| {
            let (x, y, radius) = (tenth(x), tenth(y), tenth(radius));
            let ink = ink.name();
            let _ = write!(
                self.svg,
                "<circle class=\"{class} {ink}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"/>"
            );
        };
        let corners: &[(f64, f64)] = match mark {
            Mark::Disc => return circle("fill", half),
            Mark::Ring => return circle("ring", half - 1.0),
            Mark::Diamond => &[(-1.15, 0.0), (0.0, -1.15), (1.15, 0.0), (0.0, 1.15)],
            Mark::Square => &[(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
            Mark::Triangle => &[(-1.0, 0.85), (0.0, -1.0), (1.0, 0.85)],
            Mark::ArrowLeft => &[(1.0, -1.0), (-1.0, 0.0), (1.0, 1.0)],
            Mark::ArrowRight => &[(-1.0, -1.0), (1.0, 0.0), (-1.0, 1.0)],
        };
        let corners: Vec<_> =
            corners.iter().map(|(dx, dy)| (x + dx * half, y + dy * half)).collect();
        self.area(&corners, ink);
    }

    /// Writes one line of text.
    pub(super) fn text(&mut self, text: &str, point: (f64, f64), anchor: Anchor, ink: Ink) {
        self.write(text, point, anchor, ink.name());
    }

    /// Writes one line of bold text.
    pub(super) fn bold(&mut self, text: &str, point: (f64, f64)) {
        self.write(text, point, Anchor::Left, "text bold");
    }

    /// Writes one line of bold text that ends at `point`.
    pub(super) fn bold_before(&mut self, text: &str, point: (f64, f64)) {
        self.write(text, point, Anchor::Right, "text bold");
    }

    fn write(&mut self, text: &str, (x, y): (f64, f64), anchor: Anchor, class: &str) {
        let anchor = match anchor {
            Anchor::Left => "start",
            Anchor::Right => "end",
            Anchor::Middle => "middle",
        };
        // without control characters, which XML has no way to write
        let text: String =
            text.chars().map(|each| if each.is_control() { ' ' } else { each }).collect();
        let (x, y, text) = (tenth(x), tenth(y + 4.0), HtmlEscape(&text));
        let _ = write!(
            self.svg,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>"
        );
    }
}

/// Height that a label takes.
const LABEL_PX: f64 = 14.0;

/// Returns heights near `wanted`, between `top` and `bottom`, at which labels do not cover each
/// other, in the same order.
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

    /// Returns the contrast of the relative luminances after WCAG 2.2.
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
            // meaningful marks need 3, text 4.5 (WCAG 1.4.11 and 1.4.3)
            let wanted = match shade.0 {
                "text" | "muted" => 4.5,
                "grid" | "surface" => 1.0,
                _ => 3.0,
            };
            for (theme, colour, behind) in
                [("light", shade.1, surface.1), ("dark", shade.2, surface.2)]
            {
                let found = contrast(colour, behind);
                assert!(
                    found >= wanted,
                    "{} has a contrast of {found:.2} in the {theme} theme",
                    shade.0
                );
            }
        }
    }

    /// Returns a colour as people see it who lack one kind of cone (Machado, Oliveira and Fernandes
    /// 2009, severity 1), in the coordinates of CIE L*a*b*.
    fn seen(colour: u32, sight: [[f64; 3]; 3]) -> [f64; 3] {
        let [_, red, green, blue] = colour.to_be_bytes();
        let rgb = [red, green, blue].map(|byte| match f64::from(byte) / 255.0 {
            value if value <= 0.040_45 => value / 12.92,
            value => ((value + 0.055) / 1.055).powf(2.4),
        });
        let times = |matrix: [[f64; 3]; 3], of: [f64; 3]| {
            matrix.map(|row| row.iter().zip(of).map(|(a, b)| a * b).sum::<f64>().max(0.0))
        };
        let xyz = times(
            [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]],
            times(sight, rgb),
        );
        let [x, y, z] = [xyz[0] / 0.9505, xyz[1], xyz[2] / 1.089].map(f64::cbrt);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// The colours of an ordinary report, three ciphers and the baseline, are distinguishable by
    /// every eye.
    #[test]
    fn the_first_colours_differ_for_every_eye() {
        let sights = [
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ];
        let inks = [Ink::Series(0), Ink::Series(1), Ink::Series(2), Ink::Baseline];
        for (sight, theme) in sights.iter().flat_map(|sight| [(sight, 0), (sight, 1)]) {
            for (at, one) in inks.iter().enumerate() {
                for other in &inks[..at] {
                    let [a, b] = [one, other].map(|ink| {
                        let (_, light, dark) = ink.shade();
                        seen([light, dark][theme], *sight)
                    });
                    let distance =
                        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                    assert!(
                        distance > 18.0,
                        "{one:?} and {other:?} are {distance:.0} apart in theme {theme}: {sight:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn no_two_inks_look_alike() {
        let looks: Vec<_> = (0..32)
            .map(|number| (Ink::Series(number).shade(), Ink::Series(number).dashes()))
            .collect();
        for (at, look) in looks.iter().enumerate().take(24) {
            assert!(!looks[..at].contains(look), "series {at} looks like another one");
        }
        for (index, shade) in SHADES.iter().enumerate() {
            assert!(
                SHADES[..index].iter().all(|other| other.1 != shade.1),
                "{} is used twice",
                shade.0
            );
        }
    }

    #[test]
    fn text_is_escaped_and_cut() {
        let svg = draw(100.0, 20.0, "a \"quoted\" <b>", |canvas| {
            canvas.text("<script>&\"\u{1b}", (0.0, 0.0), Anchor::Left, Ink::Text);
        });
        assert!(!svg.contains("<script>") && !svg.contains("<b>"), "{svg}");
        roxmltree::Document::parse(&svg).unwrap();
        roxmltree::Document::parse(&alone(&svg, "a <b>", &[], Theme::Light)).unwrap();
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
