//! Pictures as pixels, with the fonts of this machine: none is brought along.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, Query};
use resvg::usvg::{Group, Node, Options, Text, Tree};

use super::ReportError;
use super::pictures::Picture;

/// Pixels for each of a drawing's: sharp on paper and on dense screens.
const SCALE: f32 = 2.0;

/// Fonts with letters of Latin and Korean, and those that are there on most machines. The first
/// found is what text in a font that is not there is drawn in.
const FAMILIES: [&str; 9] = [
    "Noto Sans CJK KR",
    "Noto Sans KR",
    "NanumGothic",
    "Noto Sans",
    "DejaVu Sans",
    "Liberation Sans",
    "Roboto",
    "Arial",
    "Malgun Gothic",
];

/// Turns pictures into pixels.
pub struct Pixels {
    options: Options<'static>,
}

impl Pixels {
    /// Finds the fonts of this machine.
    ///
    /// # Errors
    /// [`ReportError::NoFont`]: there is none.
    pub fn new() -> Result<Self, ReportError> {
        let mut fonts = Database::new();
        fonts.load_system_fonts();
        Self::with(fonts)
    }

    /// Uses `fonts`.
    fn with(mut fonts: Database) -> Result<Self, ReportError> {
        let known = |family: &&str| {
            let families = [Family::Name(family)];
            fonts.query(&Query { families: &families, ..Query::default() }).is_some()
        };
        let any = || fonts.faces().next().and_then(|face| Some(face.families.first()?.0.clone()));
        let family =
            FAMILIES.iter().find(|family| known(family)).map(|family| (*family).to_owned());
        let family = family.or_else(any).ok_or(ReportError::NoFont)?;
        fonts.set_sans_serif_family(family.clone());
        let options =
            Options { font_family: family, fontdb: Arc::new(fonts), ..Options::default() };
        Ok(Self { options })
    }

    /// Returns `picture` as a PNG file.
    ///
    /// # Errors
    /// [`ReportError::NoLetters`]: no font of this machine has letters of its text.
    /// [`ReportError::Pixels`]: the drawing cannot be read or is too large.
    pub fn png(&self, picture: &Picture) -> Result<Vec<u8>, ReportError> {
        let failed = |found: String| ReportError::Pixels { name: picture.name.clone(), found };
        let tree =
            Tree::from_str(&picture.svg, &self.options).map_err(|e| failed(e.to_string()))?;
        if lacks_letters(tree.root()) {
            return Err(ReportError::NoLetters);
        }
        let size = tree.size().to_int_size().scale_by(SCALE);
        let size = size.ok_or_else(|| failed("it has no size".into()))?;
        let pixels = Pixmap::new(size.width(), size.height());
        let mut pixels = pixels.ok_or_else(|| failed("it is too large".into()))?;
        resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| failed(error.to_string()))
    }
}

/// Returns whether a letter of Korean below `group` is in no font: each would be an empty box.
fn lacks_letters(group: &Group) -> bool {
    let is_korean = |text: &str| text.chars().any(|one| ('가'..='힣').contains(&one));
    let is_missing = |text: &Text| {
        let glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs);
        // glyph 0 stands for what a font does not have
        glyphs.into_iter().any(|glyph| glyph.id.0 == 0 && is_korean(&glyph.text))
    };
    group.children().iter().any(|node| match node {
        Node::Group(group) => lacks_letters(group),
        Node::Text(text) => is_missing(text),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(title: &str) -> Picture {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"20\" viewBox=\"0 0 60 \
             20\"><rect width=\"60\" height=\"20\" fill=\"#fff\"/><text x=\"2\" \
             y=\"15\">{title}</text></svg>"
        );
        Picture { name: "one".into(), title: title.into(), svg }
    }

    #[test]
    fn without_a_font_nothing_is_drawn() {
        let error = Pixels::with(Database::new()).err().unwrap().to_string();
        assert!(error.starts_with("cannot draw text: no font is on this machine\n"), "{error}");
    }

    #[test]
    fn text_is_drawn_with_the_fonts_of_this_machine() {
        let Ok(pixels) = Pixels::new() else {
            println!("SKIP: text_is_drawn_with_the_fonts_of_this_machine: no font is installed");
            return;
        };
        let png = pixels.png(&picture("costs")).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
        let drawn = Pixmap::decode_png(&png).unwrap();
        assert_eq!((drawn.width(), drawn.height()), (120, 40));
        let dark = drawn.pixels().iter().filter(|pixel| pixel.red() < 128).count();
        assert!(dark > 50, "{dark} dark pixels: no text was drawn");
    }
}
