//! Markers: texts that must not be in the clear anywhere, such as values that were written into a
//! store to be looked for afterwards.

use std::fmt;

use zeroize::Zeroizing;

use super::error::LeakError;

/// Fewest bytes of a text: one of six bytes is in a TiB of random data once in 256 times.
const BYTES_MIN: usize = 6;
/// Most bytes of a text, which the memory of a search depends on.
const BYTES_MAX: usize = 256;
/// Most texts of a file.
const COUNT_MAX: usize = 1000;

/// One text that must not be in the clear anywhere.
#[derive(Clone)]
pub struct Marker {
    /// Name to show in place of the text.
    pub label: String,
    text: Zeroizing<String>,
}

impl Marker {
    /// Makes a marker.
    ///
    /// - `label`: what is shown in place of the text, such as `marker 3`
    /// - `text`: 6 to 256 bytes of UTF-8; letter case counts
    ///
    /// # Errors
    /// [`LeakError::TooShort`] and [`LeakError::TooLong`].
    pub fn new(label: impl Into<String>, text: &str) -> Result<Self, LeakError> {
        let (label, bytes) = (label.into(), text.len());
        if bytes < BYTES_MIN {
            return Err(LeakError::TooShort { label, bytes, min: BYTES_MIN });
        }
        if bytes > BYTES_MAX {
            return Err(LeakError::TooLong { label, bytes, max: BYTES_MAX });
        }
        Ok(Self { label, text: Zeroizing::new(text.to_owned()) })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// The label alone.
impl fmt::Debug for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Marker").field("label", &self.label).finish_non_exhaustive()
    }
}

/// Reads the markers of a file: one a line, without the spaces around it. Blank lines, and lines
/// that begin with `#`, are left out. Each is labelled `line 3 of PLACE`.
///
/// - `text`: the content of the file
/// - `place`: its name
///
/// # Errors
/// [`LeakError::TooShort`] and [`LeakError::TooLong`] for the first such line,
/// [`LeakError::None`] and [`LeakError::TooMany`] (more than 1000).
pub fn markers(text: &str, place: &str) -> Result<Vec<Marker>, LeakError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let named: Vec<_> =
        lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect();
    match named.len() {
        0 => return Err(LeakError::None { place: place.to_owned() }),
        1..=COUNT_MAX => {}
        count => {
            return Err(LeakError::TooMany { place: place.to_owned(), count, max: COUNT_MAX });
        }
    }
    named.into_iter().map(|(at, line)| Marker::new(format!("line {at} of {place}"), line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked_and_texts_never_shown() {
        assert_eq!(
            markers("secret\n\nkorn", "markers.txt").unwrap_err().to_string(),
            "line 3 of markers.txt has 4 bytes\nname texts of at least 6 bytes, which no file \
             contains by chance"
        );
        assert!(Marker::new("m", "홍길").is_ok(), "six bytes");
        assert!(Marker::new("m", &"x".repeat(256)).is_ok());
        let error = Marker::new("m", &"x".repeat(257)).unwrap_err();
        assert!(error.to_string().starts_with("m has 257 bytes\nname texts of at most 256 bytes"));
        assert!(!format!("{error:?}").contains("xx"));
        let marker = Marker::new("marker 1", "secret text").unwrap();
        assert_eq!(format!("{marker:?}"), "Marker { label: \"marker 1\", .. }");
    }

    #[test]
    fn lines_are_markers() {
        let text = "\u{feff}# names\r\n\r\n  Hong Gildong \r\n#secret\n홍길동전\n";
        let read = markers(text, "m.txt").unwrap();
        let read: Vec<_> = read.iter().map(|m| (m.label.as_str(), m.text())).collect();
        assert_eq!(read, [("line 3 of m.txt", "Hong Gildong"), ("line 5 of m.txt", "홍길동전")]);
        for empty in ["", " \n\t\n", "# a comment\n"] {
            assert_eq!(markers(empty, "m").unwrap_err(), LeakError::None { place: "m".into() });
        }
        let count = |n| markers(&"marker\n".repeat(n), "m").map(|read| read.len());
        assert_eq!(count(1000), Ok(1000));
        assert!(matches!(count(1001), Err(LeakError::TooMany { count: 1001, .. })));
    }
}
